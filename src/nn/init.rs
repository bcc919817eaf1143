//! Initial weights, drawn on the host so that one seed gives the same weights on every device and in every precision.
//!
//! The rule is Keras's default: weights uniform within ±√(6 / (inputs + outputs)) (Glorot & Bengio 2010), biases zero.
//! The values are drawn in f32 in the order of the layers and rounded once if the parameters are 16-bit.

use burn::module::Param;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws weights and keeps a hash of all that were drawn.
pub struct WeightInit {
    rng: ChaCha8Rng,
    device: Device,
    dtype: FloatDType,
    hash: u64,
}

impl WeightInit {
    /// A drawer for parameters of `dtype` on `device` (with autodiff, where they are to be trained).
    pub fn new(seed: u64, device: &Device, dtype: FloatDType) -> Self {
        // The offset basis of FNV-1a.
        Self { rng: ChaCha8Rng::seed_from_u64(seed), device: device.clone(), dtype, hash: 0xcbf2_9ce4_8422_2325 }
    }

    /// A convolution with a square kernel, stride 1, no padding.
    pub fn conv(&mut self, channels_in: usize, channels_out: usize, kernel: usize) -> Conv2d {
        let area = kernel * kernel;
        // Burn's own initialisation is lazy, so zeros that are replaced at once cost nothing.
        let mut conv = Conv2dConfig::new([channels_in, channels_out], [kernel, kernel])
            .with_initializer(Initializer::Zeros)
            .init(&self.device);
        conv.weight = self.weight([channels_out, channels_in, kernel, kernel], channels_in * area, channels_out * area);
        conv.bias = Some(self.bias(channels_out));
        conv
    }

    /// A matrix product of `[inputs, outputs]` with bias.
    pub fn dense(&mut self, inputs: usize, outputs: usize) -> Linear {
        let mut dense = LinearConfig::new(inputs, outputs).with_initializer(Initializer::Zeros).init(&self.device);
        dense.weight = self.weight([inputs, outputs], inputs, outputs);
        dense.bias = Some(self.bias(outputs));
        dense
    }

    /// Hash (64-bit FNV-1a over the bits of the f32 values, before rounding) of all weights drawn so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    fn weight<const D: usize>(&mut self, shape: [usize; D], inputs: usize, outputs: usize) -> Param<Tensor<D>> {
        let bound = (6.0 / (inputs + outputs) as f32).sqrt();
        let values = (0..shape.iter().product()).map(|_| self.rng.random_range(-bound..=bound)).collect();
        self.param(values, shape)
    }

    fn bias(&mut self, outputs: usize) -> Param<Tensor<1>> {
        self.param(vec![0.0; outputs], [outputs])
    }

    fn param<const D: usize>(&mut self, values: Vec<f32>, shape: [usize; D]) -> Param<Tensor<D>> {
        for byte in values.iter().flat_map(|value| value.to_bits().to_le_bytes()) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let data = TensorData::new(values, shape);
        Param::from_tensor(Tensor::from_data(data, (&self.device, self.dtype.into())))
    }
}
