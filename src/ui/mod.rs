//! Look and feel without domain: colours, icons, widgets, command palette, shortcuts, toasts, dialogs.
//!
//! Uses egui only; what things mean is said by those who use it.

pub mod icons;
pub mod text;
pub mod tokens;

pub use icons::Icon;
pub use tokens::Tokens;
