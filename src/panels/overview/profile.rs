//! The overview of a trace of another tool: its steps, where their time goes, when the device was idle and why, and what
//! the file says of itself.

use super::super::PanelContext;
use super::{CARD_MIN, TWO_COLUMNS, card_ui, longest_of, longest_ui, work};
use crate::analysis::profile::{DeviceTime, Part, Profile};
use crate::model::units;
use crate::panels::bars::{Bar, Part as BarPart, bars_ui};
use crate::panels::palette::Palette;
use crate::session::{Command, OpenRun, PanelId};
use crate::ui::tokens::size;
use crate::ui::widgets::{Figure, value_row};
use crate::ui::{Tokens, text, widgets};
use egui::Ui;

/// Longest text of a fact that is shown, in characters.
const FACT_CHARS: usize = 90;
/// Longest name on a button, in characters.
const MARKER_CHARS: usize = 40;
/// Gaps in the list of the longest.
const GAPS: usize = 6;

/// Everything below the title.
pub fn profile_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun, profile: &Profile) {
    cards_ui(cx, ui, run, profile);
    ui.add_space(size::GAP);
    card_ui(cx, ui, "Time of a step", |ui| {
        parts_ui(cx, ui, profile);
        marker_ui(cx, ui, run);
    });
    let two = ui.available_width() >= TWO_COLUMNS;
    ui.columns(if two { 2 } else { 1 }, |columns| {
        // One or two columns; the second is the first again where there is one.
        let last = columns.len() - 1;
        card_ui(cx, &mut columns[0], "What stands out", |ui| verdicts_ui(ui, profile));
        for device in &profile.devices {
            let title = format!("Idle time of {}", device.device);
            card_ui(cx, &mut columns[0], &title, |ui| idle_ui(cx, ui, device));
        }
        if let Some(path) = &profile.critical {
            card_ui(cx, &mut columns[last], "Critical path of a step", |ui| work::critical_ui(cx, ui, path));
        }
        if !profile.copies.is_empty() {
            card_ui(cx, &mut columns[0], "Copies of memory", |ui| work::copies_ui(cx, ui, &profile.copies));
        }
        if !profile.memory.is_empty() {
            card_ui(cx, &mut columns[0], "Memory", |ui| work::memory_ui(cx, ui, run, &profile.memory));
        }
        let (title, panel, rows) = longest_of(run);
        card_ui(cx, &mut columns[last], title, |ui| longest_ui(cx, ui, run, panel, rows));
        card_ui(cx, &mut columns[last], "The file", |ui| file_ui(cx, ui, run));
    });
}

fn cards_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun, profile: &Profile) {
    let missing = |why: &str| Figure::Missing(why.to_owned());
    let step = profile.step_ns.as_ref().map_or_else(
        || missing(&profile.steps.how),
        |step| Figure::new(units::duration_ns(step.median), profile.step_sentence()),
    );
    let spread = profile.step_ns.as_ref().map_or_else(String::new, |step| {
        format!("{}, 95 % below {}", units::counted(step.n as u64, "step"), units::duration_ns(step.p95))
    });
    let busy = profile.devices.iter().max_by_key(|device| device.busy_ns);
    let busy_figure = busy.map_or_else(
        || missing("The trace has no work of a device"),
        |device| {
            let how = "Union of the device's work over the time from its first to its last, within the steps";
            Figure::new(units::percent(device.busy_share()), how)
        },
    );
    let launches = profile.launches_known.map_or_else(
        || missing("The trace has no work of a device"),
        |share| Figure::new(units::percent(share.min(1.0)), "Work of devices that an arrow joins to its launch"),
    );
    let length = run.trace.bounds().map_or(0, |(start, end)| end.saturating_sub(start));
    let tracks = run.trace.tracks().iter().filter(|track| track.bounds().is_some()).count();
    let cards = [
        ("Step, median", step, spread),
        ("Device busy", busy_figure, busy.map(|device| device.device.clone()).unwrap_or_default()),
        ("Launches known", launches, "of the device's work".to_owned()),
        (
            "Spans",
            Figure::new(units::count(run.trace.span_count()), "Counted"),
            format!("on {} tracks over {}", units::count(tracks as u64), units::duration_ns(length as f64)),
        ),
    ];
    let gap = ui.spacing().item_spacing.x;
    let columns = ((ui.available_width() + gap) / (CARD_MIN + gap)).floor().clamp(1.0, cards.len() as f32) as usize;
    let width = (ui.available_width() - gap * (columns - 1) as f32) / columns as f32;
    for row in cards.chunks(columns) {
        ui.horizontal(|ui| {
            for (label, figure, note) in row {
                widgets::figure_card(ui, cx.tokens, width, label, figure, note);
            }
        });
    }
}

/// How to have other steps.
fn marker_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    ui.horizontal_wrapped(|ui| match (&run.marker, cx.session.selection().name.as_deref()) {
        (Some(_), _) => {
            if ui.button("Find the steps again").clicked() {
                cx.send(Command::SetMarker(None));
            }
        }
        (None, Some(name)) => {
            if ui.button(format!("Take “{}” as steps", units::shorten(name, MARKER_CHARS))).clicked() {
                cx.send(Command::SetMarker(Some(name.to_owned())));
            }
        }
        (None, None) => {
            ui.weak("For other steps, select a span in the timeline and take its name");
        }
    });
}

fn parts_ui(cx: &PanelContext<'_>, ui: &mut Ui, profile: &Profile) {
    let Some(step) = &profile.step_ns else {
        text::note(ui, format!("Unknown: {}", profile.steps.how));
        return;
    };
    let palette = Palette::of(cx.tokens);
    let parts: Vec<&Part> = profile.parts.iter().filter(|part| part.mean_ns > 0.0).collect();
    let bar = Bar {
        label: format!("Mean of {}", units::counted(step.n as u64, "step")),
        parts: parts
            .iter()
            .map(|part| BarPart {
                label: units::capital(part.label),
                value: part.mean_ns,
                color: palette.role(part.role),
                note: units::percent(part.share),
            })
            .collect(),
        value: units::duration_ns(step.mean),
    };
    bars_ui(ui, &[bar], units::duration_ns, Tokens::text_on);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 12.0;
        for part in parts {
            let words = format!("{}: {}", part.label, units::duration_ns(part.mean_ns));
            super::swatch_ui(cx, ui, palette.role(part.role), &units::capital(part.label), part.share)
                .on_hover_text(words);
        }
    });
    text::note(
        ui,
        format!("Steps: {}. What a device does counts before what the host does meanwhile", profile.steps.how),
    );
}

fn verdicts_ui(ui: &mut Ui, profile: &Profile) {
    if profile.verdicts.is_empty() {
        text::note(ui, "Nothing: no rule found evidence");
    }
    for verdict in &profile.verdicts {
        ui.horizontal_top(|ui| {
            ui.label("•");
            ui.add(egui::Label::new(verdict).wrap());
        });
    }
}

fn idle_ui(cx: &PanelContext<'_>, ui: &mut Ui, device: &DeviceTime) {
    let window = device.window_ns.max(1) as f64;
    for cause in &device.causes {
        let figure = Figure::new(
            format!(
                "{} ({})",
                units::duration_ns(cause.total_ns as f64),
                units::percent(cause.total_ns as f64 / window)
            ),
            format!("{} gaps, {}", units::count(cause.count), cause.label),
        );
        value_row(ui, cx.tokens, &units::capital(cause.label), &figure);
    }
    if device.causes.is_empty() {
        text::note(ui, "None: it worked without a gap");
        return;
    }
    text::note(ui, "Longest gaps; click to see one in the timeline");
    let origin = cx.session.active().and_then(|run| run.trace.bounds()).map_or(0, |(start, _)| start);
    for gap in device.longest.iter().take(GAPS) {
        let words = format!(
            "{} at {}: {}",
            units::duration_ns((gap.end_ns - gap.start_ns) as f64),
            units::duration_ns((gap.start_ns - origin) as f64),
            gap.cause.label()
        );
        if ui.link(words).on_hover_text(format!("Then {}", gap.next)).clicked() {
            cx.send(Command::SelectRange(gap.start_ns, gap.end_ns));
            cx.send(Command::ShowPanel(PanelId::Timeline));
            cx.send(Command::ZoomSelection);
        }
    }
}

fn file_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    let row = |ui: &mut Ui, label: &str, words: &str| {
        let short: String = words.chars().take(FACT_CHARS).collect();
        value_row(ui, cx.tokens, label, &Figure::new(short, words));
    };
    row(ui, "Format", &run.report.format);
    // Devices first: they are what a reader looks for.
    let (devices, others): (Vec<_>, Vec<_>) =
        run.trace.facts().iter().partition(|(what, _)| what.starts_with("device "));
    for (what, value) in devices.iter().chain(others.iter().filter(|(_, value)| !value.starts_with(['[', '{']))) {
        row(ui, what, value);
    }
    if !run.report.notes.is_empty() && ui.button("Import report").clicked() {
        cx.send(Command::ShowPanel(PanelId::Import));
    }
}
