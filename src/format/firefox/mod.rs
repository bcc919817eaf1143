//! Profiles as the Firefox Profiler saves them and samply writes them ("processed" profiles): tables of columns that
//! point at each other by index.

mod markers;
mod reader;
mod tables;

pub use reader::read;
pub(super) use reader::read_watched;

#[cfg(test)]
mod tests;
