//! Flows: arrows from one place in the trace to another, as from the call that launches a kernel to the kernel.

use super::Trace;
use super::names::NameId;
use super::track::{SpanRef, Track, TrackId};
use std::sync::Arc;

/// One end of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowEnd {
    /// The track.
    pub track: TrackId,
    /// When, in nanoseconds of the trace's clock. The innermost span of the track at this time is the one meant.
    pub t_ns: i64,
}

/// An arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrow {
    /// What kind of flow it is; [`NameId::EMPTY`] if it has no name.
    pub name: NameId,
    /// Where it begins.
    pub from: FlowEnd,
    /// Where it ends.
    pub to: FlowEnd,
}

/// An end of an arrow, to find the arrows of a track in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Touch {
    at: FlowEnd,
    arrow: u32,
    /// Whether the arrow begins here.
    leaves: bool,
}

/// All arrows of a trace. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Flows {
    arrows: Arc<Vec<Arrow>>,
    touches: Arc<Vec<Touch>>,
}

impl Flows {
    /// Number of arrows.
    pub fn len(&self) -> usize {
        self.arrows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.arrows.is_empty()
    }

    /// All arrows, in the order in which they were read.
    pub fn iter(&self) -> impl Iterator<Item = &Arrow> {
        self.arrows.iter()
    }

    /// The arrows with an end on a track from `start_ns` to `end_ns`, both included, in order of time; `true` = the
    /// arrow begins there.
    pub fn touching(&self, track: TrackId, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (&Arrow, bool)> {
        let first = self.touches.partition_point(|touch| (touch.at.track, touch.at.t_ns) < (track, start_ns));
        let near = self.touches.get(first..).unwrap_or(&[]).iter();
        near.take_while(move |touch| touch.at.track == track && touch.at.t_ns <= end_ns)
            .filter_map(|touch| Some((self.arrows.get(touch.arrow as usize)?, touch.leaves)))
    }

    pub(super) fn add(&mut self, arrow: Arrow) {
        Arc::make_mut(&mut self.arrows).push(arrow);
    }

    pub(super) fn waits(&self) -> bool {
        self.touches.len() != self.arrows.len() * 2
    }

    /// Makes the new arrows findable.
    pub(super) fn settle(&mut self) {
        let touches = Arc::make_mut(&mut self.touches);
        let known = touches.len() / 2;
        for (idx, arrow) in self.arrows.iter().enumerate().skip(known) {
            touches.push(Touch { at: arrow.from, arrow: idx as u32, leaves: true });
            touches.push(Touch { at: arrow.to, arrow: idx as u32, leaves: false });
        }
        touches.sort_unstable();
    }

    pub(super) fn bytes(&self) -> usize {
        self.arrows.capacity() * size_of::<Arrow>() + self.touches.capacity() * size_of::<Touch>()
    }
}

impl Track {
    /// The innermost span at a time: it has begun and not ended, or it stands there without duration. At a time where one
    /// span ends and the next begins it is the next.
    pub fn innermost_at(&self, t_ns: i64) -> Option<SpanRef> {
        self.lanes().iter().enumerate().rev().find_map(|(depth, lane)| {
            let idx = lane.first_reaching(t_ns);
            let begun = lane.times(idx).is_some_and(|(start, _)| start <= t_ns);
            begun.then_some(SpanRef { track: self.id, depth: depth as u16, idx: idx as u32 })
        })
    }
}

/// An arrow as seen from one of its spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The span at this end: the one that was asked for, or one inside it.
    pub here: SpanRef,
    /// The span at the other end.
    pub other: SpanRef,
    /// Whether the arrow begins here.
    pub leaves: bool,
    /// What kind of flow it is.
    pub name: NameId,
}

impl Trace {
    /// The arrows with an end on a span or on one inside it, in order of time, `most` at most. Arrows that stay inside
    /// the span are left out.
    pub fn links(&self, at: SpanRef, most: usize) -> Vec<Link> {
        let Some(span) = self.span(at) else { return Vec::new() };
        let inside = |end: FlowEnd| {
            let found = self.track(end.track)?.innermost_at(end.t_ns)?;
            let mut outer = found;
            while outer != at && outer.depth > at.depth {
                outer = self.parent(outer)?;
            }
            (outer == at).then_some(found)
        };
        let span_at = |end: FlowEnd| self.track(end.track)?.innermost_at(end.t_ns);
        self.flows()
            .touching(at.track, span.start_ns, span.end_ns())
            .filter_map(|(arrow, leaves)| {
                let (own, far) = if leaves { (arrow.from, arrow.to) } else { (arrow.to, arrow.from) };
                let here = inside(own)?;
                if inside(far).is_some() {
                    return None;
                }
                Some(Link { here, other: span_at(far)?, leaves, name: arrow.name })
            })
            .take(most)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::TrackKind;
    use crate::trace::ArgsId;

    #[test]
    fn arrows_are_found_by_either_end() {
        let mut trace = Trace::default();
        let host = trace.add_track(1, None, "host", "", TrackKind::Thread);
        let device = trace.add_track(2, None, "device", "", TrackKind::Device);
        let name = trace.intern("launch");
        for i in 0..5 {
            trace.complete(host, i * 100, 80, name, NameId::EMPTY, ArgsId::NONE);
            trace.complete(host, i * 100 + 10, 20, name, NameId::EMPTY, ArgsId::NONE);
            trace.complete(device, i * 100 + 40, 50, name, NameId::EMPTY, ArgsId::NONE);
            let (from, to) = ((host, i * 100 + 10), (device, i * 100 + 40));
            let end = |(track, t_ns)| FlowEnd { track, t_ns };
            trace.arrow(name, end(from), end(to));
        }
        trace.settle();
        let flows = trace.flows();
        assert_eq!(flows.len(), 5);
        let (arrow, leaves) = flows.touching(host, 210, 230).next().unwrap();
        assert!(leaves);
        let at = trace.track(arrow.to.track).unwrap().innermost_at(arrow.to.t_ns).unwrap();
        assert_eq!(trace.span(at).unwrap().start_ns, 240);
        let at = trace.track(host).unwrap().innermost_at(arrow.from.t_ns).unwrap();
        assert_eq!((at.depth, trace.span(at).unwrap().dur_ns), (1, 20));
        assert!(!flows.touching(device, 140, 140).next().unwrap().1);
        // Seen from the kernel, from the call, and from what the call is inside of.
        let kernel = SpanRef { track: device, depth: 0, idx: 2 };
        let link = trace.links(kernel, 9)[0];
        assert_eq!((link.here, link.other.track, link.other.depth, link.leaves), (kernel, host, 1, false));
        let outer = SpanRef { track: host, depth: 0, idx: 2 };
        assert_eq!(trace.links(outer, 9), [Link { here: link.other, other: kernel, leaves: true, name }]);
        assert_eq!(trace.links(outer, 0), []);
        assert_eq!(flows.touching(device, 141, 239).count(), 0);
        assert_eq!(trace.track(host).unwrap().innermost_at(90), None);
    }

    #[test]
    fn at_a_seam_the_next_span_is_meant() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Device);
        for (start, dur) in [(0, 10), (10, 10), (30, 0)] {
            trace.complete(track, start, dur, NameId::EMPTY, NameId::EMPTY, ArgsId::NONE);
        }
        trace.settle();
        let start_at = |t| trace.tracks()[0].innermost_at(t).map(|at| trace.span(at).unwrap().start_ns);
        assert_eq!([start_at(9), start_at(10), start_at(30), start_at(25)], [Some(0), Some(10), Some(30), None]);
    }
}
