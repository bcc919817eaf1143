//! From keys and pointer to what the user wants of the canvas; decides nothing about the trace.
//!
//! Keys never act while a text field has the focus. Keys that are commands of the whole window (fit, focus, next,
//! previous, search) come through the window's shortcuts and are not read here.

use super::view::ViewRange;
use egui::{Event, Key, Modifiers, PointerButton, Pos2, Rect, Response, Ui};

/// Zoom per second while W or S is held, as an exponent.
const ZOOM_PER_SEC: f64 = 3.0;

/// Pixels per second while A or D is held.
const PAN_PX_PER_SEC: f64 = 900.0;

/// One tap of a zoom key multiplies the scale by this.
const TAP_ZOOM: f64 = 1.25;

/// One tap of a pan key moves by this many pixels.
const TAP_PAN_PX: f64 = 80.0;

/// How much faster keys act while Shift is held.
const SHIFT_SPEED: f64 = 4.0;

/// Frames longer than this count as this long, so that a stall does not throw the view away.
const MAX_FRAME_SECS: f64 = 0.1;

/// What the user wants, in pixels of the canvas.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wishes {
    /// Move the content by this much to the right and down.
    pub pan_px: (f64, f64),
    /// Zoom around this position by this factor (above one: in).
    pub zoom: Option<(f64, f64)>,
    /// Go back (`true`) or forward in the history of views.
    pub history: Option<Travel>,
    /// A stretch is being marked, from and to these positions.
    pub marking: Option<(f64, f64)>,
    /// The marking is complete.
    pub marked: bool,
    /// Select what is here, or nothing if nothing is.
    pub click: Option<Pos2>,
    /// Zoom to what is here.
    pub double_click: Option<Pos2>,
    /// The pointer rests here.
    pub hover: Option<Pos2>,
}

/// A step in the history of views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Travel {
    /// To the view before.
    Back,
    /// To the view that was left by going back.
    Forward,
}

impl Wishes {
    /// Whether the view is moved by hand.
    pub fn moves_view(&self) -> bool {
        self.pan_px.0 != 0.0 || self.zoom.is_some()
    }

    /// Applies pan and zoom to a view.
    pub fn apply_to(&self, view: &mut ViewRange) {
        if let Some((x, factor)) = self.zoom {
            view.zoom_at(x, factor);
        }
        view.pan_px(self.pan_px.0);
    }
}

/// Reads what happened in this frame to the canvas whose time axis begins at the left edge of `area`. `response` must
/// sense clicks and drags. `marking_from` is the position at which a drag with Shift began in an earlier frame.
pub fn read(ui: &Ui, response: &Response, area: Rect, marking_from: &mut Option<f64>) -> Wishes {
    let mut wishes = Wishes::default();
    let x_in_area = |pos: Pos2| f64::from(pos.x - area.left());
    wishes.hover = response.hover_pos();
    if response.double_clicked() {
        wishes.double_click = response.interact_pointer_pos();
    } else if response.clicked() {
        wishes.click = response.interact_pointer_pos();
    }
    read_drag(ui, response, marking_from, x_in_area, &mut wishes);
    if let Some(pos) = response.hover_pos() {
        read_wheel(ui, x_in_area(pos), &mut wishes);
    }
    if !ui.ctx().text_edit_focused() {
        let x = response.hover_pos().map_or_else(|| f64::from(area.width()) / 2.0, x_in_area);
        read_keys(ui, x, &mut wishes);
    }
    wishes
}

fn read_drag(
    ui: &Ui,
    response: &Response,
    marking_from: &mut Option<f64>,
    x_in_area: impl Fn(Pos2) -> f64,
    wishes: &mut Wishes,
) {
    let (origin, shift) = ui.input(|input| (input.pointer.press_origin(), input.modifiers.shift));
    if response.drag_started_by(PointerButton::Primary) && shift {
        *marking_from = origin.map(&x_in_area);
    }
    if let Some(from) = *marking_from {
        let to = response.interact_pointer_pos().map_or(from, &x_in_area);
        wishes.marking = Some((from.min(to), from.max(to)));
        if response.drag_stopped() || !response.dragged() {
            wishes.marked = true;
            *marking_from = None;
        }
    } else if response.dragged() {
        let delta = response.drag_delta();
        wishes.pan_px = (f64::from(delta.x), f64::from(delta.y));
    }
}

fn read_wheel(ui: &Ui, x: f64, wishes: &mut Wishes) {
    let (zoom, scroll_x) = ui.input(|input| (input.zoom_delta(), input.smooth_scroll_delta().x));
    if zoom != 1.0 {
        wishes.zoom = Some((x, f64::from(zoom)));
    }
    wishes.pan_px.0 += f64::from(scroll_x);
}

fn read_keys(ui: &Ui, x: f64, wishes: &mut Wishes) {
    let (modifiers, secs) = ui.input(|input| (input.modifiers, f64::from(input.stable_dt).min(MAX_FRAME_SECS)));
    if modifiers.ctrl || modifiers.command || modifiers.alt {
        let back = ui.input_mut(|input| input.consume_key(Modifiers::ALT, Key::ArrowLeft));
        let forward = ui.input_mut(|input| input.consume_key(Modifiers::ALT, Key::ArrowRight));
        wishes.history = match (back, forward) {
            (true, _) => Some(Travel::Back),
            (_, true) => Some(Travel::Forward),
            _ => None,
        };
        return;
    }
    let speed = if modifiers.shift { SHIFT_SPEED } else { 1.0 };
    let amount = |key: Key| ui.input(|input| key_amount(&input.events, key, input.key_down(key)));
    let steps = |key: Key, per_tap: f64, per_sec: f64| {
        let (taps, held) = amount(key);
        f64::from(taps) * per_tap + if held && taps == 0 { per_sec * secs } else { 0.0 }
    };
    let zoom = |key| steps(key, TAP_ZOOM.ln(), ZOOM_PER_SEC) * speed;
    let pan = |key| steps(key, TAP_PAN_PX, PAN_PX_PER_SEC) * speed;
    let exponent = zoom(Key::W) - zoom(Key::S);
    let dx = pan(Key::A) - pan(Key::D);
    if exponent != 0.0 {
        wishes.zoom = Some((x, exponent.exp()));
    }
    wishes.pan_px.0 += dx;
    if [Key::W, Key::S, Key::A, Key::D].into_iter().any(|key| ui.input(|input| input.key_down(key))) {
        ui.ctx().request_repaint();
    }
}

/// How often the key was pressed in this frame, not counting the system's repeats, and whether it is held.
fn key_amount(events: &[Event], wanted: Key, down: bool) -> (u32, bool) {
    let taps = events
        .iter()
        .filter(|event| matches!(event, Event::Key { key, pressed: true, repeat: false, .. } if *key == wanted))
        .count();
    (u32::try_from(taps).unwrap_or(u32::MAX), down)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use egui_kittest::Harness;

    struct Probe {
        text: String,
        wishes: Vec<Wishes>,
        marking_from: Option<f64>,
    }

    fn harness() -> Harness<'static, Probe> {
        let probe = Probe { text: String::new(), wishes: Vec::new(), marking_from: None };
        Harness::builder().with_size(egui::vec2(400.0, 200.0)).build_ui_state(
            |ui, probe: &mut Probe| {
                let label = ui.label("Search");
                ui.text_edit_singleline(&mut probe.text).labelled_by(label.id);
                let (area, response) = ui.allocate_exact_size(egui::vec2(300.0, 100.0), egui::Sense::click_and_drag());
                let wishes = read(ui, &response, area, &mut probe.marking_from);
                if (wishes.clone(), wishes.hover)
                    != (Wishes { hover: wishes.hover, ..Default::default() }, wishes.hover)
                {
                    probe.wishes.push(wishes);
                }
            },
            probe,
        )
    }

    #[test]
    fn keys_zoom_and_pan_but_not_while_typing() {
        use egui_kittest::kittest::Queryable as _;
        let mut harness = harness();
        harness.run();
        harness.key_press(Key::W);
        harness.run();
        let zoomed = harness.state().wishes.iter().any(|w| w.zoom.is_some_and(|(_, factor)| factor > 1.0));
        assert!(zoomed, "{:?}", harness.state().wishes);
        harness.key_press(Key::D);
        harness.run();
        assert!(harness.state().wishes.iter().any(|w| w.pan_px.0 < 0.0));

        harness.get_by_role(egui::accesskit::Role::TextInput).focus();
        harness.run();
        harness.state_mut().wishes.clear();
        harness.key_press(Key::W);
        harness.key_press(Key::A);
        harness.run();
        assert_eq!(harness.state().wishes, []);
    }

    #[test]
    fn dragging_pans_and_dragging_with_shift_marks() {
        let mut harness = harness();
        harness.run();
        let from = egui::pos2(100.0, 100.0);
        harness.drag_at(from);
        harness.run();
        harness.hover_at(from + egui::vec2(50.0, 0.0));
        harness.run();
        harness.drop_at(from + egui::vec2(50.0, 0.0));
        harness.run();
        let panned: f64 = harness.state().wishes.iter().map(|w| w.pan_px.0).sum();
        assert!((panned - 50.0).abs() < 1e-3, "{panned}");

        harness.state_mut().wishes.clear();
        let shift = Modifiers::SHIFT;
        let button =
            |pos, pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: shift };
        harness.event_modifiers(Event::PointerMoved(from), shift);
        harness.event_modifiers(button(from, true), shift);
        harness.run();
        let to = from + egui::vec2(-60.0, 0.0);
        harness.event_modifiers(Event::PointerMoved(to), shift);
        harness.run();
        harness.event_modifiers(button(to, false), shift);
        harness.run();
        let marked: Vec<_> = harness.state().wishes.iter().filter(|w| w.marked).collect();
        assert_eq!(marked.len(), 1, "{:?}", harness.state().wishes);
        let (start, end) = marked[0].marking.unwrap();
        assert!((end - start - 60.0).abs() < 1e-3);
        assert!(harness.state().wishes.iter().all(|w| w.pan_px.0 == 0.0));
    }
}
