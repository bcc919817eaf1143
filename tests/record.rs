//! The recorder on a real device: a small MLP is trained in a process of its own for each setting, and what the trace file
//! holds is compared with what was computed.
//!
//! Needs a wgpu adapter, a software one will do. Without one the test says that it was skipped, unless
//! `BURNSCOPE_REQUIRE_GPU=1` asks for a failure.

use burn::backend::DispatchDevice;
use burn::tensor::{Device, Distribution, Tensor, activation};
use burnscope::format::perfetto::PerfettoReader;
use burnscope::model::track::{arg, name};
use burnscope::model::{Phase, StepFlags, TraceLevel, category};
use burnscope::record::burn::{Observers, configure, memory, set_autotune_level};
use burnscope::record::{LayerArgs, RecordOptions, Recorder, layer, route_log_to};
use burnscope::trace::{Span, Trace};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const BATCH: usize = 16;
const INPUTS: usize = 24;
const HIDDEN: usize = 32;
const CLASSES: usize = 8;
const STEPS: u64 = 6;
const SAMPLED: u64 = 4;
const UNTRACED: u64 = 3;

/// Set for the process that trains: the folder that it writes to.
const FOLDER: &str = "BURNSCOPE_TEST_RECORD_FOLDER";
const NO_ADAPTER: i32 = 77;

fn cache() -> PathBuf {
    let dirs = directories::ProjectDirs::from("", "", "burnscope-tests");
    dirs.map_or_else(std::env::temp_dir, |dirs| dirs.cache_dir().to_owned())
}

/// Not a test of its own: the training process of the tests below.
#[test]
#[ignore = "started by the other tests of this file"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    configure(Some(&cache()), |config| assert!(set_autotune_level(config, "minimal"))).unwrap();
    let Ok(device) = Device::wgpu_options().init() else { std::process::exit(NO_ADAPTER) };
    let DispatchDevice::Cube(cube) = device.as_dispatch().clone() else { panic!("wgpu is a cube device") };

    let recorder = Recorder::start(RecordOptions::in_folder(&folder, TraceLevel::L2)).unwrap();
    route_log_to(&recorder).unwrap();
    let observers = Observers::install(&recorder, &cube).unwrap();
    let flags = train(&recorder, &device.autodiff());
    assert!(flags[0].contains(StepFlags::COLD), "the first step compiles");
    assert!(recorder.warm_up().compiled > 0);
    let memory = memory(&cube);
    let used = memory.get().unwrap();
    assert!(used.in_use > 0 && used.reserved >= used.in_use);
    let error = observers.clock_error_ns();
    println!("clock error: {error:?}, counts: {:?}", observers.step_counts());
    drop(observers);
    let stats = recorder.finish();
    assert_eq!((stats.dropped, stats.first_error), (0, None));
}

fn train(recorder: &Recorder, device: &Device) -> Vec<StepFlags> {
    let init = |shape| Tensor::<2>::random(shape, Distribution::Normal(0.0, 0.1), device).require_grad();
    let (mut w1, mut w2) = (init([INPUTS, HIDDEN]), init([HIDDEN, CLASSES]));
    let mut all = Vec::new();
    for n in 0..STEPS {
        let step = recorder.step(n, 0, n == SAMPLED, n != UNTRACED);
        let x = {
            let _upload = step.phase(Phase::Upload);
            Tensor::<2>::from_data(burn::tensor::TensorData::new(vec![0.5f32; BATCH * INPUTS], [BATCH, INPUTS]), device)
        };
        let logits = {
            let _forward = step.phase(Phase::Forward);
            let hidden = {
                let _layer = layer("dense1", || dense([INPUTS, HIDDEN]));
                x.matmul(w1.clone())
            };
            let hidden = {
                let _layer = layer("relu1", LayerArgs::default);
                activation::relu(hidden)
            };
            let _layer = layer("dense2", || dense([HIDDEN, CLASSES]));
            hidden.matmul(w2.clone())
        };
        let loss = {
            let _loss = step.phase(Phase::Loss);
            (logits * 2.0 + 1.0).powf_scalar(2.0).mean()
        };
        let grads = {
            let _backward = step.phase(Phase::Backward);
            loss.backward()
        };
        {
            let _optimizer = step.phase(Phase::Optimizer);
            let update = |w: Tensor<2>| {
                let grad = Tensor::from_inner(w.grad(&grads).unwrap());
                (w - grad * 0.01).detach().require_grad()
            };
            w1 = update(w1);
            w2 = update(w2);
        }
        {
            let _readback = step.phase(Phase::Readback);
            assert!(loss.into_scalar::<f32>().is_finite());
        }
        all.push(step.finish().flags);
    }
    all
}

fn dense([inputs, outputs]: [usize; 2]) -> LayerArgs {
    LayerArgs {
        shapes_in: vec![vec![BATCH, inputs]],
        shapes_out: vec![vec![BATCH, outputs]],
        dtype: "f32",
        flops: Some((2 * BATCH * inputs * outputs) as u64),
        bytes: None,
    }
}

/// Trains in a process of its own and reads its trace back; `None` without an adapter.
fn record(folder: &Path, fusion: bool) -> Option<Trace> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "record::child", "--ignored", "--nocapture"]).env(FOLDER, folder);
    if !fusion {
        command.env("BURN_FUSION_MAX_EXPLORATIONS", "0");
    }
    let output = command.output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    if output.status.code() == Some(NO_ADAPTER) {
        assert!(
            std::env::var_os("BURNSCOPE_REQUIRE_GPU").is_none(),
            "BURNSCOPE_REQUIRE_GPU is set, but there is no adapter"
        );
        println!("skipped: this machine has no graphics adapter, not even a software one");
        return None;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(read(&folder.join("trace.pftrace")))
}

/// Not a test of its own: records spans until it is killed.
#[test]
#[ignore = "started by another test of this file"]
fn endless_child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let recorder = Recorder::start(RecordOptions::in_folder(&folder, TraceLevel::L0)).unwrap();
    for n in 0.. {
        let step = recorder.step(n, 0, false, false);
        std::thread::sleep(Duration::from_micros(500));
        step.finish();
    }
}

#[test]
fn a_killed_process_loses_at_most_a_quarter_second() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "record::endless_child", "--ignored"])
        .env(FOLDER, folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let trace_path = folder.path().join("trace.pftrace");
    let size = || std::fs::metadata(&trace_path).map_or(0, |meta| meta.len());
    let patience = Instant::now();
    while size() == 0 {
        assert!(patience.elapsed() < Duration::from_secs(60), "nothing was recorded");
        std::thread::sleep(Duration::from_millis(10));
    }
    // The process's clock is not ours: one second between the first bytes and the kill must be there but for the last
    // quarter, and for the first bytes' own delay.
    std::thread::sleep(Duration::from_secs(1));
    child.kill().unwrap();
    child.wait().unwrap();
    let trace = read(&trace_path);
    let steps = spans(&trace, name::TRAINING, category::STEP);
    let (first, last) = (steps.first().unwrap(), steps.last().unwrap());
    let covered = Duration::from_nanos((last.end_ns() - first.start_ns) as u64);
    assert!(covered >= Duration::from_millis(750), "{covered:?} of at least a second");
    let numbers: Vec<i64> = steps.iter().filter_map(|step| trace.arg_int(step, arg::STEP)).collect();
    assert!(numbers.iter().enumerate().all(|(i, n)| *n == i as i64), "none is missing before the cut");
}

fn read(path: &Path) -> Trace {
    let mut trace = Trace::default();
    PerfettoReader::new().feed(&std::fs::read(path).unwrap(), &mut trace).unwrap();
    trace
}

/// All spans and moments of a track in a category.
fn spans(trace: &Trace, track: &str, category: &str) -> Vec<Span> {
    let category = trace.find_name(category);
    trace
        .tracks()
        .iter()
        .filter(|t| t.name == track)
        .flat_map(|t| t.lanes().iter().chain([t.instants()]).flat_map(|lane| lane.iter()).collect::<Vec<_>>())
        .filter(|span| Some(span.category) == category)
        .collect()
}

/// Operations of a step, single ones and those inside of fused blocks: name, phase, layer, shapes.
fn ops(trace: &Trace, step: u64) -> Vec<Span> {
    let all = spans(trace, name::OPS, category::OP);
    all.into_iter().filter(|op| trace.arg_int(op, arg::STEP) == Some(step as i64)).collect()
}

fn launches(trace: &Trace, step: u64) -> i64 {
    let blocks = [category::OP, category::BLOCK].map(|category| spans(trace, name::OPS, category));
    let of_step = blocks.iter().flatten().filter(|block| trace.arg_int(block, arg::STEP) == Some(step as i64));
    of_step.filter_map(|block| trace.arg_int(block, arg::LAUNCHES)).sum()
}

#[test]
fn operations_and_kernels_of_burn_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let (on, off) = (folder.path().join("on"), folder.path().join("off"));
    for folder in [&on, &off] {
        std::fs::create_dir(folder).unwrap();
    }
    let Some(fused) = record(&on, true) else { return };
    let Some(unfused) = record(&off, false) else { return };

    for trace in [&fused, &unfused] {
        check_steps(trace);
        check_ops(trace);
        check_kernels(trace);
    }
    assert!(!spans(&fused, name::OPS, category::BLOCK).is_empty(), "fusion joins operations");
    assert!(spans(&unfused, name::OPS, category::BLOCK).is_empty(), "without fusion nothing is joined");
    let count = |trace: &Trace| ops(trace, SAMPLED).len();
    assert_eq!(count(&fused), count(&unfused), "fusion changes blocks, not operations");
    let (few, many) = (launches(&fused, SAMPLED), launches(&unfused, SAMPLED));
    assert!(few < many, "{few} launches with fusion, {many} without");
    let events = std::fs::read_to_string(on.join("events.jsonl")).unwrap();
    assert!(events.lines().any(|line| line.contains("\"kind\":\"compile\"")), "compilations are in the event log");
}

fn check_steps(trace: &Trace) {
    let steps = spans(trace, name::TRAINING, category::STEP);
    assert_eq!(steps.len(), STEPS as usize);
    assert_eq!(trace.arg_text(&steps[SAMPLED as usize], arg::FLAGS), Some("traced+sampled"));
    let layers = spans(trace, name::TRAINING, category::LAYER);
    assert_eq!(layers.len(), 3 * (STEPS as usize - 1), "three layers in each traced step");
    let phases = spans(trace, name::TRAINING, category::PHASE);
    assert_eq!(phases.len(), 6 * STEPS as usize, "phases are recorded in untraced steps too");
}

fn check_ops(trace: &Trace) {
    assert!(ops(trace, UNTRACED).is_empty(), "an untraced step has no operations");
    let ops = ops(trace, SAMPLED);
    let find = |shape_in: &str, shape_out: &str, phase: &str| {
        let found = ops.iter().find(|op| {
            trace.name(op.name) == "matmul"
                && trace.arg_text(op, arg::SHAPES_IN) == Some(shape_in)
                && trace.arg_text(op, arg::SHAPES_OUT) == Some(shape_out)
                && trace.arg_text(op, arg::PHASE) == Some(phase)
        });
        *found.unwrap_or_else(|| panic!("no matmul {shape_in} -> {shape_out} in {phase}: {:#?}", listing(trace, &ops)))
    };
    let first = find("[16, 24] [24, 32]", "[16, 32]", "forward");
    assert_eq!(trace.arg_int(&first, arg::FLOPS), Some(2 * 16 * 24 * 32));
    assert_eq!(trace.arg_text(&first, arg::DTYPE), Some("f32"));
    assert_eq!(trace.arg_text(&first, arg::LAYER), Some("dense1"));
    let second = find("[16, 32] [32, 8]", "[16, 8]", "forward");
    assert_eq!(trace.arg_text(&second, arg::LAYER), Some("dense2"));
    // The gradient of the second weight, and of what went into it.
    for gradient in [find("[32, 16] [16, 8]", "[32, 8]", "backward"), find("[16, 8] [8, 32]", "[16, 32]", "backward")] {
        assert_eq!(trace.arg_text(&gradient, arg::LAYER), Some("dense2"), "found by its weight or input");
    }
    let masked =
        ops.iter().find(|op| trace.name(op.name) == "mask_fill" && trace.arg_text(op, arg::PHASE) == Some("backward"));
    assert_eq!(trace.arg_text(masked.unwrap(), arg::LAYER), Some("relu1"), "found by the mask of its input");
    let phases: std::collections::BTreeSet<_> = ops.iter().filter_map(|op| trace.arg_text(op, arg::PHASE)).collect();
    for phase in ["forward", "loss", "backward", "optimizer"] {
        assert!(phases.contains(phase), "{phases:?}");
    }
}

fn check_kernels(trace: &Trace) {
    let kernels = spans(trace, name::DEVICE, category::KERNEL);
    assert_eq!(
        kernels.len() as i64,
        launches(trace, SAMPLED),
        "every kernel of the sampled step is timed, and no other"
    );
    // What fusion held back at the end of the step runs before the next one begins.
    let steps = spans(trace, name::TRAINING, category::STEP);
    let (step, next) = (steps[SAMPLED as usize], steps[SAMPLED as usize + 1]);
    for kernel in &kernels {
        assert!(kernel.dur_ns > 0, "{}", trace.name(kernel.name));
        assert_eq!(trace.arg_int(kernel, arg::STEP), Some(SAMPLED as i64));
        assert!(trace.arg_text(kernel, arg::FULL_NAME).unwrap().contains(trace.name(kernel.name)));
        assert!(trace.arg_text(kernel, arg::OPS).is_some());
        // Without fusion, a kernel that compares makes nothing but a mask.
        let compares = trace.arg_text(kernel, arg::OPS) == Some("lower_equal_elem");
        let dtype = trace.arg_text(kernel, arg::DTYPE).unwrap();
        assert!(if compares { dtype.starts_with("bool") } else { dtype == "f32" }, "{dtype}");
        let slack = trace.arg_int(kernel, arg::CLOCK_ERROR).unwrap_or(0) + 1_000_000;
        assert!(kernel.start_ns >= step.start_ns - slack && kernel.end_ns() <= next.start_ns + slack);
    }
}

fn listing(trace: &Trace, spans: &[Span]) -> Vec<String> {
    let text = |span: &Span, key| trace.arg_text(span, key).unwrap_or("-").to_owned();
    let line = |span| {
        let keys = [arg::PHASE, arg::LAYER, arg::SHAPES_IN, arg::SHAPES_OUT];
        format!("{}: {}", trace.name(Span::clone(span).name), keys.map(|key| text(span, key)).join(" | "))
    };
    spans.iter().map(line).collect()
}
