//! Times on other clocks: packets may count on a clock of their own, which snapshots tie to the trace's.
//!
//! As Perfetto's `docs/concepts/clock-sync.md` has it: numbers below 64 are clocks of the machine, 64 to 127 belong to one
//! writer each, and what is incremental counts from the packet before.

use super::super::wire::Fields;
use super::field::{clock, clock_snapshot};
use rustc_hash::FxHashMap;

/// `BUILTIN_CLOCK_BOOTTIME`, on which a trace counts if it says nothing else.
const BOOTTIME: u64 = 6;
/// Clocks that belong to one writer.
const OWN_CLOCKS: std::ops::Range<u64> = 64..128;
/// Points of one clock that are kept; further ones replace the last.
const MAX_POINTS: usize = 1 << 16;

/// A clock: its number, and the writer it belongs to if it is one of its own.
type Key = (u32, u64);

#[derive(Debug)]
struct Clock {
    unit_ns: i64,
    incremental: bool,
    /// Last time of an incremental clock, in its units.
    last: i64,
    /// Times of this clock and the trace's at the same moment, both in nanoseconds, in order.
    points: Vec<(i64, i64)>,
}

/// All clocks that were heard of.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    clocks: FxHashMap<Key, Clock>,
    primary: Option<u64>,
}

fn key(id: u64, sequence: u32) -> Key {
    if OWN_CLOCKS.contains(&id) { (sequence, id) } else { (0, id) }
}

impl Clocks {
    /// Takes in a snapshot: times of several clocks at one moment. `false` = it has no clock that the trace counts on.
    pub fn snapshot(&mut self, bytes: &[u8], sequence: u32) -> bool {
        let mut times: Vec<(u64, i64, bool, i64)> = Vec::new();
        for (number, value) in Fields::new(bytes) {
            match number {
                clock_snapshot::CLOCK => {
                    let (mut id, mut time, mut incremental, mut unit_ns) = (0, 0, false, 1);
                    for (number, value) in Fields::new(value.bytes()) {
                        match number {
                            clock::ID => id = value.uint(),
                            clock::TIMESTAMP => time = value.uint() as i64,
                            clock::INCREMENTAL => incremental = value.uint() != 0,
                            clock::UNIT_NS => unit_ns = (value.uint() as i64).max(1),
                            _ => {}
                        }
                    }
                    times.push((id, time, incremental, unit_ns));
                }
                clock_snapshot::PRIMARY => self.primary = Some(value.uint()),
                _ => {}
            }
        }
        let primary = self.primary.unwrap_or(BOOTTIME);
        let trace_ns =
            times.iter().find(|(id, ..)| *id == primary).map(|(_, time, _, unit)| time.saturating_mul(*unit));
        // A clock that the trace does not count on may still be tied to it through one of an earlier snapshot.
        let trace_ns = trace_ns.or_else(|| {
            times.iter().find_map(|(id, time, _, unit)| self.on_trace(key(*id, sequence), time.saturating_mul(*unit)))
        });
        let Some(trace_ns) = trace_ns else { return false };
        for (id, time, incremental, unit_ns) in times.into_iter().filter(|(id, ..)| *id != primary) {
            let fresh = || Clock { unit_ns, incremental, last: time, points: Vec::new() };
            let clock = self.clocks.entry(key(id, sequence)).or_insert_with(fresh);
            (clock.unit_ns, clock.incremental, clock.last) = (unit_ns, incremental, time);
            let point = (time.saturating_mul(unit_ns), trace_ns);
            if clock.points.len() == MAX_POINTS {
                clock.points.pop();
            }
            let at = clock.points.partition_point(|(own, _)| *own <= point.0);
            clock.points.insert(at, point);
        }
        true
    }

    /// A packet's time in nanoseconds of the trace; `None` if no snapshot ties its clock to the trace's.
    pub fn trace_time(&mut self, id: u64, sequence: u32, time: i64) -> Option<i64> {
        if id == 0 || id == self.primary.unwrap_or(BOOTTIME) {
            return Some(time);
        }
        let key = key(id, sequence);
        let clock = self.clocks.get_mut(&key)?;
        let own = if clock.incremental {
            clock.last = clock.last.saturating_add(time);
            clock.last
        } else {
            time
        };
        let own_ns = own.saturating_mul(clock.unit_ns);
        self.on_trace(key, own_ns)
    }

    fn on_trace(&self, key: Key, own_ns: i64) -> Option<i64> {
        let points = &self.clocks.get(&key)?.points;
        let at = points.partition_point(|(own, _)| *own <= own_ns);
        let (own, trace) = points.get(at.saturating_sub(1))?;
        Some(trace.saturating_add(own_ns.saturating_sub(*own)))
    }

    /// Forgets the incremental time of a writer that begins anew.
    pub fn cleared(&mut self, sequence: u32) {
        self.clocks.retain(|(owner, id), _| *owner != sequence || !OWN_CLOCKS.contains(id));
    }
}
