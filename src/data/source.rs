//! What a set of images is to the pipeline: a number of labelled images that can be read in any order.

use super::error::DataError;
use std::sync::Arc;

/// Labelled images that can be read in any order, from any thread.
pub trait ImageSource: Send + Sync {
    /// Number of images.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Channels, height, width.
    fn shape(&self) -> [usize; 3] {
        [super::CHANNELS, super::SIDE, super::SIDE]
    }

    /// Names of the classes; a label is an index into them.
    fn classes(&self) -> &[String];

    /// Label of an image; 0 for an index that does not exist.
    fn label(&self, idx: usize) -> u16;

    /// Writes an image into `out`: planar, channels × height × width bytes.
    fn read(&self, idx: usize, out: &mut [u8]) -> Result<(), DataError>;

    /// The decoded bytes of an image where they are in memory already, so that nothing need be copied or cached.
    fn bytes(&self, _idx: usize) -> Option<&[u8]> {
        None
    }
}

/// A training set and a test set.
#[derive(Clone)]
pub struct Dataset {
    /// Name for people.
    pub name: String,
    /// Where it is from: a path, or words.
    pub origin: String,
    /// Images to train on.
    pub train: Arc<dyn ImageSource>,
    /// Images to measure accuracy on.
    pub test: Arc<dyn ImageSource>,
    /// Licence, where it is known.
    pub licence: Option<String>,
}

/// The first images of another source.
pub struct Limited {
    inner: Arc<dyn ImageSource>,
    len: usize,
}

impl Limited {
    /// At most `limit` images of `inner`; 0 = all.
    pub fn of(inner: Arc<dyn ImageSource>, limit: usize) -> Arc<dyn ImageSource> {
        if limit == 0 || limit >= inner.len() {
            return inner;
        }
        Arc::new(Self { inner, len: limit })
    }
}

impl ImageSource for Limited {
    fn len(&self) -> usize {
        self.len
    }

    fn shape(&self) -> [usize; 3] {
        self.inner.shape()
    }

    fn classes(&self) -> &[String] {
        self.inner.classes()
    }

    fn label(&self, idx: usize) -> u16 {
        self.inner.label(idx)
    }

    fn read(&self, idx: usize, out: &mut [u8]) -> Result<(), DataError> {
        self.inner.read(idx, out)
    }

    fn bytes(&self, idx: usize) -> Option<&[u8]> {
        self.inner.bytes(idx)
    }
}
