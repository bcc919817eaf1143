//! Traces of other tools, read where they lie beside the project. Each is opened without its name, dumped, written in
//! every format that we write, read again and written again: the same spans must come out, and then the same bytes.

use burnscope::analysis::diff::{Status, diff};
use burnscope::analysis::profile::{Profile, Role};
use burnscope::format::{ImportReport, chrome, open_trace, perfetto, speedscope};
use burnscope::trace::{ArgValue, Span, Trace};
use std::path::{Path, PathBuf};

/// Folder, file, and the spans that it has.
const SAMPLES: &[(&str, &str, u64)] = &[
    ("speedscope", "simple.speedscope.json", 5),
    ("speedscope", "simple-sampled.speedscope.json", 5),
    ("speedscope", "two-sampled.speedscope.json", 10),
    ("speedscope", "invalid_incomplete-trace.json", 1),
    ("collapsed", "simple.txt", 5),
    ("collapsed", "simple-crlf.txt", 5),
    ("collapsed", "simple-utf16-le.txt", 5),
    ("collapsed", "simple-with-invalids.txt", 5),
    ("collapsed", "recursion.txt", 16),
    ("collapsed", "tall.txt", 26),
];

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    folder.is_dir().then_some(folder)
}

/// All samples of a kind; none where the samples are not at hand.
fn samples(kind: &str) -> Vec<PathBuf> {
    let Some(folder) = folder() else {
        eprintln!("there are no sample traces beside the project: nothing is read");
        return Vec::new();
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder.join(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn sample(name: &str) -> Option<(Trace, ImportReport)> {
    let path = folder()?.join(name);
    Some(open_trace(&path).unwrap_or_else(|error| panic!("{error}")))
}

/// One line a span: when, how long, what, with which arguments. Lanes and tracks are left out: what overlaps is put on
/// tracks of its own in formats that cannot say it otherwise.
fn dump(trace: &Trace) -> Vec<String> {
    let line = |span: &Span, what: &str| {
        let args: Vec<String> = trace
            .args(span.args)
            .map(|(key, value)| match value {
                ArgValue::Float(value) => format!("{}={value:?}", trace.name(key)),
                value => format!("{}={}", trace.name(key), trace.value_text(value)),
            })
            .collect();
        let (name, category) = (trace.name(span.name), trace.name(span.category));
        format!("{} {} {what} {category} {name} {}", span.start_ns, span.dur_ns, args.join(" "))
    };
    let mut lines = Vec::new();
    for track in trace.tracks() {
        lines.extend(track.spans().map(|(_, span)| line(&span, "span")));
        lines.extend(track.instants().iter().map(|instant| line(&instant, "moment")));
    }
    for counter in trace.counters() {
        lines.extend(counter.iter().map(|(t, value)| format!("{t} {} {} {value:?}", counter.name, counter.unit)));
    }
    lines.sort();
    lines
}

fn reopen(bytes: &[u8]) -> Trace {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    std::fs::write(&path, bytes).unwrap();
    open_trace(&path).unwrap_or_else(|error| panic!("{error}")).0
}

fn first_difference(a: &[String], b: &[String]) -> String {
    let only = |x: &[String], y: &[String]| x.iter().find(|line| y.binary_search(line).is_err()).cloned();
    format!(
        "{} and {} lines; only in the first: {:?}; only in the second: {:?}",
        a.len(),
        b.len(),
        only(a, b),
        only(b, a)
    )
}

/// The helper that every sample goes through.
fn check(path: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let nameless = dir.path().join("x");
    std::fs::copy(path, &nameless).unwrap();
    let (trace, report) = open_trace(&nameless).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(trace.span_count() + report.instants + report.counters > 0, "{}: nothing was read", path.display());
    let said = dump(&trace);
    let chrome_bytes = chrome::to_json(&trace);
    let again = reopen(&chrome_bytes);
    assert!(dump(&again) == said, "{} through Chrome: {}", path.display(), first_difference(&said, &dump(&again)));
    assert_eq!(again.flows().len(), trace.flows().len(), "{}: arrows through Chrome", path.display());
    let once = chrome::to_json(&reopen(&chrome::to_json(&again)));
    assert!(once == chrome::to_json(&reopen(&once)), "{}: a second export to Chrome differs", path.display());
    let packets = perfetto::to_bytes(&trace);
    let again = reopen(&packets);
    assert!(dump(&again) == said, "{} through Perfetto: {}", path.display(), first_difference(&said, &dump(&again)));
    assert_eq!(again.facts(), trace.facts(), "{}: facts through Perfetto", path.display());
    let once = perfetto::to_bytes(&again);
    assert!(once == perfetto::to_bytes(&reopen(&once)), "{}: a second export to Perfetto differs", path.display());
    let mut table = Vec::new();
    burnscope::report::spans_csv::write(&trace, &mut table).unwrap();
    let rows = csv::Reader::from_reader(&*table).into_records().map(Result::unwrap).count();
    assert_eq!(rows, said.len(), "{}: rows of the table", path.display());
}

#[test]
fn nsight_exports_survive_every_export() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.sqlite");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(include_str!("data/nsight.sql")).unwrap();
    drop(db);
    check(&path);
    let packed = folder.path().join("report.gz");
    let mut gzip = flate2::write::GzEncoder::new(std::fs::File::create(&packed).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &std::fs::read(&path).unwrap()).unwrap();
    gzip.finish().unwrap();
    let (plain, unpacked) = (open_trace(&path).unwrap().0, open_trace(&packed).unwrap().0);
    assert_eq!(dump(&plain), dump(&unpacked));
}

#[test]
fn chrome_samples_survive_every_export() {
    for path in samples("chrome") {
        check(&path);
    }
}

#[test]
fn pytorch_samples_survive_every_export() {
    for path in samples("kineto") {
        check(&path);
    }
}

#[test]
fn timestamps_are_exact_and_overlaps_are_those_that_are_there() {
    let Some((_, report)) = sample("kineto/hta_ns_resolution.pt.trace.json.gz") else { return };
    assert!(!report.notes.iter().any(|note| note.what.contains("overlapping")), "{:?}", report.notes);
    let Some((trace, report)) = sample("kineto/b200_eager.json.gz") else { return };
    assert!(
        report.notes.iter().any(|note| note.what.contains("overlapping") && note.count == 81),
        "{:?}",
        report.notes
    );
    assert_eq!(trace.span_count(), 22_355, "nothing is dropped");
}

#[test]
fn the_profiler_sees_what_zero_workers_cost() {
    let (Some((none, _)), Some((four, _))) =
        (sample("kineto/resnet50_workers0.pt.trace.json.gz"), sample("kineto/resnet50_workers4.pt.trace.json.gz"))
    else {
        return;
    };
    let profile = Profile::of(&none, None);
    assert_eq!(profile.steps.list.len(), 6);
    for (number, step) in profile.steps.list.iter().enumerate() {
        let sum: i64 = profile.parts.iter().map(|part| part.per_step_ns[number]).sum();
        assert_eq!(sum, step.dur_ns(), "the parts of a step sum to its wall time");
    }
    assert!(profile.share(Role::Input) > 0.3 && profile.verdicts[0].contains("input-bound"), "{:?}", profile.verdicts);
    assert_eq!(profile.launches_known, Some(1.0));
    let diff = diff((&none, None), (&four, None));
    assert!(diff.verdicts[1].starts_with("Input wait was the difference"), "{:?}", diff.verdicts);
}

#[test]
fn the_same_model_on_two_vendors_is_matched_operation_by_operation() {
    let (Some((nvidia, _)), Some((amd, _))) =
        (sample("kineto/bert_small_h100.json.gz"), sample("kineto/bert_small_mi300.json.gz"))
    else {
        return;
    };
    let diff = diff((&nvidia, None), (&amd, None));
    assert!(diff.ops_matched.unwrap() > 0.95, "{:?}", diff.ops_matched);
    // Kernels have other names on each, so the operations carry the device's time.
    let attention = diff.ops.iter().find(|op| op.name == "aten::_flash_attention_forward").unwrap();
    assert_ne!(attention.status, Status::Added);
    assert!(attention.a.unwrap().device_ns > 0.0 && attention.b.unwrap().device_ns > 0.0);
}

#[test]
fn profiles_survive_every_export_and_have_all_their_spans() {
    for kind in ["speedscope", "collapsed"] {
        for path in samples(kind) {
            check(&path);
            let (trace, report) = open_trace(&path).unwrap();
            assert_eq!(trace.span_count(), report.spans, "{}", path.display());
            let name = path.file_name().unwrap().to_str().unwrap();
            let spans = SAMPLES.iter().find(|(folder, file, _)| *folder == kind && *file == name);
            assert_eq!(spans.map(|(.., spans)| *spans), Some(report.spans), "{name}");
            let again = reopen(&speedscope::to_json(&trace));
            assert_eq!(again.span_count(), trace.span_count(), "{name} through speedscope");
            // Speedscope refuses frames that do not end, so they get an end and another name.
            if trace.tracks().iter().all(|track| track.open_count() == 0) {
                let (said, heard) = (dump(&trace), dump(&again));
                assert!(heard == said, "{name} through speedscope: {}", first_difference(&said, &heard));
            }
        }
    }
}

#[test]
fn xprof_samples_survive_every_export() {
    for path in samples("xplane") {
        check(&path);
        let (trace, report) = open_trace(&path).unwrap();
        assert_eq!(report.format, "XProf XSpace");
        // Counted by a decoder of its own: events of all lines.
        assert_eq!(trace.span_count(), 3_650, "{:?}", report.notes);
        let profile = Profile::of(&trace, None);
        assert_eq!(profile.devices.len(), 8);
    }
}
