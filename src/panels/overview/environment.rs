//! What a run ran on.

use super::super::PanelContext;
use crate::model::units;
use crate::session::OpenRun;
use crate::ui::text;
use crate::ui::widgets::{Figure, value_row};
use egui::Ui;

/// Rows of the environment, or why there are none.
pub fn environment_ui(cx: &PanelContext<'_>, ui: &mut Ui, run: &OpenRun) {
    let environment = &run.manifest.environment;
    if environment.device.is_empty() {
        let why = if run.live {
            "Not told yet: the worker is opening its device"
        } else {
            "This trace does not say what it ran on"
        };
        text::note(ui, why);
        return;
    }
    let row = |ui: &mut Ui, label: &str, words: String| {
        let figure = if words.is_empty() {
            Figure::Missing("Not told by the system".to_owned())
        } else {
            Figure::new(words.clone(), words)
        };
        value_row(ui, cx.tokens, label, &figure);
    };
    row(ui, "Device", environment.device.clone());
    if let Some(adapter) = &environment.adapter {
        row(ui, "Driver", adapter.driver.clone());
        row(ui, "Backend", format!("{} ({})", adapter.backend, adapter.device_type));
        let can = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
        row(ui, "f16 in shaders", can(adapter.f16));
        row(ui, "Kernel timestamps", can(adapter.timestamps));
    }
    row(ui, "CPU", format!("{}, {} cores", environment.cpu, environment.cores));
    row(ui, "Memory", units::bytes(environment.memory_bytes as f64));
    row(ui, "System", environment.os.clone());
    row(ui, "Load at start", environment.load_average.map(|load| format!("{load:.2}")).unwrap_or_default());
    row(
        ui,
        "Versions",
        format!("Burnscope {}, Burn {}, CubeCL {}", environment.burnscope, environment.burn, environment.cubecl),
    );
}
