//! Chrome's JSON trace format, which most tools write or read: microseconds as decimals, an event an object.

mod reader;
mod writer;

pub use reader::read;
pub use writer::{to_json, write};
