//! The Flame panel: where the time of a run goes, merged over all steps or in the order of time within one step.

use super::callers::CallersView;
use super::palette::Palette;
use super::strip::{Strip, strip_ui};
use crate::analysis::FlameNode;
use crate::model::track::name;
use crate::model::{category, units};
use crate::session::Command;
use crate::timeline::TrackTree;
use crate::timeline::flame::{FlameEvent, FlameGraph, FlameItem, FlameLook, FlameView};
use crate::timeline::layout::LayoutCache;
use crate::timeline::tree::TrackSource;
use crate::trace::{NameId, SpanRef, Trace, TrackId};
use egui::Ui;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the panel shows.
pub struct FlameInput<'a> {
    /// Name of the run or file, by which a change is noticed.
    pub run: &'a str,
    /// Its spans.
    pub trace: &'a Trace,
    /// The spans merged by their place, a tree for each track; `None` while they are being merged.
    pub merged: Option<&'a Arc<Vec<FlameNode>>>,
    /// The selected span.
    pub span: Option<SpanRef>,
    /// The selected name.
    pub name: Option<&'a str>,
    /// The selected stretch, in nanoseconds of the trace.
    pub range_ns: Option<(i64, i64)>,
}

/// What the graph's width means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlameMode {
    /// Equal paths merged, the longest first.
    #[default]
    Merged,
    /// One step as it went.
    Step,
    /// The selected stretch as it went.
    Selection,
    /// Who calls the selected name, and what it calls.
    Callers,
}

/// State of the panel between frames.
#[derive(Debug, Default)]
pub struct FlameState {
    run: String,
    mode: FlameMode,
    view: FlameView,
    path: Vec<String>,
    /// Name of the track whose tree is shown; empty = the first choice.
    track: String,
    graph: Option<(Arc<Vec<FlameNode>>, usize, Arc<FlameGraph>)>,
    search: String,
    focus_search: bool,
    step: usize,
    steps: Option<(u64, Vec<SpanRef>)>,
    layout: LayoutCache,
    callers: CallersView,
}

impl FlameState {
    /// Carries out commands that concern this panel's pixels; others are ignored.
    pub fn on_command(&mut self, command: &Command) {
        match command {
            Command::FocusSearch => self.focus_search = true,
            Command::ZoomFit => self.path.clear(),
            _ => {}
        }
    }

    /// The steps of the trace; looked for again only when it has grown.
    fn steps(&mut self, trace: &Trace) -> &[SpanRef] {
        if self.steps.as_ref().is_none_or(|(generation, _)| *generation != trace.generation()) {
            self.steps = Some((trace.generation(), find_steps(trace)));
        }
        self.steps.as_ref().map(|(_, steps)| steps.as_slice()).unwrap_or_default()
    }

    /// The graph of the chosen track, made anew only when the trees or the choice have changed.
    fn graph(&mut self, trees: &Arc<Vec<FlameNode>>) -> Option<Arc<FlameGraph>> {
        let named = trees.iter().position(|tree| tree.name == self.track);
        let idx = named.unwrap_or_else(|| first_choice(trees));
        if let Some((known, known_idx, graph)) = &self.graph
            && Arc::ptr_eq(known, trees)
            && *known_idx == idx
        {
            return Some(Arc::clone(graph));
        }
        let graph = Arc::new(graph_of(trees.get(idx)?));
        self.graph = Some((Arc::clone(trees), idx, Arc::clone(&graph)));
        Some(graph)
    }

    fn chosen_step(&mut self, trace: &Trace) -> Option<SpanRef> {
        let step = self.step;
        self.steps(trace).get(step).copied()
    }
}

/// The tree that is shown at first: the training thread's, else the one with the most time.
fn first_choice(trees: &[FlameNode]) -> usize {
    let training = trees.iter().position(|tree| tree.name == name::TRAINING);
    let telling = |&idx: &usize| trees.get(idx).map(|tree| (levels(tree, 4), tree.total_ns));
    training.or_else(|| (0..trees.len()).max_by_key(telling)).unwrap_or(0)
}

/// A merged tree as the widget draws it.
pub(super) fn graph_of(root: &FlameNode) -> FlameGraph {
    let mut graph = FlameGraph::default();
    add_node(&mut graph, root, 0);
    graph
}

fn add_node(graph: &mut FlameGraph, node: &FlameNode, parent: usize) -> usize {
    let idx = graph.items.len();
    graph.items.push(FlameItem {
        name: node.name.clone(),
        total_ns: node.total_ns as f64,
        self_ns: node.self_ns as f64,
        count: node.count,
        change: None,
        children: Vec::new(),
        parent,
    });
    let children = node.children.iter().map(|child| add_node(graph, child, idx)).collect();
    if let Some(item) = graph.items.get_mut(idx) {
        item.children = children;
    }
    idx
}

/// All spans of the step category on the first track that has them. Looks at whole lanes whose first span is a step.
fn find_steps(trace: &Trace) -> Vec<SpanRef> {
    let Some(step) = trace.find_name(category::STEP) else { return Vec::new() };
    for track in trace.tracks() {
        for (depth, lane) in track.lanes().iter().enumerate() {
            if lane.iter().take(MAX_LOOK).any(|span| span.category == step) {
                let at = |idx: usize| SpanRef { track: track.id, depth: depth as u16, idx: idx as u32 };
                let hits = lane.iter().enumerate().filter(|(_, span)| span.category == step);
                return hits.map(|(idx, _)| at(idx)).collect();
            }
        }
    }
    Vec::new()
}

/// Spans of a lane that are looked at for a step before the lane is taken to have none.
const MAX_LOOK: usize = 256;

/// Draws the panel and returns what the user asked for.
pub fn flame_view(ui: &mut Ui, input: &FlameInput<'_>, palette: &Palette, state: &mut FlameState) -> Vec<Command> {
    let mut commands = Vec::new();
    if state.run != input.run {
        *state = FlameState { run: input.run.to_owned(), mode: state.mode, ..FlameState::default() };
    }
    if input.trace.bounds().is_none() {
        ui.centered_and_justified(|ui| {
            ui.weak("There are no spans to draw: nothing was recorded, or it is still being read")
        });
        return commands;
    }
    toolbar_ui(ui, input, state, &mut commands);
    match state.mode {
        FlameMode::Merged => merged_ui(ui, input, palette, state, &mut commands),
        FlameMode::Step => match state.chosen_step(input.trace) {
            Some(step) => {
                let ends = input.trace.span(step).map(|span| (span.start_ns, span.end_ns()));
                time_ui(ui, input, palette, state, (step.track, ends), &mut commands);
            }
            None => {
                ui.centered_and_justified(|ui| {
                    ui.weak("This trace has no training steps; mark a stretch in the timeline instead")
                });
            }
        },
        FlameMode::Callers => state.callers.ui(ui, input, palette, &mut commands),
        FlameMode::Selection => match input.range_ns {
            Some(range) => {
                let track = input.span.map(|span| span.track).or_else(|| busiest(input.trace));
                if let Some(track) = track {
                    time_ui(ui, input, palette, state, (track, Some(range)), &mut commands);
                }
            }
            None => {
                ui.centered_and_justified(|ui| {
                    ui.weak("No stretch of time is selected: drag in the timeline with Shift held")
                });
            }
        },
    }
    commands
}

/// Levels of a tree, `most` at most: a track with one span from end to end tells less than one with calls in it.
fn levels(tree: &FlameNode, most: usize) -> usize {
    if most == 0 { 0 } else { 1 + tree.children.iter().map(|child| levels(child, most - 1)).max().unwrap_or(0) }
}

/// The track with the deepest nesting, which has the most to show.
fn busiest(trace: &Trace) -> Option<TrackId> {
    trace.tracks().iter().max_by_key(|track| track.depth_count()).map(|track| track.id)
}

fn toolbar_ui(ui: &mut Ui, input: &FlameInput<'_>, state: &mut FlameState, commands: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        ui.selectable_value(&mut state.mode, FlameMode::Merged, "Merged")
            .on_hover_text("Equal paths merged over the whole run");
        ui.selectable_value(&mut state.mode, FlameMode::Step, "One step")
            .on_hover_text("A single step in the order of time");
        ui.selectable_value(&mut state.mode, FlameMode::Selection, "Selection")
            .on_hover_text("The stretch that is selected in the timeline");
        ui.selectable_value(&mut state.mode, FlameMode::Callers, "Callers and callees")
            .on_hover_text("Who calls the selected name, and what it calls");
        ui.separator();
        if state.mode == FlameMode::Step {
            step_ui(ui, input.trace, state);
        }
        let label = ui.label("Search");
        let field = egui::TextEdit::singleline(&mut state.search).hint_text("part of a name").desired_width(160.0);
        let field = ui.add(field).labelled_by(label.id);
        if std::mem::take(&mut state.focus_search) {
            field.request_focus();
        }
        if state.mode == FlameMode::Merged
            && let Some(trees) = input.merged
        {
            track_ui(ui, trees, state);
            if ui.add_enabled(!state.path.is_empty(), egui::Button::new("Whole run")).clicked() {
                state.path.clear();
            }
            if ui.button("Copy").on_hover_text("Copy what is shown as text").clicked()
                && let Some(graph) = state.graph(trees)
            {
                commands.push(Command::CopyText(graph.to_text(graph.find(&state.path))));
            }
        }
    });
}

fn track_ui(ui: &mut Ui, trees: &Arc<Vec<FlameNode>>, state: &mut FlameState) {
    let Some(graph) = state.graph(trees) else { return };
    let shown = graph.items.first().map(|root| root.name.clone()).unwrap_or_default();
    ui.menu_button(shown.as_str(), |ui| {
        for tree in trees.iter() {
            let text = format!("{}  {}", tree.name, units::duration_ns(tree.total_ns as f64));
            if ui.selectable_label(tree.name == shown, text).clicked() {
                state.track.clone_from(&tree.name);
                state.path.clear();
                ui.close();
            }
        }
    });
}

fn step_ui(ui: &mut Ui, trace: &Trace, state: &mut FlameState) {
    let last = state.steps(trace).len().saturating_sub(1);
    let label = ui.label("Step");
    let mut step = state.step.min(last);
    ui.add(egui::DragValue::new(&mut step).range(0..=last)).labelled_by(label.id);
    if ui.add_enabled(step > 0, egui::Button::new("Previous")).clicked() {
        step -= 1;
    }
    if ui.add_enabled(step < last, egui::Button::new("Next")).clicked() {
        step += 1;
    }
    state.step = step;
    ui.weak(format!("of {}", units::count(last as u64 + 1)));
}

fn merged_ui(
    ui: &mut Ui,
    input: &FlameInput<'_>,
    palette: &Palette,
    state: &mut FlameState,
    commands: &mut Vec<Command>,
) {
    let Some(trees) = input.merged else {
        ui.centered_and_justified(|ui| ui.weak("Merging the spans…"));
        return;
    };
    let Some(graph) = state.graph(trees) else {
        ui.centered_and_justified(|ui| ui.weak("No track of this trace has spans"));
        return;
    };
    let root = graph.find(&state.path);
    if !state.path.is_empty() {
        path_ui(ui, state);
    }
    let color = |item: &FlameItem| palette.named(&item.name);
    let search = state.search.trim().to_lowercase();
    let look = FlameLook {
        color: &color,
        search: &search,
        selected: input.name,
        background: palette.canvas.background,
        selection: palette.canvas.selection,
    };
    if let Some(FlameEvent::Zoom(node)) = state.view.ui(ui, &graph, root, &look) {
        state.path = graph.path(node).into_iter().map(str::to_owned).collect();
        if let Some(name) = state.path.last() {
            commands.push(Command::SelectName(name.clone()));
        }
    }
}

/// The way from the root to what is shown; a click on a part of it goes back there.
fn path_ui(ui: &mut Ui, state: &mut FlameState) {
    let mut keep = None;
    ui.horizontal_wrapped(|ui| {
        if ui.link("All").clicked() {
            keep = Some(0);
        }
        for (idx, name) in state.path.iter().enumerate() {
            ui.weak("›");
            if ui.link(name).clicked() {
                keep = Some(idx + 1);
            }
        }
    });
    if let Some(keep) = keep {
        state.path.truncate(keep);
    }
}

/// One track between two times, in the order of time.
fn time_ui(
    ui: &mut Ui,
    input: &FlameInput<'_>,
    palette: &Palette,
    state: &mut FlameState,
    (track, ends): (TrackId, Option<(i64, i64)>),
    commands: &mut Vec<Command>,
) {
    let (Some((from, to)), Some((origin, last))) = (ends, input.trace.bounds()) else { return };
    let mut tree = TrackTree::of(input.trace, &BTreeSet::new());
    tree.tracks.retain(|shown| shown.source == TrackSource::Spans(track));
    let needle = state.search.trim().to_lowercase();
    let found = |name: NameId| input.trace.name(name).to_lowercase().contains(&needle);
    let hit: Option<&dyn Fn(NameId) -> bool> = if needle.is_empty() { None } else { Some(&found) };
    let to = to.min(last).saturating_sub(origin);
    let strip = Strip {
        trace: input.trace,
        tree: &tree,
        from_ns: from.saturating_sub(origin),
        to_ns: to,
        zero_ns: 0,
        named: false,
        hit,
    };
    if let Some(clicked) = strip_ui(ui, "Flame graph", &strip, palette, &mut state.layout) {
        commands.push(clicked.map_or(Command::ClearSelection, Command::Select));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::analysis::flame::merged;
    use crate::panels::testing::{palette, planted_trace};
    use egui::vec2;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    struct Probe {
        trace: Trace,
        merged: Arc<Vec<FlameNode>>,
        state: FlameState,
        commands: Vec<Command>,
    }

    fn harness() -> Harness<'static, Probe> {
        let trace = planted_trace(3);
        let trees = trace.tracks().iter().map(|track| merged(&trace, track)).collect();
        let probe = Probe { trace, merged: Arc::new(trees), state: FlameState::default(), commands: Vec::new() };
        let mut harness = Harness::builder().with_size(egui::vec2(1000.0, 400.0)).build_ui_state(
            |ui, probe: &mut Probe| {
                let input = FlameInput {
                    run: "planted",
                    trace: &probe.trace,
                    merged: Some(&probe.merged),
                    span: None,
                    name: None,
                    range_ns: None,
                };
                let commands = flame_view(ui, &input, &palette(true), &mut probe.state);
                probe.commands.extend(commands);
            },
            probe,
        );
        harness.run();
        harness
    }

    fn click(harness: &mut Harness<'_, Probe>, pos: egui::Pos2) {
        harness.drag_at(pos);
        // One frame: work in the background may ask for more, and a button that is held for long is no click.
        harness.step();
        harness.drop_at(pos);
        harness.run();
    }

    #[test]
    fn a_click_zooms_in_and_the_path_leads_back() {
        let mut harness = harness();
        harness.get_by_label("Training thread");
        let canvas = harness.get_by_label("Flame graph").rect();
        // Below the root: the first step; all are equally long.
        click(&mut harness, canvas.left_top() + vec2(20.0, 30.0));
        assert_eq!(harness.state().state.path.len(), 1);
        let selected = harness.state().state.path[0].clone();
        assert_eq!(harness.state().commands, [Command::SelectName(selected)]);
        harness.get_by_label("All").click();
        harness.run();
        assert!(harness.state().state.path.is_empty());
    }

    #[test]
    fn one_step_is_drawn_in_the_order_of_time() {
        let mut harness = harness();
        harness.get_by_label("One step").click();
        harness.run();
        harness.get_by_label("of 3");
        harness.get_by_label("Next").click();
        harness.run();
        assert_eq!(harness.state().state.step, 1);
        let canvas = harness.get_by_label("Flame graph").rect();
        click(&mut harness, canvas.left_top() + vec2(500.0, 8.0));
        let Some(Command::Select(span)) = harness.state().commands.last() else { panic!("nothing selected") };
        let found = harness.state().trace.span(*span).unwrap();
        assert_eq!(harness.state().trace.name(found.name), "Step 1");
    }

    #[test]
    fn the_graph_keeps_times_and_parents() {
        let trace = planted_trace(2);
        let training = trace.tracks().iter().find(|track| track.name == name::TRAINING).unwrap();
        let tree = merged(&trace, training);
        let graph = graph_of(&tree);
        assert_eq!(graph.items[0].total_ns, tree.total_ns as f64);
        for (idx, item) in graph.items.iter().enumerate() {
            assert!(item.children.iter().all(|&child| graph.items[child].parent == idx));
        }
    }
}
