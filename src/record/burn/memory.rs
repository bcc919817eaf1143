//! Device memory, from CubeCL's pools.

use crate::model::{Known, Source};
use burn_cubecl::CubeDevice;
use cubecl::MemoryScope;

/// Device memory at one moment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// Held by tensors.
    pub in_use: u64,
    /// Held by the pools, for tensors or for reuse.
    pub reserved: u64,
}

/// Memory of the device now. Waits until the device's thread has taken all launches so far, but neither for their end nor
/// for operations that fusion still holds back; free after a readback.
pub fn memory(device: &CubeDevice) -> Known<MemoryUse> {
    let report = device.client().memory_report(MemoryScope::Device);
    if report.streams.is_empty() {
        return Known::unknown("the device keeps no account of its memory");
    }
    let usage = report.usage();
    Known::value(MemoryUse { in_use: usage.bytes_in_use, reserved: usage.bytes_reserved }, Source::Counted, 1)
}
