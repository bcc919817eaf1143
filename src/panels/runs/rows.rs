//! The rows of the table of runs: which fit the search, in which order, and their figures.

use crate::model::{RunManifest, RunSummary, units};
use crate::panels::figures::figure;
use crate::session::RunEntry;
use crate::ui::widgets::{Figure, Sort};
use std::cmp::Ordering;

/// Columns to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// How the run ended.
    Status,
    /// Name for people.
    Title,
    /// When it began.
    Started,
    /// What it ran on.
    Device,
    /// Median step time.
    Step,
    /// Samples a second.
    Rate,
    /// Accuracy on the test set.
    Accuracy,
    /// Bytes on disk.
    Size,
    /// Tags.
    Tags,
}

/// The entries whose title, device, tags, status or identifier contain `query`, sorted. Runs without a figure come
/// last in either direction.
pub fn order<'a>(library: &'a [RunEntry], query: &str, sort: Sort<By>) -> Vec<&'a RunEntry> {
    let query = query.trim().to_lowercase();
    let mut shown: Vec<&RunEntry> = library.iter().filter(|entry| fits(entry, &query)).collect();
    shown.sort_by(|a, b| compare(a, b, sort));
    shown
}

fn fits(entry: &RunEntry, query: &str) -> bool {
    let manifest = &entry.manifest;
    let words = [entry.id.as_str(), &manifest.title, &manifest.environment.device, manifest.end.label()];
    let mut words = words.into_iter().chain(manifest.tags.iter().map(String::as_str));
    query.is_empty() || words.any(|text| text.to_lowercase().contains(query))
}

fn compare(a: &RunEntry, b: &RunEntry, sort: Sort<By>) -> Ordering {
    let (bytes_a, bytes_b) = (a.bytes, b.bytes);
    let (a, b) = (&a.manifest, &b.manifest);
    let turn = |order: Ordering| if sort.ascending { order } else { order.reverse() };
    let text = |get: fn(&RunManifest) -> String| turn(get(a).to_lowercase().cmp(&get(b).to_lowercase()));
    let number = |get: fn(&RunSummary) -> Option<f64>| match (
        a.summary.as_ref().and_then(get),
        b.summary.as_ref().and_then(get),
    ) {
        (Some(a), Some(b)) => turn(a.total_cmp(&b)),
        (a, b) => b.is_some().cmp(&a.is_some()),
    };
    match sort.column {
        By::Status => text(|m| m.end.label().to_owned()),
        By::Title => text(|m| m.title.clone()),
        By::Started => text(|m| m.started.clone()),
        By::Device => text(|m| m.environment.device.clone()),
        By::Size => turn(bytes_a.cmp(&bytes_b)),
        By::Tags => text(|m| m.tags.join(" ")),
        By::Step => number(|s| s.step_median_ns.get().copied()),
        By::Rate => number(|s| s.samples_per_sec.get().copied()),
        By::Accuracy => number(|s| s.test_accuracy.get().copied()),
    }
}

/// Step time, samples a second, accuracy.
pub fn figures(manifest: &RunManifest) -> [Figure; 3] {
    let Some(summary) = &manifest.summary else {
        let missing = || Figure::Missing("Measured when a run ends".to_owned());
        return [missing(), missing(), missing()];
    };
    [
        figure(&summary.step_median_ns, |ns| units::duration_ns(*ns)),
        figure(&summary.samples_per_sec, |rate| units::count(rate.round().max(0.0) as u64)),
        figure(&summary.test_accuracy, |share| units::percent(*share)),
    ]
}

/// A moment as the user's clock shows it: `2026-12-01 09:30`; what is no moment stays as it is.
pub fn local_time(started: &str) -> String {
    started.parse::<jiff::Timestamp>().map_or_else(
        |_| started.to_owned(),
        |moment| moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Known, Source};
    use std::sync::Arc;

    fn entry(id: &str, step_ms: Option<f64>) -> RunEntry {
        let summary = step_ms.map(|ms| RunSummary {
            step_median_ns: Known::value(ms * 1e6, Source::HostClock, 10),
            ..RunSummary::default()
        });
        let manifest = RunManifest { title: format!("Run {id}"), summary, ..RunManifest::default() };
        RunEntry { id: id.to_owned(), path: id.into(), manifest: Arc::new(manifest), bytes: 0 }
    }

    #[test]
    fn runs_without_a_figure_come_last_in_both_directions() {
        let library = [entry("a", Some(3.0)), entry("b", None), entry("c", Some(1.0))];
        let ids = |ascending| {
            let sort = Sort { column: By::Step, ascending };
            order(&library, "", sort).iter().map(|entry| entry.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(ids(true), ["c", "a", "b"]);
        assert_eq!(ids(false), ["a", "c", "b"]);
    }

    #[test]
    fn search_looks_at_words_in_any_case() {
        let library = [entry("a", None), entry("b", None)];
        let sort = Sort { column: By::Title, ascending: true };
        assert_eq!(order(&library, " RUN B", sort).len(), 1);
        assert_eq!(order(&library, "running", sort).len(), 2);
    }
}
