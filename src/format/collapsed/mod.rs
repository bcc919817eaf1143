//! Collapsed stacks, as flame graph tools write and read them: `outer;inner;innermost 1234`, one line a stack.

mod reader;
mod writer;

pub(super) use reader::looks_like;
pub use reader::read;
pub(super) use reader::read_from;
pub use writer::to_text;
