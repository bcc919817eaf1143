//! Experiments: the worker and its protocol, the conductor that starts and watches workers, and interleaved A/B runs.

pub mod conductor;
pub mod experiment;
pub mod load;
pub mod plan;
pub mod protocol;
pub mod runs;
#[cfg(feature = "train")]
pub mod worker;

use crate::format::FormatError;
use crate::model::{RunEnd, SpecError};
use thiserror::Error;

/// Why an experiment did not come to its end.
#[derive(Debug, Error)]
pub enum LabError {
    /// The spec does not allow it.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Nothing differs between the arms.
    #[error("`{0}` changes nothing in this spec, so there is nothing to compare")]
    NothingFlipped(String),
    /// A worker could not be started or reached.
    #[error(transparent)]
    Conductor(#[from] conductor::ConductorError),
    /// A run folder could not be made, read or written.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// An arm's run ended before its time, and the experiment with it.
    #[error("the run `{arm}` ended early: {}{}", end.label(), end.detail().map(|d| format!(": {d}")).unwrap_or_default())]
    ArmEnded {
        /// Name of the arm.
        arm: String,
        /// How it ended.
        end: Box<RunEnd>,
    },
    /// A block took too long.
    #[error("the run `{arm}` did not finish a block within {secs} s")]
    BlockTimeout {
        /// Name of the arm.
        arm: String,
        /// The limit.
        secs: u64,
    },
    /// The user stopped it.
    #[error("stopped; the runs made so far are kept")]
    Cancelled,
}
