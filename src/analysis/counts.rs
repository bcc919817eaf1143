//! How many operations and kernels a step has.

use crate::model::track::{arg, category};
use crate::model::{Known, Source, TrackKind};
use crate::stats::summary;
use crate::trace::Trace;
use std::collections::BTreeMap;

/// Operations and kernels of a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepCounts {
    /// Tensor operations, median over the traced steps.
    pub ops: Known<f64>,
    /// Kernel launches, median over the traced steps.
    pub kernels: Known<f64>,
    /// Fused blocks (of two operations or more), median over the traced steps.
    pub fused_blocks: Known<f64>,
}

/// Counts over the traced steps, the cold ones (`is_cold`) left out.
pub fn per_step(trace: &Trace, is_cold: impl Fn(i64) -> bool) -> StepCounts {
    let (op, block) = (trace.find_name(category::OP), trace.find_name(category::BLOCK));
    let mut steps: BTreeMap<i64, (f64, f64, f64)> = BTreeMap::new();
    for track in trace.tracks().iter().filter(|track| track.kind == TrackKind::Ops) {
        for span in track.lanes().iter().flat_map(|lane| lane.iter()) {
            let Some(step) = trace.arg_int(&span, arg::STEP).filter(|step| !is_cold(*step)) else { continue };
            let counts = steps.entry(step).or_default();
            if Some(span.category) == op {
                counts.0 += 1.0;
            } else if Some(span.category) == block {
                counts.2 += 1.0;
            }
            // Operations inside a fused block carry no launches of their own.
            counts.1 += trace.arg_int(&span, arg::LAUNCHES).unwrap_or(0) as f64;
        }
    }
    if steps.is_empty() {
        let reason =
            || Known::unknown("no steady step was recorded with its operations (level L1, on a graphics adapter)");
        return StepCounts { ops: reason(), kernels: reason(), fused_blocks: reason() };
    }
    let figure = |pick: &dyn Fn(&(f64, f64, f64)) -> f64| {
        let values: Vec<f64> = steps.values().map(pick).collect();
        Known::value(summary::median(&values).unwrap_or(0.0), Source::Counted, values.len() as u64)
    };
    StepCounts { ops: figure(&|c| c.0), kernels: figure(&|c| c.1), fused_blocks: figure(&|c| c.2) }
}

#[cfg(test)]
mod tests {
    use super::super::planted;
    use super::*;

    #[test]
    fn operations_are_counted_by_step() {
        let counts = per_step(&planted::trace(&planted::steps(5, 1000)), |step| step == 0);
        assert_eq!(counts.ops, Known::value(2.0, Source::Counted, 4));
        assert!(per_step(&Trace::default(), |_| false).ops.reason().is_some());
    }
}
