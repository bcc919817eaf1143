//! `burnscope worker`: trains as told on standard input, says what happens on standard output, writes the run folder.
//!
//! The worker ends by itself when its standard input closes: then the app that started it is gone.

use super::protocol::{PROTOCOL_VERSION, WorkerCommand, WorkerEvent, WorkerMode, WorkerState};
use crate::analysis;
use crate::data;
use crate::format::run_folder::{self, RunFolder, STEPS_FILE, StepWriter};
use crate::model::{RunEnd, RunSpec, RunSummary, StepFlags, StepRecord};
use crate::record::{Notice, RecordOptions, Recorder};
use crate::train::{self, Control, Length, TrainError, Trainer};
use crossbeam_channel::{Receiver, TryRecvError};
use parking_lot::Mutex;
use std::io::{BufRead as _, Write as _};
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

    fn warn(&self, text: &str) {
        self.say(&WorkerEvent::Log { level: "warning".to_owned(), text: text.to_owned() });
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
        mouth.warn(&format!("no sign of life will be given: {error}"));
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
    let hint = "Check that the runs folder can be written";
    let folder = match RunFolder::open(&start.run_dir) {
        Ok(folder) => folder,
        Err(error) => return (RunEnd::Failed { message: error.to_string(), hint: hint.to_owned() }, None),
    };
    let result = train::on_training_thread(|| train_run(start, &folder, commands, mouth));
    let (end, summary, warnings) = match result {
        Ok(closed) => (closed.end, Some(closed.summary), closed.warnings),
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
        mouth.warn(&format!("run.json was not written: {error}"));
    }
    (end, summary)
}

/// What a run came to.
struct Closed {
    end: RunEnd,
    summary: RunSummary,
    warnings: Vec<String>,
}

fn train_run(
    start: &Start,
    folder: &RunFolder,
    commands: &Receiver<WorkerCommand>,
    mouth: &Mouth,
) -> Result<Closed, TrainError> {
    let spec = &start.spec;
    // Before anything of Burn is touched.
    train::prepare_process(spec)?;
    mouth.state(WorkerState::Preparing, 0);
    note_start(folder, mouth);
    let dataset = data::open(&spec.data).map_err(|e| TrainError::Data(e.to_string()))?;
    let recorder = start_recorder(folder, spec, mouth)?;
    let length = match start.mode {
        WorkerMode::Train => Length::Spec,
        WorkerMode::Blocks => Length::Open,
    };
    let mut trainer = Trainer::new(spec, dataset, recorder.clone(), length)?;
    let environment = trainer.environment();
    mouth.say(&WorkerEvent::Environment(Box::new(environment.clone())));
    for warning in trainer.warnings() {
        mouth.warn(warning);
    }
    let noted = folder.read_manifest().and_then(|mut manifest| {
        manifest.environment = environment;
        manifest.warnings = trainer.warnings().to_vec();
        folder.write_manifest(&manifest)
    });
    if let Err(error) = noted {
        mouth.warn(&format!("run.json was not written: {error}"));
    }
    let total = trainer.total_steps();
    let mut log = StepLog::new(folder, commands, mouth, if total == u64::MAX { 0 } else { total });
    let outcome = steps(start, &mut trainer, &mut log);
    let mut summary = trainer.summary(&log.steps);
    let stats = recorder.finish();
    let mut warnings: Vec<String> = stats.first_error.into_iter().chain(log.trouble).collect();
    if stats.dropped > 0 {
        warnings.push(format!("{} records of the trace were dropped", stats.dropped));
    }
    finish_summary(folder, &mut summary, &log.steps);
    let end = match outcome {
        Ok(end) => end,
        Err(error) => error.run_end(),
    };
    Ok(Closed { end, summary, warnings })
}

/// Notes in `run.json` which process trains.
fn note_start(folder: &RunFolder, mouth: &Mouth) {
    let noted = folder.read_manifest().and_then(|mut manifest| {
        manifest.worker_pid = Some(std::process::id());
        folder.write_manifest(&manifest)
    });
    if let Err(error) = noted {
        mouth.warn(&format!("run.json was not written: {error}"));
    }
}

fn start_recorder(folder: &RunFolder, spec: &RunSpec, mouth: &Mouth) -> Result<Recorder, TrainError> {
    let mut options = RecordOptions::in_folder(folder.path(), spec.trace.level);
    let (listener, began) = (mouth.clone(), Instant::now());
    options.notify = Some(Arc::new(move |notice| match notice {
        Notice::Failed(why) => listener.warn(&why),
        Notice::WarmUp(progress) => listener.say(&WorkerEvent::WarmUp {
            current: progress.current,
            compiled: progress.compiled,
            tuned: progress.tuned,
            secs: began.elapsed().as_secs_f64(),
        }),
    }));
    Recorder::start(options).map_err(|e| TrainError::Record(e.to_string()))
}

/// The warm-up and all steps; how the run ended.
fn steps(start: &Start, trainer: &mut Trainer, log: &mut StepLog) -> Result<RunEnd, TrainError> {
    log.state(WorkerState::WarmUp);
    trainer.warm_up(&mut |step| log.take(step))?;
    match start.mode {
        WorkerMode::Train => {
            log.state(WorkerState::Running);
            let left = trainer.total_steps().saturating_sub(trainer.steps_made());
            if !log.stopped {
                trainer.run(left, &mut |step| log.take(step))?;
            }
        }
        WorkerMode::Blocks => blocks(start, trainer, log)?,
    }
    if log.stopped {
        return Ok(RunEnd::Stopped);
    }
    if start.spec.train.evaluate {
        log.state(WorkerState::Evaluating);
        trainer.evaluate()?;
    }
    Ok(RunEnd::Finished)
}

/// Makes blocks until there are no more. Each begins with steps that do not count: batches that were prefetched while
/// other arms ran would make its first steps look free.
fn blocks(start: &Start, trainer: &mut Trainer, log: &mut StepLog) -> Result<(), TrainError> {
    let pipeline = &start.spec.pipeline;
    let lead_in = if pipeline.enabled { (pipeline.prefetch + pipeline.workers) as u64 } else { 1 };
    log.state(WorkerState::Ready);
    while !log.stopped {
        match log.commands.recv() {
            Ok(WorkerCommand::Block { block, steps }) => {
                log.state(WorkerState::Running);
                (log.block, log.lead_in) = (block, lead_in);
                trainer.run(lead_in + steps, &mut |step| log.take(step))?;
                log.mouth.say(&WorkerEvent::BlockDone { block });
            }
            Ok(WorkerCommand::Disturbed { block }) => log.mark_disturbed(block),
            Ok(WorkerCommand::Finish) => return Ok(()),
            Ok(WorkerCommand::Stop) | Err(_) => log.stopped = true,
            Ok(WorkerCommand::Pause | WorkerCommand::Resume | WorkerCommand::Start { .. }) => {}
        }
    }
    Ok(())
}

/// Takes in each step as it is made: row, message, commands.
struct StepLog<'a> {
    steps: Vec<StepRecord>,
    writer: Option<StepWriter>,
    folder: &'a RunFolder,
    commands: &'a Receiver<WorkerCommand>,
    mouth: &'a Mouth,
    total: u64,
    block: u32,
    lead_in: u64,
    stopped: bool,
    trouble: Option<String>,
}

impl<'a> StepLog<'a> {
    fn new(folder: &'a RunFolder, commands: &'a Receiver<WorkerCommand>, mouth: &'a Mouth, total: u64) -> Self {
        let mut log = Self {
            steps: Vec::new(),
            writer: None,
            folder,
            commands,
            mouth,
            total,
            block: 0,
            lead_in: 0,
            stopped: false,
            trouble: None,
        };
        match folder.step_writer() {
            Ok(writer) => log.writer = Some(writer),
            Err(error) => log.give_up(&error.to_string()),
        }
        log
    }

    fn state(&self, state: WorkerState) {
        self.mouth.state(state, self.total);
    }

    /// Steps are not written any more; training goes on.
    fn give_up(&mut self, why: &str) {
        let text = format!("steps are not written any more: {why}");
        self.mouth.warn(&text);
        self.writer = None;
        self.trouble = Some(text);
    }

    fn take(&mut self, step: &StepRecord) -> Control {
        let mut step = step.clone();
        step.block = self.block;
        if self.lead_in > 0 {
            self.lead_in -= 1;
            step.flags.insert(StepFlags::PERTURBED);
        }
        if let Some(Err(error)) = self.writer.as_mut().map(|writer| writer.append(&step)) {
            self.give_up(&error.to_string());
        }
        self.mouth.say(&WorkerEvent::Step(step.clone()));
        self.steps.push(step);
        self.obey();
        if self.stopped { Control::Stop } else { Control::Continue }
    }

    /// Carries out the commands that have come in; a pause lasts until the next word.
    fn obey(&mut self) {
        let mut paused = false;
        loop {
            let command = if paused {
                self.commands.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                self.commands.try_recv()
            };
            match command {
                Ok(WorkerCommand::Pause) if !paused => {
                    paused = true;
                    self.state(WorkerState::Paused);
                }
                Ok(WorkerCommand::Resume) if paused => {
                    paused = false;
                    self.state(WorkerState::Running);
                }
                Ok(WorkerCommand::Stop) | Err(TryRecvError::Disconnected) => {
                    self.stopped = true;
                    return;
                }
                Ok(WorkerCommand::Disturbed { block }) => self.mark_disturbed(block),
                Ok(_) => {}
                Err(TryRecvError::Empty) => return,
            }
        }
    }

    /// Flags the steps of a block and writes the file anew.
    fn mark_disturbed(&mut self, block: u32) {
        for step in self.steps.iter_mut().filter(|step| step.block == block) {
            step.flags.insert(StepFlags::PERTURBED);
        }
        if self.writer.take().is_none() {
            return;
        }
        match self.rewrite() {
            Ok(writer) => self.writer = Some(writer),
            Err(error) => self.give_up(&error),
        }
    }

    fn rewrite(&self) -> Result<StepWriter, String> {
        let path = self.folder.path().join(STEPS_FILE);
        let fresh = path.with_extension("csv.new");
        std::fs::remove_file(&fresh).ok();
        let mut writer = StepWriter::open(&fresh).map_err(|e| e.to_string())?;
        for step in &self.steps {
            writer.append(step).map_err(|e| e.to_string())?;
        }
        drop(writer);
        std::fs::rename(&fresh, &path).map_err(|e| format!("{e}: {}", path.display()))?;
        self.folder.step_writer().map_err(|e| e.to_string())
    }
}

/// Fills in what only the finished trace and all steps together can tell.
fn finish_summary(folder: &RunFolder, summary: &mut RunSummary, steps: &[StepRecord]) {
    summary.recorder_cost = analysis::cost::recorder_cost(steps);
    let Ok(run) = run_folder::load(folder.path()) else { return };
    summary.device_busy = analysis::busy::device_busy(&run.trace, steps, &run.manifest);
}
