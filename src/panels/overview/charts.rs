//! Curves of one run over its steps: step time and loss. Points are made when steps came, not in every frame.

use super::super::PanelContext;
use super::super::series::{MAX_POINTS, smooth, thin};
use crate::model::{StepRecord, units};
use crate::session::OpenRun;
use crate::ui::text;
use egui::Ui;
use egui_plot::{Corner, Legend, Line, Plot, Points};

/// Height of a chart, in points.
const HEIGHT: f32 = 170.0;
/// Steps on each side over which the loss is smoothed.
const SMOOTH: usize = 4;

/// Points of the curves of one run.
#[derive(Debug, Default)]
pub struct Curves {
    of: Option<(String, usize)>,
    steady_ms: Vec<[f64; 2]>,
    cold_ms: Vec<[f64; 2]>,
    other_ms: Vec<[f64; 2]>,
    loss: Vec<[f64; 2]>,
    smooth_loss: Vec<[f64; 2]>,
}

impl Curves {
    /// Makes the points anew if the run is another one or has grown.
    pub fn update(&mut self, run: &OpenRun) {
        let of = (run.id.clone(), run.steps.len());
        if self.of.as_ref() == Some(&of) {
            return;
        }
        let steps = &run.steps;
        let cold = |step: &StepRecord| step.flags.contains(crate::model::StepFlags::COLD);
        let times = |keep: &dyn Fn(&StepRecord) -> bool| {
            let points: Vec<[f64; 2]> = steps
                .iter()
                .filter(|step| keep(step))
                .map(|step| [step.step as f64, step.dur_ns as f64 / 1e6])
                .collect();
            thin(&points, MAX_POINTS)
        };
        self.steady_ms = times(&|step| step.flags.steady());
        self.cold_ms = times(&cold);
        self.other_ms = times(&|step| !step.flags.steady() && !cold(step));
        let loss: Vec<[f64; 2]> =
            steps.iter().filter_map(|step| Some([step.step as f64, f64::from(step.loss?)])).collect();
        self.smooth_loss = thin(&smooth(&loss, SMOOTH), MAX_POINTS);
        self.loss = thin(&loss, MAX_POINTS);
        self.of = Some(of);
    }

    /// Steady steps as a line; warm-up is left out where it would flatten everything else, and said so.
    pub fn step_time_ui(&self, cx: &PanelContext<'_>, ui: &mut Ui) {
        let tallest = |points: &[[f64; 2]]| points.iter().map(|point| point[1]).fold(0.0, f64::max);
        let steady = tallest(&self.steady_ms);
        let show_cold = self.steady_ms.is_empty() || tallest(&self.cold_ms) <= 4.0 * steady;
        let drawn = if show_cold { tallest(&self.cold_ms) } else { 0.0 };
        // Room above the tallest step for the legend.
        let top = 1.45 * steady.max(tallest(&self.other_ms)).max(drawn);
        plot(cx, "step time", "ms").include_y(top).show(ui, |plot| {
            plot.line(Line::new("steady", self.steady_ms.clone()).color(cx.tokens.series(0)).width(1.5));
            if show_cold && !self.cold_ms.is_empty() {
                plot.points(Points::new("warm-up", self.cold_ms.clone()).color(cx.tokens.ui.warning).radius(2.5));
            }
            if !self.other_ms.is_empty() {
                let points = Points::new("sampled or disturbed", self.other_ms.clone());
                plot.points(points.color(cx.tokens.ui.text_weak).radius(2.5));
            }
        });
        if !show_cold {
            let slowest = units::duration_ns(tallest(&self.cold_ms) * 1e6);
            text::note(ui, format!("{} warm-up steps are not drawn: up to {slowest}", self.cold_ms.len()));
        }
    }

    /// Loss of each step that was read back, and a smooth line through it.
    pub fn loss_ui(&self, cx: &PanelContext<'_>, ui: &mut Ui) {
        if self.loss.is_empty() {
            ui.allocate_ui(egui::vec2(ui.available_width(), HEIGHT), |ui| {
                text::note(ui, "No step has read its loss back yet");
            });
            return;
        }
        plot(cx, "loss", "loss").show(ui, |plot| {
            let color = cx.tokens.series(1);
            plot.line(Line::new("each step", self.loss.clone()).color(color.gamma_multiply(0.45)).width(1.0));
            plot.line(Line::new("mean of 9", self.smooth_loss.clone()).color(color).width(2.0));
        });
    }
}

fn plot<'a>(cx: &PanelContext<'_>, name: &'a str, unit: &'a str) -> Plot<'a> {
    Plot::new(name)
        .height(HEIGHT)
        .include_y(0.0)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .legend(Legend::default().follow_insertion_order(true).position(Corner::RightTop))
        .grid_color(cx.tokens.canvas.grid)
        .x_axis_label("step")
        .y_axis_label(unit)
        .y_axis_min_width(34.0)
}
