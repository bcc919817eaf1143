//! How much neighbouring steps depend on each other, and so how many independent values a series is worth.

use super::summary::mean;

/// Autocorrelation of a series at the lags 1 to `max_lag`. All zero for a constant series.
pub fn autocorrelation(values: &[f64], max_lag: usize) -> Vec<f64> {
    let Some(centre) = mean(values) else {
        return Vec::new();
    };
    let variance: f64 = values.iter().map(|x| (x - centre).powi(2)).sum();
    // What is left of a constant series is the rounding of its mean.
    let rounding = values.len() as f64 * (values.len() as f64 * f64::EPSILON * centre).powi(2);
    (1..=max_lag.min(values.len().saturating_sub(1)))
        .map(|lag| {
            let sum: f64 = values.iter().zip(values.iter().skip(lag)).map(|(a, b)| (a - centre) * (b - centre)).sum();
            if variance > rounding { sum / variance } else { 0.0 }
        })
        .collect()
}

/// Steps that make one independent value, 1 + 2Σρₖ, at least 1. The sum ends at the first pair of lags whose
/// correlations add up to nothing (Geyer's initial positive sequence), since beyond it is noise.
pub fn correlation_steps(values: &[f64]) -> f64 {
    let max_lag = (values.len() / 4).min(1000);
    let mut sum = 0.0;
    for pair in autocorrelation(values, max_lag).chunks(2) {
        let both: f64 = pair.iter().sum();
        if both <= 0.0 {
            break;
        }
        sum += both;
    }
    (1.0 + 2.0 * sum).max(1.0)
}

/// Number of independent values that the series is worth: n / (1 + 2Σρₖ).
pub fn effective_n(values: &[f64]) -> f64 {
    values.len() as f64 / correlation_steps(values)
}

#[cfg(test)]
mod tests {
    use super::super::testing::normal;
    use super::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn by_hand() {
        // 1 2 3 4 about 2.5: squares 5; lag 1: .75 - .25... = (-1.5)(-.5) + (-.5)(.5) + (.5)(1.5) = 1.25.
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0, 4.0], 1), vec![0.25]);
        assert_eq!(autocorrelation(&[5.0; 4], 2), vec![0.0, 0.0]);
        assert!(autocorrelation(&[], 3).is_empty());
        assert_eq!(effective_n(&[]), 0.0);
    }

    #[test]
    fn first_order_process() {
        // For x' = φx + e the factor is (1 + φ) / (1 − φ).
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (phi, factor) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let mut x = 0.0;
            let series: Vec<f64> = (0..20_000)
                .map(|_| {
                    x = phi * x + normal(&mut rng);
                    x
                })
                .collect();
            let found = correlation_steps(&series);
            assert!((found / factor - 1.0).abs() < 0.15, "{phi}: {found}");
        }
    }
}
