//! Tables of a database whose columns are not known for certain, and whose content may be damaged.

use super::super::watch::Looker;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use std::cell::Cell;

/// Rows between two looks at whether they are still wanted.
const WATCH_EVERY: u64 = 1024;

/// Fewest bytes that a row can take in a database; a table that gives more rows than that goes round in circles.
const MIN_ROW_BYTES: u64 = 4;

/// The tables of a database.
pub(super) struct Tables<'a> {
    db: &'a Connection,
    names: Vec<String>,
    most_rows: u64,
    looker: Looker,
    /// Tables that were read.
    read: Cell<u64>,
}

/// Why a table was not read to its end.
pub(super) struct Broken(pub String);

impl<'a> Tables<'a> {
    /// Lists the tables of a database of so many bytes. Views and virtual tables are left out: they are programs.
    pub fn of(db: &'a Connection, bytes: u64, looker: Looker) -> rusqlite::Result<Self> {
        let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' ORDER BY name";
        let mut statement = db.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut names = Vec::new();
        while let Some(row) = rows.next()? {
            names.extend(text(row, 0).map(str::to_owned));
        }
        let looker = Looker { all: names.len() as u64, ..looker };
        Ok(Self { db, names, most_rows: bytes / MIN_ROW_BYTES, looker, read: Cell::new(0) })
    }

    /// Their names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether there is a table of this name.
    pub fn has(&self, table: &str) -> bool {
        self.names.iter().any(|name| name == table)
    }

    /// Whether a table has all of these columns.
    pub fn has_columns(&self, table: &str, columns: &[&str]) -> bool {
        let known = self.columns(table);
        columns.iter().all(|column| known.iter().any(|name| name == column))
    }

    fn columns(&self, table: &str) -> Vec<String> {
        let Ok(mut statement) = self.db.prepare("SELECT name FROM pragma_table_info(?1)") else { return Vec::new() };
        let names = statement.query_map([table], |row| row.get::<_, String>(0));
        names.map(|names| names.flatten().collect()).unwrap_or_default()
    }

    /// Number of rows, if it can be told.
    pub fn count(&self, table: &str) -> u64 {
        let sql = format!("SELECT COUNT(*) FROM {}", quoted(table));
        self.db.query_row(&sql, [], |row| row.get::<_, i64>(0)).map_or(0, i64::unsigned_abs)
    }

    /// Hands the wanted columns of every row to `each`, in the order in which they are given; those that the table lacks
    /// are NULL. Does nothing where there is no such table.
    pub fn rows(&self, table: &str, wanted: &[&str], mut each: impl FnMut(&Row<'_>)) -> Result<(), Broken> {
        if !self.has(table) {
            return Ok(());
        }
        let known = self.columns(table);
        let column = |name: &&str| match known.iter().any(|known| known == name) {
            true => quoted(name),
            false => "NULL".to_owned(),
        };
        let list: Vec<String> = wanted.iter().map(column).collect();
        let sql = format!("SELECT {} FROM {}", list.join(", "), quoted(table));
        let broken = |error: rusqlite::Error| Broken(error.to_string());
        let mut statement = self.db.prepare(&sql).map_err(broken)?;
        let mut rows = statement.query([]).map_err(broken)?;
        let mut taken = 0_u64;
        self.read.set(self.read.get() + 1);
        while let Some(row) = rows.next().map_err(broken)? {
            // How many rows are left is not known before they are read, so progress is counted in tables.
            if taken.is_multiple_of(WATCH_EVERY) && !self.looker.at(self.read.get()) {
                return Err(Broken("cancelled".to_owned()));
            }
            each(row);
            taken += 1;
            if taken > self.most_rows {
                return Err(Broken("it has more rows than the file has room for".to_owned()));
            }
        }
        Ok(())
    }

    /// A text of the table of strings.
    pub fn string(&self, id: i64) -> Option<String> {
        let mut statement = self.db.prepare("SELECT value FROM StringIds WHERE id = ?1").ok()?;
        statement.query_row([id], |row| row.get(0)).ok()
    }
}

/// A name as SQL takes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The whole number in a column.
pub(super) fn int(row: &Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(value) => Some(value),
        _ => None,
    }
}

/// The number in a column.
pub(super) fn number(row: &Row<'_>, column: usize) -> Option<f64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(value) => Some(value as f64),
        ValueRef::Real(value) => Some(value),
        _ => None,
    }
}

/// The text in a column.
pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a str> {
    match row.get_ref(column).ok()? {
        ValueRef::Text(text) => std::str::from_utf8(text).ok(),
        _ => None,
    }
}
