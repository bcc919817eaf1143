//! The small window that renames a run and sets its tags.

use super::super::PanelContext;
use crate::session::{Command, RunEntry};
use crate::ui::{icons, widgets};
use egui::{Key, Ui};

/// A run under edit.
#[derive(Debug)]
pub struct Editing {
    id: String,
    title: String,
    tags: String,
    focus: bool,
}

impl Editing {
    /// Starts from what the run has.
    pub fn new(entry: &RunEntry) -> Self {
        let (id, title) = (entry.id.clone(), entry.manifest.title.clone());
        Self { id, title, tags: entry.manifest.tags.join(", "), focus: true }
    }
}

/// Tags from text with commas; empty and repeated ones are left out.
fn tags(text: &str) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in text.split(',').map(str::trim).filter(|tag| !tag.is_empty()) {
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

/// Draws the window, if a run is under edit.
pub fn editor_ui(cx: &PanelContext<'_>, editing: &mut Option<Editing>, ui: &mut Ui) {
    let Some(edit) = editing else { return };
    let mut done = false;
    let modal = egui::Modal::new(egui::Id::unique("edit run")).show(ui.ctx(), |ui| {
        ui.set_width(360.0);
        ui.heading("Rename or tag");
        let label = ui.label("Title");
        let field = egui::TextEdit::singleline(&mut edit.title).desired_width(f32::INFINITY);
        let title = ui.add(field).labelled_by(label.id);
        if std::mem::take(&mut edit.focus) {
            title.request_focus();
        }
        let label = ui.label("Tags, with commas between them");
        let field = egui::TextEdit::singleline(&mut edit.tags).desired_width(f32::INFINITY);
        let tags_field = ui.add(field).labelled_by(label.id);
        let enter = (title.lost_focus() || tags_field.lost_focus()) && ui.input(|input| input.key_pressed(Key::Enter));
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let ready = !edit.title.trim().is_empty();
            if widgets::main_button(ui, cx.tokens, ready, icons::CHECK, "Save", 96.0).clicked() || (enter && ready) {
                cx.send(Command::RenameRun { id: edit.id.clone(), title: edit.title.trim().to_owned() });
                cx.send(Command::TagRun { id: edit.id.clone(), tags: tags(&edit.tags) });
                done = true;
            }
            if ui.button("Cancel").clicked() {
                done = true;
            }
        });
    });
    if done || modal.should_close() {
        *editing = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_taken_apart_at_commas() {
        assert_eq!(tags(" a, b ,,a,c d "), ["a", "b", "c d"]);
        assert!(tags(" , ").is_empty());
    }
}
