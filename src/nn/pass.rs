//! One walk through a network's layers: every layer is announced to a watcher and computes in the pass's number format.

use burn::module::Param;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::tensor::module::{conv2d, linear, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{DType, FloatDType, Tensor, activation};

/// Who wants to know when a layer begins and ends. Layers are named by their index in the network's list.
pub trait LayerScope {
    /// The layer begins.
    fn enter(&mut self, layer: usize);
    /// The layer has been computed (on a device: enqueued), with this output.
    fn exit(&mut self, layer: usize, output: &[usize], dtype: DType);
}

/// Nobody watches.
pub struct Unwatched;

impl LayerScope for Unwatched {
    fn enter(&mut self, _layer: usize) {}
    fn exit(&mut self, _layer: usize, _output: &[usize], _dtype: DType) {}
}

/// A forward pass under way.
pub struct Pass<'a> {
    compute: FloatDType,
    scope: &'a mut dyn LayerScope,
    next: usize,
}

impl<'a> Pass<'a> {
    /// A pass that computes in `compute` and reports to `scope`.
    pub fn new(compute: FloatDType, scope: &'a mut dyn LayerScope) -> Self {
        Self { compute, scope, next: 0 }
    }

    fn layer<const D: usize>(&mut self, run: impl FnOnce(FloatDType) -> Tensor<D>) -> Tensor<D> {
        let layer = self.next;
        self.next += 1;
        self.scope.enter(layer);
        let output = run(self.compute);
        self.scope.exit(layer, &output.dims(), output.dtype());
        output
    }

    /// Convolution, `[batch, in, height, width]` to `[batch, out, height, width]`.
    pub fn conv(&mut self, conv: &Conv2d, input: Tensor<4>) -> Tensor<4> {
        self.layer(|compute| {
            let options = ConvOptions::new(conv.stride, [0, 0], conv.dilation, conv.groups);
            conv2d(input, weight(&conv.weight, compute), conv.bias.as_ref().map(|b| weight(b, compute)), options)
        })
    }

    /// Matrix product, `[batch, in]` to `[batch, out]`.
    pub fn dense(&mut self, dense: &Linear, input: Tensor<2>) -> Tensor<2> {
        self.layer(|compute| {
            linear(input, weight(&dense.weight, compute), dense.bias.as_ref().map(|b| weight(b, compute)))
        })
    }

    /// max(x, 0).
    pub fn relu<const D: usize>(&mut self, input: Tensor<D>) -> Tensor<D> {
        self.layer(|_| activation::relu(input))
    }

    /// Maximum over squares of this side.
    pub fn max_pool(&mut self, side: usize, input: Tensor<4>) -> Tensor<4> {
        self.layer(|_| max_pool2d(input, MaxPoolOptions::new([side, side]).with_stride([side, side])))
    }

    /// `[batch, …]` to `[batch, features]`.
    pub fn flatten(&mut self, input: Tensor<4>) -> Tensor<2> {
        self.layer(|_| input.flatten(1, 3))
    }
}

/// A parameter in the number format of the pass. The cast is part of the graph, so that the gradient arrives in the
/// parameter's own format: this is what makes f32 master weights with f16 compute. Same format: no operation.
fn weight<const D: usize>(param: &Param<Tensor<D>>, compute: FloatDType) -> Tensor<D> {
    param.val().cast(compute)
}
