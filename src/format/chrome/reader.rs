//! Reads Chrome JSON: an array of events, or an object with one. A file that is cut is read as far as it goes, and an
//! event that is no JSON is passed over.

use super::super::json::{Broken, Scanner, Token, members};
use super::super::window::Window;
use super::super::{FormatError, ImportReport};
use super::async_events::{Families, FamilyKey, Label};
use super::event::{Batch, Event, Item, Time, plain};
use super::flows::{Bind, FlowPoints, Step};
use super::id::Id;
use super::places::Places;
use super::samples::{self, Sample};
use super::{kineto, walk};
use crate::format::device_work;
use crate::trace::{ArgValue, ArgsId, NameId, Trace, TrackId};
use crossbeam_channel::bounded;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Longer spans are taken for damage: what recorded them has overflowed. Seven days, in nanoseconds.
const ABSURD_NS: i64 = 7 * 86_400 * 1_000_000_000;

/// Number of events at which XProf cuts its export without a word.
const CUT_AT: u64 = 1_000_000;

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there is no event in it, with the place and what was expected.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    read_from(&mut Window::new(bytes))
}

/// Batches that may wait to be taken in.
const BATCHES: usize = 2;

/// Reads a file piece by piece: a thread of its own takes it apart while what came before goes into the store.
pub(in crate::format) fn read_from(window: &mut Window<'_>) -> Result<(Trace, ImportReport), FormatError> {
    let mut reader = Reader::default();
    window.fill_to(1);
    // What is one piece has been taken apart before a thread has begun.
    let (ended, events, all) = if window.ended() {
        walked(window, &mut |mut batch| {
            reader.take(&mut batch);
            batch
        })
    } else {
        through_thread(window, &mut reader)
    };
    match ended {
        Err(broken) if events == 0 => {
            let hint = "a Chrome trace is an array of events or an object with `traceEvents`";
            return Err(FormatError::Damaged {
                what: format!("No event: {}", broken.what),
                offset: broken.offset as u64,
                hint,
            });
        }
        Err(broken) => {
            let offset = broken.offset as u64;
            reader.report.note(&format!("place where reading ended: {}", broken.what), Some(offset));
            reader.report.torn_tail_bytes = all.saturating_sub(offset);
        }
        Ok(()) => {}
    }
    Ok(reader.finish(events))
}

/// Takes a file apart in a thread of its own.
fn through_thread(window: &mut Window<'_>, reader: &mut Reader) -> Ended {
    let (full, batches) = bounded(BATCHES);
    let (empty, emptied) = bounded::<Batch>(BATCHES + 2);
    let walk = move || {
        walked(window, &mut |batch| {
            // It fails only when the one that fills the store has: then nobody asks for the rest.
            full.send(batch).ok();
            emptied.try_recv().unwrap_or_default()
        })
    };
    std::thread::scope(|scope| {
        let walking = std::thread::Builder::new().name("trace events".to_owned()).spawn_scoped(scope, walk);
        let Ok(walking) = walking else { return failed("no thread could be started to take it apart") };
        for mut batch in batches {
            reader.take(&mut batch);
            empty.try_send(batch).ok();
        }
        walking.join().unwrap_or_else(|_| failed("the thread that takes it apart has failed"))
    })
}

/// Goes through a file and hands on what is in it.
fn walked(window: &mut Window<'_>, hand_on: &mut dyn FnMut(Batch) -> Batch) -> Ended {
    let mut sink = walk::Sink::new(hand_on);
    let ended = walk::file(&mut sink, window);
    sink.send();
    // What an end in the middle leaves unread is counted, but only if it is known that this is a trace.
    let unread = ended.is_err() && sink.events > 0;
    (ended, sink.events, if unread { window.drain() } else { 0 })
}

/// How a walk ended, the number of events, and the bytes of the file if it ended in the middle.
type Ended = (Result<(), Broken>, u64, u64);

fn failed(what: &'static str) -> Ended {
    (Err(Broken { what, offset: 0 }), 0, 0)
}

/// What was read so far. Nothing in it borrows from the file.
struct Reader {
    trace: Trace,
    report: ImportReport,
    places: Places,
    flows: FlowPoints,
    families: Families,
    memory: kineto::Memory,
    /// Whether spans of a category are work of a device, by its number.
    device_categories: FxHashMap<NameId, bool>,
    /// The table of frames, as it is written.
    frames: Option<Vec<u8>>,
    samples: Vec<Sample>,
    /// Spans whose length cannot be true: drawn to the end of the trace, which is known at the end.
    absurd: Vec<(TrackId, i64, Label)>,
    /// Events at time 0, which most producers write where they have no time.
    timeless: Vec<(TrackId, i64, Label)>,
    args: Vec<(NameId, ArgValue)>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            report: ImportReport::new("Chrome JSON"),
            places: Places::default(),
            flows: FlowPoints::default(),
            families: Families::default(),
            memory: kineto::Memory::default(),
            device_categories: FxHashMap::default(),
            frames: None,
            samples: Vec::new(),
            absurd: Vec::new(),
            timeless: Vec::new(),
            args: Vec::new(),
            trace: Trace::default(),
        }
    }
}

impl Reader {
    /// Takes in what is in a batch, and leaves it empty.
    fn take(&mut self, batch: &mut Batch) {
        for item in &batch.items {
            match item {
                Item::Event(packed) => self.event(&batch.event(packed)),
                Item::Note(what, offset) => self.report.note(what, *offset),
                Item::Fact(key, json) => kineto::fact(&mut self.trace, &mut self.report, key, json),
                Item::Frames(json) => self.frames = Some(json.clone()),
                Item::Sample(json, offset) => match Sample::of(json) {
                    Some(sample) => self.samples.push(sample),
                    None => self.report.note("samples without a time that is a number, left out", Some(*offset)),
                },
            }
        }
        batch.clear();
    }

    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            "X" | "B" | "E" | "i" | "I" | "R" | "P" => self.on_thread(event),
            "C" => self.counter(event),
            "M" => self.metadata(event),
            "s" | "t" | "f" => self.flow(event),
            "b" | "e" | "n" | "S" | "T" | "p" | "F" | "N" | "O" | "D" => self.on_no_thread(event),
            "" if event.start == Time::Missing => self.note("empty events, left out", event),
            other => self.note(&format!("events of kind `{other}`, left out"), event),
        }
    }

    fn note(&mut self, what: &str, event: &Event<'_>) {
        self.report.note(what, Some(event.offset));
    }

    fn time(&mut self, event: &Event<'_>) -> Option<i64> {
        if let Time::Ns(t_ns) = event.start {
            return Some(t_ns);
        }
        self.note("events without a time that is a number, left out", event);
        None
    }

    fn label(&mut self, event: &Event<'_>) -> Label {
        Label {
            name: self.trace.intern(event.name),
            category: self.trace.intern(event.category),
            args: self.arguments(event),
        }
    }

    /// Spans and moments of a thread.
    fn on_thread(&mut self, event: &Event<'_>) {
        let Some(start_ns) = self.time(event) else { return };
        let track = self.places.thread(&mut self.trace, event.pid, event.tid);
        if event.kind == "E" {
            self.end(event, track, start_ns);
            return;
        }
        let label = self.label(event);
        if *self.device_categories.entry(label.category).or_insert_with(|| device_work(event.category)) {
            self.places.on_device(track);
        }
        match event.kind {
            "X" => self.complete(event, track, start_ns, label),
            "B" => {
                self.trace.begin(track, start_ns, label.name, label.category, label.args);
                self.report.spans += 1;
            }
            _ => {
                self.trace.instant(track, start_ns, label.name, label.category, label.args);
                self.report.instants += 1;
                self.memory.event(&self.trace, event, start_ns, label);
            }
        }
        if let Some(id) = event.bind_id {
            let key = (label.category, NameId::EMPTY, None, Id::of(id));
            let at = (track, start_ns, Bind::Enclosing);
            match (event.flags.flow_in, event.flags.flow_out) {
                (true, true) => self.flows.add(key, label.name, Step::Pass, at, event.offset),
                (true, false) => self.flows.add(key, label.name, Step::End, at, event.offset),
                (false, true) => self.flows.add(key, label.name, Step::Start, at, event.offset),
                (false, false) => {}
            }
        }
    }

    fn end(&mut self, event: &Event<'_>, track: TrackId, end_ns: i64) {
        match self.trace.end(track, end_ns) {
            None if event.name.is_empty() => self.note("ends without a begin, left out", event),
            None => {
                let label = self.label(event);
                self.trace.instant(track, end_ns, label.name, label.category, label.args);
                self.report.instants += 1;
                self.note("ends without a begin, shown as moments", event);
            }
            Some(span) => {
                if end_ns < span.start_ns {
                    self.note("ends before the begin, drawn without duration", event);
                }
                if !event.name.is_empty() && self.trace.name(span.name) != event.name {
                    let what = "ends with another name than the span that began last, taken for its end";
                    self.note(what, event);
                }
            }
        }
    }

    fn complete(&mut self, event: &Event<'_>, track: TrackId, start_ns: i64, label: Label) {
        let dur_ns = match event.dur {
            Time::Ns(dur_ns) => dur_ns,
            Time::Missing => 0,
            Time::Bad => {
                self.note("durations that are no number, drawn without duration", event);
                0
            }
        };
        self.report.spans += 1;
        if dur_ns > ABSURD_NS {
            self.note("spans of more than seven days, drawn to the end of the trace", event);
            self.absurd.push((track, start_ns, label));
            return;
        }
        if start_ns == 0 {
            self.timeless.push((track, dur_ns.max(0), label));
            return;
        }
        if dur_ns == -1000 {
            // PyTorch writes −1 for what was running when the recording stopped.
            self.note("spans of the duration −1 (not finished), drawn to the end of the trace", event);
            self.absurd.push((track, start_ns, label));
            return;
        }
        if dur_ns < 0 {
            self.note("negative durations, drawn without duration", event);
        }
        self.trace.complete(track, start_ns, dur_ns, label.name, label.category, label.args);
    }

    fn flow(&mut self, event: &Event<'_>) {
        let Some(t_ns) = self.time(event) else { return };
        let Some(id) = event.id.or(event.bind_id) else {
            self.note("flow events without an identifier, left out", event);
            return;
        };
        let track = self.places.thread(&mut self.trace, event.pid, event.tid);
        let (step, bind) = match event.kind {
            "s" => (Step::Start, Bind::Enclosing),
            "t" => (Step::Pass, Bind::Enclosing),
            _ if event.flags.binds_enclosing => (Step::End, Bind::Enclosing),
            _ => (Step::End, Bind::Next),
        };
        let (name, category) = (self.trace.intern(event.name), self.trace.intern(event.category));
        let shown = if event.name.is_empty() { category } else { name };
        let scope = event.flags.id_is_local.then(|| Id::of(event.pid));
        self.flows.add((category, name, scope, Id::of(id)), shown, step, (track, t_ns, bind), event.offset);
    }

    fn on_no_thread(&mut self, event: &Event<'_>) {
        let Some(t_ns) = self.time(event) else { return };
        let Some(id) = event.id else {
            self.note("asynchronous events without an identifier, left out", event);
            return;
        };
        let label = self.label(event);
        // Newer events are told apart by category and identifier, older ones and objects by their name too.
        let newer = matches!(event.kind, "b" | "e" | "n");
        let name = if newer { NameId::EMPTY } else { label.name };
        let key: FamilyKey = (Id::of(event.pid), label.category, name, Id::of(id));
        let object = matches!(event.kind, "N" | "O" | "D");
        let group = if object { format!("{} (objects)", event.name) } else { event.name.to_string() };
        match event.kind {
            "b" | "S" | "N" => self.families.begin(key, &group, t_ns, label),
            "e" | "F" | "D" => {
                if !self.families.end(&key, t_ns, label, &mut self.report, event.offset) {
                    self.families.moment(key, &group, t_ns, label);
                    self.note("asynchronous ends without a begin, shown as moments", event);
                }
            }
            _ => self.families.moment(key, &group, t_ns, label),
        }
    }

    fn metadata(&mut self, event: &Event<'_>) {
        let mut value = None;
        members(event.args.unwrap_or("").as_bytes(), |key, token| {
            if matches!(&*key, "name" | "labels" | "sort_index") {
                value = Some(plain(&token).unwrap_or("").to_owned());
            }
        });
        let place = (event.pid, event.tid);
        let known = value.is_some_and(|value| self.places.describe(&mut self.trace, event.name, place, &value));
        if !known {
            self.note(&format!("descriptions of kind `{}`, not shown", event.name), event);
        }
    }

    fn counter(&mut self, event: &Event<'_>) {
        let Some(t_ns) = self.time(event) else { return };
        let args = self.arguments(event);
        let series: Vec<(NameId, ArgValue)> = self.trace.args(args).collect();
        if series.is_empty() {
            self.note("counter events without a value, left out", event);
        }
        // Counters of one name with different identifiers are different counters.
        let name = match &event.id {
            Some(id) => Cow::Owned(format!("{} {id}", event.name)),
            None => Cow::Borrowed(event.name),
        };
        let pid = Id::of(event.pid);
        for (key, value) in series {
            let number = match value {
                ArgValue::Int(value) => Some(value as f64),
                ArgValue::Float(value) => Some(value),
                ArgValue::Text(text) => self.trace.name(text).parse().ok(),
                ArgValue::Bool(_) => None,
            };
            let Some(number) = number else {
                self.note("counter values that are no number, left out", event);
                continue;
            };
            let key = self.trace.name(key).to_owned();
            let counter = self.places.counter(&mut self.trace, &pid, &name, &key);
            self.trace.sample(counter, t_ns, number);
            self.report.counters += 1;
        }
    }

    fn arguments(&mut self, event: &Event<'_>) -> ArgsId {
        let Some(args) = event.args else { return ArgsId::NONE };
        let mut scanner = Scanner::new(args.as_bytes());
        self.args.clear();
        if !scanner.take(b'{') {
            self.note("arguments that are no object, left out", event);
            return ArgsId::NONE;
        }
        let mut first = true;
        while let Ok(true) = scanner.more(b'}', &mut first) {
            let Some((key, value)) = scanner.key().ok().and_then(|key| Some((key, scanner.value().ok()?))) else {
                self.note("arguments that are no JSON, cut there", event);
                break;
            };
            let key = self.trace.intern(&key);
            let value = match value {
                Token::Bool(value) => ArgValue::Bool(value),
                Token::Number(text) => self.number(text),
                Token::Text(text) => ArgValue::Text(self.trace.intern(&text)),
                Token::Null => ArgValue::Text(self.trace.intern("null")),
                Token::Nested(json) => ArgValue::Text(self.trace.intern(&String::from_utf8_lossy(&on_one_line(json)))),
            };
            self.args.push((key, value));
        }
        self.trace.intern_args(&self.args)
    }

    fn number(&mut self, text: &str) -> ArgValue {
        if let Ok(value) = text.parse() {
            return ArgValue::Int(value);
        }
        text.parse().map_or_else(|_| ArgValue::Text(self.trace.intern(text)), ArgValue::Float)
    }

    /// What can be done only when all events are known.
    fn finish(mut self, events: u64) -> (Trace, ImportReport) {
        if events == CUT_AT {
            self.report.note("exactly 1,000,000 events: the program that wrote the file has probably cut it", None);
        }
        let (start_ns, end_ns) = self.trace.bounds().unwrap_or((0, 0));
        // Events at time 0 in a trace that begins much later have no time; they would squeeze the rest to a line.
        for (track, dur_ns, label) in std::mem::take(&mut self.timeless) {
            let lost = start_ns > ABSURD_NS;
            if lost {
                self.report.note("spans at time 0, long before all others, shown where the trace begins", None);
            }
            let at_ns = if lost { start_ns } else { 0 };
            self.trace.complete(track, at_ns, dur_ns, label.name, label.category, label.args);
        }
        for (track, from_ns, label) in std::mem::take(&mut self.absurd) {
            let dur_ns = end_ns.saturating_sub(from_ns).max(0);
            self.trace.complete(track, from_ns, dur_ns, label.name, label.category, label.args);
        }
        self.families.finish(&mut self.trace, &mut self.places, &mut self.report, end_ns);
        self.memory.finish(&mut self.trace, &mut self.places);
        let samples = std::mem::take(&mut self.samples);
        samples::add(&mut self.trace, &mut self.places, &mut self.report, self.frames.as_deref(), samples);
        self.places.finish(&mut self.trace);
        self.trace.settle();
        self.flows.finish(&mut self.trace, &mut self.report);
        self.report.close(&self.trace);
        (self.trace, self.report)
    }
}

/// JSON that was written over several lines on one, as short files have it: `[[2, 3], []]`. White space in texts stays.
fn on_one_line(json: &[u8]) -> Cow<'_, [u8]> {
    if !json.contains(&b'\n') {
        return Cow::Borrowed(json);
    }
    let mut out = Vec::with_capacity(json.len());
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        if in_text {
            out.push(*byte);
            in_text = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b',' | b':' => out.extend_from_slice(&[*byte, b' ']),
            _ => out.push(*byte),
        }
        in_text = *byte == b'"';
    }
    Cow::Owned(out)
}
