//! A trace in memory: tracks of nested spans, counters, instants; interned names and arguments; level of detail; search.
//!
//! This room knows no file format and no window. A [`Trace`] is cheap to clone: a clone is a snapshot that readers keep
//! while the original grows.

mod args;
mod counter;
mod flow;
mod lane;
pub mod lod;
mod names;
mod overlaps;
pub mod search;
mod store;
mod track;

pub use args::{ArgValue, Args, ArgsId};
pub use counter::{Counter, CounterId};
pub use flow::{Arrow, FlowEnd, Flows, Link};
pub use lane::{BLOCK_SPANS, Lane, OPEN, Span};
pub use lod::{Buckets, Item};
pub use names::NameId;
pub use overlaps::Overlaps;
pub use store::Trace;
pub use track::{SpanRef, Track, TrackId};
