//! Opening and analysing a trace of another tool: a million events of Chrome JSON as PyTorch's profiler writes them.
//!
//! Targets on two cores: file to usable trace in 1.0 s, through gzip in 1.5 s; tables and profile in 300 ms.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use burnscope::analysis::ops::{self, Key};
use burnscope::analysis::profile::Profile;
use burnscope::format::open_trace;
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::Write as _;
use std::time::Duration;

const EVENTS: u64 = 1_000_000;

/// Operations with arguments on eight threads, nested by twos, some of them steps.
fn planted() -> Vec<u8> {
    let names = ["add", "mul", "conv2d", "linear", "relu", "copy_", "view", "matmul", "softmax", "layer_norm"];
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
    let mut event = |thread: usize, name: &str, start: u64, dur: u64, made: u64| {
        let comma = if made == 0 { "" } else { ",\n" };
        let micros = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        write!(
            out,
            "{comma}{{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::{name}\",\"pid\":1,\"tid\":{thread},\"ts\":{},\"dur\":{},\"args\":{{\"External id\":{made}}}}}",
            micros(start),
            micros(dur)
        )
        .unwrap();
    };
    while made < EVENTS {
        let thread = random(8) as usize;
        let dur = 2_000 + random(50_000);
        event(thread, names[random(10) as usize], now[thread], dur, made);
        event(thread, names[random(10) as usize], now[thread] + dur / 5, dur / 2, made + 1);
        made += 2;
        now[thread] += dur + random(5_000);
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
    group.bench_function("profile", |bencher| bencher.iter(|| Profile::of(black_box(&trace), None).parts.len()));
    group.finish();
}

criterion_group!(benches, foreign);
criterion_main!(benches);
