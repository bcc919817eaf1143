//! Holds every `use crate::room` of `src/` against the table of rooms, so that arrows only go downward.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Room → rooms that it may use besides itself. The same table stands in ARCHITECTURE.md.
const TABLE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("stats", &[]),
    ("trace", &["model"]),
    ("format", &["model", "trace"]),
    ("analysis", &["model", "stats", "trace"]),
    ("report", &["model", "stats", "trace", "analysis"]),
    ("record", &["model", "format"]),
    ("data", &["model", "record"]),
    ("nn", &["model", "record"]),
    ("train", &["model", "record", "data", "nn"]),
    ("kernels", &["model", "stats", "record"]),
    ("lab", &["model", "stats", "trace", "format", "analysis", "report", "record", "data", "nn", "train", "kernels"]),
    (
        "session",
        &["model", "stats", "trace", "format", "analysis", "report", "record", "data", "nn", "train", "kernels", "lab"],
    ),
    ("ui", &[]),
    ("timeline", &["model", "trace", "ui"]),
    ("panels", &["model", "stats", "trace", "format", "analysis", "session", "timeline", "ui"]),
    (
        "app",
        &[
            "model", "stats", "trace", "format", "analysis", "report", "record", "data", "nn", "train", "kernels",
            "lab", "session", "ui", "timeline", "panels",
        ],
    ),
    (
        "cli",
        &[
            "model", "stats", "trace", "format", "analysis", "report", "record", "data", "nn", "train", "kernels",
            "lab", "session",
        ],
    ),
];

/// Edges outside the table, each with its reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "record",
    "trace",
    "a test inside the room reads back what the recorder wrote, which needs a trace to read into",
)];

fn rust_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            out.push(path);
        }
    }
}

/// Rooms that a text names after `crate::`, comments left out; braces after `crate::` are opened up.
fn rooms_used(text: &str) -> Vec<String> {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let preceded = code[..at].chars().next_back();
        if preceded.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            let mut reading = true;
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        rooms.push(std::mem::take(&mut word));
                        reading = true;
                        continue;
                    }
                    _ => {}
                }
                if depth == 0 && reading {
                    if c.is_alphanumeric() || c == '_' {
                        word.push(c);
                    } else if !word.is_empty() {
                        reading = false;
                    }
                }
            }
            rooms.push(word);
        } else {
            rooms.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    rooms.retain(|room| !room.is_empty());
    rooms
}

#[test]
fn arrows_between_rooms_only_go_downward() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let table: BTreeMap<&str, &[&str]> = TABLE.iter().copied().collect();
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 20, "the source was not found at {}", src.display());
    let mut wrong = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&src).unwrap();
        let room = relative.components().next().unwrap().as_os_str().to_str().unwrap().to_owned();
        if relative.components().count() == 1 {
            continue; // lib.rs and main.rs
        }
        let Some(allowed) = table.get(room.as_str()) else {
            wrong.push(format!("{}: the room `{room}` is not in the table", relative.display()));
            continue;
        };
        for used in rooms_used(&std::fs::read_to_string(&file).unwrap()) {
            let is_room = table.contains_key(used.as_str());
            let excepted = EXCEPTIONS.iter().any(|(from, to, _)| *from == room && *to == used);
            if is_room && used != room && !allowed.contains(&used.as_str()) && !excepted {
                wrong.push(format!("{}: `{room}` may not use `{used}`", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "edges against the table:\n{}", wrong.join("\n"));
}

#[test]
fn the_reader_of_edges_sees_them() {
    let text = "use crate::model::Phase;\nuse crate::{trace::{self, lod}, format};\nlet x = crate::stats::median(&a); // crate::ui";
    assert_eq!(rooms_used(text), ["model", "trace", "format", "stats"]);
}

#[test]
fn every_file_says_what_it_is() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    let silent: Vec<_> =
        files.iter().filter(|file| !std::fs::read_to_string(file).unwrap().trim_start().starts_with("//!")).collect();
    assert!(silent.is_empty(), "files without a first line that says what they are: {silent:?}");
}
