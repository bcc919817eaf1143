//! What a host span costs, recorded and not, beside `tracing` (spans timed by a layer that keeps nothing) and `puffin`.
//!
//! `cargo bench --bench record`. Each figure is one begin and end. Buffers are emptied between batches, outside of the
//! time that is measured, so that no figure is that of a full buffer.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use burnscope::model::{Phase, TraceLevel};
use burnscope::record::{RecordOptions, Recorder};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Spans between two drains: fewer than a thread's buffer holds.
const BATCH: u64 = 10_000;

/// Times `count` calls in batches, with `between` after each batch.
fn batches(count: u64, mut one: impl FnMut(), mut between: impl FnMut()) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = count;
    while left > 0 {
        let batch = left.min(BATCH);
        let start = Instant::now();
        for _ in 0..batch {
            one();
        }
        total += start.elapsed();
        between();
        left -= batch;
    }
    total
}

/// Measures each span as our recorder does: a reading of the clock at its begin and its end.
struct Timing;

struct Begun(Instant);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Timing {
    fn on_enter(&self, id: &tracing::span::Id, ctx: Context<'_, S>) {
        if let Some(span) = ctx.span(id) {
            span.extensions_mut().replace(Begun(Instant::now()));
        }
    }

    fn on_exit(&self, id: &tracing::span::Id, ctx: Context<'_, S>) {
        if let Some(span) = ctx.span(id) {
            let extensions = span.extensions();
            black_box(extensions.get::<Begun>().map(|begun| begun.0.elapsed()));
        }
    }
}

fn ours() {
    burnscope::span!("work");
}

fn spans(c: &mut Criterion) {
    let mut group = c.benchmark_group("host span");
    group.bench_function("burnscope, off", |b| b.iter(ours));
    group.bench_function("tracing, off", |b| {
        b.iter(|| {
            let _span = tracing::info_span!("work").entered();
        });
    });
    puffin::set_scopes_on(false);
    group.bench_function("puffin, off", |b| {
        b.iter(|| {
            puffin::profile_scope!("work");
        });
    });

    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(RecordOptions::in_folder(folder.path(), TraceLevel::L0)).unwrap();
    group.bench_function("burnscope, on", |b| b.iter_custom(|n| batches(n, ours, || assert!(recorder.flush()))));
    let stats = recorder.finish();
    assert_eq!(stats.dropped, 0, "a dropped span would be cheaper than a recorded one");

    let subscriber = tracing_subscriber::registry().with(Timing);
    tracing::subscriber::with_default(subscriber, || {
        group.bench_function("tracing, on", |b| {
            b.iter_custom(|n| {
                let one = || {
                    let _span = tracing::info_span!("work").entered();
                };
                batches(n, one, || {})
            });
        });
    });
    puffin::set_scopes_on(true);
    group.bench_function("puffin, on", |b| {
        b.iter_custom(|n| {
            let one = || {
                puffin::profile_scope!("work");
            };
            batches(n, one, || puffin::GlobalProfiler::lock().new_frame())
        });
    });
    group.finish();
}

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("step of seven phases");
    let seven = |recorder: &Recorder| {
        let step = recorder.step(0, 0, false, true);
        for phase in &Phase::ALL[..7] {
            let _phase = step.phase(*phase);
        }
        black_box(step.finish());
    };
    let off = Recorder::off();
    group.bench_function("off", |b| b.iter(|| seven(&off)));
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(RecordOptions::in_folder(folder.path(), TraceLevel::L1)).unwrap();
    group.bench_function("on", |b| {
        b.iter_custom(|n| {
            let mut total = Duration::ZERO;
            for start in (0..n).step_by(1_000) {
                total += batches(1_000.min(n - start), || seven(&recorder), || assert!(recorder.flush()));
            }
            total
        });
    });
    assert_eq!(recorder.finish().dropped, 0);
    group.finish();
}

criterion_group!(benches, spans, steps);
criterion_main!(benches);
