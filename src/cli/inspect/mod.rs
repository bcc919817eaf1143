//! `burnscope inspect`: where the time of a run or a trace goes.

mod profile;
mod spans;

use super::args::InspectArgs;
use super::{failed, print, print_json, progress, train};
use crate::analysis::{FlameNode, OpRow};
use crate::model::units;
use crate::report::table::{Align, Table};
use crate::session::state::OpenRun;
use crate::session::{derived, library, traces};
use std::path::Path;

/// Longest name in a table, in characters.
pub(super) const NAME_CHARS: usize = 48;

/// Runs the command.
pub fn run(args: &InspectArgs, runs_dir: &Path) -> anyhow::Result<()> {
    let path = library::find(runs_dir, &args.target).map_err(failed)?;
    let mut run = progress::read(&path).map_err(failed)?;
    run.set_overlaps(args.overlaps);
    if let Some(text) = &args.find {
        return spans::find(args, &run, text);
    }
    if let Some(name) = &args.callers {
        return spans::callers(args, &run, name);
    }
    traces::check_marker(&run.trace, args.marker.as_deref()).map_err(failed)?;
    let figures = derived::compute(&run.manifest, &run.steps, &run.trace, args.marker.as_deref());
    let ops = figures.ops.as_deref().map_or(&[][..], Vec::as_slice);
    let kernels = figures.kernels.as_deref().map_or(&[][..], Vec::as_slice);
    let advice = figures.advice.as_deref().map_or(&[][..], Vec::as_slice);
    let breakdown = figures.breakdown.as_deref().and_then(Option::as_ref);
    if args.json {
        return print_json(&serde_json::json!({
            "path": path,
            "spans": run.trace.span_count(),
            "tracks": run.trace.tracks().iter().map(|track| serde_json::json!({
                "name": track.name, "kind": track.kind, "spans": track.span_count() })).collect::<Vec<_>>(),
            "import_report": *run.report,
            "run": (!run.steps.is_empty()).then_some(&*run.manifest),
            "breakdown": breakdown,
            "device_busy": figures.busy,
            "ops_per_step": figures.counts.ops,
            "kernels_per_step": figures.counts.kernels,
            "ops": &ops[..ops.len().min(args.top)],
            "kernels": &kernels[..kernels.len().min(args.top)],
            "advice": advice,
            "profile": figures.profile.as_deref(),
            "facts": run.trace.facts(),
        }));
    }
    let origin = run.trace.bounds().map_or(0, |(start, _)| start);
    let mut text = head(&run);
    if !run.steps.is_empty() {
        text.push_str(&train::summary_text(&run.manifest));
    }
    if let Some(profile) = figures.profile.as_deref().filter(|_| run.steps.is_empty()) {
        text.push_str(&profile::text(profile, origin));
    } else if let Some(device) = figures.profile.as_deref().and_then(|profile| profile.devices.first()) {
        text.push_str(&format!(
            "\nIdle time of the device in sampled and other steps, by cause\n{}",
            profile::causes(device)
        ));
    }
    text.push_str(&format!("\nOperations\n{}", rows(ops, args.top)));
    if kernels.is_empty() {
        let why = figures.busy.reason().unwrap_or("the trace holds no device track");
        text.push_str(&format!("\nKernels: none. {}.\n", units::capital(why)));
    } else {
        text.push_str(&format!("\nKernels\n{}", rows(kernels, args.top)));
    }
    if let Some(trees) = figures.flame.as_deref().filter(|_| run.steps.is_empty()) {
        text.push_str(&format!("\nTracks\n{}", tracks(trees, args.top)));
    }
    for piece in advice {
        text.push_str(&format!("\n{}: {}. {}\n", piece.title, piece.evidence.join("; "), piece.suggestion));
    }
    print(&text);
    Ok(())
}

fn head(run: &OpenRun) -> String {
    let length = run.trace.bounds().map_or(0, |(start, end)| end - start);
    let mut text = format!(
        "{}: {} spans on {} tracks over {}\n",
        run.manifest.title,
        units::count(run.trace.span_count()),
        units::count(run.trace.tracks().len() as u64),
        units::duration_ns(length as f64)
    );
    if let Some(report) = run.report.summary() {
        text.push_str(&format!("Import report: {report}\n"));
    }
    text
}

fn rows(rows: &[OpRow], top: usize) -> String {
    let mut table = Table::new(&[
        ("Name", Align::Left),
        ("Count", Align::Right),
        ("Total", Align::Right),
        ("Self", Align::Right),
        ("Mean", Align::Right),
        ("p95", Align::Right),
        ("Share", Align::Right),
        ("Compute rate", Align::Right),
        ("Of ceiling", Align::Right),
        ("Time by", Align::Left),
    ]);
    for row in rows.iter().take(top) {
        table.row(vec![
            units::shorten(&row.name, NAME_CHARS),
            units::count(row.count),
            units::duration_ns(row.total_ns),
            units::duration_ns(row.self_ns),
            units::duration_ns(row.mean_ns),
            units::duration_ns(row.p95_ns),
            units::percent(row.share),
            row.flops_per_sec.get().map_or_else(|| "–".to_owned(), |rate| units::flops_per_sec(*rate)),
            row.compute_share.get().map_or_else(|| "–".to_owned(), |share| units::percent(*share)),
            row.source.clone(),
        ]);
    }
    let more = rows.len().saturating_sub(top);
    if more > 0 { format!("{table}… and {} more rows\n", units::count(more as u64)) } else { table.to_string() }
}

fn tracks(trees: &[FlameNode], top: usize) -> String {
    let mut table = Table::new(&[("Track", Align::Left), ("Time in spans", Align::Right), ("Longest", Align::Left)]);
    for tree in trees.iter().take(top) {
        let longest = tree.children.first().map(|child| units::shorten(&child.name, NAME_CHARS)).unwrap_or_default();
        table.row(vec![tree.name.clone(), units::duration_ns(tree.total_ns as f64), longest]);
    }
    table.to_string()
}
