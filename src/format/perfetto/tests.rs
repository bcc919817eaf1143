//! Packets of other writers, made by hand: other clocks, the old form of events, arguments that come at the end.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::wire::{put_bytes, put_uint};
use super::*;
use crate::format::ImportReport;
use crate::model::TrackKind;
use crate::trace::{ArgValue, Trace};

/// A message of whole numbers and messages, by field.
fn message(uints: &[(u32, u64)], messages: &[(u32, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    uints.iter().for_each(|(field, value)| put_uint(&mut out, *field, *value));
    messages.iter().for_each(|(field, bytes)| put_bytes(&mut out, *field, bytes));
    out
}

fn read(packets: &[Vec<u8>]) -> (Trace, ImportReport) {
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| put_bytes(&mut bytes, field::trace::PACKET, packet));
    let (mut trace, mut reader) = (Trace::default(), PerfettoReader::new());
    reader.feed(&bytes, &mut trace).unwrap();
    (trace, reader.report())
}

/// A packet of writer 1 with an event on track 5.
fn event(more: &[(u32, u64)], kind: u64, name: &str) -> Vec<u8> {
    let event =
        message(&[(field::event::TYPE, kind), (field::event::TRACK_UUID, 5)], &[(field::event::NAME, name.as_bytes())]);
    let mut packet = message(&[(field::packet::SEQUENCE_ID, 1)], &[(field::packet::TRACK_EVENT, &event)]);
    more.iter().for_each(|(field, value)| put_uint(&mut packet, *field, *value));
    packet
}

fn moments(trace: &Trace) -> Vec<i64> {
    trace.tracks().iter().flat_map(|track| track.instants().iter().map(|moment| moment.start_ns)).collect()
}

fn snapshot(clocks: &[&[(u32, u64)]]) -> Vec<u8> {
    let clocks: Vec<Vec<u8>> = clocks.iter().map(|clock| message(clock, &[])).collect();
    let clocks: Vec<(u32, &[u8])> =
        clocks.iter().map(|clock| (field::clock_snapshot::CLOCK, clock.as_slice())).collect();
    let snapshot = message(&[], &clocks);
    message(&[(field::packet::SEQUENCE_ID, 1)], &[(field::packet::CLOCK_SNAPSHOT, &snapshot)])
}

#[test]
fn times_on_other_clocks_are_brought_to_the_trace() {
    let (time, clock) = (field::packet::TIMESTAMP, field::packet::CLOCK_ID);
    let instant = field::event_type::INSTANT;
    let (trace, report) = read(&[
        // The monotonic clock (3) stands at 100 when the trace's (6) is at 1,000, later at 300 and 1,250. Clock 64
        // counts microseconds from the packet before.
        snapshot(&[&[(1, 6), (2, 1000)], &[(1, 3), (2, 100)], &[(1, 64), (2, 7), (3, 1), (4, 1000)]]),
        event(&[(time, 150), (clock, 3)], instant, "a"),
        event(&[(time, 2), (clock, 64)], instant, "b"),
        event(&[(time, 3), (clock, 64)], instant, "c"),
        snapshot(&[&[(1, 6), (2, 1250)], &[(1, 3), (2, 300)]]),
        event(&[(time, 310), (clock, 3)], instant, "d"),
        event(&[(time, 90), (clock, 3)], instant, "before the first"),
        event(&[(time, 42)], instant, "the trace's own"),
        event(&[(time, 43), (clock, 6)], instant, "the same, by number"),
        event(&[(time, 44), (clock, 99)], instant, "unknown"),
    ]);
    assert_eq!(moments(&trace), [42, 43, 44, 990, 1050, 1260, 3000, 6000]);
    let unknown: Vec<_> = report.notes.iter().filter(|note| note.what.contains("no snapshot")).collect();
    assert_eq!((unknown.len(), unknown[0].count), (1, 1), "{:?}", report.notes);
}

#[test]
fn a_writer_may_have_a_clock_for_all_its_packets() {
    let defaults = message(&[(field::defaults::CLOCK_ID, 3)], &[]);
    let (trace, report) = read(&[
        snapshot(&[&[(1, 6), (2, 1000)], &[(1, 3), (2, 100)]]),
        message(&[(field::packet::SEQUENCE_ID, 1)], &[(field::packet::DEFAULTS, &defaults)]),
        event(&[(field::packet::TIMESTAMP, 150)], field::event_type::INSTANT, "a"),
    ]);
    assert_eq!(moments(&trace), [1050]);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

/// A packet with an event in the old form at a time.
fn old(t_ns: u64, phase: u8, name: &str, category: &str, more: &[(u32, u64)]) -> Vec<u8> {
    let mut legacy = message(&[(field::legacy::PHASE, u64::from(phase))], &[]);
    more.iter().for_each(|(field, value)| put_uint(&mut legacy, *field, *value));
    let event = message(
        &[(field::event::TRACK_UUID, 5)],
        &[
            (field::event::NAME, name.as_bytes()),
            (field::event::CATEGORY, category.as_bytes()),
            (field::event::LEGACY, &legacy),
        ],
    );
    let time = [(field::packet::TIMESTAMP, t_ns), (field::packet::SEQUENCE_ID, 1)];
    message(&time, &[(field::packet::TRACK_EVENT, &event)])
}

#[test]
fn events_in_the_old_form_are_read() {
    use field::legacy as l;
    let (trace, report) = read(&[
        old(1000, b'X', "whole", "c", &[(l::DURATION_US, 5), (l::PID_OVERRIDE, 3), (l::TID_OVERRIDE, 4)]),
        old(2000, b'B', "begun", "c", &[]),
        old(3000, b'E', "", "", &[]),
        old(3500, b'i', "moment", "c", &[]),
        old(4000, b'b', "request", "net", &[(l::GLOBAL_ID, 9)]),
        old(4500, b'b', "request", "net", &[(l::GLOBAL_ID, 10)]),
        old(5000, b'e', "request", "net", &[(l::GLOBAL_ID, 9)]),
        old(6000, b'e', "request", "net", &[(l::GLOBAL_ID, 10)]),
        old(6500, b'e', "request", "net", &[(l::GLOBAL_ID, 11)]),
        old(7000, b'b', "endless", "net", &[(l::UNSCOPED_ID, 1)]),
        old(2100, b's', "f", "c", &[(l::UNSCOPED_ID, 77)]),
        old(3500, b'f', "f", "c", &[(l::UNSCOPED_ID, 77)]),
        old(8000, b'Z', "?", "c", &[]),
    ]);
    let spans = |kind: TrackKind| {
        let tracks = trace.tracks().iter().filter(|track| track.kind == kind);
        tracks.flat_map(|track| track.spans().map(|(_, s)| (s.start_ns, s.dur_ns))).collect::<Vec<_>>()
    };
    assert_eq!(spans(TrackKind::Thread), [(1000, 5000), (2000, 1000)]);
    assert_eq!(spans(TrackKind::Async), [(4000, 1000), (4500, 1500)]);
    assert_eq!(moments(&trace), [3500]);
    assert!(trace.tracks().iter().any(|track| track.name == "Thread 4" && track.process == "Process 3"));
    assert_eq!(trace.flows().iter().map(|a| (a.from.t_ns, a.to.t_ns)).collect::<Vec<_>>(), [(2100, 3500)]);
    assert_eq!((report.spans, report.instants, report.flows), (4, 1, 1));
    let count = |part: &str| report.notes.iter().find(|note| note.what.contains(part)).map(|note| note.count);
    assert_eq!(count("without a begin"), Some(1));
    assert_eq!(count("without an end"), Some(1));
    assert_eq!(count("phase is not known"), Some(1));
}

#[test]
fn old_times_count_from_the_one_before() {
    let thread = message(
        &[(field::thread::TID, 12), (field::thread::REFERENCE_TIME_US, 100)],
        &[(field::thread::NAME, b"main")],
    );
    let timed = |field: u32, value: u64| {
        let legacy = message(&[(field::legacy::PHASE, u64::from(b'i'))], &[]);
        let event = message(&[(field, value)], &[(field::event::LEGACY, &legacy)]);
        message(&[(field::packet::SEQUENCE_ID, 1)], &[(field::packet::TRACK_EVENT, &event)])
    };
    let (trace, _) = read(&[
        message(&[(field::packet::SEQUENCE_ID, 1)], &[(field::packet::THREAD_DESCRIPTOR, &thread)]),
        timed(field::event::TIME_DELTA_US, 5),
        timed(field::event::TIME_ABSOLUTE_US, 900),
        timed(field::event::TIME_DELTA_US, 7),
    ]);
    assert_eq!(moments(&trace), [105_000, 112_000, 900_000]);
    assert_eq!(trace.tracks()[0].name, "main");
}

#[test]
fn arguments_at_the_end_belong_to_the_span() {
    let argument = |name: &str, value: u64| {
        message(&[(field::annotation::INT, value)], &[(field::annotation::NAME, name.as_bytes())])
    };
    let with = |t: u64, kind: u64, arguments: &[Vec<u8>]| {
        let list: Vec<(u32, &[u8])> =
            arguments.iter().map(|bytes| (field::event::ANNOTATION, bytes.as_slice())).collect();
        let event = message(&[(field::event::TYPE, kind), (field::event::TRACK_UUID, 5)], &list);
        message(
            &[(field::packet::TIMESTAMP, t), (field::packet::SEQUENCE_ID, 1)],
            &[(field::packet::TRACK_EVENT, &event)],
        )
    };
    let (begin, end) = (field::event_type::BEGIN, field::event_type::END);
    let (trace, report) = read(&[
        with(10, begin, &[argument("a", 1), argument("b", 2)]),
        with(20, begin, &[]),
        with(30, end, &[argument("c", 3)]),
        with(40, end, &[argument("b", 9), argument("d", 4)]),
    ]);
    let args = |depth: usize| {
        let span = trace.tracks()[0].lane(depth).unwrap().get(0).unwrap();
        trace.args(span.args).map(|(key, value)| (trace.name(key).to_owned(), value)).collect::<Vec<_>>()
    };
    let int = |key: &str, value| (key.to_owned(), ArgValue::Int(value));
    assert_eq!(args(0), [int("a", 1), int("b", 2), int("d", 4)], "what it has already stays");
    assert_eq!(args(1), [int("c", 3)]);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

#[test]
fn facts_survive() {
    let mut trace = Trace::default();
    trace.add_fact("device 0", "H100");
    trace.add_fact("empty", "");
    let (mut again, mut reader) = (Trace::default(), PerfettoReader::new());
    reader.feed(&to_bytes(&trace), &mut again).unwrap();
    assert_eq!(again.facts(), trace.facts());
    assert!(reader.report().notes.is_empty());
}
