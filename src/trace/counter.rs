//! A counter: values over time, sorted, in shared blocks. A value holds until the next one.

use super::lane::BLOCK_SPANS;
use std::ops::Range;
use std::sync::Arc;

/// Index of a counter in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CounterId(pub u32);

#[derive(Debug, Clone, Default)]
struct Block {
    times: Vec<i64>,
    values: Vec<f64>,
    /// Smallest and largest value that is a number.
    min_max: Option<(f64, f64)>,
}

fn widen(known: Option<(f64, f64)>, value: f64) -> Option<(f64, f64)> {
    if value.is_nan() {
        return known;
    }
    Some(known.map_or((value, value), |(min, max)| (min.min(value), max.max(value))))
}

/// Values over time.
#[derive(Debug, Clone)]
pub struct Counter {
    /// Index in the trace.
    pub id: CounterId,
    /// Identifier in the file it was read from.
    pub uuid: u64,
    /// Name.
    pub name: String,
    /// Unit of the values; empty if unknown.
    pub unit: String,
    /// Name of the process it belongs to; empty if unknown.
    pub process: String,
    blocks: Vec<Arc<Block>>,
    len: usize,
    pending: Vec<(i64, f64)>,
}

impl Counter {
    pub(super) fn new(id: CounterId, uuid: u64, name: &str, unit: &str, process: &str) -> Self {
        let (name, unit, process) = (name.to_owned(), unit.to_owned(), process.to_owned());
        Self { id, uuid, name, unit, process, blocks: Vec::new(), len: 0, pending: Vec::new() }
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Time and value of a sample.
    pub fn get(&self, idx: usize) -> Option<(i64, f64)> {
        let block = self.blocks.get(idx / BLOCK_SPANS)?;
        Some((*block.times.get(idx % BLOCK_SPANS)?, *block.values.get(idx % BLOCK_SPANS)?))
    }

    /// All samples, in order of time.
    pub fn iter(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        self.blocks.iter().flat_map(|block| block.times.iter().copied().zip(block.values.iter().copied()))
    }

    /// Index of the first sample at or after `t_ns`.
    pub fn first_at(&self, t_ns: i64) -> usize {
        let after = self.blocks.partition_point(|block| block.times.first().is_some_and(|&t| t < t_ns));
        let Some(before) = after.checked_sub(1) else { return 0 };
        before * BLOCK_SPANS + self.blocks.get(before).map_or(0, |block| block.times.partition_point(|&t| t < t_ns))
    }

    /// Indices of the samples in `start_ns..end_ns`.
    pub fn range(&self, start_ns: i64, end_ns: i64) -> Range<usize> {
        let first = self.first_at(start_ns);
        first..self.first_at(end_ns).max(first)
    }

    /// The value in force at a time: the last sample at or before it.
    pub fn value_at(&self, t_ns: i64) -> Option<f64> {
        let after = if t_ns == i64::MAX { self.len } else { self.first_at(t_ns + 1) };
        self.get(after.checked_sub(1)?).map(|(_, value)| value)
    }

    /// Smallest and largest value of a range of samples; `None` if it has no number.
    pub fn min_max(&self, range: Range<usize>) -> Option<(f64, f64)> {
        let (from, to) = (range.start, range.end.min(self.len));
        let mut found = None;
        let mut idx = from;
        while idx < to {
            let (base, within) = (idx / BLOCK_SPANS * BLOCK_SPANS, idx % BLOCK_SPANS);
            let block = self.blocks.get(idx / BLOCK_SPANS)?;
            let end = (to - base).min(block.times.len());
            if within == 0 && end == block.times.len() {
                if let Some((min, max)) = block.min_max {
                    found = widen(widen(found, min), max);
                }
            } else if let Some(values) = block.values.get(within..end) {
                found = values.iter().fold(found, |known, &value| widen(known, value));
            }
            idx = base + BLOCK_SPANS;
        }
        found
    }

    pub(super) fn add(&mut self, t_ns: i64, value: f64) {
        let last = self.len.checked_sub(1).and_then(|idx| self.get(idx));
        if self.pending.is_empty() && last.is_none_or(|(last, _)| last <= t_ns) {
            self.push(t_ns, value);
        } else {
            self.pending.push((t_ns, value));
        }
    }

    fn push(&mut self, t_ns: i64, value: f64) {
        if self.len.is_multiple_of(BLOCK_SPANS) {
            self.blocks.push(Arc::default());
        }
        if let Some(block) = self.blocks.last_mut() {
            let block = Arc::make_mut(block);
            block.times.push(t_ns);
            block.values.push(value);
            block.min_max = widen(block.min_max, value);
        }
        self.len += 1;
    }

    /// Whether something came late and waits for [`Self::settle`].
    pub(super) fn waits(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Sorts in what came late.
    pub(super) fn settle(&mut self) {
        let Some(from) = self.pending.iter().map(|sample| sample.0).min() else { return };
        let at = self.first_at(from);
        let mut again: Vec<(i64, f64)> = (at..self.len).filter_map(|idx| self.get(idx)).collect();
        again.append(&mut self.pending);
        again.sort_by_key(|sample| sample.0);
        self.blocks.truncate(at.div_ceil(BLOCK_SPANS));
        self.len = at;
        let within = at % BLOCK_SPANS;
        if within > 0
            && let Some(block) = self.blocks.last_mut()
        {
            let block = Arc::make_mut(block);
            block.times.truncate(within);
            block.values.truncate(within);
            block.min_max = block.values.iter().fold(None, |known, &value| widen(known, value));
        }
        for (t_ns, value) in again {
            self.push(t_ns, value);
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.times.capacity() * 16 + size_of::<Block>()).sum::<usize>()
            + self.pending.capacity() * 16
            + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn samples_in_any_order_are_found(samples in prop::collection::vec((0i64..500, -9.0f64..9.0), 1..600),
                                          repeat in 1usize..12, t in -5i64..510, a in 0.0f64..1.0, b in 0.0f64..1.0) {
            let mut counter = Counter::new(CounterId(0), 0, "c", "", "");
            let mut all: Vec<(i64, f64)> = samples.iter().copied().cycle().take(samples.len() * repeat).collect();
            for (i, &(time, value)) in all.iter().enumerate() {
                counter.add(time, value);
                if i % 97 == 0 { counter.settle(); }
            }
            counter.settle();
            all.sort_by_key(|s| s.0);
            prop_assert_eq!(counter.iter().collect::<Vec<_>>(), all.clone());
            prop_assert_eq!(counter.value_at(t), all.iter().rev().find(|s| s.0 <= t).map(|s| s.1));
            let n = all.len() as f64;
            let (i, j) = ((a * n) as usize, (b * n) as usize);
            let (i, j) = (i.min(j), i.max(j));
            let expected = all[i..j].iter().fold(None, |known, s| widen(known, s.1));
            prop_assert_eq!(counter.min_max(i..j), expected);
        }
    }
}
