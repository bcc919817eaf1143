//! The summary of a run from its step records: medians over the steady steps, and why a figure is missing.

use crate::model::{Known, Phase, RunSummary, Source, StepRecord};

/// Fills in what the step records tell; the rest keeps its default. Times are of steady steps: neither cold, sampled nor
/// perturbed.
pub fn summarize(steps: &[StepRecord]) -> RunSummary {
    let steady: Vec<&StepRecord> = steps.iter().filter(|step| step.flags.steady()).collect();
    let mut times: Vec<f64> = steady.iter().map(|step| step.dur_ns as f64).collect();
    let n = times.len() as u64;
    let of_steady = |value: Option<f64>, source: Source| match value {
        Some(value) => Known::value(value, source, n),
        None => Known::unknown(format!("none of {} steps was steady; make more steps", steps.len())),
    };
    let median_ns = median(&mut times);
    let deviation = median_ns.and_then(|m| median(&mut times.iter().map(|t| (t - m).abs()).collect::<Vec<_>>()));
    let samples = steady.last().map_or(0, |step| step.samples);
    let mut phase_median_ns = [0.0; Phase::COUNT];
    for phase in Phase::ALL {
        let mut of_phase: Vec<f64> = steady.iter().map(|step| step.phase_ns(phase) as f64).collect();
        phase_median_ns[phase as usize] = median(&mut of_phase).unwrap_or_default();
    }
    RunSummary {
        steps: steps.len() as u64,
        steady_steps: n,
        step_median_ns: of_steady(median_ns, Source::HostClock),
        step_mad_ns: of_steady(deviation, Source::HostClock),
        // `median` has sorted the times.
        step_p95_ns: of_steady(quantile(&times, 0.95), Source::HostClock),
        samples_per_sec: of_steady(
            median_ns.filter(|ns| *ns > 0.0).map(|ns| f64::from(samples) * 1e9 / ns),
            Source::Derived,
        ),
        phase_median_ns,
        final_loss: steps.iter().rev().find_map(|step| step.loss),
        ..RunSummary::default()
    }
}

/// The median; sorts its input. `None` of nothing.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile(values, 0.5)
}

/// The quantile of sorted values, interpolated between neighbours; `None` of nothing.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let place = q * sorted.len().checked_sub(1)? as f64;
    let (low, share) = (place.floor() as usize, place.fract());
    let below = *sorted.get(low)?;
    let above = sorted.get(low + 1).copied().unwrap_or(below);
    Some(below + (above - below) * share)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::StepFlags;

    fn step(n: u64, dur_ns: i64, flags: &[StepFlags]) -> StepRecord {
        let mut record = StepRecord { step: n, dur_ns, samples: 10, loss: Some(n as f32), ..StepRecord::default() };
        flags.iter().for_each(|flag| record.flags.insert(*flag));
        record.phases_ns[Phase::Forward as usize] = dur_ns / 2;
        record.close();
        record
    }

    #[test]
    fn only_steady_steps_count() {
        let mut steps = vec![step(0, 9_000_000, &[StepFlags::COLD]), step(1, 5_000_000, &[StepFlags::SAMPLED])];
        steps.extend([100, 300, 200].iter().enumerate().map(|(i, ns)| step(2 + i as u64, ns * 1000, &[])));
        let summary = summarize(&steps);
        assert_eq!((summary.steps, summary.steady_steps), (5, 3));
        assert_eq!(summary.step_median_ns, Known::value(200_000.0, Source::HostClock, 3));
        assert_eq!(summary.step_mad_ns.get(), Some(&100_000.0));
        assert_eq!(summary.step_p95_ns.get(), Some(&290_000.0));
        assert_eq!(summary.samples_per_sec.get(), Some(&50_000.0));
        assert_eq!(summary.phase_median_ns[Phase::Forward as usize], 100_000.0);
        assert_eq!(summary.final_loss, Some(4.0));
    }

    #[test]
    fn without_steady_steps_the_figures_say_why_they_are_missing() {
        let summary = summarize(&[step(0, 5, &[StepFlags::COLD])]);
        assert!(summary.step_median_ns.reason().unwrap().contains("none of 1 steps"));
        assert_eq!(summarize(&[]).steps, 0);
    }
}
