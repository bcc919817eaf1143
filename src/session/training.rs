//! One training at a time: a thread owns the run and its worker, the session hears of it through messages.

use super::state::{Level, TrainingState, WarmUpState};
use super::{Msg, Outbox, Session};
use crate::lab::conductor::Launch;
use crate::lab::protocol::{WorkerCommand, WorkerEvent, WorkerMode, WorkerState};
use crate::lab::runs::{LiveRun, RunRequest};
use crate::model::StepRecord;
use crossbeam_channel::{Receiver, Sender};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

/// Steps over which the pace is taken.
const PACE_STEPS: usize = 20;

/// What the user asks of a training under way.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    Pause,
    Resume,
    Stop,
}

/// The session's end of the thread that owns the run.
pub(crate) struct Driver {
    asks: Sender<Ask>,
    pace: VecDeque<StepRecord>,
}

/// What the thread has to say.
pub(crate) enum Update {
    Started { run_id: String, dir: PathBuf },
    Event(WorkerEvent),
    NotStarted(String),
}

impl Session {
    /// Starts a run with the draft.
    pub(super) fn train(&mut self) {
        if self.busy() {
            self.say(Level::Warning, "app", "A training is already under way; stop it first");
            return;
        }
        if let Some(error) = self.draft.error.clone() {
            self.say(Level::Error, "app", &format!("The settings are not valid: {error}"));
            return;
        }
        let Some(launch) = self.launch() else { return };
        let request = RunRequest {
            spec: self.draft.spec.clone(),
            title: title_for(&self.draft),
            runs_dir: self.settings.runs_dir.clone(),
            mode: WorkerMode::Train,
            experiment: None,
            tags: Vec::new(),
        };
        let (asks, asked) = crossbeam_channel::bounded(16);
        self.trainer = Some(Driver { asks, pace: VecDeque::new() });
        self.training = Some(TrainingState::default());
        let outbox = self.outbox.clone();
        self.background("training", move || drive(&launch, &request, &asked, &outbox));
    }

    /// Passes a wish on to the training.
    pub(super) fn tell_trainer(&mut self, ask: Ask) {
        match &self.trainer {
            Some(driver) => {
                if driver.asks.try_send(ask).is_err() {
                    self.say(Level::Warning, "app", "The training does not take commands at the moment");
                }
            }
            None => self.say(Level::Warning, "app", "No training is under way"),
        }
    }

    /// Ends the training or the experiment after its step; nothing under way is fine.
    pub(super) fn stop(&mut self) {
        if self.trainer.is_some() {
            if let Some(training) = self.training.as_mut() {
                training.stopping = true;
            }
            self.tell_trainer(Ask::Stop);
        }
        if let Some(driver) = &self.experimenter {
            driver.cancel();
            if let Some(experiment) = self.experiment.as_mut() {
                "Stopping after the step in hand".clone_into(&mut experiment.stage);
            }
        }
    }

    pub(super) fn training_update(&mut self, update: Update) {
        match update {
            Update::NotStarted(error) => {
                self.trainer = None;
                self.training = None;
                self.say(Level::Error, "app", &error);
            }
            Update::Started { run_id, dir } => {
                if let Some(training) = self.training.as_mut() {
                    training.run_id.clone_from(&run_id);
                }
                self.follow(&run_id, &dir);
                self.activate(&run_id);
            }
            Update::Event(event) => self.training_event(event),
        }
    }

    fn training_event(&mut self, event: WorkerEvent) {
        let Some(training) = self.training.as_mut() else { return };
        let source = training.run_id.clone();
        match event {
            WorkerEvent::State { state, total_steps } => {
                training.state = state;
                training.total_steps = total_steps;
            }
            WorkerEvent::Environment(environment) => training.environment = Some(*environment),
            WorkerEvent::WarmUp { current, compiled, tuned, secs } => {
                training.warm_up = WarmUpState { current, compiled, tuned, secs };
            }
            WorkerEvent::Step(step) => {
                training.step = step.step + 1;
                if let Some(driver) = self.trainer.as_mut() {
                    driver.pace.push_back(step.clone());
                    if driver.pace.len() > PACE_STEPS {
                        driver.pace.pop_front();
                    }
                    (training.samples_per_sec, training.eta_secs) =
                        pace(&driver.pace, training.step, training.total_steps);
                }
                training.last = Some(step);
            }
            WorkerEvent::Log { level, text } => {
                let level = if level == "warning" { Level::Warning } else { Level::Info };
                self.log_line(level, &source, &text);
            }
            WorkerEvent::BlockDone { .. } | WorkerEvent::Alive => {}
            WorkerEvent::Ended { end, .. } => {
                training.state = WorkerState::Ended;
                training.eta_secs = None;
                self.trainer = None;
                let level = if end.is_good() { Level::Info } else { Level::Error };
                let detail = end.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
                self.say(level, &source, &format!("Training {}{detail}", end.label()));
                self.refresh_library();
            }
        }
    }
}

/// Title of a run whose user gave none: model, device and what is on.
pub(crate) fn title_for(draft: &super::Draft) -> String {
    if draft.title.trim().is_empty() { default_title(&draft.spec) } else { draft.title.trim().to_owned() }
}

/// Title from a spec: `cnn, batch 128, pipeline + fusion`.
pub fn default_title(spec: &crate::model::RunSpec) -> String {
    let on: Vec<&str> =
        crate::model::TOGGLES.iter().filter(|toggle| toggle.is_on(spec)).map(|toggle| toggle.id).collect();
    let on = if on.is_empty() { "baseline".to_owned() } else { on.join(" + ") };
    format!("{} batch {} {on}", spec.model.kind, spec.train.batch)
}

/// Samples a second and seconds left from the last steps.
fn pace(steps: &VecDeque<StepRecord>, done: u64, total: u64) -> (Option<f64>, Option<f64>) {
    let (Some(first), Some(last)) = (steps.front(), steps.back()) else { return (None, None) };
    let span_ns = (last.start_ns + last.dur_ns - first.start_ns) as f64;
    if span_ns <= 0.0 {
        return (None, None);
    }
    let samples: f64 = steps.iter().map(|step| f64::from(step.samples)).sum();
    let left = total.checked_sub(done).map(|left| left as f64 * span_ns / steps.len() as f64 / 1e9);
    (Some(samples / (span_ns / 1e9)), left)
}

/// The thread that owns the run.
fn drive(launch: &Launch, request: &RunRequest, asked: &Receiver<Ask>, outbox: &Outbox) {
    let say = |update| outbox.send(Msg::Training(Box::new(update)));
    let mut run = match LiveRun::start(launch, request) {
        Ok(run) => run,
        Err(error) => return say(Update::NotStarted(error.to_string())),
    };
    say(Update::Started { run_id: run.id.clone(), dir: run.dir.clone() });
    loop {
        while let Ok(ask) = asked.try_recv() {
            let command = match ask {
                Ask::Pause => WorkerCommand::Pause,
                Ask::Resume => WorkerCommand::Resume,
                Ask::Stop => WorkerCommand::Stop,
            };
            // A worker that takes no commands has ended; its end is the next event.
            run.send(&command).ok();
        }
        if let Some(event) = run.next(Duration::from_millis(50)) {
            let ended = matches!(event, WorkerEvent::Ended { .. });
            say(Update::Event(event));
            if ended {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_last_steps() {
        let step =
            |n: i64| StepRecord { start_ns: n * 100_000_000, dur_ns: 100_000_000, samples: 32, ..Default::default() };
        let steps: VecDeque<StepRecord> = (0..10).map(step).collect();
        let (rate, left) = pace(&steps, 10, 30);
        assert!((rate.unwrap() - 320.0).abs() < 1e-9);
        assert!((left.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(pace(&VecDeque::new(), 0, 0), (None, None));
    }
}
