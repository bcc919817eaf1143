//! What a trace says about a training, whoever recorded it: its steps, where their time goes, when the device was idle and
//! why, and which operation launched which kernel.

pub mod copies;
pub mod critical;
pub mod idle;
pub mod intervals;
pub mod launches;
pub mod memory;
pub mod role;
pub mod split;
pub mod steps;
#[cfg(test)]
pub(crate) mod tests;
pub mod verdict;

pub use copies::CopyRow;
pub use critical::CriticalPath;
pub use idle::{Cause, DeviceTime};
pub use launches::Launches;
pub use memory::MemoryCurve;
pub use role::{Role, Roles};
pub use split::Part;
pub use steps::{StepSpan, Steps};

use crate::model::units;
use crate::stats::summary::Summary;
use crate::trace::Trace;
use serde::Serialize;

/// All of it. Times are nanoseconds of the trace's clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// The steps.
    pub steps: Steps,
    /// Their durations; `None` without steps.
    pub step_ns: Option<Summary>,
    /// Where their wall time goes; the parts sum to it.
    pub parts: Vec<Part>,
    /// The devices.
    pub devices: Vec<DeviceTime>,
    /// Share of the devices' work whose launch is known, 0 to 1; `None` without such work.
    pub launches_known: Option<f64>,
    /// Copies of memory within the steps, the longest time first.
    pub copies: Vec<CopyRow>,
    /// Curves of memory.
    pub memory: Vec<MemoryCurve>,
    /// The critical path of the step whose duration is the median.
    pub critical: Option<CriticalPath>,
    /// What stands out, the most important first.
    pub verdicts: Vec<String>,
}

impl Profile {
    /// Looks at a trace. `marker` is a name that the user takes for a step.
    pub fn of(trace: &Trace, marker: Option<&str>) -> Self {
        let roles = Roles::of(trace);
        Self::with(trace, &roles, &Launches::of(trace, &roles), marker)
    }

    /// The same with roles and launches that are known already.
    pub fn with(trace: &Trace, roles: &Roles, launches: &Launches, marker: Option<&str>) -> Self {
        let steps = steps::find(trace, roles, marker);
        let parts = match steps.list.as_slice() {
            [] => Vec::new(),
            list => split::split(&split::busy_by_role(trace, roles), list),
        };
        let window = steps.list.first().zip(steps.list.last()).map(|(first, last)| (first.start_ns, last.end_ns));
        let devices = idle::devices(trace, roles, launches, window);
        let times: Vec<f64> = steps.list.iter().map(|step| step.dur_ns() as f64).collect();
        let mut work = 0_u64;
        for track in trace.tracks().iter().filter(|track| track.kind == crate::model::TrackKind::Device) {
            work += track.spans().filter(|(_, span)| roles.role(track, span).on_device()).count() as u64;
        }
        let critical = median(&steps.list).and_then(|step| critical::of_step(trace, roles, launches, step));
        let mut profile = Self {
            step_ns: Summary::of(&times),
            copies: copies::copies(trace, roles, window),
            memory: memory::curves(trace, &steps.list),
            critical,
            steps,
            parts,
            devices,
            launches_known: (work > 0).then(|| launches.len() as f64 / work as f64),
            verdicts: Vec::new(),
        };
        profile.verdicts = verdict::of(&profile);
        profile
    }

    /// Mean time a step of a part, in nanoseconds; 0 where it does not occur.
    pub fn part_ns(&self, role: Role) -> f64 {
        self.parts.iter().find(|part| part.role == role).map_or(0.0, |part| part.mean_ns)
    }

    /// Share of a part in the steps, 0 to 1.
    pub fn share(&self, role: Role) -> f64 {
        self.parts.iter().find(|part| part.role == role).map_or(0.0, |part| part.share)
    }

    /// One sentence on the steps.
    pub fn step_sentence(&self) -> String {
        match &self.step_ns {
            Some(step) => format!(
                "{} ({}), {} at the median, {} to {} from the 5th to the 95th percentile",
                units::counted(step.n as u64, "step"),
                self.steps.how,
                units::duration_ns(step.median),
                units::duration_ns(step.p5),
                units::duration_ns(step.p95)
            ),
            None => self.steps.how.clone(),
        }
    }
}

/// The step in the middle of all, by duration.
fn median(steps: &[StepSpan]) -> Option<&StepSpan> {
    let mut by_length: Vec<&StepSpan> = steps.iter().collect();
    by_length.sort_by_key(|step| (step.dur_ns(), step.start_ns));
    by_length.get(by_length.len().saturating_sub(1) / 2).copied()
}
