//! Every span of some names, over the whole trace: how many, where in time, the longest.

use crate::trace::search::NameSet;
use crate::trace::{SpanRef, Trace};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Spans that are listed: the longest.
pub const MAX_LISTED: usize = 1000;

/// Parts into which the trace is cut to say where in time something is found.
pub const COLUMNS: usize = 1024;

/// Spans between two looks at whether they are still wanted.
const CHECK_EVERY: usize = 65_536;

/// One span that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Match {
    /// Its name.
    pub name: String,
    /// Name of its track.
    pub track: String,
    /// Start, in nanoseconds from the trace's start.
    pub start_ns: i64,
    /// Length in nanoseconds; 0 for one that has not ended.
    pub dur_ns: i64,
    /// Where it is.
    #[serde(skip)]
    pub at: SpanRef,
}

/// All that was found.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Matched {
    /// How many.
    pub count: u64,
    /// Their time, in nanoseconds.
    pub total_ns: i64,
    /// Whether one begins in each of [`COLUMNS`] equal parts of the trace.
    #[serde(skip)]
    pub columns: Vec<bool>,
    /// The longest of them, at most [`MAX_LISTED`].
    pub longest: Arc<Vec<Match>>,
}

/// Looks through all spans. `None` if `cancelled` was set meanwhile.
pub fn find(trace: &Trace, names: &NameSet, cancelled: &AtomicBool) -> Option<Matched> {
    let (origin, end) = trace.bounds().unwrap_or((0, 1));
    let extent = end.saturating_sub(origin).max(1) as f64;
    let mut found = Matched { columns: vec![false; COLUMNS], ..Matched::default() };
    let mut longest: BinaryHeap<Reverse<(i64, Reverse<i64>, SpanRef)>> = BinaryHeap::new();
    for track in trace.tracks() {
        for (depth, lane) in track.lanes().iter().enumerate() {
            for (idx, name) in lane.names().enumerate() {
                if idx.is_multiple_of(CHECK_EVERY) && cancelled.load(Ordering::Relaxed) {
                    return None;
                }
                if !names.contains(name) {
                    continue;
                }
                let Some(span) = lane.get(idx) else { continue };
                let dur_ns = if span.is_open() { 0 } else { span.dur_ns };
                found.count += 1;
                found.total_ns = found.total_ns.saturating_add(dur_ns);
                let share = span.start_ns.saturating_sub(origin) as f64 / extent;
                let column = ((share * COLUMNS as f64) as usize).min(COLUMNS - 1);
                if let Some(column) = found.columns.get_mut(column) {
                    *column = true;
                }
                let at = SpanRef { track: track.id, depth: depth as u16, idx: idx as u32 };
                let key = Reverse((dur_ns, Reverse(span.start_ns), at));
                if longest.len() < MAX_LISTED {
                    longest.push(key);
                } else if longest.peek().is_some_and(|least| key < *least) {
                    longest.pop();
                    longest.push(key);
                }
            }
        }
    }
    let rows = longest.into_sorted_vec().into_iter().filter_map(|Reverse((dur_ns, _, at))| {
        let (track, span) = (trace.track(at.track)?, trace.span(at)?);
        let start_ns = span.start_ns.saturating_sub(origin);
        Some(Match { name: trace.name(span.name).to_owned(), track: track.name.clone(), start_ns, dur_ns, at })
    });
    found.longest = Arc::new(rows.collect());
    Some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::TrackKind;
    use crate::trace::{ArgsId, NameId};

    #[test]
    fn all_are_counted_and_the_longest_listed_first() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Thread);
        let [a, b] = ["conv", "other"].map(|name| trace.intern(name));
        for i in 0..3000 {
            trace.complete(
                track,
                1000 + i * 10,
                1 + i % 7,
                if i % 2 == 0 { a } else { b },
                NameId::EMPTY,
                ArgsId::NONE,
            );
        }
        trace.complete(track, 31_000, 9, a, NameId::EMPTY, ArgsId::NONE);
        trace.begin(track, 31_010, a, NameId::EMPTY, ArgsId::NONE);
        trace.settle();
        let names = NameSet::containing(&trace, "CONV");
        let found = find(&trace, &names, &AtomicBool::new(false)).unwrap();
        assert_eq!(found.count, 1502);
        assert_eq!(found.total_ns, (0..3000).step_by(2).map(|i| 1 + i % 7).sum::<i64>() + 9);
        assert_eq!(found.longest.len(), MAX_LISTED);
        assert_eq!((found.longest[0].dur_ns, found.longest[0].start_ns), (9, 30_000));
        // Of equal length the first come first.
        assert_eq!((found.longest[1].dur_ns, found.longest[1].start_ns), (7, 60));
        assert!(found.longest.windows(2).all(|pair| pair[0].dur_ns >= pair[1].dur_ns));
        assert!(found.columns[0] && found.columns[COLUMNS - 1]);
        assert_eq!(find(&trace, &names, &AtomicBool::new(true)), None);
    }
}
