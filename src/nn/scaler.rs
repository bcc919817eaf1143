//! Dynamic loss scaling for mixed precision: as large as the gradients allow, halved when one overflows.
//!
//! Plain arithmetic; the check of the gradients happens elsewhere. The rule is that of Micikevicius et al. (2018): after
//! an overflow the update is skipped and the scale halved; after a number of good updates in a row it doubles.

use crate::model::spec::PrecisionSpec;

/// The scale never grows beyond this: a larger one would overflow f16 by itself for any loss of some size.
const MAX_SCALE: f32 = 16_777_216.0;
/// The scale never falls below this; an overflow at it means that the gradients themselves do not fit into 16 bits.
const MIN_SCALE: f32 = 1.0;

/// What to do with an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalerVerdict {
    /// All gradients are finite: apply it.
    Apply,
    /// Something overflowed: skip it; the scale was halved.
    Skip,
    /// Something overflowed though the scale is at its smallest: no scale can help.
    Hopeless,
}

/// The loss scale and its history.
#[derive(Debug, Clone, PartialEq)]
pub struct LossScaler {
    scale: f32,
    growth_interval: usize,
    good: usize,
    skipped: u64,
}

impl LossScaler {
    /// Starts at the spec's scale.
    pub fn new(spec: &PrecisionSpec) -> Self {
        Self {
            scale: (spec.init_scale as f32).clamp(MIN_SCALE, MAX_SCALE),
            growth_interval: spec.growth_interval.max(1),
            good: 0,
            skipped: 0,
        }
    }

    /// By what the loss is to be multiplied, and the gradients divided.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// Updates skipped so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes note of a step's gradients and decides about its update.
    pub fn update(&mut self, finite: bool) -> ScalerVerdict {
        if finite {
            self.good += 1;
            if self.good == self.growth_interval {
                self.good = 0;
                self.scale = (self.scale * 2.0).min(MAX_SCALE);
            }
            return ScalerVerdict::Apply;
        }
        self.good = 0;
        self.skipped += 1;
        if self.scale <= MIN_SCALE {
            return ScalerVerdict::Hopeless;
        }
        self.scale = (self.scale / 2.0).max(MIN_SCALE);
        ScalerVerdict::Skip
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scaler(init_scale: f64, growth_interval: usize) -> LossScaler {
        LossScaler::new(&PrecisionSpec { init_scale, growth_interval, ..PrecisionSpec::default() })
    }

    #[test]
    fn overflow_skips_and_halves() {
        let mut scaler = scaler(65536.0, 3);
        assert_eq!(scaler.update(false), ScalerVerdict::Skip);
        assert_eq!((scaler.scale(), scaler.skipped()), (32768.0, 1));
        assert_eq!(scaler.update(true), ScalerVerdict::Apply);
        assert_eq!(scaler.scale(), 32768.0);
    }

    #[test]
    fn good_steps_in_a_row_double() {
        let mut scaler = scaler(1024.0, 3);
        for finite in [true, true, false, true, true] {
            scaler.update(finite);
        }
        assert_eq!(scaler.scale(), 512.0, "the overflow must restart the count");
        scaler.update(true);
        assert_eq!(scaler.scale(), 1024.0);
    }

    #[test]
    fn overflow_at_the_smallest_scale_is_hopeless() {
        let mut scaler = scaler(2.0, 10);
        assert_eq!(scaler.update(false), ScalerVerdict::Skip);
        assert_eq!(scaler.update(false), ScalerVerdict::Hopeless);
        assert_eq!(scaler.scale(), 1.0);
    }

    proptest! {
        #[test]
        fn scale_stays_a_power_of_two_within_bounds(history in proptest::collection::vec(any::<bool>(), 0..200)) {
            let mut scaler = scaler(65536.0, 2);
            for finite in &history {
                scaler.update(*finite);
            }
            prop_assert!((MIN_SCALE..=MAX_SCALE).contains(&scaler.scale()));
            prop_assert_eq!(scaler.scale().log2().fract(), 0.0);
            prop_assert_eq!(scaler.skipped(), history.iter().filter(|finite| !**finite).count() as u64);
        }
    }
}
