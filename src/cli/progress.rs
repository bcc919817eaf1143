//! Progress on standard error: a bar on a terminal, a line now and then elsewhere.

use crate::format::Watch;
use crate::lab::protocol::{WorkerEvent, WorkerState};
use crate::model::units;
use crate::session::open;
use crate::session::state::OpenRun;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shortest reading of a file that is shown.
const SHOWN_AFTER: Duration = Duration::from_millis(300);
/// Time between two looks at how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Reads a run or trace, and shows how far it is where that takes long.
///
/// # Errors
/// A sentence, if it cannot be read.
pub fn read(path: &Path) -> Result<OpenRun, String> {
    let watch = Watch::default();
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    std::thread::scope(|scope| {
        // What is read ends the waiting: its end of the channel is let go.
        let (done, waiting) = crossbeam_channel::bounded::<()>(0);
        let looked_at = watch.clone();
        scope.spawn(move || {
            if waiting.recv_timeout(SHOWN_AFTER) == Err(RecvTimeoutError::Timeout) {
                show_reading(&name, &looked_at, &waiting);
            }
        });
        let run = open::load_watched(path, &watch);
        drop(done);
        run
    })
}

fn show_reading(name: &str, watch: &Watch, waiting: &Receiver<()>) {
    let bar = std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new(100);
        if let Ok(style) = ProgressStyle::with_template("Reading {prefix}  {bar:24} {pos} %") {
            bar.set_style(style);
        }
        bar.with_prefix(name.to_owned())
    });
    let mut last_line = Instant::now();
    while waiting.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let percent = (watch.share() * 100.0) as u64;
        match &bar {
            Some(bar) => bar.set_position(percent),
            None if last_line.elapsed() >= LINE_EVERY => {
                last_line = Instant::now();
                eprintln!("Reading {name}: {percent} %");
            }
            None => {}
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

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
