//! Draws a merged flame graph: boxes placed by [`super::icicle`], with search highlight, tooltip and zoom by click.
//!
//! Knows names, times and counts of nodes only; the panel makes them from the analysis.

use super::icicle::{self, Block, Tree};
use super::marks::text_color_on;
use crate::model::units;
use egui::text::{LayoutJob, TextWrapping};
use egui::{Color32, FontId, Mesh, Rect, Sense, Shape, Ui, pos2, vec2};
use std::sync::Arc;

/// Height of a row, in points.
pub const ROW_HEIGHT: f32 = 20.0;

/// Boxes narrower than this are not drawn, in points.
const LEAST_PX: f32 = 1.0;

/// Boxes narrower than this carry no text.
const MIN_TEXT_PX: f32 = 32.0;

/// Deeper boxes are not drawn.
const MAX_DEPTH: usize = 128;

/// One node of a flame graph.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameItem {
    /// Its name.
    pub name: String,
    /// Time in it and in all under it, in nanoseconds.
    pub total_ns: f64,
    /// Time in it alone.
    pub self_ns: f64,
    /// Spans that were merged; 0 where two graphs are laid over one another.
    pub count: u64,
    /// Time in a first and a second run, where two graphs are laid over one another.
    pub change: Option<(f64, f64)>,
    /// Its children in [`FlameGraph::items`], the largest first.
    pub children: Vec<usize>,
    /// The node above it; the root's is itself.
    pub parent: usize,
}

/// A flame graph; the first item is the root.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlameGraph {
    /// All nodes.
    pub items: Vec<FlameItem>,
}

impl FlameGraph {
    /// Names from the root's child down to a node.
    pub fn path(&self, mut node: usize) -> Vec<&str> {
        let mut names = Vec::new();
        while let Some(item) = self.items.get(node) {
            if node == 0 {
                break;
            }
            names.push(item.name.as_str());
            node = item.parent;
        }
        names.reverse();
        names
    }

    /// The node that a path leads to; as far as it exists.
    pub fn find(&self, path: &[String]) -> usize {
        let mut node = 0;
        for name in path {
            let children = self.items.get(node).map(|item| item.children.as_slice()).unwrap_or_default();
            let next = children.iter().find(|&&child| self.items.get(child).is_some_and(|item| item.name == *name));
            let Some(&next) = next else { break };
            node = next;
        }
        node
    }

    /// Everything under a node as indented text: name, total, self, count.
    pub fn to_text(&self, node: usize) -> String {
        let mut text = String::from("total\tself\tcount\tname");
        let mut stack = vec![(node, 0_usize)];
        while let Some((node, depth)) = stack.pop() {
            let Some(item) = self.items.get(node) else { continue };
            text.push_str(&format!(
                "\n{}\t{}\t{}\t{}{}",
                units::duration_ns(item.total_ns),
                units::duration_ns(item.self_ns),
                units::count(item.count),
                "  ".repeat(depth),
                item.name
            ));
            stack.extend(item.children.iter().rev().map(|&child| (child, depth + 1)));
        }
        text
    }
}

/// What the user did.
#[derive(Debug, Clone, PartialEq)]
pub enum FlameEvent {
    /// Clicked a node: show it as wide as the window, and select its name.
    Zoom(usize),
}

/// State of a flame graph between frames.
#[derive(Debug, Default)]
pub struct FlameView {
    placed: Option<Placed>,
}

#[derive(Debug)]
struct Placed {
    graph: Arc<FlameGraph>,
    root: usize,
    width: u32,
    blocks: Vec<Block>,
}

/// How a flame graph is drawn.
pub struct FlameLook<'a> {
    /// Fill of a box.
    pub color: &'a dyn Fn(&FlameItem) -> Color32,
    /// Lower-case text; boxes whose name does not contain it are dimmed. Empty: none are.
    pub search: &'a str,
    /// The selected name.
    pub selected: Option<&'a str>,
    /// Behind the boxes.
    pub background: Color32,
    /// Around selected boxes.
    pub selection: Color32,
}

impl FlameView {
    /// Draws everything under `root`, with the nodes above it as full-width rows, and returns what the user did.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        graph: &Arc<FlameGraph>,
        root: usize,
        look: &FlameLook<'_>,
    ) -> Option<FlameEvent> {
        let mut event = None;
        egui::ScrollArea::vertical().id_salt("flame").auto_shrink([false, false]).show(ui, |ui| {
            let width = ui.available_width();
            let blocks = self.blocks(graph, root, width);
            let depth = blocks.iter().map(|block| block.depth + 1).max().unwrap_or(0);
            let height = (depth as f32 * ROW_HEIGHT).max(ui.available_height());
            let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::click());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Flame graph"));
            paint(ui, rect, graph, blocks, look);
            let block_at = |pos: egui::Pos2| blocks.iter().find(|block| block_rect(rect, block).contains(pos));
            if let Some(block) = response.hover_pos().and_then(block_at) {
                let whole = graph.items.first().map_or(0.0, |item| item.total_ns);
                response.clone().on_hover_ui_at_pointer(|ui| node_ui(ui, graph, block.node, whole));
            }
            if response.clicked()
                && let Some(block) = response.interact_pointer_pos().and_then(block_at)
            {
                event = Some(FlameEvent::Zoom(block.node));
            }
        });
        event
    }

    /// The boxes, placed anew only when graph, root or width have changed.
    fn blocks(&mut self, graph: &Arc<FlameGraph>, root: usize, width: f32) -> &[Block] {
        let width = width.max(1.0) as u32;
        let stale = self
            .placed
            .as_ref()
            .is_none_or(|placed| !(Arc::ptr_eq(&placed.graph, graph) && placed.root == root && placed.width == width));
        if stale {
            let value = |node: usize| graph.items.get(node).map_or(0.0, |item| item.total_ns);
            let children = |node: usize| graph.items.get(node).map(|item| item.children.clone()).unwrap_or_default();
            let least = f64::from(LEAST_PX) / f64::from(width);
            let blocks = icicle::place(&Tree { value: &value, children: &children }, root, least, MAX_DEPTH);
            self.placed = Some(Placed { graph: Arc::clone(graph), root, width, blocks });
        }
        self.placed.as_ref().map(|placed| placed.blocks.as_slice()).unwrap_or_default()
    }
}

fn block_rect(area: Rect, block: &Block) -> Rect {
    let x = |share: f64| area.left() + (share * f64::from(area.width())) as f32;
    let top = area.top() + block.depth as f32 * ROW_HEIGHT;
    Rect::from_min_max(pos2(x(block.left), top), pos2(x(block.right), top + ROW_HEIGHT - 1.0))
}

fn paint(ui: &Ui, area: Rect, graph: &FlameGraph, blocks: &[Block], look: &FlameLook<'_>) {
    let painter = ui.painter_at(area);
    let mut mesh = Mesh::default();
    let mut texts = Vec::new();
    for block in blocks {
        let rect = block_rect(area, block);
        let (Some(item), true) = (graph.items.get(block.node), ui.is_rect_visible(rect)) else { continue };
        let mut fill = (look.color)(item);
        let found = look.search.is_empty() || item.name.to_lowercase().contains(look.search);
        if !found {
            fill = fill.lerp_to_gamma(look.background, 0.75);
        }
        let body = if rect.width() > 3.0 { rect.with_max_x(rect.right() - 1.0) } else { rect };
        mesh.add_colored_rect(body, fill);
        if body.width() >= MIN_TEXT_PX {
            let color = if found { text_color_on(fill) } else { ui.visuals().weak_text_color() };
            texts.push((body, item, color, look.selected == Some(item.name.as_str())));
        }
    }
    painter.add(Shape::mesh(mesh));
    for (body, item, color, selected) in texts {
        let text = match item.change {
            Some((a, b)) => format!("{}  {}", item.name, units::signed_duration_ns(b - a)),
            None => format!("{}  {}", item.name, units::duration_ns(item.total_ns)),
        };
        let mut job = LayoutJob::simple_singleline(text, FontId::proportional(11.0), color);
        job.wrap = TextWrapping::truncate_at_width((body.width() - 8.0).floor());
        let galley = painter.layout_job(job);
        painter.galley(pos2(body.left() + 4.0, body.center().y - galley.size().y / 2.0), galley, color);
        if selected {
            super::marks::paint_outline(&painter, body, look.selection);
        }
    }
}

fn node_ui(ui: &mut Ui, graph: &FlameGraph, node: usize, whole_ns: f64) {
    let Some(item) = graph.items.get(node) else { return };
    let share = |ns: f64| if whole_ns > 0.0 { units::percent(ns / whole_ns) } else { "–".to_owned() };
    ui.strong(&item.name);
    if let Some((a, b)) = item.change {
        egui::Grid::new("flame node").num_columns(2).show(ui, |ui| {
            let relative = if a > 0.0 { format!(" ({})", units::signed_percent(b / a - 1.0)) } else { String::new() };
            let change = format!("{}{relative}", units::signed_duration_ns(b - a));
            for (label, text) in [("A", units::duration_ns(a)), ("B", units::duration_ns(b)), ("Change", change)] {
                ui.label(label);
                ui.label(text);
                ui.end_row();
            }
        });
        ui.weak(graph.path(node).join(" › "));
        return;
    }
    egui::Grid::new("flame node").num_columns(3).show(ui, |ui| {
        for (label, ns) in [("Total", item.total_ns), ("Self", item.self_ns)] {
            ui.label(label);
            ui.label(units::duration_ns(ns));
            ui.label(share(ns));
            ui.end_row();
        }
        ui.label("Count");
        ui.label(units::count(item.count));
        ui.end_row();
    });
    ui.weak(graph.path(node).join(" › "));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn graph() -> FlameGraph {
        let item = |name: &str, total_ns, self_ns, children: &[usize], parent| FlameItem {
            name: name.to_owned(),
            total_ns,
            self_ns,
            count: 1,
            change: None,
            children: children.to_vec(),
            parent,
        };
        let items = vec![
            item("All", 10e6, 0.0, &[1, 3], 0),
            item("Forward", 6e6, 2e6, &[2], 0),
            item("conv1", 4e6, 4e6, &[], 1),
            item("Backward", 4e6, 4e6, &[], 0),
        ];
        FlameGraph { items }
    }

    #[test]
    fn paths_lead_back_to_their_nodes() {
        let graph = graph();
        for node in 0..graph.items.len() {
            let path: Vec<String> = graph.path(node).into_iter().map(str::to_owned).collect();
            assert_eq!(graph.find(&path), node);
        }
        let gone = ["Forward".to_owned(), "conv9".to_owned()];
        assert_eq!(graph.find(&gone), 1, "as far as it exists");
    }

    #[test]
    fn text_is_indented_by_depth() {
        let text = graph().to_text(1);
        assert_eq!(text, "total\tself\tcount\tname\n6.00 ms\t2.00 ms\t1\tForward\n4.00 ms\t4.00 ms\t1\t  conv1");
    }
}
