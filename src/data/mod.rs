//! Images and the input pipeline: readers for the usual image sets, and the stages between a set and a training step.
//!
//! Every set comes out as 3×32×32 planar bytes, so that the reference CNN runs on all of them. This room knows no
//! tensors and no devices.

pub mod archive;
pub mod builtin;
pub mod cifar_bin;
pub mod cifar_py;
pub mod detect;
pub mod error;
pub mod fit;
pub mod folder;
pub mod idx;
pub mod memory;
pub mod order;
pub mod pipeline;
pub mod source;
pub mod synthetic;
mod workers;

pub use detect::open;
pub use error::DataError;
pub use pipeline::{BatchPlan, HostBatch, Pipeline, PipelineStats, Silent, StageSink};
pub use source::{Dataset, ImageSource};

/// Channels of every image that leaves this room.
pub const CHANNELS: usize = 3;
/// Height and width of every image that leaves this room.
pub const SIDE: usize = 32;
/// Bytes of an image: channels × height × width.
pub const IMAGE_BYTES: usize = CHANNELS * SIDE * SIDE;
