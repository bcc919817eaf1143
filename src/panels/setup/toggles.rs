//! The optimizations: what each does, why it cannot be used, and a button that measures it against leaving it off.

use super::super::PanelContext;
use super::device::{Chosen, chosen};
use crate::model::{TOGGLES, Toggle};
use crate::session::Command;
use crate::ui::{text, widgets};
use egui::{RichText, Ui};

/// One row for each toggle.
pub fn toggles_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    for (idx, toggle) in TOGGLES.iter().enumerate() {
        if idx > 0 {
            ui.add_space(4.0);
        }
        toggle_ui(cx, ui, toggle);
    }
}

/// Why a toggle cannot be used on the device of the draft; `None` also while the device is not known.
pub fn refusal(cx: &PanelContext<'_>, toggle: &Toggle) -> Option<String> {
    match chosen(cx.session.devices(), &cx.session.draft().spec.train.device) {
        Chosen::Unknown => None,
        Chosen::Cpu => toggle.refusal(None),
        Chosen::Adapter(adapter) => toggle.refusal(Some(adapter)),
    }
}

fn toggle_ui(cx: &PanelContext<'_>, ui: &mut Ui, toggle: &Toggle) {
    let on = toggle.is_on(&cx.session.draft().spec);
    let refusal = refusal(cx, toggle);
    ui.horizontal(|ui| {
        // What is on can always be turned off.
        ui.add_enabled_ui(on || refusal.is_none(), |ui| {
            if widgets::switch(ui, cx.tokens, on, toggle.label).clicked() {
                cx.send(Command::SetToggle { id: toggle.id.to_owned(), on: !on });
            }
        });
        ui.label(RichText::new(toggle.label).color(cx.tokens.ui.text_strong));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let enabled = refusal.is_none() && !cx.session.busy() && cx.session.draft().error.is_none();
            let name = format!("Measure {} by A/B", toggle.label);
            let button = widgets::named(ui.add_enabled(enabled, egui::Button::new("A/B")), egui::Role::Button, &name);
            let help = "Train with and without it in alternating blocks, and say what it gains with statistics";
            if button.on_hover_text(help).clicked() {
                cx.send(Command::RunAb { flip: toggle.id.to_owned() });
            }
        });
    });
    text::note(ui, toggle.help);
    if let Some(refusal) = refusal {
        ui.add(egui::Label::new(RichText::new(refusal).color(cx.tokens.ui.warning)).wrap());
    }
}
