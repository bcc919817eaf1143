//! Short messages in the corner that go by themselves, and the list of those that went.
//!
//! Knows text and levels; what a toast's button means is the caller's.

use super::tokens::Tokens;
use super::{Icon, icons, widgets};
use egui::{Align2, Color32, Ui, vec2};
use std::collections::VecDeque;

/// Messages that are kept after they went.
const HISTORY_MAX: usize = 200;
/// Toasts that are shown at once; older ones go to the history early.
const SHOWN_MAX: usize = 5;
/// Width of a toast, in points.
const WIDTH: f32 = 340.0;

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is less than it should be.
    Warning,
    /// Something failed.
    Error,
}

impl Level {
    /// Seconds that a message stays; errors stay until they are closed.
    fn stays_secs(self, has_action: bool) -> f64 {
        match self {
            Self::Info if has_action => 10.0,
            Self::Info => 5.0,
            Self::Warning => 10.0,
            Self::Error => f64::INFINITY,
        }
    }

    /// Its icon.
    pub fn icon(self) -> Icon {
        match self {
            Self::Info => icons::INFO,
            Self::Warning => icons::WARNING,
            Self::Error => icons::ERROR,
        }
    }

    /// Its colour.
    pub fn color(self, tokens: &Tokens) -> Color32 {
        match self {
            Self::Info => tokens.ui.link,
            Self::Warning => tokens.ui.warning,
            Self::Error => tokens.ui.bad,
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Toast<T> {
    /// How much it matters.
    pub level: Level,
    /// The sentence.
    pub text: String,
    /// A button: its words and what it means.
    pub action: Option<(String, T)>,
    key: u64,
    left_secs: f64,
    times: u32,
}

/// The messages in the corner, and those that went.
#[derive(Debug)]
pub struct Toasts<T> {
    shown: VecDeque<Toast<T>>,
    history: VecDeque<Toast<T>>,
    next_key: u64,
    unread: usize,
    drawn_at: Option<f64>,
}

impl<T> Default for Toasts<T> {
    fn default() -> Self {
        Self { shown: VecDeque::new(), history: VecDeque::new(), next_key: 0, unread: 0, drawn_at: None }
    }
}

impl<T: Clone> Toasts<T> {
    /// Shows a message. The same sentence again only counts up.
    pub fn push(&mut self, level: Level, text: impl Into<String>, action: Option<(String, T)>) {
        let text = text.into();
        let left_secs = level.stays_secs(action.is_some());
        if let Some(same) = self.shown.iter_mut().find(|toast| toast.level == level && toast.text == text) {
            same.left_secs = left_secs;
            same.times += 1;
            same.action = action;
            return;
        }
        self.next_key += 1;
        let toast = Toast { level, text, action, key: self.next_key, left_secs, times: 1 };
        self.history.push_front(toast.clone());
        self.history.truncate(HISTORY_MAX);
        self.unread += 1;
        self.shown.push_back(toast);
        while self.shown.len() > SHOWN_MAX {
            self.shown.pop_front();
        }
    }

    /// Messages in the corner, the oldest first.
    pub fn shown(&self) -> impl Iterator<Item = &Toast<T>> {
        self.shown.iter()
    }

    /// All messages of this start, the newest first.
    pub fn history(&self) -> impl Iterator<Item = &Toast<T>> {
        self.history.iter()
    }

    /// Lets time pass; messages whose time is over go.
    pub fn pass(&mut self, secs: f64) {
        for toast in &mut self.shown {
            toast.left_secs -= secs;
        }
        self.shown.retain(|toast| toast.left_secs > 0.0);
    }

    /// Draws the messages over everything else and returns what a pressed button means. `above` = room to leave free at
    /// the window's lower edge, in points.
    pub fn ui(&mut self, ctx: &egui::Context, tokens: &Tokens, above: f32) -> Option<T> {
        if self.shown.is_empty() {
            self.drawn_at = None;
            return None;
        }
        let mut pressed = None;
        let mut closed = None;
        let area = egui::Area::new(egui::Id::unique("toasts"))
            .order(egui::Order::Foreground)
            .anchor(Align2::RIGHT_BOTTOM, vec2(-12.0, -above - 12.0));
        let response = area.show(ctx, |ui| {
            ui.set_max_width(WIDTH);
            for toast in &self.shown {
                match toast_ui(ui, tokens, toast) {
                    Some(Pressed::Action) => {
                        pressed = toast.action.as_ref().map(|(_, action)| action.clone());
                        closed = Some(toast.key);
                    }
                    Some(Pressed::Close) => closed = Some(toast.key),
                    None => {}
                }
            }
        });
        // Time stands still while the pointer is on a message, so that it can be read to its end.
        let now = ctx.input(|input| input.time);
        let passed = self.drawn_at.map_or(0.0, |before| (now - before).max(0.0));
        self.drawn_at = Some(now);
        if !response.response.contains_pointer() {
            self.pass(passed);
        }
        self.shown.retain(|toast| Some(toast.key) != closed);
        if let Some(next) = self.shown.iter().map(|toast| toast.left_secs).min_by(f64::total_cmp)
            && next.is_finite()
        {
            ctx.request_repaint_after_secs(next.max(0.05) as f32);
        }
        pressed
    }

    /// Button with the number of unread messages; its menu lists all of them.
    pub fn history_button(&mut self, ui: &mut Ui, tokens: &Tokens) {
        let text = if self.unread == 0 { "Messages".to_owned() } else { format!("Messages ({})", self.unread) };
        let button = ui.menu_button(text, |ui| {
            ui.set_width(420.0);
            if self.history.is_empty() {
                ui.weak("No messages since the start");
            }
            egui::ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
                for toast in &self.history {
                    message_ui(ui, tokens, toast.level, &toast.text);
                }
            });
        });
        if button.inner.is_some() {
            self.unread = 0;
        }
    }
}

enum Pressed {
    Action,
    Close,
}

fn toast_ui<T>(ui: &mut Ui, tokens: &Tokens, toast: &Toast<T>) -> Option<Pressed> {
    let mut pressed = None;
    let frame = tokens.card().stroke(egui::Stroke::new(1.0, toast.level.color(tokens))).shadow(egui::Shadow {
        offset: [0, 3],
        blur: 12,
        spread: 0,
        color: tokens.ui.shadow,
    });
    frame.show(ui, |ui| {
        ui.set_width(WIDTH - 24.0);
        ui.horizontal_top(|ui| {
            let close_width = 24.0;
            ui.vertical(|ui| {
                ui.set_width(ui.available_width() - close_width - 8.0);
                let text =
                    if toast.times > 1 { format!("{} ({}×)", toast.text, toast.times) } else { toast.text.clone() };
                message_ui(ui, tokens, toast.level, &text);
                if let Some((label, _)) = &toast.action
                    && ui.button(label).clicked()
                {
                    pressed = Some(Pressed::Action);
                }
            });
            if widgets::icon_button(ui, icons::CLOSE, "Close message").clicked() {
                pressed = Some(Pressed::Close);
            }
        });
    });
    pressed
}

/// A sentence with the icon of its level.
pub fn message_ui(ui: &mut Ui, tokens: &Tokens, level: Level, text: &str) {
    ui.horizontal_top(|ui| {
        ui.add(level.icon().image(super::tokens::size::ICON, level.color(tokens)));
        ui.add(egui::Label::new(text).wrap());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_after_their_time_and_stay_in_the_history() {
        let mut toasts = Toasts::<()>::default();
        toasts.push(Level::Info, "saved", None);
        toasts.push(Level::Error, "failed", None);
        toasts.pass(6.0);
        assert_eq!(toasts.shown().map(|toast| toast.text.as_str()).collect::<Vec<_>>(), ["failed"]);
        toasts.pass(1e6);
        assert_eq!(toasts.shown().count(), 1, "errors stay until they are closed");
        assert_eq!(toasts.history().count(), 2);
    }

    #[test]
    fn the_same_sentence_only_counts_up() {
        let mut toasts = Toasts::<()>::default();
        for _ in 0..3 {
            toasts.push(Level::Warning, "slow disk", None);
        }
        assert_eq!(toasts.shown().map(|toast| toast.times).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_flood_does_not_cover_the_window() {
        let mut toasts = Toasts::<()>::default();
        for i in 0..1000 {
            toasts.push(Level::Error, format!("error {i}"), None);
        }
        assert_eq!(toasts.shown().count(), SHOWN_MAX);
        assert_eq!(toasts.history().count(), HISTORY_MAX);
    }
}
