//! Two runs that were made one after the other: a weaker comparison than interleaved blocks, and said to be so.
//!
//! Steps depend on their neighbours, so each run is cut into contiguous chunks that are long enough to be nearly
//! independent, and the chunks' medians are compared by the exact rank-sum test. What changed between the runs (heat,
//! load, memory layout) is in no chunk, so a difference counts only where its whole interval lies beyond the margin.

use super::ab::{AbError, AbOptions, AbResult, Verdict, counted, verdict};
use super::autocorrelation::correlation_steps;
use super::power::smallest_effect_unpaired;
use super::ranksum;
use super::summary::{Summary, mad, median, sd};

/// Fewest chunks of a run for a verdict: 4 against 4 reach p = 0.029.
pub const MIN_CHUNKS: usize = 4;
/// Most chunks of a run; more would only make neighbours more alike.
const MAX_CHUNKS: usize = 12;
/// Length of a chunk in correlation lengths: leaves a correlation of some per cent between neighbouring chunks.
const CORRELATION_LENGTHS: f64 = 6.0;
/// Fewest steps of a chunk, so that its median is one.
const MIN_STEPS: usize = 5;

/// Compares the steady steps of two separate runs, in their order; times in nanoseconds.
///
/// # Errors
/// [`AbError::NoSteps`] when a run has no step with a positive, finite time.
pub fn judge_unpaired(baseline: &[f64], candidate: &[f64], options: &AbOptions) -> Result<AbResult, AbError> {
    let (a, b) = (logs(baseline), logs(candidate));
    let no_steps = |arm| AbError::NoSteps { arm };
    let centre = median(&b).ok_or_else(|| no_steps("candidate"))? - median(&a).ok_or_else(|| no_steps("baseline"))?;
    let (chunks_a, chunks_b) = (chunk_medians(&a), chunk_medians(&b));
    // Both have 1 to MAX_CHUNKS chunks, which is what the test takes; the error is for the reader of the signature.
    let test = ranksum::compare(&chunks_a, &chunks_b, options.confidence).ok_or_else(|| no_steps("candidate"))?;
    let noise = pooled_sd(&chunks_a, &chunks_b);
    let blocks = chunks_a.len().min(chunks_b.len());
    let positive = |times: &[f64]| times.iter().copied().filter(|t| *t > 0.0).collect::<Vec<f64>>();
    let mut result = AbResult {
        ratio: centre.exp(),
        ci_low: test.interval.low.min(centre).exp(),
        ci_high: test.interval.high.max(centre).exp(),
        confidence: test.interval.confidence.min(options.confidence),
        p_value: test.p_value,
        verdict: Verdict::Undecided,
        mde: noise.and_then(|noise| smallest_effect_unpaired(noise, chunks_a.len(), chunks_b.len())),
        margin: options.margin(),
        noise,
        blocks,
        tainted: 0,
        unusable: 0,
        block_ratios: Vec::new(),
        bootstrap: None,
        baseline: Summary::of(&positive(baseline)).ok_or_else(|| no_steps("baseline"))?,
        candidate: Summary::of(&positive(candidate)).ok_or_else(|| no_steps("candidate"))?,
        interleaved: false,
        notes: vec![
            "The runs were not interleaved: whatever changed on the machine between them is part of the difference. \
             An A/B experiment would settle it"
                .to_owned(),
        ],
    };
    result.verdict = verdict(&result, MIN_CHUNKS, options.confidence, result.margin);
    if blocks < MIN_CHUNKS {
        result.notes.push(format!(
            "The runs are worth only {} and {} independent values, and {MIN_CHUNKS} are needed for a verdict: run more steps",
            chunks_a.len(),
            chunks_b.len()
        ));
    }
    for (name, given, used) in [("baseline", baseline, &a), ("candidate", candidate, &b)] {
        let dropped = given.len() - used.len();
        if dropped > 0 {
            let steps = counted(dropped, "step");
            result.notes.push(format!("Left out of the {name} because they have no positive time: {steps}"));
        }
    }
    Ok(result)
}

/// Logs of the positive, finite times.
fn logs(times: &[f64]) -> Vec<f64> {
    times.iter().filter(|t| t.is_finite() && **t > 0.0).map(|t| t.ln()).collect()
}

/// Medians of contiguous chunks: 1 to [`MAX_CHUNKS`] of them for a series that is not empty.
fn chunk_medians(logs: &[f64]) -> Vec<f64> {
    let n = logs.len();
    if n == 0 {
        return Vec::new();
    }
    let length = ((correlation_steps(&trimmed(logs)) * CORRELATION_LENGTHS).ceil() as usize).max(MIN_STEPS);
    let count = (n / length).clamp(1, MAX_CHUNKS);
    (0..count).filter_map(|i| median(logs.get(i * n / count..(i + 1) * n / count)?)).collect()
}

/// The series with outliers pulled in to five scaled deviations: a single spike would hide the correlation of the rest.
fn trimmed(logs: &[f64]) -> Vec<f64> {
    match (median(logs), mad(logs)) {
        (Some(centre), Some(spread)) if spread > 0.0 => {
            let reach = 5.0 * super::summary::MAD_TO_SD * spread;
            logs.iter().map(|x| x.clamp(centre - reach, centre + reach)).collect()
        }
        _ => logs.to_vec(),
    }
}

/// Standard deviation within the two groups.
fn pooled_sd(a: &[f64], b: &[f64]) -> Option<f64> {
    let squares = |x: &[f64]| sd(x).map_or(0.0, |s| s * s * (x.len() - 1) as f64);
    let df = (a.len() + b.len()).checked_sub(2).filter(|df| *df > 0)?;
    Some(((squares(a) + squares(b)) / df as f64).sqrt())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::testing::normal;
    use super::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    /// Step times around `level` ns whose logs follow a first-order process.
    fn run(rng: &mut ChaCha8Rng, n: usize, level: f64, phi: f64, noise: f64) -> Vec<f64> {
        let mut x = 0.0;
        (0..n + 50)
            .map(|_| {
                x = phi * x + normal(rng);
                level * (noise * x * (1.0 - phi * phi).sqrt()).exp()
            })
            .skip(50)
            .collect()
    }

    #[test]
    fn clear_difference_with_a_caveat() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (a, b) = (run(&mut rng, 200, 1e6, 0.3, 0.03), run(&mut rng, 200, 8e5, 0.3, 0.03));
        let r = judge_unpaired(&a, &b, &AbOptions::default()).unwrap();
        assert_eq!(r.verdict, Verdict::Faster);
        assert!((r.ratio - 0.8).abs() < 0.02 && !r.interleaved);
        assert!(r.notes[0].contains("not interleaved") && r.sentence().contains("not interleaved"), "{}", r.sentence());
    }

    #[test]
    fn false_alarms_with_dependent_steps() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for phi in [0.0, 0.6, 0.9] {
            let mut alarms = 0;
            let mut covered = 0;
            for _ in 0..1000 {
                let (a, b) = (run(&mut rng, 240, 1e6, phi, 0.05), run(&mut rng, 240, 1e6, phi, 0.05));
                let r = judge_unpaired(&a, &b, &AbOptions::default()).unwrap();
                alarms += u32::from(matches!(r.verdict, Verdict::Faster | Verdict::Slower));
                covered += u32::from(r.ci_low <= 1.0 && 1.0 <= r.ci_high);
            }
            println!("phi {phi}: {alarms} alarms, {covered} covered of 1000");
            assert!(alarms <= 50, "{phi}: {alarms}");
        }
    }

    #[test]
    fn short_and_empty_runs() {
        let r = judge_unpaired(&[10.0; 8], &[5.0; 8], &AbOptions::default()).unwrap();
        assert_eq!((r.verdict, r.blocks), (Verdict::Undecided, 1));
        assert!((r.ratio - 0.5).abs() < 1e-12);
        assert!(r.notes.iter().any(|n| n.contains("run more steps")));
        let none = judge_unpaired(&[1.0], &[0.0, f64::NAN], &AbOptions::default());
        assert_eq!(none, Err(AbError::NoSteps { arm: "candidate" }));
        let json = serde_json::to_string(&r).unwrap();
        assert_eq!(serde_json::from_str::<AbResult>(&json).unwrap(), r);
    }

    #[test]
    fn left_out_steps_are_said() {
        let mut a = vec![10.0; 100];
        a[3] = -1.0;
        let r = judge_unpaired(&a, &[10.0; 100], &AbOptions::default()).unwrap();
        assert_eq!(r.verdict, Verdict::NoDifference);
        assert!(r.notes.iter().any(|n| n.starts_with("Left out of the baseline") && n.ends_with("1 step")));
    }
}
