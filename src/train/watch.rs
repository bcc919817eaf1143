//! Tells the recorder of each layer's forward call, with its figures.

use crate::nn::{LayerInfo, LayerScope};
use crate::record::{self, LayerArgs, LayerGuard};
use burn::tensor::DType;

/// Records the layers of one forward pass.
pub(super) struct RecordedLayers<'a> {
    layers: &'a [LayerInfo],
    dtype: &'static str,
    bytes_per_element: u64,
    open: Option<LayerGuard>,
}

impl<'a> RecordedLayers<'a> {
    /// For a pass through these layers, computed in `dtype`.
    pub fn new(layers: &'a [LayerInfo], dtype: DType) -> Self {
        let name = match dtype {
            DType::F16 => "f16",
            DType::F32 => "f32",
            other => other.name(),
        };
        Self { layers, dtype: name, bytes_per_element: dtype.size() as u64, open: None }
    }
}

impl LayerScope for RecordedLayers<'_> {
    fn enter(&mut self, layer: usize) {
        self.open = self.layers.get(layer).map(|info| {
            record::layer(&info.name, || LayerArgs {
                shapes_in: vec![info.input.clone()],
                shapes_out: vec![info.output.clone()],
                dtype: self.dtype,
                flops: Some(info.flops_forward),
                bytes: Some(info.bytes_forward(self.bytes_per_element)),
            })
        });
    }

    fn exit(&mut self, _layer: usize, _output: &[usize], _dtype: DType) {
        self.open = None;
    }
}
