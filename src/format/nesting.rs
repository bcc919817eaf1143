//! Which spans of a track nest, for formats that know nothing else: the others go beside it.

use crate::trace::{Span, SpanRef, Track};
use std::cmp::Reverse;

/// The spans of a track in order of time, outer ones first, each with its end by `end_of` and whether it lies within
/// those around it. One that does not goes beside them; spans of one lane do not overlap, so each lane with such spans
/// needs one place beside.
pub(super) fn nested(track: &Track, end_of: impl Fn(&Span) -> i64) -> Vec<(SpanRef, Span, i64, bool)> {
    let mut spans: Vec<(SpanRef, Span)> = track.spans().collect();
    spans.sort_by_key(|(at, span)| (span.start_ns, Reverse(end_of(span)), at.depth));
    // Ends of the spans that the current one may lie in, innermost last.
    let mut around: Vec<i64> = Vec::new();
    spans
        .into_iter()
        .map(|(at, span)| {
            let end_ns = end_of(&span);
            around.truncate(around.iter().rposition(|&end| end > span.start_ns).map_or(0, |last| last + 1));
            let nests = around.last().is_none_or(|&end| end >= end_ns);
            if nests {
                around.push(end_ns);
            }
            (at, span, end_ns, nests)
        })
        .collect()
}
