//! Writes a trace as Chrome JSON. Spans of one thread nest there, so spans that overlap without nesting get a thread of
//! their own beside it.

use super::super::decimal::{put_digits, put_micros};
use super::super::json::put_text;
use super::super::nesting::nested;
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, FlowEnd, Span, SpanRef, Trace, Track};
use rustc_hash::FxHashMap;
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
    let mut writer = Writer {
        trace,
        out,
        piece: Vec::with_capacity(PIECE_BYTES * 2),
        first: true,
        processes: Vec::new(),
        moved: FxHashMap::default(),
    };
    writer.head();
    for track in trace.tracks() {
        writer.track(track)?;
    }
    for counter in trace.counters() {
        let pid = writer.process(&counter.process)?;
        let key = if counter.unit.is_empty() { "value" } else { &counter.unit };
        for (t_ns, value) in counter.iter() {
            writer.open(b'C', pid, None, t_ns, &counter.name)?;
            writer.piece.extend_from_slice(b",\"args\":{");
            put_text(&mut writer.piece, key);
            writer.piece.push(b':');
            put_float(&mut writer.piece, value);
            writer.piece.extend_from_slice(b"}}");
        }
    }
    writer.flows()?;
    writer.piece.extend_from_slice(b"\n]}\n");
    writer.out.write_all(&writer.piece)?;
    writer.out.flush()
}

struct Writer<'a, W> {
    trace: &'a Trace,
    out: W,
    piece: Vec<u8>,
    first: bool,
    processes: Vec<String>,
    /// Threads of spans that are not on the thread of their track.
    moved: FxHashMap<SpanRef, u64>,
}

/// Number of a track's thread. Lanes of one track are far apart in number from those of the next.
fn tid_of(track: &Track) -> u64 {
    (u64::from(track.id.0) + 1) * 10_000
}

impl<W: Write> Writer<'_, W> {
    /// The beginning, with what the trace says of itself.
    fn head(&mut self) {
        self.piece.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",");
        for (what, value) in self.trace.facts() {
            // These two would be taken for the format's own.
            if !matches!(what.as_str(), "displayTimeUnit" | "traceEvents") {
                put_text(&mut self.piece, what);
                self.piece.push(b':');
                put_text(&mut self.piece, value);
                self.piece.push(b',');
            }
        }
        self.piece.extend_from_slice(b"\"traceEvents\":[");
    }

    /// Arrows, as pairs of flow events.
    fn flows(&mut self) -> io::Result<()> {
        let trace = self.trace;
        for (number, arrow) in trace.flows().iter().enumerate() {
            for (kind, end) in [(b's', arrow.from), (b'f', arrow.to)] {
                let Some(track) = trace.track(end.track) else { continue };
                let pid = self.process(&track.process)?;
                let tid = self.thread_at(track, end);
                self.open(kind, pid, Some(tid), end.t_ns, trace.name(arrow.name))?;
                self.piece.extend_from_slice(b",\"cat\":\"flow\",\"id\":");
                put_digits(&mut self.piece, number as u64 + 1, 1);
                self.piece.extend_from_slice(if kind == b'f' { b",\"bp\":\"e\"}" } else { b"}" });
            }
        }
        Ok(())
    }

    /// The thread on which the span that an arrow means was written.
    fn thread_at(&self, track: &Track, end: FlowEnd) -> u64 {
        let moved = track.innermost_at(end.t_ns).and_then(|at| self.moved.get(&at));
        moved.copied().unwrap_or_else(|| tid_of(track))
    }

    /// A track that is no thread: each outermost span and what is inside it under an identifier of its own.
    fn async_track(&mut self, pid: u64, track: &Track) -> io::Result<()> {
        let roots = track.spans().filter(|(at, _)| at.depth == 0 || self.trace.parent(*at).is_none());
        for (number, (root, _)) in roots.enumerate() {
            let id = format!("{}.{number}", track.id.0);
            self.async_span(pid, track, &id, root)?;
        }
        Ok(())
    }

    /// A span and, by recursion as deep as they nest (at most 4,096, the store's limit), what is inside it.
    fn async_span(&mut self, pid: u64, track: &Track, id: &str, at: SpanRef) -> io::Result<()> {
        let Some(span) = self.trace.span(at) else { return Ok(()) };
        self.async_event(b'b', pid, track, (id, span.start_ns), &span)?;
        for idx in track.children(at.depth as usize, at.idx as usize) {
            self.async_span(pid, track, id, SpanRef { depth: at.depth + 1, idx: idx as u32, ..at })?;
        }
        if span.is_open() { Ok(()) } else { self.async_event(b'e', pid, track, (id, span.end_ns()), &span) }
    }

    fn async_event(
        &mut self,
        kind: u8,
        pid: u64,
        track: &Track,
        (id, t_ns): (&str, i64),
        span: &Span,
    ) -> io::Result<()> {
        self.open(kind, pid, Some(tid_of(track)), t_ns, self.trace.name(span.name))?;
        self.piece.extend_from_slice(b",\"id\":");
        put_text(&mut self.piece, id);
        self.details(span);
        Ok(())
    }

    /// Number of a process, which is named when it is met first.
    fn process(&mut self, name: &str) -> io::Result<u64> {
        if let Some(at) = self.processes.iter().position(|known| known == name) {
            return Ok(at as u64 + 1);
        }
        self.processes.push(name.to_owned());
        let pid = self.processes.len() as u64;
        if !name.is_empty() {
            self.metadata("process_name", pid, 0, name)?;
        }
        Ok(pid)
    }

    fn track(&mut self, track: &Track) -> io::Result<()> {
        let pid = self.process(&track.process)?;
        if track.kind == TrackKind::Process && track.depth_count() == 0 && track.instants().is_empty() {
            return Ok(());
        }
        if track.kind == TrackKind::Async {
            self.async_track(pid, track)?;
            return self.moments(pid, track);
        }
        let tid = tid_of(track);
        self.metadata("thread_name", pid, tid, &track.name)?;
        let mut named = Vec::new();
        for (at, span, _, nests) in &nested(track, Span::end_ns) {
            if *nests {
                self.span(pid, tid, span)?;
                continue;
            }
            // Spans of one lane do not overlap, so each lane with such spans gets a thread.
            let own_tid = tid + u64::from(at.depth);
            if !named.contains(&at.depth) {
                named.push(at.depth);
                self.metadata("thread_name", pid, own_tid, &format!("{} (overlapping)", track.name))?;
            }
            self.moved.insert(*at, own_tid);
            self.span(pid, own_tid, span)?;
        }
        self.moments(pid, track)
    }

    fn moments(&mut self, pid: u64, track: &Track) -> io::Result<()> {
        let tid = tid_of(track);
        for instant in track.instants().iter() {
            self.open(b'i', pid, Some(tid), instant.start_ns, self.trace.name(instant.name))?;
            self.piece.extend_from_slice(b",\"s\":\"t\"");
            self.details(&instant);
        }
        Ok(())
    }

    fn span(&mut self, pid: u64, tid: u64, span: &Span) -> io::Result<()> {
        let kind = if span.is_open() { b'B' } else { b'X' };
        self.open(kind, pid, Some(tid), span.start_ns, self.trace.name(span.name))?;
        if !span.is_open() {
            self.piece.extend_from_slice(b",\"dur\":");
            put_micros(&mut self.piece, span.dur_ns);
        }
        self.details(span);
        Ok(())
    }

    /// Begins an event's object; the caller closes it.
    fn open(&mut self, kind: u8, pid: u64, tid: Option<u64>, t_ns: i64, name: &str) -> io::Result<()> {
        self.start()?;
        let out = &mut self.piece;
        out.extend_from_slice(b"{\"ph\":\"");
        out.push(kind);
        out.extend_from_slice(b"\",\"pid\":");
        put_digits(out, pid, 1);
        if let Some(tid) = tid {
            out.extend_from_slice(b",\"tid\":");
            put_digits(out, tid, 1);
        }
        out.extend_from_slice(b",\"ts\":");
        put_micros(out, t_ns);
        out.extend_from_slice(b",\"name\":");
        put_text(out, name);
        Ok(())
    }

    /// Category and arguments, and the end of the object.
    fn details(&mut self, span: &Span) {
        let out = &mut self.piece;
        let category = self.trace.name(span.category);
        if !category.is_empty() {
            out.extend_from_slice(b",\"cat\":");
            put_text(out, category);
        }
        if span.args != ArgsId::NONE {
            out.extend_from_slice(b",\"args\":{");
            for (i, (key, value)) in self.trace.args(span.args).enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                put_text(out, self.trace.name(key));
                out.push(b':');
                match value {
                    ArgValue::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
                    ArgValue::Float(value) => put_float(out, value),
                    ArgValue::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
                    ArgValue::Text(text) => put_text(out, self.trace.name(text)),
                }
            }
            out.push(b'}');
        }
        out.push(b'}');
    }

    fn metadata(&mut self, what: &str, pid: u64, tid: u64, name: &str) -> io::Result<()> {
        self.start()?;
        let head = format!("{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"name\":\"{what}\",\"args\":{{\"name\":");
        self.piece.extend_from_slice(head.as_bytes());
        put_text(&mut self.piece, name);
        self.piece.extend_from_slice(b"}}");
        Ok(())
    }

    /// Separates events, and writes out what was gathered.
    fn start(&mut self) -> io::Result<()> {
        if self.piece.len() >= PIECE_BYTES {
            self.out.write_all(&self.piece)?;
            self.piece.clear();
        }
        let separator: &[u8] = if std::mem::take(&mut self.first) { b"\n" } else { b",\n" };
        self.piece.extend_from_slice(separator);
        Ok(())
    }
}

/// A number with a point or exponent, so that it is read as one again; what JSON cannot say becomes a text.
fn put_float(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        out.extend_from_slice(format!("{value:?}").as_bytes());
    } else {
        put_text(out, &value.to_string());
    }
}
