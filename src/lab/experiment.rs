//! Runs several arms in interleaved blocks, so that drift and load fall on all of them alike.
//!
//! Every arm is a worker of its own with fresh weights from the same seed. They warm up one after the other, then make
//! their blocks in turn, in an order that is drawn anew for each round (and mirrored in every second one), so that the
//! blocks of one round are the paired replicates of the statistics. Method: `stats::ab`; Georges et al., OOPSLA 2007.

use super::LabError;
use super::conductor::Launch;
use super::load::{LoadProbe, TAINT_SHARE};
use super::plan::{Arm, Plan, Refused};
use super::protocol::{WorkerCommand, WorkerEvent, WorkerMode, WorkerState};
use super::runs::{LiveRun, RunRequest};
use crate::format::run_folder::RunFolder;
use crate::model::{Environment, ExperimentRef, RunEnd};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What happens while an experiment runs.
#[derive(Debug, Clone)]
pub enum Progress {
    /// An arm's run was made.
    ArmStarted {
        /// Number of the arm.
        arm: usize,
        /// Its name.
        name: String,
        /// Its run.
        run_id: String,
    },
    /// Stages that are left out, known once the device is.
    Refused(Vec<Refused>),
    /// An arm's worker said something.
    Arm {
        /// Number of the arm.
        arm: usize,
        /// What it said.
        event: WorkerEvent,
    },
    /// A round of blocks begins.
    Round {
        /// From 1.
        round: u32,
        /// Rounds in all.
        rounds: u32,
    },
    /// A round is repeated because others used the machine.
    Repeated {
        /// The round.
        round: u32,
        /// Share of the machine that others used, 0 to 1.
        others: f64,
    },
}

/// How an arm came out.
#[derive(Debug, Clone)]
pub struct ArmOutcome {
    /// Name of the arm.
    pub name: String,
    /// Its run.
    pub run_id: String,
    /// The run's folder.
    pub dir: PathBuf,
    /// How its run ended.
    pub end: RunEnd,
}

/// How an experiment came out. The figures are in the run folders.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The arms, the baseline first.
    pub arms: Vec<ArmOutcome>,
    /// What was left out.
    pub refused: Vec<Refused>,
    /// Rounds that were repeated.
    pub repeated: u32,
}

/// Time that an arm may take for one block beyond which it is given up, on top of the worker's own sign of life.
const BLOCK_LIMIT: Duration = Duration::from_secs(3600);

/// An experiment under way.
pub struct Experiment<'a> {
    launch: &'a Launch,
    plan: &'a Plan,
    runs_dir: &'a Path,
    id: String,
    cancel: &'a AtomicBool,
    on: &'a mut dyn FnMut(Progress),
    arms: Vec<(Arm, LiveRun)>,
    repeated: u32,
    disturbed: u32,
}

/// Runs a plan to its end. `cancel` stops it after the step in hand; `on` hears everything.
pub fn run(
    launch: &Launch,
    plan: &Plan,
    runs_dir: &Path,
    cancel: &AtomicBool,
    on: &mut dyn FnMut(Progress),
) -> Result<Outcome, LabError> {
    let id = format!("{}-{}", plan.kind.id(), jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    Experiment { launch, plan, runs_dir, id, cancel, on, arms: Vec::new(), repeated: 0, disturbed: 0 }.run()
}

impl Experiment<'_> {
    fn run(mut self) -> Result<Outcome, LabError> {
        let baseline = Arm { name: self.plan.baseline_name().to_owned(), spec: self.plan.baseline.clone() };
        let environment = self.start_arm(baseline)?;
        let adapter = environment.and_then(|environment| environment.adapter);
        let (further, refused) = self.plan.further_arms(adapter.as_ref())?;
        (self.on)(Progress::Refused(refused.clone()));
        for arm in further {
            self.start_arm(arm)?;
        }
        self.rounds()?;
        self.finish(refused)
    }

    /// Starts a worker and waits until it is warm. Returns what it runs on.
    fn start_arm(&mut self, arm: Arm) -> Result<Option<Environment>, LabError> {
        let number = self.arms.len();
        let request = RunRequest {
            spec: arm.spec.clone(),
            title: arm.name.clone(),
            runs_dir: self.runs_dir.to_path_buf(),
            mode: WorkerMode::Blocks,
            experiment: Some(ExperimentRef {
                id: self.id.clone(),
                kind: self.plan.kind.id().to_owned(),
                arm: number,
                name: arm.name.clone(),
                ..ExperimentRef::default()
            }),
            tags: vec![self.id.clone()],
        };
        let run = LiveRun::start(self.launch, &request)?;
        (self.on)(Progress::ArmStarted { arm: number, name: arm.name.clone(), run_id: run.id.clone() });
        self.arms.push((arm, run));
        let mut environment = None;
        loop {
            match self.next_event(number)? {
                Some(WorkerEvent::Environment(found)) => environment = Some(*found),
                Some(WorkerEvent::State { state: WorkerState::Ready, .. }) => return Ok(environment),
                _ => {}
            }
        }
    }

    /// One event of one arm, passed on. An arm that ends before its time ends the experiment.
    fn next_event(&mut self, arm: usize) -> Result<Option<WorkerEvent>, LabError> {
        if self.cancel.load(Ordering::Relaxed) {
            self.stop_all();
            return Err(LabError::Cancelled);
        }
        let event = self.arms[arm].1.next(Duration::from_millis(100));
        if let Some(event) = &event {
            (self.on)(Progress::Arm { arm, event: event.clone() });
            if let WorkerEvent::Ended { end, .. } = event {
                let (name, end) = (self.arms[arm].0.name.clone(), end.clone());
                self.stop_all();
                return Err(LabError::ArmEnded { arm: name, end: Box::new(end) });
            }
        }
        Ok(event)
    }

    /// All rounds, a disturbed one once more, at most half of them.
    fn rounds(&mut self) -> Result<(), LabError> {
        let rounds = self.plan.blocks;
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(self.plan.baseline.train.seed);
        let mut order: Vec<usize> = (0..self.arms.len()).collect();
        let mut block = 0;
        let mut round = 1;
        while round <= rounds {
            (self.on)(Progress::Round { round, rounds });
            // Every second round mirrors the one before, so that a linear drift cancels.
            if block % 2 == 0 {
                order.shuffle(&mut rng)
            } else {
                order.reverse()
            }
            block += 1;
            let pids: Vec<u32> = self.arms.iter().map(|(_, run)| run.pid()).collect();
            let before = LoadProbe::now(&pids);
            for arm in order.clone() {
                self.block(arm, block)?;
            }
            let others = before.zip(LoadProbe::now(&pids)).and_then(|(a, b)| b.others_since(&a));
            match others {
                Some(others) if others > TAINT_SHARE && self.repeated < rounds / 2 => {
                    self.repeated += 1;
                    self.mark_disturbed(block);
                    (self.on)(Progress::Repeated { round, others });
                }
                Some(others) if others > TAINT_SHARE => {
                    self.disturbed += 1;
                    round += 1;
                }
                _ => round += 1,
            }
        }
        Ok(())
    }

    fn block(&mut self, arm: usize, block: u32) -> Result<(), LabError> {
        let steps = self.plan.steps_per_block;
        self.arms[arm].1.send(&WorkerCommand::Block { block, steps })?;
        let deadline = Instant::now() + BLOCK_LIMIT;
        while Instant::now() < deadline {
            if let Some(WorkerEvent::BlockDone { block: done }) = self.next_event(arm)?
                && done == block
            {
                return Ok(());
            }
        }
        self.stop_all();
        Err(LabError::BlockTimeout { arm: self.arms[arm].0.name.clone(), secs: BLOCK_LIMIT.as_secs() })
    }

    /// Tells every arm that a block does not count; its steps are then flagged as perturbed.
    fn mark_disturbed(&mut self, block: u32) {
        for (_, run) in &mut self.arms {
            run.send(&WorkerCommand::Disturbed { block }).ok();
        }
    }

    fn stop_all(&mut self) {
        for (_, run) in &mut self.arms {
            run.send(&WorkerCommand::Stop).ok();
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        for (_, run) in &mut self.arms {
            while run.end.is_none() && Instant::now() < deadline {
                run.next(Duration::from_millis(100));
            }
            if run.end.is_none() {
                run.kill();
                run.next(Duration::from_secs(2));
            }
        }
    }

    /// Lets every arm evaluate and end, and notes in the baseline what the experiment left out.
    fn finish(mut self, refused: Vec<Refused>) -> Result<Outcome, LabError> {
        let mut arms = Vec::new();
        for number in 0..self.arms.len() {
            self.arms[number].1.send(&WorkerCommand::Finish)?;
            while self.arms[number].1.end.is_none() {
                if self.cancel.load(Ordering::Relaxed) {
                    self.stop_all();
                }
                if let Some(event) = self.arms[number].1.next(Duration::from_millis(100)) {
                    (self.on)(Progress::Arm { arm: number, event });
                }
            }
            let (arm, run) = &self.arms[number];
            let end = run.end.clone().unwrap_or_default();
            arms.push(ArmOutcome { name: arm.name.clone(), run_id: run.id.clone(), dir: run.dir.clone(), end });
        }
        for arm in &arms {
            let folder = RunFolder::open(&arm.dir)?;
            let mut manifest = folder.read_manifest()?;
            if let Some(experiment) = manifest.experiment.as_mut() {
                experiment.repeated_blocks = self.repeated;
                experiment.disturbed_blocks = self.disturbed;
                if experiment.arm == 0 {
                    experiment.refused = refused.iter().map(|r| (r.name.clone(), r.reason.clone())).collect();
                }
            }
            folder.write_manifest(&manifest)?;
        }
        Ok(Outcome { arms, refused, repeated: self.repeated })
    }
}
