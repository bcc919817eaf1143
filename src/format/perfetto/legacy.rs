//! Events in the old form: what Chrome's JSON says, in a field of the track event, with phases as letters.

use super::super::wire::Fields;
use super::field::legacy;
use super::reader::{Event, Packets, track_of};
use super::sequence::Sequence;
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, FlowEnd, NameId, Trace, TrackId};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher as _;

/// Microseconds, in which old events count.
const US: i64 = 1000;
/// `flow_direction` of an event to which a flow comes.
const FLOW_IN: u64 = 1;

/// One old event, taken apart.
#[derive(Debug, Default)]
pub(super) struct Legacy {
    phase: u8,
    name_iid: u64,
    duration_us: i64,
    id: Option<u64>,
    scope: u64,
    bind: Option<u64>,
    direction: u64,
    pid: Option<u64>,
    tid: Option<u64>,
}

impl Legacy {
    /// Takes the message apart.
    pub fn of(bytes: &[u8]) -> Self {
        let mut event = Self::default();
        for (number, value) in Fields::new(bytes) {
            match number {
                legacy::NAME_IID => event.name_iid = value.uint(),
                legacy::PHASE => event.phase = u8::try_from(value.uint()).unwrap_or(0),
                legacy::DURATION_US => event.duration_us = value.uint() as i64,
                legacy::UNSCOPED_ID | legacy::LOCAL_ID | legacy::GLOBAL_ID => event.id = Some(value.uint()),
                legacy::ID_SCOPE => event.scope = hash(&value.bytes()),
                legacy::BIND_ID => event.bind = Some(value.uint()),
                legacy::FLOW_DIRECTION => event.direction = value.uint(),
                legacy::PID_OVERRIDE => event.pid = Some(value.uint()),
                legacy::TID_OVERRIDE => event.tid = Some(value.uint()),
                _ => {}
            }
        }
        event
    }

    /// The flow that a new event joins by it, and whether it ends there.
    pub fn flow(&self) -> Option<(u64, bool)> {
        Some((self.bind?, self.direction == FLOW_IN))
    }
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Identifies an asynchronous span: category, number, scope.
type AsyncKey = (NameId, u64, u64);

/// An asynchronous span that has begun.
#[derive(Debug)]
struct Begun {
    start_ns: i64,
    name: NameId,
    args: ArgsId,
}

/// Asynchronous spans that have not ended.
#[derive(Debug, Default)]
pub(super) struct Asyncs {
    begun: FxHashMap<AsyncKey, Vec<Begun>>,
}

impl Asyncs {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.begun.values().map(|begun| begun.len() as u64).sum()
    }
}

impl Packets {
    /// Adds an event that is of the old form alone.
    pub(super) fn legacy_event(
        &mut self,
        event: &Event<'_>,
        old: &Legacy,
        t_ns: i64,
        sequence: &Sequence,
        trace: &mut Trace,
    ) {
        let (mut name, category) = self.names(event, sequence, trace);
        if name == NameId::EMPTY && old.name_iid != 0 {
            name = self.known(&sequence.names, old.name_iid);
        }
        let uuid = match (old.pid, old.tid) {
            (None, None) => event.track.unwrap_or(sequence.default_track),
            thread => hash(&thread),
        };
        let thread = |trace: &mut Trace| match (trace.track_by_uuid(uuid), old.tid) {
            (None, Some(tid)) => {
                let process = old.pid.map(|pid| format!("Process {pid}")).unwrap_or_default();
                trace.add_track(uuid, None, &format!("Thread {tid}"), &process, TrackKind::Thread)
            }
            _ => track_of(uuid, trace),
        };
        let args = event.args;
        match old.phase {
            b'X' => {
                let track = thread(trace);
                let dur_ns = old.duration_us.saturating_mul(US);
                if dur_ns < 0 {
                    self.note("negative durations, drawn without duration");
                }
                trace.complete(track, t_ns, dur_ns.max(0), name, category, args);
                self.report.spans += 1;
                self.flow_points(event, FlowEnd { track, t_ns }, trace);
            }
            b'B' => {
                let track = thread(trace);
                self.begin(event, track, t_ns, (name, category), trace);
            }
            b'E' => {
                let track = thread(trace);
                self.end(event, track, t_ns, trace);
            }
            b'i' | b'I' | b'R' | b'r' => {
                let track = thread(trace);
                self.instant(event, track, t_ns, (name, category), trace);
            }
            b's' | b't' | b'f' => {
                let track = thread(trace);
                let flow = (old.bind.or(old.id).unwrap_or(0), old.phase == b'f');
                self.join_flow(flow, FlowEnd { track, t_ns }, trace);
            }
            b'b' | b'S' | b'e' | b'F' | b'n' | b'T' | b'p' => {
                self.legacy_async(old, t_ns, (name, category, args), trace);
            }
            b'C' => self.legacy_counter(name, t_ns, trace),
            b'M' => self.note("metadata in the form of events, left out"),
            _ => self.note("events in an old form whose phase is not known, left out"),
        }
    }

    fn legacy_async(
        &mut self,
        old: &Legacy,
        t_ns: i64,
        (name, category, args): (NameId, NameId, ArgsId),
        trace: &mut Trace,
    ) {
        let key = (category, old.id.unwrap_or(0), old.scope);
        let track = |trace: &mut Trace| -> TrackId {
            let title = match trace.name(category) {
                "" => "Asynchronous events".to_owned(),
                category => category.to_owned(),
            };
            trace.add_track(hash(&("async", title.as_str())), None, &title, "", TrackKind::Async)
        };
        match old.phase {
            b'b' | b'S' => {
                self.asyncs.begun.entry(key).or_default().push(Begun { start_ns: t_ns, name, args });
            }
            b'e' | b'F' => {
                let open = self.asyncs.begun.get_mut(&key);
                let found = open.and_then(|open| {
                    let same = open.iter().rposition(|begun| begun.name == name);
                    Some(open.remove(same.or_else(|| open.len().checked_sub(1))?))
                });
                let Some(begun) = found else {
                    self.note("ends of asynchronous spans without a begin, left out");
                    return;
                };
                if t_ns < begun.start_ns {
                    self.note("ends before the begin, drawn without duration");
                }
                let (track, dur_ns) = (track(trace), t_ns.saturating_sub(begun.start_ns).max(0));
                let args = if begun.args == ArgsId::NONE { args } else { begun.args };
                trace.complete(track, begun.start_ns, dur_ns, begun.name, category, args);
                self.report.spans += 1;
            }
            _ => {
                let track = track(trace);
                trace.instant(track, t_ns, name, category, args);
                self.report.instants += 1;
            }
        }
    }

    /// Each number among the arguments is a value of a curve.
    fn legacy_counter(&mut self, name: NameId, t_ns: i64, trace: &mut Trace) {
        let values: Vec<(NameId, f64)> = self
            .args
            .iter()
            .filter_map(|(key, value)| match value {
                ArgValue::Int(value) => Some((*key, *value as f64)),
                ArgValue::Float(value) => Some((*key, *value)),
                _ => None,
            })
            .collect();
        if values.is_empty() {
            self.note("counter events without a value, left out");
        }
        for (key, value) in values {
            let title = match trace.name(key) {
                "value" | "" => trace.name(name).to_owned(),
                key => format!("{} ({key})", trace.name(name)),
            };
            let uuid = hash(&("counter", title.as_str()));
            let counter = trace.counter_by_uuid(uuid).unwrap_or_else(|| trace.add_counter(uuid, &title, "", ""));
            trace.sample(counter, t_ns, value);
            self.report.counters += 1;
        }
    }
}
