//! Where the time of a step goes, by phase, over the steady steps.

use crate::model::{Phase, StepRecord};
use crate::stats::summary;

/// One phase's part of the step.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct PhaseShare {
    /// The phase.
    pub phase: Phase,
    /// Median time, in ns.
    pub median_ns: f64,
    /// Mean time, in ns; the means of all phases sum to the mean step.
    pub mean_ns: f64,
    /// Share of the mean step, 0 to 1.
    pub share: f64,
}

/// The step by phase.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Breakdown {
    /// All phases, in order.
    pub phases: Vec<PhaseShare>,
    /// Median step, in ns.
    pub step_median_ns: f64,
    /// Mean step, in ns.
    pub step_mean_ns: f64,
    /// Steps that it stands on.
    pub steps: usize,
    /// Whether these steps are steady; else there were none and all steps were taken.
    pub steady: bool,
}

/// Steady steps, or all of them where none is steady.
fn fit(steps: &[StepRecord]) -> (Vec<&StepRecord>, bool) {
    let steady: Vec<&StepRecord> = steps.iter().filter(|step| step.flags.steady()).collect();
    if steady.is_empty() { (steps.iter().collect(), false) } else { (steady, true) }
}

/// The breakdown of a run; `None` without steps.
pub fn breakdown(steps: &[StepRecord]) -> Option<Breakdown> {
    let (fit, steady) = fit(steps);
    let total = |step: &&StepRecord| step.dur_ns as f64;
    let times: Vec<f64> = fit.iter().map(total).collect();
    let step_mean_ns = summary::mean(&times)?;
    let phases = Phase::ALL
        .into_iter()
        .map(|phase| {
            let times: Vec<f64> = fit.iter().map(|step| step.phase_ns(phase) as f64).collect();
            let mean_ns = summary::mean(&times).unwrap_or(0.0);
            let share = if step_mean_ns > 0.0 { mean_ns / step_mean_ns } else { 0.0 };
            PhaseShare { phase, median_ns: summary::median(&times).unwrap_or(0.0), mean_ns, share }
        })
        .collect();
    Some(Breakdown { phases, step_median_ns: summary::median(&times)?, step_mean_ns, steps: fit.len(), steady })
}

#[cfg(test)]
mod tests {
    use super::super::planted;
    use super::*;
    use crate::model::StepFlags;

    #[test]
    fn phases_sum_to_the_step_and_cold_steps_stay_out() {
        let mut steps = planted::steps(10, 1_000_000);
        steps[0].dur_ns = 90_000_000;
        steps[0].flags.insert(StepFlags::COLD);
        let breakdown = breakdown(&steps).unwrap();
        assert_eq!((breakdown.steps, breakdown.steady), (9, true));
        assert!((breakdown.step_mean_ns - 1e6).abs() < 1.0);
        let sum: f64 = breakdown.phases.iter().map(|phase| phase.mean_ns).sum();
        assert!((sum - breakdown.step_mean_ns).abs() < 1.0);
        assert!((breakdown.phases.iter().map(|phase| phase.share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(super::breakdown(&[]).is_none());
    }
}
