//! Reads Chrome JSON: an array of events, or an object with one. A file that is cut is read as far as it goes.

use super::super::decimal::ns_of_micros;
use super::super::json::{Broken, Scanner, Token};
use super::super::{FormatError, ImportReport};
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, CounterId, NameId, Trace, TrackId};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there is no event in it, with the place and what was expected.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = Reader::new(Scanner::new(text));
    let result = reader.file();
    let Reader { mut trace, mut report, events, .. } = reader;
    trace.settle();
    match result {
        Err(broken) if events == 0 => {
            let hint = "a Chrome trace is an array of events or an object with `traceEvents`";
            Err(FormatError::Damaged { what: format!("No event: {}", broken.what), offset: broken.offset as u64, hint })
        }
        result => {
            if let Err(broken) = result {
                let left = text.len().saturating_sub(broken.offset);
                report.note(&format!("place where reading ended: {}", broken.what), Some(broken.offset as u64));
                report.torn_tail_bytes = left as u64;
            }
            report.close(&trace);
            Ok((trace, report))
        }
    }
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    trace: Trace,
    report: ImportReport,
    events: u64,
    /// Process and thread as written, and the track they became.
    tracks: FxHashMap<(Cow<'a, str>, Cow<'a, str>), TrackId>,
    process_names: FxHashMap<Cow<'a, str>, String>,
    counters: FxHashMap<(Cow<'a, str>, String), CounterId>,
    args: Vec<(NameId, ArgValue)>,
}

/// An event, taken apart.
#[derive(Default)]
struct Event<'a> {
    kind: Cow<'a, str>,
    name: Cow<'a, str>,
    category: Cow<'a, str>,
    pid: Cow<'a, str>,
    tid: Cow<'a, str>,
    start: Option<Cow<'a, str>>,
    dur: Option<Cow<'a, str>>,
    args: Option<&'a [u8]>,
}

/// A number or text as text; nothing for anything else.
fn plain(token: Token<'_>) -> Cow<'_, str> {
    match token {
        Token::Text(text) => text,
        Token::Number(number) => Cow::Borrowed(number),
        _ => Cow::Borrowed(""),
    }
}

impl<'a> Reader<'a> {
    fn new(scanner: Scanner<'a>) -> Self {
        Self {
            scanner,
            trace: Trace::default(),
            report: ImportReport::new("Chrome JSON"),
            events: 0,
            tracks: FxHashMap::default(),
            process_names: FxHashMap::default(),
            counters: FxHashMap::default(),
            args: Vec::new(),
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
            if self.scanner.key()? == "traceEvents" && self.scanner.take(b'[') {
                found = true;
                self.event_list()?;
            } else {
                self.scanner.value()?;
            }
        }
        if found { Ok(()) } else { Err(here(&self.scanner, "the object has no `traceEvents`")) }
    }

    /// The events of an array; its opening bracket was taken.
    fn event_list(&mut self) -> Result<(), Broken> {
        let mut first = true;
        loop {
            // Tools that stream write no closing bracket: the end of the file is the end of the list.
            if !first && self.scanner.peek().is_none() {
                self.report.note("event list without its closing bracket, as streaming tools write it", None);
                return Ok(());
            }
            if !self.scanner.more(b']', &mut first)? {
                return Ok(());
            }
            if self.scanner.peek().is_none() && self.events > 0 {
                self.report.note("event list without its closing bracket, as streaming tools write it", None);
                return Ok(());
            }
            let offset = self.scanner.pos() as u64;
            if self.scanner.take(b'{') {
                let event = self.take_apart()?;
                self.event(&event, offset);
                self.events += 1;
            } else {
                self.scanner.value()?;
                self.report.note("things among the events that are no object, left out", Some(offset));
            }
        }
    }

    fn take_apart(&mut self) -> Result<Event<'a>, Broken> {
        let mut event = Event::default();
        let mut first = true;
        while self.scanner.more(b'}', &mut first)? {
            let key = self.scanner.key()?;
            let value = self.scanner.value()?;
            match &*key {
                "ph" => event.kind = plain(value),
                "name" => event.name = plain(value),
                "cat" => event.category = plain(value),
                "pid" => event.pid = plain(value),
                "tid" => event.tid = plain(value),
                "ts" => event.start = Some(plain(value)),
                "dur" => event.dur = Some(plain(value)),
                "args" => {
                    if let Token::Nested(args) = value {
                        event.args = Some(args);
                    }
                }
                "id" | "s" | "tts" | "tdur" | "cname" | "bp" | "id2" | "sf" | "esf" => {}
                other => {
                    let what = format!("members `{other}` of events, not read");
                    self.report.note(&what, Some(self.scanner.pos() as u64));
                }
            }
        }
        Ok(event)
    }

    fn event(&mut self, event: &Event<'a>, offset: u64) {
        if event.kind == "M" {
            self.metadata(event, offset);
            return;
        }
        if !matches!(&*event.kind, "X" | "B" | "E" | "i" | "I" | "R" | "C") {
            self.report.note(&format!("events of kind `{}`, left out", event.kind), Some(offset));
            return;
        }
        let Some(start_ns) = event.start.as_deref().and_then(ns_of_micros) else {
            self.report.note("events without a time that is a number, left out", Some(offset));
            return;
        };
        if event.kind == "C" {
            self.counter(event, start_ns, offset);
            return;
        }
        let track = self.track(event);
        if event.kind == "E" {
            match self.trace.end(track, start_ns) {
                None => self.report.note("ends without a begin, left out", Some(offset)),
                Some(span) if start_ns < span.start_ns => {
                    self.report.note("ends before the begin, drawn without duration", Some(offset));
                }
                Some(_) => {}
            }
            return;
        }
        let name = self.trace.intern(&event.name);
        let category = self.trace.intern(&event.category);
        let args = self.arguments(event.args, offset);
        match &*event.kind {
            "X" => {
                let dur_ns = event.dur.as_deref().map_or(Some(0), ns_of_micros).unwrap_or_else(|| {
                    self.report.note("durations that are no number, drawn without duration", Some(offset));
                    0
                });
                if dur_ns < 0 {
                    self.report.note("negative durations, drawn without duration", Some(offset));
                }
                self.trace.complete(track, start_ns, dur_ns, name, category, args);
                self.report.spans += 1;
            }
            "B" => {
                self.trace.begin(track, start_ns, name, category, args);
                self.report.spans += 1;
            }
            _ => {
                self.trace.instant(track, start_ns, name, category, args);
                self.report.instants += 1;
            }
        }
    }

    fn track(&mut self, event: &Event<'a>) -> TrackId {
        let (pid, tid) = (&event.pid, &event.tid);
        let key = (pid.clone(), tid.clone());
        if let Some(&id) = self.tracks.get(&key) {
            return id;
        }
        let process = self.process_names.get(pid).cloned().unwrap_or_else(|| format!("Process {pid}"));
        let uuid = self.tracks.len() as u64 + 1;
        let id = self.trace.add_track(uuid, None, &format!("Thread {tid}"), &process, TrackKind::Thread);
        self.tracks.insert(key, id);
        id
    }

    fn metadata(&mut self, event: &Event<'a>, offset: u64) {
        let mut name = None;
        if let Some(args) = event.args {
            let mut scanner = Scanner::new(args);
            let (mut first, mut opened) = (true, scanner.take(b'{'));
            while opened {
                opened = scanner.more(b'}', &mut first).unwrap_or(false);
                let Some((key, value)) = opened.then(|| Some((scanner.key().ok()?, scanner.value().ok()?))).flatten()
                else {
                    break;
                };
                if key == "name" {
                    name = Some(plain(value).into_owned());
                }
            }
        }
        match (&*event.name, name) {
            ("process_name", Some(name)) => {
                self.process_names.insert(event.pid.clone(), name.clone());
                let of_process = self.tracks.iter().filter(|((pid, _), _)| *pid == event.pid);
                for id in of_process.map(|(_, id)| *id).collect::<Vec<_>>() {
                    self.trace.rename(id, None, Some(&name));
                }
            }
            ("thread_name", Some(name)) => {
                let id = self.track(event);
                self.trace.rename(id, Some(&name), None);
            }
            (other, _) => {
                self.report.note(&format!("descriptions of kind `{other}`, not shown"), Some(offset));
            }
        }
    }

    fn counter(&mut self, event: &Event<'a>, t_ns: i64, offset: u64) {
        let args = self.arguments(event.args, offset);
        let series: Vec<(NameId, ArgValue)> = self.trace.args(args).to_vec();
        if series.is_empty() {
            self.report.note("counter events without a value, left out", Some(offset));
        }
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
            let counter = self.counter_of(event, &key);
            self.trace.sample(counter, t_ns, number);
            self.report.counters += 1;
        }
    }

    /// One counter for each series. The first of a name bears the name alone, with its key as the unit unless that is
    /// the usual `value`; further ones are told apart by their key.
    fn counter_of(&mut self, event: &Event<'a>, key: &str) -> CounterId {
        let place = (event.pid.clone(), format!("{}\0{key}", event.name));
        if let Some(&id) = self.counters.get(&place) {
            return id;
        }
        let prefix = format!("{}\0", event.name);
        let first = !self.counters.keys().any(|(pid, name)| *pid == event.pid && name.starts_with(&prefix));
        let unit = if key == "value" { "" } else { key };
        let name = if first { event.name.to_string() } else { format!("{} ({key})", event.name) };
        let process = self.process_names.get(&event.pid).cloned().unwrap_or_default();
        let id = self.trace.add_counter(self.counters.len() as u64 + 1, &name, unit, &process);
        self.counters.insert(place, id);
        id
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
                Token::Nested(json) => ArgValue::Text(self.trace.intern(&String::from_utf8_lossy(json))),
            };
            self.args.push((key, value));
        }
        self.trace.intern_args(&self.args)
    }
}
