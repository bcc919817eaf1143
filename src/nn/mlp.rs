//! A multilayer perceptron: few shapes and few kernels, so that it compiles fast on a slow device.

use super::init::WeightInit;
use super::layers::{CLASSES, IMAGE_SHAPE, LayerKind};
use super::pass::Pass;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;

/// Hidden layers of one width with ReLU between, then the classes.
#[derive(Module, Debug)]
pub struct Mlp {
    hidden: Vec<Linear>,
    output: Linear,
}

/// The layers in the order of [`Mlp::forward`], for this width and number of hidden layers.
pub fn layers(width: usize, count: usize) -> Vec<(String, LayerKind)> {
    let mut layers = vec![("flatten".to_owned(), LayerKind::Flatten)];
    for i in 1..=count {
        layers.push((format!("dense{i}"), LayerKind::Dense { out: width }));
        layers.push((format!("relu{i}"), LayerKind::Relu));
    }
    layers.push((format!("dense{}", count + 1), LayerKind::Dense { out: CLASSES }));
    layers
}

impl Mlp {
    /// Draws the weights in the order of the layers.
    pub fn new(init: &mut WeightInit, width: usize, count: usize) -> Self {
        let image: usize = IMAGE_SHAPE.iter().product();
        let inputs = std::iter::once(image).chain(std::iter::repeat(width));
        let hidden = inputs.take(count).map(|input| init.dense(input, width)).collect();
        let last = if count == 0 { image } else { width };
        Self { hidden, output: init.dense(last, CLASSES) }
    }

    /// `[batch, 3, 32, 32]` images to `[batch, 10]` logits.
    pub fn forward(&self, images: Tensor<4>, pass: &mut Pass) -> Tensor<2> {
        let mut x = pass.flatten(images);
        for dense in &self.hidden {
            x = pass.dense(dense, x);
            x = pass.relu(x);
        }
        pass.dense(&self.output, x)
    }
}
