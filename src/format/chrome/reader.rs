//! Reads Chrome JSON: an array of events, or an object with one. A file that is cut is read as far as it goes, and an
//! event that is no JSON is passed over.

use super::super::decimal::ns_of_micros;
use super::super::json::{Scanner, Token, members};
use super::super::window::Window;
use super::super::{FormatError, ImportReport};
use super::async_events::{Families, FamilyKey, Label};
use super::event::{Event, plain};
use super::flows::{Bind, FlowPoints, Step};
use super::id::Id;
use super::places::Places;
use super::samples::{self, Sample};
use super::{kineto, walk};
use crate::format::device_work;
use crate::trace::{ArgValue, ArgsId, NameId, Trace, TrackId};
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

/// Reads a file piece by piece.
pub(in crate::format) fn read_from(window: &mut Window<'_>) -> Result<(Trace, ImportReport), FormatError> {
    let mut reader = Reader::default();
    match walk::file(&mut reader, window) {
        Err(broken) if reader.events == 0 => {
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
            reader.report.torn_tail_bytes = window.drain().saturating_sub(offset);
        }
        Ok(()) => {}
    }
    Ok(reader.finish())
}

/// What was read so far. Nothing in it borrows from the file.
pub(super) struct Reader {
    pub trace: Trace,
    pub report: ImportReport,
    pub events: u64,
    places: Places,
    flows: FlowPoints,
    families: Families,
    memory: kineto::Memory,
    /// Whether spans of a category are work of a device, by its number.
    device_categories: FxHashMap<NameId, bool>,
    /// The table of frames, as it is written.
    pub frames: Option<Vec<u8>>,
    pub samples: Vec<Sample>,
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
            events: 0,
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
    /// Takes in an event that begins at this place.
    pub fn event(&mut self, event: &Event<'_>, offset: u64) {
        self.events += 1;
        for (member, end) in &event.unread {
            self.report.note(&format!("members `{member}` of events, not read"), Some(*end));
        }
        match &*event.kind {
            "X" | "B" | "E" | "i" | "I" | "R" | "P" => self.on_thread(event, offset),
            "C" => self.counter(event, offset),
            "M" => self.metadata(event, offset),
            "s" | "t" | "f" => self.flow(event, offset),
            "b" | "e" | "n" | "S" | "T" | "p" | "F" | "N" | "O" | "D" => self.on_no_thread(event, offset),
            "" if event.start.is_none() => self.report.note("empty events, left out", Some(offset)),
            other => self.report.note(&format!("events of kind `{other}`, left out"), Some(offset)),
        }
    }

    fn time(&mut self, event: &Event<'_>, offset: u64) -> Option<i64> {
        let time = event.start.as_deref().and_then(ns_of_micros);
        if time.is_none() {
            self.report.note("events without a time that is a number, left out", Some(offset));
        }
        time
    }

    fn label(&mut self, event: &Event<'_>, offset: u64) -> Label {
        Label {
            name: self.trace.intern(&event.name),
            category: self.trace.intern(&event.category),
            args: self.arguments(event.args, offset),
        }
    }

    /// Spans and moments of a thread.
    fn on_thread(&mut self, event: &Event<'_>, offset: u64) {
        let Some(start_ns) = self.time(event, offset) else { return };
        let track = self.places.thread(&mut self.trace, &event.pid, &event.tid);
        if event.kind == "E" {
            self.end(event, track, start_ns, offset);
            return;
        }
        let label = self.label(event, offset);
        if *self.device_categories.entry(label.category).or_insert_with(|| device_work(&event.category)) {
            self.places.on_device(track);
        }
        match &*event.kind {
            "X" => self.complete(event, track, start_ns, label, offset),
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
        if let Some(id) = &event.bind_id {
            let key = (label.category, NameId::EMPTY, None, Id::of(id));
            let at = (track, start_ns, Bind::Enclosing);
            match (event.flow_in, event.flow_out) {
                (true, true) => self.flows.add(key, label.name, Step::Pass, at, offset),
                (true, false) => self.flows.add(key, label.name, Step::End, at, offset),
                (false, true) => self.flows.add(key, label.name, Step::Start, at, offset),
                (false, false) => {}
            }
        }
    }

    fn end(&mut self, event: &Event<'_>, track: TrackId, end_ns: i64, offset: u64) {
        match self.trace.end(track, end_ns) {
            None if event.name.is_empty() => self.report.note("ends without a begin, left out", Some(offset)),
            None => {
                let label = self.label(event, offset);
                self.trace.instant(track, end_ns, label.name, label.category, label.args);
                self.report.instants += 1;
                self.report.note("ends without a begin, shown as moments", Some(offset));
            }
            Some(span) => {
                if end_ns < span.start_ns {
                    self.report.note("ends before the begin, drawn without duration", Some(offset));
                }
                if !event.name.is_empty() && self.trace.name(span.name) != event.name {
                    let what = "ends with another name than the span that began last, taken for its end";
                    self.report.note(what, Some(offset));
                }
            }
        }
    }

    fn complete(&mut self, event: &Event<'_>, track: TrackId, start_ns: i64, label: Label, offset: u64) {
        let dur_ns = event.dur.as_deref().map_or(Some(0), ns_of_micros).unwrap_or_else(|| {
            self.report.note("durations that are no number, drawn without duration", Some(offset));
            0
        });
        self.report.spans += 1;
        if dur_ns > ABSURD_NS {
            self.report.note("spans of more than seven days, drawn to the end of the trace", Some(offset));
            self.absurd.push((track, start_ns, label));
            return;
        }
        if start_ns == 0 {
            self.timeless.push((track, dur_ns.max(0), label));
            return;
        }
        if dur_ns == -1000 {
            // PyTorch writes −1 for what was running when the recording stopped.
            self.report.note("spans of the duration −1 (not finished), drawn to the end of the trace", Some(offset));
            self.absurd.push((track, start_ns, label));
            return;
        }
        if dur_ns < 0 {
            self.report.note("negative durations, drawn without duration", Some(offset));
        }
        self.trace.complete(track, start_ns, dur_ns, label.name, label.category, label.args);
    }

    fn flow(&mut self, event: &Event<'_>, offset: u64) {
        let Some(t_ns) = self.time(event, offset) else { return };
        let Some(id) = event.id.as_deref().or(event.bind_id.as_deref()) else {
            self.report.note("flow events without an identifier, left out", Some(offset));
            return;
        };
        let track = self.places.thread(&mut self.trace, &event.pid, &event.tid);
        let (step, bind) = match &*event.kind {
            "s" => (Step::Start, Bind::Enclosing),
            "t" => (Step::Pass, Bind::Enclosing),
            _ if event.binds_enclosing => (Step::End, Bind::Enclosing),
            _ => (Step::End, Bind::Next),
        };
        let (name, category) = (self.trace.intern(&event.name), self.trace.intern(&event.category));
        let shown = if event.name.is_empty() { category } else { name };
        let scope = event.id_is_local.then(|| Id::of(&event.pid));
        self.flows.add((category, name, scope, Id::of(id)), shown, step, (track, t_ns, bind), offset);
    }

    fn on_no_thread(&mut self, event: &Event<'_>, offset: u64) {
        let Some(t_ns) = self.time(event, offset) else { return };
        let Some(id) = &event.id else {
            self.report.note("asynchronous events without an identifier, left out", Some(offset));
            return;
        };
        let label = self.label(event, offset);
        // Newer events are told apart by category and identifier, older ones and objects by their name too.
        let newer = matches!(&*event.kind, "b" | "e" | "n");
        let name = if newer { NameId::EMPTY } else { label.name };
        let key: FamilyKey = (Id::of(&event.pid), label.category, name, Id::of(id));
        let object = matches!(&*event.kind, "N" | "O" | "D");
        let group = if object { format!("{} (objects)", event.name) } else { event.name.to_string() };
        match &*event.kind {
            "b" | "S" | "N" => self.families.begin(key, &group, t_ns, label),
            "e" | "F" | "D" => {
                if !self.families.end(&key, t_ns, label, &mut self.report, offset) {
                    self.families.moment(key, &group, t_ns, label);
                    self.report.note("asynchronous ends without a begin, shown as moments", Some(offset));
                }
            }
            _ => self.families.moment(key, &group, t_ns, label),
        }
    }

    fn metadata(&mut self, event: &Event<'_>, offset: u64) {
        let mut value = None;
        members(event.args.unwrap_or(&[]), |key, token| {
            if matches!(&*key, "name" | "labels" | "sort_index") {
                value = Some(plain(token));
            }
        });
        let place = (&*event.pid, &*event.tid);
        let known = value.is_some_and(|value| self.places.describe(&mut self.trace, &event.name, place, &value));
        if !known {
            self.report.note(&format!("descriptions of kind `{}`, not shown", event.name), Some(offset));
        }
    }

    fn counter(&mut self, event: &Event<'_>, offset: u64) {
        let Some(t_ns) = self.time(event, offset) else { return };
        let args = self.arguments(event.args, offset);
        let series: Vec<(NameId, ArgValue)> = self.trace.args(args).collect();
        if series.is_empty() {
            self.report.note("counter events without a value, left out", Some(offset));
        }
        // Counters of one name with different identifiers are different counters.
        let name = match &event.id {
            Some(id) => Cow::Owned(format!("{} {id}", event.name)),
            None => event.name.clone(),
        };
        let pid = Id::of(&event.pid);
        for (key, value) in series {
            let number = match value {
                ArgValue::Int(value) => Some(value as f64),
                ArgValue::Float(value) => Some(value),
                ArgValue::Text(text) => self.trace.name(text).parse().ok(),
                ArgValue::Bool(_) => None,
            };
            let Some(number) = number else {
                self.report.note("counter values that are no number, left out", Some(offset));
                continue;
            };
            let key = self.trace.name(key).to_owned();
            let counter = self.places.counter(&mut self.trace, &pid, &name, &key);
            self.trace.sample(counter, t_ns, number);
            self.report.counters += 1;
        }
    }

    fn arguments(&mut self, args: Option<&[u8]>, offset: u64) -> ArgsId {
        let Some(args) = args else { return ArgsId::NONE };
        let mut scanner = Scanner::new(args);
        self.args.clear();
        if !scanner.take(b'{') {
            self.report.note("arguments that are no object, left out", Some(offset));
            return ArgsId::NONE;
        }
        let mut first = true;
        while let Ok(true) = scanner.more(b'}', &mut first) {
            let Some((key, value)) = scanner.key().ok().and_then(|key| Some((key, scanner.value().ok()?))) else {
                self.report.note("arguments that are no JSON, cut there", Some(offset));
                break;
            };
            let key = self.trace.intern(&key);
            let value = match value {
                Token::Bool(value) => ArgValue::Bool(value),
                Token::Number(text) => match (text.parse::<i64>(), text.parse::<f64>()) {
                    (Ok(value), _) => ArgValue::Int(value),
                    (_, Ok(value)) => ArgValue::Float(value),
                    _ => ArgValue::Text(self.trace.intern(text)),
                },
                Token::Text(text) => ArgValue::Text(self.trace.intern(&text)),
                Token::Null => ArgValue::Text(self.trace.intern("null")),
                Token::Nested(json) => ArgValue::Text(self.trace.intern(&String::from_utf8_lossy(&on_one_line(json)))),
            };
            self.args.push((key, value));
        }
        self.trace.intern_args(&self.args)
    }

    /// What can be done only when all events are known.
    fn finish(mut self) -> (Trace, ImportReport) {
        if self.events == CUT_AT {
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
