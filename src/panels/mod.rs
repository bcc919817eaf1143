//! The panels of the window, one file each: they read the session and send commands, and change nothing themselves.

pub mod bars;
pub mod context;
pub mod palette;
pub mod series;
pub mod table;

pub use context::{CommandSender, PanelContext};
