//! The JSON of speedscope, a viewer of flame graphs: profiles of frames that open and close, or of weighted stacks.

mod reader;
mod writer;

pub use reader::read;
pub(super) use reader::read_watched;
pub use writer::{to_json, write};

#[cfg(test)]
mod tests;
