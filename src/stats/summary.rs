//! Robust summary of a sample: median, spread, percentiles, outliers by class.
//!
//! Outliers are classed and counted, never removed: a slow step is a fact to explain, not an error.

use serde::{Deserialize, Serialize};

/// Factor from the median absolute deviation to the standard deviation of a normal distribution.
pub const MAD_TO_SD: f64 = 1.4826;
/// Factor from the mean absolute deviation (about the median) to the standard deviation of a normal distribution.
const MEAN_AD_TO_SD: f64 = 1.2533;
/// Modified z score above which a value is a mild outlier (Iglewicz and Hoaglin, 1993).
pub const MILD_Z: f64 = 3.5;
/// Modified z score above which a value is a severe outlier.
pub const SEVERE_Z: f64 = 10.0;

/// How far a value lies from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutlierClass {
    /// Not an outlier.
    Inside,
    /// Modified z score above [`MILD_Z`].
    Mild,
    /// Modified z score above [`SEVERE_Z`].
    Severe,
}

/// Figures of one sample, in the sample's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Number of finite values.
    pub n: usize,
    /// Values that were not finite and so are in none of the figures.
    pub not_finite: usize,
    /// Smallest value.
    pub min: f64,
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest value.
    pub max: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with n − 1; zero for a single value.
    pub sd: f64,
    /// Median absolute deviation from the median, not scaled.
    pub mad: f64,
    /// Values classed as mild outliers.
    pub mild_outliers: usize,
    /// Values classed as severe outliers.
    pub severe_outliers: usize,
}

impl Summary {
    /// Summary of the finite values of a sample; `None` when there is none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted_finite(values);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let n = sorted.len();
        let median = percentile_sorted(&sorted, 0.5)?;
        let scale = Scale::of(&sorted, median);
        let count = |class| sorted.iter().filter(|x| scale.class(**x) == class).count();
        Some(Self {
            n,
            not_finite: values.len() - n,
            min,
            p5: percentile_sorted(&sorted, 0.05)?,
            median,
            p95: percentile_sorted(&sorted, 0.95)?,
            max,
            mean: mean(&sorted)?,
            sd: sd(&sorted).unwrap_or(0.0),
            mad: scale.mad,
            mild_outliers: count(OutlierClass::Mild),
            severe_outliers: count(OutlierClass::Severe),
        })
    }

    /// Whether minimum and median disagree by more than 10 %: a sign of a busy machine.
    pub fn is_noisy(&self) -> bool {
        self.median - self.min > 0.1 * self.median.abs()
    }

    /// Coefficient of variation, sd over mean; `None` where the mean is zero.
    pub fn cov(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.sd / self.mean.abs())
    }
}

/// Centre and spread by which values are classed.
struct Scale {
    median: f64,
    mad: f64,
    sd: f64,
}

impl Scale {
    fn of(sorted: &[f64], median: f64) -> Self {
        let mut deviations: Vec<f64> = sorted.iter().map(|x| (x - median).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        let mad = percentile_sorted(&deviations, 0.5).unwrap_or(0.0);
        // With more than half of the values equal the MAD is zero and every other value would be an outlier; the mean
        // absolute deviation takes its place (Iglewicz and Hoaglin).
        let sd = if mad > 0.0 { MAD_TO_SD * mad } else { MEAN_AD_TO_SD * mean(&deviations).unwrap_or(0.0) };
        Self { median, mad, sd }
    }

    fn class(&self, x: f64) -> OutlierClass {
        if self.sd <= 0.0 {
            return OutlierClass::Inside;
        }
        let z = (x - self.median).abs() / self.sd;
        if z > SEVERE_Z {
            OutlierClass::Severe
        } else if z > MILD_Z {
            OutlierClass::Mild
        } else {
            OutlierClass::Inside
        }
    }
}

/// Class of every value, in the order given. A value that is not finite is a severe outlier.
pub fn outliers(values: &[f64]) -> Vec<OutlierClass> {
    let sorted = sorted_finite(values);
    let Some(median) = percentile_sorted(&sorted, 0.5) else {
        return vec![OutlierClass::Severe; values.len()];
    };
    let scale = Scale::of(&sorted, median);
    values.iter().map(|x| if x.is_finite() { scale.class(*x) } else { OutlierClass::Severe }).collect()
}

/// Median of the finite values; `None` when there is none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    median_in_place(&mut finite)
}

/// Median of a buffer, which is left reordered; `None` when it is empty. Takes linear time.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let (below, middle, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    let upper = *middle;
    if n % 2 == 1 {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(lower + (upper - lower) / 2.0)
}

/// Median absolute deviation of the finite values, not scaled; `None` when there is none.
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|x| (x - centre).abs()).collect();
    median(&deviations)
}

/// Percentile of the finite values, `share` from 0 to 1; `None` when there is no value. See [`percentile_sorted`].
pub fn percentile(values: &[f64], share: f64) -> Option<f64> {
    percentile_sorted(&sorted_finite(values), share)
}

/// Percentile of ascending values by linear interpolation between the closest ranks (type 7 of Hyndman and Fan, the
/// default of R and numpy). `share` is held within 0 to 1; `None` when there is no value.
pub fn percentile_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let (low, high) = (*sorted.get(below)?, *sorted.get((below + 1).min(last))?);
    Some(low + (high - low) * (position - below as f64))
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation with n − 1; `None` below two values.
pub fn sd(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - centre).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The finite values, ascending.
pub(super) fn sorted_finite(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        let s = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((s.n, s.min, s.max, s.median, s.mean), (8, 2.0, 9.0, 4.5, 5.0));
        assert!((s.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(s.mad, 0.5);
        // numpy.percentile(x, [5, 95]) = 2.7, 8.3
        assert!((s.p5 - 2.7).abs() < 1e-12 && (s.p95 - 8.3).abs() < 1e-12);
    }

    #[test]
    fn outliers_are_classed_and_kept() {
        // median 10, MAD 1, so 3.5 and 10 scaled deviations are 5.19 and 14.83.
        let values = [8.0, 9.0, 9.0, 10.0, 10.0, 11.0, 11.0, 12.0, 15.3, 25.0];
        let s = Summary::of(&values).unwrap();
        assert_eq!((s.median, s.mad), (10.5, 1.5));
        let shifted = [8.0, 9.0, 10.0, 10.0, 10.0, 11.0, 11.0, 15.3, 25.0];
        let classes = outliers(&shifted);
        assert_eq!(classes[7], OutlierClass::Mild);
        assert_eq!(classes[8], OutlierClass::Severe);
        assert_eq!(Summary::of(&shifted).unwrap().n, 9);
        assert_eq!(Summary::of(&shifted).unwrap().max, 25.0);
    }

    #[test]
    fn equal_values_have_no_outliers_and_one_far_value_is_one() {
        let mut values = vec![5.0; 40];
        assert_eq!(Summary::of(&values).unwrap().severe_outliers, 0);
        values.push(6.0);
        let s = Summary::of(&values).unwrap();
        assert_eq!((s.mad, s.severe_outliers), (0.0, 1));
    }

    #[test]
    fn nothing_and_not_finite() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(Summary::of(&[f64::NAN, 3.0]).unwrap().not_finite, 1);
        assert_eq!(median(&[]), None);
        assert_eq!(median_in_place(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(percentile(&[1.0, 2.0], 7.0), Some(2.0));
    }

    proptest! {
        #[test]
        fn order_of_figures(values in prop::collection::vec(-1e9..1e9_f64, 1..200)) {
            let s = Summary::of(&values).unwrap();
            prop_assert!(s.min <= s.p5 && s.p5 <= s.median && s.median <= s.p95 && s.p95 <= s.max);
            prop_assert_eq!(median(&values), Some(s.median));
            prop_assert!(s.mild_outliers + s.severe_outliers < s.n);
            prop_assert!((mad(&values).unwrap() - s.mad).abs() <= 1e-9 * s.mad.abs());
        }
    }
}
