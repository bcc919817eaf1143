//! A track: lanes of nested spans, and where a new span goes among them.
//!
//! Spans in order of time (parents first) are placed at once. A span that comes late (a parent written after its
//! children, as scopes that are recorded when they end) waits; [`Track::settle`] sorts it in and places anew what
//! starts after it. So the lanes do not depend on the order in which spans came.

use super::args::ArgsId;
use super::lane::{Lane, OPEN, Span};
use super::names::NameId;
use crate::model::TrackKind;
use std::cmp::Reverse;
use std::ops::Range;

/// Index of a track in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TrackId(pub u32);

/// Where a span is. Valid for the trace it was found in and for later snapshots as long as no earlier span comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanRef {
    /// Track.
    pub track: TrackId,
    /// Depth of nesting, from 0.
    pub depth: u16,
    /// Index in the lane.
    pub idx: u32,
}

/// Deepest nesting that is kept apart; deeper spans are counted by [`Track::too_deep`].
const MAX_DEPTH: usize = 4096;

/// A span that has begun and not ended, and where it is, once it is placed.
#[derive(Debug, Clone)]
struct OpenSpan {
    span: Span,
    placed: Option<(usize, usize)>,
}

/// One track.
#[derive(Debug, Clone)]
pub struct Track {
    /// Index in the trace.
    pub id: TrackId,
    /// Identifier in the file it was read from.
    pub uuid: u64,
    /// Name.
    pub name: String,
    /// Name of the process it belongs to; empty if unknown.
    pub process: String,
    /// What it shows.
    pub kind: TrackKind,
    /// The track it is part of.
    pub parent: Option<TrackId>,
    /// Where it stands among the others of its kind: by its process first, then by itself; smaller is higher.
    pub order: (i64, i64),
    lanes: Vec<Lane>,
    instants: Lane,
    /// Lanes that may still be open at the last span's start: the depth of the last span, plus one.
    depth_now: usize,
    /// Start and end of the last span that was placed.
    last: (i64, i64),
    pending: Vec<Span>,
    pending_instants: Vec<Span>,
    open: Vec<OpenSpan>,
    /// Whether the span that began last is still to be placed or put off: most end at once and never stand open.
    fresh: bool,
    /// Spans from here on stand where they would not, had the end of a span been known when it was placed.
    redo_from: Option<i64>,
    too_deep: u64,
}

impl Track {
    pub(super) fn new(
        id: TrackId,
        uuid: u64,
        parent: Option<TrackId>,
        name: &str,
        process: &str,
        kind: TrackKind,
    ) -> Self {
        Self {
            id,
            uuid,
            name: name.to_owned(),
            process: process.to_owned(),
            kind,
            parent,
            order: (0, 0),
            lanes: Vec::new(),
            instants: Lane::default(),
            depth_now: 0,
            last: (i64::MIN, i64::MAX),
            pending: Vec::new(),
            pending_instants: Vec::new(),
            open: Vec::new(),
            fresh: false,
            redo_from: None,
            too_deep: 0,
        }
    }

    /// Number of lanes: the deepest nesting.
    pub fn depth_count(&self) -> usize {
        self.lanes.len()
    }

    /// The spans at a depth.
    pub fn lane(&self, depth: usize) -> Option<&Lane> {
        self.lanes.get(depth)
    }

    /// All lanes, outermost first.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Moments without duration (`dur_ns` is 0), sorted by time.
    pub fn instants(&self) -> &Lane {
        &self.instants
    }

    /// Number of spans.
    pub fn span_count(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.len() as u64).sum()
    }

    /// Number of spans that have not ended.
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Spans that could not be placed because they were nested deeper than 4,096.
    pub fn too_deep(&self) -> u64 {
        self.too_deep
    }

    /// Every span with its depth and index, lane by lane.
    pub fn spans(&self) -> impl Iterator<Item = (SpanRef, Span)> + '_ {
        self.lanes.iter().enumerate().flat_map(move |(depth, lane)| {
            lane.iter()
                .enumerate()
                .map(move |(idx, span)| (SpanRef { track: self.id, depth: depth as u16, idx: idx as u32 }, span))
        })
    }

    /// Start of the first span or instant and end of the last; open spans count with their start.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let mut bounds: Option<(i64, i64)> = None;
        for lane in self.lanes.iter().chain([&self.instants]) {
            let (Some(first), Some(last)) = (lane.get(0), lane.last()) else { continue };
            // Only the last span of a lane can be open.
            let end = if last.is_open() {
                let before = lane.len().checked_sub(2).and_then(|idx| lane.get(idx));
                before.map_or(last.start_ns, |span| span.end_ns().max(last.start_ns))
            } else {
                last.end_ns()
            };
            let (from, to) = bounds.unwrap_or((first.start_ns, end));
            bounds = Some((from.min(first.start_ns), to.max(end)));
        }
        bounds
    }

    /// Indices, in the lane below, of the spans inside this one.
    pub fn children(&self, depth: usize, idx: usize) -> Range<usize> {
        let Some((span, below)) = self.lane(depth).and_then(|lane| lane.get(idx)).zip(self.lane(depth + 1)) else {
            return 0..0;
        };
        let first = below.first_starting_at(span.start_ns);
        let mut end = below.first_starting_at(span.end_ns()).max(first);
        // The last one may stick out: it overlaps this span without being inside it.
        if end > first && below.get(end - 1).is_some_and(|last| last.end_ns() > span.end_ns()) {
            end -= 1;
        }
        first..end
    }

    /// Time in ns that the spans directly inside leave of this one, which is the `idx`th of its lane and has ended; those
    /// inside that have not ended take nothing.
    pub fn self_ns(&self, depth: usize, idx: usize, span: &Span) -> i64 {
        let inside = self.lane(depth + 1).map_or(0, |below| {
            let children = below.iter_range(self.children(depth, idx));
            children.map(|child| child.dur_ns.max(0)).fold(0, i64::saturating_add)
        });
        span.dur_ns.saturating_sub(inside)
    }

    /// Index, in the lane above, of the span that contains this one.
    pub fn parent_of(&self, depth: usize, idx: usize) -> Option<usize> {
        let span = self.lane(depth)?.get(idx)?;
        let above = self.lane(depth.checked_sub(1)?)?;
        let candidate = match above.first_starting_at(span.start_ns) {
            at if above.get(at).is_some_and(|s| s.start_ns == span.start_ns) => at,
            at => at.checked_sub(1)?,
        };
        let parent = above.get(candidate)?;
        (parent.start_ns <= span.start_ns && parent.end_ns() >= span.end_ns()).then_some(candidate)
    }

    /// Spans that overlap the span above them without lying inside it: they are drawn one lane lower, sticking out.
    pub fn overlaps(&self) -> u64 {
        let mut count = 0;
        for pair in self.lanes.windows(2) {
            let [above, below] = pair else { continue };
            let mut upper = above.iter().peekable();
            let mut current: Option<Span> = None;
            for span in below.iter() {
                while let Some(next) = upper.next_if(|next| next.start_ns <= span.start_ns) {
                    current = Some(next);
                }
                if current.is_some_and(|over| over.end_ns() > span.start_ns && over.end_ns() < span.end_ns()) {
                    count += 1;
                }
            }
        }
        count
    }

    pub(super) fn add(&mut self, span: Span) {
        self.place_fresh();
        if self.takes(span.start_ns, span.end_ns()) {
            self.place(&span);
        } else {
            self.pending.push(span);
        }
    }

    pub(super) fn add_instant(&mut self, span: Span) {
        if self.pending_instants.is_empty() && self.instants.last().is_none_or(|last| last.start_ns <= span.start_ns) {
            self.instants.push(&span);
        } else {
            self.pending_instants.push(span);
        }
    }

    pub(super) fn begin(&mut self, start_ns: i64, name: NameId, category: NameId, args: ArgsId) {
        self.place_fresh();
        let span = Span { start_ns, dur_ns: OPEN, name, category, args };
        self.open.push(OpenSpan { span, placed: None });
        self.fresh = true;
    }

    /// Places the span that began last, if something comes before its end and it can be placed.
    fn place_fresh(&mut self) {
        if !std::mem::take(&mut self.fresh) {
            return;
        }
        let Some(mut last) = self.open.pop() else { return };
        if self.takes(last.span.start_ns, i64::MAX) {
            last.placed = self.place(&last.span);
        }
        self.open.push(last);
    }

    /// Ends the span after which so many began that have not ended, and returns it; `None` if there is none.
    pub(super) fn end(&mut self, later: usize, end_ns: i64) -> Option<Span> {
        let slot = self.open.len().checked_sub(later + 1)?;
        if later > 0 {
            self.place_fresh();
        }
        let open = self.open.remove(slot);
        self.fresh = false;
        let mut span = open.span;
        span.dur_ns = end_ns.saturating_sub(span.start_ns).max(0);
        match open.placed {
            Some((depth, idx)) => {
                if let Some(lane) = self.lanes.get_mut(depth) {
                    lane.set_dur(idx, span.dur_ns);
                }
                if self.end_disturbs(depth, &span) {
                    self.redo_from = Some(self.redo_from.map_or(span.start_ns, |from| from.min(span.start_ns)));
                }
                if span.start_ns == self.last.0 {
                    self.last.1 = self.last.1.min(span.end_ns());
                }
            }
            None => self.add(span),
        }
        Some(span)
    }

    /// Arguments of the span that began last and has not ended.
    pub(super) fn open_args(&self) -> Option<ArgsId> {
        self.open.last().map(|open| open.span.args)
    }

    /// Gives the span that began last and has not ended other arguments.
    pub(super) fn set_open_args(&mut self, args: ArgsId) {
        let Some(open) = self.open.last_mut() else { return };
        open.span.args = args;
        if let Some((depth, idx)) = open.placed
            && let Some(lane) = self.lanes.get_mut(depth)
        {
            lane.set_args(idx, args);
        }
    }

    /// Whether spans were placed under this one, while it had no end, that do not belong there now that it has: they
    /// start after its end, or start with it and last longer.
    fn end_disturbs(&self, depth: usize, span: &Span) -> bool {
        let Some(below) = self.lanes.get(depth + 1) else { return false };
        let after = below.last().is_some_and(|last| last.start_ns >= span.end_ns());
        let twin = below.get(below.first_starting_at(span.start_ns)).filter(|twin| twin.start_ns == span.start_ns);
        after || twin.is_some_and(|twin| twin.end_ns() > span.end_ns())
    }

    /// Whether a span can be placed at once: nothing waits, and it comes after the last one in the order of time.
    fn takes(&self, start_ns: i64, end_ns: i64) -> bool {
        self.pending.is_empty()
            && self.open.last().is_none_or(|open| open.placed.is_some())
            && (start_ns > self.last.0 || (start_ns == self.last.0 && end_ns <= self.last.1))
    }

    /// Places a span, the next in the order of time, under all that have not ended at its start.
    fn place(&mut self, span: &Span) -> Option<(usize, usize)> {
        while let Some(top) = self.depth_now.checked_sub(1)
            && self.lanes.get(top).is_none_or(|lane| lane.last_end() <= span.start_ns)
        {
            self.depth_now = top;
        }
        let depth = self.depth_now;
        if depth >= MAX_DEPTH {
            self.too_deep += 1;
            return None;
        }
        if depth == self.lanes.len() {
            self.lanes.push(Lane::default());
        }
        self.depth_now = depth + 1;
        self.last = (span.start_ns, span.end_ns());
        let lane = self.lanes.get_mut(depth)?;
        lane.push(span);
        Some((depth, lane.len() - 1))
    }

    /// Whether something came late and waits for [`Self::settle`].
    pub(super) fn waits(&self) -> bool {
        !self.pending.is_empty()
            || !self.pending_instants.is_empty()
            || self.redo_from.is_some()
            || self.open.last().is_some_and(|open| open.placed.is_none())
    }

    /// Sorts in what came late.
    pub(super) fn settle(&mut self) {
        self.place_fresh();
        self.settle_instants();
        let unplaced = self.open.iter().filter(|open| open.placed.is_none()).map(|open| open.span.start_ns);
        let late = self.pending.iter().map(|span| span.start_ns).chain(unplaced);
        let Some(from) = late.chain(self.redo_from.take()).min() else { return };
        let mut again: Vec<Span> = Vec::new();
        for lane in &mut self.lanes {
            let at = lane.first_starting_at(from);
            lane.cut(at, &mut again);
        }
        again.retain(|span| !span.is_open());
        again.append(&mut self.pending);
        // Slot of an open span in `self.open`, so that it learns its new place.
        let mut todo: Vec<(Span, Option<usize>)> = again.into_iter().map(|span| (span, None)).collect();
        for (slot, open) in self.open.iter().enumerate() {
            if open.placed.is_none() || open.span.start_ns >= from {
                todo.push((open.span, Some(slot)));
            }
        }
        todo.sort_by_key(|(span, _)| (span.start_ns, Reverse(span.end_ns())));
        self.depth_now = self.lanes.len();
        for (span, slot) in todo {
            let placed = self.place(&span);
            if let Some(open) = slot.and_then(|slot| self.open.get_mut(slot)) {
                open.placed = placed;
            }
        }
        while self.lanes.last().is_some_and(Lane::is_empty) {
            self.lanes.pop();
        }
        self.depth_now = self.depth_now.min(self.lanes.len());
    }

    /// Puts other spans in the place of all that have ended; [`Self::settle`] places them.
    pub(super) fn replace_ended(&mut self, spans: Vec<Span>) {
        self.place_fresh();
        self.lanes.clear();
        (self.depth_now, self.last, self.redo_from) = (0, (i64::MIN, i64::MAX), None);
        for open in &mut self.open {
            open.placed = None;
        }
        self.pending = spans;
    }

    fn settle_instants(&mut self) {
        let Some(from) = self.pending_instants.iter().map(|instant| instant.start_ns).min() else { return };
        let mut again = Vec::new();
        self.instants.cut(self.instants.first_starting_at(from), &mut again);
        again.append(&mut self.pending_instants);
        again.sort_by_key(|instant| instant.start_ns);
        for instant in &again {
            self.instants.push(instant);
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let lanes: usize = self.lanes.iter().chain([&self.instants]).map(|lane| lane.bytes() + size_of::<Lane>()).sum();
        let waiting = self.pending.capacity() + self.pending_instants.capacity();
        lanes + waiting * size_of::<Span>() + self.open.capacity() * size_of::<OpenSpan>() + size_of::<Self>()
    }
}
