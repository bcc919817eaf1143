//! Files: one module a format, reading and writing side by side; every reader says what it could not take as it stood.
//!
//! This room knows no window, no Burn and no analysis.

pub mod chrome;
pub mod collapsed;
mod container;
mod decimal;
mod error;
pub mod firefox;
mod json;
mod json_stream;
mod nesting;
pub mod nsight;
mod open;
mod parts;
mod passes;
pub mod perf_script;
pub mod perfetto;
mod report;
pub mod run_folder;
pub mod speedscope;
mod stacks;
mod text;
mod watch;
mod window;
mod wire;
mod wire_stream;
pub mod xplane;

#[cfg(test)]
mod round_trip;

/// Whether spans of a category are work of a device, as PyTorch's profiler names it, old and new, and as we do.
pub(crate) fn device_work(category: &str) -> bool {
    matches!(category, "kernel" | "Kernel" | "gpu_memcpy" | "Memcpy" | "gpu_memset" | "Memset" | "gpu_user_annotation")
}

pub use error::FormatError;
pub use open::{Kind, detect, open_trace, open_watched};
pub use report::{ImportReport, Note};
pub use watch::Watch;
