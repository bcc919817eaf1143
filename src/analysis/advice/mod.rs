//! Advice with its evidence: each rule looks at what was measured and speaks only when it applies.

mod input_bound;
mod launch_bound;
mod loss_scale;
mod recorder_cost;

use super::breakdown::Breakdown;
use super::counts::StepCounts;
use crate::model::{Known, RunManifest, StepRecord};

/// What the rules may look at.
pub struct Facts<'a> {
    /// The run.
    pub manifest: &'a RunManifest,
    /// Its steps.
    pub steps: &'a [StepRecord],
    /// Where the step's time goes.
    pub breakdown: &'a Breakdown,
    /// Operations and kernels of a step.
    pub counts: &'a StepCounts,
    /// Share of wall time in which a kernel ran.
    pub device_busy: &'a Known<f64>,
}

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Advice {
    /// Stable identifier of the rule.
    pub rule: &'static str,
    /// What limits the run, as a sentence.
    pub title: String,
    /// The figures that say so.
    pub evidence: Vec<String>,
    /// What to try, as a sentence.
    pub suggestion: String,
    /// The optimization whose A/B experiment would test it.
    pub toggle: Option<&'static str>,
}

/// All advice that applies.
pub fn advise(facts: &Facts) -> Vec<Advice> {
    [input_bound::check, launch_bound::check, loss_scale::check, recorder_cost::check]
        .iter()
        .filter_map(|check| check(facts))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{breakdown, counts, planted};
    use super::*;
    use crate::model::{Phase, Source};

    fn rules(change: impl Fn(&mut RunManifest, &mut Vec<StepRecord>, &mut StepCounts)) -> Vec<&'static str> {
        let mut manifest = planted::manifest();
        let mut steps = planted::steps(40, 1_000_000);
        for step in &mut steps {
            // Nothing to complain of: hardly any wait.
            step.phases_ns[Phase::InputWait as usize] = 10_000;
            step.close();
        }
        let mut counts = counts::per_step(&planted::trace(&steps), |_| false);
        change(&mut manifest, &mut steps, &mut counts);
        let breakdown = breakdown::breakdown(&steps).unwrap();
        let busy = Known::value(0.3, Source::DeviceTimestamp, 4);
        let facts =
            Facts { manifest: &manifest, steps: &steps, breakdown: &breakdown, counts: &counts, device_busy: &busy };
        advise(&facts).into_iter().map(|advice| advice.rule).collect()
    }

    #[test]
    fn a_run_without_trouble_gets_no_advice() {
        assert_eq!(rules(|_, _, _| {}), Vec::<&str>::new());
    }

    #[test]
    fn each_rule_fires_on_its_own_trouble_only() {
        let wait = rules(|_, steps, _| {
            for step in steps {
                step.phases_ns[Phase::InputWait as usize] = 400_000;
                step.close();
            }
        });
        assert_eq!(wait, ["input-bound"]);
        let launches = rules(|_, _, counts| counts.kernels = Known::value(189.0, Source::Counted, 10));
        assert_eq!(launches, ["launch-bound"]);
        let scale = rules(|manifest, steps, _| {
            manifest.spec.precision.mode = crate::model::Precision::Mixed;
            steps.iter_mut().take(10).for_each(|step| step.flags.insert(crate::model::StepFlags::SKIPPED));
        });
        assert_eq!(scale, ["loss-scale-unstable"]);
        let cost = rules(|_, steps, _| {
            *steps = planted::steps(160, 1_000_000);
            for step in steps {
                step.phases_ns[Phase::InputWait as usize] = 10_000;
                if step.step % 4 == 1 {
                    step.flags = crate::model::StepFlags::default();
                } else {
                    step.dur_ns += 90_000;
                }
                step.close();
            }
        });
        assert_eq!(cost, ["recorder-cost"]);
    }
}
