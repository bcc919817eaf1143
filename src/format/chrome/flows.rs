//! Flow events (`s`, `t`, `f`, and spans with `bind_id`): points that are joined to arrows when all are read.

use super::id::Id;
use crate::format::ImportReport;
use crate::trace::{FlowEnd, NameId, Trace, TrackId};
use rustc_hash::FxHashMap;

/// What a point of a flow does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Begins it.
    Start,
    /// Passes it on.
    Pass,
    /// Ends it.
    End,
}

/// Where a point belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bind {
    /// The span around it.
    Enclosing,
    /// The next span to begin.
    Next,
}

struct Point {
    flow: u32,
    t_ns: i64,
    step: Step,
    track: TrackId,
    bind: Bind,
    offset: u64,
}

/// Category, name, process of an identifier that holds in its process only, and identifier: together they tell flows
/// apart.
pub(super) type FlowKey = (NameId, NameId, Option<Id>, Id);

/// All points so far.
#[derive(Default)]
pub(super) struct FlowPoints {
    flows: FxHashMap<FlowKey, u32>,
    names: Vec<NameId>,
    points: Vec<Point>,
}

impl FlowPoints {
    /// Adds a point of the flow with this category, name and identifier.
    pub fn add(
        &mut self,
        key: FlowKey,
        name: NameId,
        step: Step,
        (track, t_ns, bind): (TrackId, i64, Bind),
        offset: u64,
    ) {
        let next = self.names.len() as u32;
        let flow = *self.flows.entry(key).or_insert_with(|| {
            self.names.push(name);
            next
        });
        self.points.push(Point { flow, t_ns, step, track, bind, offset });
    }

    /// Joins the points of each flow in order of time. The trace must be settled: points that belong to the next span
    /// are moved to it.
    pub fn finish(mut self, trace: &mut Trace, report: &mut ImportReport) {
        // A device's clock may be a little early: where a flow has one start only, that comes first whatever its time.
        let mut starts = vec![0_u32; self.names.len()];
        for point in self.points.iter().filter(|point| point.step == Step::Start) {
            if let Some(count) = starts.get_mut(point.flow as usize) {
                *count += 1;
            }
        }
        let first = |point: &Point| point.step == Step::Start && starts.get(point.flow as usize) == Some(&1);
        self.points.sort_by_key(|point| (point.flow, if first(point) { i64::MIN } else { point.t_ns }, point.step));
        let mut before: Option<(u32, FlowEnd)> = None;
        for point in &self.points {
            let end = FlowEnd { track: point.track, t_ns: place(trace, point) };
            let from = before.filter(|(flow, _)| *flow == point.flow);
            match (point.step, from) {
                (Step::Start, _) => {}
                (_, Some((_, from))) => {
                    let name = self.names.get(point.flow as usize).copied().unwrap_or(NameId::EMPTY);
                    trace.arrow(name, from, end);
                    report.flows += 1;
                }
                (_, None) => {
                    report.note("flow ends without a start, left out", Some(point.offset));
                    continue;
                }
            }
            // One launch can have several kernels: each end is joined to the last point that is none.
            if point.step != Step::End {
                before = Some((point.flow, end));
            }
        }
        trace.settle();
    }
}

/// When a point is, once it is moved to the span that it belongs to.
fn place(trace: &Trace, point: &Point) -> i64 {
    if point.bind == Bind::Enclosing {
        return point.t_ns;
    }
    let Some(track) = trace.track(point.track) else { return point.t_ns };
    let next = |lane: &crate::trace::Lane| Some(lane.times(lane.first_starting_at(point.t_ns))?.0);
    track.lanes().iter().filter_map(next).min().unwrap_or(point.t_ns)
}
