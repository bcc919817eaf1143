//! The whole trace in a strip above the ruler: where host and devices were at work, what is in view, marks and what was
//! found. A click or a drag takes the view there.

use super::paint::CanvasColors;
use super::view::{Bounds, ViewRange};
use crate::model::TrackKind;
use crate::trace::{Buckets, Item, Lane, Trace};
use egui::{Align2, FontId, Rect, Sense, Stroke, Ui, pos2, vec2};

/// Height of the strip.
pub const HEIGHT: f32 = 30.0;

/// Parts into which the trace is cut.
const COLUMNS: usize = 512;

/// A trace that grows is summed up again after this many seconds.
const AGAIN_SECS: f64 = 1.0;

/// Share of each part of the trace in which something ran, 0 to 1: on the host, and on a device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Activity {
    /// The busiest host thread.
    pub host: Vec<f32>,
    /// The busiest stream of a device; empty without a device.
    pub device: Vec<f32>,
    /// Parts that the trace has, the last perhaps not whole: at most 512, fewer where it is shorter than as many
    /// nanoseconds.
    pub columns: f32,
}

impl Activity {
    /// Sums up the outermost lanes of a trace, in time that does not depend on the number of spans. Spans too near to be
    /// told apart count as one from the start of the first to the end of the last.
    pub fn of(trace: &Trace) -> Self {
        let Some((start_ns, end_ns)) = trace.bounds() else { return Self::default() };
        let extent = end_ns.saturating_sub(start_ns).max(1);
        let ns_per_bucket = (extent / COLUMNS as i64 + 1).max(1);
        let buckets = Buckets { start_ns, ns_per_bucket, n: COLUMNS as u32 };
        let any_device = trace.tracks().iter().any(|track| track.kind == TrackKind::Device);
        let mut activity = Self {
            host: vec![0.0; COLUMNS],
            device: if any_device { vec![0.0; COLUMNS] } else { Vec::new() },
            columns: (extent as f64 / ns_per_bucket as f64) as f32,
        };
        for track in trace.tracks() {
            let into = match track.kind {
                TrackKind::Device => &mut activity.device,
                TrackKind::Async | TrackKind::Process | TrackKind::Counter => continue,
                _ => &mut activity.host,
            };
            let Some(lane) = track.lane(0) else { continue };
            for (share, known) in shares(lane, &buckets, end_ns).into_iter().zip(into) {
                *known = known.max(share);
            }
        }
        activity
    }
}

/// Share of each bucket that a lane covers.
fn shares(lane: &Lane, buckets: &Buckets, end_ns: i64) -> Vec<f32> {
    let mut shares = vec![0.0_f32; COLUMNS];
    let width = buckets.ns_per_bucket;
    lane.visit_buckets(buckets, |item| {
        let (first, last) = match item {
            Item::Span(idx) => (idx, idx),
            Item::Merged { first, last, .. } => (first, last),
        };
        let (Some((from, _)), Some((_, to))) = (lane.times(first), lane.times(last)) else { return };
        let (from, to) =
            (from.saturating_sub(buckets.start_ns).max(0), to.min(end_ns).saturating_sub(buckets.start_ns));
        let mut at = from;
        while at < to {
            let column = at / width;
            let end = ((column + 1).saturating_mul(width)).min(to);
            if let Some(share) = shares.get_mut(column as usize) {
                *share = (*share + (end - at) as f32 / width as f32).min(1.0);
            }
            at = end;
        }
    });
    shares
}

/// What the strip shows beside the activity.
pub struct MinimapInput<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Where it begins and ends.
    pub bounds: Bounds,
    /// What is in view.
    pub view: ViewRange,
    /// Width of the view, in pixels.
    pub width_px: f64,
    /// Marks, in nanoseconds from the trace's start.
    pub marks: &'a [f64],
    /// Whether something was found in each of equal parts of the trace; may be empty.
    pub hits: &'a [bool],
    /// Colours.
    pub colors: &'a CanvasColors,
}

/// State of the strip between frames.
#[derive(Debug, Default)]
pub struct Minimap {
    activity: Activity,
    known: Option<u64>,
    since: f64,
}

impl Minimap {
    /// Draws the strip beside a column of labels, and returns the time to which the user wants the view's middle moved.
    pub fn ui(&mut self, ui: &mut Ui, strip: Rect, label_width: f32, input: &MinimapInput<'_>) -> Option<f64> {
        let now = ui.input(|input| input.time);
        let generation = input.trace.generation();
        if self.known != Some(generation) && (self.known.is_none() || now - self.since > AGAIN_SECS) {
            self.activity = Activity::of(input.trace);
            (self.known, self.since) = (Some(generation), now);
        }
        let area = strip.with_min_x(strip.left() + label_width).shrink2(vec2(0.0, 2.0));
        let painter = ui.painter_at(strip);
        painter.rect_filled(strip, 0.0, ui.visuals().panel_fill);
        painter.rect_filled(area, 0.0, input.colors.background);
        let x = |ns: f64| area.left() + ((ns - input.bounds.start_ns) / input.bounds.len_ns()) as f32 * area.width();
        let rows = if self.activity.device.is_empty() { 1.0 } else { 2.0 };
        let height = (area.height() - 4.0) / rows;
        let row =
            |n: f32| Rect::from_min_size(pos2(area.left(), area.top() + 1.0 + n * height), vec2(area.width(), height));
        paint_row(ui, row(0.0), &self.activity.host, self.activity.columns, input.colors.weak_text);
        paint_row(ui, row(1.0), &self.activity.device, self.activity.columns, input.colors.counter);
        let label = |n: f32, text: &str| {
            let font = FontId::proportional(10.0);
            let at = pos2(area.left() - 6.0, row(n).center().y);
            painter.text(at, Align2::RIGHT_CENTER, text, font, input.colors.weak_text);
        };
        label(0.0, if rows > 1.0 { "Host" } else { "Activity" });
        if rows > 1.0 {
            label(1.0, "Devices");
        }
        let hits = input.hits.len().max(1) as f32;
        for (idx, _) in input.hits.iter().enumerate().filter(|(_, hit)| **hit) {
            let left = area.left() + idx as f32 / hits * area.width();
            let size = vec2((area.width() / hits).max(1.5), 3.0);
            painter.rect_filled(Rect::from_min_size(pos2(left, area.bottom() - 3.0), size), 0.0, input.colors.hit);
        }
        let (from, to) = (x(input.view.start_ns), x(input.view.end_ns(input.width_px)));
        let window = Rect::from_x_y_ranges(from..=to.max(from + 2.0), area.y_range()).intersect(area);
        let dim = input.colors.background.gamma_multiply(0.6);
        painter.rect_filled(area.with_max_x(window.left().max(area.left())), 0.0, dim);
        painter.rect_filled(area.with_min_x(window.right().min(area.right())), 0.0, dim);
        painter.rect_stroke(window, 1.0, Stroke::new(1.0, input.colors.selection), egui::StrokeKind::Inside);
        for mark in input.marks {
            painter.vline(x(*mark), area.y_range(), Stroke::new(1.5, input.colors.mark));
        }
        let response = ui.interact(area, ui.scope_id().with("minimap"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, "Whole trace"));
        let response = response.on_hover_text("The whole trace. Click or drag to go there");
        let pos = response.interact_pointer_pos().filter(|_| response.clicked() || response.dragged())?;
        let share = f64::from((pos.x - area.left()) / area.width().max(1.0)).clamp(0.0, 1.0);
        Some(input.bounds.start_ns + share * input.bounds.len_ns())
    }
}

fn paint_row(ui: &Ui, row: Rect, shares: &[f32], columns: f32, color: egui::Color32) {
    let width = row.width() / columns.max(1.0);
    let mut mesh = egui::Mesh::default();
    for (idx, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let left = row.left() + idx as f32 * width;
        let top = row.bottom() - (share * (row.height() - 1.0)).max(1.0);
        mesh.add_colored_rect(Rect::from_min_max(pos2(left, top), pos2(left + width, row.bottom())), color);
    }
    ui.painter_at(row).add(mesh);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::trace::{ArgsId, NameId};

    #[test]
    fn activity_is_the_share_of_time_in_which_something_ran() {
        let mut trace = Trace::default();
        let host = trace.add_track(1, None, "t", "", TrackKind::Thread);
        let device = trace.add_track(2, None, "d", "", TrackKind::Device);
        let name = trace.intern("x");
        let mut add = |track, start, dur| trace.complete(track, start, dur, name, NameId::EMPTY, ArgsId::NONE);
        // The extent is 512,000 ns: parts of 1,001 ns.
        add(host, 0, 256_000);
        add(host, 10, 100);
        add(device, 300_000, 500);
        add(device, 511_999, 1);
        trace.settle();
        let activity = Activity::of(&trace);
        assert!((activity.host[0] - 1.0).abs() < 1e-3 && (activity.host[100] - 1.0).abs() < 1e-3);
        assert!(activity.host[300] == 0.0);
        let busy: Vec<usize> = (0..COLUMNS).filter(|idx| activity.device[*idx] > 0.0).collect();
        assert_eq!(busy, [299, 300, 511]);
        let sum: f32 = activity.device[299..=300].iter().sum();
        assert!((sum - 500.0 / 1001.0).abs() < 1e-3, "{sum}");
        assert!((activity.columns - 512_000.0 / 1001.0).abs() < 1e-2);
        assert_eq!(Activity::of(&Trace::default()), Activity::default());
        // Shorter than there are parts: one for each nanosecond.
        let mut short = Trace::default();
        let track = short.add_track(1, None, "t", "", TrackKind::Thread);
        let name = short.intern("x");
        short.complete(track, 0, 14, name, NameId::EMPTY, ArgsId::NONE);
        short.settle();
        let activity = Activity::of(&short);
        assert_eq!((activity.columns, activity.host.iter().filter(|share| **share > 0.0).count()), (14.0, 14));
    }
}
