//! Files of every format version that was ever released open, and so do the traces of other tools.

use burnscope::format::run_folder::load;
use burnscope::format::{FormatError, open_trace};
use burnscope::model::track::name;
use burnscope::model::{Phase, RunEnd, StepFlags, TrackKind};
use burnscope::trace::ArgValue;
use std::path::{Path, PathBuf};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Format version 1. The folder is never written again; a change that breaks this test breaks the runs of users.
#[test]
fn a_run_of_version_1_opens() {
    let run = load(&data("tests/data/runs/v1")).unwrap();
    assert_eq!((run.manifest.title.as_str(), run.manifest.format_version), ("Golden run", 1));
    assert_eq!(run.manifest.end, RunEnd::Stopped);
    let summary = run.manifest.summary.unwrap();
    assert_eq!(summary.step_median_ns.get(), Some(&1_500_000.0));
    assert_eq!(summary.device_busy.reason(), Some("the device has no timestamps"));

    let steps = &run.steps;
    assert_eq!(steps.iter().map(|step| step.dur_ns).collect::<Vec<_>>(), [1_500_000, 1_500_001, 1_500_002]);
    assert_eq!(
        steps.iter().map(|step| step.loss).collect::<Vec<_>>(),
        ["2.302585".parse().ok(), None, Some(2.102_584_8)]
    );
    assert!(steps[0].flags.contains(StepFlags::COLD) && !steps[1].flags.contains(StepFlags::COLD));
    assert_eq!(steps[2].phase_ns(Phase::Backward), 700_000);
    assert_eq!((steps[2].loss_scale, steps[2].accuracy), (Some(65536.0), Some(0.125)));

    assert_eq!(
        run.events.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(),
        ["kernel 0", "kernel 1", "kernel 2"]
    );

    let trace = &run.trace;
    assert_eq!((run.report.spans, run.report.instants, run.report.counters), (10, 1, 3));
    assert_eq!(run.report.torn_tail_bytes, 0);
    let kinds: Vec<TrackKind> = trace.tracks().iter().map(|track| track.kind).collect();
    assert_eq!(kinds, [TrackKind::Process, TrackKind::Training, TrackKind::Ops]);
    let training = &trace.tracks()[1];
    assert_eq!((training.name.as_str(), training.process.as_str()), (name::TRAINING, "burnscope worker"));
    assert_eq!(training.lanes().iter().map(|lane| lane.len()).collect::<Vec<_>>(), [4, 3]);
    let last = training.lane(0).and_then(|lane| lane.last()).unwrap();
    assert!(last.is_open());
    assert_eq!(trace.arg_int(&last, "step"), Some(3));
    let op = trace.tracks()[2].lane(0).and_then(|lane| lane.get(0)).unwrap();
    assert_eq!((trace.name(op.name), trace.name(op.category)), ("conv2d", "op"));
    assert_eq!(trace.arg_text(&op, "shapes in"), Some("[128, 3, 32, 32] [32, 3, 3, 3]"));
    assert_eq!(trace.arg(&op, "flops"), Some(ArgValue::Float(2.26e8)));
    assert_eq!(trace.arg(&op, "cached"), Some(ArgValue::Bool(true)));
    let memory = &trace.counters()[0];
    assert_eq!((memory.name.as_str(), memory.unit.as_str()), ("Device memory in use", "bytes"));
    assert_eq!(memory.value_at(2_500_000), Some(2_097_152.0));
}

/// The traces of other tools lie beside the project where it is developed; elsewhere there is nothing to read.
#[test]
fn traces_of_other_tools_open_or_are_refused_in_words() {
    for folder in ["chrome", "kineto", "speedscope", "collapsed"] {
        let Ok(entries) = std::fs::read_dir(data("../shared/traces").join(folder)) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            match open_trace(&path) {
                Ok((trace, report)) => {
                    assert_eq!(trace.span_count(), report.spans, "{}", path.display());
                    assert!(report.spans + report.counters + report.instants > 0 || report.summary().is_some());
                }
                Err(FormatError::Unknown { .. } | FormatError::Damaged { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}
