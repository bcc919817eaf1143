//! Blocks of operations on the fusion server's thread: which operations ran together, when, for which phase and layer,
//! and which kernels they launched.
//!
//! Fusion runs one operation by itself or several as one kernel. A single operation becomes a span of category `op`. A
//! fused block becomes a span of category `block`, and each of its operations a moment at its start: their share of the
//! block's time cannot be known, so none is claimed.

use super::context::{Context, Contexts};
use super::kernels::{Kernel, Kernels};
use super::opinfo::{OpInfo, OpTable};
use crate::model::track::{arg, name};
use crate::model::{Phase, category};
use crate::record::clock::raw_now;
use crate::record::short::short_name;
use crate::record::step::int;
use crate::record::{Args, Lane, Record, Recorder, Shape, Stamp, Value};
use burn_fusion::observer::{BlockOperations, FusionObserver};
use burn_ir::{BaseOperationIr, FloatOperationIr, OperationIr, TensorIr, TensorStatus};
use cubecl::logging::{LaunchObserver, ProfileDuration, TimingRequest};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What was counted in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepCounts {
    /// Tensor operations.
    pub ops: u64,
    /// Blocks that they were run in.
    pub blocks: u64,
    /// Kernels that were launched.
    pub launches: u64,
}

/// Steps whose counts are kept.
const COUNTED_STEPS: usize = 10_000;

/// State that the observers and the training thread share.
pub(super) struct Shared {
    pub recorder: Recorder,
    pub contexts: Mutex<Contexts>,
    pub counts: Mutex<BTreeMap<u64, StepCounts>>,
    pub kernels: Kernels,
    next_block: AtomicU64,
    launched: Mutex<FxHashSet<&'static str>>,
}

impl Shared {
    pub fn new(recorder: Recorder) -> Self {
        Self {
            kernels: Kernels::new(recorder.clone()),
            recorder,
            contexts: Mutex::default(),
            counts: Mutex::default(),
            next_block: AtomicU64::new(0),
            launched: Mutex::default(),
        }
    }
}

/// A phase or layer of a whole block.
#[derive(Debug, Clone, PartialEq)]
enum Joint<T> {
    /// Nothing is known.
    None,
    /// All operations agree.
    One(T),
    /// They do not.
    Mixed,
}

impl<T: PartialEq> Joint<T> {
    fn add(&mut self, value: Option<T>) {
        *self = match (std::mem::replace(self, Self::None), value) {
            (known, None) => known,
            (Self::None, Some(value)) => Self::One(value),
            (Self::One(known), Some(value)) if known == value => Self::One(known),
            (Self::One(_) | Self::Mixed, Some(_)) => Self::Mixed,
        };
    }
}

/// Word for a block that crosses phases or layers.
const MIXED: &str = "mixed";

/// One operation of a block.
struct OpRun {
    info: Arc<OpInfo>,
    phase: Option<Phase>,
    layer: Option<Arc<str>>,
}

/// A block that is running on this thread.
struct Running {
    number: u64,
    start: u64,
    step: Option<u64>,
    phase: Joint<Phase>,
    layer: Joint<Arc<str>>,
    ops: Vec<OpRun>,
    fused_bytes: Option<u64>,
    launches: Vec<&'static str>,
    timed: Vec<Kernel>,
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
    static TABLE: RefCell<OpTable> = RefCell::new(OpTable::default());
}

/// Hears of blocks.
pub(super) struct BlockObserver(pub Arc<Shared>);

impl FusionObserver for BlockObserver {
    /// Nothing to do: a block is handed over with its operations, and their tensors' numbers tell the context.
    fn registered(&self, _operation: &OperationIr) {}

    fn block_starts(&self, block: BlockOperations<'_>) {
        let running = begin(&self.0, block);
        RUNNING.with_borrow_mut(|slot| *slot = running);
    }

    fn block_ran(&self) {
        // Taken out first: nothing below may find it borrowed, for this also runs while a panic unwinds.
        let running = RUNNING.with_borrow_mut(Option::take);
        if let Some(running) = running {
            end(&self.0, running);
        }
    }
}

fn begin(shared: &Shared, block: BlockOperations<'_>) -> Option<Running> {
    if !shared.recorder.is_recording() {
        return None;
    }
    let mut running = Running {
        number: 0,
        start: 0,
        step: None,
        phase: Joint::None,
        layer: Joint::None,
        ops: Vec::with_capacity(block.iter().len()),
        fused_bytes: None,
        launches: Vec::new(),
        timed: Vec::new(),
    };
    let mut contexts = shared.contexts.lock();
    for op in block.iter() {
        // Freeing a tensor is bookkeeping of the server, not work of the model.
        let Some(out) = op.outputs().next() else { continue };
        let context = contexts.of_tensor(out.id.value()).cloned();
        if context.as_ref().is_some_and(|context| !context.traced) {
            return None;
        }
        let layer = layer_of(op, context.as_ref(), &mut contexts);
        running.step = running.step.or(context.as_ref().and_then(|context| context.step));
        let phase = context.and_then(|context| context.phase);
        running.phase.add(phase);
        running.layer.add(layer.clone());
        let info = TABLE.with_borrow_mut(|table| table.get(op));
        running.ops.push(OpRun { info, phase, layer });
    }
    drop(contexts);
    if running.ops.is_empty() {
        return None;
    }
    if running.ops.len() > 1 {
        running.fused_bytes = Some(bytes_of_block(block));
    }
    running.number = shared.next_block.fetch_add(1, Ordering::Relaxed);
    running.start = raw_now();
    Some(running)
}

/// The layer of an operation: the one it was asked for in, or, in the backward pass, the one whose tensors it is given.
fn layer_of(op: &OperationIr, context: Option<&Context>, contexts: &mut Contexts) -> Option<Arc<str>> {
    let context = context?;
    let owners = contexts.owners();
    match (&context.layer, context.phase) {
        (Some(layer), Some(Phase::Forward)) => {
            if is_product(op) {
                op.inputs().for_each(|t| owners.given.add(t.id.value(), layer));
            } else if !is_view(op) {
                op.inputs().for_each(|t| owners.masked.add(t.id.value(), layer));
            }
            Some(Arc::clone(layer))
        }
        (None, Some(Phase::Backward)) => {
            let view = is_view(op);
            if view || is_product(op) {
                let layer = op.inputs().find_map(|t| owners.given.of(t.id.value()).cloned())?;
                if view {
                    op.outputs().for_each(|out| owners.given.add(out.id.value(), &layer));
                }
                return Some(layer);
            }
            // A mask is made of the activation's input; what is masked is found by the mask alone, for a gradient is no
            // layer's own.
            let mask = op.outputs().find(|out| out.dtype.is_bool());
            let layer = op
                .inputs()
                .filter(|t| mask.is_some() || t.dtype.is_bool())
                .find_map(|t| owners.masked.of(t.id.value()).cloned())?;
            if let Some(mask) = mask {
                owners.masked.add(mask.id.value(), &layer);
            }
            Some(layer)
        }
        (layer, _) => layer.clone(),
    }
}

/// Operations with weights or windows: convolutions, products, pools.
fn is_product(op: &OperationIr) -> bool {
    matches!(op, OperationIr::Module(_) | OperationIr::Float(_, FloatOperationIr::Matmul(_)))
}

/// The same tensor in another shape or order.
fn is_view(op: &OperationIr) -> bool {
    use BaseOperationIr::{Permute, Reshape, SwapDims};
    matches!(op, OperationIr::BaseFloat(Reshape(_) | SwapDims(_) | Permute(_)))
}

/// Bytes that a fused block must move: what it reads from outside, and what it writes and somebody may read later.
fn bytes_of_block(block: BlockOperations<'_>) -> u64 {
    let bytes = |t: &TensorIr| (t.shape.num_elements() as u64).saturating_mul(t.dtype.size() as u64);
    let mut made: Vec<(u64, u64)> = Vec::new();
    let mut read: Vec<u64> = Vec::new();
    let mut total = 0u64;
    for op in block.iter() {
        for input in op.inputs() {
            let id = input.id.value();
            if let Some(index) = made.iter().position(|(made, _)| *made == id) {
                // Its last reader is in the block too: it never goes to memory.
                if input.status == TensorStatus::ReadWrite {
                    made.swap_remove(index);
                }
            } else if !read.contains(&id) && op.outputs().next().is_some() {
                read.push(id);
                total = total.saturating_add(bytes(input));
            }
        }
        made.extend(op.outputs().map(|out| (out.id.value(), bytes(out))));
    }
    made.iter().fold(total, |all, (_, bytes)| all.saturating_add(*bytes))
}

fn end(shared: &Shared, mut running: Running) {
    let end = raw_now();
    if let Some(step) = running.step {
        let mut steps = shared.counts.lock();
        let counts = steps.entry(step).or_default();
        counts.ops += running.ops.len() as u64;
        counts.blocks += 1;
        counts.launches += running.launches.len() as u64;
        if steps.len() > COUNTED_STEPS {
            steps.pop_first();
        }
    }
    let fused = running.ops.len() > 1;
    let common = running.common_args();
    if fused {
        for op in &running.ops {
            shared.recorder.record(|| Record {
                lane: Lane::Named(name::OPS.into()),
                category: category::OP,
                name: op.info.name.to_string().into(),
                shape: Shape::Instant(Stamp::Raw(running.start)),
                args: running.op_args(op),
            });
        }
    }
    if !running.timed.is_empty() {
        let mut args = common.clone();
        args.push((arg::OPS, Value::Shared(running.op_names())));
        // Work is a kernel's only where the whole block is one kernel.
        if running.launches.len() == 1 {
            running.push_work(&mut args);
        }
        shared.kernels.add(std::mem::take(&mut running.timed), &args.into());
    }
    shared.recorder.record(|| {
        let mut args = common;
        match running.ops.as_slice() {
            [op] => push_shapes(&op.info, &mut args),
            _ => args.push((arg::OPS, Value::Shared(running.op_names()))),
        }
        running.push_work(&mut args);
        args.push((arg::LAUNCHES, int(running.launches.len() as u64)));
        if !running.launches.is_empty() {
            args.push((arg::KERNELS, Value::Text(kernel_names(&running.launches))));
        }
        Record {
            lane: Lane::Named(name::OPS.into()),
            category: if fused { category::BLOCK } else { category::OP },
            name: running.title().into(),
            shape: Shape::Span { start: Stamp::Raw(running.start), end: Stamp::Raw(end) },
            args,
        }
    });
}

impl Running {
    fn common_args(&self) -> Args {
        let mut args = vec![(arg::BLOCK, int(self.number))];
        args.extend(self.step.map(|step| (arg::STEP, int(step))));
        match &self.phase {
            Joint::None => {}
            Joint::One(phase) => args.push((arg::PHASE, Value::Str(phase.id()))),
            Joint::Mixed => args.push((arg::PHASE, Value::Str(MIXED))),
        }
        match &self.layer {
            Joint::None => {}
            Joint::One(layer) => args.push((arg::LAYER, Value::Shared(Arc::clone(layer)))),
            Joint::Mixed => args.push((arg::LAYER, Value::Str(MIXED))),
        }
        args.extend(self.dtype().map(|dtype| (arg::DTYPE, dtype)));
        args
    }

    /// Element types of the operations' results, `f32` or `f16+f32`; masks do not count unless there is nothing else.
    fn dtype(&self) -> Option<Value> {
        let mut all: Vec<&Arc<str>> = self.ops.iter().map(|op| &op.info.dtype).collect();
        all.sort_unstable();
        all.dedup();
        if all.iter().any(|dtype| !dtype.starts_with("bool")) {
            all.retain(|dtype| !dtype.starts_with("bool"));
        }
        match all.as_slice() {
            [] => None,
            [one] => Some(Value::Shared(Arc::clone(one))),
            several => Some(Value::Text(several.iter().map(|dtype| &***dtype).collect::<Vec<_>>().join("+"))),
        }
    }

    /// Arguments of one operation of a fused block.
    fn op_args(&self, op: &OpRun) -> Args {
        let mut args = vec![(arg::BLOCK, int(self.number))];
        args.extend(self.step.map(|step| (arg::STEP, int(step))));
        args.extend(op.phase.map(|phase| (arg::PHASE, Value::Str(phase.id()))));
        args.extend(op.layer.as_ref().map(|layer| (arg::LAYER, Value::Shared(Arc::clone(layer)))));
        push_shapes(&op.info, &mut args);
        args.push((arg::DTYPE, Value::Shared(Arc::clone(&op.info.dtype))));
        args.extend(op.info.work.flops.map(|flops| (arg::FLOPS, int(flops))));
        args.push((arg::SOURCE, Value::Str("time belongs to the fused block")));
        args
    }

    /// Work of the whole block; unknown as soon as that of one operation is.
    fn push_work(&self, args: &mut Args) {
        let flops = self.ops.iter().try_fold(0u64, |all, op| Some(all.saturating_add(op.info.work.flops?)));
        args.extend(flops.map(|flops| (arg::FLOPS, int(flops))));
        let bytes = match self.ops.as_slice() {
            [op] => op.info.work.bytes,
            _ => self.fused_bytes,
        };
        args.extend(bytes.map(|bytes| (arg::BYTES, int(bytes))));
    }

    fn op_names(&self) -> Arc<str> {
        let names: Vec<&str> = self.ops.iter().map(|op| &*op.info.name).collect();
        names.join(", ").into()
    }

    /// `add`, or `fused: add + relu + 3 more`.
    fn title(&self) -> String {
        const SHOWN: usize = 4;
        let names: Vec<&str> = self.ops.iter().map(|op| &*op.info.name).collect();
        match names.as_slice() {
            [name] => (*name).to_owned(),
            names if names.len() <= SHOWN => format!("fused: {}", names.join(" + ")),
            names => format!("fused: {} + {} more", names[..SHOWN - 1].join(" + "), names.len() - SHOWN + 1),
        }
    }
}

fn push_shapes(op: &OpInfo, args: &mut Args) {
    args.push((arg::SHAPES_IN, Value::Shared(Arc::clone(&op.shapes_in))));
    args.push((arg::SHAPES_OUT, Value::Shared(Arc::clone(&op.shapes_out))));
}

/// Names of kernels in the order of their first launch, `A, B ×3`.
fn kernel_names(launches: &[&'static str]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for name in launches.iter().map(|kernel| short_name(kernel)) {
        match counted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => *times += 1,
            None => counted.push((name, 1)),
        }
    }
    let texts = counted.into_iter().map(|(name, times)| match times {
        1 => name.to_owned(),
        _ => format!("{name} ×{times}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Hears of kernels; `timed`: asks for their device times.
pub(super) struct KernelObserver {
    pub shared: Arc<Shared>,
    pub timed: bool,
}

impl LaunchObserver for KernelObserver {
    fn launched(&self, kernel: &'static str) {
        let now = raw_now();
        RUNNING.with_borrow_mut(|running| {
            // Launches outside of a block are autotuning's trials on the device's thread, or belong to an untraced step.
            if let Some(running) = running {
                running.launches.push(kernel);
                if self.timed {
                    running.timed.push(Kernel::launched(kernel, now));
                }
            }
        });
        if self.shared.launched.lock().insert(kernel)
            && let Some(inner) = &self.shared.recorder.inner
        {
            inner.warm_up.first_launch();
        }
    }

    fn timing(&self) -> TimingRequest {
        if self.timed { TimingRequest::Deferred } else { TimingRequest::None }
    }

    fn profiled(&self, kernel: &'static str, profile: ProfileDuration) {
        with_last(kernel, |last| last.measured(profile));
    }

    fn timed(&self, kernel: &'static str, duration: Duration, method: cubecl::logging::TimingMethod) {
        with_last(kernel, |last| last.read(duration, method));
    }
}

/// The launch that a measurement belongs to: the last one of this block by that name.
fn with_last(kernel: &'static str, set: impl FnOnce(&mut Kernel)) {
    RUNNING.with_borrow_mut(|running| {
        let last = running.as_mut().and_then(|running| running.timed.last_mut());
        if let Some(last) = last.filter(|last| last.name() == kernel) {
            set(last);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_by_their_last_part() {
        assert_eq!(kernel_names(&["a::Copy", "b::Conv<f32>", "a::Copy", "a::Copy"]), "Copy ×3, Conv");
        assert_eq!(kernel_names(&[]), "");
    }

    #[test]
    fn a_block_has_a_phase_only_if_its_operations_agree() {
        let mut phase = Joint::None;
        phase.add(None);
        assert_eq!(phase, Joint::None);
        phase.add(Some(Phase::Loss));
        phase.add(None);
        phase.add(Some(Phase::Loss));
        assert_eq!(phase, Joint::One(Phase::Loss));
        phase.add(Some(Phase::Backward));
        phase.add(Some(Phase::Loss));
        assert_eq!(phase, Joint::Mixed);
    }
}
