//! `burnscope runs`: what is on disk.

use super::args::RunsArgs;
use super::{failed, print, print_json};
use crate::model::units;
use crate::report::table::{Align, Table};
use crate::session::library;
use std::path::Path;

/// Runs the command.
pub fn run(args: &RunsArgs, runs_dir: &Path) -> anyhow::Result<()> {
    let (entries, troubles) = library::list(runs_dir).map_err(failed)?;
    for trouble in &troubles {
        eprintln!("not listed: {trouble}");
    }
    if args.json {
        let rows: Vec<_> = entries
            .iter()
            .map(|entry| serde_json::json!({ "id": entry.id, "path": entry.path, "bytes": entry.bytes, "run": *entry.manifest }))
            .collect();
        return print_json(&serde_json::json!({ "runs_dir": runs_dir, "runs": rows }));
    }
    if entries.is_empty() {
        print(&format!("No runs in {}; `burnscope train` makes one.\n", runs_dir.display()));
        return Ok(());
    }
    let mut table = Table::new(&[
        ("Run", Align::Left),
        ("Title", Align::Left),
        ("Ended", Align::Left),
        ("Steps", Align::Right),
        ("Median step", Align::Right),
        ("Throughput", Align::Right),
        ("Accuracy", Align::Right),
        ("Size", Align::Right),
    ]);
    for entry in &entries {
        let manifest = &entry.manifest;
        let summary = manifest.summary.as_ref();
        let dash = || "–".to_owned();
        let time = summary.and_then(|s| s.step_median_ns.get()).map_or_else(dash, |ns| units::duration_ns(*ns));
        let rate = summary.and_then(|s| s.samples_per_sec.get()).map_or_else(dash, |r| units::samples_per_sec(*r));
        let accuracy = summary.and_then(|s| s.test_accuracy.get()).map_or_else(dash, |a| units::percent(*a));
        table.row(vec![
            entry.id.clone(),
            manifest.title.clone(),
            manifest.end.label().to_owned(),
            summary.map_or_else(dash, |s| units::count(s.steps)),
            time,
            rate,
            accuracy,
            units::bytes(entry.bytes as f64),
        ]);
    }
    print(&table.to_string());
    Ok(())
}
