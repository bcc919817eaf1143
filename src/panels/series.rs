//! Preparing curves and distributions for plotting: thinned to what can be seen, never more points than pixels.
//!
//! Pure arithmetic on numbers; knows no runs and no widgets.

/// At most this many points of a curve are drawn; more than any plot here is wide.
pub const MAX_POINTS: usize = 2000;

/// A curve thinned to at most `max_points` points by keeping the smallest and the largest of each group of
/// neighbours, so that peaks survive. Points that are not finite are left out.
pub fn thin(points: &[[f64; 2]], max_points: usize) -> Vec<[f64; 2]> {
    let finite: Vec<[f64; 2]> = points.iter().copied().filter(|[x, y]| x.is_finite() && y.is_finite()).collect();
    let groups = (max_points / 2).max(1);
    if finite.len() <= groups * 2 {
        return finite;
    }
    let size = finite.len().div_ceil(groups);
    let mut thinned = Vec::with_capacity(groups * 2);
    for group in finite.chunks(size) {
        let by_y = |a: &&[f64; 2], b: &&[f64; 2]| a[1].total_cmp(&b[1]);
        let (Some(low), Some(high)) = (group.iter().min_by(by_y), group.iter().max_by(by_y)) else { continue };
        let (first, second) = if low[0] <= high[0] { (low, high) } else { (high, low) };
        thinned.push(*first);
        if first != second {
            thinned.push(*second);
        }
    }
    thinned
}

/// The empirical distribution function as corner points of a staircase: for each value the share of values that are
/// not larger. Values that are not finite are left out.
pub fn ecdf(values: &[f64]) -> Vec<[f64; 2]> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let mut corners = Vec::with_capacity(sorted.len() * 2);
    for (i, &value) in sorted.iter().enumerate() {
        corners.push([value, i as f64 / n]);
        corners.push([value, (i + 1) as f64 / n]);
    }
    corners
}

/// A running mean over `window` points on both sides, so that noisy curves can be told apart. `window` 0 changes
/// nothing. Points that are not finite are left out.
pub fn smooth(points: &[[f64; 2]], window: usize) -> Vec<[f64; 2]> {
    let finite: Vec<[f64; 2]> = points.iter().copied().filter(|[x, y]| x.is_finite() && y.is_finite()).collect();
    (0..finite.len())
        .filter_map(|i| {
            let around = finite.get(i.saturating_sub(window)..(i + window + 1).min(finite.len()))?;
            let mean = around.iter().map(|[_, y]| y).sum::<f64>() / around.len() as f64;
            Some([finite.get(i)?[0], mean])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn thinning_keeps_extremes_and_order(ys in prop::collection::vec(-1e3..1e3_f64, 1..5000), max in 2..300_usize) {
            let points: Vec<[f64; 2]> = ys.iter().enumerate().map(|(i, y)| [i as f64, *y]).collect();
            let thinned = thin(&points, max);
            prop_assert!(thinned.len() <= max.max(2));
            let top = |points: &[[f64; 2]]| points.iter().map(|p| p[1]).fold(f64::MIN, f64::max);
            let bottom = |points: &[[f64; 2]]| points.iter().map(|p| p[1]).fold(f64::MAX, f64::min);
            prop_assert_eq!(top(&thinned), top(&points));
            prop_assert_eq!(bottom(&thinned), bottom(&points));
            prop_assert!(thinned.windows(2).all(|pair| pair[0][0] < pair[1][0]));
        }

        #[test]
        fn the_distribution_rises_from_nought_to_one(values in prop::collection::vec(-1e3..1e3_f64, 1..200)) {
            let corners = ecdf(&values);
            prop_assert_eq!(corners[0][1], 0.0);
            prop_assert_eq!(corners.last().unwrap()[1], 1.0);
            prop_assert!(corners.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] <= pair[1][1]));
        }
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        assert_eq!(thin(&[[0.0, f64::NAN], [1.0, 2.0]], 10), [[1.0, 2.0]]);
        assert_eq!(ecdf(&[f64::INFINITY]), Vec::<[f64; 2]>::new());
    }

    #[test]
    fn smoothing_averages_neighbours() {
        let points = [[0.0, 0.0], [1.0, 3.0], [2.0, 6.0], [3.0, 3.0]];
        assert_eq!(smooth(&points, 1), [[0.0, 1.5], [1.0, 3.0], [2.0, 4.0], [3.0, 4.5]]);
        assert_eq!(smooth(&points, 0), points);
        assert_eq!(smooth(&[[0.0, 1.0], [1.0, f64::NAN], [2.0, 3.0]], 1), [[0.0, 2.0], [2.0, 2.0]]);
    }
}
