//! Figures that say where they are from, or why there is none.

use crate::ui::text;
use crate::ui::tokens::Tokens;
use egui::{Align, Layout, RichText, Ui};

/// A figure in words, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Figure {
    /// The figure with its unit, and how it was measured.
    Shown {
        /// With its unit.
        text: String,
        /// How it was measured, on how many samples.
        source: String,
    },
    /// Why there is no figure.
    Missing(String),
}

impl Figure {
    /// A figure.
    pub fn new(text: impl Into<String>, source: impl Into<String>) -> Self {
        Self::Shown { text: text.into(), source: source.into() }
    }

    fn text(&self) -> &str {
        match self {
            Self::Shown { text, .. } => text,
            Self::Missing(_) => "unknown",
        }
    }

    fn hover(&self) -> &str {
        match self {
            Self::Shown { source, .. } => source,
            Self::Missing(reason) => reason,
        }
    }
}

/// A row `label … figure`; the pointer tells the figure's source or the reason of its absence.
pub fn value_row(ui: &mut Ui, tokens: &Tokens, label: &str, figure: &Figure) {
    let response = ui
        .horizontal(|ui| {
            ui.add(egui::Label::new(RichText::new(label).color(tokens.ui.text_weak)).truncate());
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let rich = match figure {
                    Figure::Shown { text, .. } => text::figure(text).color(tokens.ui.text),
                    Figure::Missing(_) => RichText::new("unknown").italics().color(tokens.ui.text_weak),
                };
                ui.add(egui::Label::new(rich).truncate());
            });
        })
        .response;
    if !figure.hover().is_empty() {
        response.on_hover_text(figure.hover());
    }
}

/// A card with one figure that matters: label, figure, and a line beneath it.
pub fn figure_card(ui: &mut Ui, tokens: &Tokens, width: f32, label: &str, figure: &Figure, note: &str) {
    let inset = 2.0 * f32::from(crate::ui::tokens::size::INSET) + 2.0;
    let response = tokens
        .card()
        .show(ui, |ui| {
            ui.set_width(width - inset);
            ui.vertical(|ui| {
                ui.spacing_mut().item_spacing.y = 2.0;
                ui.add(egui::Label::new(RichText::new(label).color(tokens.ui.text_weak)).truncate());
                let rich = match figure {
                    Figure::Shown { text, .. } => text::big_figure(text, tokens.ui.text_strong),
                    Figure::Missing(_) => RichText::new("unknown").size(17.0).italics().color(tokens.ui.text_weak),
                };
                ui.add(egui::Label::new(rich).truncate());
                let note = match figure {
                    Figure::Shown { .. } => note,
                    Figure::Missing(reason) => reason,
                };
                ui.add(egui::Label::new(RichText::new(note).small().color(tokens.ui.text_weak)).truncate());
            });
        })
        .response;
    response.widget_info(|| {
        let words = format!("{label}: {}", figure.text());
        egui::WidgetInfo::labeled(egui::Role::Label, true, words)
    });
    if !figure.hover().is_empty() {
        response.on_hover_text(figure.hover());
    }
}
