//! Headless commands on the session's code. Results go to standard output, progress and messages to standard error.

pub mod args;
pub mod compare;
pub mod convert;
pub mod devices;
pub mod diff;
pub mod experiments;
pub mod export;
pub mod inspect;
#[cfg(feature = "train")]
pub mod measure;
pub mod progress;
pub mod runs;
pub mod spec;
pub mod train;

use args::{Cli, Cmd};
use std::path::PathBuf;

/// The command line was wrong; exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Folder of the runs: the option, else the settings, else the default.
pub fn runs_dir(cli: &Cli) -> PathBuf {
    cli.runs_dir.clone().unwrap_or_else(|| match crate::session::settings::settings_path() {
        Some(path) if std::env::var_os("BURNSCOPE_RUNS_DIR").is_none() => {
            crate::session::Settings::load(&path).0.runs_dir
        }
        _ => crate::session::settings::default_runs_dir(),
    })
}

/// Carries out a headless command. Window and screenshot are the binary's business, since this room knows no pixels.
pub fn run(cmd: &Cmd, runs_dir: &std::path::Path) -> anyhow::Result<()> {
    match cmd {
        Cmd::Train(args) => train::run(args, runs_dir),
        Cmd::Ladder(args) => experiments::ladder(args, runs_dir),
        Cmd::Ab(args) => experiments::ab(args, runs_dir),
        Cmd::Compare(args) => compare::run(args, runs_dir),
        Cmd::Inspect(args) => inspect::run(args, runs_dir),
        Cmd::Diff(args) => diff::run(args, runs_dir),
        Cmd::Convert(args) => convert::run(args, runs_dir),
        Cmd::Export(args) => export::run(args, runs_dir),
        Cmd::Runs(args) => runs::run(args, runs_dir),
        Cmd::Devices(args) => devices::run(args),
        Cmd::Screenshot(_) | Cmd::Worker => {
            Err(UsageError("this command is carried out elsewhere in this program".to_owned()).into())
        }
    }
}

/// Exit code of an error: 2 for wrong usage, 1 for the rest.
pub fn exit_code(error: &anyhow::Error) -> i32 {
    let usage = error.is::<UsageError>() || error.is::<crate::model::SpecError>();
    if usage { 2 } else { 1 }
}

/// An error of a session function, which is a sentence already.
pub(crate) fn failed(text: String) -> anyhow::Error {
    anyhow::Error::msg(text)
}

/// Writes a result as JSON to standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}

/// Writes text to standard output; a reader that has gone away is not an error.
pub(crate) fn print(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).ok();
}
