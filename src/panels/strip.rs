//! Some tracks of a trace between two times, with a ruler: a step as it went. Nothing moves; a click chooses a span.

use super::palette::Palette;
use crate::model::units;
use crate::timeline::layout::LayoutCache;
use crate::timeline::paint::{Frame, SpanLook, paint_grid, paint_layout, paint_ruler};
use crate::timeline::{TrackTree, ViewRange, marks, ruler};
use crate::trace::{NameId, Span, SpanRef, Trace};
use egui::{Sense, Ui, vec2};

/// Height of the ruler over the tracks.
const RULER_HEIGHT: f32 = 24.0;
/// Room for the names of the tracks.
const NAMES_WIDTH: f32 = 150.0;
/// Names are left out where they would take more than this share of the room.
const MAX_NAMES_SHARE: f32 = 0.25;

/// What is drawn.
pub struct Strip<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The tracks.
    pub tree: &'a TrackTree,
    /// Left edge, in nanoseconds from the trace's start.
    pub from_ns: i64,
    /// Right edge.
    pub to_ns: i64,
    /// Where the ruler has its 0.
    pub zero_ns: i64,
    /// Whether the names of the tracks stand beside them, where there is room.
    pub named: bool,
    /// Names that are searched for; others are dimmed.
    pub hit: Option<&'a dyn Fn(NameId) -> bool>,
}

/// Draws the tracks into the space that is left; `label` is what assistive technology calls it. Returns what was clicked:
/// a span, or a place where none is.
pub fn strip_ui(
    ui: &mut Ui,
    label: &str,
    strip: &Strip<'_>,
    palette: &Palette,
    layout: &mut LayoutCache,
) -> Option<Option<SpanRef>> {
    let mut clicked = None;
    let (mut scale, _) = ui.allocate_exact_size(vec2(ui.available_width(), RULER_HEIGHT), Sense::hover());
    let names = if strip.named && NAMES_WIDTH < MAX_NAMES_SHARE * scale.width() { NAMES_WIDTH } else { 0.0 };
    scale.min.x += names;
    egui::ScrollArea::vertical().id_salt(label).auto_shrink([false, false]).show(ui, |ui| {
        let size = vec2(ui.available_width(), strip.tree.height().max(ui.available_height()));
        let (whole, _) = ui.allocate_exact_size(size, Sense::hover());
        let (column, rect) = whole.split_left_right_at_x(whole.left() + names);
        if names > 0.0 {
            names_ui(ui, column, strip.tree);
        }
        let response = ui.interact(rect, ui.scope_id().with("tracks"), Sense::click());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, label));
        let width = f64::from(rect.width());
        let view = ViewRange::spanning(strip.from_ns as f64, strip.to_ns as f64, width);
        let area = rect.intersect(ui.clip_rect());
        let frame = Frame { area, top: rect.top(), view, pixels_per_point: ui.pixels_per_point() };
        let color = |span: &Span| palette.span(strip.trace, span);
        let layout = layout.get(strip.trace, strip.tree, &view, width);
        // The same stretch as the ruler counts it.
        let counted = ViewRange { start_ns: view.start_ns - strip.zero_ns as f64, ..view };
        let scaled = Frame { view: counted, ..frame };
        let ticks = ruler::ruler(&counted, width);
        let painter = ui.painter_at(area);
        painter.rect_filled(area, 0.0, palette.canvas.background);
        paint_grid(&painter, &scaled, &ticks, &palette.canvas);
        let look = SpanLook { color: &color, hit: strip.hit };
        paint_layout(&painter, &frame, layout, strip.trace, &look, &palette.canvas);
        paint_ruler(&ui.ctx().layer_painter(ui.layer_id()), scale, &scaled, &ticks, &palette.canvas);
        let at = |pos: egui::Pos2| {
            let ns = view.ns_from_x(f64::from(pos.x - area.left()));
            layout.hit(pos.y - rect.top(), ns, view.ns_per_px)
        };
        if let Some((row, item)) = response.hover_pos().and_then(at) {
            marks::paint_outline(&painter, frame.item_rect(row, item), palette.canvas.weak_text);
            let name = item.span().and_then(|span| strip.trace.span(span)).map(|span| strip.trace.name(span.name));
            let length = units::duration_ns(item.end_ns - item.start_ns);
            response.clone().on_hover_text_at_pointer(format!("{}\n{length}", name.unwrap_or_default()));
        }
        if let Some(pos) = response.interact_pointer_pos().filter(|_| response.clicked()) {
            clicked = Some(at(pos).and_then(|(_, item)| item.span()));
        }
    });
    clicked
}

/// The name of each track beside it.
fn names_ui(ui: &mut Ui, column: egui::Rect, tree: &TrackTree) {
    for (track, place) in tree.tracks.iter().zip(tree.places()) {
        let corner = egui::pos2(column.left(), column.top() + place.y);
        let line = ui.text_style_height(&egui::TextStyle::Body);
        let rect = egui::Rect::from_min_size(corner, vec2(column.width() - 6.0, line.min(place.height)));
        if ui.is_rect_visible(rect) {
            let mut cell = ui.new_child(egui::UiBuilder::new().max_rect(rect));
            cell.add(egui::Label::new(&track.name).truncate());
        }
    }
}
