//! Work for a panel that takes longer than a frame may: done on a thread of its own, for the latest wish only.

use crossbeam_channel::{Receiver, bounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The latest outcome for the latest wish. `K` says what is wanted; equal wishes are done once.
#[derive(Debug)]
pub struct Background<K, T> {
    wanted: Option<K>,
    running: Option<Running<T>>,
    outcome: Option<Arc<T>>,
    failed: Option<String>,
}

#[derive(Debug)]
struct Running<T> {
    cancelled: Arc<AtomicBool>,
    outcome: Receiver<T>,
}

impl<K, T> Default for Background<K, T> {
    fn default() -> Self {
        Self { wanted: None, running: None, outcome: None, failed: None }
    }
}

impl<K: PartialEq, T: Send + Sync + 'static> Background<K, T> {
    /// Asks for an outcome; starts work only if the wish has changed. `alike` tells whether an outcome of the wish before
    /// may be shown meanwhile, as for a trace that has grown: then its work is not stopped either, and this wish is
    /// taken up when it is done. `work` returns `None` when it finds the flag set; `wake` is called when it is done.
    pub fn request(
        &mut self,
        wish: K,
        alike: impl FnOnce(&K, &K) -> bool,
        work: impl FnOnce(&AtomicBool) -> Option<T> + Send + 'static,
        wake: impl FnOnce() + Send + 'static,
    ) {
        if self.wanted.as_ref() == Some(&wish) {
            return;
        }
        let alike = self.wanted.as_ref().is_some_and(|known| alike(known, &wish));
        if alike && self.running.is_some() {
            return;
        }
        if !alike {
            self.outcome = None;
        }
        if let Some(running) = self.running.take() {
            running.cancelled.store(true, Ordering::Relaxed);
        }
        let (send, outcome) = bounded(1);
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        let spawned = std::thread::Builder::new().name("panel".to_owned()).spawn(move || {
            // Nobody waits for it any more if the panel is gone.
            if work(&flag).is_some_and(|outcome| send.send(outcome).is_ok()) {
                wake();
            }
        });
        self.failed = spawned.err().map(|error| format!("No thread to work on: {error}"));
        self.running = self.failed.is_none().then_some(Running { cancelled, outcome });
        self.wanted = Some(wish);
    }

    /// Forgets the wish and its outcome.
    pub fn clear(&mut self) {
        if let Some(running) = self.running.take() {
            running.cancelled.store(true, Ordering::Relaxed);
        }
        (self.wanted, self.outcome, self.failed) = (None, None, None);
    }

    /// The outcome, once it has arrived.
    pub fn outcome(&mut self) -> Option<&Arc<T>> {
        if let Some(running) = &self.running
            && let Ok(outcome) = running.outcome.try_recv()
        {
            self.outcome = Some(Arc::new(outcome));
            self.running = None;
        }
        self.outcome.as_ref()
    }

    /// Why there is none.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use std::time::Duration;

    fn wait(work: &mut Background<u32, u32>) -> u32 {
        for _ in 0..500 {
            if let Some(outcome) = work.outcome() {
                return **outcome;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("nothing arrived")
    }

    #[test]
    fn equal_wishes_are_done_once_and_others_replace_them() {
        let mut work: Background<u32, u32> = Background::default();
        let (told, heard) = bounded(8);
        let tell = told.clone();
        work.request(1, |_, _| false, |_| Some(10), move || tell.send(1).unwrap());
        assert_eq!(wait(&mut work), 10);
        assert_eq!(heard.recv_timeout(Duration::from_secs(5)), Ok(1));
        work.request(1, |_, _| false, |_| panic!("it is known already"), || ());
        assert_eq!(wait(&mut work), 10);
        // One that waits until it is cancelled, then another.
        let stopped = |flag: &AtomicBool| {
            while !flag.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            None
        };
        work.request(2, |_, _| false, stopped, || ());
        assert!(work.outcome().is_none());
        work.request(3, |_, _| false, |_| Some(30), || ());
        assert_eq!(wait(&mut work), 30);
        work.request(4, |_, _| true, |_| Some(40), || ());
        assert!(work.outcome().is_some(), "what is alike stays in view meanwhile");
        work.clear();
        assert!(work.outcome().is_none());
    }
}
