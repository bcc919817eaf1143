//! Recording that costs so much that it changes what it measures.

use super::super::cost;
use super::{Advice, Facts};
use crate::model::units;

/// Relative cost of recording that is too much.
const COST: f64 = 0.05;

pub(super) fn check(facts: &Facts) -> Option<Advice> {
    let share = *cost::recorder_cost(facts.steps).get()?;
    (share > COST).then(|| Advice {
        rule: "recorder-cost",
        title: "Recording slows this run down".to_owned(),
        evidence: vec![format!("traced steps take {} longer than untraced ones; host clock", units::percent(share))],
        suggestion: "Record at a lower level (trace.level), or leave more steps untraced (trace.untraced_every)."
            .to_owned(),
        toggle: None,
    })
}
