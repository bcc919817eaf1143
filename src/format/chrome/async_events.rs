//! Work that is on no thread: asynchronous spans (`b`, `n`, `e` and the older `S`, `T`, `p`, `F`) and the lives of
//! objects (`N`, `O`, `D`). What bears one identifier belongs together and nests; different identifiers run beside each
//! other, so each family gets a track that is free for as long as it lives.

use super::id::Id;
use super::places::Places;
use crate::format::ImportReport;
use crate::trace::{ArgsId, NameId, Trace, TrackId};
use rustc_hash::FxHashMap;

/// Most tracks for the families of one name that live at the same time; further ones share the last and may overlap.
const MAX_SLOTS: usize = 64;

/// What tells families apart: process, category, name where it counts, identifier.
pub(super) type FamilyKey = (Id, NameId, NameId, Id);

/// A name with its category and arguments.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub name: NameId,
    pub category: NameId,
    pub args: ArgsId,
}

struct Open {
    start_ns: i64,
    label: Label,
}

struct Family {
    /// Process and name, which say on which tracks it may be.
    group: usize,
    start_ns: i64,
    end_ns: i64,
    spans: Vec<(i64, i64, Label)>,
    moments: Vec<(i64, Label)>,
}

#[derive(Default)]
struct Running {
    family: usize,
    open: Vec<Open>,
}

/// All families so far.
#[derive(Default)]
pub(super) struct Families {
    groups: Vec<(Id, String)>,
    group_index: FxHashMap<(Id, String), usize>,
    families: Vec<Family>,
    running: FxHashMap<FamilyKey, Running>,
}

impl Families {
    /// Begins a span. `group` names the tracks of its family, if it is the first of it.
    pub fn begin(&mut self, key: FamilyKey, group: &str, start_ns: i64, label: Label) {
        let pid = key.0.clone();
        let living = self.running.get(&key).is_some_and(|running| !running.open.is_empty());
        if !living {
            let family = self.family(pid, group, start_ns);
            self.running.insert(key.clone(), Running { family, open: Vec::new() });
        }
        if let Some(running) = self.running.get_mut(&key) {
            running.open.push(Open { start_ns, label });
        }
    }

    /// Ends the innermost span of a family that has this name, or else the innermost; `false` = none is open. The end's
    /// arguments are used where the begin had none.
    pub fn end(&mut self, key: &FamilyKey, end_ns: i64, end: Label, report: &mut ImportReport, offset: u64) -> bool {
        let Some(running) = self.running.get_mut(key) else { return false };
        let same = running.open.iter().rposition(|open| open.label.name == end.name);
        if same.is_none() && !running.open.is_empty() && end.name != NameId::EMPTY {
            report.note("ends of asynchronous spans with another name than the begin, taken for its end", Some(offset));
        }
        let Some(at) = same.or_else(|| running.open.len().checked_sub(1)) else { return false };
        let open = running.open.remove(at);
        if end_ns < open.start_ns {
            report.note("ends before the begin, drawn without duration", Some(offset));
        }
        let mut label = open.label;
        if label.args == ArgsId::NONE {
            label.args = end.args;
        }
        if let Some(family) = self.families.get_mut(running.family) {
            family.add(open.start_ns, end_ns.max(open.start_ns), label);
        }
        true
    }

    /// Adds a moment to a family, which begins with it if it is not living.
    pub fn moment(&mut self, key: FamilyKey, group: &str, t_ns: i64, label: Label) {
        let pid = key.0.clone();
        let family = match self.running.get(&key) {
            Some(running) => running.family,
            None => {
                let family = self.family(pid, group, t_ns);
                self.running.insert(key, Running { family, open: Vec::new() });
                family
            }
        };
        if let Some(family) = self.families.get_mut(family) {
            family.moments.push((t_ns, label));
            family.end_ns = family.end_ns.max(t_ns);
            family.start_ns = family.start_ns.min(t_ns);
        }
    }

    fn family(&mut self, pid: Id, group: &str, start_ns: i64) -> usize {
        let next = self.groups.len();
        let group = *self.group_index.entry((pid.clone(), group.to_owned())).or_insert_with(|| {
            self.groups.push((pid, group.to_owned()));
            next
        });
        let family = Family { group, start_ns, end_ns: start_ns, spans: Vec::new(), moments: Vec::new() };
        self.families.push(family);
        self.families.len() - 1
    }

    /// Puts all families on tracks. Spans without an end reach to the end of the trace, whose threads
    /// end at `until_ns`.
    pub fn finish(mut self, trace: &mut Trace, places: &mut Places, report: &mut ImportReport, until_ns: i64) {
        let until_ns = self.families.iter().map(|family| family.end_ns).fold(until_ns, i64::max);
        for running in self.running.into_values() {
            for open in running.open {
                report.note("asynchronous spans and objects without an end, drawn to the end of the trace", None);
                if let Some(family) = self.families.get_mut(running.family) {
                    family.add(open.start_ns, until_ns.max(open.start_ns), open.label);
                }
            }
        }
        self.families.sort_by_key(|family| family.start_ns);
        let mut slots: Vec<Vec<(TrackId, i64)>> = self.groups.iter().map(|_| Vec::new()).collect();
        for family in self.families {
            // Both lists have an element for each group.
            let (Some(slots), Some((pid, name))) = (slots.get_mut(family.group), self.groups.get(family.group)) else {
                continue;
            };
            let free = slots.iter().position(|(_, busy_until)| *busy_until <= family.start_ns);
            let slot = match free {
                Some(slot) => slot,
                None if slots.len() < MAX_SLOTS => {
                    let number = slots.len() + 1;
                    let title = if number == 1 { name.clone() } else { format!("{name} ({number})") };
                    slots.push((places.other(trace, pid, &title), i64::MIN));
                    number - 1
                }
                None => MAX_SLOTS - 1,
            };
            let Some((track, busy_until)) = slots.get_mut(slot) else { continue };
            *busy_until = (*busy_until).max(family.end_ns);
            family.draw(trace, *track, report);
        }
    }
}

impl Family {
    fn add(&mut self, start_ns: i64, end_ns: i64, label: Label) {
        self.spans.push((start_ns, end_ns, label));
        self.start_ns = self.start_ns.min(start_ns);
        self.end_ns = self.end_ns.max(end_ns);
    }

    fn draw(self, trace: &mut Trace, track: TrackId, report: &mut ImportReport) {
        report.spans += self.spans.len() as u64;
        report.instants += self.moments.len() as u64;
        for (start_ns, end_ns, label) in self.spans {
            let dur_ns = end_ns.saturating_sub(start_ns);
            trace.complete(track, start_ns, dur_ns, label.name, label.category, label.args);
        }
        for (t_ns, label) in self.moments {
            trace.instant(track, t_ns, label.name, label.category, label.args);
        }
    }
}
