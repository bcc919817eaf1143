//! The handle by which a program records, and the life of a recording: start, finish, figures about itself.

use super::clock::{RunClock, Stamp, raw_now};
use super::collector::{Collector, Order};
use super::item::{Args, Item, Lane, Record, Shape, Value};
use super::ring::{Rings, push_where};
use super::sink::Sink;
use super::step::{StepHook, StepScope};
use super::warmup::{WarmUp, WarmUpProgress};
use crate::model::track::{arg, name};
use crate::model::{EventKind, EventLevel, LogEvent, TraceLevel, category};
use crossbeam_channel::Sender;
use parking_lot::{Mutex, RwLock};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;

/// Why a recording could not start.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A file could not be created.
    #[error("cannot create {path}: {source}; choose another folder for the runs or free some space", path = path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The collecting thread could not be started.
    #[error("cannot start the recorder's thread: {0}; end other programs and try again")]
    Thread(std::io::Error),
}

/// What the recorder says while it works, on a thread of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// Recording stopped; the sentence says why. Said once.
    Failed(String),
    /// Something is being compiled or tuned.
    WarmUp(WarmUpProgress),
}

/// Receives notices. Must return soon: the recorder waits for it.
pub type Notify = Arc<dyn Fn(Notice) + Send + Sync>;

/// What to record, and where to.
#[derive(Clone)]
pub struct RecordOptions {
    /// How much is recorded.
    pub level: TraceLevel,
    /// The trace, `trace.pftrace`; it is created, or emptied if it exists.
    pub trace_path: PathBuf,
    /// The event lines, `events.jsonl`; created, or emptied if they exist.
    pub events_path: PathBuf,
    /// Who is told of trouble and of the warm-up's progress.
    pub notify: Option<Notify>,
}

impl RecordOptions {
    /// A recording into a run's folder, which must exist.
    pub fn in_folder(folder: impl AsRef<Path>, level: TraceLevel) -> Self {
        let folder = folder.as_ref();
        Self { level, trace_path: folder.join("trace.pftrace"), events_path: folder.join("events.jsonl"), notify: None }
    }
}

/// What a recording came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordStats {
    /// Spans, moments and counter values that were written.
    pub spans: u64,
    /// Records that were lost: a full buffer, or a failed trace.
    pub dropped: u64,
    /// Size of the trace, in bytes.
    pub bytes: u64,
    /// Why the recording stopped early, as a sentence.
    pub first_error: Option<String>,
}

pub(crate) struct Inner {
    pub level: TraceLevel,
    pub rings: Arc<Rings>,
    pub warm_up: WarmUp,
    pub hook: RwLock<Option<Arc<dyn StepHook>>>,
    orders: Sender<Order>,
    thread: Mutex<Option<std::thread::JoinHandle<RecordStats>>>,
    stats: Mutex<Option<RecordStats>>,
}

/// Records spans, counters and events. Clones are handles to the same recording.
#[derive(Clone)]
pub struct Recorder {
    clock: Arc<RunClock>,
    pub(crate) inner: Option<Arc<Inner>>,
}

/// Identifier of the recorder that [`crate::span!`] writes to; 0 = none.
static CURRENT_ID: AtomicU64 = AtomicU64::new(0);
static CURRENT: Mutex<Option<Recorder>> = Mutex::new(None);

impl Recorder {
    /// Starts a recording into files and makes it the one that [`crate::span!`] writes to. Its clock reads 0 now.
    pub fn start(options: RecordOptions) -> Result<Self, RecordError> {
        let sink = super::files::FileSink::create(&options.trace_path, &options.events_path)?;
        Self::with_sink(options.level, options.notify, Box::new(sink))
    }

    pub(crate) fn with_sink(
        level: TraceLevel,
        notify: Option<Notify>,
        sink: Box<dyn Sink>,
    ) -> Result<Self, RecordError> {
        let clock = Arc::new(RunClock::start());
        let rings = Rings::new();
        #[expect(
            clippy::disallowed_methods,
            reason = "orders are few, and a bound could hold up the thread that trains"
        )]
        let (orders, inbox) = crossbeam_channel::unbounded();
        let collector = Collector::new(Arc::clone(&clock), Arc::clone(&rings), sink, notify.clone());
        let thread = std::thread::Builder::new()
            .name("burnscope recorder".to_owned())
            .spawn(move || collector.run(&inbox))
            .map_err(RecordError::Thread)?;
        let inner = Inner {
            level,
            rings,
            warm_up: WarmUp::new(notify),
            hook: RwLock::new(None),
            orders,
            thread: Mutex::new(Some(thread)),
            stats: Mutex::new(None),
        };
        let recorder = Self { clock, inner: Some(Arc::new(inner)) };
        CURRENT_ID.store(recorder.id(), Ordering::Relaxed);
        *CURRENT.lock() = Some(recorder.clone());
        Ok(recorder)
    }

    /// A recorder that writes nothing. Its clock runs, and steps are still timed.
    pub fn off() -> Self {
        Self { clock: Arc::new(RunClock::start()), inner: None }
    }

    /// The recorder that was started last, unless it has finished.
    pub fn current() -> Option<Self> {
        CURRENT.lock().clone()
    }

    /// Who hears of steps, phases and layers from the next step on; `None` = nobody.
    pub fn set_hook(&self, hook: Option<Arc<dyn StepHook>>) {
        if let Some(inner) = &self.inner {
            *inner.hook.write() = hook;
        }
    }

    fn id(&self) -> u64 {
        self.inner.as_ref().map_or(0, |inner| inner.rings.id())
    }

    /// The run's clock.
    pub fn clock(&self) -> &Arc<RunClock> {
        &self.clock
    }

    /// Nanoseconds since the run's start.
    pub fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// What is recorded; `None` when recording is off.
    pub fn level(&self) -> Option<TraceLevel> {
        self.inner.as_ref().map(|inner| inner.level)
    }

    /// Whether records are still taken: recording is on, has not failed and not finished.
    pub fn is_recording(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.rings.is_open())
    }

    /// Begins a step on the calling thread, which becomes the training thread of the trace.
    ///
    /// `traced`: record operations (level L1 or higher); `sampled`: time kernels on the device (level L2). A flag that
    /// the level does not allow is ignored.
    pub fn step(&self, step: u64, epoch: u32, sampled: bool, traced: bool) -> StepScope {
        StepScope::begin(self.clone(), step, epoch, sampled, traced)
    }

    /// A span of the calling thread from now until the guard drops.
    pub fn scope(&self, category: &'static str, name: impl Into<Cow<'static, str>>) -> ScopeGuard {
        ScopeGuard { open: self.is_recording().then(|| (self.clone(), category, name.into(), raw_now())) }
    }

    /// A finished piece of work of the input pipeline, by its worker of that number, or by the training thread itself.
    pub fn input_span(&self, worker: Option<usize>, stage: &'static str, start: Stamp, end: Stamp, samples: u32) {
        let lane = || worker.map_or(name::TRAINING.into(), |worker| format!("{} {worker}", name::INPUT_PREFIX).into());
        self.record(|| Record {
            lane: Lane::Named(lane()),
            category: category::INPUT,
            name: stage.into(),
            shape: Shape::Span { start, end },
            args: vec![(arg::SAMPLES, Value::Int(i64::from(samples)))],
        });
    }

    /// Number of batches that wait in the prefetch queue now.
    pub fn queue_depth(&self, batches: usize) {
        // Queues hold far less than 2^53 batches.
        self.counter(name::QUEUE_COUNTER, "batches", batches as f64);
    }

    /// A value of a counter now.
    pub fn counter(&self, name: impl Into<Cow<'static, str>>, unit: &'static str, value: f64) {
        self.record(|| Record {
            lane: Lane::OwnThread,
            category: "",
            name: name.into(),
            shape: Shape::Counter { at: Stamp::Raw(raw_now()), value, unit },
            args: Args::new(),
        });
    }

    /// Adds a line to the event log.
    pub fn event(&self, event: LogEvent) {
        if let Some(inner) = &self.inner {
            // After the end there is no log to add to.
            let _ = inner.orders.send(Order::Event(event));
        }
    }

    /// Adds a message of the program itself to the event log, with the time of now.
    pub fn log(&self, level: EventLevel, text: impl Into<String>) {
        self.note(level, EventKind::Log, "burnscope", text.into());
    }

    pub(crate) fn note(&self, level: EventLevel, kind: EventKind, source: &str, text: String) {
        self.event(LogEvent { t_ns: self.now_ns(), level, kind, source: source.to_owned(), text });
    }

    /// Puts any record into the trace; `make` is not called when recording is off.
    pub fn record(&self, make: impl FnOnce() -> Record) {
        match &self.inner {
            Some(inner) if inner.rings.is_open() => inner.rings.push(Item::Full(Box::new(make()))),
            Some(inner) => inner.rings.count_dropped(1),
            None => {}
        }
    }

    /// Kernels compiled and tuned so far, and what is being worked on.
    pub fn warm_up(&self) -> WarmUpProgress {
        self.inner.as_ref().map(|inner| inner.warm_up.progress()).unwrap_or_default()
    }

    /// Waits until everything recorded so far is in the files, at most five seconds. Whether it is.
    pub fn flush(&self) -> bool {
        let Some(inner) = &self.inner else { return true };
        let (done, wait) = crossbeam_channel::bounded(1);
        inner.orders.send(Order::Flush(done)).is_ok() && wait.recv_timeout(Duration::from_secs(5)).is_ok()
    }

    /// Ends the recording, writes what is left, and says what it came to. All handles are off afterwards; a second
    /// call returns the same figures.
    pub fn finish(&self) -> RecordStats {
        let Some(inner) = &self.inner else { return RecordStats::default() };
        if CURRENT_ID.compare_exchange(self.id(), 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            *CURRENT.lock() = None;
        }
        let Some(thread) = inner.thread.lock().take() else { return inner.stats.lock().clone().unwrap_or_default() };
        // If the collector is gone already, joining it says why.
        let _ = inner.orders.send(Order::Finish);
        let stats = thread.join().unwrap_or_else(|_| RecordStats {
            first_error: Some("the recorder's thread crashed; the trace may lack its end".to_owned()),
            ..RecordStats::default()
        });
        *inner.stats.lock() = Some(stats.clone());
        stats
    }
}

/// A span that ends when this is dropped. See [`Recorder::scope`].
#[must_use = "the span ends as soon as the guard is dropped"]
pub struct ScopeGuard {
    open: Option<(Recorder, &'static str, Cow<'static, str>, u64)>,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        if let Some((recorder, category, name, start)) = self.open.take() {
            let end = raw_now();
            recorder.record(|| Record {
                lane: Lane::OwnThread,
                category,
                name,
                shape: Shape::Span { start: Stamp::Raw(start), end: Stamp::Raw(end) },
                args: Args::new(),
            });
        }
    }
}

/// A host span that ends when this is dropped. See [`crate::span!`].
#[must_use = "the span ends as soon as the guard is dropped"]
pub struct SpanGuard {
    /// The recorder that was current at the begin; 0 = none.
    recorder: u64,
    name: &'static str,
    start: u64,
}

/// Begins a host span on the calling thread; [`crate::span!`] is the shorter way to write it.
#[inline(always)]
pub fn span(name: &'static str) -> SpanGuard {
    let recorder = CURRENT_ID.load(Ordering::Relaxed);
    SpanGuard { recorder, name, start: if recorder == 0 { 0 } else { raw_now() } }
}

impl Drop for SpanGuard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.recorder != 0 {
            self.end();
        }
    }
}

impl SpanGuard {
    /// Out of line, so that a span that is off costs its callers a comparison and no registers.
    #[inline(never)]
    fn end(&self) {
        let item = Item::Host { name: self.name, start: self.start, end: raw_now() };
        push_where(self.recorder, item, || current_rings(self.recorder));
    }
}

#[cold]
fn current_rings(id: u64) -> Option<Arc<Rings>> {
    let current = CURRENT.lock();
    let inner = current.as_ref()?.inner.as_ref()?;
    (inner.rings.id() == id).then(|| Arc::clone(&inner.rings))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::testing::{recorder, recorder_with};
    use super::*;

    #[test]
    fn the_current_recorder_takes_host_spans_of_all_threads() {
        let (recorder, seen) = recorder(TraceLevel::L0);
        let id = recorder.id();
        let work = move || {
            let guard = SpanGuard { recorder: id, name: "work", start: raw_now() };
            drop(guard);
        };
        // The macro writes to the recorder that was started last, which another test may have started meanwhile; a ring
        // is found by identifier, so the guard is built by hand and the lookup is replaced by a first own record.
        let theirs = recorder.clone();
        std::thread::Builder::new()
            .name("worker".into())
            .spawn(move || {
                theirs.counter("first", "", 1.0);
                work();
                work();
            })
            .unwrap()
            .join()
            .unwrap();
        let stats = recorder.finish();
        assert_eq!((stats.spans, stats.dropped, stats.first_error), (3, 0, None));
        let spans = seen.spans();
        assert_eq!(spans.len(), 2);
        assert!(spans.iter().all(|s| s.track == "worker" && s.name == "work" && s.end >= s.start && s.start >= 0));
        assert_eq!(seen.counters().len(), 1);
    }

    #[test]
    fn a_full_disk_ends_the_recording_and_not_the_program() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&said);
        let (recorder, seen) = recorder_with(TraceLevel::L1, Some(Arc::new(move |notice| hear.lock().push(notice))));
        recorder.counter("a", "", 1.0);
        assert!(recorder.flush());
        seen.fail_after(1);
        for _ in 0..5 {
            recorder.counter("b", "", 2.0);
        }
        assert!(recorder.flush());
        assert!(!recorder.is_recording());
        let step = recorder.step(0, 0, true, true);
        assert!(!step.traced());
        assert!(step.finish().dur_ns >= 0);
        let stats = recorder.finish();
        assert_eq!(stats.dropped, 5, "the record that failed, the three after it, and the step");
        assert!(stats.first_error.as_deref().unwrap().contains("No space left"), "{stats:?}");
        let said = said.lock();
        assert!(matches!(said.as_slice(), [Notice::Failed(text)] if text.contains("No space left")), "{said:?}");
        assert_eq!(seen.counters().len(), 2);
        assert_eq!(recorder.finish(), stats, "a second end returns the same figures");
    }

    #[test]
    fn records_reach_the_sink_without_being_asked_for() {
        let (recorder, seen) = recorder(TraceLevel::L0);
        drop(recorder.scope(category::EVAL, "Evaluation"));
        recorder.log(EventLevel::Warning, "low on memory");
        std::thread::sleep(Duration::from_millis(400));
        assert!(seen.flushes() >= 1, "flushed at least every quarter second");
        assert_eq!(seen.spans()[0].category, category::EVAL);
        assert_eq!(seen.events()[0].text, "low on memory");
        recorder.finish();
    }

    #[test]
    fn input_spans_carry_their_worker_and_samples() {
        let (recorder, seen) = recorder(TraceLevel::L0);
        recorder.input_span(Some(3), "decode", Stamp::Ns(1_000), Stamp::Ns(5_001_000), 128);
        recorder.queue_depth(4);
        recorder.finish();
        let span = seen.spans().remove(0);
        assert_eq!((span.track.as_str(), span.name.as_str()), ("Input worker 3", "decode"));
        assert_eq!(span.arg(arg::SAMPLES), "128");
        assert_eq!(span.end - span.start, 5_000_000);
        assert_eq!(seen.counters()[0].2, 4.0);
    }

    #[test]
    fn nothing_is_recorded_by_a_recorder_that_is_off() {
        let recorder = Recorder::off();
        recorder.record(|| unreachable!("not called"));
        recorder.counter("x", "", 1.0);
        assert!(!recorder.is_recording() && recorder.level().is_none() && recorder.flush());
        assert_eq!(recorder.finish(), RecordStats::default());
    }
}
