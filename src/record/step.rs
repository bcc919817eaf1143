//! Steps, phases and layers: what the training thread says of itself.
//!
//! A step is timed also when nothing is recorded, because its row in `steps.csv` needs the phases. Phases are
//! exclusive: one that is opened inside another takes its time out of the outer one.

use super::clock::{Stamp, raw_now, raw_to_ns};
use super::item::{Args, Lane, Record, Shape, Value};
use super::recorder::Recorder;
use super::warmup::Counts;
use crate::model::track::{arg, name};
use crate::model::{Phase, StepFlags, StepRecord, TraceLevel, category};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Hears of steps, phases and layers on the training thread, at the moment they change. The Burn observers use it to
/// attribute what runs later on other threads.
pub trait StepHook: Send + Sync {
    /// A step begins.
    fn step_begins(&self, step: u64, traced: bool, sampled: bool);
    /// From now on work belongs to this phase and layer of the current step.
    fn context(&self, phase: Option<Phase>, layer: Option<&Arc<str>>);
    /// The step is over.
    fn step_ends(&self, step: u64);
}

/// Shapes and work of a layer's forward call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LayerArgs {
    /// Shapes of the inputs, `[128, 3, 32, 32]`.
    pub shapes_in: Vec<Vec<usize>>,
    /// Shapes of the outputs.
    pub shapes_out: Vec<Vec<usize>>,
    /// Element type, for example `f32`.
    pub dtype: &'static str,
    /// Floating-point operations of the call, where they are known.
    pub flops: Option<u64>,
    /// Bytes read and written, where they are known.
    pub bytes: Option<u64>,
}

struct Running {
    recorder: Recorder,
    step: u64,
    epoch: u32,
    hook: Option<Arc<dyn StepHook>>,
    layers: bool,
    start: u64,
    /// The innermost open phase and the moment up to which its time is accounted for.
    open: Cell<Option<(Phase, u64)>>,
    phases_ns: Cell<[i64; Phase::COUNT]>,
}

/// A step that is being made. Dropped without [`StepScope::finish`] (an error inside it), it records nothing.
#[must_use = "a step is recorded by `finish`"]
pub struct StepScope {
    running: Rc<Running>,
    flags: Cell<StepFlags>,
    before: Counts,
    start_ns: i64,
}

thread_local! {
    /// The step that this thread is making: where layers find their recorder.
    static STEP: RefCell<Option<Rc<Running>>> = const { RefCell::new(None) };
}

impl StepScope {
    pub(crate) fn begin(recorder: Recorder, step: u64, epoch: u32, sampled: bool, traced: bool) -> Self {
        let level = recorder.level().filter(|_| recorder.is_recording());
        let traced = traced && level >= Some(TraceLevel::L1);
        let mut flags = StepFlags::default();
        let mut hook = None;
        let mut before = Counts::default();
        if let Some(inner) = &recorder.inner {
            inner.rings.set_training();
            hook = inner.hook.read().clone();
            before = inner.warm_up.counts();
        }
        if traced {
            flags.insert(StepFlags::TRACED);
        }
        // Without anyone who could time kernels (on the CPU backend, say), the step is an ordinary one.
        let sampled = traced && sampled && level >= Some(TraceLevel::L2) && hook.is_some();
        if sampled {
            flags.insert(StepFlags::SAMPLED);
        }
        if let Some(hook) = &hook {
            hook.step_begins(step, traced, sampled);
        }
        let start = raw_now();
        let running = Rc::new(Running {
            step,
            epoch,
            hook,
            layers: traced,
            start,
            open: Cell::new(None),
            phases_ns: Cell::new([0; Phase::COUNT]),
            recorder,
        });
        STEP.with_borrow_mut(|current| *current = Some(Rc::clone(&running)));
        let start_ns = running.recorder.clock().raw_ns(start);
        Self { running, flags: Cell::new(flags), before, start_ns }
    }

    /// Begins a phase, which lasts until the guard drops.
    pub fn phase(&self, phase: Phase) -> PhaseGuard<'_> {
        let running = &*self.running;
        let now = raw_now();
        let outer = running.open.get();
        running.account(now);
        running.open.set(Some((phase, now)));
        running.tell(Some(phase), None);
        PhaseGuard { running, phase, start: now, outer: outer.map(|(phase, _)| phase) }
    }

    /// Sets flags of the step, for example [`StepFlags::SKIPPED`].
    pub fn flag(&self, flags: StepFlags) {
        let mut all = self.flags.get();
        all.insert(flags);
        self.flags.set(all);
    }

    /// Whether this step records operations.
    pub fn traced(&self) -> bool {
        self.flags.get().contains(StepFlags::TRACED)
    }

    /// Whether this step times kernels on the device.
    pub fn sampled(&self) -> bool {
        self.flags.get().contains(StepFlags::SAMPLED)
    }

    /// Ends the step. What no phase covered is [`Phase::Other`]. The step is marked cold if anything was compiled or
    /// tuned during it. Loss, accuracy, samples and block are the caller's to fill in.
    pub fn finish(self) -> StepRecord {
        let running = Rc::clone(&self.running);
        let end = raw_now();
        running.account(end);
        let mut flags = self.flags.get();
        if let Some(inner) = &running.recorder.inner
            && inner.warm_up.counts() != self.before
        {
            flags.insert(StepFlags::COLD);
        }
        let mut record = StepRecord {
            step: running.step,
            epoch: running.epoch,
            start_ns: self.start_ns,
            // From the two ends as the trace has them, so that both agree to the nanosecond.
            dur_ns: running.recorder.clock().raw_ns(end) - self.start_ns,
            phases_ns: running.phases_ns.get(),
            flags,
            ..StepRecord::default()
        };
        record.close();
        running.recorder.record(|| Record {
            lane: Lane::Named(name::TRAINING.into()),
            category: category::STEP,
            name: "Step".into(),
            shape: Shape::Span { start: Stamp::Raw(running.start), end: Stamp::Raw(end) },
            args: vec![
                (arg::STEP, int(running.step)),
                (arg::EPOCH, Value::Int(i64::from(running.epoch))),
                (arg::FLAGS, Value::Text(flags.to_text())),
            ],
        });
        record
    }
}

impl Drop for StepScope {
    fn drop(&mut self) {
        STEP.with_borrow_mut(|current| *current = None);
        if let Some(hook) = &self.running.hook {
            hook.step_ends(self.running.step);
        }
    }
}

impl Running {
    /// Books the time up to `now` to the innermost open phase.
    fn account(&self, now: u64) {
        if let Some((phase, since)) = self.open.get() {
            let mut phases = self.phases_ns.get();
            phases[phase as usize] += raw_to_ns(since, now);
            self.phases_ns.set(phases);
            self.open.set(Some((phase, now)));
        }
    }

    fn tell(&self, phase: Option<Phase>, layer: Option<&Arc<str>>) {
        if self.layers
            && let Some(hook) = &self.hook
        {
            hook.context(phase, layer);
        }
    }
}

/// A phase that ends when this is dropped. See [`StepScope::phase`].
#[must_use = "the phase ends as soon as the guard is dropped"]
pub struct PhaseGuard<'a> {
    running: &'a Running,
    phase: Phase,
    start: u64,
    outer: Option<Phase>,
}

impl Drop for PhaseGuard<'_> {
    fn drop(&mut self) {
        let end = raw_now();
        self.running.account(end);
        self.running.open.set(self.outer.map(|phase| (phase, end)));
        self.running.tell(self.outer, None);
        self.running.recorder.record(|| Record {
            lane: Lane::Named(name::TRAINING.into()),
            category: category::PHASE,
            name: self.phase.label().into(),
            shape: Shape::Span { start: Stamp::Raw(self.start), end: Stamp::Raw(end) },
            args: vec![(arg::PHASE, Value::Str(self.phase.id())), (arg::STEP, int(self.running.step))],
        });
    }
}

/// Begins a layer's forward call inside the step that this thread is making; it lasts until the guard drops.
///
/// Outside of a step, and on a step that is not traced, nothing is recorded and `args` is not called.
pub fn layer(name: &str, args: impl FnOnce() -> LayerArgs) -> LayerGuard {
    let open = STEP.with_borrow(|current| {
        let running = current.as_ref().filter(|running| running.layers)?;
        let phase = running.open.get().map(|(phase, _)| phase);
        let name: Arc<str> = name.into();
        running.tell(phase, Some(&name));
        Some(OpenLayer { running: Rc::clone(running), phase, name, args: args(), start: raw_now() })
    });
    LayerGuard { open }
}

struct OpenLayer {
    running: Rc<Running>,
    phase: Option<Phase>,
    name: Arc<str>,
    args: LayerArgs,
    start: u64,
}

/// A layer's call that ends when this is dropped. See [`layer`].
#[must_use = "the layer ends as soon as the guard is dropped"]
pub struct LayerGuard {
    open: Option<OpenLayer>,
}

impl Drop for LayerGuard {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else { return };
        let end = raw_now();
        open.running.tell(open.phase, None);
        open.running.recorder.record(|| Record {
            lane: Lane::Named(name::TRAINING.into()),
            category: category::LAYER,
            name: open.name.to_string().into(),
            shape: Shape::Span { start: Stamp::Raw(open.start), end: Stamp::Raw(end) },
            args: open.args.to_args(&open.name, open.phase, open.running.step),
        });
    }
}

impl LayerArgs {
    fn to_args(&self, layer: &Arc<str>, phase: Option<Phase>, step: u64) -> Args {
        let mut args = vec![(arg::LAYER, Value::Shared(Arc::clone(layer))), (arg::STEP, int(step))];
        if let Some(phase) = phase {
            args.push((arg::PHASE, Value::Str(phase.id())));
        }
        args.push((arg::SHAPES_IN, Value::Text(shapes_text(&self.shapes_in))));
        args.push((arg::SHAPES_OUT, Value::Text(shapes_text(&self.shapes_out))));
        args.push((arg::DTYPE, Value::Str(self.dtype)));
        args.extend(self.flops.map(|flops| (arg::FLOPS, int(flops))));
        args.extend(self.bytes.map(|bytes| (arg::BYTES, int(bytes))));
        args
    }
}

/// A count as an argument; one beyond `i64` is held at its bound.
pub(crate) fn int(value: u64) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Shapes as text, `[128, 3, 32, 32] [32, 3, 3, 3]`.
pub fn shapes_text<S: AsRef<[usize]>>(shapes: impl IntoIterator<Item = S>) -> String {
    let texts: Vec<String> = shapes.into_iter().map(|shape| format!("{:?}", shape.as_ref())).collect();
    texts.join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::testing::{Seen, recorder};
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    const MS: i64 = 1_000_000;

    #[test]
    fn phases_are_exclusive_and_close_to_the_step() {
        let (recorder, seen) = recorder(TraceLevel::L1);
        let step = recorder.step(7, 2, false, true);
        {
            let _forward = step.phase(Phase::Forward);
            sleep(Duration::from_millis(4));
            {
                let _loss = step.phase(Phase::Loss);
                sleep(Duration::from_millis(6));
            }
            sleep(Duration::from_millis(4));
        }
        sleep(Duration::from_millis(3));
        let record = step.finish();
        assert_eq!((record.step, record.epoch), (7, 2));
        assert_eq!(record.phases_ns.iter().sum::<i64>(), record.dur_ns);
        let forward = record.phase_ns(Phase::Forward);
        assert!(forward >= 8 * MS && forward < record.dur_ns - 9 * MS + MS, "forward without loss: {forward} ns");
        assert!(record.phase_ns(Phase::Loss) >= 6 * MS);
        assert!(record.phase_ns(Phase::Other) >= 3 * MS);
        assert!(record.flags.contains(StepFlags::TRACED) && record.flags.steady());

        let spans = finish(&recorder, &seen);
        let names: Vec<&str> = spans.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["Loss", "Forward", "Step"]);
        assert!(spans.iter().all(|s| s.track == name::TRAINING));
        let (loss, forward, step) = (&spans[0], &spans[1], &spans[2]);
        assert!(step.start <= forward.start && forward.start <= loss.start);
        assert!(loss.end <= forward.end && forward.end <= step.end);
        assert_eq!((step.start, step.end - step.start), (record.start_ns, record.dur_ns));
    }

    #[test]
    fn layers_are_recorded_in_traced_steps_only() {
        let (recorder, seen) = recorder(TraceLevel::L1);
        let args = || LayerArgs {
            shapes_in: vec![vec![8, 3, 4, 4]],
            shapes_out: vec![vec![8, 5]],
            dtype: "f32",
            flops: Some(480),
            bytes: None,
        };
        drop(layer("outside", args));
        for (n, traced) in [(0, true), (1, false)] {
            let step = recorder.step(n, 0, false, traced);
            let phase = step.phase(Phase::Forward);
            drop(layer("conv1", args));
            drop(phase);
            step.finish();
        }
        let spans = finish(&recorder, &seen);
        let layers: Vec<_> = spans.iter().filter(|s| s.category == category::LAYER).collect();
        assert_eq!(layers.len(), 1);
        assert_eq!(layers[0].name, "conv1");
        assert_eq!(layers[0].arg(arg::SHAPES_IN), "[8, 3, 4, 4]");
        assert_eq!(layers[0].arg(arg::PHASE), "forward");
        assert_eq!(layers[0].arg(arg::FLOPS), "480");
        assert_eq!(layers[0].arg(arg::BYTES), "", "what is unknown is left out");
    }

    #[test]
    fn a_step_is_timed_when_recording_is_off() {
        let recorder = Recorder::off();
        let step = recorder.step(0, 0, true, true);
        {
            let _upload = step.phase(Phase::Upload);
            sleep(Duration::from_millis(2));
        }
        let record = step.finish();
        assert!(record.phase_ns(Phase::Upload) >= 2 * MS && record.dur_ns >= record.phase_ns(Phase::Upload));
        assert_eq!(record.flags, StepFlags::default(), "nothing is traced or sampled without a recording");
    }

    #[test]
    fn flags_follow_the_level_and_the_compiler() {
        let (recorder, _) = recorder(TraceLevel::L1);
        let step = recorder.step(0, 0, true, true);
        assert!(step.traced() && !step.sampled(), "L1 has no sampled steps");
        recorder.inner.as_ref().unwrap().warm_up.compiled("kernel");
        step.flag(StepFlags::SKIPPED);
        let flags = step.finish().flags;
        assert!(flags.contains(StepFlags::COLD) && flags.contains(StepFlags::SKIPPED));
        assert!(!recorder.step(1, 0, false, true).finish().flags.contains(StepFlags::COLD));
    }

    fn finish(recorder: &Recorder, seen: &Seen) -> Vec<super::super::testing::SeenSpan> {
        assert_eq!(recorder.finish().dropped, 0);
        seen.spans()
    }
}
