//! The two files of a recording: packets into `trace.pftrace`, lines into `events.jsonl`.

use super::item::{Args, Value};
use super::recorder::RecordError;
use super::sink::{Sink, SpanOut};
use crate::format::perfetto::{Arg, PacketWriter};
use crate::model::LogEvent;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Track of the process itself, the parent of all others.
const PROCESS: u64 = 1;

/// Writes a recording's files.
pub(crate) struct FileSink {
    /// Times before the start of the run are put at its start: packets have none.
    packets: PacketWriter<File>,
    events: BufWriter<File>,
    process_written: bool,
    tracks: FxHashMap<String, u64>,
    counters: FxHashMap<String, u64>,
    next_track: u64,
}

impl FileSink {
    /// Creates both files, empty.
    pub fn create(trace: &Path, events: &Path) -> Result<Self, RecordError> {
        let create =
            |path: &Path| File::create(path).map_err(|source| RecordError::Create { path: path.to_owned(), source });
        Ok(Self {
            packets: PacketWriter::new(create(trace)?),
            events: BufWriter::new(create(events)?),
            process_written: false,
            tracks: FxHashMap::default(),
            counters: FxHashMap::default(),
            next_track: PROCESS + 1,
        })
    }

    fn describe_process(&mut self) -> io::Result<()> {
        if !self.process_written {
            self.packets.process(PROCESS, "Burnscope run", std::process::id())?;
            self.process_written = true;
        }
        Ok(())
    }

    fn track(&mut self, name: &str) -> io::Result<u64> {
        if let Some(track) = self.tracks.get(name) {
            return Ok(*track);
        }
        self.describe_process()?;
        let track = self.next_track;
        self.packets.track(track, Some(PROCESS), name)?;
        self.next_track += 1;
        self.tracks.insert(name.to_owned(), track);
        Ok(track)
    }

    fn counter_track(&mut self, name: &str, unit: &str) -> io::Result<u64> {
        if let Some(track) = self.counters.get(name) {
            return Ok(*track);
        }
        self.describe_process()?;
        let track = self.next_track;
        self.packets.counter_track(track, Some(PROCESS), name, unit)?;
        self.next_track += 1;
        self.counters.insert(name.to_owned(), track);
        Ok(track)
    }
}

fn packet_args(args: &Args) -> Vec<(&str, Arg<'_>)> {
    let arg = |value| match value {
        &Value::Int(n) => Arg::Int(n),
        &Value::Str(text) => Arg::Text(text),
        Value::Shared(text) => Arg::Text(text),
        Value::Text(text) => Arg::Text(text),
    };
    args.iter().map(|(key, value)| (*key, arg(value))).collect()
}

impl Sink for FileSink {
    fn span(&mut self, span: &SpanOut) -> io::Result<()> {
        let track = self.track(span.track)?;
        let dur_ns = span.end_ns.saturating_sub(span.start_ns);
        self.packets.span(track, span.start_ns.max(0), dur_ns, span.name, span.category, &packet_args(span.args))
    }

    fn instant(&mut self, span: &SpanOut) -> io::Result<()> {
        let track = self.track(span.track)?;
        self.packets.instant(track, span.start_ns.max(0), span.name, span.category, &packet_args(span.args))
    }

    fn counter(&mut self, name: &str, unit: &str, at_ns: i64, value: f64) -> io::Result<()> {
        let track = self.counter_track(name, unit)?;
        self.packets.counter(track, at_ns.max(0), value)
    }

    fn event(&mut self, event: &LogEvent) -> io::Result<()> {
        serde_json::to_writer(&mut self.events, event)?;
        self.events.write_all(b"\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.packets.flush()?;
        self.events.flush()
    }

    fn bytes(&self) -> u64 {
        self.packets.bytes()
    }
}
