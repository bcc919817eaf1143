//! `burnscope convert`: a trace of any format in another one.

use super::args::ConvertArgs;
use super::{UsageError, failed, print, target};
use crate::session::export::{self, RunFormat};
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
    export::export_path(&target(&args.input, runs_dir)?, format, &args.out).map_err(failed)?;
    print(&format!("Written to {}\n", args.out.display()));
    Ok(())
}
