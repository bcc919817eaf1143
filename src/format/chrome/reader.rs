//! Reads Chrome JSON: an array of events, or an object with one. A file that is cut is read as far as it goes, and an
//! event that is no JSON is passed over.

use super::super::decimal::ns_of_micros;
use super::super::json::{Broken, Scanner, Token};
use super::super::{FormatError, ImportReport};
use super::async_events::{Families, FamilyKey, Label};
use super::event::{Event, Text, plain, take_apart};
use super::flows::{Bind, FlowPoints, Step};
use super::places::Places;
use super::{kineto, samples};
use crate::format::{Watch, device_work};
use crate::trace::{ArgValue, ArgsId, NameId, Trace, TrackId};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Longer spans are taken for damage: what recorded them has overflowed. Seven days, in nanoseconds.
const ABSURD_NS: i64 = 7 * 86_400 * 1_000_000_000;

/// Events between two looks at whether they are still wanted.
const WATCH_EVERY: u64 = 4096;

/// Number of events at which XProf cuts its export without a word.
const CUT_AT: u64 = 1_000_000;

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there is no event in it, with the place and what was expected.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    read_watched(bytes, &Watch::default(), (0.0, 1.0))
}

/// The same, where somebody looks on: `part` is the share of the whole that this is. When it is cancelled it ends where it
/// is.
pub(in crate::format) fn read_watched<'a>(
    bytes: &'a [u8],
    watch: &'a Watch,
    part: (f64, f64),
) -> Result<(Trace, ImportReport), FormatError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = Reader::new(Scanner::new(text));
    reader.watch = Some((watch, part, text.len() as u64));
    let result = reader.file();
    match result {
        Err(broken) if reader.events == 0 => {
            let hint = "a Chrome trace is an array of events or an object with `traceEvents`";
            Err(FormatError::Damaged { what: format!("No event: {}", broken.what), offset: broken.offset as u64, hint })
        }
        result => {
            if let Err(broken) = result {
                let left = text.len().saturating_sub(broken.offset);
                reader.report.note(&format!("place where reading ended: {}", broken.what), Some(broken.offset as u64));
                reader.report.torn_tail_bytes = left as u64;
            }
            Ok(reader.finish())
        }
    }
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    trace: Trace,
    report: ImportReport,
    events: u64,
    places: Places<'a>,
    flows: FlowPoints<'a>,
    families: Families<'a>,
    memory: kineto::Memory<'a>,
    /// Whether spans of a category are work of a device, by its number.
    device_categories: FxHashMap<NameId, bool>,
    frames: Option<&'a [u8]>,
    samples: Option<&'a [u8]>,
    /// Spans whose length cannot be true: drawn to the end of the trace, which is known at the end.
    absurd: Vec<(TrackId, i64, Label)>,
    /// Events at time 0, which most producers write where they have no time.
    timeless: Vec<(TrackId, i64, Label)>,
    args: Vec<(NameId, ArgValue)>,
    /// Who looks on, the share of the whole that this is, and the bytes in all.
    watch: Option<(&'a Watch, (f64, f64), u64)>,
}

impl<'a> Reader<'a> {
    fn new(scanner: Scanner<'a>) -> Self {
        Self {
            scanner,
            report: ImportReport::new("Chrome JSON"),
            events: 0,
            places: Places::default(),
            flows: FlowPoints::default(),
            families: Families::default(),
            memory: kineto::Memory::default(),
            device_categories: FxHashMap::default(),
            frames: None,
            samples: None,
            absurd: Vec::new(),
            timeless: Vec::new(),
            args: Vec::new(),
            watch: None,
            trace: Trace::default(),
        }
    }

    fn file(&mut self) -> Result<(), Broken> {
        let here = |scanner: &Scanner, what| Broken { what, offset: scanner.pos() };
        if self.scanner.take(b'[') {
            return self.event_list();
        }
        if !self.scanner.take(b'{') {
            return Err(here(&self.scanner, "an array or object was expected"));
        }
        let (mut first, mut found) = (true, false);
        while self.scanner.more(b'}', &mut first)? {
            let key = self.scanner.key()?;
            if key == "traceEvents" && self.scanner.take(b'[') {
                found = true;
                self.event_list()?;
                if self.scanner.peek().is_none() {
                    break;
                }
                continue;
            }
            match (&*key, self.scanner.value()?) {
                ("stackFrames", Token::Nested(json)) => self.frames = Some(json),
                ("samples", Token::Nested(json)) => self.samples = Some(json),
                (key, value) => kineto::fact(&mut self.trace, &mut self.report, key, value),
            }
        }
        if found { Ok(()) } else { Err(here(&self.scanner, "the object has no `traceEvents`")) }
    }

    /// The events of an array; its opening bracket was taken.
    fn event_list(&mut self) -> Result<(), Broken> {
        let mut first = true;
        loop {
            if self.events.is_multiple_of(WATCH_EVERY)
                && let Some((watch, part, all)) = self.watch
            {
                if watch.cancelled() {
                    return Ok(());
                }
                watch.set(part, self.scanner.pos() as u64, all);
            }
            // Tools that stream write no closing bracket: the end of the file is the end of the list.
            if !first && self.scanner.peek().is_none() {
                self.report.note("event list without its closing bracket, as streaming tools write it", None);
                return Ok(());
            }
            match self.scanner.more(b']', &mut first) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(broken) => {
                    self.pass_over(broken)?;
                    continue;
                }
            }
            if self.scanner.peek().is_none() && self.events > 0 {
                self.report.note("event list without its closing bracket, as streaming tools write it", None);
                return Ok(());
            }
            if let Err(broken) = self.next_event() {
                self.pass_over(broken)?;
                first = true;
            }
        }
    }

    fn next_event(&mut self) -> Result<(), Broken> {
        let offset = self.scanner.pos() as u64;
        if self.scanner.take(b'{') {
            let event = take_apart(&mut self.scanner, &mut self.report)?;
            self.event(&event, offset);
            self.events += 1;
        } else {
            self.scanner.value()?;
            self.report.note("things among the events that are no object, left out", Some(offset));
        }
        Ok(())
    }

    /// Goes on at the next event after one that is no JSON, for example because a text in it has a bare quote.
    fn pass_over(&mut self, broken: Broken) -> Result<(), Broken> {
        if self.events == 0 || !self.scanner.seek_object() {
            return Err(broken);
        }
        let what = format!("events that are no JSON ({}), left out", broken.what);
        self.report.note(&what, Some(broken.offset as u64));
        Ok(())
    }

    fn event(&mut self, event: &Event<'a>, offset: u64) {
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

    fn time(&mut self, event: &Event<'a>, offset: u64) -> Option<i64> {
        let time = event.start.as_deref().and_then(ns_of_micros);
        if time.is_none() {
            self.report.note("events without a time that is a number, left out", Some(offset));
        }
        time
    }

    fn label(&mut self, event: &Event<'a>, offset: u64) -> Label {
        Label {
            name: self.trace.intern(&event.name),
            category: self.trace.intern(&event.category),
            args: self.arguments(event.args, offset),
        }
    }

    /// Spans and moments of a thread.
    fn on_thread(&mut self, event: &Event<'a>, offset: u64) {
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
            let key = (event.category.clone(), Cow::Borrowed(""), id.clone());
            let at = (track, start_ns, Bind::Enclosing);
            match (event.flow_in, event.flow_out) {
                (true, true) => self.flows.add(key, label.name, Step::Pass, at, offset),
                (true, false) => self.flows.add(key, label.name, Step::End, at, offset),
                (false, true) => self.flows.add(key, label.name, Step::Start, at, offset),
                (false, false) => {}
            }
        }
    }

    fn end(&mut self, event: &Event<'a>, track: TrackId, end_ns: i64, offset: u64) {
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

    fn complete(&mut self, event: &Event<'a>, track: TrackId, start_ns: i64, label: Label, offset: u64) {
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

    fn flow(&mut self, event: &Event<'a>, offset: u64) {
        let Some(t_ns) = self.time(event, offset) else { return };
        let Some(id) = event.id.clone().or_else(|| event.bind_id.clone()) else {
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
        let name = self.trace.intern(if event.name.is_empty() { &event.category } else { &event.name });
        let scope = if event.id_is_local { format!("{} {id}", event.pid).into() } else { id };
        self.flows.add((event.category.clone(), event.name.clone(), scope), name, step, (track, t_ns, bind), offset);
    }

    fn on_no_thread(&mut self, event: &Event<'a>, offset: u64) {
        let Some(t_ns) = self.time(event, offset) else { return };
        let Some(id) = event.id.clone() else {
            self.report.note("asynchronous events without an identifier, left out", Some(offset));
            return;
        };
        let label = self.label(event, offset);
        // Newer events are told apart by category and identifier, older ones and objects by their name too.
        let newer = matches!(&*event.kind, "b" | "e" | "n");
        let name: Text<'a> = if newer { Cow::Borrowed("") } else { event.name.clone() };
        let key: FamilyKey<'a> = (event.pid.clone(), event.category.clone(), name, id);
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

    fn metadata(&mut self, event: &Event<'a>, offset: u64) {
        let mut value = None;
        if let Some(args) = event.args {
            let mut scanner = Scanner::new(args);
            let (mut first, mut opened) = (true, scanner.take(b'{'));
            while opened {
                opened = scanner.more(b'}', &mut first).unwrap_or(false);
                let Some((key, token)) = opened.then(|| Some((scanner.key().ok()?, scanner.value().ok()?))).flatten()
                else {
                    break;
                };
                if matches!(&*key, "name" | "labels" | "sort_index") {
                    value = Some(plain(token));
                }
            }
        }
        let place = (&event.pid, &event.tid);
        let known = value.is_some_and(|value| self.places.describe(&mut self.trace, &event.name, place, &value));
        if !known {
            self.report.note(&format!("descriptions of kind `{}`, not shown", event.name), Some(offset));
        }
    }

    fn counter(&mut self, event: &Event<'a>, offset: u64) {
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
            let counter = self.places.counter(&mut self.trace, &event.pid, &name, &key);
            self.trace.sample(counter, t_ns, number);
            self.report.counters += 1;
        }
    }

    fn arguments(&mut self, args: Option<&'a [u8]>, offset: u64) -> ArgsId {
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
        if let Some(samples) = self.samples {
            samples::add(&mut self.trace, &mut self.places, &mut self.report, self.frames, samples);
        }
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
