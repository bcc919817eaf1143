//! Two traces or runs against each other.

use super::state::OpenRun;
use super::{Level, Msg, Session};
use crate::analysis::diff::{self, Diff};
use crate::model::units;
use crate::trace::{Overlaps, Trace};
use std::sync::Arc;

/// A comparison of two traces with their titles.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TraceDiff {
    /// Title of the first, the baseline.
    pub a: String,
    /// Title of the second.
    pub b: String,
    /// What came out.
    pub diff: Diff,
}

/// The two traces whose difference is in view.
#[derive(Debug, Clone, Default)]
pub struct DiffState {
    /// The baseline, an open run or trace.
    pub a: Option<String>,
    /// What is compared with it.
    pub b: Option<String>,
    /// What came out; `None` while it is being computed or not both are chosen.
    pub result: Option<Arc<TraceDiff>>,
    /// Whether it is being computed.
    pub computing: bool,
}

/// A difference that is ready.
pub(crate) struct Differed {
    generation: u64,
    result: TraceDiff,
}

/// One of two traces that are compared.
#[derive(Debug, Clone, Copy)]
pub struct DiffSide<'a> {
    /// What it is called.
    pub title: &'a str,
    /// Its spans.
    pub trace: &'a Trace,
    /// Name of the spans that are taken for its steps; `None` = as they are found.
    pub marker: Option<&'a str>,
}

/// Compares two traces.
pub fn diff_of(a: DiffSide<'_>, b: DiffSide<'_>) -> TraceDiff {
    let (title_a, title_b) = (a.title.to_owned(), b.title.to_owned());
    TraceDiff { a: title_a, b: title_b, diff: diff::diff((a.trace, a.marker), (b.trace, b.marker)) }
}

/// Compares two runs or traces, whatever their formats. `marker` is a name taken for a step in both.
///
/// # Errors
/// A sentence, if the marker is not in both.
pub fn diff(a: &OpenRun, b: &OpenRun, marker: Option<&str>) -> Result<TraceDiff, String> {
    for run in [a, b] {
        check_marker(&run.trace, marker).map_err(|why| format!("{why} in {}", run.manifest.title))?;
    }
    let [a, b] = [a, b].map(|run| DiffSide { title: &run.manifest.title, trace: &run.trace, marker });
    Ok(diff_of(a, b))
}

/// Whether a name can be taken for a step.
///
/// # Errors
/// A phrase, if nothing is called so.
pub fn check_marker(trace: &Trace, marker: Option<&str>) -> Result<(), String> {
    match marker.filter(|marker| crate::analysis::profile::steps::marked(trace, marker).is_empty()) {
        Some(marker) => Err(format!("no span is named `{marker}`")),
        None => Ok(()),
    }
}

impl Session {
    /// The two traces whose difference is in view.
    pub fn trace_diff(&self) -> &DiffState {
        &self.trace_diff
    }

    /// Chooses the two traces; the difference is computed on a background thread.
    pub(super) fn set_diff(&mut self, a: Option<String>, b: Option<String>) {
        self.diff_generation += 1;
        self.trace_diff = DiffState { a, b, ..DiffState::default() };
        let find = |id: &Option<String>| {
            let run = self.open.iter().find(|run| Some(&run.id) == id.as_ref() && !run.loading)?;
            Some((run.manifest.title.clone(), run.trace.clone(), run.marker.clone()))
        };
        let (Some(a), Some(b)) = (find(&self.trace_diff.a), find(&self.trace_diff.b)) else { return };
        self.trace_diff.computing = true;
        let (generation, outbox) = (self.diff_generation, self.outbox.clone());
        self.compute("diff", move || {
            let result = diff_of(
                DiffSide { title: &a.0, trace: &a.1, marker: a.2.as_deref() },
                DiffSide { title: &b.0, trace: &b.1, marker: b.2.as_deref() },
            );
            outbox.send(Msg::Differed(Box::new(Differed { generation, result })));
        });
    }

    /// Takes spans of a name for the steps of the active run, or finds them again; everything that stands on steps is
    /// computed anew.
    pub(super) fn set_marker(&mut self, marker: Option<String>) {
        let Some(run) = self.open.iter_mut().find(|run| Some(&run.id) == self.active.as_ref()) else { return };
        if let Err(why) = check_marker(&run.trace, marker.as_deref()) {
            let text = units::capital(&why);
            self.log_line(Level::Warning, "app", &text);
            return;
        }
        run.marker = marker;
        let id = run.id.clone();
        self.compute_again(&id);
    }

    /// Cuts the overlapping spans of the active run, or shows them again as they were read.
    pub(super) fn set_overlaps(&mut self, policy: Overlaps) {
        let Some(run) = self.open.iter_mut().find(|run| Some(&run.id) == self.active.as_ref()) else { return };
        if run.live || run.loading || run.overlaps == policy {
            return;
        }
        run.set_overlaps(policy);
        let id = run.id.clone();
        // What was selected is somewhere else now.
        self.selection = super::Selection::default();
        self.compute_again(&id);
    }

    /// Computes anew what stands on a run's spans.
    fn compute_again(&mut self, id: &str) {
        self.derive(id);
        let DiffState { a, b, .. } = &self.trace_diff;
        if [a, b].into_iter().any(|side| side.as_deref() == Some(id)) {
            let (a, b) = (a.clone(), b.clone());
            self.set_diff(a, b);
        }
    }

    pub(super) fn differed(&mut self, differed: Differed) {
        // Otherwise the choice has changed since; a newer result is on its way.
        if differed.generation == self.diff_generation {
            self.trace_diff.computing = false;
            self.trace_diff.result = Some(Arc::new(differed.result));
        }
    }
}
