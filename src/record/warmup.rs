//! Progress of the warm-up: how many kernels were compiled and tuned, and what is being worked on.

use super::recorder::{Notice, Notify};
use super::short::short_name;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How far compiling and tuning are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WarmUpProgress {
    /// Kernels compiled so far.
    pub compiled: u64,
    /// Kernel choices tuned so far.
    pub tuned: u64,
    /// What is being compiled or tuned, or was last.
    pub current: String,
    /// Seconds since the first of it.
    pub secs: f64,
}

/// Counts that change whenever something cold happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    compiled: u64,
    tuned: u64,
    first_launches: u64,
}

/// Shortest time between two notices, so that a burst of small compilations does not flood the receiver.
const NOTICE_EVERY: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Said {
    current: String,
    began: Option<Instant>,
    last_notice: Option<Instant>,
}

/// Counts compilations and tunings of one recording.
pub(crate) struct WarmUp {
    compiled: AtomicU64,
    tuned: AtomicU64,
    first_launches: AtomicU64,
    said: Mutex<Said>,
    notify: Option<Notify>,
}

impl WarmUp {
    pub fn new(notify: Option<Notify>) -> Self {
        Self {
            compiled: AtomicU64::new(0),
            tuned: AtomicU64::new(0),
            first_launches: AtomicU64::new(0),
            said: Mutex::default(),
            notify,
        }
    }

    pub fn counts(&self) -> Counts {
        Counts {
            compiled: self.compiled.load(Ordering::Relaxed),
            tuned: self.tuned.load(Ordering::Relaxed),
            first_launches: self.first_launches.load(Ordering::Relaxed),
        }
    }

    /// A kernel was compiled.
    pub fn compiled(&self, what: &str) {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        self.say(what);
    }

    /// The choice of a kernel begins.
    pub fn tuning(&self, what: &str) {
        self.say(what);
    }

    /// A kernel was chosen.
    pub fn tuned(&self, what: &str) {
        self.tuned.fetch_add(1, Ordering::Relaxed);
        self.say(what);
    }

    /// A kernel ran that had not run before in this process: its pipeline is compiled at this moment.
    #[cfg(feature = "record")]
    pub fn first_launch(&self) {
        self.first_launches.fetch_add(1, Ordering::Relaxed);
    }

    pub fn progress(&self) -> WarmUpProgress {
        let said = self.said.lock();
        self.progress_of(&said)
    }

    fn progress_of(&self, said: &Said) -> WarmUpProgress {
        let counts = self.counts();
        WarmUpProgress {
            // Where the compiler logs nothing, first launches are what is known of it.
            compiled: counts.compiled.max(counts.first_launches),
            tuned: counts.tuned,
            current: said.current.clone(),
            secs: said.began.map_or(0.0, |began| began.elapsed().as_secs_f64()),
        }
    }

    fn say(&self, what: &str) {
        let now = Instant::now();
        let progress = {
            let mut said = self.said.lock();
            said.began.get_or_insert(now);
            short_name(what).clone_into(&mut said.current);
            if said.last_notice.is_some_and(|last| now.duration_since(last) < NOTICE_EVERY) {
                return;
            }
            said.last_notice = Some(now);
            self.progress_of(&said)
        };
        if let Some(notify) = &self.notify {
            notify(Notice::WarmUp(progress));
        }
    }
}
