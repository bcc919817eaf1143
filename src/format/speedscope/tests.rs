//! Speedscope files: what is written is read again, what others write is read as it is meant, and nothing is hidden.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::{read, to_json};
use crate::format::ImportReport;
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, NameId, Trace};
use proptest::prelude::*;

/// The spans of a trace as track, start, duration, name and arguments, sorted.
fn spans(trace: &Trace) -> Vec<(String, i64, i64, String, String)> {
    let mut spans: Vec<_> = trace
        .tracks()
        .iter()
        .flat_map(|track| track.spans().map(move |(_, span)| (track, span)))
        .map(|(track, span)| {
            let arg = |(key, value): (NameId, ArgValue)| format!("{}={}", trace.name(key), trace.value_text(value));
            let args: Vec<String> = trace.args(span.args).map(arg).collect();
            let track = track.name.trim_end_matches(" (overlapping)").to_owned();
            (track, span.start_ns, span.dur_ns, trace.name(span.name).to_owned(), args.join(" "))
        })
        .collect();
    spans.sort();
    spans
}

/// The lanes of a track, a text each.
fn lanes(trace: &Trace, track: usize) -> Vec<String> {
    let text = |span: crate::trace::Span| {
        let end = if span.is_open() { "…".to_owned() } else { span.end_ns().to_string() };
        format!("{} {}-{end}", trace.name(span.name), span.start_ns)
    };
    let lanes = trace.tracks()[track].lanes();
    lanes.iter().map(|lane| lane.iter().map(text).collect::<Vec<_>>().join(", ")).collect()
}

fn notes(report: &ImportReport) -> Vec<(&str, u64, Option<u64>)> {
    report.notes.iter().map(|note| (note.what.as_str(), note.count, note.first_offset)).collect()
}

fn file(profile: &str) -> String {
    let frames = r#"{"frames": [{"name": "a"}, {"name": "b", "file": "f.rs", "line": 3, "col": null}, {"name": "c"}]}"#;
    format!(r#"{{"profiles": [{profile}], "shared": {frames}}}"#)
}

fn sampled(unit: &str, samples: &str, weights: &str) -> String {
    let members = format!(r#""samples": {samples}, "weights": {weights}, "name": "p", "startValue": 5"#);
    file(&format!(r#"{{{members}, "unit": "{unit}", "type": "sampled"}}"#))
}

fn evented(events: &[(char, u32, &str)]) -> String {
    let event =
        |(kind, frame, at): &(char, u32, &str)| format!(r#"{{"type": "{kind}", "frame": {frame}, "at": {at}}}"#);
    let events: Vec<String> = events.iter().map(event).collect();
    file(&format!(r#"{{"events": [{}], "type": "evented", "unit": "microseconds", "endValue": 9}}"#, events.join(", ")))
}

fn trace_of(records: &[(u64, i64, i64, String, Option<i64>)], open: bool) -> Trace {
    let mut trace = Trace::default();
    for (track, start_ns, dur_ns, name, line) in records {
        let track = trace.add_track(*track, None, &format!("track {track}"), "p", TrackKind::Thread);
        let (name, file, text) = (trace.intern(name), trace.intern("file"), trace.intern("ü.rs"));
        let line = line.map(|line| [(file, ArgValue::Text(text)), (trace.intern("line"), ArgValue::Int(line))]);
        let args = trace.intern_args(line.as_ref().map_or(&[], |args| args));
        trace.complete(track, *start_ns, *dur_ns, name, NameId::EMPTY, args);
    }
    if open && let Some(track) = trace.tracks().first().map(|track| track.id) {
        let name = trace.intern("running");
        trace.begin(track, 100, name, NameId::EMPTY, ArgsId::NONE);
    }
    trace.settle();
    trace
}

fn record() -> impl Strategy<Value = (u64, i64, i64, String, Option<i64>)> {
    (1u64..4, -500i64..500, 0i64..200, "[a-cé\"\\\\;\n]{0,3}", prop::option::of(-3i64..3))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_is_written_is_read(records in prop::collection::vec(record(), 0..60)) {
        let trace = trace_of(&records, false);
        let json = to_json(&trace);
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        // Every profile is what speedscope demands: in the order of time, every end that of the innermost frame.
        for profile in value["profiles"].as_array().unwrap() {
            let mut open = Vec::new();
            let mut last = profile["startValue"].as_i64().unwrap();
            for event in profile["events"].as_array().unwrap() {
                let at = event["at"].as_i64().unwrap();
                prop_assert!(at >= last);
                last = at;
                match event["type"].as_str() {
                    Some("O") => open.push(event["frame"].clone()),
                    _ => prop_assert_eq!(open.pop(), Some(event["frame"].clone())),
                }
            }
            prop_assert!(open.is_empty() && last == profile["endValue"].as_i64().unwrap());
        }
        let (again, report) = read(&json).unwrap();
        prop_assert_eq!(spans(&again), spans(&trace));
        prop_assert_eq!(report.notes, vec![], "profiles nest");
        prop_assert_eq!(report.spans, records.len() as u64);
    }

    #[test]
    fn hostile_files_never_panic(
        records in prop::collection::vec(record(), 1..5),
        weights in "[-0-9.e,]{0,20}",
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"{}[]\",:\\ue-.0x9OC".to_vec())), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let evented = to_json(&trace_of(&records, true));
        let sampled = sampled("seconds", "[[0, 1], [0, 2, 7], [1]]", &format!("[{weights}]")).into_bytes();
        for mut json in [evented, sampled] {
            for (at, byte) in &changes { let at = at.index(json.len()); json[at] = *byte; }
            read(&json).ok();
            json.truncate(cut.index(json.len()));
            if let Ok((trace, _)) = read(&json) { read(&to_json(&trace)).unwrap(); }
        }
    }
}

#[test]
fn equal_frames_of_neighbouring_samples_are_one_span() {
    let json = sampled("milliseconds", "[[0, 1, 2], [0, 1, 2], [], [0]]", "[1.5, 0.000001, 2, 1e-3]");
    let (trace, report) = read(json.as_bytes()).unwrap();
    let expected = ["a 5000000-6500001, a 8500001-8501001", "b 5000000-6500001", "c 5000000-6500001"];
    assert_eq!(lanes(&trace, 0), expected);
    assert_eq!((trace.tracks()[0].name.as_str(), notes(&report)), ("p", vec![]));
    let b = trace.tracks()[0].lane(1).unwrap().get(0).unwrap();
    assert_eq!(
        (trace.arg_text(&b, "file"), trace.arg_int(&b, "line"), trace.args(b.args).count()),
        (Some("f.rs"), Some(3), 2)
    );
}

#[test]
fn odd_samples_are_drawn_and_counted() {
    let json = sampled("bytes", "[[0, 9], 7, [\"x\", 1], [2], [2]]", "[10, -1, 1.5, \"3\"]");
    let (trace, report) = read(json.as_bytes()).unwrap();
    assert_eq!(lanes(&trace, 0), ["a 5-15, b 15-17, c 17-20", "frame 9 5-15"]);
    let at = |text: &str| json.find(text).map(|at| at as u64);
    assert_eq!(
        notes(&report),
        [
            ("profiles in bytes, which are no time: 1 is shown as 1 ns", 1, at("{\"samples")),
            ("weights that are negative or no number, their samples drawn without duration", 1, at("-1")),
            ("values with a fraction that are no time, rounded", 1, at("1.5")),
            ("frames that the file does not list, named by their number", 1, at("9]")),
            ("samples that are no list of frames, drawn as a gap", 1, at("7,")),
            ("frames of samples that are no number, left out", 1, at("\"x\"")),
            ("samples without a weight, drawn without duration", 1, at("[2]]")),
        ]
    );
    let json = sampled("none", "[[0]]", "[1, 2, 3]");
    let (_, report) = read(json.as_bytes()).unwrap();
    let expected = ["profiles without a unit: 1 is shown as 1 ns", "weights without a sample, left out"];
    assert_eq!(report.notes.iter().map(|note| &note.what).collect::<Vec<_>>(), expected);
    assert_eq!(report.notes[1].count, 2);
}

#[test]
fn odd_events_are_drawn_and_counted() {
    // The end of `a` comes while `b` is open; `c` ends twice; `a` runs backwards; `b` never ends.
    let events = [
        ('O', 0, "0"),
        ('O', 1, "1.001"),
        ('C', 0, "3"),
        ('O', 2, "4"),
        ('C', 2, "5"),
        ('C', 2, "6"),
        ('O', 0, "5.5"),
        ('C', 0, "5"),
        ('X', 0, "7"),
        ('O', 0, "\"?\""),
    ];
    let json = evented(&events);
    let (trace, report) = read(json.as_bytes()).unwrap();
    assert_eq!(lanes(&trace, 0), ["a 0-3000", "b 1001-…", "c 4000-5000, a 5500-5500"]);
    assert_eq!(trace.tracks()[0].name, "Profile 1");
    let at = |nth: usize| json.match_indices("{\"type\"").nth(nth).map(|(at, _)| at as u64);
    assert_eq!(
        notes(&report),
        [
            ("ends of a frame that was not the innermost: it ends there, those inside it go on", 1, at(2)),
            ("ends without a begin, left out", 1, at(5)),
            ("events earlier than the one before, kept at their own time", 2, at(6)),
            ("ends before the begin, drawn without duration", 1, at(7)),
            ("events of type `X`, left out", 1, at(8)),
            ("events without a time or a frame that is a number, left out", 1, at(9)),
            ("overlapping spans on one track, drawn one lane lower", 1, None),
            ("spans without an end, left open", 1, None),
        ]
    );
}

#[test]
fn a_span_without_an_end_is_closed_and_says_so() {
    let trace = trace_of(&[(1, 0, 300, "a".to_owned(), None)], true);
    let (again, report) = read(&to_json(&trace)).unwrap();
    assert_eq!(lanes(&again, 0), ["a 0-300", "running (not ended) 100-300"]);
    assert_eq!(report.notes, vec![]);
}

#[test]
fn a_cut_file_is_read_as_far_as_it_goes() {
    let events = [('O', 0, "0"), ('O', 1, "1"), ('C', 1, "2"), ('C', 0, "5")];
    let json = evented(&events);
    let (whole, _) = read(json.as_bytes()).unwrap();
    assert_eq!(lanes(&whole, 0), ["a 0-5000", "b 1000-2000"]);
    let cut = json.find("\"at\": 5").unwrap();
    let (trace, report) = read(&json.as_bytes()[..cut]).unwrap();
    // The unit and the names come later in this file.
    assert_eq!(lanes(&trace, 0), ["frame 0 0-…", "frame 1 1-2"]);
    let noted = report.summary().unwrap();
    assert!(noted.contains("file that is cut") && noted.contains("without its table of frames"), "{noted}");
    for cut in 0..json.len() {
        match read(&json.as_bytes()[..cut]) {
            Ok((_, report)) => assert!(report.summary().unwrap().contains("file that is cut"), "{cut}"),
            Err(error) => assert!(error.to_string().contains("No profile"), "{error}"),
        }
    }
}

#[test]
fn very_deep_nesting_is_cut_and_counted() {
    // Frames that differ, so that each end belongs to one begin; the first to open is the first to close.
    let count = 5000_u32;
    let texts: Vec<String> = (0..2 * count).map(|i| i.to_string()).collect();
    let events: Vec<(char, u32, &str)> =
        (0..2 * count).map(|i| (if i < count { 'O' } else { 'C' }, i % count, texts[i as usize].as_str())).collect();
    let (trace, report) = read(evented(&events).as_bytes()).unwrap();
    assert_eq!(trace.span_count(), 4096);
    let deep = report.notes.iter().find(|note| note.what.contains("deeper than 4,096")).unwrap();
    assert_eq!(deep.count, u64::from(count) - 4096);
    let last = trace.tracks()[0].lane(4095).unwrap().get(0).unwrap();
    assert_eq!((last.start_ns, last.dur_ns), (4_095_000, 5_000_000));
}
