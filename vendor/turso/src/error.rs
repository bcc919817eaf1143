//! What can go wrong, by the names that turso gives it.

use rusqlite::ErrorCode;

/// Why a statement failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process or connection holds the lock that is needed.
    #[error("{0}")]
    Busy(String),
    /// The same, for a reader whose view of the file is too old to write. SQLite reports it as [`Self::Busy`].
    #[error("{0}")]
    BusySnapshot(String),
    /// The file or its folder may not be written.
    #[error("{0}")]
    Readonly(String),
    /// The disk is full.
    #[error("{0}")]
    DatabaseFull(String),
    /// The file is no database.
    #[error("{0}")]
    NotAdb(String),
    /// The file is damaged.
    #[error("{0}")]
    Corrupt(String),
    /// A value has another type than the one asked for.
    #[error("conversion failure: {0}")]
    ConversionFailure(String),
    /// The system refused.
    #[error("I/O error ({1}): {0}")]
    IoError(std::io::ErrorKind, &'static str),
    /// Anything else.
    #[error("{0}")]
    Error(String),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(text),
            Some(ErrorCode::ReadOnly) => Self::Readonly(text),
            Some(ErrorCode::DiskFull) => Self::DatabaseFull(text),
            Some(ErrorCode::NotADatabase) => Self::NotAdb(text),
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt(text),
            _ => Self::Error(text),
        }
    }
}
