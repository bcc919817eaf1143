//! For tests: a recorder whose records stay in memory, and a sink that fails on demand.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::item::{Args, Value};
use super::recorder::{Notify, Recorder};
use super::sink::{Sink, SpanOut};
use crate::model::{LogEvent, TraceLevel};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

/// A span as it reached the sink.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenSpan {
    pub track: String,
    pub category: String,
    pub name: String,
    pub start: i64,
    pub end: i64,
    pub args: Args,
}

impl SeenSpan {
    /// An argument as text; empty if there is none.
    pub fn arg(&self, key: &str) -> String {
        match self.args.iter().find(|(k, _)| *k == key) {
            None => String::new(),
            Some((_, Value::Int(n))) => n.to_string(),
            Some((_, Value::Str(s))) => (*s).to_owned(),
            Some((_, Value::Shared(s))) => s.to_string(),
            Some((_, Value::Text(s))) => s.clone(),
        }
    }
}

#[derive(Default)]
struct State {
    spans: Vec<SeenSpan>,
    instants: Vec<SeenSpan>,
    counters: Vec<(String, i64, f64)>,
    events: Vec<LogEvent>,
    flushes: usize,
    fail_after: Option<usize>,
}

/// What a test recorder wrote.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<State>>);

impl Seen {
    pub fn spans(&self) -> Vec<SeenSpan> {
        self.0.lock().spans.clone()
    }

    pub fn counters(&self) -> Vec<(String, i64, f64)> {
        self.0.lock().counters.clone()
    }

    pub fn events(&self) -> Vec<LogEvent> {
        self.0.lock().events.clone()
    }

    pub fn flushes(&self) -> usize {
        self.0.lock().flushes
    }

    /// From now on, `records` more records are taken, then the disk is full.
    pub fn fail_after(&self, records: usize) {
        self.0.lock().fail_after = Some(records);
    }

    fn room(&self) -> io::Result<parking_lot::MutexGuard<'_, State>> {
        let mut state = self.0.lock();
        match &mut state.fail_after {
            Some(0) => return Err(io::Error::other("No space left on device")),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(state)
    }
}

fn seen(span: &SpanOut) -> SeenSpan {
    SeenSpan {
        track: span.track.to_owned(),
        category: span.category.to_owned(),
        name: span.name.to_owned(),
        start: span.start_ns,
        end: span.end_ns,
        args: span.args.clone(),
    }
}

impl Sink for Seen {
    fn span(&mut self, span: &SpanOut) -> io::Result<()> {
        self.room()?.spans.push(seen(span));
        Ok(())
    }

    fn instant(&mut self, span: &SpanOut) -> io::Result<()> {
        self.room()?.instants.push(seen(span));
        Ok(())
    }

    fn counter(&mut self, name: &str, _unit: &str, at_ns: i64, value: f64) -> io::Result<()> {
        self.room()?.counters.push((name.to_owned(), at_ns, value));
        Ok(())
    }

    fn event(&mut self, event: &LogEvent) -> io::Result<()> {
        self.room()?.events.push(event.clone());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().flushes += 1;
        Ok(())
    }

    fn bytes(&self) -> u64 {
        0
    }
}

/// A recorder into memory.
pub(crate) fn recorder(level: TraceLevel) -> (Recorder, Seen) {
    recorder_with(level, None)
}

/// The same, with a receiver of notices.
pub(crate) fn recorder_with(level: TraceLevel, notify: Option<Notify>) -> (Recorder, Seen) {
    let seen = Seen::default();
    (Recorder::with_sink(level, notify, Box::new(seen.clone())).unwrap(), seen)
}
