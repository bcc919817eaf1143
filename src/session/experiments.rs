//! One experiment at a time: ladder or A/B on a thread of its own, heard of through messages.

use super::state::{ExperimentState, Level, WarmUpState};
use super::{Msg, Session};
use crate::lab::LabError;
use crate::lab::experiment::{self, Outcome, Progress};
use crate::lab::plan::Plan;
use crate::lab::protocol::{WorkerEvent, WorkerState};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Measured steps of each arm when the draft does not say.
const DEFAULT_STEPS: u64 = 64;

/// The session's end of the thread that runs the experiment.
pub(crate) struct Driver {
    cancel: Arc<AtomicBool>,
    /// Step times of each arm so far, in ns.
    times: HashMap<usize, Vec<f64>>,
    /// When the first round began.
    rounds_began: Option<Instant>,
}

impl Driver {
    /// Asks the experiment to end after the step in hand.
    pub(crate) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

/// What the thread has to say.
pub(crate) enum Update {
    Progress(Progress),
    Ended(Result<Outcome, LabError>),
}

impl Session {
    /// Runs the ladder on the draft.
    pub(super) fn run_ladder(&mut self) {
        let plan = Plan::ladder(&self.draft.spec, self.experiment_steps());
        self.start_experiment("Ladder", plan);
    }

    /// Runs the draft against itself with one flip.
    pub(super) fn run_ab(&mut self, flip: &str) {
        let plan = Plan::ab(&self.draft.spec, flip, self.experiment_steps());
        let title = format!("A/B: {flip}");
        self.start_experiment(&title, plan);
    }

    fn experiment_steps(&self) -> u64 {
        match self.draft.spec.train.steps {
            0 => DEFAULT_STEPS,
            steps => (steps * self.draft.spec.train.epochs) as u64,
        }
    }

    fn start_experiment(&mut self, title: &str, plan: Result<Plan, LabError>) {
        if self.busy() {
            self.say(Level::Warning, "app", "A training is already under way; stop it first");
            return;
        }
        if let Some(error) = self.draft.error.clone() {
            self.say(Level::Error, "app", &format!("The settings are not valid: {error}"));
            return;
        }
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                self.say(Level::Error, "app", &error.to_string());
                return;
            }
        };
        let Some(launch) = self.launch() else { return };
        let cancel = Arc::new(AtomicBool::new(false));
        self.experimenter = Some(Driver { cancel: Arc::clone(&cancel), times: HashMap::new(), rounds_began: None });
        self.experiment = Some(ExperimentState {
            title: title.to_owned(),
            stage: "Starting the baseline".to_owned(),
            ..ExperimentState::default()
        });
        let runs_dir = self.settings.runs_dir.clone();
        let outbox = self.outbox.clone();
        self.background("experiment", move || {
            let say = |update| outbox.send(Msg::Experiment(Box::new(update)));
            let outcome = experiment::run(&launch, &plan, &runs_dir, &cancel, &mut |progress| {
                say(Update::Progress(progress));
            });
            say(Update::Ended(outcome));
        });
    }

    pub(super) fn experiment_update(&mut self, update: Update) {
        match update {
            Update::Progress(progress) => self.experiment_progress(progress),
            Update::Ended(Ok(outcome)) => {
                self.experimenter = None;
                let ids: Vec<String> = outcome.arms.iter().map(|arm| arm.run_id.clone()).collect();
                if let Some(state) = self.experiment.as_mut() {
                    state.ended = true;
                    state.progress = 1.0;
                    state.eta_secs = None;
                    "Finished".clone_into(&mut state.stage);
                    state.outcome = outcome.arms;
                    state.refused = outcome.refused;
                }
                self.say(Level::Info, "app", "The experiment is finished; see Compare");
                self.refresh_library();
                if let Some((baseline, others)) = ids.split_first() {
                    self.compare.baseline = Some(baseline.clone());
                    self.compare.others = others.to_vec();
                    self.recompute_comparison();
                    self.view_commands.push(super::Command::ShowPanel(super::PanelId::Compare));
                }
            }
            Update::Ended(Err(error)) => {
                self.experimenter = None;
                let stopped = matches!(error, LabError::Cancelled);
                if let Some(state) = self.experiment.as_mut() {
                    state.ended = true;
                    state.eta_secs = None;
                    let stage = if stopped { "Stopped" } else { "Ended without a result" };
                    stage.clone_into(&mut state.stage);
                    state.error = (!stopped).then(|| error.to_string());
                }
                if stopped {
                    self.say(Level::Info, "app", "The experiment is stopped; the runs made so far are kept");
                } else {
                    self.say(Level::Error, "app", &format!("The experiment ended without a result: {error}"));
                }
                self.refresh_library();
            }
        }
    }

    fn experiment_progress(&mut self, progress: Progress) {
        let (Some(state), Some(driver)) = (self.experiment.as_mut(), self.experimenter.as_mut()) else { return };
        match progress {
            Progress::ArmStarted { name, .. } => {
                state.stage = format!("Warming up: {name}");
                state.arms.push((name, None));
                state.warm_up = Some(WarmUpState::default());
            }
            Progress::Refused(refused) => state.refused = refused,
            Progress::Round { round, rounds } => {
                let began = *driver.rounds_began.get_or_insert_with(Instant::now);
                state.warm_up = None;
                state.stage = format!("Round {round} of {rounds}");
                state.progress = (round - 1) as f32 / rounds as f32;
                if round > 1 {
                    let each = began.elapsed().as_secs_f64() / f64::from(round - 1);
                    state.eta_secs = Some(each * f64::from(rounds - round + 1));
                }
            }
            Progress::Repeated { round, others } => {
                let share = crate::model::units::percent(others);
                self.log_line(
                    Level::Warning,
                    "app",
                    &format!("Round {round} is repeated: other programs used {share} of the machine"),
                );
            }
            Progress::Arm { arm, event } => match event {
                WorkerEvent::WarmUp { current, compiled, tuned, secs } => {
                    state.warm_up = Some(WarmUpState { current, compiled, tuned, secs });
                }
                WorkerEvent::Step(step) if step.flags.steady() => {
                    let times = driver.times.entry(arm).or_default();
                    times.push(step.dur_ns as f64);
                    if let Some((_, median)) = state.arms.get_mut(arm) {
                        *median = crate::stats::summary::median(times);
                    }
                }
                WorkerEvent::State { state: WorkerState::Evaluating, .. } => {
                    let name = state.arms.get(arm).map(|(name, _)| name.clone()).unwrap_or_default();
                    state.stage = format!("Measuring test accuracy: {name}");
                }
                WorkerEvent::Log { level, text } => {
                    let level = if level == "warning" { Level::Warning } else { Level::Info };
                    let source = state.arms.get(arm).map(|(name, _)| name.clone()).unwrap_or_default();
                    self.log_line(level, &source, &text);
                }
                _ => {}
            },
        }
    }
}
