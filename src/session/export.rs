//! Ways out of a run and of a comparison: which formats there are, and writing them without ever spoiling a file that
//! was there before.

use super::state::{Level, OpenRun};
use super::{ExportWhat, Session};
use crate::analysis;
use crate::format;
use crate::report;
use crate::trace::Overlaps;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Formats of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFormat {
    /// Perfetto packets, as stored.
    Perfetto,
    /// Speedscope profile.
    Speedscope,
    /// Chrome JSON.
    Chrome,
    /// One row a step.
    StepsCsv,
    /// One row an operation.
    OpsCsv,
    /// One row a kernel.
    KernelsCsv,
    /// Folded stacks for flame graph tools.
    Collapsed,
    /// One row a span, moment and counter value.
    Csv,
}

impl RunFormat {
    /// All formats with their names and the usual ending of their files.
    pub const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::Perfetto, "perfetto", ".pftrace"),
        // Before Chrome, whose ending is a part of this one.
        (Self::Speedscope, "speedscope", ".speedscope.json"),
        (Self::Chrome, "chrome", ".json"),
        (Self::StepsCsv, "steps-csv", ".steps.csv"),
        (Self::OpsCsv, "ops-csv", ".ops.csv"),
        (Self::KernelsCsv, "kernels-csv", ".kernels.csv"),
        (Self::Collapsed, "collapsed", ".folded"),
        // After the tables, whose endings end like this one.
        (Self::Csv, "csv", ".csv"),
    ];

    /// The names alone.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|(_, name, _)| *name)
    }

    /// The format of this name, or what names there are.
    pub fn from_name(name: &str) -> Result<Self, String> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(format, _, _)| *format).ok_or_else(|| {
            let names: Vec<&str> = Self::names().collect();
            format!("there is no format `{name}`; there are {}", names.join(", "))
        })
    }

    /// The format that a file's ending stands for, or what endings there are.
    pub fn from_path(path: &Path) -> Result<Self, String> {
        let name = path.to_string_lossy().to_lowercase();
        Self::ALL.iter().find(|(_, _, ending)| name.ends_with(ending)).map(|(format, _, _)| *format).ok_or_else(|| {
            let endings: Vec<&str> = Self::ALL.iter().map(|(_, _, ending)| *ending).collect();
            format!("the ending of {} stands for no format; use one of {}", path.display(), endings.join(", "))
        })
    }
}

/// Writes a run in another format, piece by piece: what is written may be many times the size of the run.
fn write_run(run: &OpenRun, format: RunFormat, out: &mut impl Write) -> io::Result<()> {
    let whole = || analysis::ops::Key::NameAndShapes;
    let table = |bytes: Result<Vec<u8>, report::ReportError>| bytes.map_err(io::Error::other);
    let bytes = match format {
        RunFormat::Perfetto if run.path.is_dir() => {
            let path = run.path.join(format::run_folder::TRACE_FILE);
            let fail = |e: io::Error| io::Error::new(e.kind(), format!("{e}: {}", path.display()));
            return std::fs::File::open(&path).and_then(|mut file| io::copy(&mut file, out)).map(drop).map_err(fail);
        }
        RunFormat::Perfetto => return format::perfetto::write(&run.trace, out).map(drop),
        RunFormat::Speedscope => return format::speedscope::write(&run.trace, out),
        RunFormat::Chrome => return format::chrome::write(&run.trace, out),
        RunFormat::Csv => return report::spans_csv::write(&run.trace, out).map_err(io::Error::other),
        RunFormat::StepsCsv => table(report::csv::steps(&run.steps))?,
        RunFormat::OpsCsv => table(report::csv::ops(&analysis::ops::table(&run.trace, whole())))?,
        RunFormat::KernelsCsv => table(report::csv::kernels(&analysis::ops::kernels(&run.trace, whole())))?,
        RunFormat::Collapsed => format::collapsed::to_text(&run.trace).into_bytes(),
    };
    out.write_all(&bytes)
}

/// Writes a file through a temporary one beside it, so that an older file is replaced whole or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    write_through(path, |file| file.write_all(bytes))
}

/// As [`write_file`], with what is to write the file.
fn write_through(path: &Path, write: impl FnOnce(&mut std::fs::File) -> io::Result<()>) -> Result<(), String> {
    let fail = |e: io::Error| format!("not written: {e}: {}", path.display());
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir).map_err(fail)?;
    }
    let mut name = path.file_name().map(std::ffi::OsStr::to_os_string).unwrap_or_default();
    name.push(".part");
    let temporary = path.with_file_name(name);
    let result = std::fs::File::create(&temporary)
        .and_then(|mut file| write(&mut file).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&temporary, path));
    if result.is_err() {
        std::fs::remove_file(&temporary).ok();
    }
    result.map_err(fail)
}

impl Session {
    pub(super) fn export(&mut self, what: ExportWhat, path: &Path) {
        let path: PathBuf = path.to_path_buf();
        match what {
            ExportWhat::Comparison => {
                let Some(comparison) = self.compare.result.clone() else {
                    self.say(Level::Warning, "app", "There is no comparison to export; choose runs in the Runs panel");
                    return;
                };
                self.job("Exporting the comparison", move || {
                    let bytes = report::render(&comparison, &path).map_err(|e| e.to_string())?;
                    write_file(&path, &bytes)?;
                    Ok(format!("Comparison written to {}", path.display()))
                });
            }
            ExportWhat::Run => {
                let Some(run) = self.active().cloned() else {
                    self.say(Level::Warning, "app", "There is no open run to export");
                    return;
                };
                self.job("Exporting the run", move || {
                    let format = RunFormat::from_path(&path)?;
                    write_through(&path, |out| write_run(&run, format, out))?;
                    Ok(format!("Run written to {}", path.display()))
                });
            }
        }
    }
}

/// Writes a run in another format, for the command line.
pub fn export_run(mut run: OpenRun, format: RunFormat, overlaps: Overlaps, out: &Path) -> Result<(), String> {
    run.set_overlaps(overlaps);
    write_through(out, |file| write_run(&run, format, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_name_and_ending() {
        for (format, name, ending) in RunFormat::ALL {
            assert_eq!(RunFormat::from_name(name), Ok(format));
            assert_eq!(RunFormat::from_path(Path::new(&format!("/tmp/x{ending}"))), Ok(format));
        }
        assert!(RunFormat::from_name("xml").unwrap_err().contains("perfetto"));
        assert!(RunFormat::from_path(Path::new("a.xml")).unwrap_err().contains(".pftrace"));
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.html");
        write_file(&path, b"old").unwrap();
        std::fs::create_dir(dir.path().join("report.html.part")).unwrap();
        assert!(write_file(&path, b"new").unwrap_err().contains("report.html"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
}
