//! Number formats: what a precision means for parameters, computation, loss and gradients.
//!
//! Burn has no automatic mixed precision, so this is ours: parameters keep their format, each layer casts its weights to
//! the compute format inside the graph (see [`super::pass`]), the loss is computed in f32, and the scaler of
//! [`super::scaler`] keeps small gradients from vanishing in 16 bits.

use crate::model::Precision;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{FloatDType, Tensor};

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use burn::nn::LinearConfig;
    use burn::tensor::Device;

    #[test]
    fn gradients_are_unscaled_and_an_overflow_is_found() {
        let device = Device::flex().autodiff();
        let model = LinearConfig::new(3, 2).init(&device);
        let loss = model.forward(Tensor::<2>::ones([4, 3], &device)).sum() * 8.0;
        let mut grads = GradientsParams::from_grads(loss.backward(), &model);
        let magnitude = unscale(&model, &mut grads, 8.0).unwrap();
        // d sum / d weight = 4 for each of 6 weights, d sum / d bias = 4 for each of 2.
        assert_eq!(magnitude.into_scalar::<f32>(), 32.0);
        let weights = grads.get::<2>(model.weight.id).unwrap();
        assert!(weights.into_data().iter::<f32>().all(|grad| grad == 4.0));

        for planted in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let device = Device::flex();
            let bad = Tensor::<2>::from_floats([[0.0, 1.0], [planted, 2.0], [3.0, 4.0]], &device);
            grads.register(model.weight.id, bad);
            let magnitude = unscale(&model, &mut grads, 8.0).unwrap();
            assert!(!magnitude.into_scalar::<f32>().is_finite(), "{planted} must be seen");
        }
        assert!(unscale(&model, &mut GradientsParams::new(), 8.0).is_none());
    }

    #[test]
    fn mixed_keeps_parameters_and_loss_in_32_bits() {
        let mixed = Policy::of(Precision::Mixed);
        assert_eq!((mixed.params, mixed.compute, mixed.loss), (FloatDType::F32, FloatDType::F16, FloatDType::F32));
        assert!(mixed.scaled && mixed.needs_f16() && !Policy::of(Precision::F16).scaled);
    }
}
