//! Writes a trace as speedscope's JSON: one profile a track that has spans. Frames of one profile must nest, so spans
//! that overlap without nesting get a profile of their own beside it.
//!
//! Speedscope knows no moments, counters, categories and processes, and of a span's arguments only `file`, `line` and
//! `col`; the rest is left out. It refuses a profile with a frame that is still open, so a span without an end is
//! closed where its track ends, and its name says so.

use super::super::decimal::put_whole;
use super::super::json::put_text;
use super::super::nesting::nested;
use crate::trace::{ArgValue, ArgsId, NameId, Span, Trace, Track};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Bytes that are gathered before they are written.
const PIECE_BYTES: usize = 1 << 16;

/// The whole trace as JSON.
pub fn to_json(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing into memory does not fail.
    write(trace, &mut out).ok();
    out
}

/// Writes the trace as JSON.
///
/// # Errors
/// If the output refuses.
pub fn write(trace: &Trace, out: impl Write) -> io::Result<()> {
    let mut writer = Writer { trace, out, piece: Vec::new(), frames: FxHashMap::default(), first: true };
    writer.piece.extend_from_slice(
        concat!(
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"burnscope ",
            env!("CARGO_PKG_VERSION"),
            "\",\n\"shared\":{\"frames\":["
        )
        .as_bytes(),
    );
    writer.frames()?;
    writer.piece.extend_from_slice(b"]},\n\"profiles\":[");
    for track in trace.tracks() {
        writer.track(track)?;
    }
    writer.piece.extend_from_slice(b"]}\n");
    writer.out.write_all(&writer.piece)?;
    writer.out.flush()
}

/// What tells frames apart: the name, whether the span has no end, and the arguments that a frame can have.
type Key = (NameId, bool, [Option<Argument>; 3]);

/// The value of `file`, `line` or `col`, with which it can be told from another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Argument {
    Int(i64),
    Text(NameId),
}

struct Writer<'a, W> {
    trace: &'a Trace,
    out: W,
    piece: Vec<u8>,
    frames: FxHashMap<Key, usize>,
    first: bool,
}

impl<W: Write> Writer<'_, W> {
    /// The table of frames.
    fn frames(&mut self) -> io::Result<()> {
        for track in self.trace.tracks() {
            for (_, span) in track.spans() {
                let key = self.key(&span);
                let number = self.frames.len();
                if *self.frames.entry(key).or_insert(number) == number {
                    self.separate(number == 0)?;
                    self.frame(&key);
                }
            }
        }
        Ok(())
    }

    fn key(&self, span: &Span) -> Key {
        let mut args = [None; 3];
        if span.args != ArgsId::NONE {
            for (place, key) in args.iter_mut().zip(["file", "line", "col"]) {
                *place = match self.trace.arg(span, key) {
                    Some(ArgValue::Int(value)) => Some(Argument::Int(value)),
                    Some(ArgValue::Text(text)) => Some(Argument::Text(text)),
                    _ => None,
                };
            }
        }
        (span.name, span.is_open(), args)
    }

    fn frame(&mut self, (name, open, args): &Key) {
        let out = &mut self.piece;
        out.extend_from_slice(b"{\"name\":");
        let name = self.trace.name(*name);
        if *open {
            put_text(out, &format!("{name} (not ended)"))
        } else {
            put_text(out, name)
        }
        for (value, key) in args.iter().zip(["file", "line", "col"]) {
            let Some(value) = value else { continue };
            out.extend_from_slice(format!(",\"{key}\":").as_bytes());
            match value {
                Argument::Int(value) => put_whole(out, *value),
                Argument::Text(text) => put_text(out, self.trace.name(*text)),
            }
        }
        out.push(b'}');
    }

    fn track(&mut self, track: &Track) -> io::Result<()> {
        let Some((_, track_end)) = track.bounds() else { return Ok(()) };
        let end_of = |span: &Span| if span.is_open() { track_end.max(span.start_ns) } else { span.end_ns() };
        let mut nesting: Vec<(Span, i64)> = Vec::new();
        // Spans of one lane do not overlap, so each lane with such spans gets a profile.
        let mut beside: BTreeMap<u16, Vec<(Span, i64)>> = BTreeMap::new();
        for (at, span, end_ns, nests) in nested(track, end_of) {
            let list = if nests { &mut nesting } else { beside.entry(at.depth).or_default() };
            list.push((span, end_ns));
        }
        let name = if track.name.is_empty() { "(unnamed track)" } else { &track.name };
        let twin = self.trace.tracks().iter().any(|other| other.id != track.id && other.name == track.name);
        let name =
            if twin && !track.process.is_empty() { format!("{name} ({})", track.process) } else { name.to_owned() };
        self.profile(&name, &nesting)?;
        for spans in beside.values() {
            self.profile(&format!("{name} (overlapping)"), spans)?;
        }
        Ok(())
    }

    /// A profile of spans that nest, with their ends, in the order of time, outer ones first.
    fn profile(&mut self, name: &str, spans: &[(Span, i64)]) -> io::Result<()> {
        let Some((first, _)) = spans.first() else { return Ok(()) };
        let end_ns = spans.iter().map(|(_, end_ns)| *end_ns).max().unwrap_or(first.start_ns);
        let is_first = std::mem::take(&mut self.first);
        self.separate(is_first)?;
        self.piece.extend_from_slice(b"{\"type\":\"evented\",\"name\":");
        put_text(&mut self.piece, name);
        self.piece.extend_from_slice(b",\"unit\":\"nanoseconds\",\"startValue\":");
        put_whole(&mut self.piece, first.start_ns);
        self.piece.extend_from_slice(b",\"endValue\":");
        put_whole(&mut self.piece, end_ns);
        self.piece.extend_from_slice(b",\"events\":[");
        let mut open: Vec<(usize, i64)> = Vec::new();
        let mut first = true;
        for (span, end_ns) in spans {
            while let Some((frame, end_ns)) = open.pop_if(|(_, end_ns)| *end_ns <= span.start_ns) {
                self.event(b'C', frame, end_ns, &mut first)?;
            }
            let frame = self.frames.get(&self.key(span)).copied().unwrap_or(0);
            self.event(b'O', frame, span.start_ns, &mut first)?;
            open.push((frame, *end_ns));
        }
        while let Some((frame, end_ns)) = open.pop() {
            self.event(b'C', frame, end_ns, &mut first)?;
        }
        self.piece.extend_from_slice(b"]}");
        Ok(())
    }

    fn event(&mut self, kind: u8, frame: usize, t_ns: i64, first: &mut bool) -> io::Result<()> {
        self.separate(std::mem::take(first))?;
        self.piece.extend_from_slice(b"{\"type\":\"");
        self.piece.push(kind);
        self.piece.extend_from_slice(b"\",\"frame\":");
        put_whole(&mut self.piece, i64::try_from(frame).unwrap_or(0));
        self.piece.extend_from_slice(b",\"at\":");
        put_whole(&mut self.piece, t_ns);
        self.piece.push(b'}');
        Ok(())
    }

    /// Separates items of a list, and writes out what was gathered.
    fn separate(&mut self, first: bool) -> io::Result<()> {
        if self.piece.len() >= PIECE_BYTES {
            self.out.write_all(&self.piece)?;
            self.piece.clear();
        }
        self.piece.extend_from_slice(if first { b"\n" } else { b",\n" });
        Ok(())
    }
}
