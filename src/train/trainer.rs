//! The loop: one spec, one device, one learner; each call makes an exact number of measured steps.
//!
//! A step is timed in phases. Burn runs operations behind the host's back on graphics devices, so a phase is the time in
//! which the host asked for work; the device's time shows in the phase that waits, which is the readback.

use super::device::{self, OpenDevice};
use super::environment;
use super::errors::TrainError;
use super::feed::{Feed, in_order};
use super::learner::{Learner, Update, execution};
use super::process::prepare_process;
use super::summary::{median, summarize};
use super::thread::guard;
use super::watch::RecordedLayers;
use crate::data::Dataset;
use crate::model::manifest::WarmUp;
use crate::model::track::name;
use crate::model::{
    Environment, EventLevel, Known, Phase, RunSpec, RunSummary, Source, StepFlags, StepRecord, TraceLevel, category,
};
use crate::nn::{LayerInfo, Policy, build, layers};
use crate::record::burn::{MemoryUse, Observers, memory};
use crate::record::{Recorder, StepScope, route_log_to};
use burn::backend::DispatchDevice;
use burn::tensor::{DType, Device, Int, Tensor, TensorData, Transaction};
use burn_cubecl::CubeDevice;

/// Whether to go on after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Make the next step.
    Continue,
    /// Make no further step.
    Stop,
}

/// How many steps the trainer must be able to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// As many as the spec says: epochs × steps, the warm-up included.
    Spec,
    /// Until told to stop; epochs go on for ever.
    Open,
}

/// Steps after which the warm-up ends though the device was never quiet.
const WARM_UP_CAP: u64 = 60;

/// Trains one spec. Must be made and used on one thread, see [`super::on_training_thread`].
pub struct Trainer {
    spec: RunSpec,
    dataset: Dataset,
    recorder: Recorder,
    observers: Option<Observers>,
    device: OpenDevice,
    /// With autodiff.
    graph_device: Device,
    layers: Vec<LayerInfo>,
    policy: Policy,
    length: Length,
    steps_per_epoch: u64,
    learner: Learner,
    feed: Feed,
    /// Batches taken from the present feed.
    fed: u64,
    /// Steps made since the start, over restarts.
    made: u64,
    warm_up: WarmUp,
    peak_bytes: Option<u64>,
    skipped_before: u64,
    test_accuracy: Known<f64>,
    warnings: Vec<String>,
}

impl Trainer {
    /// Prepares the process, opens the device, draws the weights and starts the input pipeline.
    pub fn new(spec: &RunSpec, dataset: Dataset, recorder: Recorder, length: Length) -> Result<Self, TrainError> {
        guard(|| {
            prepare_process(spec)?;
            let mut warnings = Vec::new();
            if let Err(error) = route_log_to(&recorder) {
                warnings.push(error.to_string());
            }
            let device = device::open(&spec.train.device)?;
            let policy = Policy::of(spec.precision.mode);
            check_precision(policy, &device, spec)?;
            warnings.extend(liberties(spec, &device));
            for warning in &warnings {
                recorder.log(EventLevel::Warning, warning.clone());
            }
            let observers = cube_device(&device).and_then(|cube| Observers::install(&recorder, &cube));
            let graph_device = device.device.clone().autodiff();
            let steps_per_epoch = steps_per_epoch(spec, dataset.train.len())?;
            let seed = spec.train.seed;
            let feed = Feed::start(&dataset, spec, seed, epochs(spec, length), steps_per_epoch, &recorder)?;
            Ok(Self {
                learner: Learner::new(spec, seed, &graph_device),
                layers: build::layers(&spec.model, spec.train.batch),
                spec: spec.clone(),
                dataset,
                recorder,
                observers,
                device,
                graph_device,
                policy,
                length,
                steps_per_epoch,
                feed,
                fed: 0,
                made: 0,
                warm_up: WarmUp::default(),
                peak_bytes: None,
                skipped_before: 0,
                test_accuracy: Known::unknown("the test set was not evaluated"),
                warnings,
            })
        })
    }

    /// What the run runs on.
    pub fn environment(&self) -> Environment {
        environment::describe(&self.device)
    }

    /// Hash of the initial weights, as 16 hexadecimal digits. Runs that are compared must agree in it.
    pub fn weights_hash(&self) -> String {
        format!("{:016x}", self.learner.weights_hash())
    }

    /// The layers with their figures, in the order of the forward pass.
    pub fn layers(&self) -> &[LayerInfo] {
        &self.layers
    }

    /// Settings that were not followed to the letter, as sentences.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Steps made so far, warm-up included.
    pub fn steps_made(&self) -> u64 {
        self.made
    }

    /// Steps that the spec asks for: epochs × steps, warm-up included. [`u64::MAX`] with [`Length::Open`].
    pub fn total_steps(&self) -> u64 {
        match self.length {
            Length::Spec => self.steps_per_epoch.saturating_mul(self.spec.train.epochs as u64),
            Length::Open => u64::MAX,
        }
    }

    /// Fresh weights, optimizer, loss scale and data order from `seed`, without a new process: kernels stay compiled.
    /// The numbers of the steps go on.
    pub fn restart(&mut self, seed: u64) -> Result<(), TrainError> {
        guard(|| {
            self.skipped_before += self.learner.skipped().unwrap_or_default();
            self.learner = Learner::new(&self.spec, seed, &self.graph_device);
            let epochs = epochs(&self.spec, self.length);
            self.feed = Feed::start(&self.dataset, &self.spec, seed, epochs, self.steps_per_epoch, &self.recorder)?;
            self.fed = 0;
            Ok(())
        })
    }

    /// Makes steps until nothing was compiled, tuned or grown for `train.warmup_quiet_steps` steps in a row. All are
    /// marked cold. They are steps of the run: the model learns in them.
    pub fn warm_up(&mut self, each: &mut dyn FnMut(&StepRecord) -> Control) -> Result<WarmUp, TrainError> {
        let began = self.recorder.now_ns();
        let quiet_wanted = self.spec.train.warmup_quiet_steps as u64;
        let cap = WARM_UP_CAP.max(2 * quiet_wanted).min(self.total_steps().saturating_sub(self.made));
        let (mut quiet, mut most) = (0, 0);
        for n in 0..cap {
            let mut record = self.step_kind(StepKind::WarmUp)?;
            let reserved = self.memory().get().map_or(0, |memory| memory.reserved);
            let active = n == 0 || record.flags.contains(StepFlags::COLD) || grew(most, reserved);
            most = most.max(reserved);
            quiet = if active { 0 } else { quiet + 1 };
            record.flags.insert(StepFlags::COLD);
            self.warm_up.steps += 1;
            if each(&record) == Control::Stop || quiet == quiet_wanted {
                break;
            }
        }
        if quiet < quiet_wanted {
            let text = format!("the warm-up ended after {} steps before the device was quiet", self.warm_up.steps);
            self.recorder.log(EventLevel::Warning, text);
        }
        let progress = self.recorder.warm_up();
        self.warm_up.dur_ns += self.recorder.now_ns() - began;
        self.warm_up.compiled = progress.compiled;
        self.warm_up.tuned = progress.tuned;
        Ok(self.warm_up.clone())
    }

    /// Makes `steps` steps, exactly, unless `each` says stop; the last one reads back, so that the device has finished.
    /// Returns how many were made.
    pub fn run(&mut self, steps: u64, each: &mut dyn FnMut(&StepRecord) -> Control) -> Result<u64, TrainError> {
        for n in 0..steps {
            let kind = if n + 1 == steps { StepKind::Last } else { StepKind::Normal };
            let record = self.step_kind(kind)?;
            if each(&record) == Control::Stop {
                return Ok(n + 1);
            }
        }
        Ok(steps)
    }

    /// Makes one step.
    pub fn step(&mut self) -> Result<StepRecord, TrainError> {
        self.step_kind(StepKind::Normal)
    }

    /// Accuracy on the whole test set, 0 to 1. Reads in batches of the training size, the last one filled up, so that no
    /// kernel is compiled for another shape.
    pub fn evaluate(&mut self) -> Result<f64, TrainError> {
        let accuracy = guard(|| {
            let _span = self.recorder.scope(category::EVAL, "Evaluate on the test set");
            let (mut right, mut seen) = (0_u64, 0_u64);
            for batch in in_order(&*self.dataset.test, self.spec.train.batch) {
                let batch = batch?;
                let images = self.upload(batch.images)?.inner();
                let classes = self.learner.classify(images)?.try_into_data().map_err(|e| execution(&e))?;
                // Zip ends with the labels: what fills the batch up has none.
                let pairs = classes.iter::<i64>().zip(&batch.labels);
                right += pairs.filter(|(class, label)| *class == i64::from(**label)).count() as u64;
                seen += batch.labels.len() as u64;
            }
            if seen == 0 {
                return Err(TrainError::Data("the test set is empty".to_owned()));
            }
            Ok((right, seen))
        });
        let (right, seen) = accuracy?;
        let accuracy = right as f64 / seen as f64;
        self.test_accuracy = Known::value(accuracy, Source::Counted, seen);
        Ok(accuracy)
    }

    /// The run's figures from its step records; `device_busy` is for the analysis of the trace to fill in.
    pub fn summary(&self, steps: &[StepRecord]) -> RunSummary {
        let (ops_per_step, kernels_per_step) = self.counts(steps);
        let cpu = "the CPU backend (Flex) launches no kernels and keeps no account of its memory";
        RunSummary {
            flops_per_step: Known::value(layers::flops_per_step(&self.layers), Source::Model, 1),
            ops_per_step,
            kernels_per_step,
            cache_hit_rate: self.feed.cache_hit_rate(),
            skipped_steps: match self.learner.skipped() {
                Some(skipped) => Known::value(self.skipped_before + skipped, Source::Counted, self.made),
                None => Known::unknown("steps are skipped with precision.mode=mixed only"),
            },
            peak_device_bytes: match self.peak_bytes {
                Some(bytes) => Known::value(bytes, Source::Counted, self.made),
                None => Known::unknown(if self.device.is_cpu() { cpu } else { "the device did not report its memory" }),
            },
            warm_up: self.warm_up.clone(),
            test_accuracy: self.test_accuracy.clone(),
            parameters: layers::parameters(&self.layers),
            ..summarize(steps)
        }
    }

    /// Median operations and kernel launches of the traced steady steps.
    fn counts(&self, steps: &[StepRecord]) -> (Known<f64>, Known<f64>) {
        let Some(observers) = &self.observers else {
            let why = if self.device.is_cpu() {
                "the CPU backend (Flex) runs operations at once and cannot be observed"
            } else {
                "operations are recorded from trace.level=L1 on"
            };
            return (Known::unknown(why), Known::unknown(why));
        };
        let steady = |n: u64| steps.iter().any(|step| step.step == n && step.flags.steady());
        let counts: Vec<_> = observers.step_counts().into_iter().filter(|(n, _)| steady(*n)).collect();
        let known = |values: Vec<f64>| {
            let (mut values, n) = (values, counts.len() as u64);
            match median(&mut values) {
                Some(median) => Known::value(median, Source::Counted, n),
                None => Known::unknown("no steady step was traced"),
            }
        };
        (
            known(counts.iter().map(|(_, counts)| counts.ops as f64).collect()),
            known(counts.iter().map(|(_, counts)| counts.launches as f64).collect()),
        )
    }

    fn step_kind(&mut self, kind: StepKind) -> Result<StepRecord, TrainError> {
        let record = guard(|| self.make_step(kind))?;
        self.made += 1;
        self.fed += 1;
        Ok(record)
    }

    fn make_step(&mut self, kind: StepKind) -> Result<StepRecord, TrainError> {
        let n = self.made;
        let (sampled, traced) = self.recorded(n, kind);
        let epoch = u32::try_from(self.fed / self.steps_per_epoch).unwrap_or(u32::MAX);
        let step = self.recorder.step(n, epoch, sampled, traced);
        let batch = {
            let _phase = step.phase(Phase::InputWait);
            self.feed.next()?
        };
        let samples = batch.labels.len();
        let (images, labels) = {
            let _phase = step.phase(Phase::Upload);
            (self.upload(batch.images)?, self.upload_labels(batch.labels))
        };
        let logits = {
            let _phase = step.phase(Phase::Forward);
            self.learner.forward(images, &mut RecordedLayers::new(&self.layers, self.policy.compute.into()))?
        };
        let loss = {
            let _phase = step.phase(Phase::Loss);
            self.learner.loss(logits.clone(), labels.clone())
        };
        let grads = {
            let _phase = step.phase(Phase::Backward);
            self.learner.backward(&loss)
        };
        let loss_scale = self.learner.loss_scale();
        let update = {
            let _phase = step.phase(Phase::Optimizer);
            self.learner.update(grads, n)?
        };
        if update == Update::Skipped {
            step.flag(StepFlags::SKIPPED);
        }
        let read = if kind != StepKind::Normal || (n + 1).is_multiple_of(self.spec.train.readback_every as u64) {
            Some(self.read_back(&step, loss, logits, labels)?)
        } else {
            None
        };
        let mut record = step.finish();
        record.samples = u32::try_from(samples).unwrap_or(u32::MAX);
        record.loss_scale = loss_scale;
        if let Some((loss, right)) = read {
            if !loss.is_finite() && loss_scale.is_none() {
                let what =
                    format!("the loss is {loss}: the numbers left what {} can hold", self.spec.precision.mode.id());
                return Err(TrainError::Numerics { step: n, what });
            }
            record.loss = Some(loss);
            record.accuracy = Some(right as f32 / samples.max(1) as f32);
        }
        Ok(record)
    }

    /// Whether step `n` times kernels, and whether it records operations.
    fn recorded(&self, n: u64, kind: StepKind) -> (bool, bool) {
        let (sample, untraced) = (self.spec.trace.sample_every as u64, self.spec.trace.untraced_every as u64);
        let timed = self.recorder.level() == Some(TraceLevel::L2) && !self.device.is_cpu();
        // Timing kernels during the warm-up would disturb the tuner.
        let sampled = timed && kind != StepKind::WarmUp && (n + 1).is_multiple_of(sample.max(1));
        // Half a period off, so that equal periods do not fall on the same steps.
        let left_out = kind != StepKind::WarmUp && untraced > 0 && (n + 1 + untraced / 2).is_multiple_of(untraced);
        (sampled, sampled || !left_out)
    }

    /// `[batch, 3, 32, 32]` in the compute format; cast on the device.
    fn upload(&self, images: Vec<f32>) -> Result<Tensor<4>, TrainError> {
        let [channels, height, width] = layers::IMAGE_SHAPE;
        let count = images.len() / (channels * height * width);
        if count * channels * height * width != images.len() {
            return Err(TrainError::Data(format!("a batch of {} values is no batch of images", images.len())));
        }
        let data = TensorData::new(images, [count, channels, height, width]);
        let tensor: Tensor<4> = Tensor::from_data(data, (&self.graph_device, DType::F32));
        Ok(tensor.cast(self.policy.compute))
    }

    fn upload_labels(&self, labels: Vec<i32>) -> Tensor<1, Int> {
        let count = labels.len();
        Tensor::from_data(TensorData::new(labels, [count]), &self.graph_device)
    }

    /// Loss and number of right answers, read in one go, so that the host waits once.
    fn read_back(
        &mut self,
        step: &StepScope,
        loss: Tensor<1>,
        logits: Tensor<2>,
        labels: Tensor<1, Int>,
    ) -> Result<(f32, i64), TrainError> {
        let _phase = step.phase(Phase::Readback);
        let right = logits.inner().argmax(1).flatten::<1>(0, 1).equal(labels.inner()).int().sum();
        let read = Transaction::default().register(loss.inner()).register(right).try_execute();
        let read = read.map_err(|e| execution(&e))?;
        let [loss, right] = read.as_slice() else {
            return Err(TrainError::Execution("the device returned no loss".to_owned()));
        };
        if step.traced() {
            self.note_memory();
        }
        let (loss, right) = (loss.iter::<f32>().next(), right.iter::<i64>().next());
        Ok((loss.unwrap_or(f32::NAN), right.unwrap_or_default()))
    }

    fn note_memory(&mut self) {
        if let Some(memory) = self.memory().get() {
            self.recorder.counter(name::MEMORY_COUNTER, "bytes", memory.in_use as f64);
            self.recorder.counter(name::POOL_COUNTER, "bytes", memory.reserved as f64);
            self.peak_bytes = self.peak_bytes.max(Some(memory.reserved));
        }
    }

    fn memory(&self) -> Known<MemoryUse> {
        match cube_device(&self.device) {
            Some(cube) => memory(&cube),
            None => Known::unknown("the CPU backend (Flex) keeps no account of its memory"),
        }
    }
}

/// Whether memory pools grew. Buffers for transfers creep by a thousandth for many steps; that is no growth.
fn grew(before: u64, now: u64) -> bool {
    now > before.saturating_add(before / 50)
}

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    /// Part of the warm-up: never sampled, always traced and read back.
    WarmUp,
    /// Any other.
    Normal,
    /// The last of a series: always read back.
    Last,
}

/// The device as CubeCL knows it; `None` for Flex.
fn cube_device(device: &OpenDevice) -> Option<CubeDevice> {
    match device.device.as_dispatch() {
        DispatchDevice::Cube(cube) => Some(cube.clone()),
        _ => None,
    }
}

fn epochs(spec: &RunSpec, length: Length) -> usize {
    match length {
        Length::Spec => spec.train.epochs,
        Length::Open => usize::MAX,
    }
}

/// Steps of an epoch: the spec's, or as many whole batches as there are.
fn steps_per_epoch(spec: &RunSpec, images: usize) -> Result<u64, TrainError> {
    let whole = images / spec.train.batch.max(1);
    match spec.train.steps {
        0 if whole == 0 => Err(TrainError::Data(format!(
            "{images} training images do not fill one batch of {}; lower train.batch",
            spec.train.batch
        ))),
        0 => Ok(whole as u64),
        steps => Ok(steps as u64),
    }
}

fn check_precision(policy: Policy, device: &OpenDevice, spec: &RunSpec) -> Result<(), TrainError> {
    let mode = spec.precision.mode.id();
    if !policy.needs_f16() {
        return Ok(());
    }
    let reason = match &device.adapter {
        None => format!("precision.mode={mode}: the CPU backend (Flex) has no fast f16"),
        Some(adapter) if !adapter.f16 || !device.device.supports_dtype(DType::F16) => {
            format!("precision.mode={mode}: {} has no 16-bit arithmetic in shaders (SHADER_F16)", adapter.name)
        }
        Some(_) => return Ok(()),
    };
    Err(TrainError::Unsupported { reason })
}

/// Settings that cannot be followed to the letter, as sentences.
fn liberties(spec: &RunSpec, device: &OpenDevice) -> Vec<String> {
    let mut said = Vec::new();
    if device.is_cpu() && spec.compiler.fusion {
        said.push("compiler.fusion has no effect: the CPU backend (Flex) runs each operation at once".to_owned());
    }
    if device.is_cpu() && spec.trace.level == TraceLevel::L2 {
        said.push("trace.level=L2 records what L1 does: the CPU backend (Flex) launches no kernels to time".to_owned());
    }
    said
}
