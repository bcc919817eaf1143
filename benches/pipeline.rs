//! Throughput of the input pipeline, in samples a second: images in memory and PNG files, with and without workers.
//!
//! `cargo bench --bench pipeline`
#![allow(missing_docs, clippy::unwrap_used)]

use burnscope::data::{BatchPlan, ImageSource, Pipeline, Silent, builtin, folder};
use burnscope::model::spec::PipelineSpec;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::path::Path;
use std::sync::Arc;

const BATCH: usize = 128;
const BATCHES: usize = 200;

fn drain(source: &Arc<dyn ImageSource>, spec: &PipelineSpec) {
    let plan = BatchPlan { batch: BATCH, seed: 1, epochs: 1, steps_per_epoch: BATCHES };
    let mut pipeline = Pipeline::start(Arc::clone(source), plan, spec, Arc::new(Silent)).unwrap();
    while let Some(batch) = pipeline.next().unwrap() {
        std::hint::black_box(batch.images[0]);
        pipeline.recycle(batch);
    }
}

/// The first 3,000 built-in images as PNG files, one folder a class.
fn write_png(dir: &Path) {
    let data = builtin::open().unwrap();
    let mut planar = vec![0; 3072];
    for idx in 0..3000 {
        data.train.read(idx, &mut planar).unwrap();
        let class = dir.join(data.train.label(idx).to_string());
        std::fs::create_dir_all(&class).unwrap();
        let image = image::RgbImage::from_fn(32, 32, |x, y| {
            let at = (y * 32 + x) as usize;
            image::Rgb([planar[at], planar[1024 + at], planar[2048 + at]])
        });
        image.save(class.join(format!("{idx}.png"))).unwrap();
    }
}

fn pipeline(c: &mut Criterion) {
    let spec = |enabled, workers, cache: &str| PipelineSpec {
        enabled,
        workers,
        prefetch: 4,
        cache: cache.to_owned(),
        ..PipelineSpec::default()
    };
    let memory = builtin::open().unwrap().train;
    let dir = tempfile::tempdir().unwrap();
    write_png(dir.path());
    let png = folder::open(dir.path()).unwrap().train;

    let mut group = c.benchmark_group("samples");
    group.sample_size(10);
    group.throughput(Throughput::Elements((BATCH * BATCHES) as u64));
    for workers in [1, 2] {
        group.bench_function(format!("memory, {workers} workers"), |b| {
            b.iter(|| drain(&memory, &spec(true, workers, "none")))
        });
    }
    group.bench_function("memory, inline", |b| b.iter(|| drain(&memory, &spec(false, 1, "none"))));
    for (name, workers, cache) in
        [("PNG, 1 worker", 1, "none"), ("PNG, 2 workers", 2, "none"), ("PNG, 2 workers, cache", 2, "decoded")]
    {
        group.bench_function(name, |b| b.iter(|| drain(&png, &spec(true, workers, cache))));
    }
    group.finish();
}

criterion_group!(benches, pipeline);
criterion_main!(benches);
