//! Runs side by side: what differs in their settings, how their times compare, whether they still learn the same.

use super::ops::{self, Key};
use super::{busy, counts};
use crate::model::manifest::WarmUp;
use crate::model::{Known, Phase, RunManifest, RunSummary, Source, StepFlags, StepRecord};
use crate::stats::ab::{self, AbOptions, AbResult, BlockPair, Verdict};
use crate::stats::summary::Summary;
use crate::stats::unpaired::judge_unpaired;
use crate::stats::warmup::break_even_steps;
use crate::trace::Trace;
use serde::Serialize;
use std::collections::BTreeMap;

/// Points of a curve that are kept; more say nothing more to the eye.
const CURVE_POINTS: usize = 2000;
/// First steps over which losses must agree.
const SAME_LOSS_STEPS: usize = 20;
/// Largest relative difference of losses that counts as the same.
const SAME_LOSS_TOLERANCE: f32 = 0.05;
/// Rows of the table of operations.
const OP_ROWS: usize = 30;

/// Why runs cannot be compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CompareError {
    /// No run was given.
    #[error("there is no run to compare")]
    Nothing,
}

/// A run as the comparison sees it.
#[derive(Clone, Copy)]
pub struct RunView<'a> {
    /// Its `run.json`.
    pub manifest: &'a RunManifest,
    /// Its steps.
    pub steps: &'a [StepRecord],
    /// Its spans, where they are at hand.
    pub trace: Option<&'a Trace>,
}

/// A run against another one. Ratios are this run's step time over the other's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Versus {
    /// Name of the other run.
    pub other: String,
    /// Step time over the other's; below 1 is faster.
    pub ratio: f64,
    /// How many times as fast: 1 / ratio.
    pub speedup: f64,
    /// Lower end of the interval of `ratio`.
    pub ci_low: f64,
    /// Upper end of the interval of `ratio`.
    pub ci_high: f64,
    /// Probability of a difference this large by chance alone.
    pub p_value: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Smallest relative effect that would have been seen.
    pub mde: Option<f64>,
    /// Blocks that it stands on.
    pub blocks: usize,
    /// Whether the runs were interleaved.
    pub interleaved: bool,
    /// All of it as a sentence.
    pub sentence: String,
}

impl Versus {
    fn from(other: &str, result: &AbResult) -> Self {
        Self {
            other: other.to_owned(),
            ratio: result.ratio,
            speedup: 1.0 / result.ratio,
            ci_low: result.ci_low,
            ci_high: result.ci_high,
            p_value: result.p_value,
            verdict: result.verdict,
            mde: result.mde,
            blocks: result.blocks,
            interleaved: result.interleaved,
            sentence: result.sentence(),
        }
    }
}

/// One run of a comparison. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Identifier of the run.
    pub id: String,
    /// Name of the arm, or title of the run.
    pub title: String,
    /// What it ran on.
    pub device: String,
    /// How it ended.
    pub end: String,
    /// All steps.
    pub steps: u64,
    /// Steps that the figures stand on.
    pub steady_steps: u64,
    /// Median step time.
    pub step_median_ns: Known<f64>,
    /// Median absolute deviation of the step time.
    pub step_mad_ns: Known<f64>,
    /// 5th percentile of the step time.
    pub step_p5_ns: Known<f64>,
    /// 95th percentile of the step time.
    pub step_p95_ns: Known<f64>,
    /// Samples a second at the median step time.
    pub samples_per_sec: Known<f64>,
    /// Median of each phase, in the order of [`Phase::ALL`].
    pub phases_median_ns: [f64; Phase::COUNT],
    /// Share of wall time in which a kernel ran.
    pub device_busy: Known<f64>,
    /// Kernel launches of a step.
    pub kernels_per_step: Known<f64>,
    /// Operations of a step.
    pub ops_per_step: Known<f64>,
    /// Relative cost of recording.
    pub recorder_cost: Known<f64>,
    /// Images that came from the cache, 0 to 1.
    pub cache_hit_rate: Known<f64>,
    /// Updates that the loss scaler skipped.
    pub skipped_steps: Known<u64>,
    /// Peak of device memory held by the pools, in bytes.
    pub peak_device_bytes: Known<u64>,
    /// Cold start.
    pub warm_up: WarmUp,
    /// Loss of the last step that was read back.
    pub final_loss: Option<f32>,
    /// Accuracy on the test set.
    pub test_accuracy: Known<f64>,
    /// Against the baseline; `None` for the baseline itself, a reason where it cannot be judged.
    pub vs_baseline: Option<Result<Versus, String>>,
    /// Against the run before it.
    pub vs_previous: Option<Result<Versus, String>>,
    /// Whether it learns as the baseline does.
    pub same_losses: String,
    /// After how many steps its dearer start has paid off against the baseline.
    pub break_even: String,
    /// Loss over steps.
    pub loss: Vec<(u64, f32)>,
    /// Steady step times in order, thinned out evenly where there are very many.
    pub step_times_ns: Vec<f64>,
}

/// A setting in which the runs differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigDifference {
    /// Key of the spec.
    pub key: String,
    /// Value in each run.
    pub values: Vec<String>,
}

/// An operation over the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpDelta {
    /// Name of the operation.
    pub name: String,
    /// Time in each run per traced step, in ns; `None` = it does not occur.
    pub per_step_ns: Vec<Option<f64>>,
}

/// Runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What is compared.
    pub title: String,
    /// The runs, the baseline first.
    pub runs: Vec<ComparedRun>,
    /// Settings in which they differ.
    pub config_differences: Vec<ConfigDifference>,
    /// What makes the comparison weaker than it looks.
    pub warnings: Vec<String>,
    /// Operations, the largest change first.
    pub op_deltas: Vec<OpDelta>,
    /// How the times of operations were measured.
    pub op_source: String,
    /// Stages of a ladder that were left out, with their reasons.
    pub refused: Vec<(String, String)>,
    /// Blocks that were repeated because others used the machine.
    pub repeated_blocks: u32,
    /// Whether the runs were interleaved.
    pub interleaved: bool,
    /// How the ratios were made.
    pub method: String,
}

/// Compares runs, the first being the baseline.
pub fn compare(views: &[RunView]) -> Result<Comparison, CompareError> {
    let Some(baseline) = views.first() else { return Err(CompareError::Nothing) };
    let mut runs: Vec<ComparedRun> = views.iter().map(describe).collect();
    for number in 1..views.len() {
        runs[number].vs_baseline = Some(versus(baseline, &views[number]));
        runs[number].vs_previous = Some(versus(&views[number - 1], &views[number]));
        runs[number].same_losses = same_losses(baseline.steps, views[number].steps);
        runs[number].break_even = break_even(&runs[0], &runs[number]);
    }
    let experiment = baseline.manifest.experiment.as_ref();
    let interleaved = views.len() > 1 && views.iter().all(|view| paired(baseline.manifest, view.manifest));
    let title = match experiment {
        Some(experiment) if interleaved && experiment.kind == "ladder" => "Ladder".to_owned(),
        Some(_) if interleaved => "A/B experiment".to_owned(),
        _ => format!("{} runs against “{}”", views.len(), runs[0].title),
    };
    let (op_deltas, op_source) = op_deltas(views);
    let mut warnings = warnings(views);
    let config_differences = config_differences(views);
    warnings.extend(experiment.filter(|e| e.disturbed_blocks > 0).map(|experiment| {
        format!("{} rounds were disturbed by other programs and had to be kept", experiment.disturbed_blocks)
    }));
    warnings.extend(implausible(&runs, &config_differences));
    Ok(Comparison {
        title,
        config_differences,
        warnings,
        op_deltas,
        op_source,
        refused: experiment.map(|experiment| experiment.refused.clone()).unwrap_or_default(),
        repeated_blocks: experiment.map_or(0, |experiment| experiment.repeated_blocks),
        interleaved,
        method: method(interleaved),
        runs,
    })
}

/// Whether two runs are arms of one experiment.
fn paired(a: &RunManifest, b: &RunManifest) -> bool {
    a.experiment.as_ref().zip(b.experiment.as_ref()).is_some_and(|(a, b)| a.id == b.id)
}

/// Name of a run for tables.
fn name(manifest: &RunManifest) -> String {
    manifest.experiment.as_ref().map_or_else(|| manifest.title.clone(), |experiment| experiment.name.clone())
}

/// Steady steps that count. In an experiment only those of its blocks.
fn steady<'a>(view: &RunView<'a>) -> Vec<&'a StepRecord> {
    let in_experiment = view.manifest.experiment.is_some();
    view.steps.iter().filter(|step| step.flags.steady() && (!in_experiment || step.block > 0)).collect()
}

fn describe(view: &RunView) -> ComparedRun {
    let steps = steady(view);
    let times: Vec<f64> = steps.iter().map(|step| step.dur_ns as f64).collect();
    let summary = Summary::of(&times);
    let n = times.len() as u64;
    let figure = |pick: &dyn Fn(&Summary) -> f64| match &summary {
        Some(summary) => Known::value(pick(summary), Source::HostClock, n),
        None => Known::unknown("no steady step was made"),
    };
    let samples = steps.first().map_or(0.0, |step| f64::from(step.samples));
    let phase_median = |phase: Phase| {
        let times: Vec<f64> = steps.iter().map(|step| step.phase_ns(phase) as f64).collect();
        crate::stats::summary::median(&times).unwrap_or(0.0)
    };
    let cold: std::collections::HashSet<i64> =
        view.steps.iter().filter(|step| step.flags.contains(StepFlags::COLD)).map(|step| step.step as i64).collect();
    let no_trace = || Known::unknown("the run's trace is not at hand");
    let (counts, device_busy) = match view.trace {
        Some(trace) => {
            (counts::per_step(trace, |step| cold.contains(&step)), busy::device_busy(trace, view.steps, view.manifest))
        }
        None => (counts::StepCounts { ops: no_trace(), kernels: no_trace(), fused_blocks: no_trace() }, no_trace()),
    };
    let told = view.manifest.summary.clone().unwrap_or_else(|| RunSummary {
        warm_up: WarmUp { steps: cold.len() as u64, ..WarmUp::default() },
        ..RunSummary::default()
    });
    ComparedRun {
        id: view.manifest.id.clone(),
        title: name(view.manifest),
        device: view.manifest.environment.device.clone(),
        end: view.manifest.end.label().to_owned(),
        steps: view.steps.len() as u64,
        steady_steps: n,
        step_median_ns: figure(&|s| s.median),
        step_mad_ns: figure(&|s| s.mad),
        step_p5_ns: figure(&|s| s.p5),
        step_p95_ns: figure(&|s| s.p95),
        samples_per_sec: match &summary {
            Some(summary) if summary.median > 0.0 => Known::value(samples / (summary.median / 1e9), Source::Derived, n),
            _ => Known::unknown("no steady step was made"),
        },
        phases_median_ns: Phase::ALL.map(phase_median),
        device_busy,
        kernels_per_step: counts.kernels,
        ops_per_step: counts.ops,
        recorder_cost: told.recorder_cost,
        cache_hit_rate: told.cache_hit_rate,
        skipped_steps: told.skipped_steps,
        peak_device_bytes: told.peak_device_bytes,
        warm_up: told.warm_up,
        final_loss: told.final_loss,
        test_accuracy: told.test_accuracy,
        vs_baseline: None,
        vs_previous: None,
        same_losses: String::new(),
        break_even: String::new(),
        loss: thin(view.steps.iter().filter_map(|step| Some((step.step, step.loss?))).collect()),
        step_times_ns: thin(times),
    }
}

/// Every so-manieth element, so that at most [`CURVE_POINTS`] are left.
fn thin<T: Clone>(all: Vec<T>) -> Vec<T> {
    let stride = all.len().div_ceil(CURVE_POINTS).max(1);
    if stride == 1 { all } else { all.iter().step_by(stride).cloned().collect() }
}

/// Judges a run against another: by paired blocks where they are arms of one experiment, else as separate runs.
fn versus(baseline: &RunView, candidate: &RunView) -> Result<Versus, String> {
    let options = AbOptions::default();
    let result = if paired(baseline.manifest, candidate.manifest) {
        let (mut a, mut b) = (blocks(baseline), blocks(candidate));
        let pairs: Vec<BlockPair> = std::mem::take(&mut a)
            .into_iter()
            .filter_map(|(block, times)| Some(BlockPair::new(times, b.remove(&block)?)))
            .collect();
        ab::judge(&pairs, &options)
    } else {
        let times = |view: &RunView| steady(view).iter().map(|step| step.dur_ns as f64).collect::<Vec<f64>>();
        judge_unpaired(&times(baseline), &times(candidate), &options)
    };
    result.map(|result| Versus::from(&name(baseline.manifest), &result)).map_err(|error| error.to_string())
}

/// Steady step times by block.
fn blocks(view: &RunView) -> BTreeMap<u32, Vec<f64>> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for step in steady(view) {
        blocks.entry(step.block).or_default().push(step.dur_ns as f64);
    }
    blocks
}

fn same_losses(baseline: &[StepRecord], other: &[StepRecord]) -> String {
    let pairs: Vec<(f32, f32)> =
        baseline.iter().zip(other).take(SAME_LOSS_STEPS).filter_map(|(a, b)| Some((a.loss?, b.loss?))).collect();
    if pairs.is_empty() {
        return "unknown: no losses were read back in the first steps".to_owned();
    }
    if pairs.iter().any(|(a, b)| !a.is_finite() || !b.is_finite()) {
        return "differs: a loss is not finite".to_owned();
    }
    let worst = pairs.iter().map(|(a, b)| (a - b).abs() / a.abs().max(1e-6)).fold(0.0, f32::max);
    let steps = pairs.len();
    if worst == 0.0 {
        format!("identical over the first {steps} steps")
    } else if worst <= SAME_LOSS_TOLERANCE {
        format!("same over the first {steps} steps, within {:.2} %", worst * 100.0)
    } else {
        format!("differs by up to {:.1} % in the first {steps} steps", worst * 100.0)
    }
}

fn break_even(baseline: &ComparedRun, run: &ComparedRun) -> String {
    let (Some(a), Some(b)) = (baseline.step_median_ns.get(), run.step_median_ns.get()) else {
        return "unknown".to_owned();
    };
    let (cold_a, cold_b) = (baseline.warm_up.dur_ns as f64, run.warm_up.dur_ns as f64);
    if cold_b <= cold_a && b < a {
        return "from the start".to_owned();
    }
    match break_even_steps(cold_a, cold_b, *a, *b) {
        Some(steps) => format!("after {} steps", crate::model::units::count(steps.ceil() as u64)),
        None => "never".to_owned(),
    }
}

fn config_differences(views: &[RunView]) -> Vec<ConfigDifference> {
    let all: Vec<Vec<(&str, String)>> = views.iter().map(|view| view.manifest.spec.entries()).collect();
    let Some(first) = all.first() else { return Vec::new() };
    (0..first.len())
        .filter(|key| all.iter().any(|entries| entries[*key].1 != first[*key].1))
        .map(|key| ConfigDifference {
            key: first[key].0.to_owned(),
            values: all.iter().map(|entries| entries[key].1.clone()).collect(),
        })
        .collect()
}

fn warnings(views: &[RunView]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut differ = |what: &str, pick: &dyn Fn(&RunManifest) -> String| {
        let mut values: Vec<String> = views.iter().map(|view| pick(view.manifest)).collect();
        values.sort();
        values.dedup();
        if values.len() > 1 {
            warnings.push(format!("The {what} differs between the runs: {}", values.join(" / ")));
        }
    };
    differ("device", &|m| m.environment.device.clone());
    differ("CPU", &|m| m.environment.cpu.clone());
    differ("version of Burnscope", &|m| m.environment.burnscope.clone());
    differ("version of Burn", &|m| m.environment.burn.clone());
    differ("recording level", &|m| m.spec.trace.level.id().to_owned());
    for view in views {
        if !view.manifest.end.is_good() {
            warnings.push(format!("“{}” did not end as planned: {}", name(view.manifest), view.manifest.end.label()));
        }
        if steady(view).len() < 8 {
            warnings.push(format!("“{}” has only {} steady steps", name(view.manifest), steady(view).len()));
        }
    }
    warnings
}

/// Time of each operation per step that has it recorded, largest change against the baseline first.
fn op_deltas(views: &[RunView]) -> (Vec<OpDelta>, String) {
    let mut names: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut source = String::new();
    for (number, view) in views.iter().enumerate() {
        let Some(trace) = view.trace else { continue };
        let kernels = ops::kernels(trace, Key::Name);
        let sampled = view.steps.iter().filter(|step| step.flags.contains(StepFlags::SAMPLED)).count();
        let traced = view.steps.iter().filter(|step| step.flags.contains(StepFlags::TRACED)).count();
        let by_kernel = !kernels.is_empty() && sampled > 0;
        let (rows, steps) = if by_kernel { (kernels, sampled) } else { (ops::table(trace, Key::Name), traced.max(1)) };
        if let Some(row) = rows.first() {
            let what = if by_kernel { "kernels" } else { "operations" };
            source = format!("{what}, {}, time per recorded step", row.source);
        }
        for row in rows {
            let slots = names.entry(row.name).or_insert_with(|| vec![None; views.len()]);
            slots[number] = Some(row.self_ns / steps as f64);
        }
    }
    let mut deltas: Vec<OpDelta> = names.into_iter().map(|(name, per_step_ns)| OpDelta { name, per_step_ns }).collect();
    let change = |delta: &OpDelta| {
        let base = delta.per_step_ns.first().copied().flatten().unwrap_or(0.0);
        delta.per_step_ns.iter().map(|value| (value.unwrap_or(0.0) - base).abs()).fold(0.0, f64::max)
    };
    deltas.sort_by(|a, b| change(b).total_cmp(&change(a)));
    deltas.truncate(OP_ROWS);
    (deltas, source)
}

/// A change of the input pipeline can only gain what the step waited for input: more than that comes from elsewhere.
fn implausible(runs: &[ComparedRun], differences: &[ConfigDifference]) -> Option<String> {
    let [baseline, run] = runs else { return None };
    let pipeline_only = !differences.is_empty() && differences.iter().all(|d| d.key.starts_with("pipeline."));
    let versus = run.vs_baseline.as_ref()?.as_ref().ok()?;
    if !pipeline_only || versus.verdict != Verdict::Faster {
        return None;
    }
    let step: f64 = baseline.phases_median_ns.iter().sum();
    let wait = baseline.phases_median_ns[Phase::InputWait as usize] / step.max(1.0);
    let gain = 1.0 - versus.ratio;
    (gain > 2.0 * wait + 0.01).then(|| {
        format!(
            "The step got {} shorter, but only {} of it was input wait: most of the difference cannot come from the input \
             pipeline. Repeat on a quiet machine",
            crate::model::units::percent(gain),
            crate::model::units::percent(wait)
        )
    })
}

fn method(interleaved: bool) -> String {
    if interleaved {
        "The runs made blocks of steps in turn, in an order drawn anew each round. Each round gives one ratio of median \
         step times; the headline is the median of these ratios, with the interval that the exact sign-flip test does \
         not reject at 5 %. Steps that compiled, were timed kernel by kernel or were disturbed do not count."
            .to_owned()
    } else {
        "The runs were made one after the other, so whatever changed on the machine between them is part of the \
         difference. Each run's steady steps are cut into contiguous chunks, and the chunks' medians are compared by an \
         exact rank-sum test. An A/B experiment (interleaved blocks) is stronger."
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::planted;
    use super::*;
    use crate::model::ExperimentRef;

    fn arm(number: usize, name: &str, step_ns: i64) -> (RunManifest, Vec<StepRecord>) {
        let mut manifest = planted::manifest();
        manifest.id = name.to_owned();
        manifest.experiment = Some(ExperimentRef {
            id: "ladder-1".to_owned(),
            kind: "ladder".to_owned(),
            arm: number,
            name: name.to_owned(),
            ..ExperimentRef::default()
        });
        let mut steps = planted::steps(80, step_ns);
        for step in &mut steps {
            step.block = 1 + step.step as u32 / 10;
            step.dur_ns += (step.step % 3) as i64 * step_ns / 100;
        }
        (manifest, steps)
    }

    fn view((manifest, steps): &(RunManifest, Vec<StepRecord>)) -> RunView<'_> {
        RunView { manifest, steps, trace: None }
    }

    #[test]
    fn arms_of_an_experiment_are_paired_by_block() {
        let (a, mut b) = (arm(0, "baseline", 1_000_000), arm(1, "+ input pipeline", 500_000));
        b.0.spec.pipeline.enabled = true;
        let comparison = compare(&[view(&a), view(&b)]).unwrap();
        assert!(comparison.interleaved);
        assert_eq!(comparison.title, "Ladder");
        let versus = comparison.runs[1].vs_baseline.as_ref().unwrap().as_ref().unwrap();
        assert_eq!((versus.verdict, versus.blocks), (Verdict::Faster, 8));
        assert!((versus.speedup - 2.0).abs() < 0.01, "{versus:?}");
        let differs = ConfigDifference {
            key: "pipeline.enabled".to_owned(),
            values: vec!["false".to_owned(), "true".to_owned()],
        };
        assert_eq!(comparison.config_differences, [differs]);
        assert!(comparison.runs[1].same_losses.starts_with("identical"));
    }

    #[test]
    fn a_gain_that_the_flip_cannot_have_made_is_named() {
        // A quarter of the step is input wait: it bounds what the pipeline can gain, with a margin for noise.
        for (step_ns, named) in [(600_000, false), (800_000, false), (300_000, true)] {
            let (a, mut b) = (arm(0, "baseline", 1_000_000), arm(1, "+ input pipeline", step_ns));
            b.0.spec.pipeline.enabled = true;
            let comparison = compare(&[view(&a), view(&b)]).unwrap();
            let said = comparison.warnings.iter().any(|warning| warning.contains("input wait"));
            assert_eq!(said, named, "{step_ns}");
        }
    }

    #[test]
    fn separate_runs_are_said_to_be_so() {
        let (mut a, mut b) = (arm(0, "a", 1_000_000), arm(1, "b", 1_000_000));
        a.0.experiment = None;
        b.0.experiment = None;
        b.0.environment.device = "another".to_owned();
        let comparison = compare(&[view(&a), view(&b)]).unwrap();
        assert!(!comparison.interleaved && comparison.method.contains("one after the other"));
        assert!(comparison.warnings.iter().any(|warning| warning.contains("device differs")));
        let versus = comparison.runs[1].vs_baseline.as_ref().unwrap().as_ref().unwrap();
        assert!(!versus.interleaved && versus.verdict != Verdict::Faster);
    }

    #[test]
    fn losses_that_differ_and_runs_without_steps_are_told() {
        let (a, mut b) = (arm(0, "a", 1_000_000), arm(1, "b", 1_000_000));
        b.1[5].loss = Some(9.0);
        let comparison = compare(&[view(&a), view(&b)]).unwrap();
        assert!(comparison.runs[1].same_losses.starts_with("differs"));
        b.1.clear();
        let comparison = compare(&[view(&a), view(&b)]).unwrap();
        assert!(comparison.runs[1].vs_baseline.as_ref().unwrap().is_err());
        assert!(comparison.runs[1].step_median_ns.reason().is_some());
        assert_eq!(compare(&[]), Err(CompareError::Nothing));
    }
}
