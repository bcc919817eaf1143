//! The Kernels panel: every kernel that ran on the device, by the device's own timestamps where it has them.

use super::palette::Palette;
use super::work_table::{WorkInput, WorkState, WorkWords, work_view};
use crate::analysis::ops::OpRow;
use crate::session::Command;
use egui::Ui;
use std::sync::Arc;

/// What the panel shows.
pub struct KernelsInput<'a> {
    /// Kernels by name; `None` while they are being summed up.
    pub by_name: Option<&'a Arc<Vec<OpRow>>>,
    /// Kernels by name and shapes; `None` while they are being summed up.
    pub by_shape: Option<&'a Arc<Vec<OpRow>>>,
    /// The selected name.
    pub selected: Option<&'a str>,
    /// Whether the run trained on the CPU backend, which has no kernels.
    pub on_cpu: bool,
}

/// Draws the panel and returns what the user asked for.
pub fn kernels_view(ui: &mut Ui, input: &KernelsInput<'_>, palette: &Palette, state: &mut WorkState) -> Vec<Command> {
    let empty_reason = if input.on_cpu {
        "The CPU backend launches no kernels; see Ops and Flame for where its time goes"
    } else {
        "No kernels were recorded: they need trace level L1, and their device times level L2"
    };
    let input = WorkInput {
        words: WorkWords { id: "kernels", computing: "Summing up the kernels…" },
        by_name: input.by_name,
        by_shape: input.by_shape,
        selected: input.selected,
        empty_reason,
    };
    work_view(ui, &input, palette, state)
}
