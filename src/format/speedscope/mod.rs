//! The JSON of speedscope, a viewer of flame graphs: profiles of frames that open and close, or of weighted stacks.

mod nest;
mod reader;
mod writer;

pub(super) use reader::Reader;
pub use reader::read;
pub use writer::{to_json, write};

#[cfg(test)]
mod tests;
