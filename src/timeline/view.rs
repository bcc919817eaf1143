//! The part of the time axis that is on screen: pan, zoom, fit and focus, as plain arithmetic.
//!
//! Times are `f64` nanoseconds relative to the trace's first event, so that they are exact to the nanosecond for a
//! hundred days; pixels are points from the left edge of the canvas. Knows no trace, no events and no widgets.

use serde::{Deserialize, Serialize};

/// Deepest zoom: one nanosecond is 100 px wide. Deeper would show nothing new, since the store counts nanoseconds.
pub const MIN_NS_PER_PX: f64 = 0.01;

/// Share of the width that an interval fills after [`ViewRange::focus`]; the rest shows what is around it.
const FOCUS_SHARE: f64 = 0.8;

/// Room on both sides of the whole trace after [`ViewRange::fit`], as a share of its length.
const FIT_MARGIN: f64 = 0.01;

/// How far the view can be zoomed out, in lengths of the whole trace.
const MAX_ZOOM_OUT: f64 = 2.0;

/// Times between which the trace has events, in nanoseconds relative to the trace's start; `start_ns <= end_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// First event.
    pub start_ns: f64,
    /// End of the last event.
    pub end_ns: f64,
}

impl Bounds {
    /// Length in nanoseconds, at least one, so that it can be divided by.
    pub fn len_ns(&self) -> f64 {
        (self.end_ns - self.start_ns).max(1.0)
    }
}

/// What is on screen: the time at the left edge and the scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ViewRange {
    /// Time at the left edge, in nanoseconds relative to the trace's start.
    pub start_ns: f64,
    /// Scale: nanoseconds in one pixel; positive.
    pub ns_per_px: f64,
}

impl Default for ViewRange {
    fn default() -> Self {
        Self { start_ns: 0.0, ns_per_px: 1e6 }
    }
}

impl ViewRange {
    /// The whole trace with a little room at both ends. `width_px` below one counts as one.
    pub fn fit(bounds: Bounds, width_px: f64) -> Self {
        let margin = bounds.len_ns() * FIT_MARGIN;
        Self::spanning(bounds.start_ns - margin, bounds.end_ns + margin, width_px)
    }

    /// An interval in the middle of the view, filling most of it.
    pub fn focus(start_ns: f64, end_ns: f64, width_px: f64) -> Self {
        let len = (end_ns - start_ns).max(1.0);
        let around = len * (1.0 / FOCUS_SHARE - 1.0) / 2.0;
        Self::spanning(start_ns - around, start_ns + len + around, width_px)
    }

    /// Exactly the interval from edge to edge.
    pub fn spanning(start_ns: f64, end_ns: f64, width_px: f64) -> Self {
        let ns_per_px = ((end_ns - start_ns).max(1.0) / width_px.max(1.0)).max(MIN_NS_PER_PX);
        Self { start_ns, ns_per_px }
    }

    /// Position of a time, in pixels from the left edge; outside the view it is negative or beyond the width.
    pub fn x_from_ns(&self, ns: f64) -> f64 {
        (ns - self.start_ns) / self.ns_per_px
    }

    /// Time at a position.
    pub fn ns_from_x(&self, x: f64) -> f64 {
        self.start_ns + x * self.ns_per_px
    }

    /// Time at the right edge.
    pub fn end_ns(&self, width_px: f64) -> f64 {
        self.ns_from_x(width_px.max(1.0))
    }

    /// Zooms so that the time under `x` stays under `x`; `factor` above one zooms in. Ignores factors that are not
    /// positive numbers.
    pub fn zoom_at(&mut self, x: f64, factor: f64) {
        if !(factor.is_finite() && factor > 0.0) {
            return;
        }
        let pinned = self.ns_from_x(x);
        self.ns_per_px = (self.ns_per_px / factor).max(MIN_NS_PER_PX);
        self.start_ns = pinned - x * self.ns_per_px;
    }

    /// Moves the content to the right by `dx` pixels, so the view goes back in time.
    pub fn pan_px(&mut self, dx: f64) {
        if dx.is_finite() {
            self.start_ns -= dx * self.ns_per_px;
        }
    }

    /// Keeps the trace in reach: not zoomed out beyond twice its length, at least half of the view or of the trace
    /// (whichever is shorter) on screen. Repairs a view that is not made of finite numbers by fitting.
    pub fn clamp(&mut self, bounds: Bounds, width_px: f64) {
        let width = width_px.max(1.0);
        if !(self.start_ns.is_finite() && self.ns_per_px.is_finite()) {
            *self = Self::fit(bounds, width);
            return;
        }
        let widest = (bounds.len_ns() * MAX_ZOOM_OUT / width).max(MIN_NS_PER_PX);
        self.ns_per_px = self.ns_per_px.clamp(MIN_NS_PER_PX, widest);
        let view_len = self.ns_per_px * width;
        let keep = view_len.min(bounds.len_ns()) / 2.0;
        self.start_ns = self.start_ns.clamp(bounds.start_ns + keep - view_len, bounds.end_ns - keep);
    }

    /// Moves the view, without zooming, so that `end_ns` is near its right edge: how a live run is followed.
    pub fn follow(&mut self, end_ns: f64, width_px: f64) {
        let len = self.ns_per_px * width_px.max(1.0);
        self.start_ns = end_ns - len * (1.0 - FIT_MARGIN);
    }

    /// The view a share of the way from here to `target`, for an animated move: the scale goes geometrically, and the
    /// left edge so that both ends of the interval move monotonically. `t` is 0 to 1.
    pub fn lerp(&self, target: &Self, t: f64) -> Self {
        let t = t.clamp(0.0, 1.0);
        let ns_per_px = self.ns_per_px * (target.ns_per_px / self.ns_per_px).powf(t);
        let change = target.ns_per_px - self.ns_per_px;
        // The edge follows the scale where the scale changes, so that a zoom towards a point keeps that point still.
        let u = if change.abs() > 1e-9 * self.ns_per_px { (ns_per_px - self.ns_per_px) / change } else { t };
        Self { start_ns: self.start_ns + (target.start_ns - self.start_ns) * u, ns_per_px }
    }

    /// Width of the buckets in which spans are gathered, in nanoseconds: the smallest power of two that is not below
    /// one pixel, and not below 1 ns. Being quantised, it stays the same over a range of zooms.
    pub fn bucket_ns(&self) -> i64 {
        // `MAX_ZOOM_OUT` of the longest possible trace stays far below 2^62.
        let exponent = self.ns_per_px.max(1.0).log2().ceil().clamp(0.0, 62.0) as u32;
        1_i64 << exponent
    }
}

/// Views that the user left, so that a pan or zoom can be undone.
#[derive(Debug, Clone, Default)]
pub struct ViewHistory {
    past: Vec<ViewRange>,
    future: Vec<ViewRange>,
}

impl ViewHistory {
    /// Views that are remembered.
    const CAPACITY: usize = 100;

    /// Remembers the view that is being left by a new movement.
    pub fn record(&mut self, left: ViewRange) {
        if self.past.last() == Some(&left) {
            return;
        }
        if self.past.len() == Self::CAPACITY {
            self.past.remove(0);
        }
        self.past.push(left);
        self.future.clear();
    }

    /// The view before the current one.
    pub fn back(&mut self, current: ViewRange) -> Option<ViewRange> {
        let view = self.past.pop()?;
        self.future.push(current);
        Some(view)
    }

    /// The view that [`Self::back`] left.
    pub fn forward(&mut self, current: ViewRange) -> Option<ViewRange> {
        let view = self.future.pop()?;
        self.past.push(current);
        Some(view)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    fn views() -> impl Strategy<Value = ViewRange> {
        (-1e12..1e15_f64, MIN_NS_PER_PX..1e9).prop_map(|(start_ns, ns_per_px)| ViewRange { start_ns, ns_per_px })
    }

    proptest! {
        #[test]
        fn zoom_keeps_the_time_under_the_pointer(mut view in views(), x in 0.0..4000.0_f64, factor in 0.01..100.0_f64) {
            let before = view.ns_from_x(x);
            view.zoom_at(x, factor);
            let after = view.ns_from_x(x);
            prop_assert!((before - after).abs() <= 1e-3 * view.ns_per_px.max(1.0), "{before} {after}");
        }

        #[test]
        fn x_and_ns_are_inverse(view in views(), x in -1e4..1e4_f64) {
            let back = view.x_from_ns(view.ns_from_x(x));
            // Absolute times near 1e15 ns resolve 0.125 ns, which is 12.5 px at the deepest zoom.
            let rounding = 0.25 / view.ns_per_px;
            prop_assert!((back - x).abs() <= 1e-6 + rounding);
        }

        #[test]
        fn pan_is_undone_by_the_opposite_pan(mut view in views(), dx in -1e4..1e4_f64) {
            let before = view;
            view.pan_px(dx);
            view.pan_px(-dx);
            prop_assert!((view.start_ns - before.start_ns).abs() <= 1.0);
        }

        #[test]
        fn clamp_keeps_the_trace_on_screen_and_is_idempotent(
            mut view in views(), start in -1e9..1e9_f64, len in 0.0..1e14_f64, width in 0.0..8000.0_f64,
        ) {
            let bounds = Bounds { start_ns: start, end_ns: start + len };
            view.clamp(bounds, width);
            prop_assert!(view.end_ns(width) > bounds.start_ns && view.start_ns < bounds.end_ns.max(start + 1.0));
            let once = view;
            view.clamp(bounds, width);
            prop_assert!((view.start_ns - once.start_ns).abs() <= 1e-9 * once.start_ns.abs().max(1.0));
            prop_assert_eq!(view.ns_per_px, once.ns_per_px);
        }

        #[test]
        fn focus_shows_the_whole_interval(start in -1e9..1e14_f64, len in 0.0..1e12_f64, width in 1.0..8000.0_f64) {
            let view = ViewRange::focus(start, start + len, width);
            prop_assert!(view.start_ns <= start && view.end_ns(width) >= start + len);
        }

        #[test]
        fn buckets_are_one_to_two_pixels(view in views()) {
            let bucket = view.bucket_ns() as f64;
            prop_assert!(bucket >= view.ns_per_px);
            prop_assert!(bucket < 2.0 * view.ns_per_px || bucket == 1.0);
        }

        #[test]
        fn an_animated_move_ends_where_it_should(a in views(), b in views(), t in 0.0..1.0_f64) {
            let close = |x: ViewRange, y: ViewRange| {
                (x.start_ns - y.start_ns).abs() <= 1e-6 * y.start_ns.abs().max(1.0)
                    && (x.ns_per_px / y.ns_per_px - 1.0).abs() < 1e-9
            };
            prop_assert!(close(a.lerp(&b, 0.0), a) && close(a.lerp(&b, 1.0), b));
            let between = a.lerp(&b, t).ns_per_px;
            let (low, high) = (a.ns_per_px.min(b.ns_per_px), a.ns_per_px.max(b.ns_per_px));
            prop_assert!(between >= low * (1.0 - 1e-9) && between <= high * (1.0 + 1e-9));
        }
    }

    #[test]
    fn clamp_repairs_what_is_no_number() {
        let bounds = Bounds { start_ns: 0.0, end_ns: 1e9 };
        let mut view = ViewRange { start_ns: f64::NAN, ns_per_px: 1.0 };
        view.clamp(bounds, 1000.0);
        assert_eq!(view, ViewRange::fit(bounds, 1000.0));
        view.zoom_at(10.0, f64::NAN);
        view.zoom_at(10.0, 0.0);
        view.pan_px(f64::INFINITY);
        assert_eq!(view, ViewRange::fit(bounds, 1000.0));
    }

    #[test]
    fn history_goes_back_and_forward() {
        let view = |start_ns| ViewRange { start_ns, ns_per_px: 1.0 };
        let mut history = ViewHistory::default();
        history.record(view(1.0));
        history.record(view(1.0));
        history.record(view(2.0));
        assert_eq!(history.back(view(3.0)), Some(view(2.0)));
        assert_eq!(history.back(view(2.0)), Some(view(1.0)));
        assert_eq!(history.back(view(1.0)), None);
        assert_eq!(history.forward(view(1.0)), Some(view(2.0)));
        history.record(view(7.0));
        assert_eq!(history.forward(view(8.0)), None, "a new movement ends the way forward");
        for i in 0..1000 {
            history.record(view(f64::from(i)));
        }
        assert_eq!(history.past.len(), ViewHistory::CAPACITY);
    }

    #[test]
    fn follow_puts_the_end_near_the_right_edge() {
        let mut view = ViewRange { start_ns: 0.0, ns_per_px: 10.0 };
        view.follow(1e6, 1000.0);
        assert!((view.x_from_ns(1e6) - 990.0).abs() < 1e-6);
    }
}
