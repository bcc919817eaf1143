//! Names by which the recorder marks its tracks, categories and arguments, and by which analysis finds them again.

use serde::{Deserialize, Serialize};

/// What a track of a trace shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackKind {
    /// A process: groups other tracks.
    Process,
    /// The thread that trains: steps, phases, layers.
    Training,
    /// A thread of the input pipeline.
    Input,
    /// Tensor operations and fused blocks, where the host executes (enqueues) them.
    Ops,
    /// Kernels on the device, by device timestamps.
    Device,
    /// Compilation and autotuning.
    Compile,
    /// Any other thread.
    Thread,
    /// Work that is on no thread: spans may overlap freely.
    Async,
    /// Values over time.
    Counter,
}

/// Track names written by the recorder. A track's kind is found by its name, so these are part of the run format.
pub mod name {
    /// The thread that trains.
    pub const TRAINING: &str = "Training thread";
    /// Prefix of the input threads' names; a number follows.
    pub const INPUT_PREFIX: &str = "Input worker";
    /// Operations and fused blocks.
    pub const OPS: &str = "Ops and fused blocks";
    /// Kernels on the device.
    pub const DEVICE: &str = "Device kernels";
    /// Compilation and autotuning.
    pub const COMPILE: &str = "Compile and autotune";
    /// Batches that wait in the prefetch queue.
    pub const QUEUE_COUNTER: &str = "Prefetched batches";
    /// Device memory held by tensors when a step is over, in bytes; what is alive only within a step is not in it.
    pub const MEMORY_COUNTER: &str = "Device memory in use after a step";
    /// Device memory held by the pools, for tensors or for reuse, in bytes.
    pub const POOL_COUNTER: &str = "Device memory held by the pools";
}

impl TrackKind {
    /// The kind of a track with this name, as the recorder names them.
    pub fn from_name(track: &str) -> Self {
        match track {
            name::TRAINING => Self::Training,
            name::OPS => Self::Ops,
            name::DEVICE => Self::Device,
            name::COMPILE => Self::Compile,
            _ if track.starts_with(name::INPUT_PREFIX) => Self::Input,
            _ => Self::Thread,
        }
    }
}

/// Categories of the recorder's spans.
pub mod category {
    /// A whole training step; arguments `step`, `epoch`, `flags`.
    pub const STEP: &str = "step";
    /// A phase of a step; its name is the phase's label.
    pub const PHASE: &str = "phase";
    /// One layer's forward call on the host; arguments as for an op.
    pub const LAYER: &str = "layer";
    /// A tensor operation.
    pub const OP: &str = "op";
    /// A block of operations that was executed together.
    pub const BLOCK: &str = "block";
    /// A kernel on the device.
    pub const KERNEL: &str = "kernel";
    /// A stage of the input pipeline.
    pub const INPUT: &str = "input";
    /// A pipeline (shader) compilation.
    pub const COMPILE: &str = "compile";
    /// Choosing the fastest of several kernels by trying them.
    pub const AUTOTUNE: &str = "autotune";
    /// Evaluation on the test set.
    pub const EVAL: &str = "eval";
    /// A stretch of the program that its author marked.
    pub const HOST: &str = "host";
}

/// Argument keys of the recorder's spans.
pub mod arg {
    /// Number of the step.
    pub const STEP: &str = "step";
    /// Number of the epoch.
    pub const EPOCH: &str = "epoch";
    /// Flags of the step, joined by `+`.
    pub const FLAGS: &str = "flags";
    /// [`super::super::Phase`] identifier.
    pub const PHASE: &str = "phase";
    /// Layer name as in the model.
    pub const LAYER: &str = "layer";
    /// Shapes of the inputs, `[128, 3, 32, 32] [32, 3, 3, 3]`.
    pub const SHAPES_IN: &str = "shapes in";
    /// Shapes of the outputs.
    pub const SHAPES_OUT: &str = "shapes out";
    /// Element type, for example `f32`.
    pub const DTYPE: &str = "dtype";
    /// Floating-point operations, from the shapes.
    pub const FLOPS: &str = "flops";
    /// Bytes read and written, from the shapes.
    pub const BYTES: &str = "bytes";
    /// Number of the block.
    pub const BLOCK: &str = "block";
    /// Names of the operations that a block covers, joined by `, `.
    pub const OPS: &str = "ops";
    /// Number of kernels that a block launched.
    pub const LAUNCHES: &str = "launches";
    /// Names of the kernels that a block launched, joined by `, `.
    pub const KERNELS: &str = "kernels";
    /// Full type path of a kernel.
    pub const FULL_NAME: &str = "full name";
    /// How the time was measured: `device timestamps` or `host clock`.
    pub const SOURCE: &str = "source";
    /// How far a device time may lie from its place on the host's clock, in nanoseconds.
    pub const CLOCK_ERROR: &str = "clock error ns";
    /// Samples in the batch.
    pub const SAMPLES: &str = "samples";
}
