//! What the app remembers between starts, in one small JSON file.

use super::command::Theme;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Number of recent files that are kept.
const RECENT_MAX: usize = 12;

/// The user's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Colours of the window.
    pub theme: Theme,
    /// Folder of the runs.
    pub runs_dir: PathBuf,
    /// Files and folders opened last, the newest first.
    pub recent: Vec<PathBuf>,
    /// The draft spec as TOML text.
    pub draft: String,
    /// Layout of the panels, as the window wrote it.
    pub layout: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            runs_dir: default_runs_dir(),
            recent: Vec::new(),
            draft: String::new(),
            layout: None,
        }
    }
}

/// Where runs go when nothing else is said: `BURNSCOPE_RUNS_DIR`, else the user's data folder, else `runs` here.
pub fn default_runs_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("BURNSCOPE_RUNS_DIR") {
        return PathBuf::from(dir);
    }
    directories::ProjectDirs::from("", "", "burnscope")
        .map_or_else(|| PathBuf::from("runs"), |dirs| dirs.data_dir().join("runs"))
}

/// The file of the settings, where the system has a place for it.
pub fn settings_path() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "burnscope").map(|dirs| dirs.config_dir().join("settings.json"))
}

impl Settings {
    /// Reads the settings; where that fails, the defaults and a sentence that says why.
    pub fn load(path: &Path) -> (Self, Option<String>) {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (Self::default(), None),
            Err(error) => {
                return (
                    Self::default(),
                    Some(format!("Settings not read, defaults used: {error}: {}", path.display())),
                );
            }
        };
        match serde_json::from_str(&text) {
            Ok(settings) => (settings, None),
            Err(error) => {
                let kept = path.with_extension("json.bad");
                let kept_note = match std::fs::rename(path, &kept) {
                    Ok(()) => format!("; the file is kept as {}", kept.display()),
                    Err(_) => String::new(),
                };
                (Self::default(), Some(format!("Settings not understood, defaults used: {error}{kept_note}")))
            }
        }
    }

    /// Writes the settings beside the old file, then over it.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let temporary = path.with_extension("json.tmp");
        std::fs::write(&temporary, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(temporary, path)
    }

    /// Puts a path at the head of the recent ones.
    pub fn remember(&mut self, path: &Path) {
        self.recent.retain(|known| known != path);
        self.recent.insert(0, path.to_path_buf());
        self.recent.truncate(RECENT_MAX);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn settings_round_trip_and_a_broken_file_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let mut settings = Settings { theme: Theme::Light, ..Settings::default() };
        settings.remember(Path::new("/a"));
        settings.remember(Path::new("/b"));
        settings.remember(Path::new("/a"));
        assert_eq!(settings.recent, [PathBuf::from("/a"), PathBuf::from("/b")]);
        settings.save(&path).unwrap();
        assert_eq!(Settings::load(&path), (settings, None));

        std::fs::write(&path, "{ not json").unwrap();
        let (read, note) = Settings::load(&path);
        assert_eq!(read, Settings::default());
        assert!(note.unwrap().contains("settings.json.bad"));
        assert_eq!(std::fs::read_to_string(dir.path().join("settings.json.bad")).unwrap(), "{ not json");
    }
}
