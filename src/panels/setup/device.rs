//! The list of devices with what each can do.

use super::super::PanelContext;
use crate::model::{AdapterInfo, units};
use crate::session::{Command, DeviceEntry, DevicesState};
use crate::ui::widgets::{Tone, badge};
use crate::ui::{icons, text, widgets};
use egui::Ui;

/// What a device setting stands for, as far as the list of devices tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Chosen<'a> {
    /// The list is not there yet, or nothing in it fits.
    Unknown,
    /// The CPU (Flex).
    Cpu,
    /// An adapter.
    Adapter(&'a AdapterInfo),
}

/// The device that `setting` stands for.
pub fn chosen<'a>(devices: &'a DevicesState, setting: &str) -> Chosen<'a> {
    if setting == "cpu" {
        return Chosen::Cpu;
    }
    let DevicesState::Ready(entries) = devices else { return Chosen::Unknown };
    let mut adapters = entries.iter().filter_map(|entry| entry.adapter.as_ref());
    let hardware = adapters.clone().find(|adapter| !adapter.software);
    match setting {
        "auto" => hardware.map_or(Chosen::Cpu, Chosen::Adapter),
        "gpu" => hardware.or_else(|| adapters.next()).map_or(Chosen::Unknown, Chosen::Adapter),
        name => adapters.find(|adapter| adapter.answers_to(name)).map_or(Chosen::Unknown, Chosen::Adapter),
    }
}

/// Radio rows: automatic, then each device.
pub fn device_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    let setting = cx.session.draft().spec.train.device.clone();
    let choose = |id: &str| cx.send(Command::SetDraft { key: "train.device".to_owned(), value: id.to_owned() });
    if ui
        .radio(setting == "auto", "Automatic")
        .on_hover_text("A hardware GPU where there is one, else the CPU")
        .clicked()
    {
        choose("auto");
    }
    match cx.session.devices() {
        DevicesState::Loading => {
            ui.horizontal(|ui| {
                ui.add(icons::CLOCK.image(14.0, cx.tokens.ui.text_weak));
                text::note(ui, "Looking for graphics adapters…");
            });
            entry_ui(cx, ui, &DeviceEntry::cpu(), &setting, &choose);
        }
        DevicesState::Failed(why) => {
            entry_ui(cx, ui, &DeviceEntry::cpu(), &setting, &choose);
            text::note(ui, format!("No adapters are listed: {why}"));
            again_ui(cx, ui);
        }
        DevicesState::Ready(entries) => {
            for entry in entries {
                entry_ui(cx, ui, entry, &setting, &choose);
            }
            if entries.iter().all(|entry| entry.adapter.is_none()) {
                text::note(ui, "No graphics adapter was found; training runs on the CPU");
                again_ui(cx, ui);
            }
        }
    }
    if matches!(cx.session.devices(), DevicesState::Ready(_))
        && chosen(cx.session.devices(), &setting) == Chosen::Unknown
    {
        ui.colored_label(cx.tokens.ui.warning, format!("No device fits “{setting}”"));
    }
}

fn again_ui(cx: &PanelContext<'_>, ui: &mut Ui) {
    if ui.button("Look again").clicked() {
        cx.send(Command::RefreshDevices);
    }
}

fn entry_ui(cx: &PanelContext<'_>, ui: &mut Ui, entry: &DeviceEntry, setting: &str, choose: &dyn Fn(&str)) {
    let response = ui.add(egui::RadioButton::new(setting == entry.id, units::shorten(&entry.label, 52)));
    let response = match &entry.adapter {
        Some(adapter) => response.on_hover_text(format!("{}\n{}", entry.label, adapter.driver)),
        None => response.on_hover_text("Burn's own CPU backend: always there, no kernels, no fusion"),
    };
    if response.clicked() {
        choose(&entry.id);
    }
    let Some(adapter) = &entry.adapter else { return };
    ui.horizontal_wrapped(|ui| {
        ui.add_space(20.0);
        ui.spacing_mut().item_spacing.x = 4.0;
        if adapter.software {
            let words = "Computed by the CPU: fine for trying things out, its speed says nothing about a GPU";
            badge(ui, cx.tokens, Tone::Warning, "software").on_hover_text(words);
        }
        let (tone, words) = if adapter.f16 { (Tone::Good, "f16") } else { (Tone::Plain, "no f16") };
        badge(ui, cx.tokens, tone, words).on_hover_text("16-bit arithmetic in shaders");
        let (tone, words) =
            if adapter.timestamps { (Tone::Good, "timestamps") } else { (Tone::Plain, "no timestamps") };
        badge(ui, cx.tokens, tone, words).on_hover_text("Device time of each kernel");
        widgets::badge(ui, cx.tokens, Tone::Plain, &adapter.backend);
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn adapter(name: &str, software: bool) -> DeviceEntry {
        DeviceEntry::from_adapter(AdapterInfo { name: name.to_owned(), software, ..AdapterInfo::default() })
    }

    fn name(devices: &DevicesState, setting: &str) -> String {
        match chosen(devices, setting) {
            Chosen::Adapter(adapter) => adapter.name.clone(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn automatic_takes_hardware_only() {
        let soft = DevicesState::Ready(vec![DeviceEntry::cpu(), adapter("llvmpipe", true)]);
        assert_eq!(name(&soft, "auto"), "Cpu");
        assert_eq!(name(&soft, "gpu"), "llvmpipe");
        let both = DevicesState::Ready(vec![adapter("llvmpipe", true), adapter("Radeon", false)]);
        assert_eq!(name(&both, "auto"), "Radeon");
        assert_eq!(name(&both, "LLVM"), "llvmpipe");
        assert_eq!(name(&both, "GeForce"), "Unknown");
        assert_eq!(name(&DevicesState::Loading, "auto"), "Unknown");
        assert_eq!(name(&DevicesState::Loading, "cpu"), "Cpu");
    }
}
