//! Opens a run folder whole.

use super::super::{FormatError, ImportReport};
use super::{Follower, RunFolder, settle_end};
use crate::model::{LogEvent, RunManifest, StepRecord};
use crate::trace::Trace;
use std::path::Path;
use std::time::Duration;

/// A run as it is on disk.
#[derive(Debug, Clone)]
pub struct LoadedRun {
    /// What was asked, what it ran on, how it ended; a run whose process is gone is not `Running` any more.
    pub manifest: RunManifest,
    /// Steps, in the order in which they were made.
    pub steps: Vec<StepRecord>,
    /// The trace.
    pub trace: Trace,
    /// Events, in the order in which they were written.
    pub events: Vec<LogEvent>,
    /// What was read and what was not taken as it stood.
    pub report: ImportReport,
}

/// Reads a run folder. Whatever its process left behind when it was killed opens: what is cut is left out and reported.
///
/// # Errors
/// If the folder or its `run.json` cannot be read, or a file gives an input error.
pub fn load(path: &Path) -> Result<LoadedRun, FormatError> {
    let mut manifest = RunFolder::open(path)?.read_manifest()?;
    settle_end(&mut manifest);
    let mut trace = Trace::default();
    let (mut steps, mut events) = (Vec::new(), Vec::new());
    let mut follower = Follower::new(path);
    while follower.poll(&mut trace, &mut steps, &mut events, Duration::MAX)? {}
    let report = follower.final_report(&trace);
    Ok(LoadedRun { manifest, steps, trace, events, report })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::{EVENTS_FILE, MANIFEST_FILE, STEPS_FILE, TRACE_FILE};
    use super::*;
    use crate::format::perfetto::{Arg, PacketWriter};
    use crate::model::event::{EventKind, EventLevel};
    use crate::model::{RunEnd, StepFlags};
    use std::fs;
    use std::io::Write as _;

    fn step(i: u64) -> StepRecord {
        let mut step = StepRecord {
            step: i,
            epoch: 1,
            start_ns: i as i64 * 1000,
            dur_ns: 900,
            phases_ns: [1, 2, 3, 4, 5, 6, 7, 0],
            loss: (i.is_multiple_of(2)).then_some(0.1 + i as f32 / 3.0),
            samples: 128,
            loss_scale: Some(65536.0),
            flags: StepFlags(i as u8 & 31),
            ..StepRecord::default()
        };
        step.close();
        step
    }

    fn event(i: i64) -> LogEvent {
        LogEvent {
            t_ns: i,
            level: EventLevel::Warning,
            kind: EventKind::Compile,
            source: "test".to_owned(),
            text: format!("line {i} with \"quotes\"\nand a break"),
        }
    }

    fn write_run(base: &Path, steps: u64) -> RunFolder {
        let folder = RunFolder::create(base, "test").unwrap();
        let manifest = RunManifest { title: "t".to_owned(), end: RunEnd::Finished, ..RunManifest::default() };
        folder.write_manifest(&manifest).unwrap();
        let mut table = folder.step_writer().unwrap();
        let mut log = folder.event_writer().unwrap();
        let mut trace = folder.trace_writer().unwrap();
        trace.process(1, "worker", 42).unwrap();
        trace.track(2, Some(1), "Training thread").unwrap();
        trace.counter_track(3, Some(1), "Device memory in use", "bytes").unwrap();
        for i in 0..steps {
            table.append(&step(i)).unwrap();
            log.append(&event(i as i64)).unwrap();
            let start = i as i64 * 1000;
            trace.span(2, start + 10, 300, "Forward", "phase", &[("step", Arg::Int(i as i64))]).unwrap();
            trace.span(2, start, 900, "Step", "step", &[("flags", Arg::Text("cold"))]).unwrap();
            trace.counter(3, start, i as f64).unwrap();
        }
        trace.flush().unwrap();
        folder
    }

    #[test]
    fn what_was_written_is_read() {
        let base = tempfile::tempdir().unwrap();
        let folder = write_run(base.path(), 50);
        let run = load(folder.path()).unwrap();
        assert_eq!(run.steps, (0..50).map(step).collect::<Vec<_>>());
        assert_eq!(run.events, (0..50).map(event).collect::<Vec<_>>());
        assert_eq!((run.report.spans, run.report.counters), (100, 50));
        assert_eq!(run.report.summary(), None);
        let tracks: Vec<&str> = run.trace.tracks().iter().map(|track| track.name.as_str()).collect();
        assert_eq!(tracks, ["worker", "Training thread"]);
        assert_eq!(run.trace.tracks()[1].depth_count(), 2);
        assert_eq!(run.trace.tracks()[1].process, "worker");
    }

    #[test]
    fn a_run_cut_anywhere_opens_with_what_came_before() {
        let base = tempfile::tempdir().unwrap();
        let folder = write_run(base.path(), 4);
        let whole = load(folder.path()).unwrap();
        for file in [TRACE_FILE, STEPS_FILE, EVENTS_FILE] {
            let path = folder.path().join(file);
            let bytes = fs::read(&path).unwrap();
            for cut in 0..bytes.len() {
                fs::write(&path, &bytes[..cut]).unwrap();
                let run = load(folder.path()).unwrap();
                assert!(whole.steps.starts_with(&run.steps), "{file} cut at {cut}");
                assert!(whole.events.starts_with(&run.events), "{file} cut at {cut}");
                assert!(run.trace.span_count() <= whole.trace.span_count());
                let lost = whole.steps.len() - run.steps.len() + whole.events.len() - run.events.len();
                let cut_inside = cut > 0 && bytes[cut - 1] != b'\n' && file != TRACE_FILE;
                assert!(!cut_inside || (lost > 0 && run.report.summary().is_some()), "{file} cut at {cut}");
            }
            fs::write(&path, &bytes).unwrap();
            fs::remove_file(&path).unwrap();
            assert!(load(folder.path()).unwrap().report.summary().unwrap().contains(file));
            fs::write(&path, &bytes).unwrap();
        }
        fs::remove_file(folder.path().join(MANIFEST_FILE)).unwrap();
        assert!(load(folder.path()).is_err());
    }

    #[test]
    fn a_live_run_is_followed_byte_by_byte() {
        let base = tempfile::tempdir().unwrap();
        let source = write_run(base.path(), 3);
        let live = RunFolder::create(base.path(), "live").unwrap();
        let whole = load(source.path()).unwrap();
        let mut follower = Follower::new(live.path());
        let (mut trace, mut steps, mut events) = (Trace::default(), Vec::new(), Vec::new());
        assert!(!follower.poll(&mut trace, &mut steps, &mut events, Duration::MAX).unwrap());
        for file in [STEPS_FILE, EVENTS_FILE, TRACE_FILE] {
            let bytes = fs::read(source.path().join(file)).unwrap();
            let mut out = fs::File::create(live.path().join(file)).unwrap();
            for byte in bytes {
                out.write_all(&[byte]).unwrap();
                follower.poll(&mut trace, &mut steps, &mut events, Duration::MAX).unwrap();
            }
        }
        assert_eq!(steps, whole.steps);
        assert_eq!(events, whole.events);
        let spans =
            |trace: &Trace| trace.tracks().iter().flat_map(|t| t.spans().collect::<Vec<_>>()).collect::<Vec<_>>();
        assert_eq!(spans(&trace), spans(&whole.trace));
        assert_eq!(follower.final_report(&trace), whole.report);
        fs::write(live.path().join(STEPS_FILE), "short").unwrap();
        assert!(follower.poll(&mut trace, &mut steps, &mut events, Duration::MAX).is_err());
    }

    #[test]
    fn damage_in_the_middle_keeps_what_came_before() {
        let base = tempfile::tempdir().unwrap();
        let folder = write_run(base.path(), 20);
        let path = folder.path().join(TRACE_FILE);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(&[0; 4096]);
        fs::write(&path, &bytes).unwrap();
        let run = load(folder.path()).unwrap();
        assert_eq!(run.trace.span_count(), 40);
        assert!(run.report.summary().unwrap().contains("trace.pftrace"));
    }

    #[test]
    fn a_torn_row_stays_alone_when_writing_goes_on() {
        let base = tempfile::tempdir().unwrap();
        let folder = write_run(base.path(), 2);
        let path = folder.path().join(STEPS_FILE);
        let bytes = fs::read(&path).unwrap();
        let row = bytes.len() - bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() - 1;
        for cut in 1..row {
            fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
            folder.step_writer().unwrap().append(&step(2)).unwrap();
            let run = load(folder.path()).unwrap();
            assert_eq!(run.steps, [step(0), step(2)], "{cut} bytes cut");
            assert_eq!(run.report.notes.len(), 1);
        }
    }

    #[test]
    fn hostile_files_open_or_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let folder = write_run(base.path(), 1);
        let mut writer = PacketWriter::new(Vec::new());
        writer.span(9, 5, -7, "negative", "", &[]).unwrap();
        writer.end(9, 100).unwrap();
        fs::write(folder.path().join(TRACE_FILE), writer.into_inner().unwrap()).unwrap();
        fs::write(folder.path().join(STEPS_FILE), b"step,\xff\xfe,dur_ns\n1,2,3\n-1,,x\n\"open").unwrap();
        fs::write(folder.path().join(EVENTS_FILE), b"\x00\n{}\nnull\n\n").unwrap();
        let run = load(folder.path()).unwrap();
        assert_eq!((run.steps.len(), run.events.len(), run.trace.span_count()), (1, 0, 1));
        assert!(run.report.notes.iter().any(|note| note.what.contains("without a begin")));
        assert!(run.report.notes.iter().any(|note| note.what.contains("events.jsonl") && note.count == 3));
    }
}
