//! Draws a layout: one mesh for the rectangles of each track, text only where it can be read. Decides nothing about
//! what is shown; knows the layout, the view and colours.

use super::layout::{Item, ItemKind, Layout, Row, RowKind};
use super::marks::text_color_on;
use super::ruler::Ruler;
use super::view::ViewRange;
use crate::trace::{NameId, Span, Trace};
use egui::text::{LayoutJob, TextWrapping};
use egui::{Align2, Color32, FontId, Mesh, Painter, Rect, Shape, Stroke, pos2, vec2};

/// Items narrower than this carry no text.
const MIN_TEXT_PX: f32 = 32.0;

/// Height of the line under spans that are searched for, so that dimming is not all that tells them.
const HIT_LINE: f32 = 3.0;

/// Lanes lower than this carry no text.
const MIN_TEXT_HEIGHT: f32 = 14.0;

/// At most this many texts in a frame; what is beyond is too dense to be read anyway.
const MAX_TEXTS: usize = 600;

/// Gap between the lanes of a track, in points.
const LANE_GAP: f32 = 1.0;

/// Room between an item's edge and its text.
const TEXT_PAD: f32 = 4.0;

/// Colours of the canvas apart from those of the spans.
#[derive(Debug, Clone, Copy)]
pub struct CanvasColors {
    /// Behind everything.
    pub background: Color32,
    /// Behind every second track.
    pub stripe: Color32,
    /// Lines at the main ticks.
    pub grid: Color32,
    /// Text.
    pub text: Color32,
    /// Less important text.
    pub weak_text: Color32,
    /// Around the selected span and over the selected stretch.
    pub selection: Color32,
    /// Under spans that are searched for.
    pub hit: Color32,
    /// Counters.
    pub counter: Color32,
    /// Marks that the user set.
    pub mark: Color32,
}

/// How spans look: asked for each item that is drawn.
pub struct SpanLook<'a> {
    /// Fill.
    pub color: &'a dyn Fn(&Span) -> Color32,
    /// Whether a name is searched or selected; spans of other names are dimmed. `None`: none is dimmed.
    pub hit: Option<&'a dyn Fn(NameId) -> bool>,
}

/// The part of the window that shows the time axis, and how time maps to it.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Where the lanes are; x = `area.left()` is the left edge of the view.
    pub area: Rect,
    /// Vertical position of the layout's first row: `area.top()` minus what is scrolled away.
    pub top: f32,
    /// The view.
    pub view: ViewRange,
    /// Physical pixels in a point.
    pub pixels_per_point: f32,
}

impl Frame {
    /// Horizontal position of a time, on a physical pixel, kept within reach of the area so that `f32` suffices.
    pub fn x(&self, ns: f64) -> f32 {
        let width = f64::from(self.area.width());
        let x = self.view.x_from_ns(ns).clamp(-8.0, width + 8.0);
        let scale = f64::from(self.pixels_per_point);
        ((f64::from(self.area.left()) + x) * scale).round() as f32 / self.pixels_per_point
    }

    /// Where a row is.
    pub fn row_rect(&self, row: &Row) -> Rect {
        let top = self.top + row.y;
        Rect::from_x_y_ranges(self.area.x_range(), top..=top + row.height)
    }

    /// Where an item of a row is: at least one physical pixel wide.
    pub fn item_rect(&self, row: &Row, item: &Item) -> Rect {
        let (left, right) = (self.x(item.start_ns), self.x(item.end_ns));
        let right = right.max(left + 1.0 / self.pixels_per_point);
        let top = self.top + row.y;
        Rect::from_min_max(pos2(left, top), pos2(right, top + row.height - LANE_GAP))
    }

    fn is_visible(&self, row: &Row) -> bool {
        let rect = self.row_rect(row);
        rect.bottom() >= self.area.top() && rect.top() <= self.area.bottom()
    }
}

/// Draws stripes, grid and rows.
pub fn paint_layout(
    painter: &Painter,
    frame: &Frame,
    layout: &Layout,
    trace: &Trace,
    look: &SpanLook<'_>,
    colors: &CanvasColors,
) {
    let ink = Ink { trace, look, colors };
    let painter = painter.with_clip_rect(frame.area.intersect(painter.clip_rect()));
    let mut texts = Vec::new();
    let mut idx = 0;
    while let Some(first) = layout.rows.get(idx) {
        let end = idx + layout.rows[idx..].iter().take_while(|row| row.track == first.track).count();
        let rows = layout.rows.get(idx..end).unwrap_or_default();
        let mut mesh = Mesh::default();
        for row in rows.iter().filter(|row| frame.is_visible(row)) {
            let items = layout.items_of(row);
            match row.kind {
                RowKind::Lane { .. } => add_spans(&mut mesh, &mut texts, frame, row, items, &ink),
                RowKind::Instants => add_instants(&mut mesh, frame, row, items, colors),
                RowKind::Counter { max, .. } => add_counter(&mut mesh, frame, row, items, max, colors),
            }
        }
        if !mesh.is_empty() {
            painter.add(Shape::mesh(mesh));
        }
        idx = end;
    }
    paint_texts(&painter, texts);
}

/// What painting a row needs beside its place.
struct Ink<'a> {
    trace: &'a Trace,
    look: &'a SpanLook<'a>,
    colors: &'a CanvasColors,
}

struct Text<'a> {
    rect: Rect,
    text: &'a str,
    color: Color32,
}

fn add_spans<'a>(mesh: &mut Mesh, texts: &mut Vec<Text<'a>>, frame: &Frame, row: &Row, items: &[Item], ink: &Ink<'a>) {
    mesh.reserve_triangles(items.len() * 2);
    mesh.reserve_vertices(items.len() * 4);
    for item in items {
        let rect = frame.item_rect(row, item);
        if rect.right() < frame.area.left() || rect.left() > frame.area.right() {
            continue;
        }
        let Some(span) = item.span().and_then(|span| ink.trace.span(span)) else { continue };
        let merged = matches!(item.kind, ItemKind::Merged { .. });
        let hit = ink.look.hit.is_none_or(|hit| hit(span.name));
        let mut fill = (ink.look.color)(&span);
        if merged {
            // Fainter, since it stands for several.
            fill = fill.lerp_to_gamma(ink.colors.background, 0.25);
        }
        if !hit {
            fill = fill.lerp_to_gamma(ink.colors.background, 0.7);
        }
        // A gap of a physical pixel between neighbours that are wide enough to have one.
        let gap = 1.0 / frame.pixels_per_point;
        let body = if rect.width() >= 4.0 * gap { rect.with_max_x(rect.right() - gap) } else { rect };
        mesh.add_colored_rect(body, fill);
        if hit && ink.look.hit.is_some() {
            mesh.add_colored_rect(body.with_min_y(body.bottom() - HIT_LINE), ink.colors.hit);
        }
        let visible = body.intersect(frame.area);
        if !merged && visible.width() >= MIN_TEXT_PX && row.height >= MIN_TEXT_HEIGHT && texts.len() < MAX_TEXTS {
            texts.push(Text { rect: visible, text: ink.trace.name(span.name), color: text_color_on(fill) });
        }
    }
}

/// Triangles that point at the moments.
fn add_instants(mesh: &mut Mesh, frame: &Frame, row: &Row, items: &[Item], colors: &CanvasColors) {
    let rect = frame.row_rect(row);
    for item in items {
        let tip = pos2(frame.x(item.start_ns), rect.bottom() - 1.0);
        let first = mesh.vertices.len() as u32;
        for pos in [tip, tip + vec2(-4.0, -8.0), tip + vec2(4.0, -8.0)] {
            mesh.colored_vertex(pos, colors.weak_text);
        }
        mesh.add_triangle(first, first + 1, first + 2);
    }
}

fn add_counter(mesh: &mut Mesh, frame: &Frame, row: &Row, items: &[Item], max: f64, colors: &CanvasColors) {
    let rect = frame.row_rect(row).shrink2(vec2(0.0, 2.0));
    let scale = if max > 0.0 { f64::from(rect.height()) / max } else { 0.0 };
    let y = |value: f64| rect.bottom() - ((value.max(0.0) * scale) as f32).min(rect.height());
    let line = 1.5;
    for item in items {
        let ItemKind::Sample { low, high, .. } = item.kind else { continue };
        let (left, right) = (frame.x(item.start_ns), frame.x(item.end_ns));
        let right = right.max(left + 1.0 / frame.pixels_per_point);
        let area = Rect::from_x_y_ranges(left..=right, y(high)..=rect.bottom());
        mesh.add_colored_rect(area, colors.counter.gamma_multiply(0.25));
        let top = Rect::from_x_y_ranges(left..=right, y(high)..=(y(low) + line).min(rect.bottom()));
        mesh.add_colored_rect(top, colors.counter);
    }
}

fn paint_texts(painter: &Painter, texts: Vec<Text<'_>>) {
    let font = FontId::proportional(11.0);
    for Text { rect, text, color } in texts {
        let inner = rect.shrink2(vec2(TEXT_PAD, 0.0));
        // Cut with an ellipsis: `Step 1` must not be read where `Step 11` is meant.
        let mut job = LayoutJob::simple_singleline(text.to_owned(), font.clone(), color);
        job.wrap = TextWrapping::truncate_at_width(inner.width().floor());
        let galley = painter.layout_job(job);
        painter.galley(inner.center() - galley.size() / 2.0, galley, color);
    }
}

/// Draws grid lines under the lanes, at the ruler's main ticks.
pub fn paint_grid(painter: &Painter, frame: &Frame, ruler: &Ruler, colors: &CanvasColors) {
    for tick in ruler.ticks.iter().filter(|tick| tick.label.is_some()) {
        painter.vline(frame.x(tick.ns), frame.area.y_range(), Stroke::new(1.0, colors.grid));
    }
}

/// Draws ticks and labels into the strip above the lanes.
pub fn paint_ruler(painter: &Painter, strip: Rect, frame: &Frame, ruler: &Ruler, colors: &CanvasColors) {
    let painter = painter.with_clip_rect(strip.intersect(painter.clip_rect()));
    let font = FontId::proportional(11.0);
    for tick in &ruler.ticks {
        let x = frame.x(tick.ns);
        let (height, color) = if tick.label.is_some() { (7.0, colors.weak_text) } else { (3.0, colors.grid) };
        painter.vline(x, strip.bottom() - height..=strip.bottom(), Stroke::new(1.0, color));
        if let Some(label) = &tick.label {
            painter.text(pos2(x + 4.0, strip.bottom() - 5.0), Align2::LEFT_BOTTOM, label, font.clone(), colors.text);
        }
    }
}

/// Shades a stretch of time from top to bottom, behind the lanes.
pub fn paint_stretch(painter: &Painter, area: Rect, left: f32, right: f32, colors: &CanvasColors) {
    let rect = Rect::from_x_y_ranges(left..=right, area.y_range()).intersect(area);
    painter.rect_filled(rect, 0.0, colors.selection.gamma_multiply(0.18));
}

/// Draws the ends of a stretch of time and its length in words, over the lanes.
pub fn paint_stretch_ends(painter: &Painter, area: Rect, left: f32, right: f32, label: &str, colors: &CanvasColors) {
    let painter = painter.with_clip_rect(area.intersect(painter.clip_rect()));
    for x in [left, right] {
        painter.vline(x, area.y_range(), Stroke::new(1.0, colors.selection));
    }
    let galley = painter.layout_no_wrap(label.to_owned(), FontId::proportional(11.0), colors.text);
    let middle = (left.max(area.left()) + right.min(area.right())) / 2.0;
    let size = galley.size() + vec2(8.0, 4.0);
    let back = Rect::from_center_size(pos2(middle, area.bottom() - size.y / 2.0 - 4.0), size);
    painter.rect_filled(back, 2.0, colors.background.gamma_multiply(0.9));
    painter.galley(back.center() - galley.size() / 2.0, galley, colors.text);
}
