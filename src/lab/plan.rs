//! What an experiment runs: its arms, and why a stage was left out.

use super::LabError;
use crate::model::{AdapterInfo, RunSpec, TOGGLES, Toggle};

/// One side of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Name for tables: `baseline`, `+ input pipeline`.
    pub name: String,
    /// What it runs.
    pub spec: RunSpec,
}

/// A stage that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Name of the stage.
    pub name: String,
    /// The reason, as a sentence.
    pub reason: String,
}

/// What kind of experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Baseline, then one toggle after the other, each on top of those before.
    Ladder,
    /// Two arms that differ in one thing.
    Ab,
}

impl Kind {
    /// As in `run.json`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Ladder => "ladder",
            Self::Ab => "ab",
        }
    }
}

/// An experiment before it starts. The arms beyond the baseline are decided once the device is known.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What kind.
    pub kind: Kind,
    /// The spec of the baseline.
    pub baseline: RunSpec,
    /// For A/B: what the second arm changes.
    pub flip: Vec<String>,
    /// Name of the flip, for tables.
    pub flip_name: String,
    /// Blocks each arm makes; the replicates of the statistics.
    pub blocks: u32,
    /// Steps of a block.
    pub steps_per_block: u64,
}

/// Blocks when nothing else is said: the exact sign-flip test can then reach p = 0.0078.
pub const DEFAULT_BLOCKS: u32 = 8;

impl Plan {
    /// The ladder on top of `spec`, with every toggle off in the baseline. `steps` is the number of measured steps an arm.
    pub fn ladder(spec: &RunSpec, steps: u64) -> Result<Self, LabError> {
        let off: Vec<String> = TOGGLES.iter().flat_map(|toggle| toggle.off).map(|set| (*set).to_owned()).collect();
        let baseline = spec.with_sets(&off)?;
        Ok(Self::new(Kind::Ladder, baseline, Vec::new(), String::new(), steps))
    }

    /// `spec` against `spec` with `flip`: a toggle's identifier (flipped to what it is not) or `key=value`.
    pub fn ab(spec: &RunSpec, flip: &str, steps: u64) -> Result<Self, LabError> {
        let (sets, name) = match Toggle::find(flip) {
            Some(toggle) => {
                let to = if toggle.is_on(spec) { toggle.off } else { toggle.on };
                let word = if toggle.is_on(spec) { "without" } else { "with" };
                (to.iter().map(|set| (*set).to_owned()).collect(), format!("{word} {}", toggle.label.to_lowercase()))
            }
            None => (vec![flip.to_owned()], flip.to_owned()),
        };
        let flipped = spec.with_sets(&sets)?;
        if flipped == *spec {
            return Err(LabError::NothingFlipped(flip.to_owned()));
        }
        Ok(Self::new(Kind::Ab, spec.clone(), sets, name, steps))
    }

    fn new(kind: Kind, baseline: RunSpec, flip: Vec<String>, flip_name: String, steps: u64) -> Self {
        let blocks = DEFAULT_BLOCKS.min(u32::try_from(steps.max(1)).unwrap_or(DEFAULT_BLOCKS));
        Self { kind, baseline, flip, flip_name, blocks, steps_per_block: 1 }.in_blocks(blocks, steps)
    }

    /// The same with this number of blocks (at least one) for `steps` steps of each arm.
    pub fn in_blocks(self, blocks: u32, steps: u64) -> Self {
        let blocks = blocks.max(1);
        Self { blocks, steps_per_block: (steps / u64::from(blocks)).max(1), ..self }
    }

    /// Name of the baseline arm.
    pub fn baseline_name(&self) -> &'static str {
        "baseline"
    }

    /// The arms after the baseline, and what was left out, on this device (`None` = the CPU).
    pub fn further_arms(&self, adapter: Option<&AdapterInfo>) -> Result<(Vec<Arm>, Vec<Refused>), LabError> {
        match self.kind {
            Kind::Ab => {
                let spec = self.baseline.with_sets(&self.flip)?;
                let refused = TOGGLES
                    .iter()
                    .filter(|toggle| toggle.is_on(&spec) && !toggle.is_on(&self.baseline))
                    .find_map(|toggle| toggle.refusal(adapter));
                match refused {
                    Some(reason) => Ok((Vec::new(), vec![Refused { name: self.flip_name.clone(), reason }])),
                    None => Ok((vec![Arm { name: self.flip_name.clone(), spec }], Vec::new())),
                }
            }
            Kind::Ladder => {
                let mut spec = self.baseline.clone();
                let (mut arms, mut refused) = (Vec::new(), Vec::new());
                for toggle in TOGGLES {
                    let name = format!("+ {}", toggle.label.to_lowercase());
                    if let Some(reason) = toggle.refusal(adapter) {
                        refused.push(Refused { name, reason });
                        continue;
                    }
                    let sets: Vec<String> = toggle.on.iter().map(|set| (*set).to_owned()).collect();
                    spec = spec.with_sets(&sets)?;
                    arms.push(Arm { name, spec: spec.clone() });
                }
                Ok((arms, refused))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_ladder_builds_up_and_says_what_it_leaves_out() {
        let plan = Plan::ladder(&RunSpec::default(), 60).unwrap();
        assert_eq!((plan.blocks, plan.steps_per_block), (8, 7));
        let (arms, refused) = plan.further_arms(None).unwrap();
        assert_eq!(arms.len(), 1);
        assert!(arms[0].spec.pipeline.enabled);
        assert_eq!(refused.len(), 2);

        let adapter = AdapterInfo { f16: true, ..AdapterInfo::default() };
        let (arms, refused) = plan.further_arms(Some(&adapter)).unwrap();
        assert_eq!((arms.len(), refused.len()), (3, 0));
        let last = &arms[2].spec;
        assert!(last.pipeline.enabled && last.compiler.fusion && last.precision.mode == crate::model::Precision::Mixed);
        assert_eq!(last.train, plan.baseline.train);
    }

    #[test]
    fn a_flip_is_a_toggle_or_an_assignment_and_must_change_something() {
        let spec = RunSpec::default();
        let plan = Plan::ab(&spec, "pipeline", 80).unwrap();
        assert_eq!(plan.flip_name, "with input pipeline");
        let plan = Plan::ab(&spec, "train.batch=64", 80).unwrap();
        assert_eq!(plan.further_arms(None).unwrap().0[0].spec.train.batch, 64);
        assert!(Plan::ab(&spec, "train.batch=128", 80).is_err());
        assert!(Plan::ab(&spec, "train.bach=64", 80).unwrap_err().to_string().contains("train.batch"));
    }
}
