//! Reads an export from its file, or from memory.

use super::super::watch::Looker;
use super::table::{Broken, Tables, int, text};
use super::{device, host, names};
use crate::format::{FormatError, ImportReport};
use crate::trace::{ArgValue, FlowEnd, NameId, Trace, TrackId};
use rusqlite::{Connection, OpenFlags};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Longer spans are taken for damage. Seven days.
const ABSURD_NS: i64 = 7 * 86_400 * 1_000_000_000;
/// Tables that describe the others or the machine.
const DESCRIBING: [&str; 12] = [
    "ENUM_",
    "META_DATA_",
    "TARGET_INFO_",
    "ANALYSIS_",
    "NVTX_PAYLOAD_",
    "StringIds",
    "ThreadNames",
    "PROCESSES",
    "ProcessStreams",
    "EXPORT_",
    "GENERIC_EVENT_",
    "NIC_ID_MAP",
];
/// What the export says of the machine and is kept. Not its environment variables: they may hold secrets.
const KEPT_FACTS: [&str; 6] =
    ["Hostname", "OsDescription", "CpuDescription", "CpuCores", "NvDriverVersion", "CudaDriverVersion"];
/// `severity` of a message that tells of something wrong.
const WARNINGS: std::ops::RangeInclusive<i64> = 2..=3;

/// Reads an export where it lies, without changing it or anything beside it.
///
/// # Errors
/// If the file cannot be read or is no export of Nsight Systems.
pub fn read_file(path: &Path) -> Result<(Trace, ImportReport), FormatError> {
    read_file_watched(path, Looker::default())
}

/// The same, where somebody looks on. When it is cancelled it ends where it is.
pub(in crate::format) fn read_file_watched(path: &Path, looker: Looker) -> Result<(Trace, ImportReport), FormatError> {
    let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(uri(path), flags).map_err(|error| refused(&error))?;
    read_database(&db, bytes, looker)
}

/// Reads an export from memory.
///
/// # Errors
/// If it is no export of Nsight Systems.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    let mut db = Connection::open_in_memory().map_err(|error| refused(&error))?;
    db.deserialize_read_exact("main", bytes, bytes.len(), true).map_err(|error| refused(&error))?;
    read_database(&db, bytes.len() as u64, Looker::default())
}

/// A path as SQLite takes it, saying that nobody writes: then it needs no lock and looks for no journal.
fn uri(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => uri.push(char::from(*byte)),
            _ => {
                // Writing to a text cannot fail.
                write!(uri, "%{byte:02x}").ok();
            }
        }
    }
    uri.push_str("?immutable=1");
    PathBuf::from(uri)
}

fn refused(error: &rusqlite::Error) -> FormatError {
    FormatError::Damaged {
        what: format!("The SQLite database cannot be read: {error}"),
        offset: 0,
        hint: "export it again with `nsys export --type sqlite report.nsys-rep`",
    }
}

fn read_database(db: &Connection, bytes: u64, looker: Looker) -> Result<(Trace, ImportReport), FormatError> {
    // What a hostile file may want to run is not trusted.
    db.pragma_update(None, "trusted_schema", false).map_err(|error| refused(&error))?;
    db.pragma_update(None, "cell_size_check", true).map_err(|error| refused(&error))?;
    let tables = Tables::of(db, bytes, looker).map_err(|error| refused(&error))?;
    if !tables.has("StringIds") {
        let known: Vec<&str> = tables.names().iter().take(5).map(String::as_str).collect();
        return Err(FormatError::Damaged {
            what: format!("The SQLite database is no export of Nsight Systems (its tables: {})", known.join(", ")),
            offset: 0,
            hint: "export the report with `nsys export --type sqlite report.nsys-rep`",
        });
    }
    let mut reader = Reader::new(&tables);
    reader.facts();
    host::read(&mut reader);
    device::read(&mut reader);
    reader.rest();
    Ok(reader.finish())
}

/// What was read so far.
pub(super) struct Reader<'a> {
    pub tables: &'a Tables<'a>,
    pub trace: Trace,
    pub report: ImportReport,
    /// Calls by process and number: what a device does bears the number of the call that launched it.
    pub calls: FxHashMap<(i64, i64), FlowEnd>,
    /// Tables that were looked at.
    pub seen: Vec<String>,
    strings: FxHashMap<i64, NameId>,
    processes: FxHashMap<i64, String>,
    uuid: u64,
}

impl<'a> Reader<'a> {
    fn new(tables: &'a Tables<'a>) -> Self {
        let report = ImportReport::new("Nsight Systems (SQLite)");
        Self {
            tables,
            report,
            trace: Trace::default(),
            calls: FxHashMap::default(),
            seen: Vec::new(),
            strings: FxHashMap::default(),
            processes: FxHashMap::default(),
            uuid: 0,
        }
    }

    /// Goes through a table; what is wrong with it is noted.
    pub fn rows(&mut self, table: &str, columns: &[&str], mut each: impl FnMut(&mut Self, &rusqlite::Row<'_>)) {
        self.seen.push(table.to_owned());
        let tables = self.tables;
        if let Err(Broken(why)) = tables.rows(table, columns, |row| each(self, row)) {
            self.report.note(&format!("table {table} that is damaged, read as far as it goes: {why}"), None);
        }
    }

    /// A number for a new track or counter.
    pub fn uuid(&mut self) -> u64 {
        self.uuid += 1;
        self.uuid
    }

    /// A name by its number in the table of strings.
    pub fn string(&mut self, id: i64) -> NameId {
        if let Some(name) = self.strings.get(&id) {
            return *name;
        }
        let name = match self.tables.string(id) {
            Some(text) => self.trace.intern(&text),
            None => {
                self.report.note("names that are not in the table of strings, shown by their number", None);
                self.trace.intern(&format!("string {id}"))
            }
        };
        self.strings.insert(id, name);
        name
    }

    /// What a process is called.
    pub fn process(&self, pid: i64) -> String {
        self.processes.get(&pid).map_or_else(|| format!("Process {pid}"), |name| format!("{name} ({pid})"))
    }

    /// Adds a span. Times that cannot be are mended and noted.
    pub fn span(
        &mut self,
        track: TrackId,
        (start_ns, end_ns): (i64, i64),
        name: NameId,
        category: &str,
        args: &[(NameId, ArgValue)],
    ) {
        let dur_ns = end_ns.checked_sub(start_ns).filter(|dur_ns| (0..=ABSURD_NS).contains(dur_ns));
        if dur_ns.is_none() {
            self.report.note("negative durations and those of more than seven days, drawn without duration", None);
        }
        let category = self.trace.intern(category);
        let args = self.trace.intern_args(args);
        self.trace.complete(track, start_ns, dur_ns.unwrap_or(0), name, category, args);
        self.report.spans += 1;
    }

    /// An argument that is a whole number.
    pub fn int_arg(&mut self, key: &str, value: i64) -> (NameId, ArgValue) {
        (self.trace.intern(key), ArgValue::Int(value))
    }

    /// An argument that is a text.
    pub fn text_arg(&mut self, key: &str, value: &str) -> (NameId, ArgValue) {
        (self.trace.intern(key), ArgValue::Text(self.trace.intern(value)))
    }

    /// Names of processes, and what is known of machine and export.
    fn facts(&mut self) {
        self.rows("PROCESSES", &["pid", "globalPid", "name"], |reader, row| {
            let pid = int(row, 1).map(|global| names::process_and_thread(global).0).or_else(|| int(row, 0));
            if let (Some(pid), Some(name)) = (pid, text(row, 2)) {
                reader.processes.insert(pid, name.to_owned());
            }
        });
        self.rows("META_DATA_EXPORT", &["name", "value"], |reader, row| {
            if let (Some("EXPORT_PRODUCT_VERSION"), Some(value)) = (text(row, 0), text(row, 1)) {
                reader.trace.add_fact("Nsight Systems", value);
            }
        });
        self.rows("TARGET_INFO_SYSTEM_ENV", &["name", "value"], |reader, row| {
            if let (Some(name), Some(value)) = (text(row, 0), text(row, 1))
                && KEPT_FACTS.contains(&name)
                && !value.is_empty()
            {
                reader.trace.add_fact(name, value);
            }
        });
        self.rows("TARGET_INFO_SESSION_START_TIME", &["utcTime"], |reader, row| {
            if let Some(time) = text(row, 0) {
                reader.trace.add_fact("start (UTC)", time);
            }
        });
    }

    /// Warnings of the profiler, and tables that are not read.
    fn rest(&mut self) {
        self.rows("DIAGNOSTIC_EVENT", &["severity", "text"], |reader, row| {
            if let (Some(severity), Some(words)) = (int(row, 0), text(row, 1))
                && WARNINGS.contains(&severity)
            {
                reader.report.note(&format!("warning of the profiler: {}", words.trim()), None);
            }
        });
        for table in self.tables.names() {
            let describes = DESCRIBING.iter().any(|prefix| table.starts_with(prefix));
            if !describes && !self.seen.contains(table) && !table.starts_with("sqlite_") {
                let rows = self.tables.count(table);
                self.report.note_many(&format!("rows of table {table}, not read"), rows, None);
            }
        }
    }

    fn finish(mut self) -> (Trace, ImportReport) {
        self.trace.settle();
        self.report.close(&self.trace);
        (self.trace, self.report)
    }
}
