//! Why training did not start or did not go on, told so that a person knows what to do next.

use crate::model::RunEnd;
use thiserror::Error;

/// What can go wrong while training.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum TrainError {
    /// The device that was asked for is not there.
    #[error("no device matches `{wanted}`: {why}; present: {}", list(present))]
    NoDevice {
        /// The spec's `train.device`.
        wanted: String,
        /// Names of what is there.
        present: Vec<String>,
        /// What the driver said, or what was looked for.
        why: String,
    },
    /// The device or the process cannot do what the spec asks.
    #[error("{reason}")]
    Unsupported {
        /// What is missing.
        reason: String,
    },
    /// The driver took the device away.
    #[error("the device was lost: {0}")]
    DeviceLost(String),
    /// Memory of the device or of the host ran out.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The data could not be read.
    #[error("{0}")]
    Data(String),
    /// The recording could not be written.
    #[error("{0}")]
    Record(String),
    /// The numbers went astray.
    #[error("step {step}: {what}")]
    Numerics {
        /// Number of the step.
        step: u64,
        /// What was seen.
        what: String,
    },
    /// An operation failed on the device for another reason.
    #[error("the device could not execute an operation: {0}")]
    Execution(String),
    /// A library gave up.
    #[error("training broke off: {0}")]
    Panic(String),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "only the CPU".to_owned() } else { format!("{}, and the CPU", names.join(", ")) }
}

impl TrainError {
    /// What went wrong, as a sentence.
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// What to try next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoDevice { .. } => "Set train.device to cpu or to a part of a listed name (see `burnscope devices`)",
            Self::Unsupported { .. } => "Change the setting that is named, or choose another device",
            Self::DeviceLost(_) => "Start the run again; if it happens again, update the driver or lower train.batch",
            Self::OutOfMemory(_) => "Lower train.batch, or choose a device with more memory",
            Self::Data(_) => "Check data.source",
            Self::Record(_) => "Check that the run folder can be written and the disk has room",
            Self::Numerics { .. } => "Lower optimizer.lr, or compute with precision.mode=f32",
            Self::Execution(_) => {
                "Start the run again; if it happens again, try compiler.fusion=false or train.device=cpu"
            }
            Self::Panic(_) => "Start the run again; if it happens again, try train.device=cpu",
        }
    }

    /// How a run ends that met this error.
    pub fn run_end(&self) -> RunEnd {
        match self {
            Self::DeviceLost(message) => RunEnd::DeviceLost { message: message.clone() },
            Self::OutOfMemory(message) => RunEnd::OutOfMemory { message: message.clone() },
            other => RunEnd::Failed { message: other.message(), hint: other.hint().to_owned() },
        }
    }

    /// Sorts the text of a panic or of a failed operation. Burn and wgpu pass their errors on as text only.
    pub(super) fn classify(text: &str, otherwise: fn(String) -> Self) -> Self {
        let lower = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let brief = brief(text);
        if says(&[
            "out of memory",
            "can't allocate",
            "outofmemory",
            "out_of_device_memory",
            "out_of_host_memory",
            "memory allocation of",
        ]) {
            Self::OutOfMemory(brief)
        } else if says(&["device lost", "devicelost", "device_lost", "device is lost", "is poisoned", "parent device"])
        {
            Self::DeviceLost(brief)
        } else {
            otherwise(brief)
        }
    }
}

/// The lines of an error text that say something to a person, without stack traces, at most 500 characters.
fn brief(text: &str) -> String {
    let noise = |line: &str| {
        let line = line.to_lowercase();
        line.is_empty() || line == "caused by:" || line == "asked at:" || line.starts_with("no backtrace")
    };
    let lines = text.lines().map(str::trim).filter(|line| !noise(line));
    let kept: Vec<&str> = lines.take_while(|line| !line.to_lowercase().starts_with("backtrace")).collect();
    kept.join(": ").chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn texts_of_burn_and_wgpu_are_sorted() {
        let class = |text| TrainError::classify(text, TrainError::Panic);
        assert!(matches!(class("wgpu error: Out of Memory"), TrainError::OutOfMemory(_)));
        let late = "An error happened during execution\nCaused by:\n  An IO error happened\nCaused by:\n  can't allocate \
                    buffer of size: 245760000\nNo backtrace available";
        assert!(matches!(class(late), TrainError::OutOfMemory(brief) if brief.ends_with("size: 245760000")));
        assert!(matches!(class("VK_ERROR_OUT_OF_DEVICE_MEMORY"), TrainError::OutOfMemory(_)));
        assert!(matches!(class("Parent device is lost"), TrainError::DeviceLost(_)));
        assert!(matches!(class("The device is poisoned\nCaused by:\n  fault"), TrainError::DeviceLost(_)));
        assert_eq!(class("index 3 out of range"), TrainError::Panic("index 3 out of range".to_owned()));
    }

    #[test]
    fn stack_traces_are_left_out() {
        let text = "An error happened during execution\nCaused by:\n  bad shape\nBackTrace:\n 0: main";
        let TrainError::Execution(brief) = TrainError::classify(text, TrainError::Execution) else {
            panic!("misclassified");
        };
        assert_eq!(brief, "An error happened during execution: bad shape");
    }

    #[test]
    fn a_missing_device_names_what_is_there() {
        let error = TrainError::NoDevice {
            wanted: "RTX".to_owned(),
            present: vec!["llvmpipe (Vulkan)".to_owned()],
            why: "no adapter's name contains it".to_owned(),
        };
        assert!(error.message().contains("llvmpipe (Vulkan), and the CPU"), "{}", error.message());
        assert!(matches!(error.run_end(), RunEnd::Failed { hint, .. } if hint.contains("burnscope devices")));
    }
}
