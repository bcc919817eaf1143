//! Every span that a search or a selected name finds, looked for on a thread of its own, and the list's columns.

use crate::analysis::matches::{Match, Matched, find};
use crate::model::units;
use crate::panels::background::Background;
use crate::panels::table::{Cell, Column, Key};
use crate::trace::Trace;
use crate::trace::search::NameSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    text: String,
    exact: bool,
    generation: u64,
}

/// What was found for the latest search, looked for in the background.
#[derive(Debug, Default)]
pub struct Matches(Background<Wanted, Matched>);

impl Matches {
    /// Looks for spans whose name contains a text, or is it exactly.
    pub fn request(&mut self, trace: &Trace, text: &str, exact: bool, wake: impl FnOnce() + Send + 'static) {
        let wanted = Wanted { text: text.to_owned(), exact, generation: trace.generation() };
        let (trace, text) = (trace.clone(), text.to_owned());
        let alike = |known: &Wanted, wanted: &Wanted| known.text == wanted.text && known.exact == wanted.exact;
        let work = move |cancelled: &AtomicBool| {
            let names =
                if exact { NameSet::matching(&trace, |name| name == text) } else { NameSet::containing(&trace, &text) };
            find(&trace, &names, cancelled)
        };
        self.0.request(wanted, alike, work, wake);
    }

    /// Nothing is looked for.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What was found, once it has arrived.
    pub fn found(&mut self) -> Option<&Arc<Matched>> {
        self.0.outcome()
    }

    /// Why nothing was.
    pub fn failed(&self) -> Option<&str> {
        self.0.failed()
    }
}

/// Columns of the list.
pub fn columns() -> [Column<Match>; 4] {
    [
        Column {
            title: "Name",
            help: "Name of the span",
            width: 260.0,
            numeric: false,
            cell: |row| Cell::new(&row.name),
            key: |row| Key::Text(&row.name),
        },
        Column {
            title: "Track",
            help: "Where it is",
            width: 200.0,
            numeric: false,
            cell: |row| Cell::new(&row.track),
            key: |row| Key::Text(&row.track),
        },
        Column {
            title: "Start",
            help: "Time since the start of the trace",
            width: 120.0,
            numeric: true,
            cell: |row| Cell::new(units::clock_text(row.start_ns as f64)),
            key: |row| Key::Number(row.start_ns as f64),
        },
        Column {
            title: "Duration",
            help: "Time from its start to its end",
            width: 100.0,
            numeric: true,
            cell: |row| Cell::new(units::duration_ns(row.dur_ns as f64)),
            key: |row| Key::Number(row.dur_ns as f64),
        },
    ]
}
