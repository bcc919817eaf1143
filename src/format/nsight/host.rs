//! What ran on the host: calls into CUDA and other libraries, ranges and marks of NVTX, the profiler's own work.

use super::names;
use super::reader::Reader;
use super::table::{int, number, text};
use crate::model::TrackKind;
use crate::trace::{ArgValue, FlowEnd, NameId, TrackId};
use rustc_hash::FxHashMap;

/// `eventType` of a mark, and of ranges that are started and ended anywhere instead of pushed and popped.
const MARKS: [i64; 2] = [34, 65];
const FREE_RANGES: [i64; 4] = [37, 60, 68, 71];
/// `eventType` of ranges that are pushed and popped on one thread.
const NESTED_RANGES: [i64; 4] = [35, 59, 66, 70];

/// The tracks of one process's threads.
#[derive(Default)]
struct Threads {
    names: FxHashMap<i64, NameId>,
    tracks: FxHashMap<(i64, &'static str), TrackId>,
}

impl Threads {
    /// The track of a thread, or one beside it that shows something else of that thread.
    fn track(&mut self, reader: &mut Reader<'_>, global_tid: i64, beside: &'static str) -> TrackId {
        if let Some(track) = self.tracks.get(&(global_tid, beside)) {
            return *track;
        }
        let (pid, tid) = names::process_and_thread(global_tid);
        let name = match self.names.get(&global_tid) {
            Some(name) => format!("{} ({tid}){beside}", reader.trace.name(*name)),
            None => format!("Thread {tid}{beside}"),
        };
        let (uuid, process) = (reader.uuid(), reader.process(pid));
        let kind = if beside.is_empty() { TrackKind::Thread } else { TrackKind::Async };
        let track = reader.trace.add_track(uuid, None, &name, &process, kind);
        self.tracks.insert((global_tid, beside), track);
        track
    }
}

/// Reads all tables of the host.
pub(super) fn read(reader: &mut Reader<'_>) {
    let mut threads = Threads::default();
    reader.rows("ThreadNames", &["globalTid", "nameId"], |reader, row| {
        if let (Some(thread), Some(name)) = (int(row, 0), int(row, 1)) {
            let name = reader.string(name);
            threads.names.insert(thread, name);
        }
    });
    ranges(reader, &mut threads);
    for table in reader.tables.names() {
        let overhead = table == "CUPTI_ACTIVITY_KIND_OVERHEAD" || table == "PROFILER_OVERHEAD";
        if overhead {
            calls(reader, &mut threads, table, " – profiler overhead");
        } else if reader.tables.has_columns(table, &["start", "end", "globalTid", "nameId"]) {
            calls(reader, &mut threads, table, "");
        }
    }
}

/// Tables of calls: each has a thread, a name, a start and an end, whatever the library is.
fn calls(reader: &mut Reader<'_>, threads: &mut Threads, table: &str, beside: &'static str) {
    let columns = ["start", "end", "globalTid", "nameId", "correlationId", "returnValue"];
    let mut shown: FxHashMap<i64, (NameId, &'static str)> = FxHashMap::default();
    reader.rows(table, &columns, |reader, row| {
        let (Some(start), Some(end), Some(thread)) = (int(row, 0), int(row, 1), int(row, 2)) else {
            reader.report.note(&format!("rows of table {table} without a time or a thread, left out"), None);
            return;
        };
        let id = int(row, 3).unwrap_or(-1);
        let (name, category) = *shown.entry(id).or_insert_with(|| {
            let full = reader.string(id);
            let full = reader.trace.name(full).to_owned();
            let category = if beside.is_empty() { names::call_category(table, &full) } else { "overhead" };
            (reader.trace.intern(names::call(&full)), category)
        });
        let track = threads.track(reader, thread, beside);
        let mut args = Vec::new();
        if let Some(number) = int(row, 4).filter(|number| *number != 0) {
            args.push(reader.int_arg("correlation", number));
            if beside.is_empty() {
                let pid = names::process_and_thread(thread).0;
                reader.calls.entry((pid, number)).or_insert(FlowEnd { track, t_ns: start });
            }
        }
        if let Some(error) = int(row, 5).filter(|value| *value != 0) {
            args.push(reader.int_arg("return value", error));
        }
        reader.span(track, (start, end), name, category, &args);
    });
}

/// Ranges and marks that the program set itself.
fn ranges(reader: &mut Reader<'_>, threads: &mut Threads) {
    let columns =
        ["start", "end", "eventType", "globalTid", "text", "textId", "int64Value", "uint64Value", "doubleValue"];
    reader.rows("NVTX_EVENTS", &columns, |reader, row| {
        let kind = int(row, 2).unwrap_or(59);
        let mark = MARKS.contains(&kind);
        if !mark && !FREE_RANGES.contains(&kind) && !NESTED_RANGES.contains(&kind) {
            // Names of domains, categories and threads: they say no time.
            return;
        }
        let (Some(start), Some(thread)) = (int(row, 0), int(row, 3)) else {
            reader.report.note("rows of table NVTX_EVENTS without a time or a thread, left out", None);
            return;
        };
        let whole = match (text(row, 4), int(row, 5)) {
            (Some(text), _) => text.to_owned(),
            (None, Some(id)) => {
                let name = reader.string(id);
                reader.trace.name(name).to_owned()
            }
            (None, None) => "(no text)".to_owned(),
        };
        let (name, pairs) = names::range(&whole);
        let category = if pairs.is_empty() { "nvtx" } else { "cpu_op" };
        let mut args: Vec<(NameId, ArgValue)> = Vec::new();
        for (key, value) in pairs {
            args.push(match value.parse() {
                Ok(number) => reader.int_arg(key, number),
                // As PyTorch's profiler calls it in its own traces.
                Err(_) if key == "sizes" => reader.text_arg("Input Dims", value),
                Err(_) => reader.text_arg(key, value),
            });
        }
        if let Some(value) = int(row, 6).or_else(|| int(row, 7)) {
            args.push(reader.int_arg("value", value));
        } else if let Some(value) = number(row, 8) {
            args.push((reader.trace.intern("value"), ArgValue::Float(value)));
        }
        let name = reader.trace.intern(name);
        if mark {
            let track = threads.track(reader, thread, "");
            let (category, args) = (reader.trace.intern(category), reader.trace.intern_args(&args));
            reader.trace.instant(track, start, name, category, args);
            reader.report.instants += 1;
            return;
        }
        let free = FREE_RANGES.contains(&kind);
        let track = threads.track(reader, thread, if free { " – ranges started and ended freely" } else { "" });
        match int(row, 1) {
            Some(end) => reader.span(track, (start, end), name, category, &args),
            None => {
                reader.report.note("ranges without an end, drawn as moments where they begin", None);
                let (category, args) = (reader.trace.intern(category), reader.trace.intern_args(&args));
                reader.trace.instant(track, start, name, category, args);
                reader.report.instants += 1;
            }
        }
    });
}
