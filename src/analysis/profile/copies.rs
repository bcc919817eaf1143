//! Copies of memory that devices made: between which places, how much, how fast.

use super::role::{Role, Roles};
use crate::model::TrackKind;
use crate::trace::{ArgValue, Span, Trace};
use serde::Serialize;

/// Keys under which profilers write how many bytes were copied.
const BYTES_KEYS: [&str; 3] = ["bytes", "Bytes", "size"];
/// Key under which XProf writes it all in one text: `kind_src:pageable kind_dst:device size:4096 dest:0 async:1`.
const DETAILS_KEY: &str = "memcpy_details";

/// From where to where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyKind {
    /// From the host's memory to a device's.
    HostToDevice,
    /// From a device's memory to the host's.
    DeviceToHost,
    /// Within a device.
    DeviceToDevice,
    /// From one device to another.
    PeerToPeer,
    /// Memory that is set to a value.
    Set,
    /// Neither name nor arguments say it.
    Unknown,
}

impl CopyKind {
    /// Words for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::HostToDevice => "host to device",
            Self::DeviceToHost => "device to host",
            Self::DeviceToDevice => "within the device",
            Self::PeerToPeer => "device to device",
            Self::Set => "memory sets",
            Self::Unknown => "copies of unknown direction",
        }
    }

    /// By the name that PyTorch, XProf or Nsight Systems gives it.
    fn of(name: &str, role: Role) -> Self {
        if role == Role::Memset {
            return Self::Set;
        }
        let name = name.to_lowercase();
        let has = |words: [&str; 4]| words.iter().any(|word| name.contains(word));
        if has(["htod", "h2d", "host-to-device", "hosttodevice"]) {
            Self::HostToDevice
        } else if has(["dtoh", "d2h", "device-to-host", "devicetohost"]) {
            Self::DeviceToHost
        } else if has(["ptop", "p2p", "peer-to-peer", "peertopeer"]) {
            Self::PeerToPeer
        } else if has(["dtod", "d2d", "device-to-device", "devicetodevice"]) || name.contains("copybuffer") {
            Self::DeviceToDevice
        } else {
            Self::Unknown
        }
    }
}

/// All copies of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyRow {
    /// From where to where.
    pub kind: CopyKind,
    /// Words for it.
    pub label: &'static str,
    /// Whether the host's side was memory that the system may page out, which must be copied twice; `None` where the
    /// trace does not say.
    pub pageable: Option<bool>,
    /// Number of copies.
    pub count: u64,
    /// Their time on the device, in nanoseconds.
    pub total_ns: i64,
    /// Bytes copied by those whose size is known; `None` where none is.
    pub bytes: Option<u64>,
    /// Bytes a second of those whose size is known.
    pub bytes_per_sec: Option<f64>,
}

/// Gathers the copies of a trace within a window (`None` = all of it), the longest time first.
pub fn copies(trace: &Trace, roles: &Roles, window: Option<(i64, i64)>) -> Vec<CopyRow> {
    let mut rows: Vec<(CopyRow, i64)> = Vec::new();
    for track in trace.tracks().iter().filter(|track| track.kind == TrackKind::Device) {
        for (_, span) in track.spans().filter(|(_, span)| !span.is_open()) {
            let role = roles.role(track, &span);
            let inside = window.is_none_or(|(from, to)| span.start_ns >= from && span.start_ns < to);
            if !inside || !matches!(role, Role::Memcpy | Role::Memset) {
                continue;
            }
            let name = trace.name(span.name);
            let (kind, details) = (CopyKind::of(name, role), trace.arg_text(&span, DETAILS_KEY).unwrap_or(""));
            let pageable = pageable(name, details);
            let at =
                rows.iter().position(|(row, _)| row.kind == kind && row.pageable == pageable).unwrap_or_else(|| {
                    let (label, bytes) = (kind.label(), None);
                    let row = CopyRow { kind, label, pageable, count: 0, total_ns: 0, bytes, bytes_per_sec: None };
                    rows.push((row, 0));
                    rows.len() - 1
                });
            let Some((row, timed_ns)) = rows.get_mut(at) else { continue };
            row.count += 1;
            row.total_ns = row.total_ns.saturating_add(span.dur_ns);
            if let Some(bytes) = bytes(trace, &span, details) {
                row.bytes = Some(row.bytes.unwrap_or(0).saturating_add(bytes));
                *timed_ns = timed_ns.saturating_add(span.dur_ns);
            }
        }
    }
    let rated = rows.into_iter().map(|(mut row, timed_ns)| {
        let bytes = row.bytes.filter(|bytes| *bytes > 0 && timed_ns > 0);
        row.bytes_per_sec = bytes.map(|bytes| bytes as f64 / (timed_ns as f64 / 1e9));
        row
    });
    let mut rows: Vec<CopyRow> = rated.collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.total_ns), row.kind));
    rows
}

fn bytes(trace: &Trace, span: &Span, details: &str) -> Option<u64> {
    let written = BYTES_KEYS.iter().find_map(|key| match trace.arg(span, key)? {
        ArgValue::Int(bytes) => u64::try_from(bytes).ok(),
        ArgValue::Float(bytes) if (0.0..1e18).contains(&bytes) => Some(bytes as u64),
        _ => None,
    });
    written.or_else(|| details.split_whitespace().find_map(|word| word.strip_prefix("size:"))?.parse().ok())
}

fn pageable(name: &str, details: &str) -> Option<bool> {
    let said = |word: &str| name.contains(word) || details.contains(&word.to_lowercase());
    if said("Pageable") { Some(true) } else { said("Pinned").then_some(false) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::tests::Plant;
    use super::*;
    use crate::trace::NameId;

    #[test]
    fn copies_are_told_by_direction_and_memory() {
        let mut plant = Plant::new();
        let (device, key) = (plant.device, plant.trace.intern("bytes"));
        let details = plant.trace.intern(DETAILS_KEY);
        let text = plant.trace.intern("kind_src:pinned kind_dst:device size:500 dest:0 async:1");
        let mut add = |start, dur, category: &str, name: &str, args: &[(NameId, ArgValue)]| {
            let (name, category) = (plant.trace.intern(name), plant.trace.intern(category));
            let args = plant.trace.intern_args(args);
            plant.trace.complete(device, start, dur, name, category, args);
        };
        add(0, 100, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", &[(key, ArgValue::Int(4000))]);
        add(100, 300, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", &[(key, ArgValue::Int(4000))]);
        add(400, 100, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", &[]);
        add(500, 10, "gpu_memcpy", "MemcpyH2D", &[(details, ArgValue::Text(text))]);
        add(510, 20, "gpu_memcpy", "[CUDA memcpy Device-to-Host]", &[]);
        add(530, 1, "gpu_memset", "Memset (Device)", &[(key, ArgValue::Int(-5))]);
        add(540, 50, "kernel", "copy_kernel", &[]);
        plant.trace.settle();
        let roles = Roles::of(&plant.trace);
        let rows = copies(&plant.trace, &roles, None);
        let kinds: Vec<_> = rows.iter().map(|row| (row.kind, row.pageable, row.count, row.total_ns)).collect();
        assert_eq!(
            kinds,
            [
                (CopyKind::HostToDevice, Some(true), 3, 500),
                (CopyKind::DeviceToHost, None, 1, 20),
                (CopyKind::HostToDevice, Some(false), 1, 10),
                (CopyKind::Set, None, 1, 1),
            ]
        );
        // 8000 bytes in 400 ns: the copy of unknown size is left out of the rate.
        assert_eq!((rows[0].bytes, rows[0].bytes_per_sec), (Some(8000), Some(20e9)));
        assert_eq!((rows[2].bytes, rows[1].bytes, rows[3].bytes), (Some(500), None, None));
        assert_eq!(copies(&plant.trace, &roles, Some((500, 520))).len(), 2);
    }
}
