//! The events of an XSpace: their times, names, figures, and what joins them.

use super::super::wire::{Fields, Next};
use super::field::{event, metadata};
use super::reader::{Place, Reader, Tables};
use crate::trace::{ArgValue, FlowEnd, NameId};

/// Longer spans are taken for damage. Seven days, in picoseconds.
const ABSURD_PS: i64 = 7 * 86_400 * 1_000_000_000_000;

/// What is said of a figure that cannot be read.
const BROKEN_STAT: &str = "figures of events without a name or a value, left out";

/// What a plane's table says of an event.
#[derive(Default)]
pub(super) struct Meta {
    name: NameId,
    /// Figures, and the whole name where a shorter one is shown.
    args: Vec<(NameId, ArgValue)>,
    /// Figures that cannot be read.
    broken: u64,
}

/// What joins events: number of a launch, or kind and number of a producer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Joint {
    /// Number of a launch.
    Launch(i64),
    /// Kind and number of a producer.
    Context(i64, i64),
}

impl Reader {
    /// What a plane's table says of an event.
    pub(super) fn meta(&mut self, id: u64, bytes: &[u8], tables: &Tables) -> Meta {
        let (mut name, mut display_name) = (&[][..], &[][..]);
        let mut meta = Meta::default();
        for (number, found) in Fields::new(bytes) {
            match number {
                metadata::NAME => name = found.bytes(),
                metadata::DISPLAY_NAME => display_name = found.bytes(),
                metadata::STAT => match self.stat(found.bytes(), tables) {
                    Some(stat) => meta.args.push(stat),
                    None => meta.broken += 1,
                },
                _ => {}
            }
        }
        meta.name = match (display_name, name) {
            ([], []) => self.trace.intern(&format!("event {id}")),
            ([], name) => self.text(name),
            (shown, _) => self.text(shown),
        };
        // The whole name, where that is another than the one that is shown.
        if !display_name.is_empty() && !name.is_empty() && display_name != name {
            let full = (self.trace.intern("full name"), ArgValue::Text(self.text(name)));
            meta.args.push(full);
        }
        meta
    }

    /// Takes an event in.
    pub(super) fn event(&mut self, bytes: &[u8], place: &Place, tables: &Tables, offset: u64) {
        let (mut id, mut start_ps, mut dur_ps, mut occurrences) = (0, 0_i64, 0_i64, None);
        self.args.clear();
        let mut stats: Vec<&[u8]> = Vec::new();
        let mut fields = Fields::new(bytes);
        for (number, value) in fields.by_ref() {
            match number {
                event::METADATA_ID => id = value.uint(),
                event::OFFSET_PS => start_ps = value.uint() as i64,
                event::DURATION_PS => dur_ps = value.uint() as i64,
                event::NUM_OCCURRENCES => occurrences = Some(value.uint()),
                event::STAT => stats.push(value.bytes()),
                _ => self.unknown("event", number, offset),
            }
        }
        if fields.next_field() != Next::End {
            self.report.note("events that end inside a field, taken as far as they go", Some(offset));
        }
        if occurrences.is_some() {
            self.report.note("events that are only counted, without a time, left out", Some(offset));
            return;
        }
        let Some((start_ns, dur_ns)) = self.times(place.base_ns, start_ps, dur_ps, offset) else { return };
        let unknown;
        let meta = match tables.events.get(&id) {
            Some(meta) => meta,
            None => {
                self.report.note("events whose name is not in the plane's table, shown by its number", Some(offset));
                unknown = Meta { name: self.trace.intern(&format!("event {id}")), ..Meta::default() };
                &unknown
            }
        };
        let mut joints = Joints::default();
        for bytes in stats {
            match self.stat(bytes, tables) {
                Some((key, value)) => {
                    joints.take(self.trace.name(key), value);
                    self.args.push((key, value));
                }
                None => self.report.note(BROKEN_STAT, Some(offset)),
            }
        }
        for (key, value) in &meta.args {
            joints.take(self.trace.name(*key), *value);
            self.args.push((*key, *value));
        }
        self.report.note_many(BROKEN_STAT, meta.broken, Some(offset));
        let name = meta.name;
        let args = self.trace.intern_args(&self.args);
        let category = self.trace.intern(category(self.trace.name(name), place.device));
        self.trace.complete(place.track, start_ns, dur_ns, name, category, args);
        self.report.spans += 1;
        self.join(&joints, place, start_ns);
    }

    /// Start and length in nanoseconds: the picosecond's nanosecond for both ends, so that neighbours stay neighbours.
    fn times(&mut self, base_ns: i64, start_ps: i64, dur_ps: i64, offset: u64) -> Option<(i64, i64)> {
        if !(0..=ABSURD_PS).contains(&dur_ps) {
            self.report
                .note("negative durations and those of more than seven days, drawn without duration", Some(offset));
        }
        let dur_ps = if (0..=ABSURD_PS).contains(&dur_ps) { dur_ps } else { 0 };
        let (start, end) = (start_ps.checked_div_euclid(1000), start_ps.checked_add(dur_ps));
        let (Some(start), Some(end)) = (start, end.map(|end| end.div_euclid(1000))) else {
            self.report.note("events beyond the end of time, left out", Some(offset));
            return None;
        };
        if dur_ps > 0 && end == start {
            self.report.note("events shorter than a nanosecond, drawn without duration", None);
        }
        let Some(start_ns) = base_ns.checked_add(start) else {
            self.report.note("events beyond the end of time, left out", Some(offset));
            return None;
        };
        Some((start_ns, end - start))
    }

    fn join(&mut self, joints: &Joints, place: &Place, start_ns: i64) {
        let end = FlowEnd { track: place.track, t_ns: start_ns };
        if let Some(id) = joints.launch {
            let joint = Joint::Launch(id);
            if place.device {
                self.consumers.push((joint, end));
            } else {
                // The first call that bears the number is the launch; later ones only mention it.
                self.producers.entry(joint).or_insert(end);
            }
        }
        if let (Some(kind), Some(id)) = joints.producer {
            self.producers.entry(Joint::Context(kind, id)).or_insert(end);
        }
        if let (Some(kind), Some(id)) = joints.consumer {
            self.consumers.push((Joint::Context(kind, id), end));
        }
    }
}

/// Numbers in an event's figures that join it to others.
#[derive(Default)]
struct Joints {
    launch: Option<i64>,
    producer: (Option<i64>, Option<i64>),
    consumer: (Option<i64>, Option<i64>),
}

impl Joints {
    fn take(&mut self, key: &str, value: ArgValue) {
        let ArgValue::Int(number) = value else { return };
        match key {
            "correlation_id" => self.launch = Some(number),
            "_pt" | "producer_type" => self.producer.0 = Some(number),
            "_p" | "producer_id" => self.producer.1 = Some(number),
            "_ct" | "consumer_type" => self.consumer.0 = Some(number),
            "_c" | "consumer_id" => self.consumer.1 = Some(number),
            _ => {}
        }
    }
}

/// The category of an event, which XProf does not write: by its name and place, in the words of PyTorch's profiler.
fn category(name: &str, device: bool) -> &'static str {
    let starts = |prefix: &str| name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    if device {
        return match name {
            _ if starts("memcpy") || name.contains("copyBuffer") => "gpu_memcpy",
            _ if starts("memset") || name.contains("fillBuffer") => "gpu_memset",
            _ => "kernel",
        };
    }
    let api = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(char::is_uppercase));
    match name {
        _ if api("hip") => "hip_runtime",
        _ if api("cuda") => "cuda_runtime",
        _ if api("cu") => "cuda_driver",
        _ if name.starts_with('$') => "python_function",
        _ => "",
    }
}
