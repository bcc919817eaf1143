//! Devices: what graphics adapters there are, which one a spec means, and opening it without a panic.

use super::errors::TrainError;
use super::thread::guard;
use crate::model::AdapterInfo;
use crate::record::adapter::describe;
use burn::tensor::wgpu::WgpuBackend;
use burn::tensor::{Device, DeviceKind};
use parking_lot::Mutex;

/// Graphics interfaces, best first where one adapter is reached through several.
const APIS: [(WgpuBackend, wgpu::Backend); 4] = [
    (WgpuBackend::Vulkan, wgpu::Backend::Vulkan),
    (WgpuBackend::Metal, wgpu::Backend::Metal),
    (WgpuBackend::Dx12, wgpu::Backend::Dx12),
    (WgpuBackend::Gl, wgpu::Backend::Gl),
];

/// A graphics adapter and how Burn reaches it.
#[derive(Debug, Clone)]
pub struct Adapter {
    /// As its driver describes it.
    pub info: AdapterInfo,
    api: WgpuBackend,
    kind: DeviceKind,
    /// Smaller is better: hardware before software, discrete before integrated.
    rank: u32,
}

/// A device that is open for training.
#[derive(Debug, Clone)]
pub struct OpenDevice {
    /// Burn's handle, without autodiff.
    pub device: Device,
    /// Name for the user.
    pub name: String,
    /// The adapter; `None` on the CPU (Flex).
    pub adapter: Option<AdapterInfo>,
}

impl OpenDevice {
    /// The CPU, through Burn's Flex backend.
    fn cpu() -> Self {
        Self { device: Device::flex(), name: "CPU (Flex)".to_owned(), adapter: None }
    }

    /// Whether it is the CPU (Flex), which runs every operation at once and launches no kernels.
    pub fn is_cpu(&self) -> bool {
        self.adapter.is_none()
    }
}

/// Adapters that this process opened. A runtime can be initialised once only, so it is kept and handed out again.
static OPENED: Mutex<Vec<(String, OpenDevice)>> = Mutex::new(Vec::new());

/// All graphics adapters, the best first. Asks the drivers, which can take a second. An empty list is no error.
pub fn adapters() -> Result<Vec<Adapter>, TrainError> {
    guard(|| {
        let mut found: Vec<Adapter> = APIS.iter().flat_map(|(api, backend)| probe(*api, *backend)).collect();
        found.sort_by_key(|adapter| adapter.rank);
        Ok(found)
    })
}

fn probe(api: WgpuBackend, backend: wgpu::Backend) -> Vec<Adapter> {
    if !wgpu::Instance::enabled_backend_features().contains(backend.into()) {
        return Vec::new();
    }
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: backend.into(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let found = pollster::block_on(instance.enumerate_adapters(backend.into()));
    let mut seen = Vec::new();
    found
        .iter()
        .map(|adapter| {
            let device_type = adapter.get_info().device_type;
            // Burn counts the adapters of each type on their own.
            let index = seen.iter().filter(|other| **other == device_type).count();
            seen.push(device_type);
            let (kind, rank) = match device_type {
                wgpu::DeviceType::DiscreteGpu => (DeviceKind::DiscreteGpu(index), 0),
                wgpu::DeviceType::IntegratedGpu => (DeviceKind::IntegratedGpu(index), 1),
                wgpu::DeviceType::VirtualGpu => (DeviceKind::VirtualGpu(index), 2),
                // Burn has no name for this type; the interface's best adapter is the nearest it can select.
                wgpu::DeviceType::Other => (DeviceKind::DefaultDevice, 3),
                wgpu::DeviceType::Cpu => (DeviceKind::Cpu, 4),
            };
            Adapter { info: describe(adapter), api, kind, rank }
        })
        .collect()
}

/// Opens what `train.device` means: `auto` (the best hardware adapter, else the CPU), `cpu` (Flex), `gpu` (the best
/// adapter, software too) or a part of an adapter's name, in any case.
pub fn open(wanted: &str) -> Result<OpenDevice, TrainError> {
    if wanted.eq_ignore_ascii_case("cpu") {
        return Ok(OpenDevice::cpu());
    }
    let present = adapters();
    if wanted.eq_ignore_ascii_case("auto") {
        // A broken driver must not keep anybody from training on the CPU.
        let hardware = present.ok().and_then(|list| list.into_iter().find(|adapter| !adapter.info.software));
        return hardware.map_or_else(|| Ok(OpenDevice::cpu()), |adapter| open_adapter(wanted, &adapter));
    }
    let present = present?;
    let adapter = choose(wanted, &present).ok_or_else(|| TrainError::NoDevice {
        wanted: wanted.to_owned(),
        present: present.iter().map(|adapter| adapter.info.label()).collect(),
        why: if present.is_empty() { "there is no graphics adapter" } else { "no adapter's name contains it" }
            .to_owned(),
    })?;
    open_adapter(wanted, adapter)
}

/// The adapter that `gpu` or a part of a name means.
fn choose<'a>(wanted: &str, present: &'a [Adapter]) -> Option<&'a Adapter> {
    if wanted.trim().eq_ignore_ascii_case("gpu") {
        return present.first();
    }
    present.iter().find(|adapter| adapter.info.answers_to(wanted))
}

fn open_adapter(wanted: &str, adapter: &Adapter) -> Result<OpenDevice, TrainError> {
    let key = format!("{:?} {:?}", adapter.api, adapter.kind);
    let mut opened = OPENED.lock();
    if let Some((_, device)) = opened.iter().find(|(other, _)| *other == key) {
        return Ok(device.clone());
    }
    let result = guard(|| {
        let options = Device::wgpu_options().graphics_api(adapter.api).device_kind(adapter.kind.clone());
        Ok(options.init_with_setup())
    })?;
    let (device, _setup) = result.map_err(|e| TrainError::NoDevice {
        wanted: wanted.to_owned(),
        present: vec![adapter.info.label()],
        why: e.to_string(),
    })?;
    let open = OpenDevice { device, name: adapter.info.label(), adapter: Some(adapter.info.clone()) };
    opened.push((key, open.clone()));
    Ok(open)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn adapter(name: &str, rank: u32) -> Adapter {
        let info = AdapterInfo { name: name.to_owned(), backend: "Vulkan".to_owned(), ..AdapterInfo::default() };
        Adapter { info, api: WgpuBackend::Vulkan, kind: DeviceKind::DefaultDevice, rank }
    }

    #[test]
    fn adapters_are_chosen_by_part_of_their_name() {
        let present = [adapter("NVIDIA RTX 4090", 0), adapter("llvmpipe (LLVM 15)", 4)];
        assert_eq!(choose("rtx", &present).unwrap().info.name, "NVIDIA RTX 4090");
        assert_eq!(choose("gpu", &present).unwrap().info.name, "NVIDIA RTX 4090");
        assert_eq!(choose("Lavapipe", &present).unwrap().info.name, "llvmpipe (LLVM 15)");
        assert!(choose("radeon", &present).is_none());
        assert!(choose("gpu", &[]).is_none());
    }

    #[test]
    fn the_cpu_is_always_there() {
        assert!(open("cpu").unwrap().is_cpu());
    }

    #[test]
    fn an_unknown_name_is_refused_with_what_is_there() {
        let error = open("no such adapter").unwrap_err();
        assert!(matches!(error, TrainError::NoDevice { .. }), "{error}");
    }
}
