//! Which rows of a table are shown, and in what order: filtered and sorted once, then kept until something changes.
//!
//! Pure: knows rows only through the columns' keys, and nothing of widgets.

use std::cmp::Ordering;
use std::sync::Arc;

/// What a cell is sorted by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Key<'a> {
    /// A number, smallest first when ascending.
    Number(f64),
    /// Words, in alphabetical order when ascending.
    Text(&'a str),
    /// No value: after all others, whichever the direction.
    Missing,
}

/// Direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

impl Direction {
    /// The other one.
    pub fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// Sort column, direction and filter of a table, with the order of rows that follows from them.
#[derive(Debug)]
pub struct RowOrder<R> {
    /// Text that a row must contain to be shown; words in any order, case ignored.
    pub filter: String,
    column: &'static str,
    direction: Direction,
    cache: Option<Cached<R>>,
}

#[derive(Debug)]
struct Cached<R> {
    // Holding the rows keeps their address from being used again, so that comparing pointers is enough.
    rows: Arc<Vec<R>>,
    filter: String,
    column: &'static str,
    direction: Direction,
    order: Arc<[u32]>,
}

impl<R> RowOrder<R> {
    /// Sorted by the column of this title.
    pub fn by(column: &'static str, direction: Direction) -> Self {
        Self { filter: String::new(), column, direction, cache: None }
    }

    /// Title of the column that is sorted by.
    pub fn column(&self) -> &'static str {
        self.column
    }

    /// The direction of the sort.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// What a click on a column's header does: sorts by it, and turns the direction round if it was sorted already.
    /// `first` is the direction in which the column is most useful.
    pub fn click(&mut self, column: &'static str, first: Direction) {
        self.direction = if self.column == column { self.direction.reversed() } else { first };
        self.column = column;
    }

    /// Indices of the rows to show, in order. Works only when rows, filter, column or direction have changed.
    /// `key` gives the sort key of a row in the column that is sorted by, `text` the words that the filter looks at.
    pub fn shown(
        &mut self,
        rows: &Arc<Vec<R>>,
        key: impl for<'a> Fn(&'a R) -> Key<'a>,
        text: impl Fn(&R) -> String,
    ) -> Arc<[u32]> {
        if let Some(cached) = &self.cache
            && Arc::ptr_eq(&cached.rows, rows)
            && cached.filter == self.filter
            && cached.column == self.column
            && cached.direction == self.direction
        {
            return Arc::clone(&cached.order);
        }
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let mut order: Vec<(u32, &R)> = (0..).zip(rows.iter()).collect();
        if !words.is_empty() {
            order.retain(|(_, row)| {
                let text = text(row).to_lowercase();
                words.iter().all(|word| text.contains(word.as_str()))
            });
        }
        order.sort_by(|(_, a), (_, b)| compare(key(a), key(b), self.direction));
        let order: Arc<[u32]> = order.into_iter().map(|(idx, _)| idx).collect();
        self.cache = Some(Cached {
            rows: Arc::clone(rows),
            filter: self.filter.clone(),
            column: self.column,
            direction: self.direction,
            order: Arc::clone(&order),
        });
        order
    }
}

fn compare(a: Key<'_>, b: Key<'_>, direction: Direction) -> Ordering {
    let rank = |key: &Key<'_>| match key {
        Key::Number(n) if n.is_nan() => 2,
        Key::Number(_) => 0,
        Key::Text(_) => 1,
        Key::Missing => 2,
    };
    let forward = match (a, b) {
        (Key::Number(a), Key::Number(b)) if !a.is_nan() && !b.is_nan() => a.total_cmp(&b),
        (Key::Text(a), Key::Text(b)) => a.cmp(b),
        _ => return rank(&a).cmp(&rank(&b)),
    };
    match direction {
        Direction::Ascending => forward,
        Direction::Descending => forward.reverse(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    type Row = (&'static str, Option<f64>);

    fn key<'a>(column: &str, row: &'a Row) -> Key<'a> {
        match column {
            "Name" => Key::Text(row.0),
            _ => row.1.map_or(Key::Missing, Key::Number),
        }
    }

    fn names(order: &mut RowOrder<Row>, rows: &Arc<Vec<Row>>) -> Vec<&'static str> {
        let column = order.column();
        order
            .shown(rows, |row| key(column, row), |row| row.0.to_owned())
            .iter()
            .map(|&idx| rows[idx as usize].0)
            .collect()
    }

    #[test]
    fn sorts_filters_and_puts_missing_values_last() {
        let rows = Arc::new(vec![("add", Some(3.0)), ("conv", None), ("matmul", Some(9.0)), ("nan", Some(f64::NAN))]);
        let mut order = RowOrder::by("Time", Direction::Descending);
        assert_eq!(names(&mut order, &rows), ["matmul", "add", "conv", "nan"]);
        order.click("Time", Direction::Descending);
        assert_eq!(names(&mut order, &rows), ["add", "matmul", "conv", "nan"]);
        order.click("Name", Direction::Ascending);
        assert_eq!(names(&mut order, &rows), ["add", "conv", "matmul", "nan"]);
        order.filter = " M  Mat".to_owned();
        assert_eq!(names(&mut order, &rows), ["matmul"]);
    }

    #[test]
    fn an_unchanged_table_is_not_sorted_again() {
        let rows = Arc::new(vec![("b", Some(1.0)), ("a", Some(2.0))]);
        let mut order = RowOrder::by("Name", Direction::Ascending);
        let first = order.shown(&rows, |row| key("Name", row), |row| row.0.to_owned());
        let again = order.shown(&rows, |_| panic!("sorted again"), |_| panic!("filtered again"));
        assert!(Arc::ptr_eq(&first, &again));
        let newer = Arc::new(vec![("c", None)]);
        assert_eq!(order.shown(&newer, |row| key("Name", row), |row| row.0.to_owned()).as_ref(), [0]);
    }

    #[test]
    fn equal_rows_keep_their_order() {
        let rows = Arc::new(vec![("x", Some(1.0)), ("y", Some(1.0)), ("z", Some(1.0))]);
        let mut order = RowOrder::by("Time", Direction::Descending);
        assert_eq!(names(&mut order, &rows), ["x", "y", "z"]);
    }
}
