//! `burnscope ladder` and `burnscope ab`: interleaved experiments with a table and a report at the end.

use super::args::{AbArgs, BlockArgs, LadderArgs, ReportArgs, SpecArgs};
use super::compare::{check_kind, finish};
use super::progress::RunProgress;
use super::spec;
use super::{failed, train};
use crate::lab::conductor::Launch;
use crate::lab::experiment::{self, Progress};
use crate::lab::plan::Plan;
use crate::lab::protocol::WorkerEvent;
use crate::model::units;
use crate::session::open;
use std::path::{Path, PathBuf};

/// `burnscope ladder`
pub fn ladder(args: &LadderArgs, runs_dir: &Path) -> anyhow::Result<()> {
    let out = args.report.out.clone().unwrap_or_else(|| default_report(runs_dir, "ladder"));
    check_kind(&out)?;
    let spec = spec::build(&args.spec, &[])?;
    let plan = sized(Plan::ladder(&spec, args.steps)?, args.steps, args.cut);
    run(&plan, runs_dir, Some(&out), args.report.json)
}

/// What runs when there is no display: the ladder on the built-in images, on the best device there is.
pub fn default_ladder(runs_dir: &Path) -> anyhow::Result<()> {
    let args =
        LadderArgs { spec: SpecArgs::default(), steps: 64, cut: BlockArgs::default(), report: ReportArgs::default() };
    ladder(&args, runs_dir)
}

/// `burnscope ab`
pub fn ab(args: &AbArgs, runs_dir: &Path) -> anyhow::Result<()> {
    if let Some(out) = &args.report.out {
        check_kind(out)?;
    }
    let spec = spec::build(&args.spec, &[])?;
    let plan = Plan::ab(&spec, &args.flip, args.steps).map_err(|error| match error {
        crate::lab::LabError::Spec(error) => anyhow::Error::from(error),
        other => super::UsageError(other.to_string()).into(),
    })?;
    run(&sized(plan, args.steps, args.cut), runs_dir, args.report.out.as_deref(), args.report.json)
}

/// The plan with the user's number of blocks.
fn sized(plan: Plan, steps: u64, cut: BlockArgs) -> Plan {
    match cut.blocks {
        Some(blocks) => plan.in_blocks(blocks, steps),
        None => plan,
    }
}

fn default_report(runs_dir: &Path, kind: &str) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    runs_dir.join("reports").join(format!("{kind}-{time}.html"))
}

fn run(plan: &Plan, runs_dir: &Path, out: Option<&Path>, json: bool) -> anyhow::Result<()> {
    let cancel = train::stop_on_interrupt()?;
    let mut arms: Vec<(String, RunProgress)> = Vec::new();
    let outcome = experiment::run(&Launch::current()?, plan, runs_dir, &cancel, &mut |progress| {
        hear(&mut arms, progress);
    })?;
    if outcome.arms.len() < 2 {
        let reasons: Vec<String> = outcome.refused.iter().map(|r| format!("{}: {}", r.name, r.reason)).collect();
        anyhow::bail!("there is nothing to compare on this device. {}", reasons.join("; "));
    }
    let paths: Vec<PathBuf> = outcome.arms.iter().map(|arm| arm.dir.clone()).collect();
    let comparison = open::compare_paths(&paths).map_err(failed)?;
    finish(&comparison, out, json)
}

/// Tells the user how the experiment goes.
fn hear(arms: &mut Vec<(String, RunProgress)>, progress: Progress) {
    match progress {
        Progress::ArmStarted { name, run_id, .. } => {
            eprintln!("{name}: run {run_id}");
            arms.push((name.clone(), RunProgress::new(&name)));
        }
        Progress::Refused(refused) => {
            for stage in refused {
                eprintln!("{}: left out. {}", stage.name, stage.reason);
            }
        }
        Progress::Round { round, rounds } => {
            let names: Vec<&str> = arms.iter().map(|(name, _)| name.as_str()).collect();
            eprintln!("Round {round} of {rounds}: {}", names.join(", "));
        }
        Progress::Repeated { round, others } => {
            eprintln!("Round {round} is repeated: other programs used {} of the machine", units::percent(others));
        }
        Progress::Arm { arm, event } => {
            // Single steps of a block are too short to be told one by one.
            if !matches!(event, WorkerEvent::Step(_) | WorkerEvent::State { .. })
                && let Some((_, progress)) = arms.get_mut(arm)
            {
                progress.event(&event);
            }
        }
    }
}
