//! Devices and what they can really do: adapters, and ceilings of copying, arithmetic and matrix products measured by
//! kernels of our own (`shaders/*.wgsl`) on raw wgpu.
//!
//! This room knows nothing of training: it opens its own device, checks every kernel against a reference on the CPU
//! before it times it, and takes no number that does not grow with the work.

pub mod ceilings;
pub mod cpu;
pub mod devices;
pub mod error;
mod gpu;
mod gpu_kernels;
pub mod rate;
pub mod store;
pub mod timing;

pub use ceilings::{Ceilings, measure, measure_cpu};
pub use devices::list;
pub use error::KernelError;
pub use rate::check_rate;
