//! Holm's correction: several comparisons at once without more false alarms than one.

/// Adjusted p-values in the order given (Holm 1979): the k-th smallest is multiplied by the number of those not smaller,
/// held at 1 and never below its predecessor. Compare each with the level as if it were the only one.
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut floor: f64 = 0.0;
    for (rank, (index, p)) in order.iter().enumerate() {
        floor = floor.max(p * (order.len() - rank) as f64).min(1.0);
        if let Some(slot) = adjusted.get_mut(*index) {
            *slot = floor;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_r_does() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") = 0.03 0.06 0.06 0.02
        let adjusted = adjust(&[0.01, 0.04, 0.03, 0.005]);
        for (a, b) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((a - b).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(adjust(&[0.9, 0.8]), vec![1.0, 1.0]);
        assert!(adjust(&[]).is_empty());
    }
}
