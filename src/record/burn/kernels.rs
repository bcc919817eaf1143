//! Device times of kernels on sampled steps: kept unread while the step runs, read after it, and put on the run's clock.

use super::device_clock::{Offset, Sample};
use crate::model::track::{arg, name};
use crate::model::{EventKind, EventLevel, Known, Source, category};
use crate::record::clock::signed_ns;
use crate::record::short::short_name;
use crate::record::{Args, Lane, Record, Recorder, Shape, Stamp, Value};
use cubecl::logging::{ProfileDuration, TimingMethod};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A launch and its measurement, if it has arrived.
pub(super) struct Kernel {
    name: &'static str,
    launched: u64,
    measured: Measured,
}

enum Measured {
    Nothing,
    Unread(ProfileDuration),
    Read(Duration, TimingMethod),
}

impl Kernel {
    pub fn launched(name: &'static str, launched: u64) -> Self {
        Self { name, launched, measured: Measured::Nothing }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The measurement arrived, and is not to be read yet.
    pub fn measured(&mut self, profile: ProfileDuration) {
        self.measured = Measured::Unread(profile);
    }

    /// The measurement was read by Burn's own profiling log, which gets it first when it is on.
    pub fn read(&mut self, duration: Duration, method: TimingMethod) {
        self.measured = Measured::Read(duration, method);
    }
}

/// A kernel's time as it was measured.
struct Timed {
    name: &'static str,
    launched_ns: i64,
    /// Start and end, relative to [`Kernels::reference`].
    span: (i64, i64),
    method: TimingMethod,
    args: Arc<Args>,
}

/// Kernels of the sampled step that is running, and what is known of the device's clock.
pub(super) struct Kernels {
    recorder: Recorder,
    /// A moment before any that a device could report, for the API has no other way to read one.
    reference: Instant,
    waiting: Mutex<Vec<(Kernel, Arc<Args>)>>,
    offset: Mutex<Option<Offset>>,
}

/// How far the reference lies before the run's start.
const BEFORE: Duration = Duration::from_secs(3600);

impl Kernels {
    pub fn new(recorder: Recorder) -> Self {
        let start = recorder.clock().start_instant();
        Self {
            reference: start.checked_sub(BEFORE).unwrap_or(start),
            recorder,
            waiting: Mutex::default(),
            offset: Mutex::default(),
        }
    }

    /// Keeps the kernels of a block until the step is over.
    pub fn add(&self, kernels: Vec<Kernel>, args: &Arc<Args>) {
        self.waiting.lock().extend(kernels.into_iter().map(|kernel| (kernel, Arc::clone(args))));
    }

    /// How far device times may lie from their place on the run's clock, in nanoseconds.
    pub fn clock_error_ns(&self) -> Known<i64> {
        match *self.offset.lock() {
            Some(offset) => Known::value(offset.error_ns(), Source::Derived, 1),
            None => Known::unknown("no kernel was timed by the device yet"),
        }
    }

    /// Reads all measurements; called when the device has finished the step, at `done_ns`.
    pub fn resolve(&self, done_ns: i64) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        let all = waiting.len();
        let timed: Vec<Timed> = waiting.into_iter().filter_map(|(kernel, args)| self.read(kernel, args)).collect();
        if timed.len() < all {
            let text = format!("{} of {all} kernels of a sampled step came without a time", all - timed.len());
            self.recorder.note(EventLevel::Warning, EventKind::Recorder, "kernel times", text);
        }
        let offset = self.align(&timed, done_ns);
        for kernel in timed {
            self.write(kernel, offset);
        }
    }

    fn read(&self, kernel: Kernel, args: Arc<Args>) -> Option<Timed> {
        let launched_ns = self.recorder.clock().raw_ns(kernel.launched);
        let (span, method) = match kernel.measured {
            Measured::Nothing => return None,
            Measured::Unread(profile) => {
                let method = profile.timing_method();
                let ticks = futures_lite::future::block_on(profile.resolve())?;
                let ns = |d: Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
                let start = ns(ticks.start_duration_since(self.reference));
                ((start, start.saturating_add(ns(ticks.duration()))), method)
            }
            Measured::Read(duration, method) => {
                // Only a length is known: it is drawn from the launch on.
                let start = signed_ns(self.reference, self.recorder.clock().start_instant()) + launched_ns;
                let length = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
                ((start, start.saturating_add(length)), method)
            }
        };
        Some(Timed { name: kernel.name, launched_ns, span, method, args })
    }

    fn align(&self, timed: &[Timed], done_ns: i64) -> Option<Offset> {
        let samples: Vec<Sample> = timed
            .iter()
            .filter(|kernel| kernel.method == TimingMethod::Device)
            .map(|kernel| Sample { launched_ns: kernel.launched_ns, start_ns: kernel.span.0, end_ns: kernel.span.1 })
            .collect();
        let fresh = Offset::of_step(&samples, done_ns)?;
        let mut known = self.offset.lock();
        let joined = known.map_or(fresh, |earlier| fresh.narrowed_by(earlier));
        *known = Some(joined);
        Some(joined)
    }

    fn write(&self, kernel: Timed, offset: Option<Offset>) {
        let mut args = kernel.args.to_vec();
        args.push((arg::FULL_NAME, Value::Str(kernel.name)));
        let shift = match (kernel.method, offset) {
            (TimingMethod::Device, Some(offset)) => {
                args.push((arg::SOURCE, Value::Str("device timestamps")));
                args.push((arg::CLOCK_ERROR, Value::Int(offset.error_ns())));
                offset.ns()
            }
            _ => {
                args.push((arg::SOURCE, Value::Str("host clock")));
                -signed_ns(self.reference, self.recorder.clock().start_instant())
            }
        };
        let at = |ns: i64| Stamp::Ns(ns.saturating_add(shift));
        self.recorder.record(|| Record {
            lane: Lane::Named(name::DEVICE.into()),
            category: category::KERNEL,
            name: short_name(kernel.name).into(),
            shape: Shape::Span { start: at(kernel.span.0), end: at(kernel.span.1) },
            args,
        });
    }
}
