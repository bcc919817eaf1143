//! `burnscope diff`: what differs between two traces.

use super::args::DiffArgs;
use super::{failed, print, print_json, progress};
use crate::analysis::diff::{Change, Diff, OpCost};
use crate::model::units;
use crate::report::table::{Align, Table};
use crate::session::{library, traces};
use crate::stats::unpaired::MIN_CHUNKS;
use std::path::Path;

/// Longest name in a table, in characters.
const NAME_CHARS: usize = 56;

/// Longest name of a frame in a path, in characters.
const FRAME_CHARS: usize = 36;

/// Longest shapes in a table, in characters.
const SHAPE_CHARS: usize = 30;

/// Runs the command.
pub fn run(args: &DiffArgs, runs_dir: &Path) -> anyhow::Result<()> {
    let (a, b) = (library::find(runs_dir, &args.a).map_err(failed)?, library::find(runs_dir, &args.b).map_err(failed)?);
    let (a, b) = (progress::read(&a).map_err(failed)?, progress::read(&b).map_err(failed)?);
    let result = traces::diff(&a, &b, args.marker.as_deref()).map_err(failed)?;
    if args.json {
        return print_json(&result);
    }
    let diff = &result.diff;
    let mut text =
        format!("A: {}\n   {}\nB: {}\n   {}\n", result.a, diff.a.step_sentence(), result.b, diff.b.step_sentence());
    for verdict in &diff.verdicts {
        text.push_str(&format!("\n{verdict}."));
    }
    if let Some(steps) = &diff.steps {
        let words = if steps.blocks < MIN_CHUNKS {
            "too few steps to tell the difference from noise".to_owned()
        } else {
            steps.sentence()
        };
        text.push_str(&format!("\nStep time of B against A: {words}."));
    }
    text.push('\n');
    if !diff.parts.is_empty() {
        text.push_str(&format!("\nWhere a step's time goes, on average\n{}", parts(diff)));
    }
    let per = if diff.per_step { "a step" } else { "in all" };
    for (title, rows) in [("Operations", &diff.ops), ("Kernels", &diff.kernels)] {
        if !rows.is_empty() {
            text.push_str(&format!("\n{title}, {per}, the largest change first\n{}", changes(rows, args.top)));
        }
    }
    if !diff.places.is_empty() {
        text.push_str(&format!(
            "\nPlaces in the call tree, {per}, own time, the largest change first\n{}",
            places(diff, args.top)
        ));
    }
    print(&text);
    Ok(())
}

fn places(diff: &Diff, top: usize) -> String {
    let mut table =
        Table::new(&[("Change", Align::Right), ("A", Align::Right), ("B", Align::Right), ("Place", Align::Left)]);
    for place in diff.places.iter().take(top) {
        let path: Vec<String> = place.path.iter().map(|name| units::shorten(name, FRAME_CHARS)).collect();
        table.row(vec![
            units::signed_duration_ns(place.b_ns - place.a_ns),
            units::duration_ns(place.a_ns),
            units::duration_ns(place.b_ns),
            path.join(" › "),
        ]);
    }
    table.to_string()
}

fn parts(diff: &Diff) -> String {
    let mut table =
        Table::new(&[("Part", Align::Left), ("A", Align::Right), ("B", Align::Right), ("Change", Align::Right)]);
    let mut add = |name: &str, a: f64, b: f64| {
        table.row(vec![
            name.to_owned(),
            units::duration_ns(a),
            units::duration_ns(b),
            units::signed_duration_ns(b - a),
        ]);
    };
    for part in &diff.parts {
        add(part.label, part.a_ns, part.b_ns);
    }
    if let (Some(a), Some(b)) = (&diff.a.step_ns, &diff.b.step_ns) {
        add("whole step", a.mean, b.mean);
    }
    table.to_string()
}

fn changes(rows: &[Change], top: usize) -> String {
    let mut table = Table::new(&[
        ("Name", Align::Left),
        ("Shapes", Align::Left),
        ("", Align::Left),
        ("Calls A", Align::Right),
        ("B", Align::Right),
        ("Host A", Align::Right),
        ("B", Align::Right),
        ("Device A", Align::Right),
        ("B", Align::Right),
        ("Change", Align::Right),
    ]);
    for row in rows.iter().take(top) {
        let short = |name: &str| units::shorten(name, NAME_CHARS);
        let name = match &row.other_name {
            Some(other) => format!("{} → {}", short(&row.name), short(other)),
            None => short(&row.name),
        };
        let cell = |cost: Option<OpCost>, pick: fn(&OpCost) -> f64| {
            cost.map_or_else(|| "–".to_owned(), |cost| units::duration_ns(pick(&cost)))
        };
        let calls = |cost: Option<OpCost>| cost.map_or_else(|| "–".to_owned(), |cost| format!("{:.1}", cost.count));
        table.row(vec![
            name,
            units::shorten(&row.shapes, SHAPE_CHARS),
            row.status.label().to_owned(),
            calls(row.a),
            calls(row.b),
            cell(row.a, |cost| cost.host_self_ns),
            cell(row.b, |cost| cost.host_self_ns),
            cell(row.a, |cost| cost.device_ns),
            cell(row.b, |cost| cost.device_ns),
            units::signed_duration_ns(row.delta_ns()),
        ]);
    }
    let more = rows.len().saturating_sub(top);
    if more > 0 { format!("{table}… and {} more rows\n", units::count(more as u64)) } else { table.to_string() }
}
