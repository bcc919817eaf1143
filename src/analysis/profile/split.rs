//! Where the wall time of a step goes, by a fixed order of precedence, so that the parts sum to the step exactly.
//!
//! Order of precedence as in PyTorch's former TensorBoard plugin: what a device does counts before what the host does
//! meanwhile, and what waits counts only where nothing works.

use super::intervals::Intervals;
use super::role::{Role, Roles};
use super::steps::StepSpan;
use crate::analysis::pieces::pieces;
use crate::trace::Trace;
use rayon::prelude::*;
use serde::Serialize;

/// Parts of a step, the first that applies taking the time.
pub const ORDER: [Role; 10] = [
    Role::Kernel,
    Role::Communication,
    Role::Memcpy,
    Role::Memset,
    Role::Sync,
    Role::Runtime,
    Role::Input,
    Role::Op,
    Role::Function,
    Role::Other,
];

/// One part of the steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// What it is.
    pub role: Role,
    /// Words for it.
    pub label: &'static str,
    /// Time in each step, in nanoseconds, in their order.
    pub per_step_ns: Vec<i64>,
    /// Mean time a step, in nanoseconds.
    pub mean_ns: f64,
    /// Share of the mean step, 0 to 1.
    pub share: f64,
}

/// Times in which spans of each role run, in the order of [`ORDER`]; annotations count as nothing.
pub fn busy_by_role(trace: &Trace, roles: &Roles) -> Vec<Intervals> {
    let parts: Vec<[Vec<(i64, i64)>; ORDER.len()]> = pieces(trace, |_| true)
        .par_iter()
        .map(|piece| {
            let mut stretches = [const { Vec::new() }; ORDER.len()];
            for (_, span) in piece.spans() {
                let role = roles.role(piece.track, &span);
                if let Some(list) = ORDER.iter().position(|known| *known == role).and_then(|at| stretches.get_mut(at)) {
                    list.push((span.start_ns, span.end_ns()));
                }
            }
            stretches
        })
        .collect();
    let of_role = |role: usize| parts.iter().filter_map(|part| part.get(role)).flatten().copied().collect();
    (0..ORDER.len()).into_par_iter().map(|role| Intervals::of(of_role(role))).collect()
}

/// Splits steps by role. The parts of a step sum to its duration; what no span covers is [`Role::Other`].
pub fn split(busy: &[Intervals], steps: &[StepSpan]) -> Vec<Part> {
    let mut covered = Intervals::default();
    let mut taken = vec![0_i64; steps.len()];
    let mut parts = Vec::new();
    for (role, own) in ORDER.iter().zip(busy) {
        let with = covered.union(own);
        let per_step_ns: Vec<i64> = steps
            .iter()
            .zip(&mut taken)
            .map(|(step, taken)| {
                let now = if *role == Role::Other { step.dur_ns() } else { with.within(step.start_ns, step.end_ns) };
                let part = now - *taken;
                *taken = now;
                part
            })
            .collect();
        covered = with;
        let total: i64 = per_step_ns.iter().sum();
        let wall: i64 = steps.iter().map(StepSpan::dur_ns).sum();
        parts.push(Part {
            role: *role,
            label: role.label(),
            mean_ns: total as f64 / steps.len().max(1) as f64,
            share: if wall > 0 { total as f64 / wall as f64 } else { 0.0 },
            per_step_ns,
        });
    }
    parts
}
