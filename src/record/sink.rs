//! Where the collector writes: the trace and the event lines of a run, or anything a test puts in their place.

use super::item::Args;
use crate::model::LogEvent;
use std::io;

/// A span, ready to be written.
#[derive(Debug)]
pub(crate) struct SpanOut<'a> {
    pub track: &'a str,
    pub category: &'a str,
    pub name: &'a str,
    pub start_ns: i64,
    pub end_ns: i64,
    pub args: &'a Args,
}

/// Takes records in the order in which the collector finds them; spans of a track may come out of order of time.
pub(crate) trait Sink: Send {
    /// A stretch of time.
    fn span(&mut self, span: &SpanOut) -> io::Result<()>;
    /// A moment: `start_ns`.
    fn instant(&mut self, span: &SpanOut) -> io::Result<()>;
    /// A value of a counter.
    fn counter(&mut self, name: &str, unit: &str, at_ns: i64, value: f64) -> io::Result<()>;
    /// A line of the event log.
    fn event(&mut self, event: &LogEvent) -> io::Result<()>;
    /// Hands everything to the system; afterwards a kill loses none of it.
    fn flush(&mut self) -> io::Result<()>;
    /// Bytes written so far.
    fn bytes(&self) -> u64;
}
