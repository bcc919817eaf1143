//! The phases of a training step. Their times sum to the step; what is left over is `Other`.

use serde::{Deserialize, Serialize};

/// One part of a training step, in the order in which the parts happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Phase {
    /// The training thread waits for a batch, or makes it itself when the pipeline is off.
    InputWait,
    /// The batch goes to the device.
    Upload,
    /// Forward pass up to the logits.
    Forward,
    /// Loss from the logits.
    Loss,
    /// Backward pass.
    Backward,
    /// Parameter update, with gradient unscaling and checks.
    Optimizer,
    /// The host reads loss and accuracy back, and so waits for the device.
    Readback,
    /// Time of the step in none of the phases above: unattributed.
    Other,
}

impl Phase {
    /// Number of phases.
    pub const COUNT: usize = 8;

    /// All phases, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::InputWait,
        Self::Upload,
        Self::Forward,
        Self::Loss,
        Self::Backward,
        Self::Optimizer,
        Self::Readback,
        Self::Other,
    ];

    /// Stable identifier, as used in `steps.csv` and in trace arguments.
    pub fn id(self) -> &'static str {
        match self {
            Self::InputWait => "input_wait",
            Self::Upload => "upload",
            Self::Forward => "forward",
            Self::Loss => "loss",
            Self::Backward => "backward",
            Self::Optimizer => "optimizer",
            Self::Readback => "readback",
            Self::Other => "other",
        }
    }

    /// Words for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::InputWait => "Input wait",
            Self::Upload => "Upload",
            Self::Forward => "Forward",
            Self::Loss => "Loss",
            Self::Backward => "Backward",
            Self::Optimizer => "Optimizer",
            Self::Readback => "Readback",
            Self::Other => "Unattributed",
        }
    }

    /// The phase with this identifier.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.id() == id)
    }
}
