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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::{Notice, RecordOptions, Recorder};
    use super::*;
    use crate::format::perfetto::PerfettoReader;
    use crate::model::track::{arg, name};
    use crate::model::{EventKind, EventLevel, Phase, TraceLevel};
    use crate::trace::Trace;
    use parking_lot::Mutex;
    use std::sync::Arc;

    fn read(path: &Path) -> Trace {
        let mut trace = Trace::default();
        PerfettoReader::new().feed(&std::fs::read(path).unwrap(), &mut trace).unwrap();
        trace
    }

    #[test]
    fn what_was_recorded_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let options = RecordOptions::in_folder(folder.path(), TraceLevel::L1);
        let recorder = Recorder::start(options.clone()).unwrap();
        let step = recorder.step(41, 3, false, true);
        drop(step.phase(Phase::Backward));
        let record = step.finish();
        recorder.queue_depth(5);
        recorder.log(EventLevel::Info, "a line\nof \"two\"");
        let stats = recorder.finish();
        assert_eq!((stats.spans, stats.dropped), (3, 0));
        assert_eq!(stats.bytes, std::fs::metadata(&options.trace_path).unwrap().len());

        let trace = read(&options.trace_path);
        let track = trace.tracks().iter().find(|track| track.name == name::TRAINING).unwrap();
        let step = track.lane(0).unwrap().get(0).unwrap();
        assert_eq!((step.start_ns, step.dur_ns), (record.start_ns, record.dur_ns));
        assert_eq!(trace.arg_int(&step, arg::STEP), Some(41));
        let phase = track.lane(1).unwrap().get(0).unwrap();
        assert_eq!(trace.arg_text(&phase, arg::PHASE), Some("backward"));
        assert_eq!(trace.counters()[0].iter().map(|(_, value)| value).collect::<Vec<_>>(), [5.0]);
        let line = std::fs::read_to_string(&options.events_path).unwrap();
        let event: LogEvent = serde_json::from_str(line.trim_end()).unwrap();
        assert_eq!((event.text.as_str(), event.kind), ("a line\nof \"two\"", EventKind::Log));
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_with_its_path() {
        let error = Recorder::start(RecordOptions::in_folder("/nowhere/at/all", TraceLevel::L0)).err().unwrap();
        assert!(error.to_string().contains("/nowhere/at/all/trace.pftrace"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_said_once_and_training_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&said);
        let recorder = Recorder::start(RecordOptions {
            trace_path: "/dev/full".into(),
            notify: Some(Arc::new(move |notice| hear.lock().push(notice))),
            ..RecordOptions::in_folder(folder.path(), TraceLevel::L1)
        })
        .unwrap();
        for n in 0..3 {
            let step = recorder.step(n, 0, false, true);
            drop(step.phase(Phase::Forward));
            assert!(step.finish().phase_ns(Phase::Forward) > 0, "steps are timed all the same");
            assert!(recorder.flush());
        }
        let stats = recorder.finish();
        assert!(stats.first_error.unwrap().contains("No space left"));
        assert!(stats.dropped >= 4);
        assert!(matches!(said.lock().as_slice(), [Notice::Failed(_)]), "{:?}", said.lock());
    }
}
