//! Cards with advice: what was seen, what to try, and a button that does it.

use super::super::PanelContext;
use crate::analysis::advice::Advice;
use crate::model::Toggle;
use crate::session::{Command, OpenRun};
use crate::ui::tokens::size;
use crate::ui::{icons, text};
use egui::{RichText, Ui};

/// All advice for a run, or why there is none.
pub fn advice_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    let Some(list) = &run.derived.advice else {
        text::note(ui, "Being computed…");
        return;
    };
    if list.is_empty() {
        text::note(ui, "Nothing stands out in this run: no rule found evidence for advice");
        return;
    }
    for (idx, advice) in list.iter().enumerate() {
        if idx > 0 {
            ui.add_space(4.0);
            ui.separator();
        }
        one_ui(cx, ui, advice);
    }
}

fn one_ui(cx: &PanelContext<'_>, ui: &mut Ui, advice: &Advice) {
    ui.horizontal_top(|ui| {
        ui.add(icons::BULB.image(size::ICON, cx.tokens.ui.accent));
        ui.add(egui::Label::new(RichText::new(&advice.title).color(cx.tokens.ui.text_strong)).wrap());
    });
    for evidence in &advice.evidence {
        text::note(ui, evidence);
    }
    ui.add(egui::Label::new(&advice.suggestion).wrap());
    let Some(toggle) = advice.toggle.and_then(Toggle::find) else { return };
    ui.horizontal_wrapped(|ui| {
        let on = toggle.is_on(&cx.session.draft().spec);
        let words = if on { format!("{} is on in Setup", toggle.label) } else { format!("Turn on {}", toggle.label) };
        if ui.add_enabled(!on, egui::Button::new(words)).on_hover_text(toggle.help).clicked() {
            cx.send(Command::SetToggle { id: toggle.id.to_owned(), on: true });
        }
        let measure = ui.add_enabled(!cx.session.busy(), egui::Button::new("Measure by A/B"));
        if measure.on_hover_text("Train with and without it in alternating blocks").clicked() {
            cx.send(Command::RunAb { flip: toggle.id.to_owned() });
        }
    });
}
