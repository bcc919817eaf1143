//! Look and feel without domain: colours, icons, widgets, command palette, shortcuts, toasts, dialogs.
//!
//! Uses egui only; what things mean is said by those who use it.

pub mod completion;
pub mod dialogs;
pub mod icons;
pub mod palette;
pub mod shortcuts;
pub mod system_dialog;
pub mod text;
pub mod toasts;
pub mod tokens;
pub mod widgets;

pub use icons::Icon;
pub use tokens::Tokens;
