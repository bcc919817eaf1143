//! Ceilings of the CPU as training uses it: copies by all threads, and matrix products through Burn's Flex backend.

use super::error::KernelError;
use super::gpu_kernels::{CHECK, compare_product, product_flops, value};
use super::timing::{Point, Timing, measure_point};
use crate::model::Source;
use burn::tensor::{DType, Device, Tensor, TensorData};
use rayon::prelude::*;
use std::time::Instant;

/// Sizes of the copied buffer, in MiB: the first fit in caches, the last do not.
pub(super) const COPY_MIB: [u64; 4] = [1, 8, 64, 256];
/// Sides of the square matrices.
pub(super) const SIDES: [u32; 3] = [256, 512, 1024];
/// Pieces a thread's share is cut into, so that a thread that starts late does not hold up the rest.
const PIECES: usize = 4;
/// Name of the product in messages.
const FLEX: &str = "Flex matmul";

/// Copies a buffer of so many MiB with all threads of the pool.
pub(super) fn measure_copy(mib: u64) -> Result<Point, KernelError> {
    let bytes = mib << 20;
    let length = usize::try_from(bytes / 8).map_err(|e| KernelError::OutOfMemory(e.to_string()))?;
    let mut source = Vec::new();
    let mut copied = Vec::new();
    for buffer in [&mut source, &mut copied] {
        buffer.try_reserve_exact(length).map_err(|e| KernelError::OutOfMemory(e.to_string()))?;
        buffer.resize(length, 1u64);
    }
    let piece = length.div_ceil(rayon::current_num_threads().max(1) * PIECES).max(1);
    measure_point(format!("copy {mib} MiB"), 2.0 * bytes as f64, &mut |launches| {
        let began = Instant::now();
        for _ in 0..launches {
            copied.par_chunks_mut(piece).zip(source.par_chunks(piece)).for_each(|(to, from)| to.copy_from_slice(from));
            // Otherwise the compiler may see that nobody reads the copy.
            std::hint::black_box(&mut copied);
        }
        Ok(since(began))
    })
}

/// Multiplies square matrices with Flex.
pub(super) fn measure_matmul(side: u32) -> Result<Point, KernelError> {
    let device = Device::flex();
    let (a, b) = (matrix(&device, 1, side, side), matrix(&device, 2, side, side));
    measure_point(format!("matrix product {side}, Flex"), product_flops(side), &mut |launches| {
        let began = Instant::now();
        for _ in 0..launches {
            std::hint::black_box(a.clone().matmul(b.clone()));
        }
        device.sync().map_err(|e| KernelError::Refused { kernel: FLEX.to_owned(), message: e.to_string() })?;
        Ok(since(began))
    })
}

/// Compares a product of Flex with one in f64, by the same bound as the graphics kernels.
pub(super) fn check_product() -> Result<(), KernelError> {
    let (m, k, n) = CHECK;
    let device = Device::flex();
    let product = matrix(&device, 1, m, k).matmul(matrix(&device, 2, k, n));
    let wrong = |detail| KernelError::Wrong { kernel: FLEX.to_owned(), detail };
    let data = product.try_into_data().map_err(|e| wrong(format!("nothing came back: {e}")))?;
    let found: Vec<f32> = data.try_to_vec().map_err(|e| wrong(format!("no f32 came back: {e:?}")))?;
    compare_product(FLEX, &found, n)
}

fn matrix(device: &Device, salt: u32, rows: u32, columns: u32) -> Tensor<2> {
    let values: Vec<f32> = (0..rows).flat_map(|r| (0..columns).map(move |c| value(salt, r, c))).collect();
    Tensor::from_data(TensorData::new(values, [rows as usize, columns as usize]), (device, DType::F32))
}

fn since(began: Instant) -> Timing {
    Timing { ns: began.elapsed().as_nanos() as f64, source: Source::HostClock }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn flex_multiplies_right() {
        check_product().unwrap();
    }

    #[test]
    fn small_sizes_are_measured() {
        let copy = measure_copy(1).unwrap();
        assert!(copy.best_rate() > 1e8, "{copy:?}");
        let product = measure_matmul(128).unwrap();
        assert!(product.best_rate() > 1e8 && product.source == Source::HostClock, "{product:?}");
    }
}
