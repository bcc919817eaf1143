//! Badge, buttons with icons, progress with time left, search field.

use crate::ui::tokens::{Tokens, size};
use crate::ui::{Icon, icons, text};
use egui::{Align2, Color32, FontId, Response, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

/// What a badge says by its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A plain fact.
    Plain,
    /// Well.
    Good,
    /// Less than it should be.
    Warning,
    /// Failed.
    Bad,
    /// In progress.
    Active,
}

impl Tone {
    /// Its colour.
    pub fn color(self, tokens: &Tokens) -> Color32 {
        match self {
            Self::Plain => tokens.ui.text_weak,
            Self::Good => tokens.ui.good,
            Self::Warning => tokens.ui.warning,
            Self::Bad => tokens.ui.bad,
            Self::Active => tokens.ui.accent,
        }
    }
}

/// Gives a widget the name that screen readers and tests find it by.
pub fn named(response: Response, role: Role, name: &str) -> Response {
    let enabled = response.enabled();
    response.widget_info(|| WidgetInfo::labeled(role, enabled, name));
    response
}

/// One or two words in a rounded outline.
pub fn badge(ui: &mut Ui, tokens: &Tokens, tone: Tone, words: &str) -> Response {
    let color = tone.color(tokens);
    let galley = ui.painter().layout_no_wrap(words.to_owned(), FontId::proportional(11.0), color);
    let (rect, response) = ui.allocate_exact_size(galley.size() + vec2(12.0, 4.0), Sense::hover());
    ui.painter().rect(
        rect,
        rect.height() / 2.0,
        color.gamma_multiply(if tokens.dark { 0.14 } else { 0.08 }),
        Stroke::new(1.0, color.gamma_multiply(0.6)),
        egui::StrokeKind::Inside,
    );
    ui.painter().galley(rect.center() - galley.size() / 2.0, galley, color);
    named(response, Role::Label, words)
}

/// A frameless button that shows only an icon; `words` tell what it does.
pub fn icon_button(ui: &mut Ui, icon: Icon, words: &str) -> Response {
    let button = egui::Button::image(icon.image(size::ICON, Color32::WHITE))
        .image_tint_follows_text_color(true)
        .frame_when_inactive(false);
    named(ui.add(button).on_hover_text(words), Role::Button, words)
}

/// The one button of a panel that matters most.
pub fn main_button(ui: &mut Ui, tokens: &Tokens, enabled: bool, icon: Icon, words: &str, width: f32) -> Response {
    let color = if enabled { tokens.ui.on_accent } else { tokens.ui.text_weak };
    let fill = if enabled { tokens.ui.accent_fill } else { tokens.ui.raised };
    let text = egui::RichText::new(words).size(15.0).strong().color(color);
    let button =
        egui::Button::image_and_text(icon.image(size::ICON + 1.0, color), text).fill(fill).min_size(vec2(width, 34.0));
    named(ui.add_enabled(enabled, button), Role::Button, words)
}

/// How far something is: a bar when the share is known, with what is being done and time left.
pub fn progress(ui: &mut Ui, tokens: &Tokens, what: &str, share: Option<f32>, left_secs: Option<f64>) {
    ui.horizontal(|ui| {
        if share.is_none() {
            // Still, not turning: while something is measured the window draws as rarely as it can.
            ui.add(icons::CLOCK.image(size::ICON, tokens.ui.accent));
        }
        ui.add(egui::Label::new(what).truncate());
    });
    let Some(share) = share else { return };
    let share = share.clamp(0.0, 1.0);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 16.0), Sense::hover());
    let radius = 4.0;
    ui.painter().rect_filled(rect, radius, tokens.ui.raised);
    let mut done = rect;
    done.set_width(rect.width() * share);
    ui.painter().rect_filled(done, radius, tokens.ui.accent_fill);
    let percent = format!("{:.0} %", share * 100.0);
    let words = match left_secs {
        Some(secs) => format!("{percent} · about {} left", text::time_left(secs)),
        None => percent,
    };
    let font = FontId::monospace(11.0);
    // Drawn twice, each clipped to its side, so that the words are readable over both colours.
    for (part, color) in [(rect, tokens.ui.text_strong), (done, tokens.ui.on_accent)] {
        let clip = ui.painter().with_clip_rect(part.intersect(ui.clip_rect()));
        clip.text(rect.center(), Align2::CENTER_CENTER, &words, font.clone(), color);
    }
    named(response, Role::ProgressIndicator, &format!("{what}: {words}"));
}

/// A text field with a magnifying glass and a cross that empties it. `focus` puts the cursor into it.
pub fn search_field(ui: &mut Ui, query: &mut String, name: &str, width: f32, focus: bool) -> Response {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.add(icons::SEARCH.small(ui));
        let field = egui::TextEdit::singleline(query).hint_text(name).desired_width(width);
        let mut response = named(ui.add(field), Role::TextInput, name);
        if focus {
            response.request_focus();
        }
        if !query.is_empty() && icon_button(ui, icons::CLOSE, &format!("Empty: {name}")).clicked() {
            query.clear();
            response.mark_changed();
        }
        response
    })
    .inner
}
