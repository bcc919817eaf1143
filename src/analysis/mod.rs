//! What a run's steps and spans mean: breakdown, tables, busy time, flame, comparison, advice. Pure functions.

pub mod advice;
pub mod breakdown;
pub mod busy;
pub mod callers;
pub mod compare;
pub mod cost;
pub mod counts;
pub mod diff;
pub mod flame;
pub mod matches;
pub mod ops;
mod pieces;
#[cfg(test)]
pub(crate) mod planted;
pub mod profile;

pub use advice::Advice;
pub use breakdown::Breakdown;
pub use compare::{ComparedRun, Comparison, RunView, Versus};
pub use flame::FlameNode;
pub use ops::{KernelRow, Key, OpRow};
pub use profile::Profile;
