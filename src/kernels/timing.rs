//! Timing a piece of work at one size: how often to run it, what to keep, and whether the time grows with the work.

use super::error::KernelError;
use crate::model::Source;
use crate::stats::summary::median;
use serde::{Deserialize, Serialize};

/// Time that one measurement should fill, so that clock resolution and launch cost are small beside it.
const TARGET_NS: f64 = 15e6;
/// Most launches of one measurement.
const MAX_LAUNCHES: u32 = 200;
/// Measurements at one size.
const REPEATS: usize = 7;
/// Measurements of the same work repeated once this much time is spent, beyond the first three.
const BUDGET_NS: f64 = 2e9;
/// Four times the launches must take this many times as long. Wide, since the machine may be busy, and wider upwards,
/// since the base is the best of several. Work that is not done at all takes the same time whatever its amount.
const SCALING: std::ops::RangeInclusive<f64> = 2.0..=12.0;
/// The scaling check is content at once with this…
const CONTENT: std::ops::RangeInclusive<f64> = 3.0..=5.5;
/// …and else is tried so often, since others may use the machine during one.
const SCALING_TRIES: usize = 4;

/// Duration of some launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Nanoseconds for all of them together.
    pub ns: f64,
    /// By which clock.
    pub source: Source,
}

/// Times of one piece of work at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What ran, with its size, for example `register block 1024`.
    pub label: String,
    /// Work of one launch: bytes read and written, or floating-point operations.
    pub work: f64,
    /// Shortest time of one launch, in nanoseconds.
    pub best_ns: f64,
    /// Median time of one launch, in nanoseconds.
    pub median_ns: f64,
    /// Measurements.
    pub repeats: u64,
    /// Launches in each.
    pub launches: u32,
    /// By which clock.
    pub source: Source,
    /// How many times as long four times the launches took.
    pub scaling: f64,
    /// Why the point counts for nothing, if so.
    pub fault: Option<String>,
}

impl Point {
    /// Work a second at the shortest time.
    pub fn best_rate(&self) -> f64 {
        self.work / self.best_ns * 1e9
    }

    /// Work a second at the median time.
    pub fn median_rate(&self) -> f64 {
        self.work / self.median_ns * 1e9
    }
}

/// Measures `work` per launch by `time`, which runs the given number of launches.
pub(super) fn measure_point(
    label: String,
    work: f64,
    time: &mut dyn FnMut(u32) -> Result<Timing, KernelError>,
) -> Result<Point, KernelError> {
    time(1)?; // The first launch compiles, touches pages and wakes clocks.
    let once = time(1)?.ns.min(time(1)?.ns).max(1.0);
    let launches = ((TARGET_NS / once).ceil() as u32).clamp(1, MAX_LAUNCHES);
    let mut each = Vec::with_capacity(REPEATS);
    let mut spent = 0.0;
    let mut source = Source::HostClock;
    for repeat in 0..REPEATS {
        if repeat >= 3 && spent > BUDGET_NS {
            break;
        }
        let timing = time(launches)?;
        spent += timing.ns;
        source = timing.source;
        each.push(timing.ns / f64::from(launches));
    }
    let best_ns = each.iter().copied().fold(f64::INFINITY, f64::min);
    let scaling = scaling(best_ns * f64::from(launches), launches, time)?;
    let fault = if !best_ns.is_finite() || best_ns <= 0.0 {
        Some("the clock did not move while the work ran".to_owned())
    } else if SCALING.contains(&scaling) {
        None
    } else if scaling < *SCALING.start() {
        Some(format!("four times the work took {scaling:.1} times as long: the work was not done or not timed"))
    } else {
        Some(format!(
            "four times the work took {scaling:.1} times as long: others use the device, or its clock is wrong"
        ))
    };
    let median_ns = median(&each).unwrap_or(best_ns);
    Ok(Point { label, work, best_ns, median_ns, repeats: each.len() as u64, launches, source, scaling, fault })
}

/// How many times as long as `base_ns` four times the launches take; the try nearest to 4.
fn scaling(
    base_ns: f64,
    launches: u32,
    time: &mut dyn FnMut(u32) -> Result<Timing, KernelError>,
) -> Result<f64, KernelError> {
    let mut nearest = f64::INFINITY;
    for _ in 0..SCALING_TRIES {
        let ratio = time(launches.saturating_mul(4))?.ns / base_ns.max(1e-3);
        if (ratio - 4.0).abs() < (nearest - 4.0).abs() {
            nearest = ratio;
        }
        if CONTENT.contains(&nearest) {
            break;
        }
    }
    Ok(nearest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn clock(ns: f64) -> Result<Timing, KernelError> {
        Ok(Timing { ns, source: Source::HostClock })
    }

    #[test]
    fn honest_work_has_a_rate() {
        let point = measure_point("p".to_owned(), 1000.0, &mut |launches| clock(2e6 * f64::from(launches))).unwrap();
        assert_eq!((point.launches, point.repeats, point.fault.as_deref()), (8, 7, None));
        assert_eq!((point.best_rate(), point.median_rate(), point.scaling), (5e5, 5e5, 4.0));
    }

    #[test]
    fn work_that_is_not_done_is_found_out() {
        // A refused launch "takes" 0.37 ms whatever was asked of it.
        let point = measure_point("p".to_owned(), 67e6, &mut |_| clock(0.37e6)).unwrap();
        assert!(point.fault.unwrap().contains("1.0 times as long"));
        let stuck = measure_point("p".to_owned(), 1.0, &mut |_| clock(0.0)).unwrap();
        assert!(stuck.fault.is_some());
        let mut calls = 0;
        let busy = measure_point("p".to_owned(), 1.0, &mut |launches| {
            calls += 1;
            clock(f64::from(launches) * if calls > 10 { 9e7 } else { 2e6 })
        });
        assert!(busy.unwrap().fault.unwrap().contains("others use the device"));
    }

    #[test]
    fn errors_are_passed_on_and_slow_work_is_cut_short() {
        let lost = measure_point("p".to_owned(), 1.0, &mut |_| Err(KernelError::DeviceLost("x".to_owned())));
        assert_eq!(lost, Err(KernelError::DeviceLost("x".to_owned())));
        let slow = measure_point("p".to_owned(), 1.0, &mut |launches| clock(3e9 * f64::from(launches))).unwrap();
        assert_eq!((slow.repeats, slow.launches), (3, 1));
    }
}
