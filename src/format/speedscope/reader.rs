//! Reads speedscope's JSON. Each profile becomes a track; times stay as they are written, so that profiles of one file
//! keep their places against each other. A file that is cut is read as far as it goes.

use super::super::decimal::{is_whole, scaled};
use super::super::parts::{Ended, Part, Value};
use super::super::stacks::{Frame, Stacks};
use super::super::watch::Looker;
use super::super::{FormatError, ImportReport};
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, NameId, Trace, TrackId};
use rustc_hash::FxHashMap;

/// Events or samples between two looks at whether they are still wanted.
const WATCH_EVERY: u64 = 1024;

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there are no profiles in it, with the place and what was expected.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    read_watched(bytes, Looker::default())
}

/// The same, where somebody looks on. When it is cancelled it ends where it is.
pub(in crate::format) fn read_watched(bytes: &[u8], looker: Looker) -> Result<(Trace, ImportReport), FormatError> {
    let mut shared = None;
    let mut profiles = None;
    let ended = Part::file(bytes).members(|key, value| match &*key {
        "shared" => shared = value.part(),
        "profiles" => profiles = value.part(),
        _ => {}
    });
    let Some(profiles) = profiles else {
        let (what, offset) = match ended {
            Ended::Broken(broken) => (format!("No profile: {}", broken.what), broken.offset),
            _ => ("No profile: the object has no `profiles`".to_owned(), bytes.len()),
        };
        let hint = "a speedscope file is an object with `profiles` and `shared`";
        return Err(FormatError::Damaged { what, offset: offset as u64, hint });
    };
    let mut reader = Reader {
        trace: Trace::default(),
        report: ImportReport::new("speedscope"),
        frames: Vec::new(),
        profiles: 0,
        looker,
    };
    // The names may come after the profiles.
    match shared {
        Some(shared) => reader.shared(shared),
        None => reader.report.note("file without its table of frames, which are named by their numbers", None),
    }
    profiles.items(|profile| reader.profile(&profile)).note(&mut reader.report);
    let Reader { mut trace, mut report, .. } = reader;
    trace.settle();
    ended.note_file(bytes.len(), &mut report);
    report.spans = trace.span_count();
    report.close(&trace);
    Ok((trace, report))
}

struct Reader {
    trace: Trace,
    report: ImportReport,
    frames: Vec<Frame>,
    profiles: u64,
    looker: Looker,
}

/// What a profile counts in.
#[derive(Clone, Copy)]
struct Unit {
    /// Power of ten that makes nanoseconds of it.
    power: i32,
    is_time: bool,
}

/// The members of a profile, which come in any order.
#[derive(Default)]
struct Profile<'a> {
    kind: String,
    name: String,
    unit: String,
    start: Option<Value<'a>>,
    events: Option<Part<'a>>,
    samples: Option<Part<'a>>,
    weights: Option<Part<'a>>,
}

/// An opening or closing of a frame.
struct Event {
    opens: bool,
    frame: u64,
    t_ns: i64,
    offset: u64,
}

impl Reader {
    /// The table of frames.
    fn shared(&mut self, shared: Part<'_>) {
        let mut list = None;
        shared
            .members(|key, value| {
                if key == "frames" {
                    list = value.part()
                }
            })
            .note(&mut self.report);
        if let Some(list) = list {
            list.items(|frame| self.frame(&frame)).note(&mut self.report);
        }
    }

    fn frame(&mut self, frame: &Value<'_>) {
        let (mut name, mut args) = (None, [None; 3]);
        let Self { trace, report, .. } = self;
        if let Some(part) = frame.part() {
            let ended = part.members(|key, value| {
                let slot = match &*key {
                    "name" => {
                        name = value.number().map(|text| trace.intern(text));
                        return;
                    }
                    "file" => 0,
                    "line" => 1,
                    "col" => 2,
                    _ => return,
                };
                let value = match (value.int(), value.number()) {
                    (Some(number), _) => ArgValue::Int(number),
                    (None, Some(text)) => ArgValue::Text(trace.intern(text)),
                    _ => return, // Null stands for what is not known.
                };
                if let Some(place) = args.get_mut(slot) {
                    *place = Some((trace.intern(&key), value));
                }
            });
            ended.note(report);
        }
        if name.is_none() {
            report.note("frames without a name, shown without one", Some(frame.offset));
        }
        let args: Vec<(NameId, ArgValue)> = args.into_iter().flatten().collect();
        let args = trace.intern_args(&args);
        self.frames.push(Frame { name: name.unwrap_or(NameId::EMPTY), args });
    }

    /// The frame with this number; one that the file does not list is named by its number.
    fn frame_of(&mut self, number: u64, offset: u64) -> Frame {
        if let Some(frame) = usize::try_from(number).ok().and_then(|at| self.frames.get(at)) {
            return *frame;
        }
        self.report.note("frames that the file does not list, named by their number", Some(offset));
        Frame { name: self.trace.intern(&format!("frame {number}")), args: ArgsId::NONE }
    }

    fn profile(&mut self, value: &Value<'_>) {
        self.profiles += 1;
        let Some(part) = value.part() else {
            self.report.note("profiles that are no object, left out", Some(value.offset));
            return;
        };
        let mut profile = Profile::default();
        let ended = part.members(|key, value| match &*key {
            "type" => profile.kind = value.text().unwrap_or("").to_owned(),
            "name" => profile.name = value.text().unwrap_or("").to_owned(),
            "unit" => profile.unit = value.text().unwrap_or("").to_owned(),
            "startValue" => profile.start = Some(value),
            "events" => profile.events = value.part(),
            "samples" => profile.samples = value.part(),
            "weights" => profile.weights = value.part(),
            _ => {}
        });
        ended.note(&mut self.report);
        let unit = self.unit(&profile.unit, value.offset);
        let name = if profile.name.is_empty() { format!("Profile {}", self.profiles) } else { profile.name };
        let (trace, number) = (&mut self.trace, self.profiles);
        let mut track = || trace.add_track(number, None, &name, "", TrackKind::from_name(&name));
        match (&*profile.kind, profile.events, profile.samples) {
            ("evented", Some(events), _) | ("", Some(events), None) => {
                let track = track();
                self.evented(track, unit, events);
            }
            ("sampled", _, Some(samples)) | ("", None, Some(samples)) => {
                let track = track();
                let start_ns = profile.start.and_then(|start| self.time(&start, unit)).unwrap_or(0);
                self.sampled(track, unit, start_ns, samples, profile.weights);
            }
            _ => {
                let what = format!("profiles of type `{}` without events or samples, left out", profile.kind);
                self.report.note(&what, Some(value.offset));
            }
        }
    }

    fn unit(&mut self, name: &str, offset: u64) -> Unit {
        let power = match name {
            "nanoseconds" => 0,
            "microseconds" => 3,
            "milliseconds" => 6,
            "seconds" => 9,
            other => {
                let what = match other {
                    "none" | "" => "profiles without a unit: 1 is shown as 1 ns".to_owned(),
                    other => format!("profiles in {other}, which are no time: 1 is shown as 1 ns"),
                };
                self.report.note(&what, Some(offset));
                return Unit { power: 0, is_time: false };
            }
        };
        Unit { power, is_time: true }
    }

    /// Nanoseconds of a value; `None` if it is no number or too large.
    fn time(&mut self, value: &Value<'_>, unit: Unit) -> Option<i64> {
        let text = value.number()?;
        let ns = scaled(text, unit.power)?;
        if !unit.is_time && !is_whole(text) {
            self.report.note("values with a fraction that are no time, rounded", Some(value.offset));
        }
        Some(ns)
    }

    fn evented(&mut self, track: TrackId, unit: Unit, events: Part<'_>) {
        let mut nest = Nest::default();
        let (mut number, mut wanted) = (0_u64, true);
        let ended = events.items(|value| {
            if number.is_multiple_of(WATCH_EVERY) {
                wanted = self.looker.at(value.offset);
            }
            number += 1;
            if !wanted {
                return;
            }
            if let Some(event) = self.event(&value, unit) {
                self.place(&mut nest, &event);
            }
        });
        ended.note(&mut self.report);
        for span in nest.spans {
            let Frame { name, args } = span.frame;
            match span.end_ns {
                Some(end_ns) => {
                    let dur_ns = end_ns.saturating_sub(span.start_ns);
                    self.trace.complete(track, span.start_ns, dur_ns, name, NameId::EMPTY, args);
                }
                // Where it ended is not known, even if the profile has an end.
                None => self.trace.begin(track, span.start_ns, name, NameId::EMPTY, args),
            }
        }
    }

    /// Takes an event apart. One that the end of the file cuts in two has no closing bracket and is none.
    fn event(&mut self, value: &Value<'_>, unit: Unit) -> Option<Event> {
        let offset = value.offset;
        let Some(part) = value.part() else {
            self.report.note("things among the events that are no object, left out", Some(offset));
            return None;
        };
        let (mut opens, mut frame, mut at) = (None, None, None);
        let ended = part.members(|key, value| match &*key {
            "type" => opens = Some(value),
            "frame" => frame = value.index(),
            "at" => at = Some(value),
            _ => {}
        });
        if ended == Ended::Cut {
            return None;
        }
        ended.note(&mut self.report);
        let opens = match opens.as_ref().map(|kind| kind.text().unwrap_or("")) {
            Some("O") => true,
            Some("C") => false,
            kind => {
                let what = format!("events of type `{}`, left out", kind.unwrap_or(""));
                self.report.note(&what, Some(offset));
                return None;
            }
        };
        let (frame, t_ns) = (frame, at.and_then(|at| self.time(&at, unit)));
        let (Some(frame), Some(t_ns)) = (frame, t_ns) else {
            self.report.note("events without a time or a frame that is a number, left out", Some(offset));
            return None;
        };
        Some(Event { opens, frame: frame as u64, t_ns, offset })
    }

    fn place(&mut self, nest: &mut Nest, event: &Event) {
        let offset = Some(event.offset);
        if nest.last_ns.is_some_and(|last| event.t_ns < last) {
            self.report.note("events earlier than the one before, kept at their own time", offset);
        }
        nest.last_ns = Some(event.t_ns);
        if event.opens {
            let frame = self.frame_of(event.frame, event.offset);
            nest.open(event.frame, frame, event.t_ns);
            return;
        }
        match nest.close(event.frame, event.t_ns) {
            Closed::Innermost => {}
            Closed::Inside => {
                let what = "ends of a frame that was not the innermost: it ends there, those inside it go on";
                self.report.note(what, offset);
            }
            Closed::BeforeItsStart => self.report.note("ends before the begin, drawn without duration", offset),
            Closed::Nothing => self.report.note("ends without a begin, left out", offset),
        }
    }

    fn sampled(&mut self, track: TrackId, unit: Unit, start_ns: i64, samples: Part<'_>, weights: Option<Part<'_>>) {
        let mut durations = Vec::new();
        let ended = weights.map(|weights| {
            weights.items(|weight| {
                let ns = self.time(&weight, unit).filter(|&ns| ns >= 0);
                if ns.is_none() {
                    let what = "weights that are negative or no number, their samples drawn without duration";
                    self.report.note(what, Some(weight.offset));
                }
                durations.push(ns.unwrap_or(0));
            })
        });
        if let Some(ended) = ended {
            ended.note(&mut self.report);
        }
        let mut stacks = Stacks::new(track);
        let mut frames: Vec<Frame> = Vec::new();
        let (mut now_ns, mut at) = (start_ns, 0);
        let mut wanted = true;
        let ended = samples.items(|sample| {
            if (at as u64).is_multiple_of(WATCH_EVERY) {
                wanted = self.looker.at(sample.offset);
            }
            if !wanted {
                return;
            }
            if durations.get(at).is_none() {
                self.report.note("samples without a weight, drawn without duration", Some(sample.offset));
            }
            if !self.stack(&sample, &mut frames) {
                return;
            }
            let end_ns = now_ns.checked_add(durations.get(at).copied().unwrap_or(0)).unwrap_or_else(|| {
                self.report.note("samples past the last time that can be shown, drawn up to it", Some(sample.offset));
                i64::MAX
            });
            stacks.put(&mut self.trace, now_ns, end_ns, &frames);
            self.report.samples += 1;
            (now_ns, at) = (end_ns, at + 1);
        });
        ended.note(&mut self.report);
        stacks.finish(&mut self.trace);
        let left = durations.len().saturating_sub(at) as u64;
        self.report.note_many("weights without a sample, left out", left, weights.map(|weights| weights.offset));
    }

    /// The frames of a sample; returns whether the end of the file left it whole.
    fn stack(&mut self, sample: &Value<'_>, frames: &mut Vec<Frame>) -> bool {
        frames.clear();
        let Some(part) = sample.part() else {
            self.report.note("samples that are no list of frames, drawn as a gap", Some(sample.offset));
            return true;
        };
        let ended = part.items(|value| match value.index() {
            Some(frame) => frames.push(self.frame_of(frame as u64, value.offset)),
            None => self.report.note("frames of samples that are no number, left out", Some(value.offset)),
        });
        let whole = ended != Ended::Cut;
        ended.note(&mut self.report);
        whole
    }
}

/// A frame that was opened, and closed if it has an end.
struct Opened {
    frame: Frame,
    start_ns: i64,
    end_ns: Option<i64>,
}

/// What an end closed.
enum Closed {
    Innermost,
    /// A frame with others inside it that are still open.
    Inside,
    BeforeItsStart,
    Nothing,
}

/// Frames that open and close, normally the last opened first.
#[derive(Default)]
struct Nest {
    spans: Vec<Opened>,
    /// Indices of those that are open, and of some that no longer are.
    open: Vec<usize>,
    /// Indices of those that are open, by the number of their frame: an end finds its begin without a search, however
    /// deep a hostile file nests.
    by_frame: FxHashMap<u64, Vec<usize>>,
    last_ns: Option<i64>,
}

impl Nest {
    fn open(&mut self, number: u64, frame: Frame, start_ns: i64) {
        let at = self.spans.len();
        self.spans.push(Opened { frame, start_ns, end_ns: None });
        self.open.push(at);
        self.by_frame.entry(number).or_default().push(at);
    }

    fn close(&mut self, number: u64, end_ns: i64) -> Closed {
        let Some(at) = self.by_frame.get_mut(&number).and_then(Vec::pop) else { return Closed::Nothing };
        let Some(span) = self.spans.get_mut(at) else { return Closed::Nothing };
        span.end_ns = Some(end_ns.max(span.start_ns));
        let backwards = end_ns < span.start_ns;
        let innermost = self.open.last() == Some(&at);
        while self.open.last().and_then(|&at| self.spans.get(at)).is_some_and(|span| span.end_ns.is_some()) {
            self.open.pop();
        }
        match (backwards, innermost) {
            (true, _) => Closed::BeforeItsStart,
            (false, true) => Closed::Innermost,
            (false, false) => Closed::Inside,
        }
    }
}
