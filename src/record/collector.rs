//! The thread that empties all rings, writes what it finds and flushes it at least every quarter second.
//!
//! The first error of the sink ends the recording: it is said once, everything after it is counted as dropped, and the
//! program goes on.

use super::clock::RunClock;
use super::item::{Item, Lane, Record, Shape};
use super::ring::{Rings, Source};
use super::sink::{Sink, SpanOut};
use super::{Notice, Notify, RecordStats};
use crate::model::track::name;
use crate::model::{LogEvent, category};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two looks at the rings.
const DRAIN_EVERY: Duration = Duration::from_millis(50);
/// Longest time that a record stays in this process's memory.
const FLUSH_EVERY: Duration = Duration::from_millis(200);

/// What a recorder tells its collector beside the rings.
pub(crate) enum Order {
    /// A line for the event log.
    Event(LogEvent),
    /// Write everything that was recorded up to now, flush, and say so.
    Flush(crossbeam_channel::Sender<()>),
    /// Write everything, flush, and end.
    Finish,
}

/// State of the collecting thread.
pub(crate) struct Collector {
    clock: Arc<RunClock>,
    rings: Arc<Rings>,
    sink: Box<dyn Sink>,
    notify: Option<Notify>,
    sources: Vec<Source>,
    last_flush: Instant,
    stats: RecordStats,
}

impl Collector {
    pub fn new(clock: Arc<RunClock>, rings: Arc<Rings>, sink: Box<dyn Sink>, notify: Option<Notify>) -> Self {
        Self {
            clock,
            rings,
            sink,
            notify,
            sources: Vec::new(),
            last_flush: Instant::now(),
            stats: RecordStats::default(),
        }
    }

    /// Works until it is told to finish, or all recorders are gone.
    pub fn run(mut self, orders: &Receiver<Order>) -> RecordStats {
        loop {
            let order = orders.recv_timeout(DRAIN_EVERY);
            self.drain();
            match order {
                Ok(Order::Event(event)) => self.event(&event),
                Ok(Order::Flush(done)) => {
                    self.flush();
                    // The one who asked may have stopped waiting.
                    let _ = done.send(());
                }
                Ok(Order::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.last_flush.elapsed() >= FLUSH_EVERY {
                self.clock.reanchor();
                self.flush();
            }
        }
        self.rings.close();
        self.drain();
        self.flush();
        self.stats.bytes = self.sink.bytes();
        self.stats.dropped = self.rings.dropped();
        self.stats
    }

    fn flush(&mut self) {
        self.last_flush = Instant::now();
        if self.stats.first_error.is_none() {
            let result = self.sink.flush();
            self.check(result);
        }
    }

    fn event(&mut self, event: &LogEvent) {
        if self.stats.first_error.is_none() {
            let result = self.sink.event(event);
            self.check(result);
        }
    }

    fn drain(&mut self) {
        self.sources.extend(self.rings.take_fresh());
        let mut sources = std::mem::take(&mut self.sources);
        let training = self.rings.training();
        for source in &mut sources {
            let thread = if training == Some(source.id) { name::TRAINING } else { &source.thread };
            // What arrives while we write waits for the next round, so that one busy thread cannot hold us for ever.
            for _ in 0..source.consumer.slots() {
                let Ok(item) = source.consumer.pop() else { break };
                if self.stats.first_error.is_some() {
                    self.rings.count_dropped(1);
                } else {
                    match self.write(thread, item) {
                        Ok(()) => self.stats.spans += 1,
                        Err(error) => {
                            self.rings.count_dropped(1);
                            self.check(Err(error));
                        }
                    }
                }
            }
        }
        sources.retain(|source| !(source.consumer.is_abandoned() && source.consumer.is_empty()));
        self.sources = sources;
    }

    fn check(&mut self, result: io::Result<()>) {
        let Err(error) = result else { return };
        if self.stats.first_error.is_none() {
            let text = format!("recording stopped, the run goes on without it: {error}");
            self.stats.first_error = Some(text.clone());
            self.rings.close();
            if let Some(notify) = &self.notify {
                notify(Notice::Failed(text));
            }
        }
    }

    fn write(&mut self, thread: &str, item: Item) -> io::Result<()> {
        match item {
            Item::Host { name, start, end } => {
                let no_args = Vec::new();
                self.sink.span(&SpanOut {
                    track: thread,
                    category: category::HOST,
                    name,
                    start_ns: self.clock.raw_ns(start),
                    end_ns: self.clock.raw_ns(end),
                    args: &no_args,
                })
            }
            Item::Full(record) => self.write_record(thread, &record),
        }
    }

    fn write_record(&mut self, thread: &str, record: &Record) -> io::Result<()> {
        let track = match &record.lane {
            Lane::OwnThread => thread,
            Lane::Named(name) => name,
        };
        let mut out = SpanOut {
            track,
            category: record.category,
            name: &record.name,
            start_ns: 0,
            end_ns: 0,
            args: &record.args,
        };
        match record.shape {
            Shape::Span { start, end } => {
                out.start_ns = self.clock.ns(start);
                out.end_ns = self.clock.ns(end).max(out.start_ns);
                self.sink.span(&out)
            }
            Shape::Instant(at) => {
                out.start_ns = self.clock.ns(at);
                out.end_ns = out.start_ns;
                self.sink.instant(&out)
            }
            Shape::Counter { at, value, unit } => self.sink.counter(&record.name, unit, self.clock.ns(at), value),
        }
    }
}
