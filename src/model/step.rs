//! One row for each training step.

use super::phase::Phase;
use serde::{Deserialize, Serialize};

/// Facts about a step that decide whether its time may be compared with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepFlags(pub u8);

impl StepFlags {
    /// Something was compiled, tuned or grown during the step, or it lies in the warm-up.
    pub const COLD: Self = Self(1);
    /// Ops were recorded (level L1 or higher).
    pub const TRACED: Self = Self(2);
    /// Every kernel was timed by the device (level L2, a sampled step); this slows the step down.
    pub const SAMPLED: Self = Self(4);
    /// The machine was disturbed (load, steal, context switches), or the step was run isolated.
    pub const PERTURBED: Self = Self(8);
    /// The optimizer skipped the update because a gradient overflowed.
    pub const SKIPPED: Self = Self(16);

    const NAMES: [(Self, &'static str); 5] = [
        (Self::COLD, "cold"),
        (Self::TRACED, "traced"),
        (Self::SAMPLED, "sampled"),
        (Self::PERTURBED, "perturbed"),
        (Self::SKIPPED, "skipped"),
    ];

    /// Whether all of `other`'s flags are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets `other`'s flags.
    pub fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether the step's time is fit for comparison: neither cold, sampled nor perturbed.
    pub fn steady(self) -> bool {
        self.0 & (Self::COLD.0 | Self::SAMPLED.0 | Self::PERTURBED.0) == 0
    }

    /// The names of the set flags joined by `+`, or an empty string.
    pub fn to_text(self) -> String {
        let set: Vec<&str> =
            Self::NAMES.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect();
        set.join("+")
    }

    /// Reads what [`Self::to_text`] wrote; `None` for an unknown name.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut flags = Self::default();
        for name in text.split('+').filter(|name| !name.is_empty()) {
            let (flag, _) = Self::NAMES.iter().find(|(_, known)| *known == name)?;
            flags.insert(*flag);
        }
        Some(flags)
    }
}

/// One training step as measured. All times are nanoseconds of the run's clock (0 = the run's start).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StepRecord {
    /// Number of the step in the run, from 0; warm-up steps count.
    pub step: u64,
    /// Number of the epoch, from 0.
    pub epoch: u32,
    /// Number of the A/B block the step belongs to; 0 outside an A/B experiment.
    pub block: u32,
    /// Start of the step.
    pub start_ns: i64,
    /// Wall time of the step.
    pub dur_ns: i64,
    /// Wall time of each phase, indexed by [`Phase`]; sums to `dur_ns`, the rest being [`Phase::Other`].
    pub phases_ns: [i64; Phase::COUNT],
    /// Mean loss of the batch, where it was read back.
    pub loss: Option<f32>,
    /// Share of the batch that was classified correctly, 0 to 1, where it was read back.
    pub accuracy: Option<f32>,
    /// Samples in the batch.
    pub samples: u32,
    /// Loss scale in force, with mixed precision.
    pub loss_scale: Option<f32>,
    /// What is to be known before the step is compared.
    pub flags: StepFlags,
}

impl StepRecord {
    /// Wall time of one phase, in nanoseconds.
    pub fn phase_ns(&self, phase: Phase) -> i64 {
        self.phases_ns[phase as usize]
    }

    /// Sets [`Phase::Other`] to what the named phases leave of the step.
    pub fn close(&mut self) {
        let named: i64 = self.phases_ns[..Phase::COUNT - 1].iter().sum();
        self.phases_ns[Phase::Other as usize] = self.dur_ns - named;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_round_trip_as_text() {
        for bits in 0..32 {
            let flags = StepFlags(bits);
            assert_eq!(StepFlags::from_text(&flags.to_text()), Some(flags));
        }
        assert_eq!(StepFlags::from_text("cold+warm"), None);
    }

    #[test]
    fn close_leaves_no_time_over() {
        let mut step = StepRecord { dur_ns: 100, phases_ns: [10, 5, 20, 5, 30, 10, 5, 0], ..Default::default() };
        step.close();
        assert_eq!(step.phase_ns(Phase::Other), 15);
        assert_eq!(step.phases_ns.iter().sum::<i64>(), step.dur_ns);
    }
}
