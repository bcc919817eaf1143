//! The call trees of two traces laid over one another: as wide as the longer of both, told by colour and sign what became
//! longer or shorter.

use super::super::PanelContext;
use super::super::palette::Palette;
use crate::analysis::diff::flame::DiffNode;
use crate::model::units;
use crate::session::Command;
use crate::session::traces::TraceDiff;
use crate::timeline::flame::{FlameEvent, FlameGraph, FlameItem, FlameLook, FlameView};
use egui::{Color32, Ui};
use std::sync::Arc;

/// Relative change at which a colour is at its strongest.
const FULL_CHANGE: f64 = 0.5;

/// State between frames.
#[derive(Debug, Default)]
pub struct DiffFlame {
    made: Option<(Arc<TraceDiff>, Arc<FlameGraph>)>,
    view: FlameView,
    path: Vec<String>,
}

impl DiffFlame {
    /// Draws the graph into the space that is left.
    pub fn ui(&mut self, cx: &PanelContext<'_>, ui: &mut Ui, result: &Arc<TraceDiff>) {
        let graph = match &self.made {
            Some((of, graph)) if Arc::ptr_eq(of, result) => Arc::clone(graph),
            _ => {
                let graph = Arc::new(graph_of(&result.diff.flame));
                self.made = Some((Arc::clone(result), Arc::clone(&graph)));
                self.path.clear();
                graph
            }
        };
        let palette = Palette::of(cx.tokens);
        ui.horizontal_wrapped(|ui| {
            for (color, words) in [(palette.bad, "longer in B"), (palette.good, "shorter in B")] {
                super::super::compare::swatch(ui, color);
                ui.label(words);
            }
            ui.weak("Each box is as wide as its time in the trace where it takes longer; click to zoom in");
            if ui.add_enabled(!self.path.is_empty(), egui::Button::new("Whole tree")).clicked() {
                self.path.clear();
            }
            if ui.button("Copy").on_hover_text("Copy the places that changed most as text").clicked() {
                cx.send(Command::CopyText(places_text(result)));
            }
        });
        let neutral = cx.tokens.canvas.grid;
        let color = |item: &FlameItem| change_color(item, neutral, &palette);
        let selected = cx.session.selection().name.as_deref();
        let look = FlameLook {
            color: &color,
            search: "",
            selected,
            background: palette.canvas.background,
            selection: palette.canvas.selection,
        };
        let root = graph.find(&self.path);
        if let Some(FlameEvent::Zoom(node)) = self.view.ui(ui, &graph, root, &look) {
            self.path = graph.path(node).into_iter().map(str::to_owned).collect();
            if let Some(name) = self.path.last() {
                cx.send(Command::SelectName(name.clone()));
            }
        }
    }
}

fn change_color(item: &FlameItem, neutral: Color32, palette: &Palette) -> Color32 {
    let (a, b) = item.change.unwrap_or((0.0, 0.0));
    let relative = if a.max(b) > 0.0 { (b - a) / a.max(b) } else { 0.0 };
    let strength = (relative.abs() / FULL_CHANGE).min(1.0) as f32;
    neutral.lerp_to_gamma(if relative > 0.0 { palette.bad } else { palette.good }, strength)
}

fn graph_of(root: &DiffNode) -> FlameGraph {
    let mut graph = FlameGraph::default();
    add(&mut graph, root, 0);
    graph
}

fn add(graph: &mut FlameGraph, node: &DiffNode, parent: usize) -> usize {
    let idx = graph.items.len();
    graph.items.push(FlameItem {
        name: node.name.clone(),
        total_ns: node.a_ns.max(node.b_ns),
        self_ns: 0.0,
        count: 0,
        change: Some((node.a_ns, node.b_ns)),
        children: Vec::new(),
        parent,
    });
    let children = node.children.iter().map(|child| add(graph, child, idx)).collect();
    if let Some(item) = graph.items.get_mut(idx) {
        item.children = children;
    }
    idx
}

fn places_text(result: &TraceDiff) -> String {
    let mut text = "change\tA\tB\tplace".to_owned();
    for place in &result.diff.places {
        text.push_str(&format!(
            "\n{}\t{}\t{}\t{}",
            units::signed_duration_ns(place.b_ns - place.a_ns),
            units::duration_ns(place.a_ns),
            units::duration_ns(place.b_ns),
            place.path.join(" > ")
        ));
    }
    text
}
