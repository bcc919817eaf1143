//! Reads a processed profile. Times stay as they are written, in milliseconds since the start of the recording.
//!
//! A sample is drawn until the next one of its thread. If that is more than ten usual gaps away, the thread was not
//! sampled in between, and the sample is drawn for one usual gap, and so is the last sample of a thread. The usual gap is
//! the middle one of the thread's gaps, at most that of all threads, and at least the interval that the profile states.
//! A sample that counts for several, with which samply ends a stretch of waiting, makes the gap before it as many times
//! as long.

use super::super::parts::{Ended, Part, Value};
use super::super::stacks::{Frame, Stacks, lasts, usual_gap};
use super::super::watch::Looker;
use super::super::{FormatError, ImportReport};
use super::markers::Markers;
use super::tables::{
    Members, NONE, Strings, Tables, column, indices, members, ns_of_millis, object, sample_times, strings,
};
use crate::model::TrackKind;
use crate::trace::{Trace, TrackId};
use std::rc::Rc;

/// Most spans that are made of one file: tables name a deep stack with a few bytes, so a small file could fill the memory.
const MAX_SPANS: u64 = 50_000_000;

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there are no threads in it, with the place and what was expected.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    read_watched(bytes, Looker::default())
}

/// The same, where somebody looks on. When it is cancelled it ends where it is.
pub(in crate::format) fn read_watched(bytes: &[u8], looker: Looker) -> Result<(Trace, ImportReport), FormatError> {
    let mut report = ImportReport::new("Firefox profile");
    let mut file = Members::default();
    let ended = Part::file(bytes).members(|key, value| {
        file.insert(key, value);
    });
    let Some(threads) = object(&file, "threads") else {
        let (what, offset) = match ended {
            Ended::Broken(broken) => (format!("No threads: {}", broken.what), broken.offset),
            _ => ("No threads: the object has no `threads`".to_owned(), bytes.len()),
        };
        let hint = "a processed profile of the Firefox Profiler is an object with `meta` and `threads`";
        return Err(FormatError::Damaged { what, offset: offset as u64, hint });
    };
    let shared = members(object(&file, "shared"), &mut report);
    let mut trace = Trace::default();
    let meta = members(object(&file, "meta"), &mut report);
    let markers = Markers::new(&meta, &mut trace, &mut report);
    let interval_ns = meta.get("interval").and_then(|value| ns_of_millis(value.number()?)).filter(|&ns| ns > 0);
    let strings = strings(&shared, &mut report);
    let mut reader = Reader {
        trace,
        report,
        markers,
        shared,
        strings,
        tables: None,
        interval_ns,
        usual_ns: None,
        threads: 0,
        spans: 0,
        looker,
    };
    reader.usual_ns = usual_of_all(threads);
    threads.items(|thread| reader.thread(&thread)).note(&mut reader.report);
    if let Some(counters) = object(&file, "counters") {
        counters.items(|counter| reader.counter(&counter)).note(&mut reader.report);
    }
    let Reader { mut trace, mut report, .. } = reader;
    trace.settle();
    ended.note_file(bytes.len(), &mut report);
    report.spans = trace.span_count();
    report.close(&trace);
    Ok((trace, report))
}

/// The middle one of the usual gaps of all threads.
fn usual_of_all(threads: Part<'_>) -> Option<i64> {
    let mut gaps = Vec::new();
    // What is wrong is counted when the threads are read in earnest.
    let mut unheard = ImportReport::default();
    threads.items(|thread| {
        let samples = members(object(&members(thread.part(), &mut unheard), "samples"), &mut unheard);
        gaps.extend(usual_gap(sample_times(&samples, &mut unheard).into_iter().flatten()));
    });
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied()
}

struct Reader<'a> {
    trace: Trace,
    report: ImportReport,
    markers: Markers,
    /// Tables of the whole file, which older versions do not have.
    shared: Members<'a>,
    strings: Strings<'a>,
    /// The tables of the whole file, read when a thread without its own needs them first.
    tables: Option<Rc<Tables<'a>>>,
    interval_ns: Option<i64>,
    usual_ns: Option<i64>,
    threads: u64,
    spans: u64,
    looker: Looker,
}

/// A text or number of an object as text; empty if it is missing.
fn text(of: &Members<'_>, name: &str) -> String {
    of.get(name).and_then(Value::number).unwrap_or("").to_owned()
}

/// Name and number of a process.
fn process(name: &str, pid: &str) -> String {
    match (name, pid) {
        (name, "") => name.to_owned(),
        ("", pid) => format!("Process {pid}"),
        (name, pid) => format!("{name} ({pid})"),
    }
}

impl<'a> Reader<'a> {
    fn thread(&mut self, value: &Value<'a>) {
        self.threads += 1;
        if !self.looker.at(value.offset) {
            return;
        }
        let thread = members(value.part(), &mut self.report);
        if thread.is_empty() {
            self.report.note("threads without content, left out", Some(value.offset));
            return;
        }
        for left_out in ["nativeAllocations", "jsAllocations", "jsTracer"] {
            if let Some(table) = thread.get(left_out).filter(|table| table.part().is_some()) {
                self.report.note(&format!("tables `{left_out}` of threads, not shown"), Some(table.offset));
            }
        }
        let tables = self.tables_of(&thread);
        let name = match (text(&thread, "name"), text(&thread, "tid")) {
            (name, _) if !name.is_empty() => name,
            (_, tid) => format!("Thread {tid}"),
        };
        let process = process(&text(&thread, "processName"), &text(&thread, "pid"));
        let uuid = self.threads * 2;
        if let Some(samples) = object(&thread, "samples") {
            let list = self.samples(samples);
            if !list.is_empty() {
                let track = self.trace.add_track(uuid, None, &name, &process, TrackKind::Thread);
                self.draw(track, &list, samples.offset, &tables);
            }
        }
        let markers = members(object(&thread, "markers"), &mut self.report);
        let Self { trace, report, markers: reader, .. } = self;
        reader.read(&markers, &tables, trace, report, |trace| {
            trace.add_track(uuid + 1, None, &format!("{name} markers"), &process, TrackKind::Async)
        });
    }

    fn tables_of(&mut self, thread: &Members<'a>) -> Rc<Tables<'a>> {
        let Self { trace, report, shared, strings, tables, .. } = self;
        let own = |name: &&str| thread.contains_key(*name);
        if !["stackTable", "frameTable", "funcTable", "stringArray"].iter().any(own) {
            let read = || Rc::new(Tables::read(&Members::default(), shared, strings.clone(), trace, report));
            return tables.get_or_insert_with(read).clone();
        }
        let strings = if own(&"stringArray") { super::tables::strings(thread, report) } else { strings.clone() };
        Rc::new(Tables::read(thread, shared, strings, trace, report))
    }

    /// The samples of a thread, in the order of time: time, stack and weight.
    fn samples(&mut self, part: Part<'a>) -> Vec<(i64, u32, i64)> {
        let samples = members(Some(part), &mut self.report);
        let offset = Some(part.offset);
        if samples.contains_key("schema") {
            self.report.note("tables of samples in the form of unprocessed profiles, left out", offset);
        }
        let times = sample_times(&samples, &mut self.report);
        let stack_of = indices(&samples, "stack", &mut self.report);
        let lost = times.len().abs_diff(stack_of.len()) + times.iter().filter(|time| time.is_none()).count();
        self.report.note_many("samples without a time or a stack, left out", lost as u64, offset);
        let counts = text(&samples, "weightType");
        let mut weights = Vec::new();
        if matches!(&*counts, "" | "samples") {
            weights = column(&samples, "weight", &mut self.report, |value| value.int().unwrap_or(1));
        }
        let weights = weights.into_iter().chain(std::iter::repeat(1));
        let mut list: Vec<(i64, u32, i64)> = times
            .into_iter()
            .zip(stack_of)
            .zip(weights)
            .filter_map(|((time, stack), weight)| Some((time?, stack, weight)))
            .collect();
        let late = list.windows(2).filter(|pair| matches!(pair, [a, b] if a.0 > b.0)).count();
        self.report.note_many("samples earlier than the one before, sorted in", late as u64, offset);
        list.sort_by_key(|(t_ns, ..)| *t_ns);
        list
    }

    fn draw(&mut self, track: TrackId, list: &[(i64, u32, i64)], offset: u64, tables: &Tables<'a>) {
        let offset = Some(offset);
        let own = usual_gap(list.iter().map(|(t_ns, ..)| *t_ns));
        let usual = own.into_iter().chain(self.usual_ns).min();
        let usual = usual.into_iter().chain(self.interval_ns).max();
        let mut stacks = Stacks::new(track);
        let mut frames: Vec<Frame> = Vec::new();
        let mut resolved = NONE;
        let mut next = list.iter().skip(1);
        for (t_ns, stack, _) in list {
            let next = next.next();
            let gap = next.map(|(next_ns, ..)| next_ns.saturating_sub(*t_ns));
            let weight = next.filter(|(_, next_stack, _)| next_stack == stack).map_or(1, |(_, _, weight)| *weight);
            let (dur_ns, pause) = lasts(gap, usual, weight).unwrap_or_else(|| {
                self.report.note("samples alone in their thread, drawn without duration", offset);
                (0, false)
            });
            if pause && *stack != NONE {
                let what = "pauses of more than ten usual gaps between two samples of a thread, left free";
                self.report.note(what, offset);
            }
            if self.spans + stacks.made >= MAX_SPANS {
                self.report.note("samples after 50,000,000 spans, left out", offset);
                continue;
            }
            if *stack != resolved || *stack == NONE {
                tables.resolve(*stack, &mut frames, &mut self.report);
                resolved = *stack;
            }
            stacks.put(&mut self.trace, *t_ns, t_ns.saturating_add(dur_ns), &frames);
        }
        stacks.finish(&mut self.trace);
        self.spans += stacks.made;
        self.report.samples += list.len() as u64;
    }

    /// A counter, whose samples are written as changes.
    fn counter(&mut self, value: &Value<'a>) {
        let counter = members(value.part(), &mut self.report);
        let samples = members(object(&counter, "samples"), &mut self.report);
        let times = sample_times(&samples, &mut self.report);
        let changes = column(&samples, "count", &mut self.report, |value| value.number()?.parse::<f64>().ok());
        if times.is_empty() {
            self.report.note("counters without samples, left out", Some(value.offset));
            return;
        }
        let display = members(object(&counter, "display"), &mut self.report);
        let unit = match (text(&display, "unit"), &*text(&counter, "category")) {
            (unit, "Memory") if unit.is_empty() => "bytes".to_owned(),
            (unit, _) => unit,
        };
        let process = process("", &text(&counter, "pid"));
        let uuid = self.trace.counters().len() as u64 + 1;
        let id = self.trace.add_counter(uuid, &text(&counter, "name"), &unit, &process);
        let mut sum = 0.0;
        for (time, change) in times.into_iter().zip(changes) {
            let (Some(t_ns), Some(change)) = (time, change.filter(|change| change.is_finite())) else {
                self.report.note("counter values that are no number, left out", Some(value.offset));
                continue;
            };
            sum += change;
            self.trace.sample(id, t_ns, sum);
            self.report.counters += 1;
        }
    }
}
