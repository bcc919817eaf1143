//! A slow change over an experiment: the machine got warmer, the clock slower, the memory fuller.

use super::distribution::t_cdf;
use super::summary::mean;
use serde::{Deserialize, Serialize};

/// A linear trend over the whole of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Change from the first to the last value along the fitted line, in the unit of the values. Of log times, this is
    /// close to the relative change.
    pub change: f64,
    /// Two-sided p-value of the slope.
    pub p_value: f64,
}

impl Drift {
    /// Worth telling: more than 2 % (of log times) at p < 0.01.
    pub fn is_notable(&self) -> bool {
        self.change.abs() > 0.02 && self.p_value < 0.01
    }
}

/// Least-squares line through `values` at their positions in time. `None` below three values, for unequal lengths, or
/// where all positions are the same.
pub fn drift(at: &[f64], values: &[f64]) -> Option<Drift> {
    if at.len() != values.len() || at.len() < 3 {
        return None;
    }
    let (mid, level) = (mean(at)?, mean(values)?);
    let spread: f64 = at.iter().map(|t| (t - mid).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let slope = at.iter().zip(values).map(|(t, x)| (t - mid) * (x - level)).sum::<f64>() / spread;
    let residual: f64 = at.iter().zip(values).map(|(t, x)| (x - level - slope * (t - mid)).powi(2)).sum();
    let df = (at.len() - 2) as f64;
    let error = (residual / df / spread).sqrt();
    let p_value = if error > 0.0 {
        2.0 * t_cdf(-(slope / error).abs(), df)
    } else if slope == 0.0 {
        1.0
    } else {
        0.0
    };
    let first = at.iter().copied().fold(f64::INFINITY, f64::min);
    let last = at.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Drift { change: slope * (last - first), p_value })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn a_textbook_line() {
        // x 1..5, y 2 4 5 4 5: slope 0.6, standard error 0.2828, t = 2.1213, p = 0.1241 (R, lm).
        let d = drift(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 4.0, 5.0, 4.0, 5.0]).unwrap();
        assert!((d.change - 2.4).abs() < 1e-12 && (d.p_value - 0.1241).abs() < 1e-4, "{d:?}");
        assert!(!d.is_notable());
    }

    #[test]
    fn degenerate_series() {
        assert_eq!(drift(&[1.0, 2.0], &[1.0, 2.0]), None);
        assert_eq!(drift(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        let flat = drift(&[1.0, 2.0, 3.0], &[4.0; 3]).unwrap();
        assert_eq!((flat.change, flat.p_value), (0.0, 1.0));
    }
}
