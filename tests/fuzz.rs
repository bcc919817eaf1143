//! Random damage to every reader of foreign bytes: whatever is in a file, reading ends, panics nowhere, and takes no more
//! memory than the file explains.
//!
//! A second for each reader by default, on the same inputs each time; `BURNSCOPE_FUZZ_SECS=600` goes on for longer with
//! inputs of its own. A failure names its seed; `BURNSCOPE_FUZZ_SEED` makes that input again.

use burnscope::format::perfetto::PerfettoReader;
use burnscope::format::{
    FormatError, ImportReport, chrome, collapsed, firefox, nsight, perf_script, perfetto, speedscope, xplane,
};
use burnscope::trace::Trace;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest input, in bytes: damage is found sooner in small files.
const MAX_INPUT: usize = 64 * 1024;
/// Bytes in memory that one byte of input may cost: a span has about thirty, and a text of one byte can name it.
const MAX_BYTES_A_BYTE: usize = 400;
/// Longer than any input of this size can take, by far.
const HANGS: Duration = Duration::from_secs(20);

type Read = fn(&[u8]) -> Result<(Trace, ImportReport), FormatError>;

fn read_perfetto(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    let mut trace = Trace::default();
    let mut reader = PerfettoReader::new();
    // In two pieces, as a file that grows is read.
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    reader.feed(first, &mut trace)?;
    reader.feed(rest, &mut trace)?;
    let report = reader.report();
    Ok((trace, report))
}

/// Pieces that mean something to some reader.
const TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\u0000",
    b"\\",
    b"\n",
    b"-",
    b"1e308",
    b"-1e400",
    b"0.0000000001",
    b"NaN",
    b"Infinity",
    b"null",
    b"9223372036854775807",
    b"18446744073709551615",
    b"\"ph\":\"B\"",
    b"\"ph\":\"e\"",
    b"\"ts\":",
    b"\"dur\":",
    b"\"id\":",
    b"\"args\":{",
    b"\"sf\":1",
    b"\"parent\":1",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x0a",
    b"\x00",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b";",
    b" 1",
    b"PK\x03\x04",
    b"\x1f\x8b",
];

/// Whole files to start from: small ones of our own, and those of other tools where they lie beside the project.
fn seeds(own: &[&[u8]], folder: &str) -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = own.iter().map(|bytes| bytes.to_vec()).collect();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces").join(folder);
    for entry in std::fs::read_dir(samples).into_iter().flatten().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        if bytes.len() <= MAX_INPUT && !bytes.starts_with(b"\x1f\x8b") && !bytes.starts_with(b"PK") {
            seeds.push(bytes);
        }
    }
    seeds
}

fn damaged(random: &mut ChaCha8Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let pick = |random: &mut ChaCha8Rng| seeds[random.random_range(0..seeds.len())].clone();
    let mut bytes = pick(random);
    for _ in 0..random.random_range(1..12) {
        let at = random.random_range(0..=bytes.len());
        match random.random_range(0..7) {
            0 if at < bytes.len() => bytes[at] = random.random(),
            1 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            2 => bytes.truncate(at),
            3 => {
                let token = TOKENS[random.random_range(0..TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
            4 => {
                let end = (at + random.random_range(0..64)).min(bytes.len());
                bytes.drain(at..end);
            }
            5 => {
                // The same stretch several times: deep nesting and repeats.
                let end = (at + random.random_range(0..64)).min(bytes.len());
                let again = bytes[at..end].repeat(random.random_range(1..200));
                bytes.splice(at..at, again);
            }
            _ => {
                let other = pick(random);
                let from = random.random_range(0..=other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
        bytes.truncate(MAX_INPUT);
    }
    bytes
}

fn fuzz(name: &str, read: Read, own: &[&[u8]], folder: &str) {
    let seeds = seeds(own, folder);
    let number = |key: &str| std::env::var(key).ok().and_then(|text| text.parse::<u64>().ok());
    let limit = number("BURNSCOPE_FUZZ_SECS").map_or(Duration::from_secs(1), Duration::from_secs);
    let only = number("BURNSCOPE_FUZZ_SEED");
    let (began, mut tried) = (Instant::now(), 0_u64);
    while tried == 0 || began.elapsed() < limit {
        let seed = only.unwrap_or(tried);
        let bytes = damaged(&mut ChaCha8Rng::seed_from_u64(seed), &seeds);
        let start = Instant::now();
        let outcome = std::panic::catch_unwind(|| read(&bytes));
        let took = start.elapsed();
        let keep = || {
            let path = std::env::temp_dir().join(format!("burnscope-fuzz-{name}-{seed}"));
            std::fs::write(&path, &bytes).ok();
            format!("{name}, seed {seed}, {} bytes, kept as {}", bytes.len(), path.display())
        };
        assert!(took < HANGS, "reading takes {took:?}: {}", keep());
        match outcome {
            Ok(Ok((trace, report))) => {
                let allowed = bytes.len() * MAX_BYTES_A_BYTE + (4 << 20);
                assert!(trace.bytes() <= allowed, "{} bytes in memory: {}", trace.bytes(), keep());
                let fits = report.notes.len() <= 201 && trace.span_count() <= report.spans;
                assert!(
                    fits,
                    "{} spans, {} reported, {} notes: {}",
                    trace.span_count(),
                    report.spans,
                    report.notes.len(),
                    keep()
                );
                if tried.is_multiple_of(64) {
                    // What was read can be written and read again.
                    assert!(chrome::read(&chrome::to_json(&trace)).is_ok() || trace.bounds().is_none(), "{}", keep());
                    perfetto::to_bytes(&trace);
                    speedscope::to_json(&trace);
                    collapsed::to_text(&trace);
                }
            }
            Ok(Err(error)) => assert!(!error.to_string().is_empty(), "{}", keep()),
            Err(_) => panic!("reading panics: {}", keep()),
        }
        tried += 1;
        if only.is_some() {
            break;
        }
    }
    println!("{name}: {tried} inputs in {:?}", began.elapsed());
}

const CHROME: &[u8] = br#"{"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"p"}},
{"ph":"X","pid":1,"tid":1,"ts":1.5,"dur":2,"name":"a","cat":"kernel","args":{"x":[1,2],"y":"z"}},
{"ph":"B","pid":1,"tid":"t","ts":2,"name":"b"},{"ph":"E","pid":1,"tid":"t","ts":3},
{"ph":"b","cat":"c","id":"0x1","pid":1,"ts":3,"name":"d"},{"ph":"n","cat":"c","id":"0x1","pid":1,"ts":4,"name":"d"},
{"ph":"e","cat":"c","id":"0x1","pid":1,"ts":5,"name":"d"},{"ph":"N","id":2,"pid":1,"ts":5,"name":"o"},
{"ph":"s","id":3,"cat":"f","pid":1,"tid":1,"ts":2,"name":"f"},{"ph":"f","id":3,"cat":"f","pid":1,"tid":"t","ts":2.5,"name":"f","bp":"e"},
{"ph":"C","pid":1,"ts":6,"name":"m","args":{"v":3}},{"ph":"i","pid":1,"tid":1,"ts":7,"name":"[memory]","args":{"Bytes":5,"Device Type":1,"Device Id":0}}],
"stackFrames":{"1":{"name":"f"},"2":{"name":"g","parent":1}},"samples":[{"tid":1,"ts":1,"sf":2},{"tid":1,"ts":3,"sf":1}],"deviceProperties":[{"id":0,"name":"d"}]}"#;

const SPEEDSCOPE: &[u8] = br#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a","line":3},{"name":"b"}]},
"profiles":[{"type":"evented","name":"e","unit":"milliseconds","startValue":0,"endValue":5,"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1.5},{"type":"C","frame":1,"at":2},{"type":"C","frame":0,"at":5}]},
{"type":"sampled","name":"s","unit":"none","startValue":0,"endValue":9,"samples":[[0],[0,1],[1]],"weights":[1,2,3.5]}]}"#;

const FIREFOX: &[u8] = include_bytes!("data/firefox.json");

const PERF: &[u8] = b"app 12/34 [001] 100.000001: 250000 cycles:u:\n\t 55d0 work+0x10 (/bin/app)\n\t 55d1 main+0x20 (/bin/app)\n\napp 12/34 [001] 100.001001: 250000 cycles:u:\n\t 55d1 main+0x20 (/bin/app)\n\n";

fn packets() -> Vec<u8> {
    perfetto::to_bytes(&chrome::read(CHROME).unwrap().0)
}

/// A plane with a line of two events, its names and a figure.
const XSPACE: &[u8] = include_bytes!("data/small.xplane.pb");

#[test]
fn chrome_reads_anything() {
    fuzz("chrome", chrome::read, &[CHROME], "chrome");
}

#[test]
fn perfetto_reads_anything() {
    fuzz("perfetto", read_perfetto, &[&packets()], "no samples");
}

#[test]
fn xspace_reads_anything() {
    assert!(xplane::read(XSPACE).is_ok_and(|(trace, _)| trace.span_count() > 0), "the seed has spans");
    fuzz("xspace", xplane::read, &[XSPACE], "xplane");
}

fn nsight_export() -> Vec<u8> {
    let mut db = rusqlite::Connection::open_in_memory().unwrap();
    // Small pages: what is damaged is more often the tree than a name.
    db.pragma_update(None, "page_size", 512).unwrap();
    db.execute_batch(include_str!("data/nsight.sql")).unwrap();
    db.serialize("main").unwrap().to_vec()
}

#[test]
fn nsight_reads_anything() {
    assert!(nsight::read(&nsight_export()).is_ok_and(|(trace, _)| trace.span_count() > 0), "the seed has spans");
    fuzz("nsight", nsight::read, &[&nsight_export()], "no samples");
}

#[test]
fn speedscope_reads_anything() {
    fuzz("speedscope", speedscope::read, &[SPEEDSCOPE], "speedscope");
}

#[test]
fn firefox_reads_anything() {
    fuzz("firefox", firefox::read, &[FIREFOX], "no samples");
}

#[test]
fn collapsed_reads_anything() {
    fuzz("collapsed", collapsed::read, &[b"main;work 3\nmain;work;deep 5\nother 1\n"], "collapsed");
}

#[test]
fn perf_script_reads_anything() {
    fuzz("perf script", perf_script::read, &[PERF], "no samples");
}
