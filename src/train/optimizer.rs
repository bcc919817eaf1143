//! The update rules that a spec can name.

use crate::model::spec::OptimizerSpec;
use crate::nn::Policy;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{AdamConfig, LearningRate, ModuleOptimizer, Optimizer, SgdConfig};
use burn::tensor::{Device, FloatDType, Tensor};

/// The optimizer of the spec, without state.
pub(super) fn build(spec: &OptimizerSpec, policy: Policy) -> ModuleOptimizer {
    if spec.kind == "sgd" {
        // As in PyTorch and Keras: velocity = momentum · velocity + gradient, without damping.
        let momentum = MomentumConfig::new().with_momentum(spec.momentum).with_dampening(0.0);
        return widened(SgdConfig::new().with_momentum((spec.momentum > 0.0).then_some(momentum)).build(), policy);
    }
    let adam = AdamConfig::new()
        .with_beta_1(spec.beta1 as f32)
        .with_beta_2(spec.beta2 as f32)
        .with_epsilon(spec.epsilon as f32);
    widened(adam.build(), policy)
}

fn widened<O: Optimizer>(optimizer: O, policy: Policy) -> ModuleOptimizer {
    if policy.params == FloatDType::F16 { Widened(optimizer).into() } else { optimizer.into() }
}

/// Updates 16-bit parameters with 32-bit arithmetic and state. In 16 bits Adam's second moment, a squared gradient times
/// 0.001, is zero for gradients below 0.005, and the update divides by it.
#[derive(Clone)]
struct Widened<O>(O);

impl<O: Optimizer> Optimizer for Widened<O> {
    type State<const D: usize> = O::State<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let own = tensor.dtype();
        let (tensor, state) = self.0.step(lr, tensor.cast(FloatDType::F32), grad.cast(FloatDType::F32), state);
        (tensor.cast(own), state)
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        O::to_device(state, device)
    }
}
