//! The panels in the window: their states, and which function draws which.

use crate::panels::compare::CompareState;
use crate::panels::diff::DiffPanelState;
use crate::panels::flame::FlameState;
use crate::panels::log::LogState;
use crate::panels::overview::OverviewState;
use crate::panels::runs::RunsState;
use crate::panels::setup::SetupState;
use crate::panels::timeline::TimelineState;
use crate::panels::work_table::WorkState;
use crate::panels::{self, PanelContext};
use crate::session::{Command, PanelId};
use egui::Ui;

/// State of all panels between frames.
#[derive(Default)]
pub struct Panes {
    setup: SetupState,
    runs: RunsState,
    overview: OverviewState,
    timeline: TimelineState,
    flame: FlameState,
    ops: WorkState,
    kernels: WorkState,
    compare: CompareState,
    diff: DiffPanelState,
    log: LogState,
}

impl Panes {
    /// Draws a panel.
    pub fn ui(&mut self, cx: &PanelContext<'_>, panel: PanelId, ui: &mut Ui) {
        match panel {
            PanelId::Setup => panels::setup_ui(cx, &mut self.setup, ui),
            PanelId::Runs => panels::runs_ui(cx, &mut self.runs, ui),
            PanelId::Overview => panels::overview_ui(cx, &mut self.overview, ui),
            PanelId::Timeline => panels::timeline_ui(cx, &mut self.timeline, ui),
            PanelId::Flame => panels::flame_ui(cx, &mut self.flame, ui),
            PanelId::Ops => panels::ops_ui(cx, &mut self.ops, ui),
            PanelId::Kernels => panels::kernels_ui(cx, &mut self.kernels, ui),
            PanelId::Compare => panels::compare_ui(cx, &mut self.compare, ui),
            PanelId::Diff => panels::diff_ui(cx, &mut self.diff, ui),
            PanelId::Log => panels::log_ui(cx, &mut self.log, ui),
            PanelId::Import => panels::import_ui(cx, ui),
        }
    }

    /// Hands a command that concerns pixels to the panel in front.
    pub fn on_command(&mut self, panel: PanelId, command: &Command) {
        match panel {
            PanelId::Runs => self.runs.on_command(command),
            PanelId::Timeline => self.timeline.on_command(command),
            PanelId::Flame => self.flame.on_command(command),
            PanelId::Ops => self.ops.on_command(command),
            PanelId::Kernels => self.kernels.on_command(command),
            PanelId::Log => self.log.on_command(command),
            PanelId::Setup | PanelId::Overview | PanelId::Compare | PanelId::Diff | PanelId::Import => {}
        }
    }
}
