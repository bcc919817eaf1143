//! What learns: model, loss, optimizer and loss scale. One seed always makes the same learner.

use super::errors::TrainError;
use super::optimizer;
use crate::model::RunSpec;
use crate::nn::precision::unscale;
use crate::nn::{LayerScope, LossScaler, Model, Policy, ScalerVerdict, Unwatched};
use burn::module::Module;
use burn::nn::loss::{CrossEntropyLoss, CrossEntropyLossConfig};
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, ExecutionError, Gradients, Int, Tensor};

/// What became of a step's update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    /// The parameters moved.
    Applied,
    /// A gradient overflowed: they did not.
    Skipped,
}

/// Model, optimizer and loss scale under one policy.
pub(super) struct Learner {
    /// `None` only after an update that failed half-way; nothing can be learned then.
    model: Option<Model>,
    optimizer: ModuleOptimizer,
    scaler: Option<LossScaler>,
    loss: CrossEntropyLoss,
    policy: Policy,
    lr: f64,
    weights_hash: u64,
}

impl Learner {
    /// Fresh weights from `seed`, fresh optimizer state; `device` has autodiff.
    pub fn new(spec: &RunSpec, seed: u64, device: &Device) -> Self {
        let policy = Policy::of(spec.precision.mode);
        device.seed(seed);
        let (model, weights_hash) = Model::new(&spec.model, policy, seed, device);
        Self {
            model: Some(model),
            optimizer: optimizer::build(&spec.optimizer, policy),
            scaler: policy.scaled.then(|| LossScaler::new(&spec.precision)),
            loss: CrossEntropyLossConfig::new().init(device),
            policy,
            lr: spec.optimizer.lr,
            weights_hash,
        }
    }

    /// Hash of the initial weights.
    pub fn weights_hash(&self) -> u64 {
        self.weights_hash
    }

    /// The loss scale in force, with mixed precision.
    pub fn loss_scale(&self) -> Option<f32> {
        self.scaler.as_ref().map(LossScaler::scale)
    }

    /// Updates skipped since the start, with mixed precision.
    pub fn skipped(&self) -> Option<u64> {
        self.scaler.as_ref().map(LossScaler::skipped)
    }

    /// `[batch, 3, 32, 32]` images to `[batch, 10]` logits.
    pub fn forward(&self, images: Tensor<4>, scope: &mut dyn LayerScope) -> Result<Tensor<2>, TrainError> {
        Ok(self.model()?.forward(images, self.policy.compute, scope))
    }

    /// Classes of images, without a graph for gradients.
    pub fn classify(&self, images: Tensor<4>) -> Result<Tensor<2, Int>, TrainError> {
        Ok(self.model()?.valid().forward(images, self.policy.compute, &mut Unwatched).argmax(1))
    }

    /// Mean cross-entropy of logits against class numbers, in the policy's loss format.
    pub fn loss(&self, logits: Tensor<2>, labels: Tensor<1, Int>) -> Tensor<1> {
        self.loss.forward(logits.cast(self.policy.loss), labels)
    }

    /// Gradients of the loss, multiplied by the loss scale if there is one.
    pub fn backward(&self, loss: &Tensor<1>) -> Gradients {
        match self.loss_scale() {
            Some(scale) => loss.clone().mul_scalar(scale).backward(),
            None => loss.backward(),
        }
    }

    /// Moves the parameters, unless the loss scaler finds an overflow; checking it waits for the device.
    pub fn update(&mut self, mut grads: Gradients, step: u64) -> Result<Update, TrainError> {
        let mut grads = GradientsParams::from_module(&mut grads, self.model()?);
        if let Some(scale) = self.loss_scale() {
            let magnitude = unscale(self.model()?, &mut grads, scale);
            let finite = magnitude.map_or(Ok(true), read_finite)?;
            match self.scaler.as_mut().map(|scaler| scaler.update(finite)) {
                Some(ScalerVerdict::Skip) => return Ok(Update::Skipped),
                Some(ScalerVerdict::Hopeless) => {
                    let what = "gradients overflow 16 bits even at a loss scale of 1".to_owned();
                    return Err(TrainError::Numerics { step, what });
                }
                Some(ScalerVerdict::Apply) | None => {}
            }
        }
        let model = self.model.take().ok_or_else(lost)?;
        self.model = Some(self.optimizer.step(self.lr, model, grads));
        Ok(Update::Applied)
    }

    fn model(&self) -> Result<&Model, TrainError> {
        self.model.as_ref().ok_or_else(lost)
    }
}

fn lost() -> TrainError {
    TrainError::Panic("an earlier update failed and left no model".to_owned())
}

fn read_finite(magnitude: Tensor<1>) -> Result<bool, TrainError> {
    let data = magnitude.try_into_data().map_err(|e| execution(&e))?;
    Ok(data.iter::<f32>().all(f32::is_finite))
}

/// A failed operation as an error.
pub(super) fn execution(error: &ExecutionError) -> TrainError {
    TrainError::classify(&error.to_string(), TrainError::Execution)
}
