//! Writes a trace as Chrome JSON. Spans of one thread nest there, so spans that overlap without nesting get a thread of
//! their own beside it.

use super::super::decimal::{put_digits, put_micros};
use super::super::json::put_text;
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, Span, SpanRef, Trace, Track};
use std::cmp::Reverse;
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
    let mut writer =
        Writer { trace, out, piece: Vec::with_capacity(PIECE_BYTES * 2), first: true, processes: Vec::new() };
    writer.piece.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
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
}

impl<W: Write> Writer<'_, W> {
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
        // Lanes of one track are far apart in number from those of the next.
        let tid = (u64::from(track.id.0) + 1) * 10_000;
        self.metadata("thread_name", pid, tid, &track.name)?;
        let mut spans: Vec<(SpanRef, Span)> = track.spans().collect();
        spans.sort_by_key(|(_, span)| (span.start_ns, Reverse(span.end_ns())));
        // Ends of the spans of the thread that the current one may lie in, innermost last.
        let mut around: Vec<i64> = Vec::new();
        let mut named = Vec::new();
        for (at, span) in &spans {
            around.truncate(around.iter().rposition(|&end| end > span.start_ns).map_or(0, |last| last + 1));
            if around.last().is_none_or(|&end| end >= span.end_ns()) {
                around.push(span.end_ns());
                self.span(pid, tid, span)?;
                continue;
            }
            // Spans of one lane do not overlap, so each lane with such spans gets a thread.
            let own_tid = tid + u64::from(at.depth);
            if !named.contains(&at.depth) {
                named.push(at.depth);
                self.metadata("thread_name", pid, own_tid, &format!("{} (overlapping)", track.name))?;
            }
            self.span(pid, own_tid, span)?;
        }
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
            for (i, (key, value)) in self.trace.args(span.args).iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                put_text(out, self.trace.name(*key));
                out.push(b':');
                match *value {
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
