//! When a device had nothing to do, and why: for each gap, what launched the work that ended it, and what the host was
//! doing until then.
//!
//! Rules after Holistic Trace Analysis (Meta, MIT): a gap is the host's if the launch of the next kernel began after the
//! kernel before had ended, and the device's own if it is shorter than 30 ns. The host's part is taken further apart by
//! what the launching thread did.

use super::intervals::Intervals;
use super::launches::Launches;
use super::role::{Role, Roles};
use crate::model::TrackKind;
use crate::trace::{SpanRef, Trace, Track, TrackId};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A gap of at most this many nanoseconds is the device's own step from kernel to kernel.
const BETWEEN_KERNELS_NS: i64 = 30;
/// Longest gaps that are listed.
const LISTED: usize = 50;
/// Share of the host's time in a gap that makes its cause.
const MAIN_SHARE: f64 = 0.5;

/// Why a device was idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The host waited for, or made, input.
    InputWait,
    /// The host waited for the device, and so had nothing handed over when it was done.
    Sync,
    /// The host was busy launching: its calls take longer than the kernels.
    Launch,
    /// The host did something else.
    HostBound,
    /// The work was handed over in time; the device took this long to begin it.
    LaunchGap,
    /// The device's own step from one kernel to the next.
    BetweenKernels,
    /// What launched the next work is not known.
    Unknown,
}

impl Cause {
    /// Words for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::InputWait => "input wait",
            Self::Sync => "host waited for the device",
            Self::Launch => "launching takes longer than the kernels",
            Self::HostBound => "host busy with other work",
            Self::LaunchGap => "handed over in time, begun late",
            Self::BetweenKernels => "step from kernel to kernel",
            Self::Unknown => "unknown: the launch of the next kernel is not in the trace",
        }
    }
}

/// One gap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    /// Start, in nanoseconds of the trace's clock.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// Why.
    pub cause: Cause,
    /// Name of the work that ended it.
    pub next: String,
}

/// How much time one cause took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CauseTotal {
    /// The cause.
    pub cause: Cause,
    /// Words for it.
    pub label: &'static str,
    /// Gaps.
    pub count: u64,
    /// Their time, in nanoseconds.
    pub total_ns: i64,
}

/// A device's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceTime {
    /// Name of the device.
    pub device: String,
    /// Window that was looked at, in nanoseconds: from its first to its last work within the steps.
    pub window_ns: i64,
    /// Time in which it worked, overlaps counted once.
    pub busy_ns: i64,
    /// The part of it in which it did nothing but copy memory.
    pub copy_only_ns: i64,
    /// Causes of its idle time, the longest first.
    pub causes: Vec<CauseTotal>,
    /// The longest gaps.
    pub longest: Vec<Gap>,
}

impl DeviceTime {
    /// Share of the window in which it worked, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        if self.window_ns > 0 { self.busy_ns as f64 / self.window_ns as f64 } else { 0.0 }
    }

    /// Share of its work in which it did nothing but copy memory, 0 to 1.
    pub fn copy_share(&self) -> f64 {
        if self.busy_ns > 0 { self.copy_only_ns as f64 / self.busy_ns as f64 } else { 0.0 }
    }
}

/// Start, end and place of a piece of work.
type Work = (i64, i64, SpanRef);

/// What a host thread did when, for the roles that make causes.
#[derive(Default)]
struct Host {
    input: Intervals,
    sync: Intervals,
    runtime: Intervals,
}

/// The devices of a trace within a window (`None` = all of it).
pub fn devices(trace: &Trace, roles: &Roles, launches: &Launches, window: Option<(i64, i64)>) -> Vec<DeviceTime> {
    let mut by_device: Vec<(String, Vec<Work>, Vec<(i64, i64)>)> = Vec::new();
    for track in trace.tracks().iter().filter(|track| track.kind == TrackKind::Device) {
        let device = if track.process.is_empty() { track.name.clone() } else { track.process.clone() };
        let at = by_device.iter().position(|(name, ..)| *name == device).unwrap_or_else(|| {
            by_device.push((device, Vec::new(), Vec::new()));
            by_device.len() - 1
        });
        let Some((_, work, other)) = by_device.get_mut(at) else { continue };
        for (at, span) in track.spans().filter(|(_, span)| !span.is_open() && span.dur_ns > 0) {
            let inside = window.is_none_or(|(from, to)| span.start_ns < to && span.end_ns() > from);
            let role = roles.role(track, &span);
            if inside && role.on_device() {
                work.push((span.start_ns, span.end_ns(), at));
                if role != Role::Memcpy {
                    other.push((span.start_ns, span.end_ns()));
                }
            }
        }
    }
    let hosts = hosts(trace, roles);
    by_device
        .into_iter()
        .filter(|(_, work, _)| !work.is_empty())
        .map(|(device, work, other)| {
            let time = device_time(trace, launches, &hosts, device, work);
            let other = Intervals::of(other).within(i64::MIN, i64::MAX);
            DeviceTime { copy_only_ns: time.busy_ns.saturating_sub(other), ..time }
        })
        .collect()
}

fn hosts(trace: &Trace, roles: &Roles) -> FxHashMap<TrackId, Host> {
    let of_track = |track: &Track| {
        let (mut input, mut sync, mut runtime) = (Vec::new(), Vec::new(), Vec::new());
        for (_, span) in track.spans().filter(|(_, span)| !span.is_open()) {
            let stretch = (span.start_ns, span.end_ns());
            match roles.role(track, &span) {
                Role::Input => input.push(stretch),
                Role::Sync => sync.push(stretch),
                Role::Runtime => runtime.push(stretch),
                Role::Annotation if trace.name(span.name) == "Input wait" => input.push(stretch),
                Role::Annotation if trace.name(span.name) == "Readback" => sync.push(stretch),
                _ => {}
            }
        }
        let [input, sync, runtime] = [input, sync, runtime].map(Intervals::of);
        (track.id, Host { input, sync, runtime })
    };
    let on_host = trace.tracks().par_iter().filter(|track| track.kind != TrackKind::Device);
    let mut hosts: FxHashMap<TrackId, Host> = on_host.map(|track| of_track(track)).collect();
    // Our own operations are on a track of their own; what the host does is on the training thread's.
    let training = trace.tracks().iter().find(|track| track.kind == TrackKind::Training).map(|track| track.id);
    for track in trace.tracks().iter().filter(|track| track.kind == TrackKind::Ops) {
        if let Some(host) = training.and_then(|id| hosts.get(&id)) {
            let copy = Host { input: host.input.clone(), sync: host.sync.clone(), runtime: host.runtime.clone() };
            hosts.insert(track.id, copy);
        }
    }
    hosts
}

fn device_time(
    trace: &Trace,
    launches: &Launches,
    hosts: &FxHashMap<TrackId, Host>,
    device: String,
    mut work: Vec<Work>,
) -> DeviceTime {
    work.sort_unstable_by_key(|(start, end, at)| (*start, *end, *at));
    let mut longest = Vec::new();
    let mut totals: FxHashMap<Cause, (u64, i64)> = FxHashMap::default();
    let (first, mut busy, mut until) = (work.first().map_or(0, |w| w.0), 0_i64, i64::MIN);
    for (start, end, at) in work {
        if until > i64::MIN && start > until {
            let cause = cause(trace, launches, hosts, (until, start), at);
            let entry = totals.entry(cause).or_default();
            entry.0 += 1;
            entry.1 = entry.1.saturating_add(start - until);
            let next = trace.span(at).map(|span| trace.name(span.name).to_owned()).unwrap_or_default();
            longest.push(Gap { start_ns: until, end_ns: start, cause, next });
        }
        busy = busy.saturating_add((end - start.max(until)).max(0));
        until = until.max(end);
    }
    longest.sort_by_key(|gap| std::cmp::Reverse(gap.end_ns - gap.start_ns));
    longest.truncate(LISTED);
    let mut causes: Vec<CauseTotal> = totals
        .into_iter()
        .map(|(cause, (count, total_ns))| CauseTotal { cause, label: cause.label(), count, total_ns })
        .collect();
    causes.sort_by_key(|total| (std::cmp::Reverse(total.total_ns), total.cause));
    DeviceTime { device, window_ns: until.saturating_sub(first), busy_ns: busy, copy_only_ns: 0, causes, longest }
}

fn cause(
    trace: &Trace,
    launches: &Launches,
    hosts: &FxHashMap<TrackId, Host>,
    (from, to): (i64, i64),
    next: SpanRef,
) -> Cause {
    if to - from <= BETWEEN_KERNELS_NS {
        return Cause::BetweenKernels;
    }
    let Some(call) = launches.call(next) else { return Cause::Unknown };
    let Some(begun) = trace.span(call).map(|span| span.start_ns) else { return Cause::Unknown };
    if begun <= from {
        return Cause::LaunchGap;
    }
    let until = begun.min(to);
    let Some(host) = hosts.get(&call.track) else { return Cause::HostBound };
    let share = |set: &Intervals| set.within(from, until) as f64 / (until - from).max(1) as f64;
    if share(&host.input) >= MAIN_SHARE {
        Cause::InputWait
    } else if share(&host.sync) >= MAIN_SHARE {
        Cause::Sync
    } else if share(&host.runtime) >= MAIN_SHARE {
        Cause::Launch
    } else {
        Cause::HostBound
    }
}
