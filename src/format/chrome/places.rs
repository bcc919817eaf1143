//! Processes and threads of a Chrome trace: which track an event belongs to, what it is called and where it stands.
//!
//! Identifiers are kept as they are written, number or text, and always in pairs: threads of different processes may
//! bear the same number. Names can come after the events, so they are given at the end.

use super::id::Id;
use crate::model::TrackKind;
use crate::trace::{CounterId, Trace, TrackId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A process and a thread.
type Place = (Id, Id);

#[derive(Default)]
struct Process {
    name: Option<String>,
    labels: String,
    order: i64,
    tracks: Vec<TrackId>,
    counters: Vec<(CounterId, u64, String, String)>,
}

/// All processes and threads so far.
#[derive(Default)]
pub(super) struct Places {
    tracks: FxHashMap<Place, TrackId>,
    /// The place of the last event, as it is written: most events follow one of the same thread.
    last: (String, String, Option<TrackId>),
    processes: Vec<(Id, Process)>,
    process_index: FxHashMap<Id, usize>,
    counters: FxHashMap<(Id, String), CounterId>,
    counted_names: FxHashSet<(Id, String)>,
    orders: FxHashMap<TrackId, i64>,
    device: FxHashSet<TrackId>,
    uuids: u64,
}

impl Places {
    fn process(&mut self, pid: &Id) -> &mut Process {
        let next = self.processes.len();
        let index = *self.process_index.entry(pid.clone()).or_insert(next);
        if index == next {
            self.processes.push((pid.clone(), Process::default()));
        }
        // An element with this index was found or has just been pushed.
        &mut self.processes[index].1
    }

    /// Number for a track that is no thread.
    pub fn uuid(&mut self) -> u64 {
        self.uuids += 1;
        self.uuids
    }

    /// The track of a thread, whose process and number are given as they are written.
    pub fn thread(&mut self, trace: &mut Trace, pid: &str, tid: &str) -> TrackId {
        if let (known_pid, known_tid, Some(id)) = &self.last
            && known_pid == pid
            && known_tid == tid
        {
            return *id;
        }
        let key = (Id::of(pid), Id::of(tid));
        let id = match self.tracks.get(&key) {
            Some(id) => *id,
            None => {
                let uuid = self.uuid();
                // Some producers name the thread where its number should be.
                let number = tid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-' || byte == b'x');
                let name = match tid {
                    "" => "Events of no thread".to_owned(),
                    _ if number => format!("Thread {tid}"),
                    name => name.to_owned(),
                };
                let id = trace.add_track(uuid, None, &name, "", TrackKind::Thread);
                self.process(&key.0).tracks.push(id);
                self.tracks.insert(key, id);
                id
            }
        };
        let (last_pid, last_tid, last) = &mut self.last;
        pid.clone_into(last_pid);
        tid.clone_into(last_tid);
        *last = Some(id);
        id
    }

    /// A new track of a process that is no thread.
    pub fn other(&mut self, trace: &mut Trace, pid: &Id, name: &str) -> TrackId {
        let uuid = self.uuid();
        let id = trace.add_track(uuid, None, name, "", TrackKind::Async);
        self.process(pid).tracks.push(id);
        id
    }

    /// Says that a track shows work of a device.
    pub fn on_device(&mut self, track: TrackId) {
        self.device.insert(track);
    }

    /// Takes in what a metadata event says; `false` = it says nothing that is shown.
    pub fn describe(&mut self, trace: &mut Trace, what: &str, (pid, tid): (&str, &str), value: &str) -> bool {
        match what {
            "process_name" => self.process(&Id::of(pid)).name = Some(value.to_owned()),
            "process_labels" => self.process(&Id::of(pid)).labels = value.to_owned(),
            "process_sort_index" => self.process(&Id::of(pid)).order = value.parse().unwrap_or(0),
            "thread_sort_index" => {
                let track = self.thread(trace, pid, tid);
                self.orders.insert(track, value.parse().unwrap_or(0));
            }
            "thread_name" => {
                let track = self.thread(trace, pid, tid);
                trace.rename(track, Some(value), None);
            }
            _ => return false,
        }
        true
    }

    /// One counter for each series. The first of a name bears the name alone, with its key as the unit unless that is
    /// the usual `value`; further ones are told apart by their key.
    pub fn counter(&mut self, trace: &mut Trace, pid: &Id, name: &str, key: &str) -> CounterId {
        let place = (pid.clone(), format!("{name}\0{key}"));
        if let Some(&id) = self.counters.get(&place) {
            return id;
        }
        let first = self.counted_names.insert((pid.clone(), name.to_owned()));
        let unit = if key == "value" { "" } else { key };
        let title = if first { name.to_owned() } else { format!("{name} ({key})") };
        self.add_counter(trace, pid, &title, unit, place)
    }

    /// A counter of this very name and unit.
    pub fn own_counter(&mut self, trace: &mut Trace, pid: &Id, name: &str, unit: &str) -> CounterId {
        let place = (pid.clone(), format!("{name}\0{unit}\0own"));
        match self.counters.get(&place) {
            Some(&id) => id,
            None => self.add_counter(trace, pid, name, unit, place),
        }
    }

    fn add_counter(&mut self, trace: &mut Trace, pid: &Id, title: &str, unit: &str, place: (Id, String)) -> CounterId {
        let uuid = self.uuid();
        let id = trace.add_counter(uuid, title, unit, "");
        self.counters.insert(place, id);
        self.process(pid).counters.push((id, uuid, title.to_owned(), unit.to_owned()));
        id
    }

    /// Gives all tracks and counters the names of their processes, their order, and devices their kind.
    pub fn finish(mut self, trace: &mut Trace) {
        let mut taken: FxHashSet<String> = FxHashSet::default();
        for (pid, process) in std::mem::take(&mut self.processes) {
            let unnamed = || if pid.is_empty() { String::new() } else { format!("Process {pid}") };
            let mut name = process.name.clone().unwrap_or_else(unnamed);
            if !process.labels.is_empty() {
                name = format!("{name} ({})", process.labels);
            }
            // A process without anything to show takes no name from another.
            let shown = |id: &TrackId| trace.track(*id).is_some_and(|track| track.bounds().is_some());
            let any = !process.counters.is_empty() || process.tracks.iter().any(shown);
            if any && !taken.insert(name.clone()) {
                name = format!("{name} {pid}");
                taken.insert(name.clone());
            }
            for id in &process.tracks {
                trace.rename(*id, None, Some(&name));
                let order = self.orders.get(id).copied().unwrap_or(0);
                trace.set_order(*id, (process.order, order));
            }
            for (_, uuid, title, unit) in &process.counters {
                trace.add_counter(*uuid, title, unit, &name);
            }
        }
        for id in self.device {
            trace.set_kind(id, TrackKind::Device);
        }
    }
}
