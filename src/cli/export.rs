//! `burnscope export`: a run in another format.

use super::args::ExportArgs;
use super::{UsageError, failed, print, progress};
use crate::session::export::{self, RunFormat};
use crate::session::library;
use std::path::Path;

/// Runs the command.
pub fn run(args: &ExportArgs, runs_dir: &Path) -> anyhow::Result<()> {
    let format = RunFormat::from_name(&args.format).map_err(UsageError)?;
    if args.out.exists() && !args.force {
        let text = format!("{} exists; write over it with --force", args.out.display());
        return Err(UsageError(text).into());
    }
    let run = progress::read(&library::find(runs_dir, &args.run).map_err(failed)?).map_err(failed)?;
    export::export_run(run, format, crate::trace::Overlaps::Keep, &args.out).map_err(failed)?;
    print(&format!("Written to {}\n", args.out.display()));
    Ok(())
}
