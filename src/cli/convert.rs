//! `burnscope convert`: a trace of any format in another one.

use super::args::ConvertArgs;
use super::{UsageError, failed, print, progress};
use crate::session::export::{self, RunFormat};
use crate::session::library;
use std::path::Path;

/// Runs the command.
pub fn run(args: &ConvertArgs, runs_dir: &Path) -> anyhow::Result<()> {
    let format = match &args.to {
        Some(name) => RunFormat::from_name(name),
        None => RunFormat::from_path(&args.out),
    };
    let format = format.map_err(UsageError)?;
    if args.out.exists() && !args.force {
        let text = format!("{} exists; write over it with --force", args.out.display());
        return Err(UsageError(text).into());
    }
    let run = progress::read(&library::find(runs_dir, &args.input).map_err(failed)?).map_err(failed)?;
    export::export_run(run, format, args.overlaps, &args.out).map_err(failed)?;
    print(&format!("Written to {}\n", args.out.display()));
    Ok(())
}
