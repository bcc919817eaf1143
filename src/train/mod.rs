//! Training: from a spec to measured steps. Devices, process settings, the loop, its errors.
//!
//! This room knows nothing of run folders' layout, of workers or of the window.

pub mod device;
pub mod environment;
pub mod errors;
pub mod process;
pub mod thread;

pub use device::{Adapter, OpenDevice, adapters};
pub use errors::TrainError;
pub use process::{cache_dir, prepare_process};
pub use thread::on_training_thread;
