//! The buttons that start and stop, and how far the training or experiment is.

use super::super::PanelContext;
use crate::model::units;
use crate::session::{Command, ExperimentState, TrainingState, WarmUpState, WorkerState};
use crate::ui::{icons, text, widgets};
use egui::Ui;

/// Start and stop, and what is under way.
pub fn actions_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    if cx.session.busy() {
        running_buttons_ui(cx, ui);
    } else {
        start_buttons_ui(cx, ui);
    }
    if let Some(training) = cx.session.training().filter(|training| training.active()) {
        training_ui(cx, ui, training);
    }
    if let Some(experiment) = cx.session.experiment().filter(|experiment| !experiment.ended) {
        experiment_ui(cx, ui, experiment);
    }
}

fn start_buttons_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    let ready = cx.session.draft().error.is_none();
    ui.horizontal(|ui| {
        let width = (ui.available_width() - 130.0).max(100.0);
        let train = widgets::main_button(ui, cx.tokens, ready, icons::PLAY, "Train", width);
        let train = train.on_disabled_hover_text("The settings are not valid; see the message below");
        if train.on_hover_text("Start a run with these settings").clicked() {
            cx.send(Command::Train);
        }
        let ladder =
            egui::Button::image_and_text(icons::LADDER.small(ui), "Run ladder").min_size(egui::vec2(118.0, 34.0));
        let help = "Baseline, then each optimization on top of the one before, compared in alternating blocks";
        if ui.add_enabled(ready, ladder).on_hover_text(help).clicked() {
            cx.send(Command::RunLadder);
        }
    });
}

fn running_buttons_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    let training = cx.session.training().filter(|training| training.active());
    let stopping = training.is_some_and(|training| training.stopping);
    ui.horizontal(|ui| {
        let width = (ui.available_width() - 8.0) / 2.0;
        let size = egui::vec2(width, 34.0);
        let state = training.map(|training| training.state);
        if state == Some(WorkerState::Paused) {
            let resume = egui::Button::image_and_text(icons::PLAY.small(ui), "Resume").min_size(size);
            if ui.add(resume).on_hover_text("Go on").clicked() {
                cx.send(Command::Resume);
            }
        } else if let Some(state) = state {
            let can = state == WorkerState::Running && !stopping;
            let pause = egui::Button::image_and_text(icons::PAUSE.small(ui), "Pause").min_size(size);
            if ui.add_enabled(can, pause).on_hover_text("Hold after the step in hand").clicked() {
                cx.send(Command::Pause);
            }
        }
        let words = if stopping { "Stopping…" } else { "Stop" };
        let stop = egui::Button::image_and_text(icons::STOP.small(ui), words).min_size(size);
        if ui.add_enabled(!stopping, stop).on_hover_text("End after the step in hand; the run is kept").clicked() {
            cx.send(Command::Stop);
        }
    });
}

/// Share of the steps made, where their number is known.
pub fn share(training: &TrainingState) -> Option<f32> {
    (training.total_steps > 0 && training.step > 0).then(|| training.step as f32 / training.total_steps as f32)
}

/// What the training does now, as a sentence.
pub fn stage(training: &TrainingState) -> String {
    match training.state {
        WorkerState::Preparing => "Opening data and device…".to_owned(),
        WorkerState::WarmUp => warm_up_stage(&training.warm_up),
        WorkerState::Evaluating => "Measuring accuracy on the test images…".to_owned(),
        WorkerState::Running | WorkerState::Paused | WorkerState::Ready => {
            let total = if training.total_steps > 0 {
                format!(" of {}", units::count(training.total_steps))
            } else {
                String::new()
            };
            format!("{}: step {}{total}", training.state.label(), units::count(training.step))
        }
        WorkerState::Ended => "Ended".to_owned(),
    }
}

fn warm_up_stage(warm_up: &WarmUpState) -> String {
    if warm_up.current.is_empty() { "Warming up…".to_owned() } else { format!("Warming up: {}", warm_up.current) }
}

fn training_ui(cx: &PanelContext<'_>, ui: &mut Ui, training: &TrainingState) {
    ui.add_space(4.0);
    widgets::progress(ui, cx.tokens, &stage(training), share(training), training.eta_secs);
    if training.state == WorkerState::WarmUp {
        warm_up_ui(ui, &training.warm_up);
        return;
    }
    let mut facts = Vec::new();
    if let Some(last) = &training.last {
        facts.push(format!("{} a step", units::duration_ns(last.dur_ns as f64)));
    }
    if let Some(rate) = training.samples_per_sec {
        facts.push(units::samples_per_sec(rate));
    }
    if let Some(loss) = training.last.as_ref().and_then(|last| last.loss) {
        facts.push(format!("loss {loss:.4}"));
    }
    if !facts.is_empty() {
        ui.add(egui::Label::new(text::figure(facts.join("  ·  ")).size(11.5)).truncate());
    }
}

fn warm_up_ui(ui: &mut Ui, warm_up: &WarmUpState) {
    text::note(
        ui,
        format!(
            "{} kernels compiled, {} choices tuned, {} so far. The results are kept, so that the next start is quick.",
            units::count(warm_up.compiled),
            units::count(warm_up.tuned),
            units::duration_ns(warm_up.secs * 1e9)
        ),
    );
}

fn experiment_ui(cx: &PanelContext<'_>, ui: &mut Ui, experiment: &ExperimentState) {
    ui.add_space(4.0);
    let share = (experiment.progress > 0.0).then_some(experiment.progress);
    let what = format!("{} — {}", experiment.title, experiment.stage);
    widgets::progress(ui, cx.tokens, &what, share, experiment.eta_secs);
    if let Some(warm_up) = &experiment.warm_up {
        warm_up_ui(ui, warm_up);
    }
    for (name, median) in &experiment.arms {
        let words = median.map_or_else(|| "no steps yet".to_owned(), |ns| format!("{} a step", units::duration_ns(ns)));
        widgets::value_row(ui, cx.tokens, name, &widgets::Figure::new(words, "Median of the steady steps so far"));
    }
    for refused in &experiment.refused {
        widgets::value_row(ui, cx.tokens, &refused.name, &widgets::Figure::new("left out", &refused.reason));
    }
}
