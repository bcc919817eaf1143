//! Horizontal stacked bars: one bar a run, one part a phase, with words and figures beside the colours.
//!
//! Knows labels, lengths and colours only.

use crate::ui::text::elided;
use egui::{Align2, Color32, FontId, Rect, Sense, Stroke, Ui, pos2, vec2};

/// Height of a bar, in points.
const BAR_HEIGHT: f32 = 24.0;

/// Room for a bar's label, in points.
const LABEL_WIDTH: f32 = 170.0;

/// Room for the figure behind a bar, in points.
const VALUE_WIDTH: f32 = 110.0;

/// Parts narrower than this carry no text.
const MIN_TEXT_PX: f32 = 36.0;

/// Room beside the text of a part.
const PART_PAD: f32 = 4.0;

/// How texts in and beside bars are written.
const FONT: FontId = FontId::proportional(12.0);

/// One part of a bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What it is.
    pub label: String,
    /// Its length; negative or not finite counts as nothing.
    pub value: f64,
    /// Its colour.
    pub color: Color32,
    /// What the pointer tells beside label and figure, for example the change.
    pub note: String,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Text in front of it.
    pub label: String,
    /// Parts from left to right.
    pub parts: Vec<Part>,
    /// Text behind it.
    pub value: String,
}

impl Bar {
    fn total(&self) -> f64 {
        self.parts.iter().map(|part| length(part.value)).sum()
    }
}

fn length(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

/// The parts' left and right ends as shares of the longest bar, 0 to 1.
pub fn extents(bar: &Bar, longest: f64) -> Vec<(f64, f64)> {
    let scale = if longest > 0.0 { 1.0 / longest } else { 0.0 };
    let mut left = 0.0;
    bar.parts
        .iter()
        .map(|part| {
            let right = left + length(part.value) * scale;
            let extent = (left, right);
            left = right;
            extent
        })
        .collect()
}

/// Draws the bars under one another on one scale; `format` writes a length.
pub fn bars_ui(ui: &mut Ui, bars: &[Bar], format: impl Fn(f64) -> String, text_color_on: fn(Color32) -> Color32) {
    let longest = bars.iter().map(Bar::total).fold(0.0, f64::max);
    for bar in bars {
        bar_ui(ui, bar, longest, &format, text_color_on);
        ui.add_space(4.0);
    }
}

fn bar_ui(
    ui: &mut Ui,
    bar: &Bar,
    longest: f64,
    format: &impl Fn(f64) -> String,
    text_color_on: fn(Color32) -> Color32,
) {
    let width = ui.available_width().max(LABEL_WIDTH + VALUE_WIDTH + 80.0);
    let (rect, response) = ui.allocate_exact_size(vec2(width, BAR_HEIGHT), Sense::hover());
    let painter = ui.painter_at(rect);
    let text_color = ui.visuals().text_color();
    let label = elided(&painter, &bar.label, FONT, text_color, LABEL_WIDTH - 8.0);
    let label_pos = pos2(rect.left(), rect.center().y - label.size().y / 2.0);
    painter.galley(label_pos, label, text_color);

    let track = Rect::from_min_max(
        pos2(rect.left() + LABEL_WIDTH, rect.top() + 2.0),
        pos2(rect.right() - VALUE_WIDTH, rect.bottom() - 2.0),
    );
    let mut end = track.left();
    for (part, (from, to)) in bar.parts.iter().zip(extents(bar, longest)) {
        let x = |share: f64| track.left() + (share * f64::from(track.width())) as f32;
        let body = Rect::from_x_y_ranges(x(from)..=x(to), track.y_range());
        end = body.right();
        painter.rect_filled(body, 0.0, part.color);
        if body.width() >= 2.0 {
            painter.vline(body.right(), body.y_range(), Stroke::new(1.0, ui.visuals().panel_fill));
        }
        if body.width() >= MIN_TEXT_PX {
            let color = text_color_on(part.color);
            let label = elided(&painter, &part.label, FONT, color, body.width() - 2.0 * PART_PAD);
            let corner = body.left_center() + vec2(PART_PAD, -label.size().y / 2.0);
            painter.galley(corner, label, color);
        }
        if let Some(pos) = response.hover_pos()
            && body.contains(pos)
        {
            let share = if bar.total() > 0.0 { length(part.value) / bar.total() } else { 0.0 };
            let share = crate::model::units::percent(share);
            let mut text = format!("{}: {} ({share})", part.label, format(part.value));
            if !part.note.is_empty() {
                text.push('\n');
                text.push_str(&part.note);
            }
            response.clone().on_hover_text_at_pointer(text);
        }
    }
    painter.text(pos2(end + 6.0, rect.center().y), Align2::LEFT_CENTER, &bar.value, FONT, text_color);
    response.widget_info(|| {
        let parts: Vec<String> =
            bar.parts.iter().map(|part| format!("{} {}", part.label, format(part.value))).collect();
        let text = format!("{}: {} ({})", bar.label, bar.value, parts.join(", "));
        egui::WidgetInfo::labeled(egui::Role::Image, true, text)
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn part(value: f64) -> Part {
        Part { label: String::new(), value, color: Color32::RED, note: String::new() }
    }

    #[test]
    fn parts_lie_end_to_end_on_a_common_scale() {
        let bar = |values: &[f64]| Bar {
            label: String::new(),
            parts: values.iter().map(|value| part(*value)).collect(),
            value: String::new(),
        };
        let (long, short) = (bar(&[1.0, 3.0]), bar(&[2.0, f64::NAN, -1.0]));
        let longest = long.total().max(short.total());
        assert_eq!(extents(&long, longest), [(0.0, 0.25), (0.25, 1.0)]);
        assert_eq!(extents(&short, longest), [(0.0, 0.5), (0.5, 0.5), (0.5, 0.5)]);
        assert_eq!(extents(&bar(&[0.0]), 0.0), [(0.0, 0.0)]);
    }
}
