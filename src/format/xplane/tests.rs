//! A small space written by hand, whole, cut and changed.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::super::wire::{put_bytes, put_double, put_uint};
use super::field::{event, line, map, metadata, plane, space, stat};
use super::{looks_like, read};
use crate::model::TrackKind;
use proptest::prelude::*;

fn message(build: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    build(&mut out);
    out
}

fn entry(key: u64, name: &str, display: &str) -> Vec<u8> {
    let value = message(|out| {
        put_uint(out, 1, key);
        put_bytes(out, metadata::NAME, name.as_bytes());
        if !display.is_empty() {
            put_bytes(out, metadata::DISPLAY_NAME, display.as_bytes());
        }
    });
    message(|out| {
        put_uint(out, map::KEY, key);
        put_bytes(out, map::VALUE, &value);
    })
}

fn number_stat(id: u64, field: u32, value: u64) -> Vec<u8> {
    message(|out| {
        put_uint(out, stat::METADATA_ID, id);
        put_uint(out, field, value);
    })
}

fn event(id: u64, offset_ps: u64, dur_ps: u64, stats: &[Vec<u8>]) -> Vec<u8> {
    message(|out| {
        put_uint(out, event::METADATA_ID, id);
        put_uint(out, event::OFFSET_PS, offset_ps);
        put_uint(out, event::DURATION_PS, dur_ps);
        stats.iter().for_each(|stat| put_bytes(out, event::STAT, stat));
    })
}

fn line(name: &str, timestamp_ns: u64, events: &[Vec<u8>]) -> Vec<u8> {
    message(|out| {
        put_uint(out, line::ID, 7);
        put_bytes(out, line::NAME, name.as_bytes());
        put_uint(out, line::TIMESTAMP_NS, timestamp_ns);
        events.iter().for_each(|event| put_bytes(out, line::EVENT, event));
    })
}

/// Lines first and tables after them, as XProf writes them.
fn plane(name: &str, lines: &[Vec<u8>], events: &[Vec<u8>], stats: &[Vec<u8>]) -> Vec<u8> {
    message(|out| {
        put_uint(out, plane::ID, 3);
        put_bytes(out, plane::NAME, name.as_bytes());
        lines.iter().for_each(|line| put_bytes(out, plane::LINE, line));
        events.iter().for_each(|entry| put_bytes(out, plane::EVENT_METADATA, entry));
        stats.iter().for_each(|entry| put_bytes(out, plane::STAT_METADATA, entry));
    })
}

fn small() -> Vec<u8> {
    let stats =
        [entry(1, "correlation_id", ""), entry(2, "hlo_op", ""), entry(3, "fusion.7", ""), entry(4, "rate", "")];
    let rate = message(|out| {
        put_uint(out, stat::METADATA_ID, 4);
        put_double(out, stat::DOUBLE, 2.5);
    });
    let kernels = [
        event(1, 1_000_500, 2_000_700, &[number_stat(1, stat::UINT64, 18), number_stat(2, stat::REF, 3), rate]),
        event(1, 3_001_200, 300, &[]),
        event(9, 9_000_000, 0, &[]),
    ];
    let device = plane(
        "/device:GPU:0",
        &[line("Stream #1(Kernel)", 5_000, &kernels), line("XLA Modules", 5_000, &[event(2, 0, 9_000_000, &[])])],
        &[entry(1, "loop_fusion.kd", "loop fusion"), entry(2, "jit_step", "")],
        &stats,
    );
    let launch = event(5, 0, 700_000, &[number_stat(1, stat::UINT64, 18)]);
    let host = plane("/host:CPU", &[line("python", 5_000, &[launch])], &[entry(5, "cuLaunchKernel", "")], &stats);
    message(|out| {
        put_bytes(out, space::PLANE, &device);
        put_bytes(out, space::PLANE, &host);
        put_bytes(out, space::HOST, b"tw003");
        put_bytes(out, space::ERROR, b"buffer full");
    })
}

#[test]
fn picoseconds_names_figures_and_arrows_are_read() {
    let bytes = small();
    assert!(looks_like(&bytes) && looks_like(&bytes[..60]));
    let (trace, report) = read(&bytes).unwrap();
    let tracks: Vec<(&str, &str, TrackKind)> =
        trace.tracks().iter().map(|t| (t.name.as_str(), t.process.as_str(), t.kind)).collect();
    assert_eq!(
        tracks,
        [
            ("Stream #1(Kernel)", "/device:GPU:0", TrackKind::Device),
            ("XLA Modules", "/device:GPU:0", TrackKind::Thread),
            ("python", "/host:CPU", TrackKind::Thread),
        ]
    );
    let lane = trace.tracks()[0].lane(0).unwrap();
    let kernel = lane.get(0).unwrap();
    // 1,000,500 ps to 3,001,200 ps after 5,000 ns: both ends on the nanosecond before.
    assert_eq!((kernel.start_ns, kernel.dur_ns, trace.name(kernel.name)), (6_000, 2_001, "loop fusion"));
    assert_eq!(trace.arg_text(&kernel, "hlo_op"), Some("fusion.7"));
    assert_eq!(trace.arg_text(&kernel, "full name"), Some("loop_fusion.kd"));
    assert_eq!(lane.get(1).unwrap().start_ns, 8_001, "neighbours stay neighbours");
    assert_eq!(trace.name(lane.get(2).unwrap().name), "event 9");
    assert_eq!((report.spans, report.flows), (5, 1));
    let arrow = trace.flows().iter().next().unwrap();
    assert_eq!((arrow.from.t_ns, arrow.to.t_ns), (5_000, 6_000));
    assert_eq!(trace.facts(), [("host".to_owned(), "tw003".to_owned())]);
    let noted: Vec<&str> = report.notes.iter().map(|note| note.what.as_str()).collect();
    assert_eq!(noted.len(), 3, "{noted:?}");
    assert!(noted.iter().any(|note| note.contains("buffer full")), "{noted:?}");
}

#[test]
fn what_is_no_space_is_refused() {
    assert!(!looks_like(b"\x0a\x05\x40\x01\x50\x02hello"));
    assert!(!looks_like(b""));
    let error = read(b"\x0a\xff\xff\x01short").unwrap_err().to_string();
    assert!(error.contains("No plane") && error.contains("byte 0"), "{error}");
}

#[test]
fn a_cut_file_keeps_its_whole_planes() {
    let bytes = small();
    let (trace, report) = read(&bytes[..bytes.len() - 30]).unwrap();
    assert_eq!(trace.span_count(), 4);
    assert!(report.torn_tail_bytes > 0, "{report:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn hostile_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = small();
        for (at, byte) in changes { let at = at.index(bytes.len()); bytes[at] = byte; }
        bytes.truncate(cut.index(bytes.len()) + 1);
        looks_like(&bytes);
        if let Ok((trace, report)) = read(&bytes) {
            prop_assert_eq!(trace.span_count(), report.spans);
        }
    }
}
