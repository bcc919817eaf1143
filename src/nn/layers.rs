//! The layers of a network as figures: shapes, parameters, floating-point operations, bytes. Plain arithmetic, no Burn.
//!
//! Operations are counted as PyTorch's `FlopCounterMode` does: two for each multiply-add of convolutions and matrix
//! products, nothing for biases, activations and pooling. The backward pass costs twice the forward pass (gradients of
//! the weights and of the input), except in the first layer, whose input needs no gradient. For the reference CNN at
//! batch 128 this gives 1,034,420,224 forward and 1,869,774,848 backward, as PyTorch counts them.

/// Shape of one input image: channels, height, width.
pub const IMAGE_SHAPE: [usize; 3] = [3, 32, 32];
/// Classes that the networks tell apart.
pub const CLASSES: usize = 10;

/// What a layer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// Convolution with a square kernel, stride 1, no padding, with bias.
    Conv2d {
        /// Output channels.
        out: usize,
        /// Side of the kernel.
        kernel: usize,
    },
    /// max(x, 0).
    Relu,
    /// Maximum over squares, stride = side, incomplete squares dropped.
    MaxPool2d {
        /// Side of the square.
        side: usize,
    },
    /// All axes but the batch joined into one.
    Flatten,
    /// Matrix product with bias.
    Dense {
        /// Output features.
        out: usize,
    },
}

impl LayerKind {
    /// A short name, as it appears in traces.
    pub fn label(self) -> &'static str {
        match self {
            Self::Conv2d { .. } => "conv2d",
            Self::Relu => "relu",
            Self::MaxPool2d { .. } => "max_pool2d",
            Self::Flatten => "flatten",
            Self::Dense { .. } => "dense",
        }
    }

    /// Shape of one sample after this layer, from its shape before. Sizes too small for the layer give zero.
    fn output(self, input: &[usize]) -> Vec<usize> {
        match (self, input) {
            (Self::Conv2d { out, kernel }, [_, height, width]) => {
                vec![out, (height + 1).saturating_sub(kernel), (width + 1).saturating_sub(kernel)]
            }
            (Self::MaxPool2d { side }, [channels, height, width]) => vec![*channels, height / side, width / side],
            (Self::Flatten, shape) => vec![shape.iter().product()],
            (Self::Dense { out }, _) => vec![out],
            (_, shape) => shape.to_vec(),
        }
    }

    /// Multiply-adds that make one output element.
    fn macs_per_output(self, input: &[usize]) -> u64 {
        match (self, input) {
            (Self::Conv2d { kernel, .. }, [channels, _, _]) => (kernel * kernel * channels) as u64,
            (Self::Dense { .. }, shape) => shape.iter().product::<usize>() as u64,
            _ => 0,
        }
    }

    /// Output channels or features that have weights and one bias each.
    fn units(self) -> u64 {
        match self {
            Self::Conv2d { out, .. } | Self::Dense { out } => out as u64,
            Self::Relu | Self::MaxPool2d { .. } | Self::Flatten => 0,
        }
    }
}

/// One layer with its figures for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerInfo {
    /// Name, unique in its network.
    pub name: String,
    /// What it does.
    pub kind: LayerKind,
    /// Shape of the input, batch first.
    pub input: Vec<usize>,
    /// Shape of the output, batch first.
    pub output: Vec<usize>,
    /// Parameters, biases included.
    pub params: u64,
    /// Floating-point operations of the forward pass.
    pub flops_forward: u64,
    /// Floating-point operations of the backward pass.
    pub flops_backward: u64,
}

impl LayerInfo {
    /// Bytes that the forward pass reads and writes when nothing is fused: input, parameters, output.
    pub fn bytes_forward(&self, bytes_per_element: u64) -> u64 {
        // Flatten only changes the shape.
        if self.kind == LayerKind::Flatten {
            return 0;
        }
        let elements = self.input.iter().product::<usize>() + self.output.iter().product::<usize>();
        (elements as u64 + self.params) * bytes_per_element
    }
}

/// The figures of a network given as names and kinds, for inputs of `sample` shape in batches of `batch`.
pub fn figures(layers: &[(String, LayerKind)], sample: &[usize], batch: usize) -> Vec<LayerInfo> {
    let with_batch = |shape: &[usize]| [&[batch], shape].concat();
    let mut shape = sample.to_vec();
    let mut first_with_weights = true;
    layers
        .iter()
        .map(|(name, kind)| {
            let output = kind.output(&shape);
            let macs = kind.macs_per_output(&shape);
            let flops_forward = 2 * macs * output.iter().product::<usize>() as u64 * batch as u64;
            let flops_backward = if first_with_weights { flops_forward } else { 2 * flops_forward };
            first_with_weights &= kind.units() == 0;
            let info = LayerInfo {
                name: name.clone(),
                kind: *kind,
                input: with_batch(&shape),
                output: with_batch(&output),
                params: if kind.units() == 0 { 0 } else { kind.units() * (macs + 1) },
                flops_forward,
                flops_backward,
            };
            shape = output;
            info
        })
        .collect()
}

/// Parameters of all layers.
pub fn parameters(layers: &[LayerInfo]) -> u64 {
    layers.iter().map(|layer| layer.params).sum()
}

/// Floating-point operations of one training step: forward and backward.
pub fn flops_per_step(layers: &[LayerInfo]) -> u64 {
    layers.iter().map(|layer| layer.flops_forward + layer.flops_backward).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{cnn, mlp};

    #[test]
    fn reference_cnn_has_the_published_figures() {
        let layers = figures(&cnn::layers(), &IMAGE_SHAPE, 128);
        assert_eq!(parameters(&layers), 167_562);
        assert_eq!(layers.iter().map(|l| l.flops_forward).sum::<u64>(), 1_034_420_224);
        assert_eq!(layers.iter().map(|l| l.flops_backward).sum::<u64>(), 1_869_774_848);
        assert_eq!(flops_per_step(&layers), 2_904_195_072);
        let shapes: Vec<&[usize]> = layers.iter().map(|l| l.output.as_slice()).collect();
        assert_eq!(
            shapes,
            [
                &[128, 32, 30, 30][..],
                &[128, 32, 30, 30],
                &[128, 32, 15, 15],
                &[128, 64, 13, 13],
                &[128, 64, 13, 13],
                &[128, 64, 6, 6],
                &[128, 2304],
                &[128, 64],
                &[128, 64],
                &[128, 10],
            ]
        );
    }

    #[test]
    fn mlp_figures_by_hand() {
        let layers = figures(&mlp::layers(16, 2), &IMAGE_SHAPE, 4);
        assert_eq!(parameters(&layers), (3072 * 16 + 16) + (16 * 16 + 16) + (16 * 10 + 10));
        let forward = 2 * 4 * (3072 * 16 + 16 * 16 + 16 * 10);
        assert_eq!(layers.iter().map(|l| l.flops_forward).sum::<u64>(), forward);
        // The first dense layer needs no input gradient.
        assert_eq!(flops_per_step(&layers), 3 * forward - 2 * 4 * 3072 * 16);
    }

    #[test]
    fn bytes_count_input_parameters_and_output() {
        let layers = figures(&cnn::layers(), &IMAGE_SHAPE, 2);
        assert_eq!(layers[0].bytes_forward(4), (2 * 3 * 32 * 32 + 896 + 2 * 32 * 30 * 30) * 4);
        assert_eq!(layers[6].bytes_forward(4), 0);
    }

    #[test]
    fn too_small_images_do_not_panic() {
        let layers = figures(&cnn::layers(), &[3, 1, 1], 2);
        assert_eq!(layers[0].output, [2, 32, 0, 0]);
        assert_eq!(layers.last().map(|l| l.output.clone()), Some(vec![2, 10]));
    }
}
