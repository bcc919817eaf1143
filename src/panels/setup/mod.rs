//! The Setup panel: what to train and how, the optimizations, the spec as text, and the training under way.

mod device;
mod fields;
pub mod progress;
mod toggles;

use super::PanelContext;
use crate::model::spec_keys::{self, KEYS, KeyInfo};
use crate::session::Command;
use crate::session::draft::PRESETS;
use crate::ui::tokens::size;
use crate::ui::{icons, text, widgets};
use egui::{CollapsingHeader, ComboBox, RichText, Ui};
use fields::Edits;

/// Keys that have a place of their own; the others are under “All settings”.
const FEATURED: &[&str] = &[
    "data.source",
    "model.kind",
    "train.device",
    "train.steps",
    "train.epochs",
    "train.batch",
    "train.seed",
    "optimizer.kind",
    "optimizer.lr",
    "pipeline.enabled",
    "precision.mode",
    "compiler.fusion",
];

/// State of the panel between frames.
#[derive(Debug, Default)]
pub struct SetupState {
    edits: Edits,
    spec_text: Option<String>,
    own_path: bool,
}

/// The Setup panel.
pub fn setup_ui(cx: &PanelContext<'_>, state: &mut SetupState, ui: &mut Ui) {
    progress::actions_ui(cx, ui);
    ui.separator();
    egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        ui.add_space(2.0);
        if let Some(error) = &cx.session.draft().error {
            error_ui(cx, ui, error);
        }
        group_ui(cx, ui, "What to train", |ui| what_ui(cx, state, ui));
        group_ui(cx, ui, "Device", |ui| device::device_ui(cx, ui));
        group_ui(cx, ui, "How much", |ui| fields::grid_ui(cx, &mut state.edits, ui, &KEYS_MUCH));
        group_ui(cx, ui, "Optimizations", |ui| toggles::toggles_ui(cx, ui));
        group_ui(cx, ui, "Optimizer", |ui| fields::grid_ui(cx, &mut state.edits, ui, &KEYS_OPTIMIZER));
        all_settings_ui(cx, state, ui);
        spec_text_ui(cx, state, ui);
        ui.add_space(8.0);
    });
}

const KEYS_MUCH: [&str; 4] = ["train.steps", "train.epochs", "train.batch", "train.seed"];
const KEYS_OPTIMIZER: [&str; 2] = ["optimizer.kind", "optimizer.lr"];

fn group_ui(cx: &PanelContext<'_>, ui: &mut Ui, title: &str, content: impl FnOnce(&mut Ui)) {
    cx.tokens.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(text::group(title, cx.tokens.ui.text_strong));
        ui.add_space(2.0);
        content(ui);
    });
    ui.add_space(size::GAP);
}

fn error_ui(cx: &PanelContext<'_>, ui: &mut Ui, error: &str) {
    cx.tokens.card().stroke(egui::Stroke::new(1.0, cx.tokens.ui.bad)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal_top(|ui| {
            ui.add(icons::ERROR.image(size::ICON, cx.tokens.ui.bad));
            ui.add(egui::Label::new(RichText::new(error).color(cx.tokens.ui.bad)).wrap());
        });
    });
    ui.add_space(size::GAP);
}

fn what_ui(cx: &PanelContext<'_>, state: &mut SetupState, ui: &mut Ui) {
    let draft = cx.session.draft();
    egui::Grid::new("what").num_columns(2).spacing([8.0, size::GAP]).show(ui, |ui| {
        let label = ui.label("Preset");
        let preset = ComboBox::from_id_salt("preset").selected_text("Choose…").show_ui(ui, |ui| {
            for (name, help, _) in PRESETS {
                if ui.selectable_label(false, *name).on_hover_text(*help).clicked() {
                    cx.send(Command::LoadPreset((*name).to_owned()));
                }
            }
        });
        widgets::named(preset.response, egui::Role::ComboBox, "Preset").labelled_by(label.id);
        ui.end_row();

        let label = ui.label("Title");
        let mut title = draft.title.clone();
        let field = egui::TextEdit::singleline(&mut title)
            .hint_text(crate::session::training::default_title(&draft.spec))
            .desired_width(f32::INFINITY);
        if ui.add(field).labelled_by(label.id).on_hover_text("Name of the run; empty = as shown").changed() {
            cx.send(Command::SetDraftTitle(title));
        }
        ui.end_row();

        data_ui(cx, state, ui);
        fields::row_ui(cx, &mut state.edits, ui, "model.kind");
    });
    text::note(ui, model_note(cx));
}

fn model_note(cx: &PanelContext<'_>) -> String {
    let spec = &cx.session.draft().spec;
    match spec.model.kind.as_str() {
        "cnn" => "Reference CNN: 167,562 parameters, 2.90 GFLOP a step at batch 128".to_owned(),
        _ => format!("Perceptron: {} hidden layers of {}", spec.model.layers, spec.model.hidden),
    }
}

/// Built-in, synthetic, or a path.
fn data_ui(cx: &PanelContext<'_>, state: &mut SetupState, ui: &mut Ui) {
    const CHOICES: [(&str, &str, &str); 2] = [
        ("builtin", "Fashion-MNIST", "6,000 training and 1,000 test images that come with the program"),
        ("synthetic", "Synthetic", "Images made from the seed, in any number"),
    ];
    let source = cx.session.draft().spec.data.source.as_str();
    let known = CHOICES.iter().position(|(id, _, _)| *id == source);
    let own = state.own_path || known.is_none();
    let label = ui.label("Data").on_hover_text("Built-in images, synthetic ones, or a path to your own");
    let shown = if own { "Own images" } else { known.and_then(|i| CHOICES.get(i)).map_or("", |(_, words, _)| words) };
    let combo = ComboBox::from_id_salt("data").selected_text(shown).show_ui(ui, |ui| {
        for (id, words, help) in CHOICES {
            if ui.selectable_label(!own && source == id, words).on_hover_text(help).clicked() {
                state.own_path = false;
                cx.send(Command::SetDraft { key: "data.source".to_owned(), value: id.to_owned() });
            }
        }
        if ui.selectable_label(own, "Own images").on_hover_text("IDX files, CIFAR-10, or a folder of classes").clicked()
        {
            state.own_path = true;
        }
    });
    widgets::named(combo.response, egui::Role::ComboBox, "Data").labelled_by(label.id);
    ui.end_row();
    if own && let Some(key) = spec_keys::find("data.source") {
        ui.label("Path");
        fields::text_ui(cx, &mut state.edits, ui, key, "Path of the images");
        ui.end_row();
    }
}

fn all_settings_ui(cx: &PanelContext<'_>, state: &mut SetupState, ui: &mut Ui) {
    let response = CollapsingHeader::new("All settings").id_salt("all settings").show(ui, |ui| {
        let mut section = "";
        let rest: Vec<&KeyInfo> = KEYS.iter().filter(|key| !FEATURED.contains(&key.path)).collect();
        for key in &rest {
            let own = key.path.split('.').next().unwrap_or_default();
            if own != section {
                section = own;
                ui.add_space(4.0);
                ui.label(RichText::new(own).strong());
                let paths: Vec<&str> =
                    rest.iter().map(|key| key.path).filter(|path| path.split('.').next() == Some(own)).collect();
                fields::grid_ui(cx, &mut state.edits, ui, &paths);
            }
        }
    });
    response.header_response.on_hover_text("Every key of the spec that has no place above");
}

/// The spec as text; while it is being edited the panel keeps its own copy, so that the cursor stays where it is.
fn spec_text_ui(cx: &PanelContext<'_>, state: &mut SetupState, ui: &mut Ui) {
    CollapsingHeader::new("Spec as text").id_salt("spec text").show(ui, |ui| {
        let draft = cx.session.draft();
        let mut shown = state.spec_text.clone().unwrap_or_else(|| draft.text.clone());
        let field = egui::TextEdit::multiline(&mut shown).code_editor().desired_width(f32::INFINITY).desired_rows(12);
        let response = widgets::named(ui.add(field), egui::Role::MultilineTextInput, "Spec as TOML");
        if response.changed() {
            cx.send(Command::SetDraftText(shown.clone()));
        }
        state.spec_text = response.has_focus().then_some(shown);
        if let Some(error) = &draft.error {
            ui.add(egui::Label::new(RichText::new(error).color(cx.tokens.ui.bad)).wrap());
        }
        ui.horizontal(|ui| {
            if ui.button("Copy").on_hover_text("Put the spec on the clipboard").clicked() {
                cx.send(Command::CopyText(draft.text.clone()));
            }
            if ui.button("Write out all keys").on_hover_text("Replace the text by the whole valid spec").clicked() {
                state.spec_text = None;
                cx.send(Command::SetDraftText(draft.spec.to_toml()));
            }
        });
    });
}
