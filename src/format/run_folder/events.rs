//! `events.jsonl`: one event a line, as JSON.

use super::super::{FormatError, ImportReport};
use super::open_lines;
use crate::model::LogEvent;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Appends events. Each is one write, so several processes may append to one file.
#[derive(Debug)]
pub struct EventWriter {
    file: File,
    path: PathBuf,
}

impl EventWriter {
    /// Opens or makes the file.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let (file, _) = open_lines(path, b"\n", "open the event log")?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Appends an event.
    ///
    /// # Errors
    /// If the system refuses, for example because the disk is full.
    pub fn append(&mut self, event: &LogEvent) -> Result<(), FormatError> {
        let line = serde_json::to_vec(event).map_err(std::io::Error::other);
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        written.map_err(FormatError::io("write an event", &self.path))
    }
}

/// Takes whole lines; `offset` is where they stand in the file.
pub(super) fn read_lines(lines: &[u8], offset: u64, events: &mut Vec<LogEvent>, report: &mut ImportReport) {
    let mut at = offset;
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        let text = line.trim_ascii();
        if !text.is_empty() {
            match serde_json::from_slice(text) {
                Ok(event) => events.push(event),
                Err(_) => report.note("lines of events.jsonl that are cut or wrong, left out", Some(at)),
            }
        }
        at += line.len() as u64;
    }
}
