//! A flame graph of differences: two merged trees laid over one another, name by name.

use crate::analysis::FlameNode;
use crate::analysis::flame::{joined, merged_within};
use crate::analysis::profile::Steps;
use crate::model::TrackKind;
use crate::trace::{NameId, Trace, Track};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Name under which all steps are merged, which have names of their own: `ProfilerStep#5`, `Step 6`.
const STEP: &str = "Step";
/// Node for the work of all devices.
const DEVICES: &str = "Devices";
/// Places that are named.
const MAX_PLACES: usize = 20;
/// Frames of a place's path that are kept, from the inside.
const PATH_FRAMES: usize = 4;

/// A node that is in one tree or in both. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DiffNode {
    /// Name of the spans.
    pub name: String,
    /// Time in the first, children included.
    pub a_ns: f64,
    /// Time in the second.
    pub b_ns: f64,
    /// Nodes below, the largest change first.
    pub children: Vec<DiffNode>,
}

impl DiffNode {
    /// How much longer the second takes.
    pub fn delta_ns(&self) -> f64 {
        self.b_ns - self.a_ns
    }
}

/// Lays two trees over one another; times are divided by the numbers of steps.
pub fn diff(a: Option<&FlameNode>, b: Option<&FlameNode>, steps: (f64, f64)) -> DiffNode {
    let empty: &[FlameNode] = &[];
    let (below_a, below_b) = (a.map_or(empty, |a| &a.children), b.map_or(empty, |b| &b.children));
    let mut children: Vec<DiffNode> = below_a
        .iter()
        .map(|child| diff(Some(child), below_b.iter().find(|other| other.name == child.name), steps))
        .collect();
    let new = below_b.iter().filter(|child| !below_a.iter().any(|other| other.name == child.name));
    children.extend(new.map(|child| diff(None, Some(child), steps)));
    children.sort_by(|x, y| y.delta_ns().abs().total_cmp(&x.delta_ns().abs()));
    DiffNode {
        name: a.or(b).map(|node| node.name.clone()).unwrap_or_default(),
        a_ns: a.map_or(0.0, |a| a.total_ns as f64 / steps.0.max(1.0)),
        b_ns: b.map_or(0.0, |b| b.total_ns as f64 / steps.1.max(1.0)),
        children,
    }
}

impl DiffNode {
    /// Time in the node itself, in the first and the second.
    fn own(&self) -> (f64, f64) {
        let sum = |pick: fn(&Self) -> f64| self.children.iter().map(pick).sum::<f64>();
        ((self.a_ns - sum(|child| child.a_ns)).max(0.0), (self.b_ns - sum(|child| child.b_ns)).max(0.0))
    }
}

/// A place in the call tree whose own time changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlaceChange {
    /// Names from the outside to the inside, the innermost last; outer ones may be left out.
    pub path: Vec<String>,
    /// Own time in the first, in nanoseconds.
    pub a_ns: f64,
    /// Own time in the second.
    pub b_ns: f64,
}

/// The places whose own time changed most, the largest change first.
pub fn places(root: &DiffNode) -> Vec<PlaceChange> {
    let mut found = Vec::new();
    let mut stack: Vec<(&DiffNode, Vec<&str>)> = root.children.iter().map(|child| (child, Vec::new())).collect();
    while let Some((node, mut path)) = stack.pop() {
        path.push(&node.name);
        let (a_ns, b_ns) = node.own();
        if a_ns != b_ns {
            let kept = path.iter().skip(path.len().saturating_sub(PATH_FRAMES)).map(|name| (*name).to_owned());
            found.push(PlaceChange { path: kept.collect(), a_ns, b_ns });
        }
        stack.extend(node.children.iter().map(|child| (child, path.clone())));
    }
    let size = |place: &PlaceChange| (place.b_ns - place.a_ns).abs();
    found.sort_by(|x, y| size(y).total_cmp(&size(x)).then_with(|| x.path.cmp(&y.path)));
    found.truncate(MAX_PLACES);
    found
}

/// Everything within the steps of a trace as one tree: the frames of all threads, and the work of all devices under a
/// node of its own. Steps are merged whatever their numbers.
pub fn whole(trace: &Trace, steps: &Steps) -> FlameNode {
    let window = steps.list.first().zip(steps.list.last()).map(|(first, last)| (first.start_ns, last.end_ns));
    let window = window.unwrap_or((i64::MIN, i64::MAX));
    let mut first_step: Option<NameId> = None;
    let mut steps_of: FxHashMap<NameId, NameId> = FxHashMap::default();
    for name in steps.list.iter().filter_map(|step| trace.find_name(&step.name)) {
        let first = *first_step.get_or_insert(name);
        steps_of.insert(name, first);
    }
    let alias = |name: NameId| steps_of.get(&name).copied().unwrap_or(name);
    let tree = |track| merged_within(trace, track, window, alias);
    let (mut host, mut device) = (Vec::new(), Vec::new());
    // A track that is busy from end to end, as the profiler's own is, tells nothing of a step.
    let frames = |track: &Track| track.spans().all(|(_, span)| span.start_ns <= window.0 && span.end_ns() >= window.1);
    for track in trace.tracks().iter().filter(|track| !frames(track)) {
        match track.kind {
            TrackKind::Device => device.push(tree(track)),
            // They overlap freely, so that their times do not add up to anything.
            TrackKind::Async => {}
            _ => host.push(tree(track)),
        }
    }
    if !device.is_empty() {
        let devices = joined(DEVICES, device);
        host.push(FlameNode { total_ns: devices.total_ns, children: vec![devices], ..FlameNode::default() });
    }
    let mut root = joined("All", host);
    if let Some(first) = first_step {
        rename(&mut root, trace.name(first));
    }
    root
}

fn rename(node: &mut FlameNode, step: &str) {
    for child in &mut node.children {
        if child.name == step {
            STEP.clone_into(&mut child.name);
        }
        rename(child, step);
    }
}
