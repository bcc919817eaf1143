//! XProf's XSpace (`.xplane.pb`), which TensorFlow, JAX and XProf itself write: planes of lines of events, in picoseconds.
//!
//! Field numbers are from `tsl/profiler/protobuf/xplane.proto`.

mod events;
mod reader;
#[cfg(test)]
mod tests;

pub(super) use reader::Reader;
pub use reader::{looks_like, read};

/// Numbers of the fields that are read.
mod field {
    pub mod space {
        pub const PLANE: u32 = 1;
        pub const ERROR: u32 = 2;
        pub const WARNING: u32 = 3;
        pub const HOST: u32 = 4;
    }
    pub mod plane {
        pub const ID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const LINE: u32 = 3;
        pub const EVENT_METADATA: u32 = 4;
        pub const STAT_METADATA: u32 = 5;
        pub const STAT: u32 = 6;
    }
    pub mod map {
        pub const KEY: u32 = 1;
        pub const VALUE: u32 = 2;
    }
    pub mod line {
        pub const ID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const TIMESTAMP_NS: u32 = 3;
        pub const EVENT: u32 = 4;
        pub const DURATION_PS: u32 = 9;
        pub const DISPLAY_ID: u32 = 10;
        pub const DISPLAY_NAME: u32 = 11;
    }
    pub mod event {
        pub const METADATA_ID: u32 = 1;
        pub const OFFSET_PS: u32 = 2;
        pub const DURATION_PS: u32 = 3;
        pub const STAT: u32 = 4;
        pub const NUM_OCCURRENCES: u32 = 5;
    }
    pub mod stat {
        pub const METADATA_ID: u32 = 1;
        pub const DOUBLE: u32 = 2;
        pub const UINT64: u32 = 3;
        pub const INT64: u32 = 4;
        pub const STR: u32 = 5;
        pub const BYTES: u32 = 6;
        pub const REF: u32 = 7;
    }
    pub mod metadata {
        pub const NAME: u32 = 2;
        pub const DISPLAY_NAME: u32 = 4;
        pub const STAT: u32 = 5;
    }
}
