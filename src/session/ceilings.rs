//! Holds the rates of tables against what the device was measured to do: shares where a rate is possible, and an error
//! where it is not.

use crate::analysis::OpRow;
#[cfg(feature = "train")]
use crate::model::Precision;
use crate::model::{Known, RunManifest};

/// What to do when nothing was measured.
const NOT_MEASURED: &str = "the device's ceilings were not measured; `burnscope devices --measure` does it";

/// What to do when the work is of another kind than the ceiling.
#[cfg(feature = "train")]
const OTHER_PRECISION: &str = "the device's compute ceiling was measured in f32, and this run computes in f16";

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
        Ok(Some(ceilings)) => {
            let f32_only = manifest.spec.precision.mode == Precision::F32;
            let compute = if f32_only { ceilings.compute() } else { Known::unknown(OTHER_PRECISION) };
            Limits { compute, copy: ceilings.copy.best.clone() }
        }
        Ok(None) => unknown(NOT_MEASURED.to_owned()),
        Err(error) => unknown(error.to_string()),
    }
}

/// Without training there are no measurements.
#[cfg(not(feature = "train"))]
pub(super) fn limits(_manifest: &RunManifest) -> Limits {
    Limits { compute: Known::unknown(NOT_MEASURED), copy: Known::unknown(NOT_MEASURED) }
}

/// Compute rate of a run as a whole (the model's work over its median step), and its share of the device's ceiling.
pub fn run_rate(manifest: &RunManifest) -> (Known<f64>, Known<f64>) {
    let Some(summary) = &manifest.summary else {
        let pending = || Known::unknown("measured when the run ends");
        return (pending(), pending());
    };
    let (mut rate, mut share) = (summary.compute_rate(), Known::default());
    hold(&mut rate, &mut share, &limits(manifest).compute);
    (rate, share)
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
