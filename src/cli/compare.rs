//! `burnscope compare`: runs side by side, as text and as a report.

use super::args::CompareArgs;
use super::{UsageError, failed, print, print_json};
use crate::analysis::Comparison;
use crate::report;
use crate::session::{export, library, open};
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &CompareArgs, runs_dir: &Path) -> anyhow::Result<()> {
    if let Some(out) = &args.report.out {
        check_kind(out)?;
    }
    let find = |run: &String| library::find(runs_dir, run).map_err(failed);
    let mut paths = args.runs.iter().map(find).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    if let Some(baseline) = &args.baseline {
        let baseline = find(baseline)?;
        let same = |path: &PathBuf| path.canonicalize().ok() == baseline.canonicalize().ok();
        paths.retain(|path| !same(path));
        paths.insert(0, baseline);
    }
    let comparison = open::compare_paths(&paths).map_err(failed)?;
    finish(&comparison, args.report.out.as_deref(), args.report.json)
}

/// Refuses an ending that stands for no kind of report, before any work is done.
pub(super) fn check_kind(out: &Path) -> anyhow::Result<()> {
    report::Kind::from_path(out).map(|_| ()).map_err(|e| UsageError(e.to_string()).into())
}

/// Prints a comparison and writes its report.
pub(super) fn finish(comparison: &Comparison, out: Option<&Path>, json: bool) -> anyhow::Result<()> {
    if json {
        print_json(comparison)?;
    } else {
        print(&report::text::text(comparison));
    }
    if let Some(out) = out {
        export::write_file(out, &report::render(comparison, out)?).map_err(failed)?;
        if !json {
            print(&format!("\nReport: {}\n", out.display()));
        }
    }
    Ok(())
}
