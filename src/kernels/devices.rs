//! Every graphics adapter that wgpu can see.

use super::error::KernelError;
use crate::model::AdapterInfo;
use crate::record::adapter::describe;
use std::panic::catch_unwind;

/// An adapter and its description.
pub(super) struct Found {
    /// For the user.
    pub info: AdapterInfo,
    /// To open it.
    pub adapter: wgpu::Adapter,
}

/// All adapters, hardware before software; the same hardware shows once for each interface (Vulkan, GL, …). Asks the
/// drivers, which can take a second. Empty where there is no driver or no loader.
pub fn list() -> Vec<AdapterInfo> {
    enumerate().into_iter().map(|found| found.info).collect()
}

pub(super) fn enumerate() -> Vec<Found> {
    // A driver's fault while it is loaded must not take the process down where Rust can help it.
    let mut found = catch_unwind(|| {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()))
    })
    .unwrap_or_else(|_| {
        log::warn!("listing the graphics adapters failed: a driver's initialisation panicked");
        Vec::new()
    });
    found.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    found.into_iter().map(|adapter| Found { info: describe(&adapter), adapter }).collect()
}

/// The adapter with this number in [`list`], or the first whose name contains the text, in any case.
pub(super) fn find(wanted: &str) -> Result<Found, KernelError> {
    let mut found = enumerate();
    let names: Vec<String> = found.iter().map(|f| f.info.label()).collect();
    match position(wanted, &names) {
        Some(at) => Ok(found.swap_remove(at)),
        None if names.is_empty() => Err(KernelError::NoAdapter),
        None => Err(KernelError::NotFound { wanted: wanted.to_owned(), present: names }),
    }
}

fn position(wanted: &str, names: &[String]) -> Option<usize> {
    let wanted = wanted.trim().to_lowercase();
    match wanted.parse::<usize>() {
        Ok(number) if number < names.len() => Some(number),
        _ if wanted.is_empty() => None,
        _ => names.iter().position(|name| name.to_lowercase().contains(&wanted)),
    }
}

fn rank(device_type: wgpu::DeviceType) -> u8 {
    match device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn found_by_number_or_part_of_the_name() {
        let names = ["NVIDIA H200 (Vulkan)".to_owned(), "llvmpipe (LLVM 15) (Vulkan)".to_owned()];
        assert_eq!(position("1", &names), Some(1));
        assert_eq!(position("h200", &names), Some(0));
        assert_eq!(position("LLVMpipe", &names), Some(1));
        assert_eq!(position("7", &names), None);
        assert_eq!(position("radeon", &names), None);
        assert_eq!(position(" ", &names), None);
    }

    #[test]
    fn listing_never_fails_and_describes_what_it_finds() {
        for info in list() {
            assert!(!info.name.is_empty() && !info.backend.is_empty(), "{info:?}");
            assert!(info.max_buffer_bytes > 0, "{info:?}");
        }
    }

    #[test]
    fn unknown_adapter_is_refused_with_what_is_there() {
        let error = find("no such adapter").err().unwrap();
        assert!(matches!(error, KernelError::NoAdapter | KernelError::NotFound { .. }));
        assert!(!error.hint().is_empty());
    }
}
