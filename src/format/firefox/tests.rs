//! Profiles in the forms of several versions; what points nowhere; hostile files.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::read;
use crate::format::ImportReport;
use crate::trace::{Lane, Span, Trace, Track};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Tracks with their lanes and moments.
fn tracks(trace: &Trace) -> Vec<String> {
    let span = |s: Span| {
        let end = if s.is_open() { "…".to_owned() } else { s.end_ns().to_string() };
        format!("{} {}-{end}", trace.name(s.name), s.start_ns)
    };
    let lane = |lane: &Lane| lane.iter().map(span).collect::<Vec<_>>().join(", ");
    let track = |track: &Track| {
        let lanes: Vec<String> = track.lanes().iter().chain([track.instants()]).map(lane).collect();
        format!("{}, {}: {}", track.process, track.name, lanes.join(" / "))
    };
    trace.tracks().iter().map(|t| track(t)).collect()
}

fn notes(report: &ImportReport) -> Vec<(&str, u64)> {
    report.notes.iter().map(|note| (note.what.as_str(), note.count)).collect()
}

/// Tables of `main` calling `f` calling `g`, and `main` calling `g`.
fn tables() -> Value {
    json!({
        "stringArray": ["main", "f", "g", "lib.so", "x.rs", "Mark", "hello"],
        "funcTable": {"name": [0, 1, 2], "resource": [0, -1, 0], "fileName": [null, 4, null], "length": 3},
        "resourceTable": {"name": [3], "length": 1},
        "frameTable": {"func": [0, 1, 2], "length": 3},
        "stackTable": {"frame": [0, 1, 2, 2], "prefix": [null, 0, 1, 0], "length": 4},
    })
}

fn with(mut value: Value, members: Value) -> Value {
    let Value::Object(members) = members else { panic!() };
    value.as_object_mut().unwrap().extend(members);
    value
}

/// A profile of version 41, with a thread that has its own tables.
fn profile(samples: &Value, markers: &Value) -> Value {
    let thread =
        json!({"name": "GeckoMain", "processName": "app", "pid": 7, "tid": 8, "samples": samples, "markers": markers});
    let field = json!([{"key": "text", "format": "unique-string"}, {"key": "n", "format": "integer"}]);
    json!({
        "meta": {
            "interval": 0.001, "startTime": 1671458961578.1055, "preprocessedProfileVersion": 41,
            "categories": [{"name": "Other", "color": "grey"}],
            "markerSchema": [{"name": "Text", "fields": field}],
        },
        "threads": [with(thread, tables())],
    })
}

fn open(profile: &Value) -> (Trace, ImportReport) {
    let (trace, report) = read(&serde_json::to_vec_pretty(profile).unwrap()).unwrap();
    assert_eq!(trace.span_count(), report.spans);
    (trace, report)
}

#[test]
fn samples_become_spans() {
    let samples =
        json!({"stack": [2, 2, 3, null, 1], "time": [0.000001, 0.001002, 0.002, 0.003, 0.004], "weight": null});
    let expected =
        ["app (7), GeckoMain: main 1-3000, main 4000-5000 / f 1-2000, g 2000-3000, f 4000-5000 / g 1-2000 / "];
    let (trace, report) = open(&profile(&samples, &json!({})));
    assert_eq!(tracks(&trace), expected);
    assert_eq!(notes(&report), []);
    let lane = |depth: usize| trace.tracks()[0].lane(depth).unwrap().get(0).unwrap();
    assert_eq!(trace.arg_text(&lane(0), "module"), Some("lib.so"));
    assert_eq!((trace.arg_text(&lane(1), "module"), trace.arg_text(&lane(1), "file")), (None, Some("x.rs")));

    // The same in the form of version 66: tables of the whole file, callers and times as differences.
    let deltas = json!({"stack": [2, 2, 3, null, 1], "timeDeltas": [0.000001, 0.001001, 0.000998, 0.001, 0.001]});
    let stacks = json!({"frame": [0, 1, 2, 2], "prefixOffset": [0, 1, 1, 3]});
    let mut newer = profile(&deltas, &json!({}));
    newer["shared"] = with(tables(), json!({"stackTable": stacks}));
    for table in tables().as_object().unwrap().keys() {
        newer["threads"][0].as_object_mut().unwrap().remove(table);
    }
    newer["threads"][0]["pid"] = json!("7");
    assert_eq!(tracks(&open(&newer).0), expected);
    // Only the strings are shared.
    newer["threads"][0] = with(newer["threads"][0].clone(), tables());
    newer["threads"][0].as_object_mut().unwrap().remove("stringArray");
    assert_eq!(tracks(&open(&newer).0), expected);
}

#[test]
fn pauses_are_left_free_but_waiting_is_not() {
    let times = json!([0, 0.001, 0.002, 0.5, 0.501, 0.701, 0.702]);
    let samples = json!({"stack": [0, 0, 0, 1, 1, 1, 0], "time": times, "weight": [1, 1, 1, 1, 1, 200, 1], "weightType": "samples"});
    let (trace, report) = open(&profile(&samples, &json!({})));
    assert_eq!(tracks(&trace), ["app (7), GeckoMain: main 0-3000, main 500000-703000 / f 500000-702000 / "]);
    let what = "pauses of more than ten usual gaps between two samples of a thread, left free";
    assert_eq!(notes(&report), [(what, 1)]);
}

#[test]
fn markers_are_moments_and_spans() {
    let markers = json!({
        "name": [5, 5, 1, 1, 2, 2, 99, 0, 0],
        "startTime": [0.001, 0.002, 0.003, null, null, 0.007, 0.008, 0.009, null],
        "endTime": [null, 0.004, null, 0.005, 0.006, null, null, 0.0085, null],
        "phase": [0, 1, 2, 3, 3, 2, 0, 1, 1],
        "category": [0, 0, 0, 0, 0, 0, 5, 0, 0],
        "data": [{"type": "Text", "text": 6, "n": 6, "x": [1], "f": 1.5, "no": null}, null],
    });
    let (trace, report) = open(&profile(&json!({}), &markers));
    assert_eq!(
        tracks(&trace)[0],
        "app (7), GeckoMain markers: Mark 2000-4000, g 7000-… / f 3000-5000, main 9000-9000 / Mark 1000-1000,  8000-8000"
    );
    let moment = trace.tracks()[0].instants().get(0).unwrap();
    let args: Vec<String> = trace
        .args(moment.args)
        .map(|(key, value)| format!("{}={}", trace.name(key), trace.value_text(value)))
        .collect();
    assert_eq!(args[..3], ["type=Text", "text=hello", "n=6"]);
    assert_eq!((args[4].as_str(), args.len(), trace.name(moment.category)), ("f=1.5", 5, "Other"));
    assert_eq!(report.instants, 2);
    assert_eq!(
        notes(&report),
        [
            ("ends of markers without a begin, left out", 1),
            ("markers whose name the file does not list, shown without a name", 1),
            ("ends before the begin, drawn without duration", 1),
            ("markers without the times that their kind needs, left out", 1),
            ("markers without an end, left open", 1),
        ]
    );
}

#[test]
fn what_points_nowhere_is_counted() {
    let samples = json!({"stack": [0, 9, 2, 3], "time": [0.002, 0.001, 0.003, "x"]});
    let mut file = profile(&samples, &json!({}));
    let thread = &mut file["threads"][0];
    thread["stackTable"] = json!({"frame": [0, 7, 1, 2], "prefix": [3, 0, 1, 0]});
    thread["funcTable"]["name"] = json!([0, 77]);
    thread["frameTable"]["func"] = json!([0, 1, -5]);
    thread["jsAllocations"] = json!({"length": 0});
    let (trace, report) = open(&file);
    assert_eq!(tracks(&trace), ["app (7), GeckoMain: main 2000-4000 /  3000-4000 / "]);
    assert_eq!(
        notes(&report),
        [
            ("tables `jsAllocations` of threads, not shown", 1),
            ("functions whose name the file does not list, shown without a name", 1),
            ("frames of a function that the file does not list, shown without a name", 1),
            ("stacks whose caller does not come before them in the file, cut off there", 1),
            ("samples without a time or a stack, left out", 1),
            ("samples earlier than the one before, sorted in", 1),
            ("samples of a stack that the file does not list, drawn as a gap", 1),
            ("stacks with a frame that the file does not list, drawn without it", 1),
        ]
    );
    assert!(read(b"{\"meta\": {}}").unwrap_err().to_string().contains("No threads"));
}

#[test]
fn a_chain_deeper_than_can_be_shown_is_bounded() {
    let depth = 10_000;
    let stack: Vec<u64> = (0..50).map(|i| if i % 2 == 0 { depth - 1 } else { 0 }).collect();
    let time: Vec<f64> = (0..50).map(f64::from).collect();
    let mut file = profile(&json!({"stack": stack, "time": time}), &json!({}));
    let prefix: Vec<Option<u64>> = (0..depth).map(|i| i.checked_sub(1)).collect();
    file["threads"][0]["stackTable"] = json!({"frame": vec![1; depth as usize], "prefix": prefix});
    let (trace, report) = open(&file);
    assert_eq!(trace.tracks()[0].depth_count(), 4096);
    assert_eq!(notes(&report), [("samples nested deeper than 4,096, drawn without what is deeper", 25)]);
}

#[test]
fn counters_add_up() {
    let mut file = profile(&json!({}), &json!({}));
    let samples = json!({"count": [5, 1000, -200, "x"], "timeDeltas": [0, 1, 0.5, 1]});
    file["counters"] =
        json!([{"name": "malloc", "category": "Memory", "pid": "7", "samples": samples}, {"name": "none"}]);
    let (trace, report) = open(&file);
    let counter = &trace.counters()[0];
    assert_eq!(
        (counter.name.as_str(), counter.unit.as_str(), counter.process.as_str()),
        ("malloc", "bytes", "Process 7")
    );
    assert_eq!(counter.iter().collect::<Vec<_>>(), [(0, 5.0), (1_000_000, 1005.0), (1_500_000, 805.0)]);
    assert_eq!(report.counters, 3);
    assert_eq!(
        notes(&report),
        [("counter values that are no number, left out", 1), ("counters without samples, left out", 1)]
    );
}

fn rich() -> Vec<u8> {
    let samples = json!({"stack": [2, 2, 3, null, 1], "time": [0.1, 0.2, 0.3, 0.4, 0.5], "weight": [1, 2, 3, 4, 5]});
    let markers = json!({"name": [5, 1], "startTime": [1, 2], "endTime": [3, 4], "phase": [1, 2], "category": [0, 0], "data": [{"type": "Text", "text": 6}]});
    let mut file = profile(&samples, &markers);
    file["counters"] = json!([{"name": "c", "samples": {"count": [1, 2], "time": [0, 1]}}]);
    serde_json::to_vec(&file).unwrap()
}

#[test]
fn a_cut_profile_is_read_as_far_as_it_goes() {
    let json = rich();
    for cut in 0..json.len() {
        match read(&json[..cut]) {
            Ok((_, report)) => assert!(report.summary().unwrap().contains("file that is cut"), "{cut}"),
            Err(error) => assert!(error.to_string().contains("No threads"), "{error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn hostile_profiles_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"{}[]\",:\\ue-.0x9n".to_vec())), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut json = rich();
        for (at, byte) in changes { let at = at.index(json.len()); json[at] = byte; }
        read(&json).ok();
        json.truncate(cut.index(json.len()));
        read(&json).ok();
    }
}
