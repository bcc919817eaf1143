//! `burnscope worker`: trains as told on standard input, says what happens on standard output, writes the run folder.
//!
//! The worker ends by itself when its standard input closes: then the app that started it is gone.

use super::protocol::{PROTOCOL_VERSION, WorkerCommand, WorkerEvent, WorkerMode, WorkerState};
use crate::data;
use crate::format::run_folder::{EventWriter, LogEvent, RunFolder, StepWriter};
use crate::model::{RunEnd, RunManifest, RunSpec, RunSummary, StepFlags, StepRecord};
use crate::record::{RecordOptions, Recorder};
use crate::train::{self, TrainError, Trainer};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use parking_lot::Mutex;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a worker says that it lives, also while a driver compiles.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// Commands that may wait.
const COMMANDS: usize = 64;

/// Standard output as a channel of events.
#[derive(Clone)]
struct Mouth(Arc<Mutex<std::io::Stdout>>);

impl Mouth {
    fn say(&self, event: &WorkerEvent) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut out = self.0.lock();
        // When nobody listens, standard input is closed too, and the worker ends for that reason.
        out.write_all(&line).and_then(|()| out.flush()).ok();
    }

    fn state(&self, state: WorkerState, total_steps: u64) {
        self.say(&WorkerEvent::State { state, total_steps });
    }
}

/// What a worker was started with.
struct Start {
    spec: RunSpec,
    run_dir: std::path::PathBuf,
    mode: WorkerMode,
}

/// Runs the worker to its end. The result is the process's exit code.
pub fn main() -> i32 {
    let mouth = Mouth(Arc::new(Mutex::new(std::io::stdout())));
    let start = match read_start() {
        Ok(start) => start,
        Err(message) => {
            let hint = "A worker is started by the app; run `burnscope train` instead".to_owned();
            mouth.say(&WorkerEvent::Ended { end: RunEnd::Failed { message, hint }, summary: None });
            return 2;
        }
    };
    let commands = listen();
    let alive = mouth.clone();
    let beat = std::thread::Builder::new().name("alive".to_owned()).spawn(move || {
        loop {
            std::thread::sleep(ALIVE_EVERY);
            alive.say(&WorkerEvent::Alive);
        }
    });
    if let Err(error) = beat {
        mouth.say(&WorkerEvent::Log { level: "warning".to_owned(), text: format!("no sign of life: {error}") });
    }
    let (end, summary) = work(&start, &commands, &mouth);
    let code = i32::from(!end.is_good());
    mouth.say(&WorkerEvent::Ended { end, summary: summary.map(Box::new) });
    code
}

fn read_start() -> Result<Start, String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|e| format!("standard input: {e}"))?;
    match serde_json::from_str(&line) {
        Ok(WorkerCommand::Start { version: PROTOCOL_VERSION, spec, run_dir, mode }) => {
            Ok(Start { spec: *spec, run_dir, mode })
        }
        Ok(WorkerCommand::Start { version, .. }) => {
            Err(format!("the app speaks protocol version {version}, this worker version {PROTOCOL_VERSION}"))
        }
        Ok(_) => Err("the first line must be a start command".to_owned()),
        Err(error) => Err(format!("the first line is no command: {error}")),
    }
}

/// Commands from standard input; the channel closes with it.
fn listen() -> Receiver<WorkerCommand> {
    let (send, receive) = crossbeam_channel::bounded(COMMANDS);
    let reader = std::thread::Builder::new().name("commands".to_owned()).spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            match serde_json::from_str(&line) {
                Ok(command) => {
                    if send.send(command).is_err() {
                        return;
                    }
                }
                Err(error) => log::warn!("a command was not understood: {error}"),
            }
        }
    });
    // Without the thread the channel is closed, which ends the worker at once and says so.
    drop(reader);
    receive
}

/// Everything between the start command and the end.
fn work(start: &Start, commands: &Receiver<WorkerCommand>, mouth: &Mouth) -> (RunEnd, Option<RunSummary>) {
    let folder = match RunFolder::open(&start.run_dir) {
        Ok(folder) => folder,
        Err(error) => return (failed(&error.to_string(), "Check that the runs folder can be written"), None),
    };
    let result = train::on_training_thread(|| {
        let mut job = Job::prepare(start, &folder, commands, mouth)?;
        let end = job.go();
        Ok((end, job.close()))
    });
    let (end, summary, warnings) = match result {
        Ok((Ok(end), closed)) => (end, Some(closed.summary), closed.warnings),
        Ok((Err(error), closed)) => (error.run_end(), Some(closed.summary), closed.warnings),
        Err(error) => (error.run_end(), None, Vec::new()),
    };
    let written = folder.read_manifest().and_then(|mut manifest| {
        manifest.end = end.clone();
        manifest.worker_pid = None;
        manifest.summary.clone_from(&summary);
        manifest.warnings.extend(warnings);
        folder.write_manifest(&manifest)
    });
    if let Err(error) = written {
        mouth.say(&WorkerEvent::Log { level: "warning".to_owned(), text: format!("run.json not written: {error}") });
    }
    (end, summary)
}

fn failed(message: &str, hint: &str) -> RunEnd {
    RunEnd::Failed { message: message.to_owned(), hint: hint.to_owned() }
}

/// Why the loop of a worker came to rest.
enum Rest {
    Done,
    Stopped,
}

/// A training with its folder, its listeners and its commands.
struct Job<'a> {
    trainer: Trainer,
    recorder: Recorder,
    steps: Vec<StepRecord>,
    step_writer: StepWriter,
    events: EventWriter,
    write_trouble: Option<String>,
    total: u64,
    mode: WorkerMode,
    lead_in: u64,
    commands: &'a Receiver<WorkerCommand>,
    mouth: &'a Mouth,
}

/// What is left of a job at its end.
struct Closed {
    summary: RunSummary,
    warnings: Vec<String>,
}
