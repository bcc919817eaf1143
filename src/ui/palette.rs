//! The command palette: type a few letters of what is wanted, press Enter. Usable by keyboard alone.
//!
//! Knows lines of text only; the caller says what a chosen line means.

use super::tokens::{Tokens, size};
use super::widgets;
use egui::text::LayoutJob;
use egui::{Align, FontSelection, Key, Modifiers, TextFormat, Ui, vec2};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Rows that the arrow of a page jumps.
const PAGE: usize = 8;

/// One line of the palette.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it does, as in a menu.
    pub label: String,
    /// One sentence of help.
    pub help: String,
    /// Its keys, for the eye; may be empty.
    pub shortcut: String,
}

/// A line that fits what was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its place among all entries.
    pub idx: usize,
    /// The characters of its label that were matched, ascending.
    pub chars: Vec<u32>,
    score: u32,
}

/// Entries that fit `query`, the best first; all of them in their order when nothing was typed.
pub fn rank(query: &str, entries: &[Entry], matcher: &mut Matcher) -> Vec<Hit> {
    let pattern = Pattern::parse(query, CaseMatching::Ignore, Normalization::Smart);
    let mut hits = Vec::new();
    let mut buffer = Vec::new();
    for (idx, entry) in entries.iter().enumerate() {
        let mut chars = Vec::new();
        if let Some(score) = pattern.indices(Utf32Str::new(&entry.label, &mut buffer), matcher, &mut chars) {
            chars.sort_unstable();
            chars.dedup();
            hits.push(Hit { idx, chars, score });
        }
    }
    hits.sort_by(|a, b| b.score.cmp(&a.score).then(a.idx.cmp(&b.idx)));
    hits
}

/// What is typed and chosen while the palette is open.
#[derive(Debug, Default)]
pub struct Palette {
    open: bool,
    query: String,
    chosen: usize,
    matcher: Matcher,
    scroll: bool,
}

impl Palette {
    /// Shows the palette with nothing typed.
    pub fn open(&mut self) {
        *self = Self { open: true, matcher: Matcher::new(Config::DEFAULT), scroll: true, ..Self::default() };
    }

    /// Whether it is shown.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Draws it, if it is open, and returns the place of the entry that was chosen.
    pub fn ui(&mut self, ctx: &egui::Context, tokens: &Tokens, entries: &[Entry]) -> Option<usize> {
        if !self.open {
            return None;
        }
        let hits = rank(&self.query, entries, &mut self.matcher);
        self.move_by_keys(ctx, hits.len());
        let mut result = None;
        if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter)) {
            result = hits.get(self.chosen).map(|hit| hit.idx);
        }
        let window = ctx.content_rect();
        let width = (window.width() - 40.0).clamp(200.0, 560.0);
        let area = egui::Modal::default_area(egui::Id::unique("palette"))
            .anchor(egui::Align2::CENTER_TOP, vec2(0.0, (window.height() * 0.12).min(120.0)));
        let modal = egui::Modal::new(egui::Id::unique("palette")).area(area).show(ctx, |ui| {
            ui.set_width(width);
            self.field_ui(ui);
            ui.separator();
            let height = (window.height() * 0.6).min(420.0);
            egui::ScrollArea::vertical().max_height(height).auto_shrink([false, true]).show(ui, |ui| {
                if hits.is_empty() {
                    ui.weak(format!("No command fits “{}”", self.query));
                }
                for (row, hit) in hits.iter().enumerate() {
                    let Some(entry) = entries.get(hit.idx) else { continue };
                    let response = row_ui(ui, tokens, entry, hit, row == self.chosen);
                    if row == self.chosen && self.scroll {
                        response.scroll_to_me(None);
                        self.scroll = false;
                    }
                    if response.clicked() {
                        result = Some(hit.idx);
                    }
                }
            });
        });
        if result.is_some() || modal.should_close() {
            self.open = false;
        }
        result
    }

    fn field_ui(&mut self, ui: &mut Ui) {
        let field = egui::TextEdit::singleline(&mut self.query)
            .hint_text("Type a command")
            .desired_width(f32::INFINITY)
            .frame(egui::Frame::NONE)
            .font(egui::FontId::proportional(15.0));
        let response = widgets::named(ui.add(field), egui::Role::TextInput, "Command");
        if response.changed() {
            self.chosen = 0;
            self.scroll = true;
        }
        response.request_focus();
    }

    fn move_by_keys(&mut self, ctx: &egui::Context, rows: usize) {
        let last = rows.saturating_sub(1);
        let before = self.chosen;
        ctx.input_mut(|input| {
            let mut pressed = |key| input.consume_key(Modifiers::NONE, key);
            if pressed(Key::ArrowDown) {
                self.chosen = if self.chosen >= last { 0 } else { self.chosen + 1 };
            }
            if pressed(Key::ArrowUp) {
                self.chosen = self.chosen.checked_sub(1).unwrap_or(last);
            }
            if pressed(Key::PageDown) {
                self.chosen += PAGE;
            }
            if pressed(Key::PageUp) {
                self.chosen = self.chosen.saturating_sub(PAGE);
            }
        });
        self.chosen = self.chosen.min(last);
        self.scroll |= self.chosen != before;
    }
}

fn row_ui(ui: &mut Ui, tokens: &Tokens, entry: &Entry, hit: &Hit, chosen: bool) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW + 2.0), egui::Sense::click());
    let fill = match (chosen, response.hovered()) {
        (true, _) => Some(tokens.ui.selection),
        (false, true) => Some(tokens.ui.hovered),
        (false, false) => None,
    };
    let painter = ui.painter_at(rect);
    if let Some(fill) = fill {
        painter.rect_filled(rect, f32::from(size::RADIUS), fill);
    }
    let inner = rect.shrink2(vec2(8.0, 0.0));
    let galley = painter.layout_job(label_job(ui, tokens, &entry.label, &hit.chars));
    painter.galley(egui::pos2(inner.left(), inner.center().y - galley.size().y / 2.0), galley, tokens.ui.text);
    let font = FontSelection::Style(egui::TextStyle::Monospace).resolve(ui.style());
    painter.text(inner.right_center(), egui::Align2::RIGHT_CENTER, &entry.shortcut, font, tokens.ui.text_weak);
    let response = response.on_hover_text(&entry.help);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, chosen, &entry.label));
    response
}

/// The label with the matched characters in the accent colour.
fn label_job(ui: &Ui, tokens: &Tokens, label: &str, matched: &[u32]) -> LayoutJob {
    let font = FontSelection::Default.resolve(ui.style());
    let mut job = LayoutJob::default();
    for (idx, char) in (0_u32..).zip(label.chars()) {
        let hit = matched.binary_search(&idx).is_ok();
        let color = if hit { tokens.ui.accent } else { tokens.ui.text };
        let format = TextFormat { font_id: font.clone(), color, valign: Align::Center, ..TextFormat::default() };
        job.append(char.encode_utf8(&mut [0; 4]), 0.0, format);
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        ["Show Timeline", "Show Setup", "Train", "Run the ladder", "Dark theme"]
            .map(|label| Entry { label: label.to_owned(), help: String::new(), shortcut: String::new() })
            .into()
    }

    fn best(query: &str) -> Vec<usize> {
        rank(query, &entries(), &mut Matcher::new(Config::DEFAULT)).into_iter().map(|hit| hit.idx).collect()
    }

    #[test]
    fn a_few_letters_find_a_command() {
        assert_eq!(best("ladder"), [3]);
        assert_eq!(best("shset"), [1]);
        assert_eq!(best("tr").first(), Some(&2));
        assert_eq!(best(""), [0, 1, 2, 3, 4]);
        assert!(best("zzz").is_empty());
    }

    #[test]
    fn matched_characters_are_told() {
        let hits = rank("DT", &entries(), &mut Matcher::new(Config::DEFAULT));
        assert_eq!(hits.first().map(|hit| (hit.idx, hit.chars.clone())), Some((4, vec![0, 5])));
    }
}
