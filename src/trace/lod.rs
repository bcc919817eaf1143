//! Level of detail: what to draw of a lane at a given resolution, one item a pixel instead of one a span.
//!
//! Within a bucket the longest span wins and the counts add. Each lane keeps the longest span of every 64 and every
//! 4,096 spans, so a bucket costs a search and at most a few hundred comparisons, however many spans lie in it.

use super::counter::Counter;
use super::lane::{BLOCK_SPANS, GROUP_SPANS, Lane};

/// A bucket with at least this many groups of spans ends where a group does, at most a group's spans late: an eighth of a
/// pixel that nobody sees, for a third of the time.
const MIN_GROUPS: usize = 8;

/// A stretch of time cut into buckets (pixels).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// Start of the first bucket. A multiple of `ns_per_bucket` keeps items still while the view moves.
    pub start_ns: i64,
    /// Width of a bucket, at least 1. Powers of two let a layout be used again at near zooms.
    pub ns_per_bucket: i64,
    /// Number of buckets.
    pub n: u32,
}

impl Buckets {
    /// End of the last bucket.
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.width().saturating_mul(i64::from(self.n)))
    }

    fn width(&self) -> i64 {
        self.ns_per_bucket.max(1)
    }

    /// End of the bucket in which a time lies.
    fn bucket_end(&self, t_ns: i64) -> i64 {
        let into = t_ns.saturating_sub(self.start_ns).rem_euclid(self.width());
        t_ns.saturating_sub(into).saturating_add(self.width())
    }
}

/// What to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// One span, by its index in the lane.
    Span(usize),
    /// Several spans that start in one bucket, each narrower than a bucket.
    Merged {
        /// Index of the first.
        first: usize,
        /// Index of the last.
        last: usize,
        /// Number of spans.
        count: usize,
        /// Index of the longest.
        longest: usize,
    },
}

impl Lane {
    /// Calls `visit` for what is to be drawn of the lane, in order of time. In each bucket at most one merged item and
    /// one span at least as wide as a bucket begin; before the first bucket, at most one span that reaches into it.
    /// Every span in view is in exactly one item. A merged item of more than 512 spans may take up to 63 of the next
    /// bucket's.
    pub fn visit_buckets(&self, buckets: &Buckets, mut visit: impl FnMut(Item)) {
        let end_ns = buckets.end_ns();
        let mut idx = self.first_reaching(buckets.start_ns);
        while let Some((span_start, span_end)) = self.times(idx) {
            if span_start >= end_ns {
                break;
            }
            let bucket_end = buckets.bucket_end(span_start);
            if span_end.saturating_sub(span_start) >= buckets.width() || span_start < buckets.start_ns {
                visit(Item::Span(idx));
                idx += 1;
                continue;
            }
            if bucket_end < end_ns
                && let Some((next, longest, rank)) = self.groups_before(idx, bucket_end)
                && rank < buckets.width()
            {
                visit(Item::Merged { first: idx, last: next - 1, count: next - idx, longest });
                idx = next;
                continue;
            }
            let mut next = self.first_starting_from(idx + 1, bucket_end);
            // Spans do not overlap: only the last that starts in the bucket can be as wide as a bucket.
            if let Some((last_start, last_end)) = self.times(next - 1)
                && next - 1 > idx
                && last_end.saturating_sub(last_start) >= buckets.width()
            {
                next -= 1;
            }
            let count = next - idx;
            if count == 1 {
                visit(Item::Span(idx));
            } else {
                let longest = self.longest(idx..next).unwrap_or(idx);
                visit(Item::Merged { first: idx, last: next - 1, count, longest });
            }
            idx = next;
        }
    }

    /// The groups from `from` on that begin before `t_ns`, the first of them from there on: index after them, and index
    /// and rank of the longest span in them. `None` if they are fewer than [`MIN_GROUPS`].
    fn groups_before(&self, from: usize, t_ns: i64) -> Option<(usize, usize, i64)> {
        // Mostly they are too few, which one look ahead says.
        let ahead = from % BLOCK_SPANS / GROUP_SPANS + MIN_GROUPS - 1;
        let held = self.blocks.get(from / BLOCK_SPANS)?;
        if held.block.groups.get(ahead).is_some_and(|group| group.start >= t_ns) {
            return None;
        }
        let mut next = from;
        let mut best = (from, i64::MIN);
        let mut consider = |idx: usize, rank: i64| {
            if rank > best.1 {
                best = (idx, rank);
            }
        };
        for (b, held) in self.blocks.iter().enumerate().skip(from / BLOCK_SPANS) {
            if held.first_start >= t_ns && b * BLOCK_SPANS > from {
                break;
            }
            let base = b * BLOCK_SPANS;
            if next == base && self.blocks.get(b + 1).is_some_and(|after| after.first_start < t_ns) {
                consider(base + held.longest.0 as usize, held.longest.1);
                next = base + held.block.len();
                continue;
            }
            let within = next - base;
            let aligned = within.next_multiple_of(GROUP_SPANS).min(held.block.len());
            if within < aligned {
                let (at, rank) = held.block.longest_in(within..aligned);
                consider(base + at, rank);
                next = base + aligned;
            }
            for group in held.block.groups.iter().skip(aligned.div_ceil(GROUP_SPANS)) {
                if group.start >= t_ns {
                    break;
                }
                consider(base + group.longest as usize, group.rank);
                next = (next + GROUP_SPANS).min(base + held.block.len());
            }
            if next < base + held.block.len() {
                break;
            }
        }
        (next - from >= MIN_GROUPS * GROUP_SPANS).then_some((next, best.0, best.1))
    }

    /// Index of the first span at `from` or later that starts at or after `t_ns`: looks near `from` first, then ahead
    /// block by block in growing steps.
    fn first_starting_from(&self, from: usize, t_ns: i64) -> usize {
        let starts_before = |idx: usize| self.blocks.get(idx).is_some_and(|held| held.first_start < t_ns);
        let first = from / BLOCK_SPANS;
        let mut step = 1;
        let (mut low, mut high) = (first, first + 1);
        while starts_before(high) {
            low = high;
            high += step;
            step *= 2;
        }
        // The answer lies in the last block of `low..high` that starts before `t_ns`, or at its end.
        let known = self.blocks.get(low + 1..high.min(self.blocks.len())).unwrap_or(&[]);
        let block_idx = low + known.partition_point(|held| held.first_start < t_ns);
        let Some(held) = self.blocks.get(block_idx) else { return self.len() };
        let within = if block_idx == first { from % BLOCK_SPANS } else { 0 };
        // Through the groups first, one after the other: they lie close together, and the answer is mostly near. A search
        // through all starts would wait for the memory at each of its steps.
        let group = within / GROUP_SPANS;
        let passed = held.block.groups.iter().skip(group + 1).take_while(|after| after.start < t_ns).count();
        let from = within.max((group + passed) * GROUP_SPANS);
        let last = group + passed + 1 >= held.block.groups.len();
        let to = if last { held.block.len() } else { (group + passed + 1) * GROUP_SPANS };
        let starts = held.block.start.get(from..to).unwrap_or(&[]);
        block_idx * BLOCK_SPANS + from + starts.partition_point(|&start| start < t_ns)
    }
}

/// What to draw of a counter in one bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CounterItem {
    /// Index of the first sample in the bucket.
    pub first: usize,
    /// Number of samples in the bucket.
    pub count: usize,
    /// Time of the first sample.
    pub t_ns: i64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Last value, which holds until the next item.
    pub last: f64,
}

impl Counter {
    /// Calls `visit` for each bucket that has a sample, in order of time, and first for the sample in force at the
    /// start of the first bucket. Values that are not numbers are left out.
    pub fn visit_buckets(&self, buckets: &Buckets, mut visit: impl FnMut(CounterItem)) {
        let end_ns = buckets.end_ns();
        let mut idx = self.first_at(buckets.start_ns);
        if let Some((first, (t_ns, value))) = idx.checked_sub(1).and_then(|at| Some((at, self.get(at)?)))
            && !value.is_nan()
        {
            visit(CounterItem { first, count: 1, t_ns, min: value, max: value, last: value });
        }
        while let Some((t_ns, _)) = self.get(idx) {
            if t_ns >= end_ns {
                break;
            }
            let next = self.first_at(buckets.bucket_end(t_ns)).max(idx + 1);
            let last = self.get(next - 1).map(|(_, value)| value).filter(|value| !value.is_nan());
            if let Some((min, max)) = self.min_max(idx..next) {
                visit(CounterItem { first: idx, count: next - idx, t_ns, min, max, last: last.unwrap_or(max) });
            }
            idx = next;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::trace::{ArgsId, NameId, Span};
    use proptest::prelude::*;

    fn lane_of(parts: &[(i64, i64)], repeat: usize) -> Lane {
        let mut lane = Lane::default();
        let mut now = 0;
        for &(gap, dur_ns) in parts.iter().cycle().take(parts.len() * repeat) {
            now += gap;
            lane.push(&Span { start_ns: now, dur_ns, name: NameId(1), category: NameId::EMPTY, args: ArgsId::NONE });
            now += dur_ns;
        }
        lane
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn items_cover_every_visible_span_once(
            parts in prop::collection::vec((0i64..40, 0i64..60), 1..200), repeat in 1usize..60,
            start in 0.0f64..1.0, ns_per_bucket in 1i64..5000, n in 1u32..300,
        ) {
            let lane = lane_of(&parts, repeat);
            let start_ns = (start * lane.last_end() as f64) as i64;
            let buckets = Buckets { start_ns, ns_per_bucket, n };
            let mut items = Vec::new();
            lane.visit_buckets(&buckets, |item| items.push(item));
            let mut next = lane.range(start_ns, buckets.end_ns()).start;
            let mut merged_buckets = std::collections::HashSet::new();
            for item in &items {
                match *item {
                    Item::Span(idx) => { prop_assert_eq!(idx, next); next += 1; }
                    Item::Merged { first, last, count, longest } => {
                        prop_assert_eq!(first, next);
                        prop_assert_eq!(count, last + 1 - first);
                        prop_assert!(count > 1);
                        next = last + 1;
                        let best = (first..=last).map(|i| lane.get(i).unwrap().dur_ns).max().unwrap();
                        prop_assert_eq!(lane.get(longest).unwrap().dur_ns, best);
                        let bucket = |idx: usize| (lane.get(idx).unwrap().start_ns - start_ns) / ns_per_bucket;
                        let late = bucket(last) - bucket(first);
                        prop_assert!(late == 0 || late == 1 && count >= MIN_GROUPS * GROUP_SPANS);
                        prop_assert!(merged_buckets.insert(bucket(first)));
                    }
                }
            }
            prop_assert_eq!(next, lane.range(start_ns, buckets.end_ns()).end);
            prop_assert!(items.len() <= 2 * n as usize + 1);
        }
    }

    #[test]
    fn large_buckets_end_with_groups_and_keep_the_longest() {
        let parts: Vec<(i64, i64)> = (0..977).map(|i| (i % 3, 1 + (i * 37) % 11)).collect();
        let lane = lane_of(&parts, 40);
        let buckets = Buckets { start_ns: 0, ns_per_bucket: 5000, n: 64 };
        let (mut next, mut snapped) = (lane.range(0, buckets.end_ns()).start, 0);
        lane.visit_buckets(&buckets, |item| match item {
            Item::Span(idx) => {
                assert_eq!(idx, next);
                next += 1;
            }
            Item::Merged { first, last, count, longest } => {
                assert_eq!((first, count), (next, last + 1 - first));
                assert_eq!(Some(longest), lane.longest(first..last + 1));
                snapped += usize::from((last + 1).is_multiple_of(GROUP_SPANS));
                next = last + 1;
            }
        });
        assert_eq!(next, lane.range(0, buckets.end_ns()).end);
        assert!(snapped > 30, "{snapped}");
    }

    #[test]
    fn extreme_views_end() {
        let lane = lane_of(&[(0, 10), (5, 0)], 10);
        for (start_ns, ns_per_bucket) in [(i64::MIN, i64::MAX), (i64::MAX, 1), (i64::MIN, 1), (0, 0), (-5, -7)] {
            let mut count = 0;
            lane.visit_buckets(&Buckets { start_ns, ns_per_bucket, n: u32::MAX }, |_| count += 1);
            assert!(count <= lane.len());
        }
    }

    #[test]
    fn a_counter_shows_its_extremes() {
        let mut trace = crate::trace::Trace::default();
        let id = trace.add_counter(1, "c", "", "");
        for i in 0..10_000 {
            trace.sample(id, i, if i == 777 { 50.0 } else { (i % 3) as f64 });
        }
        trace.settle();
        let mut items = Vec::new();
        let buckets = Buckets { start_ns: 500, ns_per_bucket: 100, n: 5 };
        trace.counter(id).unwrap().visit_buckets(&buckets, |item| items.push(item));
        assert_eq!(items.len(), 6);
        assert_eq!((items[0].t_ns, items[0].last), (499, 1.0));
        assert_eq!((items[3].min, items[3].max, items[3].count), (0.0, 50.0, 100));
    }
}
