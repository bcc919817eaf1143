//! `burnscope train`: one run, recorded, with its result as a table or as JSON.

use super::args::TrainArgs;
use super::progress::RunProgress;
use super::{UsageError, print, print_json, spec};
use crate::format::run_folder::RunFolder;
use crate::lab::conductor::Launch;
use crate::lab::protocol::{WorkerCommand, WorkerMode};
use crate::lab::runs::{LiveRun, RunRequest};
use crate::model::{Known, Phase, RunManifest, units};
use crate::report::table::{Align, Table};
use crate::session::ceilings;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs the command.
pub fn run(args: &TrainArgs, runs_dir: &Path) -> anyhow::Result<()> {
    let mut extra = Vec::new();
    if let Some(steps) = args.steps {
        extra.extend([format!("train.steps={steps}"), "train.epochs=1".to_owned()]);
    }
    if let Some(level) = &args.trace {
        extra.push(format!("trace.level={level}"));
    }
    let spec = spec::build(&args.spec, &extra)?;
    let title = args.title.clone().unwrap_or_else(|| crate::session::training::default_title(&spec));
    let request = RunRequest {
        spec,
        title: title.clone(),
        runs_dir: args.out.clone().unwrap_or_else(|| runs_dir.to_path_buf()),
        mode: WorkerMode::Train,
        experiment: None,
        tags: Vec::new(),
    };
    let stop = stop_on_interrupt()?;
    let mut run = LiveRun::start(&Launch::current()?, &request)?;
    let mut progress = RunProgress::new(&title);
    let mut told = false;
    while run.end.is_none() {
        if stop.load(Ordering::Relaxed) && !told {
            told = true;
            progress.note("Stopping after the step in hand; press Ctrl-C again to end at once");
            run.send(&WorkerCommand::Stop).ok();
        }
        if let Some(event) = run.next(Duration::from_millis(100)) {
            progress.event(&event);
        }
    }
    let manifest = RunFolder::open(&run.dir)?.read_manifest()?;
    if args.json {
        print_json(&serde_json::json!({ "dir": run.dir, "run": manifest }))?;
    } else {
        print(&summary_text(&manifest));
        print(&format!("\nRun folder: {}\n", run.dir.display()));
    }
    match &manifest.end {
        end if end.is_good() => Ok(()),
        end => {
            let detail = end.detail().unwrap_or_else(|| end.label().to_owned());
            Err(anyhow::anyhow!("the run ended early ({}): {detail}", end.label()))
        }
    }
}

/// A flag that Ctrl-C sets; a second Ctrl-C ends the program at once.
pub(super) fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|e| UsageError(format!("Ctrl-C cannot be caught: {e}")))?;
    Ok(stop)
}

/// The results of a run as text, each with its source.
pub fn summary_text(manifest: &RunManifest) -> String {
    let mut table = Table::new(&[("Result", Align::Left), ("Value", Align::Right), ("How measured", Align::Left)]);
    let mut add = |name: &str, (value, source): (String, String)| table.row(vec![name.to_owned(), value, source]);
    add("Device", (manifest.environment.device.clone(), String::new()));
    let Some(s) = &manifest.summary else {
        return format!("{table}\nThe run ended ({}) before there were results.\n", manifest.end.label());
    };
    add("Steps", (units::count(s.steps), format!("{} of them steady", units::count(s.steady_steps))));
    add("Step time, median", known(&s.step_median_ns, |x| units::duration_ns(*x)));
    add("Step time, MAD", known(&s.step_mad_ns, |x| units::duration_ns(*x)));
    add("Step time, 95th percentile", known(&s.step_p95_ns, |x| units::duration_ns(*x)));
    add("Throughput", known(&s.samples_per_sec, |x| units::samples_per_sec(*x)));
    if s.steady_steps > 0 {
        for phase in Phase::ALL {
            let time = s.phase_median_ns[phase as usize];
            add(&format!("  {}", phase.label()), (units::duration_ns(time), "host clock, median".to_owned()));
        }
    }
    add("Compute rate", compute_rate(manifest));
    add("Device busy", known(&s.device_busy, |x| units::percent(*x)));
    add("Kernels a step", known(&s.kernels_per_step, |x| format!("{x:.0}")));
    add("Operations a step", known(&s.ops_per_step, |x| format!("{x:.0}")));
    add("Cost of recording", known(&s.recorder_cost, |x| units::percent(*x)));
    add("Cache hits", known(&s.cache_hit_rate, |x| units::percent(*x)));
    add("Skipped updates", known(&s.skipped_steps, |x| units::count(*x)));
    add("Peak device memory, pools", known(&s.peak_device_bytes, |x| units::bytes(*x as f64)));
    let cold = &s.warm_up;
    let cold_text = format!("{} steps, {} compiled, {} tuned", cold.steps, cold.compiled, cold.tuned);
    add("Warm-up", (units::duration_ns(cold.dur_ns as f64), cold_text));
    let loss = s.final_loss.map_or_else(|| "–".to_owned(), |loss| format!("{loss:.4}"));
    add("Last loss", (loss, String::new()));
    add("Test accuracy", known(&s.test_accuracy, |x| units::percent(*x)));
    add("Parameters", (units::count(s.parameters), "counted".to_owned()));
    table.to_string()
}

/// Model FLOPs over the median step time, and what part of the device's ceiling that is.
fn compute_rate(manifest: &RunManifest) -> (String, String) {
    let (rate, share) = ceilings::run_rate(manifest);
    let work = manifest.summary.as_ref().and_then(|s| s.flops_per_step.get().copied());
    let work =
        work.map_or_else(String::new, |flops| format!("; {} a step, from the layers", units::flops(flops as f64)));
    match (&rate, &share) {
        (Known::Value { value, .. }, Known::Value { value: share, .. }) => {
            (units::flops_per_sec(*value), format!("{} of the device's measured ceiling{work}", units::percent(*share)))
        }
        (Known::Value { value, .. }, Known::Unknown(why)) => (units::flops_per_sec(*value), format!("{why}{work}")),
        (Known::Unknown(why), _) => ("unknown".to_owned(), why.clone()),
    }
}

/// Value and source of a figure, or `unknown` and the reason.
pub(super) fn known<T>(figure: &Known<T>, text: impl Fn(&T) -> String) -> (String, String) {
    match figure {
        Known::Value { value, source, n } => (text(value), format!("{}, n = {}", source.label(), units::count(*n))),
        Known::Unknown(reason) => ("unknown".to_owned(), reason.clone()),
    }
}
