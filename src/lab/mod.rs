//! Experiments: the worker and its protocol, the conductor that starts and watches workers, and interleaved A/B runs.

pub mod conductor;
pub mod load;
pub mod plan;
pub mod protocol;

use crate::model::SpecError;
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
}
