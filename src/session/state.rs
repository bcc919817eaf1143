//! What the panels read: open runs, training, experiments, comparison, log. Plain data, changed only by the session.

use super::derived::Derived;
use crate::analysis::compare::Comparison;
use crate::format::{ImportReport, Watch};
use crate::lab::experiment::ArmOutcome;
use crate::lab::plan::Refused;
use crate::lab::protocol::WorkerState;
use crate::model::LogEvent;
use crate::model::{Environment, RunManifest, StepRecord};
use crate::trace::{Overlaps, SpanRef, Trace};
use std::path::PathBuf;
use std::sync::Arc;

/// A run of the library, as its `run.json` tells.
#[derive(Debug, Clone)]
pub struct RunEntry {
    /// Name of its folder.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
    /// Its `run.json`.
    pub manifest: Arc<RunManifest>,
    /// Size of the folder, in bytes.
    pub bytes: u64,
}

/// A run or trace that is open in the window.
#[derive(Debug, Clone)]
pub struct OpenRun {
    /// Name of its folder, or the path of a trace file.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
    /// What it is; for a foreign trace only the title is filled.
    pub manifest: Arc<RunManifest>,
    /// All steps read so far.
    pub steps: Arc<Vec<StepRecord>>,
    /// All spans read so far.
    pub trace: Trace,
    /// All messages read so far.
    pub events: Arc<Vec<LogEvent>>,
    /// What the reader has to say about the files.
    pub report: Arc<ImportReport>,
    /// Name of the spans that the user takes for its steps; `None` = as they are found.
    pub marker: Option<String>,
    /// What is done with its overlapping spans.
    pub overlaps: Overlaps,
    /// Spans and report as they were read, where overlapping spans were cut since.
    pub as_read: Option<(Trace, Arc<ImportReport>)>,
    /// Whether it is still growing.
    pub live: bool,
    /// Whether its first reading is not over yet.
    pub loading: bool,
    /// How far that reading has come.
    pub watch: Watch,
    /// What was computed from it.
    pub derived: Derived,
}

impl OpenRun {
    /// Cuts overlapping spans, or shows them again as they were read.
    pub fn set_overlaps(&mut self, policy: Overlaps) {
        let (trace, report) = self.as_read.take().unwrap_or_else(|| (self.trace.clone(), Arc::clone(&self.report)));
        let (cut_trace, cut) = trace.with_overlaps(policy);
        self.report = Arc::new(report.with_overlaps(policy, cut));
        self.as_read = (policy != Overlaps::Keep).then_some((trace, report));
        (self.trace, self.overlaps) = (cut_trace, policy);
    }
}

/// What is selected in the active run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// One span.
    pub span: Option<SpanRef>,
    /// A stretch of time, in nanoseconds of the run's clock.
    pub range_ns: Option<(i64, i64)>,
    /// All spans of a name.
    pub name: Option<String>,
}

/// Warm-up as the worker tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WarmUpState {
    /// What is being compiled or tuned.
    pub current: String,
    /// Kernels compiled so far.
    pub compiled: u64,
    /// Kernel choices tuned so far.
    pub tuned: u64,
    /// Seconds since its start.
    pub secs: f64,
}

/// The training under way, or the last one.
#[derive(Debug, Clone, Default)]
pub struct TrainingState {
    /// Its run.
    pub run_id: String,
    /// Where it is.
    pub state: WorkerState,
    /// Steps made.
    pub step: u64,
    /// Steps in all, 0 while unknown.
    pub total_steps: u64,
    /// Seconds left at the pace of the last steps, once there is one.
    pub eta_secs: Option<f64>,
    /// The warm-up.
    pub warm_up: WarmUpState,
    /// The last step.
    pub last: Option<StepRecord>,
    /// Pace of the last steps.
    pub samples_per_sec: Option<f64>,
    /// A stop was asked for.
    pub stopping: bool,
    /// What it runs on, once known.
    pub environment: Option<Environment>,
}

impl TrainingState {
    /// Whether it has not ended.
    pub fn active(&self) -> bool {
        self.state != WorkerState::Ended
    }
}

/// An experiment under way, or the last one.
#[derive(Debug, Clone, Default)]
pub struct ExperimentState {
    /// `Ladder` or the flip.
    pub title: String,
    /// What it is doing now, as a sentence.
    pub stage: String,
    /// Share done, 0 to 1.
    pub progress: f32,
    /// Seconds left, once there is a pace.
    pub eta_secs: Option<f64>,
    /// Names of the arms so far, with the median step time of each in ns, once it made steps.
    pub arms: Vec<(String, Option<f64>)>,
    /// Stages left out, with the reason.
    pub refused: Vec<Refused>,
    /// Warm-up of the arm that is warming up.
    pub warm_up: Option<WarmUpState>,
    /// The arms at the end.
    pub outcome: Vec<ArmOutcome>,
    /// Why it ended without a result.
    pub error: Option<String>,
    /// Whether it has ended.
    pub ended: bool,
}

/// The comparison in view.
#[derive(Debug, Clone, Default)]
pub struct CompareState {
    /// The run to compare against.
    pub baseline: Option<String>,
    /// The other runs.
    pub others: Vec<String>,
    /// What came out.
    pub result: Option<Arc<Comparison>>,
    /// Whether it is being computed.
    pub computing: bool,
    /// Why there is none.
    pub error: Option<String>,
}

/// Severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is less than it should be.
    Warning,
    /// Something failed.
    Error,
}

impl Level {
    /// Words for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// One line of the log.
#[derive(Debug, Clone)]
pub struct LogLine {
    /// Time of day, UTC, `12:34:56`.
    pub time: String,
    /// Severity.
    pub level: Level,
    /// Who says it: `app`, or a run.
    pub source: String,
    /// The sentence.
    pub text: String,
}

/// A message that should catch the eye.
#[derive(Debug, Clone)]
pub struct Notice {
    /// Severity.
    pub level: Level,
    /// The sentence.
    pub text: String,
    /// Something to press: label and command.
    pub action: Option<(String, super::Command)>,
}

/// Work in the background that takes longer than a moment.
#[derive(Debug, Clone)]
pub struct Job {
    /// Number by which it is known.
    pub key: u64,
    /// What it does.
    pub title: String,
    /// Share done, 0 to 1, where known.
    pub progress: Option<f32>,
    /// Seconds left, where known.
    pub eta_secs: Option<f64>,
}
