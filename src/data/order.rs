//! In which order images are used: a permutation drawn anew for each pass, from the seed alone.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

/// Where batches take their images from, over all epochs. The same seed gives the same order, whoever asks and when.
#[derive(Debug, Clone)]
pub struct Order {
    len: usize,
    batch: usize,
    steps: usize,
    seed: u64,
    shuffle: bool,
    /// The pass whose permutation is at hand.
    pass: Option<u64>,
    permutation: Vec<u32>,
}

impl Order {
    /// An order over `len` images in batches of `batch`, `steps` batches an epoch.
    pub fn new(len: usize, batch: usize, steps: usize, seed: u64, shuffle: bool) -> Self {
        Self { len, batch, steps, seed, shuffle, pass: None, permutation: Vec::new() }
    }

    /// Whole batches in one pass over the data.
    fn batches_in_pass(&self) -> usize {
        (self.len / self.batch).max(1)
    }

    /// Indices of the images of a batch. An epoch that has more steps than the data has batches goes through the data
    /// again, in a newly drawn order.
    pub fn indices(&mut self, epoch: usize, step: usize, out: &mut Vec<u32>) {
        let in_pass = self.batches_in_pass();
        let passes_an_epoch = self.steps.div_ceil(in_pass).max(1);
        let pass = (epoch * passes_an_epoch + step / in_pass) as u64;
        if self.pass != Some(pass) {
            self.permutation.clear();
            self.permutation.extend(0..self.len as u32);
            if self.shuffle {
                let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
                rng.set_stream(pass + 1);
                self.permutation.shuffle(&mut rng);
            }
            self.pass = Some(pass);
        }
        out.clear();
        let start = step % in_pass * self.batch;
        // Data smaller than a batch is used more than once within it.
        out.extend((start..start + self.batch).map(|i| self.permutation[i % self.len]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(order: &mut Order, epoch: usize, steps: usize) -> Vec<u32> {
        let mut batch = Vec::new();
        (0..steps)
            .flat_map(|step| {
                order.indices(epoch, step, &mut batch);
                batch.clone()
            })
            .collect()
    }

    #[test]
    fn an_epoch_uses_each_image_once_and_the_next_in_another_order() {
        let mut order = Order::new(100, 10, 10, 1, true);
        let (first, second) = (all(&mut order, 0, 10), all(&mut order, 1, 10));
        assert_ne!(first, second);
        for mut epoch in [first.clone(), second] {
            epoch.sort_unstable();
            assert_eq!(epoch, (0..100).collect::<Vec<_>>());
        }
        assert_eq!(all(&mut Order::new(100, 10, 10, 1, true), 0, 10), first);
    }

    #[test]
    fn a_long_epoch_goes_round_again_in_a_new_order() {
        let mut order = Order::new(40, 10, 8, 1, true);
        let epoch = all(&mut order, 0, 8);
        assert_ne!(epoch[..40], epoch[40..]);
        assert_ne!(all(&mut order, 1, 8), epoch);
    }

    #[test]
    fn without_shuffling_the_order_is_the_files() {
        let mut order = Order::new(5, 2, 2, 9, false);
        assert_eq!(all(&mut order, 3, 2), [0, 1, 2, 3]);
        assert_eq!(all(&mut Order::new(3, 4, 1, 9, false), 0, 1), [0, 1, 2, 0]);
    }
}
