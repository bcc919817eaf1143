//! Steps of a trace that has no step records: as the profiler marked them, as the user says, or as a pattern repeats.

use super::role::{Role, Roles};
use crate::model::TrackKind;
use crate::trace::{NameId, Span, Trace, Track, TrackId};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Fewest repeats that make a pattern.
const MIN_REPEATS: usize = 3;
/// Most repeats; more of one name are work within steps.
const MAX_REPEATS: usize = 20_000;
/// Share of its thread's time that a pattern must cover, so that its repeats can be steps.
const MIN_COVER: f64 = 0.3;
/// Share of that time that they must cover if all were as long as the middle one.
const MIN_TYPICAL: f64 = 0.1;
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
        let list = marked(trace, marker);
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
    let stems = Stems::of(trace);
    let patterns: Vec<Pattern> = trace
        .tracks()
        .par_iter()
        .filter(|track| !matches!(track.kind, TrackKind::Device | TrackKind::Async))
        .filter_map(|track| pattern(track, &stems, roles))
        .collect();
    match patterns.into_iter().max_by_key(|pattern| pattern.covered_ns) {
        Some(Pattern { track, stem, depth, .. }) => {
            let of = trace.track(track);
            let list = of.map(|track| spans_of(trace, track, &stems, stem, depth)).unwrap_or_default();
            let thread = of.map_or("", |track| track.name.as_str());
            Steps { how: format!("repeats of “{}” on {thread}", bare(trace.name(stem))), list }
        }
        None => {
            Steps { how: "no steps were found: nothing is marked and nothing repeats".to_owned(), list: Vec::new() }
        }
    }
}

/// The spans of a name, or else of that name followed by a number: repeats may each have a name of their own.
pub fn marked(trace: &Trace, marker: &str) -> Vec<StepSpan> {
    let name = trace.find_name(marker);
    let list = gather(trace, |_, span| Some(span.name) == name);
    if !list.is_empty() {
        return list;
    }
    let wanted: Vec<bool> = (0..trace.name_count()).map(|id| bare(trace.name(NameId(id))) == marker).collect();
    gather(trace, |_, span| wanted.get(span.name.0 as usize).copied().unwrap_or(false))
}

/// The wanted spans of the track that has the most of them, outermost only.
fn gather(trace: &Trace, wanted: impl Fn(&Track, &Span) -> bool + Sync) -> Vec<StepSpan> {
    let of_track = |track: &Track| {
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
        here
    };
    let lists: Vec<Vec<StepSpan>> = trace.tracks().par_iter().map(|track| of_track(track)).collect();
    // Of several with as many, the first.
    lists.into_iter().rev().max_by_key(Vec::len).unwrap_or_default()
}

/// Names without the number at their end: “step 1” and “step 2” are repeats of one thing.
struct Stems {
    /// The first name with the same stem, by name.
    of: Vec<NameId>,
}

impl Stems {
    fn of(trace: &Trace) -> Self {
        let mut first: FxHashMap<&str, NameId> = FxHashMap::default();
        let of = (0..trace.name_count()).map(|id| *first.entry(stem(trace.name(NameId(id)))).or_insert(NameId(id)));
        Self { of: of.collect() }
    }

    fn stem(&self, name: NameId) -> NameId {
        self.of.get(name.0 as usize).copied().unwrap_or(name)
    }
}

/// A name without its number and what joins it.
fn bare(name: &str) -> &str {
    stem(name).trim_end_matches(['#', '_', ' ', ':'])
}

fn stem(name: &str) -> &str {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if stem.is_empty() { name } else { stem }
}

struct Pattern {
    track: TrackId,
    stem: NameId,
    depth: usize,
    covered_ns: i64,
}

/// The name whose repeats at one depth cover the most of a track.
fn pattern(track: &Track, stems: &Stems, roles: &Roles) -> Option<Pattern> {
    let (start, end) = track.bounds()?;
    let extent = end.saturating_sub(start).max(1) as f64;
    let mut best: Option<Pattern> = None;
    for (depth, lane) in track.lanes().iter().enumerate().take(MAX_DEPTH) {
        let mut repeats: FxHashMap<NameId, Vec<i64>> = FxHashMap::default();
        // What operations, calls and waits repeat is work within a step.
        let may_be_step =
            |span: &Span| matches!(roles.role(track, span), Role::Annotation | Role::Function | Role::Other);
        for span in lane.iter().filter(|span| !span.is_open() && may_be_step(span)) {
            repeats.entry(stems.stem(span.name)).or_default().push(span.dur_ns);
        }
        for (stem, mut times) in repeats {
            let covered_ns = times.iter().fold(0_i64, |sum, ns| sum.saturating_add(*ns));
            if !(MIN_REPEATS..=MAX_REPEATS).contains(&times.len()) || (covered_ns as f64) < extent * MIN_COVER {
                continue;
            }
            // One long call among many short ones is no step, though they cover much together.
            let middle = times.len() / 2;
            let typical = *times.select_nth_unstable(middle).1 as f64 * times.len() as f64;
            // The outermost that repeats is the step: what is inside covers no more.
            let better = |known: &Pattern| {
                covered_ns > known.covered_ns
                    || (depth == known.depth && covered_ns == known.covered_ns && stem < known.stem)
            };
            if typical >= extent * MIN_TYPICAL && best.as_ref().is_none_or(better) {
                best = Some(Pattern { track: track.id, stem, depth, covered_ns });
            }
        }
    }
    best
}

fn spans_of(trace: &Trace, track: &Track, stems: &Stems, wanted: NameId, depth: usize) -> Vec<StepSpan> {
    let lane = track.lane(depth).into_iter().flat_map(|lane| lane.iter());
    lane.filter(|span| stems.stem(span.name) == wanted && !span.is_open())
        .map(|span| StepSpan { name: trace.name(span.name).to_owned(), start_ns: span.start_ns, end_ns: span.end_ns() })
        .collect()
}
