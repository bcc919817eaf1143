//! A trace as one table, for spreadsheets and data frames: a row for each span, moment and counter value.

use super::csv::safe;
use crate::trace::{ArgValue, ArgsId, Span, SpanRef, Trace, Track};
use std::io::Write;

/// The columns. Times in nanoseconds; an empty cell = there is no such thing. `kind` is span, instant or counter; `depth`
/// is 0 for the outermost spans of a track; `self_ns` is what the spans inside leave of `dur_ns`; a span without an end
/// has neither; `args` is a JSON object.
const HEAD: [&str; 12] =
    ["kind", "process", "track", "depth", "name", "category", "start_ns", "dur_ns", "self_ns", "value", "unit", "args"];

/// Writes the table: the tracks one after the other, the spans of each in the order of time, outer ones first, then its
/// moments; the counters last. Text that a spreadsheet would take for a formula has an apostrophe before it.
///
/// # Errors
/// If the output refuses.
pub fn write(trace: &Trace, out: impl Write) -> Result<(), ::csv::Error> {
    let mut writer = ::csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
    writer.write_record(HEAD)?;
    let mut row = Row { trace, writer, number: String::new(), args: Vec::new() };
    for track in trace.tracks() {
        let mut spans: Vec<(SpanRef, Span)> = track.spans().collect();
        spans.sort_by_key(|(at, span)| (span.start_ns, at.depth));
        for (at, span) in &spans {
            let times =
                (!span.is_open()).then(|| (span.dur_ns, track.self_ns(usize::from(at.depth), at.idx as usize, span)));
            row.span("span", track, Some(at.depth), span, times)?;
        }
        for instant in track.instants().iter() {
            row.span("instant", track, None, &instant, None)?;
        }
    }
    for counter in trace.counters() {
        for (t_ns, value) in counter.iter() {
            row.text("counter")?;
            row.text(&counter.process)?;
            row.text("")?;
            row.text("")?;
            row.text(&counter.name)?;
            row.text("")?;
            row.number(Some(t_ns))?;
            row.text("")?;
            row.text("")?;
            row.number(Some(value))?;
            row.text(&counter.unit)?;
            row.text("")?;
            row.end()?;
        }
    }
    row.writer.flush()?;
    Ok(())
}

struct Row<'a, W: Write> {
    trace: &'a Trace,
    writer: ::csv::Writer<W>,
    number: String,
    args: Vec<u8>,
}

impl<W: Write> Row<'_, W> {
    fn span(
        &mut self,
        kind: &str,
        track: &Track,
        depth: Option<u16>,
        span: &Span,
        times: Option<(i64, i64)>,
    ) -> Result<(), ::csv::Error> {
        let trace = self.trace;
        self.text(kind)?;
        self.text(&track.process)?;
        self.text(&track.name)?;
        self.number(depth)?;
        self.text(trace.name(span.name))?;
        self.text(trace.name(span.category))?;
        self.number(Some(span.start_ns))?;
        self.number(times.map(|(dur_ns, _)| dur_ns))?;
        self.number(times.map(|(_, own_ns)| own_ns))?;
        self.text("")?;
        self.text("")?;
        self.arguments(span.args)?;
        self.end()
    }

    fn text(&mut self, text: &str) -> Result<(), ::csv::Error> {
        self.writer.write_field(safe(text).as_bytes())
    }

    fn number(&mut self, number: Option<impl std::fmt::Display>) -> Result<(), ::csv::Error> {
        use std::fmt::Write as _;
        self.number.clear();
        if let Some(number) = number {
            // Writing into a text does not fail.
            write!(self.number, "{number}").ok();
        }
        self.writer.write_field(&self.number)
    }

    fn arguments(&mut self, id: ArgsId) -> Result<(), ::csv::Error> {
        self.args.clear();
        if id != ArgsId::NONE {
            let object: serde_json::Map<String, serde_json::Value> =
                self.trace.args(id).map(|(key, value)| (self.trace.name(key).to_owned(), self.value(value))).collect();
            serde_json::to_writer(&mut self.args, &object).map_err(|e| ::csv::Error::from(std::io::Error::from(e)))?;
        }
        self.writer.write_field(&self.args)
    }

    fn value(&self, value: ArgValue) -> serde_json::Value {
        match value {
            ArgValue::Int(value) => value.into(),
            // JSON has no infinities; they stay readable as a text.
            ArgValue::Float(value) if !value.is_finite() => value.to_string().into(),
            ArgValue::Float(value) => value.into(),
            ArgValue::Bool(value) => value.into(),
            ArgValue::Text(text) => self.trace.name(text).into(),
        }
    }

    fn end(&mut self) -> Result<(), ::csv::Error> {
        self.writer.write_record(None::<&[u8]>)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::TrackKind;

    #[test]
    fn every_span_moment_and_value_has_a_row() {
        let mut trace = Trace::default();
        let track = trace.add_track(1, None, "main", "python", TrackKind::Thread);
        let [outer, inner, open, cat, key] = ["a, \"b\"", "=1+1", "open", "cpu_op", "n"].map(|text| trace.intern(text));
        let args = trace.intern_args(&[(key, ArgValue::Float(f64::INFINITY)), (cat, ArgValue::Int(-7))]);
        trace.complete(track, 100, 50, outer, cat, args);
        trace.complete(track, 110, 20, inner, cat, ArgsId::NONE);
        trace.begin(track, 200, open, cat, ArgsId::NONE);
        trace.instant(track, 120, key, cat, ArgsId::NONE);
        let counter = trace.add_counter(2, "Memory", "bytes", "python");
        trace.sample(counter, 130, 0.5);
        trace.settle();
        let mut out = Vec::new();
        write(&trace, &mut out).unwrap();
        let rows: Vec<Vec<String>> = ::csv::Reader::from_reader(&*out)
            .into_records()
            .map(|row| row.unwrap().iter().map(str::to_owned).collect())
            .collect();
        let args = r#"{"n":"inf","cpu_op":-7}"#;
        assert_eq!(
            rows,
            [
                ["span", "python", "main", "0", "a, \"b\"", "cpu_op", "100", "50", "30", "", "", args],
                ["span", "python", "main", "1", "'=1+1", "cpu_op", "110", "20", "20", "", "", ""],
                ["span", "python", "main", "0", "open", "cpu_op", "200", "", "", "", "", ""],
                ["instant", "python", "main", "", "n", "cpu_op", "120", "", "", "", "", ""],
                ["counter", "python", "", "", "Memory", "", "130", "", "", "0.5", "bytes", ""],
            ]
        );
    }
}
