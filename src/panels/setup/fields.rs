//! Fields of the form, each made from what the list of keys says about it.

use super::super::PanelContext;
use crate::model::spec_keys::{self, KeyInfo, KeyKind};
use crate::session::Command;
use crate::ui::tokens::size;
use crate::ui::widgets;
use egui::{ComboBox, DragValue, Role, Ui};
use std::collections::HashMap;

/// Texts that are being typed and are not valid settings yet, by key.
pub type Edits = HashMap<&'static str, String>;

/// Rows `label, field` for these keys.
pub fn grid_ui(cx: &PanelContext<'_>, edits: &mut Edits, ui: &mut Ui, paths: &[&str]) {
    egui::Grid::new(("keys", paths.first())).num_columns(2).spacing([8.0, size::GAP]).show(ui, |ui| {
        for path in paths {
            row_ui(cx, edits, ui, path);
        }
    });
}

/// One row of a grid. A path that is no key draws nothing.
pub fn row_ui(cx: &PanelContext<'_>, edits: &mut Edits, ui: &mut Ui, path: &str) {
    let Some(key) = spec_keys::find(path) else { return };
    ui.label(key.label).on_hover_text(format!("{}\n{}", key.help, key.path));
    field_ui(cx, edits, ui, key);
    ui.end_row();
}

/// What zero means, where it is no number.
fn zero_word(path: &str) -> Option<&'static str> {
    match path {
        "train.steps" | "data.train_limit" | "data.test_limit" => Some("all"),
        "trace.untraced_every" => Some("never"),
        _ => None,
    }
}

fn set(cx: &PanelContext<'_>, key: &KeyInfo, value: impl ToString) {
    cx.send(Command::SetDraft { key: key.path.to_owned(), value: value.to_string() });
}

fn field_ui(cx: &PanelContext<'_>, edits: &mut Edits, ui: &mut Ui, key: &'static KeyInfo) {
    let value = cx.session.draft().spec.get(key.path).unwrap_or_default();
    match key.kind {
        KeyKind::Bool => {
            let on = value == "true";
            if widgets::switch(ui, cx.tokens, on, key.label).on_hover_text(key.help).clicked() {
                set(cx, key, !on);
            }
        }
        KeyKind::Int(low, high) => {
            let mut number: i64 = value.parse().unwrap_or(low);
            // Dragging moves slowly among small numbers and quickly among large ones.
            let speed = (number.unsigned_abs() as f64 / 100.0).max(0.1);
            let mut field = DragValue::new(&mut number).range(low..=high).speed(speed).update_while_editing(false);
            if let Some(word) = zero_word(key.path) {
                field = field
                    .custom_formatter(
                        move |number, _| if number == 0.0 { word.to_owned() } else { format!("{number:.0}") },
                    )
                    .custom_parser(move |text| if text.trim() == word { Some(0.0) } else { text.trim().parse().ok() });
            }
            let response = ui.add_sized([90.0, ui.spacing().interact_size.y], field);
            let enabled = response.enabled();
            response.widget_info(|| egui::WidgetInfo {
                label: Some(key.label.to_owned()),
                ..egui::WidgetInfo::drag_value(enabled, number as f64)
            });
            if response.on_hover_text(format!("{}\nDrag, or click and type", key.help)).changed() {
                set(cx, key, number);
            }
        }
        KeyKind::Float(..) | KeyKind::Text => text_ui(cx, edits, ui, key, key.label),
        KeyKind::Choice(words) if words.len() <= 3 => {
            let chosen = words.iter().position(|word| *word == value).unwrap_or(usize::MAX);
            let clicked = widgets::segmented(ui, cx.tokens, key.label, words, chosen);
            if let Some(word) = clicked.and_then(|idx| words.get(idx)) {
                set(cx, key, word);
            }
        }
        KeyKind::Choice(words) => {
            let combo = ComboBox::from_id_salt(key.path).selected_text(&value).show_ui(ui, |ui| {
                for word in words {
                    if ui.selectable_label(*word == value, *word).clicked() {
                        set(cx, key, word);
                    }
                }
            });
            widgets::named(combo.response, Role::ComboBox, key.label).on_hover_text(key.help);
        }
    }
}

/// A text field that sets its key when it is left or Enter is pressed.
pub fn text_ui(cx: &PanelContext<'_>, edits: &mut Edits, ui: &mut Ui, key: &'static KeyInfo, name: &str) {
    let value = cx.session.draft().spec.get(key.path).unwrap_or_default();
    let mut text = edits.get(key.path).cloned().unwrap_or_else(|| value.clone());
    let numeric = matches!(key.kind, KeyKind::Float(..));
    let width = if numeric { 82.0 } else { f32::INFINITY };
    let response =
        widgets::named(ui.add(egui::TextEdit::singleline(&mut text).desired_width(width)), Role::TextInput, name)
            .on_hover_text(format!("{}\n{}", key.help, key.path));
    if response.changed() {
        edits.insert(key.path, text.clone());
    }
    if response.lost_focus() && edits.remove(key.path).is_some() && text != value {
        set(cx, key, text.trim());
    }
}
