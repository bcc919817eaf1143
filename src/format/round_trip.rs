//! Tests over all formats: what is written is read again, whatever is cut or hostile.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::perfetto::{Arg, PacketWriter, PerfettoReader};
use super::{Kind, chrome, detect, open_trace, speedscope};
use crate::trace::{ArgValue, Span, Trace};
use proptest::prelude::*;
use std::io::Write as _;

/// What is written and compared: spans, instants and counter values of any track.
#[derive(Debug, Clone, PartialEq)]
struct Record {
    track: u64,
    start_ns: i64,
    dur_ns: i64,
    name: String,
    args: Vec<(String, Value)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        prop::num::f64::NORMAL.prop_map(Value::Float),
        any::<bool>().prop_map(Value::Bool),
        ".{0,12}".prop_map(Value::Text),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let args = prop::collection::vec(("[a-z]{1,4}", value()), 0..4);
    (1u64..4, -1000i64..1_000_000, 0i64..5000, "[a-zé\"\\\\;\n]{0,6}", args)
        .prop_map(|(track, start_ns, dur_ns, name, args)| Record { track, start_ns, dur_ns, name, args })
}

fn perfetto(records: &[Record]) -> Vec<u8> {
    let mut writer = PacketWriter::new(Vec::new());
    writer.process(100, "worker", 7).unwrap();
    for track in 1..4 {
        writer.track(track, Some(100), &format!("track {track}")).unwrap();
    }
    for record in records {
        let args: Vec<(&str, Arg)> = record
            .args
            .iter()
            .map(|(key, value)| {
                let value = match value {
                    Value::Int(value) => Arg::Int(*value),
                    Value::Float(value) => Arg::Float(*value),
                    Value::Bool(value) => Arg::Bool(*value),
                    Value::Text(text) => Arg::Text(text),
                };
                (key.as_str(), value)
            })
            .collect();
        writer.span(record.track, record.start_ns, record.dur_ns, &record.name, "cat", &args).unwrap();
    }
    writer.into_inner().unwrap()
}

/// The spans of a trace as records, sorted.
fn records_of(trace: &Trace) -> Vec<Record> {
    let record = |track: &str, span: Span| Record {
        track: track.rsplit(' ').next().unwrap().parse().unwrap_or(0),
        start_ns: span.start_ns,
        dur_ns: span.dur_ns,
        name: trace.name(span.name).to_owned(),
        args: trace
            .args(span.args)
            .map(|(key, value)| {
                let value = match value {
                    ArgValue::Int(value) => Value::Int(value),
                    ArgValue::Float(value) => Value::Float(value),
                    ArgValue::Bool(value) => Value::Bool(value),
                    ArgValue::Text(text) => Value::Text(trace.name(text).to_owned()),
                };
                (trace.name(key).to_owned(), value)
            })
            .collect(),
    };
    let name = |track: &str| track.trim_end_matches(" (overlapping)").to_owned();
    let spans = trace
        .tracks()
        .iter()
        .flat_map(|track| track.spans().map(|(_, span)| record(&name(&track.name), span)).collect::<Vec<_>>());
    sorted(spans.collect())
}

fn sorted(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by_key(|record| format!("{record:?}"));
    records
}

fn read(bytes: &[u8]) -> (Trace, super::ImportReport) {
    let mut trace = Trace::default();
    let mut reader = PerfettoReader::new();
    reader.feed(bytes, &mut trace).unwrap();
    (trace, reader.report())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn perfetto_and_chrome_round_trip(records in prop::collection::vec(record(), 0..40), piece in 1usize..200) {
        let bytes = perfetto(&records);
        let (whole, report) = read(&bytes);
        prop_assert_eq!(report.notes, vec![]);
        prop_assert_eq!(records_of(&whole), sorted(records));
        // In pieces, the same trace comes out, lane by lane.
        let mut trace = Trace::default();
        let mut reader = PerfettoReader::new();
        for part in bytes.chunks(piece) { reader.feed(part, &mut trace).unwrap(); }
        let lanes = |trace: &Trace| trace.tracks().iter().map(|t| t.lanes().iter().map(|l| l.len()).collect::<Vec<_>>()).collect::<Vec<_>>();
        prop_assert_eq!(lanes(&trace), lanes(&whole));
        prop_assert_eq!(records_of(&trace), records_of(&whole));
        // Chrome JSON is valid JSON and gives the same spans.
        let json = chrome::to_json(&whole);
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
        let (again, report) = chrome::read(&json).unwrap();
        prop_assert_eq!(records_of(&again), records_of(&whole));
        prop_assert_eq!(report.notes, vec![], "spans of one thread nest in the export");
    }

    #[test]
    fn a_torn_tail_costs_only_the_last_packet(records in prop::collection::vec(record(), 1..6)) {
        let bytes = perfetto(&records);
        let (whole, _) = read(&bytes);
        let mut before = 0;
        for cut in 0..=bytes.len() {
            let (trace, report) = read(&bytes[..cut]);
            prop_assert!(trace.span_count() >= before && trace.span_count() <= whole.span_count());
            before = trace.span_count();
            prop_assert!((report.torn_tail_bytes as usize) < bytes.len());
            prop_assert_eq!(report.notes, vec![]);
        }
        prop_assert_eq!(before, whole.span_count());
    }

    #[test]
    fn hostile_packets_never_panic(
        records in prop::collection::vec(record(), 1..5),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
        noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = perfetto(&records);
        for (at, byte) in changes { let at = at.index(bytes.len()); bytes[at] = byte; }
        for bytes in [bytes, noise] {
            let mut trace = Trace::default();
            let mut reader = PerfettoReader::new();
            let _: Result<(), _> = reader.feed(&bytes, &mut trace);
            reader.report().close(&trace);
            chrome::read(&chrome::to_json(&trace)).ok();
            super::collapsed::to_text(&trace);
        }
    }

    #[test]
    fn hostile_json_never_panics(
        records in prop::collection::vec(record(), 1..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"{}[]\",:\\ue-.0x".to_vec())), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut json = chrome::to_json(&read(&perfetto(&records)).0);
        for (at, byte) in changes { let at = at.index(json.len()); json[at] = byte; }
        json.truncate(cut.index(json.len()));
        chrome::read(&json).ok();
    }
}

#[test]
fn kinds_are_found_by_content() {
    let firefox = br#"{"meta": {"preprocessedProfileVersion": 41}, "threads": [{"name": "t", "stringArray": ["f"],
        "funcTable": {"name": [0]}, "frameTable": {"func": [0]}, "stackTable": {"frame": [0], "prefix": [null]},
        "samples": {"stack": [0], "time": [0.5]}}]}"#;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("unknown");
    let record = Record { track: 1, start_ns: 0, dur_ns: 5, name: "n".to_owned(), args: vec![] };
    let packets = perfetto(&[record]);
    let json = chrome::to_json(&read(&packets).0);
    let gz = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    for (bytes, kind) in [
        (packets.clone(), Kind::Perfetto),
        (json.clone(), Kind::Chrome),
        (gz(&json), Kind::Chrome),
        (gz(&packets), Kind::Perfetto),
        (speedscope::to_json(&read(&packets).0), Kind::Speedscope),
        (
            b"{\"profiles\":[{\"type\":\"sampled\",\"samples\":[[0]],\"weights\":[1]}],\"shared\":{\"frames\":[]}}"
                .to_vec(),
            Kind::Speedscope,
        ),
        (gz(b"\na;b 1\r\n# comment\r\n"), Kind::Collapsed),
        (b"\xff\xfea\0;\0b\0 \x001\0".to_vec(), Kind::Collapsed),
        (gz(b"\nx 7 1.000000: 5 cycles:\n\t1 main (/x)\n\nx 7 1.000001: 5 cycles:\n\t1 main (/x)\n"), Kind::PerfScript),
        (gz(firefox), Kind::Firefox),
        (
            b"\xef\xbb\xbf\n [ {\"ph\":\"X\",\"ts\":1,\"dur\":\"2.5\",\"name\":\"a\",\"pid\":1,\"tid\":1},".to_vec(),
            Kind::Chrome,
        ),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(detect(&path).unwrap(), kind);
        let (trace, report) = open_trace(&path).unwrap();
        // A stack of two frames is two spans.
        let spans = if kind == Kind::Collapsed { 2 } else { 1 };
        assert_eq!((trace.span_count(), report.spans), (spans, spans));
        assert_eq!(kind.label(), report.format);
    }
    for (bytes, words) in [
        (&b""[..], "empty"),
        (b"PK\x03\x04", "zip archive cannot be read"),
        (b"{\"frames\":[]}", "no `traceEvents`"),
        (b"{\"traceEvents\":{}}", "No event"),
        (b"[", "No event"),
        (b"{\"meta\":{\"interval\":1,\"startTime\":2},\"threads\":[]}", "not processed"),
        (b"It was a dark night; in 1830\nthe rain fell\n", "no known kind"),
        (b"let a = 5; // 1\nlet b = 6;\n", "no known kind"),
        (b"\n\n", "empty"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = open_trace(&path).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(open_trace(dir.path()).unwrap_err().to_string().contains("run.json"));
    // A gzip file that is cut is read as far as it goes.
    let many: Vec<Record> = (0..2000)
        .map(|i| Record { track: 1, start_ns: i * 7919 % 5000 * 10, dur_ns: 5, name: format!("n{i}"), args: vec![] })
        .collect();
    let packed = gz(&chrome::to_json(&read(&perfetto(&many)).0));
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let (trace, report) = open_trace(&path).unwrap();
    assert!(trace.span_count() > 100 && report.summary().unwrap().contains("gzip"));
}

#[test]
fn chrome_quirks_are_read_and_reported() {
    let json = br#"{"other": {"a": [1, "]"]}, "traceEvents": [
        {"ph":"M","pid":1,"tid":"main","name":"thread_name","args":{"name":"Main"}},
        {"ph":"M","pid":1,"name":"process_name","args":{"name":"App"}},
        {"ph":"B","pid":1,"tid":"main","ts":"1700000000000000.001","name":"outer"},
        {"ph":"X","pid":1,"tid":"main","ts":1700000000000001,"dur":1.5,"name":"inner","args":{"x":[1,2],"y":null}},
        {"ph":"E","pid":1,"tid":"main","ts":1700000000000010.25},
        {"ph":"E","pid":1,"tid":"main","ts":1700000000000011},
        {"ph":"X","pid":1,"tid":"main","ts":1700000000000020,"dur":-4,"name":"back"},
        {"ph":"C","pid":1,"ts":1700000000000000,"name":"mem","args":{"used":5,"free":7.5}},
        {"ph":"i","pid":1,"tid":"main","ts":1700000000000002,"name":"mark","s":"t"},
        {"ph":"b","pid":1,"tid":"main","ts":3,"name":"async"},
        {"ph":"X","pid":1,"tid":"main","name":"timeless"},
        7,
    ], "displayTimeUnit": "ms"}"#;
    let (trace, report) = chrome::read(json).unwrap();
    let track = trace.tracks()[0].clone();
    assert_eq!((track.name.as_str(), track.process.as_str()), ("Main", "App"));
    let outer = track.lane(0).unwrap().get(0).unwrap();
    assert_eq!((outer.start_ns, outer.dur_ns), (1_700_000_000_000_000_001, 10_249));
    let inner = track.lane(1).unwrap().get(0).unwrap();
    assert_eq!(trace.arg_text(&inner, "x"), Some("[1,2]"));
    assert_eq!((report.spans, report.instants, report.counters), (3, 1, 2));
    let names: Vec<(&str, &str)> = trace.counters().iter().map(|c| (c.name.as_str(), c.unit.as_str())).collect();
    assert_eq!(names, [("mem", "used"), ("mem (free)", "free")]);
    let noted: Vec<&str> = report.notes.iter().map(|note| note.what.as_str()).collect();
    assert_eq!(noted.len(), 5, "{noted:?}");
}

/// An archive of members.
fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn archives_are_looked_through() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let record = Record { track: 1, start_ns: 0, dur_ns: 5, name: "n".to_owned(), args: vec![] };
    let packets = perfetto(&[record]);
    let json = chrome::to_json(&read(&packets).0);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&json).unwrap();
    let gz = gz.finish().unwrap();
    for (members, kind) in [
        (vec![("../../etc/passwd", &json[..])], Kind::Chrome),
        (vec![("__MACOSX/a", &b"x"[..]), ("readme.md", b"A text about it.\n"), ("a/b.json.gz", &gz)], Kind::Chrome),
        (vec![("t.pftrace", &packets[..])], Kind::Perfetto),
    ] {
        std::fs::write(&path, zip_of(&members)).unwrap();
        assert_eq!(detect(&path).unwrap(), kind);
        let (trace, report) = open_trace(&path).unwrap();
        assert_eq!((trace.span_count(), report.notes.len()), (1, 0), "{:?}", report.notes);
    }
    // Of several traces the largest is opened, and the others are named.
    std::fs::write(&path, zip_of(&[("small.pftrace", &packets), ("large.json", &json)])).unwrap();
    let (_, report) = open_trace(&path).unwrap();
    assert!(report.summary().unwrap().contains("not opened: small.pftrace"), "{:?}", report.summary());
    // Nothing in it, damage, and a bomb are told in words.
    std::fs::write(&path, zip_of(&[("notes.txt", b"nothing of interest\n")])).unwrap();
    assert!(open_trace(&path).unwrap_err().to_string().contains("it has: notes.txt"));
    let mut bytes = zip_of(&[("t.json", &json)]);
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&path, &bytes).unwrap();
    assert!(open_trace(&path).unwrap_err().to_string().contains("cannot be read"));
    let mut bomb = b"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"".to_vec();
    bomb.resize(300 << 20, b'a');
    std::fs::write(&path, zip_of(&[("bomb.json", &bomb)])).unwrap();
    // One event of which no more than this is ever in memory.
    assert!(open_trace(&path).unwrap_err().to_string().contains("an event is longer than 64 MiB"));
    for (member, filler, told) in [("\"a", b'a', "longer than 64 MiB"), ("[[", b'[', "too much for its size")] {
        let schema = "\"https://www.speedscope.app/file-format-schema.json\"";
        let mut bomb = format!("{{\"$schema\":{schema},\"exporter\":{member}").into_bytes();
        bomb.resize(300 << 20, filler);
        std::fs::write(&path, zip_of(&[("bomb.json", &bomb)])).unwrap();
        let error = open_trace(&path).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

fn nsight_export() -> Vec<u8> {
    let mut db = rusqlite::Connection::open_in_memory().unwrap();
    db.execute_batch(include_str!("../../tests/data/nsight.sql")).unwrap();
    db.serialize("main").unwrap().to_vec()
}

#[test]
fn reading_is_watched_and_cancelled() {
    use super::{FormatError, Watch, open_watched};
    let records: Vec<Record> = (0..2000_i64)
        .map(|i| Record { track: 1, start_ns: i * 10, dur_ns: 5, name: "n".to_owned(), args: Vec::new() })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let packets = perfetto(&records);
    let trace = read(&packets).0;
    let files = [
        ("json", chrome::to_json(&trace)),
        ("speedscope", super::speedscope::to_json(&trace)),
        ("collapsed", super::collapsed::to_text(&trace).into_bytes()),
        ("packets", packets),
        ("xspace", include_bytes!("../../tests/data/small.xplane.pb").to_vec()),
        ("firefox", include_bytes!("../../tests/data/firefox.json").to_vec()),
        ("nsight", nsight_export()),
    ];
    for (name, bytes) in files {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let watch = Watch::default();
        assert!(open_watched(&path, &watch).unwrap().0.span_count() > 0, "{name}");
        // The end of the last events is not looked at any more.
        assert!(watch.share() > 0.15, "{name}: {}", watch.share());
        watch.cancel();
        let error = open_watched(&path, &watch).unwrap_err();
        assert!(matches!(error, FormatError::Cancelled { .. }), "{name}: {error}");
    }
}
