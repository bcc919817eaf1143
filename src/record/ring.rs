//! Buffers between the recording threads and the collector: one lock-free ring for each thread and recorder.
//!
//! A full ring never makes a thread wait; what finds no room is dropped and counted. Knows nothing of files.

use super::item::Item;
use parking_lot::Mutex;
use rtrb::{Consumer, Producer, RingBuffer};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ThreadId;

/// Slots of a ring: at 40 bytes a slot, 1.3 MB a thread; room for 650,000 spans a second between two drains.
const SLOTS: usize = 32_768;

/// The reading end of one thread's ring.
pub(crate) struct Source {
    /// The thread.
    pub id: ThreadId,
    /// Its name.
    pub thread: String,
    /// What it recorded.
    pub consumer: Consumer<Item>,
}

/// The rings of one recorder.
pub(crate) struct Rings {
    id: u64,
    open: AtomicBool,
    fresh: Mutex<Vec<Source>>,
    training: Mutex<Option<ThreadId>>,
    dropped: AtomicU64,
}

struct OwnRing {
    rings: Arc<Rings>,
    producer: Producer<Item>,
}

thread_local! {
    /// This thread's rings, nearly always one.
    static OWN: RefCell<Vec<OwnRing>> = const { RefCell::new(Vec::new()) };
}

impl Rings {
    pub fn new() -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            open: AtomicBool::new(true),
            fresh: Mutex::new(Vec::new()),
            training: Mutex::new(None),
            dropped: AtomicU64::new(0),
        })
    }

    /// Distinguishes recorders; never 0.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether records are taken.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// Takes no more records.
    pub fn close(&self) {
        self.open.store(false, Ordering::Relaxed);
    }

    /// Records that found no room, or came after the trace had failed.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Counts records as lost.
    pub fn count_dropped(&self, records: u64) {
        self.dropped.fetch_add(records, Ordering::Relaxed);
    }

    /// The calling thread is the one that trains.
    pub fn set_training(&self) {
        *self.training.lock() = Some(std::thread::current().id());
    }

    /// The thread that trains, once it made a step.
    pub fn training(&self) -> Option<ThreadId> {
        *self.training.lock()
    }

    /// Rings of threads that recorded for the first time since the last call.
    pub fn take_fresh(&self) -> Vec<Source> {
        std::mem::take(&mut *self.fresh.lock())
    }

    /// Puts a record into this thread's ring.
    #[inline]
    pub fn push(self: &Arc<Self>, item: Item) {
        push_where(self.id, item, || Some(Arc::clone(self)));
    }

    fn register(self: &Arc<Self>) -> Producer<Item> {
        let (producer, consumer) = RingBuffer::new(SLOTS);
        let current = std::thread::current();
        let thread = current.name().map_or_else(|| format!("Thread {:?}", current.id()), str::to_owned);
        self.fresh.lock().push(Source { id: current.id(), thread, consumer });
        producer
    }
}

/// Puts a record into this thread's ring of the recorder `id`; `find` is called for it if the thread has none yet.
#[inline]
pub(crate) fn push_where(id: u64, item: Item, find: impl FnOnce() -> Option<Arc<Rings>>) {
    // A thread that is being torn down has lost its buffer; what its destructors record goes nowhere.
    let _ = OWN.try_with(|own| {
        // Recording never re-enters itself: no code of a record runs while its ring is borrowed.
        let Ok(mut own) = own.try_borrow_mut() else { return };
        match own.first_mut() {
            Some(ring) if ring.rings.id == id => ring.push(item),
            _ => push_slow(&mut own, id, item, find),
        }
    });
}

#[cold]
fn push_slow(own: &mut Vec<OwnRing>, id: u64, item: Item, find: impl FnOnce() -> Option<Arc<Rings>>) {
    if let Some(index) = own.iter().position(|ring| ring.rings.id == id) {
        own.swap(0, index);
    } else {
        let Some(rings) = find() else { return };
        own.retain(|ring| ring.rings.is_open());
        let producer = rings.register();
        own.insert(0, OwnRing { rings, producer });
    }
    if let Some(ring) = own.first_mut() {
        ring.push(item);
    }
}

impl OwnRing {
    #[inline]
    fn push(&mut self, item: Item) {
        if self.producer.push(item).is_err() {
            self.rings.count_dropped(1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn host(start: u64) -> Item {
        Item::Host { name: "x", start, end: start + 1 }
    }

    #[test]
    fn a_full_ring_drops_and_counts() {
        let rings = Rings::new();
        for n in 0..SLOTS as u64 + 5 {
            rings.push(host(n));
        }
        assert_eq!(rings.dropped(), 5);
        let mut sources = rings.take_fresh();
        assert_eq!(sources.len(), 1);
        let mut count = 0;
        while let Ok(Item::Host { start, .. }) = sources[0].consumer.pop() {
            assert_eq!(start, count);
            count += 1;
        }
        assert_eq!(count, SLOTS as u64);
    }

    #[test]
    fn each_recorder_has_its_own_rings() {
        let (a, b) = (Rings::new(), Rings::new());
        for _ in 0..3 {
            a.push(host(1));
            b.push(host(2));
        }
        for rings in [a, b] {
            let mut sources = rings.take_fresh();
            assert_eq!(sources.len(), 1, "one ring however often threads change between recorders");
            assert_eq!(std::iter::from_fn(|| sources[0].consumer.pop().ok()).count(), 3);
        }
    }

    #[test]
    fn rings_of_ended_threads_are_still_read() {
        let rings = Rings::new();
        let theirs = Arc::clone(&rings);
        std::thread::Builder::new().name("short".into()).spawn(move || theirs.push(host(7))).unwrap().join().unwrap();
        let mut sources = rings.take_fresh();
        assert_eq!(sources[0].thread, "short");
        assert!(sources[0].consumer.pop().is_ok());
        assert!(sources[0].consumer.is_abandoned());
    }
}
