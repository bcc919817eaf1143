//! What recording costs, from traced and untraced steps of the same run; told apart from noise.

use crate::model::{Known, Source, StepFlags, StepRecord, units};
use crate::stats::ab::{AbOptions, Verdict};
use crate::stats::unpaired::judge_unpaired;

/// Relative cost of recording: time of traced over untraced steady steps, minus one. Unknown where the difference cannot
/// be told from noise, with the smallest one that could.
pub fn recorder_cost(steps: &[StepRecord]) -> Known<f64> {
    let times = |traced: bool| -> Vec<f64> {
        let kind = steps.iter().filter(|step| step.flags.steady() && step.flags.contains(StepFlags::TRACED) == traced);
        kind.map(|step| step.dur_ns as f64).collect()
    };
    let (untraced, traced) = (times(false), times(true));
    let n = untraced.len().min(traced.len());
    if n == 0 {
        return Known::unknown("the run has no steady steps of both kinds, traced and untraced");
    }
    match judge_unpaired(&untraced, &traced, &AbOptions::default()) {
        Ok(result) if matches!(result.verdict, Verdict::Faster | Verdict::Slower) => {
            Known::value(result.ratio - 1.0, Source::Derived, n as u64)
        }
        Ok(result) => {
            let seen =
                result.mde.map(|mde| format!("; {} would have been seen", units::percent(mde))).unwrap_or_default();
            Known::unknown(format!("no cost could be told from noise in {n} untraced steps{seen}"))
        }
        Err(error) => Known::unknown(error.to_string()),
    }
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
    fn a_real_cost_is_a_figure_and_noise_is_not() {
        let cost = recorder_cost(&steps(90_000, 500));
        assert!((cost.get().unwrap() - 0.09).abs() < 0.01, "{cost:?}");
        let noise = recorder_cost(&steps(0, 40_000));
        assert!(noise.reason().unwrap().contains("would have been seen"), "{noise:?}");
        assert!(recorder_cost(&planted::steps(10, 1000)).reason().unwrap().contains("both kinds"));
    }
}
