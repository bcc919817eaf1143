//! What a device can really do: copy, arithmetic and matrix products over several sizes, the best of each.

use super::cpu;
use super::devices::find;
use super::error::KernelError;
use super::gpu::Gpu;
use super::gpu_kernels::{
    Matmul, arithmetic, arithmetic_flops, check_arithmetic, check_copy, check_product, copy, product, product_flops,
};
use super::timing::{Point, measure_point};
use crate::model::{AdapterInfo, Known};
use serde::{Deserialize, Serialize};

/// Sizes of the copied buffer, in MiB.
const COPY_MIB: [u64; 5] = [1, 4, 16, 64, 256];
/// Sides of the square matrices.
const SIDES: [u32; 5] = [256, 512, 1024, 2048, 4096];
/// Workgroups of the arithmetic kernel.
const GROUPS: [u32; 4] = [64, 512, 4096, 16_384];
/// A size is left out when a single launch of it would take longer, judged from the size before.
const TOO_LONG_NS: f64 = 0.4e9;

/// A rate over several sizes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rate {
    /// Work a second at the best size and the shortest time: the ceiling.
    pub best: Known<f64>,
    /// Work a second at that size and the median time: what to expect.
    pub typical: Known<f64>,
    /// Work a second at the largest size and the shortest time. Of copies: memory beyond the caches.
    pub largest: Known<f64>,
    /// All that was measured.
    pub points: Vec<Point>,
}

impl Rate {
    /// From its points, in the order of size. Points with a fault count for nothing; the first fault is the reason when
    /// none is left.
    fn of(points: Vec<Point>) -> Self {
        let sound = || points.iter().filter(|p| p.fault.is_none());
        let fastest = sound().max_by(|a, b| a.best_rate().total_cmp(&b.best_rate()));
        let reason = || match points.iter().find_map(|p| p.fault.clone()) {
            Some(fault) => fault,
            None => "no size fits this device".to_owned(),
        };
        let known = |point: Option<&Point>, rate: fn(&Point) -> f64| match point {
            Some(p) => Known::value(rate(p), p.source, p.repeats),
            None => Known::unknown(reason()),
        };
        let largest = sound().fold(None, |best: Option<&Point>, p| match best {
            Some(b) if b.work > p.work || (b.work == p.work && b.best_ns <= p.best_ns) => Some(b),
            _ => Some(p),
        });
        Self {
            best: known(fastest, Point::best_rate),
            typical: known(fastest, Point::median_rate),
            largest: known(largest, Point::best_rate),
            points,
        }
    }
}

/// The ceilings of a device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ceilings {
    /// Name of the device.
    pub device: String,
    /// The adapter; `None` = the CPU (Flex).
    pub adapter: Option<AdapterInfo>,
    /// Copying, in bytes a second; each byte counts twice, read and written.
    pub copy: Rate,
    /// Multiply-adds in f32 on registers, in FLOP a second.
    pub arithmetic: Rate,
    /// Matrix products in f32, in FLOP a second; the best of several kernels.
    pub matmul: Rate,
    /// What the reader should know, as sentences.
    pub notes: Vec<String>,
}

impl Ceilings {
    /// The rate of f32 computing that nothing on this device can exceed, for [`super::check_rate`]: the higher of
    /// arithmetic and matrix products.
    pub fn compute(&self) -> Known<f64> {
        match (self.arithmetic.best.get(), self.matmul.best.get()) {
            (Some(a), Some(m)) if a < m => self.matmul.best.clone(),
            (None, Some(_)) => self.matmul.best.clone(),
            _ => self.arithmetic.best.clone(),
        }
    }
}

/// Tells how far a measurement is.
struct Steps<'a> {
    done: usize,
    all: usize,
    tell: &'a mut dyn FnMut(&str, f32),
}

impl Steps<'_> {
    fn next(&mut self, what: &str) {
        (self.tell)(what, self.done as f32 / self.all.max(1) as f32);
        self.done += 1;
    }
}

/// Measures a graphics adapter, named by its number in [`super::list`] or by a part of its name. Takes 10 to 30 s.
/// `progress` is told what is being measured and the share that is done, 0 to 1.
///
/// # Errors
/// No such adapter, a driver that fails, or a kernel that computes wrong results.
pub fn measure(adapter: &str, progress: &mut dyn FnMut(&str, f32)) -> Result<Ceilings, KernelError> {
    let found = find(adapter)?;
    let all = 2 + COPY_MIB.len() + GROUPS.len() + Matmul::ALL.len() * SIDES.len();
    let mut steps = Steps { done: 0, all, tell: progress };
    steps.next("Opening the device");
    let mut gpu = Gpu::open(&found)?;
    steps.next("Checking the kernels against the CPU");
    check_copy(&mut gpu)?;
    check_arithmetic(&mut gpu)?;
    for how in Matmul::ALL {
        check_product(&mut gpu, how)?;
    }
    let copy = Rate::of(measure_copy(&mut gpu, &mut steps)?);
    let arithmetic = Rate::of(measure_arithmetic(&mut gpu, &mut steps)?);
    let mut points = Vec::new();
    for how in Matmul::ALL {
        points.extend(measure_matmul(&mut gpu, how, &mut steps)?);
    }
    let mut notes = Vec::new();
    if gpu.distrusted() {
        notes.push(
            "Some device timestamps were longer than the time between launch and end, so the host's clock was used"
                .to_owned(),
        );
    }
    if !found.info.timestamps {
        notes.push("The device has no timestamps: times include the launch, seen from the host's clock".to_owned());
    }
    (steps.tell)("Done", 1.0);
    Ok(Ceilings {
        device: found.info.name.clone(),
        adapter: Some(found.info),
        copy,
        arithmetic,
        matmul: Rate::of(points),
        notes,
    })
}

fn measure_copy(gpu: &mut Gpu, steps: &mut Steps<'_>) -> Result<Vec<Point>, KernelError> {
    let limit = gpu.max_buffer_bytes();
    over_sizes(
        &COPY_MIB,
        |mib| 2.0 * (mib << 20) as f64,
        |mib| {
            steps.next(&format!("Copying {mib} MiB"));
            if mib << 20 > limit {
                return Ok(None);
            }
            let kernel = copy(gpu, mib << 20)?;
            let label = format!("copy {mib} MiB");
            measure_point(label, 2.0 * (mib << 20) as f64, &mut |launches| gpu.time(&kernel, launches)).map(Some)
        },
    )
}

fn measure_arithmetic(gpu: &mut Gpu, steps: &mut Steps<'_>) -> Result<Vec<Point>, KernelError> {
    over_sizes(&GROUPS, arithmetic_flops, |groups| {
        steps.next(&format!("Multiply-adds, {groups} workgroups"));
        let run = arithmetic(gpu, groups)?;
        let label = format!("multiply-add, {groups} workgroups");
        measure_point(label, arithmetic_flops(groups), &mut |launches| gpu.time(&run.kernel, launches)).map(Some)
    })
}

fn measure_matmul(gpu: &mut Gpu, how: Matmul, steps: &mut Steps<'_>) -> Result<Vec<Point>, KernelError> {
    let limit = gpu.max_buffer_bytes();
    over_sizes(&SIDES, product_flops, |side| {
        let label = format!("matrix product {side}, {}", how.label());
        steps.next(&label);
        if u64::from(side).pow(2) * 4 > limit {
            return Ok(None);
        }
        let product = product(gpu, how, side, side, side)?;
        measure_point(label, product_flops(side), &mut |launches| gpu.time(&product.kernel, launches)).map(Some)
    })
}

/// Measures ascending sizes until one does not fit the device (`None`), memory runs out beyond the first, or the next
/// would take too long.
pub(super) fn over_sizes<S: Copy>(
    sizes: &[S],
    work: impl Fn(S) -> f64,
    mut point: impl FnMut(S) -> Result<Option<Point>, KernelError>,
) -> Result<Vec<Point>, KernelError> {
    let mut points: Vec<Point> = Vec::new();
    for size in sizes {
        if let Some(last) = points.last()
            && last.best_ns * work(*size) / last.work > TOO_LONG_NS
        {
            break;
        }
        match point(*size) {
            Ok(Some(next)) => points.push(next),
            Ok(None) => break,
            // Smaller sizes were measured: that memory ends here is no failure.
            Err(KernelError::OutOfMemory(_)) if !points.is_empty() => break,
            Err(e) => return Err(e),
        }
    }
    Ok(points)
}

/// Measures the CPU as Burn's Flex backend uses it: copies by all threads, matrix products through Flex itself.
///
/// # Errors
/// When Flex computes a wrong product.
pub fn measure_cpu(progress: &mut dyn FnMut(&str, f32)) -> Result<Ceilings, KernelError> {
    let mut steps = Steps { done: 0, all: 1 + cpu::COPY_MIB.len() + cpu::SIDES.len(), tell: progress };
    steps.next("Checking the matrix product");
    cpu::check_product()?;
    let copy = over_sizes(
        &cpu::COPY_MIB,
        |mib| 2.0 * (mib << 20) as f64,
        |mib| {
            steps.next(&format!("Copying {mib} MiB"));
            cpu::measure_copy(mib).map(Some)
        },
    )?;
    let matmul = over_sizes(&cpu::SIDES, product_flops, |side| {
        steps.next(&format!("Matrix product {side}"));
        cpu::measure_matmul(side).map(Some)
    })?;
    (steps.tell)("Done", 1.0);
    Ok(Ceilings {
        device: "CPU (Flex)".to_owned(),
        adapter: None,
        copy: Rate::of(copy),
        arithmetic: Rate { best: unmeasured(), typical: unmeasured(), largest: unmeasured(), points: Vec::new() },
        matmul: Rate::of(matmul),
        notes: vec!["Computing is measured by Flex's own matrix product: another library may reach more".to_owned()],
    })
}

fn unmeasured() -> Known<f64> {
    Known::unknown("on the CPU only the matrix product is measured")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::Source;

    fn point(work: f64, best_ns: f64, fault: Option<&str>) -> Point {
        Point {
            label: String::new(),
            work,
            best_ns,
            median_ns: best_ns * 2.0,
            repeats: 7,
            launches: 1,
            source: Source::DeviceTimestamp,
            scaling: 4.0,
            fault: fault.map(str::to_owned),
        }
    }

    #[test]
    fn best_typical_and_largest() {
        let rate = Rate::of(vec![point(10.0, 1e9, None), point(100.0, 1e9, None), point(1000.0, 2e10, None)]);
        assert_eq!(rate.best, Known::value(100.0, Source::DeviceTimestamp, 7));
        assert_eq!((rate.typical.get(), rate.largest.get()), (Some(&50.0), Some(&50.0)));
    }

    #[test]
    fn faults_are_shown_not_counted() {
        let rate = Rate::of(vec![point(10.0, 1e9, None), point(1e12, 1.0, Some("not timed"))]);
        assert_eq!((rate.best.get(), rate.points.len()), (Some(&10.0), 2));
        let rate = Rate::of(vec![point(10.0, 1e9, Some("not timed"))]);
        assert_eq!(rate.best.reason(), Some("not timed"));
        assert_eq!(Rate::of(Vec::new()).best.reason(), Some("no size fits this device"));
    }

    #[test]
    fn sizes_end_where_time_or_memory_does() {
        let grow = |size: f64| Ok(Some(point(size, size * 1e6, None)));
        assert_eq!(over_sizes(&[1.0, 100.0, 1000.0], |s| s, grow).unwrap().len(), 2);
        let full = |size: f64| if size > 1.0 { Err(KernelError::OutOfMemory("x".to_owned())) } else { grow(size) };
        assert_eq!(over_sizes(&[1.0, 2.0], |s| s, full).unwrap().len(), 1);
        assert!(over_sizes(&[2.0], |s| s, full).is_err());
    }

    #[test]
    fn ceiling_of_computing_is_the_higher_one() {
        let mut c = Ceilings { matmul: Rate::of(vec![point(10.0, 1e9, None)]), ..Ceilings::default() };
        assert_eq!(c.compute().get(), Some(&10.0));
        c.arithmetic = Rate::of(vec![point(30.0, 1e9, None)]);
        assert!(c.compute().get().is_some_and(|rate| (rate - 30.0).abs() < 1e-9));
    }

    #[test]
    fn an_unknown_adapter_is_an_error() {
        assert!(measure("no such adapter", &mut |_, _| {}).is_err());
    }
}
