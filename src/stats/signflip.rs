//! The sign-flip test of paired differences, and the interval that goes with it.
//!
//! If the two arms are alike, the log ratio of a block is as likely positive as negative, whatever its distribution, so
//! the observed sum is one of 2ⁿ equally likely ones. The interval is the inversion of that test: the means of all
//! non-empty subsets cut the line into 2ⁿ parts, and the centre of symmetry falls into each with the same probability
//! (Hartigan, "Using subsample values as typical values", JASA 1969). Both are exact for any number of blocks as long
//! as the values are independent and symmetric about their centre; a bootstrap over 8 blocks is not (see
//! [`super::bootstrap`]).

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Up to this many values every assignment of signs is tried.
pub const EXACT_LIMIT: usize = 20;
/// Assignments of signs that are drawn beyond [`EXACT_LIMIT`].
const DRAWS: usize = 100_000;

/// An interval and the confidence that it really has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence reached, 0 to 1: at least what was asked where the number of values allows it, less where not.
    pub confidence: f64,
}

impl Interval {
    /// Whether a value lies within, ends included.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }
}

/// Two-sided p-value of the hypothesis that the values are symmetric about zero. Exact up to [`EXACT_LIMIT`] values;
/// beyond, from 100,000 seeded draws. 1 for no values.
pub fn p_value(values: &[f64], seed: u64) -> f64 {
    let observed = values.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order differ by rounding; equal ones must count as equal.
    let slack = 1e-12 * values.iter().map(|x| x.abs()).sum::<f64>();
    let at_least = |sum: f64| sum.abs() >= observed - slack;
    if values.is_empty() {
        1.0
    } else if values.len() <= EXACT_LIMIT {
        let mut extreme = 0u64;
        let mut total = 0u64;
        for_each_subset_sum(values, |sum, _| {
            // Flipping the signs of the subset takes twice its sum away.
            extreme += u64::from(at_least(values.iter().sum::<f64>() - 2.0 * sum));
            total += 1;
        });
        extreme as f64 / total as f64
    } else {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let extreme = (0..DRAWS)
            .filter(|_| at_least(values.iter().map(|x| if rng.random::<bool>() { *x } else { -x }).sum()))
            .count();
        // The observed assignment is one of those possible: never a p-value of zero.
        (extreme + 1) as f64 / (DRAWS + 1) as f64
    }
}

/// Interval for the centre of symmetry of the values, by inversion of the sign-flip test. With fewer than six values no
/// interval reaches 95 %: the range is given, with the confidence that it has. `None` for no values.
pub fn interval(values: &[f64], confidence: f64, seed: u64) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let mut means = Vec::new();
    if values.len() <= EXACT_LIMIT {
        means.reserve(1 << values.len());
        for_each_subset_sum(values, |sum, size| {
            if size > 0 {
                means.push(sum / size as f64);
            }
        });
    } else {
        draw_subset_means(values, seed, &mut means);
    }
    let parts = means.len() + 1;
    let rank = ((tail * parts as f64 + 1e-9).floor() as usize).clamp(1, means.len().div_ceil(2));
    let (_, low, _) = means.select_nth_unstable_by(rank - 1, f64::total_cmp);
    let low = *low;
    let upper_rank = means.len() - rank;
    let (_, high, _) = means.select_nth_unstable_by(upper_rank, f64::total_cmp);
    Some(Interval { low, high: *high, confidence: 1.0 - 2.0 * rank as f64 / parts as f64 })
}

/// Calls `visit(sum, size)` for each of the 2ⁿ subsets, in Gray code order, so that each costs one addition. The sum is
/// computed afresh every 1,024 subsets, which keeps rounding from piling up.
fn for_each_subset_sum(values: &[f64], mut visit: impl FnMut(f64, u32)) {
    let n = values.len().min(EXACT_LIMIT);
    let mut sum = 0.0;
    visit(sum, 0);
    for index in 1..1u32 << n {
        let gray = index ^ (index >> 1);
        if index % 1024 == 0 {
            sum = values.iter().enumerate().filter(|(bit, _)| gray >> bit & 1 == 1).map(|(_, x)| x).sum();
        } else if let Some(x) = values.get(index.trailing_zeros() as usize) {
            let added = gray >> index.trailing_zeros() & 1 == 1;
            sum += if added { *x } else { -x };
        }
        visit(sum, gray.count_ones());
    }
}

/// Means of random non-empty subsets: a sample of the typical values.
fn draw_subset_means(values: &[f64], seed: u64, means: &mut Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    means.reserve(DRAWS);
    while means.len() < DRAWS {
        let (mut sum, mut size) = (0.0, 0u32);
        for x in values {
            if rng.random::<bool>() {
                sum += x;
                size += 1;
            }
        }
        if size > 0 {
            means.push(sum / f64::from(size));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn smallest_p_values() {
        // All of one sign: only the two extreme assignments reach the sum.
        assert_eq!(p_value(&[0.1, 0.2, 0.3, 0.1, 0.2, 0.3], 0), 2.0 / 64.0);
        assert_eq!(p_value(&[0.1; 8], 0), 2.0 / 256.0);
        assert_eq!(p_value(&[], 0), 1.0);
        assert_eq!(p_value(&[0.0; 8], 0), 1.0);
    }

    #[test]
    fn counted_by_hand() {
        // ±1 ±2 ±3: sums 6 4 2 0 0 -2 -4 -6. Observed 1 + 2 - 3 = 0 and -1 + 2 + 3 = 4.
        assert_eq!(p_value(&[1.0, 2.0, -3.0], 0), 1.0);
        assert_eq!(p_value(&[-1.0, 2.0, 3.0], 0), 4.0 / 8.0);
    }

    #[test]
    fn darwins_maize() {
        // Fisher, The Design of Experiments (1935): Darwin's 15 pairs, 1,726 of 32,768 assignments reach the sum of 314.
        let heights = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48].map(f64::from);
        assert_eq!(heights.iter().sum::<f64>(), 314.0);
        assert_eq!(p_value(&heights, 0) * 32_768.0, 1_726.0);
    }

    #[test]
    fn interval_of_few_values() {
        let i = interval(&[3.0, 1.0, 2.0], 0.95, 0).unwrap();
        assert_eq!((i.low, i.high, i.confidence), (1.0, 3.0, 0.75));
        let i = interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95, 0).unwrap();
        assert_eq!((i.low, i.high, i.confidence), (1.0, 6.0, 1.0 - 2.0 / 64.0));
        let eight = interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 0.95, 0).unwrap();
        assert_eq!(eight.confidence, 1.0 - 12.0 / 256.0);
        // Sorted subset means: 1, 1.5, 2, 2, 2, 2.33: {1} {1,2} {2} {1,3} {1,2,3} then {1,4,2} = {1,2,4}.
        assert!((eight.low - 7.0 / 3.0).abs() < 1e-12 && (eight.high - (9.0 - 7.0 / 3.0)).abs() < 1e-12);
        assert_eq!(interval(&[], 0.95, 0), None);
    }

    #[test]
    fn drawn_agrees_with_exact() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let values: Vec<f64> = (0..EXACT_LIMIT).map(|_| rng.random::<f64>() - 0.35).collect();
        let exact = interval(&values, 0.95, 0).unwrap();
        let mut means = Vec::new();
        draw_subset_means(&values, 1, &mut means);
        means.sort_by(f64::total_cmp);
        let drawn = (means[DRAWS / 40], means[DRAWS - DRAWS / 40]);
        assert!((exact.low - drawn.0).abs() < 0.005 && (exact.high - drawn.1).abs() < 0.005);
        let mut more = values.clone();
        more.push(0.0); // Adds nothing to any sum: p stays as it was, but is drawn.
        assert!((p_value(&values, 0) - p_value(&more, 3)).abs() < 0.005);
    }

    proptest! {
        #[test]
        fn test_and_interval_agree(values in prop::collection::vec(-1.0..1.0_f64, 6..12)) {
            let i = interval(&values, 0.95, 0).unwrap();
            let p = p_value(&values, 0);
            // Outside the interval exactly where the test rejects at the level that the interval has.
            let level = 1.0 - i.confidence + 1e-9;
            prop_assert_eq!(!i.contains(0.0), p <= level);
        }
    }
}
