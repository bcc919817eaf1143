//! Under the timeline: details of the selected span, sums over the selected stretch, or every span that was found.

use super::details::Details;
use super::totals::{self, NameTotal, RangeTotals};
use super::{TimelineInput, TimelineState, matches};
use crate::analysis::matches::Match;
use crate::model::{Known, units};
use crate::panels::palette::Palette;
use crate::panels::table::{RowOrder, TableEvent, TableLook, table_ui};
use crate::session::Command;
use crate::timeline::TrackTree;
use egui::Ui;

/// Room for the words before the values of a span, in points.
const LABEL_WIDTH: f32 = 140.0;

/// What is selected: a span, a stretch of time, or all spans of a name.
pub(super) fn ui(
    ui: &mut Ui,
    input: &TimelineInput<'_>,
    palette: &Palette,
    state: &mut TimelineState,
    commands: &mut Vec<Command>,
) {
    if let (Some((_, _, details)), None) = (&state.details, input.range_ns) {
        details_ui(ui, input, details, commands);
        return;
    }
    if input.range_ns.is_none() {
        matches_ui(ui, palette, state, commands);
        return;
    }
    ui.columns(if state.details.is_some() { 2 } else { 1 }, |columns| {
        let (last, first) = match columns {
            [only] => (only, None),
            [first, last, ..] => (last, Some(first)),
            [] => return,
        };
        if let (Some(ui), Some((_, _, details))) = (first, &state.details) {
            details_ui(ui, input, details, commands);
        }
        if let Some(range_ns) = input.range_ns {
            totals_ui(
                last,
                input,
                palette,
                range_ns,
                (&mut state.totals, &mut state.totals_order),
                &state.tree,
                commands,
            );
        }
    });
}

fn details_ui(ui: &mut Ui, input: &TimelineInput<'_>, details: &Details, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.strong(&details.name);
        if !details.category.is_empty() {
            ui.weak(&details.category);
        }
        if ui.button("Copy").on_hover_text("Copy these details as text").clicked() {
            commands.push(Command::CopyText(details.to_text()));
        }
        if ui.button("All of this name").on_hover_text("List every span of this name and light them up").clicked() {
            commands.push(Command::SelectName(details.name.clone()));
        }
        if ui.button("Take as steps").on_hover_text("Count spans of this name as the steps of the trace").clicked() {
            commands.push(Command::SetMarker(Some(details.name.clone())));
        }
    });
    egui::ScrollArea::vertical().id_salt("details").auto_shrink([false, false]).show(ui, |ui| {
        // With a width, long values are broken into lines.
        let width = (ui.available_width() - LABEL_WIDTH).max(LABEL_WIDTH);
        let grid = egui::Grid::new("details grid").num_columns(2).striped(true).spacing([16.0, 2.0]);
        grid.max_col_width(width).show(ui, |ui| {
            let duration = |ns: &i64| units::duration_ns(*ns as f64);
            known_row(ui, "Duration", &details.dur_ns, duration);
            known_row(ui, "Self time", &details.self_ns, duration);
            row(ui, "Start", &units::clock_text(details.start_ns as f64));
            row(ui, "Track", &details.track);
            if let Some(parent) = &details.parent {
                row(ui, "Within", parent);
            }
            for (leaves, name, other) in &details.links {
                ui.weak(if *leaves { "Leads to" } else { "Comes from" });
                if ui.link(name).on_hover_text("Go there ([ and ])").clicked() {
                    commands.push(Command::Select(*other));
                }
                ui.end_row();
            }
            let began_ns = input.span.and_then(|at| input.trace.span(at)).map_or(i64::MIN, |span| span.start_ns);
            known_row(ui, "Step", &details.step_text(began_ns, input.steps), Clone::clone);
            known_row(ui, "Time from", &details.source, Clone::clone);
            for (key, value) in details.args.iter().filter(|(key, _)| !shown_above(key)) {
                row(ui, key, value);
            }
        });
    });
}

fn shown_above(key: &str) -> bool {
    use crate::model::track::arg;
    key == arg::STEP || key == arg::SOURCE
}

fn row(ui: &mut Ui, label: &str, value: &str) {
    ui.weak(label);
    ui.label(value);
    ui.end_row();
}

fn known_row<T>(ui: &mut Ui, label: &str, value: &Known<T>, format: impl Fn(&T) -> String) {
    match value {
        Known::Value { value, .. } => row(ui, label, &format(value)),
        Known::Unknown(reason) => {
            ui.weak(label);
            ui.weak(format!("– {reason}"));
            ui.end_row();
        }
    }
}

fn totals_ui(
    ui: &mut Ui,
    input: &TimelineInput<'_>,
    palette: &Palette,
    range_ns: (i64, i64),
    (totals, order): (&mut RangeTotals, &mut RowOrder<NameTotal>),
    tree: &Option<(u64, TrackTree)>,
    commands: &mut Vec<Command>,
) {
    if let Some((_, tree)) = tree {
        let ctx = ui.ctx().clone();
        totals.request(input.trace, tree, range_ns, move || ctx.request_repaint());
    }
    let length = units::duration_ns(range_ns.1.saturating_sub(range_ns.0) as f64);
    let failed = totals.failed().map(str::to_owned);
    let Some(rows) = totals.rows() else {
        ui.weak(failed.unwrap_or_else(|| format!("Summing up {length}…")));
        ui.take_available_space();
        return;
    };
    let spans: u64 = rows.iter().map(|row| row.count).sum();
    ui.horizontal(|ui| {
        ui.strong(format!("{length} selected"));
        let names = units::count(rows.len() as u64);
        ui.weak(format!("{} spans, {names} names", units::count(spans)));
        if ui.button("Clear").on_hover_text("Select no stretch").clicked() {
            commands.push(Command::ClearSelection);
        }
    });
    let columns = totals::columns();
    let selected = |row: &NameTotal| input.name == Some(row.name.as_str());
    let swatch = |row: &NameTotal| palette.name(&row.name);
    let look = TableLook { id: "range totals", selected: &selected, swatch: Some(&swatch), row_height: 20.0 };
    let event = table_ui(ui, &look, &columns, rows, order);
    if let Some(TableEvent::Clicked(idx) | TableEvent::DoubleClicked(idx)) = event
        && let Some(row) = rows.get(idx)
    {
        commands.push(Command::SelectName(row.name.clone()));
    }
}

/// Every span that the search or the selected name finds.
fn matches_ui(ui: &mut Ui, palette: &Palette, state: &mut TimelineState, commands: &mut Vec<Command>) {
    let failed = state.matches.failed().map(str::to_owned);
    let Some(found) = state.matches.found().cloned() else {
        ui.weak(failed.unwrap_or_else(|| "Looking through the trace…".to_owned()));
        // The panel keeps its height.
        ui.take_available_space();
        return;
    };
    ui.horizontal(|ui| {
        ui.strong(units::counted(found.count, "span"));
        let listed = match found.longest.len() as u64 {
            listed if listed < found.count => format!(", the {} longest listed", units::count(listed)),
            _ => String::new(),
        };
        ui.weak(format!("{} in all{listed}", units::duration_ns(found.total_ns as f64)));
        if ui.button("Clear").on_hover_text("Search for nothing").clicked() {
            state.search.clear();
            commands.push(Command::ClearSelection);
        }
    });
    let columns = matches::columns();
    let swatch = |row: &Match| palette.name(&row.name);
    let look = TableLook { id: "matches", selected: &|_| false, swatch: Some(&swatch), row_height: 20.0 };
    let event = table_ui(ui, &look, &columns, &found.longest, &mut state.matches_order);
    if let Some(TableEvent::Clicked(idx) | TableEvent::DoubleClicked(idx)) = event
        && let Some(row) = found.longest.get(idx)
    {
        commands.push(Command::Select(row.at));
    }
}
