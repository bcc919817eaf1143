//! The timeline widget: ruler, track headers, lanes; holds the view and what is collapsed, and reports what the user
//! asked for. Knows the trace, never the session.

use super::headers::{Headers, counter_text};
use super::input::{self, Travel, Wishes};
use super::layout::{Item, ItemKind, Layout, LayoutCache, RowKind};
use super::marks;
use super::minimap::{self, Minimap, MinimapInput};
use super::paint::{self, CanvasColors, Frame, SpanLook};
use super::ruler::{self, Ruler};
use super::tree::{TRACK_GAP, TrackSource, TrackTree};
use super::view::{Bounds, ViewHistory, ViewRange};
use crate::model::units;
use crate::trace::{SpanRef, Trace};
use egui::{Rect, Sense, Ui, pos2, vec2};

/// Height of the ruler.
const RULER_HEIGHT: f32 = 26.0;

/// Width of the track headers; less where the canvas is narrow.
const HEADER_WIDTH: f32 = 210.0;

/// How near to an item the pointer must be, in pixels.
const HIT_SLACK_PX: f64 = 3.0;

/// Arrows of the selected span that are drawn.
const MAX_ARROWS: usize = 64;

/// Length of an animated move.
const MOVE_SECS: f64 = 0.2;

/// What the canvas is to show.
pub struct CanvasInput<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its tracks in order.
    pub tree: &'a TrackTree,
    /// Whether it is still growing, so that its end is followed.
    pub live: bool,
    /// The selected span.
    pub selected: Option<SpanRef>,
    /// The selected stretch, in nanoseconds of the trace.
    pub range_ns: Option<(i64, i64)>,
    /// Marks that the user set, in nanoseconds of the trace.
    pub marks: &'a [i64],
    /// Whether something that is searched for begins in each of equal parts of the trace; may be empty.
    pub hits: &'a [bool],
    /// How spans look.
    pub look: SpanLook<'a>,
    /// All other colours.
    pub colors: CanvasColors,
}

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CanvasEvent {
    /// Select this span.
    Select(SpanRef),
    /// Select this stretch, in nanoseconds of the trace.
    SelectRange(i64, i64),
    /// Select nothing.
    Clear,
    /// Show all of a track's lanes, or only the outermost.
    ToggleCollapsed(TrackSource),
    /// Keep a track on top, or no longer.
    TogglePinned(TrackSource),
    /// Show only the outermost lanes of all tracks, or all of them.
    CollapseAll(bool),
    /// Put a track before another, or at the end.
    MoveTrack(TrackSource, Option<TrackSource>),
}

/// A movement in progress.
#[derive(Debug, Clone, Copy)]
struct Move {
    from: ViewRange,
    to: ViewRange,
    since: f64,
}

/// State of a timeline between frames.
#[derive(Debug, Default)]
pub struct TimelineCanvas {
    view: Option<ViewRange>,
    moving: Option<Move>,
    history: ViewHistory,
    paused_following: bool,
    marking_from: Option<f64>,
    cache: LayoutCache,
    revealed: Option<SpanRef>,
    width_px: f64,
    bounds: Bounds,
    area: Option<Rect>,
    hover_ns: Option<f64>,
    minimap: Minimap,
    headers: Headers,
}

impl TimelineCanvas {
    /// Shows the whole trace, and follows it again if it is live.
    pub fn fit(&mut self, now_secs: f64) {
        self.paused_following = false;
        self.move_to(ViewRange::fit(self.bounds, self.width_px), now_secs);
    }

    /// Shows a stretch, in nanoseconds relative to the trace's start.
    pub fn focus(&mut self, start_ns: f64, end_ns: f64, now_secs: f64) {
        self.paused_following = true;
        self.move_to(ViewRange::focus(start_ns, end_ns, self.width_px), now_secs);
    }

    /// Shows exactly this stretch, in nanoseconds relative to the trace's start.
    pub fn show(&mut self, start_ns: f64, end_ns: f64) {
        self.paused_following = true;
        if let Some(view) = self.view {
            self.history.record(view);
        }
        self.moving = None;
        self.view = Some(ViewRange::spanning(start_ns, end_ns, self.width_px));
    }

    /// What is in view, in nanoseconds relative to the trace's start.
    pub fn shown(&self) -> Option<(f64, f64)> {
        self.view.map(|view| (view.start_ns, view.end_ns(self.width_px)))
    }

    /// The time under the pointer, in nanoseconds relative to the trace's start.
    pub fn hover_ns(&self) -> Option<f64> {
        self.hover_ns
    }

    /// Whether the end of a live trace is being followed.
    pub fn following(&self) -> bool {
        !self.paused_following
    }

    /// Follows the end of a live trace again.
    pub fn resume_following(&mut self) {
        self.paused_following = false;
    }

    /// The view, once there was a frame.
    pub fn view(&self) -> Option<ViewRange> {
        self.view
    }

    /// Where the lanes were drawn in the last frame, for tests that click on spans.
    pub fn area(&self) -> Option<Rect> {
        self.area
    }

    fn move_to(&mut self, to: ViewRange, now_secs: f64) {
        let Some(from) = self.view else {
            self.view = Some(to);
            return;
        };
        self.history.record(from);
        self.moving = Some(Move { from, to, since: now_secs });
    }

    /// Draws the canvas into the space that is left, and returns what the user asked for.
    pub fn ui(&mut self, ui: &mut Ui, input: &CanvasInput<'_>) -> Vec<CanvasEvent> {
        let full = ui.available_rect_before_wrap();
        let header_width = HEADER_WIDTH.min(full.width() / 3.0);
        let (overview, _) = ui.allocate_exact_size(vec2(full.width(), minimap::HEIGHT), Sense::hover());
        let (strip, _) = ui.allocate_exact_size(vec2(full.width(), RULER_HEIGHT), Sense::hover());
        let width_px = f64::from((full.width() - header_width).max(1.0));
        if self.width_px < 2.0
            && let Some(view) = &mut self.view
        {
            // The stretch was chosen before the width was known.
            view.ns_per_px /= width_px;
        }
        self.width_px = width_px;
        self.bounds = bounds_of(input.trace);
        let mut view = self.current_view(ui, input.live);
        self.minimap_ui(ui, overview, header_width, input, &mut view);
        let mut events = Vec::new();
        let mut ruler_frame = None;
        egui::ScrollArea::vertical()
            .id_salt("timeline lanes")
            .auto_shrink([false, false])
            .scroll_source(egui::scroll_area::ScrollSource {
                drag: egui::scroll_area::DragScroll::Never,
                ..Default::default()
            })
            .show(ui, |ui| {
                let viewport = ui.clip_rect();
                let height = input.tree.height().max(viewport.height());
                let (content, _) = ui.allocate_exact_size(vec2(full.width(), height), Sense::hover());
                let lanes = content.with_min_x(content.left() + header_width);
                let area = lanes.intersect(viewport);
                self.area = Some(area);
                let response = ui.interact(area, ui.scope_id().with("canvas"), Sense::click_and_drag());
                response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Timeline"));
                let wishes = input::read(ui, &response, area, &mut self.marking_from);
                self.follow_wishes(ui, &wishes, &mut view);
                view.clamp(self.bounds, self.width_px);
                self.reveal(ui, input, &mut view, content);
                let frame = Frame { area, top: content.top(), view, pixels_per_point: ui.pixels_per_point() };
                let layout = self.cache.get(input.trace, input.tree, &view, self.width_px);
                let ruler = ruler::ruler(&view, self.width_px);
                let stretch = stretch(input, &frame.view, &wishes);
                paint_canvas(ui, &frame, layout, &ruler, input, stretch);
                pointer_events(ui, input, &frame, layout, &wishes, &response, &mut events);
                if let Some((from, to)) = wishes.double_click.and_then(|pos| stretch_at(&frame, layout, pos)) {
                    self.paused_following = true;
                    self.history.record(view);
                    let to = ViewRange::focus(from, to, self.width_px);
                    self.moving = Some(Move { from: view, to, since: ui.input(|input| input.time) });
                }
                self.hover_ns = wishes.hover.map(|pos| view.ns_from_x(f64::from(pos.x - area.left())));
                let column = content.with_max_x(content.left() + header_width);
                self.headers.ui(ui, column, input.tree, &input.colors, &mut events);
                ruler_frame = Some((frame, ruler));
            });
        if let Some((frame, ruler)) = ruler_frame {
            paint_strip(ui, strip, header_width, &frame, &ruler, &input.colors);
            paint_flags(ui, strip.with_min_x(strip.left() + header_width), &frame, input);
        }
        self.view = Some(view);
        events
    }

    fn minimap_ui(
        &mut self,
        ui: &mut Ui,
        strip: Rect,
        header_width: f32,
        input: &CanvasInput<'_>,
        view: &mut ViewRange,
    ) {
        let marks: Vec<f64> = relative_marks(input).collect();
        let map = MinimapInput {
            trace: input.trace,
            bounds: self.bounds,
            view: *view,
            width_px: self.width_px,
            marks: &marks,
            hits: input.hits,
            colors: &input.colors,
        };
        if let Some(middle) = self.minimap.ui(ui, strip, header_width, &map) {
            if !ui.input(|input| input.pointer.is_decidedly_dragging()) {
                self.history.record(*view);
            }
            self.paused_following = true;
            self.moving = None;
            view.start_ns = middle - view.ns_per_px * self.width_px / 2.0;
            view.clamp(self.bounds, self.width_px);
        }
    }

    /// The view of this frame before input: fitted at first, on its way during a movement, at the end while following.
    fn current_view(&mut self, ui: &Ui, live: bool) -> ViewRange {
        let mut view = self.view.unwrap_or_else(|| ViewRange::fit(self.bounds, self.width_px));
        if let Some(moving) = self.moving {
            let t = ((ui.input(|input| input.time) - moving.since) / MOVE_SECS).clamp(0.0, 1.0);
            let eased = t * t * (3.0 - 2.0 * t);
            view = moving.from.lerp(&moving.to, eased);
            if t >= 1.0 {
                self.moving = None;
            } else {
                ui.ctx().request_repaint();
            }
        } else if live && !self.paused_following {
            // Everything while it fits into the view's length, then the newest part of it.
            let whole = ViewRange::fit(self.bounds, self.width_px);
            if whole.ns_per_px <= view.ns_per_px {
                view = whole;
            } else {
                view.follow(self.bounds.end_ns, self.width_px);
            }
        }
        view.clamp(self.bounds, self.width_px);
        view
    }

    fn follow_wishes(&mut self, ui: &Ui, wishes: &Wishes, view: &mut ViewRange) {
        if wishes.moves_view() {
            if self.moving.take().is_some() || !ui.input(|input| input.pointer.is_decidedly_dragging()) {
                self.history.record(*view);
            }
            self.paused_following = true;
            wishes.apply_to(view);
        }
        if wishes.pan_px.1 != 0.0 {
            let none = egui::style::ScrollAnimation::none();
            ui.scroll_with_delta_animation(vec2(0.0, wishes.pan_px.1 as f32), none);
        }
        let travelled = match wishes.history {
            Some(Travel::Back) => self.history.back(*view),
            Some(Travel::Forward) => self.history.forward(*view),
            None => None,
        };
        if let Some(to) = travelled {
            self.paused_following = true;
            self.moving = Some(Move { from: *view, to, since: ui.input(|input| input.time) });
        }
    }

    /// Brings a newly selected span into view, without zooming.
    fn reveal(&mut self, ui: &Ui, input: &CanvasInput<'_>, view: &mut ViewRange, content: Rect) {
        if self.revealed == input.selected {
            return;
        }
        self.revealed = input.selected;
        let Some((start, end)) = input.selected.and_then(|span| relative_times(input.trace, span)) else { return };
        if end < view.start_ns || start > view.end_ns(self.width_px) {
            self.paused_following = true;
            self.history.record(*view);
            let middle = (start + end) / 2.0;
            view.start_ns = middle - view.ns_per_px * self.width_px / 2.0;
            view.clamp(self.bounds, self.width_px);
        }
        if let Some(range) = input.selected.and_then(|span| input.tree.span_y(span)) {
            let rect = Rect::from_x_y_ranges(content.x_range(), content.top() + range.0..=content.top() + range.1);
            if !ui.clip_rect().y_range().contains(rect.center().y) {
                ui.scroll_to_rect_animation(rect, None, egui::style::ScrollAnimation::none());
            }
        }
    }
}

fn bounds_of(trace: &Trace) -> Bounds {
    let (start, end) = trace.bounds().unwrap_or((0, 0));
    Bounds { start_ns: 0.0, end_ns: end.saturating_sub(start) as f64 }
}

fn origin_of(trace: &Trace) -> i64 {
    trace.bounds().map_or(0, |(start, _)| start)
}

/// Start and end of a span, relative to the trace's start.
fn relative_times(trace: &Trace, span: SpanRef) -> Option<(f64, f64)> {
    let span = trace.span(span)?;
    let (origin, end) = trace.bounds()?;
    let relative = |ns: i64| ns.saturating_sub(origin) as f64;
    Some((relative(span.start_ns), relative(span.end_ns().min(end.max(span.start_ns)))))
}

/// The span or group under a position, relative to the trace's start.
fn stretch_at(frame: &Frame, layout: &Layout, pos: egui::Pos2) -> Option<(f64, f64)> {
    let (_, item) = hit(frame, layout, pos)?;
    Some((item.start_ns, item.end_ns))
}

fn hit<'a>(
    frame: &Frame,
    layout: &'a Layout,
    pos: egui::Pos2,
) -> Option<(&'a super::layout::Row, &'a super::layout::Item)> {
    let ns = frame.view.ns_from_x(f64::from(pos.x - frame.area.left()));
    layout.hit(pos.y - frame.top, ns, HIT_SLACK_PX * frame.view.ns_per_px)
}

fn paint_canvas(
    ui: &Ui,
    frame: &Frame,
    layout: &Layout,
    ruler: &Ruler,
    input: &CanvasInput<'_>,
    stretch: Option<(f64, f64)>,
) {
    let painter = ui.painter_at(frame.area);
    painter.rect_filled(frame.area, 0.0, input.colors.background);
    for place in layout.tracks.iter().skip(1).step_by(2) {
        let top = frame.top + place.y - TRACK_GAP / 2.0;
        let rect = Rect::from_x_y_ranges(frame.area.x_range(), top..=top + place.height + TRACK_GAP);
        painter.rect_filled(rect, 0.0, input.colors.stripe);
    }
    let ends = stretch.map(|(from, to)| (frame.x(from), frame.x(to), units::duration_ns((to - from).round())));
    if let Some((left, right, _)) = ends {
        paint::paint_stretch(&painter, frame.area, left, right, &input.colors);
    }
    paint::paint_grid(&painter, frame, ruler, &input.colors);
    paint::paint_layout(&painter, frame, layout, input.trace, &input.look, &input.colors);
    if let Some((left, right, label)) = ends {
        paint::paint_stretch_ends(&painter, frame.area, left, right, &label, &input.colors);
    }
    if let Some(span) = input.selected {
        for link in input.trace.links(span, MAX_ARROWS) {
            let (from, to) = if link.leaves { (link.here, link.other) } else { (link.other, link.here) };
            if let (Some(from), Some(to)) = (span_rect(frame, input, from), span_rect(frame, input, to)) {
                marks::paint_arrow(&painter, from, to, input.colors.text);
            }
        }
    }
    for mark in relative_marks(input) {
        painter.vline(frame.x(mark), frame.area.y_range(), egui::Stroke::new(1.0, input.colors.mark));
    }
    if let Some(rect) = input.selected.and_then(|span| span_rect(frame, input, span)) {
        marks::paint_outline(&painter, rect, input.colors.selection);
    }
}

/// Where a span is drawn, whether or not the layout shows it by itself.
fn span_rect(frame: &Frame, input: &CanvasInput<'_>, span: SpanRef) -> Option<Rect> {
    let (start, end) = relative_times(input.trace, span)?;
    let (top, bottom) = input.tree.span_y(span)?;
    let (left, right) = (frame.x(start), frame.x(end));
    let right = right.max(left + 1.0 / frame.pixels_per_point);
    Some(Rect::from_min_max(pos2(left, frame.top + top), pos2(right, frame.top + bottom - 1.0)))
}

/// The stretch that is being marked or is selected, relative to the trace's start.
fn stretch(input: &CanvasInput<'_>, view: &ViewRange, wishes: &Wishes) -> Option<(f64, f64)> {
    let origin = origin_of(input.trace);
    let selected = || {
        let (from, to) = input.range_ns?;
        Some((from.saturating_sub(origin) as f64, to.saturating_sub(origin) as f64))
    };
    wishes.marking.map(|(from, to)| (view.ns_from_x(from), view.ns_from_x(to))).or_else(selected)
}

/// Turns clicks and finished markings into events, and tells about what is under the pointer.
fn pointer_events(
    ui: &mut Ui,
    input: &CanvasInput<'_>,
    frame: &Frame,
    layout: &Layout,
    wishes: &Wishes,
    response: &egui::Response,
    events: &mut Vec<CanvasEvent>,
) {
    let origin = origin_of(input.trace);
    let marking = wishes.marking.map(|(from, to)| (frame.view.ns_from_x(from), frame.view.ns_from_x(to)));
    if wishes.marked
        && let Some((from, to)) = marking
        && to - from >= 1.0
    {
        let absolute = |ns: f64| origin.saturating_add(ns.round() as i64);
        events.push(CanvasEvent::SelectRange(absolute(from), absolute(to)));
    }
    if let Some(pos) = wishes.click {
        events.push(match hit(frame, layout, pos).and_then(|(_, item)| item.span()) {
            Some(span) => CanvasEvent::Select(span),
            None => CanvasEvent::Clear,
        });
    }
    if let Some(pos) = wishes.hover.filter(|_| wishes.marking.is_none())
        && let Some((row, item)) = hit(frame, layout, pos)
    {
        if item.span().is_some() {
            marks::paint_outline(&ui.painter_at(frame.area), frame.item_rect(row, item), input.colors.weak_text);
        }
        let unit = input.tree.tracks.get(row.track).map_or("", |track| track.unit.as_str());
        let is_counter = matches!(row.kind, RowKind::Counter { .. });
        let ns = frame.view.ns_from_x(f64::from(pos.x - frame.area.left()));
        let at = if is_counter { ns.max(0.0).round() } else { item.start_ns };
        response.clone().on_hover_ui_at_pointer(|ui| item_ui(ui, input.trace, item, at, unit));
    }
}

/// What the pointer tells about an item.
fn item_ui(ui: &mut Ui, trace: &Trace, item: &Item, at_ns: f64, unit: &str) {
    let length = units::duration_ns(item.end_ns - item.start_ns);
    let at = units::clock_text(at_ns);
    let name = |span: SpanRef| trace.span(span).map_or("", |span| trace.name(span.name));
    match item.kind {
        ItemKind::Span(span) => {
            ui.strong(name(span));
            let open = trace.span(span).is_some_and(|span| span.is_open());
            let length = if open { "has not ended".to_owned() } else { length };
            ui.label(format!("{length}, at {at}"));
        }
        ItemKind::Merged { count, longest } => {
            ui.strong(format!("{} spans in {length}", units::count(count as u64)));
            ui.label(format!("Longest: {}", name(longest)));
            ui.label(format!("At {at}. Zoom in to see each"));
        }
        ItemKind::Instants { track, first, count } => {
            let moment = trace.track(track).and_then(|track| track.instants().get(first));
            ui.strong(moment.map_or("", |moment| trace.name(moment.name)));
            if count > 1 {
                ui.label(format!("and {} more", units::count(count as u64 - 1)));
            }
            ui.label(format!("At {at}"));
        }
        ItemKind::Sample { low, high, last } => {
            ui.strong(counter_text(last, unit));
            if low != high {
                ui.label(format!("{} to {} here", counter_text(low, unit), counter_text(high, unit)));
            }
            ui.label(format!("At {at}"));
        }
    }
}

/// The ruler, with the base of its labels over the track headers.
fn paint_strip(ui: &Ui, strip: Rect, header_width: f32, frame: &Frame, ruler: &Ruler, colors: &CanvasColors) {
    let painter = ui.painter_at(strip);
    painter.rect_filled(strip, 0.0, ui.visuals().panel_fill);
    let text = match &ruler.base {
        Some(base) => format!("from {base}"),
        None => "Time since start".to_owned(),
    };
    let left = pos2(strip.left() + 4.0, strip.bottom() - 5.0);
    let font = egui::FontId::proportional(11.0);
    painter.text(left, egui::Align2::LEFT_BOTTOM, text, font, colors.weak_text);
    paint::paint_ruler(ui.painter(), strip.with_min_x(strip.left() + header_width), frame, ruler, colors);
    painter.hline(strip.x_range(), strip.bottom(), egui::Stroke::new(1.0, colors.grid));
}

/// Marks in nanoseconds from the trace's start.
fn relative_marks<'a>(input: &'a CanvasInput<'_>) -> impl Iterator<Item = f64> + 'a {
    let origin = origin_of(input.trace);
    input.marks.iter().map(move |mark| mark.saturating_sub(origin) as f64)
}

/// Numbered flags over the marks that are in view.
fn paint_flags(ui: &Ui, strip: Rect, frame: &Frame, input: &CanvasInput<'_>) {
    let painter = ui.painter_at(strip);
    for (idx, mark) in relative_marks(input).enumerate() {
        let x = frame.x(mark);
        if !strip.x_range().contains(x) {
            continue;
        }
        let flag = Rect::from_min_size(pos2(x, strip.top() + 1.0), vec2(14.0, 12.0));
        painter.rect_filled(flag, 1.0, input.colors.mark);
        painter.vline(x, strip.y_range(), egui::Stroke::new(1.0, input.colors.mark));
        let color = marks::text_color_on(input.colors.mark);
        let font = egui::FontId::proportional(10.0);
        painter.text(flag.center(), egui::Align2::CENTER_CENTER, (idx + 1).to_string(), font, color);
    }
}
