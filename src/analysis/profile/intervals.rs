//! Sets of times: sorted stretches that do not touch, with their lengths summed up, so that how much of them lies in a
//! window costs two searches.

/// A set of times, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intervals {
    list: Vec<(i64, i64)>,
    /// Length of all stretches before each.
    before: Vec<i64>,
    total: i64,
}

impl Intervals {
    /// The union of stretches in any order; those without length are left out.
    pub fn of(mut stretches: Vec<(i64, i64)>) -> Self {
        // They come in long runs, lane by lane, and this sort makes use of it.
        stretches.sort();
        let mut list: Vec<(i64, i64)> = Vec::new();
        for (start, end) in stretches.into_iter().filter(|(start, end)| end > start) {
            match list.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => list.push((start, end)),
            }
        }
        let mut total = 0_i64;
        let before = list
            .iter()
            .map(|(start, end)| {
                let sum = total;
                total = total.saturating_add(end.saturating_sub(*start));
                sum
            })
            .collect();
        Self { list, before, total }
    }

    /// The union with another set.
    pub fn union(&self, other: &Self) -> Self {
        Self::of(self.list.iter().chain(&other.list).copied().collect())
    }

    /// The stretches, in order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.list.iter().copied()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// First and last time.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        Some((self.list.first()?.0, self.list.last()?.1))
    }

    /// Length of all of it.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// Length of what lies before a time.
    fn until(&self, t: i64) -> i64 {
        let idx = self.list.partition_point(|(start, _)| *start < t);
        let Some(last) = idx.checked_sub(1) else { return 0 };
        let (Some((start, end)), Some(before)) = (self.list.get(last), self.before.get(last)) else { return 0 };
        before.saturating_add(t.min(*end).saturating_sub(*start))
    }

    /// Length of what lies in a window.
    pub fn within(&self, from: i64, to: i64) -> i64 {
        if to <= from { 0 } else { self.until(to) - self.until(from) }
    }

    /// The stretches of a window that are not in the set, in order.
    pub fn gaps(&self, from: i64, to: i64) -> Vec<(i64, i64)> {
        let mut gaps = Vec::new();
        let mut at = from;
        let first = self.list.partition_point(|(_, end)| *end <= from);
        for (start, end) in self.list.get(first..).unwrap_or(&[]) {
            if *start >= to {
                break;
            }
            if *start > at {
                gaps.push((at, *start));
            }
            at = at.max(*end);
        }
        if at < to {
            gaps.push((at, to));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_and_gaps_agree_with_counting(
            parts in prop::collection::vec((0i64..60, 0i64..12), 0..20), a in 0i64..70, b in 0i64..70,
        ) {
            let set = Intervals::of(parts.iter().map(|(start, dur)| (*start, start + dur)).collect());
            let inside = |t: i64| parts.iter().any(|(start, dur)| *start <= t && t < start + dur);
            let (from, to) = (a.min(b), a.max(b));
            let count = (from..to).filter(|t| inside(*t)).count() as i64;
            prop_assert_eq!(set.within(from, to), count);
            let gaps: i64 = set.gaps(from, to).iter().map(|(start, end)| end - start).sum();
            prop_assert_eq!(gaps, (to - from) - count);
            prop_assert_eq!(set.total(), (0..80).filter(|t| inside(*t)).count() as i64);
        }
    }

    #[test]
    fn touching_stretches_are_one() {
        let set = Intervals::of(vec![(5, 9), (0, 5), (20, 20), (7, 8)]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 9)]);
        assert_eq!(set.union(&Intervals::of(vec![(9, 10), (30, 31)])).bounds(), Some((0, 31)));
        assert_eq!(set.within(3, 3), 0);
    }
}
