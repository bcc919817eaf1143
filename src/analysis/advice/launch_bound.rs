//! Many kernels and an idle device between them: launching is what takes the time.

use super::{Advice, Facts};
use crate::model::units;

/// Kernels of a step from which on joining them may matter.
const KERNELS: f64 = 100.0;
/// Busy share below which the device waits between kernels.
const BUSY: f64 = 0.7;

pub(super) fn check(facts: &Facts) -> Option<Advice> {
    let kernels = *facts.counts.kernels.get()?;
    let busy = *facts.device_busy.get()?;
    if facts.manifest.spec.compiler.fusion || kernels < KERNELS || busy > BUSY {
        return None;
    }
    Some(Advice {
        rule: "launch-bound",
        title: "Many small kernels, and the device idles between them".to_owned(),
        evidence: vec![
            format!("{kernels:.0} kernel launches a step; counted"),
            format!("the device was busy {} of the time; device timestamps", units::percent(busy)),
        ],
        suggestion: "Turn kernel fusion on, so that neighbouring operations share a launch.".to_owned(),
        toggle: Some("fusion"),
    })
}
