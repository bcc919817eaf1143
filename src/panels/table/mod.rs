//! A sortable, filterable table of rows that are described by columns as data.
//!
//! Draws only the rows in view; sorting and filtering are done once per change, in `order`. Knows nothing of what
//! the rows are about.

mod order;

pub use order::{Direction, Key, RowOrder};

use crate::timeline::marks::{Pointing, paint_triangle};
use egui::{Align, Layout, RichText, Sense, Ui};
use std::sync::Arc;

/// Room for the scroll bar.
const SCROLL_BAR_WIDTH: f32 = 8.0;

/// Text of a cell, with what the pointer tells about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// What the cell shows.
    pub text: String,
    /// Shown on hover: source of a figure, reason of its absence, full name.
    pub hover: Option<String>,
    /// Whether the value is absent; it is drawn faint.
    pub missing: bool,
}

impl Cell {
    /// Plain text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), hover: None, missing: false }
    }

    /// With words for the pointer.
    pub fn with_hover(mut self, hover: impl Into<String>) -> Self {
        self.hover = Some(hover.into());
        self
    }

    /// No value, and why.
    pub fn missing(reason: impl Into<String>) -> Self {
        Self { text: "–".to_owned(), hover: Some(reason.into()), missing: true }
    }

    /// A figure that may be unknown, formatted by `format`; the pointer tells its source or the reason of its absence.
    pub fn known<T>(figure: &crate::model::Known<T>, format: impl Fn(&T) -> String) -> Self {
        match figure {
            crate::model::Known::Value { value, source, n } => {
                let samples = crate::model::units::count(*n);
                Self::new(format(value)).with_hover(format!("From {}, {samples} samples", source.label()))
            }
            crate::model::Known::Unknown(reason) => Self::missing(reason.as_str()),
        }
    }
}

/// One column of a table over rows of type `R`.
pub struct Column<R> {
    /// Title in the header, which no other column of the table has.
    pub title: &'static str,
    /// What the figure means, for the pointer.
    pub help: &'static str,
    /// Width at first, in points; the user can change it. The first column takes what is left over, and has at least this.
    pub width: f32,
    /// Numbers are aligned right, and are sorted from the largest at first.
    pub numeric: bool,
    /// What to show.
    pub cell: fn(&R) -> Cell,
    /// What to sort by.
    pub key: for<'a> fn(&'a R) -> Key<'a>,
}

impl<R> Column<R> {
    /// A column of words.
    pub fn words(
        title: &'static str,
        help: &'static str,
        width: f32,
        cell: fn(&R) -> Cell,
        key: for<'a> fn(&'a R) -> Key<'a>,
    ) -> Self {
        Self { title, help, width, numeric: false, cell, key }
    }

    /// A column of figures.
    pub fn figures(
        title: &'static str,
        help: &'static str,
        width: f32,
        cell: fn(&R) -> Cell,
        key: for<'a> fn(&'a R) -> Key<'a>,
    ) -> Self {
        Self { title, help, width, numeric: true, cell, key }
    }
}

/// What the user did to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableEvent {
    /// Clicked the row of this index in the unsorted rows.
    Clicked(usize),
    /// Double-clicked it.
    DoubleClicked(usize),
}

/// How a table is drawn.
pub struct TableLook<'a, R> {
    /// Tells tables of one window apart.
    pub id: &'a str,
    /// Whether a row is to be marked as selected.
    pub selected: &'a dyn Fn(&R) -> bool,
    /// Colour of a small swatch before a row's first cell.
    pub swatch: Option<&'a dyn Fn(&R) -> egui::Color32>,
    /// Height of a row, in points.
    pub row_height: f32,
}

/// Draws the table into the space that is left, and returns what the user did. The first column is the row's name.
pub fn table_ui<R>(
    ui: &mut Ui,
    look: &TableLook<'_, R>,
    columns: &[Column<R>],
    rows: &Arc<Vec<R>>,
    order: &mut RowOrder<R>,
) -> Option<TableEvent> {
    let shown = shown_rows(columns, rows, order);
    let mut event = None;
    // A child of its own, so that the lines between columns end with the table.
    let rect = ui.available_rect_before_wrap();
    ui.allocate_rect(rect, Sense::hover());
    let mut ui = ui.new_child(egui::UiBuilder::new().max_rect(rect).id_salt(look.id));
    ui.shrink_clip_rect(rect);
    let mut builder = egui_extras::TableBuilder::new(&mut ui)
        .id_salt(look.id)
        .striped(true)
        .resizable(true)
        .sense(Sense::click())
        .cell_layout(Layout::left_to_right(Align::Center))
        .auto_shrink([false, false]);
    for (idx, column) in columns.iter().enumerate() {
        builder = builder.column(match idx {
            0 => egui_extras::Column::remainder().at_least(column.width).clip(true),
            _ => egui_extras::Column::initial(column.width).at_least(40.0).clip(true),
        });
    }
    // The scroll bar floats over what is at the right edge.
    builder = builder.column(egui_extras::Column::exact(SCROLL_BAR_WIDTH));
    builder
        .header(look.row_height + 4.0, |mut header| {
            for column in columns {
                header.col(|ui| header_ui(ui, column, order));
            }
            header.col(|_| ());
        })
        .body(|body| {
            body.rows(look.row_height, shown.len(), |mut table_row| {
                // Indices come from the order of these very rows.
                let Some(&idx) = shown.get(table_row.index()) else { return };
                let Some(row) = rows.get(idx as usize) else { return };
                table_row.set_selected((look.selected)(row));
                for (column_idx, column) in columns.iter().enumerate() {
                    let swatch = if column_idx == 0 { look.swatch.map(|color| color(row)) } else { None };
                    table_row.col(|ui| cell_ui(ui, column.numeric, &(column.cell)(row), swatch));
                }
                table_row.col(|_| ());
                let response = table_row.response();
                if response.double_clicked() {
                    event = Some(TableEvent::DoubleClicked(idx as usize));
                } else if response.clicked() {
                    event = Some(TableEvent::Clicked(idx as usize));
                }
            });
        });
    event
}

/// Indices of the rows that the table shows, in its order.
pub fn shown_rows<R>(columns: &[Column<R>], rows: &Arc<Vec<R>>, order: &mut RowOrder<R>) -> Arc<[u32]> {
    // Rows of a table that lacks the column stay as they are.
    let sorted = columns.iter().find(|column| column.title == order.column());
    order.shown(
        rows,
        |row| sorted.map_or(Key::Missing, |column| (column.key)(row)),
        |row| {
            let words = columns.iter().filter(|column| !column.numeric).map(|column| (column.cell)(row));
            words.map(|cell| format!("{} {}", cell.text, cell.hover.unwrap_or_default())).collect::<Vec<_>>().join(" ")
        },
    )
}

/// The shown rows as tab-separated text with a header, for the clipboard.
pub fn table_text<R>(columns: &[Column<R>], rows: &Arc<Vec<R>>, order: &mut RowOrder<R>) -> String {
    let shown = shown_rows(columns, rows, order);
    let mut text = columns.iter().map(|column| column.title).collect::<Vec<_>>().join("\t");
    for row in shown.iter().filter_map(|&idx| rows.get(idx as usize)) {
        text.push('\n');
        let cells: Vec<String> = columns.iter().map(|column| (column.cell)(row).text).collect();
        text.push_str(&cells.join("\t"));
    }
    text
}

fn header_ui<R>(ui: &mut Ui, column: &Column<R>, order: &mut RowOrder<R>) {
    let layout = if column.numeric { Layout::right_to_left(Align::Center) } else { *ui.layout() };
    ui.with_layout(layout, |ui| {
        let pointing = match order.direction() {
            Direction::Ascending => Pointing::Up,
            Direction::Descending => Pointing::Down,
        };
        if column.numeric && order.column() == column.title {
            sort_mark(ui, pointing);
        }
        let button = ui.add(egui::Button::new(RichText::new(column.title).strong()).frame(false).truncate());
        if !column.numeric && order.column() == column.title {
            sort_mark(ui, pointing);
        }
        let button = button.on_hover_text(format!("{}\nClick to sort", column.help));
        button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Sort by {}", column.title)));
        if button.clicked() {
            order.click(column.title, if column.numeric { Direction::Descending } else { Direction::Ascending });
        }
    });
}

/// The triangle beside the title of the column that is sorted by.
fn sort_mark(ui: &mut Ui, pointing: Pointing) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(8.0, 8.0), Sense::hover());
    paint_triangle(ui.painter(), rect.center(), 4.0, pointing, ui.visuals().strong_text_color());
}

fn cell_ui(ui: &mut Ui, numeric: bool, cell: &Cell, swatch: Option<egui::Color32>) {
    let layout = if numeric { Layout::right_to_left(Align::Center) } else { *ui.layout() };
    ui.with_layout(layout, |ui| {
        if let Some(color) = swatch {
            let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), Sense::hover());
            ui.painter().rect_filled(rect, 2.0, color);
        }
        let text = RichText::new(&cell.text);
        let text = if cell.missing { text.weak() } else { text };
        // Not selectable, so that a click reaches the row.
        let label = ui.add(egui::Label::new(text).selectable(false).truncate());
        if let Some(hover) = &cell.hover {
            label.on_hover_text(hover);
        }
    });
}
