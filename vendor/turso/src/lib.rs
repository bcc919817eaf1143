//! The part of the interface of `turso` 0.8 that CubeCL uses to keep tuned and compiled kernels, over SQLite.
//!
//! CubeCL keeps its caches in one database file through `turso`, an engine written anew with encryption, sync and
//! full-text search: 75 crates that nothing here needs, on the critical path of every build. This program has SQLite
//! already, for Nsight's exports, and both read and write the same file format. So `[patch.crates-io]` in the program's
//! `Cargo.toml` puts this crate in turso's place. A program that uses Burnscope as a library is not touched by it.
//!
//! Statements are run on the spot; the futures are ready at once, as CubeCL expects of a file system. Rows are read
//! whole before the first is given out: a cache has thousands, not millions.

mod connection;
mod error;
mod rows;
pub mod transaction;

pub use connection::{Builder, Connection, Database};
pub use error::Error;
pub use rows::{IntoParams, Row, Rows};
pub use rusqlite::types::Value;

/// What a call came to.
pub type Result<T> = std::result::Result<T, Error>;
