//! Chrome's JSON trace format, which most tools write or read: microseconds as decimals, an event an object. PyTorch's
//! profiler writes it too.

mod async_events;
mod event;
mod flows;
mod kineto;
mod places;
mod reader;
mod samples;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::read;
pub(super) use reader::read_watched;
pub use writer::{to_json, write};
