//! Bootstrap intervals, with a seed: the same data always gives the same interval.
//!
//! A bootstrap needs enough values. Over 8 blocks the 95 % percentile interval of the median holds the truth in about
//! 92 % and that of the mean in about 88 % of cases (a test here measures both), so a verdict stands on
//! [`super::signflip`] and asks this interval only to agree.

use super::distribution::{normal_cdf, normal_quantile};
use super::signflip::Interval;
use super::summary::{mean, percentile_sorted};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Resamples drawn by default.
pub const RESAMPLES: usize = 10_000;

/// How the interval is read off the resampled statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The percentiles as they are.
    Percentile,
    /// Bias-corrected and accelerated (Efron, 1987): for smooth statistics such as the mean.
    Bca,
}

/// What to draw.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Number of resamples.
    pub resamples: usize,
    /// Confidence, 0 to 1.
    pub confidence: f64,
    /// How the interval is formed.
    pub method: Method,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { resamples: RESAMPLES, confidence: 0.95, method: Method::Percentile, seed: 0 }
    }
}

/// Bootstrap interval of a statistic of the values. `statistic` may reorder its buffer; `None` when there are no values,
/// no resamples, or the statistic has none.
pub fn interval(values: &[f64], options: &Options, statistic: impl Fn(&mut [f64]) -> Option<f64>) -> Option<Interval> {
    let n = values.len();
    if n == 0 || options.resamples == 0 {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut buffer = vec![0.0; n];
    let mut drawn = Vec::with_capacity(options.resamples);
    for _ in 0..options.resamples {
        for slot in &mut buffer {
            // In range: the index is drawn below n, the number of values.
            *slot = values[rng.random_range(0..n)];
        }
        drawn.push(statistic(&mut buffer)?);
    }
    drawn.sort_by(f64::total_cmp);
    let tail = (1.0 - options.confidence.clamp(0.0, 1.0)) / 2.0;
    let (low, high) = match options.method {
        Method::Percentile => (tail, 1.0 - tail),
        Method::Bca => bca_shares(values, &drawn, tail, &statistic)?,
    };
    Some(Interval {
        low: percentile_sorted(&drawn, low)?,
        high: percentile_sorted(&drawn, high)?,
        confidence: options.confidence,
    })
}

/// The two percentiles that correct for bias and skew.
fn bca_shares(
    values: &[f64],
    drawn: &[f64],
    tail: f64,
    statistic: &impl Fn(&mut [f64]) -> Option<f64>,
) -> Option<(f64, f64)> {
    let observed = statistic(&mut values.to_vec())?;
    let below = drawn.iter().filter(|x| **x < observed).count() as f64;
    let equal = drawn.iter().filter(|x| **x == observed).count() as f64;
    let bias = normal_quantile(((below + equal / 2.0) / drawn.len() as f64).clamp(1e-6, 1.0 - 1e-6));
    let mut left_out = Vec::with_capacity(values.len());
    for skip in 0..values.len() {
        let mut rest: Vec<f64> = values.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, x)| *x).collect();
        // With a single value there is nothing to leave out, hence no acceleration.
        left_out.extend(statistic(&mut rest));
    }
    let centre = mean(&left_out).unwrap_or(observed);
    let (mut cubes, mut squares) = (0.0, 0.0);
    for x in &left_out {
        cubes += (centre - x).powi(3);
        squares += (centre - x).powi(2);
    }
    let acceleration = if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 };
    let share = |p: f64| {
        let z = bias + normal_quantile(p);
        normal_cdf(bias + z / (1.0 - acceleration * z))
    };
    Some((share(tail), share(1.0 - tail)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::summary::median_in_place;
    use super::super::testing::normal;
    use super::*;

    #[test]
    fn deterministic_and_around_the_mean() {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i % 20)).collect();
        let options = Options::default();
        let a = interval(&values, &options, |x| mean(x)).unwrap();
        assert_eq!(Some(a), interval(&values, &options, |x| mean(x)));
        // sd of 0..19 is 5.766, so the standard error is 0.408 and the interval 9.5 ± 0.80.
        assert!((a.low - 8.70).abs() < 0.05 && (a.high - 10.30).abs() < 0.05, "{a:?}");
    }

    #[test]
    fn bca_shifts_towards_the_long_tail() {
        let values: Vec<f64> = (1..=30).map(|i| (f64::from(i) / 6.0).exp()).collect();
        let percentile = interval(&values, &Options::default(), |x| mean(x)).unwrap();
        let bca = interval(&values, &Options { method: Method::Bca, ..Options::default() }, |x| mean(x)).unwrap();
        assert!(bca.low > percentile.low && bca.high > percentile.high, "{bca:?} {percentile:?}");
    }

    #[test]
    fn nothing_and_one() {
        assert_eq!(interval(&[], &Options::default(), |x| mean(x)), None);
        let one = interval(&[2.0], &Options { method: Method::Bca, ..Options::default() }, |x| mean(x)).unwrap();
        assert_eq!((one.low, one.high), (2.0, 2.0));
    }

    #[test]
    fn covers_too_little_over_eight_values() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let options = Options { resamples: 400, ..Options::default() };
        let (mut by_median, mut by_mean) = (0, 0);
        for _ in 0..2000 {
            let values: Vec<f64> = (0..8).map(|_| normal(&mut rng)).collect();
            by_median += u32::from(interval(&values, &options, median_in_place).unwrap().contains(0.0));
            by_mean += u32::from(interval(&values, &options, |x| mean(x)).unwrap().contains(0.0));
        }
        println!("covers: median {} %, mean {} %", by_median as f64 / 20.0, by_mean as f64 / 20.0);
        assert!(by_mean < 1860, "the reason for not using it: {by_mean} of 2,000");
    }
}
