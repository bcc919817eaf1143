//! What is known of one span, gathered once when it is selected: times, self time, step, arguments.

use crate::analysis::profile::StepSpan;
use crate::model::track::{arg, category};
use crate::model::units::{clock_text, duration_ns};
use crate::model::{Known, Source};
use crate::trace::{Span, SpanRef, Trace};

/// Arrows that are listed.
const MAX_LINKS: usize = 12;

/// Facts about a span.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// Its name.
    pub name: String,
    /// Its category, in the producer's words; may be empty.
    pub category: String,
    /// Name of its track.
    pub track: String,
    /// Start, in nanoseconds relative to the trace's start.
    pub start_ns: i64,
    /// Length in nanoseconds.
    pub dur_ns: Known<i64>,
    /// Length less that of the spans directly within it.
    pub self_ns: Known<i64>,
    /// Name of the span around it.
    pub parent: Option<String>,
    /// Number of the training step in which it lies, as our own recorder counts them.
    pub step: Known<i64>,
    /// How its time was measured, in words.
    pub source: Known<String>,
    /// Spans that arrows join it to: whether the arrow begins here, and the other span with its name.
    pub links: Vec<(bool, String, SpanRef)>,
    /// Everything that was recorded with it, as recorded.
    pub args: Vec<(String, String)>,
}

impl Details {
    /// Gathers them; `None` if there is no such span. Takes time in proportion to the spans directly within it.
    pub fn of(trace: &Trace, at: SpanRef) -> Option<Self> {
        let span = trace.span(at)?;
        let args = trace.args(span.args);
        let parent = trace.parent(at).and_then(|parent| trace.span(parent));
        Some(Self {
            name: trace.name(span.name).to_owned(),
            category: trace.name(span.category).to_owned(),
            track: trace.track(at.track).map(|track| track.name.clone()).unwrap_or_default(),
            start_ns: span.start_ns.saturating_sub(trace.bounds().map_or(0, |(start, _)| start)),
            dur_ns: length(&span),
            self_ns: self_time(trace, at, &span),
            parent: parent.map(|parent| trace.name(parent.name).to_owned()),
            step: match step_of(trace, at, &span) {
                Some(step) => Known::value(step, Source::Counted, 1),
                None => Known::unknown("It lies in no training step that was recorded"),
            },
            source: match trace.arg_text(&span, arg::SOURCE) {
                Some(source) => Known::value(source.to_owned(), Source::System, 1),
                None => Known::unknown("The trace does not say how this time was measured"),
            },
            links: trace
                .links(at, MAX_LINKS)
                .iter()
                .filter_map(|link| Some((link.leaves, trace.name(trace.span(link.other)?.name).to_owned(), link.other)))
                .collect(),
            args: args.map(|(key, value)| (trace.name(key).to_owned(), trace.value_text(value))).collect(),
        })
    }

    /// The step in which it lies: its number, or the name of the profile's step that was under way when it began.
    pub fn step_text(&self, began_ns: i64, steps: Option<&[StepSpan]>) -> Known<String> {
        if let Some(number) = self.step.get() {
            return Known::value(number.to_string(), Source::Counted, 1);
        }
        let Some(steps) = steps else { return Known::unknown("The steps are still being worked out") };
        let behind = steps.partition_point(|step| step.start_ns <= began_ns);
        match behind.checked_sub(1).and_then(|at| steps.get(at)).filter(|step| began_ns < step.end_ns) {
            Some(step) => Known::value(step.name.clone(), Source::Derived, 1),
            None if steps.is_empty() => Known::unknown("No steps were found in the trace"),
            None => Known::unknown("It began outside the steps"),
        }
    }

    /// As text for the clipboard.
    pub fn to_text(&self) -> String {
        let mut lines = vec![
            self.name.clone(),
            format!("track: {}", self.track),
            format!("start: {}", clock_text(self.start_ns as f64)),
        ];
        let times = [("duration", &self.dur_ns), ("self", &self.self_ns)];
        lines.extend(times.iter().filter_map(|(label, time)| {
            time.get().map(|ns| format!("{label}: {} ({ns} ns)", duration_ns(*ns as f64)))
        }));
        lines.extend(self.args.iter().map(|(key, value)| format!("{key}: {value}")));
        lines.join("\n")
    }
}

fn length(span: &Span) -> Known<i64> {
    if span.is_open() {
        Known::unknown("It has not ended in what was recorded so far")
    } else {
        Known::value(span.dur_ns, Source::HostClock, 1)
    }
}

fn self_time(trace: &Trace, at: SpanRef, span: &Span) -> Known<i64> {
    if span.is_open() {
        return Known::unknown("It has not ended in what was recorded so far");
    }
    let own = trace.track(at.track).map(|track| track.self_ns(usize::from(at.depth), at.idx as usize, span));
    Known::value(own.unwrap_or(span.dur_ns), Source::Derived, 1)
}

/// The step in which a span lies: its own argument, or the recorded step around its start on whatever track has steps.
fn step_of(trace: &Trace, at: SpanRef, span: &Span) -> Option<i64> {
    if let Some(step) = trace.arg_int(span, arg::STEP) {
        return Some(step);
    }
    let steps = trace.find_name(category::STEP)?;
    let mut tracks: Vec<_> = trace.tracks().iter().collect();
    tracks.sort_by_key(|track| track.id != at.track);
    tracks.iter().flat_map(|track| track.lanes()).find_map(|lane| {
        let around = lane.get(lane.first_reaching(span.start_ns))?;
        let holds = around.category == steps && around.start_ns <= span.start_ns && span.start_ns < around.end_ns();
        if holds { trace.arg_int(&around, arg::STEP) } else { None }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::TrackKind;
    use crate::trace::{ArgValue, ArgsId, NameId};

    #[test]
    fn the_step_of_another_tool_is_named() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "thread", "", TrackKind::Training);
        let name = trace.intern("aten::mm");
        trace.complete(track, 50, 10, name, NameId::EMPTY, ArgsId::NONE);
        trace.settle();
        let details = Details::of(&trace, SpanRef { track, depth: 0, idx: 0 }).unwrap();
        let step = |name: &str, start_ns, end_ns| StepSpan { name: name.to_owned(), start_ns, end_ns };
        let steps = [step("ProfilerStep#1", 0, 50), step("ProfilerStep#2", 50, 90)];
        assert_eq!(details.step_text(50, Some(&steps)).get().map(String::as_str), Some("ProfilerStep#2"));
        for (steps, why) in [(None, "worked out"), (Some(&[][..]), "No steps"), (Some(&steps[..1]), "outside")] {
            assert!(details.step_text(50, steps).reason().unwrap().contains(why), "{why}");
        }
    }

    #[test]
    fn self_time_step_and_arguments_are_found() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "Training thread", "", TrackKind::Training);
        let ops = trace.add_track(2, None, "Ops", "", TrackKind::Ops);
        let [step, forward, conv] = ["Step 3", "Forward", "conv1"].map(|name| trace.intern(name));
        let (step_category, step_key) = (trace.intern(category::STEP), trace.intern(arg::STEP));
        let args = trace.intern_args(&[(step_key, ArgValue::Int(3))]);
        trace.complete(track, 1000, 100, step, step_category, args);
        trace.complete(track, 1010, 50, forward, NameId::EMPTY, ArgsId::NONE);
        trace.complete(ops, 1020, 10, conv, NameId::EMPTY, ArgsId::NONE);
        trace.begin(ops, 1200, conv, NameId::EMPTY, ArgsId::NONE);
        trace.settle();

        let whole = Details::of(&trace, SpanRef { track, depth: 0, idx: 0 }).unwrap();
        assert_eq!((whole.self_ns.get(), whole.step.get()), (Some(&50), Some(&3)));
        assert_eq!(whole.args, [("step".to_owned(), "3".to_owned())]);
        let inner = Details::of(&trace, SpanRef { track, depth: 1, idx: 0 }).unwrap();
        assert_eq!((inner.parent.as_deref(), inner.start_ns, inner.step.get()), (Some("Step 3"), 10, Some(&3)));
        let op = Details::of(&trace, SpanRef { track: ops, depth: 0, idx: 0 }).unwrap();
        assert_eq!(op.step.get(), Some(&3), "found by time on another track");
        assert!(op.source.reason().is_some());
        let open = Details::of(&trace, SpanRef { track: ops, depth: 0, idx: 1 }).unwrap();
        assert!(open.dur_ns.reason().is_some() && open.step.reason().is_some());
        assert!(whole.to_text().contains("duration: 100 ns (100 ns)"));
    }
}
