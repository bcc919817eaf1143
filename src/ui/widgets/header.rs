//! The header of a column that a table can be sorted by.

use egui::{RichText, Sense, Ui, vec2};

/// How a table is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort<C> {
    /// By which column.
    pub column: C,
    /// From the smallest to the largest.
    pub ascending: bool,
}

impl<C: PartialEq + Copy> Sort<C> {
    /// A click on a column: sorts by it, or turns the direction if it was that already.
    pub fn click(&mut self, column: C, ascending_first: bool) {
        *self = if self.column == column {
            Self { column, ascending: !self.ascending }
        } else {
            Self { column, ascending: ascending_first }
        };
    }
}

/// Draws a column's title as a button with a triangle that shows the direction.
pub fn sort_header<C: PartialEq + Copy>(
    ui: &mut Ui,
    title: &str,
    column: C,
    ascending_first: bool,
    sort: &mut Sort<C>,
) {
    let button = ui.add(egui::Button::new(RichText::new(title).strong()).frame(false).truncate());
    let button = button.on_hover_text("Click to sort");
    button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Sort by {title}")));
    if button.clicked() {
        sort.click(column, ascending_first);
    }
    if sort.column == column {
        let (rect, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
        let (tip, base) = if sort.ascending { (rect.top(), rect.bottom()) } else { (rect.bottom(), rect.top()) };
        let points =
            vec![egui::pos2(rect.left(), base), egui::pos2(rect.right(), base), egui::pos2(rect.center().x, tip)];
        let color = ui.visuals().strong_text_color();
        ui.painter().add(egui::Shape::convex_polygon(points, color, egui::Stroke::NONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_click_turns_the_direction() {
        let mut sort = Sort { column: 'a', ascending: true };
        sort.click('b', false);
        assert_eq!(sort, Sort { column: 'b', ascending: false });
        sort.click('b', false);
        assert_eq!(sort, Sort { column: 'b', ascending: true });
    }
}
