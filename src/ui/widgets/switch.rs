//! Switches: on or off, and one of a few.

use crate::ui::tokens::{Tokens, size};
use egui::{Color32, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

/// An on/off switch. `true` in the response's `clicked` means that the user wants the other state.
pub fn switch(ui: &mut Ui, tokens: &Tokens, on: bool, name: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(32.0, 18.0), Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, enabled, on, name));
    let body = rect.shrink2(vec2(1.0, 1.0));
    let radius = body.height() / 2.0;
    let outline = if response.has_focus() { tokens.ui.accent } else { tokens.ui.border_strong };
    let fill = if on { tokens.ui.accent_fill } else { tokens.ui.raised };
    let fade = |color: Color32| if enabled { color } else { color.gamma_multiply(0.5) };
    ui.painter().rect(body, radius, fade(fill), Stroke::new(1.0, fade(outline)), egui::StrokeKind::Inside);
    let share = ui.ctx().animate_bool_responsive(response.id, on);
    let x = egui::lerp(body.left() + radius..=body.right() - radius, share);
    let knob = if on { tokens.ui.on_accent } else { tokens.ui.text };
    ui.painter().circle_filled(pos2(x, body.center().y), radius - 3.5, fade(knob));
    response
}

/// A row of choices of which one holds; returns the one that was clicked.
pub fn segmented(ui: &mut Ui, tokens: &Tokens, name: &str, choices: &[&str], chosen: usize) -> Option<usize> {
    let mut clicked = None;
    let frame = egui::Frame::new()
        .fill(tokens.ui.sunken)
        .stroke(Stroke::new(1.0, tokens.ui.border))
        .corner_radius(size::RADIUS)
        .inner_margin(1);
    frame.show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 1.0;
            for (idx, words) in choices.iter().enumerate() {
                let on = idx == chosen;
                let color = if on { tokens.ui.text_strong } else { tokens.ui.text_weak };
                let button = egui::Button::new(egui::RichText::new(*words).color(color))
                    .fill(if on { tokens.ui.selection } else { Color32::TRANSPARENT })
                    .stroke(Stroke::NONE);
                let response = ui.add(button);
                response.widget_info(|| {
                    WidgetInfo::selected(Role::RadioButton, ui.is_enabled(), on, format!("{name}: {words}"))
                });
                if response.clicked() && !on {
                    clicked = Some(idx);
                }
            }
        });
    });
    clicked
}
