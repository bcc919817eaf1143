//! Two traces or runs against each other.

use super::open;
use crate::analysis::diff::{self, Diff};
use std::path::Path;

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

/// Reads two runs or traces, whatever their formats, and compares them. `marker` is a name taken for a step in both.
///
/// # Errors
/// A sentence, if one cannot be read or the marker is in neither.
pub fn diff(a: &Path, b: &Path, marker: Option<&str>) -> Result<TraceDiff, String> {
    let (a, b) = (open::load(a)?, open::load(b)?);
    if let Some(marker) = marker {
        for run in [&a, &b] {
            if run.trace.find_name(marker).is_none() {
                return Err(format!("no span of {} is named `{marker}`", run.manifest.title));
            }
        }
    }
    let diff = diff::diff(&a.trace, &b.trace, marker);
    Ok(TraceDiff { a: a.manifest.title.clone(), b: b.manifest.title.clone(), diff })
}
