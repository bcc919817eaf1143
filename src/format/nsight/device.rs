//! What the devices did: kernels, copies, sets, waiting, memory and what their counters measured.

use super::names;
use super::reader::Reader;
use super::table::{int, number, text};
use crate::model::TrackKind;
use crate::trace::{ArgValue, CounterId, FlowEnd, NameId, TrackId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where work ran: process, device, context, stream.
type Stream = (i64, i64, i64, i64);

/// Columns that all tables of work have, in the order in which [`Work::of`] takes them.
const WORK: [&str; 7] = ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"];

/// The tracks of the devices.
#[derive(Default)]
struct Devices {
    names: FxHashMap<i64, String>,
    tracks: FxHashMap<Stream, TrackId>,
    taken: FxHashSet<(i64, i64)>,
    waits: FxHashMap<i64, TrackId>,
    calls_missing: u64,
}

/// What all work has in common.
struct Work {
    start_ns: i64,
    end_ns: i64,
    stream: Stream,
    correlation: Option<i64>,
}

impl Work {
    fn of(reader: &mut Reader<'_>, table: &str, row: &rusqlite::Row<'_>) -> Option<Self> {
        let (Some(start_ns), Some(end_ns), Some(device)) = (int(row, 0), int(row, 1), int(row, 2)) else {
            reader.report.note(&format!("rows of table {table} without a time or a device, left out"), None);
            return None;
        };
        let pid = int(row, 6).map_or(0, |global| names::process_and_thread(global).0);
        let stream = (pid, device, int(row, 3).unwrap_or(0), int(row, 4).unwrap_or(0));
        Some(Self { start_ns, end_ns, stream, correlation: int(row, 5).filter(|number| *number != 0) })
    }
}

impl Devices {
    fn process(&self, device: i64) -> String {
        self.names.get(&device).map_or_else(|| format!("GPU {device}"), |name| format!("GPU {device} ({name})"))
    }

    fn track(&mut self, reader: &mut Reader<'_>, stream: Stream) -> TrackId {
        if let Some(track) = self.tracks.get(&stream) {
            return *track;
        }
        let (pid, device, context, number) = stream;
        // Processes and contexts number their streams each for itself.
        let name = match self.taken.insert((device, number)) {
            true => format!("Stream {number}"),
            false => format!("Stream {number}, process {pid}, context {context}"),
        };
        let uuid = reader.uuid();
        let track = reader.trace.add_track(uuid, None, &name, &self.process(device), TrackKind::Device);
        self.tracks.insert(stream, track);
        track
    }

    /// Adds work and the arrow from the call that launched it.
    fn work(
        &mut self,
        reader: &mut Reader<'_>,
        work: &Work,
        name: NameId,
        category: &str,
        mut args: Vec<(NameId, ArgValue)>,
    ) {
        let track = self.track(reader, work.stream);
        if let Some(number) = work.correlation {
            args.push(reader.int_arg("correlation", number));
        }
        reader.span(track, (work.start_ns, work.end_ns), name, category, &args);
        let call = work.correlation.and_then(|number| reader.calls.get(&(work.stream.0, number)).copied());
        match call {
            Some(from) => {
                reader.trace.arrow(NameId::EMPTY, from, FlowEnd { track, t_ns: work.start_ns });
                reader.report.flows += 1;
            }
            None => self.calls_missing += 1,
        }
    }
}

/// Reads all tables of devices.
pub(super) fn read(reader: &mut Reader<'_>) {
    let mut devices = Devices::default();
    let columns = ["id", "cuDevice", "name", "totalMemory", "smCount", "memoryBandwidth"];
    reader.rows("TARGET_INFO_GPU", &columns, |reader, row| {
        let (Some(id), Some(name)) = (int(row, 1).or_else(|| int(row, 0)), text(row, 2)) else { return };
        devices.names.insert(id, name.to_owned());
        reader.trace.add_fact(&format!("device {id}"), name);
    });
    kernels(reader, &mut devices);
    copies(reader, &mut devices);
    waits(reader, &mut devices);
    memory(reader, &devices);
    metrics(reader, &devices);
    let missing = "work of devices whose launch is not in the file, without an arrow";
    reader.report.note_many(missing, devices.calls_missing, None);
}

fn kernels(reader: &mut Reader<'_>, devices: &mut Devices) {
    let table = "CUPTI_ACTIVITY_KIND_KERNEL";
    let more = ["demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"];
    let memory = ["registersPerThread", "staticSharedMemory", "dynamicSharedMemory"];
    reader.rows(table, &[&WORK[..], &more, &memory].concat(), |reader, row| {
        let Some(work) = Work::of(reader, table, row) else { return };
        let name = match int(row, 7).or_else(|| int(row, 8)) {
            Some(id) => reader.string(id),
            None => reader.trace.intern("kernel without a name"),
        };
        let mut args = Vec::new();
        for (key, from) in [("grid", 9), ("block", 12)] {
            if let (Some(x), Some(y), Some(z)) = (int(row, from), int(row, from + 1), int(row, from + 2)) {
                args.push(reader.text_arg(key, &format!("[{x}, {y}, {z}]")));
            }
        }
        if let Some(registers) = int(row, 15) {
            args.push(reader.int_arg("registers per thread", registers));
        }
        if let (Some(fixed), Some(dynamic)) = (int(row, 16), int(row, 17)) {
            args.push(reader.int_arg("shared memory", fixed.saturating_add(dynamic)));
        }
        devices.work(reader, &work, name, "kernel", args);
    });
    // Graphs that were traced as wholes have no kernels of their own.
    let table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    reader.rows(table, &[&WORK[..], &["graphId"]].concat(), |reader, row| {
        let Some(work) = Work::of(reader, table, row) else { return };
        let name = reader.trace.intern("CUDA graph");
        let args = int(row, 7).map(|id| reader.int_arg("graph", id)).into_iter().collect();
        devices.work(reader, &work, name, "kernel", args);
    });
}

fn copies(reader: &mut Reader<'_>, devices: &mut Devices) {
    let table = "CUPTI_ACTIVITY_KIND_MEMCPY";
    reader.rows(table, &[&WORK[..], &["bytes", "copyKind", "srcKind", "dstKind"]].concat(), |reader, row| {
        let Some(work) = Work::of(reader, table, row) else { return };
        let kind = names::copy_kind(int(row, 8).unwrap_or(-1));
        let name = match (int(row, 9), int(row, 10)) {
            (Some(from), Some(to)) => {
                format!("Memcpy {kind} ({} -> {})", names::memory_kind(from), names::memory_kind(to))
            }
            _ => format!("Memcpy {kind}"),
        };
        let name = reader.trace.intern(&name);
        let args = int(row, 7).map(|bytes| reader.int_arg("bytes", bytes)).into_iter().collect();
        devices.work(reader, &work, name, "gpu_memcpy", args);
    });
    let table = "CUPTI_ACTIVITY_KIND_MEMSET";
    reader.rows(table, &[&WORK[..], &["bytes", "memKind"]].concat(), |reader, row| {
        let Some(work) = Work::of(reader, table, row) else { return };
        let place = int(row, 8).map_or("Unknown", names::memory_kind);
        let name = reader.trace.intern(&format!("Memset ({place})"));
        let args = int(row, 7).map(|bytes| reader.int_arg("bytes", bytes)).into_iter().collect();
        devices.work(reader, &work, name, "gpu_memset", args);
    });
}

/// Waiting that CUDA recorded: no work, so on a track of its own.
fn waits(reader: &mut Reader<'_>, devices: &mut Devices) {
    let table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    reader.rows(table, &[&WORK[..], &["syncType", "eventId"]].concat(), |reader, row| {
        let Some(work) = Work::of(reader, table, row) else { return };
        let kind = int(row, 7).unwrap_or(0);
        let device = work.stream.1;
        let track = match devices.waits.get(&device) {
            Some(track) => *track,
            None => {
                let (uuid, process) = (reader.uuid(), devices.process(device));
                let track = reader.trace.add_track(uuid, None, "Waiting", &process, TrackKind::Async);
                devices.waits.insert(device, track);
                track
            }
        };
        let mut args = vec![reader.int_arg("stream", work.stream.3)];
        args.extend(work.correlation.map(|number| reader.int_arg("correlation", number)));
        args.extend(int(row, 8).map(|event| reader.int_arg("event", event)));
        let name = reader.trace.intern(names::sync_kind(kind));
        // A stream that waits for another does not hold up the host.
        let category = if kind == 2 { "stream_wait" } else { "cuda_sync" };
        reader.span(track, (work.start_ns, work.end_ns), name, category, &args);
    });
}

/// Memory in use, from allocations and releases; what was allocated before the recording is not known.
fn memory(reader: &mut Reader<'_>, devices: &Devices) {
    let table = "CUDA_GPU_MEMORY_USAGE_EVENTS";
    let mut changes: Vec<(i64, i64, i64)> = Vec::new();
    let columns = ["start", "deviceId", "bytes", "memoryOperationType"];
    reader.rows(table, &columns, |reader, row| match (int(row, 0), int(row, 1), int(row, 2), int(row, 3)) {
        (Some(t_ns), Some(device), Some(bytes), Some(operation @ 0..=1)) => {
            changes.push((t_ns, device, if operation == 0 { bytes } else { bytes.saturating_neg() }));
        }
        _ => reader.report.note("changes of memory without a time, a device or a size, left out", None),
    });
    changes.sort_unstable();
    let mut curves: FxHashMap<i64, (CounterId, i64)> = FxHashMap::default();
    for (t_ns, device, change) in changes {
        let (counter, sum) = curves.entry(device).or_insert_with(|| {
            let name = format!("Device {device} memory since the start");
            let uuid = reader.uuid();
            (reader.trace.add_counter(uuid, &name, "bytes", &devices.process(device)), 0)
        });
        *sum = sum.saturating_add(change);
        let (counter, sum) = (*counter, *sum);
        reader.trace.sample(counter, t_ns, sum as f64);
        reader.report.counters += 1;
    }
}

/// What the devices' own counters measured, in percent or events as their names say.
fn metrics(reader: &mut Reader<'_>, devices: &Devices) {
    let mut names: FxHashMap<(i64, i64), String> = FxHashMap::default();
    reader.rows("TARGET_INFO_GPU_METRICS", &["typeId", "metricId", "metricName"], |_, row| {
        if let (Some(kind), Some(metric), Some(name)) = (int(row, 0), int(row, 1), text(row, 2)) {
            names.insert((kind, metric), name.to_owned());
        }
    });
    let mut counters: FxHashMap<(i64, i64), CounterId> = FxHashMap::default();
    reader.rows("GPU_METRICS", &["timestamp", "typeId", "metricId", "value"], |reader, row| {
        let (Some(t_ns), Some(kind), Some(metric), Some(value)) =
            (int(row, 0), int(row, 1), int(row, 2), number(row, 3))
        else {
            reader.report.note("values of counters without a time or a value, left out", None);
            return;
        };
        let counter = *counters.entry((kind, metric)).or_insert_with(|| {
            let name = names.get(&(kind, metric)).cloned().unwrap_or_else(|| format!("Metric {metric}"));
            // The lowest byte of the type is the device.
            let uuid = reader.uuid();
            reader.trace.add_counter(uuid, &name, "", &devices.process(kind & 0xff))
        });
        reader.trace.sample(counter, t_ns, value);
        reader.report.counters += 1;
    });
}
