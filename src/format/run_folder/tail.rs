//! Reads what was added to a growing file.

use super::super::FormatError;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Longest line that is kept while its end is awaited.
const MAX_LINE_BYTES: usize = 64 << 20;

/// A place in a growing file.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    file: Option<File>,
    offset: u64,
    piece: Vec<u8>,
}

impl Tail {
    /// The beginning of a file, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), file: None, offset: 0, piece: Vec::new() }
    }

    /// Whether the file was there.
    pub fn found(&self) -> bool {
        self.file.is_some()
    }

    /// The next piece and its place; empty at the end of what there is.
    ///
    /// # Errors
    /// If the file cannot be read, or has become shorter.
    pub fn next_piece(&mut self, doing: &'static str) -> Result<(&[u8], u64), FormatError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => match File::open(&self.path) {
                Ok(file) => self.file.insert(file),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok((&[], 0)),
                Err(error) => return Err(FormatError::io(doing, &self.path)(error)),
            },
        };
        self.piece.clear();
        self.piece.reserve(PIECE_BYTES);
        let offset = self.offset;
        let read = file.take(PIECE_BYTES as u64).read_to_end(&mut self.piece);
        let read = read.map_err(FormatError::io(doing, &self.path))?;
        self.offset += read as u64;
        let length = file.metadata().map_err(FormatError::io(doing, &self.path))?.len();
        if length < self.offset {
            let what = format!("Became shorter while it was read: {length} bytes, {} were read", self.offset);
            return Err(FormatError::Text { what, path: self.path.clone() });
        }
        Ok((&self.piece, offset))
    }
}

/// Gathers pieces into whole lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// The whole lines up to the end of this piece, and where they start, given where the piece does.
    pub fn whole(&mut self, piece: &[u8], offset: u64) -> (Vec<u8>, u64) {
        let start = offset.saturating_sub(self.rest.len() as u64);
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(piece);
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        // A line without end is given out in parts: each will be counted as wrong instead of filling the memory.
        if end == 0 && bytes.len() > MAX_LINE_BYTES {
            return (bytes, start);
        }
        self.rest = bytes.split_off(end);
        (bytes, start)
    }

    /// Bytes of a last line without an end.
    pub fn torn(&self) -> usize {
        self.rest.len()
    }
}
