//! What threads hand to the collector: the short form of a host span, and a full form for everything else.

use super::clock::Stamp;
use std::borrow::Cow;
use std::sync::Arc;

/// The value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A text known at compile time.
    Str(&'static str),
    /// A text shared by many records.
    Shared(Arc<str>),
    /// Any other text.
    Text(String),
}

/// Arguments of a record, keys from [`crate::model::track::arg`].
pub type Args = Vec<(&'static str, Value)>;

/// Where a record is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The thread that recorded it.
    OwnThread,
    /// A named track.
    Named(Cow<'static, str>),
}

/// What kind of record it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A stretch of time.
    Span {
        /// Its first moment.
        start: Stamp,
        /// Its last moment.
        end: Stamp,
    },
    /// A moment.
    Instant(Stamp),
    /// A value of the counter that the record is named after.
    Counter {
        /// When it had the value.
        at: Stamp,
        /// The value.
        value: f64,
        /// Its unit.
        unit: &'static str,
    },
}

/// Anything that goes into the trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Where it is drawn; of no matter for a counter.
    pub lane: Lane,
    /// Category, see [`crate::model::track::category`].
    pub category: &'static str,
    /// Name of the span, or of the counter.
    pub name: Cow<'static, str>,
    /// Span, moment or value.
    pub shape: Shape,
    /// Arguments.
    pub args: Args,
}

/// One slot of a thread's buffer.
#[derive(Debug)]
pub(crate) enum Item {
    /// A span of [`super::span`], on the thread's own track.
    Host { name: &'static str, start: u64, end: u64 },
    /// Everything else.
    Full(Box<Record>),
}
