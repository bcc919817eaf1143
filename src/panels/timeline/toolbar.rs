//! The controls over the timeline: search, movement, marks, which tracks are shown.

use super::{Asked, TimelineInput, TimelineState, go_to_mark, rearranged};
use crate::model::units;
use crate::session::Command;
use egui::Ui;

/// Search, movement, tracks and marks.
pub(super) fn ui(ui: &mut Ui, input: &TimelineInput<'_>, state: &mut TimelineState, commands: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        let label = ui.label("Search");
        let field = egui::TextEdit::singleline(&mut state.search).hint_text("name of a span").desired_width(180.0);
        let field = ui.add(field).labelled_by(label.id);
        if std::mem::take(&mut state.focus_search) {
            field.request_focus();
        }
        let enter = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if enter {
            search_entered(input, state, commands);
        }
        found_ui(ui, input, state, commands);
        let named = input.name.is_some();
        if ui.add_enabled(named, egui::Button::new("Previous")).on_hover_text("Previous of this name (,)").clicked() {
            commands.push(Command::FindPrevious);
        }
        if ui.add_enabled(named, egui::Button::new("Next")).on_hover_text("Next of this name (.)").clicked() {
            commands.push(Command::FindNext);
        }
        ui.separator();
        if ui.button("Fit").on_hover_text("Show the whole run (0)").clicked() {
            state.asked = Some(Asked::Fit);
        }
        let selected = input.span.is_some() || input.range_ns.is_some();
        let zoom = ui.add_enabled(selected, egui::Button::new("Zoom to selection"));
        if zoom.on_hover_text("Show the selected span or stretch (F)").clicked() {
            state.asked = Some(Asked::Selection);
        }
        marks_ui(ui, input, state, commands);
        ui.separator();
        let label = ui.label("Tracks");
        let filter =
            egui::TextEdit::singleline(&mut state.track_filter).hint_text("part of a name").desired_width(110.0);
        let help = "Show only tracks whose name contains this; pinned tracks stay";
        if ui.add(filter).labelled_by(label.id).on_hover_text(help).changed() {
            rearranged(ui, state);
        }
        if input.live {
            let mut following = state.canvas.following();
            if ui.checkbox(&mut following, "Follow").on_hover_text("Keep the newest part in view").clicked()
                && following
            {
                state.canvas.resume_following();
            }
        }
        let help = "W and S zoom, A and D move, Shift is faster\nM marks, [ and ] follow arrows, / searches\nCtrl+wheel zooms, dragging moves, Alt+Left goes back\n\
                    Shift+drag marks a stretch of time\nDouble-click zooms to a span";
        ui.weak("Keys").on_hover_text(help);
    });
}

/// What Enter does in the search field: selects the first matching name, or goes on to the next of the selected one.
fn search_entered(input: &TimelineInput<'_>, state: &TimelineState, commands: &mut Vec<Command>) {
    let Some(found) = &state.found else { return };
    let selected = input.name.is_some_and(|name| found.names.iter().any(|known| known == name));
    if !selected && let Some(first) = found.names.first() {
        commands.push(Command::SelectName(first.clone()));
    }
    if !found.names.is_empty() {
        commands.push(Command::FindNext);
    }
}

fn found_ui(ui: &mut Ui, input: &TimelineInput<'_>, state: &mut TimelineState, commands: &mut Vec<Command>) {
    let Some(found) = &state.found else { return };
    if found.names.is_empty() {
        ui.label("no name matches");
        return;
    }
    let count = units::count(found.names.len() as u64);
    let more = if found.more { "more than " } else { "" };
    let noun = if found.names.len() == 1 { "name matches" } else { "names match" };
    ui.menu_button(format!("{more}{count} {noun}"), |ui| {
        egui::ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
            for name in &found.names {
                if ui.selectable_label(input.name == Some(name), name).clicked() {
                    commands.push(Command::SelectName(name.clone()));
                    commands.push(Command::FindNext);
                    ui.close();
                }
            }
        });
    });
    if ui.button("Clear").on_hover_text("Show all spans alike again").clicked() {
        state.search.clear();
    }
}

/// The marks: where they are, how far apart, and what can be done with them.
fn marks_ui(ui: &mut Ui, input: &TimelineInput<'_>, state: &mut TimelineState, commands: &mut Vec<Command>) {
    let origin = input.trace.bounds().map_or(0, |(start, _)| start);
    let marks: Vec<i64> = state.marks.of(input.run).iter().map(|mark| mark.saturating_sub(origin)).collect();
    let title = if marks.is_empty() { "Marks".to_owned() } else { format!("Marks ({})", marks.len()) };
    let menu = ui.menu_button(title, |ui| {
        if ui
            .button("Set a mark")
            .on_hover_text("At the selected span or in the middle (M: under the pointer)")
            .clicked()
        {
            state.asked = Some(Asked::Mark);
            ui.close();
        }
        if ui.button("Copy a link to this place").on_hover_text("The command that opens this view again").clicked() {
            commands.push(Command::CopyLink);
            ui.close();
        }
        let mut before: Option<i64> = None;
        for (idx, mark) in marks.iter().enumerate() {
            ui.horizontal(|ui| {
                let after = match before {
                    Some(before) => format!(", {} later", units::duration_ns(mark.saturating_sub(before) as f64)),
                    None => String::new(),
                };
                let words = format!("{}: {}{after}", idx + 1, units::clock_text(*mark as f64));
                if ui.button(words).on_hover_text("Go there").clicked() {
                    go_to_mark(state, *mark as f64);
                    ui.close();
                }
                if ui.button("Remove").clicked() {
                    state.marks.toggle(input.run, origin.saturating_add(*mark), 0);
                }
            });
            before = Some(*mark);
        }
    });
    menu.response.on_hover_text("Mark times with M and measure between them");
}
