//! Spans merged by their place in the call tree: the same name under the same parents is one node.

use crate::trace::NameId;
use crate::trace::{Trace, Track};
use rustc_hash::FxHashMap;

/// A node of the merged tree. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct FlameNode {
    /// Name of the spans.
    pub name: String,
    /// Time, children included.
    pub total_ns: i64,
    /// Time, children left out.
    pub self_ns: i64,
    /// Number of spans.
    pub count: u64,
    /// Nodes below, the longest first.
    pub children: Vec<FlameNode>,
}

#[derive(Default)]
struct Building {
    total_ns: i64,
    count: u64,
    children: FxHashMap<NameId, usize>,
}

/// The merged tree of a track; the root is the track itself.
pub fn merged(trace: &Trace, track: &Track) -> FlameNode {
    merged_within(trace, track, (i64::MIN, i64::MAX), |name| name)
}

/// The merged tree of what lies between two times, where `alias` says under which name a span of a name is merged.
pub fn merged_within(
    trace: &Trace,
    track: &Track,
    (from, to): (i64, i64),
    alias: impl Fn(NameId) -> NameId,
) -> FlameNode {
    let mut nodes = vec![Building::default()];
    // Node of each span of the depth above, by its index there.
    let mut above: Vec<usize> = Vec::new();
    for (depth, lane) in track.lanes().iter().enumerate() {
        let mut here = Vec::with_capacity(lane.len());
        for (idx, span) in lane.iter().enumerate() {
            let parent = match depth {
                0 => 0,
                _ => track.parent_of(depth, idx).and_then(|parent| above.get(parent).copied()).unwrap_or(0),
            };
            let fresh = nodes.len();
            let node = *nodes[parent].children.entry(alias(span.name)).or_insert(fresh);
            if node == fresh {
                nodes.push(Building::default());
            }
            let within = span.end_ns().min(to).saturating_sub(span.start_ns.max(from));
            if !span.is_open() && within >= 0 {
                nodes[node].total_ns += within;
                nodes[node].count += 1;
                if depth == 0 {
                    nodes[0].total_ns += within;
                }
            }
            here.push(node);
        }
        above = here;
    }
    nodes[0].count = 1;
    finish(trace, &nodes, 0, track.name.clone())
}

/// Several trees as one: nodes of the same name at the same place become one.
pub fn joined(name: &str, trees: impl IntoIterator<Item = FlameNode>) -> FlameNode {
    let mut root = FlameNode { name: name.to_owned(), ..FlameNode::default() };
    for tree in trees {
        root.total_ns += tree.total_ns;
        root.self_ns += tree.self_ns;
        root.count += tree.count;
        root.children.extend(tree.children);
    }
    let mut by_name: FxHashMap<String, Vec<FlameNode>> = FxHashMap::default();
    for child in std::mem::take(&mut root.children) {
        by_name.entry(child.name.clone()).or_default().push(child);
    }
    root.children = by_name
        .into_iter()
        .map(|(name, mut same)| match same.len() {
            1 => same.swap_remove(0),
            _ => joined(&name, same),
        })
        .collect();
    root.children.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    root
}

fn finish(trace: &Trace, nodes: &[Building], at: usize, name: String) -> FlameNode {
    let node = &nodes[at];
    let mut children: Vec<FlameNode> =
        node.children.iter().map(|(name, child)| finish(trace, nodes, *child, trace.name(*name).to_owned())).collect();
    children.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    let inside: i64 = children.iter().map(|child| child.total_ns).sum();
    FlameNode { name, total_ns: node.total_ns, self_ns: (node.total_ns - inside).max(0), count: node.count, children }
}

#[cfg(test)]
mod tests {
    use super::super::planted;
    use super::*;
    use crate::trace::ArgsId;

    #[test]
    fn the_same_path_is_one_node() {
        let mut trace = Trace::default();
        let id = planted::track(&mut trace, 1, "thread");
        let (step, forward, backward) = (trace.intern("step"), trace.intern("forward"), trace.intern("backward"));
        for n in 0..3 {
            let at = n * 100;
            trace.complete(id, at, 90, step, NameId::EMPTY, ArgsId::default());
            trace.complete(id, at, 30, forward, NameId::EMPTY, ArgsId::default());
            trace.complete(id, at + 30, 50, backward, NameId::EMPTY, ArgsId::default());
        }
        trace.settle();
        let root = merged(&trace, trace.track(id).unwrap());
        assert_eq!((root.total_ns, root.children.len()), (270, 1));
        let step = &root.children[0];
        assert_eq!((step.count, step.total_ns, step.self_ns), (3, 270, 30));
        assert_eq!(step.children[0].name, "backward");
        assert_eq!((step.children[1].total_ns, step.children[1].count), (90, 3));
    }
}
