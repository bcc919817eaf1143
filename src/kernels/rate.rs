//! A rate as a share of what the device can do.

use crate::model::{Known, Source};

/// Tolerance above the ceiling: both are measured, and the clock speed may differ between them.
const TOLERANCE: f64 = 0.05;

/// Share of the ceiling that a rate reaches, 0 to 1 (a little more within the tolerance of 5 %). A rate beyond that is
/// no achievement but a fault of the measurement, and comes back as unknown with that reason. Both in the same unit.
pub fn check_rate(rate: &Known<f64>, ceiling: &Known<f64>) -> Known<f64> {
    let (rate, samples) = match rate {
        Known::Value { value, n, .. } => (*value, *n),
        Known::Unknown(reason) => return Known::unknown(reason.clone()),
    };
    let ceiling = match ceiling.get() {
        Some(ceiling) if *ceiling > 0.0 => *ceiling,
        Some(_) => return Known::unknown("the device's ceiling is not positive: measure the device again"),
        None => {
            let reason = ceiling.reason().unwrap_or("not measured");
            return Known::unknown(format!("the device's ceiling is unknown: {reason}"));
        }
    };
    let share = rate / ceiling;
    if !share.is_finite() || share < 0.0 {
        Known::unknown("the rate is not a number: the measurement is wrong")
    } else if share > 1.0 + TOLERANCE {
        Known::unknown(format!(
            "rate above the device's measured ceiling ({:.0} % of it): the measurement is wrong",
            share * 100.0
        ))
    } else {
        Known::value(share, Source::Derived, samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(x: f64) -> Known<f64> {
        Known::value(x, Source::DeviceTimestamp, 7)
    }

    #[test]
    fn shares() {
        assert_eq!(check_rate(&measured(5.0), &measured(10.0)), Known::value(0.5, Source::Derived, 7));
        assert!(check_rate(&measured(10.4), &measured(10.0)).get().is_some());
    }

    #[test]
    fn above_the_ceiling_is_an_error() {
        let share = check_rate(&measured(183.0), &measured(25.0));
        assert!(share.reason().is_some_and(|r| r.contains("measurement is wrong")), "{share:?}");
        assert!(check_rate(&measured(f64::NAN), &measured(1.0)).get().is_none());
        assert!(check_rate(&measured(1.0), &measured(0.0)).get().is_none());
    }

    #[test]
    fn reasons_are_passed_on() {
        let none = Known::unknown("no timestamps");
        assert_eq!(check_rate(&none, &measured(1.0)).reason(), Some("no timestamps"));
        assert!(check_rate(&measured(1.0), &none).reason().is_some_and(|r| r.contains("no timestamps")));
    }
}
