//! Reads speedscope's JSON. Each profile becomes a track; times stay as they are written, so that profiles of one file
//! keep their places against each other. A file that is cut is read as far as it goes.
//!
//! Names and units may come after what needs them, so the file is gone through more than once, and none of it is kept.

use super::super::decimal::{is_whole, scaled};
use super::super::json::Broken;
use super::super::json_stream::{Stop, Stream};
use super::super::parts::Value;
use super::super::passes::{self, Passes};
use super::super::stacks::{Frame, Stacks};
use super::super::window::Window;
use super::super::{FormatError, ImportReport};
use super::nest::{Closed, Nest};
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, NameId, Trace, TrackId};

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there are no profiles in it, with the place and what was expected.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    passes::read::<Reader>(bytes)
}

/// Stands for the type of a profile that is none.
const NO_OBJECT: &str = "no object";

/// What is looked for.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Frames, and what the profiles are.
    #[default]
    Outline,
    /// How long samples last, where there are samples.
    Weights,
    /// Events and samples.
    Content,
}

/// Reads a file in up to three passes.
#[derive(Default)]
pub(in crate::format) struct Reader {
    trace: Trace,
    report: ImportReport,
    frames: Vec<Frame>,
    profiles: Vec<Profile>,
    pass: Pass,
    seen: Seen,
}

/// What was there at all.
#[derive(Default)]
struct Seen {
    shared: bool,
    profiles: bool,
}

/// What a profile counts in.
#[derive(Default, Clone, Copy)]
struct Unit {
    /// Power of ten that makes nanoseconds of it.
    power: i32,
    is_time: bool,
}

/// A profile. Its members come in any order.
#[derive(Default)]
struct Profile {
    offset: u64,
    kind: String,
    name: String,
    unit: String,
    start: Option<String>,
    has_events: bool,
    has_samples: bool,
    /// Where the weights are.
    weights: Option<u64>,
    /// What is shown of it: known after the first pass.
    shown: Option<Shown>,
    durations: Vec<i64>,
}

/// How a profile is shown.
#[derive(Clone, Copy)]
struct Shown {
    track: TrackId,
    unit: Unit,
    evented: bool,
}

/// An opening or closing of a frame.
struct Event {
    opens: bool,
    frame: u64,
    t_ns: i64,
    offset: u64,
}

impl Passes for Reader {
    const MOST: usize = 3;

    fn pass(&mut self, window: &mut Window<'_>) -> Result<bool, FormatError> {
        let mut stream = Stream::new(window);
        let ended = self.file(&mut stream);
        let offset = stream.offset();
        match self.pass {
            Pass::Outline => self.outlined(ended, offset)?,
            Pass::Weights => {}
            Pass::Content => {
                match ended {
                    Ok(()) => {}
                    Err(Stop::Cut(_)) => {
                        self.report.note("file that is cut, read as far as it goes", Some(window.drain()));
                    }
                    Err(Stop::Broken(broken)) => note_broken(&mut self.report, &broken),
                }
                return Ok(false);
            }
        }
        let weighted =
            |profile: &Profile| profile.weights.is_some() && profile.shown.is_some_and(|shown| !shown.evented);
        self.pass = match self.pass {
            Pass::Outline if self.profiles.iter().any(weighted) => Pass::Weights,
            _ => Pass::Content,
        };
        Ok(true)
    }

    fn finish(self) -> (Trace, ImportReport) {
        let Self { mut trace, mut report, .. } = self;
        trace.settle();
        report.spans = trace.span_count();
        report.close(&trace);
        (trace, report)
    }
}

/// Counts a place that is no JSON, after which the rest of its list or object is passed over.
fn note_broken(report: &mut ImportReport, Broken { what, offset }: &Broken) {
    let what = format!("lists or objects that are broken, the rest of each left out: {what}");
    report.note(&what, Some(*offset as u64));
}

impl Reader {
    /// Goes through the file.
    fn file(&mut self, stream: &mut Stream<'_, '_>) -> Result<(), Stop> {
        let expected = |stream: &Stream<'_, '_>| {
            Stop::Broken(Broken { what: "an object was expected", offset: stream.offset() as usize })
        };
        if !stream.open(b'{') {
            return Err(expected(stream));
        }
        let mut first = true;
        while stream.more(b'}', &mut first)? {
            match (&*stream.key()?, stream.peek()) {
                ("shared", Some(b'{')) if self.pass == Pass::Outline && !self.seen.shared => {
                    self.seen.shared = true;
                    self.shared(stream)?;
                }
                ("profiles", Some(b'[')) => {
                    self.seen.profiles = true;
                    let mut number = 0;
                    self.list(stream, self.pass == Pass::Outline, |reader, stream| {
                        number += 1;
                        reader.profile(stream, number - 1)
                    })?;
                }
                _ => stream.skip()?,
            }
        }
        Ok(())
    }

    /// Goes through a list. What comes after a broken item in it is passed over, and counted in one of the passes.
    fn list<'w, 'r>(
        &mut self,
        stream: &mut Stream<'w, 'r>,
        counts: bool,
        mut item: impl FnMut(&mut Self, &mut Stream<'w, 'r>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        stream.open(b'[');
        self.parts(stream, b']', counts, |reader, stream| item(reader, stream))
    }

    /// The same for a list or object whose opening bracket was taken.
    fn parts<'w, 'r>(
        &mut self,
        stream: &mut Stream<'w, 'r>,
        close: u8,
        counts: bool,
        mut part: impl FnMut(&mut Self, &mut Stream<'w, 'r>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut first = true;
        loop {
            let more = stream.more(close, &mut first);
            let gone = match more {
                Ok(false) => return Ok(()),
                Ok(true) => part(self, stream),
                Err(stop) => Err(stop),
            };
            match gone {
                Ok(()) => {}
                Err(Stop::Broken(broken)) => {
                    if counts {
                        note_broken(&mut self.report, &broken);
                    }
                    return stream.skip_rest();
                }
                cut => return cut,
            }
        }
    }

    /// What is known after the first pass: whether there is something to show, and as what.
    fn outlined(&mut self, ended: Result<(), Stop>, offset: u64) -> Result<(), FormatError> {
        self.report.format = "speedscope".to_owned();
        if !self.seen.profiles {
            let (what, offset) = match ended {
                Err(Stop::Broken(broken)) => (broken.what, broken.offset as u64),
                _ => ("the object has no `profiles`", offset),
            };
            let hint = "a speedscope file is an object with `profiles` and `shared`";
            return Err(FormatError::Damaged { what: format!("No profile: {what}"), offset, hint });
        }
        if !self.seen.shared {
            self.report.note("file without its table of frames, which are named by their numbers", None);
        }
        for (profile, number) in std::mem::take(&mut self.profiles).into_iter().zip(1..) {
            let shown = self.shown(&profile, number);
            self.profiles.push(Profile { shown, ..profile });
        }
        Ok(())
    }

    fn shown(&mut self, profile: &Profile, number: u64) -> Option<Shown> {
        let unit = self.unit(&profile.unit, profile.offset);
        let evented = match (&*profile.kind, profile.has_events, profile.has_samples) {
            ("evented", true, _) | ("", true, false) => true,
            ("sampled", _, true) | ("", false, true) => false,
            (NO_OBJECT, ..) => return None,
            _ => {
                let what = format!("profiles of type `{}` without events or samples, left out", profile.kind);
                self.report.note(&what, Some(profile.offset));
                return None;
            }
        };
        let name = if profile.name.is_empty() { format!("Profile {number}") } else { profile.name.clone() };
        let track = self.trace.add_track(number, None, &name, "", TrackKind::from_name(&name));
        Some(Shown { track, unit, evented })
    }

    /// A profile, by its place in the list.
    fn profile(&mut self, stream: &mut Stream<'_, '_>, number: usize) -> Result<(), Stop> {
        let outline = self.pass == Pass::Outline;
        stream.peek();
        let offset = stream.offset();
        if !stream.open(b'{') {
            if outline {
                self.report.note("profiles that are no object, left out", Some(offset));
                self.profiles.push(Profile { kind: NO_OBJECT.to_owned(), ..Profile::default() });
            }
            return stream.skip();
        }
        if outline {
            self.profiles.push(Profile { offset, ..Profile::default() });
            return self.parts(stream, b'}', true, |reader, stream| reader.outline(stream, number));
        }
        let shown = self.profiles.get(number).and_then(|profile| profile.shown);
        let mut done = false;
        self.parts(stream, b'}', false, |reader, stream| {
            let (key, next) = (stream.key()?, stream.peek());
            let Some(shown) = shown.filter(|_| next == Some(b'[') && !done) else { return stream.skip() };
            done = match (&*key, reader.pass, shown.evented) {
                ("weights", Pass::Weights, false) => {
                    reader.weights(stream, number, shown.unit)?;
                    true
                }
                ("events", Pass::Content, true) => {
                    reader.evented(stream, shown)?;
                    true
                }
                ("samples", Pass::Content, false) => {
                    reader.sampled(stream, number, shown)?;
                    true
                }
                _ => return stream.skip(),
            };
            Ok(())
        })
    }

    /// A member of a profile in the first pass.
    fn outline(&mut self, stream: &mut Stream<'_, '_>, number: usize) -> Result<(), Stop> {
        let (key, next) = (stream.key()?, stream.peek());
        let Some(profile) = self.profiles.get_mut(number) else { return stream.skip() };
        let is_list = next == Some(b'[');
        let text = |value: &Value<'_>| value.text().unwrap_or("").to_owned();
        match &*key {
            "events" => profile.has_events |= is_list,
            "samples" => profile.has_samples |= is_list,
            "weights" if is_list => profile.weights = profile.weights.or(Some(stream.offset())),
            "type" => return stream.value(|value| profile.kind = text(value)),
            "name" => return stream.value(|value| profile.name = text(value)),
            "unit" => return stream.value(|value| profile.unit = text(value)),
            "startValue" => return stream.value(|value| profile.start = value.number().map(str::to_owned)),
            _ => {}
        }
        stream.skip()
    }

    /// The table of frames.
    fn shared(&mut self, stream: &mut Stream<'_, '_>) -> Result<(), Stop> {
        stream.open(b'{');
        self.parts(stream, b'}', true, |reader, stream| {
            if stream.key()? != "frames" || stream.peek() != Some(b'[') {
                return stream.skip();
            }
            reader.list(stream, true, |reader, stream| stream.value(|frame| reader.frame(frame)))
        })
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

    fn evented(&mut self, stream: &mut Stream<'_, '_>, Shown { track, unit, .. }: Shown) -> Result<(), Stop> {
        let mut nest = Nest::new(track);
        let ended = self.list(stream, true, |reader, stream| {
            let event = stream.value(|value| reader.event(value, unit))?;
            if let Some(event) = event {
                reader.place(&mut nest, &event);
            }
            Ok(())
        });
        // Where those that are still open ended is not known, even if the profile has an end.
        self.report.note_many("spans nested deeper than 4,096, left out", nest.too_deep, None);
        ended
    }

    /// Takes an event apart.
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
            nest.open(&mut self.trace, event.frame, frame, event.t_ns);
            return;
        }
        match nest.close(&mut self.trace, event.frame, event.t_ns) {
            Closed::Innermost => {}
            Closed::Inside => {
                let what = "ends of a frame that was not the innermost: it ends there, those inside it go on";
                self.report.note(what, offset);
            }
            Closed::BeforeItsStart => self.report.note("ends before the begin, drawn without duration", offset),
            Closed::Nothing => self.report.note("ends without a begin, left out", offset),
        }
    }

    /// How long the samples of a profile last.
    fn weights(&mut self, stream: &mut Stream<'_, '_>, number: usize, unit: Unit) -> Result<(), Stop> {
        let mut durations = Vec::new();
        let ended = self.list(stream, true, |reader, stream| {
            stream.value(|weight| {
                let ns = reader.time(weight, unit).filter(|&ns| ns >= 0);
                if ns.is_none() {
                    let what = "weights that are negative or no number, their samples drawn without duration";
                    reader.report.note(what, Some(weight.offset));
                }
                durations.push(ns.unwrap_or(0));
            })
        });
        if let Some(profile) = self.profiles.get_mut(number) {
            profile.durations = durations;
        }
        ended
    }

    fn sampled(&mut self, stream: &mut Stream<'_, '_>, number: usize, shown: Shown) -> Result<(), Stop> {
        let Some(profile) = self.profiles.get_mut(number) else { return stream.skip() };
        let durations = std::mem::take(&mut profile.durations);
        let weights = profile.weights;
        let start_ns = profile.start.as_deref().and_then(|start| scaled(start, shown.unit.power)).unwrap_or(0);
        let mut stacks = Stacks::new(shown.track);
        let mut frames: Vec<Frame> = Vec::new();
        let (mut now_ns, mut at) = (start_ns, 0);
        let ended = self.list(stream, true, |reader, stream| {
            let offset = stream.value(|sample| {
                reader.stack(sample, &mut frames);
                sample.offset
            })?;
            if durations.get(at).is_none() {
                reader.report.note("samples without a weight, drawn without duration", Some(offset));
            }
            let end_ns = now_ns.checked_add(durations.get(at).copied().unwrap_or(0)).unwrap_or_else(|| {
                reader.report.note("samples past the last time that can be shown, drawn up to it", Some(offset));
                i64::MAX
            });
            stacks.put(&mut reader.trace, now_ns, end_ns, &frames);
            reader.report.samples += 1;
            (now_ns, at) = (end_ns, at + 1);
            Ok(())
        });
        stacks.finish(&mut self.trace);
        let left = durations.len().saturating_sub(at) as u64;
        self.report.note_many("weights without a sample, left out", left, weights);
        ended
    }

    /// The frames of a sample.
    fn stack(&mut self, sample: &Value<'_>, frames: &mut Vec<Frame>) {
        frames.clear();
        let Some(part) = sample.part() else {
            self.report.note("samples that are no list of frames, drawn as a gap", Some(sample.offset));
            return;
        };
        let ended = part.items(|value| match value.index() {
            Some(frame) => frames.push(self.frame_of(frame as u64, value.offset)),
            None => self.report.note("frames of samples that are no number, left out", Some(value.offset)),
        });
        ended.note(&mut self.report);
    }
}
