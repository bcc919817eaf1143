//! Networks: from a spec to Burn modules, their layers with shapes and work, number formats, loss scaling, weights.
//!
//! This room knows nothing of data, of the training loop or of the recorder: who wants to watch the layers passes a
//! [`LayerScope`].

pub mod build;
pub mod cnn;
pub mod init;
pub mod layers;
pub mod mlp;
pub mod pass;
pub mod precision;
pub mod scaler;

pub use build::Model;
pub use layers::{CLASSES, IMAGE_SHAPE, LayerInfo, LayerKind};
pub use pass::{LayerScope, Unwatched};
pub use precision::Policy;
pub use scaler::{LossScaler, ScalerVerdict};
