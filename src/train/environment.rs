//! What a run runs on: versions, system, processor, memory, load, device.

use super::device::OpenDevice;
use crate::model::Environment;
use sysinfo::System;

/// Versions that `Cargo.toml` pins with `=`.
const BURN: &str = "0.22.1";
const CUBECL: &str = "0.11.3";

/// Describes this machine and the device.
pub fn describe(device: &OpenDevice) -> Environment {
    let mut system = System::new();
    system.refresh_memory();
    system.refresh_cpu_all();
    let cpu = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).unwrap_or_default();
    let load = System::load_average();
    let os = [System::long_os_version(), System::kernel_version()];
    Environment {
        burnscope: env!("CARGO_PKG_VERSION").to_owned(),
        burn: BURN.to_owned(),
        cubecl: CUBECL.to_owned(),
        os: os.into_iter().flatten().collect::<Vec<_>>().join(", kernel "),
        cpu,
        cores: std::thread::available_parallelism().map_or(system.cpus().len(), usize::from),
        memory_bytes: system.total_memory(),
        // Windows has no load average; sysinfo then gives zeros.
        load_average: (!cfg!(windows)).then_some(load.one),
        device: device.name.clone(),
        adapter: device.adapter.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_pinned_versions_are_those_of_the_manifest() {
        let manifest = include_str!("../../Cargo.toml");
        assert!(manifest.contains(&format!("burn = {{ version = \"={BURN}\"")));
        assert!(manifest.contains(&format!("cubecl = {{ version = \"={CUBECL}\"")));
    }

    #[test]
    fn this_machine_has_cores_and_memory() {
        let environment = describe(&crate::train::device::open("cpu").unwrap());
        assert!(environment.cores > 0 && environment.memory_bytes > 0 && !environment.os.is_empty());
        assert_eq!(environment.adapter, None);
    }
}
