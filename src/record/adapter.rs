//! What a driver says of its adapter, in our words. Training and the kernel lab both describe devices; here they agree.

use crate::model::AdapterInfo;

/// Describes an adapter: name, interface, driver, kind, abilities and limits.
pub fn describe(adapter: &wgpu::Adapter) -> AdapterInfo {
    let (info, features, limits) = (adapter.get_info(), adapter.features(), adapter.limits());
    let device_type = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => "discrete GPU",
        wgpu::DeviceType::IntegratedGpu => "integrated GPU",
        wgpu::DeviceType::VirtualGpu => "virtual GPU",
        wgpu::DeviceType::Cpu => "software (CPU)",
        wgpu::DeviceType::Other => "other",
    };
    AdapterInfo {
        name: info.name,
        backend: format!("{:?}", info.backend),
        driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
        device_type: device_type.to_owned(),
        software: info.device_type == wgpu::DeviceType::Cpu,
        f16: features.contains(wgpu::Features::SHADER_F16),
        timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
        max_buffer_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
        max_workgroup_invocations: limits.max_compute_invocations_per_workgroup,
        workgroup_memory_bytes: limits.max_compute_workgroup_storage_size,
    }
}
