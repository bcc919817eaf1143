//! What can go wrong while a file is read or written.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file could not be read or written. Says what, where and what to try; the path comes last.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The system refused.
    #[error("Cannot {doing}: {source}: {}", path.display())]
    Io {
        /// What was tried, for example `open the trace`.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// The content is not what it should be.
    #[error("{what} at byte {offset}; {hint}")]
    Damaged {
        /// What was found instead of what was expected.
        what: String,
        /// Where, in bytes from the beginning.
        offset: u64,
        /// What to try.
        hint: &'static str,
    },
    /// A text file has something wrong in one line or as a whole.
    #[error("{what}: {}", path.display())]
    Text {
        /// What, with line and column where they are known.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// The folder was written by a newer version.
    #[error("Written in format version {found}, this version of Burnscope reads up to {known}; update Burnscope: {}", path.display())]
    TooNew {
        /// Version found.
        found: u32,
        /// Newest version that is known.
        known: u32,
        /// The file.
        path: PathBuf,
    },
    /// The reader was told to stop.
    #[error("Reading was cancelled: {}", path.display())]
    Cancelled {
        /// The file.
        path: PathBuf,
    },
    /// Nothing that is known.
    #[error("{what}; Burnscope opens run folders, Perfetto, XProf, Nsight Systems (SQLite), Chrome JSON, speedscope, Firefox and samply profiles, collapsed stacks and perf script text (also gzip and zip): {}", path.display())]
    Unknown {
        /// What the content looks like.
        what: String,
        /// The file or folder.
        path: PathBuf,
    },
}

impl FormatError {
    /// For `map_err` on an input or output operation.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { doing, source, path }
    }
}
