//! Timeline, Flame, Ops, Kernels and Compare on the session: what of it each of them shows. Everything else about them
//! knows no session, so that it can be tested with a planted trace alone.

use super::PanelContext;
use super::compare::{CompareInput, CompareState, compare_view};
use super::flame::{FlameInput, FlameState, flame_view};
use super::kernels::{KernelsInput, kernels_view};
use super::ops::{OpsInput, ops_view};
use super::palette::Palette;
use super::timeline::{TimelineInput, TimelineState, timeline_view};
use super::work_table::WorkState;
use crate::session::OpenRun;
use egui::Ui;

/// The run in view, or a word on how to get one.
fn active<'a>(cx: &PanelContext<'a>, ui: &mut Ui) -> Option<&'a OpenRun> {
    let run = cx.session.active();
    if run.is_none() {
        let text = "No run is open. Train one in Setup, or open one from Runs";
        ui.centered_and_justified(|ui| ui.weak(text));
    }
    run
}

/// The Timeline panel.
pub fn timeline_ui(cx: &PanelContext<'_>, state: &mut TimelineState, ui: &mut Ui) {
    let Some(run) = active(cx, ui) else { return };
    let selection = cx.session.selection();
    let input = TimelineInput {
        run: &run.id,
        path: &run.path,
        trace: &run.trace,
        live: run.live,
        loading: run.loading,
        span: selection.span,
        range_ns: selection.range_ns,
        name: selection.name.as_deref(),
        steps: run.derived.profile.as_ref().map(|profile| profile.steps.list.as_slice()),
    };
    timeline_view(ui, &input, &Palette::of(cx.tokens), state).into_iter().for_each(|command| cx.send(command));
}

/// The Flame panel.
pub fn flame_ui(cx: &PanelContext<'_>, state: &mut FlameState, ui: &mut Ui) {
    let Some(run) = active(cx, ui) else { return };
    let selection = cx.session.selection();
    let input = FlameInput {
        run: &run.id,
        trace: &run.trace,
        merged: run.derived.flame.as_ref(),
        span: selection.span,
        name: selection.name.as_deref(),
        range_ns: selection.range_ns,
    };
    flame_view(ui, &input, &Palette::of(cx.tokens), state).into_iter().for_each(|command| cx.send(command));
}

/// The Ops panel.
pub fn ops_ui(cx: &PanelContext<'_>, state: &mut WorkState, ui: &mut Ui) {
    let Some(run) = active(cx, ui) else { return };
    let input = OpsInput {
        by_name: run.derived.ops.as_ref(),
        by_shape: run.derived.ops_by_shape.as_ref(),
        selected: cx.session.selection().name.as_deref(),
    };
    ops_view(ui, &input, &Palette::of(cx.tokens), state).into_iter().for_each(|command| cx.send(command));
}

/// The Kernels panel.
pub fn kernels_ui(cx: &PanelContext<'_>, state: &mut WorkState, ui: &mut Ui) {
    let Some(run) = active(cx, ui) else { return };
    let environment = &run.manifest.environment;
    let input = KernelsInput {
        by_name: run.derived.kernels.as_ref(),
        by_shape: run.derived.kernels_by_shape.as_ref(),
        selected: cx.session.selection().name.as_deref(),
        // A foreign trace has no environment at all.
        on_cpu: environment.adapter.is_none() && !environment.device.is_empty(),
    };
    kernels_view(ui, &input, &Palette::of(cx.tokens), state).into_iter().for_each(|command| cx.send(command));
}

/// The Compare panel.
pub fn compare_ui(cx: &PanelContext<'_>, state: &mut CompareState, ui: &mut Ui) {
    let session = cx.session;
    let title = |entry: &crate::session::RunEntry| match entry.manifest.title.as_str() {
        "" => entry.id.clone(),
        title => title.to_owned(),
    };
    let library: Vec<(String, String)> =
        session.library().iter().map(|entry| (entry.id.clone(), title(entry))).collect();
    let compare = session.compare();
    let input = CompareInput {
        library: &library,
        baseline: compare.baseline.as_deref(),
        others: &compare.others,
        comparison: compare.result.as_ref(),
        stages: session.experiment().map(|experiment| experiment.arms.as_slice()).unwrap_or_default(),
        computing: compare.computing,
        error: compare.error.as_deref(),
    };
    let commands = compare_view(ui, &input, &Palette::of(cx.tokens), session.runs_dir(), state);
    commands.into_iter().for_each(|command| cx.send(command));
}
