//! `run.json`: what was asked, what it ran on, how it ended and what came out.

use super::known::{Known, Source};
use super::phase::Phase;
use super::spec::RunSpec;
use serde::{Deserialize, Serialize};

/// Version of the run folder's format; raised with every change that an older reader would misread.
pub const RUN_FORMAT_VERSION: u32 = 1;

/// A graphics adapter as its driver describes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AdapterInfo {
    /// Name from the driver.
    pub name: String,
    /// `Vulkan`, `Metal`, `Dx12`, `Gl`.
    pub backend: String,
    /// Driver and its version.
    pub driver: String,
    /// `discrete GPU`, `integrated GPU`, `software (CPU)`, …
    pub device_type: String,
    /// Whether the adapter is emulated on the CPU (lavapipe, WARP).
    pub software: bool,
    /// 16-bit arithmetic in shaders.
    pub f16: bool,
    /// Timestamps inside compute passes.
    pub timestamps: bool,
    /// Largest storage buffer, in bytes.
    pub max_buffer_bytes: u64,
    /// Largest number of invocations of a workgroup.
    pub max_workgroup_invocations: u32,
    /// Memory of a workgroup, in bytes.
    pub workgroup_memory_bytes: u32,
}

impl AdapterInfo {
    /// Name and interface, which tell apart one adapter that is reached through several: `llvmpipe (256 bits) (Vulkan)`.
    pub fn label(&self) -> String {
        format!("{} ({})", self.name, self.backend)
    }

    /// Whether a user who writes `wanted` can mean this adapter: a part of its label or its driver, in any case. A
    /// software adapter goes by `lavapipe` and `llvmpipe` alike.
    pub fn answers_to(&self, wanted: &str) -> bool {
        let wanted = wanted.trim().to_lowercase();
        let wanted = if wanted == "lavapipe" { "llvmpipe" } else { &wanted };
        format!("{} {}", self.label(), self.driver).to_lowercase().contains(wanted)
    }
}

/// What a run ran on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Version of Burnscope.
    pub burnscope: String,
    /// Version of Burn.
    pub burn: String,
    /// Version of CubeCL.
    pub cubecl: String,
    /// Operating system and kernel.
    pub os: String,
    /// CPU model.
    pub cpu: String,
    /// Logical cores.
    pub cores: usize,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// Load average over one minute at the start, where the system has one.
    pub load_average: Option<f64>,
    /// Name of the device the run trained on, for the user.
    pub device: String,
    /// The adapter, or `None` on the CPU (Flex).
    pub adapter: Option<AdapterInfo>,
}

/// How a run ended, or that it has not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum RunEnd {
    /// Still going, or its worker died without a word: the conductor decides which.
    #[default]
    Running,
    /// All steps were made.
    Finished,
    /// The user stopped it.
    Stopped,
    /// It failed with a message.
    Failed {
        /// What went wrong.
        message: String,
        /// What to try.
        hint: String,
    },
    /// The worker was killed.
    Killed {
        /// Signal or exit code, in words.
        how: String,
    },
    /// Host or device memory ran out.
    OutOfMemory {
        /// What is known of it.
        message: String,
    },
    /// The device was lost.
    DeviceLost {
        /// What the driver said.
        message: String,
    },
    /// Nothing was heard of the worker for too long.
    Hung {
        /// Seconds of silence.
        silent_secs: u64,
    },
}

impl RunEnd {
    /// One or two words for a list.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Failed { .. } => "failed",
            Self::Killed { .. } => "killed",
            Self::OutOfMemory { .. } => "out of memory",
            Self::DeviceLost { .. } => "device lost",
            Self::Hung { .. } => "hung",
        }
    }

    /// Whether the run came to its planned end, or was stopped by the user.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Finished | Self::Stopped)
    }

    /// The whole story, where there is more than the label.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Running | Self::Finished | Self::Stopped => None,
            Self::Failed { message, hint } if hint.is_empty() => Some(message.clone()),
            Self::Failed { message, hint } => Some(format!("{message}. {hint}")),
            Self::Killed { how } => Some(how.clone()),
            Self::OutOfMemory { message } | Self::DeviceLost { message } => Some(message.clone()),
            Self::Hung { silent_secs } => Some(format!("no sign of life for {silent_secs} s")),
        }
    }
}

/// The cost of starting: everything before the steps are steady.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WarmUp {
    /// Wall time from the start of the first step to the end of the warm-up, in nanoseconds.
    pub dur_ns: i64,
    /// Steps in the warm-up.
    pub steps: u64,
    /// Kernels or pipelines compiled.
    pub compiled: u64,
    /// Kernel choices that were tuned.
    pub tuned: u64,
}

/// Results of a run over its steady steps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSummary {
    /// All steps made, warm-up included.
    pub steps: u64,
    /// Steps that the figures below stand on: neither cold, sampled nor perturbed.
    pub steady_steps: u64,
    /// Median step time, in nanoseconds.
    pub step_median_ns: Known<f64>,
    /// Median absolute deviation of the step time, in nanoseconds.
    pub step_mad_ns: Known<f64>,
    /// 95th percentile of the step time, in nanoseconds.
    pub step_p95_ns: Known<f64>,
    /// Samples a second at the median step time.
    pub samples_per_sec: Known<f64>,
    /// Median time of each phase, in nanoseconds, in the order of [`Phase::ALL`].
    pub phase_median_ns: [f64; Phase::COUNT],
    /// Floating-point operations of a step (forward and backward), from the layers.
    pub flops_per_step: Known<u64>,
    /// Share of wall time in which at least one kernel ran, 0 to 1.
    pub device_busy: Known<f64>,
    /// Kernel launches of a step, median.
    pub kernels_per_step: Known<f64>,
    /// Tensor operations of a step, median.
    pub ops_per_step: Known<f64>,
    /// Relative cost of recording: traced over untraced step time, minus one.
    pub recorder_cost: Known<f64>,
    /// Share of images that came from the cache, 0 to 1.
    pub cache_hit_rate: Known<f64>,
    /// Steps whose update was skipped by the loss scaler.
    pub skipped_steps: Known<u64>,
    /// Peak of device memory held by the pools, for tensors or for reuse, in bytes.
    pub peak_device_bytes: Known<u64>,
    /// Cold start.
    pub warm_up: WarmUp,
    /// Loss of the last step that was read back.
    pub final_loss: Option<f32>,
    /// Accuracy on the test set, 0 to 1.
    pub test_accuracy: Known<f64>,
    /// Parameters of the model.
    pub parameters: u64,
}

impl RunSummary {
    /// Floating-point operations of a step over its median time, a second.
    pub fn compute_rate(&self) -> Known<f64> {
        match (&self.flops_per_step, &self.step_median_ns) {
            (Known::Value { value: flops, .. }, Known::Value { value: ns, n, .. }) if *ns > 0.0 => {
                Known::value(*flops as f64 / (ns / 1e9), Source::Derived, *n)
            }
            (Known::Unknown(why), _) | (_, Known::Unknown(why)) => Known::unknown(why.clone()),
            _ => Known::unknown("the steps took no time"),
        }
    }
}

/// A run's place in an interleaved experiment; runs with the same id were made block by block in turn, and the `block`
/// column of their steps pairs them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExperimentRef {
    /// The experiment.
    pub id: String,
    /// `ladder` or `ab`.
    pub kind: String,
    /// Number of this run's arm, from 0, which is the baseline.
    pub arm: usize,
    /// Name of the arm.
    pub name: String,
    /// Stages that were left out, with their reasons (kept with the baseline only).
    pub refused: Vec<(String, String)>,
    /// Blocks that were repeated because others used the machine.
    pub repeated_blocks: u32,
    /// Blocks that were disturbed too, but kept, because enough had been repeated already.
    pub disturbed_blocks: u32,
}

/// The whole of `run.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunManifest {
    /// See [`RUN_FORMAT_VERSION`].
    pub format_version: u32,
    /// The run's folder name, unique in its library.
    pub id: String,
    /// A name for people.
    pub title: String,
    /// Words by which the user groups runs.
    pub tags: Vec<String>,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// Process that runs it, while it does.
    pub worker_pid: Option<u32>,
    /// What was asked.
    pub spec: RunSpec,
    /// The experiment that it is an arm of, if any.
    pub experiment: Option<ExperimentRef>,
    /// What it ran on.
    pub environment: Environment,
    /// How it ended.
    pub end: RunEnd,
    /// What came out, once it ended.
    pub summary: Option<RunSummary>,
    /// Recording trouble that the reader should know of, as sentences.
    pub warnings: Vec<String>,
}
