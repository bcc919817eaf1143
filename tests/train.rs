//! Training for real: the loop, its seeds, its precisions and its errors, on the CPU and on a wgpu adapter.
//!
//! Each training runs in a process of its own, as in the app, because Burn's settings hold for a process. Tests of a
//! graphics device say that they were skipped where there is no adapter, unless `BURNSCOPE_REQUIRE_GPU=1` asks for a
//! failure. They use the smallest shapes: a software adapter needs seconds for each kernel it compiles.

use burnscope::data;
use burnscope::format::perfetto::PerfettoReader;
use burnscope::model::track::arg;
use burnscope::model::{Phase, RunSpec, RunSummary, StepFlags, StepRecord, category};
use burnscope::record::{RecordOptions, Recorder};
use burnscope::trace::Trace;
use burnscope::train::{self, Control, Length, TrainError, Trainer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set for the process that trains: the folder that it reads its spec from and writes to.
const FOLDER: &str = "BURNSCOPE_TEST_TRAIN_FOLDER";

/// What a training process leaves behind.
#[derive(Serialize, Deserialize)]
struct Outcome {
    error: Option<String>,
    hint: String,
    no_device: bool,
    weights_hash: String,
    steps: Vec<StepRecord>,
    after_restart: Vec<StepRecord>,
    summary: RunSummary,
    warnings: Vec<String>,
}

/// Not a test of its own: the training process of the tests below.
#[test]
#[ignore = "started by the other tests of this file"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let spec = RunSpec::from_toml(&std::fs::read_to_string(folder.join("spec.toml")).unwrap()).unwrap();
    let mut outcome = Outcome {
        error: None,
        hint: String::new(),
        no_device: false,
        weights_hash: String::new(),
        steps: Vec::new(),
        after_restart: Vec::new(),
        summary: RunSummary::default(),
        warnings: Vec::new(),
    };
    if let Err(error) = train::on_training_thread(|| train_all(&spec, &folder, &mut outcome)) {
        outcome.error = Some(error.message());
        outcome.hint = error.hint().to_owned();
        outcome.no_device = matches!(error, TrainError::NoDevice { .. });
    }
    std::fs::write(folder.join("outcome.json"), serde_json::to_string(&outcome).unwrap()).unwrap();
}

fn train_all(spec: &RunSpec, folder: &Path, outcome: &mut Outcome) -> Result<(), TrainError> {
    let recorder = Recorder::start(RecordOptions::in_folder(folder, spec.trace.level)).unwrap();
    let dataset = data::open(&spec.data).unwrap();
    let mut trainer = Trainer::new(spec, dataset, recorder.clone(), Length::Spec)?;
    outcome.weights_hash = trainer.weights_hash();
    outcome.warnings = trainer.warnings().to_vec();
    let mut steps = Vec::new();
    let mut keep = |record: &StepRecord| {
        steps.push(record.clone());
        Control::Continue
    };
    trainer.warm_up(&mut keep)?;
    let left = trainer.total_steps() - trainer.steps_made();
    trainer.run(left, &mut keep)?;
    if spec.train.evaluate {
        trainer.evaluate()?;
    }
    outcome.summary = trainer.summary(&steps);
    outcome.steps = steps;
    trainer.restart(spec.train.seed)?;
    trainer.run(2, &mut |record| {
        outcome.after_restart.push(record.clone());
        Control::Continue
    })?;
    recorder.finish();
    Ok(())
}

/// Trains with these assignments over small defaults. `None`: there is no such device.
fn train_in(folder: &Path, sets: &[&str]) -> Option<Outcome> {
    let base = ["data.source=synthetic", "data.synthetic_images=512", "train.batch=16", "train.device=cpu"];
    let sets: Vec<String> = base.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    let spec = RunSpec::from_layers(&[], &sets).unwrap();
    std::fs::write(folder.join("spec.toml"), spec.to_toml()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["train::child", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(train::process::CACHE_DIR_VAR, cache())
        .output()
        .unwrap();
    let text = std::fs::read_to_string(folder.join("outcome.json"));
    let text = text.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let outcome: Outcome = serde_json::from_str(&text).unwrap();
    (!outcome.no_device).then_some(outcome)
}

/// Trains on the CPU and expects no error.
fn train_on_cpu(sets: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let outcome = train_in(folder.path(), sets).unwrap();
    assert_eq!(outcome.error, None);
    outcome
}

/// Trains a tiny MLP on the best adapter; `None`, and a word about it, where there is none.
fn train_on_gpu(folder: &Path, sets: &[&str]) -> Option<Outcome> {
    let base = ["train.device=gpu", "compiler.autotune=minimal", "train.steps=8"];
    let sets: Vec<&str> = TINY.iter().chain(&base).chain(sets).copied().collect();
    let outcome = train_in(folder, &sets);
    if outcome.is_none() {
        assert!(std::env::var_os("BURNSCOPE_REQUIRE_GPU").is_none(), "no wgpu adapter");
        println!("skipped: this machine has no wgpu adapter");
    }
    outcome
}

const TINY: [&str; 4] = ["model.kind=mlp", "model.hidden=16", "model.layers=1", "train.batch=8"];

/// Tuned kernels are kept between the tests, and between two runs of them.
fn cache() -> PathBuf {
    let dirs = directories::ProjectDirs::from("", "", "burnscope-tests");
    dirs.map_or_else(std::env::temp_dir, |dirs| dirs.cache_dir().to_owned())
}

fn losses(steps: &[StepRecord]) -> Vec<f32> {
    steps.iter().filter_map(|step| step.loss).collect()
}

fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}

/// Loss by loss within this relative distance.
fn assert_near(a: &Outcome, b: &Outcome, tolerance: f32) {
    let (a, b) = (losses(&a.steps), losses(&b.steps));
    assert_eq!(a.len(), b.len());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < tolerance * b.abs()), "{a:?} and {b:?}");
}

#[test]
fn the_cnn_learns_in_exactly_the_steps_asked_for() {
    let outcome = train_on_cpu(&["train.steps=10", "train.epochs=2"]);
    let numbers: Vec<u64> = outcome.steps.iter().map(|step| step.step).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    let epochs: Vec<u32> = outcome.steps.iter().map(|step| step.epoch).collect();
    assert_eq!(epochs, [[0; 10], [1; 10]].concat());
    let losses = losses(&outcome.steps);
    assert_eq!(losses.len(), 20);
    assert!(mean(&losses[15..]) < 0.8 * mean(&losses[..5]), "{losses:?}");
    for step in &outcome.steps {
        assert_eq!(step.phases_ns.iter().sum::<i64>(), step.dur_ns);
        let named: i64 = Phase::ALL[..Phase::COUNT - 1].iter().map(|phase| step.phase_ns(*phase)).sum();
        assert!(named as f64 > 0.97 * step.dur_ns as f64, "unattributed: {step:?}");
        assert!(step.phase_ns(Phase::Backward) > 0 && step.phase_ns(Phase::InputWait) > 0);
    }
    let summary = &outcome.summary;
    assert_eq!((summary.steps, summary.parameters), (20, 167_562));
    assert!(summary.warm_up.steps >= 4 && summary.warm_up.steps < 20);
    assert_eq!(summary.steady_steps, 20 - summary.warm_up.steps);
    assert!(*summary.test_accuracy.get().unwrap() > 0.2, "{:?}", summary.test_accuracy);
    let steady = || outcome.steps.iter().filter(|step| step.flags.steady());
    let untraced = steady().filter(|step| !step.flags.contains(StepFlags::TRACED)).count();
    assert!(untraced >= 3 && steady().count() - untraced >= 3, "both kinds are needed to tell what recording costs");
    assert!(summary.kernels_per_step.reason().unwrap().contains("Flex"));
}

#[test]
fn a_seed_makes_the_same_run_again() {
    let (a, b) = (train_on_cpu(&["train.steps=6"]), train_on_cpu(&["train.steps=6"]));
    assert_eq!(a.weights_hash, b.weights_hash);
    assert_eq!(losses(&a.steps), losses(&b.steps), "same seed, bit by bit");
    assert_eq!(losses(&a.after_restart), losses(&a.steps)[..2], "a restart begins anew");
    assert_eq!(a.after_restart[0].step, 6, "and goes on counting");
    let other = train_on_cpu(&["train.steps=6", "train.seed=7"]);
    assert_ne!(a.weights_hash, other.weights_hash);
    assert_ne!(losses(&a.steps), losses(&other.steps));
}

#[test]
fn the_input_pipeline_changes_no_number() {
    let off = losses(&train_on_cpu(&["train.steps=10", "train.epochs=2"]).steps);
    for workers in ["pipeline.workers=1", "pipeline.workers=3"] {
        let on = train_on_cpu(&["train.steps=10", "train.epochs=2", "pipeline.enabled=true", workers]);
        assert_eq!(losses(&on.steps), off, "{workers}");
    }
}

#[test]
fn losses_are_read_as_often_as_asked() {
    let outcome = train_on_cpu(&["train.steps=12", "train.readback_every=4", "train.warmup_quiet_steps=1"]);
    let warm_up = outcome.summary.warm_up.steps;
    let read: Vec<u64> = outcome.steps.iter().filter(|s| s.loss.is_some()).map(|s| s.step).collect();
    let expected: Vec<u64> = (0..12).filter(|n| *n < warm_up || (n + 1) % 4 == 0).collect();
    assert_eq!(read, expected);
}

#[test]
fn sgd_learns_too() {
    let outcome =
        train_on_cpu(&["train.steps=40", "optimizer.kind=sgd", "optimizer.lr=0.01", "optimizer.momentum=0.9"]);
    let losses = losses(&outcome.steps);
    assert!(mean(&losses[35..]) < 0.9 * mean(&losses[..5]), "{losses:?}");
}

#[test]
fn a_loss_beyond_all_numbers_ends_the_run_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["model.kind=mlp", "model.layers=8", "optimizer.kind=sgd", "optimizer.lr=1000", "train.steps=30"];
    let outcome = train_in(folder.path(), &sets).unwrap();
    assert!(outcome.error.unwrap().contains("the loss is"));
    assert!(outcome.hint.contains("optimizer.lr"));
}

#[test]
fn a_device_that_is_not_there_is_an_error_with_a_list() {
    let folder = tempfile::tempdir().unwrap();
    assert!(train_in(folder.path(), &["train.device=no such adapter"]).is_none());
    let text = std::fs::read_to_string(folder.path().join("outcome.json")).unwrap();
    let outcome: Outcome = serde_json::from_str(&text).unwrap();
    let error = outcome.error.unwrap();
    assert!(error.contains("`no such adapter`") && error.contains("the CPU"), "{error}");
}

#[test]
fn the_adapter_computes_what_the_cpu_computes() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["train.steps=16", "trace.level=L2", "trace.sample_every=4", "trace.untraced_every=4"];
    let Some(gpu) = train_on_gpu(folder.path(), &sets) else { return };
    assert_eq!(gpu.error, None);
    let cpu = train_on_cpu(&[&TINY[..], &["train.steps=16"]].concat());
    assert_eq!(gpu.weights_hash, cpu.weights_hash);
    assert_near(&gpu, &cpu, 1e-3);
    let warm_up = gpu.summary.warm_up.steps;
    for step in &gpu.steps {
        let (n, warm) = (step.step + 1, step.step < warm_up);
        assert_eq!(step.flags.contains(StepFlags::SAMPLED), n % 4 == 0 && !warm, "{step:?}");
        // Equal periods, and still both kinds of step: the untraced ones lie half a period off.
        assert_eq!(step.flags.contains(StepFlags::TRACED), warm || n % 4 != 2, "{step:?}");
    }
    assert!(*gpu.summary.ops_per_step.get().unwrap() > 20.0, "{:?}", gpu.summary.ops_per_step);
    assert!(*gpu.summary.kernels_per_step.get().unwrap() > 20.0, "{:?}", gpu.summary.kernels_per_step);
    assert!(gpu.steps[0].flags.contains(StepFlags::COLD));
    assert!(gpu.summary.warm_up.compiled > 0);
    assert!(*gpu.summary.peak_device_bytes.get().unwrap() > 0);
    let dtypes = op_dtypes(folder.path());
    assert!(dtypes.contains("f32") && !dtypes.contains("f16"), "{dtypes:?}");
}

#[test]
fn fusion_changes_the_kernels_and_not_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let Some(fused) = train_on_gpu(folder.path(), &["compiler.fusion=true"]) else { return };
    assert_eq!(fused.error, None);
    assert_near(&fused, &train_on_cpu(&[&TINY[..], &["train.steps=8"]].concat()), 1e-3);
}

#[test]
fn sixteen_bits_compute_in_sixteen_bits() {
    let folder = tempfile::tempdir().unwrap();
    let Some(f16) = train_on_gpu(folder.path(), &["precision.mode=f16"]) else { return };
    if refused_for_lack_of_f16(&f16) {
        return;
    }
    assert_eq!(f16.error, None);
    let f32 = train_on_cpu(&[&TINY[..], &["train.steps=8"]].concat());
    assert_near(&f16, &f32, 0.1);
    assert!(op_dtypes(folder.path()).contains("f16"));
}

#[test]
fn mixed_precision_follows_the_f32_curve() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mixed) = train_on_gpu(folder.path(), &["precision.mode=mixed", "precision.init_scale=1024"]) else {
        return;
    };
    if refused_for_lack_of_f16(&mixed) {
        return;
    }
    assert_eq!(mixed.error, None);
    let f32 = train_on_cpu(&[&TINY[..], &["train.steps=8"]].concat());
    assert_eq!(mixed.weights_hash, f32.weights_hash);
    assert_near(&mixed, &f32, 0.03);
    assert!(mixed.steps.iter().all(|step| step.loss_scale == Some(1024.0)));
    assert_eq!(mixed.summary.skipped_steps.get(), Some(&0));
    let dtypes = op_dtypes(folder.path());
    assert!(dtypes.contains("f16") && dtypes.contains("f32"), "{dtypes:?}");
}

#[test]
fn an_overflow_skips_the_update_and_halves_the_scale() {
    let folder = tempfile::tempdir().unwrap();
    // So large a scale overflows 16 bits by itself.
    let sets = ["precision.mode=mixed", "precision.init_scale=16777216"];
    let Some(outcome) = train_on_gpu(folder.path(), &sets) else { return };
    if refused_for_lack_of_f16(&outcome) {
        return;
    }
    assert_eq!(outcome.error, None);
    let first = &outcome.steps[0];
    assert!(first.flags.contains(StepFlags::SKIPPED) && first.loss_scale == Some(16_777_216.0), "{first:?}");
    assert_eq!(outcome.steps[1].loss_scale, Some(8_388_608.0));
    let skipped = outcome.steps.iter().filter(|step| step.flags.contains(StepFlags::SKIPPED)).count() as u64;
    assert!(skipped < 8, "the scale must fall to where gradients fit");
    assert_eq!(outcome.summary.skipped_steps.get(), Some(&skipped));
}

/// Whether the adapter refused 16 bits, with the reason that it must give.
fn refused_for_lack_of_f16(outcome: &Outcome) -> bool {
    let refused = outcome.error.as_ref().is_some_and(|error| error.contains("SHADER_F16"));
    if refused {
        println!("skipped: the adapter has no 16-bit arithmetic");
    }
    refused
}

/// Element types of the recorded operations.
fn op_dtypes(folder: &Path) -> BTreeSet<String> {
    let mut trace = Trace::default();
    let mut reader = PerfettoReader::new();
    reader.feed(&std::fs::read(folder.join("trace.pftrace")).unwrap(), &mut trace).unwrap();
    let op = trace.find_name(category::OP);
    let lanes = trace.tracks().iter().flat_map(|track| track.lanes().iter().chain([track.instants()]));
    let spans = lanes.flat_map(|lane| lane.iter()).filter(|span| Some(span.category) == op);
    spans.filter_map(|span| trace.arg_text(&span, arg::DTYPE).map(str::to_owned)).collect()
}
