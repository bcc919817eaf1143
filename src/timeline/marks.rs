//! Small things that several painters draw: triangles, outlines, readable text colours. Knows only shapes.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, pos2, vec2};

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

/// A curved arrow from the end of one span to the beginning of another, wherever they stand.
pub fn paint_arrow(painter: &Painter, from: Rect, to: Rect, color: Color32) {
    let (start, end) = (pos2(from.right(), from.center().y), pos2(to.left(), to.center().y));
    // Room to leave to the right and to arrive from the left, also where the target is further left.
    let bend = ((end.x - start.x).abs() / 2.0).clamp(12.0, 80.0);
    let points = [start, start + vec2(bend, 0.0), end - vec2(bend, 0.0), end];
    let stroke = Stroke::new(1.5, color);
    painter.add(egui::epaint::CubicBezierShape::from_points_stroke(points, false, Color32::TRANSPARENT, stroke));
    paint_triangle(painter, end - vec2(3.0, 0.0), 4.0, Pointing::Right, color);
}
