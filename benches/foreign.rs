//! Opening and analysing a trace of another tool: a million events of Chrome JSON as PyTorch's profiler writes them.
//!
//! And our own format with ten million spans.
//!
//! Targets on two cores: file to usable trace in 1.0 s, through gzip in 1.5 s; tables and profile in 300 ms; ten million
//! spans of our own in 2.5 s and 600 MB.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use burnscope::analysis::ops::{self, Key};
use burnscope::analysis::profile::Profile;
use burnscope::format::open_trace;
use burnscope::format::perfetto::{Arg, PacketWriter};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::Write as _;
use std::time::Duration;

const EVENTS: u64 = 1_000_000;
const EVENTS_A_STEP: u64 = 10_000;
const STEPS_THREAD: usize = 8;

/// Operations with arguments on eight threads, nested by twos, and steps on a ninth.
fn planted() -> Vec<u8> {
    let names = [
        "aten::add",
        "aten::mul",
        "aten::conv2d",
        "aten::linear",
        "aten::relu",
        "aten::copy_",
        "aten::view",
        "aten::matmul",
        "aten::softmax",
        "aten::layer_norm",
    ];
    let mut out = Vec::with_capacity(150 << 20);
    out.extend_from_slice(b"{\"schemaVersion\":1,\"traceEvents\":[\n");
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: u64| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise % below
    };
    let mut now = [1_700_000_000_000_000_000_u64; 8];
    let mut made = 0;
    let mut event = |category: &str, name: &str, thread: usize, start: u64, dur: u64| {
        let comma = if made == 0 { "" } else { ",\n" };
        let micros = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        write!(
            out,
            "{comma}{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":\"{name}\",\"pid\":1,\"tid\":{thread},\"ts\":{},\"dur\":{},\"args\":{{\"External id\":{made}}}}}",
            micros(start),
            micros(dur)
        )
        .unwrap();
        made += 1;
        made
    };
    let (mut step, mut step_start) = (0, now[0]);
    loop {
        let thread = random(8) as usize;
        let dur = 2_000 + random(50_000);
        event("cpu_op", names[random(10) as usize], thread, now[thread], dur);
        let made = event("cpu_op", names[random(10) as usize], thread, now[thread] + dur / 5, dur / 2);
        now[thread] += dur + random(5_000);
        if made / EVENTS_A_STEP > step {
            step = made / EVENTS_A_STEP;
            event("user_annotation", &format!("ProfilerStep#{step}"), STEPS_THREAD, step_start, now[0] - step_start);
            step_start = now[0];
        }
        if made >= EVENTS {
            break;
        }
    }
    out.extend_from_slice(b"\n]}\n");
    out
}

fn foreign(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let (plain, packed) = (dir.path().join("plain"), dir.path().join("packed"));
    let json = planted();
    std::fs::write(&plain, &json).unwrap();
    let mut gz = flate2::write::GzEncoder::new(std::fs::File::create(&packed).unwrap(), flate2::Compression::default());
    gz.write_all(&json).unwrap();
    gz.finish().unwrap();
    println!("{EVENTS} events, {} MB", json.len() / 1_000_000);
    drop(json);
    let mut group = criterion.benchmark_group("Chrome JSON of a million events");
    group.sample_size(10).measurement_time(Duration::from_secs(8)).warm_up_time(Duration::from_secs(1));
    group.bench_function("open", |bencher| bencher.iter(|| open_trace(black_box(&plain)).unwrap().0.span_count()));
    group
        .bench_function("open gzip", |bencher| bencher.iter(|| open_trace(black_box(&packed)).unwrap().0.span_count()));
    let (trace, _) = open_trace(&plain).unwrap();
    println!("{:.1} bytes a span", trace.bytes() as f64 / trace.span_count() as f64);
    group.bench_function("table of operations", |bencher| {
        bencher.iter(|| ops::table(black_box(&trace), Key::Name).len())
    });
    assert_eq!(Profile::of(&trace, None).parts.len(), 10, "the profile has steps to split");
    group.bench_function("profile", |bencher| bencher.iter(|| Profile::of(black_box(&trace), None).parts.len()));
    group.finish();
}

/// Steps of operations on three tracks, written as the recorder writes them.
fn write_packets(path: &std::path::Path, spans: u64) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut writer = PacketWriter::new(file);
    writer.process(1, "worker", 7).unwrap();
    let tracks = ["Training thread", "Ops and fused blocks", "Device kernels"];
    for (uuid, name) in (10..).zip(tracks) {
        writer.track(uuid, Some(1), name).unwrap();
    }
    let names: Vec<String> = (0..200).map(|i| format!("name {i}")).collect();
    let mut now = 0_i64;
    for i in 0..spans {
        let name = &names[(i * 7919 % 200) as usize];
        let track = 10 + i % 3;
        let dur = 500 + (i * 31 % 3000) as i64;
        writer.span(track, now, dur, name, "op", &[("step", Arg::Int((i / 1000) as i64))]).unwrap();
        now += dur / 2 + (i % 13) as i64 * 100 + 1500;
    }
    writer.flush().unwrap();
}

fn own(criterion: &mut Criterion) {
    const SPANS: u64 = 10_000_000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    write_packets(&path, SPANS);
    let before = peak_bytes();
    let (trace, _) = open_trace(&path).unwrap();
    assert_eq!(trace.span_count(), SPANS);
    println!(
        "{SPANS} spans, {} MB on disk, {:.1} bytes a span, peak of memory {} MB (before {} MB)",
        std::fs::metadata(&path).unwrap().len() / 1_000_000,
        trace.bytes() as f64 / SPANS as f64,
        peak_bytes() / 1_000_000,
        before / 1_000_000,
    );
    drop(trace);
    let mut group = criterion.benchmark_group("our own trace of ten million spans");
    group.sample_size(10).measurement_time(Duration::from_secs(20)).warm_up_time(Duration::from_secs(1));
    group.bench_function("open", |bencher| bencher.iter(|| open_trace(black_box(&path)).unwrap().0.span_count()));
    group.finish();
}

/// Most memory that the process has used so far, in bytes; 0 where the system does not say.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

criterion_group!(benches, own, foreign);
criterion_main!(benches);
