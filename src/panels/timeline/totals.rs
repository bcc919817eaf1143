//! What happened in a stretch of time: count, total and mean by name, summed on a thread of its own.

use crate::model::units;
use crate::panels::background::Background;
use crate::panels::table::{Cell, Column, Key};
use crate::timeline::TrackTree;
use crate::timeline::tree::TrackSource;
use crate::trace::{NameId, Trace, TrackId};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Spans between two looks at whether the sum is still wanted.
const CHECK_EVERY: usize = 65_536;

/// Sums over all spans of one name on one track.
#[derive(Debug, Clone, PartialEq)]
pub struct NameTotal {
    /// Name of the spans.
    pub name: String,
    /// Name of their track.
    pub track: String,
    /// How many overlap the stretch.
    pub count: u64,
    /// Time within the stretch, in nanoseconds; what lies outside of it is not counted.
    pub total_ns: i64,
    /// Longest time of one of them within the stretch.
    pub longest_ns: i64,
}

impl NameTotal {
    fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.count.max(1) as f64
    }
}

/// Sums up the spans of the given tracks that overlap `from..to`. `None` if `cancelled` was set meanwhile.
pub fn totals(
    trace: &Trace,
    tracks: &[TrackId],
    (from, to): (i64, i64),
    cancelled: &AtomicBool,
) -> Option<Vec<NameTotal>> {
    let end = trace.bounds().map_or(to, |(_, end)| end.min(to));
    let mut rows = Vec::new();
    for track in tracks.iter().filter_map(|id| trace.track(*id)) {
        let mut sums: FxHashMap<NameId, (u64, i64, i64)> = FxHashMap::default();
        for lane in track.lanes() {
            for (i, span) in lane.iter_range(lane.range(from, to)).enumerate() {
                if i.is_multiple_of(CHECK_EVERY) && cancelled.load(Ordering::Relaxed) {
                    return None;
                }
                let within = span.end_ns().min(end).saturating_sub(span.start_ns.max(from)).max(0);
                let (count, total, longest) = sums.entry(span.name).or_default();
                *count += 1;
                *total = total.saturating_add(within);
                *longest = (*longest).max(within);
            }
        }
        rows.extend(sums.into_iter().map(|(name, (count, total_ns, longest_ns))| NameTotal {
            name: trace.name(name).to_owned(),
            track: track.name.clone(),
            count,
            total_ns,
            longest_ns,
        }));
    }
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    Some(rows)
}

/// Columns of the table of totals.
pub fn columns() -> [Column<NameTotal>; 6] {
    [
        Column {
            title: "Name",
            help: "Name of the spans",
            width: 220.0,
            numeric: false,
            cell: |row| Cell::new(&row.name),
            key: |row| Key::Text(&row.name),
        },
        Column {
            title: "Track",
            help: "Where they are",
            width: 150.0,
            numeric: false,
            cell: |row| Cell::new(&row.track),
            key: |row| Key::Text(&row.track),
        },
        Column {
            title: "Count",
            help: "Spans that overlap the stretch",
            width: 70.0,
            numeric: true,
            cell: |row| Cell::new(units::count(row.count)),
            key: |row| Key::Number(row.count as f64),
        },
        Column {
            title: "Total",
            help: "Time within the stretch",
            width: 90.0,
            numeric: true,
            cell: |row| Cell::new(units::duration_ns(row.total_ns as f64)),
            key: |row| Key::Number(row.total_ns as f64),
        },
        Column {
            title: "Mean",
            help: "Total divided by count",
            width: 90.0,
            numeric: true,
            cell: |row| Cell::new(units::duration_ns(row.mean_ns())),
            key: |row| Key::Number(row.mean_ns()),
        },
        Column {
            title: "Longest",
            help: "Longest time of one span within the stretch",
            width: 90.0,
            numeric: true,
            cell: |row| Cell::new(units::duration_ns(row.longest_ns as f64)),
            key: |row| Key::Number(row.longest_ns as f64),
        },
    ]
}

/// The sums of the selected stretch: kept until it changes, summed in the background.
#[derive(Debug, Default)]
pub struct RangeTotals(Background<Wanted, Vec<NameTotal>>);

#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    range_ns: (i64, i64),
    generation: u64,
    tracks: Vec<TrackId>,
}

impl RangeTotals {
    /// Asks for the sums of a stretch; starts work only when something has changed. A growing trace is summed again
    /// when the sums before it have arrived.
    pub fn request(
        &mut self,
        trace: &Trace,
        tree: &TrackTree,
        range_ns: (i64, i64),
        wake: impl FnOnce() + Send + 'static,
    ) {
        let spans = tree.tracks.iter().filter_map(|track| match track.source {
            TrackSource::Spans(id) => Some(id),
            TrackSource::Counter(_) => None,
        });
        let wanted = Wanted { range_ns, generation: trace.generation(), tracks: spans.collect() };
        let (tracks, trace) = (wanted.tracks.clone(), trace.clone());
        let alike = |known: &Wanted, wanted: &Wanted| known.range_ns == wanted.range_ns;
        self.0.request(wanted, alike, move |cancelled| totals(&trace, &tracks, range_ns, cancelled), wake);
    }

    /// The sums, once they have arrived; those of before while a growing trace is summed again.
    pub fn rows(&mut self) -> Option<&Arc<Vec<NameTotal>>> {
        self.0.outcome()
    }

    /// Why there are none.
    pub fn failed(&self) -> Option<&str> {
        self.0.failed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::TrackKind;
    use crate::trace::ArgsId;

    #[test]
    fn only_what_lies_within_the_stretch_is_counted() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Training);
        let [a, b] = ["a", "b"].map(|name| trace.intern(name));
        for (start, dur, name) in [(0, 100, a), (100, 50, b), (150, 100, a)] {
            trace.complete(track, start, dur, name, NameId::EMPTY, ArgsId::NONE);
        }
        trace.settle();
        let rows = totals(&trace, &[track], (90, 200), &AtomicBool::new(false)).unwrap();
        let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!((row("a").count, row("a").total_ns, row("a").longest_ns), (2, 60, 50));
        assert_eq!((row("b").count, row("b").total_ns), (1, 50));
        assert_eq!(totals(&trace, &[track], (90, 200), &AtomicBool::new(true)), None);
    }
}
