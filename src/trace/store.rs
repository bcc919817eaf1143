//! The trace as a whole: tracks, counters and the interned tables. Built by the readers, read by everyone.

use super::args::{ArgTable, ArgValue, Args, ArgsId};
use super::counter::{Counter, CounterId};
use super::flow::{Arrow, FlowEnd, Flows};
use super::lane::Span;
use super::names::{NameId, NameTable};
use super::track::{SpanRef, Track, TrackId};
use crate::model::TrackKind;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Tracks, counters, names and arguments.
///
/// A clone is a snapshot: it shares all full blocks with the original, and appending to the original copies at most the
/// last block of a lane. Spans may be added in any order; [`Trace::settle`] brings them into order and must be called
/// before the trace is read. Ids of tracks and counters come from the same trace; an id of another one is ignored.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    tracks: Vec<Arc<Track>>,
    counters: Vec<Arc<Counter>>,
    names: NameTable,
    args: ArgTable,
    flows: Flows,
    facts: Arc<Vec<(String, String)>>,
    track_by_uuid: Arc<FxHashMap<u64, TrackId>>,
    counter_by_uuid: Arc<FxHashMap<u64, CounterId>>,
    bounds: Option<(i64, i64)>,
    generation: u64,
    unsettled: bool,
}

impl Trace {
    /// All tracks, in the order in which they appeared. `tracks()[id.0 as usize]` is the track with that id.
    pub fn tracks(&self) -> &[Arc<Track>] {
        &self.tracks
    }

    /// A track.
    pub fn track(&self, id: TrackId) -> Option<&Track> {
        self.tracks.get(id.0 as usize).map(|track| &**track)
    }

    /// All counters, in the order in which they appeared.
    pub fn counters(&self) -> &[Arc<Counter>] {
        &self.counters
    }

    /// A counter.
    pub fn counter(&self, id: CounterId) -> Option<&Counter> {
        self.counters.get(id.0 as usize).map(|counter| &**counter)
    }

    /// Arrows between spans.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// What the file says of itself (device, versions, program), in its own words.
    pub fn facts(&self) -> &[(String, String)] {
        &self.facts
    }

    /// An interned string; empty for an id of another trace.
    pub fn name(&self, id: NameId) -> &str {
        self.names.get(id)
    }

    /// Number of interned strings; their ids run from 0.
    pub fn name_count(&self) -> u32 {
        self.names.len()
    }

    /// The id of a string, if it occurs in the trace.
    pub fn find_name(&self, text: &str) -> Option<NameId> {
        self.names.find(text)
    }

    /// A set of arguments, as keys and values.
    pub fn args(&self, id: ArgsId) -> Args<'_> {
        self.args.get(id)
    }

    /// The value of an argument.
    pub fn arg(&self, span: &Span, key: &str) -> Option<ArgValue> {
        self.args(span.args).find(|(name, _)| self.name(*name) == key).map(|(_, value)| value)
    }

    /// The value of a text argument.
    pub fn arg_text(&self, span: &Span, key: &str) -> Option<&str> {
        match self.arg(span, key)? {
            ArgValue::Text(text) => Some(self.name(text)),
            _ => None,
        }
    }

    /// The value of a whole-number argument.
    pub fn arg_int(&self, span: &Span, key: &str) -> Option<i64> {
        match self.arg(span, key)? {
            ArgValue::Int(value) => Some(value),
            _ => None,
        }
    }

    /// A value as text: numbers as they are, texts without quotes.
    pub fn value_text(&self, value: ArgValue) -> String {
        match value {
            ArgValue::Int(value) => value.to_string(),
            ArgValue::Float(value) => value.to_string(),
            ArgValue::Bool(value) => value.to_string(),
            ArgValue::Text(text) => self.name(text).to_owned(),
        }
    }

    /// A span.
    pub fn span(&self, at: SpanRef) -> Option<Span> {
        self.track(at.track)?.lane(at.depth as usize)?.get(at.idx as usize)
    }

    /// Indices, in the lane one deeper, of the spans inside this one.
    pub fn children(&self, at: SpanRef) -> Range<usize> {
        self.track(at.track).map_or(0..0, |track| track.children(at.depth as usize, at.idx as usize))
    }

    /// The span that contains this one.
    pub fn parent(&self, at: SpanRef) -> Option<SpanRef> {
        let idx = self.track(at.track)?.parent_of(at.depth as usize, at.idx as usize)?;
        Some(SpanRef { track: at.track, depth: at.depth - 1, idx: idx as u32 })
    }

    /// First and last time of anything in the trace, in nanoseconds; open spans count with their start.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        self.bounds
    }

    /// Number of spans in all tracks.
    pub fn span_count(&self) -> u64 {
        self.tracks.iter().map(|track| track.span_count()).sum()
    }

    /// Grows whenever the trace changes. Snapshots with the same generation of the same trace are equal.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Bytes in memory, all included.
    pub fn bytes(&self) -> usize {
        self.tracks.iter().map(|track| track.bytes()).sum::<usize>()
            + self.counters.iter().map(|counter| counter.bytes()).sum::<usize>()
            + self.names.bytes()
            + self.args.bytes()
            + self.flows.bytes()
    }

    // --- Building ---------------------------------------------------------------------------------------------------

    /// The id of a string, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> NameId {
        self.names.intern(text)
    }

    /// The id of a set of arguments, which is added if it is new.
    pub fn intern_args(&mut self, set: &[(NameId, ArgValue)]) -> ArgsId {
        self.args.intern(set)
    }

    /// Adds a track, or finds the one with this `uuid`, and gives it this name, process, kind and parent.
    pub fn add_track(
        &mut self,
        uuid: u64,
        parent: Option<TrackId>,
        name: &str,
        process: &str,
        kind: TrackKind,
    ) -> TrackId {
        self.generation += 1;
        if let Some(&id) = self.track_by_uuid.get(&uuid) {
            if let Some(track) = self.track_mut(id) {
                track.name = name.to_owned();
                track.process = process.to_owned();
                track.kind = kind;
                track.parent = parent;
            }
            return id;
        }
        let id = TrackId(self.tracks.len() as u32);
        self.tracks.push(Arc::new(Track::new(id, uuid, parent, name, process, kind)));
        Arc::make_mut(&mut self.track_by_uuid).insert(uuid, id);
        id
    }

    /// Sets where a track stands among the others of its kind: by its process first, then by itself; smaller is higher.
    pub fn set_order(&mut self, id: TrackId, order: (i64, i64)) {
        self.generation += 1;
        if let Some(track) = self.track_mut(id) {
            track.order = order;
        }
    }

    /// Changes what a track shows.
    pub fn set_kind(&mut self, id: TrackId, kind: TrackKind) {
        if self.track(id).is_none_or(|track| track.kind == kind) {
            return;
        }
        self.generation += 1;
        if let Some(track) = self.track_mut(id) {
            track.kind = kind;
        }
    }

    /// Adds something that the file says of itself.
    pub fn add_fact(&mut self, what: &str, value: &str) {
        self.generation += 1;
        Arc::make_mut(&mut self.facts).push((what.to_owned(), value.to_owned()));
    }

    /// Adds an arrow.
    pub fn arrow(&mut self, name: NameId, from: FlowEnd, to: FlowEnd) {
        self.generation += 1;
        self.unsettled = true;
        self.flows.add(Arrow { name, from, to });
    }

    /// Gives a track another name, by which its kind is found, or its process another name.
    pub fn rename(&mut self, id: TrackId, name: Option<&str>, process: Option<&str>) {
        self.generation += 1;
        let Some(track) = self.track_mut(id) else { return };
        if let Some(name) = name {
            track.kind = TrackKind::from_name(name);
            track.name = name.to_owned();
        }
        if let Some(process) = process {
            track.process = process.to_owned();
        }
    }

    /// The track with this identifier.
    pub fn track_by_uuid(&self, uuid: u64) -> Option<TrackId> {
        self.track_by_uuid.get(&uuid).copied()
    }

    /// Adds a counter, or finds the one with this `uuid`, and gives it this name, unit and process.
    pub fn add_counter(&mut self, uuid: u64, name: &str, unit: &str, process: &str) -> CounterId {
        self.generation += 1;
        if let Some(&id) = self.counter_by_uuid.get(&uuid) {
            if let Some(counter) = self.counters.get_mut(id.0 as usize) {
                let counter = Arc::make_mut(counter);
                counter.name = name.to_owned();
                counter.unit = unit.to_owned();
                counter.process = process.to_owned();
            }
            return id;
        }
        let id = CounterId(self.counters.len() as u32);
        self.counters.push(Arc::new(Counter::new(id, uuid, name, unit, process)));
        Arc::make_mut(&mut self.counter_by_uuid).insert(uuid, id);
        id
    }

    /// The counter with this identifier.
    pub fn counter_by_uuid(&self, uuid: u64) -> Option<CounterId> {
        self.counter_by_uuid.get(&uuid).copied()
    }

    /// Adds a span with its duration, which must not be negative. Spans may come in any order.
    pub fn complete(
        &mut self,
        track: TrackId,
        start_ns: i64,
        dur_ns: i64,
        name: NameId,
        category: NameId,
        args: ArgsId,
    ) {
        let dur_ns = dur_ns.max(0);
        self.touch(start_ns, start_ns.saturating_add(dur_ns));
        if let Some(track) = self.track_mut(track) {
            track.add(Span { start_ns, dur_ns, name, category, args });
        }
    }

    /// Begins a span; [`Trace::end`] ends the one that began last.
    pub fn begin(&mut self, track: TrackId, start_ns: i64, name: NameId, category: NameId, args: ArgsId) {
        self.touch(start_ns, start_ns);
        if let Some(track) = self.track_mut(track) {
            track.begin(start_ns, name, category, args);
        }
    }

    /// Ends the span of a track that began last and returns it; `None` if none is open. An end before the start makes a
    /// span without duration.
    pub fn end(&mut self, track: TrackId, end_ns: i64) -> Option<Span> {
        self.end_before(track, 0, end_ns)
    }

    /// The same for the span after which `later` others began that have not ended.
    pub fn end_before(&mut self, track: TrackId, later: usize, end_ns: i64) -> Option<Span> {
        let ended = self.track_mut(track)?.end(later, end_ns)?;
        self.touch(ended.start_ns, ended.end_ns());
        Some(ended)
    }

    /// Adds a moment.
    pub fn instant(&mut self, track: TrackId, t_ns: i64, name: NameId, category: NameId, args: ArgsId) {
        self.touch(t_ns, t_ns);
        if let Some(track) = self.track_mut(track) {
            track.add_instant(Span { start_ns: t_ns, dur_ns: 0, name, category, args });
        }
    }

    /// Adds a sample of a counter.
    pub fn sample(&mut self, counter: CounterId, t_ns: i64, value: f64) {
        self.touch(t_ns, t_ns);
        if let Some(counter) = self.counters.get_mut(counter.0 as usize) {
            Arc::make_mut(counter).add(t_ns, value);
        }
    }

    /// Brings what came late into order. To be called after a batch of additions, before the trace is read.
    pub fn settle(&mut self) {
        if !std::mem::take(&mut self.unsettled) {
            return;
        }
        self.generation += 1;
        for track in &mut self.tracks {
            if track.waits() {
                Arc::make_mut(track).settle();
            }
        }
        if self.flows.waits() {
            self.flows.settle();
        }
        for counter in &mut self.counters {
            if counter.waits() {
                Arc::make_mut(counter).settle();
            }
        }
    }

    /// Adds arguments to the span that began last and has not ended; those that it has already stay as they are.
    pub fn add_open_args(&mut self, track: TrackId, more: &[(NameId, ArgValue)]) {
        let Some(known) = self.track(track).and_then(Track::open_args) else { return };
        let mut set = self.args(known).collect::<Vec<_>>();
        for entry in more {
            if !set.iter().any(|(key, _)| *key == entry.0) {
                set.push(*entry);
            }
        }
        let args = self.args.intern(&set);
        if let Some(track) = self.track_mut(track) {
            track.set_open_args(args);
        }
    }

    /// Puts other spans in the place of all spans of a track that have ended.
    pub(super) fn replace_ended(&mut self, id: TrackId, spans: Vec<Span>) {
        self.generation += 1;
        self.unsettled = true;
        if let Some(track) = self.track_mut(id) {
            track.replace_ended(spans);
        }
    }

    fn track_mut(&mut self, id: TrackId) -> Option<&mut Track> {
        self.tracks.get_mut(id.0 as usize).map(Arc::make_mut)
    }

    fn touch(&mut self, from: i64, to: i64) {
        let (known_from, known_to) = self.bounds.unwrap_or((from, to));
        self.bounds = Some((known_from.min(from), known_to.max(to)));
        self.generation += 1;
        self.unsettled = true;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::trace::{BLOCK_SPANS, OPEN};
    use proptest::prelude::*;

    fn one_track() -> (Trace, TrackId, NameId) {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "p", TrackKind::Thread);
        let name = trace.intern("n");
        (trace, track, name)
    }

    fn layout(trace: &Trace) -> Vec<Vec<(i64, i64)>> {
        let lanes = trace.tracks()[0].lanes();
        lanes.iter().map(|lane| lane.iter().map(|s| (s.start_ns, s.dur_ns)).collect()).collect()
    }

    #[test]
    fn children_first_nest_as_parents_first() {
        let spans = [(10, 5), (20, 5), (5, 30), (40, 10), (0, 100), (41, 2), (200, 1)];
        let place = |order: &[(i64, i64)], settle_each: bool| {
            let (mut trace, track, name) = one_track();
            for &(start, dur) in order {
                trace.complete(track, start, dur, name, NameId::EMPTY, ArgsId::NONE);
                if settle_each {
                    trace.settle();
                }
            }
            trace.settle();
            layout(&trace)
        };
        let mut sorted = spans;
        sorted.sort_by_key(|&(start, dur)| (start, -dur));
        let expected = place(&sorted, false);
        assert_eq!(expected, [vec![(0, 100), (200, 1)], vec![(5, 30), (40, 10)], vec![(10, 5), (20, 5), (41, 2)],]);
        assert_eq!(place(&spans, false), expected);
        assert_eq!(place(&spans, true), expected);
    }

    #[test]
    fn begin_and_end_nest_and_open_spans_are_seen() {
        let (mut trace, track, name) = one_track();
        let none = (NameId::EMPTY, ArgsId::NONE);
        trace.begin(track, 0, name, none.0, none.1);
        trace.begin(track, 10, name, none.0, none.1);
        trace.settle();
        assert_eq!(layout(&trace), [vec![(0, OPEN)], vec![(10, OPEN)]]);
        let snapshot = trace.clone();
        trace.complete(track, 12, 3, name, none.0, none.1);
        assert_eq!(trace.end(track, 20).unwrap().dur_ns, 10);
        // A late parent of the whole.
        trace.complete(track, -5, 500, name, none.0, none.1);
        trace.settle();
        assert_eq!(layout(&trace), [vec![(-5, 500)], vec![(0, OPEN)], vec![(10, 10)], vec![(12, 3)]]);
        assert_eq!(trace.end(track, 30).unwrap().dur_ns, 30);
        assert!(trace.end(track, 31).is_none());
        trace.settle();
        assert_eq!(layout(&trace)[1], [(0, 30)]);
        assert_eq!(layout(&snapshot), [vec![(0, OPEN)], vec![(10, OPEN)]]);
        let child = SpanRef { track, depth: 3, idx: 0 };
        let parent = trace.parent(child).unwrap();
        assert_eq!(parent, SpanRef { track, depth: 2, idx: 0 });
        assert_eq!(trace.children(parent), 0..1);
        assert_eq!(trace.bounds(), Some((-5, 495)));
    }

    #[test]
    fn overlaps_are_kept_and_counted() {
        let (mut trace, track, name) = one_track();
        for (start, dur) in [(0, 20), (10, 20), (15, 3), (40, 5)] {
            trace.complete(track, start, dur, name, NameId::EMPTY, ArgsId::NONE);
        }
        trace.settle();
        assert_eq!(layout(&trace), [vec![(0, 20), (40, 5)], vec![(10, 20)], vec![(15, 3)]]);
        assert_eq!(trace.tracks()[0].overlaps(), 1);
        let overlapping = SpanRef { track, depth: 1, idx: 0 };
        assert_eq!(trace.parent(overlapping), None);
        assert_eq!(trace.children(SpanRef { track, depth: 0, idx: 0 }), 0..0);
    }

    #[test]
    fn appending_to_a_snapshotted_trace_copies_one_block() {
        let (mut trace, track, name) = one_track();
        for i in 0..(3 * BLOCK_SPANS as i64 + 10) {
            trace.complete(track, i * 10, 5, name, NameId::EMPTY, ArgsId::NONE);
        }
        trace.settle();
        let snapshot = trace.clone();
        trace.complete(track, 1_000_000, 5, name, NameId::EMPTY, ArgsId::NONE);
        trace.settle();
        let (old, new) = (&snapshot.tracks()[0].lanes()[0].blocks, &trace.tracks()[0].lanes()[0].blocks);
        let shared = old.iter().zip(new).filter(|(a, b)| Arc::ptr_eq(&a.block, &b.block)).count();
        assert_eq!((old.len(), shared), (4, 3));
        assert_eq!(snapshot.span_count() + 1, trace.span_count());
        assert!(trace.generation() > snapshot.generation());
        assert!(trace.bytes() as u64 <= 40 * trace.span_count() + 100_000, "{}", trace.bytes());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn order_and_batches_do_not_matter(
            mut spans in prop::collection::vec((0i64..60, 0i64..25), 1..60),
            batches in prop::collection::vec(1usize..9, 1..9),
        ) {
            let add = |order: &[(i64, i64)], batch: &[usize]| {
                let (mut trace, track, name) = one_track();
                let mut sizes = batch.iter().copied().cycle();
                let mut left = sizes.next().unwrap();
                for &(start, dur) in order {
                    trace.complete(track, start, dur, name, NameId::EMPTY, ArgsId::NONE);
                    left -= 1;
                    if left == 0 { trace.settle(); left = sizes.next().unwrap(); }
                }
                trace.settle();
                trace
            };
            let shuffled = add(&spans, &batches);
            spans.sort_by_key(|&(start, dur)| (start, -dur));
            let sorted = add(&spans, &[usize::MAX]);
            prop_assert_eq!(layout(&shuffled), layout(&sorted));
            let mut all: Vec<(i64, i64)> = layout(&shuffled).concat();
            all.sort_by_key(|&(start, dur)| (start, -dur));
            prop_assert_eq!(&all, &spans, "nothing is lost");
            for lane in shuffled.tracks()[0].lanes() {
                let list: Vec<Span> = lane.iter().collect();
                prop_assert!(list.windows(2).all(|w| w[0].end_ns() <= w[1].start_ns));
            }
        }

        /// Spans that end in any order stand where they would if their ends had been known from the beginning.
        #[test]
        fn ends_may_come_in_any_order(
            steps in prop::collection::vec((0i64..3, any::<bool>(), any::<prop::sample::Index>()), 1..80),
        ) {
            let (mut trace, track, name) = one_track();
            let (mut now, mut open, mut ended): (i64, Vec<i64>, Vec<(i64, i64)>) = (0, Vec::new(), Vec::new());
            for (gap, opens, which) in steps {
                now += gap;
                if opens || open.is_empty() {
                    trace.begin(track, now, name, NameId::EMPTY, ArgsId::NONE);
                    open.push(now);
                } else {
                    let at = which.index(open.len());
                    let start = open.remove(at);
                    let span = trace.end_before(track, open.len() - at, now).unwrap();
                    prop_assert_eq!((span.start_ns, span.dur_ns), (start, now - start));
                    ended.push((start, now - start));
                }
            }
            while let Some(start) = open.pop() {
                trace.end(track, now);
                ended.push((start, now - start));
            }
            prop_assert!(trace.end_before(track, 0, now).is_none());
            trace.settle();
            let (mut other, track, name) = one_track();
            for (start, dur) in ended {
                other.complete(track, start, dur, name, NameId::EMPTY, ArgsId::NONE);
            }
            other.settle();
            prop_assert_eq!(layout(&trace), layout(&other));
        }
    }
}
