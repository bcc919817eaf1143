//! Runs with known content, for the tests of this room.

use crate::model::track::{arg, category, name};
use crate::model::{AdapterInfo, Phase, RunManifest, StepFlags, StepRecord, TraceLevel, TrackKind};
use crate::trace::{ArgValue, ArgsId};
use crate::trace::{Trace, TrackId};

/// Steady steps back to back: a quarter input wait, half forward, the rest backward.
pub fn steps(count: u64, dur_ns: i64) -> Vec<StepRecord> {
    (0..count)
        .map(|step| {
            let mut record = StepRecord {
                step,
                start_ns: step as i64 * dur_ns,
                dur_ns,
                samples: 32,
                loss: Some(2.0 / (1.0 + step as f32)),
                flags: StepFlags::TRACED,
                ..StepRecord::default()
            };
            record.phases_ns[Phase::InputWait as usize] = dur_ns / 4;
            record.phases_ns[Phase::Forward as usize] = dur_ns / 2;
            record.phases_ns[Phase::Backward as usize] = dur_ns / 4;
            record.close();
            record
        })
        .collect()
}

fn args(trace: &mut Trace, entries: &[(&str, Result<i64, &str>)]) -> ArgsId {
    let set: Vec<_> = entries
        .iter()
        .map(|(key, value)| {
            let key = trace.intern(key);
            let value = match value {
                Ok(number) => ArgValue::Int(*number),
                Err(text) => ArgValue::Text(trace.intern(text)),
            };
            (key, value)
        })
        .collect();
    trace.intern_args(&set)
}

/// A track of a kind.
pub fn track(trace: &mut Trace, uuid: u64, title: &str) -> TrackId {
    trace.add_track(uuid, None, title, "worker", TrackKind::from_name(title))
}

/// For each step two ops (`matmul` 100 ns, 2,000 FLOP; `relu` 50 ns) and two kernels (300 ns and 100 ns, 100 ns apart).
pub fn trace(steps: &[StepRecord]) -> Trace {
    let mut trace = Trace::default();
    let ops = track(&mut trace, 1, name::OPS);
    let device = track(&mut trace, 2, name::DEVICE);
    let (op, kernel) = (trace.intern(category::OP), trace.intern(category::KERNEL));
    let (matmul, relu) = (trace.intern("matmul"), trace.intern("relu"));
    let (gemm, unary) = (trace.intern("gemm_kernel"), trace.intern("unary_kernel"));
    for step in steps {
        let at = step.start_ns;
        let number = Ok(step.step as i64);
        let shapes = args(
            &mut trace,
            &[
                (arg::STEP, number),
                (arg::SHAPES_IN, Err("[2, 2] [2, 2]")),
                (arg::DTYPE, Err("f32")),
                (arg::FLOPS, Ok(2000)),
                (arg::PHASE, Err("forward")),
            ],
        );
        let plain = args(&mut trace, &[(arg::STEP, number), (arg::PHASE, Err("forward"))]);
        trace.complete(ops, at, 100, matmul, op, shapes);
        trace.complete(ops, at + 100, 50, relu, op, plain);
        trace.complete(device, at + 10, 300, gemm, kernel, shapes);
        trace.complete(device, at + 410, 100, unary, kernel, plain);
    }
    trace.settle();
    trace
}

/// A run on an adapter with timestamps, recorded at level L2.
pub fn manifest() -> RunManifest {
    let mut manifest = RunManifest { id: "run".to_owned(), title: "run".to_owned(), ..RunManifest::default() };
    manifest.spec.trace.level = TraceLevel::L2;
    manifest.environment.adapter = Some(AdapterInfo { timestamps: true, f16: true, ..AdapterInfo::default() });
    manifest
}
