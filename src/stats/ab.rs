//! Interleaved A/B: from paired blocks of step times to one of four verdicts.
//!
//! Blocks, not steps, are the replicates: steps of one block share caches, clocks and load, so a test over steps would
//! be far too sure of itself. Each block gives the log of the ratio of its two medians; headline is the median of the
//! block ratios, the interval and p-value are those of the sign-flip test ([`super::signflip`]), which is exact for any
//! noise as long as the order within a block is drawn by chance. That test weighs the mean of the logs; since the
//! headline is their median, a difference counts only where the bootstrap interval of the median agrees. Alone, each of
//! the two would raise a false alarm in about 5 and 8 % of A/A experiments; together they do in 3 to 4 %.

use super::bootstrap;
use super::drift::drift;
use super::power::{blocks_needed, smallest_effect};
use super::signflip::{self, Interval};
use super::summary::{Summary, mean, median, median_in_place, sd};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Fewest blocks that can reach 5 % two-sided: 2 / 2⁶ = 3.1 %, while five reach 6.3 % at best.
pub const MIN_BLOCKS: usize = 6;
/// Blocks by default: noise of 5 % lets 5.8 % be seen.
pub const DEFAULT_BLOCKS: usize = 8;

/// Step times of one block, in nanoseconds: both arms ran once in it, close together in time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockPair {
    /// Steps of the baseline.
    pub baseline: Vec<f64>,
    /// Steps of the candidate.
    pub candidate: Vec<f64>,
    /// Why the block cannot count (others used the machine, the clock changed), if so. Decided from the environment,
    /// never from the result.
    pub tainted: Option<String>,
}

impl BlockPair {
    /// A block that counts.
    pub fn new(baseline: Vec<f64>, candidate: Vec<f64>) -> Self {
        Self { baseline, candidate, tainted: None }
    }

    /// Log of candidate over baseline median time; `None` where a median is missing or not positive.
    fn log_ratio(&self) -> Option<f64> {
        let (a, b) = (median(&self.baseline)?, median(&self.candidate)?);
        let log = b.ln() - a.ln();
        (a > 0.0 && b > 0.0 && log.is_finite()).then_some(log)
    }
}

/// How to judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AbOptions {
    /// Confidence of the interval, and one minus the level of the test.
    pub confidence: f64,
    /// Relative change that counts as none, at least.
    pub min_margin: f64,
    /// Standard deviation of the log block ratio from an A/A calibration on this machine ([`noise`]): raises the margin.
    pub noise: Option<f64>,
    /// Seed of everything drawn.
    pub seed: u64,
    /// Resamples of the bootstrap interval.
    pub resamples: usize,
}

impl Default for AbOptions {
    fn default() -> Self {
        Self { confidence: 0.95, min_margin: 0.01, noise: None, seed: 0, resamples: bootstrap::RESAMPLES }
    }
}

impl AbOptions {
    /// The relative change that counts as none: the larger of 1 % and the noise.
    pub fn margin(&self) -> f64 {
        self.min_margin.max(self.noise.unwrap_or(0.0))
    }
}

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate's steps are shorter.
    Faster,
    /// The candidate's steps are longer.
    Slower,
    /// The interval lies within the margin that counts as none.
    NoDifference,
    /// The data cannot tell.
    Undecided,
}

impl Verdict {
    /// Words for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifference => "no detectable difference",
            Self::Undecided => "undecided",
        }
    }
}

/// Why there is no result at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AbError {
    /// Not one block can be compared.
    #[error(
        "none of the {blocks} blocks has positive step times of both arms ({tainted} were tainted). Run the experiment again with more blocks"
    )]
    NothingToCompare {
        /// Blocks given.
        blocks: usize,
        /// Of those, tainted.
        tainted: usize,
    },
    /// One of two separate runs has no steps to compare.
    #[error("the {arm} has no steady steps with a positive time. Run it for longer")]
    NoSteps {
        /// `baseline` or `candidate`.
        arm: &'static str,
    },
}

/// The result of a comparison. Ratios are candidate over baseline **time**: below 1 is faster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbResult {
    /// Median of the block ratios (of two separate runs: ratio of their medians).
    pub ratio: f64,
    /// Lower end of the interval of the ratio.
    pub ci_low: f64,
    /// Upper end of the interval of the ratio.
    pub ci_high: f64,
    /// Confidence of the interval, 0 to 1. Lower than asked where there are too few blocks for that.
    pub confidence: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Smallest relative change that this set-up shows in about three of four experiments; `None` with a single block.
    pub mde: Option<f64>,
    /// Relative change that counts as none.
    pub margin: f64,
    /// Standard deviation of the log block ratio; `None` with a single block.
    pub noise: Option<f64>,
    /// Blocks that count.
    pub blocks: usize,
    /// Blocks left out because the machine was disturbed.
    pub tainted: usize,
    /// Blocks left out because an arm had no positive step time.
    pub unusable: usize,
    /// Ratio of each block that counts, in order.
    pub block_ratios: Vec<f64>,
    /// Percentile bootstrap interval of the median block ratio. A verdict needs it on the same side of 1. `None` for
    /// separate runs.
    pub bootstrap: Option<Interval>,
    /// Step times of the baseline, in nanoseconds, over the blocks that count.
    pub baseline: Summary,
    /// Step times of the candidate, in nanoseconds, over the blocks that count.
    pub candidate: Summary,
    /// Whether the arms alternated. If not, whatever changed between the runs counts as the candidate's doing, and the
    /// verdict is weaker.
    pub interleaved: bool,
    /// What the reader should know, as sentences.
    pub notes: Vec<String>,
}

impl AbResult {
    /// Relative change of the time: −0.10 = 10 % less.
    pub fn time_change(&self) -> f64 {
        self.ratio - 1.0
    }

    /// Relative change of the speed: +0.11 = 11 % more per second.
    pub fn speed_change(&self) -> f64 {
        1.0 / self.ratio - 1.0
    }

    /// The result in one sentence, for example `1.23× as fast (95 % interval 1.18 to 1.29, p = 0.008, 8 blocks)`.
    pub fn sentence(&self) -> String {
        let (low, high, speed) = (1.0 / self.ci_high, 1.0 / self.ci_low, 1.0 / self.ratio);
        let seen = self.mde.map(|mde| format!("±{}", percent(mde)));
        match self.verdict {
            Verdict::Faster => format!("{} as fast ({})", times(speed), self.evidence(low, high)),
            Verdict::Slower => format!("{} as long ({})", times(self.ratio), self.evidence(self.ci_low, self.ci_high)),
            Verdict::NoDifference if self.p_value <= 1.0 - self.confidence => format!(
                "no difference that counts: {} as fast is within ±{} ({})",
                times(speed),
                percent(self.margin),
                self.evidence(low, high)
            ),
            Verdict::NoDifference => match seen {
                Some(seen) => format!("no detectable difference (could have seen {seen})"),
                None => "no detectable difference".to_owned(),
            },
            Verdict::Undecided => match seen {
                Some(seen) => {
                    format!("undecided: {} as fast ({}; could see {seen})", times(speed), self.evidence(low, high))
                }
                None => format!("undecided: {} as fast ({})", times(speed), self.evidence(low, high)),
            },
        }
    }

    fn evidence(&self, low: f64, high: f64) -> String {
        let p = if self.p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {:.3}", self.p_value) };
        let digits = if (low - 1.0).abs() < 0.05 && (high - 1.0).abs() < 0.05 { 3 } else { 2 };
        let blocks = counted(self.blocks, "block");
        let confidence = (self.confidence * 100.0).floor();
        let weaker = if self.interleaved { "" } else { ", not interleaved" };
        format!("{confidence:.0} % interval {low:.digits$} to {high:.digits$}, {p}, {blocks}{weaker}")
    }
}

/// A factor with enough digits to differ from one.
fn times(factor: f64) -> String {
    if (factor - 1.0).abs() < 0.05 { format!("{factor:.3}×") } else { format!("{factor:.2}×") }
}

/// `1 block`, `8 blocks`.
pub(super) fn counted(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Standard deviation of the log block ratio: over A/A blocks, the noise of the machine. `None` below two blocks that
/// can be compared.
pub fn noise(blocks: &[BlockPair]) -> Option<f64> {
    let logs: Vec<f64> = blocks.iter().filter(|b| b.tainted.is_none()).filter_map(BlockPair::log_ratio).collect();
    sd(&logs)
}

/// Judges the candidate against the baseline.
///
/// # Errors
/// [`AbError::NothingToCompare`] when no untainted block has step times of both arms.
pub fn judge(blocks: &[BlockPair], options: &AbOptions) -> Result<AbResult, AbError> {
    let tainted = blocks.iter().filter(|b| b.tainted.is_some()).count();
    let usable: Vec<(&BlockPair, f64)> = blocks
        .iter()
        .filter(|b| b.tainted.is_none())
        .filter_map(|block| block.log_ratio().map(|log| (block, log)))
        .collect();
    let logs: Vec<f64> = usable.iter().map(|(_, log)| *log).collect();
    let nothing = || AbError::NothingToCompare { blocks: blocks.len(), tainted };
    let pooled = |arm: fn(&BlockPair) -> &[f64]| {
        Summary::of(&usable.iter().flat_map(|(b, _)| arm(b).iter().copied()).collect::<Vec<f64>>())
    };
    let centre = median(&logs).ok_or_else(nothing)?;
    let interval = signflip::interval(&logs, options.confidence, options.seed).ok_or_else(nothing)?;
    let bootstrap_options = bootstrap::Options {
        resamples: options.resamples,
        confidence: options.confidence,
        seed: options.seed,
        ..bootstrap::Options::default()
    };
    let spread = sd(&logs);
    let mut result = AbResult {
        ratio: centre.exp(),
        // The test is about the mean of the logs, the headline about their median. With long tails and many blocks they
        // may part; the interval then reaches to the headline, which only makes it more careful.
        ci_low: interval.low.min(centre).exp(),
        ci_high: interval.high.max(centre).exp(),
        confidence: interval.confidence.min(options.confidence),
        p_value: signflip::p_value(&logs, options.seed),
        verdict: Verdict::Undecided,
        mde: spread.and_then(|noise| smallest_effect(noise, logs.len())),
        margin: options.margin(),
        noise: spread,
        blocks: logs.len(),
        tainted,
        unusable: blocks.len() - tainted - logs.len(),
        block_ratios: logs.iter().map(|x| x.exp()).collect(),
        bootstrap: bootstrap::interval(&logs, &bootstrap_options, median_in_place).map(|i| Interval {
            low: i.low.exp(),
            high: i.high.exp(),
            confidence: i.confidence,
        }),
        baseline: pooled(|b| &b.baseline).ok_or_else(nothing)?,
        candidate: pooled(|b| &b.candidate).ok_or_else(nothing)?,
        interleaved: true,
        notes: Vec::new(),
    };
    result.verdict = verdict(&result, MIN_BLOCKS, options.confidence, 0.0);
    result.notes = notes(&result, &usable);
    Ok(result)
}

/// The verdict that interval and p-value allow. A real difference must have its whole interval beyond `threshold`
/// (relative) on one side of 1.
pub(super) fn verdict(result: &AbResult, min_blocks: usize, confidence: f64, threshold: f64) -> Verdict {
    let level = 1.0 - confidence + 1e-12;
    let (low, high) = result.bootstrap.map_or((result.ci_low, result.ci_high), |i| (i.low, i.high));
    let inside = result.ci_low >= 1.0 / (1.0 + result.margin) && result.ci_high <= 1.0 + result.margin;
    if result.blocks < min_blocks {
        Verdict::Undecided
    } else if inside {
        Verdict::NoDifference
    } else if result.p_value <= level && result.ci_high.max(high) < 1.0 / (1.0 + threshold) {
        Verdict::Faster
    } else if result.p_value <= level && result.ci_low.min(low) > 1.0 + threshold {
        Verdict::Slower
    } else {
        Verdict::Undecided
    }
}

fn notes(result: &AbResult, usable: &[(&BlockPair, f64)]) -> Vec<String> {
    let mut notes = Vec::new();
    if result.blocks < MIN_BLOCKS {
        notes.push(format!(
            "Too few for a verdict: {}. It takes {MIN_BLOCKS} to be wrong in at most 5 % of cases",
            counted(result.blocks, "block")
        ));
    }
    if result.tainted > 0 {
        notes.push(format!("Left out because the machine was disturbed: {}", counted(result.tainted, "block")));
    }
    if result.unusable > 0 {
        notes.push(format!("Left out because an arm has no step times: {}", counted(result.unusable, "block")));
    }
    for (name, arm) in [("baseline", &result.baseline), ("candidate", &result.candidate)] {
        if arm.is_noisy() {
            notes.push(format!("Noisy machine: the median step of the {name} is more than 10 % above its fastest"));
        }
    }
    let at: Vec<f64> = (0..usable.len()).map(|i| i as f64).collect();
    let levels: Vec<f64> = usable
        .iter()
        .filter_map(|(block, _)| mean(&[median(&block.baseline)?.ln(), median(&block.candidate)?.ln()]))
        .collect();
    if let Some(trend) = drift(&at, &levels)
        && trend.is_notable()
    {
        let way = if trend.change > 0.0 { "longer" } else { "shorter" };
        notes.push(format!(
            "Steps of both arms became {} {way} during the experiment (heat or clock); alternating cancels that",
            percent(trend.change.exp_m1().abs())
        ));
    }
    if result.verdict == Verdict::Undecided
        && let Some(noise) = result.noise
        && let Some(blocks) = blocks_needed(noise, result.ratio.ln(), 1000)
        && blocks > result.blocks
    {
        notes.push(format!("If the difference is as large as it looks, {blocks} blocks would show it"));
    }
    notes
}

#[cfg(test)]
#[path = "ab_tests.rs"]
mod tests;
