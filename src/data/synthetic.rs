//! Synthetic images of CIFAR's shape, drawn from a seed: each class has its own stripes under noise, so that a network
//! can learn them. Any number of them, none stored.

use super::error::DataError;
use super::memory::numbered_classes;
use super::source::ImageSource;
use super::{CHANNELS, SIDE};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Number of classes.
const CLASSES: usize = 10;

/// Synthetic images; the same index always gives the same image.
pub struct Synthetic {
    seed: u64,
    len: usize,
    classes: Vec<String>,
}

impl Synthetic {
    /// `len` images of this seed.
    pub fn new(seed: u64, len: usize) -> Self {
        Self { seed, len, classes: numbered_classes(CLASSES) }
    }
}

impl ImageSource for Synthetic {
    fn len(&self) -> usize {
        self.len
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn label(&self, idx: usize) -> u16 {
        (idx % CLASSES) as u16
    }

    fn read(&self, idx: usize, out: &mut [u8]) -> Result<(), DataError> {
        let class = idx % CLASSES;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(idx as u64);
        rng.fill(out);
        let shift = idx / CLASSES % 4;
        for (i, pixel) in out.iter_mut().enumerate().take(CHANNELS * SIDE * SIDE) {
            let (channel, row, column) = (i / (SIDE * SIDE), i / SIDE % SIDE, i % SIDE);
            // Direction and period of the stripes, and the channel that is bright, depend on the class.
            let along = if class.is_multiple_of(2) { row + shift } else { column + shift };
            let stripe = (along / (2 + class / 2)).is_multiple_of(2);
            let bright = if stripe { 120 } else { 20 } + if channel == class % CHANNELS { 60 } else { 0 };
            *pixel = bright + *pixel / 4;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_the_same_each_time_and_differs_from_others() {
        let source = Synthetic::new(7, 100);
        let mut images = [vec![0; 3072], vec![0; 3072], vec![0; 3072]];
        for (image, idx) in images.iter_mut().zip([3, 3, 13]) {
            source.read(idx, image).unwrap();
        }
        assert_eq!(images[0], images[1]);
        assert_ne!(images[0], images[2]);
        assert_eq!(source.label(13), 3);
    }
}
