//! The devices to train on, asked of a child process, so that a driver that crashes while it is probed takes nothing
//! of the app with it.

use crate::lab::conductor::Launch;
use crate::model::AdapterInfo;
use serde::{Deserialize, Serialize};
use std::process::Command;

/// A device as the user picks it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceEntry {
    /// Value for `train.device`.
    pub id: String,
    /// Words for a list.
    pub label: String,
    /// The adapter; `None` = the CPU (Flex).
    pub adapter: Option<AdapterInfo>,
}

impl DeviceEntry {
    /// The CPU backend, which is always there.
    pub fn cpu() -> Self {
        Self { id: "cpu".to_owned(), label: "CPU (Flex)".to_owned(), adapter: None }
    }

    /// An adapter. Its label is its identifier, since one name can stand for several interfaces.
    pub fn from_adapter(adapter: AdapterInfo) -> Self {
        let label = format!("{} ({}, {})", adapter.name, adapter.backend, adapter.device_type);
        Self { id: adapter.label(), label, adapter: Some(adapter) }
    }
}

/// What is known of the devices.
#[derive(Debug, Clone, PartialEq)]
pub enum DevicesState {
    /// Being looked for.
    Loading,
    /// Found; the CPU is always among them.
    Ready(Vec<DeviceEntry>),
    /// Could not be listed; training on the CPU still works.
    Failed(String),
}

/// Result of `burnscope devices --json`, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct DevicesJson {
    devices: Vec<DeviceEntry>,
}

/// Runs `burnscope devices --json` and reads its answer. Blocks for as long as the drivers take.
pub fn ask(launch: &Launch) -> Result<Vec<DeviceEntry>, String> {
    let output = Command::new(&launch.program)
        .args(["devices", "--json"])
        .output()
        .map_err(|e| format!("the devices were not listed: {e}: {}", launch.program.display()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message").to_owned();
        return Err(format!("the devices were not listed ({}): {last}", output.status));
    }
    let answer: DevicesJson =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("the list of devices was not understood: {e}"))?;
    Ok(answer.devices)
}
