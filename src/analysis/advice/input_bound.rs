//! The training waits for its data (Mohan et al., VLDB 2021: time that a step waits for input is lost whole).

use super::{Advice, Facts};
use crate::model::{Phase, units};

/// Share of the step beyond which waiting for data is worth a word.
const SHARE: f64 = 0.10;

pub(super) fn check(facts: &Facts) -> Option<Advice> {
    let wait = facts.breakdown.phases.iter().find(|phase| phase.phase == Phase::InputWait)?;
    if wait.share < SHARE {
        return None;
    }
    let bound = 1.0 / (1.0 - wait.share).max(1e-3);
    let on = facts.manifest.spec.pipeline.enabled;
    let mut evidence = vec![format!(
        "{} of each step ({}) is input wait; host clock, {} steps",
        units::percent(wait.share),
        units::duration_ns(wait.mean_ns),
        facts.breakdown.steps
    )];
    if let Some(busy) = facts.device_busy.get() {
        evidence.push(format!("the device was busy {} of the time", units::percent(*busy)));
    }
    Some(Advice {
        rule: "input-bound",
        title: "The training waits for its data".to_owned(),
        evidence,
        suggestion: format!(
            "{} Without any wait a step could be at most {} as fast.",
            if on { "Add workers or prefetch more batches." } else { "Turn the input pipeline on." },
            units::ratio(bound)
        ),
        toggle: (!on).then_some("pipeline"),
    })
}
