//! Tests of the A/B verdict: by hand, and by simulation of whole experiments.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::stats::testing::normal;
use proptest::prelude::*;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// What a simulated machine does to step times.
#[derive(Debug, Clone, Copy)]
struct Machine {
    /// Spread of the log of a block's level, each arm of each block for itself.
    block_noise: f64,
    /// Spread of the log of a step's time.
    step_noise: f64,
    /// Chance that an arm of a block is disturbed and 1.5 times as slow.
    disturbed: f64,
    /// Growth of the level over the experiment.
    drift: f64,
}

const QUIET: Machine = Machine { block_noise: 0.02, step_noise: 0.03, disturbed: 0.0, drift: 0.0 };
const BUSY: Machine = Machine { block_noise: 0.05, step_noise: 0.2, disturbed: 0.1, drift: 0.2 };

fn experiment(rng: &mut ChaCha8Rng, blocks: usize, effect: f64, machine: Machine) -> Vec<BlockPair> {
    (0..blocks)
        .map(|block| {
            let level = 1e7 * (1.0 + machine.drift * block as f64 / blocks as f64);
            let mut arm = |factor: f64| {
                let disturbed = if rng.random::<f64>() < machine.disturbed { 1.5 } else { 1.0 };
                let level = level * factor * disturbed * (machine.block_noise * normal(rng)).exp();
                // Steps are skewed: an exponential tail on top of the usual time.
                (0..9)
                    .map(|_| level * (1.0 - machine.step_noise * rng.random_range(1e-12..1.0_f64).ln()))
                    .collect::<Vec<f64>>()
            };
            let baseline = arm(1.0);
            BlockPair::new(baseline, arm(effect))
        })
        .collect()
}

/// Fewer resamples than usual, to simulate thousands of experiments in seconds.
fn options() -> AbOptions {
    AbOptions { resamples: 1000, ..AbOptions::default() }
}

#[test]
fn aa_false_alarms_at_most_five_per_cent() {
    for (seed, machine) in [(1, QUIET), (2, BUSY)] {
        for blocks in [6, 8, 12] {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let alarms = (0..1000)
                .filter(|_| {
                    let verdict = judge(&experiment(&mut rng, blocks, 1.0, machine), &options()).unwrap().verdict;
                    matches!(verdict, Verdict::Faster | Verdict::Slower)
                })
                .count();
            println!("{machine:?}, {blocks} blocks: {alarms} false alarms of 1,000");
            assert!(alarms <= 50, "{machine:?}, {blocks} blocks: {alarms}");
        }
    }
}

#[test]
fn interval_covers_the_truth() {
    for (seed, machine) in [(3, QUIET), (4, BUSY)] {
        for effect in [1.0, 0.8, 1.3] {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let covered = (0..1000)
                .filter(|_| {
                    let r = judge(&experiment(&mut rng, 8, effect, machine), &options()).unwrap();
                    r.ci_low <= effect && effect <= r.ci_high
                })
                .count();
            println!("{machine:?}, effect {effect}: {covered} of 1,000 intervals cover it");
            assert!(covered >= 930, "{machine:?}, {effect}: {covered}");
        }
    }
}

#[test]
fn smallest_effect_is_seen_in_three_of_four() {
    // Noise of the log block ratio is √2 · 3 % plus a little from the steps.
    let machine = Machine { block_noise: 0.03, step_noise: 0.001, disturbed: 0.0, drift: 0.0 };
    let effect = smallest_effect(0.03 * 2.0_f64.sqrt(), 8).unwrap().exp();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let seen = (0..1000)
        .filter(|_| judge(&experiment(&mut rng, 8, effect, machine), &options()).unwrap().verdict == Verdict::Slower)
        .count();
    println!("an effect of the smallest detectable size was seen in {seen} of 1,000");
    assert!((700..=850).contains(&seen), "{seen}");
}

fn exact(ratios: &[f64]) -> Vec<BlockPair> {
    ratios.iter().map(|r| BlockPair::new(vec![100.0; 3], vec![100.0 * r; 3])).collect()
}

#[test]
fn four_verdicts() {
    let faster = judge(&exact(&[0.80, 0.81, 0.82, 0.79, 0.80, 0.83, 0.81, 0.82]), &AbOptions::default()).unwrap();
    assert_eq!(faster.verdict, Verdict::Faster);
    assert_eq!(faster.p_value, 2.0 / 256.0);
    assert!((faster.ratio - (0.81_f64 * 0.81).sqrt()).abs() < 1e-12);
    assert_eq!(faster.sentence(), "1.23× as fast (95 % interval 1.22 to 1.25, p = 0.008, 8 blocks)");
    let inside = faster.bootstrap.unwrap();
    assert!(inside.low <= faster.ratio && faster.ratio <= inside.high);

    let slower = judge(&exact(&[1.5, 1.6, 1.4, 1.5, 1.55, 1.45]), &AbOptions::default()).unwrap();
    assert_eq!(slower.verdict, Verdict::Slower);
    assert_eq!(slower.sentence(), "1.50× as long (95 % interval 1.40 to 1.60, p = 0.031, 6 blocks)");

    let same = judge(&exact(&[1.001, 0.999, 1.002, 0.998, 1.0, 1.0, 1.001, 0.999]), &AbOptions::default()).unwrap();
    assert_eq!(same.verdict, Verdict::NoDifference);
    assert_eq!(same.sentence(), "no detectable difference (could have seen ±0.2 %)");

    let unclear = judge(&exact(&[1.1, 0.9, 1.2, 0.8, 1.05, 0.95, 1.1, 0.9]), &AbOptions::default()).unwrap();
    assert_eq!(unclear.verdict, Verdict::Undecided);
    assert!(unclear.sentence().starts_with("undecided: "), "{}", unclear.sentence());
    // On a machine whose A/A noise is that large, the same data mean that there is nothing to see.
    let noisy = AbOptions { noise: Some(0.3), ..AbOptions::default() };
    assert_eq!(judge(&exact(&unclear.block_ratios), &noisy).unwrap().verdict, Verdict::NoDifference);
}

#[test]
fn real_but_too_small_to_count() {
    let tiny = judge(&exact(&[0.996, 0.997, 0.996, 0.995, 0.996, 0.997, 0.996, 0.996]), &AbOptions::default()).unwrap();
    assert_eq!(tiny.verdict, Verdict::NoDifference);
    assert!(
        tiny.sentence().starts_with("no difference that counts: 1.004× as fast is within ±1.0 %"),
        "{}",
        tiny.sentence()
    );
}

#[test]
fn too_few_tainted_and_unusable_blocks_are_said() {
    let mut blocks = exact(&[0.5, 0.5, 0.5, 0.5, 0.5, 3.0, 0.5]);
    blocks[5].tainted = Some("others used 40 % of the machine".to_owned());
    blocks[6].candidate.clear();
    let r = judge(&blocks, &AbOptions::default()).unwrap();
    assert_eq!((r.verdict, r.blocks, r.tainted, r.unusable), (Verdict::Undecided, 5, 1, 1));
    assert_eq!(r.confidence, 1.0 - 2.0 / 32.0);
    assert!(
        r.notes.iter().any(|n| n.contains("Too few for a verdict: 5 blocks"))
            && r.notes.iter().any(|n| n.ends_with("disturbed: 1 block"))
    );
    assert!(r.sentence().contains("93 % interval"), "{}", r.sentence());
    blocks.truncate(0);
    assert_eq!(judge(&blocks, &AbOptions::default()), Err(AbError::NothingToCompare { blocks: 0, tainted: 0 }));
}

#[test]
fn drift_and_noise_are_noted() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let drifting = Machine { drift: 0.3, ..QUIET };
    let r = judge(&experiment(&mut rng, 8, 0.7, drifting), &AbOptions::default()).unwrap();
    assert_eq!(r.verdict, Verdict::Faster);
    assert!(r.notes.iter().any(|n| n.contains("longer during the experiment")), "{:?}", r.notes);
    assert!(r.notes.iter().any(|n| n.contains("Noisy machine")));
}

#[test]
fn both_forms_of_ten_per_cent() {
    let r = judge(&exact(&[0.9; 6]), &AbOptions::default()).unwrap();
    assert!((r.time_change() + 0.1).abs() < 1e-12 && (r.speed_change() - 1.0 / 9.0).abs() < 1e-12);
}

/// A step time, now and then one that cannot be.
fn step_time() -> impl Strategy<Value = f64> {
    prop_oneof![8 => 1e-3..1e12_f64, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(0.0), 1 => Just(-5.0)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_times_give_finite_figures(
        arms in prop::collection::vec((prop::collection::vec(step_time(), 0..4), prop::collection::vec(step_time(), 0..4)), 0..12),
    ) {
        let blocks: Vec<BlockPair> = arms.into_iter().map(|(a, b)| BlockPair::new(a, b)).collect();
        if let Ok(r) = judge(&blocks, &options()) {
            prop_assert!(r.ci_low <= r.ratio && r.ratio <= r.ci_high);
            prop_assert!((0.0..=1.0).contains(&r.p_value) && (0.0..=1.0).contains(&r.confidence));
            prop_assert_eq!(r.blocks + r.tainted + r.unusable, blocks.len());
            prop_assert!(!r.sentence().contains("NaN"));
        }
    }

    #[test]
    fn swapping_the_arms_mirrors_the_result(ratios in prop::collection::vec(0.5..2.0_f64, 6..10)) {
        let there = judge(&exact(&ratios), &options()).unwrap();
        let back: Vec<BlockPair> =
            exact(&ratios).into_iter().map(|b| BlockPair::new(b.candidate, b.baseline)).collect();
        let back = judge(&back, &options()).unwrap();
        prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
        prop_assert!((there.ci_low * back.ci_high - 1.0).abs() < 1e-9);
        prop_assert_eq!(there.p_value, back.p_value);
    }
}
