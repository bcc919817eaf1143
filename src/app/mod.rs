//! The window: takes in what background threads have finished, draws the panels, carries out their commands.
//!
//! The same [`App`] runs in a real window ([`run_window`]), without one for pictures ([`headless`]) and in tests.

mod frame_log;
pub mod headless;
pub mod layout;
pub mod menu;
pub mod offscreen;
mod overlays;
mod panes;
pub mod raster;
mod software;
mod window;

pub use window::run_window;

use crate::panels::log::toast_level;
use crate::panels::{CommandSender, PanelContext};
use crate::session::{Command, CommandInfo, PanelId, Session, Theme};
use crate::ui::shortcuts::{Shortcuts, shortcut};
use crate::ui::toasts::Toasts;
use crate::ui::{Tokens, icons, tokens};
use egui::{Context, ThemePreference, Ui};
use layout::Layout;
use overlays::Overlays;
use panes::Panes;
use std::time::Duration;

/// Time of a frame for taking in what background threads have finished.
const POLL_BUDGET: Duration = Duration::from_millis(10);
/// Height of the bar at the lower edge, in points.
const STATUS_HEIGHT: f32 = 26.0;

/// The window's state around a session.
pub struct App {
    session: Session,
    sender: CommandSender,
    dark: Tokens,
    light: Tokens,
    catalog: Vec<CommandInfo>,
    shortcuts: Shortcuts<Command>,
    layout: Layout,
    panes: Panes,
    overlays: Overlays,
    toasts: Toasts<Command>,
    theme: Option<Theme>,
}

impl App {
    /// An app that draws into this context.
    pub fn new(session: Session, ctx: &Context) -> Self {
        tokens::install(ctx);
        icons::install(ctx);
        let catalog = Command::catalog();
        Self {
            layout: Layout::restore(session.settings().layout.as_deref()),
            session,
            sender: CommandSender::default(),
            dark: Tokens::dark(),
            light: Tokens::light(),
            shortcuts: bindings(&catalog),
            catalog,
            panes: Panes::default(),
            overlays: Overlays::default(),
            toasts: Toasts::default(),
            theme: None,
        }
    }

    /// The app without pixels.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The app without pixels, to be changed.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// What a panel asked for goes here.
    pub fn sender(&self) -> &CommandSender {
        &self.sender
    }

    /// The panel that keys act on.
    pub fn front(&self) -> PanelId {
        self.layout.front()
    }

    /// Takes in what background threads have finished and carries out what panels asked for. Paints nothing.
    pub fn logic(&mut self, ctx: &Context) {
        if self.session.poll(POLL_BUDGET) {
            ctx.request_repaint();
        }
        if self.theme != Some(self.session.settings().theme) {
            self.theme = Some(self.session.settings().theme);
            ctx.set_theme(match self.session.settings().theme {
                Theme::System => ThemePreference::System,
                Theme::Dark => ThemePreference::Dark,
                Theme::Light => ThemePreference::Light,
            });
        }
        for command in self.sender.take() {
            self.session.apply(command);
        }
        for command in self.session.take_view_commands() {
            self.view_command(ctx, command);
        }
        for notice in self.session.take_notices() {
            self.toasts.push(toast_level(notice.level), notice.text, notice.action);
        }
    }

    /// Draws a frame of the whole window.
    pub fn ui(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        if !self.overlays.any_open() {
            for command in self.shortcuts.take(&ctx) {
                if menu::enabled(&self.session, command) {
                    self.sender.send(command.clone());
                }
            }
        }
        let tokens = layout::tokens_of(&ctx, &self.dark, &self.light);
        let cx = PanelContext { session: &self.session, tokens, sender: &self.sender };
        let bar = egui::Frame::new().fill(tokens.ui.surface).inner_margin(egui::Margin::symmetric(8, 2));
        egui::Panel::top("menu").frame(bar).show(ui, |ui| menu::menu_ui(&cx, &self.catalog, ui));
        let tools = bar.inner_margin(egui::Margin::symmetric(8, 4));
        egui::Panel::top("toolbar").frame(tools).show(ui, |ui| menu::toolbar_ui(&cx, ui));
        egui::Panel::bottom("status")
            .frame(bar)
            .exact_size(STATUS_HEIGHT)
            .show(ui, |ui| menu::status_ui(&cx, &mut self.toasts, ui));
        egui::CentralPanel::no_frame().show(ui, |ui| {
            ui.painter().rect_filled(ui.max_rect(), 0.0, tokens.ui.border);
            self.layout.ui(&cx, &mut self.panes, ui);
        });
        self.overlays.ui(&cx, &self.catalog, &ctx);
        if let Some(command) = self.toasts.ui(&ctx, tokens, STATUS_HEIGHT) {
            self.sender.send(command);
        }
        self.follow_up(&ctx);
    }

    /// Draws a frame of one panel alone.
    pub fn panel_ui(&mut self, panel: PanelId, ui: &mut Ui) {
        let tokens = layout::tokens_of(ui.ctx(), &self.dark, &self.light);
        let cx = PanelContext { session: &self.session, tokens, sender: &self.sender };
        egui::CentralPanel::no_frame().show(ui, |ui| layout::single_ui(&cx, &mut self.panes, panel, ui));
        self.follow_up(&ui.ctx().clone());
    }

    /// Commands of a frame are carried out before the next, so there must be one.
    fn follow_up(&self, ctx: &Context) {
        if self.sender.is_waiting() {
            ctx.request_repaint();
        }
    }

    /// Keeps the layout with the settings.
    pub fn save_layout(&mut self) {
        let text = self.layout.to_text();
        self.session.save_layout(text);
    }

    fn view_command(&mut self, ctx: &Context, command: Command) {
        if self.overlays.on_command(&self.session, &command) {
            ctx.request_repaint();
            return;
        }
        match command {
            Command::ShowPanel(panel) => self.layout.show(panel),
            Command::ResetLayout => self.layout = Layout::default(),
            Command::CopyText(text) => ctx.copy_text(text),
            Command::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            other => self.panes.on_command(self.layout.front(), &other),
        }
        ctx.request_repaint();
    }
}

/// The catalogue's shortcuts as keys. Keys that egui does not know are reported; a test holds that there are none.
pub fn bindings(catalog: &[CommandInfo]) -> Shortcuts<Command> {
    Shortcuts::new(catalog.iter().filter_map(|info| {
        let keys = info.shortcut?;
        let bound = shortcut(keys.ctrl, keys.shift, keys.alt, keys.key);
        if bound.is_none() {
            log::warn!("no such key: {} of {}", keys.key, info.id);
        }
        Some((bound?, info.command.clone()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shortcut_is_a_key_and_none_clashes() {
        let catalog = Command::catalog();
        let bound = catalog.iter().filter(|info| info.shortcut.is_some()).count();
        let known = catalog
            .iter()
            .filter_map(|info| info.shortcut)
            .filter(|keys| shortcut(keys.ctrl, keys.shift, keys.alt, keys.key).is_some())
            .count();
        assert_eq!(known, bound);
        assert!(bindings(&catalog).clashes().is_empty(), "{:?}", bindings(&catalog).clashes());
    }
}
