//! Tables for spreadsheets. Text that a spreadsheet would take for a formula is written with a leading apostrophe.

use super::ReportError;
use crate::analysis::{Comparison, KernelRow, OpRow};
use crate::model::{Known, Phase, StepRecord};
use std::borrow::Cow;

/// Text that no spreadsheet takes for a formula (OWASP, CSV injection).
pub(super) fn safe(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn number<T: ToString>(figure: &Known<T>) -> String {
    figure.get().map(T::to_string).unwrap_or_default()
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<Vec<u8>, ReportError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(head)?;
    for row in rows {
        writer.write_record(row)?;
    }
    writer.into_inner().map_err(|e| ReportError::Csv(e.into_error().into()))
}

/// One row a run; times in nanoseconds, an empty cell = unknown.
pub fn comparison(c: &Comparison) -> Result<Vec<u8>, ReportError> {
    let mut head = vec![
        "run",
        "id",
        "device",
        "steps",
        "steady_steps",
        "step_median_ns",
        "step_mad_ns",
        "step_p5_ns",
        "step_p95_ns",
        "samples_per_sec",
        "speed_vs_previous",
        "speed_vs_baseline",
        "ratio_ci_low",
        "ratio_ci_high",
        "p_value",
        "verdict",
        "blocks",
        "interleaved",
        "device_busy",
        "kernels_per_step",
        "ops_per_step",
        "warm_up_ns",
        "final_loss",
        "test_accuracy",
    ];
    let phases: Vec<String> = Phase::ALL.iter().map(|phase| format!("{}_median_ns", phase.id())).collect();
    head.extend(phases.iter().map(String::as_str));
    table(
        &head,
        c.runs.iter().map(|run| {
            let baseline = run.vs_baseline.as_ref().and_then(|v| v.as_ref().ok());
            let previous = run.vs_previous.as_ref().and_then(|v| v.as_ref().ok());
            let of = |pick: &dyn Fn(&crate::analysis::Versus) -> String| baseline.map(pick).unwrap_or_default();
            let mut row = vec![
                safe(&run.title).into_owned(),
                safe(&run.id).into_owned(),
                safe(&run.device).into_owned(),
                run.steps.to_string(),
                run.steady_steps.to_string(),
                number(&run.step_median_ns),
                number(&run.step_mad_ns),
                number(&run.step_p5_ns),
                number(&run.step_p95_ns),
                number(&run.samples_per_sec),
                previous.map(|v| v.speedup.to_string()).unwrap_or_default(),
                of(&|v| v.speedup.to_string()),
                of(&|v| v.ci_low.to_string()),
                of(&|v| v.ci_high.to_string()),
                of(&|v| v.p_value.to_string()),
                of(&|v| v.verdict.label().to_owned()),
                of(&|v| v.blocks.to_string()),
                of(&|v| v.interleaved.to_string()),
                number(&run.device_busy),
                number(&run.kernels_per_step),
                number(&run.ops_per_step),
                run.warm_up.dur_ns.to_string(),
                run.final_loss.map(|loss| loss.to_string()).unwrap_or_default(),
                number(&run.test_accuracy),
            ];
            row.extend(run.phases_median_ns.iter().map(f64::to_string));
            row
        }),
    )
}

/// One row a step.
pub fn steps(steps: &[StepRecord]) -> Result<Vec<u8>, ReportError> {
    let mut head = vec!["step", "epoch", "block", "start_ns", "dur_ns"];
    let phases: Vec<String> = Phase::ALL.iter().map(|phase| format!("{}_ns", phase.id())).collect();
    head.extend(phases.iter().map(String::as_str));
    head.extend(["loss", "accuracy", "samples", "loss_scale", "flags"]);
    let optional = |value: Option<f32>| value.map(|v| v.to_string()).unwrap_or_default();
    table(
        &head,
        steps.iter().map(|step| {
            let mut row = vec![
                step.step.to_string(),
                step.epoch.to_string(),
                step.block.to_string(),
                step.start_ns.to_string(),
                step.dur_ns.to_string(),
            ];
            row.extend(step.phases_ns.iter().map(i64::to_string));
            row.extend([
                optional(step.loss),
                optional(step.accuracy),
                step.samples.to_string(),
                optional(step.loss_scale),
                step.flags.to_text(),
            ]);
            row
        }),
    )
}

/// One row an operation.
pub fn ops(rows: &[OpRow]) -> Result<Vec<u8>, ReportError> {
    let head = [
        "name",
        "shapes",
        "dtype",
        "phase",
        "layer",
        "count",
        "total_ns",
        "self_ns",
        "mean_ns",
        "p95_ns",
        "min_ns",
        "max_ns",
        "share",
        "flops",
        "flops_per_sec",
        "bytes",
        "bytes_per_sec",
        "time_by",
    ];
    table(
        &head,
        rows.iter().map(|row| {
            vec![
                safe(&row.name).into_owned(),
                safe(&row.shapes).into_owned(),
                row.dtype.clone(),
                row.phase.map(|phase| phase.id().to_owned()).unwrap_or_default(),
                safe(&row.layer).into_owned(),
                row.count.to_string(),
                row.total_ns.to_string(),
                row.self_ns.to_string(),
                row.mean_ns.to_string(),
                row.p95_ns.to_string(),
                row.min_ns.to_string(),
                row.max_ns.to_string(),
                row.share.to_string(),
                number(&row.flops),
                number(&row.flops_per_sec),
                number(&row.bytes),
                number(&row.bytes_per_sec),
                row.source.clone(),
            ]
        }),
    )
}

/// One row a kernel.
pub fn kernels(rows: &[KernelRow]) -> Result<Vec<u8>, ReportError> {
    ops(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_defused() {
        assert_eq!(safe("+ fusion"), "'+ fusion");
        assert_eq!(safe("=1+1"), "'=1+1");
        assert_eq!(safe("baseline"), "baseline");
    }
}
