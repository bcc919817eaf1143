//! What is wrong with data: which file, where in it, what was expected, what to try.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why images could not be read.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum DataError {
    /// The system refused.
    #[error("cannot read {}: {what}", file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What the system said.
        what: String,
    },
    /// The content is not as the format demands.
    #[error("{}, byte {offset}: {found}; expected {expected}", file.display())]
    Format {
        /// The file, or the archive and the member in it.
        file: PathBuf,
        /// Offset into the file, after decompression where it is compressed.
        offset: u64,
        /// What is there.
        found: String,
        /// What should be there.
        expected: String,
    },
    /// Nothing that could be trained on.
    #[error("{}: {what}. {hint}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What to try.
        hint: String,
    },
    /// The plan cannot be carried out on this data.
    #[error("{0}")]
    Plan(String),
    /// A thread of the pipeline ended without a word.
    #[error("an input worker ended unexpectedly: {0}")]
    Worker(String),
}

impl DataError {
    /// A refusal of the system.
    pub fn io(file: &Path, error: &std::io::Error) -> Self {
        Self::Io { file: file.to_path_buf(), what: error.to_string() }
    }

    /// Content that is not as it should be.
    pub fn format(file: &Path, offset: usize, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Format { file: file.to_path_buf(), offset: offset as u64, found: found.into(), expected: expected.into() }
    }

    /// A place without usable images.
    pub fn unusable(path: &Path, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unusable { path: path.to_path_buf(), what: what.into(), hint: hint.into() }
    }
}
