//! The timeline's canvas: what part of time is on screen, its ruler, what to draw, how to draw it, and the input.
//!
//! `view`, `ruler` and `layout` are pure and need no window; `paint`, `input` and `canvas` draw with egui. Knows the
//! trace store, never the session: the panel that owns a canvas turns what it returns into commands.

#[cfg(feature = "app")]
pub mod canvas;
#[cfg(feature = "app")]
pub mod flame;
#[cfg(feature = "app")]
pub mod headers;
pub mod icicle;
#[cfg(feature = "app")]
pub mod input;
pub mod layout;
#[cfg(feature = "app")]
pub mod marks;
#[cfg(feature = "app")]
pub mod minimap;
#[cfg(feature = "app")]
pub mod paint;
pub mod ruler;
pub mod tree;
pub mod view;

#[cfg(feature = "app")]
pub use canvas::{CanvasEvent, CanvasInput, TimelineCanvas};
pub use layout::{Item, ItemKind, Layout};
pub use tree::TrackTree;
pub use view::{Bounds, ViewHistory, ViewRange};
