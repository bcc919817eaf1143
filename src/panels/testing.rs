//! A planted trace of a training and plain colours, for the tests of the panels.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::palette::Palette;
use crate::model::track::{arg, category, name};
use crate::model::{Phase, TrackKind};
use crate::timeline::paint::CanvasColors;
use crate::trace::{ArgValue, ArgsId, NameId, Trace, TrackId};
use egui::Color32;

const MS: i64 = 1_000_000;

/// Length of a step and the gap after it.
pub const STEP_NS: i64 = 120 * MS;

/// Colours of no theme, far enough apart to be told.
pub fn palette(dark: bool) -> Palette {
    let gray = |dark_level, light_level| Color32::from_gray(if dark { dark_level } else { light_level });
    let hue = |i: usize, n: usize| {
        egui::ecolor::Hsva::new(i as f32 / n as f32, 0.55, if dark { 0.7 } else { 0.85 }, 1.0).into()
    };
    Palette {
        canvas: CanvasColors {
            background: gray(18, 252),
            stripe: gray(23, 246),
            grid: gray(45, 222),
            text: gray(210, 40),
            weak_text: gray(140, 110),
            selection: Color32::from_rgb(255, 170, 0),
            hit: Color32::YELLOW,
            counter: Color32::from_rgb(90, 150, 220),
            mark: Color32::from_rgb(200, 80, 180),
        },
        phases: std::array::from_fn(|i| hue(i, Phase::COUNT)),
        names: (0..12).map(|i| hue(i, 12)).collect(),
        good: Color32::from_rgb(60, 160, 80),
        bad: Color32::from_rgb(200, 70, 60),
    }
}

/// Steps with phases, layers, operations, kernels, input workers and counters, as the recorder writes them.
pub fn planted_trace(steps: i64) -> Trace {
    let mut trace = Trace::default();
    let mut track = |uuid, title: &str| trace.add_track(uuid, None, title, "run", TrackKind::from_name(title));
    let training = track(1, name::TRAINING);
    let ops = track(2, name::OPS);
    let device = track(3, name::DEVICE);
    let workers = [track(4, "Input worker 0"), track(5, "Input worker 1")];
    let queue = trace.add_counter(6, name::QUEUE_COUNTER, "", "run");
    let memory = trace.add_counter(7, name::MEMORY_COUNTER, "bytes", "run");
    for step in 0..steps {
        let start = step * STEP_NS;
        plant_step(&mut trace, training, (ops, device), step, start);
        for (i, worker) in (0..).zip(workers) {
            plant(&mut trace, worker, start + 7 * MS * i, 40 * MS, "decode", category::INPUT, ArgsId::NONE);
            plant(&mut trace, worker, start + 7 * MS * i + 42 * MS, 25 * MS, "batch", category::INPUT, ArgsId::NONE);
        }
        for i in 0..6 {
            trace.sample(queue, start + i * 20 * MS, ((step + i) % 4) as f64);
            trace.sample(memory, start + i * 20 * MS, (3 + (i * 7 + step) % 5) as f64 * 4e7);
        }
    }
    trace.settle();
    trace
}

fn plant(trace: &mut Trace, track: TrackId, start: i64, dur: i64, name: &str, category: &str, args: ArgsId) {
    let (name, category) = (trace.intern(name), trace.intern(category));
    trace.complete(track, start, dur, name, category, args);
}

fn args(trace: &mut Trace, pairs: &[(&str, &str)]) -> ArgsId {
    let set: Vec<(NameId, ArgValue)> =
        pairs.iter().map(|(key, value)| (trace.intern(key), ArgValue::Text(trace.intern(value)))).collect();
    trace.intern_args(&set)
}

fn plant_step(trace: &mut Trace, training: TrackId, (ops, device): (TrackId, TrackId), step: i64, start: i64) {
    let key = trace.intern(arg::STEP);
    let step_args = trace.intern_args(&[(key, ArgValue::Int(step))]);
    plant(trace, training, start, STEP_NS - MS, &format!("Step {step}"), category::STEP, step_args);
    let lengths = [8, 2, 30, 1, 60, 10, 5];
    let mut now = start;
    for (phase, length) in Phase::ALL.into_iter().zip(lengths) {
        plant(trace, training, now, length * MS, phase.label(), category::PHASE, ArgsId::NONE);
        if matches!(phase, Phase::Forward | Phase::Backward) {
            plant_layers(trace, training, (ops, device), now, length * MS);
        }
        now += length * MS;
    }
}

fn plant_layers(trace: &mut Trace, training: TrackId, (ops, device): (TrackId, TrackId), start: i64, dur: i64) {
    let op_args = args(
        trace,
        &[(arg::SHAPES_IN, "[128, 3, 32, 32] [32, 3, 3, 3]"), (arg::DTYPE, "f32"), (arg::SOURCE, "host clock")],
    );
    let kernel_args = args(
        trace,
        &[
            (arg::FULL_NAME, "cubek_convolution::kernels::forward::direct::DirectConv2dKernel"),
            (arg::SOURCE, "device timestamps"),
        ],
    );
    let layers = ["conv1", "norm1", "relu1", "pool1", "conv2", "norm2", "relu2", "fc1", "fc2"];
    let each = dur / layers.len() as i64;
    for (i, layer) in (0..).zip(layers) {
        let at = start + i * each;
        plant(trace, training, at, each - each / 20, layer, category::LAYER, ArgsId::NONE);
        for k in 0..8 {
            let op = ["conv2d", "add", "mul", "sum_dim", "matmul"][(k + i as usize) % 5];
            let kernel = ["DirectConv2dKernel", "ElemwiseFuse", "MatmulSimple"][k % 3];
            let begin = at + each * k as i64 / 8;
            plant(trace, ops, begin, each / 10, op, category::OP, op_args);
            plant(trace, device, begin + MS, each / 14 + MS / 9 * k as i64 / 8, kernel, category::KERNEL, kernel_args);
        }
    }
}
