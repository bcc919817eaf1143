//! Menu bar, toolbar and status bar. Menus come from the catalogue of commands.

use crate::model::units;
use crate::panels::PanelContext;
use crate::panels::setup::progress::{share, stage};
use crate::session::{Command, CommandInfo, ExportWhat, Group, Session, Theme, WorkerState};
use crate::ui::toasts::Toasts;
use crate::ui::tokens::size;
use crate::ui::{icons, text, widgets};
use egui::{Align, Layout, RichText, Ui};

/// Time between two looks at how far reading has come.
const READING_EVERY: std::time::Duration = std::time::Duration::from_millis(200);

/// Whether a command would do anything now; menus, palette and shortcuts ask the same.
pub fn enabled(session: &Session, command: &Command) -> bool {
    let state = session.training().filter(|training| training.active()).map(|training| training.state);
    match command {
        Command::Train | Command::RunLadder | Command::RunAb { .. } => {
            !session.busy() && session.draft().error.is_none()
        }
        Command::Pause => state == Some(WorkerState::Running),
        Command::Resume => state == Some(WorkerState::Paused),
        Command::Stop => session.busy(),
        Command::UndoDelete => session.can_undo_delete(),
        Command::ExportDialog(ExportWhat::Comparison) => session.compare().result.is_some(),
        Command::ExportDialog(ExportWhat::Run) => session.active().is_some(),
        Command::FollowArrow { .. } => session.selection().span.is_some(),
        Command::FindNext | Command::FindPrevious => session.selection().name.is_some(),
        Command::ZoomFit | Command::FocusSearch => true,
        Command::ZoomSelection | Command::ClearSelection => *session.selection() != Default::default(),
        _ => true,
    }
}

/// File, Train, Navigate, View, Help.
pub fn menu_ui(cx: &PanelContext<'_>, catalog: &[CommandInfo], ui: &mut Ui) {
    egui::MenuBar::new().ui(ui, |ui| {
        for group in Group::ALL {
            ui.menu_button(group.title(), |ui| {
                for info in catalog.iter().filter(|info| info.group == group) {
                    entry_ui(cx, ui, info);
                }
                if group == Group::File {
                    recent_ui(cx, ui);
                }
            });
        }
    });
}

fn entry_ui(cx: &PanelContext<'_>, ui: &mut Ui, info: &CommandInfo) {
    let keys = info.shortcut.map(|shortcut| shortcut.text()).unwrap_or_default();
    let button = egui::Button::new(&info.label).shortcut_text(keys);
    let response = ui.add_enabled(enabled(cx.session, &info.command), button).on_hover_text(&info.help);
    if response.clicked() {
        cx.send(info.command.clone());
        ui.close();
    }
}

fn recent_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    let recent = &cx.session.settings().recent;
    if recent.is_empty() {
        return;
    }
    ui.separator();
    ui.menu_button("Opened last", |ui| {
        for path in recent {
            let words = units::shorten(&path.display().to_string(), 60);
            if ui.button(words).on_hover_text(path.display().to_string()).clicked() {
                cx.send(Command::OpenPath(path.clone()));
                ui.close();
            }
        }
    });
}

/// What is used most: start and stop, the run in view, the palette, the colours.
pub fn toolbar_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.add(icons::LOGO.image(18.0, cx.tokens.ui.accent));
        ui.label(RichText::new("Burnscope").strong().color(cx.tokens.ui.text_strong));
        ui.separator();
        let tools = [
            (Command::Train, icons::PLAY, "Train with the settings of Setup"),
            (Command::Pause, icons::PAUSE, "Pause training"),
            (Command::Resume, icons::PLAY, "Resume training"),
            (Command::Stop, icons::STOP, "Stop training"),
            (Command::RunLadder, icons::LADDER, "Run the ladder of optimizations"),
            (Command::OpenFileDialog, icons::FOLDER, "Open a run or a trace"),
            (Command::ExportDialog(ExportWhat::Run), icons::EXPORT, "Export the run in view"),
        ];
        for (command, icon, words) in tools {
            let can = enabled(cx.session, &command);
            // Pause and Resume share a place: the one that can be pressed, else Pause.
            if command == Command::Resume && !can || command == Command::Pause && enabled(cx.session, &Command::Resume)
            {
                continue;
            }
            ui.add_enabled_ui(can, |ui| {
                if widgets::icon_button(ui, icon, words).clicked() {
                    cx.send(command);
                }
            });
        }
        ui.separator();
        run_choice_ui(cx, ui);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let dark = cx.tokens.dark;
            let (icon, words, theme) = if dark {
                (icons::SUN, "Use the light theme", Theme::Light)
            } else {
                (icons::MOON, "Use the dark theme", Theme::Dark)
            };
            if widgets::icon_button(ui, icon, words).clicked() {
                cx.send(Command::SetTheme(theme));
            }
            if widgets::icon_button(ui, icons::COMMAND, "Find a command (Ctrl+Shift+P)").clicked() {
                cx.send(Command::OpenPalette);
            }
        });
    });
}

/// The run in view among those that are open.
fn run_choice_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    let runs = cx.session.open_runs();
    if runs.is_empty() {
        ui.weak("No run in view");
        return;
    }
    let active = cx.session.active();
    let title = active.map_or_else(|| "Choose a run".to_owned(), |run| units::shorten(&run.manifest.title, 40));
    let combo = egui::ComboBox::from_id_salt("run in view").width(260.0).selected_text(title).show_ui(ui, |ui| {
        for run in runs {
            let here = active.is_some_and(|active| active.id == run.id);
            if ui.selectable_label(here, &run.manifest.title).on_hover_text(&run.id).clicked() {
                cx.send(Command::Activate(run.id.clone()));
            }
        }
    });
    widgets::named(combo.response, egui::Role::ComboBox, "Run in view");
    if let Some(run) = active
        && widgets::icon_button(ui, icons::CLOSE, "Close this run; it stays on disk").clicked()
    {
        cx.send(Command::CloseRun(run.id.clone()));
    }
}

/// What is under way, and the messages.
pub fn status_ui(cx: &PanelContext<'_>, toasts: &mut Toasts<Command>, ui: &mut Ui) {
    ui.horizontal(|ui| {
        let training = cx.session.training().filter(|training| training.active());
        let experiment = cx.session.experiment().filter(|experiment| !experiment.ended);
        if let Some(training) = training {
            bar_ui(cx, ui, &stage(training), share(training), training.eta_secs);
        } else if let Some(experiment) = experiment {
            let what = format!("{} — {}", experiment.title, experiment.stage);
            bar_ui(cx, ui, &what, Some(experiment.progress), experiment.eta_secs);
        }
        for job in cx.session.jobs() {
            ui.separator();
            bar_ui(cx, ui, &job.title, job.progress, job.eta_secs);
        }
        let reading: Vec<_> = cx.session.open_runs().iter().filter(|run| run.loading && !run.live).collect();
        for run in &reading {
            bar_ui(cx, ui, &format!("Reading {}", run.manifest.title), Some(run.watch.share()), None);
            if ui.small_button("Cancel").clicked() {
                cx.send(Command::CloseRun(run.id.clone()));
            }
            ui.ctx().request_repaint_after(READING_EVERY);
        }
        if training.is_none() && experiment.is_none() && cx.session.jobs().is_empty() && reading.is_empty() {
            ui.weak("Ready");
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            toasts.history_button(ui, cx.tokens);
            ui.separator();
            let runs = cx.session.library().len();
            ui.weak(if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") });
        });
    });
}

fn bar_ui(cx: &PanelContext<'_>, ui: &mut Ui, what: &str, share: Option<f32>, left_secs: Option<f64>) {
    ui.add(icons::CLOCK.image(size::ICON - 2.0, cx.tokens.ui.accent));
    ui.label(units::shorten(what, 70));
    if let Some(share) = share {
        ui.label(text::figure(format!("{:.0} %", share * 100.0)));
    }
    if let Some(secs) = left_secs {
        ui.weak(format!("about {} left", text::time_left(secs)));
    }
}
