//! What is done with spans of one track that overlap without one lying in the other, which no thread can really do.

use super::lane::Span;
use super::store::Trace;
use crate::model::TrackKind;
use std::cmp::Reverse;

/// What is done with overlapping spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Overlaps {
    /// They are drawn as the file says, one lane lower, sticking out.
    #[default]
    Keep,
    /// The later one is cut where the one that it begins in ends, so that it lies within it.
    Nest,
    /// The earlier one is cut where the later one begins, so that one follows the other.
    Clip,
}

impl Overlaps {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Keep, Self::Nest, Self::Clip];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Nest => "nest",
            Self::Clip => "clip",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

impl Trace {
    /// The trace with its overlapping spans cut as wished, and how many were cut. Tracks on which spans may overlap, and
    /// spans that have not ended, stay as they are.
    pub fn with_overlaps(&self, policy: Overlaps) -> (Self, u64) {
        let mut trace = self.clone();
        let mut cut = 0;
        if policy == Overlaps::Keep {
            return (trace, cut);
        }
        let crossed = self.tracks().iter().filter(|track| track.kind != TrackKind::Async && track.overlaps() > 0);
        for track in crossed {
            let mut spans: Vec<Span> = track.spans().map(|(_, span)| span).filter(|span| !span.is_open()).collect();
            spans.sort_by_key(|span| (span.start_ns, Reverse(span.end_ns())));
            cut += match policy {
                Overlaps::Keep => 0,
                Overlaps::Nest => nest(&mut spans),
                Overlaps::Clip => clip(&mut spans),
            };
            trace.replace_ended(track.id, spans);
        }
        trace.settle();
        (trace, cut)
    }
}

/// Cuts spans, in the order of time, at the end of the one that they begin in.
fn nest(spans: &mut [Span]) -> u64 {
    let mut cut = 0;
    // Ends of the spans around, the innermost last.
    let mut around: Vec<i64> = Vec::new();
    for span in spans {
        while around.last().is_some_and(|end| *end <= span.start_ns) {
            around.pop();
        }
        if let Some(end) = around.last().filter(|end| **end < span.end_ns()) {
            span.dur_ns = end.saturating_sub(span.start_ns);
            cut += 1;
        }
        around.push(span.end_ns());
    }
    cut
}

/// Cuts spans, in the order of time, at the start of one that begins in them and ends after them.
fn clip(spans: &mut [Span]) -> u64 {
    let mut cut = 0;
    let mut around: Vec<usize> = Vec::new();
    for at in 0..spans.len() {
        let Some((start, end)) = spans.get(at).map(|span| (span.start_ns, span.end_ns())) else { continue };
        // Those that ended before, and those that end within this one: they are cut here.
        while let Some(over) = around.last().and_then(|idx| spans.get_mut(*idx)).filter(|over| over.end_ns() < end) {
            if over.end_ns() > start {
                over.dur_ns = start.saturating_sub(over.start_ns);
                cut += 1;
            }
            around.pop();
        }
        around.push(at);
    }
    cut
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::trace::{ArgsId, NameId, TrackId};
    use proptest::prelude::*;

    fn trace(spans: &[(i64, i64)]) -> (Trace, TrackId) {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Thread);
        let name = trace.intern("x");
        for (start, dur) in spans {
            trace.complete(track, *start, *dur, name, NameId::EMPTY, ArgsId::NONE);
        }
        trace.settle();
        (trace, track)
    }

    fn lanes(trace: &Trace) -> Vec<Vec<(i64, i64)>> {
        let lanes = trace.tracks()[0].lanes();
        lanes.iter().map(|lane| lane.iter().map(|span| (span.start_ns, span.end_ns())).collect()).collect()
    }

    #[test]
    fn the_later_is_nested_or_the_earlier_clipped() {
        let (crossed, _) = trace(&[(0, 20), (5, 5), (10, 20), (15, 3), (40, 5)]);
        assert_eq!(crossed.tracks()[0].overlaps(), 1);
        let (kept, cut) = crossed.with_overlaps(Overlaps::Keep);
        assert_eq!((lanes(&kept), cut), (lanes(&crossed), 0));
        let (nested, cut) = crossed.with_overlaps(Overlaps::Nest);
        assert_eq!(cut, 1);
        assert_eq!(lanes(&nested), [vec![(0, 20), (40, 45)], vec![(5, 10), (10, 20)], vec![(15, 18)]]);
        let (clipped, cut) = crossed.with_overlaps(Overlaps::Clip);
        assert_eq!(cut, 1);
        assert_eq!(lanes(&clipped), [vec![(0, 10), (10, 30), (40, 45)], vec![(5, 10), (15, 18)]]);
        assert_eq!(crossed.tracks()[0].overlaps(), 1, "the trace itself is not changed");
    }

    #[test]
    fn names_lead_to_policies() {
        for policy in Overlaps::ALL {
            assert_eq!(Overlaps::from_name(policy.name()), Some(policy));
        }
        assert_eq!(Overlaps::from_name("drop"), None);
    }

    proptest! {
        #[test]
        fn nothing_overlaps_any_more_and_nothing_is_lost(
            spans in prop::collection::vec((0..200_i64, 0..60_i64), 1..60),
        ) {
            let (crossed, _) = trace(&spans);
            for policy in [Overlaps::Nest, Overlaps::Clip] {
                let (mended, cut) = crossed.with_overlaps(policy);
                prop_assert_eq!(mended.tracks()[0].overlaps(), 0, "{:?}", lanes(&mended));
                prop_assert_eq!(mended.span_count(), crossed.span_count());
                prop_assert_eq!(cut > 0, crossed.tracks()[0].overlaps() > 0);
                let starts = |trace: &Trace| {
                    let mut starts: Vec<i64> = lanes(trace).concat().iter().map(|(start, _)| *start).collect();
                    starts.sort_unstable();
                    starts
                };
                prop_assert_eq!(starts(&mended), starts(&crossed));
            }
        }
    }
}
