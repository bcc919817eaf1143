//! A comparison for the terminal.

use super::rows::{self, HEADLINE_COLUMNS};
use crate::analysis::Comparison;

/// Rows of cells with aligned columns; the first column to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(i, cell)| {
                let pad = " ".repeat(widths[i] - cell.chars().count());
                if i == 0 { format!("{cell}{pad}") } else { format!("{pad}{cell}") }
            })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
        if number == 0 {
            let line: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            text.push_str(&line.join("  "));
            text.push('\n');
        }
    }
    text
}

/// The comparison as text.
pub fn text(c: &Comparison) -> String {
    let mut table = vec![HEADLINE_COLUMNS.map(str::to_owned).to_vec()];
    let headlines = rows::headlines(c);
    table.extend(headlines.iter().map(|headline| headline.cells().map(str::to_owned).to_vec()));
    let mut text = format!("{}\n\n{}", c.title, aligned(&table));
    for headline in headlines.iter().filter(|headline| !headline.sentence.is_empty()) {
        text.push_str(&format!("\n{}: {}", headline.name, headline.sentence));
    }
    if !c.config_differences.is_empty() {
        let mut table = vec![
            std::iter::once("Setting".to_owned()).chain(c.runs.iter().map(|run| run.title.clone())).collect::<Vec<_>>(),
        ];
        table.extend(c.config_differences.iter().map(|difference| {
            std::iter::once(difference.key.clone()).chain(difference.values.iter().cloned()).collect()
        }));
        text.push_str(&format!("\n\n{}", aligned(&table)));
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
