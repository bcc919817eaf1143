//! The figures of a comparison as rows of text, each with how it was measured; HTML, Markdown and terminal share them.

use crate::analysis::compare::{ComparedRun, Comparison, Versus};
use crate::model::{Known, Phase, units};

/// A row: what, its value in each run, how it was measured.
pub struct Row {
    /// What.
    pub name: String,
    /// Value in each run; where unknown, `unknown` followed by the reason in `reasons`.
    pub values: Vec<String>,
    /// Why a value is unknown, for each run.
    pub reasons: Vec<Option<String>>,
    /// How it was measured.
    pub how: String,
}

fn row<T>(
    name: &str,
    comparison: &Comparison,
    pick: impl Fn(&ComparedRun) -> &Known<T>,
    text: impl Fn(&T) -> String,
) -> Row {
    let figures: Vec<&Known<T>> = comparison.runs.iter().map(pick).collect();
    let how =
        figures.iter().find_map(|figure| figure.source()).map_or_else(String::new, |source| source.label().to_owned());
    Row {
        name: name.to_owned(),
        values: figures.iter().map(|figure| figure.get().map_or_else(|| "unknown".to_owned(), &text)).collect(),
        reasons: figures.iter().map(|figure| figure.reason().map(str::to_owned)).collect(),
        how,
    }
}

fn plain(name: &str, comparison: &Comparison, how: &str, text: impl Fn(&ComparedRun) -> String) -> Row {
    Row {
        name: name.to_owned(),
        values: comparison.runs.iter().map(text).collect(),
        reasons: vec![None; comparison.runs.len()],
        how: how.to_owned(),
    }
}

/// All figures.
pub fn figures(c: &Comparison) -> Vec<Row> {
    let time = |ns: &f64| units::duration_ns(*ns);
    let mut rows = vec![
        plain("Device", c, "", |run| run.device.clone()),
        plain("Ended", c, "", |run| run.end.clone()),
        plain("Steps (steady)", c, "counted", |run| {
            format!("{} ({})", units::count(run.steps), units::count(run.steady_steps))
        }),
        row("Step time, median", c, |run| &run.step_median_ns, time),
        row("Step time, MAD", c, |run| &run.step_mad_ns, time),
        row("Step time, 5th percentile", c, |run| &run.step_p5_ns, time),
        row("Step time, 95th percentile", c, |run| &run.step_p95_ns, time),
        row("Throughput", c, |run| &run.samples_per_sec, |rate| units::samples_per_sec(*rate)),
    ];
    rows.extend(Phase::ALL.map(|phase| {
        plain(&format!("Phase: {}", phase.label()), c, "host clock, median", |run| {
            units::duration_ns(run.phases_median_ns[phase as usize])
        })
    }));
    rows.extend([
        row("Device busy", c, |run| &run.device_busy, |share| units::percent(*share)),
        row("Kernel launches a step", c, |run| &run.kernels_per_step, |n| format!("{n:.0}")),
        row("Operations a step", c, |run| &run.ops_per_step, |n| format!("{n:.0}")),
        row("Images from the cache", c, |run| &run.cache_hit_rate, |share| units::percent(*share)),
        row("Cost of recording", c, |run| &run.recorder_cost, |share| units::percent(*share)),
        row("Skipped updates", c, |run| &run.skipped_steps, |n| units::count(*n)),
        row("Peak device memory, pools", c, |run| &run.peak_device_bytes, |n| units::bytes(*n as f64)),
        plain("Warm-up", c, "host clock", |run| units::duration_ns(run.warm_up.dur_ns as f64)),
        plain("Compiled, tuned in the warm-up", c, "counted", |run| {
            format!("{}, {}", run.warm_up.compiled, run.warm_up.tuned)
        }),
        plain("Dearer start has paid off", c, "derived", |run| or_dash(&run.break_even)),
        plain("Last loss", c, "read back", |run| {
            run.final_loss.map_or_else(|| "–".to_owned(), |loss| format!("{loss:.4}"))
        }),
        row("Test accuracy", c, |run| &run.test_accuracy, |share| units::percent(*share)),
        plain("Losses against the baseline", c, "read back", |run| or_dash(&run.same_losses)),
    ]);
    rows
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "–".to_owned() } else { text.to_owned() }
}

/// The headline of a run: name, median, ratio to the previous, ratio to the baseline, interval, verdict.
pub struct Headline {
    /// Name of the run.
    pub name: String,
    /// Median step time.
    pub median: String,
    /// How many times as fast as the run before.
    pub vs_previous: String,
    /// How many times as fast as the baseline.
    pub vs_baseline: String,
    /// Interval of the latter.
    pub interval: String,
    /// Verdict in words.
    pub verdict: String,
    /// The whole judgement as a sentence, or why there is none.
    pub sentence: String,
}

/// Headlines of all runs.
pub fn headlines(c: &Comparison) -> Vec<Headline> {
    c.runs
        .iter()
        .map(|run| {
            let speed = |versus: &Option<Result<Versus, String>>| match versus {
                None => "–".to_owned(),
                Some(Ok(versus)) => units::ratio(versus.speedup),
                Some(Err(_)) => "unknown".to_owned(),
            };
            let (interval, verdict, sentence) = match &run.vs_baseline {
                None => ("–".to_owned(), "baseline".to_owned(), String::new()),
                // Bounds swap: the interval is of times, the figure shown is of speed.
                Some(Ok(v)) => (
                    format!("{} to {}", units::ratio(1.0 / v.ci_high), units::ratio(1.0 / v.ci_low)),
                    v.verdict.label().to_owned(),
                    v.sentence.clone(),
                ),
                Some(Err(why)) => ("–".to_owned(), "unknown".to_owned(), why.clone()),
            };
            Headline {
                name: run.title.clone(),
                median: run.step_median_ns.get().map_or_else(|| "unknown".to_owned(), |ns| units::duration_ns(*ns)),
                vs_previous: speed(&run.vs_previous),
                vs_baseline: speed(&run.vs_baseline),
                interval,
                verdict,
                sentence,
            }
        })
        .collect()
}

/// Titles of the columns of [`headlines`].
pub const HEADLINE_COLUMNS: [&str; 6] =
    ["Run", "Median step", "Speed vs previous", "Speed vs baseline", "95 % interval", "Verdict"];

impl Headline {
    /// The cells under [`HEADLINE_COLUMNS`].
    pub fn cells(&self) -> [&str; 6] {
        [&self.name, &self.median, &self.vs_previous, &self.vs_baseline, &self.interval, &self.verdict]
    }
}
