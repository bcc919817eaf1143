//! The timeline panel: search and view controls, the canvas, and under it what is selected.

mod details;
#[cfg(test)]
mod tests;
mod totals;

use super::palette::Palette;
use super::table::{Direction, RowOrder, TableEvent, TableLook, table_ui};
use crate::model::{Known, units};
use crate::session::Command;
use crate::timeline::paint::SpanLook;
use crate::timeline::ruler::clock_text;
use crate::timeline::tree::TrackSource;
use crate::timeline::{CanvasEvent, CanvasInput, TimelineCanvas, TrackTree};
use crate::trace::search::NameSet;
use crate::trace::{NameId, SpanRef, Trace};
use details::Details;
use egui::Ui;
use std::collections::BTreeSet;
use totals::{NameTotal, RangeTotals};

/// Names that are offered for a search text; more would not fit on the screen.
const MAX_NAMES: usize = 200;

/// What the panel shows.
pub struct TimelineInput<'a> {
    /// Name of the run or file, by which a change is noticed.
    pub run: &'a str,
    /// Its spans.
    pub trace: &'a Trace,
    /// Whether it still grows.
    pub live: bool,
    /// Whether it is still being read.
    pub loading: bool,
    /// The selected span.
    pub span: Option<SpanRef>,
    /// The selected stretch, in nanoseconds of the trace.
    pub range_ns: Option<(i64, i64)>,
    /// The selected name.
    pub name: Option<&'a str>,
}

/// A movement that the window asked for and the next frame makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Fit,
    Selection,
}

/// State of the panel between frames.
#[derive(Debug)]
pub struct TimelineState {
    canvas: TimelineCanvas,
    run: String,
    collapsed: BTreeSet<TrackSource>,
    pinned: Vec<TrackSource>,
    track_filter: String,
    tree: Option<(u64, TrackTree)>,
    search: String,
    found: Option<Found>,
    focus_search: bool,
    asked: Option<Asked>,
    details: Option<(SpanRef, u64, Details)>,
    totals: RangeTotals,
    totals_order: RowOrder<NameTotal>,
}

/// Names that match the search text.
#[derive(Debug)]
struct Found {
    text: String,
    generation: u64,
    set: NameSet,
    names: Vec<String>,
    more: bool,
}

impl Default for TimelineState {
    fn default() -> Self {
        Self {
            canvas: TimelineCanvas::default(),
            run: String::new(),
            collapsed: BTreeSet::new(),
            pinned: Vec::new(),
            track_filter: String::new(),
            tree: None,
            search: String::new(),
            found: None,
            focus_search: false,
            asked: None,
            details: None,
            totals: RangeTotals::default(),
            totals_order: RowOrder::by(3, Direction::Descending),
        }
    }
}

impl TimelineState {
    /// Carries out commands that concern this panel's pixels; others are ignored.
    pub fn on_command(&mut self, command: &Command) {
        match command {
            Command::ZoomFit => self.asked = Some(Asked::Fit),
            Command::ZoomSelection => self.asked = Some(Asked::Selection),
            Command::FocusSearch => self.focus_search = true,
            _ => {}
        }
    }

    /// The canvas, for tests that look where spans were drawn.
    pub fn canvas(&self) -> &TimelineCanvas {
        &self.canvas
    }

    /// Forgets everything of another run.
    fn enter(&mut self, input: &TimelineInput<'_>) {
        if self.run != input.run {
            let search = std::mem::take(&mut self.search);
            *self = Self { run: input.run.to_owned(), search, ..Self::default() };
        }
        let generation = input.trace.generation();
        if self.tree.as_ref().is_none_or(|(known, _)| *known != generation) {
            let tree = TrackTree::of(input.trace, &self.collapsed).arranged(&self.pinned, &self.track_filter);
            self.tree = Some((generation, tree));
        }
        if self.found.as_ref().is_none_or(|found| found.text != self.search || found.generation != generation) {
            self.found = (!self.search.trim().is_empty()).then(|| Found::new(input.trace, &self.search));
        }
        match input.span {
            None => self.details = None,
            Some(span) => {
                let known = self.details.as_ref().map(|(span, generation, _)| (*span, *generation));
                if known != Some((span, generation)) {
                    self.details = Details::of(input.trace, span).map(|details| (span, generation, details));
                }
            }
        }
    }
}

impl Found {
    fn new(trace: &Trace, text: &str) -> Self {
        let set = NameSet::containing(trace, text.trim());
        let mut names = Vec::new();
        let matches = (0..trace.name_count()).map(NameId).filter(|id| set.contains(*id));
        for id in matches.take(MAX_NAMES + 1) {
            names.push(trace.name(id).to_owned());
        }
        let more = names.len() > MAX_NAMES;
        names.truncate(MAX_NAMES);
        Self { text: text.to_owned(), generation: trace.generation(), set, names, more }
    }
}

/// Draws the panel and returns what the user asked for.
pub fn timeline_view(
    ui: &mut Ui,
    input: &TimelineInput<'_>,
    palette: &Palette,
    state: &mut TimelineState,
) -> Vec<Command> {
    let mut commands = Vec::new();
    if input.trace.bounds().is_none() {
        ui.centered_and_justified(|ui| ui.weak(empty_reason(input)));
        return commands;
    }
    state.enter(input);
    toolbar_ui(ui, input, state, &mut commands);
    if state.details.is_none() && input.range_ns.is_none() {
        // Nothing is selected: the room belongs to the tracks.
        egui::Panel::bottom("timeline hint").resizable(false).show(ui, |ui| {
            ui.weak("Click a span to see its details. Drag with Shift held to sum up a stretch of time");
        });
    } else {
        egui::Panel::bottom("timeline selection").resizable(true).default_size(190.0).min_size(56.0).show(ui, |ui| {
            selection_ui(ui, input, palette, state, &mut commands);
        });
    }
    // The toolbar may have changed which tracks are shown.
    state.enter(input);
    let Some((_, tree)) = state.tree.take() else { return commands };
    if tree.tracks.is_empty() {
        ui.centered_and_justified(|ui| ui.weak(format!("No track's name contains “{}”", state.track_filter.trim())));
        state.tree = Some((input.trace.generation(), tree));
        return commands;
    }
    move_canvas(ui, input, state);
    let color = |span: &crate::trace::Span| palette.span(input.trace, span);
    let in_search = |name: NameId| state.found.as_ref().is_some_and(|found| found.set.contains(name));
    let selected_name = input.name.filter(|_| input.span.is_none()).and_then(|name| input.trace.find_name(name));
    let in_selection = |name: NameId| selected_name == Some(name);
    let hit: Option<&dyn Fn(NameId) -> bool> = match (&state.found, selected_name) {
        (Some(_), _) => Some(&in_search),
        (None, Some(_)) => Some(&in_selection),
        (None, None) => None,
    };
    let canvas_input = CanvasInput {
        trace: input.trace,
        tree: &tree,
        live: input.live,
        selected: input.span,
        range_ns: input.range_ns,
        look: SpanLook { color: &color, hit },
        colors: palette.canvas,
    };
    let events = state.canvas.ui(ui, &canvas_input);
    state.tree = Some((input.trace.generation(), tree));
    for event in events {
        match event {
            CanvasEvent::Select(span) => commands.push(Command::Select(span)),
            CanvasEvent::SelectRange(from, to) => commands.push(Command::SelectRange(from, to)),
            CanvasEvent::Clear => commands.push(Command::ClearSelection),
            CanvasEvent::ToggleCollapsed(source) => {
                if !state.collapsed.remove(&source) {
                    state.collapsed.insert(source);
                }
                rearranged(ui, state);
            }
            CanvasEvent::TogglePinned(source) => {
                match state.pinned.iter().position(|pinned| *pinned == source) {
                    Some(at) => drop(state.pinned.remove(at)),
                    None => state.pinned.push(source),
                }
                rearranged(ui, state);
            }
            CanvasEvent::CollapseAll(all) => {
                let sources = state.tree.iter().flat_map(|(_, tree)| tree.tracks.iter().map(|track| track.source));
                state.collapsed = if all { sources.collect() } else { BTreeSet::new() };
                rearranged(ui, state);
            }
        }
    }
    commands
}

/// The tracks are to be put in order anew.
fn rearranged(ui: &Ui, state: &mut TimelineState) {
    state.tree = None;
    ui.ctx().request_repaint();
}

fn empty_reason(input: &TimelineInput<'_>) -> &'static str {
    if input.loading {
        "Reading the trace…"
    } else if input.live {
        "Nothing was recorded yet; spans appear here as soon as the first step begins"
    } else {
        "This run has no spans: it was recorded without a trace, or ended before the first step"
    }
}

fn move_canvas(ui: &Ui, input: &TimelineInput<'_>, state: &mut TimelineState) {
    let now = ui.input(|input| input.time);
    let origin = input.trace.bounds().map_or(0, |(start, _)| start);
    match state.asked.take() {
        Some(Asked::Fit) => state.canvas.fit(now),
        Some(Asked::Selection) => {
            let span = state.details.as_ref().map(|(_, _, details)| {
                let start = details.start_ns as f64;
                (start, start + details.dur_ns.get().copied().unwrap_or(0) as f64)
            });
            let relative = |ns: i64| ns.saturating_sub(origin) as f64;
            let range = || input.range_ns.map(|(from, to)| (relative(from), relative(to)));
            if let Some((start, end)) = span.or_else(range) {
                state.canvas.focus(start, end, now);
            }
        }
        None => {}
    }
}

fn toolbar_ui(ui: &mut Ui, input: &TimelineInput<'_>, state: &mut TimelineState, commands: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        let label = ui.label("Search");
        let field = egui::TextEdit::singleline(&mut state.search).hint_text("name of a span").desired_width(180.0);
        let field = ui.add(field).labelled_by(label.id);
        if std::mem::take(&mut state.focus_search) {
            field.request_focus();
        }
        let enter = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if enter {
            search_entered(input, state, commands);
        }
        found_ui(ui, input, state, commands);
        let named = input.name.is_some();
        if ui.add_enabled(named, egui::Button::new("Previous")).on_hover_text("Previous of this name (,)").clicked() {
            commands.push(Command::FindPrevious);
        }
        if ui.add_enabled(named, egui::Button::new("Next")).on_hover_text("Next of this name (.)").clicked() {
            commands.push(Command::FindNext);
        }
        ui.separator();
        if ui.button("Fit").on_hover_text("Show the whole run (0)").clicked() {
            state.asked = Some(Asked::Fit);
        }
        let selected = input.span.is_some() || input.range_ns.is_some();
        let zoom = ui.add_enabled(selected, egui::Button::new("Zoom to selection"));
        if zoom.on_hover_text("Show the selected span or stretch (F)").clicked() {
            state.asked = Some(Asked::Selection);
        }
        ui.separator();
        let label = ui.label("Tracks");
        let filter =
            egui::TextEdit::singleline(&mut state.track_filter).hint_text("part of a name").desired_width(110.0);
        let help = "Show only tracks whose name contains this; pinned tracks stay";
        if ui.add(filter).labelled_by(label.id).on_hover_text(help).changed() {
            rearranged(ui, state);
        }
        if input.live {
            let mut following = state.canvas.following();
            if ui.checkbox(&mut following, "Follow").on_hover_text("Keep the newest part in view").clicked()
                && following
            {
                state.canvas.resume_following();
            }
        }
        let help = "W and S zoom, A and D move, Shift is faster\nCtrl+wheel zooms, dragging moves, Alt+Left goes back\n\
                    Shift+drag marks a stretch of time\nDouble-click zooms to a span";
        ui.weak("W A S D move and zoom").on_hover_text(help);
    });
}

/// What Enter does in the search field: selects the first matching name, or goes on to the next of the selected one.
fn search_entered(input: &TimelineInput<'_>, state: &TimelineState, commands: &mut Vec<Command>) {
    let Some(found) = &state.found else { return };
    let selected = input.name.is_some_and(|name| found.names.iter().any(|known| known == name));
    if !selected && let Some(first) = found.names.first() {
        commands.push(Command::SelectName(first.clone()));
    }
    if !found.names.is_empty() {
        commands.push(Command::FindNext);
    }
}

fn found_ui(ui: &mut Ui, input: &TimelineInput<'_>, state: &mut TimelineState, commands: &mut Vec<Command>) {
    let Some(found) = &state.found else { return };
    if found.names.is_empty() {
        ui.label("no name matches");
        return;
    }
    let count = units::count(found.names.len() as u64);
    let more = if found.more { "more than " } else { "" };
    let noun = if found.names.len() == 1 { "name matches" } else { "names match" };
    ui.menu_button(format!("{more}{count} {noun}"), |ui| {
        egui::ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
            for name in &found.names {
                if ui.selectable_label(input.name == Some(name), name).clicked() {
                    commands.push(Command::SelectName(name.clone()));
                    commands.push(Command::FindNext);
                    ui.close();
                }
            }
        });
    });
    if ui.button("Clear").on_hover_text("Show all spans alike again").clicked() {
        state.search.clear();
    }
}

fn selection_ui(
    ui: &mut Ui,
    input: &TimelineInput<'_>,
    palette: &Palette,
    state: &mut TimelineState,
    commands: &mut Vec<Command>,
) {
    if let (Some((_, _, details)), None) = (&state.details, input.range_ns) {
        details_ui(ui, details, commands);
        return;
    }
    ui.columns(if state.details.is_some() { 2 } else { 1 }, |columns| {
        let (last, first) = match columns {
            [only] => (only, None),
            [first, last, ..] => (last, Some(first)),
            [] => return,
        };
        if let (Some(ui), Some((_, _, details))) = (first, &state.details) {
            details_ui(ui, details, commands);
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

fn details_ui(ui: &mut Ui, details: &Details, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.strong(&details.name);
        if !details.category.is_empty() {
            ui.weak(&details.category);
        }
        if ui.button("Copy").on_hover_text("Copy these details as text").clicked() {
            commands.push(Command::CopyText(details.to_text()));
        }
        if ui.button("All of this name").on_hover_text("Light up every span of this name").clicked() {
            commands.push(Command::SelectName(details.name.clone()));
        }
    });
    egui::ScrollArea::vertical().id_salt("details").auto_shrink([false, false]).show(ui, |ui| {
        egui::Grid::new("details grid").num_columns(2).striped(true).spacing([16.0, 2.0]).show(ui, |ui| {
            let duration = |ns: &i64| units::duration_ns(*ns as f64);
            known_row(ui, "Duration", &details.dur_ns, duration);
            known_row(ui, "Self time", &details.self_ns, duration);
            row(ui, "Start", &clock_text(details.start_ns as f64));
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
            known_row(ui, "Step", &details.step, ToString::to_string);
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
