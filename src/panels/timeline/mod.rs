//! The timeline panel: search and view controls, the canvas, and under it what is selected.

mod details;
mod marks;
mod matches;
mod selection;
#[cfg(test)]
mod tests;
mod toolbar;
mod totals;

use super::palette::Palette;
use super::table::{Direction, RowOrder};
use crate::analysis::matches::Match;
use crate::analysis::profile::StepSpan;
use crate::session::{Command, Place};
use crate::timeline::paint::SpanLook;
use crate::timeline::tree::TrackSource;
use crate::timeline::{CanvasEvent, CanvasInput, TimelineCanvas, TrackTree};
use crate::trace::search::NameSet;
use crate::trace::{NameId, SpanRef, Trace};
use details::Details;
use egui::Ui;
use marks::Marks;
use matches::Matches;
use std::collections::BTreeSet;
use std::path::Path;
use totals::{NameTotal, RangeTotals};

/// Names that are offered for a search text; more would not fit on the screen.
const MAX_NAMES: usize = 200;

/// How near to a mark M takes it away instead of setting another, in pixels.
const MARK_REACH_PX: f64 = 5.0;

/// What the panel shows.
pub struct TimelineInput<'a> {
    /// Name of the run or file, by which a change is noticed.
    pub run: &'a str,
    /// Where it is, for links to places in it.
    pub path: &'a Path,
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
    /// The steps as the profile found them; `None` while it is being worked out.
    pub steps: Option<&'a [StepSpan]>,
}

/// A movement that the window asked for and the next frame makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Fit,
    Selection,
    Place(Place),
    Mark,
    NextMark,
    Link,
}

/// State of the panel between frames.
#[derive(Debug)]
pub struct TimelineState {
    canvas: TimelineCanvas,
    run: String,
    collapsed: BTreeSet<TrackSource>,
    pinned: Vec<TrackSource>,
    order: Vec<TrackSource>,
    marks: Marks,
    track_filter: String,
    tree: Option<(u64, TrackTree)>,
    search: String,
    found: Option<Found>,
    focus_search: bool,
    asked: Option<Asked>,
    details: Option<(SpanRef, u64, Details)>,
    totals: RangeTotals,
    totals_order: RowOrder<NameTotal>,
    matches: Matches,
    matches_order: RowOrder<Match>,
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
            order: Vec::new(),
            marks: Marks::default(),
            track_filter: String::new(),
            tree: None,
            search: String::new(),
            found: None,
            focus_search: false,
            asked: None,
            details: None,
            totals: RangeTotals::default(),
            totals_order: RowOrder::by("Total", Direction::Descending),
            matches: Matches::default(),
            matches_order: RowOrder::by("Duration", Direction::Descending),
        }
    }
}

impl TimelineState {
    /// Carries out commands that concern this panel's pixels; others are ignored.
    pub fn on_command(&mut self, command: &Command) {
        match command {
            Command::ZoomFit => self.asked = Some(Asked::Fit),
            Command::ZoomSelection => self.asked = Some(Asked::Selection),
            Command::GoTo(place) => self.asked = Some(Asked::Place(*place)),
            Command::ToggleMark => self.asked = Some(Asked::Mark),
            Command::NextMark => self.asked = Some(Asked::NextMark),
            Command::CopyLink => self.asked = Some(Asked::Link),
            Command::FocusSearch => self.focus_search = true,
            _ => {}
        }
    }

    /// The canvas, for tests that look where spans were drawn.
    pub fn canvas(&self) -> &TimelineCanvas {
        &self.canvas
    }

    /// Forgets everything of another run but its marks.
    fn enter(&mut self, input: &TimelineInput<'_>) {
        if self.run != input.run {
            let (search, marks) = (std::mem::take(&mut self.search), std::mem::take(&mut self.marks));
            let asked = self.asked.take();
            *self = Self { run: input.run.to_owned(), search, marks, asked, ..Self::default() };
        }
        let generation = input.trace.generation();
        if self.tree.as_ref().is_none_or(|(known, _)| *known != generation) {
            let tree =
                TrackTree::of(input.trace, &self.collapsed).arranged(&self.order, &self.pinned, &self.track_filter);
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
    toolbar::ui(ui, input, state, &mut commands);
    look_for(ui, input, state);
    if state.details.is_none() && input.range_ns.is_none() && input.name.is_none() && state.found.is_none() {
        // Nothing is selected: the room belongs to the tracks.
        egui::Panel::bottom("timeline hint").resizable(false).show(ui, |ui| {
            ui.weak("Click a span to see its details. Drag with Shift held to sum up a stretch of time");
        });
    } else {
        egui::Panel::bottom("timeline selection").resizable(true).default_size(190.0).min_size(56.0).show(ui, |ui| {
            selection::ui(ui, input, palette, state, &mut commands);
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
    move_canvas(ui, input, state, &mut commands);
    let color = |span: &crate::trace::Span| palette.span(input.trace, span);
    let in_search = |name: NameId| state.found.as_ref().is_some_and(|found| found.set.contains(name));
    let selected_name = input.name.filter(|_| input.span.is_none()).and_then(|name| input.trace.find_name(name));
    let in_selection = |name: NameId| selected_name == Some(name);
    let hit: Option<&dyn Fn(NameId) -> bool> = match (&state.found, selected_name) {
        (Some(_), _) => Some(&in_search),
        (None, Some(_)) => Some(&in_selection),
        (None, None) => None,
    };
    let found = state.matches.found().cloned();
    let canvas_input = CanvasInput {
        trace: input.trace,
        tree: &tree,
        live: input.live,
        selected: input.span,
        range_ns: input.range_ns,
        marks: state.marks.of(input.run),
        hits: found.as_ref().map_or(&[], |found| &found.columns),
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
            CanvasEvent::MoveTrack(source, before) => {
                state.order = moved(state.tree.as_ref().map(|(_, tree)| tree), source, before);
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

/// Looks in the background for all spans that the search, or else the selected name, finds.
fn look_for(ui: &Ui, input: &TimelineInput<'_>, state: &mut TimelineState) {
    let ctx = ui.ctx().clone();
    let wake = move || ctx.request_repaint();
    match (&state.found, input.name) {
        (Some(found), _) => state.matches.request(input.trace, found.text.trim(), false, wake),
        (None, Some(name)) => state.matches.request(input.trace, name, true, wake),
        (None, None) => state.matches.clear(),
    }
}

/// The order of all tracks after one was put before another, or at the end.
fn moved(tree: Option<&TrackTree>, source: TrackSource, before: Option<TrackSource>) -> Vec<TrackSource> {
    let mut order: Vec<TrackSource> =
        tree.iter().flat_map(|tree| tree.tracks.iter().map(|track| track.source)).collect();
    order.retain(|known| *known != source);
    let at = before.and_then(|before| order.iter().position(|known| *known == before)).unwrap_or(order.len());
    order.insert(at, source);
    order
}

fn move_canvas(ui: &Ui, input: &TimelineInput<'_>, state: &mut TimelineState, commands: &mut Vec<Command>) {
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
        // Where a place is, is known when all is read.
        Some(asked @ Asked::Place(_)) if input.loading => state.asked = Some(asked),
        Some(Asked::Place(place)) => {
            state.canvas.show(place.start_ns as f64, place.end_ns as f64);
            if let Some(span) = place.span.filter(|span| input.trace.span(*span).is_some()) {
                commands.push(Command::Select(span));
            }
        }
        Some(Asked::Mark) => {
            let selected = state.details.as_ref().map(|(_, _, details)| details.start_ns as f64);
            let middle = || state.canvas.shown().map(|(from, to)| (from + to) / 2.0);
            if let Some(at) = state.canvas.hover_ns().or(selected).or_else(middle) {
                let near = state.canvas.view().map_or(0.0, |view| view.ns_per_px * MARK_REACH_PX);
                state.marks.toggle(input.run, origin.saturating_add(at.round() as i64), near.ceil() as i64);
                // The toolbar of this frame does not know it yet.
                ui.ctx().request_repaint();
            }
        }
        Some(Asked::NextMark) => {
            if let Some(mark) = state.marks.next(input.run) {
                go_to_mark(state, mark.saturating_sub(origin) as f64);
            }
        }
        Some(Asked::Link) => {
            if let Some((from, to)) = state.canvas.shown() {
                let (start_ns, end_ns) = (from.floor() as i64, to.ceil() as i64);
                let place = Place { start_ns, end_ns: end_ns.max(start_ns.saturating_add(1)), span: input.span };
                commands.push(Command::CopyText(place.command_line(input.path)));
            }
        }
        None => {}
    }
}

/// Moves the view, without zooming, so that a mark is in its middle.
fn go_to_mark(state: &mut TimelineState, at: f64) {
    if let Some((from, to)) = state.canvas.shown() {
        let half = (to - from) / 2.0;
        state.canvas.show(at - half, at + half);
    }
}
