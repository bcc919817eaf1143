//! What the curves of memory say: the peak, what ran then, and whether it grows from step to step.

use super::steps::StepSpan;
use crate::model::TrackKind;
use crate::trace::{Counter, Trace};
use serde::Serialize;

/// Fewest steps over which growth is told.
const MIN_STEPS: usize = 5;
/// Share of the changes that a straight line must explain (R²), so that they count as growth.
const MIN_EXPLAINED: f64 = 0.9;
/// Growth over all steps, as a share of the peak, below which there is none to tell of.
const MIN_GROWTH: f64 = 0.01;

/// One curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryCurve {
    /// Name of the counter.
    pub name: String,
    /// Largest value, in bytes.
    pub peak_bytes: f64,
    /// When it was reached first, in nanoseconds of the trace's clock.
    pub peak_ns: i64,
    /// The innermost span of the host that ran then; `None` where none did.
    pub peak_within: Option<String>,
    /// Name of the step in which it lies.
    pub peak_step: Option<String>,
    /// First value.
    pub first_bytes: f64,
    /// Last value.
    pub last_bytes: f64,
    /// Bytes by which the value at the end of a step grows with each step; `None` where it does not grow steadily.
    pub growth_bytes: Option<f64>,
}

/// The curves of a trace: all counters of bytes.
pub fn curves(trace: &Trace, steps: &[StepSpan]) -> Vec<MemoryCurve> {
    let bytes = trace.counters().iter().filter(|counter| matches!(counter.unit.as_str(), "bytes" | "B"));
    bytes.filter_map(|counter| curve(trace, counter, steps)).collect()
}

fn curve(trace: &Trace, counter: &Counter, steps: &[StepSpan]) -> Option<MemoryCurve> {
    let (_, first_bytes) = counter.iter().next()?;
    let (_, last_bytes) = counter.get(counter.len().checked_sub(1)?)?;
    let mut peak = (i64::MIN, f64::NEG_INFINITY);
    for (t_ns, value) in counter.iter().filter(|(_, value)| value.is_finite()) {
        if value > peak.1 {
            peak = (t_ns, value);
        }
    }
    let (peak_ns, peak_bytes) = Some(peak).filter(|(_, value)| value.is_finite())?;
    let step = steps.iter().find(|step| step.start_ns <= peak_ns && peak_ns < step.end_ns);
    Some(MemoryCurve {
        name: counter.name.clone(),
        peak_bytes,
        peak_ns,
        peak_within: within(trace, peak_ns),
        peak_step: step.map(|step| step.name.clone()),
        first_bytes,
        last_bytes,
        growth_bytes: growth(counter, steps, peak_bytes),
    })
}

/// The innermost span of the host at a time, of the thread that is nested deepest then.
fn within(trace: &Trace, t_ns: i64) -> Option<String> {
    let host = trace.tracks().iter().filter(|track| !matches!(track.kind, TrackKind::Device | TrackKind::Async));
    let deepest = host.filter_map(|track| track.innermost_at(t_ns)).max_by_key(|at| at.depth)?;
    trace.span(deepest).map(|span| trace.name(span.name).to_owned())
}

/// Slope of a straight line through the values at the ends of the steps, if it explains them.
fn growth(counter: &Counter, steps: &[StepSpan], peak: f64) -> Option<f64> {
    let values: Vec<f64> = steps.iter().filter_map(|step| counter.value_at(step.end_ns)).collect();
    if values.len() < MIN_STEPS {
        return None;
    }
    let n = values.len() as f64;
    let mean_x = (n - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / n;
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let (dx, dy) = (i as f64 - mean_x, value - mean);
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    let slope = xy / xx;
    let explained = if yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 };
    (slope > 0.0 && explained >= MIN_EXPLAINED && slope * (n - 1.0) >= peak * MIN_GROWTH).then_some(slope)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::tests::Plant;
    use super::*;

    fn steps(n: i64) -> Vec<StepSpan> {
        (0..n).map(|i| StepSpan { name: format!("step {i}"), start_ns: i * 100, end_ns: i * 100 + 90 }).collect()
    }

    #[test]
    fn a_leak_and_a_peak_are_found() {
        let mut plant = Plant::new();
        let host = plant.host;
        plant.span(host, (440, 460), "cpu_op", "aten::cat");
        let leak = plant.trace.add_counter(8, "Memory allocated, device 0", "bytes", "");
        let flat = plant.trace.add_counter(9, "Memory allocated, host", "bytes", "");
        let other = plant.trace.add_counter(10, "Queue", "", "");
        for i in 0..8_i64 {
            plant.trace.sample(leak, i * 100, 1000.0 + 50.0 * i as f64);
            plant.trace.sample(leak, i * 100 + 50, if i == 4 { 9000.0 } else { 2000.0 });
            plant.trace.sample(leak, i * 100 + 80, 1000.0 + 50.0 * i as f64);
            plant.trace.sample(flat, i * 100, if i % 2 == 0 { 500.0 } else { 510.0 });
            plant.trace.sample(other, i * 100, 1.0);
        }
        plant.trace.settle();
        let found = curves(&plant.trace, &steps(8));
        assert_eq!(found.len(), 2, "only bytes are memory");
        assert_eq!((found[0].peak_bytes, found[0].peak_ns), (9000.0, 450));
        assert_eq!(
            (found[0].peak_within.as_deref(), found[0].peak_step.as_deref()),
            (Some("aten::cat"), Some("step 4"))
        );
        assert!((found[0].growth_bytes.unwrap() - 50.0).abs() < 1e-9);
        assert_eq!((found[0].first_bytes, found[0].last_bytes), (1000.0, 1350.0));
        assert_eq!(found[1].growth_bytes, None, "what goes up and down does not grow");
        assert_eq!(curves(&plant.trace, &steps(4))[0].growth_bytes, None, "four steps are too few");
        assert!(curves(&Trace::default(), &[]).is_empty());
    }
}
