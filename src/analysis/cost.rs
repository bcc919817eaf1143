//! What recording costs, from traced and untraced steps of the same run; told apart from noise.

use crate::model::{Known, Source, StepFlags, StepRecord, units};
use crate::stats::ab::{AbOptions, BlockPair, MIN_BLOCKS, Verdict, judge};
use crate::stats::summary::median;

/// Untraced steps of a block, where there are enough: their median is steadier than one of them.
const UNTRACED_A_BLOCK: usize = 4;
/// Most blocks; more would only make each of them noisier.
const MAX_BLOCKS: usize = 24;

/// Relative cost of recording: time of traced over untraced steady steps, minus one. Unknown where the difference cannot
/// be told from noise, with the interval in which it lies.
///
/// Untraced steps are spread evenly over the run, so the run is cut into stretches that each hold both kinds: what drifts
/// (clock, heat, neighbours) falls on both alike.
pub fn recorder_cost(steps: &[StepRecord]) -> Known<f64> {
    let blocks = stretches(steps);
    let untraced = blocks.iter().map(|block| block.baseline.len()).sum::<usize>();
    if blocks.is_empty() {
        return Known::unknown("the run has no steady steps of both kinds, traced and untraced");
    }
    let sampling = sampling_cost(steps);
    match judge(&blocks, &AbOptions::default()) {
        Ok(result) if matches!(result.verdict, Verdict::Faster | Verdict::Slower) => {
            Known::value(result.ratio - 1.0 + sampling.unwrap_or(0.0), Source::Derived, untraced as u64)
        }
        Ok(result) if result.blocks >= MIN_BLOCKS => {
            let (low, high) = (units::percent(result.ci_low - 1.0), units::percent(result.ci_high - 1.0));
            let confidence = units::percent(result.confidence);
            let sampling = sampling
                .map(|share| format!("; steps whose kernels are timed add {} on average", units::percent(share)))
                .unwrap_or_default();
            Known::unknown(format!(
                "no cost could be told from noise: it lies between {low} and {high} ({confidence} interval, {untraced} untraced steps){sampling}"
            ))
        }
        Ok(_) => Known::unknown(format!("{untraced} untraced steps are too few to tell a cost from noise")),
        Err(error) => Known::unknown(error.to_string()),
    }
}

/// What timing the kernels of sampled steps adds to the mean step; `None` where there are too few of them to say.
fn sampling_cost(steps: &[StepRecord]) -> Option<f64> {
    let traced = steps.iter().filter(|s| s.flags.contains(StepFlags::TRACED) && !s.flags.contains(StepFlags::COLD));
    let (sampled, plain): (Vec<&StepRecord>, Vec<&StepRecord>) =
        traced.partition(|step| step.flags.contains(StepFlags::SAMPLED));
    let times = |steps: &[&StepRecord]| median(&steps.iter().map(|step| step.dur_ns as f64).collect::<Vec<f64>>());
    if sampled.len() < MIN_BLOCKS {
        return None;
    }
    let extra = times(&sampled)? / times(&plain)? - 1.0;
    Some(extra * sampled.len() as f64 / (sampled.len() + plain.len()) as f64)
}

/// Contiguous stretches of the steady steps: untraced ones as the baseline, traced ones as the candidate, in nanoseconds.
fn stretches(steps: &[StepRecord]) -> Vec<BlockPair> {
    let steady: Vec<&StepRecord> = steps.iter().filter(|step| step.flags.steady()).collect();
    let untraced = steady.iter().filter(|step| !step.flags.contains(StepFlags::TRACED)).count();
    let blocks = (untraced / UNTRACED_A_BLOCK).clamp(MIN_BLOCKS.min(untraced), MAX_BLOCKS).max(1);
    let mut pairs = vec![BlockPair::default(); blocks];
    let n = steady.len();
    for (at, step) in steady.iter().enumerate() {
        let Some(pair) = pairs.get_mut(at * blocks / n) else { continue };
        let arm = if step.flags.contains(StepFlags::TRACED) { &mut pair.candidate } else { &mut pair.baseline };
        arm.push(step.dur_ns as f64);
    }
    pairs.retain(|pair| !pair.baseline.is_empty() && !pair.candidate.is_empty());
    pairs
}

#[cfg(test)]
mod tests {
    use super::super::planted;
    use super::*;

    /// Every fourth step untraced; traced ones cost `extra` ns more; a little regular jitter on all.
    fn steps(extra: i64, jitter: i64) -> Vec<StepRecord> {
        let mut steps = planted::steps(160, 1_000_000);
        for step in &mut steps {
            let untraced = step.step % 4 == 1;
            step.flags = if untraced { StepFlags::default() } else { StepFlags::TRACED };
            step.dur_ns += (step.step as i64 * 7919 % 11 - 5) * jitter + if untraced { 0 } else { extra };
        }
        steps
    }

    #[test]
    fn drift_of_the_machine_is_no_cost() {
        let mut drifting = steps(20_000, 300);
        for step in &mut drifting {
            step.dur_ns -= step.step as i64 * 4_000;
        }
        let cost = recorder_cost(&drifting);
        assert!((cost.get().unwrap() - 0.03).abs() < 0.012, "{cost:?}");
    }

    #[test]
    fn timing_kernels_counts_as_a_cost() {
        let mut steps = steps(0, 300);
        for step in steps.iter_mut().filter(|step| step.step % 10 == 3) {
            step.flags = StepFlags::TRACED;
            step.flags.insert(StepFlags::SAMPLED);
            step.dur_ns += 200_000;
        }
        let reason = recorder_cost(&steps).reason().unwrap().to_owned();
        assert!(reason.contains("steps whose kernels are timed add 2"), "{reason}");
    }

    #[test]
    fn a_real_cost_is_a_figure_and_noise_is_not() {
        let cost = recorder_cost(&steps(90_000, 500));
        assert!((cost.get().unwrap() - 0.09).abs() < 0.01, "{cost:?}");
        let noise = recorder_cost(&steps(0, 40_000));
        assert!(noise.reason().unwrap().contains("it lies between"), "{noise:?}");
        assert!(recorder_cost(&planted::steps(10, 1000)).reason().unwrap().contains("both kinds"));
        let few = recorder_cost(&steps(0, 40_000)[..12]);
        assert!(few.reason().unwrap().contains("too few"), "{few:?}");
    }
}
