//! Charts of the comparison: curves over steps and distributions of step times, one line a run. The points are made
//! once per comparison and thinned to what can be seen.

use crate::analysis::compare::ComparedRun;
use crate::model::units;
use crate::panels::palette::Palette;
use crate::panels::series::{MAX_POINTS, ecdf, smooth, thin};
use egui::{Ui, vec2};
use egui_plot::{Corner, Legend, Line, Plot};

/// Height of a chart, in points.
const HEIGHT: f32 = 200.0;

/// Points of all charts, for one set of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curves {
    /// Loss over steps.
    pub loss: Vec<Vec<[f64; 2]>>,
    /// Time of the steady steps in their order, in milliseconds.
    pub step_ms: Vec<Vec<[f64; 2]>>,
    /// Share of the steady steps that took no longer, over milliseconds.
    pub distribution: Vec<Vec<[f64; 2]>>,
}

impl Curves {
    /// Makes the points of all runs; `window` steps on both sides are averaged in the curves over steps.
    pub fn of(runs: &[ComparedRun], window: usize) -> Self {
        let line = |points: Vec<[f64; 2]>| thin(&smooth(&points, window), MAX_POINTS);
        let loss = |run: &ComparedRun| run.loss.iter().map(|(step, loss)| [*step as f64, f64::from(*loss)]).collect();
        let millis = |run: &ComparedRun| run.step_times_ns.iter().map(|ns| ns / 1e6).collect::<Vec<f64>>();
        let times = |run: &ComparedRun| millis(run).iter().enumerate().map(|(i, ms)| [i as f64, *ms]).collect();
        Self {
            loss: runs.iter().map(|run| line(loss(run))).collect(),
            step_ms: runs.iter().map(|run| line(times(run))).collect(),
            distribution: runs.iter().map(|run| thin(&ecdf(&millis(run)), MAX_POINTS)).collect(),
        }
    }
}

/// What a chart shows and how its axes are named.
struct Chart<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    lines: &'a [Vec<[f64; 2]>],
    none: &'a str,
    legend: Corner,
}

/// Draws the three charts beside each other, or under one another where the panel is narrow.
pub fn charts_ui(ui: &mut Ui, runs: &[ComparedRun], curves: &Curves, palette: &Palette) {
    let charts = [
        Chart {
            title: "Loss",
            x: "step",
            y: "loss",
            lines: &curves.loss,
            none: "No run has read its loss back",
            legend: Corner::RightTop,
        },
        Chart {
            title: "Step time",
            x: "steady steps in order",
            y: "ms",
            lines: &curves.step_ms,
            none: "No run has steady steps: all were warm-up, sampled or disturbed",
            legend: Corner::RightTop,
        },
        Chart {
            title: "Distribution of step times",
            x: "ms, steady steps only",
            y: "share of steps",
            lines: &curves.distribution,
            none: "No run has steady steps: all were warm-up, sampled or disturbed",
            legend: Corner::LeftTop,
        },
    ];
    let columns = ((ui.available_width() / 340.0) as usize).clamp(1, charts.len());
    for row in charts.chunks(columns) {
        ui.columns(columns, |uis| {
            for (ui, chart) in uis.iter_mut().zip(row) {
                chart_ui(ui, runs, chart, palette);
            }
        });
    }
}

fn chart_ui(ui: &mut Ui, runs: &[ComparedRun], chart: &Chart<'_>, palette: &Palette) {
    ui.strong(chart.title);
    if chart.lines.iter().all(Vec::is_empty) {
        ui.allocate_ui(vec2(ui.available_width(), HEIGHT), |ui| ui.weak(chart.none));
        return;
    }
    let (x_name, y_name) = (chart.x.to_owned(), chart.y.to_owned());
    Plot::new(chart.title)
        .height(HEIGHT)
        .legend(Legend::default().follow_insertion_order(true).position(chart.legend))
        .allow_scroll(false)
        .x_axis_label(x_name)
        .y_axis_label(y_name)
        .show(ui, |plot| {
            for (idx, (run, points)) in runs.iter().zip(chart.lines).enumerate().filter(|(_, (_, p))| !p.is_empty()) {
                let line = Line::new(run.title.clone(), points.clone());
                // The baseline is dashed, so that colour is not all that tells it.
                let line = if idx == 0 { line.style(egui_plot::LineStyle::dashed_loose()) } else { line };
                plot.line(line.color(palette.series(idx)).width(1.5));
            }
        });
}

/// Median step times of an experiment's stages, as a staircase of bars with the gain of each step.
pub fn staircase_ui(ui: &mut Ui, stages: &[(String, Option<f64>)], palette: &Palette) {
    let first = stages.iter().find_map(|(_, median)| *median);
    let bars: Vec<crate::panels::bars::Bar> = stages
        .iter()
        .enumerate()
        .map(|(idx, (name, median))| {
            let value = match (median, first) {
                (Some(ns), Some(first)) if idx > 0 => {
                    format!("{}, {} of the baseline's speed", units::duration_ns(*ns), units::ratio(first / ns))
                }
                (Some(ns), _) => units::duration_ns(*ns),
                (None, _) => "no steady step yet".to_owned(),
            };
            let part = crate::panels::bars::Part {
                label: String::new(),
                value: median.unwrap_or(0.0),
                color: palette.series(idx),
                note: String::new(),
            };
            crate::panels::bars::Bar { label: name.clone(), parts: vec![part], value }
        })
        .collect();
    crate::panels::bars::bars_ui(ui, &bars, units::duration_ns, crate::timeline::marks::text_color_on);
}
