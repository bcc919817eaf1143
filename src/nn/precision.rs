//! Number formats: what a precision means for parameters, computation, loss and gradients.
//!
//! Burn has no automatic mixed precision, so this is ours: parameters keep their format, each layer casts its weights to
//! the compute format inside the graph (see [`super::pass`]), the loss is computed in f32, and the scaler of
//! [`super::scaler`] keeps small gradients from vanishing in 16 bits.

use crate::model::Precision;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{DType, FloatDType, Tensor};

/// The formats of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Of the parameters.
    pub params: FloatDType,
    /// Of weights and activations in the forward and backward pass.
    pub compute: FloatDType,
    /// Of the logits that enter the loss, and of the loss.
    pub loss: FloatDType,
    /// Whether the loss is scaled and gradients are checked for overflow.
    pub scaled: bool,
}

impl Policy {
    /// The formats that this precision stands for.
    pub fn of(precision: Precision) -> Self {
        let (f32, f16) = (FloatDType::F32, FloatDType::F16);
        match precision {
            Precision::F32 => Self { params: f32, compute: f32, loss: f32, scaled: false },
            Precision::F16 => Self { params: f16, compute: f16, loss: f16, scaled: false },
            Precision::Mixed => Self { params: f32, compute: f16, loss: f32, scaled: true },
        }
    }

    /// Whether the device must compute in 16 bits.
    pub fn needs_f16(&self) -> bool {
        self.compute == FloatDType::F16
    }

    /// Bytes of an activation.
    pub fn compute_bytes(&self) -> u64 {
        DType::from(self.compute).size() as u64
    }
}

/// Divides all gradients of `model` by `scale`, in the parameters' format, and returns a sum on the device that is
/// finite exactly when every gradient is (sums of magnitudes cannot cancel). `None`: there are no gradients.
pub fn unscale<M: Module>(model: &M, grads: &mut GradientsParams, scale: f32) -> Option<Tensor<1>> {
    let mut unscaler = Unscaler { grads, inverse: 1.0 / scale, magnitude: None };
    model.visit(&mut unscaler);
    unscaler.magnitude
}

struct Unscaler<'a> {
    grads: &'a mut GradientsParams,
    inverse: f32,
    magnitude: Option<Tensor<1>>,
}

impl ModuleVisitor for Unscaler<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(grad) = self.grads.remove::<D>(param.id) else { return };
        let grad = grad.mul_scalar(self.inverse);
        let magnitude = grad.clone().abs().sum().cast(FloatDType::F32);
        self.magnitude = Some(match self.magnitude.take() {
            Some(sum) => sum + magnitude,
            None => magnitude,
        });
        self.grads.register(param.id, grad);
    }
}
