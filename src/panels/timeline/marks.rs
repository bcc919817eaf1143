//! Times that the user marked, by run: they stay while another run is looked at.

use std::collections::BTreeMap;

/// All marks, in nanoseconds of their trace.
#[derive(Debug, Default)]
pub struct Marks {
    by_run: BTreeMap<String, Vec<i64>>,
    last_shown: Option<i64>,
}

impl Marks {
    /// Marks of a run, in order of time.
    pub fn of(&self, run: &str) -> &[i64] {
        self.by_run.get(run).map_or(&[], Vec::as_slice)
    }

    /// Takes away the mark nearest to a time, if one is within reach, or sets one there.
    pub fn toggle(&mut self, run: &str, t_ns: i64, reach_ns: i64) {
        let marks = self.by_run.entry(run.to_owned()).or_default();
        let nearest = (0..marks.len()).min_by_key(|idx| marks.get(*idx).map_or(u64::MAX, |mark| mark.abs_diff(t_ns)));
        let near = |idx: &usize| marks.get(*idx).is_some_and(|mark| mark.abs_diff(t_ns) <= reach_ns.unsigned_abs());
        match nearest.filter(near) {
            Some(idx) => drop(marks.remove(idx)),
            None => {
                let at = marks.partition_point(|mark| *mark < t_ns);
                marks.insert(at, t_ns);
            }
        }
    }

    /// The mark after the one that this returned before, or the first again.
    pub fn next(&mut self, run: &str) -> Option<i64> {
        let after = self.last_shown;
        let marks = self.of(run);
        let next = marks.iter().find(|mark| after.is_none_or(|after| **mark > after)).or(marks.first()).copied();
        self.last_shown = next;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_set_taken_away_and_gone_through() {
        let mut marks = Marks::default();
        for at in [300, 100, 200] {
            marks.toggle("a", at, 10);
        }
        marks.toggle("b", 7, 0);
        assert_eq!((marks.of("a"), marks.of("b")), (&[100, 200, 300][..], &[7][..]));
        let shown: Vec<_> = (0..4).map(|_| marks.next("a")).collect();
        assert_eq!(shown, [Some(100), Some(200), Some(300), Some(100)]);
        marks.toggle("a", 205, 10);
        assert_eq!(marks.of("a"), [100, 300]);
        assert_eq!(marks.next("none"), None);
    }
}
