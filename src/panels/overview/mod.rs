//! The Overview panel: where the time of one run goes, how steady it is, and what to try.

mod advice;
mod charts;
mod environment;
mod profile;
mod work;

use super::PanelContext;
use super::figures::figure;
use crate::analysis::breakdown::PhaseShare;
use crate::analysis::{Breakdown, OpRow};
use crate::model::{Known, Source, units};
use crate::panels::bars::{Bar, Part, bars_ui};
use crate::session::{Command, OpenRun, PanelId};
use crate::ui::tokens::size;
use crate::ui::widgets::{Figure, Tone};
use crate::ui::{Tokens, icons, text, widgets};
use egui::{FontId, Ui};

/// Narrowest width that carries two columns, in points.
const TWO_COLUMNS: f32 = 860.0;
/// Narrowest card with a figure, in points.
const CARD_MIN: f32 = 158.0;
/// Operations in the short list.
const TOP_OPS: usize = 8;

/// State of the panel between frames.
#[derive(Debug, Default)]
pub struct OverviewState {
    curves: charts::Curves,
}

/// The Overview panel.
pub fn overview_ui(cx: &PanelContext<'_>, state: &mut OverviewState, ui: &mut Ui) {
    let Some(run) = cx.session.active() else {
        no_run_ui(cx, ui);
        return;
    };
    egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        title_ui(cx, ui, run);
        if run.loading {
            let share = (!run.live).then(|| run.watch.share());
            widgets::progress(ui, cx.tokens, "Reading the run…", share, None);
            return;
        }
        warnings_ui(cx, ui, run);
        if run.steps.is_empty() {
            match run.derived.profile.as_deref().filter(|_| run.trace.span_count() > 0 && !run.live) {
                Some(found) => profile::profile_ui(cx, ui, run, found),
                None => no_steps_ui(cx, ui, run),
            }
            return;
        }
        figures_ui(cx, ui, run);
        ui.add_space(size::GAP);
        card_ui(cx, ui, "Time of a step", |ui| phases_ui(cx, ui, run));
        state.curves.update(run);
        let two = ui.available_width() >= TWO_COLUMNS;
        ui.columns(if two { 2 } else { 1 }, |columns| {
            // One or two columns; the second is the first again where there is one.
            let last = columns.len() - 1;
            card_ui(cx, &mut columns[0], "Step time", |ui| state.curves.step_time_ui(cx, ui));
            card_ui(cx, &mut columns[last], "Loss", |ui| state.curves.loss_ui(cx, ui));
            card_ui(cx, &mut columns[0], "What to try", |ui| advice::advice_ui(cx, ui, run));
            if let Some(path) = run.derived.profile.as_deref().and_then(|profile| profile.critical.as_ref()) {
                card_ui(cx, &mut columns[last], "Critical path of a step", |ui| work::critical_ui(cx, ui, path));
            }
            let (title, panel, rows) = longest_of(run);
            card_ui(cx, &mut columns[last], title, |ui| longest_ui(cx, ui, run, panel, rows));
            card_ui(cx, &mut columns[0], "Environment", |ui| environment::environment_ui(cx, ui, run));
        });
    });
}

fn card_ui(cx: &PanelContext<'_>, ui: &mut Ui, title: &str, content: impl FnOnce(&mut Ui)) {
    cx.tokens.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(text::group(title, cx.tokens.ui.text_strong));
        ui.add_space(2.0);
        // Columns are justified, which would stretch sentences over the line.
        ui.with_layout(egui::Layout::top_down(egui::Align::Min), content);
    });
    ui.add_space(size::GAP);
}

fn no_run_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    let (reason, action) = if cx.session.library().is_empty() {
        (
            "There are no runs yet. Choose what to train in Setup and press Train; the first steps show here live.",
            "Go to Setup",
        )
    } else {
        ("Open a run from the list, or train a new one.", "Go to Runs")
    };
    let empty = widgets::Empty { icon: icons::GAUGE, title: "No run is open", reason, action: Some(action) };
    if widgets::empty_state(ui, cx.tokens, &empty) {
        let panel = if cx.session.library().is_empty() { PanelId::Setup } else { PanelId::Runs };
        cx.send(Command::ShowPanel(panel));
    }
}

fn no_steps_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    let spans = run.trace.tracks().iter().map(|track| track.span_count()).sum::<u64>();
    let (title, reason) = if run.live {
        let training = cx.session.training().filter(|training| training.active() && training.run_id == run.id);
        let stage = training.map_or_else(String::new, super::setup::progress::stage);
        ("No steps yet", format!("The worker opens its data and compiles its first kernels. {stage}"))
    } else if spans > 0 {
        (
            "A trace without training steps",
            format!("{} spans were read; see Timeline, Flame and Ops", units::count(spans)),
        )
    } else {
        ("No steps were recorded", "The run ended before its first step; see Log for the reason".to_owned())
    };
    let action = (spans > 0).then_some("Show Timeline");
    let empty = widgets::Empty { icon: icons::CLOCK, title, reason: &reason, action };
    if widgets::empty_state(ui, cx.tokens, &empty) {
        cx.send(Command::ShowPanel(PanelId::Timeline));
    }
}

fn title_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    ui.horizontal(|ui| {
        ui.add(
            egui::Label::new(egui::RichText::new(&run.manifest.title).heading().color(cx.tokens.ui.text_strong))
                .truncate(),
        );
        let (tone, words) = if run.live { (Tone::Active, "live") } else { super::runs::end_badge(&run.manifest.end) };
        let words = if run.path.is_file() { run.report.format.as_str() } else { words };
        let badge = widgets::badge(ui, cx.tokens, if run.path.is_file() { Tone::Plain } else { tone }, words);
        if let Some(detail) = run.manifest.end.detail() {
            badge.on_hover_text(detail);
        }
        if run.manifest.environment.adapter.as_ref().is_some_and(|adapter| adapter.software) {
            let words = "The adapter is emulated by the CPU: its speed says nothing about a GPU";
            widgets::badge(ui, cx.tokens, Tone::Warning, "software GPU").on_hover_text(words);
        }
        ui.weak(&run.manifest.environment.device);
    });
    ui.add_space(4.0);
}

fn warnings_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    let detail = if run.live { None } else { run.manifest.end.detail() };
    let odd: u64 = run.report.notes.iter().map(|note| note.count).sum();
    let report = (odd > 0 || run.report.torn_tail_bytes > 0).then(|| {
        format!(
            "{} things in the file were not taken as they stand; Import tells which and what was done",
            units::count(odd.max(1))
        )
    });
    let failed = detail.iter().map(|text| (crate::ui::toasts::Level::Error, text));
    let said = run.manifest.warnings.iter().chain(report.iter()).map(|text| (crate::ui::toasts::Level::Warning, text));
    for (level, text) in failed.chain(said) {
        crate::ui::toasts::message_ui(ui, cx.tokens, level, text);
    }
}

/// The cards with the figures that matter most, in as many columns as fit.
fn figures_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    let cards = figures(run);
    let gap = ui.spacing().item_spacing.x;
    let fit = ((ui.available_width() + gap) / (CARD_MIN + gap)).floor().max(1.0);
    // Rows of equal length look better than one long and one short row.
    let rows = (cards.len() as f32 / fit).ceil();
    let columns = (cards.len() as f32 / rows).ceil().max(1.0) as usize;
    let width = (ui.available_width() - gap * (columns - 1) as f32) / columns as f32;
    for row in cards.chunks(columns) {
        ui.horizontal(|ui| {
            for (label, figure, note) in row {
                widgets::figure_card(ui, cx.tokens, width, label, figure, note);
            }
        });
    }
}

/// Label, figure and the line beneath it. While a run grows, they stand on the steps so far.
fn figures(run: &OpenRun) -> Vec<(&'static str, Figure, String)> {
    let breakdown = run.derived.breakdown.as_ref().and_then(|breakdown| breakdown.as_ref().as_ref());
    let step = step_time(run, breakdown);
    let samples = samples_per_sec(run, breakdown);
    let busy = &run.derived.busy;
    let pending = |what: &str| Figure::Missing(format!("{what} is measured when the run ends"));
    let (rate, share) = &run.derived.compute;
    let summary = run.manifest.summary.as_ref();
    let memory = summary
        .map_or_else(|| pending("Memory"), |s| figure(&s.peak_device_bytes, |bytes| units::bytes(*bytes as f64)));
    let warm_up = summary.map(|summary| &summary.warm_up);
    let cold = warm_up.map_or_else(
        || pending("The cost of starting"),
        |warm_up| {
            Figure::new(units::duration_ns(warm_up.dur_ns as f64), "Measured: host clock, first step to steady steps")
        },
    );
    let cold_note = warm_up.map_or_else(String::new, |warm_up| {
        format!("{} steps, {} kernels compiled", units::count(warm_up.steps), units::count(warm_up.compiled))
    });
    let accuracy =
        summary.map_or_else(|| pending("Test accuracy"), |s| figure(&s.test_accuracy, |share| units::percent(*share)));
    let recorder =
        summary.map_or_else(|| pending("Its cost"), |s| figure(&s.recorder_cost, |share| units::percent(*share)));
    let loss = summary.and_then(|s| s.final_loss).map(|loss| format!("final loss {loss:.4}")).unwrap_or_default();
    let spread = summary
        .and_then(|s| s.step_p95_ns.get())
        .map(|p95| format!("95 % take less than {}", units::duration_ns(*p95)))
        .unwrap_or_default();
    vec![
        ("Step, median", figure(&step, |ns| units::duration_ns(*ns)), spread),
        ("Throughput", figure(&samples, |rate| units::samples_per_sec(*rate)), "at the median step".to_owned()),
        ("Compute rate", figure(rate, |rate| units::flops_per_sec(*rate)), ceiling_note(share)),
        ("Device busy", figure(busy, |share| units::percent(*share)), "of wall time".to_owned()),
        ("Peak device memory", memory, "held by the pools".to_owned()),
        ("Cold start", cold, cold_note),
        ("Test accuracy", accuracy, loss),
        ("Recorder’s cost", recorder, "traced over untraced steps".to_owned()),
    ]
}

/// What part of the device's ceiling a rate is, or how to find that out.
fn ceiling_note(share: &Known<f64>) -> String {
    match share {
        Known::Value { value, .. } => format!("{} of the measured ceiling", units::percent(*value)),
        Known::Unknown(_) => "share of the ceiling: unknown".to_owned(),
    }
}

fn step_time(run: &OpenRun, breakdown: Option<&Breakdown>) -> Known<f64> {
    match (&run.manifest.summary, breakdown) {
        (Some(summary), _) => summary.step_median_ns.clone(),
        (None, Some(breakdown)) => Known::value(breakdown.step_median_ns, Source::HostClock, breakdown.steps as u64),
        (None, None) => Known::unknown("Being computed"),
    }
}

fn samples_per_sec(run: &OpenRun, breakdown: Option<&Breakdown>) -> Known<f64> {
    let batch = run.steps.last().map_or(0.0, |step| f64::from(step.samples));
    match (&run.manifest.summary, breakdown) {
        (Some(summary), _) => summary.samples_per_sec.clone(),
        (None, Some(b)) if b.step_median_ns > 0.0 => {
            Known::value(batch / (b.step_median_ns / 1e9), Source::Derived, b.steps as u64)
        }
        _ => Known::unknown("Being computed"),
    }
}

/// One stacked bar of the phases, and a legend with their shares.
fn phases_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    let Some(ready) = &run.derived.breakdown else {
        text::note(ui, "Being computed…");
        return;
    };
    let Some(breakdown) = ready.as_ref() else {
        text::note(ui, "There are no steps to take apart yet");
        return;
    };
    let part = |share: &PhaseShare| Part {
        label: share.phase.label().to_owned(),
        value: share.mean_ns,
        color: cx.tokens.phase(share.phase.id()),
        note: format!("median {}", units::duration_ns(share.median_ns)),
    };
    let bar = Bar {
        label: format!(
            "Mean of {} {}",
            units::count(breakdown.steps as u64),
            if breakdown.steady { "steady steps" } else { "steps" }
        ),
        parts: breakdown.phases.iter().map(part).collect(),
        value: units::duration_ns(breakdown.step_mean_ns),
    };
    bars_ui(ui, &[bar], units::duration_ns, Tokens::text_on);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 12.0;
        for share in breakdown.phases.iter().filter(|share| share.mean_ns > 0.0) {
            legend_ui(cx, ui, share);
        }
    });
    if !breakdown.steady {
        text::note(ui, "No step is steady yet: these are warm-up steps, which take longer");
    }
}

/// Swatch, name and share of a phase.
fn legend_ui(cx: &PanelContext<'_>, ui: &mut Ui, share: &PhaseShare) {
    let color = cx.tokens.phase(share.phase.id());
    let words = format!("median {}", units::duration_ns(share.median_ns));
    swatch_ui(cx, ui, color, share.phase.label(), share.share).on_hover_text(words);
}

/// Swatch, name and share of a part, kept together where the line is broken.
fn swatch_ui(cx: &PanelContext<'_>, ui: &mut Ui, color: egui::Color32, name: &str, share: f64) -> egui::Response {
    let name = ui.painter().layout_no_wrap(name.to_owned(), FontId::proportional(13.0), cx.tokens.ui.text);
    let figure = units::percent(share);
    let figure = ui.painter().layout_no_wrap(figure, FontId::monospace(11.5), cx.tokens.ui.text_weak);
    let width = 15.0 + name.size().x + 5.0 + figure.size().x;
    let (rect, response) = ui.allocate_exact_size(egui::vec2(width, name.size().y), egui::Sense::hover());
    let swatch = egui::Rect::from_center_size(rect.left_center() + egui::vec2(5.0, 0.0), egui::Vec2::splat(10.0));
    ui.painter().rect_filled(swatch, 2.0, color);
    let figure_left = rect.left() + 20.0 + name.size().x;
    let middle = |height: f32| rect.center().y - height / 2.0;
    ui.painter().galley(egui::pos2(rect.left() + 15.0, middle(name.size().y)), name, cx.tokens.ui.text);
    ui.painter().galley(egui::pos2(figure_left, middle(figure.size().y)), figure, cx.tokens.ui.text_weak);
    response
}

/// What to list as longest: kernels by the device's own clock where there are any, else operations. `None` = being
/// computed.
fn longest_of(run: &OpenRun) -> (&'static str, PanelId, Option<&[OpRow]>) {
    match &run.derived.kernels {
        Some(kernels) if !kernels.is_empty() => ("Kernels that take longest", PanelId::Kernels, Some(kernels)),
        _ => ("Operations that take longest", PanelId::Ops, run.derived.ops.as_deref().map(Vec::as_slice)),
    }
}

fn longest_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun, panel: PanelId, rows: Option<&[OpRow]>) {
    let Some(rows) = rows else {
        text::note(ui, "Being computed…");
        return;
    };
    if rows.is_empty() {
        let level = run.manifest.spec.trace.level.id();
        text::note(ui, format!("No operations were recorded at level {level}; they need level L1 or higher"));
        return;
    }
    if panel == PanelId::Kernels {
        let sampled = if run.steps.is_empty() { "" } else { ", in sampled steps" };
        text::note(ui, format!("Device timestamps{sampled}"));
    } else if run.manifest.environment.adapter.is_some() {
        text::note(ui, "Host time to hand them over; the device works later. Its own times need recording level L2");
    }
    let mut top: Vec<&OpRow> = rows.iter().collect();
    top.sort_by(|a, b| b.self_ns.total_cmp(&a.self_ns));
    top.truncate(TOP_OPS);
    let longest = top.first().map_or(1.0, |row| row.self_ns.max(1.0));
    for row in top {
        op_ui(cx, ui, row, (row.self_ns / longest) as f32);
    }
    ui.horizontal(|ui| {
        let all = if panel == PanelId::Kernels { "All kernels" } else { "All operations" };
        if ui.button(all).clicked() {
            cx.send(Command::ShowPanel(panel));
        }
    });
}

/// One row: a bar behind the name, the figures at the right.
fn op_ui(cx: &PanelContext<'_>, ui: &mut Ui, row: &OpRow, share: f32) {
    let (rect, response) =
        ui.allocate_exact_size(egui::vec2(ui.available_width(), size::ROW - 3.0), egui::Sense::click());
    let color = cx.tokens.data(&row.name);
    let mut bar = rect.shrink2(egui::vec2(0.0, 1.5));
    bar.set_width(rect.width() * share);
    let painter = ui.painter_at(rect);
    painter.rect_filled(bar, 3.0, color.gamma_multiply(if cx.tokens.dark { 0.35 } else { 0.45 }));
    painter.rect_filled(egui::Rect::from_min_size(bar.min, egui::vec2(3.0, bar.height())), 1.0, color);
    let figures = format!("{:>9}  {:>7}", units::duration_ns(row.self_ns), units::percent(row.share));
    let font = FontId::monospace(11.5);
    let galley = painter.layout_no_wrap(figures, font, cx.tokens.ui.text);
    let right = rect.right() - galley.size().x;
    painter.galley(egui::pos2(right, rect.center().y - galley.size().y / 2.0), galley, cx.tokens.ui.text);
    let (font, left) = (FontId::proportional(13.0), rect.left() + 8.0);
    let name = text::elided(&painter, &row.name, font, cx.tokens.ui.text_strong, right - 6.0 - left);
    let corner = egui::pos2(left, rect.center().y - name.size().y / 2.0);
    painter.galley(corner, name, cx.tokens.ui.text_strong);
    let words = format!(
        "{}\n{} calls, {} each on average\nClick to find it in the timeline",
        row.name,
        units::count(row.count),
        units::duration_ns(row.mean_ns)
    );
    let response = response.on_hover_text(words);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Operation {}", row.name)));
    if response.clicked() {
        cx.send(Command::SelectName(row.name.clone()));
    }
}
