//! Cards on what a step waits for: its critical path, copies of memory, and the curves of memory.

use super::super::PanelContext;
use crate::analysis::profile::{CopyRow, CriticalPath, MemoryCurve};
use crate::model::units;
use crate::panels::bars::{Bar, Part, bars_ui};
use crate::panels::palette::Palette;
use crate::session::{Command, OpenRun, PanelId};
use crate::ui::widgets::{Figure, value_row};
use crate::ui::{Tokens, text};
use egui::Ui;

/// Names of the path that are listed.
const NAMES: usize = 8;
/// Longest name, in characters.
const NAME_CHARS: usize = 52;

/// The critical path of the median step.
pub fn critical_ui(cx: &PanelContext<'_>, ui: &mut Ui, path: &CriticalPath) {
    let palette = Palette::of(cx.tokens);
    let parts = path.parts.iter().map(|part| Part {
        label: units::capital(part.label),
        value: part.total_ns as f64,
        color: palette.role(part.role),
        note: units::percent(part.share),
    });
    let value = units::duration_ns(path.dur_ns as f64);
    let bar = Bar { label: units::shorten(&path.step, 24), parts: parts.collect(), value };
    bars_ui(ui, &[bar], units::duration_ns, Tokens::text_on);
    for name in path.names.iter().take(NAMES) {
        let figure = Figure::new(
            format!("{} ({})", units::duration_ns(name.total_ns as f64), units::percent(name.share)),
            format!("{}, {}", units::counted(name.count, "stretch"), name.role.label()),
        );
        value_row(ui, cx.tokens, &units::shorten(&name.name, NAME_CHARS), &figure);
    }
    text::note(ui, "The chain of work that the step waited for: only what is on it can make the step shorter");
}

/// Copies by direction.
pub fn copies_ui(cx: &PanelContext<'_>, ui: &mut Ui, copies: &[CopyRow]) {
    for row in copies {
        let memory = match row.pageable {
            Some(true) => ", pageable",
            Some(false) => ", pinned",
            None => "",
        };
        let label = format!("{}{memory} ({})", units::capital(row.label), units::count(row.count));
        let mut words = units::duration_ns(row.total_ns as f64);
        if let Some(bytes) = row.bytes {
            words.push_str(&format!(", {}", units::bytes(bytes as f64)));
        }
        if let Some(rate) = row.bytes_per_sec {
            words.push_str(&format!(", {}", units::bytes_per_sec(rate)));
        }
        value_row(ui, cx.tokens, &label, &Figure::new(words, "Device time, size and rate of the copies"));
    }
}

/// Peaks of memory, and whether it grows.
pub fn memory_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun, curves: &[MemoryCurve]) {
    let origin = run.trace.bounds().map_or(0, |(start, _)| start);
    for curve in curves {
        let at = units::duration_ns(curve.peak_ns.saturating_sub(origin) as f64);
        let figure = Figure::new(format!("{} at {at}", units::bytes(curve.peak_bytes)), "Largest value of the curve");
        value_row(ui, cx.tokens, &curve.name, &figure);
        let mut where_it_was: Vec<String> = Vec::new();
        where_it_was.extend(curve.peak_step.iter().map(|step| format!("in {step}")));
        where_it_was.extend(curve.peak_within.iter().map(|name| format!("while {name} ran")));
        if let Some(growth) = curve.growth_bytes {
            where_it_was.push(format!("grows by {} with each step", units::bytes(growth)));
        }
        if !where_it_was.is_empty() {
            let words = units::capital(&where_it_was.join(", "));
            if ui.link(words).on_hover_text("See the peak in the timeline").clicked() {
                let around =
                    run.trace.bounds().map_or(1_000, |(start, end)| end.saturating_sub(start) / 200).max(1_000);
                let (from, to) = (curve.peak_ns.saturating_sub(around), curve.peak_ns.saturating_add(around));
                cx.send(Command::SelectRange(from, to));
                cx.send(Command::ShowPanel(PanelId::Timeline));
                cx.send(Command::ZoomSelection);
            }
        }
    }
}
