//! The run folder: `run.json`, `steps.csv`, `trace.pftrace`, `events.jsonl`.
//!
//! All but `run.json` only grow while the run lasts, and may end anywhere when the process that writes them is killed;
//! `run.json` is replaced whole.

mod events;
mod follow;
mod load;
mod process;
mod steps;
mod tail;

pub use events::EventWriter;
pub use follow::Follower;
pub use load::{LoadedRun, load};
pub use process::settle_end;
pub use steps::StepWriter;

use super::FormatError;
use super::perfetto::PacketWriter;
use crate::model::RunManifest;
use crate::model::manifest::RUN_FORMAT_VERSION;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// What was asked, what it ran on, how it ended.
pub const MANIFEST_FILE: &str = "run.json";
/// One row a step.
pub const STEPS_FILE: &str = "steps.csv";
/// Perfetto packets.
pub const TRACE_FILE: &str = "trace.pftrace";
/// One event a line.
pub const EVENTS_FILE: &str = "events.jsonl";

/// Largest `run.json` that is read.
const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// Longest slug in a folder's name.
const MAX_SLUG_CHARS: usize = 48;

/// A run folder that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes a new folder `<utc-time>-<slug>` in `base`, which is made too if need be. The slug may be any text.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(base: &Path, slug: &str) -> Result<Self, FormatError> {
        fs::create_dir_all(base).map_err(FormatError::io("make the folder for runs", base))?;
        let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let stem = format!("{now}-{}", slug_of(slug));
        let mut attempt = 1u32;
        loop {
            let name = if attempt == 1 { stem.clone() } else { format!("{stem}-{attempt}") };
            let path = base.join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => attempt += 1,
                Err(error) => return Err(FormatError::io("make the run folder", &path)(error)),
            }
        }
    }

    /// Opens a folder; its content is read only when asked for.
    ///
    /// # Errors
    /// If there is no folder there.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let found = fs::metadata(path).map_err(FormatError::io("open the run folder", path))?;
        if !found.is_dir() {
            return Err(FormatError::Text { what: "Not a folder".to_owned(), path: path.to_path_buf() });
        }
        Ok(Self { path: path.to_path_buf() })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads `run.json` as it stands; see [`settle_end`] for a run that says it is still running.
    ///
    /// # Errors
    /// If it is missing, is no JSON, misses a value's type, or was written by a newer version.
    pub fn read_manifest(&self) -> Result<RunManifest, FormatError> {
        let path = self.path.join(MANIFEST_FILE);
        let size = fs::metadata(&path).map_err(FormatError::io("read the run's description", &path))?.len();
        if size > MAX_MANIFEST_BYTES {
            let what = format!("The run's description has {size} bytes, more than any run writes");
            return Err(FormatError::Text { what, path });
        }
        let text = fs::read(&path).map_err(FormatError::io("read the run's description", &path))?;
        let refuse = |error: serde_json::Error| FormatError::Text {
            what: format!("The run's description is damaged: {error}"),
            path: path.clone(),
        };
        // The version first: a newer one may differ in everything else.
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(refuse)?;
        let version = value.get("format_version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        let found = u32::try_from(version).unwrap_or(u32::MAX);
        if found > RUN_FORMAT_VERSION {
            return Err(FormatError::TooNew { found, known: RUN_FORMAT_VERSION, path });
        }
        if found == 0 {
            let what = "The run's description has no `format_version`; it is not from Burnscope".to_owned();
            return Err(FormatError::Text { what, path });
        }
        // From the text and not from the value, so that an error names its line.
        serde_json::from_slice(&text).map_err(refuse)
    }

    /// Writes `run.json` in the current format version: into a second file that then takes the first one's place, so
    /// that a reader sees the old or the new one, never a part.
    ///
    /// # Errors
    /// If the system refuses; the old file is then still there.
    pub fn write_manifest(&self, manifest: &RunManifest) -> Result<(), FormatError> {
        let path = self.path.join(MANIFEST_FILE);
        let manifest = RunManifest { format_version: RUN_FORMAT_VERSION, ..manifest.clone() };
        let mut text = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| FormatError::Text { what: format!("Cannot write: {error}"), path: path.clone() })?;
        text.push(b'\n');
        let part = self.path.join(format!("{MANIFEST_FILE}.{}.part", std::process::id()));
        let written = File::create(&part).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        let placed = written.and_then(|()| fs::rename(&part, &path));
        placed.map_err(|error| {
            fs::remove_file(&part).ok(); // It may not be there at all; the error that matters is the one returned.
            FormatError::io("write the run's description", &path)(error)
        })
    }

    /// Opens `steps.csv` for appending.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn step_writer(&self) -> Result<StepWriter, FormatError> {
        StepWriter::open(&self.path.join(STEPS_FILE))
    }

    /// Opens `events.jsonl` for appending.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn event_writer(&self) -> Result<EventWriter, FormatError> {
        EventWriter::open(&self.path.join(EVENTS_FILE))
    }

    /// Makes `trace.pftrace`, or empties it, and starts a packet sequence in it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn trace_writer(&self) -> Result<PacketWriter<File>, FormatError> {
        let path = self.path.join(TRACE_FILE);
        let file = File::create(&path).map_err(FormatError::io("make the trace file", &path))?;
        Ok(PacketWriter::new(file))
    }
}

/// Opens a file for appending; returns it and whether it is empty. What a killed process left of a last line is ended
/// with `mend`, which must make it a line that no reader takes for a whole one.
fn open_lines(path: &Path, mend: &[u8], doing: &'static str) -> Result<(File, bool), FormatError> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let open = || {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let empty = file.metadata()?.len() == 0;
        if !empty {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(mend)?;
            }
        }
        Ok((file, empty))
    };
    open().map_err(FormatError::io(doing, path))
}

/// The run folders in a folder, newest first by name. A folder that does not exist has none.
///
/// # Errors
/// If the folder is there and cannot be read.
pub fn list(base: &Path) -> Result<Vec<PathBuf>, FormatError> {
    let entries = match fs::read_dir(base) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FormatError::io("list the runs", base)(error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let path = entry.map_err(FormatError::io("list the runs", base))?.path();
        if path.join(MANIFEST_FILE).is_file() {
            runs.push(path);
        }
    }
    runs.sort_unstable_by(|a, b| b.cmp(a));
    Ok(runs)
}

/// Lower-case letters, digits and single hyphens, safe in a file name everywhere.
fn slug_of(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= MAX_SLUG_CHARS {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "run".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn folders_are_unique_and_listed() {
        let base = tempfile::tempdir().unwrap();
        let runs = base.path().join("runs");
        assert_eq!(list(&runs).unwrap(), Vec::<PathBuf>::new());
        let made: Vec<RunFolder> = (0..3).map(|_| RunFolder::create(&runs, "Größe / f16 ../x").unwrap()).collect();
        for folder in &made {
            assert!(folder.path().file_name().unwrap().to_str().unwrap().contains("-gr-e-f16-x"));
            folder.write_manifest(&RunManifest::default()).unwrap();
        }
        fs::create_dir(runs.join("no run")).unwrap();
        assert_eq!(list(&runs).unwrap().len(), 3);
        assert_eq!(slug_of("///"), "run");
    }

    #[test]
    fn the_manifest_is_replaced_whole() {
        let base = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(base.path(), "a").unwrap();
        let mut manifest = RunManifest { title: "one".to_owned(), ..RunManifest::default() };
        folder.write_manifest(&manifest).unwrap();
        manifest.title = "two".to_owned();
        folder.write_manifest(&manifest).unwrap();
        let read = folder.read_manifest().unwrap();
        assert_eq!((read.title.as_str(), read.format_version), ("two", RUN_FORMAT_VERSION));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no part is left behind");
    }

    #[test]
    fn a_wrong_manifest_is_refused_in_words() {
        let base = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(base.path(), "a").unwrap();
        for (text, expected) in [
            ("", "damaged"),
            ("{\n\"format_version\": 1,\n\"title\": 5}", "line 3"),
            ("{\"format_version\": 999, \"title\": 5}", "format version 999"),
            ("{\"title\": \"x\"}", "no `format_version`"),
        ] {
            fs::write(folder.path().join(MANIFEST_FILE), text).unwrap();
            let error = folder.read_manifest().unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("run.json"), "{error}");
        }
        fs::remove_file(folder.path().join(MANIFEST_FILE)).unwrap();
        assert!(folder.read_manifest().unwrap_err().to_string().contains("run.json"));
    }
}
