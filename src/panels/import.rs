//! The Import panel: what was read from the file in view, and everything in it that was not taken as it stood.

use super::PanelContext;
use crate::model::units;
use crate::session::{Command, OpenRun};
use crate::trace::Overlaps;
use crate::ui::tokens::size;
use crate::ui::widgets::{Tone, badge};
use crate::ui::{icons, text, widgets};
use egui::{Align, Layout, RichText, Ui};
use egui_extras::{Column, TableBuilder};

/// The Import panel.
pub fn import_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    let Some(run) = cx.session.active() else {
        let reason = "Open a run or a trace; what was read from it, and what could not be, stands here.";
        let empty = widgets::Empty {
            icon: icons::LINES,
            title: "Nothing is open",
            reason,
            action: Some("Open a run or trace…"),
        };
        if widgets::empty_state(ui, cx.tokens, &empty) {
            cx.send(Command::OpenFileDialog);
        }
        return;
    };
    summary_ui(cx, ui, run);
    overlaps_ui(cx, ui, run);
    ui.separator();
    if run.report.notes.is_empty() && run.report.torn_tail_bytes == 0 {
        let reason = "Every event of the file was read and is drawn where it says.";
        let empty = widgets::Empty { icon: icons::LINES, title: "All was taken as it stands", reason, action: None };
        widgets::empty_state(ui, cx.tokens, &empty);
        return;
    }
    notes_ui(ui, run);
}

fn summary_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    let report = &run.report;
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&run.manifest.title).strong().color(cx.tokens.ui.text_strong));
        badge(ui, cx.tokens, Tone::Plain, &report.format);
        if ui.button("Copy").on_hover_text("Copy the report as text").clicked() {
            cx.send(Command::CopyText(as_text(run)));
        }
    });
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 16.0;
        for (count, what) in [
            (report.spans, "spans"),
            (report.instants, "moments"),
            (report.counters, "counter values"),
            (report.flows, "arrows"),
            (report.samples, "stack samples"),
        ] {
            if count > 0 || what == "spans" {
                ui.label(format!("{} {what}", units::count(count)));
            }
        }
        let bytes = run.trace.bytes() as f64;
        let each = bytes / run.trace.span_count().max(1) as f64;
        ui.weak(format!("{} in memory, {each:.0} bytes a span", units::bytes(bytes)));
    });
}

/// What is done with spans that overlap, where there are any.
fn overlaps_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    if run.overlaps == Overlaps::Keep && !run.report.has_overlaps() {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        ui.label("Overlapping spans");
        let at = Overlaps::ALL.iter().position(|policy| *policy == run.overlaps).unwrap_or(0);
        let chosen = widgets::segmented(ui, cx.tokens, "Overlapping spans", &["Keep", "Nest", "Clip"], at);
        if let Some(policy) = chosen.and_then(|idx| Overlaps::ALL.get(idx)) {
            cx.send(Command::SetOverlaps(*policy));
        }
        ui.weak(match run.overlaps {
            Overlaps::Keep => "Drawn as the file says: the later one a lane lower, sticking out",
            Overlaps::Nest => "The later one is cut where the one that it begins in ends",
            Overlaps::Clip => "The earlier one is cut where the later one begins",
        });
    });
}

fn notes_ui(ui: &mut Ui, run: &OpenRun) {
    let torn = (run.report.torn_tail_bytes > 0).then(|| {
        let what = "unread bytes at the end of the file: it was cut, or its writer was stopped".to_owned();
        (what, run.report.torn_tail_bytes, None)
    });
    let notes = run.report.notes.iter().map(|note| (note.what.clone(), note.count, note.first_offset));
    let rows: Vec<(String, u64, Option<u64>)> = notes.chain(torn).collect();
    TableBuilder::new(ui)
        .id_salt("import notes")
        .striped(true)
        .cell_layout(Layout::left_to_right(Align::Center))
        .auto_shrink([false, false])
        .column(Column::exact(100.0))
        .column(Column::remainder().clip(true))
        .column(Column::exact(150.0))
        .header(size::ROW, |mut header| {
            for title in ["How often", "What, and what was done", "First at byte"] {
                header.col(|ui| {
                    ui.strong(title);
                });
            }
        })
        .body(|body| {
            body.rows(size::ROW, rows.len(), |mut row| {
                let Some((what, count, offset)) = rows.get(row.index()) else { return };
                row.col(|ui| {
                    ui.label(text::figure(units::count(*count)));
                });
                row.col(|ui| {
                    ui.add(egui::Label::new(units::capital(what)).truncate()).on_hover_text(what);
                });
                row.col(|ui| {
                    let place = offset.map_or_else(|| "–".to_owned(), units::count);
                    let place = ui.label(text::figure(place));
                    if offset.is_none() {
                        place.on_hover_text("It has no single place in the file");
                    }
                });
            });
        });
}

fn as_text(run: &OpenRun) -> String {
    let mut lines = format!("{} ({})\n", run.manifest.title, run.report.format);
    for note in &run.report.notes {
        let place = note.first_offset.map_or_else(String::new, |at| format!(", first at byte {}", units::count(at)));
        lines.push_str(&format!("{} × {}{place}\n", units::count(note.count), note.what));
    }
    lines
}
