//! Which step, phase and layer an operation belongs to, though it runs later and on another thread.
//!
//! Burn numbers every tensor at the moment when the program asks for it, on the program's thread, from one counter. So
//! the training thread takes a number from the same counter whenever its context changes, and an operation belongs to the
//! last change whose number is below that of its output. Nothing waits, and fusion is not disturbed; a change costs some
//! 50 ns. With tensors made on several threads at once, those of other threads count to the training thread's context.

use crate::model::Phase;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// What the training thread was doing.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// Number of the step; `None` between steps.
    pub step: Option<u64>,
    /// Whether operations are recorded.
    pub traced: bool,
    /// Phase, inside of one.
    pub phase: Option<Phase>,
    /// Layer, inside of one.
    pub layer: Option<Arc<str>>,
}

/// Changes of context, in order.
#[derive(Debug, Default)]
pub struct Contexts {
    marks: VecDeque<(u64, Context)>,
    owners: Owners,
}

/// Steps whose changes are kept: an operation runs at most this much later than it was asked for.
const KEPT_STEPS: u64 = 3;

impl Contexts {
    /// From the tensor after number `id` on, work belongs to `context`.
    pub fn mark(&mut self, id: u64, context: Context) {
        if let Some(step) = context.step
            && self.marks.back().is_some_and(|(_, last)| last.step != context.step)
        {
            self.owners = Owners::default();
            let oldest = Some(step.saturating_sub(KEPT_STEPS));
            // `None`, a mark between steps, is less than any number and goes with the steps around it.
            while self.marks.len() > 1 && self.marks.front().is_some_and(|(_, mark)| mark.step < oldest) {
                self.marks.pop_front();
            }
        }
        self.marks.push_back((id, context));
    }

    /// The last change of context.
    pub fn last(&self) -> Option<&Context> {
        self.marks.back().map(|(_, context)| context)
    }

    /// The context in which the tensor number `id` was asked for.
    pub fn of_tensor(&self, id: u64) -> Option<&Context> {
        let after = self.marks.partition_point(|(mark, _)| *mark <= id);
        self.marks.get(after.checked_sub(1)?).map(|(_, context)| context)
    }

    /// Which layers use which tensors, in the current step.
    pub fn owners(&mut self) -> &mut Owners {
        &mut self.owners
    }
}

/// Layers by the tensors of their forward pass. A backward operation that is given the same tensor belongs to that layer;
/// a tensor of several layers proves nothing.
#[derive(Debug, Default)]
pub struct Owners {
    /// By what their weighted operations are given: inputs and weights. Backward products are given the same.
    pub given: Owned,
    /// By what their other operations are given, and by masks made of it in the backward pass: the gradient of an
    /// activation such as ReLU is masked by a comparison of the activation's input.
    pub masked: Owned,
}

/// Layers by tensor.
#[derive(Debug, Default)]
pub struct Owned(FxHashMap<u64, Option<Arc<str>>>);

impl Owned {
    /// The tensor is the layer's.
    pub fn add(&mut self, tensor: u64, layer: &Arc<str>) {
        let owner = self.0.entry(tensor).or_insert_with(|| Some(Arc::clone(layer)));
        if owner.as_ref().is_some_and(|known| known != layer) {
            *owner = None;
        }
    }

    /// The only layer that the tensor belongs to.
    pub fn of(&self, tensor: u64) -> Option<&Arc<str>> {
        self.0.get(&tensor)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(step: u64, phase: Phase) -> Context {
        Context { step: Some(step), traced: true, phase: Some(phase), layer: None }
    }

    #[test]
    fn tensors_belong_to_the_last_change_before_them() {
        let mut contexts = Contexts::default();
        assert_eq!(contexts.of_tensor(5), None);
        contexts.mark(10, context(0, Phase::Forward));
        contexts.mark(20, context(0, Phase::Backward));
        contexts.mark(30, context(1, Phase::Forward));
        let phase = |id| contexts.of_tensor(id).map(|c| (c.step, c.phase));
        assert_eq!(phase(9), None, "made before anything was recorded");
        assert_eq!(phase(11), Some((Some(0), Some(Phase::Forward))));
        assert_eq!(phase(29), Some((Some(0), Some(Phase::Backward))));
        assert_eq!(phase(31), Some((Some(1), Some(Phase::Forward))));
    }

    #[test]
    fn old_changes_are_forgotten() {
        let mut contexts = Contexts::default();
        for step in 0..100 {
            contexts.mark(step * 10, context(step, Phase::Forward));
            contexts.mark(step * 10 + 5, context(step, Phase::Loss));
        }
        assert!(contexts.marks.len() <= 2 * (KEPT_STEPS as usize + 1));
        assert_eq!(contexts.of_tensor(991).map(|c| c.step), Some(Some(99)));
        assert_eq!(contexts.of_tensor(3), None, "too old to be known, and not taken for another");
    }

    #[test]
    fn a_tensor_of_two_layers_proves_nothing() {
        let mut owners = Owned::default();
        let (a, b): (Arc<str>, Arc<str>) = ("conv1".into(), "conv2".into());
        owners.add(1, &a);
        owners.add(1, &a);
        owners.add(2, &a);
        owners.add(2, &b);
        assert_eq!((owners.of(1), owners.of(2), owners.of(3)), (Some(&a), None, None));
    }
}
