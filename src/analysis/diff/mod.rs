//! Two traces against each other, whoever recorded them: steps, where their time goes, operations matched by name, shapes
//! and place, kernels by name.

pub mod flame;
#[cfg(test)]
mod tests;
pub mod work;

use super::profile::role::Role;
use super::profile::{Launches, Profile, Roles, Steps};
use crate::model::units;
use crate::stats::ab::{AbOptions, AbResult};
use crate::stats::unpaired::judge_unpaired;
use crate::trace::Trace;
use rustc_hash::FxHashMap;
use serde::Serialize;
pub use work::{OpCost, OpKey, Work};

/// Relative change below which an operation counts as unchanged.
const UNCHANGED: f64 = 0.05;

/// What became of an operation or kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Only in the second.
    Added,
    /// Only in the first.
    Removed,
    /// In both under different names, at the same place with the same shapes.
    Replaced,
    /// In both, and takes or is called otherwise by more than 5 %.
    Changed,
    /// In both, within 5 %.
    Same,
}

impl Status {
    /// Words for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Replaced => "replaced",
            Self::Changed => "changed",
            Self::Same => "same",
        }
    }
}

/// An operation or kernel in both, per step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Name in the first, or in the second where it is only there.
    pub name: String,
    /// Name in the second, where it is another.
    pub other_name: Option<String>,
    /// Shapes of the inputs.
    pub shapes: String,
    /// The operation around it.
    pub parent: String,
    /// What became of it.
    pub status: Status,
    /// Cost in the first.
    pub a: Option<OpCost>,
    /// Cost in the second.
    pub b: Option<OpCost>,
}

impl Change {
    /// How much more host and device time the second takes, in nanoseconds a step.
    pub fn delta_ns(&self) -> f64 {
        self.b.map_or(0.0, |b| b.weight()) - self.a.map_or(0.0, |a| a.weight())
    }
}

/// A part of the step in both, in nanoseconds a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartChange {
    /// What it is.
    pub role: Role,
    /// Words for it.
    pub label: &'static str,
    /// In the first.
    pub a_ns: f64,
    /// In the second.
    pub b_ns: f64,
}

/// Two traces against each other; the first is the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// Profile of the first.
    pub a: Profile,
    /// Profile of the second.
    pub b: Profile,
    /// Whether figures are per step; else they are of the whole traces, as one of them has no steps.
    pub per_step: bool,
    /// Step times judged; `None` where one has no steps.
    pub steps: Option<AbResult>,
    /// Parts of the step.
    pub parts: Vec<PartChange>,
    /// Operations, the largest change first.
    pub ops: Vec<Change>,
    /// Kernels, the largest change first.
    pub kernels: Vec<Change>,
    /// Places in the call tree whose own time changed most, a step.
    pub places: Vec<flame::PlaceChange>,
    /// The call trees over one another, a step.
    #[serde(skip)]
    pub flame: flame::DiffNode,
    /// Share of the operations' calls that are matched, 0 to 1; `None` without operations.
    pub ops_matched: Option<f64>,
    /// What the difference is, as sentences.
    pub verdicts: Vec<String>,
}

/// Compares two traces, each with the name that the user takes for its steps.
pub fn diff((a, marker_a): (&Trace, Option<&str>), (b, marker_b): (&Trace, Option<&str>)) -> Diff {
    let ((profile_a, work_a), (profile_b, work_b)) = (known(a, marker_a), known(b, marker_b));
    let per_step = !profile_a.steps.list.is_empty() && !profile_b.steps.list.is_empty();
    let times = |profile: &Profile| profile.steps.list.iter().map(|s| s.dur_ns() as f64).collect::<Vec<f64>>();
    let steps = if per_step {
        judge_unpaired(&times(&profile_a), &times(&profile_b), &AbOptions::default()).ok()
    } else {
        None
    };
    let parts = profile_a
        .parts
        .iter()
        .map(|part| PartChange {
            role: part.role,
            label: part.label,
            a_ns: part.mean_ns,
            b_ns: profile_b.part_ns(part.role),
        })
        .filter(|part| per_step && (part.a_ns > 0.0 || part.b_ns > 0.0))
        .collect();
    let ops = changes(work_a.ops, work_b.ops);
    let key = |name: String| OpKey { name, shapes: String::new(), parent: String::new() };
    let kernels = |kernels: FxHashMap<String, OpCost>| kernels.into_iter().map(|(name, cost)| (key(name), cost));
    let kernels = changes(kernels(work_a.kernels).collect(), kernels(work_b.kernels).collect());
    let calls = |wanted: &dyn Fn(&Change) -> bool| {
        let sum = |cost: Option<OpCost>| cost.map_or(0.0, |cost| cost.count);
        // The sum of nothing would be a negative zero.
        ops.iter().filter(|change| wanted(change)).fold(0.0, |all, change| all + sum(change.a) + sum(change.b))
    };
    let all = calls(&|_| true);
    let ops_matched = (all > 0.0).then(|| calls(&|change| change.a.is_some() && change.b.is_some()) / all);
    let counts = |profile: &Profile| if per_step { profile.steps.list.len() as f64 } else { 1.0 };
    let whole = |trace: &Trace, profile: &Profile| match per_step {
        true => flame::whole(trace, &profile.steps),
        false => flame::whole(trace, &Steps::default()),
    };
    let flame =
        flame::diff(Some(&whole(a, &profile_a)), Some(&whole(b, &profile_b)), (counts(&profile_a), counts(&profile_b)));
    let mut diff = Diff {
        a: profile_a,
        b: profile_b,
        per_step,
        steps,
        parts,
        ops,
        kernels,
        places: flame::places(&flame),
        flame,
        ops_matched,
        verdicts: Vec::new(),
    };
    diff.verdicts = verdicts(&diff);
    diff
}

/// What is to be known of a trace.
fn known(trace: &Trace, marker: Option<&str>) -> (Profile, Work) {
    let roles = Roles::of(trace);
    let launches = Launches::of(trace, &roles);
    let profile = Profile::with(trace, &roles, &launches, marker);
    let work = Work::of(trace, &roles, &launches, &profile.steps);
    (profile, work)
}

/// Matches by key; what is left over at the same place with the same shapes replaces each other.
fn changes(a: FxHashMap<OpKey, OpCost>, mut b: FxHashMap<OpKey, OpCost>) -> Vec<Change> {
    let mut rows = Vec::new();
    let mut left: Vec<(OpKey, OpCost)> = Vec::new();
    for (key, cost) in a {
        match b.remove(&key) {
            Some(other) => rows.push(row(key, None, Some(cost), Some(other))),
            None => left.push((key, cost)),
        }
    }
    // An outermost operation has no place that could tell it from others.
    let place = |key: &OpKey| (!key.parent.is_empty()).then(|| (key.parent.clone(), key.shapes.clone()));
    let mut new: Vec<(OpKey, OpCost)> = b.into_iter().collect();
    left.sort_by(|x, y| x.0.cmp(&y.0));
    new.sort_by(|x, y| x.0.cmp(&y.0));
    for (key, cost) in left {
        let fitting = |(other, _): &(OpKey, OpCost)| place(&key).is_some_and(|here| place(other) == Some(here));
        let only = new.iter().filter(|other| fitting(other)).count() == 1;
        match new.iter().position(fitting).filter(|_| only) {
            Some(at) => {
                let (other, other_cost) = new.remove(at);
                rows.push(row(key, Some(other.name), Some(cost), Some(other_cost)));
            }
            None => rows.push(row(key, None, Some(cost), None)),
        }
    }
    rows.extend(new.into_iter().map(|(key, cost)| row(key, None, None, Some(cost))));
    rows.sort_by(|x, y| y.delta_ns().abs().total_cmp(&x.delta_ns().abs()).then_with(|| x.name.cmp(&y.name)));
    rows
}

fn row(key: OpKey, other_name: Option<String>, a: Option<OpCost>, b: Option<OpCost>) -> Change {
    let near = |x: f64, y: f64| (x - y).abs() <= UNCHANGED * x.abs().max(y.abs());
    let status = match (&a, &b) {
        (None, _) => Status::Added,
        (_, None) => Status::Removed,
        _ if other_name.is_some() => Status::Replaced,
        (Some(a), Some(b)) if near(a.count, b.count) && near(a.weight(), b.weight()) => Status::Same,
        _ => Status::Changed,
    };
    Change { name: key.name, other_name, shapes: key.shapes, parent: key.parent, status, a, b }
}

/// What the difference is: the step, and the parts that make most of it.
fn verdicts(diff: &Diff) -> Vec<String> {
    let mut said = Vec::new();
    if let (Some(a), Some(b)) = (&diff.a.step_ns, &diff.b.step_ns) {
        let change = b.mean / a.mean - 1.0;
        let direction = if change < 0.0 { "less" } else { "more" };
        said.push(format!(
            "A step takes {} {direction} on average: {} instead of {} ({} and {})",
            units::percent(change.abs()),
            units::duration_ns(b.mean),
            units::duration_ns(a.mean),
            units::counted(b.n as u64, "step"),
            units::counted(a.n as u64, "step")
        ));
        let delta = b.mean - a.mean;
        let mut parts: Vec<&PartChange> =
            diff.parts.iter().filter(|part| (part.b_ns - part.a_ns) * delta > 0.0).collect();
        parts.sort_by(|x, y| (y.b_ns - y.a_ns).abs().total_cmp(&(x.b_ns - x.a_ns).abs()));
        if let Some(main) = parts.first()
            && change.abs() >= 0.01
        {
            let share = (main.b_ns - main.a_ns) / delta;
            let what = if main.role == Role::Input { "input wait" } else { main.label };
            let verb = if what.ends_with('s') { "were" } else { "was" };
            let words = if share >= 0.5 { "the difference" } else { "the largest part of the difference" };
            said.push(format!(
                "{} {verb} {words}: {} a step instead of {}, {} of the change",
                units::capital(what),
                units::duration_ns(main.b_ns),
                units::duration_ns(main.a_ns),
                units::percent(share.min(1.0))
            ));
        }
    }
    if let Some(matched) = diff.ops_matched {
        said.push(format!("{} of the operations' calls are in both", units::percent(matched)));
    }
    said
}
