//! A run seen from the conductor: its folder, its worker, and the end that is written into `run.json`.

use super::LabError;
use super::conductor::{Launch, Worker};
use super::protocol::{WorkerCommand, WorkerEvent, WorkerMode, WorkerState};
use crate::format::run_folder::RunFolder;
use crate::model::manifest::RUN_FORMAT_VERSION;
use crate::model::{ExperimentRef, RunEnd, RunManifest, RunSpec, RunSummary};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a run is called and where it goes.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// What to train.
    pub spec: RunSpec,
    /// Name for people.
    pub title: String,
    /// Folder in which the run's folder is made.
    pub runs_dir: PathBuf,
    /// All steps at once, or blocks.
    pub mode: WorkerMode,
    /// Its place in an experiment.
    pub experiment: Option<ExperimentRef>,
    /// Words by which to group it.
    pub tags: Vec<String>,
}

/// A run in progress. Every event passes through [`Self::next`], which keeps `run.json` true.
pub struct LiveRun {
    /// Name of the folder, unique in its library.
    pub id: String,
    /// The folder.
    pub dir: PathBuf,
    /// What the last state event said.
    pub state: WorkerState,
    /// Steps that will be made in all, once known.
    pub total_steps: u64,
    /// Steps made so far.
    pub steps_done: u64,
    /// How it ended, once it did.
    pub end: Option<RunEnd>,
    /// When it was started.
    pub started: Instant,
    worker: Worker,
}

impl LiveRun {
    /// Makes the folder, writes what is asked, starts the worker.
    pub fn start(launch: &Launch, request: &RunRequest) -> Result<Self, LabError> {
        let folder = RunFolder::create(&request.runs_dir, &request.title)?;
        let dir = folder.path().to_path_buf();
        let id = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut manifest = RunManifest {
            format_version: RUN_FORMAT_VERSION,
            id: id.clone(),
            title: request.title.clone(),
            tags: request.tags.clone(),
            started: jiff::Timestamp::now().to_string(),
            spec: request.spec.clone(),
            experiment: request.experiment.clone(),
            ..RunManifest::default()
        };
        folder.write_manifest(&manifest)?;
        let worker = match Worker::spawn(launch, &request.spec, &dir, request.mode) {
            Ok(worker) => worker,
            Err(error) => {
                manifest.end = RunEnd::Failed { message: error.to_string(), hint: String::new() };
                folder.write_manifest(&manifest)?;
                return Err(error.into());
            }
        };
        Ok(Self {
            id,
            dir,
            state: WorkerState::Preparing,
            total_steps: 0,
            steps_done: 0,
            end: None,
            started: Instant::now(),
            worker,
        })
    }

    /// Process number of the worker.
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// Sends a command; an error means that the run has ended or is about to say so.
    pub fn send(&mut self, command: &WorkerCommand) -> Result<(), LabError> {
        Ok(self.worker.send(command)?)
    }

    /// Ends the worker by force; its end follows as an event.
    pub fn kill(&mut self) {
        self.worker.kill();
    }

    /// The next event within `timeout`.
    pub fn next(&mut self, timeout: Duration) -> Option<WorkerEvent> {
        let event = self.worker.next(timeout)?;
        match &event {
            WorkerEvent::State { state, total_steps } => {
                self.state = *state;
                self.total_steps = *total_steps;
            }
            WorkerEvent::Step(step) => self.steps_done = step.step + 1,
            WorkerEvent::Ended { end, summary } => {
                self.state = WorkerState::Ended;
                self.end = Some(end.clone());
                settle(&self.dir, end, summary.as_deref());
            }
            _ => {}
        }
        Some(event)
    }
}

/// Writes how a run ended, where its worker could not do so itself. The worker's own words are not overwritten.
fn settle(dir: &Path, end: &RunEnd, summary: Option<&RunSummary>) {
    let Ok(folder) = RunFolder::open(dir) else { return };
    let Ok(mut manifest) = folder.read_manifest() else { return };
    if manifest.end != RunEnd::Running {
        return;
    }
    manifest.end = end.clone();
    manifest.worker_pid = None;
    if manifest.summary.is_none() {
        manifest.summary = summary.cloned();
    }
    if let Err(error) = folder.write_manifest(&manifest) {
        log::warn!("the end of the run was not written: {error}");
    }
}
