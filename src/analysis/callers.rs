//! One name from both sides: who calls it, and what it calls ("sandwich view").

use super::FlameNode;
use crate::trace::{NameId, Trace, Track};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Levels of callers that are kept apart.
const MAX_LEVELS: usize = 64;

/// A name with its callers and callees. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sandwich {
    /// The name.
    pub name: String,
    /// Number of spans.
    pub count: u64,
    /// Their time; that of a span within another of this name is in the outer one's.
    pub total_ns: i64,
    /// The part of it in which nothing that they call ran.
    pub self_ns: i64,
    /// The name at the root, below each node who called it; times are those of the name's spans.
    pub callers: FlameNode,
    /// The name at the root, below each node what it called.
    pub callees: FlameNode,
}

#[derive(Default)]
struct Node {
    total_ns: i64,
    count: u64,
    children: FxHashMap<NameId, usize>,
}

/// A tree that grows.
struct Tree(Vec<Node>);

impl Tree {
    fn new() -> Self {
        Self(vec![Node::default()])
    }

    fn child(&mut self, parent: usize, name: NameId) -> usize {
        let fresh = self.0.len();
        let Some(node) = self.0.get_mut(parent) else { return parent };
        let child = *node.children.entry(name).or_insert(fresh);
        if child == fresh {
            self.0.push(Node::default());
        }
        child
    }

    fn add(&mut self, node: usize, ns: i64) {
        if let Some(node) = self.0.get_mut(node) {
            node.total_ns = node.total_ns.saturating_add(ns);
            node.count += 1;
        }
    }

    fn finish(&self, trace: &Trace, at: usize, name: &str) -> FlameNode {
        let Some(node) = self.0.get(at) else { return FlameNode::default() };
        let mut children: Vec<FlameNode> =
            node.children.iter().map(|(name, child)| self.finish(trace, *child, trace.name(*name))).collect();
        children.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
        let inside: i64 = children.iter().map(|child| child.total_ns).sum();
        FlameNode {
            name: name.to_owned(),
            total_ns: node.total_ns,
            self_ns: node.total_ns.saturating_sub(inside).max(0),
            count: node.count,
            children,
        }
    }
}

/// Looks at all spans of a name, on all tracks. Spans that have not ended are left out.
pub fn sandwich(trace: &Trace, name: NameId) -> Sandwich {
    let (mut callers, mut callees) = (Tree::new(), Tree::new());
    let mut count = 0;
    for track in trace.tracks() {
        count += gather(track, name, &mut callers, &mut callees);
    }
    let callees = callees.finish(trace, 0, trace.name(name));
    Sandwich {
        name: trace.name(name).to_owned(),
        count,
        total_ns: callees.total_ns,
        self_ns: callees.self_ns,
        callers: callers.finish(trace, 0, trace.name(name)),
        callees,
    }
}

/// Adds what one track has of it; returns the number of its spans.
fn gather(track: &Track, name: NameId, callers: &mut Tree, callees: &mut Tree) -> u64 {
    let mut count = 0;
    // Node below the name of each span of the depth above, by its index there; `None` for those that are not below it.
    let mut above: Vec<Option<usize>> = Vec::new();
    for (depth, lane) in track.lanes().iter().enumerate() {
        let mut here = Vec::with_capacity(lane.len());
        for (idx, span) in lane.iter().enumerate() {
            let parent = if depth == 0 { None } else { track.parent_of(depth, idx) };
            let inside = parent.and_then(|parent| above.get(parent).copied().flatten());
            count += u64::from(span.name == name && !span.is_open());
            let node = match inside {
                Some(node) => Some(callees.child(node, span.name)),
                None if span.name == name => Some(0),
                None => None,
            };
            if let Some(node) = node.filter(|_| !span.is_open()) {
                callees.add(node, span.dur_ns);
                if node == 0 {
                    add_callers(track, (depth, idx), span.dur_ns, callers);
                }
            }
            here.push(node);
        }
        above = here;
    }
    count
}

fn add_callers(track: &Track, (mut depth, mut idx): (usize, usize), ns: i64, callers: &mut Tree) {
    let mut node = 0;
    callers.add(node, ns);
    for _ in 0..MAX_LEVELS {
        let Some(parent) = (depth > 0).then(|| track.parent_of(depth, idx)).flatten() else { return };
        (depth, idx) = (depth - 1, parent);
        let Some(span) = track.lane(depth).and_then(|lane| lane.get(idx)) else { return };
        node = callers.child(node, span.name);
        callers.add(node, ns);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::TrackKind;
    use crate::trace::ArgsId;

    #[test]
    fn callers_and_callees_share_the_time_and_recursion_counts_once() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Thread);
        let mut add = |name: &str, start, dur| {
            let name = trace.intern(name);
            trace.complete(track, start, dur, name, NameId::EMPTY, ArgsId::NONE);
        };
        add("forward", 0, 100);
        add("linear", 10, 40);
        add("matmul", 15, 20);
        // A recursion: the inner one is in the outer's time.
        add("linear", 20, 10);
        add("backward", 100, 100);
        add("linear", 110, 30);
        add("linear", 300, 5);
        trace.settle();
        let name = trace.find_name("linear").unwrap();
        let found = sandwich(&trace, name);
        assert_eq!((found.count, found.total_ns, found.self_ns), (4, 75, 55));
        let of = |node: &FlameNode, name: &str| {
            let child = node.children.iter().find(|child| child.name == name).unwrap();
            (child.total_ns, child.count)
        };
        assert_eq!(of(&found.callers, "forward"), (40, 1));
        assert_eq!(of(&found.callers, "backward"), (30, 1));
        // The last one has no caller: it is in the root alone.
        assert_eq!((found.callers.total_ns, found.callers.self_ns), (75, 5));
        assert_eq!(of(&found.callees, "matmul"), (20, 1));
        assert_eq!(of(&found.callees.children[0], "linear"), (10, 1));
        assert_eq!(sandwich(&trace, NameId(999)).count, 0);
    }
}
