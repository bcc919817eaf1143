//! Where the device's clock lies on the run's clock.
//!
//! The two have no common zero. But a kernel cannot start before the host launched it, and the last kernel of a step has
//! ended when the host's wait for the device returns. Each sampled step so bounds the offset from both sides; the bounds of
//! several steps are combined, widened by what the clocks may drift apart meanwhile. Knows no Burn type.

/// Largest drift between the clocks: 100 parts in a million, twice what quartz oscillators are sold with.
const DRIFT: f64 = 100e-6;

/// Bounds of the offset (run clock minus device clock), in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    low: i64,
    high: i64,
    at_ns: i64,
}

/// One kernel of a sampled step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When the host launched it, on the run's clock.
    pub launched_ns: i64,
    /// Its start on the device's clock.
    pub start_ns: i64,
    /// Its end on the device's clock.
    pub end_ns: i64,
}

impl Offset {
    /// Bounds from the kernels of one step and the moment by which all of them had ended; `None` without kernels.
    pub fn of_step(samples: &[Sample], done_ns: i64) -> Option<Self> {
        let low = samples.iter().map(|kernel| kernel.launched_ns.saturating_sub(kernel.start_ns)).max()?;
        let high = samples.iter().map(|kernel| done_ns.saturating_sub(kernel.end_ns)).min()?;
        // Clocks that contradict causality by more than they can drift are not one clock; the later bound is kept.
        Some(Self { low, high: high.max(low), at_ns: done_ns })
    }

    /// Joins what an earlier step told; if the two exclude each other, the clock was set anew and the later one holds.
    pub fn narrowed_by(self, earlier: Self) -> Self {
        // A bound: that it is exact to one part in 10^16 is enough.
        let drift = (self.at_ns.saturating_sub(earlier.at_ns).unsigned_abs() as f64 * DRIFT).ceil() as i64;
        let low = self.low.max(earlier.low.saturating_sub(drift));
        let high = self.high.min(earlier.high.saturating_add(drift));
        if low <= high { Self { low, high, at_ns: self.at_ns } } else { self }
    }

    /// The best guess of the offset.
    pub fn ns(self) -> i64 {
        self.low.saturating_add(self.high.saturating_sub(self.low) / 2)
    }

    /// How far the guess can be off.
    pub fn error_ns(self) -> i64 {
        self.high.saturating_sub(self.low).saturating_add(1) / 2
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever delays there are before and after each kernel, the true offset lies within the stated error.
        #[test]
        fn the_true_offset_lies_within_the_error(
            offset in -1_000_000_000_000i64..1_000_000_000_000,
            steps in prop::collection::vec(prop::collection::vec((0i64..500_000, 1i64..2_000_000), 1..20), 1..6),
            tail in 0i64..300_000,
        ) {
            let mut now = 5_000_000_000i64;
            let mut known: Option<Offset> = None;
            for step in steps {
                let mut samples = Vec::new();
                let mut device_free = now;
                for (delay, length) in step {
                    let start = device_free.max(now + delay);
                    device_free = start + length;
                    samples.push(Sample { launched_ns: now, start_ns: start - offset, end_ns: device_free - offset });
                    now += 20_000;
                }
                let done = device_free + tail;
                let fresh = Offset::of_step(&samples, done).unwrap();
                let joined = known.map_or(fresh, |earlier| fresh.narrowed_by(earlier));
                prop_assert!((joined.ns() - offset).abs() <= joined.error_ns(), "{joined:?}");
                prop_assert!(joined.error_ns() <= fresh.error_ns());
                known = Some(joined);
                now = done + 1_000_000;
            }
        }
    }

    #[test]
    fn a_clock_that_was_set_anew_is_followed() {
        let at = |offset: i64, done: i64| {
            let kernel = Sample { launched_ns: done - 900, start_ns: done - 800 - offset, end_ns: done - 100 - offset };
            Offset::of_step(&[kernel], done).unwrap()
        };
        let before = at(1_000_000, 10_000);
        let after = at(-5_000_000, 20_000).narrowed_by(before);
        assert!((after.ns() + 5_000_000).abs() <= after.error_ns());
        assert_eq!(Offset::of_step(&[], 0), None);
    }
}
