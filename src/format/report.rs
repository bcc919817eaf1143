//! What happened while a trace was read: how much came in, and everything that was not taken as it stood.

use crate::model::{TrackKind, units};
use crate::trace::{Overlaps, Trace};
use serde::Serialize;

/// Most kinds of notes that are kept apart, so that a hostile file cannot make the report grow without end.
const MAX_NOTES: usize = 200;

/// What is said of spans that overlap.
const OVERLAPPING: &str = "overlapping spans on one track, drawn one lane lower";

/// What further kinds are counted under.
const FURTHER: &str = "things of further kinds, not taken as they stood";

/// Something that was not taken as it stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What it was and what was done, as a phrase.
    pub what: String,
    /// How often.
    pub count: u64,
    /// Where it was met first, in bytes from the beginning of the (unpacked) file; `None` if it has no place.
    pub first_offset: Option<u64>,
}

/// The outcome of reading a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ImportReport {
    /// Name of the format.
    pub format: String,
    /// Spans read.
    pub spans: u64,
    /// Moments read.
    pub instants: u64,
    /// Values of counters read.
    pub counters: u64,
    /// Arrows between spans read.
    #[serde(default)]
    pub flows: u64,
    /// Samples of call stacks read.
    #[serde(default)]
    pub samples: u64,
    /// What was not taken as it stood, in the order in which it was met.
    pub notes: Vec<Note>,
    /// Bytes at the end of the file that are no whole packet: the writer was stopped in the middle of it.
    pub torn_tail_bytes: u64,
}

impl ImportReport {
    /// An empty report on a format.
    pub fn new(format: &str) -> Self {
        Self { format: format.to_owned(), ..Self::default() }
    }

    /// Counts something that was not taken as it stood.
    pub fn note(&mut self, what: &str, offset: Option<u64>) {
        self.note_many(what, 1, offset);
    }

    /// Counts something several times.
    pub fn note_many(&mut self, what: &str, count: u64, offset: Option<u64>) {
        if count == 0 {
            return;
        }
        let full = self.notes.len() >= MAX_NOTES;
        let known = self.notes.iter_mut().find(|note| note.what == what || (full && note.what == FURTHER));
        match known {
            Some(note) => note.count += count,
            None if full => {
                self.notes.push(Note { what: FURTHER.to_owned(), count, first_offset: offset });
            }
            None => self.notes.push(Note { what: what.to_owned(), count, first_offset: offset }),
        }
    }

    /// Adds what is known only when all is read: overlaps, nesting that is too deep, spans without an end.
    pub(super) fn close(&mut self, trace: &Trace) {
        for track in trace.tracks() {
            if track.kind == TrackKind::Async {
                // They may overlap; that is what they are for.
                continue;
            }
            self.note_many(OVERLAPPING, track.overlaps(), None);
            self.note_many("spans nested deeper than 4,096, left out", track.too_deep(), None);
            self.note_many("spans without an end, left open", track.open_count() as u64, None);
        }
    }

    /// Whether spans overlap, so that there is a choice of what is done with them.
    pub fn has_overlaps(&self) -> bool {
        self.notes.iter().any(|note| note.what == OVERLAPPING)
    }

    /// The same report after so many overlapping spans were cut.
    pub fn with_overlaps(&self, policy: Overlaps, cut: u64) -> Self {
        let words = match policy {
            Overlaps::Keep => OVERLAPPING,
            Overlaps::Nest => "overlapping spans on one track, cut at the end of the one that they begin in",
            Overlaps::Clip => "spans on one track that another overlaps, cut where that one begins",
        };
        let mut report = self.clone();
        for note in report.notes.iter_mut().filter(|note| policy != Overlaps::Keep && note.what == OVERLAPPING) {
            (note.what, note.count) = (words.to_owned(), cut);
        }
        report
    }

    /// One sentence on what was not taken as it stood; `None` if all was.
    pub fn summary(&self) -> Option<String> {
        let mut parts: Vec<String> =
            self.notes.iter().map(|note| format!("{} × {}", units::count(note.count), note.what)).collect();
        if self.torn_tail_bytes > 0 {
            let bytes = units::count(self.torn_tail_bytes);
            parts.push(format!("the last {bytes} bytes are an unfinished packet and were left out"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
