//! A comparison as Markdown.

use super::rows::{self, HEADLINE_COLUMNS};
use crate::analysis::Comparison;

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(cell).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = line(head.iter().copied());
    text.push_str(&line(head.iter().map(|_| "---")));
    for row in rows {
        text.push_str(&line(row.iter().map(String::as_str)));
    }
    text
}

/// The document.
pub fn document(c: &Comparison) -> String {
    let names: Vec<&str> = c.runs.iter().map(|run| run.title.as_str()).collect();
    let headlines = rows::headlines(c);
    let head: Vec<Vec<String>> =
        headlines.iter().map(|headline| headline.cells().iter().map(|cell| (*cell).to_owned()).collect()).collect();
    let mut text = format!("# {}\n\n{}\n", cell(&c.title), table(&HEADLINE_COLUMNS, &head));
    for headline in headlines.iter().filter(|headline| !headline.sentence.is_empty()) {
        text.push_str(&format!("- **{}**: {}\n", cell(&headline.name), cell(&headline.sentence)));
    }
    for (name, reason) in &c.refused {
        text.push_str(&format!("- **{}**: left out. {}\n", cell(name), cell(reason)));
    }
    for warning in &c.warnings {
        text.push_str(&format!("- Note: {}\n", cell(warning)));
    }
    if !c.config_differences.is_empty() {
        let head: Vec<&str> = std::iter::once("Setting").chain(names.iter().copied()).collect();
        let rows: Vec<Vec<String>> = c
            .config_differences
            .iter()
            .map(|difference| {
                std::iter::once(difference.key.clone()).chain(difference.values.iter().cloned()).collect()
            })
            .collect();
        text.push_str(&format!("\n## What differs\n\n{}", table(&head, &rows)));
    }
    let head: Vec<&str> = std::iter::once("Figure").chain(names.iter().copied()).chain(["How measured"]).collect();
    let rows: Vec<Vec<String>> = rows::figures(c)
        .into_iter()
        .map(|row| {
            let values = row.values.into_iter().zip(row.reasons).map(|(value, reason)| match reason {
                Some(reason) => format!("{value}: {reason}"),
                None => value,
            });
            std::iter::once(row.name).chain(values).chain([row.how]).collect()
        })
        .collect();
    text.push_str(&format!("\n## Figures\n\n{}", table(&head, &rows)));
    text.push_str(&format!("\n## Method\n\n{}\n", c.method));
    text
}
