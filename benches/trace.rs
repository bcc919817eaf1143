//! The trace as it is written, opened, grown and searched: spans a second and the time to open a run of a million spans.
//!
//! `cargo bench --bench trace`

#![allow(clippy::unwrap_used, clippy::expect_used)]

use burnscope::format::perfetto::{Arg, PacketWriter};
use burnscope::format::run_folder::{self, RunFolder};
use burnscope::model::{RunEnd, RunManifest, StepRecord, TrackKind};
use burnscope::trace::search::{NameSet, find};
use burnscope::trace::{ArgsId, NameId, Trace};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::{self, Write};

const SPANS_A_STEP: i64 = 100;

/// Writes steps as the recorder does: operations with arguments, inner spans before outer ones.
fn write_steps(writer: &mut PacketWriter<impl Write>, steps: i64) {
    let names: Vec<String> = (0..40).map(|i| format!("operation number {i}")).collect();
    writer.process(1, "worker", 1).unwrap();
    writer.track(2, Some(1), "Training thread").unwrap();
    writer.track(3, Some(1), "Ops and fused blocks").unwrap();
    for step in 0..steps {
        let start = step * 1_000_000;
        for i in 0..SPANS_A_STEP - 2 {
            let name = &names[(i % 40) as usize];
            let args = [("dtype", Arg::Text("f32")), ("flops", Arg::Int(i * 1000)), ("phase", Arg::Text("forward"))];
            writer.span(3, start + i * 10_000, 9_000, name, "op", &args).unwrap();
        }
        writer.span(2, start + 10, 500_000, "Forward", "phase", &[]).unwrap();
        writer.span(2, start, 990_000, "Step", "step", &[("step", Arg::Int(step))]).unwrap();
    }
}

fn writing(c: &mut Criterion) {
    let mut group = c.benchmark_group("write");
    group.throughput(Throughput::Elements(100_000));
    group.bench_function("spans without arguments", |b| {
        b.iter(|| {
            let mut writer = PacketWriter::new(io::sink());
            for i in 0..100_000 {
                writer.span(1, i * 100, 90, "operation", "op", &[]).unwrap();
            }
            writer.flush().unwrap();
            writer.bytes()
        });
    });
    group.bench_function("spans with three arguments", |b| {
        b.iter(|| {
            let mut writer = PacketWriter::new(io::sink());
            write_steps(&mut writer, 1000);
            writer.flush().unwrap();
            writer.bytes()
        });
    });
    group.finish();
}

fn opening(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path(), "bench").unwrap();
    folder.write_manifest(&RunManifest { end: RunEnd::Finished, ..RunManifest::default() }).unwrap();
    let mut trace = folder.trace_writer().unwrap();
    write_steps(&mut trace, 10_000);
    trace.flush().unwrap();
    let mut steps = folder.step_writer().unwrap();
    for step in 0..10_000 {
        steps.append(&StepRecord { step, ..StepRecord::default() }).unwrap();
    }
    drop(folder.event_writer().unwrap());
    let run = run_folder::load(folder.path()).unwrap();
    assert_eq!((run.trace.span_count(), run.report.summary()), (1_000_000, None));
    println!("store: {:.1} bytes a span", run.trace.bytes() as f64 / 1e6);
    drop(run);
    let mut group = c.benchmark_group("open");
    group.sample_size(10).throughput(Throughput::Elements(1_000_000));
    group.bench_function("a run of a million spans", |b| b.iter(|| run_folder::load(folder.path()).unwrap()));
    group.finish();
}

fn growing(c: &mut Criterion) {
    let mut group = c.benchmark_group("grow");
    group.sample_size(10).throughput(Throughput::Elements(1_000_000));
    group.bench_function("a million spans, a snapshot every 10,000", |b| {
        b.iter(|| {
            let mut trace = Trace::default();
            let track = trace.add_track(1, None, "t", "", TrackKind::Thread);
            let mut snapshot = trace.clone();
            for i in 0..1_000_000 {
                trace.complete(track, i * 10, 9, NameId::EMPTY, NameId::EMPTY, ArgsId::NONE);
                if i % 10_000 == 0 {
                    trace.settle();
                    snapshot = trace.clone();
                }
            }
            black_box(&snapshot);
            trace
        });
    });
    group.finish();
}

fn searching(c: &mut Criterion) {
    let mut trace = Trace::default();
    let track = trace.add_track(1, None, "t", "", TrackKind::Thread);
    let names: Vec<NameId> = (0..1000).map(|i| trace.intern(&format!("operation {i}"))).collect();
    for i in 0..10_000_000usize {
        trace.complete(track, i as i64 * 10, 9, names[i % 1000], NameId::EMPTY, ArgsId::NONE);
    }
    trace.settle();
    println!("store: {:.1} bytes a span", trace.bytes() as f64 / 1e7);
    let mut group = c.benchmark_group("search");
    group.sample_size(10);
    group.bench_function("all hits in 10 million spans", |b| {
        b.iter(|| find(&trace, &NameSet::containing(&trace, "ION 77"), usize::MAX).len());
    });
    group.finish();
}

criterion_group!(benches, writing, opening, growing, searching);
criterion_main!(benches);
