//! Images that are decoded and in memory.

use super::IMAGE_BYTES;
use super::error::DataError;
use super::source::ImageSource;
use std::path::Path;

/// Images in memory, 3×32×32 planar bytes each.
pub struct MemorySource {
    pixels: Vec<u8>,
    labels: Vec<u16>,
    classes: Vec<String>,
}

impl MemorySource {
    /// Images from their bytes; `None` when bytes, labels and classes do not fit together.
    pub fn new(pixels: Vec<u8>, labels: Vec<u16>, classes: Vec<String>) -> Option<Self> {
        let fits = pixels.len() == labels.len() * IMAGE_BYTES;
        let named = labels.iter().all(|label| usize::from(*label) < classes.len());
        (fits && named).then_some(Self { pixels, labels, classes })
    }

    /// Splits the last `1/parts` of the images off as another set.
    pub fn split(mut self, parts: usize) -> (Self, Self) {
        let keep = self.labels.len() - self.labels.len() / parts.max(1);
        let pixels = self.pixels.split_off(keep * IMAGE_BYTES);
        let labels = self.labels.split_off(keep);
        let classes = self.classes.clone();
        (self, Self { pixels, labels, classes })
    }
}

impl ImageSource for MemorySource {
    fn len(&self) -> usize {
        self.labels.len()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn label(&self, idx: usize) -> u16 {
        self.labels.get(idx).copied().unwrap_or(0)
    }

    fn read(&self, idx: usize, out: &mut [u8]) -> Result<(), DataError> {
        match self.bytes(idx) {
            Some(bytes) if bytes.len() == out.len() => {
                out.copy_from_slice(bytes);
                Ok(())
            }
            _ => Err(DataError::unusable(Path::new("memory"), format!("there is no image {idx}"), "This is a defect")),
        }
    }

    fn bytes(&self, idx: usize) -> Option<&[u8]> {
        let start = idx.checked_mul(IMAGE_BYTES)?;
        self.pixels.get(start..start.checked_add(IMAGE_BYTES)?)
    }
}

/// Names `0`, `1`, … for classes that have none.
pub fn numbered_classes(count: usize) -> Vec<String> {
    (0..count).map(|n| n.to_string()).collect()
}
