//! A step of each of two traces, one above the other: both begin at the left edge, on one scale.

use super::super::PanelContext;
use super::super::palette::Palette;
use super::super::strip::{Strip, strip_ui};
use crate::analysis::profile::{Profile, StepSpan};
use crate::model::{TrackKind, units};
use crate::session::traces::TraceDiff;
use crate::session::{Command, OpenRun};
use crate::timeline::TrackTree;
use crate::timeline::layout::LayoutCache;
use crate::timeline::tree::TrackSource;
use crate::trace::Trace;
use egui::Ui;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Threads of the host that are shown: those with the most to do in the step.
const MAX_THREADS: usize = 2;
/// Room after the longer step, as a share of it.
const MARGIN: f64 = 0.02;
/// Least height of each of the two.
const MIN_HEIGHT: f32 = 120.0;

/// State between frames.
#[derive(Debug, Default)]
pub struct Aligned {
    of: Option<Arc<TraceDiff>>,
    sides: [Side; 2],
}

#[derive(Debug, Default)]
struct Side {
    step: usize,
    tree: Option<(usize, TrackTree)>,
    layout: LayoutCache,
}

impl Aligned {
    /// Draws both steps into the space that is left.
    pub fn ui(&mut self, cx: &PanelContext<'_>, ui: &mut Ui, result: &Arc<TraceDiff>) {
        let chosen = cx.session.trace_diff();
        let run = |id: &Option<String>| cx.session.open_runs().iter().find(|run| Some(&run.id) == id.as_ref());
        let (Some(a), Some(b)) = (run(&chosen.a), run(&chosen.b)) else {
            ui.weak("One of the two is no longer open");
            return;
        };
        let profiles = [&result.diff.a, &result.diff.b];
        if profiles.iter().any(|profile| profile.steps.list.is_empty()) {
            ui.weak("One of the two has no steps to put beside each other");
            return;
        }
        if self.of.as_ref().is_none_or(|of| !Arc::ptr_eq(of, result)) {
            self.of = Some(Arc::clone(result));
            // The middle one is neither the warm-up nor the last.
            self.sides = profiles.map(|profile| Side { step: profile.steps.list.len() / 2, ..Side::default() });
        }
        self.steps_ui(ui, profiles);
        let [Some(step_a), Some(step_b)] = [0, 1].map(|side| self.step(side, profiles)) else { return };
        let longest = step_a.dur_ns().max(step_b.dur_ns());
        let len_ns = longest.saturating_add((longest as f64 * MARGIN) as i64).max(1);
        let height = (ui.available_height() / 2.0 - 26.0).max(MIN_HEIGHT);
        for (idx, (run, step)) in [(a, step_a), (b, step_b)].into_iter().enumerate() {
            let name = ["A", "B"].get(idx).copied().unwrap_or_default();
            ui.horizontal(|ui| {
                ui.strong(name);
                ui.label(&step.name);
                ui.weak(units::duration_ns(step.dur_ns() as f64));
            });
            ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
                if let Some(side) = self.sides.get_mut(idx) {
                    side.ui(cx, ui, (name, run), &step, len_ns);
                }
            });
        }
    }

    fn step(&self, side: usize, profiles: [&Profile; 2]) -> Option<StepSpan> {
        profiles.get(side)?.steps.list.get(self.sides.get(side)?.step).cloned()
    }

    fn steps_ui(&mut self, ui: &mut Ui, profiles: [&Profile; 2]) {
        ui.horizontal_wrapped(|ui| {
            let mut by = 0_i64;
            for ((name, profile), side) in ["Step of A", "Step of B"].into_iter().zip(profiles).zip(&mut self.sides) {
                let count = profile.steps.list.len();
                let label = ui.label(name);
                // Counted from 1, as people do.
                let mut number = side.step + 1;
                ui.add(egui::DragValue::new(&mut number).range(1..=count)).labelled_by(label.id);
                side.step = number.saturating_sub(1);
                ui.weak(format!("of {}", units::count(count as u64)));
            }
            if ui.button("Previous").on_hover_text("Both one step back").clicked() {
                by = -1;
            }
            if ui.button("Next").on_hover_text("Both one step on").clicked() {
                by = 1;
            }
            for (profile, side) in profiles.into_iter().zip(&mut self.sides) {
                let last = profile.steps.list.len().saturating_sub(1);
                side.step = side.step.saturating_add_signed(by as isize).min(last);
            }
        });
    }
}

impl Side {
    fn ui(&mut self, cx: &PanelContext<'_>, ui: &mut Ui, (name, run): (&str, &OpenRun), step: &StepSpan, len_ns: i64) {
        if self.tree.as_ref().is_none_or(|(of, _)| *of != self.step) {
            self.tree = Some((self.step, tree(&run.trace, step)));
        }
        let Some((_, tree)) = &self.tree else { return };
        let origin = run.trace.bounds().map_or(0, |(start, _)| start);
        let from_ns = step.start_ns.saturating_sub(origin);
        let strip = Strip {
            trace: &run.trace,
            tree,
            from_ns,
            to_ns: from_ns.saturating_add(len_ns),
            zero_ns: from_ns,
            named: true,
            hit: None,
        };
        let label = format!("Step of {name}");
        if let Some(Some(span)) = strip_ui(ui, &label, &strip, &Palette::of(cx.tokens), &mut self.layout) {
            cx.send(Command::Activate(run.id.clone()));
            cx.send(Command::Select(span));
        }
    }
}

/// The tracks in which the step's work is: the busiest threads and all devices.
fn tree(trace: &Trace, step: &StepSpan) -> TrackTree {
    let spans = |source: TrackSource| match source {
        TrackSource::Spans(id) => trace.track(id).map_or(0, |track| {
            track.lanes().iter().map(|lane| lane.range(step.start_ns, step.end_ns).len()).sum::<usize>()
        }),
        TrackSource::Counter(_) => 0,
    };
    let mut tree = TrackTree::of(trace, &BTreeSet::new());
    let is_thread = |kind: TrackKind| !matches!(kind, TrackKind::Device | TrackKind::Async | TrackKind::Counter);
    let mut threads: Vec<(usize, TrackSource)> = tree
        .tracks
        .iter()
        .filter(|track| is_thread(track.kind))
        .map(|track| (spans(track.source), track.source))
        .collect();
    threads.sort_by(|x, y| y.cmp(x));
    threads.truncate(MAX_THREADS);
    tree.tracks.retain(|track| match track.kind {
        TrackKind::Device => spans(track.source) > 0,
        kind => is_thread(kind) && threads.iter().any(|(count, source)| *count > 0 && *source == track.source),
    });
    tree
}
