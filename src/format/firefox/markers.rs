//! Markers: what a thread said of itself, as moments and spans on a track beside that of its samples. Spans may overlap
//! there.

use super::super::ImportReport;
use super::super::json::Token;
use super::super::parts::Value;
use super::tables::{Members, Tables, at, column, indices, members, times};
use crate::trace::{ArgValue, ArgsId, NameId, Trace, TrackId};
use rustc_hash::{FxHashMap, FxHashSet};

/// What the head of the file says about markers.
pub(super) struct Markers {
    categories: Vec<NameId>,
    /// Fields whose value is the index of a string, by the type of their marker.
    by_index: FxHashSet<(String, String)>,
}

/// A marker, taken apart.
struct Marker {
    name: NameId,
    category: NameId,
    args: ArgsId,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
}

impl Markers {
    /// Reads the categories and the kinds of markers.
    pub fn new(meta: &Members<'_>, trace: &mut Trace, report: &mut ImportReport) -> Self {
        let categories = column(meta, "categories", report, |value| {
            let mut name = NameId::EMPTY;
            if let Some(part) = value.part() {
                part.members(|key, value| {
                    if key == "name" {
                        name = trace.intern(value.text().unwrap_or(""));
                    }
                });
            }
            name
        });
        let mut by_index = FxHashSet::default();
        for schema in column(meta, "markerSchema", report, |value| value.part()) {
            let schema = members(schema, report);
            let kind = schema.get("name").and_then(Value::text).unwrap_or("");
            // Versions differ in what they call the list.
            for list in ["fields", "data"] {
                for field in column(&schema, list, report, |value| value.part()) {
                    let field = members(field, report);
                    let of = |name: &str| field.get(name).and_then(Value::text).unwrap_or("");
                    if matches!(of("format"), "unique-string" | "flow-id" | "terminating-flow-id") {
                        by_index.insert((kind.to_owned(), of("key").to_owned()));
                    }
                }
            }
        }
        Self { categories, by_index }
    }

    /// Reads the markers of a thread; `track` makes their track, if there are any.
    pub fn read(
        &self,
        table: &Members<'_>,
        tables: &Tables<'_>,
        trace: &mut Trace,
        report: &mut ImportReport,
        track: impl FnOnce(&mut Trace) -> TrackId,
    ) {
        let names = indices(table, "name", report);
        let (starts, ends) = (times(table, "startTime", report), times(table, "endTime", report));
        let (phases, categories) = (indices(table, "phase", report), indices(table, "category", report));
        let data = column(table, "data", report, |value| value);
        if names.is_empty() {
            return;
        }
        let track = track(trace);
        // Markers that have begun and not ended, by name, the last one last.
        let mut begun: FxHashMap<NameId, Vec<Marker>> = FxHashMap::default();
        for (i, name) in names.into_iter().enumerate() {
            let data = data.get(i);
            let offset = data.map(|data| data.offset);
            if tables.text(name).is_none() {
                report.note("markers whose name the file does not list, shown without a name", offset);
            }
            let marker = Marker {
                name: trace.intern(tables.text(name).unwrap_or("")),
                category: categories.get(i).and_then(|category| at(&self.categories, *category)).unwrap_or_default(),
                args: data.map_or(ArgsId::NONE, |data| self.arguments(data, tables, trace, report)),
                start_ns: starts.get(i).copied().flatten(),
                end_ns: ends.get(i).copied().flatten(),
            };
            // Without a phase, a marker with an end is a span.
            let phase = phases.get(i).copied().unwrap_or(u32::from(marker.end_ns.is_some()));
            match (phase, marker.start_ns, marker.end_ns) {
                (0, Some(t_ns), _) => {
                    trace.instant(track, t_ns, marker.name, marker.category, marker.args);
                    report.instants += 1;
                }
                (1, Some(start_ns), Some(end_ns)) => complete(track, &marker, start_ns, end_ns, trace, report, offset),
                (2, Some(_), _) => begun.entry(marker.name).or_default().push(marker),
                (3, _, Some(end_ns)) => match begun.get_mut(&marker.name).and_then(Vec::pop) {
                    // What is known of it may stand at its end only.
                    Some(begin) => {
                        let args = if begin.args == ArgsId::NONE { marker.args } else { begin.args };
                        let start_ns = begin.start_ns.unwrap_or(end_ns);
                        complete(track, &Marker { args, ..begin }, start_ns, end_ns, trace, report, offset);
                    }
                    None => report.note("ends of markers without a begin, left out", offset),
                },
                _ => report.note("markers without the times that their kind needs, left out", offset),
            }
        }
        let mut open: Vec<Marker> = begun.into_values().flatten().collect();
        open.sort_by_key(|marker| (marker.start_ns, marker.name));
        report.note_many("markers without an end, left open", open.len() as u64, None);
        for marker in open {
            if let Some(start_ns) = marker.start_ns {
                trace.begin(track, start_ns, marker.name, marker.category, marker.args);
            }
        }
    }

    /// The data of a marker as arguments.
    fn arguments(&self, data: &Value<'_>, tables: &Tables<'_>, trace: &mut Trace, report: &mut ImportReport) -> ArgsId {
        let Some(part) = data.part() else { return ArgsId::NONE };
        let mut fields = Vec::new();
        part.members(|key, value| fields.push((key, value))).note(report);
        let kind = fields.iter().find(|(key, _)| key == "type").and_then(|(_, value)| value.text()).unwrap_or("");
        let kind = kind.to_owned();
        let mut args: Vec<(NameId, ArgValue)> = Vec::new();
        for (key, value) in &fields {
            let by_index = self.by_index.contains(&(kind.clone(), key.to_string()));
            let string = value.index().filter(|_| by_index).and_then(|index| tables.text(u32::try_from(index).ok()?));
            let value = match (string, value.token()) {
                (Some(text), _) => ArgValue::Text(trace.intern(text)),
                (None, Token::Null) => continue,
                (None, Token::Bool(value)) => ArgValue::Bool(*value),
                (None, Token::Text(text)) => ArgValue::Text(trace.intern(text)),
                (None, Token::Nested(json)) => ArgValue::Text(trace.intern(&String::from_utf8_lossy(json))),
                (None, Token::Number(number)) => match (number.parse(), number.parse()) {
                    (Ok(value), _) => ArgValue::Int(value),
                    (_, Ok(value)) => ArgValue::Float(value),
                    _ => ArgValue::Text(trace.intern(number)),
                },
            };
            args.push((trace.intern(key), value));
        }
        trace.intern_args(&args)
    }
}

/// Adds a marker with both its times.
fn complete(
    track: TrackId,
    marker: &Marker,
    start_ns: i64,
    end_ns: i64,
    trace: &mut Trace,
    report: &mut ImportReport,
    offset: Option<u64>,
) {
    if end_ns < start_ns {
        report.note("ends before the begin, drawn without duration", offset);
    }
    trace.complete(track, start_ns, end_ns.saturating_sub(start_ns), marker.name, marker.category, marker.args);
}
