//! Frames that open and close, normally the last opened first, on their way into the store.

use super::super::stacks::Frame;
use crate::trace::{NameId, Trace, TrackId};
use rustc_hash::FxHashMap;

/// Most spans that are open at once; the store keeps no more lanes.
const MAX_OPEN: usize = 4096;

/// What an end closed.
pub(super) enum Closed {
    /// The frame that opened last.
    Innermost,
    /// A frame with others inside it that are still open.
    Inside,
    /// A frame that opens later.
    BeforeItsStart,
    /// No frame.
    Nothing,
}

struct Open {
    /// Number among all that were opened.
    number: u64,
    start_ns: i64,
    /// Whether the store has it: it does not if it was too deep.
    kept: bool,
}

/// The frames of one track that are open.
pub(super) struct Nest {
    track: TrackId,
    /// Numbers of those that the store has.
    kept: Vec<u64>,
    /// Those that are open, by their frame: an end finds its begin without a search, however deep a hostile file nests.
    by_frame: FxHashMap<u64, Vec<Open>>,
    opened: u64,
    /// Time of the last event.
    pub last_ns: Option<i64>,
    /// Spans that were nested too deep and left out.
    pub too_deep: u64,
}

impl Nest {
    /// Nothing is open.
    pub fn new(track: TrackId) -> Self {
        Self { track, kept: Vec::new(), by_frame: FxHashMap::default(), opened: 0, last_ns: None, too_deep: 0 }
    }

    /// A frame opens; it bears a number in its file.
    pub fn open(&mut self, trace: &mut Trace, in_file: u64, frame: Frame, start_ns: i64) {
        let number = self.opened;
        self.opened += 1;
        let kept = self.kept.len() < MAX_OPEN;
        if kept {
            self.kept.push(number);
            trace.begin(self.track, start_ns, frame.name, NameId::EMPTY, frame.args);
        } else {
            self.too_deep += 1;
        }
        self.by_frame.entry(in_file).or_default().push(Open { number, start_ns, kept });
    }

    /// A frame closes: the one that opened last of those with this number.
    pub fn close(&mut self, trace: &mut Trace, in_file: u64, end_ns: i64) -> Closed {
        let Some(open) = self.by_frame.get_mut(&in_file).and_then(Vec::pop) else { return Closed::Nothing };
        let mut innermost = true;
        if open.kept
            && let Ok(at) = self.kept.binary_search(&open.number)
        {
            self.kept.remove(at);
            let later = self.kept.len() - at;
            innermost = later == 0;
            trace.end_before(self.track, later, end_ns);
        }
        match (end_ns < open.start_ns, innermost) {
            (true, _) => Closed::BeforeItsStart,
            (false, true) => Closed::Innermost,
            (false, false) => Closed::Inside,
        }
    }
}
