//! NVIDIA Nsight Systems, as `nsys export --type sqlite` writes it: a database with one table a kind of event.
//!
//! The tables and columns are those of the schema that NVIDIA documents for its exporter and that the file itself states
//! in comments. Columns came and went between versions, so each is looked for and taken as unknown where it is missing.

mod device;
mod host;
mod names;
mod reader;
mod table;
#[cfg(test)]
mod tests;

pub(super) use reader::read_file_watched;
pub use reader::{read, read_file};

/// How every SQLite database begins.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether a file that begins like this is a database of SQLite.
pub fn looks_like(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}
