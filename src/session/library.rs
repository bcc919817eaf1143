//! The runs on disk: listing, finding by a unique beginning, renaming, deleting with undo.

use super::state::{Level, Notice, RunEntry};
use super::{Command, Msg, Session};
use crate::format::run_folder::{self, RunFolder};
use crate::model::RunManifest;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folder inside the runs folder that holds deleted runs.
const TRASH: &str = ".trash";

/// A deleted run that can be brought back.
pub(crate) struct Deleted {
    from: PathBuf,
    to: PathBuf,
    title: String,
}

/// All runs of a folder, the newest first, and a sentence for each folder that could not be read. A folder that is
/// missing holds no runs.
pub fn list(runs_dir: &Path) -> Result<(Vec<RunEntry>, Vec<String>), String> {
    if !runs_dir.exists() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut entries = Vec::new();
    let mut troubles = Vec::new();
    for path in run_folder::list(runs_dir).map_err(|e| e.to_string())? {
        let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match RunFolder::open(&path).and_then(|folder| folder.read_manifest()) {
            Ok(mut manifest) => {
                run_folder::settle_end(&mut manifest);
                entries.push(RunEntry { id, bytes: folder_bytes(&path), manifest: Arc::new(manifest), path });
            }
            Err(error) => troubles.push(error.to_string()),
        }
    }
    entries.sort_by(|a, b| b.manifest.started.cmp(&a.manifest.started).then_with(|| b.id.cmp(&a.id)));
    Ok((entries, troubles))
}

/// Size of the files of a folder, in bytes; what cannot be read counts as nothing.
fn folder_bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.metadata().ok())
        .filter(|m| m.is_file())
        .map(|m| m.len())
        .sum()
}

/// The folder or trace file that a user means by `text`: a path, a run's name, or a beginning that only one run has.
pub fn find(runs_dir: &Path, text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    if path.exists() {
        return Ok(path.to_path_buf());
    }
    let (entries, _) = list(runs_dir)?;
    if let Some(exact) = entries.iter().find(|entry| entry.id == text) {
        return Ok(exact.path.clone());
    }
    if text == "latest"
        && let Some(newest) = entries.first()
    {
        return Ok(newest.path.clone());
    }
    let matching: Vec<&RunEntry> = entries
        .iter()
        .filter(|entry| entry.id.starts_with(text) || entry.id.ends_with(text) || entry.manifest.title == text)
        .collect();
    match matching.as_slice() {
        [one] => Ok(one.path.clone()),
        [] => Err(format!(
            "there is no run `{text}`, neither as a folder nor in {}; `burnscope runs` lists them",
            runs_dir.display()
        )),
        many => {
            let ids: Vec<&str> = many.iter().take(5).map(|entry| entry.id.as_str()).collect();
            Err(format!("`{text}` fits {} runs ({} …); write more of the name", many.len(), ids.join(", ")))
        }
    }
}

impl Session {
    pub(super) fn refresh_library(&mut self) {
        let dir = self.settings.runs_dir.clone();
        let outbox = self.outbox.clone();
        self.background("library", move || match list(&dir) {
            Ok((entries, troubles)) => {
                outbox.send(Msg::Library(Ok(entries)));
                for trouble in troubles {
                    outbox.send(Msg::Library(Err(trouble)));
                }
            }
            Err(error) => outbox.send(Msg::Library(Err(error))),
        });
    }

    fn entry(&self, id: &str) -> Option<&RunEntry> {
        self.library.iter().find(|entry| entry.id == id)
    }

    /// Folder of a run of the library or of an open one.
    pub(super) fn run_path(&self, id: &str) -> Option<PathBuf> {
        let listed = self.entry(id).map(|entry| entry.path.clone());
        listed.or_else(|| self.open.iter().find(|run| run.id == id).map(|run| run.path.clone()))
    }

    /// Changes a run's `run.json`; the open copy and the list follow.
    pub(super) fn edit_manifest(&mut self, id: &str, edit: impl Fn(&mut RunManifest)) {
        let Some(path) = self.run_path(id) else { return };
        let result = RunFolder::open(&path).and_then(|folder| {
            let mut manifest = folder.read_manifest()?;
            edit(&mut manifest);
            folder.write_manifest(&manifest)
        });
        if let Err(error) = result {
            self.say(Level::Error, "app", &error.to_string());
            return;
        }
        if let Some(run) = self.open.iter_mut().find(|run| run.id == id) {
            edit(Arc::make_mut(&mut run.manifest));
        }
        if let Some(entry) = self.library.iter_mut().find(|entry| entry.id == id) {
            edit(Arc::make_mut(&mut entry.manifest));
        }
    }

    /// Moves a run to the trash folder.
    pub(super) fn delete_run(&mut self, id: &str) {
        if self.training.as_ref().is_some_and(|training| training.active() && training.run_id == id) {
            self.say(Level::Warning, "app", "This run is still training; stop it first");
            return;
        }
        let Some(entry) = self.entry(id) else { return };
        let (from, title) = (entry.path.clone(), entry.manifest.title.clone());
        let trash = self.settings.runs_dir.join(TRASH);
        let to = trash.join(id);
        let moved = std::fs::create_dir_all(&trash).and_then(|()| std::fs::rename(&from, &to));
        if let Err(error) = moved {
            self.say(Level::Error, "app", &format!("the run was not deleted: {error}: {}", from.display()));
            return;
        }
        self.close_run(id);
        self.library.retain(|entry| entry.id != id);
        self.compare.others.retain(|other| other != id);
        if self.compare.baseline.as_deref() == Some(id) {
            self.compare.baseline = None;
        }
        self.deleted.push(Deleted { from, to, title: title.clone() });
        self.notices.push(Notice {
            level: Level::Info,
            text: format!("Deleted “{title}”"),
            action: Some(("Undo".to_owned(), Command::UndoDelete)),
        });
    }

    /// Brings the last deleted run back.
    pub(super) fn undo_delete(&mut self) {
        let Some(deleted) = self.deleted.pop() else {
            self.say(Level::Info, "app", "There is no deleted run to bring back");
            return;
        };
        match std::fs::rename(&deleted.to, &deleted.from) {
            Ok(()) => {
                self.say(Level::Info, "app", &format!("“{}” is back", deleted.title));
                self.refresh_library();
            }
            Err(error) => {
                let text = format!("the run was not brought back: {error}: {}", deleted.to.display());
                self.deleted.push(deleted);
                self.say(Level::Error, "app", &text);
            }
        }
    }
}
