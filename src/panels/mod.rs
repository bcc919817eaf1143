//! The panels of the window, one file each: they read the session and send commands, and change nothing themselves.

pub mod active;
pub mod background;
mod bars;
mod callers;
pub mod compare;
pub mod context;
pub mod diff;
pub mod figures;
pub mod flame;
pub mod import;
pub mod kernels;
pub mod log;
pub mod ops;
pub mod overview;
pub mod palette;
pub mod runs;
pub mod series;
pub mod setup;
mod strip;
pub mod table;
#[cfg(test)]
pub mod testing;
pub mod timeline;
pub mod work_table;

pub use active::{compare_ui, flame_ui, kernels_ui, ops_ui, timeline_ui};
pub use context::{CommandSender, PanelContext};
pub use diff::diff_ui;
pub use import::import_ui;
pub use log::log_ui;
pub use overview::overview_ui;
pub use runs::runs_ui;
pub use setup::setup_ui;
