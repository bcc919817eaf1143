//! Samples of call stacks as spans: frames that stay from one sample to the next are one span.

use crate::trace::{ArgsId, NameId, Trace, TrackId};

/// Gathers the samples of one thread, in order of time.
pub(super) struct StackTrack {
    track: TrackId,
    category: NameId,
    /// Frames that are open, outermost first, with their starts.
    open: Vec<(NameId, i64)>,
    last_ns: Option<i64>,
    /// Distances between samples, to know how long the last one lasts.
    gaps: Vec<i64>,
    spans: u64,
}

impl StackTrack {
    /// No sample yet.
    pub fn new(track: TrackId) -> Self {
        Self { track, category: NameId::EMPTY, open: Vec::new(), last_ns: None, gaps: Vec::new(), spans: 0 }
    }

    /// Takes a sample: `stack` has the outermost frame first. Must not be earlier than the one before.
    pub fn sample(&mut self, trace: &mut Trace, t_ns: i64, stack: &[NameId]) {
        if let Some(last) = self.last_ns {
            self.gaps.push(t_ns.saturating_sub(last));
        }
        self.last_ns = Some(t_ns);
        let same = self.open.iter().zip(stack).take_while(|((open, _), frame)| open == *frame).count();
        self.close(trace, same, t_ns);
        self.open.extend(stack.iter().skip(same).map(|frame| (*frame, t_ns)));
    }

    /// Ends all frames: at `end_ns`, or, where that is not known, the median distance of samples after the last one.
    /// Returns the number of spans.
    pub fn finish(mut self, trace: &mut Trace, end_ns: Option<i64>) -> u64 {
        self.gaps.sort_unstable();
        let typical = self.gaps.get(self.gaps.len() / 2).copied().unwrap_or(0);
        if let Some(last) = self.last_ns {
            let end_ns = end_ns.unwrap_or_else(|| last.saturating_add(typical)).max(last);
            self.close(trace, 0, end_ns);
        }
        self.spans
    }

    fn close(&mut self, trace: &mut Trace, keep: usize, end_ns: i64) {
        for (name, start_ns) in self.open.drain(keep.min(self.open.len())..) {
            let dur_ns = end_ns.saturating_sub(start_ns).max(0);
            trace.complete(self.track, start_ns, dur_ns, name, self.category, ArgsId::NONE);
            self.spans += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::TrackKind;

    #[test]
    fn frames_that_stay_are_one_span() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Thread);
        let [main, a, b] = ["main", "a", "b"].map(|name| trace.intern(name));
        let mut stacks = StackTrack::new(track);
        for (t, stack) in [(0, vec![main, a]), (10, vec![main, a]), (20, vec![main, b]), (30, vec![]), (40, vec![main])]
        {
            stacks.sample(&mut trace, t, &stack);
        }
        assert_eq!(stacks.finish(&mut trace, None), 4);
        trace.settle();
        let lanes: Vec<Vec<(i64, i64, &str)>> = trace.tracks()[0]
            .lanes()
            .iter()
            .map(|lane| lane.iter().map(|s| (s.start_ns, s.dur_ns, trace.name(s.name))).collect())
            .collect();
        assert_eq!(lanes, [vec![(0, 30, "main"), (40, 10, "main")], vec![(0, 20, "a"), (20, 10, "b")]]);
    }
}
