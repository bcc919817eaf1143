//! The Diff panel: two open traces against each other, whoever recorded them: what the difference is, where the step's
//! time went in each, operations matched by name, shapes and place, kernels by name, the call trees over one another, and
//! two steps beside each other on one scale.

mod aligned;
mod changes;
mod flame;

use super::PanelContext;
use super::bars::{Bar, Part, bars_ui};
use super::palette::Palette;
use crate::analysis::profile::Profile;
use crate::model::units;
use crate::session::Command;
use crate::session::traces::TraceDiff;
use crate::stats::unpaired::MIN_CHUNKS;
use crate::ui::{Tokens, icons, text, widgets};
use changes::Kind;
use egui::Ui;

/// What the lower part of the panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Summary,
    Operations,
    Kernels,
    Flame,
    Timelines,
}

impl Shown {
    const ALL: [Self; 5] = [Self::Summary, Self::Operations, Self::Kernels, Self::Flame, Self::Timelines];
    const TITLES: [&str; 5] = ["Summary", "Operations", "Kernels", "Flame", "Timelines"];
}

/// Places that are listed.
const PLACES: usize = 12;
/// Longest name in a place, in characters.
const PLACE_CHARS: usize = 36;

/// State of the panel between frames.
#[derive(Debug)]
pub struct DiffPanelState {
    shown: Shown,
    flame: flame::DiffFlame,
    aligned: aligned::Aligned,
    changes: changes::Changes,
}

impl Default for DiffPanelState {
    fn default() -> Self {
        Self {
            shown: Shown::Summary,
            flame: flame::DiffFlame::default(),
            aligned: aligned::Aligned::default(),
            changes: changes::Changes::default(),
        }
    }
}

/// The Diff panel.
pub fn diff_ui(cx: &PanelContext<'_>, state: &mut DiffPanelState, ui: &mut Ui) {
    choice_ui(cx, ui);
    ui.separator();
    let chosen = cx.session.trace_diff();
    let Some(result) = &chosen.result else {
        choose_for_the_user(cx);
        empty_ui(cx, ui);
        return;
    };
    let at = Shown::ALL.iter().position(|shown| *shown == state.shown).unwrap_or(0);
    ui.horizontal_wrapped(|ui| {
        if let Some(shown) =
            widgets::segmented(ui, cx.tokens, "Show", &Shown::TITLES, at).and_then(|i| Shown::ALL.get(i))
        {
            state.shown = *shown;
        }
        ui.weak(if result.diff.per_step { "all figures a step" } else { "all figures of the whole traces" });
    });
    ui.add_space(4.0);
    match state.shown {
        Shown::Summary => summary_ui(cx, ui, result),
        Shown::Operations => state.changes.ui(cx, ui, result, Kind::Operations),
        Shown::Kernels => state.changes.ui(cx, ui, result, Kind::Kernels),
        Shown::Flame => state.flame.ui(cx, ui, result),
        Shown::Timelines => state.aligned.ui(cx, ui, result),
    }
}

/// What the difference is, and where in the step and in the call tree it lies.
fn summary_ui(cx: &PanelContext<'_>, ui: &mut Ui, result: &TraceDiff) {
    egui::ScrollArea::vertical().id_salt("diff summary").auto_shrink([false, false]).show(ui, |ui| {
        for (name, title, profile) in [("A", &result.a, &result.diff.a), ("B", &result.b, &result.diff.b)] {
            ui.horizontal_wrapped(|ui| {
                ui.strong(name);
                ui.label(title);
                ui.weak(profile.step_sentence());
            });
        }
        ui.add_space(6.0);
        verdicts_ui(ui, result);
        if !result.diff.parts.is_empty() {
            ui.add_space(6.0);
            parts_ui(cx, ui, result);
        }
        ui.add_space(8.0);
        places_ui(cx, ui, result);
    });
}

/// The places in the call tree whose own time changed most.
fn places_ui(cx: &PanelContext<'_>, ui: &mut Ui, result: &TraceDiff) {
    ui.label(text::group("Places in the call tree that changed most", cx.tokens.ui.text_strong));
    egui::Grid::new("diff places").striped(true).spacing([18.0, 2.0]).show(ui, |ui| {
        for title in ["Change", "A", "B", "Place, by its own time"] {
            ui.strong(title);
        }
        ui.end_row();
        for place in result.diff.places.iter().take(PLACES) {
            ui.label(text::figure(units::signed_duration_ns(place.b_ns - place.a_ns)));
            ui.label(text::figure(units::duration_ns(place.a_ns)));
            ui.label(text::figure(units::duration_ns(place.b_ns)));
            let names: Vec<String> = place.path.iter().map(|name| units::shorten(name, PLACE_CHARS)).collect();
            let link = ui.link(names.join(" › ")).on_hover_text(place.path.join(" › "));
            if let Some(name) = place.path.last().filter(|_| link.clicked()) {
                cx.send(Command::SelectName(name.clone()));
            }
            ui.end_row();
        }
    });
}

/// Where nothing is chosen yet and two are open, there is little to choose.
fn choose_for_the_user(cx: &PanelContext<'_>) {
    let chosen = cx.session.trace_diff();
    let mut read = cx.session.open_runs().iter().filter(|run| !run.loading).map(|run| run.id.clone());
    if chosen.a.is_none()
        && chosen.b.is_none()
        && let (Some(a), Some(b)) = (read.next(), read.next())
    {
        cx.send(Command::Diff { a: Some(a), b: Some(b) });
    }
}

/// Which two traces, of those that are open.
fn choice_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    let chosen = cx.session.trace_diff();
    let title = |id: &Option<String>| {
        let run = cx.session.open_runs().iter().find(|run| Some(&run.id) == id.as_ref());
        run.map_or_else(|| "choose…".to_owned(), |run| run.manifest.title.clone())
    };
    let menu = |ui: &mut Ui, label: &str, own: &Option<String>, choose: &dyn Fn(String) -> Command| {
        ui.label(label);
        ui.menu_button(title(own), |ui| {
            for run in cx.session.open_runs().iter().filter(|run| !run.loading) {
                if ui.selectable_label(own.as_ref() == Some(&run.id), &run.manifest.title).clicked() {
                    cx.send(choose(run.id.clone()));
                    ui.close();
                }
            }
            ui.separator();
            if ui.button("Open a run or trace…").clicked() {
                cx.send(Command::OpenFileDialog);
                ui.close();
            }
        });
    };
    ui.horizontal_wrapped(|ui| {
        menu(ui, "A, the baseline", &chosen.a, &|id| Command::Diff { a: Some(id), b: chosen.b.clone() });
        menu(ui, "B", &chosen.b, &|id| Command::Diff { a: chosen.a.clone(), b: Some(id) });
        let both = chosen.a.is_some() && chosen.b.is_some();
        if ui.add_enabled(both, egui::Button::new("Swap")).on_hover_text("Make B the baseline").clicked() {
            cx.send(Command::Diff { a: chosen.b.clone(), b: chosen.a.clone() });
        }
        if chosen.computing {
            ui.spinner();
            ui.weak("Comparing…");
        }
    });
}

fn empty_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    if cx.session.trace_diff().computing {
        return;
    }
    let few = cx.session.open_runs().len() < 2;
    let reason = if few {
        "Open two runs or traces, of any formats, and choose them above: what differs between their steps, operations \
         and kernels stands here."
    } else {
        "Choose two of the open runs or traces above."
    };
    let action = few.then_some("Open a run or trace…");
    let empty = widgets::Empty { icon: icons::COLUMNS, title: "Nothing to compare yet", reason, action };
    if widgets::empty_state(ui, cx.tokens, &empty) {
        cx.send(Command::OpenFileDialog);
    }
}

fn verdicts_ui(ui: &mut Ui, result: &TraceDiff) {
    for verdict in &result.diff.verdicts {
        ui.label(format!("{verdict}."));
    }
    if let Some(steps) = &result.diff.steps {
        let words = if steps.blocks < MIN_CHUNKS {
            "too few steps to tell the difference from noise".to_owned()
        } else {
            steps.sentence()
        };
        text::note(ui, format!("Step time of B against A: {words}"));
    }
}

fn parts_ui(cx: &PanelContext<'_>, ui: &mut Ui, result: &TraceDiff) {
    let palette = Palette::of(cx.tokens);
    let bar = |name: &str, profile: &Profile| Bar {
        label: format!("{name}, mean step"),
        parts: profile
            .parts
            .iter()
            .filter(|part| part.mean_ns > 0.0)
            .map(|part| Part {
                label: part.label.to_owned(),
                value: part.mean_ns,
                color: palette.role(part.role),
                note: units::percent(part.share),
            })
            .collect(),
        value: profile.step_ns.as_ref().map_or_else(String::new, |step| units::duration_ns(step.mean)),
    };
    bars_ui(ui, &[bar("A", &result.diff.a), bar("B", &result.diff.b)], units::duration_ns, Tokens::text_on);
    egui::Grid::new("diff parts").striped(true).spacing([18.0, 2.0]).show(ui, |ui| {
        for title in ["Part of a step", "A", "B", "Change"] {
            ui.strong(title);
        }
        ui.end_row();
        for part in &result.diff.parts {
            ui.horizontal(|ui| {
                super::compare::swatch(ui, palette.role(part.role));
                ui.label(part.label);
            });
            ui.label(text::figure(units::duration_ns(part.a_ns)));
            ui.label(text::figure(units::duration_ns(part.b_ns)));
            ui.label(text::figure(units::signed_duration_ns(part.b_ns - part.a_ns)));
            ui.end_row();
        }
    });
}
