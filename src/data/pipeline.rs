//! The stages between a set of images and a training step: cache → shuffle → batch → normalise → prefetch.
//!
//! Off, everything happens on the caller's thread inside [`Pipeline::next`]. On, worker threads make batches beside the
//! training and keep a bounded number of them ready. The order of images depends on the seed alone.

use super::error::DataError;
use super::order::Order;
use super::source::ImageSource;
use super::workers::{self, Cache, Made, Maker, Shared};
use crate::model::spec::PipelineSpec;
use crossbeam_channel::{Receiver, Sender};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// Spare buffers that are kept for the next batches.
const SPARES: usize = 8;

/// A batch on the host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostBatch {
    /// Pixels from 0 to 1, in the order of `shape`.
    pub images: Vec<f32>,
    /// Class of each image.
    pub labels: Vec<i32>,
    /// Images, channels, height, width.
    pub shape: [usize; 4],
    /// Number of the epoch, from 0.
    pub epoch: u32,
    /// Number of the batch in the run, from 0.
    pub index: u64,
}

/// How many batches of what size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPlan {
    /// Images in a batch.
    pub batch: usize,
    /// Seed of the order.
    pub seed: u64,
    /// Epochs.
    pub epochs: usize,
    /// Batches of an epoch; 0 = whole batches of the data. More than the data has: it is gone through again in a newly
    /// drawn order.
    pub steps_per_epoch: usize,
}

impl BatchPlan {
    /// Batches of an epoch over `images` images.
    pub fn steps(&self, images: usize) -> usize {
        if self.steps_per_epoch > 0 { self.steps_per_epoch } else { (images / self.batch.max(1)).max(1) }
    }
}

/// Who hears of the stages' times.
pub trait StageSink: Send + Sync {
    /// A stage took from `start` to `end` on a worker ([`CALLER`] = the thread that calls [`Pipeline::next`]). Readings
    /// of the recorder's counter ([`raw_now`](crate::record::clock::raw_now)): spans timed by another clock would not
    /// nest in the step's.
    fn span(&self, worker: usize, name: &'static str, start: u64, end: u64, samples: u32);
    /// So many batches are ready.
    fn queue_depth(&self, depth: usize);
}

/// The worker number of the thread that calls [`Pipeline::next`].
pub const CALLER: usize = usize::MAX;

/// Hears nothing.
pub struct Silent;

impl StageSink for Silent {
    fn span(&self, _: usize, _: &'static str, _: u64, _: u64, _: u32) {}
    fn queue_depth(&self, _: usize) {}
}

/// What the pipeline did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PipelineStats {
    /// Images that came from the cache.
    pub cache_hits: u64,
    /// Images that had to be read and decoded although there is a cache.
    pub cache_misses: u64,
    /// Whether there is a cache; not for images that are in memory anyway, and not with the pipeline off.
    pub cached: bool,
    /// Batches for which the caller had to wait.
    pub waits: u64,
    /// Time that the caller waited, in nanoseconds.
    pub wait_ns: u64,
    /// Batches handed out.
    pub batches: u64,
}

enum Engine {
    /// On the caller's thread.
    Inline(Box<Maker>),
    /// On worker threads.
    Threads { made: Option<Receiver<Made>>, early: BTreeMap<u64, HostBatch>, threads: Vec<JoinHandle<()>> },
}

/// The input pipeline of one run.
pub struct Pipeline {
    engine: Engine,
    cache: Option<Arc<Cache>>,
    spares: (Sender<HostBatch>, Receiver<HostBatch>),
    shared: Arc<Shared>,
    sink: Arc<dyn StageSink>,
    stats: PipelineStats,
}

impl Pipeline {
    /// Starts the pipeline; with `spec.enabled` its threads begin at once.
    pub fn start(
        source: Arc<dyn ImageSource>,
        plan: BatchPlan,
        spec: &PipelineSpec,
        sink: Arc<dyn StageSink>,
    ) -> Result<Self, DataError> {
        if source.is_empty() {
            return Err(DataError::Plan("there are no images to train on".to_owned()));
        }
        if plan.batch == 0 || plan.epochs == 0 {
            return Err(DataError::Plan("a batch and an epoch must not be empty".to_owned()));
        }
        let steps = plan.steps(source.len());
        let wants_cache = spec.enabled && spec.cache == "decoded" && source.bytes(0).is_none();
        let cache = wants_cache.then(|| Arc::new(Cache::new(source.len())));
        let total = (steps as u64).saturating_mul(plan.epochs as u64);
        let shared = Arc::new(Shared { next: AtomicUsize::new(0), total, stop: AtomicBool::new(false) });
        let spares = crossbeam_channel::bounded(SPARES);
        let maker = |worker| Maker {
            source: Arc::clone(&source),
            cache: cache.clone(),
            order: Order::new(source.len(), plan.batch, steps, plan.seed, spec.shuffle),
            sink: Arc::clone(&sink),
            worker,
            plan,
            steps,
            indices: Vec::new(),
            staged: Vec::new(),
        };
        let engine = if spec.enabled {
            let (send, made) = crossbeam_channel::bounded(spec.prefetch);
            let mut threads = Vec::new();
            for worker in 0..spec.workers.max(1) {
                let (maker, shared, send) = (maker(worker), Arc::clone(&shared), send.clone());
                let spares = spares.1.clone();
                let thread = std::thread::Builder::new().name(format!("input-{worker}"));
                let started = thread.spawn(move || workers::work(maker, &shared, &send, &spares));
                threads.push(started.map_err(|e| DataError::Worker(e.to_string()))?);
            }
            Engine::Threads { made: Some(made), early: BTreeMap::new(), threads }
        } else {
            Engine::Inline(Box::new(maker(CALLER)))
        };
        let stats = PipelineStats { cached: cache.is_some(), ..PipelineStats::default() };
        Ok(Self { engine, cache, spares, shared, sink, stats })
    }

    /// The next batch, or `None` after the last. Waits for it.
    // Not an iterator: errors end it, and buffers come back through `recycle`.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<HostBatch>, DataError> {
        let wanted = self.stats.batches;
        if wanted >= self.shared.total {
            return Ok(None);
        }
        let batch = match &mut self.engine {
            Engine::Inline(maker) => maker.make(wanted, self.spares.1.try_recv().ok())?,
            Engine::Threads { made: Some(made), early, .. } => {
                if early.is_empty() && made.is_empty() {
                    self.stats.waits += 1;
                }
                let began = Instant::now();
                let batch = in_turn(wanted, made, early)?;
                self.stats.wait_ns += u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.sink.queue_depth(made.len() + early.len());
                batch
            }
            Engine::Threads { made: None, .. } => return Ok(None),
        };
        self.stats.batches += 1;
        Ok(Some(batch))
    }

    /// Gives a batch's buffers back for the next ones.
    pub fn recycle(&mut self, batch: HostBatch) {
        // With enough spares at hand this one is let go.
        self.spares.0.try_send(batch).ok();
    }

    /// What was done so far.
    pub fn stats(&self) -> PipelineStats {
        let mut stats = self.stats;
        if let Some(cache) = &self.cache {
            stats.cache_hits = cache.hits.load(Ordering::Relaxed);
            stats.cache_misses = cache.misses.load(Ordering::Relaxed);
        }
        stats
    }
}

/// The batch whose turn it is; those that are early are kept.
fn in_turn(wanted: u64, made: &Receiver<Made>, early: &mut BTreeMap<u64, HostBatch>) -> Result<HostBatch, DataError> {
    loop {
        if let Some(batch) = early.remove(&wanted) {
            return Ok(batch);
        }
        match made.recv() {
            Ok((index, batch)) => {
                early.insert(index, batch?);
            }
            Err(_) => return Err(DataError::Worker(format!("batch {wanted} never came"))),
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Engine::Threads { made, threads, .. } = &mut self.engine {
            // A closed channel frees workers that wait to hand over.
            *made = None;
            for thread in threads.drain(..) {
                thread.join().ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::IMAGE_BYTES;
    use super::super::synthetic::Synthetic;
    use super::*;
    use std::path::Path;

    fn plan(batch: usize, epochs: usize, steps: usize) -> BatchPlan {
        BatchPlan { batch, seed: 11, epochs, steps_per_epoch: steps }
    }

    fn spec(enabled: bool, workers: usize, prefetch: usize) -> PipelineSpec {
        PipelineSpec { enabled, workers, prefetch, ..PipelineSpec::default() }
    }

    fn run(len: usize, plan: BatchPlan, spec: &PipelineSpec) -> (Vec<HostBatch>, PipelineStats) {
        let source = Arc::new(Synthetic::new(3, len));
        let mut pipeline = Pipeline::start(source, plan, spec, Arc::new(Silent)).unwrap();
        let mut batches = Vec::new();
        while let Some(batch) = pipeline.next().unwrap() {
            batches.push(batch.clone());
            pipeline.recycle(batch);
        }
        assert_eq!(pipeline.next().unwrap(), None);
        (batches, pipeline.stats())
    }

    #[test]
    fn order_and_content_are_the_same_however_the_batches_are_made() {
        let (expected, _) = run(50, plan(8, 2, 0), &spec(false, 1, 0));
        assert_eq!(expected.len(), 12);
        for workers in [1, 2, 3, 7] {
            for prefetch in 0..4 {
                assert_eq!(run(50, plan(8, 2, 0), &spec(true, workers, prefetch)).0, expected, "{workers} {prefetch}");
            }
        }
    }

    #[test]
    fn partial_epochs_fill_the_cache() {
        let (batches, stats) = run(64, plan(8, 8, 2), &spec(true, 2, 2));
        assert_eq!(batches.len(), 16);
        assert_eq!(stats.cache_hits + stats.cache_misses, 128);
        assert!(stats.cache_hits > 30, "{stats:?}");
        let (_, off) = run(64, plan(8, 8, 2), &spec(false, 2, 2));
        assert!(!off.cached && off.cache_hits == 0);
    }

    #[test]
    fn values_are_normalised_and_labels_fit() {
        let (batches, _) = run(20, plan(4, 1, 0), &spec(true, 1, 1));
        for batch in batches {
            assert_eq!(batch.images.len(), 4 * IMAGE_BYTES);
            assert!(batch.images.iter().all(|value| (0.0..=1.0).contains(value)));
            assert_eq!(batch.labels.len(), 4);
        }
    }

    struct Broken;

    impl ImageSource for Broken {
        fn len(&self) -> usize {
            10
        }
        fn classes(&self) -> &[String] {
            &[]
        }
        fn label(&self, _: usize) -> u16 {
            0
        }
        fn read(&self, idx: usize, _: &mut [u8]) -> Result<(), DataError> {
            Err(DataError::format(Path::new("a.png"), idx, "noise", "a PNG"))
        }
    }

    #[test]
    fn an_error_of_a_worker_arrives_and_dropping_early_ends_the_threads() {
        for enabled in [false, true] {
            let mut pipeline =
                Pipeline::start(Arc::new(Broken), plan(2, 1, 0), &spec(enabled, 2, 1), Arc::new(Silent)).unwrap();
            assert!(pipeline.next().unwrap_err().to_string().contains("a.png"));
        }
        let source = Arc::new(Synthetic::new(3, 1000));
        let mut pipeline = Pipeline::start(source, plan(10, 100, 0), &spec(true, 3, 2), Arc::new(Silent)).unwrap();
        pipeline.next().unwrap();
        drop(pipeline);
    }
}
