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
#[expect(
    clippy::large_enum_variant,
    reason = "there is one model in a process, and Module is not derived through a Box"
)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Precision;
    use crate::nn::layers::CLASSES;
    use burn::tensor::DType;

    /// Keeps what the layers put out.
    #[derive(Default)]
    struct Outputs(Vec<(usize, Vec<usize>)>);

    impl LayerScope for Outputs {
        fn enter(&mut self, layer: usize) {
            assert_eq!(layer, self.0.len(), "layers come in the order of the list");
        }

        fn exit(&mut self, layer: usize, output: &[usize], dtype: DType) {
            assert_eq!(dtype, DType::F32);
            self.0.push((layer, output.to_vec()));
        }
    }

    #[test]
    fn modules_do_what_their_lists_of_layers_say() {
        let device = Device::flex();
        for kind in ["cnn", "mlp"] {
            let spec = ModelSpec { kind: kind.to_owned(), hidden: 24, layers: 3 };
            let policy = Policy::of(Precision::F32);
            let (model, hash) = Model::new(&spec, policy, 1, &device);
            assert_eq!(hash, Model::new(&spec, policy, 1, &device).1);
            assert_ne!(hash, Model::new(&spec, policy, 2, &device).1);
            let list = layers(&spec, 5);
            assert_eq!(model.num_params() as u64, crate::nn::layers::parameters(&list), "{kind}");
            let mut outputs = Outputs::default();
            let logits = model.forward(Tensor::zeros([5, 3, 32, 32], &device), policy.compute, &mut outputs);
            assert_eq!(logits.dims(), [5, CLASSES]);
            let expected: Vec<_> = list.iter().map(|layer| layer.output.clone()).enumerate().collect();
            assert_eq!(outputs.0, expected, "{kind}");
        }
    }
}
