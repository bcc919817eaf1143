//! What packets of one writer share: texts by number, and what holds for packets that do not say otherwise.

use super::super::wire::Fields;
use super::field;
use super::reader::{Event, text_field};
use crate::model::TrackKind;
use crate::trace::{NameId, Trace};
use rustc_hash::FxHashMap;

/// What packets of one writer may refer to.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    pub names: FxHashMap<u64, NameId>,
    pub categories: FxHashMap<u64, NameId>,
    pub keys: FxHashMap<u64, NameId>,
    pub texts: FxHashMap<u64, NameId>,
    pub default_track: u64,
    pub default_clock: u64,
    /// Time of the last event in the old form, which counts from the one before; `None` before the first.
    time_us: Option<i64>,
}

impl Sequence {
    /// Takes in what holds for all packets that do not say otherwise.
    pub fn take_defaults(&mut self, defaults: &[u8]) {
        for (number, value) in Fields::new(defaults) {
            match number {
                field::defaults::CLOCK_ID => self.default_clock = value.uint(),
                field::defaults::TRACK_EVENT => {
                    let mut fields = Fields::new(value.bytes());
                    let uuid = fields.find(|(number, _)| *number == field::defaults::TRACK_UUID);
                    self.default_track = uuid.map_or(self.default_track, |(_, uuid)| uuid.uint());
                }
                _ => {}
            }
        }
    }

    /// The thread of a writer of the old form, from whose time its events count.
    pub fn take_thread(&mut self, thread: &[u8], sequence_id: u32, trace: &mut Trace) {
        let mut tid = 0;
        for (number, value) in Fields::new(thread) {
            match number {
                field::thread::TID => tid = value.uint(),
                field::thread::REFERENCE_TIME_US => self.time_us = Some(value.uint() as i64),
                _ => {}
            }
        }
        // No new track may have this number: theirs are 64 bits of chance.
        let uuid = u64::from(sequence_id) << 32 | (tid & 0xffff_ffff);
        let name = text_field(thread, field::thread::NAME).unwrap_or_else(|| format!("Thread {tid}"));
        trace.add_track(uuid, None, &name, "", TrackKind::Thread);
        self.default_track = uuid;
    }

    /// Time of an event in the old form, in nanoseconds: from the writer's last, or by itself.
    pub fn old_time(&mut self, event: &Event<'_>) -> Option<i64> {
        if let Some(absolute) = event.absolute_us {
            return Some(absolute.saturating_mul(1000));
        }
        let time_us = self.time_us?.saturating_add(event.delta_us?);
        self.time_us = Some(time_us);
        Some(time_us.saturating_mul(1000))
    }
}
