//! Writes a whole trace as Perfetto packets. Slices of one track nest there, so spans that overlap without nesting get a
//! track of their own beside it.

use super::super::nesting::nested;
use super::{Arg, PacketWriter};
use crate::model::TrackKind;
use crate::trace::{ArgValue, Span, SpanRef, Trace, Track};
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// The whole trace as packets.
pub fn to_bytes(trace: &Trace) -> Vec<u8> {
    // Writing into memory does not fail.
    write(trace, Vec::new()).unwrap_or_default()
}

/// Writes the trace as packets and returns the output.
///
/// # Errors
/// If the output refuses.
pub fn write<W: Write>(trace: &Trace, out: W) -> io::Result<W> {
    let mut converter = Converter {
        trace,
        writer: PacketWriter::new(out),
        uuid: 0,
        processes: FxHashMap::default(),
        flows: flows(trace),
    };
    converter.writer.facts(trace.facts())?;
    for track in trace.tracks() {
        converter.track(track)?;
    }
    for counter in trace.counters() {
        let parent = converter.process(&counter.process)?;
        let uuid = converter.next_uuid();
        converter.writer.counter_track(uuid, parent, &counter.name, &counter.unit)?;
        for (t_ns, value) in counter.iter() {
            converter.writer.counter(uuid, t_ns, value)?;
        }
    }
    converter.writer.into_inner()
}

/// Numbers of the flows that begin and end at a span.
type FlowIds = (Vec<u64>, Vec<u64>);

fn flows(trace: &Trace) -> FxHashMap<SpanRef, FlowIds> {
    let at = |end: crate::trace::FlowEnd| trace.track(end.track)?.innermost_at(end.t_ns);
    // An arrow with an end where no span is would join the wrong ones.
    let mut arrows: Vec<(SpanRef, SpanRef)> =
        trace.flows().iter().filter_map(|arrow| Some((at(arrow.from)?, at(arrow.to)?))).collect();
    // Numbered by place, not by the order of reading, so that what is read again is written as it was.
    arrows.sort_unstable();
    let mut flows: FxHashMap<SpanRef, FlowIds> = FxHashMap::default();
    for (number, (from, to)) in (1..).zip(arrows) {
        flows.entry(from).or_default().0.push(number);
        flows.entry(to).or_default().1.push(number);
    }
    flows
}

struct Converter<'a, W: Write> {
    trace: &'a Trace,
    writer: PacketWriter<W>,
    uuid: u64,
    processes: FxHashMap<String, u64>,
    flows: FxHashMap<SpanRef, FlowIds>,
}

impl<W: Write> Converter<'_, W> {
    fn next_uuid(&mut self) -> u64 {
        self.uuid += 1;
        self.uuid
    }

    /// The process's track, which is described when it is met first; `None` for no name.
    fn process(&mut self, name: &str) -> io::Result<Option<u64>> {
        if name.is_empty() {
            return Ok(None);
        }
        if let Some(uuid) = self.processes.get(name) {
            return Ok(Some(*uuid));
        }
        let uuid = self.next_uuid();
        self.processes.insert(name.to_owned(), uuid);
        self.writer.process(uuid, name, self.processes.len() as u32)?;
        Ok(Some(uuid))
    }

    fn track(&mut self, track: &Track) -> io::Result<()> {
        let parent = self.process(&track.process)?;
        if track.kind == TrackKind::Process && track.depth_count() == 0 && track.instants().is_empty() {
            return Ok(());
        }
        let uuid = self.next_uuid();
        self.writer.track(uuid, parent, &track.name)?;
        let mut beside: FxHashMap<u16, u64> = FxHashMap::default();
        for (at, span, _, nests) in &nested(track, Span::end_ns) {
            let on = if *nests {
                uuid
            } else if let Some(known) = beside.get(&at.depth) {
                *known
            } else {
                // Spans of one lane do not overlap, so each lane with such spans gets a track.
                let own = self.next_uuid();
                self.writer.track(own, parent, &format!("{} (overlapping)", track.name))?;
                beside.insert(at.depth, own);
                own
            };
            self.span(on, *at, span)?;
        }
        for instant in track.instants().iter() {
            let (name, category) = (self.trace.name(instant.name), self.trace.name(instant.category));
            let args = args(self.trace, &instant);
            self.writer.instant(uuid, instant.start_ns, name, category, &args)?;
        }
        Ok(())
    }

    fn span(&mut self, track: u64, at: SpanRef, span: &Span) -> io::Result<()> {
        let (name, category) = (self.trace.name(span.name), self.trace.name(span.category));
        let args = args(self.trace, span);
        if let Some((leave, arrive)) = self.flows.get(&at) {
            self.writer.flows_of_next(leave, arrive);
        }
        self.writer.begin(track, span.start_ns, name, category, &args)?;
        if span.is_open() { Ok(()) } else { self.writer.end(track, span.end_ns()) }
    }
}

fn args<'a>(trace: &'a Trace, span: &Span) -> Vec<(&'a str, Arg<'a>)> {
    let set = trace.args(span.args);
    set.map(|(key, value)| {
        let value = match value {
            ArgValue::Int(value) => Arg::Int(value),
            ArgValue::Float(value) => Arg::Float(value),
            ArgValue::Bool(value) => Arg::Bool(value),
            ArgValue::Text(text) => Arg::Text(trace.name(text)),
        };
        (trace.name(key), value)
    })
    .collect()
}
