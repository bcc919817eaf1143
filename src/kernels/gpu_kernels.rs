//! The kernels by which a device is measured: what they compute, how they are checked, how much work they do.

use super::error::KernelError;
use super::gpu::{Gpu, Kernel};

/// Workgroups of the copy kernel; each walks over the buffer in a loop.
const COPY_GROUPS: u32 = 4096;
/// Invocations of a workgroup of the one-dimensional kernels.
const GROUP: u32 = 256;
/// Rounds of the arithmetic kernel.
const ROUNDS: u32 = 256;
/// Factor and offset of its multiply-adds: the value stays near 1.
const FACTOR: f32 = 0.999;
const OFFSET: f32 = 0.001;

/// A way to multiply matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matmul {
    /// One element an invocation.
    Naive,
    /// 4 × 4 elements an invocation, in registers.
    Register,
    /// 64 × 64 elements a workgroup, through workgroup memory.
    Tiled,
}

impl Matmul {
    pub const ALL: [Self; 3] = [Self::Naive, Self::Register, Self::Tiled];

    pub fn label(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Register => "4×4 in registers",
            Self::Tiled => "64×64 in workgroup memory",
        }
    }

    fn wgsl(self) -> &'static str {
        match self {
            Self::Naive => include_str!("../../shaders/matmul_naive.wgsl"),
            Self::Register => include_str!("../../shaders/matmul_register.wgsl"),
            Self::Tiled => include_str!("../../shaders/matmul_tiled.wgsl"),
        }
    }

    /// Elements of C that a workgroup covers, in both directions.
    fn tile(self) -> u32 {
        match self {
            Self::Naive => 16,
            Self::Register => 32,
            Self::Tiled => 64,
        }
    }
}

/// A row-major matrix whose sizes are padded with zeros to multiples of 4, as the kernels want it.
struct Padded {
    rows: u32,
    columns: u32,
    values: Vec<f32>,
}

impl Padded {
    fn of(rows: u32, columns: u32, at: impl Fn(u32, u32) -> f32) -> Self {
        let (padded_rows, padded_columns) = (rows.next_multiple_of(4), columns.next_multiple_of(4));
        let values = (0..padded_rows)
            .flat_map(|r| (0..padded_columns).map(move |c| (r, c)))
            .map(|(r, c)| if r < rows && c < columns { at(r, c) } else { 0.0 })
            .collect();
        Self { rows: padded_rows, columns: padded_columns, values }
    }
}

/// A reproducible value within ±1 for a place in a matrix (a hash, Marsaglia's xorshift).
pub(super) fn value(salt: u32, row: u32, column: u32) -> f32 {
    let mut x = salt ^ row.wrapping_mul(0x9E37_79B9) ^ column.wrapping_mul(0x85EB_CA6B) ^ 0x2545_F491;
    for _ in 0..2 {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    x as f32 / (u32::MAX as f32 / 2.0) - 1.0
}

/// A multiplication that is ready to be timed, with its result's buffer.
pub(super) struct Product {
    pub kernel: Kernel,
    result: wgpu::Buffer,
    columns: u32,
}

/// Prepares C (m × n) = A (m × k) · B (k × n).
pub(super) fn product(gpu: &Gpu, how: Matmul, m: u32, k: u32, n: u32) -> Result<Product, KernelError> {
    let a = Padded::of(m, k, |r, c| value(1, r, c));
    let b = Padded::of(k, n, |r, c| value(2, r, c));
    let (rows, inner, columns) = (a.rows, a.columns, b.columns);
    let (a, b) = (gpu.upload(&a.values)?, gpu.upload(&b.values)?);
    let result = gpu.zeros(u64::from(rows) * u64::from(columns) * 4)?;
    let groups = [columns.div_ceil(how.tile()), rows.div_ceil(how.tile()), 1];
    let params = Some([rows, inner, columns, 0]);
    let kernel = gpu.kernel(&format!("matmul {}", how.label()), how.wgsl(), params, &[&a, &b, &result], groups)?;
    Ok(Product { kernel, result, columns })
}

/// Floating-point operations of a square product: a multiplication and an addition for each of n³ pairs.
pub(super) fn product_flops(n: u32) -> f64 {
    2.0 * f64::from(n).powi(3)
}

/// Sizes of the check, m, k and n: none is a multiple of a tile, two are none of 4.
pub(super) const CHECK: (u32, u32, u32) = (67, 45, 130);

/// Compares a product with one on the CPU.
pub(super) fn check_product(gpu: &mut Gpu, how: Matmul) -> Result<(), KernelError> {
    let (m, k, n) = CHECK;
    let product = product(gpu, how, m, k, n)?;
    gpu.run(&product.kernel)?;
    let found = gpu.download(&product.result)?;
    compare_product(&format!("matmul {}", how.label()), &found, product.columns)
}

/// Compares a product of the matrices of [`CHECK`], whose rows are `columns` values long, with one in f64. Bound for
/// each element: 2·k·2⁻²⁴ · Σ|aᵢ·bᵢ|, twice the classical bound on the rounding of k multiply-adds in f32 in any order
/// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
pub(super) fn compare_product(kernel: &str, found: &[f32], columns: u32) -> Result<(), KernelError> {
    let (m, k, n) = CHECK;
    for (r, c) in (0..m).flat_map(|r| (0..n).map(move |c| (r, c))) {
        let terms = (0..k).map(|i| f64::from(value(1, r, i)) * f64::from(value(2, i, c)));
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
        let bound = 2.0 * f64::from(k) * 2f64.powi(-24) * size;
        let got = found.get(r as usize * columns as usize + c as usize).copied().map_or(f64::NAN, f64::from);
        if is_off(got, sum, bound) {
            let detail = format!("element ({r}, {c}) of {m}×{k} · {k}×{n} is {got}, not {sum} ± {bound:.1e}");
            return Err(KernelError::Wrong { kernel: kernel.to_owned(), detail });
        }
    }
    Ok(())
}

/// Whether a result is not a number or further from what was expected than the bound.
fn is_off(got: f64, expected: f64, bound: f64) -> bool {
    let error = (got - expected).abs();
    error.is_nan() || error > bound
}

/// Prepares a copy of so many bytes (a multiple of 16), without its values mattering.
pub(super) fn copy(gpu: &Gpu, bytes: u64) -> Result<Kernel, KernelError> {
    let (source, copied) = (gpu.zeros(bytes)?, gpu.zeros(bytes)?);
    copy_kernel(gpu, &source, &copied)
}

fn copy_kernel(gpu: &Gpu, source: &wgpu::Buffer, copied: &wgpu::Buffer) -> Result<Kernel, KernelError> {
    let vectors = source.size() / 16;
    let groups = vectors.div_ceil(u64::from(GROUP)).clamp(1, u64::from(COPY_GROUPS)) as u32;
    gpu.kernel("copy", include_str!("../../shaders/copy.wgsl"), None, &[source, copied], [groups, 1, 1])
}

/// Copies a length that is no multiple of a workgroup and compares bit by bit.
pub(super) fn check_copy(gpu: &mut Gpu) -> Result<(), KernelError> {
    // More than all workgroups hold at once, so that the loop is checked too.
    let values: Vec<f32> = (0..4 * (COPY_GROUPS * GROUP + 13)).map(|i| value(3, i, 0)).collect();
    let (source, copied) = (gpu.upload(&values)?, gpu.zeros(values.len() as u64 * 4)?);
    let kernel = copy_kernel(gpu, &source, &copied)?;
    gpu.run(&kernel)?;
    let found = gpu.download(&copied)?;
    let wrong = values.iter().zip(&found).position(|(a, b)| a.to_bits() != b.to_bits());
    match wrong {
        Some(at) => {
            Err(KernelError::Wrong { kernel: "copy".to_owned(), detail: format!("element {at} was not copied") })
        }
        None => Ok(()),
    }
}

/// A run of the arithmetic kernel that is ready to be timed.
pub(super) struct Arithmetic {
    pub kernel: Kernel,
    result: wgpu::Buffer,
}

/// Prepares `groups` workgroups of multiply-adds.
pub(super) fn arithmetic(gpu: &Gpu, groups: u32) -> Result<Arithmetic, KernelError> {
    let result = gpu.zeros(u64::from(groups) * u64::from(GROUP) * 16)?;
    let params = Some([ROUNDS, FACTOR.to_bits(), OFFSET.to_bits(), 0]);
    let wgsl = include_str!("../../shaders/arithmetic.wgsl");
    let kernel = gpu.kernel("arithmetic", wgsl, params, &[&result], [groups, 1, 1])?;
    Ok(Arithmetic { kernel, result })
}

/// Operations of one launch: 8 chains of 4 lanes, a multiplication and an addition each.
pub(super) fn arithmetic_flops(groups: u32) -> f64 {
    f64::from(groups) * f64::from(GROUP) * f64::from(ROUNDS) * 64.0
}

/// Compares the sums with the same recurrence in f64. Bound: 10⁻⁴ of the value, ten times what 256 rounds of two
/// roundings each, which the factor below 1 keeps from growing, and seven additions can add up to.
pub(super) fn check_arithmetic(gpu: &mut Gpu) -> Result<(), KernelError> {
    let run = arithmetic(gpu, 3)?;
    gpu.run(&run.kernel)?;
    let found = gpu.download(&run.result)?;
    if found.len() != (3 * GROUP * 4) as usize {
        let detail = format!("{} values came back, not {}", found.len(), 3 * GROUP * 4);
        return Err(KernelError::Wrong { kernel: "arithmetic".to_owned(), detail });
    }
    for (at, got) in found.iter().enumerate() {
        let start = (at / 4 % 64) as f64 / 64.0;
        let chain = |mut x: f64| {
            for _ in 0..ROUNDS {
                x = x * f64::from(FACTOR) + f64::from(OFFSET);
            }
            x
        };
        let sum: f64 = (0..8).map(|i| chain(start + f64::from(i))).sum();
        if is_off(f64::from(*got), sum, 1e-4 * sum.abs()) {
            let detail = format!("value {at} is {got}, not {sum:.6} ± 0.01 %");
            return Err(KernelError::Wrong { kernel: "arithmetic".to_owned(), detail });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn padding_is_zero_and_values_stay_in_place() {
        let p = Padded::of(3, 5, |r, c| (r * 10 + c + 1) as f32);
        assert_eq!((p.rows, p.columns, p.values.len()), (4, 8, 32));
        assert_eq!(&p.values[8..16], &[11.0, 12.0, 13.0, 14.0, 15.0, 0.0, 0.0, 0.0]);
        assert!(p.values[24..].iter().all(|x| *x == 0.0));
    }

    #[test]
    fn values_spread_over_the_range() {
        let values: Vec<f32> = (0..1000).map(|i| value(1, i, i * 7)).collect();
        let mean = values.iter().sum::<f32>() / 1000.0;
        assert!(values.iter().all(|x| x.abs() <= 1.0) && mean.abs() < 0.1, "{mean}");
        assert!(values.iter().any(|x| *x < -0.9) && values.iter().any(|x| *x > 0.9));
    }

    #[test]
    fn a_wrong_product_is_found_out() {
        let (m, _, n) = CHECK;
        let zeros = vec![0.0; (m * n) as usize];
        let error = compare_product("x", &zeros, n).unwrap_err();
        assert!(error.to_string().contains("x computes wrong results: element (0, 0)"), "{error}");
        assert!(compare_product("x", &[], n).is_err());
        assert!(is_off(f64::NAN, 0.0, 1.0) && is_off(1.5, 0.0, 1.0) && !is_off(1.0, 0.5, 1.0));
    }

    #[test]
    fn every_kernel_agrees_with_the_cpu() {
        for found in super::super::devices::enumerate().iter().filter(|f| f.info.backend != "Gl") {
            let mut gpu = Gpu::open(found).unwrap();
            check_copy(&mut gpu).unwrap();
            check_arithmetic(&mut gpu).unwrap();
            for how in Matmul::ALL {
                check_product(&mut gpu, how).unwrap();
            }
        }
    }

    #[test]
    fn shaders_are_valid() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "wgsl") {
                let text = std::fs::read_to_string(&path).unwrap();
                let module = naga::front::wgsl::parse_str(&text).map_err(|e| e.emit_to_string(&text)).unwrap();
                let flags = naga::valid::ValidationFlags::all();
                let mut validator = naga::valid::Validator::new(flags, naga::valid::Capabilities::empty());
                validator.validate(&module).unwrap();
                assert_eq!(module.entry_points.len(), 1, "{}", path.display());
                seen += 1;
            }
        }
        assert_eq!(seen, 5);
    }
}
