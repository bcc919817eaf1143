//! Reads Perfetto packets as they arrive, into a trace that others already look at.

use super::super::wire::{Fields, Next, Value};
use super::super::{FormatError, ImportReport};
use super::clocks::Clocks;
use super::field;
use super::legacy::{Asyncs, Legacy};
use super::sequence::Sequence;
use crate::format::device_work;
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, CounterId, FlowEnd, NameId, Trace, TrackId};
use rustc_hash::FxHashMap;

/// Reads a stream of packets in pieces of any size.
///
/// What is not understood is counted in the report and left out. Spans of a track may come in any order as long as the
/// begin and end of each stand next to each other or nest.
#[derive(Debug)]
pub struct PerfettoReader {
    /// Bytes of a packet that has not arrived whole.
    rest: Vec<u8>,
    sequences: FxHashMap<u32, Sequence>,
    packets: Packets,
}

/// What all packets share, whoever wrote them.
#[derive(Debug)]
pub(super) struct Packets {
    /// Place of the packet that is read, in bytes from the beginning.
    offset: u64,
    /// Process names by track.
    processes: FxHashMap<u64, String>,
    counters: FxHashMap<u64, CounterState>,
    /// Arguments of the event that is read.
    pub args: Vec<(NameId, ArgValue)>,
    clocks: Clocks,
    pub asyncs: Asyncs,
    /// The last point of each flow, and whether it was an end.
    flows: FxHashMap<u64, (FlowEnd, bool)>,
    pub report: ImportReport,
}

#[derive(Debug)]
struct CounterState {
    id: CounterId,
    multiplier: f64,
    incremental: bool,
    sum: f64,
}

/// One track event, taken apart.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    kind: u64,
    pub track: Option<u64>,
    name_iid: u64,
    name: Option<&'a [u8]>,
    category_iid: u64,
    category: Option<&'a [u8]>,
    value: Option<f64>,
    pub args: ArgsId,
    legacy: Option<&'a [u8]>,
    pub delta_us: Option<i64>,
    pub absolute_us: Option<i64>,
    /// Numbers of flows, and whether they end here.
    flows: Vec<(u64, bool)>,
}

impl Default for PerfettoReader {
    fn default() -> Self {
        Self::new()
    }
}

impl PerfettoReader {
    /// A reader at the beginning of a file.
    pub fn new() -> Self {
        Self {
            rest: Vec::new(),
            sequences: FxHashMap::default(),
            packets: Packets {
                offset: 0,
                processes: FxHashMap::default(),
                counters: FxHashMap::default(),
                args: Vec::new(),
                clocks: Clocks::default(),
                asyncs: Asyncs::default(),
                flows: FxHashMap::default(),
                report: ImportReport::new("Perfetto"),
            },
        }
    }

    /// Takes the next bytes of the file, adds all whole packets to the trace and settles it.
    ///
    /// # Errors
    /// [`FormatError::Damaged`] if something stands there that cannot be a packet. What came before is in the trace;
    /// nothing after it can be read.
    pub fn feed(&mut self, bytes: &[u8], trace: &mut Trace) -> Result<(), FormatError> {
        let result = if self.rest.is_empty() {
            self.whole_packets(bytes, trace).map(|read| self.rest.extend_from_slice(bytes.get(read..).unwrap_or(&[])))
        } else {
            let mut rest = std::mem::take(&mut self.rest);
            rest.extend_from_slice(bytes);
            self.whole_packets(&rest, trace).map(|read| {
                rest.drain(..read);
                self.rest = rest;
            })
        };
        trace.settle();
        result
    }

    /// What was read so far. Bytes of a packet that has not arrived whole count as torn.
    pub fn report(&self) -> ImportReport {
        let mut report = self.packets.report.clone();
        report.note_many("asynchronous spans without an end, left out", self.packets.asyncs.len(), None);
        ImportReport { torn_tail_bytes: self.rest.len() as u64, ..report }
    }

    /// Reads whole packets; returns the number of bytes they take.
    fn whole_packets(&mut self, bytes: &[u8], trace: &mut Trace) -> Result<usize, FormatError> {
        let base = self.packets.offset;
        let mut fields = Fields::new(bytes);
        loop {
            self.packets.offset = base + fields.pos() as u64;
            match fields.next_field() {
                Next::Field(field::trace::PACKET, Value::Bytes(packet)) => {
                    self.packets.packet(packet, &mut self.sequences, trace);
                }
                Next::Field(..) => self.packets.note("unknown fields beside the packets, left out"),
                Next::End | Next::Torn => return Ok(fields.pos()),
                Next::Bad => {
                    return Err(FormatError::Damaged {
                        what: "Something that is no packet".to_owned(),
                        offset: self.packets.offset,
                        hint: "what came before it was read; if the file was copied, copy it again",
                    });
                }
            }
        }
    }
}

impl Packets {
    pub(super) fn note(&mut self, what: &str) {
        self.report.note(what, Some(self.offset));
    }

    fn packet(&mut self, packet: &[u8], sequences: &mut FxHashMap<u32, Sequence>, trace: &mut Trace) {
        use field::packet as p;
        let (mut time, mut clock, mut sequence_id, mut flags) = (None, 0, 0u32, 0u64);
        let (mut snapshot, mut thread) = (None, None);
        let (mut interned, mut event, mut descriptor, mut defaults) = (None, None, None, None);
        let mut fields = Fields::new(packet);
        // By hand, since an iterator that is lent is called for each field.
        loop {
            let (number, value) = match fields.next_field() {
                Next::Field(number, value) => (number, value),
                Next::End => break,
                Next::Torn | Next::Bad => {
                    self.note("packets that end inside a field");
                    break;
                }
            };
            match number {
                p::TIMESTAMP => time = Some(value.uint() as i64),
                p::SEQUENCE_ID => sequence_id = value.uint() as u32,
                p::SEQUENCE_FLAGS => flags = value.uint(),
                p::INTERNED_DATA => interned = Some(value.bytes()),
                p::TRACK_EVENT => event = Some(value.bytes()),
                p::TRACK_DESCRIPTOR => descriptor = Some(value.bytes()),
                p::DEFAULTS => defaults = Some(value.bytes()),
                p::CLOCK_ID => clock = value.uint(),
                p::CLOCK_SNAPSHOT => snapshot = Some(value.bytes()),
                p::THREAD_DESCRIPTOR => thread = Some(value.bytes()),
                p::CHROME_EVENTS => self.facts(value.bytes(), trace),
                _ => self.note_field("packet", number),
            }
        }
        let sequence = sequences.entry(sequence_id).or_default();
        if flags & field::sequence_flag::STATE_CLEARED != 0 {
            *sequence = Sequence::default();
            self.clocks.cleared(sequence_id);
        }
        if let Some(defaults) = defaults {
            sequence.take_defaults(defaults);
        }
        if let Some(snapshot) = snapshot
            && !self.clocks.snapshot(snapshot, sequence_id)
        {
            self.note("snapshots of clocks that the trace does not count on, left out");
        }
        if let Some(interned) = interned {
            self.interned(interned, sequence, trace);
        }
        if let Some(descriptor) = descriptor {
            self.descriptor(descriptor, trace);
        }
        if let Some(thread) = thread {
            sequence.take_thread(thread, sequence_id, trace);
        }
        // An incremental clock goes on with every packet, whatever is in it.
        let clock = if clock == 0 { sequence.default_clock } else { clock };
        let t_ns = match (time, clock) {
            (Some(time), 0) => Some(time),
            (Some(time), clock) => Some(self.clocks.trace_time(clock, sequence_id, time).unwrap_or_else(|| {
                self.note("times on a clock that no snapshot ties to the trace's, taken as they stand");
                time
            })),
            (None, _) => None,
        };
        if let Some(event) = event {
            self.event(event, t_ns, sequence, trace);
        }
    }

    /// What a file says of itself, as Chrome writes it.
    fn facts(&mut self, bytes: &[u8], trace: &mut Trace) {
        for (number, value) in Fields::new(bytes) {
            if number != field::chrome_events::METADATA {
                self.note_field("chrome event", number);
                continue;
            }
            let name = text_field(value.bytes(), field::chrome_events::NAME);
            match (name, text_field(value.bytes(), field::chrome_events::STRING)) {
                (Some(name), Some(text)) => trace.add_fact(&name, &text),
                _ => self.note("facts that are no text, left out"),
            }
        }
    }

    fn note_field(&mut self, message: &str, number: u32) {
        self.note(&format!("{message} fields of number {number}, not read"));
    }

    fn text(&mut self, bytes: &[u8], trace: &mut Trace) -> NameId {
        match std::str::from_utf8(bytes) {
            Ok(text) => trace.intern(text),
            Err(_) => {
                self.note("texts that are not UTF-8, mended");
                trace.intern(&String::from_utf8_lossy(bytes))
            }
        }
    }

    fn interned(&mut self, bytes: &[u8], sequence: &mut Sequence, trace: &mut Trace) {
        use field::interned as i;
        for (number, entry) in Fields::new(bytes) {
            let map = match number {
                i::CATEGORIES => &mut sequence.categories,
                i::NAMES => &mut sequence.names,
                i::ANNOTATION_NAMES => &mut sequence.keys,
                i::ANNOTATION_STRINGS => &mut sequence.texts,
                _ => {
                    self.note_field("interned", number);
                    continue;
                }
            };
            let (mut iid, mut text) = (0, &[][..]);
            for (number, value) in Fields::new(entry.bytes()) {
                match number {
                    i::IID => iid = value.uint(),
                    i::TEXT => text = value.bytes(),
                    _ => {}
                }
            }
            let name = self.text(text, trace);
            map.insert(iid, name);
        }
    }

    fn descriptor(&mut self, bytes: &[u8], trace: &mut Trace) {
        use field::track as t;
        let (mut uuid, mut parent, mut name) = (0, None, None);
        let (mut process, mut thread, mut counter) = (None, None, None);
        for (number, value) in Fields::new(bytes) {
            match number {
                t::UUID => uuid = value.uint(),
                t::PARENT => parent = Some(value.uint()),
                t::NAME | t::STATIC_NAME => name = Some(lossy(value.bytes())),
                t::PROCESS => process = Some(value.bytes()),
                t::THREAD => thread = Some(value.bytes()),
                t::COUNTER => counter = Some(value.bytes()),
                _ => self.note_field("track", number),
            }
        }
        let process_name = process.and_then(|process| text_field(process, field::process::NAME));
        let thread_name = thread.and_then(|thread| text_field(thread, field::thread::NAME));
        let name = name.or(thread_name).or_else(|| process_name.clone()).unwrap_or_default();
        let inherited = parent.and_then(|parent| self.processes.get(&parent).cloned());
        let process_of = process_name.or(inherited).unwrap_or_default();
        if let Some(counter) = counter {
            self.counter_descriptor(counter, uuid, &name, &process_of, trace);
            return;
        }
        let kind = if process.is_some() { TrackKind::Process } else { TrackKind::from_name(&name) };
        let parent = parent.filter(|&parent| parent != uuid).map(|parent| track_of(parent, trace));
        trace.add_track(uuid, parent, &name, &process_of, kind);
        self.processes.insert(uuid, process_of);
    }

    fn counter_descriptor(&mut self, bytes: &[u8], uuid: u64, name: &str, process: &str, trace: &mut Trace) {
        let (mut unit, mut multiplier, mut incremental) = (String::new(), 1.0, false);
        for (number, value) in Fields::new(bytes) {
            match number {
                field::counter::UNIT_NAME => unit = lossy(value.bytes()),
                field::counter::UNIT => {
                    let known = match value.uint() {
                        1 => "ns",
                        3 => "bytes",
                        _ => "",
                    };
                    unit = known.to_owned();
                }
                field::counter::MULTIPLIER => multiplier = value.uint() as i64 as f64,
                field::counter::INCREMENTAL => incremental = value.uint() != 0,
                _ => self.note_field("counter", number),
            }
        }
        let id = trace.add_counter(uuid, name, &unit, process);
        self.counters.insert(uuid, CounterState { id, multiplier, incremental, sum: 0.0 });
    }

    fn event(&mut self, bytes: &[u8], time: Option<i64>, sequence: &mut Sequence, trace: &mut Trace) {
        let mut event = Event::default();
        self.take_apart(bytes, &mut event, sequence, trace);
        let t_ns = time.or_else(|| sequence.old_time(&event)).unwrap_or(0);
        let old = event.legacy.map(Legacy::of);
        if let Some(old) = &old {
            if event.kind == 0 {
                self.legacy_event(&event, old, t_ns, sequence, trace);
                return;
            }
            event.flows.extend(old.flow());
        }
        let uuid = event.track.unwrap_or(sequence.default_track);
        if event.kind == field::event_type::COUNTER {
            self.counter_value(uuid, t_ns, event.value, trace);
            return;
        }
        let track = track_of(uuid, trace);
        match event.kind {
            field::event_type::BEGIN => {
                let names = self.names(&event, sequence, trace);
                self.begin(&event, track, t_ns, names, trace);
            }
            field::event_type::END => self.end(&event, track, t_ns, trace),
            field::event_type::INSTANT => {
                let names = self.names(&event, sequence, trace);
                self.instant(&event, track, t_ns, names, trace);
            }
            _ => self.note("events of an unknown type, left out"),
        }
    }

    pub(super) fn begin(
        &mut self,
        event: &Event<'_>,
        track: TrackId,
        t_ns: i64,
        (name, category): (NameId, NameId),
        trace: &mut Trace,
    ) {
        if device_work(trace.name(category)) {
            trace.set_kind(track, TrackKind::Device);
        }
        trace.begin(track, t_ns, name, category, event.args);
        self.flow_points(event, FlowEnd { track, t_ns }, trace);
        self.report.spans += 1;
    }

    pub(super) fn end(&mut self, event: &Event<'_>, track: TrackId, t_ns: i64, trace: &mut Trace) {
        if event.args != ArgsId::NONE {
            trace.add_open_args(track, &self.args);
        }
        match trace.end(track, t_ns) {
            None => self.note("ends without a begin, left out"),
            Some(span) if t_ns < span.start_ns => self.note("ends before the begin, drawn without duration"),
            Some(_) => {}
        }
    }

    pub(super) fn instant(
        &mut self,
        event: &Event<'_>,
        track: TrackId,
        t_ns: i64,
        (name, category): (NameId, NameId),
        trace: &mut Trace,
    ) {
        trace.instant(track, t_ns, name, category, event.args);
        self.flow_points(event, FlowEnd { track, t_ns }, trace);
        self.report.instants += 1;
    }

    pub(super) fn flow_points(&mut self, event: &Event<'_>, here: FlowEnd, trace: &mut Trace) {
        for flow in &event.flows {
            self.join_flow(*flow, here, trace);
        }
    }

    /// Joins a point of a flow to the one before. Spans may come in any order, so time decides which comes first, except
    /// that an end is never the beginning: a device's clock may be a little early.
    pub(super) fn join_flow(&mut self, (id, ends): (u64, bool), here: FlowEnd, trace: &mut Trace) {
        let Some((before, ended)) = self.flows.get(&id).copied() else {
            self.flows.insert(id, (here, ends));
            return;
        };
        let forward = if ends == ended { before.t_ns <= here.t_ns } else { ends };
        let (from, to) = if forward { (before, here) } else { (here, before) };
        trace.arrow(NameId::EMPTY, from, to);
        self.report.flows += 1;
        // Further ends belong to the last point that is none.
        let next = match (ended, ends) {
            (false, true) => (before, false),
            (true, false) => (here, false),
            _ if forward => (here, ends),
            _ => (before, ended),
        };
        self.flows.insert(id, next);
    }

    fn take_apart<'a>(&mut self, bytes: &'a [u8], event: &mut Event<'a>, sequence: &Sequence, trace: &mut Trace) {
        use field::event as e;
        self.args.clear();
        for (number, value) in Fields::new(bytes) {
            match number {
                e::TYPE => event.kind = value.uint(),
                e::TRACK_UUID => event.track = Some(value.uint()),
                e::NAME_IID => event.name_iid = value.uint(),
                e::NAME => event.name = Some(value.bytes()),
                e::CATEGORY_IID if event.category_iid == 0 => event.category_iid = value.uint(),
                e::CATEGORY if event.category.is_none() => event.category = Some(value.bytes()),
                e::CATEGORY_IID | e::CATEGORY => self.note("further categories of an event, left out"),
                e::COUNTER_INT => event.value = Some(value.uint() as i64 as f64),
                e::COUNTER_DOUBLE => event.value = Some(value.double()),
                e::FLOW_ID | e::FLOW_ID_OLD => event.flows.push((value.uint(), false)),
                e::TERMINATING_FLOW_ID | e::TERMINATING_FLOW_ID_OLD => event.flows.push((value.uint(), true)),
                e::ANNOTATION => self.annotation(value.bytes(), sequence, trace),
                e::LEGACY => event.legacy = Some(value.bytes()),
                e::TIME_DELTA_US => event.delta_us = Some(value.uint() as i64),
                e::TIME_ABSOLUTE_US => event.absolute_us = Some(value.uint() as i64),
                _ => self.note_field("event", number),
            }
        }
        event.args = trace.intern_args(&self.args);
    }

    fn annotation(&mut self, bytes: &[u8], sequence: &Sequence, trace: &mut Trace) {
        use field::annotation as a;
        let (mut key, mut found) = (NameId::EMPTY, None);
        for (number, value) in Fields::new(bytes) {
            match number {
                a::NAME_IID => key = self.known(&sequence.keys, value.uint()),
                a::NAME => key = self.text(value.bytes(), trace),
                a::BOOL => found = Some(ArgValue::Bool(value.uint() != 0)),
                a::UINT | a::INT | a::POINTER => found = Some(ArgValue::Int(value.uint() as i64)),
                a::DOUBLE => found = Some(ArgValue::Float(value.double())),
                a::STRING | a::LEGACY_JSON => found = Some(ArgValue::Text(self.text(value.bytes(), trace))),
                a::STRING_IID => found = Some(ArgValue::Text(self.known(&sequence.texts, value.uint()))),
                _ => self.note_field("argument", number),
            }
        }
        match found {
            Some(value) => self.args.push((key, value)),
            None => self.note("arguments without a value that is read, left out"),
        }
    }

    pub(super) fn names(&mut self, event: &Event, sequence: &Sequence, trace: &mut Trace) -> (NameId, NameId) {
        let name = match event.name {
            Some(text) => self.text(text, trace),
            None => self.known(&sequence.names, event.name_iid),
        };
        let category = match event.category {
            Some(text) => self.text(text, trace),
            None => self.known(&sequence.categories, event.category_iid),
        };
        (name, category)
    }

    /// The text with this number; 0 stands for none.
    pub(super) fn known(&mut self, map: &FxHashMap<u64, NameId>, iid: u64) -> NameId {
        if iid == 0 {
            return NameId::EMPTY;
        }
        map.get(&iid).copied().unwrap_or_else(|| {
            self.note("texts that were announced in a lost packet, left empty");
            NameId::EMPTY
        })
    }

    fn counter_value(&mut self, uuid: u64, t_ns: i64, value: Option<f64>, trace: &mut Trace) {
        let Some(value) = value else {
            self.note("counter events without a value, left out");
            return;
        };
        let state = self.counters.entry(uuid).or_insert_with(|| CounterState {
            id: trace.add_counter(uuid, &format!("Counter {uuid}"), "", ""),
            multiplier: 1.0,
            incremental: false,
            sum: 0.0,
        });
        state.sum = if state.incremental { state.sum + value } else { value };
        trace.sample(state.id, t_ns, state.sum * state.multiplier);
        self.report.counters += 1;
    }
}

/// The track with this identifier; one that was not described is added with a made-up name.
pub(super) fn track_of(uuid: u64, trace: &mut Trace) -> TrackId {
    match trace.track_by_uuid(uuid) {
        Some(id) => id,
        None => trace.add_track(uuid, None, &format!("Track {uuid}"), "", TrackKind::Thread),
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn text_field(message: &[u8], number: u32) -> Option<String> {
    Fields::new(message).find(|(found, _)| *found == number).map(|(_, value)| lossy(value.bytes()))
}
