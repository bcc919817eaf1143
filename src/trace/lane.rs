//! A lane: spans of one track at one depth of nesting, sorted by start, without overlap; columns in shared blocks.

use super::args::ArgsId;
use super::names::NameId;
use std::ops::Range;
use std::sync::Arc;

/// Spans in a block. A snapshot that is written to copies at most one block of a lane.
pub const BLOCK_SPANS: usize = 4096;

/// Spans in a group, for each of which a block remembers the longest span.
pub(super) const GROUP_SPANS: usize = 64;

/// `dur_ns` of a span that has begun and not ended.
pub const OPEN: i64 = -1;

/// One span. Times are nanoseconds of the trace's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Start.
    pub start_ns: i64,
    /// Duration, or [`OPEN`].
    pub dur_ns: i64,
    /// Name.
    pub name: NameId,
    /// Category; [`NameId::EMPTY`] if it has none.
    pub category: NameId,
    /// Arguments.
    pub args: ArgsId,
}

impl Span {
    /// Whether it has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.dur_ns == OPEN
    }

    /// End; `i64::MAX` while it is open.
    pub fn end_ns(&self) -> i64 {
        end_of(self.start_ns, self.dur_ns)
    }
}

pub(super) fn end_of(start_ns: i64, dur_ns: i64) -> i64 {
    if dur_ns == OPEN { i64::MAX } else { start_ns.saturating_add(dur_ns) }
}

/// What is known of each [`GROUP_SPANS`] spans: enough to pass over them without touching any other column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// Start of the first.
    pub start: i64,
    /// Rank of the longest.
    pub rank: i64,
    /// Index within the block of the longest, the first of equals.
    pub longest: u16,
}

/// Columns of up to [`BLOCK_SPANS`] spans.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub start: Vec<i64>,
    pub dur: Vec<i64>,
    name: Vec<NameId>,
    category: Vec<NameId>,
    args: Vec<ArgsId>,
    pub groups: Vec<Group>,
}

/// Duration by which the longest span is found: an open one is longer than any other.
pub(super) fn rank(dur_ns: i64) -> i64 {
    if dur_ns == OPEN { i64::MAX } else { dur_ns }
}

impl Block {
    pub fn len(&self) -> usize {
        self.start.len()
    }

    fn get(&self, at: usize) -> Option<Span> {
        Some(Span {
            start_ns: *self.start.get(at)?,
            dur_ns: *self.dur.get(at)?,
            name: *self.name.get(at)?,
            category: *self.category.get(at)?,
            args: *self.args.get(at)?,
        })
    }

    fn push(&mut self, span: &Span) {
        let at = self.len();
        if at.is_multiple_of(GROUP_SPANS) {
            self.groups.push(Group { start: span.start_ns, rank: rank(span.dur_ns), longest: at as u16 });
        } else if let Some(group) = self.groups.last_mut()
            && rank(span.dur_ns) > group.rank
        {
            (group.longest, group.rank) = (at as u16, rank(span.dur_ns));
        }
        self.start.push(span.start_ns);
        self.dur.push(span.dur_ns);
        self.name.push(span.name);
        self.category.push(span.category);
        self.args.push(span.args);
    }

    fn truncate(&mut self, len: usize) {
        self.start.truncate(len);
        self.dur.truncate(len);
        self.name.truncate(len);
        self.category.truncate(len);
        self.args.truncate(len);
        self.groups.truncate(len.div_ceil(GROUP_SPANS));
        if len > 0 {
            self.find_longest((len - 1) / GROUP_SPANS);
        }
    }

    fn find_longest(&mut self, group: usize) {
        let from = group * GROUP_SPANS;
        let to = (from + GROUP_SPANS).min(self.len());
        let (longest, rank) = self.longest_in(from..to);
        if let Some(group) = self.groups.get_mut(group) {
            (group.longest, group.rank) = (longest as u16, rank);
        }
    }

    /// Index and rank of the longest of a stretch of spans, the first of equals, by looking at each; `at.start` and the
    /// smallest rank if it is empty.
    pub fn longest_in(&self, at: Range<usize>) -> (usize, i64) {
        let mut best = (at.start, i64::MIN);
        if let Some(durs) = self.dur.get(at.clone()) {
            for (i, &dur) in durs.iter().enumerate() {
                if rank(dur) > best.1 {
                    best = (at.start + i, rank(dur));
                }
            }
        }
        best
    }
}

/// A block with what is needed to find and skip it.
#[derive(Debug, Clone)]
pub(super) struct BlockRef {
    /// Start of its first span.
    pub first_start: i64,
    /// Index within the block of its longest span, and that span's rank.
    pub longest: (u16, i64),
    pub block: Arc<Block>,
}

/// Spans of one track at one depth: sorted by start, none overlapping the next.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// All full but the last.
    pub(super) blocks: Vec<BlockRef>,
    len: usize,
}

impl Lane {
    /// Number of spans.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The span at an index.
    pub fn get(&self, idx: usize) -> Option<Span> {
        self.blocks.get(idx / BLOCK_SPANS)?.block.get(idx % BLOCK_SPANS)
    }

    /// Start and end of the span at an index, as [`Span::start_ns`] and [`Span::end_ns`], without touching its other
    /// columns.
    pub fn times(&self, idx: usize) -> Option<(i64, i64)> {
        let block = &self.blocks.get(idx / BLOCK_SPANS)?.block;
        let start_ns = *block.start.get(idx % BLOCK_SPANS)?;
        Some((start_ns, end_of(start_ns, *block.dur.get(idx % BLOCK_SPANS)?)))
    }

    /// The last span.
    pub fn last(&self) -> Option<Span> {
        self.get(self.len.checked_sub(1)?)
    }

    /// All spans, in order.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.iter_range(0..self.len)
    }

    /// The names of all spans, in order.
    pub fn names(&self) -> impl Iterator<Item = NameId> + '_ {
        self.blocks.iter().flat_map(|held| held.block.name.iter().copied())
    }

    /// The spans of a range of indices, in order.
    pub fn iter_range(&self, range: Range<usize>) -> impl Iterator<Item = Span> + '_ {
        let (from, to) = (range.start, range.end.min(self.len));
        let first_block = from / BLOCK_SPANS;
        self.blocks.iter().enumerate().skip(first_block).take_while(move |(b, _)| b * BLOCK_SPANS < to).flat_map(
            move |(b, held)| {
                let base = b * BLOCK_SPANS;
                let within = from.saturating_sub(base)..(to - base).min(held.block.len());
                within.filter_map(move |at| held.block.get(at))
            },
        )
    }

    /// Indices of the spans that overlap `start_ns..end_ns`; spans of no duration count where they stand.
    pub fn range(&self, start_ns: i64, end_ns: i64) -> Range<usize> {
        let first = self.first_reaching(start_ns);
        first..self.first_starting_at(end_ns).max(first)
    }

    /// Index of the first span that starts at or after `t_ns`.
    pub fn first_starting_at(&self, t_ns: i64) -> usize {
        let block_idx = self.blocks.partition_point(|held| held.first_start < t_ns);
        let Some(before) = block_idx.checked_sub(1) else { return 0 };
        let within = self.blocks.get(before).map_or(0, |held| held.block.start.partition_point(|&start| start < t_ns));
        before * BLOCK_SPANS + within
    }

    /// Index of the first span that ends after `t_ns` or starts at or after it.
    pub fn first_reaching(&self, t_ns: i64) -> usize {
        let at = self.first_starting_at(t_ns);
        // Spans do not overlap, so only the one before can reach over `t_ns`.
        match at.checked_sub(1).and_then(|before| self.get(before)) {
            Some(span) if span.end_ns() > t_ns => at - 1,
            _ => at,
        }
    }

    /// Index of the longest span of a range of indices, the first of equals, in time that hardly depends on the range:
    /// it looks at single spans, groups of 64 and blocks of 4096.
    pub fn longest(&self, range: Range<usize>) -> Option<usize> {
        let (from, to) = (range.start, range.end.min(self.len));
        if from >= to {
            return None;
        }
        let mut best: Option<(usize, i64)> = None;
        let (first_block, last_block) = (from / BLOCK_SPANS, (to - 1) / BLOCK_SPANS);
        for (b, held) in self.blocks.iter().enumerate().take(last_block + 1).skip(first_block) {
            let base = b * BLOCK_SPANS;
            let within = from.saturating_sub(base)..(to - base).min(held.block.len());
            let (at, rank) = if within.len() == held.block.len() {
                (held.longest.0 as usize, held.longest.1)
            } else {
                longest_within(&held.block, within)
            };
            if best.is_none_or(|(_, known)| rank > known) {
                best = Some((base + at, rank));
            }
        }
        best.map(|(idx, _)| idx)
    }

    /// End of the last span; the smallest time if there is none.
    pub(super) fn last_end(&self) -> i64 {
        self.last().map_or(i64::MIN, |span| span.end_ns())
    }

    /// Appends a span, which must start at or after the end of the last one.
    pub(super) fn push(&mut self, span: &Span) {
        let within = self.len % BLOCK_SPANS;
        if within == 0 {
            let first = BlockRef { first_start: span.start_ns, longest: (0, i64::MIN), block: Arc::default() };
            self.blocks.push(first);
        }
        if let Some(held) = self.blocks.last_mut() {
            Arc::make_mut(&mut held.block).push(span);
            if rank(span.dur_ns) > held.longest.1 {
                held.longest = (within as u16, rank(span.dur_ns));
            }
        }
        self.len += 1;
    }

    /// Gives a span its duration.
    pub(super) fn set_dur(&mut self, idx: usize, dur_ns: i64) {
        let within = idx % BLOCK_SPANS;
        let Some(held) = self.blocks.get_mut(idx / BLOCK_SPANS) else { return };
        let block = Arc::make_mut(&mut held.block);
        if let Some(dur) = block.dur.get_mut(within) {
            *dur = dur_ns;
            block.find_longest(within / GROUP_SPANS);
            held.summarize();
        }
    }

    pub(super) fn set_args(&mut self, idx: usize, args: ArgsId) {
        let Some(held) = self.blocks.get_mut(idx / BLOCK_SPANS) else { return };
        if let Some(known) = Arc::make_mut(&mut held.block).args.get_mut(idx % BLOCK_SPANS) {
            *known = args;
        }
    }

    /// Cuts the lane off at an index and appends what was cut off to `out`.
    pub(super) fn cut(&mut self, idx: usize, out: &mut Vec<Span>) {
        if idx >= self.len {
            return;
        }
        out.extend(self.iter_range(idx..self.len));
        self.blocks.truncate(idx.div_ceil(BLOCK_SPANS));
        self.len = idx;
        let within = idx % BLOCK_SPANS;
        if within > 0
            && let Some(held) = self.blocks.last_mut()
        {
            Arc::make_mut(&mut held.block).truncate(within);
            held.summarize();
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let block = |held: &BlockRef| {
            let block = &held.block;
            block.start.capacity() * 16 + block.name.capacity() * 12 + block.groups.capacity() * size_of::<Group>()
        };
        self.blocks.iter().map(block).sum::<usize>() + self.blocks.capacity() * size_of::<BlockRef>()
    }
}

impl BlockRef {
    fn summarize(&mut self) {
        let (at, rank) = longest_within(&self.block, 0..self.block.len());
        self.longest = (at as u16, rank);
    }
}

/// Longest span of a stretch of a block, by its groups: index within the block and rank.
fn longest_within(block: &Block, within: Range<usize>) -> (usize, i64) {
    let mut best = (within.start, i64::MIN);
    let mut consider = |(at, rank): (usize, i64)| {
        if rank > best.1 {
            best = (at, rank);
        }
    };
    let head_end = within.start.next_multiple_of(GROUP_SPANS).min(within.end);
    let tail_start = (within.end / GROUP_SPANS * GROUP_SPANS).max(head_end);
    if within.start < head_end {
        consider(block.longest_in(within.start..head_end));
    }
    for group in head_end / GROUP_SPANS..tail_start / GROUP_SPANS {
        if let Some(group) = block.groups.get(group) {
            consider((group.longest as usize, group.rank));
        }
    }
    if tail_start < within.end {
        consider(block.longest_in(tail_start..within.end));
    }
    best
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    fn span(start_ns: i64, dur_ns: i64) -> Span {
        Span { start_ns, dur_ns, name: NameId(1), category: NameId::EMPTY, args: ArgsId::NONE }
    }

    fn lane_of(parts: &[(i64, i64)]) -> (Lane, Vec<Span>) {
        let mut lane = Lane::default();
        let mut all = Vec::new();
        let mut now = 0;
        for &(gap, dur) in parts {
            now += gap;
            lane.push(&span(now, dur));
            all.push(span(now, dur));
            now += dur;
        }
        (lane, all)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn range_longest_and_cut_agree_with_a_plain_list(
            seed in prop::collection::vec((0i64..5, 0i64..9), 1..400),
            repeat in 1usize..40, a in 0.0f64..1.0, b in 0.0f64..1.0, t in 0.0f64..1.1, width in 0i64..3000,
        ) {
            let parts: Vec<(i64, i64)> = seed.iter().copied().cycle().take(seed.len() * repeat).collect();
            let (mut lane, all) = lane_of(&parts);
            prop_assert_eq!(lane.iter().collect::<Vec<_>>(), all.clone());
            let n = all.len();
            let (i, j) = ((a * n as f64) as usize, (b * n as f64) as usize);
            let (i, j) = (i.min(j), i.max(j));
            let expected = (i..j).max_by_key(|&k| (all[k].dur_ns, std::cmp::Reverse(k)));
            prop_assert_eq!(lane.longest(i..j), expected);
            prop_assert_eq!(lane.iter_range(i..j).collect::<Vec<_>>(), all[i..j].to_vec());
            let from = (t * lane.last_end() as f64) as i64;
            let hits: Vec<usize> = (0..n).filter(|&k| {
                let s = all[k];
                s.start_ns < from + width && (s.end_ns() > from || s.start_ns >= from)
            }).collect();
            let found = lane.range(from, from + width);
            prop_assert_eq!(found.clone().collect::<Vec<_>>(), hits);
            let mut cut = Vec::new();
            lane.cut(i, &mut cut);
            prop_assert_eq!(&cut[..], &all[i..]);
            prop_assert_eq!(lane.len(), i);
            let expected = (0..i).max_by_key(|&k| (all[k].dur_ns, std::cmp::Reverse(k)));
            prop_assert_eq!(lane.longest(0..i), expected);
            for s in &cut { lane.push(s); }
            prop_assert_eq!(lane.iter().collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn an_open_span_is_the_longest_until_it_is_closed() {
        let mut lane = Lane::default();
        lane.push(&span(0, 50));
        lane.push(&span(60, OPEN));
        assert_eq!(lane.longest(0..2), Some(1));
        assert_eq!(lane.range(1_000_000, 1_000_001), 1..2);
        lane.set_dur(1, 10);
        assert_eq!(lane.longest(0..2), Some(0));
    }
}
