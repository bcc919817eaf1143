//! Where the warm-up of a run ends: by events first, by statistics second.
//!
//! Events: nothing was compiled, tuned or allocated anew for a number of steps. Statistics: the medians of ten
//! consecutive windows vary by less than 2 % (Georges et al., OOPSLA 2007), or, on a noisy machine, a change-point test
//! finds no break (after Barrett et al., OOPSLA 2017). Many programs never become steady; then this says so.

use super::summary::{MAD_TO_SD, mad, mean, median, sd};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// What counts as steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUpOptions {
    /// Steps without an event.
    pub quiet_steps: usize,
    /// Steps of a window.
    pub window_steps: usize,
    /// Windows that must agree.
    pub windows: usize,
    /// Largest coefficient of variation of the windows' medians.
    pub max_cov: f64,
    /// Level of the change-point test.
    pub level: f64,
}

impl Default for WarmUpOptions {
    fn default() -> Self {
        Self { quiet_steps: 20, window_steps: 3, windows: 10, max_cov: 0.02, level: 0.01 }
    }
}

/// By which rule the steps are steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyRule {
    /// The windows agree.
    StableWindows {
        /// Coefficient of variation of their medians.
        cov: f64,
    },
    /// The windows vary more than that, but without a break: noise, not warm-up.
    NoBreak {
        /// Of the change-point test.
        p_value: f64,
    },
}

/// Where the warm-up ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpEnd {
    /// Steps are steady from this one on.
    Steady {
        /// Index of the first steady step.
        first: usize,
        /// Why.
        rule: SteadyRule,
    },
    /// They never were, as far as the run goes.
    NoSteadyState {
        /// Index of the first step after which events ceased for long enough, if they did.
        quiet_from: Option<usize>,
        /// Why, as a sentence.
        reason: String,
    },
}

impl WarmUpEnd {
    /// The first step that figures may stand on: the first steady one, else the first quiet one.
    pub fn first_usable(&self) -> Option<usize> {
        match self {
            Self::Steady { first, .. } => Some(*first),
            Self::NoSteadyState { quiet_from, .. } => *quiet_from,
        }
    }
}

/// Finds the end of the warm-up. `times` are step times in one unit; `events` says of each step whether something was
/// compiled, tuned or allocated anew in it (steps beyond its end had no event).
pub fn end_of_warm_up(times: &[f64], events: &[bool], options: &WarmUpOptions) -> WarmUpEnd {
    let Some(quiet) = quiet_from(times.len(), events, options.quiet_steps) else {
        return WarmUpEnd::NoSteadyState {
            quiet_from: None,
            reason: format!(
                "In {} steps there were never {} in a row without compilation, tuning or new memory",
                times.len(),
                options.quiet_steps
            ),
        };
    };
    let size = options.window_steps.max(1);
    let rest = times.get(quiet..).unwrap_or_default();
    let medians: Vec<f64> = rest.chunks_exact(size).filter_map(median).collect();
    let wanted = options.windows.max(2);
    for (start, group) in medians.windows(wanted).enumerate() {
        if let (Some(centre), Some(spread)) = (mean(group), sd(group))
            && spread < options.max_cov * centre.abs()
        {
            let cov = spread / centre.abs();
            return WarmUpEnd::Steady { first: quiet + start * size, rule: SteadyRule::StableWindows { cov } };
        }
    }
    without_break(&medians, quiet, size, options)
}

/// First index from which `quiet` steps follow without an event.
fn quiet_from(steps: usize, events: &[bool], quiet: usize) -> Option<usize> {
    let mut first = 0;
    for (i, event) in events.iter().enumerate().take(steps) {
        if i - first >= quiet {
            break;
        }
        if *event {
            first = i + 1;
        }
    }
    (steps > 0 && steps - first >= quiet).then_some(first)
}

/// Fewest windows that the change-point test can say anything about.
const MIN_WINDOWS: usize = 8;

/// Cuts windows off at breaks until none is left. A break in the second half of what remains is no warm-up.
fn without_break(medians: &[f64], quiet: usize, size: usize, options: &WarmUpOptions) -> WarmUpEnd {
    let no = |reason: String| WarmUpEnd::NoSteadyState { quiet_from: Some(quiet), reason };
    let mut start = 0;
    loop {
        let rest = medians.get(start..).unwrap_or_default();
        if rest.len() < MIN_WINDOWS {
            let steps = MIN_WINDOWS * size;
            return no(format!("Fewer than {steps} steps are left after the warm-up, too few to call them steady"));
        }
        let (at, p_value) = change_point(rest);
        let (before, after) = rest.split_at(at);
        let shift = match (median(before), median(after)) {
            (Some(a), Some(b)) if a != 0.0 => (b / a - 1.0).abs(),
            _ => 0.0,
        };
        if p_value >= options.level || shift <= options.max_cov {
            return WarmUpEnd::Steady { first: quiet + start * size, rule: SteadyRule::NoBreak { p_value } };
        }
        if at * 2 > rest.len() {
            let step = quiet + (start + at) * size;
            return no(format!("The step time changed by {:.0} % as late as step {step}", shift * 100.0));
        }
        start += at;
    }
}

/// Orders drawn to judge a change point.
const PERMUTATIONS: usize = 999;

/// Test for one change point: index of the first value after the most likely break, and the p-value. The statistic is the
/// largest standardised sum of scores over all splits (so that a short warm-up is found as well as a long one), its
/// distribution that over random orders of the same values.
fn change_point(values: &[f64]) -> (usize, f64) {
    let mut centred = scores(values);
    let (at, observed) = largest_split(&centred);
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut extreme = 0u32;
    for _ in 0..PERMUTATIONS {
        centred.shuffle(&mut rng);
        extreme += u32::from(largest_split(&centred).1 >= observed);
    }
    (at, f64::from(extreme + 1) / (PERMUTATIONS + 1) as f64)
}

/// Distances from the median in scaled deviations, held within ±3 so that one slow window is no break, less their mean.
fn scores(values: &[f64]) -> Vec<f64> {
    let (centre, spread) = (median(values).unwrap_or(0.0), mad(values).unwrap_or(0.0) * MAD_TO_SD);
    let score = |x: &f64| if spread > 0.0 { ((x - centre) / spread).clamp(-3.0, 3.0) } else { x - centre };
    let scores: Vec<f64> = values.iter().map(score).collect();
    let middle = mean(&scores).unwrap_or(0.0);
    scores.iter().map(|x| x - middle).collect()
}

/// The split whose sum of scores is largest for its length, as (length of the first part, sum squared over its
/// variance up to a constant). Two values a side at least.
fn largest_split(centred: &[f64]) -> (usize, f64) {
    let n = centred.len();
    let (mut at, mut best, mut sum) = (0, 0.0_f64, 0.0);
    for (i, score) in centred.iter().enumerate() {
        sum += score;
        let (left, right) = (i + 1, n - i - 1);
        if left >= 2 && right >= 2 {
            let weight = sum * sum / (left as f64 * right as f64);
            if weight > best {
                (at, best) = (left, weight);
            }
        }
    }
    (at, best)
}

/// Step after which the candidate has made up for its longer cold start: (cold_b − cold_a) / (step_a − step_b), zero
/// where it starts no later. `None` = never: its steps are not shorter. All in one unit of time.
pub fn break_even_steps(cold_a: f64, cold_b: f64, step_a: f64, step_b: f64) -> Option<f64> {
    let gain = step_a - step_b;
    (gain > 0.0).then(|| ((cold_b - cold_a) / gain).max(0.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::testing::normal;
    use super::*;
    use proptest::prelude::*;

    fn noisy(seed: u64, levels: &[(usize, f64)], noise: f64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        levels
            .iter()
            .flat_map(|(n, level)| vec![*level; *n])
            .map(|level| level * (noise * normal(&mut rng)).exp())
            .collect()
    }

    fn first(end: &WarmUpEnd) -> usize {
        match end {
            WarmUpEnd::Steady { first, .. } => *first,
            WarmUpEnd::NoSteadyState { reason, .. } => panic!("{reason}"),
        }
    }

    #[test]
    fn events_hold_it_back() {
        let times = noisy(1, &[(100, 10.0)], 0.001);
        let mut events = vec![false; 100];
        events[0] = true;
        events[15] = true;
        assert_eq!(first(&end_of_warm_up(&times, &events, &WarmUpOptions::default())), 16);
        // Memory that grows much later is an incident, not warm-up.
        events[60] = true;
        assert_eq!(first(&end_of_warm_up(&times, &events, &WarmUpOptions::default())), 16);
    }

    #[test]
    fn slow_start_is_cut_by_statistics() {
        let times = noisy(2, &[(12, 30.0), (90, 10.0)], 0.005);
        let at = first(&end_of_warm_up(&times, &[], &WarmUpOptions::default()));
        assert_eq!(at, 12);
        // The same on a machine so noisy that windows never agree to 2 %.
        let times = noisy(3, &[(15, 40.0), (120, 10.0)], 0.2);
        let end = end_of_warm_up(&times, &[], &WarmUpOptions::default());
        assert!(matches!(end, WarmUpEnd::Steady { first: 12..=18, rule: SteadyRule::NoBreak { .. } }), "{end:?}");
    }

    #[test]
    fn no_steady_state_is_said() {
        let late = noisy(4, &[(60, 10.0), (30, 20.0)], 0.1);
        let end = end_of_warm_up(&late, &[], &WarmUpOptions::default());
        assert!(
            matches!(&end, WarmUpEnd::NoSteadyState { quiet_from: Some(0), reason } if reason.contains("as late as"))
        );
        assert_eq!(end.first_usable(), Some(0));
        let compiling = end_of_warm_up(&[1.0; 50], &[true; 50], &WarmUpOptions::default());
        assert!(matches!(compiling, WarmUpEnd::NoSteadyState { quiet_from: None, .. }));
        assert!(matches!(end_of_warm_up(&[], &[], &WarmUpOptions::default()), WarmUpEnd::NoSteadyState { .. }));
    }

    #[test]
    fn change_point_by_hand() {
        // Median 2 and all deviations 1 or 0: MAD 0, so the distances themselves, less their mean of 0.2.
        assert_eq!(scores(&[2.0, 2.0, 2.0, 3.0, 2.0]), vec![-0.2, -0.2, -0.2, 0.8, -0.2]);
        // After three: 4.5² / 9.
        assert_eq!(largest_split(&[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]), (3, 2.25));
        let (at, p) = change_point(&[1.0, 1.1, 1.2, 5.0, 5.1, 5.2, 5.3, 5.0, 5.1, 5.4]);
        assert_eq!(at, 3);
        assert!(p < 0.1, "{p}");
    }

    #[test]
    fn change_point_false_alarms() {
        let mut alarms = 0;
        for seed in 0..300 {
            alarms += u32::from(change_point(&noisy(seed, &[(30, 10.0)], 0.2)).1 < 0.05);
        }
        assert!(alarms <= 25, "{alarms} of 300 at 5 %");
    }

    #[test]
    fn break_even() {
        assert_eq!(break_even_steps(1.0, 3.0, 0.5, 0.25), Some(8.0));
        assert_eq!(break_even_steps(3.0, 1.0, 0.5, 0.25), Some(0.0));
        assert_eq!(break_even_steps(1.0, 3.0, 0.2, 0.25), None);
    }

    proptest! {
        #[test]
        fn any_input_is_answered(
            times in prop::collection::vec(prop::num::f64::ANY, 0..120),
            events in prop::collection::vec(any::<bool>(), 0..150),
            window in 0..5_usize,
        ) {
            let options = WarmUpOptions { window_steps: window, quiet_steps: 3, ..Default::default() };
            if let Some(first) = end_of_warm_up(&times, &events, &options).first_usable() {
                prop_assert!(first <= times.len());
            }
        }
    }
}
