//! What lies over the panels: command palette, path dialogs, list of shortcuts, files being dragged in.

use super::menu::enabled;
use crate::panels::PanelContext;
use crate::session::export::RunFormat;
use crate::session::{Command, CommandInfo, ExportWhat, Group, Session};
use crate::ui::Tokens;
use crate::ui::dialogs::{Kind, Outcome, PathDialog, Purpose};
use crate::ui::palette::{Entry, Palette};
use egui::{Context, RichText};
use std::path::PathBuf;

/// What a path is asked for.
enum Asked {
    Open,
    Export(ExportWhat),
}

/// Things over the panels, at most one of each.
#[derive(Default)]
pub struct Overlays {
    palette: Palette,
    dialog: Option<(Asked, PathDialog)>,
    shortcuts: bool,
}

impl Overlays {
    /// Whether keys belong to something over the panels.
    pub fn any_open(&self) -> bool {
        self.palette.is_open() || self.dialog.is_some() || self.shortcuts
    }

    /// Opens what a command asks for; `false` = the command asks for nothing here.
    pub fn on_command(&mut self, session: &Session, command: &Command) -> bool {
        match command {
            Command::OpenPalette => self.palette.open(),
            Command::ShowShortcuts => self.shortcuts = true,
            Command::OpenFileDialog => {
                let purpose = Purpose::Open { recent: session.settings().recent.clone() };
                let help =
                    "A run folder, or a trace: Perfetto, Chrome JSON, PyTorch, XProf, speedscope, collapsed stacks";
                let start = format!("{}{}", session.runs_dir().display(), std::path::MAIN_SEPARATOR);
                let dialog = PathDialog::new("Open a run or trace", help, purpose, &PathBuf::from(start));
                self.dialog = Some((Asked::Open, dialog));
            }
            Command::ExportDialog(what) => self.dialog = Some((Asked::Export(*what), export_dialog(session, *what))),
            _ => return false,
        }
        true
    }

    /// Draws what is open.
    pub fn ui(&mut self, cx: &PanelContext<'_>, catalog: &[CommandInfo], ctx: &Context) {
        self.palette_ui(cx, catalog, ctx);
        if let Some((asked, dialog)) = &mut self.dialog {
            match dialog.ui(ctx, cx.tokens) {
                Outcome::Open => {}
                Outcome::Cancelled => self.dialog = None,
                Outcome::Path(path) => {
                    cx.send(match asked {
                        Asked::Open => Command::OpenPath(path),
                        Asked::Export(what) => Command::Export { what: *what, path },
                    });
                    self.dialog = None;
                }
            }
        }
        if self.shortcuts {
            self.shortcuts = !shortcuts_ui(ctx, cx.tokens, catalog);
        }
        dropped_ui(cx, ctx);
    }

    fn palette_ui(&mut self, cx: &PanelContext<'_>, catalog: &[CommandInfo], ctx: &Context) {
        if !self.palette.is_open() {
            return;
        }
        let usable: Vec<&CommandInfo> = catalog.iter().filter(|info| enabled(cx.session, &info.command)).collect();
        let entries: Vec<Entry> = usable
            .iter()
            .map(|info| Entry {
                label: info.label.clone(),
                help: info.help.clone(),
                shortcut: info.shortcut.map(|shortcut| shortcut.text()).unwrap_or_default(),
            })
            .collect();
        if let Some(info) = self.palette.ui(ctx, cx.tokens, &entries).and_then(|idx| usable.get(idx)) {
            cx.send(info.command.clone());
        }
    }
}

/// Asks for a file beside the runs, where writing is possible.
fn export_dialog(session: &Session, what: ExportWhat) -> PathDialog {
    let dir = session.runs_dir().to_path_buf();
    let kind = |label: &str, ending: &str| Kind { label: label.to_owned(), ending: ending.to_owned() };
    if what == ExportWhat::Comparison {
        let kinds = [
            ("HTML", ".html"),
            ("Markdown", ".md"),
            ("CSV", ".csv"),
            ("JSON", ".json"),
            ("SVG", ".svg"),
            ("PNG", ".png"),
        ];
        let kinds = kinds.map(|(label, ending)| kind(label, ending)).into();
        let help = "The runs chosen in Runs, with charts, verdicts and how each figure was measured";
        let path = dir.join("comparison.html");
        return PathDialog::new("Export the comparison", help, Purpose::Save { kinds }, &path);
    }
    let kinds = RunFormat::ALL.iter().map(|(_, name, ending)| kind(name, ending)).collect();
    let name = session.active().map_or("run", |run| run.manifest.id.as_str());
    let path = dir.join(format!("{name}.pftrace"));
    PathDialog::new("Export the run in view", "The format is told by the ending", Purpose::Save { kinds }, &path)
}

/// The list of all shortcuts; `true` = it is to be closed.
fn shortcuts_ui(ctx: &Context, tokens: &Tokens, catalog: &[CommandInfo]) -> bool {
    let modal = egui::Modal::new(egui::Id::unique("shortcuts")).show(ctx, |ui| {
        ui.set_width(460.0);
        ui.heading("Keyboard shortcuts");
        egui::ScrollArea::vertical().max_height(ctx.content_rect().height() * 0.7).show(ui, |ui| {
            for group in Group::ALL {
                ui.add_space(6.0);
                ui.label(crate::ui::text::group(group.title(), tokens.ui.text_strong));
                egui::Grid::new(group.title()).num_columns(2).min_col_width(130.0).show(ui, |ui| {
                    let bound = catalog.iter().filter(|info| info.group == group);
                    for (info, keys) in bound.filter_map(|info| Some((info, info.shortcut?))) {
                        ui.label(RichText::new(keys.text()).monospace().color(tokens.ui.accent));
                        ui.label(&info.label).on_hover_text(&info.help);
                        ui.end_row();
                    }
                });
            }
        });
        ui.add_space(6.0);
        ui.button("Close").clicked()
    });
    modal.inner || modal.should_close()
}

/// Opens what was dropped on the window, and says so while it is still held over it.
fn dropped_ui(cx: &PanelContext<'_>, ctx: &Context) {
    let (hovered, dropped) = ctx.input(|input| {
        let dropped: Vec<PathBuf> = input.raw.dropped_files.iter().map(|file| file.path().to_path_buf()).collect();
        (input.raw.hovered_files.len(), dropped)
    });
    for path in dropped {
        cx.send(Command::OpenPath(path));
    }
    if hovered > 0 {
        let rect = ctx.content_rect();
        let layer = egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("dropped"));
        let painter = ctx.layer_painter(layer);
        painter.rect_filled(rect, 0.0, cx.tokens.ui.panel.gamma_multiply(0.85));
        let font = egui::FontId::proportional(22.0);
        painter.text(rect.center(), egui::Align2::CENTER_CENTER, "Drop to open", font, cx.tokens.ui.text_strong);
    }
}
