//! Burn seen from inside: every operation, fused block and kernel, with phase, layer, shapes and, on sampled steps, device
//! times. Everything that depends on Burn's and CubeCL's young observer interfaces is in this folder.
//!
//! Works on every CubeCL device, with fusion on or off (`BURN_FUSION_MAX_EXPLORATIONS=0` in the environment before the
//! first tensor). The CPU backend Flex runs operations at once on the calling thread and has no observer: there, layers
//! and phases are what is recorded.

mod blocks;
mod config;
mod context;
mod device_clock;
mod kernels;
mod memory;
mod opinfo;
mod work;

pub use blocks::StepCounts;
pub use config::{ConfigError, configure, set_autotune_level};
pub use memory::{MemoryUse, memory};

use super::Recorder;
use super::clock::raw_now;
use super::step::StepHook;
use crate::model::{EventKind, EventLevel, Known, Phase, TraceLevel};
use blocks::{BlockObserver, KernelObserver, Shared};
use burn_cubecl::{CubeBackend, CubeDevice};
use burn_fusion::observer::FusionObservation;
use context::Context;
use cubecl::logging::LaunchObservation;
use parking_lot::Mutex;
use std::sync::Arc;

/// Records Burn's operations and kernels for as long as it lives.
#[must_use = "nothing is observed any more once this is dropped"]
pub struct Observers {
    hook: Arc<Hook>,
    blocks: Option<FusionObservation>,
    launches: Option<LaunchObservation>,
}

/// The training thread's side: marks contexts, and switches device timing on for sampled steps.
struct Hook {
    shared: Arc<Shared>,
    device: CubeDevice,
    client: burn_fusion::Client<<CubeBackend as burn_fusion::FusionBackend>::FusionRuntime>,
    sampling: Arc<Mutex<Option<LaunchObservation>>>,
    sampled: Mutex<bool>,
}

impl Observers {
    /// Observes the fusion server of `device` on behalf of `recorder`, at the recorder's level; `None` if that is L0 or
    /// nothing is recorded. There should be one at a time: CubeCL has one place for an observer of launches.
    ///
    /// The device is initialized if it was not; where that can fail, do it before through Burn's `wgpu_options`.
    pub fn install(recorder: &Recorder, device: &CubeDevice) -> Option<Self> {
        recorder.level().filter(|level| *level >= TraceLevel::L1)?;
        let shared = Arc::new(Shared::new(recorder.clone()));
        let hook = Arc::new(Hook {
            shared: Arc::clone(&shared),
            device: device.clone(),
            client: burn_fusion::get_client::<CubeBackend>(device),
            sampling: Arc::default(),
            sampled: Mutex::new(false),
        });
        recorder.set_hook(Some(Arc::clone(&hook) as Arc<dyn StepHook>));
        Some(Self {
            hook,
            blocks: Some(FusionObservation::new(Arc::new(BlockObserver(Arc::clone(&shared))))),
            launches: Some(LaunchObservation::new(Arc::new(KernelObserver { shared, timed: false }))),
        })
    }

    /// What was counted in each traced step, in the order of steps; of a long run the last 10,000.
    ///
    /// The last step may lack operations that fusion has not run yet.
    pub fn step_counts(&self) -> Vec<(u64, StepCounts)> {
        self.hook.shared.counts.lock().iter().map(|(step, counts)| (*step, *counts)).collect()
    }

    /// How far kernels may lie from their place on the run's clock, in nanoseconds.
    pub fn clock_error_ns(&self) -> Known<i64> {
        self.hook.shared.kernels.clock_error_ns()
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        self.hook.shared.recorder.set_hook(None);
        self.blocks = None;
        self.launches = None;
    }
}

impl Hook {
    /// From here on, work of the training thread belongs to this context.
    fn mark(&self, context: Context) {
        // A tensor number that no tensor gets; see `context`.
        let id = self.client.create_empty_handle().value();
        self.shared.contexts.lock().mark(id, context);
    }

    fn start_sampling(&self) {
        *self.sampled.lock() = true;
        let observer = Arc::new(KernelObserver { shared: Arc::clone(&self.shared), timed: true });
        let slot = Arc::clone(&self.sampling);
        // Drains what earlier steps left, then swaps observers on the thread that launches, so that none is in between.
        let swapped = self.client.try_sync(move || *slot.lock() = Some(LaunchObservation::new(observer)));
        if let Err(error) = swapped {
            self.complain(format!("kernels of this step are not timed: {error:?}"));
        }
    }

    fn stop_sampling(&self) {
        let slot = Arc::clone(&self.sampling);
        if let Err(error) = self.client.try_sync(move || drop(slot.lock().take())) {
            self.complain(format!("kernels of this step may lack: {error:?}"));
        }
        if let Err(error) = futures_lite::future::block_on(self.device.client().sync()) {
            self.complain(format!("the device failed while it finished a sampled step: {error:?}"));
        }
        let done_ns = self.shared.recorder.clock().raw_ns(raw_now());
        self.shared.kernels.resolve(done_ns);
    }

    fn complain(&self, text: String) {
        self.shared.recorder.note(EventLevel::Warning, EventKind::Recorder, "kernel times", text);
    }
}

impl StepHook for Hook {
    fn step_begins(&self, step: u64, traced: bool, sampled: bool) {
        if sampled {
            self.start_sampling();
        }
        self.mark(Context { step: Some(step), traced, phase: None, layer: None });
    }

    fn context(&self, phase: Option<Phase>, layer: Option<&Arc<str>>) {
        let last = self.shared.contexts.lock().last().map(|context| (context.step, context.traced));
        if let Some((step, traced)) = last {
            self.mark(Context { step, traced, phase, layer: layer.cloned() });
        }
    }

    fn step_ends(&self, _step: u64) {
        if std::mem::take(&mut *self.sampled.lock()) {
            self.stop_sampling();
        }
        // Work between steps (evaluation, say) is recorded, and belongs to none.
        self.mark(Context { step: None, traced: true, phase: None, layer: None });
    }
}
