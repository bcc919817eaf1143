//! Plain data that every room shares: units, phases, run specification, step records, run manifest, track kinds.
//!
//! This room knows no file format, no Burn and no window. It depends on nothing else of ours.

pub mod event;
pub mod known;
pub mod manifest;
pub mod phase;
pub mod spec;
pub mod spec_keys;
pub mod step;
pub mod toggles;
pub mod track;
pub mod units;

pub use event::{EventKind, EventLevel, LogEvent};
pub use known::{Known, Source};
pub use manifest::{AdapterInfo, Environment, ExperimentRef, RunEnd, RunManifest, RunSummary};
pub use phase::Phase;
pub use spec::{Precision, RunSpec, SpecError, TraceLevel};
pub use step::{StepFlags, StepRecord};
pub use toggles::{TOGGLES, Toggle};
pub use track::{TrackKind, category};
