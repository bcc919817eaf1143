//! Writes Perfetto packets as events happen. Every packet is framed by itself, so a file that is cut anywhere can be
//! read up to its last whole packet.

use super::super::wire::{put_bytes, put_double, put_fixed64, put_uint};
use super::field;
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// Bytes that are gathered before they go to the file.
const BUFFER_BYTES: usize = 64 * 1024;

/// Longest text value that is interned; longer ones are written out each time.
const MAX_INTERNED_BYTES: usize = 512;

/// Most texts of a kind that are interned, so that values which never repeat do not fill the memory.
const MAX_INTERNED: usize = 1 << 16;

/// Identifier of the writer's packet sequence; interned numbers are valid within it.
const SEQUENCE: u64 = 1;

/// The value of an argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg<'a> {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(&'a str),
}

/// Writes packets into anything that takes bytes. Times are nanoseconds of one clock.
///
/// Packets are buffered; [`PacketWriter::flush`] hands them over. After an error of the output nothing more is written,
/// because a packet may have been cut: every later call returns an error too.
#[derive(Debug)]
pub struct PacketWriter<W: Write> {
    out: W,
    buffer: Vec<u8>,
    event: Vec<u8>,
    interned: Vec<u8>,
    scratch: Vec<u8>,
    names: Interner,
    categories: Interner,
    keys: Interner,
    texts: Interner,
    state_cleared: bool,
    failed: bool,
    bytes: u64,
    flows: Vec<(u32, u64)>,
}

#[derive(Debug, Default)]
struct Interner {
    known: FxHashMap<Box<str>, u64>,
}

impl Interner {
    /// The number of a text; a new one is announced in `interned`. `None` if it is not to be interned.
    #[inline]
    fn number(&mut self, text: &str, field: u32, interned: &mut Vec<u8>, scratch: &mut Vec<u8>) -> Option<u64> {
        if let Some(&number) = self.known.get(text) {
            return Some(number);
        }
        if text.len() > MAX_INTERNED_BYTES || self.known.len() >= MAX_INTERNED {
            return None;
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert(text.into(), number);
        scratch.clear();
        put_uint(scratch, field::interned::IID, number);
        put_bytes(scratch, field::interned::TEXT, text.as_bytes());
        put_bytes(interned, field, scratch);
        Some(number)
    }
}

impl<W: Write> PacketWriter<W> {
    /// Starts a packet sequence. The output may already hold packets of an earlier writer.
    pub fn new(out: W) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(BUFFER_BYTES + 4096),
            event: Vec::with_capacity(512),
            interned: Vec::with_capacity(512),
            scratch: Vec::with_capacity(512),
            names: Interner::default(),
            categories: Interner::default(),
            keys: Interner::default(),
            texts: Interner::default(),
            state_cleared: false,
            failed: false,
            bytes: 0,
            flows: Vec::new(),
        }
    }

    /// Bytes written so far, those in the buffer included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the trace says of itself: names and values. Other viewers show them as metadata.
    pub fn facts(&mut self, facts: &[(String, String)]) -> io::Result<()> {
        if facts.is_empty() {
            return Ok(());
        }
        let mut events = Vec::new();
        for (name, value) in facts {
            let mut fact = Vec::new();
            put_bytes(&mut fact, field::chrome_events::NAME, name.as_bytes());
            put_bytes(&mut fact, field::chrome_events::STRING, value.as_bytes());
            put_bytes(&mut events, field::chrome_events::METADATA, &fact);
        }
        let mut packet = Vec::new();
        put_uint(&mut packet, field::packet::SEQUENCE_ID, SEQUENCE);
        put_bytes(&mut packet, field::packet::CHROME_EVENTS, &events);
        self.frame(&packet)
    }

    /// Describes a process, the parent of tracks. `uuid` is any number but 0 that no other track has.
    pub fn process(&mut self, uuid: u64, name: &str, pid: u32) -> io::Result<()> {
        let mut process = Vec::new();
        put_uint(&mut process, field::process::PID, u64::from(pid));
        put_bytes(&mut process, field::process::NAME, name.as_bytes());
        self.descriptor(uuid, None, name, |out| put_bytes(out, field::track::PROCESS, &process))
    }

    /// Describes a track, before its first event.
    pub fn track(&mut self, uuid: u64, parent: Option<u64>, name: &str) -> io::Result<()> {
        self.descriptor(uuid, parent, name, |_| {})
    }

    /// Describes a counter, before its first value.
    pub fn counter_track(&mut self, uuid: u64, parent: Option<u64>, name: &str, unit: &str) -> io::Result<()> {
        let mut counter = Vec::new();
        if !unit.is_empty() {
            put_bytes(&mut counter, field::counter::UNIT_NAME, unit.as_bytes());
        }
        self.descriptor(uuid, parent, name, |out| put_bytes(out, field::track::COUNTER, &counter))
    }

    /// Begins a span on a track.
    pub fn begin(&mut self, track: u64, t_ns: i64, name: &str, category: &str, args: &[(&str, Arg)]) -> io::Result<()> {
        self.named_event(field::event_type::BEGIN, track, t_ns, name, category, args)
    }

    /// Numbers of flows that the next span or moment begins (or passes on) and ends.
    pub fn flows_of_next(&mut self, begin: &[u64], end: &[u64]) {
        self.flows.extend(begin.iter().map(|id| (field::event::FLOW_ID, *id)));
        self.flows.extend(end.iter().map(|id| (field::event::TERMINATING_FLOW_ID, *id)));
    }

    /// Ends the span of a track that began last.
    pub fn end(&mut self, track: u64, t_ns: i64) -> io::Result<()> {
        self.event.clear();
        put_uint(&mut self.event, field::event::TYPE, field::event_type::END);
        put_uint(&mut self.event, field::event::TRACK_UUID, track);
        self.event_packet(t_ns)
    }

    /// Writes a whole span. Spans of a track may come in any order.
    pub fn span(
        &mut self,
        track: u64,
        start_ns: i64,
        dur_ns: i64,
        name: &str,
        category: &str,
        args: &[(&str, Arg)],
    ) -> io::Result<()> {
        self.begin(track, start_ns, name, category, args)?;
        self.end(track, start_ns.saturating_add(dur_ns.max(0)))
    }

    /// Writes a moment on a track.
    pub fn instant(
        &mut self,
        track: u64,
        t_ns: i64,
        name: &str,
        category: &str,
        args: &[(&str, Arg)],
    ) -> io::Result<()> {
        self.named_event(field::event_type::INSTANT, track, t_ns, name, category, args)
    }

    /// Writes a value of a counter.
    pub fn counter(&mut self, track: u64, t_ns: i64, value: f64) -> io::Result<()> {
        self.event.clear();
        put_uint(&mut self.event, field::event::TYPE, field::event_type::COUNTER);
        put_uint(&mut self.event, field::event::TRACK_UUID, track);
        put_double(&mut self.event, field::event::COUNTER_DOUBLE, value);
        self.event_packet(t_ns)
    }

    /// Hands all packets to the output and flushes it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.drain()?;
        self.out.flush().inspect_err(|_| self.failed = true)
    }

    /// Flushes and returns the output.
    pub fn into_inner(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    fn descriptor(
        &mut self,
        uuid: u64,
        parent: Option<u64>,
        name: &str,
        kind: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let mut track = Vec::new();
        put_uint(&mut track, field::track::UUID, uuid);
        put_bytes(&mut track, field::track::NAME, name.as_bytes());
        if let Some(parent) = parent {
            put_uint(&mut track, field::track::PARENT, parent);
        }
        kind(&mut track);
        let mut packet = Vec::new();
        put_uint(&mut packet, field::packet::SEQUENCE_ID, SEQUENCE);
        put_bytes(&mut packet, field::packet::TRACK_DESCRIPTOR, &track);
        self.frame(&packet)
    }

    fn named_event(
        &mut self,
        kind: u64,
        track: u64,
        t_ns: i64,
        name: &str,
        category: &str,
        args: &[(&str, Arg)],
    ) -> io::Result<()> {
        use field::{event, interned};
        self.event.clear();
        put_uint(&mut self.event, event::TYPE, kind);
        put_uint(&mut self.event, event::TRACK_UUID, track);
        match self.names.number(name, interned::NAMES, &mut self.interned, &mut self.scratch) {
            Some(number) => put_uint(&mut self.event, event::NAME_IID, number),
            None => put_bytes(&mut self.event, event::NAME, name.as_bytes()),
        }
        if !category.is_empty() {
            match self.categories.number(category, interned::CATEGORIES, &mut self.interned, &mut self.scratch) {
                Some(number) => put_uint(&mut self.event, event::CATEGORY_IID, number),
                None => put_bytes(&mut self.event, event::CATEGORY, category.as_bytes()),
            }
        }
        for (key, value) in args {
            self.annotation(key, *value);
        }
        for (field, id) in self.flows.drain(..) {
            put_fixed64(&mut self.event, field, id);
        }
        self.event_packet(t_ns)
    }

    fn annotation(&mut self, key: &str, value: Arg) {
        use field::{annotation, interned};
        let key_number = self.keys.number(key, interned::ANNOTATION_NAMES, &mut self.interned, &mut self.scratch);
        let text_number = match value {
            Arg::Text(text) => {
                self.texts.number(text, interned::ANNOTATION_STRINGS, &mut self.interned, &mut self.scratch)
            }
            _ => None,
        };
        let out = &mut self.scratch;
        out.clear();
        match key_number {
            Some(number) => put_uint(out, annotation::NAME_IID, number),
            None => put_bytes(out, annotation::NAME, key.as_bytes()),
        }
        match (value, text_number) {
            (Arg::Int(value), _) => put_uint(out, annotation::INT, value as u64),
            (Arg::Float(value), _) => put_double(out, annotation::DOUBLE, value),
            (Arg::Bool(value), _) => put_uint(out, annotation::BOOL, u64::from(value)),
            (Arg::Text(_), Some(number)) => put_uint(out, annotation::STRING_IID, number),
            (Arg::Text(text), None) => put_bytes(out, annotation::STRING, text.as_bytes()),
        }
        put_bytes(&mut self.event, field::event::ANNOTATION, out);
    }

    /// Frames the event that was prepared, with the texts that it names for the first time.
    fn event_packet(&mut self, t_ns: i64) -> io::Result<()> {
        let mut packet = std::mem::take(&mut self.scratch);
        packet.clear();
        put_uint(&mut packet, field::packet::TIMESTAMP, t_ns as u64);
        put_uint(&mut packet, field::packet::SEQUENCE_ID, SEQUENCE);
        let cleared = if self.state_cleared { 0 } else { field::sequence_flag::STATE_CLEARED };
        self.state_cleared = true;
        put_uint(&mut packet, field::packet::SEQUENCE_FLAGS, field::sequence_flag::NEEDS_STATE | cleared);
        if !self.interned.is_empty() {
            put_bytes(&mut packet, field::packet::INTERNED_DATA, &self.interned);
            self.interned.clear();
        }
        put_bytes(&mut packet, field::packet::TRACK_EVENT, &self.event);
        let result = self.frame(&packet);
        self.scratch = packet;
        result
    }

    fn frame(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("writing the trace has failed before; nothing more is recorded"));
        }
        let before = self.buffer.len();
        put_bytes(&mut self.buffer, field::trace::PACKET, packet);
        self.bytes += (self.buffer.len() - before) as u64;
        if self.buffer.len() >= BUFFER_BYTES { self.drain() } else { Ok(()) }
    }

    fn drain(&mut self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("writing the trace has failed before; nothing more is recorded"));
        }
        let result = self.out.write_all(&self.buffer);
        self.failed = result.is_err();
        self.buffer.clear();
        result
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"));
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_said_and_stays_said() {
        let mut writer = PacketWriter::new(Full(100));
        let failed = (0..10_000).map(|i| writer.span(1, i, 1, "n", "c", &[])).find(Result::is_err).unwrap();
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(writer.span(1, 0, 1, "n", "c", &[]).is_err());
        assert!(writer.flush().is_err());
    }

    #[test]
    fn repeated_texts_are_written_once() {
        let mut writer = PacketWriter::new(Vec::new());
        for i in 0..1000 {
            writer
                .span(7, i * 10, 5, "a rather long name of an operation", "op", &[("dtype", Arg::Text("f32"))])
                .unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let needle = b"a rather long name";
        assert_eq!(bytes.windows(needle.len()).filter(|window| window == needle).count(), 1);
        assert!(bytes.len() < 1000 * 60, "{} bytes", bytes.len());
    }
}
