//! Ticks of the time axis: steps of 1, 2 or 5 in ns, µs, ms or s, with labels that stay short at any zoom.
//!
//! Pure arithmetic on a [`ViewRange`]; knows no trace and no widgets.

use super::view::ViewRange;
use crate::model::units;

/// Least distance between labelled ticks, in pixels: room for a label such as `+12.345 ms`.
pub const MIN_LABEL_PX: f64 = 90.0;

/// Labels with more digits than this before the point are written relative to a base.
const MAX_UNIT_VALUE: f64 = 100_000.0;

/// One tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Time, in nanoseconds relative to the trace's start.
    pub ns: f64,
    /// Position, in pixels from the left edge of the view.
    pub x: f64,
    /// Text, on the main ticks only.
    pub label: Option<String>,
}

/// The ticks of one view.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ruler {
    /// Ticks from left to right, main and minor.
    pub ticks: Vec<Tick>,
    /// Where labels are offsets (they begin with `+`): what they are offsets from.
    pub base: Option<String>,
    /// Time between two main ticks, in nanoseconds.
    pub step_ns: f64,
}

/// The step of 1, 2 or 5 times a power of ten, in nanoseconds, that keeps main ticks at least `min_px` apart, with the
/// number of parts into which minor ticks cut it. Never below 1 ns, the store's resolution.
pub fn step_ns(ns_per_px: f64, min_px: f64) -> (f64, u32) {
    let least = (ns_per_px * min_px).max(1.0);
    let decade = 10_f64.powi(least.log10().floor() as i32);
    let (step, parts) = [(1.0, 5), (2.0, 4), (5.0, 5), (10.0, 5)]
        .into_iter()
        .map(|(factor, parts)| (factor * decade, parts))
        // Rounding of `powi` must not skip a step that fits.
        .find(|(step, _)| *step >= least * (1.0 - 1e-12))
        .unwrap_or((10.0 * decade, 5));
    // Parts of a nanosecond do not exist.
    if step / f64::from(parts) < 1.0 { (step, if step >= 2.0 { step as u32 } else { 1 }) } else { (step, parts) }
}

/// The ticks of a view of `width_px` pixels.
pub fn ruler(view: &ViewRange, width_px: f64) -> Ruler {
    let (step_ns, parts) = step_ns(view.ns_per_px, MIN_LABEL_PX);
    let (unit_ns, unit) = unit_of(step_ns);
    let end_ns = view.end_ns(width_px);
    let far = view.start_ns.abs().max(end_ns.abs()) / unit_ns >= MAX_UNIT_VALUE;
    // A thousand units, so that the base stays put while the view is panned within it.
    let base_ns = if far { (view.start_ns / (1000.0 * unit_ns)).floor() * 1000.0 * unit_ns } else { 0.0 };
    let minor_ns = step_ns / f64::from(parts);
    // The view is at most `width / min_px` steps long, so that the indices are small relative to `first`.
    let first = (view.start_ns / minor_ns).ceil();
    let count = ((end_ns / minor_ns).floor() - first).max(-1.0) as usize;
    let ticks = (0..=count)
        .take_while(|_| end_ns / minor_ns >= first)
        .map(|i| {
            let idx = first + i as f64;
            let ns = idx * minor_ns;
            let main = idx.rem_euclid(f64::from(parts)) == 0.0;
            let label = main.then(|| label(ns - base_ns, step_ns, unit_ns, unit, far));
            Tick { ns, x: view.x_from_ns(ns), label }
        })
        .collect();
    let base = far.then(|| units::clock_text(base_ns));
    Ruler { ticks, base, step_ns }
}

fn unit_of(step_ns: f64) -> (f64, &'static str) {
    if step_ns >= 1e9 {
        (1e9, "s")
    } else if step_ns >= 1e6 {
        (1e6, "ms")
    } else if step_ns >= 1e3 {
        (1e3, "µs")
    } else {
        (1.0, "ns")
    }
}

fn label(ns: f64, step_ns: f64, unit_ns: f64, unit: &str, offset: bool) -> String {
    // Steps are 1, 2 or 5 times a power of ten that is not below the unit: whole numbers of it.
    debug_assert!(step_ns >= unit_ns);
    let value = (ns / unit_ns).round();
    let sign = match (offset, value < 0.0) {
        (true, false) => "+",
        (_, true) => "−",
        (false, false) => "",
    };
    format!("{sign}{} {unit}", units::count(value.abs() as u64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn steps_are_1_2_5_and_the_smallest_that_fit(ns_per_px in 1e-2..1e12_f64) {
            let (step, parts) = step_ns(ns_per_px, MIN_LABEL_PX);
            let mantissa = step / 10_f64.powi(step.log10().floor() as i32);
            prop_assert!([1.0, 2.0, 5.0, 10.0].iter().any(|m| (mantissa - m).abs() < 1e-6), "{step}");
            prop_assert!(step >= ns_per_px * MIN_LABEL_PX * (1.0 - 1e-9));
            prop_assert!(step <= (ns_per_px * MIN_LABEL_PX * 2.5).max(1.0) * (1.0 + 1e-9), "needlessly wide: {step}");
            prop_assert!((step / f64::from(parts)) >= 1.0 - 1e-9);
        }

        #[test]
        fn ticks_are_in_view_in_order_and_apart(
            start_ns in -1e9..1e15_f64, ns_per_px in 1e-2..1e9_f64, width in 1.0..6000.0_f64,
        ) {
            let view = ViewRange { start_ns, ns_per_px };
            let ruler = ruler(&view, width);
            // Rounding of times near 1e15 ns, in pixels.
            let slack = 0.5 / ns_per_px + 1e-6;
            for tick in &ruler.ticks {
                prop_assert!(tick.x >= -slack && tick.x <= width + slack);
            }
            for pair in ruler.ticks.windows(2) {
                prop_assert!(pair[1].ns > pair[0].ns);
            }
            let main: Vec<_> = ruler.ticks.iter().filter(|tick| tick.label.is_some()).collect();
            for pair in main.windows(2) {
                prop_assert!(pair[1].x - pair[0].x >= MIN_LABEL_PX - 2.0 * slack);
                prop_assert_ne!(&pair[0].label, &pair[1].label, "two ticks read the same");
            }
            prop_assert!(main.len() + 2 >= (width * ns_per_px / ruler.step_ns) as usize);
            for tick in main {
                prop_assert!(tick.label.as_ref().unwrap().chars().count() <= 12, "{:?}", tick.label);
            }
        }
    }

    #[test]
    fn labels_read_well() {
        let labels = |start_ns, ns_per_px| -> Vec<String> {
            let view = ViewRange { start_ns, ns_per_px };
            ruler(&view, 400.0).ticks.into_iter().filter_map(|tick| tick.label).collect()
        };
        assert_eq!(labels(0.0, 1e6), ["0 ms", "100 ms", "200 ms", "300 ms", "400 ms"]);
        assert_eq!(labels(0.0, 2e7), ["0 s", "2 s", "4 s", "6 s", "8 s"]);
        assert_eq!(labels(-1e6, 1e4), ["−1 ms", "0 ms", "1 ms", "2 ms", "3 ms"]);
        let far = ViewRange { start_ns: 100e9 + 5.0, ns_per_px: 0.1 };
        let ruler = ruler(&far, 400.0);
        assert_eq!(ruler.base.as_deref(), Some("100 s"));
        assert_eq!(ruler.ticks.iter().find_map(|tick| tick.label.as_deref()), Some("+10 ns"));
    }
}
