//! What a span is about, whoever recorded it: found by its category, its track and its name.
//!
//! Categories are those of PyTorch's profiler (Kineto's `ActivityType.cpp` and, for files before 2022, its older names),
//! of Nsight and XProf as our readers name them, and our own.

use crate::model::TrackKind;
use crate::model::track::category;
use crate::trace::{NameId, Span, Trace, Track};
use serde::Serialize;

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// One step of the training, or a step as the program marked it.
    Step,
    /// A kernel on a device.
    Kernel,
    /// Devices exchange data (NCCL, RCCL, all-reduce).
    Communication,
    /// A copy to, from or within a device.
    Memcpy,
    /// Filling device memory.
    Memset,
    /// A call that waits for the device.
    Sync,
    /// A call of the device's runtime or driver, as a launch is.
    Runtime,
    /// Waiting for, or making, input.
    Input,
    /// A tensor operation on the host.
    Op,
    /// A function of the program.
    Function,
    /// A stretch that the program marked.
    Annotation,
    /// Anything else.
    Other,
}

impl Role {
    /// Words for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Kernel => "kernels",
            Self::Communication => "communication",
            Self::Memcpy => "memory copies",
            Self::Memset => "memory sets",
            Self::Sync => "waiting for the device",
            Self::Runtime => "launches and runtime calls",
            Self::Input => "input",
            Self::Op => "operations on the host",
            Self::Function => "functions",
            Self::Annotation => "annotations",
            Self::Other => "other",
        }
    }

    /// Whether a device does it.
    pub fn on_device(self) -> bool {
        matches!(self, Self::Kernel | Self::Communication | Self::Memcpy | Self::Memset)
    }
}

/// The roles of one trace's names and categories, found once.
pub struct Roles {
    by_category: Vec<Role>,
    by_name: Vec<Option<Role>>,
}

impl Roles {
    /// Looks at every name of a trace.
    pub fn of(trace: &Trace) -> Self {
        let names = || (0..trace.name_count()).map(|id| trace.name(NameId(id)));
        Self { by_category: names().map(of_category).collect(), by_name: names().map(of_name).collect() }
    }

    /// The role of a span.
    pub fn role(&self, track: &Track, span: &Span) -> Role {
        let by_category = self.by_category.get(span.category.0 as usize).copied().unwrap_or(Role::Other);
        let by_name = self.by_name.get(span.name.0 as usize).copied().flatten();
        let device = track.kind == TrackKind::Device;
        match (by_category, by_name) {
            (Role::Kernel, Some(Role::Communication)) => Role::Communication,
            (Role::Kernel | Role::Memcpy | Role::Memset, _) => by_category,
            // A device repeats the host's annotations over its own time; they are no work.
            (Role::Annotation | Role::Step, _) if device => Role::Annotation,
            (_, Some(Role::Memcpy)) if device => Role::Memcpy,
            (_, Some(Role::Memset)) if device => Role::Memset,
            (Role::Other, Some(Role::Communication)) if device => Role::Communication,
            (Role::Other, _) if device && track.name.to_lowercase().contains("step") => Role::Annotation,
            (Role::Other, _) if device => Role::Kernel,
            (Role::Runtime | Role::Function | Role::Other, Some(Role::Sync)) => Role::Sync,
            (Role::Op | Role::Annotation | Role::Function | Role::Other, Some(role @ (Role::Step | Role::Input))) => {
                role
            }
            _ if track.kind == TrackKind::Input => Role::Input,
            _ => by_category,
        }
    }
}

fn of_category(name: &str) -> Role {
    match name {
        category::STEP => Role::Step,
        "kernel" | "Kernel" => Role::Kernel,
        "gpu_memcpy" | "Memcpy" => Role::Memcpy,
        "gpu_memset" | "Memset" => Role::Memset,
        "cuda_runtime"
        | "cuda_driver"
        | "hip_runtime"
        | "Runtime"
        | "privateuse1_runtime"
        | "privateuse1_driver"
        | "xpu_runtime"
        | "mtia_runtime"
        | "runtime" => Role::Runtime,
        "cuda_sync" | "hip_sync" => Role::Sync,
        "cpu_op" | "Operator" | category::OP | category::BLOCK => Role::Op,
        category::INPUT => Role::Input,
        "user_annotation"
        | "gpu_user_annotation"
        | category::PHASE
        | category::LAYER
        | category::HOST
        | "nvtx"
        | "overhead" => Role::Annotation,
        "python_function" | "python" | "FEE" | "function" => Role::Function,
        _ => Role::Other,
    }
}

fn of_name(name: &str) -> Option<Role> {
    let has = |part: &str| name.contains(part);
    if name.starts_with("ProfilerStep") {
        return Some(Role::Step);
    }
    if has("DataLoader") {
        return Some(Role::Input);
    }
    if name.starts_with("nccl") || has("ncclKernel") || has("ncclDevKernel") || has("rccl") {
        return Some(Role::Communication);
    }
    // JAX's frames are called `$api.py:3154 block_until_ready`.
    if has("Synchronize") || has("block_until_ready") || has("try_to_block") {
        return Some(Role::Sync);
    }
    if name.starts_with("Memcpy") || name.starts_with("MemcpyD2H") || name.starts_with("MemcpyH2D") {
        return Some(Role::Memcpy);
    }
    if name.starts_with("Memset") {
        return Some(Role::Memset);
    }
    None
}
