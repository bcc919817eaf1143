//! The critical path of a step: the chain of work that made it as long as it is. Nothing that is not on it would make
//! the step shorter.
//!
//! It is followed backward from the step's end, after Holistic Trace Analysis (Meta, MIT): through the work of a device to
//! what it waited for, which is either the work before it on its stream or the call that launched it; through the host
//! along its innermost spans; and from a call that waits for a device to the work that it waited for. Waiting of one
//! stream for another is not followed: recorders do not write it alike.

use super::launches::Launches;
use super::role::{Role, Roles};
use super::steps::StepSpan;
use crate::model::TrackKind;
use crate::trace::{Lane, Span, SpanRef, Trace, Track, TrackId};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Names that are listed.
const MAX_NAMES: usize = 12;
/// Name for the time from a launch to the beginning of its work.
const LATENCY: &str = "(from the launch to the kernel)";
/// Name for the time between the work before and this on a stream.
const BETWEEN: &str = "(from kernel to kernel)";
/// Name for time in which nothing of the path is known.
const NOTHING: &str = "(nothing recorded)";

/// A stretch of the path.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// The span that it is on; `None` between spans.
    pub at: Option<SpanRef>,
    /// Start, in nanoseconds of the trace's clock.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// What it is.
    pub role: Role,
    /// Words for it where it is on no span.
    label: &'static str,
}

/// Time on the path under one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathName {
    /// The name.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Stretches.
    pub count: u64,
    /// Time, in nanoseconds.
    pub total_ns: i64,
    /// Share of the step, 0 to 1.
    pub share: f64,
}

/// Time on the path of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathPart {
    /// What it is.
    pub role: Role,
    /// Words for it.
    pub label: &'static str,
    /// Time, in nanoseconds.
    pub total_ns: i64,
    /// Share of the step, 0 to 1.
    pub share: f64,
}

/// The critical path of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriticalPath {
    /// Name of the step.
    pub step: String,
    /// Its duration in nanoseconds; the stretches sum to it.
    pub dur_ns: i64,
    /// By kind, the longest first.
    pub parts: Vec<PathPart>,
    /// By name, the longest first, at most 12.
    pub names: Vec<PathName>,
    /// The stretches, in order of time, without gaps.
    #[serde(skip)]
    pub segments: Vec<Segment>,
}

/// Follows the path of a step; `None` for a step without duration.
pub fn of_step(trace: &Trace, roles: &Roles, launches: &Launches, step: &StepSpan) -> Option<CriticalPath> {
    if step.dur_ns() <= 0 {
        return None;
    }
    let mut walk = Walk::new(trace, roles, launches, step)?;
    walk.run();
    let mut segments = walk.segments;
    segments.reverse();
    Some(sum_up(trace, step, segments))
}

/// Where the path is, going backward.
#[derive(Debug, Clone, Copy)]
enum Place {
    Host(TrackId),
    Device(SpanRef),
}

struct Walk<'a> {
    trace: &'a Trace,
    roles: &'a Roles,
    launches: &'a Launches,
    /// Threads of the host with something in the step, the one with the most of it first.
    hosts: Vec<TrackId>,
    /// All threads of the host: some only say what phase it is.
    threads: Vec<TrackId>,
    /// Work of all devices that ends within the step, by its end.
    work: Vec<(i64, SpanRef)>,
    start_ns: i64,
    end_ns: i64,
    t_ns: i64,
    segments: Vec<Segment>,
}

impl<'a> Walk<'a> {
    fn new(trace: &'a Trace, roles: &'a Roles, launches: &'a Launches, step: &StepSpan) -> Option<Self> {
        let (from, to) = (step.start_ns, step.end_ns);
        let mut hosts: Vec<(i64, TrackId)> = Vec::new();
        let (mut work, mut threads) = (Vec::new(), Vec::new());
        for track in trace.tracks() {
            match track.kind {
                TrackKind::Device => {
                    let inside = track.spans().filter(|(_, span)| !span.is_open() && span.dur_ns > 0);
                    let inside = inside.filter(|(_, span)| span.end_ns() > from && span.end_ns() <= to);
                    let own = inside.filter(|(_, span)| roles.role(track, span).on_device());
                    work.extend(own.map(|(at, span)| (span.end_ns(), at)));
                }
                TrackKind::Async => {}
                _ => {
                    threads.push(track.id);
                    let busy = covered(track, roles, from, to);
                    if busy > 0 {
                        hosts.push((busy, track.id));
                    }
                }
            }
        }
        work.sort_unstable();
        hosts.sort_by_key(|(busy, id)| (std::cmp::Reverse(*busy), *id));
        let hosts: Vec<TrackId> = hosts.into_iter().map(|(_, id)| id).collect();
        (!hosts.is_empty() || !work.is_empty()).then_some(Self {
            trace,
            roles,
            launches,
            hosts,
            threads,
            work,
            start_ns: from,
            end_ns: to,
            t_ns: to,
            segments: Vec::new(),
        })
    }

    /// Each turn goes back by at least a nanosecond or changes from a device to the host, so it ends.
    fn run(&mut self) {
        let mut place = match self.hosts.first() {
            Some(host) => Place::Host(*host),
            None => self.work.last().map_or(Place::Host(TrackId(0)), |(_, at)| Place::Device(*at)),
        };
        while self.t_ns > self.start_ns {
            place = match place {
                Place::Host(track) => self.on_host(track),
                Place::Device(at) => self.on_device(at),
            };
        }
    }

    /// Goes back to a time; the time until then is on a span or between spans.
    fn back_to(&mut self, t_ns: i64, at: Option<SpanRef>, role: Role, label: &'static str) {
        let start_ns = t_ns.max(self.start_ns);
        if start_ns >= self.t_ns {
            return;
        }
        match self.segments.last_mut().filter(|last| last.at == at && last.role == role && last.label == label) {
            Some(last) => last.start_ns = start_ns,
            None => self.segments.push(Segment { at, start_ns, end_ns: self.t_ns, role, label }),
        }
        self.t_ns = start_ns;
    }

    fn role(&self, at: SpanRef) -> Role {
        match (self.trace.track(at.track), self.trace.span(at)) {
            (Some(track), Some(span)) => self.roles.role(track, &span),
            _ => Role::Other,
        }
    }

    /// The innermost span of a thread just before now, if it is work and no mere frame around work.
    fn working(&self, track: TrackId) -> Option<(SpanRef, Role)> {
        let at = self.trace.track(track)?.innermost_at(self.t_ns - 1)?;
        let role = self.role(at);
        let span = self.trace.span(at)?;
        (!frame(role, &span, self.start_ns, self.end_ns)).then_some((at, role))
    }

    fn on_host(&mut self, track: TrackId) -> Place {
        let here = self.working(track).map(|found| (track, found));
        let elsewhere = || self.hosts.iter().find_map(|other| Some((*other, self.working(*other)?)));
        let Some((track, (at, role))) = here.or_else(elsewhere) else { return self.through_a_gap(track) };
        if let Some(waiting) = self.waiting(at) {
            let start_ns = self.trace.span(waiting).map_or(self.t_ns, |span| span.start_ns);
            if let Some((end_ns, work)) = self.last_work(start_ns) {
                self.back_to(end_ns, Some(waiting), Role::Sync, "");
                return Place::Device(work);
            }
        }
        let from = self.begun(at);
        self.back_to(from, Some(at), role, "");
        Place::Host(track)
    }

    /// The call that waits for a device, if a span is one or lies in one.
    fn waiting(&self, mut at: SpanRef) -> Option<SpanRef> {
        loop {
            if self.role(at) == Role::Sync {
                return Some(at);
            }
            at = self.trace.parent(at)?;
        }
    }

    /// The work that ended last before now, but after a time.
    fn last_work(&self, after_ns: i64) -> Option<(i64, SpanRef)> {
        let idx = self.work.partition_point(|(end, _)| *end <= self.t_ns).checked_sub(1)?;
        self.work.get(idx).copied().filter(|(end, _)| *end > after_ns)
    }

    /// Since when a span has been the innermost without a break: its start, or the end of the last one inside it.
    fn begun(&self, at: SpanRef) -> i64 {
        let start = self.trace.span(at).map_or(self.start_ns, |span| span.start_ns);
        let below = self.trace.track(at.track).and_then(|track| track.lane(usize::from(at.depth) + 1));
        let inner = below.and_then(|lane| {
            let idx = lane.first_starting_at(self.t_ns).checked_sub(1)?;
            lane.times(idx).map(|(_, end)| end)
        });
        start.max(inner.unwrap_or(start)).min(self.t_ns - 1)
    }

    /// Nothing works on any thread: back to where something last did.
    fn through_a_gap(&mut self, track: TrackId) -> Place {
        let before = |id: &TrackId| {
            let track = self.trace.track(*id)?;
            track.lanes().iter().filter_map(|lane| self.last_end(track, lane)).max()
        };
        let end = self.hosts.iter().filter_map(before).max().unwrap_or(self.start_ns);
        // An annotation or phase within the step at least says what was going on, on this thread or else on another.
        let within = |id: &TrackId| {
            let at = self.trace.track(*id)?.innermost_at(self.t_ns - 1)?;
            let whole = |span: &Span| span.start_ns <= self.start_ns && span.end_ns() >= self.end_ns;
            self.trace.span(at).filter(|span| !whole(span)).map(|_| at)
        };
        let around = within(&track).or_else(|| self.threads.iter().find_map(within));
        let role = around.map_or(Role::Other, |at| match self.trace.span(at).map(|span| self.trace.name(span.name)) {
            Some("Input wait") => Role::Input,
            Some("Readback") => Role::Sync,
            _ => match self.role(at) {
                Role::Step | Role::Annotation => Role::Other,
                role => role,
            },
        });
        let label = if around.is_none() { NOTHING } else { "" };
        // Before it began it says nothing.
        let begun = around.and_then(|at| self.trace.span(at)).map_or(i64::MIN, |span| span.start_ns);
        self.back_to(end.max(begun).min(self.t_ns - 1), around, role, label);
        Place::Host(track)
    }

    /// End of the last piece of work of a lane that ended before now.
    fn last_end(&self, track: &Track, lane: &Lane) -> Option<i64> {
        let mut idx = lane.first_starting_at(self.t_ns);
        // Annotations are few and far between: the one before is work nearly always.
        while let Some(before) = idx.checked_sub(1) {
            let span = lane.get(before)?;
            if span.end_ns() <= self.start_ns {
                return None;
            }
            let frame = frame(self.roles.role(track, &span), &span, self.start_ns, self.end_ns);
            if !frame && span.end_ns() < self.t_ns {
                return Some(span.end_ns());
            }
            idx = before;
        }
        None
    }

    fn on_device(&mut self, at: SpanRef) -> Place {
        let Some(span) = self.trace.span(at) else { return self.main_host() };
        self.back_to(span.start_ns, Some(at), self.role(at), "");
        let before = self.work_before(at);
        let call = self.launches.call(at).and_then(|call| Some((call, self.trace.span(call)?)));
        match (call, before) {
            // It was handed over before the work before it was done: the device held it up.
            (Some((_, call)), Some((end, work))) if call.start_ns <= end => {
                self.back_to(end, None, Role::Other, BETWEEN);
                Place::Device(work)
            }
            (Some((call_at, call)), _) => {
                self.back_to(call.end_ns().min(span.start_ns), None, Role::Runtime, LATENCY);
                Place::Host(call_at.track)
            }
            (None, Some((end, work))) => {
                self.back_to(end, None, Role::Other, BETWEEN);
                Place::Device(work)
            }
            (None, None) => self.main_host(),
        }
    }

    fn main_host(&mut self) -> Place {
        match self.hosts.first() {
            Some(host) => Place::Host(*host),
            None => {
                self.back_to(self.start_ns, None, Role::Other, NOTHING);
                Place::Host(TrackId(0))
            }
        }
    }

    /// The work before on the same stream, if it ended within the step, not after now.
    fn work_before(&self, at: SpanRef) -> Option<(i64, SpanRef)> {
        let lane = self.trace.track(at.track)?.lane(usize::from(at.depth))?;
        let idx = (at.idx as usize).checked_sub(1)?;
        let span = lane.get(idx)?;
        let before = SpanRef { idx: idx as u32, ..at };
        let fits = span.end_ns() <= self.t_ns && span.end_ns() > self.start_ns && self.role(before).on_device();
        fits.then_some((span.end_ns(), before))
    }
}

/// Whether a span only lies around the work: a step, an annotation, or something that runs from before the step to after
/// it, such as the profiler's own span.
fn frame(role: Role, span: &Span, from: i64, to: i64) -> bool {
    matches!(role, Role::Step | Role::Annotation) || (span.start_ns <= from && span.end_ns() >= to)
}

/// Time of a stretch in which a track works, by its lane that shows most of it.
fn covered(track: &Track, roles: &Roles, from: i64, to: i64) -> i64 {
    let of = |lane: &Lane| {
        lane.iter_range(lane.range(from, to))
            .filter(|span| !frame(roles.role(track, span), span, from, to))
            .map(|span| span.end_ns().min(to).saturating_sub(span.start_ns.max(from)).max(0))
            .fold(0, i64::saturating_add)
    };
    track.lanes().iter().map(of).max().unwrap_or(0)
}

fn sum_up(trace: &Trace, step: &StepSpan, segments: Vec<Segment>) -> CriticalPath {
    let whole = step.dur_ns().max(1) as f64;
    let mut parts: FxHashMap<Role, i64> = FxHashMap::default();
    let mut names: FxHashMap<(&str, Role), (u64, i64)> = FxHashMap::default();
    for segment in &segments {
        let ns = segment.end_ns - segment.start_ns;
        *parts.entry(segment.role).or_default() += ns;
        let span = segment.at.and_then(|at| trace.span(at));
        let name = span.map_or(segment.label, |span| trace.name(span.name));
        let entry = names.entry((name, segment.role)).or_default();
        entry.0 += 1;
        entry.1 += ns;
    }
    let mut parts: Vec<PathPart> = parts
        .into_iter()
        .map(|(role, total_ns)| PathPart { role, label: role.label(), total_ns, share: total_ns as f64 / whole })
        .collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.total_ns), part.label));
    let mut names: Vec<PathName> = names
        .into_iter()
        .map(|((name, role), (count, total_ns))| PathName {
            name: name.to_owned(),
            role,
            count,
            total_ns,
            share: total_ns as f64 / whole,
        })
        .collect();
    names.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    names.truncate(MAX_NAMES);
    CriticalPath { step: step.name.clone(), dur_ns: step.dur_ns(), parts, names, segments }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::tests::Plant;
    use super::*;
    use proptest::prelude::*;

    fn path(trace: &Trace, start_ns: i64, end_ns: i64) -> CriticalPath {
        let roles = Roles::of(trace);
        let launches = Launches::of(trace, &roles);
        let step = StepSpan { name: "step".to_owned(), start_ns, end_ns };
        let path = of_step(trace, &roles, &launches, &step).unwrap();
        let mut at = start_ns;
        for segment in &path.segments {
            assert!(segment.start_ns == at && segment.end_ns > at, "{:?}", path.segments);
            at = segment.end_ns;
        }
        assert_eq!(at, end_ns, "the stretches sum to the step");
        path
    }

    fn share(path: &CriticalPath, role: Role) -> i64 {
        path.parts.iter().find(|part| part.role == role).map_or(0, |part| part.total_ns)
    }

    #[test]
    fn a_busy_device_is_the_path() {
        let mut plant = Plant::new();
        // Launched at once, then 300 + 400 ns of kernels, and the host waits.
        plant.op("aten::mm", (0, 20), "gemm", (50, 350));
        plant.op("aten::relu", (20, 40), "relu", (360, 760));
        let host = plant.host;
        plant.span(host, (40, 780), "cuda_runtime", "cudaDeviceSynchronize");
        plant.trace.settle();
        let path = path(&plant.trace, 0, 800);
        assert_eq!(share(&path, Role::Kernel), 700);
        assert_eq!(share(&path, Role::Sync), 20, "from the end of the last kernel to the call's return");
        assert_eq!(path.names[0].name, "relu");
        // The first kernel was launched at 2..18 and began at 50.
        assert!(path.names.iter().any(|name| name.name == LATENCY && name.total_ns == 32), "{:?}", path.names);
    }

    #[test]
    fn phases_of_another_thread_name_what_is_in_no_operation() {
        let mut plant = Plant::new();
        let phases = plant.trace.add_track(9, None, "Training thread", "run", TrackKind::Training);
        plant.span(phases, (0, 1000), "step", "Step");
        plant.span(phases, (0, 400), "phase", "Forward");
        plant.span(phases, (400, 1000), "phase", "Readback");
        plant.op("conv2d", (10, 390), "conv", (2000, 2001));
        plant.trace.settle();
        let path = path(&plant.trace, 0, 1000);
        assert_eq!(share(&path, Role::Sync), 600, "{:?}", path.names);
        assert!(path.names.iter().any(|name| name.name == "Readback" && name.total_ns == 600), "{:?}", path.names);
    }

    #[test]
    fn frames_around_the_step_are_no_work() {
        let mut plant = Plant::new();
        let other = plant.trace.add_track(7, None, "profiler", "python", TrackKind::Thread);
        plant.span(other, (-100, 2000), "Trace", "PyTorch Profiler (0)");
        let host = plant.host;
        plant.span(host, (-50, 1500), "python_function", "main");
        plant.op("aten::mm", (0, 600), "gemm", (610, 700));
        plant.trace.settle();
        let path = path(&plant.trace, 0, 1000);
        assert_eq!((share(&path, Role::Op), share(&path, Role::Runtime)), (4, 596), "{:?}", path.parts);
        assert_eq!(share(&path, Role::Other), 400, "nothing is recorded after the operation: {:?}", path.names);
    }

    #[test]
    fn a_slow_host_is_the_path() {
        let mut plant = Plant::new();
        for i in 0..10 {
            let t = i * 100;
            plant.op("aten::add", (t, t + 90), "add", (t + 92, t + 97));
        }
        let host = plant.host;
        plant.span(host, (990, 1000), "cuda_runtime", "cudaDeviceSynchronize");
        plant.trace.settle();
        let path = path(&plant.trace, 0, 1000);
        let on_host = share(&path, Role::Op) + share(&path, Role::Runtime);
        assert!(on_host > 850, "{:?}", path.parts);
        assert_eq!(share(&path, Role::Kernel), 5, "only the last kernel was waited for");
    }

    #[test]
    fn real_steps_sum_to_their_length() {
        let trace = Plant::training(400, 3);
        let roles = Roles::of(&trace);
        let steps = super::super::steps::find(&trace, &roles, None);
        for step in &steps.list {
            let path = path(&trace, step.start_ns, step.end_ns);
            assert_eq!(share(&path, Role::Input), 400, "{:?}", path.parts);
            assert_eq!(share(&path, Role::Kernel), 500, "{:?}", path.parts);
        }
        let step = StepSpan { name: "empty".to_owned(), start_ns: 5, end_ns: 5 };
        assert!(of_step(&trace, &roles, &Launches::of(&trace, &roles), &step).is_none());
    }

    proptest! {
        #[test]
        fn any_trace_has_a_path_that_ends(
            spans in prop::collection::vec((0..2_u8, 0..500_i64, 0..80_i64, 0..6_usize), 1..60),
            arrows in prop::collection::vec((0..500_i64, 0..500_i64), 0..20),
        ) {
            let mut plant = Plant::new();
            let kinds = [("cpu_op", "a"), ("cuda_runtime", "b"), ("cuda_runtime", "cudaDeviceSynchronize"),
                ("user_annotation", "c"), ("kernel", "d"), ("gpu_memcpy", "Memcpy HtoD")];
            for (place, start, dur, kind) in spans {
                let track = if place == 0 { plant.host } else { plant.device };
                plant.span(track, (start, start + dur), kinds[kind].0, kinds[kind].1);
            }
            for (from, to) in arrows {
                let (host, device) = (plant.host, plant.device);
                let end = |track, t_ns| crate::trace::FlowEnd { track, t_ns };
                plant.trace.arrow(crate::trace::NameId::EMPTY, end(host, from), end(device, to));
            }
            plant.trace.settle();
            let roles = Roles::of(&plant.trace);
            let launches = Launches::of(&plant.trace, &roles);
            let step = StepSpan { name: "s".to_owned(), start_ns: 10, end_ns: 400 };
            if let Some(path) = of_step(&plant.trace, &roles, &launches, &step) {
                let sum: i64 = path.segments.iter().map(|s| s.end_ns - s.start_ns).sum();
                prop_assert_eq!(sum, 390);
                let parts: i64 = path.parts.iter().map(|part| part.total_ns).sum();
                prop_assert_eq!(parts, 390);
            }
        }
    }
}
