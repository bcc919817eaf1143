//! A comparison for the terminal.

use super::rows::{self, HEADLINE_COLUMNS};
use super::table::{Align, Table};
use crate::analysis::Comparison;

/// A table whose first column holds words and the others figures.
fn table<'a>(head: impl IntoIterator<Item = &'a str>) -> Table {
    let align = std::iter::once(Align::Left).chain(std::iter::repeat(Align::Right));
    Table::new(&head.into_iter().zip(align).collect::<Vec<_>>())
}

/// The comparison as text.
pub fn text(c: &Comparison) -> String {
    let mut runs = table(HEADLINE_COLUMNS);
    let headlines = rows::headlines(c);
    headlines.iter().for_each(|headline| runs.row(headline.cells().map(str::to_owned).to_vec()));
    let mut text = format!("{}\n\n{runs}", c.title);
    for headline in headlines.iter().filter(|headline| !headline.sentence.is_empty()) {
        text.push_str(&format!("\n{}: {}", headline.name, headline.sentence));
    }
    if !c.config_differences.is_empty() {
        let mut settings = table(std::iter::once("Setting").chain(c.runs.iter().map(|run| run.title.as_str())));
        for difference in &c.config_differences {
            settings.row(std::iter::once(&difference.key).chain(&difference.values).cloned().collect());
        }
        text.push_str(&format!("\n\n{settings}"));
    }
    for (name, reason) in &c.refused {
        text.push_str(&format!("\n{name}: left out. {reason}"));
    }
    if c.repeated_blocks > 0 {
        text.push_str(&format!(
            "\n{} rounds were repeated because other programs used the machine.",
            c.repeated_blocks
        ));
    }
    for warning in &c.warnings {
        text.push_str(&format!("\nNote: {warning}"));
    }
    text.push_str(&format!("\n\n{}\n", c.method));
    text
}
