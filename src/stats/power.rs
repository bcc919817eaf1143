//! What a set-up can see before it is run: smallest detectable effect and blocks needed.

use super::distribution::t_quantile;

/// Level of the test that the figures are for (two-sided).
const LEVEL: f64 = 0.05;
/// Chance of seeing an effect of the smallest detectable size, for the t-test.
const POWER: f64 = 0.8;

/// Smallest effect, as a change of the log time ratio (close to the relative change), that `blocks` blocks with a
/// standard deviation `noise` of the log block ratio show in about three of four experiments:
/// (t₀.₉₇₅ + t₀.₈) · noise / √blocks with blocks − 1 degrees of freedom; the factor is 3.3 at 8 blocks and 2.8 for many.
/// (It is the 80 % point of the paired t-test; our verdict asks for a little more, see [`super::ab`].) `None` below two
/// blocks.
pub fn smallest_effect(noise: f64, blocks: usize) -> Option<f64> {
    (blocks > 1).then(|| factor((blocks - 1) as f64) * noise / (blocks as f64).sqrt())
}

/// The same for two independent groups of blocks, whose logs have the pooled standard deviation `noise`. `None` where a
/// group is empty or both have a single block.
pub fn smallest_effect_unpaired(noise: f64, blocks_a: usize, blocks_b: usize) -> Option<f64> {
    if blocks_a == 0 || blocks_b == 0 || blocks_a + blocks_b < 3 {
        return None;
    }
    let scale = (1.0 / blocks_a as f64 + 1.0 / blocks_b as f64).sqrt();
    Some(factor((blocks_a + blocks_b - 2) as f64) * noise * scale)
}

/// Blocks needed to see a change of `effect` (log time ratio) with this noise; at least 6, the fewest that can reach the
/// level at all. `None` where more than `limit` would be needed.
pub fn blocks_needed(noise: f64, effect: f64, limit: usize) -> Option<usize> {
    let effect = effect.abs();
    let enough = |blocks| smallest_effect(noise, blocks).is_some_and(|seen| seen <= effect);
    let (mut low, mut high) = (super::ab::MIN_BLOCKS, limit);
    if high < low || !enough(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

fn factor(df: f64) -> f64 {
    t_quantile(1.0 - LEVEL / 2.0, df) + t_quantile(POWER, df)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn as_published() {
        // t(7): 2.3646 + 0.8960 = 3.2607, so 5 % noise over 8 blocks shows 5.76 %.
        assert!((smallest_effect(0.05, 8).unwrap() - 0.05 * 3.260_654 / 8.0_f64.sqrt()).abs() < 1e-6);
        assert!((smallest_effect(1.0, 100_000_000).unwrap() * 1e4 - 2.8016).abs() < 1e-3);
        assert_eq!(smallest_effect(0.05, 1), None);
        // Two groups of 17 to see one standard deviation: the textbook answer.
        assert!(smallest_effect_unpaired(1.0, 17, 17).unwrap() < 1.0);
        assert!(smallest_effect_unpaired(1.0, 16, 16).unwrap() > 1.0);
        assert_eq!(smallest_effect_unpaired(1.0, 0, 9), None);
    }

    #[test]
    fn blocks_for_an_effect() {
        assert_eq!(blocks_needed(0.05, 0.058, 1000), Some(8));
        assert_eq!(blocks_needed(0.001, 0.1, 1000), Some(6));
        assert_eq!(blocks_needed(0.3, 0.001, 1000), None);
    }
}
