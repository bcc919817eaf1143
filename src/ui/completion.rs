//! Completion of a path that is being typed. Folders are read on a thread: one on a dead network drive must not stop
//! the window.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

/// Suggestions that are shown; more would not help.
const MAX_SUGGESTIONS: usize = 12;
/// Entries of a folder that are looked at; a folder with more is completed from these.
const MAX_READ: usize = 20_000;

/// The folder whose entries complete `text`, and the beginning of the entry's name.
pub fn split(text: &str) -> (PathBuf, &str) {
    let at = text.rfind(['/', MAIN_SEPARATOR]).map_or(0, |at| at + 1);
    let (folder, beginning) = text.split_at(at);
    let folder = match folder.strip_prefix("~/") {
        Some(rest) => home().join(rest),
        None if folder.is_empty() => PathBuf::from("."),
        None => PathBuf::from(folder),
    };
    (folder, beginning)
}

/// The path that `text` stands for: without blanks around it, `~` as the user's folder.
pub fn expand(text: &str) -> PathBuf {
    let text = text.trim();
    match text.strip_prefix("~/") {
        Some(rest) => home().join(rest),
        None if text == "~" => home(),
        None => PathBuf::from(text),
    }
}

fn home() -> PathBuf {
    std::env::home_dir().unwrap_or_default()
}

/// Entries of `names` that begin with `beginning` (in any case), folders end with a separator; hidden ones only when
/// asked for by a dot.
pub fn matching(names: &[(String, bool)], beginning: &str) -> Vec<String> {
    let wanted = beginning.to_lowercase();
    let mut found: Vec<String> = names
        .iter()
        .filter(|(name, _)| name.to_lowercase().starts_with(&wanted))
        .filter(|(name, _)| !name.starts_with('.') || beginning.starts_with('.'))
        .map(|(name, folder)| if *folder { format!("{name}{MAIN_SEPARATOR}") } else { name.clone() })
        .collect();
    found.sort_unstable();
    found.truncate(MAX_SUGGESTIONS);
    found
}

fn read(folder: &Path) -> Vec<(String, bool)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .take(MAX_READ)
        .filter_map(Result::ok)
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().is_dir()))
        .collect()
}

/// The entries of the folder that is being typed in, as far as they have been read.
#[derive(Debug, Default)]
pub struct Completion {
    folder: Option<PathBuf>,
    names: Vec<(String, bool)>,
    waiting: Option<Receiver<Vec<(String, bool)>>>,
}

impl Completion {
    /// What could stand at the end of `text`: whole texts with their last part completed. Empty while the folder is
    /// still being read.
    pub fn suggestions(&mut self, ctx: &egui::Context, text: &str) -> Vec<String> {
        let (folder, beginning) = split(text);
        if self.folder.as_ref() != Some(&folder) {
            self.names.clear();
            self.waiting = Some(read_on_thread(folder.clone(), ctx.clone()));
            self.folder = Some(folder);
        }
        if let Some(names) = self.waiting.as_ref().and_then(|waiting| waiting.try_recv().ok()) {
            self.names = names;
            self.waiting = None;
        }
        let stem = &text[..text.len() - beginning.len()];
        matching(&self.names, beginning).into_iter().map(|name| format!("{stem}{name}")).collect()
    }
}

fn read_on_thread(folder: PathBuf, ctx: egui::Context) -> Receiver<Vec<(String, bool)>> {
    let (send, receive) = channel();
    // Without a thread there are no suggestions; the path can still be typed.
    std::thread::Builder::new()
        .name("path-completion".to_owned())
        .spawn(move || {
            // Nobody listens any more when the text has moved on to another folder.
            send.send(read(&folder)).ok();
            ctx.request_repaint();
        })
        .ok();
    receive
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn the_last_part_is_completed() {
        assert_eq!(split("/data/ru"), (PathBuf::from("/data/"), "ru"));
        assert_eq!(split("ru"), (PathBuf::from("."), "ru"));
        assert_eq!(split("/data/"), (PathBuf::from("/data/"), ""));
        assert_eq!(split("~/x").0, home().join(""));
        assert_eq!(expand("  ~/x "), home().join("x"));
    }

    #[test]
    fn folders_and_hidden_files_are_told_apart() {
        let names =
            [("Runs", true), ("run.json", false), (".hidden", false), ("other", false)].map(|(n, d)| (n.to_owned(), d));
        assert_eq!(matching(&names, "ru"), [format!("Runs{MAIN_SEPARATOR}"), "run.json".to_owned()]);
        assert_eq!(matching(&names, "."), [".hidden"]);
        assert!(matching(&names, "").iter().all(|name| !name.starts_with('.')));
    }

    #[test]
    fn suggestions_come_from_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("trace.json"), "").unwrap();
        let ctx = egui::Context::default();
        let text = format!("{}/tra", dir.path().display());
        let mut completion = Completion::default();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        loop {
            let found = completion.suggestions(&ctx, &text);
            if !found.is_empty() {
                assert_eq!(found, [format!("{text}ce.json")]);
                break;
            }
            assert!(std::time::Instant::now() < until, "no suggestion came");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
