//! The Runs panel: all runs on disk, which of them to compare, and what to do with them.

mod editor;
mod rows;

use super::PanelContext;
use crate::model::{RunEnd, units};
use crate::session::{Command, PanelId, RunEntry};
use crate::ui::tokens::size;
use crate::ui::widgets::{Figure, Sort, Tone};
use crate::ui::{icons, text, widgets};
use editor::Editing;
use egui::{Align, Layout, RichText, Ui};
use rows::{By, order};

/// Width from which size and tags have columns of their own, in points.
const WIDE: f32 = 900.0;

/// State of the panel between frames.
#[derive(Debug)]
pub struct RunsState {
    query: String,
    focus_search: bool,
    sort: Sort<By>,
    editing: Option<Editing>,
}

impl Default for RunsState {
    fn default() -> Self {
        let sort = Sort { column: By::Started, ascending: false };
        Self { query: String::new(), focus_search: false, sort, editing: None }
    }
}

impl RunsState {
    /// Carries out commands that concern this panel's pixels; others are ignored.
    pub fn on_command(&mut self, command: &Command) {
        if *command == Command::FocusSearch {
            self.focus_search = true;
        }
    }
}

/// Tone and words for how a run ended.
pub fn end_badge(end: &RunEnd) -> (Tone, &'static str) {
    let tone = match end {
        RunEnd::Running => Tone::Active,
        RunEnd::Finished => Tone::Good,
        RunEnd::Stopped => Tone::Plain,
        _ => Tone::Bad,
    };
    (tone, end.label())
}

/// The Runs panel.
pub fn runs_ui(cx: &PanelContext<'_>, state: &mut RunsState, ui: &mut Ui) {
    let library = cx.session.library();
    if library.is_empty() {
        let place = cx.session.runs_dir().display();
        let reason = format!(
            "There are none in {place}. A training started in Setup appears here; a run folder or a trace of another \
             tool can be opened from anywhere."
        );
        let action = Some("Open a run or trace…");
        let empty = widgets::Empty { icon: icons::LIST, title: "No runs yet", reason: &reason, action };
        if widgets::empty_state(ui, cx.tokens, &empty) {
            cx.send(Command::OpenFileDialog);
        }
        return;
    }
    bar_ui(cx, state, ui);
    ui.separator();
    let shown = order(library, &state.query, state.sort);
    if shown.is_empty() {
        text::note(ui, "No run fits the words above");
    } else {
        table_ui(cx, state, ui, &shown);
    }
    editor::editor_ui(cx, &mut state.editing, ui);
}

fn bar_ui(cx: &PanelContext<'_>, state: &mut RunsState, ui: &mut Ui) {
    ui.horizontal(|ui| {
        let focus = std::mem::take(&mut state.focus_search);
        widgets::search_field(ui, &mut state.query, "Search runs", 180.0, focus);
        if widgets::icon_button(ui, icons::REFRESH, "Read the runs folder again").clicked() {
            cx.send(Command::RefreshLibrary);
        }
        let compare = cx.session.compare();
        let chosen = usize::from(compare.baseline.is_some()) + compare.others.len();
        let button = egui::Button::image_and_text(
            icons::COLUMNS.small(ui),
            format!("Compare {chosen} {}", if chosen == 1 { "run" } else { "runs" }),
        );
        let help = "Tick the runs to compare; the one with the dot is the baseline";
        if ui.add_enabled(chosen >= 2, button).on_hover_text(help).on_disabled_hover_text(help).clicked() {
            cx.send(Command::ShowPanel(PanelId::Compare));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let place = cx.session.runs_dir().display().to_string();
            ui.add(egui::Label::new(RichText::new(place).color(cx.tokens.ui.text_weak)).truncate());
        });
    });
}

fn table_ui(cx: &PanelContext<'_>, state: &mut RunsState, ui: &mut Ui, shown: &[&RunEntry]) {
    use egui_extras::Column;
    const TITLES: [(&str, By, bool); 9] = [
        ("Status", By::Status, true),
        ("Title", By::Title, true),
        ("Started", By::Started, false),
        ("Device", By::Device, true),
        ("Step", By::Step, true),
        ("Samples/s", By::Rate, false),
        ("Accuracy", By::Accuracy, false),
        ("Size", By::Size, false),
        ("Tags", By::Tags, true),
    ];
    let active = cx.session.active().map(|run| run.id.as_str());
    let wide = ui.available_width() > WIDE;
    let mut table = egui_extras::TableBuilder::new(ui)
        .id_salt(("runs", wide))
        .striped(true)
        .sense(egui::Sense::click())
        .cell_layout(Layout::left_to_right(Align::Center))
        .auto_shrink([false, false])
        .column(Column::exact(62.0))
        .column(Column::exact(84.0))
        .column(Column::remainder().at_least(120.0).clip(true))
        .column(Column::initial(122.0).clip(true))
        .column(Column::initial(122.0).clip(true));
    for width in [78.0, 92.0, 84.0] {
        table = table.column(Column::initial(width).clip(true));
    }
    if wide {
        table = table.column(Column::initial(76.0).clip(true)).column(Column::initial(110.0).clip(true));
    }
    let table = table.column(Column::exact(62.0));
    table
        .header(size::ROW, |mut header| {
            header.col(|ui| {
                ui.strong("Compare").on_hover_text("Tick = compared; dot = baseline");
            });
            for (title, by, ascending) in TITLES.iter().filter(|(_, by, _)| wide || !matches!(by, By::Size | By::Tags))
            {
                header.col(|ui| widgets::sort_header(ui, title, *by, *ascending, &mut state.sort));
            }
            header.col(|_| {});
        })
        .body(|body| {
            body.rows(size::ROW, shown.len(), |mut row| {
                let Some(entry) = shown.get(row.index()) else { return };
                row.set_selected(active == Some(entry.id.as_str()));
                cells_ui(cx, state, &mut row, entry, wide);
                if row.response().clicked() {
                    open(cx, entry);
                }
                row.response().context_menu(|ui| menu_ui(cx, &mut state.editing, entry, ui));
            });
        });
}

fn cells_ui(
    cx: &PanelContext<'_>,
    state: &mut RunsState,
    row: &mut egui_extras::TableRow<'_, '_>,
    entry: &RunEntry,
    wide: bool,
) {
    let manifest = &entry.manifest;
    let weak = |words: String| RichText::new(words).color(cx.tokens.ui.text_weak);
    row.col(|ui| compare_ui(cx, ui, entry));
    row.col(|ui| {
        let (tone, words) = end_badge(&manifest.end);
        let badge = widgets::badge(ui, cx.tokens, tone, words);
        if let Some(detail) = manifest.end.detail() {
            badge.on_hover_text(detail);
        }
    });
    row.col(|ui| {
        label(ui, RichText::new(&manifest.title).color(cx.tokens.ui.text_strong)).on_hover_text(format!(
            "{}, {} on disk",
            entry.id,
            units::bytes(entry.bytes as f64)
        ));
    });
    row.col(|ui| {
        label(ui, weak(rows::local_time(&manifest.started)));
    });
    row.col(|ui| {
        label(ui, weak(manifest.environment.device.clone())).on_hover_text(&manifest.environment.device);
    });
    for figure in rows::figures(manifest) {
        row.col(|ui| figure_ui(cx, ui, &figure));
    }
    if wide {
        row.col(|ui| {
            label(ui, weak(units::bytes(entry.bytes as f64)));
        });
        row.col(|ui| {
            label(ui, weak(manifest.tags.join(", ")));
        });
    }
    row.col(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        if widgets::icon_button(ui, icons::PENCIL, &format!("Rename or tag {}", manifest.title)).clicked() {
            state.editing = Some(Editing::new(entry));
        }
        if widgets::icon_button(ui, icons::TRASH, &format!("Delete {}", manifest.title)).clicked() {
            cx.send(Command::DeleteRun(entry.id.clone()));
        }
    });
}

fn open(cx: &PanelContext<'_>, entry: &RunEntry) {
    cx.send(Command::OpenRun(entry.id.clone()));
    cx.send(Command::ShowPanel(PanelId::Overview));
}

/// What can be done with a run, by the right mouse button.
fn menu_ui(cx: &PanelContext<'_>, editing: &mut Option<Editing>, entry: &RunEntry, ui: &mut Ui) {
    let id = || entry.id.clone();
    let compare = cx.session.compare();
    let compared = compare.others.contains(&entry.id);
    if ui.button("Open").clicked() {
        open(cx, entry);
    }
    if ui.button(if compared { "Take out of the comparison" } else { "Compare" }).clicked() {
        cx.send(Command::ToggleCompared(id()));
    }
    let baseline = compare.baseline.as_ref() == Some(&entry.id);
    if ui.add_enabled(!baseline, egui::Button::new("Make it the baseline")).clicked() {
        cx.send(Command::SetBaseline(id()));
    }
    ui.separator();
    if ui.button("Copy the folder's path").clicked() {
        cx.send(Command::CopyText(entry.path.display().to_string()));
    }
    if ui.button("Rename or tag…").clicked() {
        *editing = Some(Editing::new(entry));
    }
    if ui.button("Delete").clicked() {
        cx.send(Command::DeleteRun(id()));
    }
}

/// Text that leaves clicks to the row.
fn label(ui: &mut Ui, text: RichText) -> egui::Response {
    ui.add(egui::Label::new(text).selectable(false).truncate())
}

fn figure_ui(cx: &PanelContext<'_>, ui: &mut Ui, figure: &Figure) {
    match figure {
        Figure::Shown { text, source } => label(ui, text::figure(text).size(12.0)).on_hover_text(source),
        Figure::Missing(reason) => label(ui, RichText::new("–").color(cx.tokens.ui.text_weak)).on_hover_text(reason),
    };
}

/// A tick for “compared” and a dot for “baseline”.
fn compare_ui(cx: &PanelContext<'_>, ui: &mut Ui, entry: &RunEntry) {
    let compare = cx.session.compare();
    let baseline = compare.baseline.as_deref() == Some(entry.id.as_str());
    let mut ticked = baseline || compare.others.contains(&entry.id);
    let title = &entry.manifest.title;
    ui.spacing_mut().item_spacing.x = 2.0;
    let tick = widgets::named(ui.checkbox(&mut ticked, ""), egui::Role::CheckBox, &format!("Compare {title}"));
    if tick.clicked() {
        cx.send(Command::ToggleCompared(entry.id.clone()));
    }
    let dot = widgets::named(ui.radio(baseline, ""), egui::Role::RadioButton, &format!("Baseline {title}"));
    if dot.on_hover_text("Compare against this run").clicked() && !baseline {
        cx.send(Command::SetBaseline(entry.id.clone()));
    }
}
