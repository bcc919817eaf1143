//! A flame graph of differences: two merged trees laid over one another, name by name.

use crate::analysis::FlameNode;
use serde::Serialize;

/// A node that is in one tree or in both. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
