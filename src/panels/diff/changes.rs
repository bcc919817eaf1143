//! Operations and kernels of two traces in a table: which are in both, and what they cost in each.

use crate::analysis::diff::{Change, OpCost, Status};
use crate::model::units;
use crate::panels::PanelContext;
use crate::panels::table::{Cell, Column, Direction, Key, RowOrder, TableEvent, TableLook, table_text, table_ui};
use crate::panels::work_table::filter_ui;
use crate::session::Command;
use crate::session::traces::TraceDiff;
use egui::Ui;
use std::sync::Arc;

/// Title of the column by which rows are sorted at first.
const CHANGE: &str = "Change";

/// What is in the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Operations,
    Kernels,
}

/// State of both tables between frames.
#[derive(Debug)]
pub(super) struct Changes {
    ops: RowOrder<Change>,
    kernels: RowOrder<Change>,
    made: Option<Made>,
}

/// Rows of the tables, made once for each result.
#[derive(Debug)]
struct Made {
    of: Arc<TraceDiff>,
    ops: Arc<Vec<Change>>,
    kernels: Arc<Vec<Change>>,
}

impl Default for Changes {
    fn default() -> Self {
        let by_change = || RowOrder::by(CHANGE, Direction::Descending);
        Self { ops: by_change(), kernels: by_change(), made: None }
    }
}

impl Changes {
    pub(super) fn ui(&mut self, cx: &PanelContext<'_>, ui: &mut Ui, result: &Arc<TraceDiff>, kind: Kind) {
        let made = self.made.take().filter(|made| Arc::ptr_eq(&made.of, result)).unwrap_or_else(|| Made {
            of: Arc::clone(result),
            ops: Arc::new(result.diff.ops.clone()),
            kernels: Arc::new(result.diff.kernels.clone()),
        });
        let (id, rows, order) = match kind {
            Kind::Operations => ("diff operations", Arc::clone(&made.ops), &mut self.ops),
            Kind::Kernels => ("diff kernels", Arc::clone(&made.kernels), &mut self.kernels),
        };
        self.made = Some(made);
        let columns = columns(kind);
        ui.horizontal_wrapped(|ui| {
            filter_ui(ui, &mut order.filter, &mut false);
            if ui.button("Copy").on_hover_text("Copy the shown rows as tab-separated text").clicked() {
                cx.send(Command::CopyText(table_text(&columns, &rows, order)));
            }
        });
        let selected = |row: &Change| cx.session.selection().name.as_deref() == Some(row.name.as_str());
        let swatch = |row: &Change| cx.tokens.data(&row.name);
        let look = TableLook { id, selected: &selected, swatch: Some(&swatch), row_height: 20.0 };
        let event = table_ui(ui, &look, &columns, &rows, order);
        if let Some(TableEvent::Clicked(idx) | TableEvent::DoubleClicked(idx)) = event
            && let Some(row) = rows.get(idx)
        {
            cx.send(Command::SelectName(row.name.clone()));
        }
    }
}

fn cost(cost: Option<OpCost>, show: fn(OpCost) -> String) -> Cell {
    cost.map_or_else(|| Cell::missing("It does not occur there"), |cost| Cell::new(show(cost)))
}

fn cost_key(cost: Option<OpCost>, pick: fn(&OpCost) -> f64) -> Key<'static> {
    cost.map_or(Key::Missing, |cost| Key::Number(pick(&cost)))
}

fn calls(cost: OpCost) -> String {
    units::mean_count(cost.count)
}

fn host(cost: OpCost) -> String {
    units::duration_ns(cost.host_self_ns)
}

fn device(cost: OpCost) -> String {
    units::duration_ns(cost.device_ns)
}

fn name(row: &Change) -> Cell {
    let words = match &row.other_name {
        Some(other) => format!("{} → {other}", row.name),
        None => row.name.clone(),
    };
    Cell::new(&words).with_hover(words)
}

fn figure(
    title: &'static str,
    help: &'static str,
    cell: fn(&Change) -> Cell,
    key: for<'a> fn(&'a Change) -> Key<'a>,
) -> Column<Change> {
    Column::figures(title, help, 68.0, cell, key)
}

fn columns(kind: Kind) -> Vec<Column<Change>> {
    const ON_HOST: &str = "Time on the host, children left out";
    let ops = kind == Kind::Operations;
    let on_device = if ops { "Time of the kernels that it launched" } else { "Time on the device" };
    let mut columns =
        vec![Column::<Change>::words("Name", "Name in A, and in B where it is another", 150.0, name, |row| {
            Key::Text(&row.name)
        })];
    if ops {
        columns.extend([
            Column::<Change>::words(
                "Shapes",
                "Shapes of the inputs",
                90.0,
                |row| Cell::new(&row.shapes).with_hover(&row.shapes),
                |row| Key::Text(&row.shapes),
            ),
            Column::<Change>::words(
                "Within",
                "The operation that called it; empty for an outermost one",
                90.0,
                |row| Cell::new(&row.parent).with_hover(&row.parent),
                |row| Key::Text(&row.parent),
            ),
        ]);
    }
    columns.extend([
        figure(
            CHANGE,
            "Time of B less that of A; sorted by size, whatever the sign",
            |row| Cell::new(units::signed_duration_ns(row.delta_ns())),
            |row| Key::Number(row.delta_ns().abs()),
        ),
        Column::<Change>::words(
            "Status",
            "Added and removed are in one trace only; changed is by more than 5 %",
            66.0,
            |row| Cell::new(row.status.label()),
            |row| Key::Number(status_rank(row.status)),
        ),
        figure("Calls A", "Calls in A", |row| cost(row.a, calls), |row| cost_key(row.a, |c| c.count)),
        figure("Calls B", "Calls in B", |row| cost(row.b, calls), |row| cost_key(row.b, |c| c.count)),
    ]);
    if ops {
        columns.extend([
            figure("Host A", ON_HOST, |row| cost(row.a, host), |row| cost_key(row.a, |c| c.host_self_ns)),
            figure("Host B", ON_HOST, |row| cost(row.b, host), |row| cost_key(row.b, |c| c.host_self_ns)),
        ]);
    }
    columns.extend([
        figure("Device A", on_device, |row| cost(row.a, device), |row| cost_key(row.a, |c| c.device_ns)),
        figure("Device B", on_device, |row| cost(row.b, device), |row| cost_key(row.b, |c| c.device_ns)),
    ]);
    columns
}

fn status_rank(status: Status) -> f64 {
    match status {
        Status::Added => 0.0,
        Status::Removed => 1.0,
        Status::Replaced => 2.0,
        Status::Changed => 3.0,
        Status::Same => 4.0,
    }
}
