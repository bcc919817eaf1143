//! From a spec to a network: its layers' figures, and its module with seeded weights.

use super::cnn::{self, Cnn};
use super::init::WeightInit;
use super::layers::{IMAGE_SHAPE, LayerInfo, figures};
use super::mlp::{self, Mlp};
use super::pass::{LayerScope, Pass};
use super::precision::Policy;
use crate::model::spec::ModelSpec;
use burn::module::Module;
use burn::tensor::{Device, FloatDType, Tensor};

/// A network that a spec can name.
#[derive(Module, Debug)]
pub enum Model {
    /// The reference CNN.
    Cnn(Cnn),
    /// The multilayer perceptron.
    Mlp(Mlp),
}

/// The figures of the network's layers for this batch size, in the order of the forward pass.
pub fn layers(spec: &ModelSpec, batch: usize) -> Vec<LayerInfo> {
    let list = if is_mlp(spec) { mlp::layers(spec.hidden, spec.layers) } else { cnn::layers() };
    figures(&list, &IMAGE_SHAPE, batch)
}

fn is_mlp(spec: &ModelSpec) -> bool {
    // The list of keys allows `cnn` and `mlp` only.
    spec.kind == "mlp"
}

impl Model {
    /// Builds the network with weights drawn from `seed`, and returns the hash of the weights beside it. The same seed
    /// gives the same hash on every device and in every precision.
    pub fn new(spec: &ModelSpec, policy: Policy, seed: u64, device: &Device) -> (Self, u64) {
        let mut init = WeightInit::new(seed, device, policy.params);
        let model = if is_mlp(spec) {
            Self::Mlp(Mlp::new(&mut init, spec.hidden, spec.layers))
        } else {
            Self::Cnn(Cnn::new(&mut init))
        };
        (model, init.hash())
    }

    /// `[batch, 3, 32, 32]` images in the compute format to `[batch, 10]` logits in the same format.
    pub fn forward(&self, images: Tensor<4>, compute: FloatDType, scope: &mut dyn LayerScope) -> Tensor<2> {
        let mut pass = Pass::new(compute, scope);
        match self {
            Self::Cnn(cnn) => cnn.forward(images, &mut pass),
            Self::Mlp(mlp) => mlp.forward(images, &mut pass),
        }
    }
}
