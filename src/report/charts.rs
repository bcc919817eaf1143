//! The charts of a comparison: step time of each run, phases, losses, distribution of step times.

use super::svg::{Anchor, Colors, Drawing, ticks};
use crate::analysis::{ComparedRun, Comparison};
use crate::model::{Phase, units};

/// Colours that people with colour blindness can tell apart (Okabe and Ito 2008), one a run or phase.
pub const PALETTE: [&str; 8] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A7B00", "#7F7F7F"];
/// Dashes, so that lines can be told apart without colour.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];
const WIDTH: f64 = 760.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 150.0;

/// For which surroundings a chart is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Dark text on white.
    Light,
    /// Colours of the page around it.
    Page,
}

/// A finished chart.
pub struct Chart {
    /// Name in file names.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// The drawing.
    pub svg: String,
}

impl Look {
    fn colors(self) -> Colors {
        match self {
            Self::Light => Colors { background: "#ffffff", text: "#1b1f24", muted: "#59636e", grid: "#d9dee3" },
            Self::Page => Colors { background: "", text: "var(--text)", muted: "var(--muted)", grid: "var(--grid)" },
        }
    }
}

/// All charts, that of step times first.
pub fn all(c: &Comparison, look: Look) -> Vec<Chart> {
    let chart = |name, title, svg| Chart { name, title, svg };
    vec![
        chart("steps", "Step time", step_times(c, look)),
        chart("phases", "Phases of a step", phases(c, look)),
        chart("loss", "Loss", losses(c, look)),
        chart("distribution", "Distribution of step times", distribution(c, look)),
    ]
}

fn color(run: usize) -> &'static str {
    PALETTE[run % PALETTE.len()]
}

/// Shortened so that it fits beside the bars.
fn label(run: &ComparedRun) -> String {
    let text: String = run.title.chars().take(26).collect();
    if text.chars().count() < run.title.chars().count() { format!("{text}…") } else { text }
}

/// Vertical grid with labels below; returns x from value.
fn value_axis<F: Fn(f64) -> String>(
    d: &mut Drawing,
    max: f64,
    (top, bottom): (f64, f64),
    text: F,
) -> impl Fn(f64) -> f64 + use<F> {
    let marks = ticks(max, 5);
    let end = marks.last().copied().unwrap_or(1.0);
    let plot = WIDTH - LEFT - RIGHT;
    let colors = d.colors();
    for mark in marks {
        let x = LEFT + mark / end * plot;
        d.line((x, top), (x, bottom), colors.grid, 1.0);
        d.text((x, bottom + 16.0), &text(mark), Anchor::Middle, 11.0, colors.muted);
    }
    move |value: f64| LEFT + value / end * plot
}

fn step_times(c: &Comparison, look: Look) -> String {
    let row = 44.0;
    let bottom = 34.0 + row * c.runs.len() as f64;
    let mut d = Drawing::new(WIDTH, bottom + 44.0, look.colors());
    let colors = d.colors();
    d.text(
        (12.0, 20.0),
        "Median step time, lower is better; whiskers from the 5th to the 95th percentile",
        Anchor::Start,
        12.0,
        colors.muted,
    );
    let max =
        c.runs.iter().filter_map(|run| run.step_p95_ns.get().or(run.step_median_ns.get())).copied().fold(0.0, f64::max);
    let x = value_axis(&mut d, max, (34.0, bottom), units::duration_ns);
    for (number, run) in c.runs.iter().enumerate() {
        let y = 34.0 + row * number as f64;
        d.text((LEFT - 10.0, y + 26.0), &label(run), Anchor::End, 13.0, colors.text);
        let Some(median) = run.step_median_ns.get().copied() else {
            d.text((LEFT + 6.0, y + 26.0), "unknown", Anchor::Start, 12.0, colors.muted);
            continue;
        };
        d.rect((LEFT, y + 9.0, x(median) - LEFT, row - 18.0), color(number), &units::duration_ns(median));
        let mut end = x(median);
        if let (Some(low), Some(high)) = (run.step_p5_ns.get(), run.step_p95_ns.get()) {
            let middle = y + row / 2.0;
            d.line((x(*low), middle), (x(*high), middle), colors.text, 1.4);
            for at in [*low, *high] {
                d.line((x(at), middle - 5.0), (x(at), middle + 5.0), colors.text, 1.4);
            }
            end = end.max(x(*high));
        }
        let speed = match &run.vs_baseline {
            Some(Ok(versus)) => format!(" ({}, {})", units::ratio(versus.speedup), versus.verdict.label()),
            _ => String::new(),
        };
        let text = format!("{}{speed}", units::duration_ns(median));
        // Inside the bar's row, to the right of the whisker; long verdicts wrap under the time.
        let (first, second) =
            text.split_once(" (").map_or((text.as_str(), None), |(a, b)| (a, Some(b.trim_end_matches(')'))));
        d.text((end + 8.0, y + if second.is_some() { 20.0 } else { 26.0 }), first, Anchor::Start, 12.0, colors.text);
        if let Some(second) = second {
            d.text((end + 8.0, y + 35.0), second, Anchor::Start, 11.0, colors.muted);
        }
    }
    d.finish("Median step time of each run")
}

fn phases(c: &Comparison, look: Look) -> String {
    let row = 40.0;
    let legend = 44.0;
    let top = 20.0 + legend;
    let bottom = top + row * c.runs.len() as f64;
    let mut d = Drawing::new(WIDTH, bottom + 34.0, look.colors());
    let colors = d.colors();
    for (number, phase) in Phase::ALL.into_iter().enumerate() {
        let (x, y) = (12.0 + (number % 4) as f64 * 180.0, 10.0 + (number / 4) as f64 * 20.0);
        d.rect((x, y, 12.0, 12.0), PALETTE[number], phase.label());
        d.text((x + 18.0, y + 10.5), &format!("{}. {}", number + 1, phase.label()), Anchor::Start, 12.0, colors.text);
    }
    let max = c.runs.iter().map(|run| run.phases_median_ns.iter().sum::<f64>()).fold(0.0, f64::max);
    let x = value_axis(&mut d, max, (top, bottom), units::duration_ns);
    for (number, run) in c.runs.iter().enumerate() {
        let y = top + row * number as f64;
        d.text((LEFT - 10.0, y + 25.0), &label(run), Anchor::End, 13.0, colors.text);
        let mut from = 0.0;
        for phase in Phase::ALL {
            let time = run.phases_median_ns[phase as usize].max(0.0);
            let (left, right) = (x(from), x(from + time));
            let title = format!("{}: {}", phase.label(), units::duration_ns(time));
            d.rect((left, y + 8.0, right - left, row - 16.0), PALETTE[phase as usize], &title);
            if right - left > 14.0 {
                let number = (phase as usize + 1).to_string();
                d.text(((left + right) / 2.0, y + 24.0), &number, Anchor::Middle, 11.0, "#ffffff");
            }
            from += time;
        }
    }
    d.finish("Median time of each phase of a step")
}

/// Frame, axes and legend of a chart of lines; returns the map from values to the plane.
fn plane<X: Fn(f64) -> String, Y: Fn(f64) -> String>(
    d: &mut Drawing,
    c: &Comparison,
    (x_max, y_max): (f64, f64),
    (x_title, y_title): (&str, &str),
    x_text: X,
    y_text: Y,
) -> impl Fn(f64, f64) -> (f64, f64) + use<X, Y> {
    let (left, right, top, bottom) = (80.0, WIDTH - 20.0, 34.0 + 18.0 * c.runs.len().div_ceil(2) as f64, 320.0);
    let colors = d.colors();
    for (number, run) in c.runs.iter().enumerate() {
        let (x, y) = (80.0 + (number % 2) as f64 * 330.0, 16.0 + (number / 2) as f64 * 18.0);
        d.path(&[(x, y), (x + 30.0, y)], color(number), DASHES[number % DASHES.len()]);
        d.text((x + 38.0, y + 4.0), &label(run), Anchor::Start, 12.0, colors.text);
    }
    let (x_marks, y_marks) = (ticks(x_max, 6), ticks(y_max, 5));
    let (x_end, y_end) = (x_marks.last().copied().unwrap_or(1.0), y_marks.last().copied().unwrap_or(1.0));
    let map = move |x: f64, y: f64| (left + x / x_end * (right - left), bottom - y / y_end * (bottom - top));
    for mark in x_marks {
        let (x, _) = map(mark, 0.0);
        d.line((x, top), (x, bottom), colors.grid, 1.0);
        d.text((x, bottom + 16.0), &x_text(mark), Anchor::Middle, 11.0, colors.muted);
    }
    for mark in y_marks {
        let (_, y) = map(0.0, mark);
        d.line((left, y), (right, y), colors.grid, 1.0);
        d.text((left - 6.0, y + 4.0), &y_text(mark), Anchor::End, 11.0, colors.muted);
    }
    d.text(((left + right) / 2.0, bottom + 34.0), x_title, Anchor::Middle, 12.0, colors.text);
    d.text((left, top - 8.0), y_title, Anchor::Start, 12.0, colors.muted);
    map
}

fn losses(c: &Comparison, look: Look) -> String {
    let mut d = Drawing::new(WIDTH, 364.0, look.colors());
    let points = || c.runs.iter().flat_map(|run| run.loss.iter()).filter(|(_, loss)| loss.is_finite());
    let x_max = points().map(|(step, _)| *step as f64).fold(1.0, f64::max);
    let y_max = points().map(|(_, loss)| f64::from(*loss)).fold(0.0, f64::max);
    let map = plane(
        &mut d,
        c,
        (x_max, y_max),
        ("Step", "Loss (cross-entropy)"),
        |x| units::count(x as u64),
        |y| format!("{y:.2}"),
    );
    for (number, run) in c.runs.iter().enumerate() {
        let line: Vec<(f64, f64)> = run
            .loss
            .iter()
            .filter(|(_, l)| l.is_finite())
            .map(|(step, loss)| map(*step as f64, f64::from(*loss)))
            .collect();
        d.path(&line, color(number), DASHES[number % DASHES.len()]);
    }
    d.finish("Loss over steps")
}

/// Share of steps that took at most a time.
fn distribution(c: &Comparison, look: Look) -> String {
    let mut d = Drawing::new(WIDTH, 364.0, look.colors());
    let x_max = c.runs.iter().filter_map(|run| run.step_p95_ns.get()).copied().fold(0.0, f64::max) * 1.3;
    let map = plane(
        &mut d,
        c,
        (x_max, 1.0),
        ("Step time", "Share of steady steps that took at most this long"),
        units::duration_ns,
        units::percent,
    );
    let last = ticks(x_max, 6).last().copied().unwrap_or(1.0);
    for (number, run) in c.runs.iter().enumerate() {
        let mut times: Vec<f64> = run.step_times_ns.clone();
        times.sort_by(f64::total_cmp);
        let n = times.len().max(1) as f64;
        let mut line = Vec::new();
        let mut reached = 0.0;
        for (i, time) in times.iter().enumerate() {
            if *time > last {
                break; // Rare steps beyond the axis would squeeze all others together.
            }
            line.push(map(*time, reached));
            reached = (i + 1) as f64 / n;
            line.push(map(*time, reached));
        }
        line.push(map(last, reached));
        d.path(&line, color(number), DASHES[number % DASHES.len()]);
    }
    d.finish("Distribution of steady step times")
}
