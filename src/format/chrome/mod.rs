//! Chrome's JSON trace format, which most tools write or read: microseconds as decimals, an event an object. PyTorch's
//! profiler writes it too.

mod async_events;
mod event;
mod flows;
mod id;
mod kineto;
mod places;
mod reader;
mod samples;
#[cfg(test)]
mod tests;
mod walk;
mod writer;

pub use reader::read;
pub(super) use reader::read_from;
pub use writer::{to_json, write};
