//! How far the reading of a file has come, and whether it is still wanted: shared by the thread that reads and the one
//! that shows it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Steps in which progress is counted.
const STEPS: u64 = 10_000;

#[derive(Debug, Default)]
struct Shared {
    /// Done, in shares of [`STEPS`].
    done: AtomicU64,
    cancelled: AtomicBool,
}

/// A view on one reading. Clones look at the same one.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Shared>);

impl Watch {
    /// Share that is done, 0 to 1.
    pub fn share(&self) -> f32 {
        self.0.done.load(Ordering::Relaxed) as f32 / STEPS as f32
    }

    /// Reading is to end soon, without a result.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether reading is to end.
    pub fn cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// So many of all parts of the way from one share to another are done.
    pub(super) fn set(&self, (from, to): (f64, f64), done: u64, all: u64) {
        let part = (done as f64 / all.max(1) as f64).clamp(0.0, 1.0);
        self.0.done.store(((from + (to - from) * part) * STEPS as f64) as u64, Ordering::Relaxed);
    }
}

/// Looks on while a file that is in memory is taken apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Looker {
    /// Who looks on.
    pub watch: Watch,
    /// Where it begins and ends, in shares of the whole.
    pub part: (f64, f64),
    /// Bytes of the file.
    pub all: u64,
}

impl Looker {
    /// Says how far it has come, in bytes; returns whether it is to go on.
    pub fn at(&self, offset: u64) -> bool {
        self.watch.set(self.part, offset, self.all);
        !self.watch.cancelled()
    }
}

/// Counts what is read of a file, and ends where reading is no longer wanted.
pub(super) struct Watched<R> {
    /// What is read.
    pub inner: R,
    /// Who looks on.
    pub watch: Watch,
    /// Bytes read so far.
    pub read: u64,
    /// Bytes in all.
    pub all: u64,
    /// The share that reading them is of the whole.
    pub part: (f64, f64),
}

/// What [`Watched`] says when reading is no longer wanted.
pub(super) fn cancelled() -> io::Error {
    io::Error::other("cancelled")
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.watch.cancelled() {
            return Err(cancelled());
        }
        let read = self.inner.read(out)?;
        self.read += read as u64;
        self.watch.set(self.part, self.read, self.all);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn what_is_read_is_counted_until_it_is_cancelled() {
        let watch = Watch::default();
        let inner: &[u8] = &[7; 100];
        let mut watched = Watched { inner, watch: watch.clone(), read: 0, all: 100, part: (0.0, 0.5) };
        let mut piece = [0; 40];
        watched.read_exact(&mut piece).unwrap();
        assert!((watch.share() - 0.2).abs() < 1e-3);
        watch.set((0.5, 1.0), 7, 7);
        assert!((watch.share() - 1.0).abs() < 1e-6);
        let looker = Looker { watch: watch.clone(), part: (0.5, 1.0), all: 10 };
        assert!(looker.at(5) && (watch.share() - 0.75).abs() < 1e-3);
        watch.cancel();
        assert!(!looker.at(6));
        assert_eq!(watched.read(&mut piece).unwrap_err().to_string(), "cancelled");
    }
}
