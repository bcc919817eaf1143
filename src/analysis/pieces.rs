//! A trace in pieces of even size, for going through all its spans on all processors.

use crate::trace::{Lane, Span, Trace, Track};
use std::ops::Range;

/// Spans of a piece: enough that handing it out costs nothing, few enough that a trace of one thread is shared, too.
const SPANS: usize = 1 << 15;

/// Neighbouring spans of a lane.
pub(crate) struct Piece<'a> {
    pub track: &'a Track,
    pub depth: usize,
    lane: &'a Lane,
    range: Range<usize>,
}

impl Piece<'_> {
    /// The spans that have ended, with their place in the lane.
    pub fn spans(&self) -> impl Iterator<Item = (usize, Span)> + '_ {
        self.range.clone().zip(self.lane.iter_range(self.range.clone())).filter(|(_, span)| !span.is_open())
    }
}

/// The pieces of the wanted tracks, in their order.
pub(super) fn pieces(trace: &Trace, wanted: impl Fn(&Track) -> bool) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for track in trace.tracks().iter().filter(|track| wanted(track)) {
        for (depth, lane) in track.lanes().iter().enumerate() {
            for start in (0..lane.len()).step_by(SPANS) {
                pieces.push(Piece { track, depth, lane, range: start..lane.len().min(start + SPANS) });
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::planted;
    use crate::model::TrackKind;
    use crate::trace::{ArgsId, NameId};

    #[test]
    fn pieces_are_the_whole() {
        let mut trace = Trace::default();
        let tracks = [1, 2].map(|uuid| planted::track(&mut trace, uuid, "thread"));
        let other = trace.add_track(3, None, "device", "", TrackKind::Device);
        let count = SPANS as i64 * 5 / 2;
        for i in 0..count {
            for track in tracks.into_iter().chain([other]) {
                trace.complete(track, i * 10, 9, NameId::EMPTY, NameId::EMPTY, ArgsId::NONE);
                trace.complete(track, i * 10, 4, NameId::EMPTY, NameId::EMPTY, ArgsId::NONE);
            }
        }
        trace.settle();
        let pieces = pieces(&trace, |track| track.kind != TrackKind::Device);
        assert_eq!(pieces.len(), 2 * 2 * 3);
        let found = pieces.iter().flat_map(|piece| piece.spans().map(|(idx, span)| (piece.depth, idx, span)));
        let tracks = trace.tracks().iter().filter(|track| track.kind != TrackKind::Device);
        let all = tracks.flat_map(|track| track.spans().map(|(at, span)| (at.depth as usize, at.idx as usize, span)));
        assert!(found.eq(all));
    }
}
