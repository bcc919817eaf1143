//! The panel as a user meets it: through its accessible names, its keys and clicks on what was drawn.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::panels::testing::{STEP_NS, palette, planted_trace};
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

/// The panel with a selection that follows its commands as the session's would.
struct Probe {
    trace: Trace,
    state: TimelineState,
    span: Option<SpanRef>,
    range_ns: Option<(i64, i64)>,
    name: Option<String>,
    live: bool,
    steps: Option<Vec<StepSpan>>,
    commands: Vec<Command>,
}

impl Probe {
    fn new(trace: Trace) -> Self {
        let state = TimelineState::default();
        Self { trace, state, span: None, range_ns: None, name: None, live: false, steps: None, commands: Vec::new() }
    }

    fn ui(&mut self, ui: &mut Ui) {
        let input = TimelineInput {
            run: "planted",
            path: "/tmp/planted run".as_ref(),
            trace: &self.trace,
            live: self.live,
            loading: false,
            span: self.span,
            range_ns: self.range_ns,
            name: self.name.as_deref(),
            steps: self.steps.as_deref(),
        };
        let palette = palette(ui.visuals().dark_mode);
        let commands = timeline_view(ui, &input, &palette, &mut self.state);
        for command in &commands {
            match command {
                Command::Select(span) => {
                    self.span = Some(*span);
                    self.name = self.trace.span(*span).map(|span| self.trace.name(span.name).to_owned());
                }
                Command::SelectRange(from, to) => self.range_ns = Some((*from, *to)),
                Command::SelectName(name) => (self.name, self.span) = (Some(name.clone()), None),
                Command::ClearSelection => (self.name, self.span, self.range_ns) = (None, None, None),
                Command::FindNext => {
                    let name = self.name.clone().unwrap_or_default();
                    let next = crate::trace::search::neighbour(&self.trace, &name, self.span, true);
                    self.span = next.or(self.span);
                }
                _ => {}
            }
        }
        self.commands.extend(commands);
    }
}

fn harness(probe: Probe) -> Harness<'static, Probe> {
    let builder = Harness::builder().with_size(egui::vec2(1280.0, 800.0)).with_max_steps(64);
    let mut harness = builder.build_ui_state(|ui, probe: &mut Probe| probe.ui(ui), probe);
    harness.run();
    harness
}

/// Where the middle of a span is drawn.
fn position(probe: &Probe, span: SpanRef) -> egui::Pos2 {
    let (view, area) = (probe.state.canvas().view().unwrap(), probe.state.canvas().area().unwrap());
    let found = probe.trace.span(span).unwrap();
    let middle = (found.start_ns + found.dur_ns / 2 - probe.trace.bounds().unwrap().0) as f64;
    let tree = TrackTree::of(&probe.trace, &probe.state.collapsed);
    let (top, bottom) = tree.span_y(span).unwrap();
    egui::pos2(area.left() + view.x_from_ns(middle) as f32, area.top() + (top + bottom) / 2.0)
}

fn click(harness: &mut Harness<'_, Probe>, pos: egui::Pos2) {
    harness.drag_at(pos);
    // One frame: work in the background may ask for more, and a button that is held for long is no click.
    harness.step();
    harness.drop_at(pos);
    harness.run();
}

fn training_span(probe: &Probe, depth: u16, idx: u32) -> SpanRef {
    let track = probe.trace.tracks().iter().find(|track| track.name == "Training thread").unwrap().id;
    SpanRef { track, depth, idx }
}

#[test]
fn clicking_a_span_shows_its_details() {
    let mut harness = harness(Probe::new(planted_trace(4)));
    // The forward pass of the second step: 7 phases a step.
    let span = training_span(harness.state(), 1, 7 + 2);
    let pos = position(harness.state(), span);
    click(&mut harness, pos);
    assert_eq!(harness.state().span, Some(span));
    harness.get_by_label("Duration");
    harness.get_by_label("30.0 ms");
    harness.get_by_label("Within");
    harness.get_by_label("Step 1");
    harness.get_by_label_contains("does not say how this time was measured");
    let below = egui::pos2(pos.x, harness.state().state.canvas().area().unwrap().bottom() - 3.0);
    click(&mut harness, below);
    assert_eq!(harness.state().span, None, "clicking where nothing is selects nothing");
}

#[test]
fn a_marked_stretch_is_summed_up_by_name() {
    let mut probe = Probe::new(planted_trace(4));
    probe.range_ns = Some((0, 2 * STEP_NS));
    let mut harness = harness(probe);
    for _ in 0..200 {
        if harness.query_by_label("Sort by Total").is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        harness.run();
    }
    harness.get_by_label("240 ms selected");
    harness.get_by_label("Sort by Name").click();
    harness.run();
    harness.get_all_by_label("Backward").next().unwrap();
    harness.get_by_label("120 ms");
}

#[test]
fn search_selects_and_steps_through_a_name() {
    let mut harness = harness(Probe::new(planted_trace(3)));
    harness.state_mut().state.on_command(&Command::FocusSearch);
    harness.run();
    let field = harness.get_by_role_and_label(Role::TextInput, "Search");
    assert!(field.is_focused());
    field.type_text("backw");
    harness.run();
    harness.get_by_label("1 name matches");
    harness.key_press(egui::Key::Enter);
    harness.run();
    assert_eq!(harness.state().name.as_deref(), Some("Backward"));
    let first = harness.state().span.unwrap();
    harness.get_by_label("Next").click();
    harness.run();
    let second = harness.state().span.unwrap();
    assert!(second.idx > first.idx);
}

#[test]
fn typing_moves_nothing_and_keys_do() {
    let mut harness = harness(Probe::new(planted_trace(3)));
    let before = harness.state().state.canvas().view().unwrap();
    harness.get_by_role_and_label(Role::TextInput, "Search").focus();
    harness.run();
    harness.get_by_role_and_label(Role::TextInput, "Search").type_text("wasd");
    harness.key_press(egui::Key::W);
    harness.run();
    assert_eq!(harness.state().state.canvas().view().unwrap(), before);
    harness.key_press(egui::Key::Escape);
    harness.run();
    harness.key_press(egui::Key::W);
    harness.run();
    let after = harness.state().state.canvas().view().unwrap();
    assert!(after.ns_per_px < before.ns_per_px);
    harness.state_mut().state.on_command(&Command::ZoomFit);
    harness.run();
    let fitted = harness.state().state.canvas().view().unwrap();
    assert!((fitted.ns_per_px / before.ns_per_px - 1.0).abs() < 1e-9);
}

#[test]
fn zooming_to_the_selection_fills_the_view_with_it() {
    let mut harness = harness(Probe::new(planted_trace(6)));
    let span = training_span(harness.state(), 0, 3);
    harness.state_mut().span = Some(span);
    harness.run();
    harness.state_mut().state.on_command(&Command::ZoomSelection);
    harness.run();
    let canvas = harness.state().state.canvas();
    let (view, width) = (canvas.view().unwrap(), f64::from(canvas.area().unwrap().width()));
    let share = (STEP_NS - 1_000_000) as f64 / (view.ns_per_px * width);
    assert!((share - 0.8).abs() < 0.01, "{share}");
}

#[test]
fn tracks_collapse_by_their_header() {
    let mut harness = harness(Probe::new(planted_trace(2)));
    harness.get_by_label("Collapse Training thread").click();
    harness.run();
    harness.get_by_label("Expand Training thread");
    assert_eq!(harness.state().state.collapsed.len(), 1);
}

#[test]
fn a_live_trace_is_followed_until_it_is_moved_by_hand() {
    let mut probe = Probe::new(planted_trace(2));
    probe.live = true;
    let mut harness = harness(probe);
    let end = |harness: &Harness<'_, Probe>| {
        let canvas = harness.state().state.canvas();
        canvas.view().unwrap().end_ns(f64::from(canvas.area().unwrap().width()))
    };
    let before = end(&harness);
    harness.state_mut().trace = planted_trace(10);
    harness.run();
    assert!(end(&harness) > before, "the end is followed");
    harness.key_press(egui::Key::W);
    harness.run();
    let held = end(&harness);
    harness.state_mut().trace = planted_trace(20);
    harness.run();
    assert_eq!(end(&harness), held);
}

#[test]
fn an_empty_trace_says_why() {
    let harness = harness(Probe::new(Trace::default()));
    harness.get_by_label_contains("This run has no spans");
}

fn wait_for(harness: &mut Harness<'_, Probe>, label: &str) {
    for _ in 0..200 {
        if harness.query_by_label_contains(label).is_some() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        harness.run();
    }
    panic!("`{label}` never appears");
}

#[test]
fn every_span_that_is_searched_for_is_listed() {
    let mut probe = Probe::new(planted_trace(5));
    probe.name = Some("Backward".to_owned());
    let mut harness = harness(probe);
    wait_for(&mut harness, "5 spans");
    harness.get_by_label("Sort by Duration");
    let row = harness.get_all_by_label("Backward").last().unwrap().rect().center();
    click(&mut harness, row);
    assert!(matches!(harness.state().commands.last(), Some(Command::Select(_))));
    harness.get_by_label("Within");
    harness.get_by_label("All of this name").click();
    harness.run();
    wait_for(&mut harness, "5 spans");
}

#[test]
fn marks_are_set_shown_and_removed() {
    let mut harness = harness(Probe::new(planted_trace(6)));
    let area = harness.state().state.canvas().area().unwrap();
    for share in [0.25, 0.75] {
        harness.hover_at(egui::pos2(area.left() + share * area.width(), area.center().y));
        harness.run();
        harness.state_mut().state.on_command(&Command::ToggleMark);
        harness.run();
    }
    assert_eq!(harness.state().state.marks.of("planted").len(), 2);
    harness.get_by_label("Marks (2)").click();
    harness.run();
    // Half of six steps with a hundredth of room at both ends.
    harness.get_by_label_contains(", 367 ms later");
    harness.get_all_by_label("Remove").next().unwrap().click();
    harness.run();
    assert_eq!(harness.state().state.marks.of("planted").len(), 1);
    harness.key_press(egui::Key::Escape);
    harness.run();
    harness.key_press(egui::Key::W);
    harness.run();
    harness.state_mut().state.on_command(&Command::NextMark);
    harness.run();
    let canvas = harness.state().state.canvas();
    let (from, to) = canvas.shown().unwrap();
    let mark = harness.state().state.marks.of("planted")[0] as f64;
    assert!(((from + to) / 2.0 - mark).abs() < 1.0);
}

#[test]
fn a_link_opens_the_same_place() {
    let mut harness = harness(Probe::new(planted_trace(6)));
    let span = training_span(harness.state(), 0, 2);
    let place = Place { start_ns: 100_000_000, end_ns: 200_000_000, span: Some(span) };
    harness.state_mut().state.on_command(&Command::GoTo(place));
    harness.run();
    assert_eq!(harness.state().span, Some(span));
    let (from, to) = harness.state().state.canvas().shown().unwrap();
    assert!((from - 1e8).abs() < 1.0 && (to - 2e8).abs() < 1.0, "{from} {to}");
    harness.state_mut().state.on_command(&Command::CopyLink);
    harness.run();
    let Some(Command::CopyText(link)) = harness.state().commands.last().cloned() else { panic!("nothing was copied") };
    let text = link.strip_prefix("burnscope --at ").and_then(|rest| rest.strip_suffix(" '/tmp/planted run'")).unwrap();
    let again: Place = text.parse().unwrap();
    assert_eq!(again.span, Some(span));
    assert!((again.start_ns - place.start_ns).abs() <= 1 && (again.end_ns - place.end_ns).abs() <= 1, "{text}");
}

#[test]
fn tracks_are_moved_by_their_menu_and_by_dragging() {
    let mut harness = harness(Probe::new(planted_trace(2)));
    let names = |harness: &Harness<'_, Probe>| {
        let tree = harness.state().state.tree.as_ref().unwrap();
        tree.1.tracks.iter().map(|track| track.name.clone()).collect::<Vec<_>>()
    };
    let before = names(&harness);
    let training = before.iter().position(|name| name == "Training thread").unwrap();
    harness.get_by_label("Collapse Training thread").click_secondary();
    harness.run();
    harness.get_by_label("Move down").click();
    harness.run();
    let mut expected = before.clone();
    expected.swap(training, training + 1);
    assert_eq!(names(&harness), expected);
    // To the top by hand.
    let from = harness.get_by_label("Collapse Training thread").rect().center();
    let to = egui::pos2(from.x, harness.state().state.canvas().area().unwrap().top() + 2.0);
    harness.drag_at(from);
    harness.run();
    harness.hover_at(to);
    harness.run();
    harness.drop_at(to);
    harness.run();
    assert_eq!(names(&harness)[0], "Training thread");
}

#[test]
fn the_strip_above_takes_the_view_there() {
    let mut harness = harness(Probe::new(planted_trace(20)));
    let span = training_span(harness.state(), 0, 3);
    harness.state_mut().span = Some(span);
    harness.state_mut().state.on_command(&Command::ZoomSelection);
    harness.run();
    let strip = harness.get_by_label("Whole trace").rect();
    let at = egui::pos2(strip.left() + 0.9 * strip.width(), strip.center().y);
    click(&mut harness, at);
    let (from, to) = harness.state().state.canvas().shown().unwrap();
    let (start, end) = harness.state().trace.bounds().unwrap();
    assert!(((from + to) / 2.0 / (end - start) as f64 - 0.9).abs() < 0.01, "{from} {to}");
}
