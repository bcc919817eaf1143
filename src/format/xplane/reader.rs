//! Goes through an XSpace: twice, since the names come after the events that use them.

use super::super::passes::{self, Passes};
use super::super::window::Window;
use super::super::wire::{Fields, Next as Whole, Value, put_bytes};
use super::super::wire_stream::{Head, Next, WireStream};
use super::events::{Joint, Meta};
use super::field::{line, map, metadata, plane, space, stat};
use crate::format::{FormatError, ImportReport};
use crate::model::TrackKind;
use crate::trace::{ArgValue, FlowEnd, NameId, Trace, TrackId};
use rustc_hash::FxHashMap;

/// Lines of a device's plane that say again, at a coarser grain, what its streams did: they are no work of their own.
const DERIVED_LINES: [&str; 6] =
    ["Steps", "XLA Modules", "XLA TraceMe", "Framework Ops", "Framework Name Scope", "Source code"];

/// Longest figure of a plane that is kept as a fact, in bytes, with what is around it.
const MAX_FACT_BYTES: usize = 1024;

/// Whether a file that begins like this is an XSpace: its first field is a plane, whose own first fields are a number and
/// a name that can be read. Perfetto's files begin with the same tag, but their packets have no text there.
pub fn looks_like(head: &[u8]) -> bool {
    if head.first() != Some(&0x0a) {
        return false;
    }
    // The plane can be longer than what is at hand: its length is passed over.
    let length = head.iter().skip(1).take_while(|byte| **byte >= 0x80).count() + 1;
    let mut fields = Fields::new(head.get(1 + length..).unwrap_or(&[]));
    let mut seen_id = false;
    loop {
        match fields.next_field() {
            Whole::Field(plane::ID, Value::Uint(_)) if !seen_id => seen_id = true,
            Whole::Field(plane::NAME, Value::Bytes(name)) => {
                let text = std::str::from_utf8(name).unwrap_or("");
                let readable = !text.is_empty() && !text.chars().any(char::is_control);
                return readable && (text.starts_with('/') || text.contains(' ') || text.contains(':'));
            }
            _ => return false,
        }
    }
}

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there is no plane in it.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    passes::read::<Reader>(bytes)
}

/// The tables of one plane.
#[derive(Default)]
pub(super) struct Tables {
    pub events: FxHashMap<u64, Meta>,
    pub stats: FxHashMap<u64, NameId>,
}

/// Where the events of a line go, and what is the same for all of them.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub track: TrackId,
    pub device: bool,
    pub base_ns: i64,
}

/// What the first pass leaves of a plane for the second.
#[derive(Default)]
struct Plane {
    tables: Tables,
    lines: Vec<Place>,
}

/// What is known of a plane while it is gone through the first time.
#[derive(Default)]
struct Draft {
    name: String,
    lines: Vec<LineHead>,
    /// Entries of its table of events, and figures of its own, as they are written.
    events: Vec<u8>,
    facts: Vec<u8>,
    stats: FxHashMap<u64, NameId>,
}

/// What a line says of itself.
#[derive(Default)]
struct LineHead {
    id: u64,
    name: String,
    display_name: String,
    base_ns: i64,
}

/// Reads a file in two passes.
#[derive(Default)]
pub(in crate::format) struct Reader {
    pub(super) trace: Trace,
    pub(super) report: ImportReport,
    pub(super) producers: FxHashMap<Joint, FlowEnd>,
    pub(super) consumers: Vec<(Joint, FlowEnd)>,
    pub(super) args: Vec<(NameId, ArgValue)>,
    uuid: u64,
    planes: Vec<Plane>,
    /// Whether the first pass is over.
    outlined: bool,
}

impl Passes for Reader {
    const MOST: usize = 2;

    fn pass(&mut self, window: &mut Window<'_>) -> Result<bool, FormatError> {
        let mut stream = WireStream::new(window);
        if self.outlined {
            self.second_pass(&mut stream);
            return Ok(false);
        }
        self.report.format = "XProf XSpace".to_owned();
        let cut = self.first_pass(&mut stream);
        match cut {
            Some(offset) if self.planes.is_empty() => {
                let hint = "an XSpace is written whole; if the file was copied, copy it again";
                return Err(FormatError::Damaged { what: "No plane that is whole".to_owned(), offset, hint });
            }
            Some(offset) => {
                self.report.note("place where reading ended: a plane is cut or damaged", Some(offset));
                self.report.torn_tail_bytes = window.drain().saturating_sub(offset);
            }
            None => {}
        }
        self.outlined = true;
        Ok(true)
    }

    fn finish(mut self) -> (Trace, ImportReport) {
        let mut lost = 0;
        for (joint, to) in std::mem::take(&mut self.consumers) {
            match self.producers.get(&joint) {
                Some(from) if *from != to => {
                    self.trace.arrow(NameId::EMPTY, *from, to);
                    self.report.flows += 1;
                }
                Some(_) => {}
                None => lost += 1,
            }
        }
        self.report.note_many("events whose launch or producer is not in the file, without an arrow", lost, None);
        self.trace.settle();
        self.report.close(&self.trace);
        (self.trace, self.report)
    }
}

/// A text of a message, with what is no UTF-8 replaced.
fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Reader {
    pub(super) fn unknown(&mut self, message: &str, number: u32, offset: u64) {
        self.report.note(&format!("{message} fields of number {number}, not read"), Some(offset));
    }

    /// What planes and lines are and the tables of names; returns where the file is cut or damaged, if it is.
    fn first_pass(&mut self, stream: &mut WireStream<'_, '_>) -> Option<u64> {
        loop {
            let offset = stream.offset();
            match stream.next(u64::MAX) {
                Next::Field(space::PLANE, Head::Bytes(len)) => {
                    let end = stream.offset() + len;
                    let draft = self.draft(stream, end);
                    // Only a plane that is whole has all its names.
                    let Some(draft) = draft else { return Some(offset) };
                    self.plane(draft);
                }
                Next::Field(number, Head::Bytes(len)) => {
                    let end = stream.offset() + len;
                    let text = stream.bytes(len).map(readable);
                    match (number, text) {
                        (space::ERROR, Some(text)) => {
                            self.report.note(&format!("error of the profiler: {text}"), Some(offset));
                        }
                        (space::WARNING, Some(text)) => {
                            self.report.note(&format!("warning of the profiler: {text}"), Some(offset));
                        }
                        (space::HOST, Some(text)) => self.trace.add_fact("host", &text),
                        _ => self.unknown("space", number, offset),
                    }
                    if !stream.skip_to(end) {
                        return Some(offset);
                    }
                }
                Next::Field(number, Head::Number(_)) => self.unknown("space", number, offset),
                Next::End => return None,
                Next::Bad => return Some(offset),
            }
        }
    }

    /// Goes through a plane the first time; `None` if the file ends before it does.
    fn draft(&mut self, stream: &mut WireStream<'_, '_>, end: u64) -> Option<Draft> {
        let mut draft = Draft::default();
        loop {
            let offset = stream.offset();
            match stream.next(end) {
                Next::Field(plane::LINE, Head::Bytes(len)) => {
                    let line_end = stream.offset() + len;
                    let head = self.line_head(stream, line_end)?;
                    draft.lines.push(head);
                }
                Next::Field(plane::ID, Head::Number(_)) => {}
                Next::Field(number, Head::Bytes(len)) => {
                    let field_end = stream.offset() + len;
                    match (number, stream.bytes(len)) {
                        (plane::NAME, Some(bytes)) => draft.name = readable(bytes),
                        (plane::EVENT_METADATA, Some(bytes)) => put_bytes(&mut draft.events, number, bytes),
                        (plane::STAT_METADATA, Some(bytes)) => self.stat_metadata(bytes, &mut draft),
                        // Tables of counters and whole programs are no facts for a reader.
                        (plane::STAT, Some(bytes)) if bytes.len() > MAX_FACT_BYTES => {}
                        (plane::STAT, Some(bytes)) => put_bytes(&mut draft.facts, number, bytes),
                        _ => self.unknown("plane", number, offset),
                    }
                    stream.skip_to(field_end).then_some(())?;
                }
                Next::Field(number, Head::Number(_)) => self.unknown("plane", number, offset),
                Next::End => return stream.skip_to(end).then_some(draft),
                Next::Bad => {
                    stream.skip_to(end).then_some(())?;
                    self.report.note("planes that end inside a field, read up to there", Some(offset));
                    return Some(draft);
                }
            }
        }
    }

    /// What a line says of itself; its events are passed over. `None` if the file ends before it does.
    fn line_head(&mut self, stream: &mut WireStream<'_, '_>, end: u64) -> Option<LineHead> {
        let mut head = LineHead::default();
        loop {
            let offset = stream.offset();
            match stream.next(end) {
                Next::Field(line::ID, Head::Number(id)) => head.id = id,
                Next::Field(line::TIMESTAMP_NS, Head::Number(t_ns)) => head.base_ns = t_ns as i64,
                Next::Field(line::DURATION_PS | line::DISPLAY_ID, Head::Number(_)) => {}
                Next::Field(number, Head::Bytes(len)) => {
                    let field_end = stream.offset() + len;
                    match number {
                        line::EVENT => {}
                        line::NAME => head.name = readable(stream.bytes(len)?),
                        line::DISPLAY_NAME => head.display_name = readable(stream.bytes(len)?),
                        _ => self.unknown("line", number, offset),
                    }
                    stream.skip_to(field_end).then_some(())?;
                }
                Next::Field(number, Head::Number(_)) => self.unknown("line", number, offset),
                Next::End => return stream.skip_to(end).then_some(head),
                Next::Bad => {
                    stream.skip_to(end).then_some(())?;
                    self.report.note("lines that end inside a field, read up to there", Some(offset));
                    return Some(head);
                }
            }
        }
    }

    fn stat_metadata(&mut self, bytes: &[u8], draft: &mut Draft) {
        let (key, value) = entry(bytes);
        let name = Fields::new(value).find(|(number, _)| *number == metadata::NAME);
        let name = self.text(name.map_or(&[][..], |(_, name)| name.bytes()));
        draft.stats.insert(key, name);
    }

    /// Makes tracks of a plane's lines and takes over its tables.
    fn plane(&mut self, draft: Draft) {
        let Draft { name, lines, events, facts, stats } = draft;
        let name = if name.is_empty() { format!("Plane {}", self.planes.len() + 1) } else { name };
        let mut tables = Tables { stats, ..Tables::default() };
        for (_, stat) in Fields::new(&facts) {
            self.fact(&name, stat.bytes(), &tables);
        }
        for (_, bytes) in Fields::new(&events) {
            let (key, value) = entry(bytes.bytes());
            let meta = self.meta(key, value, &tables);
            tables.events.insert(key, meta);
        }
        let device = name.starts_with("/device:") || name.contains("GPU:") || name.contains("TPU:");
        let lines = lines.into_iter().map(|head| {
            let shown = if head.display_name.is_empty() { head.name } else { head.display_name };
            let title = if shown.is_empty() { format!("Line {}", head.id) } else { shown };
            let work = device && !DERIVED_LINES.iter().any(|derived| title.starts_with(derived));
            let kind = if work { TrackKind::Device } else { TrackKind::Thread };
            self.uuid += 1;
            let track = self.trace.add_track(self.uuid, None, &title, &name, kind);
            Place { track, device: work, base_ns: head.base_ns }
        });
        let lines = lines.collect();
        self.planes.push(Plane { tables, lines });
    }

    /// Something that a plane says of itself.
    fn fact(&mut self, plane: &str, bytes: &[u8], tables: &Tables) {
        let Some((key, value)) = self.stat(bytes, tables) else { return };
        let (key, value) = (self.trace.name(key).to_owned(), self.trace.value_text(value));
        if value.len() <= 256 && !key.is_empty() {
            self.trace.add_fact(&format!("{plane}: {key}"), &value);
        }
    }

    /// The events of the planes that are whole.
    fn second_pass(&mut self, stream: &mut WireStream<'_, '_>) {
        let mut planes = std::mem::take(&mut self.planes).into_iter();
        loop {
            match stream.next(u64::MAX) {
                Next::Field(space::PLANE, Head::Bytes(len)) => {
                    let end = stream.offset() + len;
                    let Some(plane) = planes.next() else { return };
                    self.lines(stream, end, &plane);
                    stream.skip_to(end);
                }
                Next::Field(_, Head::Bytes(len)) => {
                    let end = stream.offset() + len;
                    stream.skip_to(end);
                }
                Next::Field(_, Head::Number(_)) => {}
                Next::End | Next::Bad => return,
            }
        }
    }

    fn lines(&mut self, stream: &mut WireStream<'_, '_>, end: u64, plane: &Plane) {
        let mut places = plane.lines.iter();
        // What ends a plane or a line too early was counted in the first pass.
        while let Next::Field(number, head) = stream.next(end) {
            let Head::Bytes(len) = head else { continue };
            let line_end = stream.offset() + len;
            if number == plane::LINE
                && let Some(place) = places.next()
            {
                self.events(stream, line_end, place, &plane.tables);
            }
            stream.skip_to(line_end);
        }
    }

    fn events(&mut self, stream: &mut WireStream<'_, '_>, end: u64, place: &Place, tables: &Tables) {
        loop {
            let offset = stream.offset();
            let Next::Field(number, head) = stream.next(end) else { return };
            let Head::Bytes(len) = head else { continue };
            let event_end = stream.offset() + len;
            if number == line::EVENT {
                match stream.bytes(len) {
                    Some(bytes) => self.event(bytes, place, tables, offset),
                    None => self.report.note("events longer than 64 MiB, left out", Some(offset)),
                }
            }
            stream.skip_to(event_end);
        }
    }

    /// A figure: what it is called and what it is.
    pub(super) fn stat(&mut self, bytes: &[u8], tables: &Tables) -> Option<(NameId, ArgValue)> {
        let (mut key, mut found) = (None, None);
        for (number, value) in Fields::new(bytes) {
            match number {
                stat::METADATA_ID => key = tables.stats.get(&value.uint()).copied(),
                stat::DOUBLE => found = Some(ArgValue::Float(value.double())),
                stat::UINT64 | stat::INT64 => found = Some(ArgValue::Int(value.uint() as i64)),
                stat::STR => found = Some(ArgValue::Text(self.text(value.bytes()))),
                stat::BYTES => {
                    let words = format!("{} bytes", value.bytes().len());
                    found = Some(ArgValue::Text(self.trace.intern(&words)));
                }
                stat::REF => {
                    let text = tables.stats.get(&value.uint()).copied().unwrap_or_default();
                    found = Some(ArgValue::Text(text));
                }
                _ => {}
            }
        }
        Some((key?, found?))
    }

    pub(super) fn text(&mut self, bytes: &[u8]) -> NameId {
        self.trace.intern(&String::from_utf8_lossy(bytes))
    }
}

/// Key and value of an entry of a map.
fn entry(bytes: &[u8]) -> (u64, &[u8]) {
    let (mut key, mut value) = (0, &[][..]);
    for (number, found) in Fields::new(bytes) {
        match number {
            map::KEY => key = found.uint(),
            map::VALUE => value = found.bytes(),
            _ => {}
        }
    }
    (key, value)
}
