//! The two distributions that the rest needs: the normal and Student's t.

use std::f64::consts::{PI, SQRT_2};

/// Probability that a standard normal variable is at most `z`. Absolute error below 1e-14.
pub fn normal_cdf(z: f64) -> f64 {
    let tail = 0.5 * upper_gamma_half(z * z / 2.0);
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// Quantile of the standard normal distribution for a probability; infinite at 0 and 1, NaN outside.
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    bisect(-40.0, 40.0, |z| normal_cdf(z) < p)
}

/// Probability that a variable with Student's t distribution of `df` > 0 degrees of freedom is at most `t`.
pub fn t_cdf(t: f64, df: f64) -> f64 {
    let tail = 0.5 * incomplete_beta(df / 2.0, 0.5, df / (df + t * t));
    if t < 0.0 { tail } else { 1.0 - tail }
}

/// Quantile of Student's t distribution with `df` > 0 degrees of freedom, for a probability strictly within 0 and 1.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if p.is_nan() || p <= 0.0 || p >= 1.0 || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if df < 3.0 {
        // Heavy tails: with one degree of freedom the quantile at 1e-9 is about -3e8.
        return bisect(-1e12, 1e12, |t| t_cdf(t, df) < p);
    }
    // Cornish and Fisher's expansion about the normal quantile, made exact by Newton's steps.
    let z = normal_quantile(p);
    let mut t = z + (z.powi(3) + z) / (4.0 * df) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * df * df);
    let log_front = ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0) - (df * PI).ln() / 2.0;
    for _ in 0..20 {
        let density = (log_front - (df + 1.0) / 2.0 * (t * t / df).ln_1p()).exp();
        let step = (t_cdf(t, df) - p) / density;
        if !step.is_finite() || step.abs() <= 1e-13 * t.abs() {
            break;
        }
        // Far out, where the density fades, a whole step could jump past the answer.
        t -= step.clamp(-1.0 - t.abs() / 2.0, 1.0 + t.abs() / 2.0);
    }
    t
}

/// The point where `below` turns from true to false.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) { low = middle } else { high = middle }
    }
    low + (high - low) / 2.0
}

/// Regularised upper incomplete gamma function Q(1/2, x), the complementary error function of √x.
fn upper_gamma_half(x: f64) -> f64 {
    let front = (-x).exp() * x.sqrt() / PI.sqrt();
    if x < 1.5 {
        // Series for P(1/2, x).
        let (mut term, mut sum, mut a) = (2.0, 2.0, 0.5);
        for _ in 0..500 {
            a += 1.0;
            term *= x / a;
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        1.0 - front * sum
    } else {
        // Lentz's continued fraction for Q(1/2, x).
        let mut b = x + 0.5;
        let mut c = 1e300;
        let mut d = 1.0 / b;
        let mut h = d;
        for i in 1..500 {
            let k = f64::from(i);
            let a = -k * (k - 0.5);
            b += 2.0;
            d = 1.0 / guard(a * d + b);
            c = guard(b + a / c);
            let delta = c * d;
            h *= delta;
            if (delta - 1.0).abs() < 1e-16 {
                break;
            }
        }
        front * h
    }
}

/// Regularised incomplete beta function by Lentz's continued fraction (Numerical Recipes, section 6.4).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for i in 1..1000 {
        let m = f64::from(i);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let delta = d * c;
        h *= delta;
        if (delta - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

/// Keeps a denominator of a continued fraction away from zero.
fn guard(x: f64) -> f64 {
    if x.abs() < 1e-300 { 1e-300 } else { x }
}

/// Logarithm of the gamma function for x > 0, by Stirling's series after shifting x above 10.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse
        * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))));
    (x - 0.5) * x.ln() - x + (2.0 * PI).ln() / 2.0 + series - shift
}

/// Probability that a standard normal variable lies further from zero than `z`, on both sides.
pub fn normal_two_sided(z: f64) -> f64 {
    upper_gamma_half((z / SQRT_2).powi(2)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_table() {
        for (z, p) in
            [(0.0, 0.5), (1.0, 0.841_344_746_068_543), (-1.96, 0.024_997_895_148_220_4), (5.0, 0.999_999_713_348_428)]
        {
            assert!((normal_cdf(z) - p).abs() < 1e-13, "{z}: {}", normal_cdf(z));
        }
        assert!((normal_quantile(0.975) - 1.959_963_984_540_05).abs() < 1e-10);
        assert!((normal_two_sided(1.959_963_984_540_05) - 0.05).abs() < 1e-12);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert!(normal_quantile(1.5).is_nan());
    }

    #[test]
    fn student_table() {
        // Published two-sided 95 % and 99 % points.
        for (p, df, t) in [
            (0.975, 1.0, 12.706_204_736),
            (0.975, 7.0, 2.364_624_252),
            (0.80, 7.0, 0.896_029_644),
            (0.995, 10.0, 3.169_272_673),
            (0.975, 30.0, 2.042_272_456),
            (0.9995, 3.0, 12.923_978_636),
        ] {
            assert!((t_quantile(p, df) - t).abs() < 1e-8, "{p} {df}: {}", t_quantile(p, df));
            assert!((t_quantile(1.0 - p, df) + t).abs() < 1e-8);
        }
        assert!((t_cdf(1.0, 1.0) - 0.75).abs() < 1e-13);
        assert!((t_quantile(0.975, 1e7) - 1.959_964).abs() < 1e-5);
        assert!(t_quantile(0.0, 3.0).is_nan());
    }
}
