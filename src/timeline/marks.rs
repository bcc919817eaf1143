//! Small things that several painters draw: triangles, outlines, readable text colours. Knows only shapes.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, vec2};

/// Where a triangle points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointing {
    /// Up.
    Up,
    /// Down.
    Down,
    /// To the right.
    Right,
}

/// Draws a small filled triangle; the bundled fonts have no arrows.
pub fn paint_triangle(painter: &Painter, center: Pos2, radius: f32, pointing: Pointing, color: Color32) {
    let tip = match pointing {
        Pointing::Up => vec2(0.0, -radius),
        Pointing::Down => vec2(0.0, radius),
        Pointing::Right => vec2(radius, 0.0),
    };
    let base = tip.rot90();
    let points = vec![center + tip * 0.7, center - tip * 0.5 + base, center - tip * 0.5 - base];
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
}

/// Black or white, whichever can be read on the fill.
pub fn text_color_on(fill: Color32) -> Color32 {
    let luminance = 0.299 * f32::from(fill.r()) + 0.587 * f32::from(fill.g()) + 0.114 * f32::from(fill.b());
    if luminance > 140.0 { Color32::from_gray(16) } else { Color32::from_gray(245) }
}

/// Outlines an item.
pub fn paint_outline(painter: &Painter, rect: Rect, color: Color32) {
    let rect = rect.expand(1.0);
    painter.rect_stroke(rect, 1.0, Stroke::new(2.0, color), egui::StrokeKind::Middle);
}
