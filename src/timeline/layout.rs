//! What the canvas shows of a trace: rows, and in each row the items of the part of time in view, never more of them
//! than there are pixels. Pure; painting takes this as it is.
//!
//! Items carry times, not pixels, and cover more than the view, so that panning and small zooms use the same layout
//! again ([`LayoutCache`]).

use super::tree::{TrackPlace, TrackSource, TrackTree};
use super::view::ViewRange;
use crate::trace::lod::CounterItem;
use crate::trace::{self, Buckets, CounterId, SpanRef, Trace, TrackId};
use rayon::prelude::*;
use std::ops::Range;

/// Room on both sides of the view that a layout covers too, in lengths of the view.
pub const PADDING: f64 = 0.5;

/// What one item stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ItemKind {
    /// One span.
    Span(SpanRef),
    /// Several spans that begin within one bucket of time.
    Merged {
        /// How many.
        count: usize,
        /// The longest of them, which gives the item its colour.
        longest: SpanRef,
    },
    /// One or several moments without duration.
    Instants {
        /// Their track.
        track: TrackId,
        /// Index of the first among the track's moments.
        first: usize,
        /// How many.
        count: usize,
    },
    /// A counter's value from here to the next sample.
    Sample {
        /// Smallest value in the bucket.
        low: f64,
        /// Largest value in the bucket.
        high: f64,
        /// Value at the end of the bucket.
        last: f64,
    },
}

/// Something to draw in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item {
    /// Start, in nanoseconds relative to the trace's start.
    pub start_ns: f64,
    /// End.
    pub end_ns: f64,
    /// What it is.
    pub kind: ItemKind,
}

impl Item {
    /// The span, or the longest of those it stands for.
    pub fn span(&self) -> Option<SpanRef> {
        match self.kind {
            ItemKind::Span(span) | ItemKind::Merged { longest: span, .. } => Some(span),
            ItemKind::Instants { .. } | ItemKind::Sample { .. } => None,
        }
    }
}

/// What a row shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowKind {
    /// Spans of one nesting depth.
    Lane {
        /// Depth, 0 outermost.
        depth: usize,
    },
    /// Moments without duration.
    Instants,
    /// Values over time.
    Counter {
        /// Largest value of the whole counter: the top of the scale.
        max: f64,
    },
}

/// One row of the canvas.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Index of its track in the tree.
    pub track: usize,
    /// What it shows.
    pub kind: RowKind,
    /// Top, in points from the top of the layout.
    pub y: f32,
    /// Height in points.
    pub height: f32,
    /// Its items in [`Layout::items`], sorted by start.
    pub items: Range<usize>,
}

/// Everything that a stretch of time shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layout {
    /// Rows from top to bottom.
    pub rows: Vec<Row>,
    /// Items of all rows, one row after the other.
    pub items: Vec<Item>,
    /// Place of each track of the tree, in its order.
    pub tracks: Vec<TrackPlace>,
    /// Height of everything, in points.
    pub height: f32,
    /// Stretch that is covered, in nanoseconds relative to the trace's start.
    pub window: (f64, f64),
}

impl Layout {
    /// The items of a row of this layout.
    pub fn items_of(&self, row: &Row) -> &[Item] {
        self.items.get(row.items.clone()).unwrap_or_default()
    }

    /// The row at a height, in points from the top of the layout.
    pub fn row_at(&self, y: f32) -> Option<&Row> {
        let idx = self.rows.partition_point(|row| row.y + row.height <= y);
        self.rows.get(idx).filter(|row| row.y <= y)
    }

    /// The item at a height and time; items up to `slack_ns` away count, the nearest first.
    pub fn hit(&self, y: f32, ns: f64, slack_ns: f64) -> Option<(&Row, &Item)> {
        let row = self.row_at(y)?;
        let items = self.items_of(row);
        let next = items.partition_point(|item| item.start_ns <= ns);
        let distance = |item: &Item| (item.start_ns - ns).max(ns - item.end_ns).max(0.0);
        let candidates = items.get(next.saturating_sub(1)..(next + 1).min(items.len()))?;
        let nearest = candidates.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        (distance(nearest) <= slack_ns).then_some((row, nearest))
    }
}

/// Lays out the part of a trace between two times, which are relative to its start, with spans gathered in buckets of
/// `bucket_ns`.
pub fn layout(trace: &Trace, tree: &TrackTree, window: (f64, f64), bucket_ns: i64) -> Layout {
    let (origin, end) = trace.bounds().unwrap_or((0, 0));
    let scope = Scope { trace, origin, end, buckets: buckets(origin, window, bucket_ns) };
    let places = tree.places();
    let mut rows = rows_of(tree, &places);
    // Rows do not depend on each other; what takes time is waiting for the memory that their spans are in.
    let parts: Vec<Vec<Item>> = rows.par_iter().map(|(row, source)| scope.items(row.kind, *source)).collect();
    let mut items = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    for ((row, _), part) in rows.iter_mut().zip(&parts) {
        let first = items.len();
        items.extend_from_slice(part);
        row.items = first..items.len();
    }
    let rows = rows.into_iter().map(|(row, _)| row).collect();
    Layout { rows, items, tracks: places, height: tree.height(), window }
}

/// The rows of all tracks, without items, and where their events are.
fn rows_of(tree: &TrackTree, places: &[TrackPlace]) -> Vec<(Row, TrackSource)> {
    let mut rows = Vec::new();
    for (idx, (track, place)) in tree.tracks.iter().zip(places).enumerate() {
        let mut add = |kind, y: f32, height| {
            rows.push((Row { track: idx, kind, y: place.y + y, height, items: 0..0 }, track.source));
        };
        match track.source {
            TrackSource::Counter(_) => add(RowKind::Counter { max: track.max }, 0.0, place.height),
            TrackSource::Spans(_) => {
                if track.instants {
                    add(RowKind::Instants, 0.0, track.lane_y(0));
                }
                for depth in 0..track.shown_lanes() {
                    add(RowKind::Lane { depth }, track.lane_y(depth), track.lane_height());
                }
            }
        }
    }
    rows
}

/// The buckets that cover a stretch relative to the trace's start, at multiples of their width.
fn buckets(origin: i64, window: (f64, f64), bucket_ns: i64) -> Buckets {
    let width = bucket_ns.max(1);
    // Casts saturate, so that absurd windows give absurd but valid buckets.
    let from = origin.saturating_add(window.0.floor() as i64);
    let start_ns = from.saturating_sub(from.rem_euclid(width));
    let n = ((window.1 - window.0) / width as f64).ceil() as u32;
    Buckets { start_ns, ns_per_bucket: width, n: n.saturating_add(2) }
}

/// What is laid out: a trace, its first and last time, and the buckets in view.
struct Scope<'a> {
    trace: &'a Trace,
    origin: i64,
    end: i64,
    buckets: Buckets,
}

impl Scope<'_> {
    /// The items of one row.
    fn items(&self, kind: RowKind, source: TrackSource) -> Vec<Item> {
        let mut items = Vec::new();
        match (kind, source) {
            (RowKind::Lane { depth }, TrackSource::Spans(track)) => self.add_lane(track, depth, &mut items),
            (RowKind::Instants, TrackSource::Spans(track)) => self.add_instants(track, &mut items),
            (RowKind::Counter { .. }, TrackSource::Counter(counter)) => self.add_counter(counter, &mut items),
            // Rows are made from their sources and never mix.
            _ => {}
        }
        items
    }

    fn item(&self, start_ns: i64, end_ns: i64, kind: ItemKind) -> Item {
        // Spans that have not ended are drawn up to the end of what was recorded.
        let end_ns = end_ns.min(self.end.max(start_ns));
        let relative = |ns: i64| ns.saturating_sub(self.origin) as f64;
        Item { start_ns: relative(start_ns), end_ns: relative(end_ns), kind }
    }

    fn add_lane(&self, track: TrackId, depth: usize, items: &mut Vec<Item>) {
        let Some(lane) = self.trace.track(track).and_then(|track| track.lane(depth)) else { return };
        // Lanes hold at most 2^32 spans and 4,096 depths, as `SpanRef` does.
        let at = |idx: usize| SpanRef { track, depth: depth as u16, idx: idx as u32 };
        lane.visit_buckets(&self.buckets, |item| {
            let (first, last, kind) = match item {
                trace::Item::Span(idx) => (idx, idx, ItemKind::Span(at(idx))),
                trace::Item::Merged { first, last, count, longest } => {
                    (first, last, ItemKind::Merged { count, longest: at(longest) })
                }
            };
            if let (Some((start, _)), Some((_, end))) = (lane.times(first), lane.times(last)) {
                items.push(self.item(start, end, kind));
            }
        });
    }

    fn add_instants(&self, track: TrackId, items: &mut Vec<Item>) {
        let Some(lane) = self.trace.track(track).map(trace::Track::instants) else { return };
        lane.visit_buckets(&self.buckets, |item| {
            let (first, count) = match item {
                trace::Item::Span(idx) => (idx, 1),
                trace::Item::Merged { first, count, .. } => (first, count),
            };
            if let Some((at, _)) = lane.times(first) {
                items.push(self.item(at, at, ItemKind::Instants { track, first, count }));
            }
        });
    }

    /// Samples, each up to the next; the last one up to the end of the trace.
    fn add_counter(&self, id: CounterId, items: &mut Vec<Item>) {
        let Some(counter) = self.trace.counter(id) else { return };
        let mut held: Option<CounterItem> = None;
        let mut push = |held: Option<CounterItem>, until: i64| {
            if let Some(item) = held {
                let kind = ItemKind::Sample { low: item.min, high: item.max, last: item.last };
                items.push(self.item(item.t_ns, until, kind));
            }
        };
        counter.visit_buckets(&self.buckets, |item| push(held.replace(item), item.t_ns));
        push(held, i64::MAX);
    }
}

/// The last layout, used again as long as it covers the view at the same resolution.
#[derive(Debug, Default)]
pub struct LayoutCache {
    key: Option<(u64, i64, TrackTree)>,
    layout: Layout,
    misses: u64,
}

impl LayoutCache {
    /// The layout for a view: the one at hand if it fits, else a new one that covers twice the view.
    pub fn get(&mut self, trace: &Trace, tree: &TrackTree, view: &ViewRange, width_px: f64) -> &Layout {
        let bucket_ns = view.bucket_ns();
        let (start, end) = (view.start_ns, view.end_ns(width_px));
        let fits = self.key.as_ref().is_some_and(|(generation, bucket, known)| {
            *generation == trace.generation() && *bucket == bucket_ns && known == tree
        });
        if !fits || start < self.layout.window.0 || end > self.layout.window.1 {
            let pad = (end - start) * PADDING;
            self.layout = layout(trace, tree, (start - pad, end + pad), bucket_ns);
            self.key = Some((trace.generation(), bucket_ns, tree.clone()));
            self.misses += 1;
        }
        &self.layout
    }

    /// Forgets the layout, when another trace is shown.
    pub fn clear(&mut self) {
        self.key = None;
    }

    /// How often a layout had to be made.
    pub fn misses(&self) -> u64 {
        self.misses
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::TrackKind;
    use crate::trace::{ArgsId, NameId};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn trace_of(parts: &[(i64, i64)]) -> Trace {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Training);
        let counter = trace.add_counter(2, "c", "", "");
        let name = trace.intern("n");
        let mut now = 1_000_000_007;
        for &(gap, dur) in parts {
            now += gap;
            trace.complete(track, now, dur, name, NameId::EMPTY, ArgsId::NONE);
            trace.sample(counter, now, dur as f64);
            if dur > 3 {
                trace.complete(track, now + 1, dur - 2, name, NameId::EMPTY, ArgsId::NONE);
                trace.instant(track, now + 1, name, NameId::EMPTY, ArgsId::NONE);
            }
            now += dur;
        }
        trace.settle();
        trace
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn rows_do_not_overlap_keep_counts_and_stay_below_the_pixels(
            parts in prop::collection::vec((0..400_i64, 0..600_i64), 1..400),
            from in -0.5..1.0_f64, share in 0.001..2.0_f64, width in 1.0..500.0_f64,
        ) {
            let trace = trace_of(&parts);
            let tree = TrackTree::of(&trace, &BTreeSet::new());
            let (origin, end) = trace.bounds().unwrap();
            let len = (end - origin).max(1) as f64;
            let view = ViewRange::spanning(from * len, from * len + share * len, width);
            let window = (view.start_ns, view.end_ns(width));
            let layout = layout(&trace, &tree, window, view.bucket_ns());
            for row in &layout.rows {
                let items = layout.items_of(row);
                prop_assert!(items.len() as f64 <= 2.0 * width + 8.0, "{} items on {width} px", items.len());
                for pair in items.windows(2) {
                    prop_assert!(pair[0].end_ns <= pair[1].start_ns, "{pair:?}");
                }
                let RowKind::Lane { depth } = row.kind else { continue };
                let shown: usize = items.iter().map(|item| match item.kind {
                    ItemKind::Merged { count, .. } => count,
                    _ => 1,
                }).sum();
                let from = buckets(origin, window, view.bucket_ns());
                let lane = trace.tracks()[0].lane(depth).unwrap();
                prop_assert_eq!(shown, lane.range(from.start_ns, from.end_ns()).len());
            }
        }

        #[test]
        fn what_is_hit_is_what_is_there(
            parts in prop::collection::vec((1..50_i64, 5..60_i64), 1..100), at in 0.0..1.0_f64,
        ) {
            let trace = trace_of(&parts);
            let tree = TrackTree::of(&trace, &BTreeSet::new());
            let (origin, end) = trace.bounds().unwrap();
            let len = (end - origin) as f64;
            let layout = layout(&trace, &tree, (0.0, len), 1);
            let row = layout.rows.iter().find(|row| matches!(row.kind, RowKind::Lane { depth: 0 })).unwrap();
            let ns = at * len;
            let hit = layout.hit(row.y + 1.0, ns, 0.0);
            let expected = layout.items_of(row).iter().find(|item| item.start_ns <= ns && ns <= item.end_ns);
            prop_assert_eq!(hit.map(|(_, item)| item.start_ns), expected.map(|item| item.start_ns));
        }
    }

    #[test]
    fn an_open_span_reaches_to_the_end_of_the_trace() {
        let mut trace = trace_of(&[(0, 10), (5, 10)]);
        let track = trace.tracks()[0].id;
        let name = trace.intern("open");
        let (origin, end) = trace.bounds().unwrap();
        trace.begin(track, end, name, NameId::EMPTY, ArgsId::NONE);
        trace.instant(track, end + 100, name, NameId::EMPTY, ArgsId::NONE);
        trace.settle();
        let tree = TrackTree::of(&trace, &BTreeSet::new());
        let layout = layout(&trace, &tree, (0.0, 1000.0), 1);
        let row = layout.rows.iter().find(|row| matches!(row.kind, RowKind::Lane { depth: 0 })).unwrap();
        assert_eq!(layout.items_of(row).last().unwrap().end_ns, (end + 100 - origin) as f64);
    }

    #[test]
    fn panning_a_little_uses_the_same_layout() {
        let trace = trace_of(&[(10, 20); 500]);
        let tree = TrackTree::of(&trace, &BTreeSet::new());
        let mut cache = LayoutCache::default();
        let mut view = ViewRange { start_ns: 3000.0, ns_per_px: 3.0 };
        cache.get(&trace, &tree, &view, 500.0);
        for _ in 0..10 {
            view.pan_px(-5.0);
            view.ns_per_px *= 1.01;
            cache.get(&trace, &tree, &view, 500.0);
        }
        assert_eq!(cache.misses(), 1);
        view.ns_per_px = 1.0;
        cache.get(&trace, &tree, &view, 500.0);
        assert_eq!(cache.misses(), 2);
    }

    #[test]
    fn a_counter_holds_its_value_to_the_next_sample() {
        let mut trace = trace_of(&[(0, 100)]);
        let counter = trace.counters()[0].id;
        let origin = trace.bounds().unwrap().0;
        trace.sample(counter, origin + 40, 7.0);
        trace.settle();
        let tree = TrackTree::of(&trace, &BTreeSet::new());
        let layout = layout(&trace, &tree, (0.0, 200.0), 1);
        let row = layout.rows.iter().find(|row| matches!(row.kind, RowKind::Counter { .. })).unwrap();
        let items: Vec<_> = layout.items_of(row).iter().map(|item| (item.start_ns, item.end_ns)).collect();
        assert_eq!(items, [(0.0, 40.0), (40.0, 100.0)]);
        assert_eq!(row.kind, RowKind::Counter { max: 100.0 });
    }
}
