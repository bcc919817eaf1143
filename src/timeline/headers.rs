//! The names of the tracks beside their lanes: collapsing, pinning, putting in another order.

use super::canvas::CanvasEvent;
use super::marks::{self, Pointing};
use super::paint::CanvasColors;
use super::tree::{TRACK_GAP, TrackPlace, TrackSource, TrackTree, TreeTrack};
use crate::model::units;
use egui::{Rect, Sense, Ui, UiBuilder, pos2, vec2};

/// Room for the triangle before a track's name.
const ARROW_WIDTH: f32 = 12.0;

/// State of the headers between frames.
#[derive(Debug, Default)]
pub struct Headers {
    dragged: Option<TrackSource>,
}

impl Headers {
    /// Names of the tracks, each a button that collapses its track and can be dragged to another place.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        column: Rect,
        tree: &TrackTree,
        colors: &CanvasColors,
        events: &mut Vec<CanvasEvent>,
    ) {
        ui.painter_at(column).rect_filled(column, 0.0, ui.visuals().panel_fill);
        let places = tree.places();
        for (idx, (track, place)) in tree.tracks.iter().zip(&places).enumerate() {
            let top = column.top() + place.y;
            let rect = Rect::from_min_size(pos2(column.left(), top), vec2(column.width() - 4.0, place.height));
            if ui.is_rect_visible(rect) {
                self.header_ui(ui, rect, (tree, idx, track), colors, events);
            }
        }
        self.drop_ui(ui, column, tree, &places, colors, events);
    }

    fn header_ui(
        &mut self,
        ui: &mut Ui,
        rect: Rect,
        (tree, idx, track): (&TrackTree, usize, &TreeTrack),
        colors: &CanvasColors,
        events: &mut Vec<CanvasEvent>,
    ) {
        let mut cell = ui.new_child(UiBuilder::new().max_rect(rect).id_salt(("track", track.source)));
        cell.set_clip_rect(rect.intersect(ui.clip_rect()));
        let verb = if track.collapsed { "Expand" } else { "Collapse" };
        let label = format!("{verb} {}", track.name);
        cell.horizontal(|ui| {
            ui.add_space(ARROW_WIDTH + 4.0);
            // A pinned track is told by its name too.
            let words = if track.pinned { format!("● {}", track.name) } else { track.name.clone() };
            let text = egui::RichText::new(words).color(colors.text);
            let button = egui::Button::new(text).frame(false).truncate().sense(Sense::click_and_drag());
            let button = ui.add(button);
            button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &label));
            button.context_menu(|ui| menu_ui(ui, tree, idx, track, verb, events));
            let pointing = if track.collapsed { Pointing::Right } else { Pointing::Down };
            let center = pos2(rect.left() + ARROW_WIDTH / 2.0 + 2.0, button.rect.center().y);
            marks::paint_triangle(ui.painter(), center, 4.0, pointing, colors.weak_text);
            if button.drag_started() {
                self.dragged = Some(track.source);
            }
            let help = format!("{label}\nDrag to move it, right-click to pin it or to collapse all");
            if button.on_hover_text(help).clicked() {
                events.push(CanvasEvent::ToggleCollapsed(track.source));
            }
        });
        if let Some(note) = note(track) {
            cell.horizontal(|ui| {
                ui.add_space(ARROW_WIDTH + 4.0);
                ui.weak(note);
            });
        }
    }

    /// Shows where a dragged track would go, and puts it there when it is let go.
    fn drop_ui(
        &mut self,
        ui: &Ui,
        column: Rect,
        tree: &TrackTree,
        places: &[TrackPlace],
        colors: &CanvasColors,
        events: &mut Vec<CanvasEvent>,
    ) {
        let Some(source) = self.dragged else { return };
        let (pos, released) = ui.input(|input| (input.pointer.interact_pos(), input.pointer.any_released()));
        let down = ui.input(|input| input.pointer.any_down());
        let Some(pos) = pos.filter(|_| down || released) else {
            self.dragged = None;
            return;
        };
        let y = pos.y - column.top();
        let before = places.iter().position(|place| y < place.y + place.height / 2.0);
        let line = match before.and_then(|idx| places.get(idx)) {
            Some(place) => place.y - TRACK_GAP / 2.0,
            None => places.last().map_or(0.0, |last| last.y + last.height + TRACK_GAP / 2.0),
        };
        ui.painter().hline(ui.clip_rect().x_range(), column.top() + line, egui::Stroke::new(2.0, colors.selection));
        if released {
            self.dragged = None;
            let before = before.and_then(|idx| tree.tracks.get(idx)).map(|track| track.source);
            if before != Some(source) {
                events.push(CanvasEvent::MoveTrack(source, before));
            }
        }
    }
}

fn menu_ui(ui: &mut Ui, tree: &TrackTree, idx: usize, track: &TreeTrack, verb: &str, events: &mut Vec<CanvasEvent>) {
    let mut entry = |ui: &mut Ui, words: &str, event: CanvasEvent| {
        if ui.button(words).clicked() {
            events.push(event);
            ui.close();
        }
    };
    let source = |idx: usize| tree.tracks.get(idx).map(|track| track.source);
    let pin = if track.pinned { "Unpin" } else { "Pin to the top" };
    entry(ui, pin, CanvasEvent::TogglePinned(track.source));
    entry(ui, verb, CanvasEvent::ToggleCollapsed(track.source));
    if let Some(above) = idx.checked_sub(1).and_then(source) {
        entry(ui, "Move up", CanvasEvent::MoveTrack(track.source, Some(above)));
    }
    if source(idx + 1).is_some() {
        entry(ui, "Move down", CanvasEvent::MoveTrack(track.source, source(idx + 2)));
    }
    entry(ui, "Collapse all", CanvasEvent::CollapseAll(true));
    entry(ui, "Expand all", CanvasEvent::CollapseAll(false));
}

/// What is said under a track's name.
fn note(track: &TreeTrack) -> Option<String> {
    match (track.source, track.collapsed) {
        (TrackSource::Counter(_), false) => Some(format!("up to {}", counter_text(track.max, &track.unit))),
        (TrackSource::Spans(_), false) if track.lanes > track.shown_lanes() => {
            let hidden = units::count((track.lanes - track.shown_lanes()) as u64);
            Some(format!("{hidden} deeper lanes not shown"))
        }
        _ => None,
    }
}

/// A counter's value with its unit.
pub(super) fn counter_text(value: f64, unit: &str) -> String {
    if matches!(unit, "bytes" | "B") {
        return units::bytes(value);
    }
    let number = if value.fract() == 0.0 && value.abs() < 1e15 {
        let sign = if value < 0.0 { "−" } else { "" };
        format!("{sign}{}", units::count(value.abs() as u64))
    } else {
        format!("{value:.3}")
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}
