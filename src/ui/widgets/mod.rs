//! Widgets that egui does not have, each with a name that screen readers and tests can find.

mod basic;
mod empty;
mod figures;
mod header;
mod switch;

pub use basic::{Tone, badge, icon_button, main_button, named, progress, search_field};
pub use empty::{Empty, empty_state};
pub use figures::{Figure, figure_card, value_row};
pub use header::{Sort, sort_header};
pub use switch::{segmented, switch};
