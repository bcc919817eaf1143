//! What is computed from an open run, on a background thread, each time it has grown: breakdown, tables, flame, advice.

use super::ceilings;
use super::state::OpenRun;
use super::{Msg, Session};
use crate::analysis::advice::{self, Advice, Facts};
use crate::analysis::compare::{self, Comparison, RunView};
use crate::analysis::counts::{self, StepCounts};
use crate::analysis::{Breakdown, FlameNode, Key, OpRow, Profile, breakdown, busy, flame, ops};
use crate::model::{Known, RunManifest, StepFlags, StepRecord};
use crate::trace::{Overlaps, Trace};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Shortest time between two computations for a run that grows.
const LIVE_EVERY: Duration = Duration::from_millis(1000);

/// Figures of an open run. `None` = being computed for the first time.
#[derive(Debug, Clone, Default)]
pub struct Derived {
    /// The step by phase; inside `None` = the run has no steps.
    pub breakdown: Option<Arc<Option<Breakdown>>>,
    /// Operations, by name.
    pub ops: Option<Arc<Vec<OpRow>>>,
    /// Operations, by name and input shapes.
    pub ops_by_shape: Option<Arc<Vec<OpRow>>>,
    /// Kernels, by name.
    pub kernels: Option<Arc<Vec<OpRow>>>,
    /// Kernels, by name and input shapes of their block.
    pub kernels_by_shape: Option<Arc<Vec<OpRow>>>,
    /// Merged spans, one tree for each track that has spans.
    pub flame: Option<Arc<Vec<FlameNode>>>,
    /// Operations and kernels of a step.
    pub counts: StepCounts,
    /// Share of wall time in which a kernel ran.
    pub busy: Known<f64>,
    /// Floating-point operations a second of the run as a whole, and their share of the device's measured ceiling.
    pub compute: (Known<f64>, Known<f64>),
    /// Steps, parts and idle times as they are found in any trace.
    pub profile: Option<Arc<Profile>>,
    /// What to try.
    pub advice: Option<Arc<Vec<Advice>>>,
    of: Option<Of>,
    running: bool,
    done_at: Option<Instant>,
}

/// What figures are computed from.
#[derive(Debug, Clone, PartialEq)]
struct Of {
    generation: u64,
    steps: usize,
    live: bool,
    marker: Option<String>,
    overlaps: Overlaps,
}

/// Figures that are ready.
pub(crate) struct Computed {
    id: String,
    derived: Derived,
}

/// Computes everything from a run. `marker` is the name of the spans that the user takes for its steps.
pub fn compute(manifest: &RunManifest, steps: &[StepRecord], trace: &Trace, marker: Option<&str>) -> Derived {
    let cold: HashSet<i64> =
        steps.iter().filter(|step| step.flags.contains(StepFlags::COLD)).map(|step| step.step as i64).collect();
    let counts = counts::per_step(trace, |step| cold.contains(&step));
    let busy = busy::device_busy(trace, steps, manifest);
    let breakdown = breakdown::breakdown(steps);
    let advice = breakdown
        .as_ref()
        .map(|breakdown| advice::advise(&Facts { manifest, steps, breakdown, counts: &counts, device_busy: &busy }))
        .unwrap_or_default();
    let trees =
        trace.tracks().iter().filter(|track| track.span_count() > 0).map(|track| flame::merged(trace, track)).collect();
    let limits = ceilings::limits(manifest);
    let held = |mut rows: Vec<OpRow>| {
        ceilings::hold_against(&mut rows, &limits);
        Some(Arc::new(rows))
    };
    Derived {
        breakdown: Some(Arc::new(breakdown)),
        ops: held(ops::table(trace, Key::Name)),
        ops_by_shape: held(ops::table(trace, Key::NameAndShapes)),
        kernels: held(ops::kernels(trace, Key::Name)),
        kernels_by_shape: held(ops::kernels(trace, Key::NameAndShapes)),
        flame: Some(Arc::new(trees)),
        counts,
        busy,
        compute: ceilings::run_rate(manifest),
        profile: Some(Arc::new(Profile::of(trace, marker))),
        advice: Some(Arc::new(advice)),
        of: None,
        running: false,
        done_at: None,
    }
}

/// Compares open runs, the first being the baseline.
pub(super) fn comparison(runs: &[OpenRun]) -> Result<Comparison, String> {
    let views: Vec<RunView> = runs
        .iter()
        .map(|run| RunView { manifest: &run.manifest, steps: &run.steps, trace: Some(&run.trace) })
        .collect();
    compare::compare(&views).map_err(|e| e.to_string())
}

impl Session {
    /// Starts the computation for a run that has grown, unless one is under way or the last was a moment ago.
    pub(super) fn derive(&mut self, id: &str) {
        let Some(run) = self.open.iter_mut().find(|run| run.id == id) else { return };
        let (generation, steps) = (run.trace.generation(), run.steps.len());
        let now = Of { generation, steps, live: run.live, marker: run.marker.clone(), overlaps: run.overlaps };
        let too_soon = run.live && run.derived.done_at.is_some_and(|at| at.elapsed() < LIVE_EVERY);
        if run.derived.running || run.derived.of.as_ref() == Some(&now) || too_soon {
            return;
        }
        run.derived.running = true;
        let (manifest, steps, trace) = (Arc::clone(&run.manifest), Arc::clone(&run.steps), run.trace.clone());
        let (id, outbox) = (id.to_owned(), self.outbox.clone());
        self.compute("derive", move || {
            let derived = compute(&manifest, &steps, &trace, now.marker.as_deref());
            let derived = Derived { of: Some(now), ..derived };
            outbox.send(Msg::Derived(Box::new(Computed { id, derived })));
        });
    }

    pub(super) fn derived(&mut self, computed: Computed) {
        let Some(run) = self.open.iter_mut().find(|run| run.id == computed.id) else { return };
        run.derived = Derived { done_at: Some(Instant::now()), ..computed.derived };
        let (id, live) = (run.id.clone(), run.live);
        if !live {
            // The run may have ended while this was computed.
            self.derive(&id);
        }
    }
}
