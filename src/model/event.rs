//! One line of `events.jsonl`: what was said, compiled or tuned during a run.

use serde::{Deserialize, Serialize};

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventLevel {
    /// Good to know.
    Info,
    /// Something that the reader of the run's figures should know.
    Warning,
    /// Something failed.
    Error,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A message of the program or of a library.
    Log,
    /// A kernel was compiled.
    Compile,
    /// A kernel was chosen by trying several.
    Autotune,
    /// The recorder speaks of itself: what it could not measure, how exact its clocks are.
    Recorder,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogEvent {
    /// When, in nanoseconds since the run's start.
    pub t_ns: i64,
    /// How much it matters.
    pub level: EventLevel,
    /// What it is about.
    pub kind: EventKind,
    /// Where it comes from, for example `cubecl::autotune`.
    pub source: String,
    /// A sentence, or the message as it came.
    pub text: String,
}
