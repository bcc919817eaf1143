//! Dialogs for paths: open and export. A path can always be typed, with completion; the system's own dialog is an offer.
//!
//! Knows paths and words; what is opened or written is the caller's.

use super::completion::{Completion, expand};
use super::system_dialog::{Answer, Ask, SystemDialog};
use super::tokens::Tokens;
use super::{icons, text, widgets};
use egui::{Key, Modifiers, Role, Ui};
use std::path::{Path, PathBuf};

/// One kind of file that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Words for the user.
    pub label: String,
    /// Ending of its files, with the dot.
    pub ending: String,
}

/// What a path dialog is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// Open a file or a folder; these were opened last.
    Open {
        /// Paths opened last, the newest first.
        recent: Vec<PathBuf>,
    },
    /// Write a file of one of these kinds.
    Save {
        /// Kinds to choose from; the file's ending decides.
        kinds: Vec<Kind>,
    },
}

/// A dialog that asks for a path.
#[derive(Debug)]
pub struct PathDialog {
    title: String,
    help: String,
    purpose: Purpose,
    text: String,
    completion: Completion,
    system: Option<SystemDialog>,
    note: Option<String>,
    focus: bool,
}

/// What came of a dialog in a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Still open.
    Open,
    /// Closed without a path.
    Cancelled,
    /// The user gave a path.
    Path(PathBuf),
}

impl PathDialog {
    /// A dialog that begins with this path in its field.
    pub fn new(title: &str, help: &str, purpose: Purpose, path: &Path) -> Self {
        Self {
            title: title.to_owned(),
            help: help.to_owned(),
            purpose,
            text: path.to_string_lossy().into_owned(),
            completion: Completion::default(),
            system: None,
            note: None,
            focus: true,
        }
    }

    /// Draws the dialog over the window.
    pub fn ui(&mut self, ctx: &egui::Context, tokens: &Tokens) -> Outcome {
        let mut outcome = self.poll_system();
        let width = (ctx.content_rect().width() - 60.0).clamp(260.0, 620.0);
        let modal = egui::Modal::new(egui::Id::unique("path dialog")).show(ctx, |ui| {
            ui.set_width(width);
            ui.horizontal(|ui| ui.heading(&self.title));
            text::note(ui, &self.help);
            ui.add_space(4.0);
            self.kinds_ui(ui, tokens);
            let enter = self.field_ui(ui, tokens);
            self.problem_ui(ui, tokens);
            if let Some(path) = self.recent_ui(ui) {
                outcome = Outcome::Path(path);
            }
            ui.add_space(6.0);
            if let Some(decided) = self.buttons_ui(ui, tokens, enter) {
                outcome = decided;
            }
        });
        if modal.should_close() && outcome == Outcome::Open {
            return Outcome::Cancelled;
        }
        outcome
    }

    fn poll_system(&mut self) -> Outcome {
        match self.system.as_ref().map(SystemDialog::poll) {
            Some(Answer::Chosen(path)) => {
                self.system = None;
                self.text = path.to_string_lossy().into_owned();
                // A file to be written is shown first, so that its ending can still be chosen.
                if matches!(self.purpose, Purpose::Open { .. }) { Outcome::Path(path) } else { Outcome::Open }
            }
            Some(Answer::Nothing) => {
                self.system = None;
                self.note = Some("Nothing was chosen, or this system has no file dialog; type a path".to_owned());
                Outcome::Open
            }
            Some(Answer::Waiting) | None => Outcome::Open,
        }
    }

    fn kinds_ui(&mut self, ui: &mut Ui, tokens: &Tokens) {
        let Purpose::Save { kinds } = &self.purpose else { return };
        let words: Vec<&str> = kinds.iter().map(|kind| kind.label.as_str()).collect();
        let chosen = kinds.iter().position(|kind| ends_with(&self.text, &kind.ending)).unwrap_or(usize::MAX);
        if let Some(kind) = widgets::segmented(ui, tokens, "Kind", &words, chosen).and_then(|idx| kinds.get(idx)) {
            self.text = with_ending(&self.text, kinds, &kind.ending);
        }
    }

    /// The path field with its suggestions; `true` = Enter was pressed in it.
    fn field_ui(&mut self, ui: &mut Ui, tokens: &Tokens) -> bool {
        let suggestions = self.completion.suggestions(ui.ctx(), &self.text);
        let tab = !suggestions.is_empty() && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Tab));
        if let Some(first) = suggestions.first().filter(|_| tab) {
            self.text = common_beginning(&suggestions).filter(|c| c.len() > self.text.len()).unwrap_or(first.clone());
        }
        let field = egui::TextEdit::singleline(&mut self.text).hint_text("Path").desired_width(f32::INFINITY);
        let response = widgets::named(ui.add(field.lock_focus(true)), Role::TextInput, "Path");
        if tab && let Some(mut state) = egui::TextEdit::load_state(ui.ctx(), response.id) {
            let end = egui::text::CCursor::new(self.text.chars().count());
            state.cursor.set_char_range(Some(egui::text::CCursorRange::one(end)));
            state.store(ui.ctx(), response.id);
        }
        if self.focus {
            response.request_focus();
            self.focus = false;
        }
        let enter = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if !suggestions.is_empty() && matches!(self.purpose, Purpose::Open { .. }) {
            egui::ScrollArea::vertical().max_height(120.0).auto_shrink([false, true]).show(ui, |ui| {
                for suggestion in &suggestions {
                    let words = egui::RichText::new(suggestion).monospace().color(tokens.ui.text_weak);
                    if ui.add(egui::Button::new(words).frame(false).truncate()).clicked() {
                        self.text.clone_from(suggestion);
                        self.focus = true;
                    }
                }
            });
        }
        enter
    }

    fn problem(&self) -> Option<String> {
        if self.text.trim().is_empty() {
            return Some("Type a path".to_owned());
        }
        match &self.purpose {
            Purpose::Open { .. } => None,
            Purpose::Save { kinds } if kinds.iter().any(|kind| ends_with(&self.text, &kind.ending)) => None,
            Purpose::Save { kinds } => {
                let endings: Vec<&str> = kinds.iter().map(|kind| kind.ending.as_str()).collect();
                Some(format!("The ending decides the kind; use one of {}", endings.join(", ")))
            }
        }
    }

    fn problem_ui(&self, ui: &mut Ui, tokens: &Tokens) {
        if let Some(problem) = self.problem() {
            ui.colored_label(tokens.ui.warning, problem);
        }
        if self.system.is_some() {
            ui.horizontal(|ui| {
                ui.add(egui::Spinner::new().size(14.0));
                text::note(ui, "Waiting for the system file dialog… a path can be typed all the same");
            });
        } else if let Some(note) = &self.note {
            text::note(ui, note);
        }
    }

    fn recent_ui(&self, ui: &mut Ui) -> Option<PathBuf> {
        let Purpose::Open { recent } = &self.purpose else { return None };
        if recent.is_empty() {
            return None;
        }
        ui.add_space(4.0);
        ui.weak("Opened last");
        recent
            .iter()
            .take(6)
            .find(|path| ui.add(egui::Button::new(path.display().to_string()).frame(false).truncate()).clicked())
            .cloned()
    }

    fn buttons_ui(&mut self, ui: &mut Ui, tokens: &Tokens, enter: bool) -> Option<Outcome> {
        let mut outcome = None;
        let ready = self.problem().is_none();
        ui.horizontal(|ui| {
            let words = if matches!(self.purpose, Purpose::Open { .. }) { "Open" } else { "Export" };
            let icon = if words == "Open" { icons::FOLDER } else { icons::EXPORT };
            if widgets::main_button(ui, tokens, ready, icon, words, 96.0).clicked() || (enter && ready) {
                outcome = Some(Outcome::Path(expand(&self.text)));
            }
            if ui.button("Cancel").clicked() {
                outcome = Some(Outcome::Cancelled);
            }
            ui.separator();
            let asks: &[(&str, Ask)] = match &self.purpose {
                Purpose::Open { .. } => &[("File…", Ask::OpenFile), ("Folder…", Ask::OpenFolder)],
                Purpose::Save { .. } => &[("Choose…", Ask::SaveAs(self.file_name()))],
            };
            for (words, ask) in asks {
                if ui.add_enabled(self.system.is_none(), egui::Button::new(*words)).clicked() {
                    self.note = None;
                    self.system = Some(SystemDialog::open(ask, ui.ctx()));
                }
            }
        });
        outcome
    }

    fn file_name(&self) -> String {
        expand(&self.text).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

fn ends_with(text: &str, ending: &str) -> bool {
    text.trim().to_lowercase().ends_with(ending)
}

/// `text` with the ending of another kind.
fn with_ending(text: &str, kinds: &[Kind], ending: &str) -> String {
    let text = text.trim();
    let known = kinds.iter().filter(|kind| ends_with(text, &kind.ending)).max_by_key(|kind| kind.ending.len());
    let stem = known.and_then(|kind| text.get(..text.len() - kind.ending.len())).unwrap_or(text);
    format!("{stem}{ending}")
}

/// The beginning that all texts share.
fn common_beginning(texts: &[String]) -> Option<String> {
    let (first, rest) = texts.split_first()?;
    let shared = rest.iter().fold(first.chars().count(), |len, text| {
        len.min(first.chars().zip(text.chars()).take_while(|(a, b)| a == b).count())
    });
    Some(first.chars().take(shared).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> Vec<Kind> {
        [("HTML", ".html"), ("CSV", ".csv"), ("Steps", ".steps.csv")]
            .map(|(label, ending)| Kind { label: label.to_owned(), ending: ending.to_owned() })
            .into()
    }

    #[test]
    fn another_kind_changes_only_the_ending() {
        assert_eq!(with_ending("/tmp/a.html", &kinds(), ".csv"), "/tmp/a.csv");
        assert_eq!(with_ending("/tmp/a.steps.csv", &kinds(), ".html"), "/tmp/a.html");
        assert_eq!(with_ending("/tmp/a", &kinds(), ".html"), "/tmp/a.html");
        assert_eq!(with_ending("ü.CSV", &kinds(), ".html"), "ü.html");
    }

    #[test]
    fn an_unknown_ending_is_a_problem() {
        let dialog =
            |path: &str| PathDialog::new("Export", "", Purpose::Save { kinds: kinds() }, Path::new(path)).problem();
        assert_eq!(dialog("/tmp/a.html"), None);
        assert!(dialog("/tmp/a.doc").is_some_and(|problem| problem.contains(".steps.csv")));
        assert!(dialog("  ").is_some());
    }

    #[test]
    fn tab_completes_what_all_share() {
        let texts = ["/a/run-1", "/a/run-2"].map(str::to_owned);
        assert_eq!(common_beginning(&texts).as_deref(), Some("/a/run-"));
        assert_eq!(common_beginning(&[]), None);
    }
}
