//! How busy the device was: the union of its kernels' intervals over the wall time of the steps that timed them.

use crate::model::track::category;
use crate::model::{Known, RunManifest, Source, StepFlags, StepRecord, TraceLevel, TrackKind};
use crate::trace::Trace;

/// Share of the wall time of sampled steps in which at least one kernel ran, 0 to 1.
pub fn device_busy(trace: &Trace, steps: &[StepRecord], manifest: &RunManifest) -> Known<f64> {
    let Some(adapter) = &manifest.environment.adapter else {
        return Known::unknown("the CPU backend (Flex) launches no kernels that a device could time");
    };
    if manifest.spec.trace.level < TraceLevel::L2 {
        return Known::unknown("kernels are timed at recording level L2 only");
    }
    if !adapter.timestamps {
        return Known::unknown(format!("{} writes no timestamps in compute passes", adapter.name));
    }
    let sampled: Vec<&StepRecord> = steps
        .iter()
        .filter(|step| step.flags.contains(StepFlags::SAMPLED) && !step.flags.contains(StepFlags::COLD))
        .collect();
    if sampled.is_empty() {
        return Known::unknown("no step after the warm-up was sampled yet");
    }
    let kernels = intervals(trace);
    if kernels.is_empty() {
        return Known::unknown("no kernel times arrived from the device");
    }
    let mut busy = 0;
    let mut wall = 0;
    for step in &sampled {
        let (from, to) = (step.start_ns, step.start_ns + step.dur_ns);
        wall += step.dur_ns;
        let first = kernels.partition_point(|(_, end)| *end <= from);
        for (start, end) in kernels[first..].iter().take_while(|(start, _)| *start < to) {
            busy += (*end).min(to) - (*start).max(from);
        }
    }
    if wall <= 0 {
        return Known::unknown("the sampled steps took no time");
    }
    let share = busy as f64 / wall as f64;
    if share > 1.001 {
        return Known::unknown("the kernels' intervals exceed the wall time: the clocks do not agree");
    }
    Known::value(share, Source::DeviceTimestamp, sampled.len() as u64)
}

/// The kernels' intervals, overlaps joined, in order.
fn intervals(trace: &Trace) -> Vec<(i64, i64)> {
    let wanted = trace.find_name(category::KERNEL);
    let mut all: Vec<(i64, i64)> = trace
        .tracks()
        .iter()
        .filter(|track| track.kind == TrackKind::Device)
        .flat_map(|track| track.lanes().iter().flat_map(|lane| lane.iter()))
        .filter(|span| !span.is_open() && (wanted.is_none() || Some(span.category) == wanted))
        .map(|span| (span.start_ns, span.end_ns()))
        .collect();
    all.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (start, end) in all {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::super::planted;
    use super::*;

    #[test]
    fn busy_is_the_union_over_sampled_steps_only() {
        let mut steps = planted::steps(4, 1000);
        steps[1].flags.insert(StepFlags::SAMPLED);
        steps[2].flags.insert(StepFlags::SAMPLED);
        let busy = device_busy(&planted::trace(&steps), &steps, &planted::manifest());
        // 300 ns + 100 ns of kernels in 1,000 ns.
        assert_eq!(busy, Known::value(0.4, Source::DeviceTimestamp, 2));
    }

    #[test]
    fn what_is_missing_is_named() {
        let steps = planted::steps(4, 1000);
        let trace = planted::trace(&steps);
        let mut manifest = planted::manifest();
        assert!(device_busy(&trace, &steps, &manifest).reason().unwrap().contains("sampled"));
        manifest.spec.trace.level = TraceLevel::L1;
        assert!(device_busy(&trace, &steps, &manifest).reason().unwrap().contains("L2"));
        manifest.environment.adapter = None;
        assert!(device_busy(&trace, &steps, &manifest).reason().unwrap().contains("CPU"));
    }
}
