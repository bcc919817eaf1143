//! `burnscope devices`: what there is to train on, and what it can really do.

use super::args::DevicesArgs;
use super::{print, print_json};
use crate::model::units;
use crate::report::table::{Align, Table};
use crate::session::DeviceEntry;

/// Runs the command.
pub fn run(args: &DevicesArgs) -> anyhow::Result<()> {
    let devices = list()?;
    if args.measure {
        return measure(args, &devices);
    }
    if args.json {
        return print_json(&serde_json::json!({ "devices": devices }));
    }
    let mut table = Table::new(&[
        ("Device", Align::Left),
        ("Backend", Align::Left),
        ("Driver", Align::Left),
        ("Kind", Align::Left),
        ("f16", Align::Left),
        ("Timestamps", Align::Left),
        ("Largest buffer", Align::Right),
        ("Workgroup memory", Align::Right),
    ]);
    let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    for device in &devices {
        table.row(match &device.adapter {
            Some(a) => vec![
                a.name.clone(),
                a.backend.clone(),
                a.driver.clone(),
                a.device_type.clone(),
                yes(a.f16),
                yes(a.timestamps),
                units::bytes(a.max_buffer_bytes as f64),
                units::bytes(f64::from(a.workgroup_memory_bytes)),
            ],
            None => {
                vec![device.label.clone(), "Flex".to_owned(), "–".to_owned(), "CPU".to_owned(), yes(false), yes(false)]
            }
        });
    }
    print(&table.to_string());
    if devices.len() == 1 {
        print(
            "\nNo graphics adapter was found; the CPU is used. A Vulkan driver may be missing (Debian: mesa-vulkan-drivers).\n",
        );
    }
    Ok(())
}

/// Measures every device; the JSON answer carries the list beside the figures.
#[cfg(feature = "train")]
fn measure(args: &DevicesArgs, devices: &[DeviceEntry]) -> anyhow::Result<()> {
    let measured = super::measure::all();
    if args.json {
        let ceilings: Vec<serde_json::Value> = measured.iter().map(super::measure::Measured::json).collect();
        return print_json(&serde_json::json!({ "devices": devices, "ceilings": ceilings }));
    }
    super::measure::show(&measured)
}

#[cfg(not(feature = "train"))]
fn measure(_: &DevicesArgs, _: &[DeviceEntry]) -> anyhow::Result<()> {
    anyhow::bail!("this program was built without training (feature `train`)")
}

#[cfg(feature = "train")]
fn list() -> anyhow::Result<Vec<DeviceEntry>> {
    let adapters = crate::train::adapters().map_err(|e| anyhow::anyhow!("{}. {}", e.message(), e.hint()))?;
    let entries = adapters.into_iter().map(|adapter| DeviceEntry::from_adapter(adapter.info));
    Ok(std::iter::once(DeviceEntry::cpu()).chain(entries).collect())
}

#[cfg(not(feature = "train"))]
fn list() -> anyhow::Result<Vec<DeviceEntry>> {
    anyhow::bail!("this program was built without training (feature `train`)")
}
