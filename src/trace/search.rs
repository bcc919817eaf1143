//! Finding spans by name: the names are matched once, then spans are compared by number.

use super::lane::Lane;
use super::names::NameId;
use super::store::Trace;
use super::track::{SpanRef, TrackId};

/// A set of names, by id.
#[derive(Debug, Clone, Default)]
pub struct NameSet {
    bits: Vec<u64>,
    count: usize,
}

impl NameSet {
    /// The names of a trace that contain `needle`, whatever the case of the letters. An empty needle matches nothing.
    pub fn containing(trace: &Trace, needle: &str) -> Self {
        let needle = needle.to_lowercase();
        if needle.is_empty() {
            return Self::default();
        }
        Self::matching(trace, |name| name.to_lowercase().contains(&needle))
    }

    /// The names of a trace for which `matches` holds.
    pub fn matching(trace: &Trace, matches: impl Fn(&str) -> bool) -> Self {
        let mut set = Self { bits: vec![0; trace.name_count().div_ceil(64) as usize], count: 0 };
        for id in 0..trace.name_count() {
            if matches(trace.name(NameId(id)))
                && let Some(word) = set.bits.get_mut(id as usize / 64)
            {
                *word |= 1 << (id % 64);
                set.count += 1;
            }
        }
        set
    }

    /// Whether a name is in the set.
    pub fn contains(&self, id: NameId) -> bool {
        self.bits.get(id.0 as usize / 64).is_some_and(|word| word >> (id.0 % 64) & 1 == 1)
    }

    /// Whether no name is in the set.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Spans whose name is in the set, track by track and lane by lane, at most `limit`.
pub fn find(trace: &Trace, names: &NameSet, limit: usize) -> Vec<SpanRef> {
    let mut hits = Vec::new();
    if names.is_empty() {
        return hits;
    }
    for track in trace.tracks() {
        for (depth, lane) in track.lanes().iter().enumerate() {
            for idx in hits_of(lane, names) {
                if hits.len() == limit {
                    return hits;
                }
                hits.push(SpanRef { track: track.id, depth: depth as u16, idx: idx as u32 });
            }
        }
    }
    hits
}

/// Indices of the spans of a lane whose name is in the set.
fn hits_of<'a>(lane: &'a Lane, names: &'a NameSet) -> impl Iterator<Item = usize> + 'a {
    lane.names().enumerate().filter(|(_, name)| names.contains(*name)).map(|(idx, _)| idx)
}

/// The span with this very name that comes after (or before) `from` on its track, in order of start; without `from` the
/// first (or last) of the first track that has one.
pub fn neighbour(trace: &Trace, name: &str, from: Option<SpanRef>, forward: bool) -> Option<SpanRef> {
    let name = trace.find_name(name)?;
    let Some(from) = from else {
        let end = if forward { (i64::MIN, 0) } else { (i64::MAX, u16::MAX) };
        return trace.tracks().iter().find_map(|track| nearest(trace, track.id, name, end, forward));
    };
    let start_ns = trace.span(from)?.start_ns;
    nearest(trace, from.track, name, (start_ns, from.depth), forward)
}

/// The nearest span of this name beyond a place in the order of start, then depth.
fn nearest(trace: &Trace, track: TrackId, name: NameId, place: (i64, u16), forward: bool) -> Option<SpanRef> {
    let mut best: Option<((i64, u16), SpanRef)> = None;
    for (depth, lane) in trace.track(track)?.lanes().iter().enumerate() {
        let depth = depth as u16;
        let key_at = |idx: usize| lane.get(idx).map(|span| (span.start_ns, depth));
        let is_hit = |idx: &usize| lane.get(*idx).is_some_and(|span| span.name == name);
        let at = lane.first_starting_at(place.0);
        let found = if forward {
            (at..lane.len()).find(|idx| is_hit(idx) && key_at(*idx).is_some_and(|key| key > place))
        } else {
            let end = lane.first_starting_at(place.0.saturating_add(1));
            (0..end).rev().find(|idx| is_hit(idx) && key_at(*idx).is_some_and(|key| key < place))
        };
        let Some((idx, key)) = found.and_then(|idx| Some((idx, key_at(idx)?))) else { continue };
        if best.is_none_or(|(known, _)| if forward { key < known } else { key > known }) {
            best = Some((key, SpanRef { track, depth, idx: idx as u32 }));
        }
    }
    best.map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::TrackKind;
    use crate::trace::ArgsId;

    fn sample() -> Trace {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Thread);
        let step = trace.intern("Step");
        let conv = trace.intern("conv2d backward");
        for i in 0..5 {
            trace.complete(track, i * 100, 90, step, NameId::EMPTY, ArgsId::NONE);
            trace.complete(track, i * 100 + 10, 20, conv, NameId::EMPTY, ArgsId::NONE);
        }
        trace.settle();
        trace
    }

    #[test]
    fn finds_by_part_of_the_name_in_any_case() {
        let trace = sample();
        assert_eq!(find(&trace, &NameSet::containing(&trace, "CONV2D"), 100).len(), 5);
        assert_eq!(find(&trace, &NameSet::containing(&trace, "s"), 3).len(), 3);
        assert!(find(&trace, &NameSet::containing(&trace, "pool"), 100).is_empty());
        assert!(NameSet::containing(&trace, "").is_empty());
    }

    #[test]
    fn walks_from_neighbour_to_neighbour() {
        let trace = sample();
        let name = "conv2d backward";
        let mut at = neighbour(&trace, name, None, true).unwrap();
        let mut seen = vec![at.idx];
        while let Some(next) = neighbour(&trace, name, Some(at), true) {
            at = next;
            seen.push(at.idx);
        }
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        assert_eq!(neighbour(&trace, name, None, false).unwrap().idx, 4);
        assert_eq!(neighbour(&trace, name, Some(at), false).unwrap().idx, 3);
        assert_eq!(neighbour(&trace, "nothing", None, true), None);
    }
}
