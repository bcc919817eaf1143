//! What makes one batch out of images: read or fetch from the cache, then normalise; and the threads that do it.

use super::error::DataError;
use super::order::Order;
use super::pipeline::{BatchPlan, HostBatch, StageSink};
use super::source::ImageSource;
use super::{CHANNELS, IMAGE_BYTES, SIDE};
use crate::record::clock::raw_now;
use crossbeam_channel::{Receiver, Sender};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Decoded images that were used once, kept for the next pass. Filled image by image, so that an epoch that ends early
/// leaves what it decoded.
pub(super) struct Cache {
    images: Vec<OnceLock<Box<[u8]>>>,
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
}

impl Cache {
    pub(super) fn new(len: usize) -> Self {
        let images = std::iter::repeat_with(OnceLock::new).take(len).collect();
        Self { images, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }
}

/// Makes batches; each thread has one.
pub(super) struct Maker {
    pub(super) source: Arc<dyn ImageSource>,
    pub(super) cache: Option<Arc<Cache>>,
    pub(super) order: Order,
    pub(super) sink: Arc<dyn StageSink>,
    pub(super) worker: usize,
    pub(super) plan: BatchPlan,
    pub(super) steps: usize,
    pub(super) indices: Vec<u32>,
    pub(super) staged: Vec<u8>,
}

impl Maker {
    /// Makes batch number `index` of the whole run, into the buffers of `spare` where there is one.
    pub(super) fn make(&mut self, index: u64, spare: Option<HostBatch>) -> Result<HostBatch, DataError> {
        let (epoch, step) = ((index / self.steps as u64) as usize, (index % self.steps as u64) as usize);
        let began = raw_now();
        let mut indices = std::mem::take(&mut self.indices);
        self.order.indices(epoch, step, &mut indices);
        let samples = self.plan.batch as u32;
        let drawn = raw_now();
        self.sink.span(self.worker, "Shuffle", began, drawn, samples);

        let (mut images, mut labels) = spare.map_or_else(Default::default, |batch| (batch.images, batch.labels));
        labels.clear();
        labels.extend(indices.iter().map(|idx| i32::from(self.source.label(*idx as usize))));
        let mut decoded = drawn;
        images.resize(self.plan.batch * IMAGE_BYTES, 0.0);
        if self.source.bytes(0).is_some() {
            // In memory already: one pass from bytes to floats, no copy between.
            for (image, idx) in images.chunks_exact_mut(IMAGE_BYTES).zip(&indices) {
                let bytes = self.source.bytes(*idx as usize).unwrap_or(&[]);
                normalise(bytes, image);
            }
        } else {
            self.stage(&indices)?;
            decoded = raw_now();
            self.sink.span(self.worker, "Read and decode", drawn, decoded, samples);
            normalise(&self.staged, &mut images);
        }
        self.sink.span(self.worker, "Normalise and batch", decoded, raw_now(), samples);
        self.indices = indices;
        Ok(HostBatch { images, labels, shape: [self.plan.batch, CHANNELS, SIDE, SIDE], epoch: epoch as u32, index })
    }

    /// Puts the bytes of all images side by side.
    fn stage(&mut self, indices: &[u32]) -> Result<(), DataError> {
        self.staged.resize(indices.len() * IMAGE_BYTES, 0);
        for (slot, idx) in self.staged.chunks_exact_mut(IMAGE_BYTES).zip(indices) {
            let idx = *idx as usize;
            let Some((cache, kept)) = self.cache.as_ref().and_then(|cache| Some((cache, cache.images.get(idx)?)))
            else {
                self.source.read(idx, slot)?;
                continue;
            };
            match kept.get() {
                Some(bytes) => {
                    cache.hits.fetch_add(1, Ordering::Relaxed);
                    slot.copy_from_slice(bytes);
                }
                None => {
                    cache.misses.fetch_add(1, Ordering::Relaxed);
                    self.source.read(idx, slot)?;
                    // Two workers may decode the same image at once; the first to be done keeps it.
                    kept.set(Box::from(&*slot)).ok();
                }
            }
        }
        Ok(())
    }
}

/// Bytes 0 to 255 to floats 0 to 1.
fn normalise(bytes: &[u8], out: &mut [f32]) {
    for (value, byte) in out.iter_mut().zip(bytes) {
        *value = f32::from(*byte) / 255.0;
    }
}

/// What the threads share.
pub(super) struct Shared {
    pub(super) next: AtomicUsize,
    pub(super) total: u64,
    pub(super) stop: AtomicBool,
}

/// A batch on its way out, with its number.
pub(super) type Made = (u64, Result<HostBatch, DataError>);

/// One worker: claims the next number, makes that batch, hands it over; until all are made or nobody wants more.
pub(super) fn work(mut maker: Maker, shared: &Shared, out: &Sender<Made>, spares: &Receiver<HostBatch>) {
    while !shared.stop.load(Ordering::Relaxed) {
        let index = shared.next.fetch_add(1, Ordering::Relaxed) as u64;
        if index >= shared.total {
            return;
        }
        let made = maker.make(index, spares.try_recv().ok());
        let failed = made.is_err();
        if out.send((index, made)).is_err() || failed {
            return;
        }
    }
}
