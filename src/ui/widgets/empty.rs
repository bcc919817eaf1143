//! What a panel shows when it has nothing to show: why, and what to do about it.

use crate::ui::Icon;
use crate::ui::tokens::Tokens;
use egui::{RichText, Ui};

/// An empty view.
#[derive(Debug, Clone, Copy)]
pub struct Empty<'a> {
    /// A drawing for the eye.
    pub icon: Icon,
    /// What is missing.
    pub title: &'a str,
    /// Why, and what would fill it.
    pub reason: &'a str,
    /// Words on a button that helps, if there is one.
    pub action: Option<&'a str>,
}

/// Draws an empty view in the middle of the space left; `true` = its button was pressed.
pub fn empty_state(ui: &mut Ui, tokens: &Tokens, empty: &Empty<'_>) -> bool {
    let mut pressed = false;
    let free = ui.available_height();
    ui.vertical_centered(|ui| {
        ui.add_space((free * 0.5 - 80.0).max(8.0));
        ui.set_max_width(ui.available_width().min(460.0));
        ui.add(empty.icon.image(34.0, tokens.ui.text_weak));
        ui.add_space(6.0);
        ui.add(egui::Label::new(RichText::new(empty.title).size(15.0).color(tokens.ui.text_strong)).wrap());
        ui.add(egui::Label::new(RichText::new(empty.reason).color(tokens.ui.text_weak)).wrap());
        if let Some(action) = empty.action {
            ui.add_space(8.0);
            pressed = ui.button(action).clicked();
        }
    });
    pressed
}
