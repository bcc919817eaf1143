//! Two traces or runs against each other.

use super::open;
use super::{Msg, Session};
use crate::analysis::diff::{self, Diff};
use crate::trace::Trace;
use std::path::Path;
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

/// Compares two traces. `marker` is a name taken for a step in both.
///
/// # Errors
/// A sentence, if the marker is not in both.
pub fn diff_of(a: (&str, &Trace), b: (&str, &Trace), marker: Option<&str>) -> Result<TraceDiff, String> {
    if let Some(marker) = marker {
        for (title, trace) in [a, b] {
            if trace.find_name(marker).is_none() {
                return Err(format!("no span of {title} is named `{marker}`"));
            }
        }
    }
    Ok(TraceDiff { a: a.0.to_owned(), b: b.0.to_owned(), diff: diff::diff(a.1, b.1, marker) })
}

/// Reads two runs or traces, whatever their formats, and compares them.
///
/// # Errors
/// A sentence, if one cannot be read or the marker is not in both.
pub fn diff(a: &Path, b: &Path, marker: Option<&str>) -> Result<TraceDiff, String> {
    let (a, b) = (open::load(a)?, open::load(b)?);
    diff_of((&a.manifest.title, &a.trace), (&b.manifest.title, &b.trace), marker)
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
            Some((run.manifest.title.clone(), run.trace.clone()))
        };
        let (Some(a), Some(b)) = (find(&self.trace_diff.a), find(&self.trace_diff.b)) else { return };
        self.trace_diff.computing = true;
        let (generation, outbox) = (self.diff_generation, self.outbox.clone());
        self.background("diff", move || {
            // Without a marker there is nothing that could fail.
            if let Ok(result) = diff_of((&a.0, &a.1), (&b.0, &b.1), None) {
                outbox.send(Msg::Differed(Box::new(Differed { generation, result })));
            }
        });
    }

    pub(super) fn differed(&mut self, differed: Differed) {
        // Otherwise the choice has changed since; a newer result is on its way.
        if differed.generation == self.diff_generation {
            self.trace_diff.computing = false;
            self.trace_diff.result = Some(Arc::new(differed.result));
        }
    }
}
