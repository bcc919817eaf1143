//! Training: from a spec to measured steps. Devices, process settings, the loop, its errors.
//!
//! This room knows nothing of run folders' layout, of workers or of the window.

pub mod device;
pub mod environment;
pub mod errors;
mod feed;
mod learner;
mod optimizer;
pub mod process;
pub mod summary;
pub mod thread;
pub mod trainer;
mod watch;

pub use device::{Adapter, OpenDevice, adapters};
pub use errors::TrainError;
pub use process::{cache_dir, prepare_process};
pub use summary::summarize;
pub use thread::on_training_thread;
pub use trainer::{Control, Length, Trainer};
