//! The tracks of a trace in the order in which the timeline shows them, and which of them are collapsed.
//!
//! Pure; heights are decided here, because they do not depend on the part of time in view.

use crate::model::TrackKind;
use crate::trace::{CounterId, SpanRef, Trace, TrackId};
use std::collections::BTreeSet;

/// Height of a lane of spans, in points.
pub const LANE_HEIGHT: f32 = 20.0;

/// Height of the one lane that a collapsed track shows.
pub const COLLAPSED_HEIGHT: f32 = 12.0;

/// Height of a counter.
pub const COUNTER_HEIGHT: f32 = 48.0;

/// Height of the row of moments without duration.
pub const INSTANT_HEIGHT: f32 = 12.0;

/// Room under each track.
pub const TRACK_GAP: f32 = 6.0;

/// A track is at least this high, so that its name has room.
pub const MIN_TRACK_HEIGHT: f32 = 22.0;

/// Most lanes that are shown of one track; deeper nesting is cut off with a word in the header.
pub const MAX_LANES: usize = 64;

/// Where a track's events are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrackSource {
    /// Spans and moments.
    Spans(TrackId),
    /// Values over time.
    Counter(CounterId),
}

/// One track as the timeline shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeTrack {
    /// Where its events are.
    pub source: TrackSource,
    /// Its name, with that of its process where there are several.
    pub name: String,
    /// What it shows.
    pub kind: TrackKind,
    /// Number of lanes (depths of nesting), 0 for a counter.
    pub lanes: usize,
    /// Whether it has moments without duration.
    pub instants: bool,
    /// Largest value, of a counter: the top of its scale.
    pub max: f64,
    /// Unit of the values, of a counter.
    pub unit: String,
    /// Whether only its outermost lane is shown, at a lower height.
    pub collapsed: bool,
    /// Whether the user keeps it on top.
    pub pinned: bool,
}

impl TreeTrack {
    /// Lanes that are drawn.
    pub fn shown_lanes(&self) -> usize {
        if self.collapsed { self.lanes.min(1) } else { self.lanes.min(MAX_LANES) }
    }

    /// Height of one lane, in points.
    pub fn lane_height(&self) -> f32 {
        if self.collapsed { COLLAPSED_HEIGHT } else { LANE_HEIGHT }
    }

    /// Top of a lane below the top of the track.
    pub fn lane_y(&self, lane: usize) -> f32 {
        let above = if self.instants { INSTANT_HEIGHT } else { 0.0 };
        above + lane as f32 * self.lane_height()
    }

    fn height(&self) -> f32 {
        match (self.source, self.collapsed) {
            (TrackSource::Counter(_), false) => COUNTER_HEIGHT,
            (TrackSource::Counter(_), true) => MIN_TRACK_HEIGHT,
            (TrackSource::Spans(_), _) => self.lane_y(self.shown_lanes()).max(MIN_TRACK_HEIGHT),
        }
    }
}

/// Where a track is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrackPlace {
    /// Top, in points from the top of the layout.
    pub y: f32,
    /// Height, without the gap below.
    pub height: f32,
}

/// All tracks of a trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrackTree {
    /// From top to bottom.
    pub tracks: Vec<TreeTrack>,
}

impl TrackTree {
    /// The tracks of a trace, process by process: input workers, training thread, operations, device, compilation,
    /// other threads, counters. Tracks without events are left out.
    pub fn of(trace: &Trace, collapsed: &BTreeSet<TrackSource>) -> Self {
        let mut processes: Vec<&str> = Vec::new();
        for process in trace.tracks().iter().map(|track| track.process.as_str()) {
            if !processes.contains(&process) {
                processes.push(process);
            }
        }
        let title = |name: &str, process: &str| match (processes.len() > 1, process) {
            (false, _) | (true, "") => name.to_owned(),
            (true, process) => format!("{name} ({process})"),
        };
        let process_of = |process: &str| processes.iter().position(|known| *known == process);
        let mut tracks: Vec<(Option<usize>, TreeTrack)> = Vec::new();
        for track in trace.tracks().iter().filter(|track| track.bounds().is_some()) {
            let source = TrackSource::Spans(track.id);
            tracks.push((
                process_of(&track.process),
                TreeTrack {
                    source,
                    name: title(&track.name, &track.process),
                    kind: track.kind,
                    lanes: track.depth_count(),
                    instants: !track.instants().is_empty(),
                    max: 0.0,
                    unit: String::new(),
                    collapsed: collapsed.contains(&source),
                    pinned: false,
                },
            ));
        }
        for counter in trace.counters().iter().filter(|counter| !counter.is_empty()) {
            let source = TrackSource::Counter(counter.id);
            tracks.push((
                process_of(&counter.process),
                TreeTrack {
                    source,
                    name: title(&counter.name, &counter.process),
                    kind: TrackKind::Counter,
                    lanes: 0,
                    instants: false,
                    max: counter.min_max(0..counter.len()).map_or(0.0, |(_, max)| max),
                    unit: counter.unit.clone(),
                    collapsed: collapsed.contains(&source),
                    pinned: false,
                },
            ));
        }
        // The file's own order of processes and threads counts first; then tracks of a kind stay in the trace's order.
        let order = |source: TrackSource| match source {
            TrackSource::Spans(id) => trace.track(id).map_or((0, 0), |track| track.order),
            TrackSource::Counter(_) => (0, 0),
        };
        let mut process_order = vec![i64::MAX; processes.len()];
        for (process, track) in &tracks {
            if let (Some(process), TrackSource::Spans(_)) = (process, track.source)
                && let Some(known) = process_order.get_mut(*process)
            {
                *known = (*known).min(order(track.source).0);
            }
        }
        let of_process = |process: &Option<usize>| process.and_then(|idx| process_order.get(idx)).copied();
        tracks.sort_by_key(|(process, track)| (of_process(process), *process, rank(track.kind), order(track.source).1));
        Self { tracks: tracks.into_iter().map(|(_, track)| track).collect() }
    }

    /// Puts tracks into the order that the user gave them, those that have none after the one they followed; then the
    /// pinned ones on top, in the order in which they were pinned. Leaves out those whose name does not contain
    /// `filter`, in any case; pinned ones stay.
    pub fn arranged(mut self, order: &[TrackSource], pinned: &[TrackSource], filter: &str) -> Self {
        if !order.is_empty() {
            let mut last = 0;
            let ranks: Vec<usize> = self
                .tracks
                .iter()
                .map(|track| {
                    last = order.iter().position(|source| *source == track.source).unwrap_or(last);
                    last
                })
                .collect();
            let mut ranked: Vec<(usize, TreeTrack)> = ranks.into_iter().zip(std::mem::take(&mut self.tracks)).collect();
            ranked.sort_by_key(|(rank, _)| *rank);
            self.tracks = ranked.into_iter().map(|(_, track)| track).collect();
        }
        let filter = filter.trim().to_lowercase();
        let place = |track: &TreeTrack| pinned.iter().position(|source| *source == track.source);
        self.tracks.retain(|track| place(track).is_some() || track.name.to_lowercase().contains(&filter));
        for track in &mut self.tracks {
            track.pinned = place(track).is_some();
        }
        // Stable: the others stay as they are.
        self.tracks.sort_by_key(|track| place(track).unwrap_or(usize::MAX));
        self
    }

    /// Where each track is, from top to bottom.
    pub fn places(&self) -> Vec<TrackPlace> {
        let mut y = TRACK_GAP / 2.0;
        self.tracks
            .iter()
            .map(|track| {
                let place = TrackPlace { y, height: track.height() };
                y += place.height + TRACK_GAP;
                place
            })
            .collect()
    }

    /// Height of all tracks.
    pub fn height(&self) -> f32 {
        self.tracks.iter().map(|track| track.height() + TRACK_GAP).sum()
    }

    /// Top and bottom of the lane in which a span is drawn; `None` if its lane is not shown.
    pub fn span_y(&self, span: SpanRef) -> Option<(f32, f32)> {
        let idx = self.tracks.iter().position(|track| track.source == TrackSource::Spans(span.track))?;
        let (track, place) = (self.tracks.get(idx)?, *self.places().get(idx)?);
        let lane = usize::from(span.depth);
        if lane >= track.shown_lanes() {
            return None;
        }
        let top = place.y + track.lane_y(lane);
        Some((top, top + track.lane_height()))
    }
}

fn rank(kind: TrackKind) -> u8 {
    match kind {
        TrackKind::Input => 0,
        TrackKind::Training => 1,
        TrackKind::Ops => 2,
        TrackKind::Device => 3,
        TrackKind::Compile => 4,
        TrackKind::Process | TrackKind::Thread => 5,
        TrackKind::Async => 6,
        TrackKind::Counter => 7,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::trace::{ArgsId, NameId};

    fn sample() -> Trace {
        let mut trace = Trace::default();
        let counter = trace.add_counter(9, "Prefetched batches", "", "run");
        trace.sample(counter, 0, 2.0);
        let name = trace.intern("x");
        let kinds = [TrackKind::Device, TrackKind::Training, TrackKind::Ops, TrackKind::Input];
        for (uuid, kind) in (1..).zip(kinds) {
            let track = trace.add_track(uuid, None, &format!("{kind:?}"), "run", kind);
            trace.complete(track, 0, 10, name, NameId::EMPTY, ArgsId::NONE);
            trace.complete(track, 2, 5, name, NameId::EMPTY, ArgsId::NONE);
        }
        trace.add_track(50, None, "Empty", "run", TrackKind::Thread);
        trace.settle();
        trace
    }

    #[test]
    fn tracks_are_ordered_and_empty_ones_left_out() {
        let tree = TrackTree::of(&sample(), &BTreeSet::new());
        let names: Vec<&str> = tree.tracks.iter().map(|track| track.name.as_str()).collect();
        assert_eq!(names, ["Input", "Training", "Ops", "Device", "Prefetched batches"]);
        let places = tree.places();
        for pair in places.windows(2) {
            assert!((pair[0].y + pair[0].height + TRACK_GAP - pair[1].y).abs() < 1e-4);
        }
        let last = places.last().unwrap();
        assert!((tree.height() - (last.y + last.height + TRACK_GAP / 2.0)).abs() < 1e-4);
    }

    #[test]
    fn pinned_tracks_are_on_top_and_others_are_filtered() {
        let names = |tree: &TrackTree| tree.tracks.iter().map(|track| track.name.clone()).collect::<Vec<_>>();
        let tree = TrackTree::of(&sample(), &BTreeSet::new());
        let (device, batches) = (tree.tracks[3].source, tree.tracks[4].source);
        let pinned = tree.clone().arranged(&[], &[batches, device], "");
        assert_eq!(names(&pinned), ["Prefetched batches", "Device", "Input", "Training", "Ops"]);
        assert!(pinned.tracks[1].pinned && !pinned.tracks[2].pinned);
        assert_eq!(names(&tree.clone().arranged(&[], &[device], " IN")), ["Device", "Input", "Training"]);
        assert_eq!(names(&tree.clone().arranged(&[], &[], "nothing")), Vec::<String>::new());
        // Moved by the user; what has no place of its own stays behind the one before it.
        let order = [batches, tree.tracks[2].source, tree.tracks[0].source];
        assert_eq!(
            names(&tree.arranged(&order, &[], "")),
            ["Prefetched batches", "Ops", "Device", "Input", "Training"]
        );
    }

    #[test]
    fn a_collapsed_track_shows_its_outermost_lane() {
        let trace = sample();
        let open = TrackTree::of(&trace, &BTreeSet::new());
        let source = open.tracks[1].source;
        let shut = TrackTree::of(&trace, &BTreeSet::from([source]));
        assert!(shut.height() < open.height());
        let TrackSource::Spans(track) = source else { panic!("spans expected") };
        let inner = SpanRef { track, depth: 1, idx: 0 };
        assert!(open.span_y(inner).is_some());
        assert_eq!(shut.span_y(inner), None);
        assert!(shut.span_y(SpanRef { depth: 0, ..inner }).is_some());
    }
}
