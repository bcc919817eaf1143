//! The Compare panel: a baseline and any number of runs beside it. What differs in their settings, what differs in
//! their speed and by how much, with the uncertainty of it, phase by phase and operation by operation.

mod charts;

use super::bars::{Bar, Part, bars_ui};
use super::palette::Palette;
use super::table::{Cell, Column, Direction, Key, RowOrder, TableEvent, TableLook, table_text, table_ui};
use crate::analysis::compare::{ComparedRun, Comparison};
use crate::model::{Known, Phase, units};
use crate::session::{Command, ExportWhat};
use crate::stats::ab::Verdict;
use crate::timeline::marks::text_color_on;
use charts::Curves;
use egui::{Color32, Ui};
use std::path::PathBuf;
use std::sync::Arc;

/// An operation in the baseline and in another run, per step.
#[derive(Debug, Clone, PartialEq)]
struct OpChange {
    name: String,
    /// Title of the other run.
    run: String,
    /// Time a step in the baseline, in nanoseconds; `None` = it does not occur.
    baseline_ns: Option<f64>,
    /// Time a step in the other run.
    other_ns: Option<f64>,
}

impl OpChange {
    /// All operations of a comparison, a row for each run beside the baseline.
    fn all(comparison: &Comparison) -> Vec<Self> {
        let mut rows = Vec::new();
        for delta in &comparison.op_deltas {
            let baseline_ns = delta.per_step_ns.first().copied().flatten();
            for (run, other_ns) in comparison.runs.iter().zip(&delta.per_step_ns).skip(1) {
                let (name, run) = (delta.name.clone(), run.title.clone());
                rows.push(Self { name, run, baseline_ns, other_ns: *other_ns });
            }
        }
        rows
    }

    fn delta_ns(&self) -> Option<f64> {
        Some(self.other_ns? - self.baseline_ns?)
    }

    fn ratio(&self) -> Option<f64> {
        let baseline = self.baseline_ns.filter(|ns| *ns > 0.0)?;
        Some(self.other_ns? / baseline)
    }
}

/// What the panel shows.
pub struct CompareInput<'a> {
    /// Runs that can be chosen: identifier and title.
    pub library: &'a [(String, String)],
    /// The chosen baseline.
    pub baseline: Option<&'a str>,
    /// The other chosen runs.
    pub others: &'a [String],
    /// What came out, the baseline first; `None` while it is being computed.
    pub comparison: Option<&'a Arc<Comparison>>,
    /// Stages of an experiment with their median step times, in nanoseconds.
    pub stages: &'a [(String, Option<f64>)],
    /// Whether figures are being computed.
    pub computing: bool,
    /// Why there are none.
    pub error: Option<&'a str>,
}

/// State of the panel between frames.
#[derive(Debug)]
pub struct CompareState {
    smoothing: usize,
    made: Option<Made>,
    ops_order: RowOrder<OpChange>,
    export_path: String,
}

/// What is made of a comparison once: points of curves, rows of operations.
#[derive(Debug)]
struct Made {
    comparison: Arc<Comparison>,
    smoothing: usize,
    curves: Curves,
    ops: Arc<Vec<OpChange>>,
}

impl Default for CompareState {
    fn default() -> Self {
        Self {
            smoothing: 0,
            made: None,
            ops_order: RowOrder::by("Change", Direction::Descending),
            export_path: String::new(),
        }
    }
}

/// Endings that a comparison can be written with.
const EXPORTS: [(&str, &str); 4] = [("HTML", "html"), ("Markdown", "md"), ("CSV", "csv"), ("JSON", "json")];

/// Draws the panel and returns what the user asked for. `export_dir` is where exports go unless a path is typed.
pub fn compare_view(
    ui: &mut Ui,
    input: &CompareInput<'_>,
    palette: &Palette,
    export_dir: &std::path::Path,
    state: &mut CompareState,
) -> Vec<Command> {
    let mut commands = Vec::new();
    chips_ui(ui, input, palette, &mut commands);
    if let Some(error) = input.error {
        ui.colored_label(palette.bad, error);
    }
    let Some(comparison) = input.comparison else {
        empty_ui(ui, input, palette);
        return commands;
    };
    export_ui(ui, export_dir, state, &mut commands);
    ui.separator();
    egui::ScrollArea::vertical().id_salt("compare").auto_shrink([false, false]).show(ui, |ui| {
        // Room for the scroll bar, which floats over the content.
        ui.set_max_width(ui.available_width() - 14.0);
        verdicts_ui(ui, comparison, palette);
        section(ui, "Settings that differ");
        differences_ui(ui, comparison);
        section(ui, "Phases of a step (median of steady steps)");
        phases_ui(ui, &comparison.runs, palette);
        if input.stages.len() > 1 {
            section(ui, "Stages of the experiment (median step time)");
            charts::staircase_ui(ui, input.stages, palette);
        }
        section(ui, "Curves");
        curves_ui(ui, comparison, palette, state);
        section(ui, "Operations, time a step");
        ops_ui(ui, comparison, palette, state, &mut commands);
    });
    commands
}

fn section(ui: &mut Ui, title: &str) {
    ui.add_space(12.0);
    ui.heading(title);
    ui.add_space(2.0);
}

fn empty_ui(ui: &mut Ui, input: &CompareInput<'_>, palette: &Palette) {
    if !input.stages.is_empty() {
        section(ui, "Experiment under way (median step time so far)");
        charts::staircase_ui(ui, input.stages, palette);
    }
    ui.centered_and_justified(|ui| {
        if input.computing {
            ui.weak("Comparing…");
        } else if input.baseline.is_none() {
            ui.weak("Choose a baseline above, then the runs to compare with it. Or run the ladder from the Train menu");
        } else {
            ui.weak("Choose a run to compare with the baseline");
        }
    });
}

/// The chosen runs, each with a way to change its part, and a menu to choose more.
fn chips_ui(ui: &mut Ui, input: &CompareInput<'_>, palette: &Palette, commands: &mut Vec<Command>) {
    let title_of = |id: &str| {
        let known = input.library.iter().find(|(known, _)| known == id);
        known.map_or_else(|| id.to_owned(), |(_, title)| title.clone())
    };
    ui.horizontal_wrapped(|ui| {
        ui.label("Baseline");
        let chosen = input.baseline.map_or_else(|| "choose…".to_owned(), title_of);
        ui.menu_button(chosen, |ui| {
            run_menu(ui, input.library, |_| true, |id| commands.push(Command::SetBaseline(id.to_owned())));
        });
        ui.separator();
        ui.label("Compared");
        for (idx, id) in input.others.iter().enumerate() {
            let title = title_of(id);
            swatch(ui, palette.series(idx + 1));
            ui.menu_button(&title, |ui| {
                if ui.button("Make it the baseline").clicked() {
                    commands.push(Command::SetBaseline(id.clone()));
                    ui.close();
                }
                if ui.button("Take it out").clicked() {
                    commands.push(Command::ToggleCompared(id.clone()));
                    ui.close();
                }
            });
        }
        ui.menu_button("Add a run…", |ui| {
            let free = |id: &str| input.baseline != Some(id) && !input.others.iter().any(|other| other == id);
            run_menu(ui, input.library, free, |id| commands.push(Command::ToggleCompared(id.to_owned())));
        });
        if input.computing {
            ui.spinner();
            ui.weak("Comparing…");
        }
    });
}

fn run_menu(ui: &mut Ui, library: &[(String, String)], offer: impl Fn(&str) -> bool, mut choose: impl FnMut(&str)) {
    egui::ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
        let mut any = false;
        for (id, title) in library.iter().filter(|(id, _)| offer(id)) {
            any = true;
            if ui.button(title).on_hover_text(id).clicked() {
                choose(id);
                ui.close();
            }
        }
        if !any {
            ui.weak("There is no other run yet; train one first");
        }
    });
}

/// A small square of a colour.
pub(super) fn swatch(ui: &mut Ui, color: Color32) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
    ui.painter().rect_filled(rect, 2.0, color);
}

fn export_ui(ui: &mut Ui, dir: &std::path::Path, state: &mut CompareState, commands: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        let label = ui.label("Export to");
        let default = dir.join("comparison").display().to_string();
        let field = egui::TextEdit::singleline(&mut state.export_path).hint_text(default).desired_width(280.0);
        ui.add(field).labelled_by(label.id);
        for (title, ending) in EXPORTS {
            if ui.button(title).on_hover_text(format!("Write the comparison as .{ending}")).clicked() {
                let typed = state.export_path.trim();
                let base = if typed.is_empty() { dir.join("comparison") } else { PathBuf::from(typed) };
                let path = base.with_extension(ending);
                commands.push(Command::Export { what: ExportWhat::Comparison, path });
            }
        }
    });
}

fn verdicts_ui(ui: &mut Ui, comparison: &Comparison, palette: &Palette) {
    egui::Grid::new("verdicts").num_columns(5).striped(true).spacing([18.0, 4.0]).show(ui, |ui| {
        for title in ["Run", "Step time", "Speed", "Time against the baseline (interval)", "Verdict"] {
            ui.strong(title);
        }
        ui.end_row();
        for (idx, run) in comparison.runs.iter().enumerate() {
            ui.horizontal(|ui| {
                swatch(ui, palette.series(idx));
                ui.label(&run.title).on_hover_text(format!("{}, on {}", run.end, run.device));
            });
            known_ui(ui, &run.step_median_ns, |ns| units::duration_ns(*ns));
            known_ui(ui, &run.samples_per_sec, |rate| units::samples_per_sec(*rate));
            verdict_ui(ui, run, palette);
            ui.end_row();
        }
    });
    ui.weak(&comparison.method);
    for run in comparison.runs.iter().skip(1).filter(|run| !run.same_losses.is_empty()) {
        ui.weak(format!("{}: {}", run.title, run.same_losses));
    }
    for warning in &comparison.warnings {
        ui.label(format!("Note: {warning}"));
    }
    for (stage, reason) in &comparison.refused {
        ui.weak(format!("Left out: {stage}. {reason}"));
    }
}

fn verdict_ui(ui: &mut Ui, run: &ComparedRun, palette: &Palette) {
    match &run.vs_baseline {
        None => {
            ui.weak("–");
            ui.weak("baseline");
        }
        Some(Err(reason)) => {
            ui.weak("–").on_hover_text(reason);
            ui.weak(reason);
        }
        Some(Ok(versus)) => {
            let [ratio, low, high] = [versus.ratio, versus.ci_low, versus.ci_high].map(units::ratio);
            ui.label(format!("{ratio} ({low} to {high})"));
            let color = match versus.verdict {
                Verdict::Faster => palette.good,
                Verdict::Slower => palette.bad,
                _ => palette.canvas.text,
            };
            ui.colored_label(color, versus.verdict.label()).on_hover_text(&versus.sentence);
        }
    }
}

fn known_ui<T>(ui: &mut Ui, figure: &Known<T>, format: impl Fn(&T) -> String) {
    match figure {
        Known::Value { value, source, n } => {
            let hover = format!("From {}, {} samples", source.label(), units::count(*n));
            ui.label(format(value)).on_hover_text(hover);
        }
        Known::Unknown(reason) => {
            ui.weak("–").on_hover_text(reason);
        }
    }
}

fn differences_ui(ui: &mut Ui, comparison: &Comparison) {
    if comparison.config_differences.is_empty() {
        ui.weak("None: all runs have the same settings");
        return;
    }
    egui::Grid::new("differences").striped(true).spacing([18.0, 4.0]).show(ui, |ui| {
        ui.strong("Setting");
        for run in &comparison.runs {
            ui.strong(&run.title);
        }
        ui.end_row();
        for difference in &comparison.config_differences {
            ui.monospace(&difference.key);
            let first = difference.values.first();
            for value in &difference.values {
                if Some(value) == first {
                    ui.weak(value)
                } else {
                    ui.strong(value)
                };
            }
            ui.end_row();
        }
    });
}

fn phases_ui(ui: &mut Ui, runs: &[ComparedRun], palette: &Palette) {
    let Some(baseline) = runs.first() else { return };
    let bars: Vec<Bar> = runs
        .iter()
        .enumerate()
        .map(|(idx, run)| {
            let parts = Phase::ALL.into_iter().map(|phase| {
                let value = run.phases_median_ns[phase as usize];
                let change = value - baseline.phases_median_ns[phase as usize];
                let note = if idx == 0 {
                    String::new()
                } else {
                    format!("{} against the baseline", units::signed_duration_ns(change))
                };
                Part { label: phase.label().to_owned(), value, color: palette.phase(phase), note }
            });
            let total: f64 = run.phases_median_ns.iter().sum();
            Bar { label: run.title.clone(), parts: parts.collect(), value: units::duration_ns(total) }
        })
        .collect();
    bars_ui(ui, &bars, units::duration_ns, text_color_on);
    egui::Grid::new("phases").striped(true).spacing([18.0, 2.0]).show(ui, |ui| {
        ui.strong("Phase");
        for run in runs {
            ui.strong(&run.title);
        }
        ui.end_row();
        for phase in Phase::ALL {
            ui.horizontal(|ui| {
                swatch(ui, palette.phase(phase));
                ui.label(phase.label());
            });
            let base = baseline.phases_median_ns[phase as usize];
            for (idx, run) in runs.iter().enumerate() {
                let value = run.phases_median_ns[phase as usize];
                let text = units::duration_ns(value);
                ui.label(if idx == 0 {
                    text
                } else {
                    format!("{text}  ({})", units::signed_duration_ns(value - base))
                });
            }
            ui.end_row();
        }
    });
}

fn curves_ui(ui: &mut Ui, comparison: &Arc<Comparison>, palette: &Palette, state: &mut CompareState) {
    ui.horizontal(|ui| {
        let label = ui.label("Smooth over");
        let slider = egui::Slider::new(&mut state.smoothing, 0..=50).suffix(" steps on both sides");
        ui.add(slider).labelled_by(label.id);
    });
    charts::charts_ui(ui, &comparison.runs, &made(comparison, state).curves, palette);
}

/// What is made of the comparison, anew only when it or the smoothing has changed.
fn made<'a>(comparison: &Arc<Comparison>, state: &'a mut CompareState) -> &'a Made {
    let smoothing = state.smoothing;
    let fresh = |made: &Made| Arc::ptr_eq(&made.comparison, comparison) && made.smoothing == smoothing;
    let made = state.made.take().filter(fresh).unwrap_or_else(|| Made {
        comparison: Arc::clone(comparison),
        smoothing,
        curves: Curves::of(&comparison.runs, smoothing),
        ops: Arc::new(OpChange::all(comparison)),
    });
    state.made.insert(made)
}

fn ops_ui(
    ui: &mut Ui,
    comparison: &Arc<Comparison>,
    palette: &Palette,
    state: &mut CompareState,
    commands: &mut Vec<Command>,
) {
    let ops = Arc::clone(&made(comparison, state).ops);
    if ops.is_empty() {
        ui.weak("No operations were recorded in these runs; record with trace level L1 or higher");
        return;
    }
    ui.weak(format!("Times from {}", comparison.op_source));
    let columns = op_columns();
    ui.horizontal(|ui| {
        super::work_table::filter_ui(ui, &mut state.ops_order.filter, &mut false);
        if ui.button("Copy").on_hover_text("Copy the shown rows as tab-separated text").clicked() {
            commands.push(Command::CopyText(table_text(&columns, &ops, &mut state.ops_order)));
        }
    });
    let selected = |_: &OpChange| false;
    let swatch = |row: &OpChange| palette.name(&row.name);
    let look = TableLook { id: "op deltas", selected: &selected, swatch: Some(&swatch), row_height: 20.0 };
    let height = 32.0 + 24.0 * ops.len().min(16) as f32;
    let event = ui
        .allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
            ui.set_min_height(height);
            table_ui(ui, &look, &columns, &ops, &mut state.ops_order)
        })
        .inner;
    if let Some(TableEvent::Clicked(idx)) = event
        && let Some(row) = ops.get(idx)
    {
        commands.push(Command::SelectName(row.name.clone()));
    }
}

fn time_cell(ns: Option<f64>) -> Cell {
    match ns {
        Some(ns) => Cell::new(units::duration_ns(ns)),
        None => Cell::missing("It does not occur in this run"),
    }
}

fn number_key(figure: Option<f64>) -> Key<'static> {
    figure.map_or(Key::Missing, Key::Number)
}

fn op_columns() -> Vec<Column<OpChange>> {
    vec![
        Column {
            title: "Operation",
            help: "Name of the operation",
            width: 180.0,
            numeric: false,
            cell: |row| Cell::new(&row.name),
            key: |row| Key::Text(&row.name),
        },
        Column {
            title: "Run",
            help: "The run that is compared with the baseline",
            width: 180.0,
            numeric: false,
            cell: |row| Cell::new(&row.run),
            key: |row| Key::Text(&row.run),
        },
        Column {
            title: "Baseline",
            help: "Time a step in the baseline",
            width: 100.0,
            numeric: true,
            cell: |row| time_cell(row.baseline_ns),
            key: |row| number_key(row.baseline_ns),
        },
        Column {
            title: "This run",
            help: "Time a step in the other run",
            width: 100.0,
            numeric: true,
            cell: |row| time_cell(row.other_ns),
            key: |row| number_key(row.other_ns),
        },
        Column {
            title: "Change",
            help: "This run less the baseline; sorted by size, whatever the sign",
            width: 100.0,
            numeric: true,
            cell: |row| match row.delta_ns() {
                Some(ns) => Cell::new(units::signed_duration_ns(ns)),
                None => Cell::missing("It is in only one of the two runs"),
            },
            key: |row| number_key(row.delta_ns().map(f64::abs)),
        },
        Column {
            title: "Ratio",
            help: "This run divided by the baseline",
            width: 80.0,
            numeric: true,
            cell: |row| match row.ratio() {
                Some(ratio) => Cell::new(units::ratio(ratio)),
                None => Cell::missing("It is in only one of the two runs"),
            },
            key: |row| number_key(row.ratio()),
        },
    ]
}
