//! Steps of a trace that has no step records: as the profiler marked them, as the user says, or as a pattern repeats.

use super::role::{Role, Roles};
use crate::model::TrackKind;
use crate::trace::{NameId, Trace, Track, TrackId};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Fewest repeats that make a pattern.
const MIN_REPEATS: usize = 3;
/// Most repeats; more of one name are work within steps.
const MAX_REPEATS: usize = 20_000;
/// Share of its thread's time that a pattern must cover, so that its repeats can be steps.
const MIN_COVER: f64 = 0.3;
/// Depths at which patterns are looked for: steps lie under a few frames of the program.
const MAX_DEPTH: usize = 12;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepSpan {
    /// Its name.
    pub name: String,
    /// Start, in nanoseconds of the trace's clock.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

impl StepSpan {
    /// Duration in nanoseconds.
    pub fn dur_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// The steps of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Steps {
    /// How they were found, as a phrase.
    pub how: String,
    /// In order of time, none overlapping the next.
    pub list: Vec<StepSpan>,
}

/// Finds the steps: spans named `marker` where the user gives one, else those that the profiler marked, else the repeats
/// that cover the most time.
pub fn find(trace: &Trace, roles: &Roles, marker: Option<&str>) -> Steps {
    if let Some(marker) = marker {
        let name = trace.find_name(marker);
        let list = gather(trace, |_, span| Some(span.name) == name);
        return Steps { how: format!("spans named “{marker}”"), list };
    }
    let list = gather(trace, |track, span| roles.role(track, span) == Role::Step);
    if !list.is_empty() {
        return Steps { how: "steps as the profiler marked them".to_owned(), list };
    }
    let list = gather(trace, |track, _| track.name == "Steps" || track.name.ends_with(" Steps"));
    if !list.is_empty() {
        return Steps { how: "the line of steps".to_owned(), list };
    }
    let best = trace
        .tracks()
        .iter()
        .filter(|track| !matches!(track.kind, TrackKind::Device | TrackKind::Async))
        .filter_map(|track| pattern(track))
        .max_by_key(|pattern| pattern.covered_ns);
    match best {
        Some(Pattern { track, name, depth, .. }) => {
            let of = trace.track(track);
            let list = of.map(|track| spans_of(trace, track, name, depth)).unwrap_or_default();
            let thread = of.map_or("", |track| track.name.as_str());
            Steps { how: format!("repeats of “{}” on {thread}", trace.name(name)), list }
        }
        None => {
            Steps { how: "no steps were found: nothing is marked and nothing repeats".to_owned(), list: Vec::new() }
        }
    }
}

/// The wanted spans of the first track that has any, outermost only.
fn gather(trace: &Trace, wanted: impl Fn(&Track, &crate::trace::Span) -> bool) -> Vec<StepSpan> {
    let mut best: Vec<StepSpan> = Vec::new();
    for track in trace.tracks() {
        let mut here: Vec<StepSpan> = Vec::new();
        for (_, span) in track.spans().filter(|(_, span)| !span.is_open() && wanted(track, span)) {
            let name = trace.name(span.name).to_owned();
            here.push(StepSpan { name, start_ns: span.start_ns, end_ns: span.end_ns() });
        }
        // Spans come lane by lane; those inside another wanted one are left out.
        here.sort_by_key(|step| (step.start_ns, std::cmp::Reverse(step.end_ns)));
        let mut until = i64::MIN;
        here.retain(|step| {
            let outer = step.start_ns >= until;
            until = until.max(step.end_ns);
            outer
        });
        if here.len() > best.len() {
            best = here;
        }
    }
    best
}

struct Pattern {
    track: TrackId,
    name: NameId,
    depth: usize,
    covered_ns: i64,
}

/// The name whose repeats at one depth cover the most of a track.
fn pattern(track: &Track) -> Option<Pattern> {
    let (start, end) = track.bounds()?;
    let extent = end.saturating_sub(start).max(1);
    let mut best: Option<Pattern> = None;
    for (depth, lane) in track.lanes().iter().enumerate().take(MAX_DEPTH) {
        let mut names: FxHashMap<NameId, (usize, i64)> = FxHashMap::default();
        for span in lane.iter().filter(|span| !span.is_open()) {
            let (count, covered) = names.entry(span.name).or_default();
            *count += 1;
            *covered = covered.saturating_add(span.dur_ns);
        }
        let fits = |(count, covered): (usize, i64)| {
            (MIN_REPEATS..=MAX_REPEATS).contains(&count) && covered as f64 >= extent as f64 * MIN_COVER
        };
        let found = names.into_iter().filter(|(_, found)| fits(*found)).max_by_key(|(name, (_, ns))| (*ns, name.0));
        if let Some((name, (_, covered_ns))) = found {
            // The outermost that repeats is the step: what is inside covers no more.
            if best.as_ref().is_none_or(|known| covered_ns > known.covered_ns) {
                best = Some(Pattern { track: track.id, name, depth, covered_ns });
            }
        }
    }
    best
}

fn spans_of(trace: &Trace, track: &Track, name: NameId, depth: usize) -> Vec<StepSpan> {
    let lane = track.lane(depth).into_iter().flat_map(|lane| lane.iter());
    lane.filter(|span| span.name == name && !span.is_open())
        .map(|span| StepSpan { name: trace.name(name).to_owned(), start_ns: span.start_ns, end_ns: span.end_ns() })
        .collect()
}
