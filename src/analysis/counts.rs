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
        // The operations of a fused block are moments at its start: only the block has a time.
        for span in track.lanes().iter().chain([track.instants()]).flat_map(|lane| lane.iter()) {
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
    use crate::model::track::name;
    use crate::trace::ArgValue;

    #[test]
    fn operations_are_counted_by_step() {
        let counts = per_step(&planted::trace(&planted::steps(5, 1000)), |step| step == 0);
        assert_eq!(counts.ops, Known::value(2.0, Source::Counted, 4));
        assert!(per_step(&Trace::default(), |_| false).ops.reason().is_some());
    }

    #[test]
    fn operations_of_a_fused_block_count_though_only_the_block_has_a_time() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, name::OPS, "", TrackKind::Ops);
        let [op, block, add, fused] =
            [category::OP, category::BLOCK, "add", "fused: add + add"].map(|t| trace.intern(t));
        let (step, launches) = (trace.intern(arg::STEP), trace.intern(arg::LAUNCHES));
        let of_step = trace.intern_args(&[(step, ArgValue::Int(3))]);
        let launched = trace.intern_args(&[(step, ArgValue::Int(3)), (launches, ArgValue::Int(1))]);
        trace.instant(track, 10, add, op, of_step);
        trace.instant(track, 10, add, op, of_step);
        trace.complete(track, 10, 50, fused, block, launched);
        trace.settle();
        let counts = per_step(&trace, |_| false);
        let figure = |value| Known::value(value, Source::Counted, 1);
        assert_eq!((counts.ops, counts.kernels, counts.fused_blocks), (figure(2.0), figure(1.0), figure(1.0)));
    }
}
