//! Holds the rates of tables against what the device was measured to do: shares where a rate is possible, and an error
//! where it is not.

use crate::analysis::OpRow;
use crate::model::{Known, RunManifest};

/// What to do when nothing was measured.
const NOT_MEASURED: &str = "the device's ceilings were not measured; `burnscope devices --measure` does it";

/// Ceilings of a device, as rates a second.
pub(super) struct Limits {
    compute: Known<f64>,
    copy: Known<f64>,
}

/// The stored ceilings of the device that a run trained on.
#[cfg(feature = "train")]
pub(super) fn limits(manifest: &RunManifest) -> Limits {
    let unknown = |why: String| Limits { compute: Known::unknown(why.clone()), copy: Known::unknown(why) };
    if manifest.environment.device.is_empty() {
        return unknown("the device of this trace is not known".to_owned());
    }
    match crate::kernels::store::load(&crate::train::cache_dir(), manifest.environment.adapter.as_ref()) {
        Ok(Some(ceilings)) => Limits { compute: ceilings.compute(), copy: ceilings.copy.best.clone() },
        Ok(None) => unknown(NOT_MEASURED.to_owned()),
        Err(error) => unknown(error.to_string()),
    }
}

/// Without training there are no measurements.
#[cfg(not(feature = "train"))]
pub(super) fn limits(_manifest: &RunManifest) -> Limits {
    Limits { compute: Known::unknown(NOT_MEASURED), copy: Known::unknown(NOT_MEASURED) }
}

/// Fills in the shares of a table's rows. A rate above its ceiling is taken out: the measurement is wrong.
pub(super) fn hold_against(rows: &mut [OpRow], limits: &Limits) {
    for row in rows {
        hold(&mut row.flops_per_sec, &mut row.compute_share, &limits.compute);
        hold(&mut row.bytes_per_sec, &mut row.copy_share, &limits.copy);
    }
}

#[cfg(feature = "train")]
fn hold(rate: &mut Known<f64>, share: &mut Known<f64>, ceiling: &Known<f64>) {
    *share = crate::kernels::check_rate(rate, ceiling);
    if rate.get().is_some() && ceiling.get().is_some() && share.get().is_none() {
        *rate = share.clone();
    }
}

#[cfg(not(feature = "train"))]
fn hold(_rate: &mut Known<f64>, share: &mut Known<f64>, ceiling: &Known<f64>) {
    *share = ceiling.clone();
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::*;
    use crate::model::Source;

    #[test]
    fn a_rate_above_the_ceiling_is_an_error_and_one_below_a_share() {
        let ceiling = Known::value(100.0, Source::DeviceTimestamp, 5);
        let (mut rate, mut share) = (Known::value(25.0, Source::Derived, 3), Known::default());
        hold(&mut rate, &mut share, &ceiling);
        assert_eq!((rate.get(), share.get()), (Some(&25.0), Some(&0.25)));
        let mut rate = Known::value(300.0, Source::Derived, 3);
        hold(&mut rate, &mut share, &ceiling);
        assert!(rate.reason().unwrap().contains("measurement is wrong"));
        let mut rate = Known::value(300.0, Source::Derived, 3);
        hold(&mut rate, &mut share, &Known::unknown(NOT_MEASURED));
        assert_eq!(rate.get(), Some(&300.0));
        assert!(share.reason().unwrap().contains("--measure"));
    }
}
