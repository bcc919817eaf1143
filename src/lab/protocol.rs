//! What the app and a worker say to each other: one JSON object a line, commands down stdin, events up stdout.

use crate::model::{Environment, RunEnd, RunSpec, RunSummary, StepRecord};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of these messages; a worker of another version is refused.
pub const PROTOCOL_VERSION: u32 = 1;

/// Down: what a worker is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
pub enum WorkerCommand {
    /// The first line: what to train and where to write.
    Start {
        /// See [`PROTOCOL_VERSION`].
        version: u32,
        /// The whole spec.
        spec: Box<RunSpec>,
        /// Folder of the run; it exists and holds a `run.json`.
        run_dir: PathBuf,
        /// Train to the end at once, or wait for blocks after the warm-up.
        mode: WorkerMode,
    },
    /// Hold after the step.
    Pause,
    /// Go on.
    Resume,
    /// Make this many steps, then say [`WorkerEvent::BlockDone`] (mode [`WorkerMode::Blocks`]).
    Block {
        /// Number of the block, from 1.
        block: u32,
        /// Steps to make.
        steps: u64,
    },
    /// A block was disturbed from outside: its steps do not count and are flagged as perturbed.
    Disturbed {
        /// Number of the block.
        block: u32,
    },
    /// No more blocks: evaluate and end (mode [`WorkerMode::Blocks`]).
    Finish,
    /// End after the step.
    Stop,
}

/// How a worker goes through its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMode {
    /// All steps of the spec, one after the other.
    Train,
    /// Only what [`WorkerCommand::Block`] asks for.
    Blocks,
}

/// Where a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// Opening data and device.
    #[default]
    Preparing,
    /// Compiling and tuning kernels.
    WarmUp,
    /// Warm, waiting for a block.
    Ready,
    /// Making steps.
    Running,
    /// Held by the user.
    Paused,
    /// Measuring accuracy on the test set.
    Evaluating,
    /// Over.
    Ended,
}

impl WorkerState {
    /// Words for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::Preparing => "Preparing",
            Self::WarmUp => "Warming up",
            Self::Ready => "Ready",
            Self::Running => "Running",
            Self::Paused => "Paused",
            Self::Evaluating => "Evaluating",
            Self::Ended => "Ended",
        }
    }
}

/// Up: what a worker says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorkerEvent {
    /// Another state.
    State {
        /// The state.
        state: WorkerState,
        /// Steps that will be made in all, where that is known.
        total_steps: u64,
    },
    /// What it runs on, once the device is open.
    Environment(Box<Environment>),
    /// What the warm-up is doing.
    WarmUp {
        /// The kernel being compiled or tuned, or what else is going on.
        current: String,
        /// Kernels compiled so far.
        compiled: u64,
        /// Kernel choices tuned so far.
        tuned: u64,
        /// Seconds since the start of the warm-up.
        secs: f64,
    },
    /// A step was made.
    Step(StepRecord),
    /// All steps of a block were made.
    BlockDone {
        /// Number of the block.
        block: u32,
    },
    /// Something to know.
    Log {
        /// `info` or `warning`.
        level: String,
        /// A sentence.
        text: String,
    },
    /// Proof of life during long silent work.
    Alive,
    /// The last line.
    Ended {
        /// How it ended.
        end: RunEnd,
        /// What came out, unless it failed before the first step.
        summary: Option<Box<RunSummary>>,
    },
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn messages_are_single_lines_that_read_back() {
        let commands = [
            WorkerCommand::Start {
                version: PROTOCOL_VERSION,
                spec: Box::default(),
                run_dir: PathBuf::from("/tmp/a \"b\"\n"),
                mode: WorkerMode::Blocks,
            },
            WorkerCommand::Block { block: 3, steps: 10 },
            WorkerCommand::Stop,
        ];
        for command in commands {
            let line = serde_json::to_string(&command).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<WorkerCommand>(&line).unwrap(), command);
        }
        let step = StepRecord { step: 4, loss: Some(2.5), ..StepRecord::default() };
        for event in [
            WorkerEvent::Step(step),
            WorkerEvent::Environment(Box::default()),
            WorkerEvent::Ended { end: RunEnd::Killed { how: "signal 9".to_owned() }, summary: Some(Box::default()) },
        ] {
            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<WorkerEvent>(&line).unwrap(), event);
        }
    }
}
