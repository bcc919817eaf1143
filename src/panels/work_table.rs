//! The table that Ops and Kernels share: work of one kind, summed up by name or by name and shapes.
//!
//! Knows rows and words for them; what the rows are is the panels' business.

use super::palette::Palette;
use super::table::{Cell, Column, Direction, Key, RowOrder, TableEvent, TableLook, shown_rows, table_text, table_ui};
use crate::analysis::ops::OpRow;
use crate::model::{Known, Phase, units};
use crate::session::Command;
use egui::Ui;
use std::sync::Arc;

/// What belongs together in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// All operations of a name.
    Name,
    /// All operations of a name on the same shapes.
    NameAndShapes,
}

/// Words of one kind of work.
#[derive(Debug, Clone, Copy)]
pub struct WorkWords {
    /// Identifies the table.
    pub id: &'static str,
    /// What is shown while the rows are being computed.
    pub computing: &'static str,
}

/// What the table shows.
pub struct WorkInput<'a> {
    /// Words for this kind of work.
    pub words: WorkWords,
    /// Rows by name; `None` while they are being computed.
    pub by_name: Option<&'a Arc<Vec<OpRow>>>,
    /// Rows by name and shapes; `None` while they are being computed.
    pub by_shape: Option<&'a Arc<Vec<OpRow>>>,
    /// The selected name.
    pub selected: Option<&'a str>,
    /// Why there is nothing to show, where there is nothing.
    pub empty_reason: &'a str,
}

/// State of the table between frames.
#[derive(Debug)]
pub struct WorkState {
    grouping: Grouping,
    order: RowOrder<OpRow>,
    focus_filter: bool,
    left_out: Option<LeftOut>,
}

/// Title of the column that says how times were measured.
const SOURCE: &str = "Time from";

/// Columns in which no row has a value, or all have the same source: they only would take room from the names.
#[derive(Debug)]
struct LeftOut {
    of: Arc<Vec<OpRow>>,
    /// The source of all times, where it is the same.
    source: Option<String>,
    /// Titles, and why the value of the first row is not known.
    columns: Vec<(&'static str, String)>,
    /// Identifies the table with the other columns: widths that the user chose are kept for each set of them.
    table: String,
}

impl LeftOut {
    fn of(rows: &Arc<Vec<OpRow>>, id: &str) -> Self {
        let mut empty = columns();
        empty.retain(|column| rows.iter().all(|row| (column.key)(row) == Key::Missing));
        let why = |column: &Column<OpRow>| rows.first().and_then(|row| (column.cell)(row).hover).unwrap_or_default();
        let first = rows.first().map(|row| row.source.as_str()).filter(|source| !source.is_empty());
        let source = first.filter(|source| rows.iter().all(|row| row.source == *source)).map(str::to_owned);
        let mut left_out = Self {
            of: Arc::clone(rows),
            source,
            columns: empty.iter().map(|column| (column.title, why(column))).collect(),
            table: String::new(),
        };
        let shown: Vec<&str> =
            columns().iter().map(|column| column.title).filter(|title| !left_out.has(title)).collect();
        left_out.table = format!("{id} {}", shown.join(" "));
        left_out
    }

    fn has(&self, title: &str) -> bool {
        (title == SOURCE && self.source.is_some()) || self.columns.iter().any(|(empty, _)| *empty == title)
    }

    /// What to know of them.
    fn ui(&self, ui: &mut Ui) {
        if let Some(source) = &self.source {
            ui.weak(format!("Times: {source}"));
        }
        if self.columns.is_empty() {
            return;
        }
        let titles: Vec<&str> = self.columns.iter().map(|(title, _)| *title).collect();
        let why: Vec<String> = self.columns.iter().map(|(title, why)| format!("{title}: {why}")).collect();
        ui.weak(format!("Unknown for every row: {}", titles.join(", "))).on_hover_text(why.join("\n"));
    }
}

impl Default for WorkState {
    fn default() -> Self {
        Self {
            grouping: Grouping::Name,
            order: RowOrder::by("Total", Direction::Descending),
            focus_filter: false,
            left_out: None,
        }
    }
}

impl WorkState {
    /// Carries out commands that concern this table's pixels; others are ignored.
    pub fn on_command(&mut self, command: &Command) {
        if *command == Command::FocusSearch {
            self.focus_filter = true;
        }
    }
}

/// Draws the table and returns what the user asked for.
pub fn work_view(ui: &mut Ui, input: &WorkInput<'_>, palette: &Palette, state: &mut WorkState) -> Vec<Command> {
    let mut commands = Vec::new();
    let rows = match state.grouping {
        Grouping::Name => input.by_name,
        Grouping::NameAndShapes => input.by_shape,
    };
    let Some(rows) = rows else {
        ui.centered_and_justified(|ui| ui.weak(input.words.computing));
        return commands;
    };
    if rows.is_empty() {
        ui.centered_and_justified(|ui| ui.weak(input.empty_reason));
        return commands;
    }
    let left_out = state.left_out.take().filter(|known| Arc::ptr_eq(&known.of, rows));
    let left_out = state.left_out.insert(left_out.unwrap_or_else(|| LeftOut::of(rows, input.words.id)));
    let mut columns = columns();
    columns.retain(|column| !left_out.has(column.title));
    ui.horizontal_wrapped(|ui| {
        filter_ui(ui, &mut state.order.filter, &mut state.focus_filter);
        ui.label("Group by");
        ui.selectable_value(&mut state.grouping, Grouping::Name, "Name");
        ui.selectable_value(&mut state.grouping, Grouping::NameAndShapes, "Name and shapes");
        if ui.button("Copy").on_hover_text("Copy the shown rows as tab-separated text").clicked() {
            commands.push(Command::CopyText(table_text(&columns, rows, &mut state.order)));
        }
    });
    let shown = shown_rows(&columns, rows, &mut state.order);
    let of_shown = || shown.iter().filter_map(|&idx| rows.get(idx as usize));
    let sums = of_shown().map(|row| (row.count, row.total_ns));
    footer_ui(ui, input.words.id, (shown.len(), rows.len()), sums, left_out);
    let selected = |row: &OpRow| input.selected == Some(row.name.as_str());
    let swatch = |row: &OpRow| palette.name(&row.name);
    let look = TableLook { id: &left_out.table, selected: &selected, swatch: Some(&swatch), row_height: 22.0 };
    let event = table_ui(ui, &look, &columns, rows, &mut state.order);
    if let Some(TableEvent::Clicked(idx) | TableEvent::DoubleClicked(idx)) = event
        && let Some(row) = rows.get(idx)
    {
        commands.push(Command::SelectName(row.name.clone()));
        if matches!(event, Some(TableEvent::DoubleClicked(_))) {
            commands.push(Command::ShowPanel(crate::session::PanelId::Timeline));
        }
    }
    commands
}

/// The filter's text field, with its label.
pub(super) fn filter_ui(ui: &mut Ui, filter: &mut String, focus: &mut bool) {
    let label = ui.label("Filter");
    let field = egui::TextEdit::singleline(filter).hint_text("words in any order").desired_width(180.0);
    let field = ui.add(field).labelled_by(label.id);
    if std::mem::take(focus) {
        field.request_focus();
    }
}

/// Row count and totals of the shown rows, under the table.
fn footer_ui(
    ui: &mut Ui,
    id: &str,
    (shown, all): (usize, usize),
    rows: impl Iterator<Item = (u64, f64)>,
    left_out: &LeftOut,
) {
    let (count, total_ns) = rows.fold((0, 0.0), |(count, total), (n, ns)| (count + n, total + ns));
    egui::Panel::bottom(format!("{id} footer")).show(ui, |ui| {
        ui.horizontal_wrapped(|ui| {
            let (shown, all) = (units::count(shown as u64), units::count(all as u64));
            let rows = if all == "1" { "row" } else { "rows" };
            ui.label(if shown == all { format!("{all} {rows}") } else { format!("{shown} of {all} {rows}") });
            ui.weak(format!("{} calls, {} in total", units::count(count), units::duration_ns(total_ns)));
            left_out.ui(ui);
            ui.weak("Click a row to light it up in the timeline, double-click to go there");
        });
    });
}

/// A rate; the pointer tells which share of the device's measured ceiling it is, or why that is not known.
fn rate(figure: &Known<f64>, share: &Known<f64>, format: impl Fn(f64) -> String) -> Cell {
    let cell = Cell::known(figure, |value| format(*value));
    match (figure.source(), share) {
        (None, _) => cell,
        (Some(source), Known::Value { value, .. }) => cell.with_hover(format!(
            "{} of what the device was measured to do; from {}",
            units::percent(*value),
            source.label()
        )),
        (Some(source), Known::Unknown(why)) => {
            cell.with_hover(format!("From {}. Share unknown: {why}", source.label()))
        }
    }
}

/// Sort key of a figure that may be unknown.
pub(super) fn known_key(figure: &Known<f64>) -> Key<'static> {
    figure.get().map_or(Key::Missing, |value| Key::Number(*value))
}

fn duration(row: &OpRow, ns: f64) -> Cell {
    let count = units::count(row.count);
    Cell::new(units::duration_ns(ns)).with_hover(format!("From {}, {count} samples", row.source))
}

/// A word that may not have been recorded.
fn word(text: &str, reason: &str) -> Cell {
    if text.is_empty() { Cell::missing(reason) } else { Cell::new(text).with_hover(text) }
}

fn word_key(text: &str) -> Key<'_> {
    if text.is_empty() { Key::Missing } else { Key::Text(text) }
}

fn columns() -> Vec<Column<OpRow>> {
    vec![
        Column::words(
            "Name",
            "What was called",
            166.0,
            |row| Cell::new(&row.name).with_hover(&row.name),
            |row| Key::Text(&row.name),
        ),
        Column::words(
            "Shapes",
            "Shapes of the inputs",
            136.0,
            |row| word(&row.shapes, "Several shapes, or none recorded"),
            |row| word_key(&row.shapes),
        ),
        Column::words(
            "Type",
            "Element type",
            52.0,
            |row| word(&row.dtype, "Several types, or none recorded"),
            |row| word_key(&row.dtype),
        ),
        Column::figures(
            "Count",
            "Number of calls",
            64.0,
            |row| Cell::new(units::count(row.count)),
            |row| Key::Number(row.count as f64),
        ),
        Column::figures(
            "Total",
            "Time of all calls together",
            80.0,
            |row| duration(row, row.total_ns),
            |row| Key::Number(row.total_ns),
        ),
        Column::figures(
            "Self",
            "Total less the time of work within",
            72.0,
            |row| duration(row, row.self_ns),
            |row| Key::Number(row.self_ns),
        ),
        Column::figures(
            "Mean",
            "Total divided by count",
            72.0,
            |row| duration(row, row.mean_ns),
            |row| Key::Number(row.mean_ns),
        ),
        Column::figures(
            "p95",
            "95 of 100 calls took no longer",
            72.0,
            |row| duration(row, row.p95_ns),
            |row| Key::Number(row.p95_ns),
        ),
        Column::figures(
            "Share",
            "Share of the self time of all rows",
            62.0,
            |row| Cell::new(units::percent(row.share)),
            |row| Key::Number(row.share),
        ),
        Column::figures(
            "FLOP/s",
            "Floating-point operations, from the shapes, divided by the time",
            100.0,
            |row| rate(&row.flops_per_sec, &row.compute_share, units::flops_per_sec),
            |row| known_key(&row.flops_per_sec),
        ),
        Column::figures(
            "Bytes/s",
            "Bytes read and written, from the shapes, divided by the time",
            88.0,
            |row| rate(&row.bytes_per_sec, &row.copy_share, units::bytes_per_sec),
            |row| known_key(&row.bytes_per_sec),
        ),
        Column::words(
            "Phase",
            "Phase of the step in which the calls are",
            80.0,
            |row| word(row.phase.map_or("", Phase::label), "In several phases, or outside of a step"),
            |row| word_key(row.phase.map_or("", Phase::label)),
        ),
        Column::words(
            SOURCE,
            "How the times were measured",
            118.0,
            |row| word(&row.source, "The trace does not say"),
            |row| word_key(&row.source),
        ),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::Source;
    use crate::panels::testing::palette;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    fn row(name: &str, count: u64, total_ns: f64, flops: Option<f64>) -> OpRow {
        let known = |figure: Option<f64>| match figure {
            Some(figure) => Known::value(figure, Source::Derived, count),
            None => Known::unknown("Its floating-point operations are not known"),
        };
        let mean_ns = total_ns / count as f64;
        OpRow {
            name: name.to_owned(),
            shapes: "[128, 3, 32, 32] [32, 3, 3, 3]".to_owned(),
            count,
            total_ns,
            self_ns: total_ns,
            mean_ns,
            p95_ns: mean_ns * 1.3,
            min_ns: mean_ns,
            max_ns: mean_ns,
            share: total_ns / 1e9,
            flops: known(flops),
            flops_per_sec: known(flops),
            compute_share: Known::default(),
            copy_share: Known::default(),
            bytes: known(Some(1e9)),
            bytes_per_sec: known(Some(12.5e9)),
            dtype: "f32".to_owned(),
            phase: Some(Phase::Forward),
            layer: String::new(),
            source: "host clock".to_owned(),
        }
    }

    struct Probe {
        rows: Arc<Vec<OpRow>>,
        state: WorkState,
        commands: Vec<Command>,
    }

    fn harness() -> Harness<'static, Probe> {
        harness_of(vec![
            row("conv2d", 120, 4.2e8, Some(3.2e11)),
            row("add", 9000, 1.1e8, None),
            row("matmul", 300, 2.7e8, Some(9.1e11)),
        ])
    }

    fn harness_of(rows: Vec<OpRow>) -> Harness<'static, Probe> {
        let probe = Probe { rows: Arc::new(rows), state: WorkState::default(), commands: Vec::new() };
        let mut harness = Harness::builder().with_size(egui::vec2(1280.0, 600.0)).build_ui_state(
            |ui, probe: &mut Probe| {
                let input = WorkInput {
                    words: WorkWords { id: "ops", computing: "Summing up…" },
                    by_name: Some(&probe.rows),
                    by_shape: None,
                    selected: Some("matmul"),
                    empty_reason: "none",
                };
                let commands = work_view(ui, &input, &palette(true), &mut probe.state);
                probe.commands.extend(commands);
            },
            probe,
        );
        harness.run();
        harness
    }

    fn names(harness: &Harness<'_, Probe>) -> Vec<&'static str> {
        let mut found: Vec<(f32, &str)> = ["conv2d", "add", "matmul"]
            .into_iter()
            .filter_map(|name| Some((harness.query_by_label(name)?.rect().top(), name)))
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_click_on_a_title_sorts_and_a_second_one_turns_round() {
        let mut harness = harness();
        assert_eq!(names(&harness), ["conv2d", "matmul", "add"], "by total at first");
        harness.get_by_label("Sort by Count").click();
        harness.run();
        assert_eq!(names(&harness), ["add", "matmul", "conv2d"]);
        harness.get_by_label("Sort by Count").click();
        harness.run();
        assert_eq!(names(&harness), ["conv2d", "matmul", "add"]);
        harness.get_by_label("Sort by FLOP/s").click();
        harness.run();
        assert_eq!(names(&harness), ["matmul", "conv2d", "add"], "unknown figures are last");
    }

    #[test]
    fn columns_without_any_value_make_room_for_the_names() {
        let bare = |name| OpRow { shapes: String::new(), phase: None, ..row(name, 10, 1e6, None) };
        let mut harness = harness_of(vec![bare("conv2d"), OpRow { dtype: String::new(), ..bare("add") }]);
        harness.get_by_label("Unknown for every row: Shapes, FLOP/s, Phase");
        harness.get_by_label("Times: host clock");
        for title in ["Sort by Shapes", "Sort by Time from"] {
            assert!(harness.query_by_label(title).is_none(), "{title}");
        }
        harness.get_by_label("Sort by Type");
        // What was sorted by may be missing in the next rows.
        harness.get_by_label("Sort by Type").click();
        harness.run();
        harness.state_mut().rows = Arc::new(vec![OpRow { dtype: String::new(), ..bare("matmul") }]);
        harness.run();
        assert_eq!(names(&harness), ["matmul"]);
        harness.get_by_label("Unknown for every row: Shapes, Type, FLOP/s, Phase");
    }

    #[test]
    fn the_filter_narrows_rows_and_totals() {
        let mut harness = harness();
        harness.get_by_label("3 rows");
        harness.state_mut().state.on_command(&Command::FocusSearch);
        harness.run();
        harness.get_by_role(egui::accesskit::Role::TextInput).type_text("MAT");
        harness.run();
        assert_eq!(names(&harness), ["matmul"]);
        harness.get_by_label("1 of 3 rows");
        harness.get_by_label("300 calls, 270 ms in total");
    }

    #[test]
    fn a_row_selects_its_name_and_grouping_may_be_under_way() {
        let mut harness = harness();
        let pos = harness.get_by_label("conv2d").rect().center();
        harness.drag_at(pos);
        // One frame: work in the background may ask for more, and a button that is held for long is no click.
        harness.step();
        harness.drop_at(pos);
        harness.run();
        assert_eq!(harness.state().commands, [Command::SelectName("conv2d".to_owned())]);
        harness.get_by_label("Name and shapes").click();
        harness.run();
        harness.get_by_label("Summing up…");
    }
}
