//! Distribution of a sample for a chart: equal bins with linear or logarithmic heights, and the cumulative curve.

use super::summary::{percentile_sorted, sorted_finite};
use serde::{Deserialize, Serialize};

/// Most bins that a histogram gets.
const MAX_BINS: usize = 400;

/// Counts in bins of equal width over `low..=high`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Left edge of the first bin.
    pub low: f64,
    /// Right edge of the last bin, which contains it.
    pub high: f64,
    /// Values in each bin.
    pub counts: Vec<u64>,
    /// Values below `low`.
    pub below: u64,
    /// Values above `high`.
    pub above: u64,
    /// Values that are not finite.
    pub not_finite: u64,
}

impl Histogram {
    /// Bins over a given range, for samples that are drawn on one axis. The number of bins is held within 1 to 400, the
    /// ends are put in order, and an empty range is widened a little.
    pub fn over(values: &[f64], low: f64, high: f64, bins: usize) -> Self {
        let bins = bins.clamp(1, MAX_BINS);
        let (low, high) = if low <= high { (low, high) } else { (high, low) };
        let (low, high) = if low < high { (low, high) } else { widened(low) };
        let mut histogram = Self { low, high, counts: vec![0; bins], below: 0, above: 0, not_finite: 0 };
        let width = high - low;
        for x in values {
            if !x.is_finite() {
                histogram.not_finite += 1;
            } else if *x < low {
                histogram.below += 1;
            } else if *x > high {
                histogram.above += 1;
            } else {
                let bin = ((x - low) / width * bins as f64) as usize;
                // The right edge belongs to the last bin.
                if let Some(count) = histogram.counts.get_mut(bin.min(bins - 1)) {
                    *count += 1;
                }
            }
        }
        histogram
    }

    /// Bins over the whole sample, as many as Freedman and Diaconis advise. `None` without a finite value.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted_finite(values);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        Some(Self::over(values, low, high, bins_for(&sorted)))
    }

    /// Width of a bin.
    pub fn bin_width(&self) -> f64 {
        (self.high - self.low) / self.counts.len().max(1) as f64
    }

    /// Left edge of a bin.
    pub fn edge(&self, bin: usize) -> f64 {
        self.low + self.bin_width() * bin as f64
    }

    /// Heights for a logarithmic axis, log₁₀(1 + count): an empty bin stays at zero, a single value can be seen.
    pub fn log_heights(&self) -> Vec<f64> {
        self.counts.iter().map(|count| (*count as f64).ln_1p() / std::f64::consts::LN_10).collect()
    }
}

/// Number of bins for ascending values: width 2·IQR/∛n, from 1 to 400.
fn bins_for(sorted: &[f64]) -> usize {
    let at = |share| percentile_sorted(sorted, share).unwrap_or(0.0);
    let width = 2.0 * (at(0.75) - at(0.25)) / (sorted.len() as f64).cbrt();
    let range = at(1.0) - at(0.0);
    if width > 0.0 { ((range / width).ceil() as usize).clamp(1, MAX_BINS) } else { 1 }
}

/// A range around a single value.
fn widened(x: f64) -> (f64, f64) {
    let half = if x == 0.0 { 0.5 } else { x.abs() * 0.005 };
    (x - half, x + half)
}

/// Empirical distribution: ascending values, each with the share of values at or below it.
pub fn cumulative(values: &[f64]) -> Vec<(f64, f64)> {
    let sorted = sorted_finite(values);
    let n = sorted.len() as f64;
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(sorted.len());
    for (i, x) in sorted.into_iter().enumerate() {
        let share = (i + 1) as f64 / n;
        match points.last_mut() {
            Some(last) if last.0 == x => last.1 = share,
            _ => points.push((x, share)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_belong_to_one_bin() {
        let h = Histogram::over(&[0.0, 0.9, 1.0, 2.0, -1.0, 3.0, f64::NAN], 0.0, 2.0, 2);
        assert_eq!((h.counts.as_slice(), h.below, h.above, h.not_finite), ([2, 2].as_slice(), 1, 1, 1));
        assert_eq!((h.bin_width(), h.edge(1)), (1.0, 1.0));
        assert!((h.log_heights()[0] - 3.0_f64.log10()).abs() < 1e-12);
    }

    #[test]
    fn one_value_and_none() {
        let h = Histogram::of(&[7.0; 5]).unwrap();
        assert_eq!(h.counts, vec![5]);
        assert!(h.low < 7.0 && h.high > 7.0);
        assert_eq!(Histogram::of(&[f64::NAN]), None);
        assert!(cumulative(&[]).is_empty());
    }

    #[test]
    fn cumulative_joins_equal_values() {
        assert_eq!(cumulative(&[2.0, 1.0, 2.0, 4.0]), vec![(1.0, 0.25), (2.0, 0.75), (4.0, 1.0)]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(values in prop::collection::vec(prop::num::f64::ANY, 0..200), bins in 0..1000_usize) {
            let h = Histogram::over(&values, -1e3, 1e9, bins);
            let all = h.counts.iter().sum::<u64>() + h.below + h.above + h.not_finite;
            prop_assert_eq!(all, values.len() as u64);
            if let Some(h) = Histogram::of(&values) {
                prop_assert_eq!(h.counts.iter().sum::<u64>() + h.not_finite, values.len() as u64);
            }
        }
    }
}
