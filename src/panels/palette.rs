//! Colours of data: one for each phase, and one for each name, the same in every panel and every run.

use crate::analysis::profile::Role;
use crate::model::{Phase, category};
use crate::timeline::paint::CanvasColors;
use crate::trace::{Span, Trace};
use crate::ui::Tokens;
use egui::Color32;

/// Colours that panels need beside those of the widgets.
#[derive(Debug, Clone)]
pub struct Palette {
    /// Of the timeline's canvas.
    pub canvas: CanvasColors,
    /// Of the phases, in the order of [`Phase::ALL`].
    pub phases: [Color32; Phase::COUNT],
    /// Of names; each name takes one by its hash.
    pub names: Vec<Color32>,
    /// Something became better.
    pub good: Color32,
    /// Something became worse.
    pub bad: Color32,
}

/// Parts of a step with a colour of their own, in the order of colours; others are drawn faint.
const ROLES: [Role; 8] =
    [Role::Kernel, Role::Input, Role::Op, Role::Runtime, Role::Function, Role::Communication, Role::Memcpy, Role::Sync];

impl Palette {
    /// The colours of a theme.
    pub fn of(tokens: &Tokens) -> Self {
        let (ui, canvas) = (&tokens.ui, &tokens.canvas);
        Self {
            canvas: CanvasColors {
                background: canvas.background,
                stripe: canvas.stripe,
                grid: canvas.grid,
                text: ui.text,
                weak_text: ui.text_weak,
                selection: ui.accent,
                hit: canvas.hit,
                counter: canvas.counter,
                mark: canvas.mark,
            },
            phases: Phase::ALL.map(|phase| tokens.phase(phase.id())),
            names: tokens.names().to_vec(),
            good: ui.good,
            bad: ui.bad,
        }
    }

    /// The colour of a phase.
    pub fn phase(&self, phase: Phase) -> Color32 {
        self.phases.get(phase as usize).copied().unwrap_or(self.canvas.weak_text)
    }

    /// The colour of a name: stable across runs and machines.
    pub fn name(&self, name: &str) -> Color32 {
        let slot = (hash(name) % self.names.len().max(1) as u64) as usize;
        self.names.get(slot).copied().unwrap_or(self.canvas.weak_text)
    }

    /// The colour of a span: that of its phase if it is one, else that of its name. Steps are told apart by their
    /// category alone, so that a hundred of them are no rainbow.
    pub fn span(&self, trace: &Trace, span: &Span) -> Color32 {
        let name = trace.name(span.name);
        match trace.name(span.category) {
            category::PHASE => self.named(name),
            category::STEP => self.canvas.counter.lerp_to_gamma(self.canvas.background, 0.35),
            _ => self.name(name),
        }
    }

    /// The colour of a name of unknown category: that of the phase, if it is the label of one.
    pub fn named(&self, name: &str) -> Color32 {
        let phase = Phase::ALL.into_iter().find(|phase| phase.label() == name);
        phase.map_or_else(|| self.name(name), |phase| self.phase(phase))
    }

    /// The colour of a part of a step, each its own.
    pub fn role(&self, role: Role) -> Color32 {
        match ROLES.iter().position(|known| *known == role) {
            Some(idx) => self.series(idx),
            None => self.canvas.weak_text,
        }
    }

    /// The colour of a series of this index: a run in a chart.
    pub fn series(&self, idx: usize) -> Color32 {
        self.names.get(idx % self.names.len().max(1)).copied().unwrap_or(self.canvas.text)
    }
}

/// FNV-1a, 64 bits: short, and the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
    }
}
