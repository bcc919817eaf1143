//! Progress on standard error: a bar on a terminal, a line now and then elsewhere.

use crate::lab::protocol::{WorkerEvent, WorkerState};
use crate::model::units;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of one run.
pub struct RunProgress {
    name: String,
    bar: Option<ProgressBar>,
    last_line: Instant,
    total: u64,
}

impl RunProgress {
    /// Progress under this name.
    pub fn new(name: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("{prefix}  {bar:24} {pos}/{len}  {msg}  {eta} left");
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.set_prefix(name.to_owned());
            bar
        });
        Self { name: name.to_owned(), bar, last_line: Instant::now(), total: 0 }
    }

    /// A sentence that stays.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    /// Takes in what the worker said.
    pub fn event(&mut self, event: &WorkerEvent) {
        match event {
            WorkerEvent::State { state, total_steps } => {
                self.total = *total_steps;
                if let Some(bar) = &self.bar {
                    bar.set_length(*total_steps);
                    bar.set_message(state.label());
                } else if matches!(state, WorkerState::WarmUp | WorkerState::Running | WorkerState::Evaluating) {
                    eprintln!("{}: {}", self.name, state.label().to_lowercase());
                }
            }
            WorkerEvent::Environment(environment) => self.note(&format!("{}: on {}", self.name, environment.device)),
            WorkerEvent::WarmUp { current, compiled, tuned, secs } => {
                let text = format!("warming up: {compiled} compiled, {tuned} tuned, {secs:.0} s: {current}");
                self.line(&text);
            }
            WorkerEvent::Step(step) => {
                let loss = step.loss.map(|loss| format!(", loss {loss:.4}")).unwrap_or_default();
                let text = format!("{} a step{loss}", units::duration_ns(step.dur_ns as f64));
                if let Some(bar) = &self.bar {
                    bar.set_position(step.step + 1);
                    bar.set_message(text);
                } else {
                    self.line(&format!("step {} of {}, {text}", step.step + 1, self.total));
                }
            }
            WorkerEvent::Log { level, text } if level == "warning" => self.note(&format!("{}: {text}", self.name)),
            WorkerEvent::Ended { end, .. } => {
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
                let detail = end.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
                eprintln!("{}: {}{detail}", self.name, end.label());
            }
            _ => {}
        }
    }

    /// A passing line: on the bar, or now and then on its own.
    pub fn line(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None if self.last_line.elapsed() >= LINE_EVERY => {
                self.last_line = Instant::now();
                eprintln!("{}: {text}", self.name);
            }
            None => {}
        }
    }
}
