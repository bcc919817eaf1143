//! The Ops panel: every tensor operation of the active run.

use super::palette::Palette;
use super::work_table::{WorkInput, WorkState, WorkWords, work_view};
use crate::analysis::ops::OpRow;
use crate::session::Command;
use egui::Ui;
use std::sync::Arc;

/// What the panel shows.
pub struct OpsInput<'a> {
    /// Operations by name; `None` while they are being summed up.
    pub by_name: Option<&'a Arc<Vec<OpRow>>>,
    /// Operations by name and shapes; `None` while they are being summed up.
    pub by_shape: Option<&'a Arc<Vec<OpRow>>>,
    /// The selected name.
    pub selected: Option<&'a str>,
}

/// Draws the panel and returns what the user asked for.
pub fn ops_view(ui: &mut Ui, input: &OpsInput<'_>, palette: &Palette, state: &mut WorkState) -> Vec<Command> {
    let input = WorkInput {
        words: WorkWords { id: "ops", computing: "Summing up the operations…" },
        by_name: input.by_name,
        by_shape: input.by_shape,
        selected: input.selected,
        empty_reason: "No operations were recorded: they need trace level L1 or higher",
    };
    work_view(ui, &input, palette, state)
}
