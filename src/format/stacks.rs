//! Stacks that were seen one after the other, as sampling profilers write them, made into nested spans: frames that stay
//! the same from one stack to the next are one span.

use crate::trace::{ArgsId, NameId, Trace, TrackId};

/// A pause of more than this many usual gaps between two samples is no gap: the thread did not run there.
const PAUSE_GAPS: i64 = 10;

/// One entry of a stack. Frames with the same name and arguments are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// Name of the function.
    pub name: NameId,
    /// What else is known of it.
    pub args: ArgsId,
}

/// The stacks of one track, which come in the order of time.
#[derive(Debug)]
pub(super) struct Stacks {
    track: TrackId,
    /// Spans since the track was last empty, outer ones before inner ones: the order in which the store takes them
    /// without sorting.
    spans: Vec<(i64, i64, Frame)>,
    /// Spans of the current stack, outermost first, as indices.
    open: Vec<usize>,
    /// End of the current stack.
    end_ns: i64,
    /// Spans made so far.
    pub made: u64,
}

impl Stacks {
    /// No stack yet.
    pub fn new(track: TrackId) -> Self {
        Self { track, spans: Vec::new(), open: Vec::new(), end_ns: i64::MIN, made: 0 }
    }

    /// Adds a stack, outermost frame first, that was there from `start_ns` to `end_ns`. Frames that it shares with the
    /// one before go on if that one ended here.
    pub fn put(&mut self, trace: &mut Trace, start_ns: i64, end_ns: i64, stack: &[Frame]) {
        let frame_of = |at: &usize| self.spans.get(*at).map(|(_, _, frame)| frame);
        let shared = match start_ns == self.end_ns {
            true => self.open.iter().zip(stack).take_while(|(at, frame)| frame_of(at) == Some(frame)).count(),
            false => 0,
        };
        self.close(trace, shared);
        for frame in stack.get(shared..).unwrap_or(&[]) {
            self.open.push(self.spans.len());
            self.spans.push((start_ns, start_ns, *frame));
            self.made += 1;
        }
        self.end_ns = end_ns;
    }

    /// Ends what still goes on. To be called after the last stack.
    pub fn finish(&mut self, trace: &mut Trace) {
        self.close(trace, 0);
    }

    /// Ends all spans but the outermost `keep`.
    fn close(&mut self, trace: &mut Trace, keep: usize) {
        for at in self.open.drain(keep.min(self.open.len())..) {
            if let Some((_, end_ns, _)) = self.spans.get_mut(at) {
                *end_ns = self.end_ns;
            }
        }
        if keep == 0 {
            for (start_ns, end_ns, frame) in self.spans.drain(..) {
                let dur_ns = end_ns.saturating_sub(start_ns);
                trace.complete(self.track, start_ns, dur_ns, frame.name, NameId::EMPTY, frame.args);
            }
        }
    }
}

/// The middle one of the gaps between samples in the order of time; `None` if there is none.
pub(super) fn usual_gap(times_ns: impl Iterator<Item = i64>) -> Option<i64> {
    let mut gaps = Vec::new();
    let mut before: Option<i64> = None;
    for t_ns in times_ns {
        gaps.extend(before.map(|before| t_ns.saturating_sub(before)).filter(|&gap| gap > 0));
        before = Some(t_ns);
    }
    let middle = gaps.len() / 2;
    (!gaps.is_empty()).then(|| *gaps.select_nth_unstable(middle).1)
}

/// How long a sample stands for its time, and whether a pause follows: until the next sample of its thread, `gap_ns`
/// later. If that is more than ten usual gaps, the thread did not run in between, and the sample stands for one usual
/// gap, as the last sample of a thread does, which has no next. A next sample that counts `weight` times, because it
/// stands for the time before it as well, makes a gap as many times as long. `None` if nothing is known.
pub(super) fn lasts(gap_ns: Option<i64>, usual_ns: Option<i64>, weight: i64) -> Option<(i64, bool)> {
    match (gap_ns, usual_ns) {
        (Some(gap), Some(usual)) if gap > usual.saturating_mul(PAUSE_GAPS).saturating_mul(weight.max(1)) => {
            Some((usual, true))
        }
        (Some(gap), _) => Some((gap, false)),
        (None, usual) => usual.map(|usual| (usual, false)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::TrackKind;

    /// Spans lane by lane of stacks given as start, end and one letter a frame.
    fn spans(stacks: &[(i64, i64, &str)]) -> Vec<String> {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "t", "", TrackKind::Thread);
        let mut out = Stacks::new(track);
        for (start, end, frames) in stacks {
            let name = |letter: char| Frame { name: trace.intern(&letter.to_string()), args: ArgsId::NONE };
            let frames: Vec<Frame> = frames.chars().map(name).collect();
            out.put(&mut trace, *start, *end, &frames);
        }
        out.finish(&mut trace);
        trace.settle();
        assert_eq!(trace.span_count(), out.made);
        let text = |span: crate::trace::Span| format!("{}{}-{}", trace.name(span.name), span.start_ns, span.end_ns());
        let lanes = trace.tracks()[0].lanes();
        lanes.iter().map(|lane| lane.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn equal_frames_of_neighbours_are_one_span() {
        let stacks = [(0, 1, "abc"), (1, 2, "abc"), (2, 6, "abd"), (6, 9, "abc"), (9, 14, "ab")];
        assert_eq!(spans(&stacks), ["a0-14", "b0-14", "c0-2 d2-6 c6-9"]);
        // A gap, another root, an empty stack and the same function calling itself.
        let stacks = [(0, 1, "ab"), (2, 3, "ab"), (3, 4, "b"), (4, 5, ""), (5, 6, "bbb"), (6, 7, "bb")];
        assert_eq!(spans(&stacks), ["a0-1 a2-3 b3-4 b5-7", "b0-1 b2-3 b5-7", "b5-6"]);
        // Of spans with the same start, the store takes the longer one for the outer one.
        assert_eq!(spans(&[(0, 0, "ab"), (0, 5, "ac")]), ["a0-5", "c0-5", "b0-0"]);
    }

    #[test]
    fn samples_last_until_the_next_but_not_through_a_pause() {
        assert_eq!(usual_gap([0, 10, 20, 20, 29, 5000].into_iter()), Some(10));
        assert_eq!(usual_gap([7].into_iter()), None);
        assert_eq!(lasts(Some(100), Some(10), 1), Some((100, false)));
        assert_eq!(lasts(Some(101), Some(10), 1), Some((10, true)));
        assert_eq!(lasts(Some(101), Some(10), 2), Some((101, false)));
        assert_eq!(lasts(None, Some(10), 1), Some((10, false)));
        assert_eq!((lasts(Some(5), None, 1), lasts(None, None, 1)), (Some((5, false)), None));
    }
}
