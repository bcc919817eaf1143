//! Writes a trace as collapsed stacks, the number being the nanoseconds spent in the innermost span itself.

use crate::trace::{Trace, Track};
use std::collections::BTreeMap;

/// All tracks, each under its name; sorted, so that the same trace gives the same text. Open spans have no time yet and
/// count only as frames of what is inside them.
pub fn to_text(trace: &Trace) -> String {
    let mut stacks: BTreeMap<String, i64> = BTreeMap::new();
    for track in trace.tracks() {
        let mut stack = frame(if track.name.is_empty() { "(unnamed track)" } else { &track.name });
        let roots = track.lane(0).map_or(0, |lane| lane.len());
        add(trace, track, 0, 0..roots, &mut stack, &mut stacks);
        for depth in 1..track.depth_count() {
            // Spans that overlap the one above without lying inside it are roots of their own.
            let lane_len = track.lane(depth).map_or(0, |lane| lane.len());
            for idx in (0..lane_len).filter(|&idx| track.parent_of(depth, idx).is_none()) {
                add(trace, track, depth, idx..idx + 1, &mut stack, &mut stacks);
            }
        }
    }
    let mut out = String::new();
    for (stack, ns) in stacks.iter().filter(|(_, ns)| **ns > 0) {
        out.push_str(stack);
        out.push_str(&format!(" {ns}\n"));
    }
    out
}

/// Adds spans and, by recursion as deep as they nest (at most 4,096, the store's limit), what is inside them.
fn add(
    trace: &Trace,
    track: &Track,
    depth: usize,
    range: std::ops::Range<usize>,
    stack: &mut String,
    stacks: &mut BTreeMap<String, i64>,
) {
    let Some(lane) = track.lane(depth) else { return };
    for (at, span) in range.clone().zip(lane.iter_range(range)) {
        let outer = stack.len();
        stack.push(';');
        let name = trace.name(span.name);
        stack.push_str(&frame(if name.is_empty() { "(unnamed)" } else { name }));
        let children = track.children(depth, at);
        if !span.is_open() {
            let own = track.self_ns(depth, at, &span);
            match stacks.get_mut(stack.as_str()) {
                Some(ns) => *ns = ns.saturating_add(own),
                None => {
                    stacks.insert(stack.clone(), own);
                }
            }
        }
        add(trace, track, depth + 1, children, stack, stacks);
        stack.truncate(outer);
    }
}

/// A frame's name: semicolons separate frames and line ends separate stacks, so neither may stand inside one.
fn frame(name: &str) -> String {
    name.replace(';', ",").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::TrackKind;
    use crate::trace::{ArgsId, NameId};

    #[test]
    fn own_time_is_what_the_inner_spans_leave() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "main", "", TrackKind::Thread);
        for (name, start, dur) in [("a", 0, 100), ("b;x", 10, 30), ("c", 15, 5), ("b;x", 50, 20), ("late", 60, 100)] {
            let name = trace.intern(name);
            trace.complete(track, start, dur, name, NameId::EMPTY, ArgsId::NONE);
        }
        let name = trace.intern("open");
        trace.begin(track, 500, name, NameId::EMPTY, ArgsId::NONE);
        trace.settle();
        assert_eq!(to_text(&trace), "main;a 50\nmain;a;b,x 45\nmain;a;b,x;c 5\nmain;late 100\n");
    }
}
