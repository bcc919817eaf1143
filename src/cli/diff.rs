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

/// Longest name of the operation around another, in characters.
const PARENT_CHARS: usize = 30;

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
    for (title, rows, kernels) in [("Operations", &diff.ops, false), ("Kernels", &diff.kernels, true)] {
        if rows.is_empty() {
            continue;
        }
        let (shown, left_out) = rows.split_at(rows.len().min(args.top));
        text.push_str(&format!("\n{title}, {per}, the largest change first\n{}", changes(shown, kernels)));
        if !left_out.is_empty() {
            text.push_str(&format!("… and {} more\n", units::counted(left_out.len() as u64, "row")));
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

/// A column of operations or kernels: its title, and what it shows of a row.
type Column = (&'static str, Align, fn(&Change) -> String);

/// The operations' columns; kernels have those that are marked.
const COLUMNS: [(bool, Column); 11] = [
    (true, ("Name", Align::Left, name)),
    (false, ("Shapes", Align::Left, |row| units::shorten(&row.shapes, SHAPE_CHARS))),
    (false, ("Within", Align::Left, |row| units::shorten(&row.parent, PARENT_CHARS))),
    (true, ("Status", Align::Left, |row| row.status.label().to_owned())),
    (true, ("Calls A", Align::Right, |row| calls(row.a))),
    (true, ("B", Align::Right, |row| calls(row.b))),
    (false, ("Host A", Align::Right, |row| time(row.a, |cost| cost.host_self_ns))),
    (false, ("B", Align::Right, |row| time(row.b, |cost| cost.host_self_ns))),
    (true, ("Device A", Align::Right, |row| time(row.a, |cost| cost.device_ns))),
    (true, ("B", Align::Right, |row| time(row.b, |cost| cost.device_ns))),
    (true, ("Change", Align::Right, |row| units::signed_duration_ns(row.delta_ns()))),
];

fn changes(rows: &[Change], kernels: bool) -> Table {
    let columns = || COLUMNS.iter().filter(|(of_kernels, _)| *of_kernels || !kernels).map(|(_, column)| column);
    let mut table = Table::new(&columns().map(|(title, align, _)| (*title, *align)).collect::<Vec<_>>());
    for row in rows {
        table.row(columns().map(|(_, _, cell)| cell(row)).collect());
    }
    table
}

fn name(row: &Change) -> String {
    let short = |name: &str| units::shorten(name, NAME_CHARS);
    match &row.other_name {
        Some(other) => format!("{} → {}", short(&row.name), short(other)),
        None => short(&row.name),
    }
}

fn calls(cost: Option<OpCost>) -> String {
    cost.map_or_else(|| "–".to_owned(), |cost| units::mean_count(cost.count))
}

fn time(cost: Option<OpCost>, pick: fn(&OpCost) -> f64) -> String {
    cost.map_or_else(|| "–".to_owned(), |cost| units::duration_ns(pick(&cost)))
}
