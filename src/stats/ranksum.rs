//! The exact rank-sum (Mann–Whitney) test of two independent samples, with the interval of the shift between them.

use super::signflip::Interval;
use serde::{Deserialize, Serialize};

/// Most values of a sample for which the exact distribution is computed; callers use chunks, of which there are few.
const MAX_VALUES: usize = 60;

/// Comparison of two samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankSum {
    /// Two-sided exact p-value; ties count half and are rounded towards no difference.
    pub p_value: f64,
    /// Chance that a value of the second sample exceeds one of the first, ties counted half.
    pub chance_b_above_a: f64,
    /// Shift of the second sample against the first: the median of all pairwise differences (Hodges and Lehmann).
    pub shift: f64,
    /// Interval of the shift by inversion of the test.
    pub interval: Interval,
}

/// Compares samples of 1 to 60 values each; `None` outside that.
pub fn compare(a: &[f64], b: &[f64], confidence: f64) -> Option<RankSum> {
    if a.is_empty() || b.is_empty() || a.len() > MAX_VALUES || b.len() > MAX_VALUES {
        return None;
    }
    let mut differences: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| y - x)).collect();
    differences.sort_by(f64::total_cmp);
    let pairs = differences.len();
    let above = differences.iter().filter(|d| **d > 0.0).count() as f64;
    let ties = differences.iter().filter(|d| **d == 0.0).count() as f64;
    let u = above + ties / 2.0;
    let cumulative = distribution(a.len(), b.len());
    let at_most = |k: usize| cumulative.get(k).copied().unwrap_or(1.0);
    let smaller = u.min(pairs as f64 - u).ceil() as usize;

    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    // The largest rank whose tail is still within; at least the extremes, with the confidence that they have.
    let rank = (1..=pairs.div_ceil(2)).take_while(|k| at_most(k - 1) <= tail + 1e-12).last().unwrap_or(1);
    Some(RankSum {
        p_value: (2.0 * at_most(smaller)).min(1.0),
        chance_b_above_a: u / pairs as f64,
        shift: super::summary::percentile_sorted(&differences, 0.5)?,
        interval: Interval {
            low: *differences.get(rank - 1)?,
            high: *differences.get(pairs - rank)?,
            confidence: (1.0 - 2.0 * at_most(rank - 1)).max(0.0),
        },
    })
}

/// P(U ≤ k) for k = 0..=nm under no difference. The number of arrangements with a given U is the coefficient of the
/// Gaussian binomial, built by multiplying with (1 − q^(m+i)) and dividing by (1 − q^i) for i = 1..=n.
fn distribution(n: usize, m: usize) -> Vec<f64> {
    let size = n * m + 1;
    let mut ways = vec![0.0_f64; size];
    ways[0] = 1.0; // size ≥ 1
    for i in 1..=n {
        for k in (m + i..size).rev() {
            ways[k] -= ways[k - m - i];
        }
        for k in i..size {
            ways[k] += ways[k - i];
        }
    }
    // The halves mirror each other; the lower one, summed from the small end, is exact enough in doubles.
    for k in 0..size / 2 {
        ways[size - 1 - k] = ways[k];
    }
    let total: f64 = ways.iter().sum();
    let mut sum = 0.0;
    ways.iter()
        .map(|w| {
            sum += w;
            sum / total
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn small_distribution_by_hand() {
        // 2 of 4: U = 0 1 2 3 4 in 1 1 2 1 1 of 6 arrangements.
        let d = distribution(2, 2);
        for (found, sixths) in d.iter().zip([1.0, 2.0, 4.0, 5.0, 6.0]) {
            assert!((found - sixths / 6.0).abs() < 1e-15);
        }
        // Published critical value: n = m = 8, U ≤ 13 at 5 % two-sided, 14 is beyond.
        let d = distribution(8, 8);
        assert!(2.0 * d[13] <= 0.05 && 2.0 * d[14] > 0.05);
        let d = distribution(60, 60);
        assert!((d[1800] - 0.5).abs() < 0.01 && d.windows(2).all(|w| w[0] <= w[1]));
    }

    #[test]
    fn clear_shift_and_none() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0];
        let b = [11.0, 12.0, 13.0, 14.0, 15.0];
        let r = compare(&a, &b, 0.95).unwrap();
        assert!((r.p_value - 2.0 / 252.0).abs() < 1e-12);
        assert_eq!((r.shift, r.chance_b_above_a), (10.0, 1.0));
        assert!(r.interval.contains(10.0) && !r.interval.contains(0.0) && r.interval.confidence >= 0.95);
        let same = compare(&a, &a, 0.95).unwrap();
        assert_eq!((same.p_value, same.shift), (1.0, 0.0));
        assert_eq!(compare(&a, &[], 0.95), None);
        assert_eq!(compare(&[1.0], &[2.0], 0.95).unwrap().interval.confidence, 0.0);
    }
}
