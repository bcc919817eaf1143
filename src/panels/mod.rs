//! The panels of the window, one file each: they read the session and send commands, and change nothing themselves.

pub mod active;
pub mod bars;
pub mod compare;
pub mod context;
pub mod flame;
pub mod kernels;
pub mod ops;
pub mod palette;
pub mod series;
pub mod table;
#[cfg(test)]
pub mod testing;
pub mod timeline;
pub mod work_table;

pub use active::{compare_ui, flame_ui, kernels_ui, ops_ui, timeline_ui};
pub use context::{CommandSender, PanelContext};
