//! The recorder: host spans, steps, phases and layers, counters, events, and, with the feature `record`, every tensor
//! operation and kernel of Burn. All of it becomes Perfetto packets in a file that grows while the program runs.
//!
//! A program that uses Burn gets a trace in three lines:
//!
//! ```ignore
//! let recorder = Recorder::start(RecordOptions::in_folder("my-run", TraceLevel::L1))?;
//! let observers = record::burn::Observers::install(&recorder, &device);
//! // ... recorder.step(n, 0, false, true) around each step; then:
//! drop(observers); recorder.finish();
//! ```
//!
//! This room knows neither the model that is trained nor the window. Everything that touches Burn's young observer API
//! stays in its submodule `burn`.

#[cfg(feature = "train")]
pub mod adapter;
#[cfg(feature = "record")]
pub mod burn;
pub mod clock;
mod collector;
mod files;
mod item;
mod logger;
mod recorder;
mod ring;
mod short;
mod sink;
mod step;
mod warmup;

pub use clock::Stamp;
pub use item::{Args, Lane, Record, Shape, Value};
pub use logger::{LoggerTaken, route_log_to};
pub use recorder::{Notice, Notify, RecordError, RecordOptions, RecordStats, Recorder, ScopeGuard, SpanGuard, span};
pub use step::{LayerArgs, LayerGuard, PhaseGuard, StepHook, StepScope, layer, shapes_text};
pub use warmup::WarmUpProgress;

/// A host span from here to the end of the block, on the calling thread's track: `span!("decode");`
///
/// Costs two readings of the time stamp counter and a slot in a buffer; less than a nanosecond when nothing records.
#[macro_export]
macro_rules! span {
    ($name:expr) => {
        let _span = $crate::record::span($name);
    };
}

#[cfg(test)]
pub(crate) mod testing;
