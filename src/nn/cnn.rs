//! The reference CNN: 167,562 parameters, small enough for a CPU, large enough for a profile.

use super::init::WeightInit;
use super::layers::{CLASSES, IMAGE_SHAPE, LayerKind};
use super::pass::Pass;
use burn::module::Module;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::tensor::Tensor;

/// Features after the second pooling: 64 channels of 6 × 6.
const FLAT: usize = 64 * 6 * 6;

/// Two 3 × 3 convolutions with pooling, then two dense layers.
#[derive(Module, Debug)]
pub struct Cnn {
    conv1: Conv2d,
    conv2: Conv2d,
    dense1: Linear,
    dense2: Linear,
}

/// The layers in the order of [`Cnn::forward`].
pub fn layers() -> Vec<(String, LayerKind)> {
    [
        ("conv1", LayerKind::Conv2d { out: 32, kernel: 3 }),
        ("relu1", LayerKind::Relu),
        ("pool1", LayerKind::MaxPool2d { side: 2 }),
        ("conv2", LayerKind::Conv2d { out: 64, kernel: 3 }),
        ("relu2", LayerKind::Relu),
        ("pool2", LayerKind::MaxPool2d { side: 2 }),
        ("flatten", LayerKind::Flatten),
        ("dense1", LayerKind::Dense { out: 64 }),
        ("relu3", LayerKind::Relu),
        ("dense2", LayerKind::Dense { out: CLASSES }),
    ]
    .map(|(name, kind)| (name.to_owned(), kind))
    .to_vec()
}

impl Cnn {
    /// Draws the weights in the order of the layers.
    pub fn new(init: &mut WeightInit) -> Self {
        Self {
            conv1: init.conv(IMAGE_SHAPE[0], 32, 3),
            conv2: init.conv(32, 64, 3),
            dense1: init.dense(FLAT, 64),
            dense2: init.dense(64, CLASSES),
        }
    }

    /// `[batch, 3, 32, 32]` images to `[batch, 10]` logits.
    pub fn forward(&self, images: Tensor<4>, pass: &mut Pass) -> Tensor<2> {
        let x = pass.conv(&self.conv1, images);
        let x = pass.relu(x);
        let x = pass.max_pool(2, x);
        let x = pass.conv(&self.conv2, x);
        let x = pass.relu(x);
        let x = pass.max_pool(2, x);
        let x = pass.flatten(x);
        let x = pass.dense(&self.dense1, x);
        let x = pass.relu(x);
        pass.dense(&self.dense2, x)
    }
}
