//! A figure with its provenance, or the reason why there is none.
//!
//! Nothing that a user sees may be a bare number of unknown origin; what could not be measured is `Unknown` with a
//! sentence that says why, never zero.

use serde::{Deserialize, Serialize};

/// How a figure came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Timestamps written by the device itself.
    DeviceTimestamp,
    /// The host's monotonic clock.
    HostClock,
    /// Counted exactly (events, bytes, steps).
    Counted,
    /// Computed from the model's layers and shapes.
    Model,
    /// Computed from other measured figures.
    Derived,
    /// Read from the operating system or the driver.
    System,
}

impl Source {
    /// Words for a tooltip or a report column.
    pub fn label(self) -> &'static str {
        match self {
            Self::DeviceTimestamp => "device timestamps",
            Self::HostClock => "host clock",
            Self::Counted => "counted",
            Self::Model => "computed from the model's layers",
            Self::Derived => "derived from measured figures",
            Self::System => "reported by the system",
        }
    }
}

/// A measured value with its source and sample count, or the reason for its absence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known<T> {
    /// A figure, where it is from, and on how many samples it stands.
    Value {
        /// The figure, in the unit that its field's documentation names.
        value: T,
        /// How it was obtained.
        source: Source,
        /// Number of samples it stands on.
        n: u64,
    },
    /// Not known, and why, as a sentence for the user.
    Unknown(String),
}

impl<T> Known<T> {
    /// A figure with its provenance.
    pub fn value(value: T, source: Source, n: u64) -> Self {
        Self::Value { value, source, n }
    }

    /// No figure, with the reason.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown(reason.into())
    }

    /// The figure, if there is one.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Value { value, .. } => Some(value),
            Self::Unknown(_) => None,
        }
    }

    /// The reason for its absence, if it is absent.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Value { .. } => None,
            Self::Unknown(reason) => Some(reason),
        }
    }

    /// Where the figure is from, if there is one.
    pub fn source(&self) -> Option<Source> {
        match self {
            Self::Value { source, .. } => Some(*source),
            Self::Unknown(_) => None,
        }
    }
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self::Unknown("not measured".to_owned())
    }
}
