//! Sample files of other tools, which lie beside the project where it is developed; elsewhere there is nothing to read.

use burnscope::format::open_trace;
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

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces").join(name)
}

#[test]
fn profiles_of_other_tools_have_all_their_spans() {
    for (name, file, spans) in SAMPLES {
        let path = folder(name).join(file);
        if !path.is_file() {
            continue;
        }
        let (trace, report) = open_trace(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((trace.span_count(), report.spans), (*spans, *spans), "{file}");
    }
}

#[test]
fn all_profiles_of_other_tools_open() {
    for name in ["speedscope", "collapsed"] {
        let Ok(entries) = std::fs::read_dir(folder(name)) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let (trace, report) = open_trace(&path).unwrap_or_else(|error| panic!("{error}"));
            assert!(trace.span_count() > 0 && trace.span_count() == report.spans, "{}", path.display());
        }
    }
}
