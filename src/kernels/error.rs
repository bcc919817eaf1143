//! Why a device could not be measured, and what to try.

use thiserror::Error;

/// What can go wrong with a device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KernelError {
    /// There is no graphics adapter at all.
    #[error("there is no graphics adapter")]
    NoAdapter,
    /// No adapter goes by that name or number.
    #[error("no adapter matches `{wanted}`; present: {}", present.join(", "))]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// Names of what is there.
        present: Vec<String>,
    },
    /// The driver would not open the adapter.
    #[error("{adapter} could not be opened: {message}")]
    Open {
        /// Name of the adapter.
        adapter: String,
        /// What the driver said.
        message: String,
    },
    /// The driver took the device away, or it stopped answering.
    #[error("the device was lost: {0}")]
    DeviceLost(String),
    /// Memory of the device ran out.
    #[error("the device is out of memory: {0}")]
    OutOfMemory(String),
    /// The device refused a kernel or a command.
    #[error("{kernel} was refused: {message}")]
    Refused {
        /// Name of the kernel.
        kernel: String,
        /// What the driver or the validation said.
        message: String,
    },
    /// A kernel computes wrong results, so its speed means nothing.
    #[error("{kernel} computes wrong results: {detail}")]
    Wrong {
        /// Name of the kernel.
        kernel: String,
        /// Where, what was expected, what came.
        detail: String,
    },
}

impl KernelError {
    /// What to try next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoAdapter => "Install a Vulkan driver (for a machine without GPU: mesa-vulkan-drivers), or use `cpu`",
            Self::NotFound { .. } => "Name one of those, or its number in `burnscope devices`",
            Self::Open { .. } => "Update the graphics driver, or use another device",
            Self::DeviceLost(_) => {
                "Close other programs that use the device and measure again; if it stays, update the driver"
            }
            Self::OutOfMemory(_) => "Close other programs that use the device and measure again",
            Self::Refused { .. } => "Update the graphics driver; if it stays, report it with this message",
            Self::Wrong { .. } => "Do not trust this device's results: update its driver, or use another device",
        }
    }
}
