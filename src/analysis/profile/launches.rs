//! Which call on the host launched which work of a device: by the trace's flows or by the block's number.

use super::role::{Role, Roles};
use crate::model::TrackKind;
use crate::model::track::arg;
use crate::trace::{SpanRef, Trace};
use rustc_hash::FxHashMap;

/// The launches of one trace.
pub struct Launches {
    /// Work of a device → the call that launched it.
    by_work: FxHashMap<SpanRef, SpanRef>,
}

impl Launches {
    /// Follows all flows that end at work of a device, and the numbers of blocks in traces of our own.
    pub fn of(trace: &Trace, roles: &Roles) -> Self {
        let mut by_work = FxHashMap::default();
        for arrow in trace.flows().iter() {
            let (Some(to), Some(from)) = (trace.track(arrow.to.track), trace.track(arrow.from.track)) else { continue };
            if to.kind != TrackKind::Device || from.kind == TrackKind::Device {
                continue;
            }
            // An annotation may lie around the kernel: the kernel is the innermost that is work.
            let mut work = to.innermost_at(arrow.to.t_ns);
            while let Some(at) = work
                && trace.span(at).is_some_and(|span| !roles.role(to, &span).on_device())
            {
                work = trace.parent(at);
            }
            if let (Some(work), Some(call)) = (work, from.innermost_at(arrow.from.t_ns)) {
                by_work.insert(work, call);
            }
        }
        if by_work.is_empty() {
            by_work = by_block(trace);
        }
        Self { by_work }
    }

    /// The call that launched a piece of work.
    pub fn call(&self, work: SpanRef) -> Option<SpanRef> {
        self.by_work.get(&work).copied()
    }

    /// Number of pieces of work whose launch is known.
    pub fn len(&self) -> usize {
        self.by_work.len()
    }

    /// Whether no launch is known.
    pub fn is_empty(&self) -> bool {
        self.by_work.is_empty()
    }

    /// The innermost operation around the call that launched a piece of work.
    pub fn op(&self, trace: &Trace, roles: &Roles, work: SpanRef) -> Option<SpanRef> {
        let mut at = self.call(work)?;
        loop {
            let (track, span) = (trace.track(at.track)?, trace.span(at)?);
            if roles.role(track, &span) == Role::Op {
                return Some(at);
            }
            at = trace.parent(at)?;
        }
    }
}

/// Our own recorder numbers the blocks of operations, and kernels bear their block's number.
fn by_block(trace: &Trace) -> FxHashMap<SpanRef, SpanRef> {
    let mut blocks: FxHashMap<i64, SpanRef> = FxHashMap::default();
    let mut by_work = FxHashMap::default();
    if trace.find_name(arg::BLOCK).is_none() {
        return by_work;
    }
    for track in trace.tracks().iter().filter(|track| track.kind == TrackKind::Ops) {
        for (at, span) in track.spans() {
            if let Some(block) = trace.arg_int(&span, arg::BLOCK) {
                blocks.entry(block).or_insert(at);
            }
        }
    }
    for track in trace.tracks().iter().filter(|track| track.kind == TrackKind::Device) {
        for (at, span) in track.spans() {
            if let Some(block) = trace.arg_int(&span, arg::BLOCK).and_then(|block| blocks.get(&block)) {
                by_work.insert(at, *block);
            }
        }
    }
    by_work
}
