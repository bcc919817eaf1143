//! Batches for the loop: the input pipeline for training, plain order for the test set.

use super::errors::TrainError;
use crate::data::pipeline::CALLER;
use crate::data::{BatchPlan, DataError, Dataset, HostBatch, IMAGE_BYTES, ImageSource, Pipeline, StageSink};
use crate::model::{Known, RunSpec, Source};
use crate::record::{Recorder, Stamp};
use std::sync::Arc;

/// Training batches of one learner, in the order of its seed.
pub(super) struct Feed {
    pipeline: Pipeline,
}

impl Feed {
    /// Starts the pipeline of the spec; the recorder hears of its stages.
    pub fn start(
        data: &Dataset,
        spec: &RunSpec,
        seed: u64,
        epochs: usize,
        steps_per_epoch: u64,
        recorder: &Recorder,
    ) -> Result<Self, TrainError> {
        let steps_per_epoch = usize::try_from(steps_per_epoch).unwrap_or(usize::MAX);
        let plan = BatchPlan { batch: spec.train.batch, seed, epochs, steps_per_epoch };
        let sink = Arc::new(RecordedStages(recorder.clone()));
        Ok(Self { pipeline: Pipeline::start(Arc::clone(&data.train), plan, &spec.pipeline, sink)? })
    }

    /// The next batch. Asking for more than was planned is an error.
    pub fn next(&mut self) -> Result<HostBatch, TrainError> {
        // Its buffers become tensors, so they are not recycled: copying them would cost more than new ones do.
        self.pipeline.next()?.ok_or_else(|| TrainError::Data("all planned batches are used up".to_owned()))
    }

    /// Share of images that came from the cache.
    pub fn cache_hit_rate(&self) -> Known<f64> {
        let stats = self.pipeline.stats();
        let reads = stats.cache_hits + stats.cache_misses;
        if !stats.cached {
            Known::unknown("no cache was used: it is off, or the images are in memory anyway")
        } else if reads == 0 {
            Known::unknown("nothing was read yet")
        } else {
            Known::value(stats.cache_hits as f64 / reads as f64, Source::Counted, reads)
        }
    }
}

impl From<DataError> for TrainError {
    fn from(error: DataError) -> Self {
        Self::Data(error.to_string())
    }
}

/// All images of a source in batches of one size; the last one is filled up with black images that have no label.
pub(super) fn in_order(source: &dyn ImageSource, batch: usize) -> impl Iterator<Item = Result<PlainBatch, TrainError>> {
    let mut bytes = vec![0; IMAGE_BYTES];
    (0..source.len()).step_by(batch.max(1)).map(move |start| {
        let mut images = vec![0.0; batch * IMAGE_BYTES];
        let mut labels = Vec::with_capacity(batch);
        for (idx, image) in (start..source.len()).zip(images.chunks_exact_mut(IMAGE_BYTES)) {
            source.read(idx, &mut bytes)?;
            image.iter_mut().zip(&bytes).for_each(|(value, byte)| *value = f32::from(*byte) / 255.0);
            labels.push(source.label(idx));
        }
        Ok(PlainBatch { images, labels })
    })
}

/// A batch of [`in_order`].
pub(super) struct PlainBatch {
    /// Pixels from 0 to 1 of a whole batch.
    pub images: Vec<f32>,
    /// Classes of the images that are not filling.
    pub labels: Vec<u16>,
}

/// Passes the stages of the pipeline on to the recorder.
struct RecordedStages(Recorder);

impl StageSink for RecordedStages {
    fn span(&self, worker: usize, stage: &'static str, start: u64, end: u64, samples: u32) {
        let worker = (worker != CALLER).then_some(worker);
        self.0.input_span(worker, stage, Stamp::Raw(start), Stamp::Raw(end), samples);
    }

    fn queue_depth(&self, depth: usize) {
        self.0.queue_depth(depth);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::data::synthetic::Synthetic;

    #[test]
    fn every_test_image_is_seen_once_and_filling_has_no_label() {
        let source = Synthetic::new(3, 25);
        let batches: Vec<PlainBatch> = in_order(&source, 10).map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(|batch| batch.labels.len()).collect::<Vec<_>>(), [10, 10, 5]);
        assert!(batches.iter().all(|batch| batch.images.len() == 10 * IMAGE_BYTES));
        assert!(batches[2].images[5 * IMAGE_BYTES..].iter().all(|value| *value == 0.0));
        assert!(batches[2].images[..5 * IMAGE_BYTES].iter().any(|value| *value > 0.5));
    }
}
