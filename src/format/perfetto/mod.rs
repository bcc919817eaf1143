//! Perfetto's trace format: a stream of packets with track events and interned strings. The run folder's
//! `trace.pftrace` is written in it, and Perfetto's own window opens it.
//!
//! Field numbers are from Perfetto's `protos/perfetto/trace/*.proto`.

mod clocks;
mod convert;
mod legacy;
mod reader;
mod sequence;
#[cfg(test)]
mod tests;
mod writer;

pub use convert::{to_bytes, write};
pub use reader::PerfettoReader;
pub use writer::{Arg, PacketWriter};

/// Numbers of the fields that are written or read.
mod field {
    pub mod trace {
        pub const PACKET: u32 = 1;
    }
    pub mod packet {
        pub const CHROME_EVENTS: u32 = 5;
        pub const CLOCK_SNAPSHOT: u32 = 6;
        pub const TIMESTAMP: u32 = 8;
        pub const SEQUENCE_ID: u32 = 10;
        pub const TRACK_EVENT: u32 = 11;
        pub const INTERNED_DATA: u32 = 12;
        pub const SEQUENCE_FLAGS: u32 = 13;
        pub const THREAD_DESCRIPTOR: u32 = 44;
        pub const CLOCK_ID: u32 = 58;
        pub const DEFAULTS: u32 = 59;
        pub const TRACK_DESCRIPTOR: u32 = 60;
    }
    pub mod sequence_flag {
        pub const STATE_CLEARED: u64 = 1;
        pub const NEEDS_STATE: u64 = 2;
    }
    pub mod defaults {
        pub const TRACK_EVENT: u32 = 11;
        pub const CLOCK_ID: u32 = 58;
        pub const TRACK_UUID: u32 = 11;
    }
    pub mod event {
        pub const TIME_DELTA_US: u32 = 1;
        pub const LEGACY: u32 = 6;
        pub const TIME_ABSOLUTE_US: u32 = 16;
        pub const CATEGORY_IID: u32 = 3;
        pub const ANNOTATION: u32 = 4;
        pub const TYPE: u32 = 9;
        pub const NAME_IID: u32 = 10;
        pub const TRACK_UUID: u32 = 11;
        pub const CATEGORY: u32 = 22;
        pub const NAME: u32 = 23;
        pub const COUNTER_INT: u32 = 30;
        pub const COUNTER_DOUBLE: u32 = 44;
        pub const FLOW_ID_OLD: u32 = 36;
        pub const TERMINATING_FLOW_ID_OLD: u32 = 42;
        pub const FLOW_ID: u32 = 47;
        pub const TERMINATING_FLOW_ID: u32 = 48;
    }
    pub mod event_type {
        pub const BEGIN: u64 = 1;
        pub const END: u64 = 2;
        pub const INSTANT: u64 = 3;
        pub const COUNTER: u64 = 4;
    }
    pub mod annotation {
        pub const NAME_IID: u32 = 1;
        pub const BOOL: u32 = 2;
        pub const UINT: u32 = 3;
        pub const INT: u32 = 4;
        pub const DOUBLE: u32 = 5;
        pub const STRING: u32 = 6;
        pub const POINTER: u32 = 7;
        pub const LEGACY_JSON: u32 = 9;
        pub const NAME: u32 = 10;
        pub const STRING_IID: u32 = 17;
    }
    pub mod interned {
        pub const CATEGORIES: u32 = 1;
        pub const NAMES: u32 = 2;
        pub const ANNOTATION_NAMES: u32 = 3;
        pub const ANNOTATION_STRINGS: u32 = 29;
        /// Within each entry.
        pub const IID: u32 = 1;
        pub const TEXT: u32 = 2;
    }
    pub mod track {
        pub const UUID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const PROCESS: u32 = 3;
        pub const THREAD: u32 = 4;
        pub const PARENT: u32 = 5;
        pub const COUNTER: u32 = 8;
        pub const STATIC_NAME: u32 = 10;
    }
    pub mod process {
        pub const PID: u32 = 1;
        pub const NAME: u32 = 6;
    }
    pub mod thread {
        pub const TID: u32 = 2;
        pub const NAME: u32 = 5;
        pub const REFERENCE_TIME_US: u32 = 6;
    }
    pub mod clock_snapshot {
        pub const CLOCK: u32 = 1;
        pub const PRIMARY: u32 = 2;
    }
    pub mod clock {
        pub const ID: u32 = 1;
        pub const TIMESTAMP: u32 = 2;
        pub const INCREMENTAL: u32 = 3;
        pub const UNIT_NS: u32 = 4;
    }
    pub mod chrome_events {
        pub const METADATA: u32 = 2;
        /// Within each entry.
        pub const NAME: u32 = 1;
        pub const STRING: u32 = 2;
    }
    pub mod legacy {
        pub const NAME_IID: u32 = 1;
        pub const PHASE: u32 = 2;
        pub const DURATION_US: u32 = 3;
        pub const UNSCOPED_ID: u32 = 6;
        pub const ID_SCOPE: u32 = 7;
        pub const BIND_ID: u32 = 8;
        pub const LOCAL_ID: u32 = 10;
        pub const GLOBAL_ID: u32 = 11;
        pub const FLOW_DIRECTION: u32 = 13;
        pub const PID_OVERRIDE: u32 = 18;
        pub const TID_OVERRIDE: u32 = 19;
    }
    pub mod counter {
        pub const UNIT: u32 = 3;
        pub const MULTIPLIER: u32 = 4;
        pub const INCREMENTAL: u32 = 5;
        pub const UNIT_NAME: u32 = 6;
    }
}
