//! Files: one module a format, reading and writing side by side; every reader says what it could not take as it stood.
//!
//! This room knows no window, no Burn and no analysis.

mod error;
pub mod perfetto;
mod report;
pub mod run_folder;
mod wire;

pub use error::FormatError;
pub use report::{ImportReport, Note};
