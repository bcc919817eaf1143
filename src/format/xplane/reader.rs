//! Reads an XSpace from memory.

use super::super::watch::Looker;
use super::super::wire::{Fields, Next, Value};
use super::field::{event, line, map, metadata, plane, space, stat};
use crate::format::{FormatError, ImportReport};
use crate::model::TrackKind;
use crate::trace::{ArgValue, FlowEnd, NameId, Trace, TrackId};
use rustc_hash::FxHashMap;

/// Longer spans are taken for damage. Seven days, in picoseconds.
const ABSURD_PS: i64 = 7 * 86_400 * 1_000_000_000_000;

/// Lines of a device's plane that say again, at a coarser grain, what its streams did: they are no work of their own.
const DERIVED_LINES: [&str; 6] =
    ["Steps", "XLA Modules", "XLA TraceMe", "Framework Ops", "Framework Name Scope", "Source code"];

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
            Next::Field(plane::ID, Value::Uint(_)) if !seen_id => seen_id = true,
            Next::Field(plane::NAME, Value::Bytes(name)) => {
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
    read_watched(bytes, Looker::default())
}

/// The same, where somebody looks on. When it is cancelled it ends where it is.
pub(in crate::format) fn read_watched(bytes: &[u8], looker: Looker) -> Result<(Trace, ImportReport), FormatError> {
    let mut reader = Reader { looker, ..Reader::default() };
    reader.report.format = "XProf XSpace".to_owned();
    let mut fields = Fields::new(bytes);
    let mut planes = 0_u64;
    loop {
        let offset = fields.pos() as u64;
        match fields.next_field() {
            Next::Field(space::PLANE, Value::Bytes(plane)) => {
                planes += 1;
                // The plane's content ends where the field does.
                let start = (fields.pos() - plane.len()) as u64;
                reader.plane(plane, planes, start);
            }
            Next::Field(number @ (space::ERROR | space::WARNING), value) => {
                let words = String::from_utf8_lossy(value.bytes()).into_owned();
                let kind = if number == space::ERROR { "error" } else { "warning" };
                reader.report.note(&format!("{kind} of the profiler: {words}"), Some(offset));
            }
            Next::Field(space::HOST, value) => {
                reader.trace.add_fact("host", &String::from_utf8_lossy(value.bytes()));
            }
            Next::Field(number, _) => reader.unknown("space", number, offset),
            Next::End => break,
            Next::Torn | Next::Bad if planes > 0 => {
                reader.report.note("place where reading ended: a plane is cut or damaged", Some(offset));
                reader.report.torn_tail_bytes = bytes.len() as u64 - offset;
                break;
            }
            Next::Torn | Next::Bad => {
                let hint = "an XSpace is written whole; if the file was copied, copy it again";
                return Err(FormatError::Damaged { what: "No plane that is whole".to_owned(), offset, hint });
            }
        }
    }
    Ok(reader.finish())
}

/// Events between two looks at whether they are still wanted.
const WATCH_EVERY: usize = 1024;

/// A name with what is known of it besides.
#[derive(Clone, Copy, Default)]
struct Meta<'a> {
    name: &'a [u8],
    display_name: &'a [u8],
}

/// The tables of one plane.
#[derive(Default)]
struct Tables<'a> {
    events: FxHashMap<u64, Meta<'a>>,
    event_stats: FxHashMap<u64, Vec<&'a [u8]>>,
    stats: FxHashMap<u64, &'a [u8]>,
}

/// What joins events: number of a launch, or kind and number of a producer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Joint {
    Launch(i64),
    Context(i64, i64),
}

#[derive(Default)]
struct Reader {
    trace: Trace,
    report: ImportReport,
    uuid: u64,
    producers: FxHashMap<Joint, FlowEnd>,
    consumers: Vec<(Joint, FlowEnd)>,
    args: Vec<(NameId, ArgValue)>,
    looker: Looker,
}

/// Where events go, and what is the same for all of them.
struct Place {
    track: TrackId,
    device: bool,
    base_ns: i64,
}

impl Reader {
    fn unknown(&mut self, message: &str, number: u32, offset: u64) {
        self.report.note(&format!("{message} fields of number {number}, not read"), Some(offset));
    }

    fn plane(&mut self, bytes: &[u8], number: u64, offset: u64) {
        let mut tables = Tables::default();
        let (mut name, mut lines, mut stats) = (String::new(), Vec::new(), Vec::new());
        let mut fields = Fields::new(bytes);
        // Tables come after the lines that use them.
        loop {
            let at = fields.pos() as u64;
            match fields.next_field() {
                Next::Field(plane::ID, _) => {}
                Next::Field(plane::NAME, value) => name = String::from_utf8_lossy(value.bytes()).into_owned(),
                Next::Field(plane::LINE, value) => lines.push((value.bytes(), offset + at)),
                Next::Field(plane::EVENT_METADATA, value) => event_metadata(value.bytes(), &mut tables),
                Next::Field(plane::STAT_METADATA, value) => stat_metadata(value.bytes(), &mut tables),
                Next::Field(plane::STAT, value) => stats.push(value.bytes()),
                Next::Field(field, _) => self.unknown("plane", field, offset + at),
                Next::End => break,
                Next::Torn | Next::Bad => {
                    self.report.note("planes that end inside a field, read up to there", Some(offset + at));
                    break;
                }
            }
        }
        if name.is_empty() {
            name = format!("Plane {number}");
        }
        for stat in stats {
            self.fact(&name, stat, &tables);
        }
        let device = name.starts_with("/device:") || name.contains("GPU:") || name.contains("TPU:");
        for (line, offset) in lines {
            self.line(line, (&name, device), &tables, offset);
        }
    }

    /// Something that a plane says of itself.
    fn fact(&mut self, plane: &str, bytes: &[u8], tables: &Tables<'_>) {
        let Some((key, value)) = self.stat(bytes, tables) else { return };
        let (key, value) = (self.trace.name(key).to_owned(), self.trace.value_text(value));
        // Tables of counters and whole programs are no facts for a reader.
        if value.len() <= 256 && !key.is_empty() {
            self.trace.add_fact(&format!("{plane}: {key}"), &value);
        }
    }

    fn line(&mut self, bytes: &[u8], (plane, device): (&str, bool), tables: &Tables<'_>, offset: u64) {
        let (mut id, mut name, mut display_name, mut base_ns) = (0, &[][..], &[][..], 0_i64);
        let mut events = Vec::new();
        let mut fields = Fields::new(bytes);
        loop {
            let at = fields.pos() as u64;
            match fields.next_field() {
                Next::Field(line::ID, value) => id = value.uint(),
                Next::Field(line::NAME, value) => name = value.bytes(),
                Next::Field(line::DISPLAY_NAME, value) => display_name = value.bytes(),
                Next::Field(line::TIMESTAMP_NS, value) => base_ns = value.uint() as i64,
                Next::Field(line::EVENT, value) => events.push((value.bytes(), offset + at)),
                Next::Field(line::DURATION_PS | line::DISPLAY_ID, _) => {}
                Next::Field(field, _) => self.unknown("line", field, offset + at),
                Next::End => break,
                Next::Torn | Next::Bad => {
                    self.report.note("lines that end inside a field, read up to there", Some(offset + at));
                    break;
                }
            }
        }
        let shown = if display_name.is_empty() { name } else { display_name };
        let title = if shown.is_empty() { format!("Line {id}") } else { String::from_utf8_lossy(shown).into_owned() };
        let work = device && !DERIVED_LINES.iter().any(|derived| title.starts_with(derived));
        let kind = if work { TrackKind::Device } else { TrackKind::Thread };
        self.uuid += 1;
        let track = self.trace.add_track(self.uuid, None, &title, plane, kind);
        let place = Place { track, device: work, base_ns };
        for (number, (event, offset)) in events.into_iter().enumerate() {
            if number.is_multiple_of(WATCH_EVERY) && !self.looker.at(offset) {
                return;
            }
            self.event(event, &place, tables, offset);
        }
    }

    fn event(&mut self, bytes: &[u8], place: &Place, tables: &Tables<'_>, offset: u64) {
        let (mut id, mut start_ps, mut dur_ps, mut occurrences) = (0, 0_i64, 0_i64, None);
        self.args.clear();
        let mut stats: Vec<&[u8]> = Vec::new();
        let mut fields = Fields::new(bytes);
        for (number, value) in fields.by_ref() {
            match number {
                event::METADATA_ID => id = value.uint(),
                event::OFFSET_PS => start_ps = value.uint() as i64,
                event::DURATION_PS => dur_ps = value.uint() as i64,
                event::NUM_OCCURRENCES => occurrences = Some(value.uint()),
                event::STAT => stats.push(value.bytes()),
                _ => self.unknown("event", number, offset),
            }
        }
        if fields.next_field() != Next::End {
            self.report.note("events that end inside a field, taken as far as they go", Some(offset));
        }
        if occurrences.is_some() {
            self.report.note("events that are only counted, without a time, left out", Some(offset));
            return;
        }
        let Some((start_ns, dur_ns)) = self.times(place.base_ns, start_ps, dur_ps, offset) else { return };
        let meta = tables.events.get(&id).copied().unwrap_or_else(|| {
            self.report.note("events whose name is not in the plane's table, shown by its number", Some(offset));
            Meta::default()
        });
        let (name, full) = self.names(id, meta);
        let mut joints = Joints::default();
        let more = tables.event_stats.get(&id).map_or(&[][..], Vec::as_slice);
        for bytes in stats.iter().chain(more) {
            match self.stat(bytes, tables) {
                Some((key, value)) => {
                    joints.take(self.trace.name(key), value);
                    self.args.push((key, value));
                }
                None => self.report.note("figures of events without a name or a value, left out", Some(offset)),
            }
        }
        if let Some(full) = full {
            let key = self.trace.intern("full name");
            self.args.push((key, ArgValue::Text(full)));
        }
        let args = self.trace.intern_args(&self.args);
        let category = self.trace.intern(category(self.trace.name(name), place.device));
        self.trace.complete(place.track, start_ns, dur_ns, name, category, args);
        self.report.spans += 1;
        self.join(&joints, place, start_ns);
    }

    /// Start and length in nanoseconds: the picosecond's nanosecond for both ends, so that neighbours stay neighbours.
    fn times(&mut self, base_ns: i64, start_ps: i64, dur_ps: i64, offset: u64) -> Option<(i64, i64)> {
        if !(0..=ABSURD_PS).contains(&dur_ps) {
            self.report
                .note("negative durations and those of more than seven days, drawn without duration", Some(offset));
        }
        let dur_ps = if (0..=ABSURD_PS).contains(&dur_ps) { dur_ps } else { 0 };
        let (start, end) = (start_ps.checked_div_euclid(1000), start_ps.checked_add(dur_ps));
        let (Some(start), Some(end)) = (start, end.map(|end| end.div_euclid(1000))) else {
            self.report.note("events beyond the end of time, left out", Some(offset));
            return None;
        };
        if dur_ps > 0 && end == start {
            self.report.note("events shorter than a nanosecond, drawn without duration", None);
        }
        let Some(start_ns) = base_ns.checked_add(start) else {
            self.report.note("events beyond the end of time, left out", Some(offset));
            return None;
        };
        Some((start_ns, end - start))
    }

    /// The name that is shown, and the whole one where that is another.
    fn names(&mut self, id: u64, meta: Meta<'_>) -> (NameId, Option<NameId>) {
        let mut intern = |bytes: &[u8]| self.trace.intern(&String::from_utf8_lossy(bytes));
        match (meta.display_name, meta.name) {
            ([], []) => (self.trace.intern(&format!("event {id}")), None),
            ([], name) => (intern(name), None),
            (shown, name) if shown == name || name.is_empty() => (intern(shown), None),
            (shown, name) => (intern(shown), Some(intern(name))),
        }
    }

    fn stat(&mut self, bytes: &[u8], tables: &Tables<'_>) -> Option<(NameId, ArgValue)> {
        let (mut key, mut found) = (None, None);
        for (number, value) in Fields::new(bytes) {
            match number {
                stat::METADATA_ID => key = tables.stats.get(&value.uint()),
                stat::DOUBLE => found = Some(ArgValue::Float(value.double())),
                stat::UINT64 | stat::INT64 => found = Some(ArgValue::Int(value.uint() as i64)),
                stat::STR => found = Some(ArgValue::Text(self.text(value.bytes()))),
                stat::BYTES => {
                    let words = format!("{} bytes", value.bytes().len());
                    found = Some(ArgValue::Text(self.trace.intern(&words)));
                }
                stat::REF => {
                    let text = tables.stats.get(&value.uint()).copied().unwrap_or(&[]);
                    found = Some(ArgValue::Text(self.text(text)));
                }
                _ => {}
            }
        }
        Some((self.text(key?), found?))
    }

    fn text(&mut self, bytes: &[u8]) -> NameId {
        self.trace.intern(&String::from_utf8_lossy(bytes))
    }

    fn join(&mut self, joints: &Joints, place: &Place, start_ns: i64) {
        let end = FlowEnd { track: place.track, t_ns: start_ns };
        if let Some(id) = joints.launch {
            let joint = Joint::Launch(id);
            if place.device {
                self.consumers.push((joint, end));
            } else {
                // The first call that bears the number is the launch; later ones only mention it.
                self.producers.entry(joint).or_insert(end);
            }
        }
        if let (Some(kind), Some(id)) = joints.producer {
            self.producers.entry(Joint::Context(kind, id)).or_insert(end);
        }
        if let (Some(kind), Some(id)) = joints.consumer {
            self.consumers.push((Joint::Context(kind, id), end));
        }
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

/// Numbers in an event's figures that join it to others.
#[derive(Default)]
struct Joints {
    launch: Option<i64>,
    producer: (Option<i64>, Option<i64>),
    consumer: (Option<i64>, Option<i64>),
}

impl Joints {
    fn take(&mut self, key: &str, value: ArgValue) {
        let ArgValue::Int(number) = value else { return };
        match key {
            "correlation_id" => self.launch = Some(number),
            "_pt" | "producer_type" => self.producer.0 = Some(number),
            "_p" | "producer_id" => self.producer.1 = Some(number),
            "_ct" | "consumer_type" => self.consumer.0 = Some(number),
            "_c" | "consumer_id" => self.consumer.1 = Some(number),
            _ => {}
        }
    }
}

/// The category of an event, which XProf does not write: by its name and place, in the words of PyTorch's profiler.
fn category(name: &str, device: bool) -> &'static str {
    let starts = |prefix: &str| name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    if device {
        return match name {
            _ if starts("memcpy") || name.contains("copyBuffer") => "gpu_memcpy",
            _ if starts("memset") || name.contains("fillBuffer") => "gpu_memset",
            _ => "kernel",
        };
    }
    let api = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(char::is_uppercase));
    match name {
        _ if api("hip") => "hip_runtime",
        _ if api("cuda") => "cuda_runtime",
        _ if api("cu") => "cuda_driver",
        _ if name.starts_with('$') => "python_function",
        _ => "",
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

fn event_metadata<'a>(bytes: &'a [u8], tables: &mut Tables<'a>) {
    let (key, value) = entry(bytes);
    let mut meta = Meta::default();
    for (number, found) in Fields::new(value) {
        match number {
            metadata::NAME => meta.name = found.bytes(),
            metadata::DISPLAY_NAME => meta.display_name = found.bytes(),
            metadata::STAT => tables.event_stats.entry(key).or_default().push(found.bytes()),
            _ => {}
        }
    }
    tables.events.insert(key, meta);
}

fn stat_metadata<'a>(bytes: &'a [u8], tables: &mut Tables<'a>) {
    let (key, value) = entry(bytes);
    let name = Fields::new(value).find(|(number, _)| *number == metadata::NAME);
    tables.stats.insert(key, name.map_or(&[][..], |(_, name)| name.bytes()));
}
