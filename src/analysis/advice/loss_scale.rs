//! Loss scaling that skips too often (Micikevicius et al., ICLR 2018: a skip now and then is how the scale finds its
//! level; many mean that gradients overflow for another reason).

use super::{Advice, Facts};
use crate::model::{Precision, StepFlags, units};

/// Share of skipped updates that is too much.
const SHARE: f64 = 0.05;

pub(super) fn check(facts: &Facts) -> Option<Advice> {
    if facts.manifest.spec.precision.mode != Precision::Mixed || facts.steps.is_empty() {
        return None;
    }
    let skipped = facts.steps.iter().filter(|step| step.flags.contains(StepFlags::SKIPPED)).count();
    let share = skipped as f64 / facts.steps.len() as f64;
    (share > SHARE).then(|| Advice {
        rule: "loss-scale-unstable",
        title: "Many updates are skipped because gradients overflow".to_owned(),
        evidence: vec![format!(
            "{skipped} of {} updates ({}) were skipped; counted",
            facts.steps.len(),
            units::percent(share)
        )],
        suggestion: "Start from a smaller loss scale (precision.init_scale), or lower the learning rate.".to_owned(),
        toggle: None,
    })
}
