//! Reads the text of `perf script`: a line that says which thread was sampled when, and the frames of its stack below it,
//! innermost first.
//!
//! The samples say where a thread was at a moment, not for how long. A sample is drawn until the next one of its thread.
//! If that is more than ten usual gaps away, the thread did not run in between, and the sample is drawn for one usual
//! gap, and so is the last sample of a thread. The usual gap is the middle one of the thread's gaps, at most that of all
//! threads (a thread that mostly sleeps is sampled no faster than the others when it runs), and at most the sampling
//! period where that is a time, as it is for the events `cpu-clock` and `task-clock`.

mod lines;
mod reader;

pub(super) use lines::looks_like;
pub use reader::read;
pub(super) use reader::read_from;
