//! `burnscope inspect`: where the time of a run or a trace goes.

use super::args::InspectArgs;
use super::{failed, print, print_json, train};
use crate::analysis::profile::{DeviceTime, Profile};
use crate::analysis::{FlameNode, OpRow, matches};
use crate::model::units;
use crate::report::table::{Align, Table};
use crate::session::state::OpenRun;
use crate::session::{derived, library, open, traces};
use crate::trace::search::NameSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Longest name in a table, in characters.
const NAME_CHARS: usize = 48;

/// Runs the command.
pub fn run(args: &InspectArgs, runs_dir: &Path) -> anyhow::Result<()> {
    let path = library::find(runs_dir, &args.target).map_err(failed)?;
    let mut run = open::load(&path).map_err(failed)?;
    run.set_overlaps(args.overlaps);
    if let Some(text) = &args.find {
        return find(args, &run, text);
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
    let mut text = head(&run);
    if !run.steps.is_empty() {
        text.push_str(&train::summary_text(&run.manifest));
    }
    if let Some(profile) = figures.profile.as_deref().filter(|_| run.steps.is_empty()) {
        text.push_str(&profile_text(profile));
    } else if let Some(device) = figures.profile.as_deref().and_then(|profile| profile.devices.first()) {
        text.push_str(&format!("\nIdle time of the device in sampled and other steps, by cause\n{}", causes(device)));
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

/// Every span whose name contains a text.
fn find(args: &InspectArgs, run: &OpenRun, text: &str) -> anyhow::Result<()> {
    let names = NameSet::containing(&run.trace, text);
    let found = matches::find(&run.trace, &names, &AtomicBool::new(false)).unwrap_or_default();
    if args.json {
        return print_json(&found);
    }
    let mut table = Table::new(&[
        ("Name", Align::Left),
        ("Track", Align::Left),
        ("Start", Align::Right),
        ("Duration", Align::Right),
    ]);
    for row in found.longest.iter().take(args.top) {
        table.row(vec![
            units::shorten(&row.name, NAME_CHARS),
            units::shorten(&row.track, NAME_CHARS),
            units::clock_text(row.start_ns as f64),
            units::duration_ns(row.dur_ns as f64),
        ]);
    }
    let total = units::duration_ns(found.total_ns as f64);
    print(&format!("{} found, {total} in all; the longest first\n{table}", units::counted(found.count, "span")));
    Ok(())
}

/// Steps, parts of a step, devices and what stands out.
fn profile_text(profile: &Profile) -> String {
    let mut text = format!("Steps: {}\n", profile.step_sentence());
    for verdict in &profile.verdicts {
        text.push_str(&format!("{verdict}.\n"));
    }
    if !profile.parts.is_empty() {
        let mut table = Table::new(&[("Part of a step", Align::Left), ("Mean", Align::Right), ("Share", Align::Right)]);
        for part in profile.parts.iter().filter(|part| part.mean_ns > 0.0) {
            table.row(vec![part.label.to_owned(), units::duration_ns(part.mean_ns), units::percent(part.share)]);
        }
        text.push_str(&format!("\n{table}"));
    }
    for device in &profile.devices {
        text.push_str(&format!(
            "\n{}: busy {} of {}\n{}",
            device.device,
            units::percent(device.busy_share()),
            units::duration_ns(device.window_ns as f64),
            causes(device)
        ));
    }
    text
}

fn causes(device: &DeviceTime) -> String {
    let mut table = Table::new(&[
        ("Idle because", Align::Left),
        ("Gaps", Align::Right),
        ("Time", Align::Right),
        ("Share of the window", Align::Right),
    ]);
    for cause in &device.causes {
        table.row(vec![
            cause.label.to_owned(),
            units::count(cause.count),
            units::duration_ns(cause.total_ns as f64),
            units::percent(cause.total_ns as f64 / device.window_ns.max(1) as f64),
        ]);
    }
    table.to_string()
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
