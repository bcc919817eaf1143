//! The command line as a user meets it: the real binary, in a folder of its own.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A place for runs, and the binary to be started there.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The binary with its runs, settings and working folder inside this place, and no display.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burnscope"));
        command
            .args(args)
            .current_dir(self.path())
            .env("BURNSCOPE_RUNS_DIR", self.path().join("runs"))
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Standard output of a command that must succeed.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a command that must fail with this exit code.
    fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {words}");
        assert!(!words.contains("panicked"), "{args:?}: {words}");
        words
    }

    /// A short run on the CPU; its folder.
    pub fn small_run(&self, sets: &[&str]) -> PathBuf {
        let mut args = vec!["train", "--preset", "small-mlp", "--device", "cpu", "--steps", "12", "--json"];
        for set in sets {
            args.extend(["--set", set]);
        }
        let answer: Value = serde_json::from_str(&self.ok(&args)).unwrap();
        PathBuf::from(answer["dir"].as_str().unwrap())
    }
}

#[test]
fn every_command_has_help() {
    let place = Place::new();
    let top = place.ok(&["--help"]);
    for command in [
        "train",
        "ladder",
        "ab",
        "compare",
        "inspect",
        "diff",
        "export",
        "convert",
        "runs",
        "devices",
        "screenshot",
        "worker",
    ] {
        assert!(top.contains(command), "{command} is not in the help");
        let help = place.ok(&[command, "--help"]);
        assert!(help.contains("Usage:"), "{command}");
    }
    assert!(place.ok(&["--version"]).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_is_told_and_has_exit_code_2() {
    let place = Place::new();
    for (args, part) in [
        (&["trian"][..], "train"),
        (&["train", "--steps", "0"], "--steps"),
        (&["train", "--set", "optimizer.rl=1"], "optimizer.lr"),
        (&["train", "--set", "train.batch=0"], "train.batch"),
        (&["train", "--preset", "nope"], "reference-cnn"),
        (&["train", "--trace", "L9"], "L0"),
        (&["train", "--device", "cpu", "--set", "precision.mode=f16"], "precision.mode"),
        (&["ab"], "--flip"),
        (&["ab", "--flip", "train.bach=3"], "train.batch"),
        (&["export", "x", "--format", "xml", "--out", "y"], "perfetto"),
        (&["screenshot", "x", "--size", "12", "--out", "y.png"], "1280x800"),
        (&["screenshot", "x", "--theme", "blue", "--out", "y.png"], "dark"),
        (&["compare"], "RUN"),
        (&["diff", "x"], "<B>"),
        (&["convert", "x", "--out", "y.docx"], ".pftrace"),
        (&["convert", "x", "--out", "y", "--to", "xml"], "speedscope"),
    ] {
        let words = place.fails(2, args);
        assert!(words.contains(part), "{args:?} does not mention {part}:\n{words}");
    }
}

#[test]
fn failures_say_what_and_where_and_have_exit_code_1() {
    let place = Place::new();
    std::fs::write(place.path().join("bad.toml"), "[train]\nseed = = 1\n").unwrap();
    std::fs::write(place.path().join("noise.bin"), [7; 100]).unwrap();
    for (args, parts) in [
        (&["inspect", "nowhere"][..], &["nowhere"][..]),
        (&["inspect", "noise.bin"], &["noise.bin"]),
        (&["compare", "nowhere"], &["nowhere"]),
        (&["diff", "noise.bin", "noise.bin"], &["noise.bin", "no known kind"]),
        (&["convert", "noise.bin", "--out", "x.json"], &["noise.bin"]),
        (&["export", "nowhere", "--format", "chrome", "--out", "x.json"], &["nowhere"]),
        (&["train", "missing.toml"], &["missing.toml"]),
        (&["train", "--data", "no/such/folder", "--device", "cpu"], &["no/such/folder"]),
        (&["train", "--data", "noise.bin", "--device", "cpu"], &["noise.bin"]),
        (&["train", "--device", "GeForce 9999"], &["GeForce 9999"]),
    ] {
        let words = place.fails(1, args);
        for part in parts {
            assert!(words.contains(part), "{args:?} does not mention {part}:\n{words}");
        }
    }
    let words = place.run(&["train", "bad.toml"]);
    let text = String::from_utf8_lossy(&words.stderr).into_owned();
    assert!(text.contains("bad.toml") && text.contains("line 2"), "{text}");
}

#[test]
fn a_run_is_trained_listed_inspected_exported() {
    let place = Place::new();
    let dir = place.small_run(&[]);
    for file in ["run.json", "steps.csv", "trace.pftrace", "events.jsonl"] {
        assert!(dir.join(file).exists(), "{file} is missing");
    }
    let id = dir.file_name().unwrap().to_str().unwrap().to_owned();

    let listed: Value = serde_json::from_str(&place.ok(&["runs", "--json"])).unwrap();
    assert_eq!(listed["runs"][0]["id"], id.as_str());
    let run = &listed["runs"][0]["run"];
    assert_eq!(run["end"]["state"], "finished");
    assert_eq!(run["summary"]["steps"], 12);
    // What recording costs is told, or why it cannot be.
    let cost = &run["summary"]["recorder_cost"];
    let reason = cost["unknown"].as_str().unwrap_or_default();
    assert!(cost["value"]["value"].is_number() || reason.contains("noise"), "{cost}");
    assert!(place.ok(&["runs"]).contains(&id));

    let inspected = place.ok(&["inspect", &id]);
    for phase in ["Input wait", "Forward", "Backward", "Optimizer"] {
        assert!(inspected.contains(phase), "{inspected}");
    }
    let inspected: Value = serde_json::from_str(&place.ok(&["inspect", &id, "--json"])).unwrap();
    assert!(inspected["spans"].as_u64().unwrap() > 50, "{inspected}");
    // Our own spans nest: all are timed by one clock.
    assert_eq!(inspected["import_report"]["notes"], serde_json::json!([]));

    for (format, file, start) in [
        ("chrome", "out.json", "{"),
        ("steps-csv", "steps.csv", "step,"),
        ("ops-csv", "ops.csv", "name,"),
        ("csv", "spans.csv", "kind,"),
        ("collapsed", "out.folded", ""),
        ("perfetto", "out.pftrace", ""),
    ] {
        place.ok(&["export", &id, "--format", format, "--out", file]);
        let bytes = std::fs::read(place.path().join(file)).unwrap();
        assert!(bytes.len() > 100 && bytes.starts_with(start.as_bytes()), "{format}");
        let words = place.fails(2, &["export", &id, "--format", format, "--out", file]);
        assert!(words.contains("--force"), "{words}");
    }
    let chrome: Value = serde_json::from_slice(&std::fs::read(place.path().join("out.json")).unwrap()).unwrap();
    assert!(chrome["traceEvents"].as_array().unwrap().len() > 50);
    place.ok(&["inspect", "out.json"]);
    place.ok(&["inspect", "out.pftrace"]);
}

/// Two traces of another tool: steps with and without a wait for input.
fn foreign(wait: u64) -> String {
    let mut events = Vec::new();
    for step in 0..8_u64 {
        let t = step * (wait + 1000);
        for (name, category, start, dur) in [
            (&*format!("ProfilerStep#{step}"), "user_annotation", t, wait + 1000),
            ("enumerate(DataLoader)#__next__", "user_annotation", t + 1, wait),
            ("aten::mm", "cpu_op", t + wait + 10, 900),
        ] {
            events.push(format!(
                "{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{start},\"dur\":{dur},\"name\":\"{name}\",\"cat\":\"{category}\"}}"
            ));
        }
    }
    format!("{{\"traceEvents\":[{}]}}", events.join(","))
}

#[test]
fn traces_of_other_tools_are_inspected_converted_and_compared() {
    let place = Place::new();
    for (name, wait) in [("slow", 4000), ("fast", 100)] {
        std::fs::write(place.path().join(name), foreign(wait)).unwrap();
    }
    let text = place.ok(&["inspect", "slow"]);
    assert!(text.contains("highly input-bound") && text.contains("Steps: 8 steps"), "{text}");
    place.ok(&["convert", "slow", "--out", "slow.pftrace"]);
    place.ok(&["convert", "slow", "--out", "slow.x", "--to", "speedscope"]);
    let again: Value = serde_json::from_str(&place.ok(&["inspect", "slow.pftrace", "--json"])).unwrap();
    assert_eq!(again["spans"], 24);
    assert_eq!(again["import_report"]["notes"], serde_json::json!([]));
    let words = place.fails(2, &["convert", "slow", "--out", "slow.pftrace"]);
    assert!(words.contains("--force"), "{words}");
    // Across formats, with the reason told.
    let text = place.ok(&["diff", "slow.pftrace", "fast"]);
    assert!(text.contains("Input wait was the difference"), "{text}");
    assert!(text.contains("Within"), "{text}");
    let diff: Value = serde_json::from_str(&place.ok(&["diff", "slow", "fast", "--json"])).unwrap();
    assert_eq!(diff["diff"]["ops"][0]["name"], "aten::mm");
    assert!(text.contains("Places in the call tree") && text.contains("DataLoader"), "{text}");
    let words = place.fails(1, &["diff", "slow", "fast", "--marker", "no such span"]);
    assert!(words.contains("no such span"), "{words}");
}

#[test]
fn spans_of_a_trace_are_found_marked_and_cut() {
    let place = Place::new();
    std::fs::write(place.path().join("trace"), foreign(100)).unwrap();
    let text = place.ok(&["inspect", "trace", "--find", "MM"]);
    assert!(text.starts_with("8 spans found") && text.contains("aten::mm"), "{text}");
    let found: Value = serde_json::from_str(&place.ok(&["inspect", "trace", "--find", "mm", "--json"])).unwrap();
    assert_eq!(found["count"], 8);
    let text = place.ok(&["inspect", "trace", "--callers", "aten::mm"]);
    assert!(text.contains("8 spans") && text.contains("Called by") && text.contains("ProfilerStep#3"), "{text}");
    assert!(place.fails(1, &["inspect", "trace", "--callers", "nothing"]).contains("--find"));
    // Numbered steps are taken by the name before the number.
    let text = place.ok(&["inspect", "trace", "--marker", "ProfilerStep"]);
    assert!(text.contains("8 steps (spans named “ProfilerStep”)") && text.contains("Critical path of"), "{text}");
    assert!(place.fails(1, &["inspect", "trace", "--marker", "nothing"]).contains("no span is named `nothing`"));
    // Two spans of one thread that cross.
    let crossed = r#"[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":20,"name":"a"},{"ph":"X","pid":1,"tid":1,"ts":10,"dur":20,"name":"b"}]"#;
    std::fs::write(place.path().join("crossed"), crossed).unwrap();
    assert!(place.ok(&["inspect", "crossed"]).contains("1 × overlapping spans on one track, drawn one lane lower"));
    for (how, out, dur) in [("nest", "nested.json", 10.0), ("clip", "clipped.json", 20.0)] {
        assert!(place.ok(&["inspect", "crossed", "--overlaps", how]).contains("cut"));
        place.ok(&["convert", "crossed", "--out", out, "--overlaps", how]);
        let found: Value = serde_json::from_str(&place.ok(&["inspect", out, "--find", "b", "--json"])).unwrap();
        assert_eq!(found["longest"][0]["dur_ns"], dur * 1000.0, "{found}");
        let again: Value = serde_json::from_str(&place.ok(&["inspect", out, "--json"])).unwrap();
        assert_eq!(again["import_report"]["notes"], serde_json::json!([]));
    }
    assert!(place.fails(2, &["inspect", "crossed", "--overlaps", "drop"]).contains("keep, nest or clip"));
    assert!(place.fails(2, &["--at", "5", "crossed"]).contains("no place in a trace"));
}

#[test]
fn nsight_exports_are_inspected_where_they_lie() {
    let place = Place::new();
    let path = place.path().join("report.sqlite");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(include_str!("data/nsight.sql")).unwrap();
    drop(db);
    let text = place.ok(&["inspect", "report.sqlite"]);
    assert!(text.contains("aten::mm") && text.contains("GPU 0 (H100)") && text.contains("host to device"), "{text}");
    let report: Value = serde_json::from_str(&place.ok(&["inspect", "report.sqlite", "--json"])).unwrap();
    assert_eq!(report["import_report"]["format"], "Nsight Systems (SQLite)");
    std::fs::write(place.path().join("other.sqlite"), b"SQLite format 3\0 and nothing else").unwrap();
    assert!(place.fails(1, &["inspect", "other.sqlite"]).contains("nsys export"));
}

#[test]
fn runs_are_compared_in_every_kind_of_report() {
    let place = Place::new();
    let a = place.small_run(&["pipeline.enabled=false"]);
    let b = place.small_run(&["pipeline.enabled=true"]);
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let text = place.ok(&["compare", a, b, "--baseline", a]);
    assert!(text.contains("pipeline.enabled"), "{text}");
    for kind in ["html", "md", "csv", "json", "svg", "png"] {
        let out = format!("report.{kind}");
        place.ok(&["compare", a, b, "--out", &out]);
        assert!(std::fs::metadata(place.path().join(&out)).unwrap().len() > 200, "{kind}");
    }
    let html = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(html.contains("<svg") && !html.contains("http://cdn") && !html.contains("<script src"));
    let words = place.fails(2, &["compare", a, b, "--out", "report.docx"]);
    assert!(words.contains(".html"), "{words}");
}

#[test]
fn one_flip_is_measured_in_blocks() {
    let place = Place::new();
    let args = ["ab", "--preset", "small-mlp", "--device", "cpu", "--flip", "pipeline", "--steps", "24"];
    let text = place.ok(&[&args[..], &["--blocks", "6", "--out", "ab.html"]].concat());
    assert!(["faster", "slower", "no detectable difference", "undecided"].iter().any(|v| text.contains(v)), "{text}");
    assert!(place.path().join("ab.html").exists());
    let listed: Value = serde_json::from_str(&place.ok(&["runs", "--json"])).unwrap();
    let arms: Vec<&Value> =
        listed["runs"].as_array().unwrap().iter().map(|run| &run["run"]["experiment"]["arm"]).collect();
    assert_eq!(arms.len(), 2);
    // The flip does not apply on this device: said, and no comparison is made up.
    let words = place.fails(1, &["ab", "--preset", "small-mlp", "--device", "cpu", "--flip", "fusion", "--steps", "8"]);
    assert!(words.contains("Flex"), "{words}");
}

#[test]
fn without_a_display_the_ladder_runs_to_a_report() {
    let place = Place::new();
    // The default job takes a minute on the CNN; here the same command with a small network.
    let output = place.run(&["ladder", "--preset", "small-mlp", "--device", "cpu", "--steps", "16", "--blocks", "4"]);
    let (text, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words}");
    assert!(text.contains("baseline") && text.contains("input pipeline"), "{text}");
    assert!(text.contains("Not applicable"), "the refused stages and their reasons are missing:\n{text}");
    let report = text.lines().find_map(|line| line.strip_prefix("Report: ")).unwrap();
    assert!(std::fs::read_to_string(report).unwrap().contains("</html>"));

    let mut child = place.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    child.kill().unwrap();
    let words = String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr).into_owned();
    assert!(words.contains("no display") && words.contains("headless"), "{words}");
}

#[test]
fn a_killed_worker_leaves_a_run_that_opens() {
    let place = Place::new();
    let mut child = place
        .command(&["train", "--preset", "small-mlp", "--device", "cpu", "--steps", "100000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let (id, pid) = loop {
        assert!(Instant::now() < deadline, "the run did not get going");
        std::thread::sleep(Duration::from_millis(200));
        let Ok(listed) = serde_json::from_str::<Value>(&place.ok(&["runs", "--json"])) else { continue };
        let Some(run) = listed["runs"].get(0) else { continue };
        let (Some(pid), Some(id)) = (run["run"]["worker_pid"].as_u64(), run["id"].as_str()) else { continue };
        // Steps and spans are on the disk, whichever came first.
        let steps =
            std::fs::metadata(Path::new(run["path"].as_str().unwrap()).join("steps.csv")).map_or(0, |m| m.len());
        if steps > 2000 && String::from_utf8_lossy(&place.run(&["inspect", id]).stdout).contains("Forward") {
            break (id.to_owned(), pid);
        }
    };
    Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let listed: Value = serde_json::from_str(&place.ok(&["runs", "--json"])).unwrap();
    assert_eq!(listed["runs"][0]["run"]["end"]["state"], "killed");
    assert!(place.ok(&["inspect", &id]).contains("Forward"));
}

#[test]
fn devices_are_listed_and_the_cpu_is_always_there() {
    let place = Place::new();
    let answer: Value = serde_json::from_str(&place.ok(&["devices", "--json"])).unwrap();
    let devices = answer["devices"].as_array().unwrap();
    assert!(devices.iter().any(|device| device["id"] == "cpu"));
    let adapters = devices.iter().filter(|device| !device["adapter"].is_null()).count();
    if std::env::var_os("BURNSCOPE_REQUIRE_GPU").is_some() {
        assert!(adapters > 0, "an adapter is required here and none was found");
    }
    assert!(place.ok(&["devices"]).contains("CPU (Flex)"));
}

#[test]
fn a_worker_refuses_nonsense_and_ends_with_its_parent() {
    let place = Place::new();
    let output = place.run(&["worker"]);
    assert_eq!(output.status.code(), Some(2));
    let event: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(event["event"], "ended");
    assert!(event["end"]["message"].as_str().unwrap().contains("command"), "{event}");
}
