//! A small export, made by SQL.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::model::TrackKind;
use crate::trace::Trace;
use rusqlite::Connection;

fn export() -> Connection {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(include_str!("../../../tests/data/nsight.sql")).unwrap();
    db
}

fn bytes(mut db: Connection) -> Vec<u8> {
    db.serialize("main").unwrap().to_vec()
}

fn names(trace: &Trace, track: &str) -> Vec<(String, i64, i64)> {
    let track = trace.tracks().iter().find(|found| found.name == track).expect(track);
    track.spans().map(|(_, span)| (trace.name(span.name).to_owned(), span.start_ns, span.dur_ns)).collect()
}

#[test]
fn calls_ranges_kernels_and_copies_come_in() {
    let (trace, report) = read(&bytes(export())).unwrap();
    let on_host = names(&trace, "pt_main_thread (512)");
    let named = |name: &str| on_host.iter().find(|(found, ..)| found == name).map(|(_, start, dur)| (*start, *dur));
    assert_eq!(named("step"), Some((100, 800)));
    assert_eq!(named("aten::mm"), Some((110, 390)));
    assert_eq!(named("cudaLaunchKernel"), Some((120, 20)));
    assert_eq!(named("read"), Some((700, 0)), "a negative duration is none");
    let stream = trace.tracks().iter().find(|track| track.name == "Stream 7").unwrap();
    assert_eq!((stream.kind, stream.process.as_str()), (TrackKind::Device, "GPU 0 (H100)"));
    assert_eq!(names(&trace, "Stream 7")[2], ("Memcpy HtoD (Pinned -> Device)".to_owned(), 650, 100));
    assert_eq!((report.spans, report.instants, report.flows, report.counters), (9, 1, 2, 4));
    let mm =
        trace.tracks().iter().flat_map(|track| track.spans()).find(|(_, span)| trace.name(span.name) == "aten::mm");
    let (_, mm) = mm.unwrap();
    assert_eq!(trace.arg_text(&mm, "Input Dims"), Some("[[8, 16], [16, 4]]"));
    let counter = trace.counters().iter().find(|counter| counter.name.contains("memory")).unwrap();
    assert_eq!(counter.iter().collect::<Vec<_>>(), [(150, 1000.0), (300, 900.0)]);
    assert!(
        trace.counters().iter().any(|counter| counter.name == "SMs active [%]" && counter.process.contains("H100"))
    );
    assert_eq!(trace.facts(), [("Hostname".to_owned(), "box".to_owned()), ("device 0".to_owned(), "H100".to_owned())]);
}

#[test]
fn what_is_not_taken_as_it_stands_is_counted() {
    let (_, report) = read(&bytes(export())).unwrap();
    let count = |part: &str| report.notes.iter().find(|note| note.what.contains(part)).map(|note| note.count);
    assert_eq!(count("SCHED_EVENTS"), Some(2));
    assert_eq!(count("without an arrow"), Some(1));
    assert_eq!(count("negative durations"), Some(1));
    assert_eq!(count("changes of memory"), Some(1));
    assert!(report.notes.iter().all(|note| !note.what.contains("TOKEN")));
}

#[test]
fn launches_are_followed_to_their_operations() {
    let (trace, _) = read(&bytes(export())).unwrap();
    let arrows: Vec<_> = trace.flows().iter().map(|arrow| (arrow.from.t_ns, arrow.to.t_ns)).collect();
    assert_eq!(arrows, [(120, 200), (600, 650)]);
}

#[test]
fn other_databases_are_refused_with_a_reason() {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch("CREATE TABLE people (name TEXT)").unwrap();
    let error = read(&bytes(db)).unwrap_err().to_string();
    assert!(error.contains("no export of Nsight Systems") && error.contains("people"), "{error}");
    let error = read(MAGIC).unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn programs_in_a_database_are_not_run() {
    let db = export();
    db.execute_batch(
        "DROP TABLE OSRT_API;
         CREATE VIEW OSRT_API AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
           SELECT i AS start, i AS end, i AS globalTid, i AS nameId FROM n;",
    )
    .unwrap();
    // An endless view: this test ends because it is not asked.
    let (_, report) = read(&bytes(db)).unwrap();
    assert_eq!(report.spans, 8);
}

#[test]
fn a_file_is_read_where_it_lies_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a report 100%?#.sqlite");
    std::fs::write(&path, bytes(export())).unwrap();
    let before = std::fs::read(&path).unwrap();
    let (trace, report) = read_file(&path).unwrap();
    assert_eq!((trace.span_count(), report.spans), (9, 9));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
