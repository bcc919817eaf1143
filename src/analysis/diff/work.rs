//! The operations of one trace, by name, input shapes and the operation around them, with the device time that they
//! launched.

use crate::analysis::profile::{Launches, Role, Roles, Steps};
use crate::model::TrackKind;
use crate::model::track::arg;
use crate::trace::{ArgValue, NameId, Span, SpanRef, Trace};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Keys under which recorders write the shapes of inputs.
const SHAPE_KEYS: [&str; 4] = [arg::SHAPES_IN, "Input Dims", "Input dims", "shape_with_layout"];

/// What makes two operations the same one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct OpKey {
    /// Its name.
    pub name: String,
    /// Shapes of its inputs as written; empty where they are not recorded.
    pub shapes: String,
    /// The operation around it; empty for an outermost one.
    pub parent: String,
}

/// What an operation costs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct OpCost {
    /// Calls.
    pub count: f64,
    /// Time on the host, children left out, in nanoseconds.
    pub host_self_ns: f64,
    /// Time of the device's work that it launched itself, in nanoseconds.
    pub device_ns: f64,
}

impl OpCost {
    fn scaled(self, by: f64) -> Self {
        Self { count: self.count * by, host_self_ns: self.host_self_ns * by, device_ns: self.device_ns * by }
    }

    /// Host and device time together: how much a change of it weighs.
    pub fn weight(&self) -> f64 {
        self.host_self_ns + self.device_ns
    }
}

/// Operations and kernels of a trace, in one step on average, or in all of it where it has no steps.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// Operations.
    pub ops: FxHashMap<OpKey, OpCost>,
    /// Kernels by name: count and device time.
    pub kernels: FxHashMap<String, OpCost>,
}

impl Work {
    /// Gathers what lies within the steps.
    pub fn of(trace: &Trace, roles: &Roles, launches: &Launches, steps: &Steps) -> Self {
        let window = steps.list.first().zip(steps.list.last()).map(|(first, last)| (first.start_ns, last.end_ns));
        let inside = |span: &Span| window.is_none_or(|(from, to)| span.start_ns >= from && span.start_ns < to);
        let shape_keys: Vec<NameId> = SHAPE_KEYS.iter().filter_map(|key| trace.find_name(key)).collect();
        let mut device: FxHashMap<SpanRef, i64> = FxHashMap::default();
        let mut work = Self::default();
        for track in trace.tracks().iter().filter(|track| track.kind == TrackKind::Device) {
            for (at, span) in track.spans().filter(|(_, span)| !span.is_open() && inside(span)) {
                if !roles.role(track, &span).on_device() {
                    continue;
                }
                let kernel = work.kernels.entry(trace.name(span.name).to_owned()).or_default();
                kernel.count += 1.0;
                kernel.device_ns += span.dur_ns as f64;
                if let Some(op) = launches.op(trace, roles, at) {
                    *device.entry(op).or_default() += span.dur_ns;
                }
            }
        }
        let mut names: FxHashMap<(NameId, Option<NameId>, Option<NameId>), OpKey> = FxHashMap::default();
        for track in trace.tracks().iter().filter(|track| track.kind != TrackKind::Device) {
            for (at, span) in track.spans().filter(|(_, span)| !span.is_open() && inside(span)) {
                if roles.role(track, &span) != Role::Op {
                    continue;
                }
                let shapes = shapes(trace, &shape_keys, &span);
                let parent = parent_op(trace, roles, at).map(|parent| parent.name);
                let key = names.entry((span.name, shapes, parent)).or_insert_with(|| OpKey {
                    name: trace.name(span.name).to_owned(),
                    shapes: shapes.map_or_else(String::new, |id| trace.name(id).to_owned()),
                    parent: parent.map_or_else(String::new, |id| trace.name(id).to_owned()),
                });
                let cost = work.ops.entry(key.clone()).or_default();
                cost.count += 1.0;
                cost.host_self_ns += track.self_ns(usize::from(at.depth), at.idx as usize, &span).max(0) as f64;
                cost.device_ns += device.get(&at).copied().unwrap_or(0) as f64;
            }
        }
        let by = 1.0 / steps.list.len().max(1) as f64;
        work.ops.values_mut().chain(work.kernels.values_mut()).for_each(|cost| *cost = cost.scaled(by));
        work
    }
}

fn shapes(trace: &Trace, keys: &[NameId], span: &Span) -> Option<NameId> {
    trace.args(span.args).find(|(key, _)| keys.contains(key)).and_then(|(_, value)| match value {
        ArgValue::Text(text) => Some(text),
        _ => None,
    })
}

/// The operation around an operation; functions and annotations between them do not count.
fn parent_op(trace: &Trace, roles: &Roles, at: SpanRef) -> Option<Span> {
    let track = trace.track(at.track)?;
    let mut at = trace.parent(at)?;
    loop {
        let span = trace.span(at)?;
        if roles.role(track, &span) == Role::Op {
            return Some(span);
        }
        at = trace.parent(at)?;
    }
}
