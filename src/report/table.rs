//! Tables of text with aligned columns: words to the left, figures to the right.

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table of text.
#[derive(Debug, Clone)]
pub struct Table {
    head: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(head: &[(&str, Align)]) -> Self {
        Self { head: head.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, surplus ones are left out.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |text: &str| text.chars().count();
        let widths: Vec<usize> = self
            .head
            .iter()
            .enumerate()
            .map(|(i, (name, _))| {
                self.rows.iter().filter_map(|row| row.get(i)).map(|cell| width(cell)).fold(width(name), usize::max)
            })
            .collect();
        let line = |f: &mut std::fmt::Formatter<'_>, cells: &dyn Fn(usize) -> String| {
            let mut text = String::new();
            for (i, (_, align)) in self.head.iter().enumerate() {
                let cell = cells(i);
                let pad = " ".repeat(widths[i].saturating_sub(width(&cell)));
                if i > 0 {
                    text.push_str("  ");
                }
                match align {
                    Align::Left => text.extend([cell.as_str(), &pad]),
                    Align::Right => text.extend([&pad, cell.as_str()]),
                }
            }
            writeln!(f, "{}", text.trim_end())
        };
        line(f, &|i| self.head[i].0.clone())?;
        line(f, &|i| "─".repeat(widths[i]))?;
        for row in &self.rows {
            line(f, &|i| row.get(i).cloned().unwrap_or_default())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[("Name", Align::Left), ("Time", Align::Right)]);
        table.row(vec!["a".to_owned(), "1.00 µs".to_owned()]);
        table.row(vec!["longer".to_owned(), "12 ns".to_owned()]);
        assert_eq!(table.to_string(), "Name       Time\n──────  ───────\na       1.00 µs\nlonger    12 ns\n");
    }
}
