//! Events beyond plain spans: flows, asynchronous spans, objects, samples, memory; and files with faults in them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::{read, read_from, to_json};
use crate::format::window::Window;
use crate::model::TrackKind;
use crate::trace::Trace;
use proptest::prelude::*;

fn events(list: &str) -> (Trace, crate::format::ImportReport) {
    read(format!("[{list}]").as_bytes()).unwrap()
}

fn notes(report: &crate::format::ImportReport) -> Vec<(&str, u64)> {
    report.notes.iter().map(|note| (note.what.as_str(), note.count)).collect()
}

/// Name, start and length of all spans of a track, outermost lane first.
fn spans(trace: &Trace, track: &str) -> Vec<(String, i64, i64)> {
    let track = trace.tracks().iter().find(|known| known.name == track).unwrap();
    track.spans().map(|(_, s)| (trace.name(s.name).to_owned(), s.start_ns, s.dur_ns)).collect()
}

fn arrows(trace: &Trace) -> Vec<(String, String)> {
    let at = |end: crate::trace::FlowEnd| {
        let at = trace.track(end.track).unwrap().innermost_at(end.t_ns).unwrap();
        trace.name(trace.span(at).unwrap().name).to_owned()
    };
    trace.flows().iter().map(|arrow| (at(arrow.from), at(arrow.to))).collect()
}

const FLOWS: &str = r#"
    {"ph":"X","pid":1,"tid":1,"ts":100,"dur":50,"name":"op"},
    {"ph":"X","pid":1,"tid":1,"ts":110,"dur":10,"name":"launch"},
    {"ph":"X","pid":2,"tid":"stream 7","ts":109,"dur":30,"name":"kernel a","cat":"kernel"},
    {"ph":"X","pid":2,"tid":"stream 7","ts":150,"dur":5,"name":"kernel b","cat":"Kernel"},
    {"ph":"s","pid":1,"tid":1,"ts":110,"id":7,"cat":"ac2g","name":"ac2g"},
    {"ph":"f","pid":2,"tid":"stream 7","ts":109,"id":7,"cat":"ac2g","name":"ac2g","bp":"e"},
    {"ph":"f","pid":2,"tid":"stream 7","ts":141,"id":7,"cat":"ac2g","name":"ac2g"},
    {"ph":"f","pid":2,"tid":"stream 7","ts":150,"id":8,"cat":"ac2g","name":"ac2g","bp":"e"}"#;

#[test]
fn flows_join_spans_even_where_the_device_clock_is_early() {
    let (trace, report) = events(FLOWS);
    assert_eq!(notes(&report), [("flow ends without a start, left out", 1)]);
    let launch = |kernel: &str| ("launch".to_owned(), kernel.to_owned());
    assert_eq!(arrows(&trace), [launch("kernel a"), launch("kernel b")]);
    assert_eq!(trace.tracks()[1].kind, TrackKind::Device);
    assert_eq!(trace.tracks()[0].kind, TrackKind::Thread);
    let (again, report) = read(&to_json(&trace)).unwrap();
    assert_eq!((arrows(&again), notes(&report)), (arrows(&trace), vec![]));
}

#[test]
fn spans_with_bind_id_are_flows() {
    let (trace, _) = events(
        r#"{"ph":"X","pid":1,"tid":1,"ts":0.5,"dur":1,"name":"a","bind_id":"0x3","flow_out":true},
           {"ph":"X","pid":1,"tid":2,"ts":4,"dur":1,"name":"b","bind_id":"0x3","flow_in":true,"flow_out":true},
           {"ph":"X","pid":1,"tid":1,"ts":6,"dur":1,"name":"c","bind_id":"0x3","flow_in":true}"#,
    );
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(arrows(&trace), [pair("a", "b"), pair("b", "c")]);
}

#[test]
fn asynchronous_spans_of_one_identifier_nest_and_others_run_beside_them() {
    let (trace, report) = events(
        r#"{"ph":"b","pid":1,"cat":"net","id":"0x1","ts":10,"name":"load"},
           {"ph":"b","pid":1,"cat":"net","id":"0x2","ts":12,"name":"load"},
           {"ph":"b","pid":1,"cat":"net","id":"0x1","ts":13,"name":"dns"},
           {"ph":"n","pid":1,"cat":"net","id":"0x1","ts":14,"name":"answer"},
           {"ph":"e","pid":1,"cat":"net","id":"0x1","ts":15,"name":"dns"},
           {"ph":"e","pid":1,"cat":"net","id":"0x1","ts":20,"name":"load"},
           {"ph":"e","pid":1,"cat":"net","id":"0x2","ts":30,"name":"load"},
           {"ph":"b","pid":1,"cat":"net","id":"0x3","ts":21,"name":"load"},
           {"ph":"e","pid":1,"cat":"net","id":"0x9","ts":22,"name":"lost"}"#,
    );
    let span = |name: &str, start: i64, dur: i64| (name.to_owned(), start * 1000, dur * 1000);
    assert_eq!(spans(&trace, "load"), [span("load", 10, 10), span("load", 21, 9), span("dns", 13, 2)]);
    assert_eq!(spans(&trace, "load (2)"), [span("load", 12, 18)]);
    assert!(trace.tracks().iter().all(|track| track.kind == TrackKind::Async));
    assert_eq!(report.spans, 4);
    assert_eq!(report.instants, 2);
    assert_eq!(report.notes.len(), 2, "{:?}", report.notes);
    let (again, _) = read(&to_json(&trace)).unwrap();
    assert_eq!(spans(&again, "load"), spans(&trace, "load"));
    assert_eq!(spans(&again, "load (2)"), spans(&trace, "load (2)"));
}

#[test]
fn objects_live_and_older_asynchronous_events_are_read() {
    let (trace, report) = events(
        r#"{"ph":"N","pid":1,"id":"0x1","ts":1,"name":"Tree"},
           {"ph":"O","pid":1,"id":"0x1","ts":2,"name":"Tree","args":{"snapshot":{"a":1}}},
           {"ph":"D","pid":1,"id":"0x1","ts":9,"name":"Tree"},
           {"ph":"S","pid":1,"cat":"c","id":4,"ts":1,"name":"task"},
           {"ph":"T","pid":1,"cat":"c","id":4,"ts":2,"name":"task","args":{"step":"half"}},
           {"ph":"F","pid":1,"cat":"c","id":4,"ts":5,"name":"task"}"#,
    );
    assert_eq!(spans(&trace, "Tree (objects)"), [("Tree".to_owned(), 1000, 8000)]);
    assert_eq!(spans(&trace, "task"), [("task".to_owned(), 1000, 4000)]);
    assert_eq!((report.instants, report.notes.len()), (2, 0));
}

#[test]
fn processes_are_named_ordered_and_kept_apart() {
    let (trace, _) = events(
        r#"{"ph":"X","pid":5,"tid":0,"ts":1,"dur":1,"name":"a"},
           {"ph":"X","pid":6,"tid":0,"ts":1,"dur":1,"name":"a"},
           {"ph":"X","pid":7,"tid":0,"ts":1,"dur":1,"name":"a"},
           {"ph":"M","pid":5,"tid":0,"ts":0,"name":"process_name","args":{"name":"python"}},
           {"ph":"M","pid":6,"tid":0,"ts":0,"name":"process_name","args":{"name":"python"}},
           {"ph":"M","pid":7,"tid":0,"ts":0,"name":"process_name","args":{"name":"python"}},
           {"ph":"M","pid":6,"tid":0,"ts":0,"name":"process_labels","args":{"labels":"GPU 0"}},
           {"ph":"M","pid":6,"tid":0,"ts":0,"name":"process_sort_index","args":{"sort_index":-4}}"#,
    );
    let names: Vec<&str> = trace.tracks().iter().map(|track| track.process.as_str()).collect();
    assert_eq!(names, ["python", "python (GPU 0)", "python 7"]);
    assert_eq!(trace.tracks()[1].order, (-4, 0));
}

#[test]
fn what_cannot_be_true_is_drawn_where_it_can_be_and_counted() {
    let (trace, report) = events(
        r#"{"ph":"X","pid":1,"tid":1,"ts":1700000000000000,"dur":100,"name":"sound"},
           {"ph":"X","pid":1,"tid":2,"ts":1700000000000010,"dur":7442000000000000000,"name":"overflowed"},
           {"ph":"X","pid":1,"tid":3,"ts":1700000000000020,"dur":-1,"name":"unfinished"},
           {"ph":"X","pid":1,"tid":4,"ts":1700000000000030,"dur":-7,"name":"backwards"},
           {"ph":"X","pid":1,"tid":5,"ts":0,"dur":0,"name":"timeless"},
           {}"#,
    );
    let base = 1_700_000_000_000_000_000;
    assert_eq!(trace.bounds(), Some((base, base + 100_000)));
    assert_eq!(spans(&trace, "Thread 3"), [("unfinished".to_owned(), base + 20_000, 80_000)]);
    assert_eq!(spans(&trace, "Thread 5"), [("timeless".to_owned(), base, 0)]);
    // A number of microseconds that is no time at all is told apart from one that is only absurd.
    assert_eq!(spans(&trace, "Thread 2").len(), 1);
    assert_eq!(report.notes.len(), 5, "{:?}", report.notes);
}

#[test]
fn an_event_that_is_no_json_costs_itself_only() {
    let (trace, report) = events(
        r#"{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"first"},
           {"ph":"X","pid":1,"tid":1,"ts":2,"dur":1,"name":"a "quoted" name"},
           {"ph":"X","pid":1,tid":1,"ts":3,"dur":1,"name":"no opening quote"},
           {"ph":"X","pid":1,"tid":1,"ts":4,"dur":1,"name":"C:\dir\new"}"#,
    );
    let names: Vec<String> = spans(&trace, "Thread 1").into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names.len(), 2, "{names:?} {:?}", report.notes);
    assert_eq!(report.notes.iter().map(|note| note.count).sum::<u64>(), 2);
    assert_eq!(report.torn_tail_bytes, 0);
}

#[test]
fn samples_become_spans_and_memory_becomes_counters() {
    let json = br#"{"stackFrames":{"1":{"name":"main"},"2":{"name":"work","parent":1},"3":{"name":"loop","parent":"3"}},
        "samples":[{"cpu":0,"tid":9,"ts":10,"name":"cycles","sf":2,"weight":1},
                   {"cpu":0,"tid":9,"ts":20,"name":"cycles","sf":2,"weight":1},
                   {"cpu":0,"tid":9,"ts":30,"name":"cycles","sf":1,"weight":1},
                   {"cpu":0,"tid":9,"ts":"x","sf":1}, {"tid":8,"ts":1,"sf":3}],
        "traceEvents":[
          {"ph":"i","pid":4,"tid":4,"ts":1,"name":"[memory]","args":{"Device Type":1,"Device Id":0,"Bytes":64,"Total Allocated":512}},
          {"ph":"i","pid":4,"tid":4,"ts":2,"name":"[memory]","args":{"Device Type":0,"Device Id":-1,"Bytes":-8}}],
        "deviceProperties":[{"id":0,"name":"Tesla V100"}]}"#;
    let (trace, report) = read(json).unwrap();
    let all = spans(&trace, "Samples of thread 9");
    assert_eq!(all, [("main".to_owned(), 10_000, 30_000), ("work".to_owned(), 10_000, 20_000)]);
    assert_eq!(report.samples, 4);
    let counters: Vec<&str> = trace.counters().iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(counters, ["Device 0 memory allocated", "Host memory since the start"]);
    assert_eq!(trace.counters()[0].value_at(1000), Some(512.0));
    assert!(trace.facts().contains(&("device 0".to_owned(), "Tesla V100".to_owned())));
    assert!(report.format.contains("PyTorch"));
}

#[test]
fn arguments_over_several_lines_are_put_on_one() {
    let (trace, _) = events(
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\",\"args\":{\"Input Dims\":[\n  [\n 2,\n 3 ],\n [],\n \"x \\\" , y\" ]}}",
    );
    let span = trace.tracks()[0].lane(0).unwrap().get(0).unwrap();
    assert_eq!(trace.arg_text(&span, "Input Dims"), Some("[[2, 3], [], \"x \\\" , y\"]"));
}

const ALL_KINDS: &str = r#"{"displayTimeUnit":"ns","big":123456,"stackFrames":{"1":{"name":"main"},"2":{"name":"work","parent":1}},
 "samples":[{"tid":9,"ts":10,"sf":2}, {"tid":9,"ts":20,"sf":1}, 17, {"sf":1}],"traceEvents":[ {"ph":"M","pid":1,"name":"process_name","args":{"name":"p"}},
 {"ph":"X","pid":1,"tid":1,"ts":1.5,"dur":2,"name":"a\u00e9\\b","cat":"kernel","args":{"x":[1,{"}":2}],"y":"z, }"},"odd":1},
 {"ph":"B","pid":1,"tid":"t","ts":2,"name":"b"},{"ph":"E","pid":1,"tid":"t","ts":3}, 12345, true, "text",
 {"ph":"X","pid":1,"tid":1,"ts":2,"dur":1,"name":"a "quoted" name"},
 {"ph":"s","id":3,"cat":"f","pid":1,"tid":1,"ts":2,"name":"f"} ,
 {"ph":"f","id":3,"cat":"f","pid":1,"tid":"t","ts":2.5,"name":"f","bp":"e"},{"ph":"C","pid":1,"ts":6,"name":"m","args":{"v":3}},],
 "deviceProperties":[{"id":0,"name":"d"}],"last":false}"#;

fn outcome(read: Result<(Trace, crate::format::ImportReport), crate::format::FormatError>) -> Result<String, String> {
    read.map(|(trace, report)| format!("{}{report:?}", String::from_utf8_lossy(&to_json(&trace))))
        .map_err(|error| error.to_string())
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same_trace(cut in 0usize..1600, piece in 1usize..200, hole in prop::option::of(0usize..1500)) {
        let mut bytes = ALL_KINDS.as_bytes().to_vec();
        bytes.truncate(cut);
        if let Some(hole) = hole.filter(|hole| *hole < bytes.len()) { bytes.remove(hole); }
        let whole = outcome(read(&bytes));
        prop_assert_eq!(outcome(read_from(&mut Window::sized(&bytes[..], piece, 1 << 20))), whole);
    }
}

#[test]
fn no_more_of_a_file_is_in_memory_than_is_taken_apart() {
    let event = |i: u64| format!(r#"{{"ph":"X","pid":1,"tid":{},"ts":{i}.5,"dur":0.25,"name":"op"}}"#, i % 7);
    let list: Vec<String> = (1..20_000).map(event).collect();
    let text = format!("[{}]", list.join(",\n"));
    let mut window = Window::sized(text.as_bytes(), 4096, 1 << 20);
    let (trace, report) = read_from(&mut window).unwrap();
    assert_eq!((trace.span_count(), notes(&report)), (19_999, vec![]));
    assert!(text.len() > 1 << 20 && window.held() <= 16 << 10, "{}", window.held());
}

#[test]
fn an_event_that_fills_the_memory_is_passed_over() {
    let sound = r#"{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"sound"}"#;
    let endless = format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":2,"dur":1,"name":"{}"}}"#, "x".repeat(9000));
    let list = [sound, &endless, sound, &endless, sound].join(",\n");
    let (trace, report) = read_from(&mut Window::sized(format!("[{list}]").as_bytes(), 64, 4096)).unwrap();
    let what = "events that are no JSON (an event is longer than 64 MiB), left out";
    assert_eq!((trace.span_count(), notes(&report)), (3, vec![(what, 2)]));
    let only = format!("[{endless}]");
    let error = read_from(&mut Window::sized(only.as_bytes(), 64, 4096)).unwrap_err();
    assert!(error.to_string().starts_with("No event: an event is longer than 64 MiB at byte 1"), "{error}");
}

#[test]
fn events_keep_their_order_and_texts_through_batches() {
    let mut file = Vec::from(&b"["[..]);
    for i in 0..20_000 {
        let name: &[u8] = match i % 4 {
            0 => br#"a\"b\u00e9\n"#,
            1 => "é µ 名".as_bytes(),
            2 => b"bad \xff byte",
            _ => b"plain",
        };
        file.extend_from_slice(
            format!("{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{i},\"dur\":1,\"name\":\"").as_bytes(),
        );
        file.extend_from_slice(name);
        file.extend_from_slice(format!("\",\"args\":{{\"é\":{i}}}}},\n").as_bytes());
    }
    file.extend_from_slice(b"{\"ph\":\"X\",\"ts\":");
    let (trace, report) = read(&file).unwrap();
    assert_eq!(report.spans, 20_000);
    let torn = report.notes.iter().find(|note| note.what.starts_with("place where reading ended")).unwrap();
    assert!(torn.first_offset.unwrap() > 1_000_000 && report.torn_tail_bytes < 30, "{torn:?}");
    for (i, (_, span)) in trace.tracks()[0].spans().enumerate() {
        let name = ["a\"bé\n", "é µ 名", "bad \u{fffd} byte", "plain"][i % 4];
        assert_eq!((trace.name(span.name), span.start_ns), (name, i as i64 * 1000));
        let (key, value) = trace.args(span.args).next().unwrap();
        assert_eq!((trace.name(key), value), ("é", crate::trace::ArgValue::Int(i as i64)));
    }
}

#[test]
fn an_event_with_very_many_members_is_noted_in_few_words() {
    let members: String = (0..10_000).map(|i| format!(",\"odd {i}\":1")).collect();
    let (_, report) = events(&format!("{{\"ph\":\"X\",\"ts\":1{members}}}"));
    assert_eq!(report.notes.len(), 65);
    assert_eq!(notes(&report)[64], ("events with further members, not read", 1));
}
