//! Arguments of spans, interned as whole sets: a thousand launches of one kernel with the same arguments store one set.

use super::names::NameId;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher as _;
use std::sync::Arc;

/// Sets in a chunk; a snapshot that is written to copies at most one chunk.
const CHUNK: usize = 1024;

/// Sets in the index; older ones are stored again if they repeat.
const MAX_INDEXED: usize = 1 << 18;

/// An interned set of arguments. `ArgsId::NONE` is the empty set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ArgsId(pub u32);

impl ArgsId {
    /// No arguments.
    pub const NONE: Self = Self(0);
}

/// The value of one argument.
#[derive(Debug, Clone, Copy)]
pub enum ArgValue {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A text, interned.
    Text(NameId),
}

impl ArgValue {
    /// Kind and bits, by which values are compared: a NaN equals itself, `1` and `1.0` differ.
    fn bits(self) -> (u8, u64) {
        match self {
            Self::Int(value) => (0, value as u64),
            Self::Float(value) => (1, value.to_bits()),
            Self::Bool(value) => (2, u64::from(value)),
            Self::Text(value) => (3, u64::from(value.0)),
        }
    }
}

impl PartialEq for ArgValue {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

/// Key and value of one argument.
pub type Entry = (NameId, ArgValue);

/// Sets in their written form, one after the other.
///
/// An argument is its key and kind as one number, then its value: whole numbers and texts as numbers of variable length
/// (small ones take a byte), others as they stand. Equal sets are equal bytes.
#[derive(Debug, Clone, Default)]
struct Chunk {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

/// The table of argument sets. Cloning works as for names: the index stays behind.
#[derive(Debug, Default)]
pub(super) struct ArgTable {
    chunks: Vec<Arc<Chunk>>,
    len: u32,
    bytes: usize,
    /// Sets from `indexed_from` on, by their bytes.
    index: HashTable<u32>,
    indexed_from: u32,
    /// The set that was asked for last.
    last: u32,
    scratch: Vec<u8>,
}

impl Clone for ArgTable {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone(), len: self.len, bytes: self.bytes, ..Self::default() }
    }
}

/// The arguments of one set, in order.
#[derive(Debug, Clone, Default)]
pub struct Args<'a> {
    rest: &'a [u8],
}

impl Args<'_> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl Iterator for Args<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let head = self.number()?;
        let key = NameId((head >> 2) as u32);
        let value = match head & 3 {
            0 => {
                let zigzag = self.number()?;
                ArgValue::Int((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
            }
            1 => {
                let (bits, rest) = self.rest.split_first_chunk::<8>()?;
                self.rest = rest;
                ArgValue::Float(f64::from_le_bytes(*bits))
            }
            2 => ArgValue::Bool(self.number()? != 0),
            _ => ArgValue::Text(NameId(self.number()? as u32)),
        };
        Some((key, value))
    }
}

fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn encode(set: &[Entry], out: &mut Vec<u8>) {
    for (key, value) in set {
        let (kind, _) = value.bits();
        put_number(out, u64::from(key.0) << 2 | u64::from(kind));
        match *value {
            ArgValue::Int(value) => put_number(out, (value << 1 ^ value >> 63) as u64),
            ArgValue::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
            ArgValue::Bool(value) => out.push(u8::from(value)),
            ArgValue::Text(text) => put_number(out, u64::from(text.0)),
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

fn lookup(chunks: &[Arc<Chunk>], slot: u32) -> &[u8] {
    let slot = slot as usize;
    let Some(chunk) = chunks.get(slot / CHUNK) else { return &[] };
    let within = slot % CHUNK;
    let start = within.checked_sub(1).and_then(|before| chunk.ends.get(before)).copied().unwrap_or(0);
    let end = chunk.ends.get(within).copied().unwrap_or(start);
    chunk.bytes.get(start as usize..end as usize).unwrap_or(&[])
}

impl ArgTable {
    /// The set with this id; empty for an id of another trace.
    pub fn get(&self, id: ArgsId) -> Args<'_> {
        Args { rest: id.0.checked_sub(1).map_or(&[], |slot| lookup(&self.chunks, slot)) }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let index = self.index.capacity() * (size_of::<u32>() + 1);
        self.bytes + self.len as usize * size_of::<u32>() + self.chunks.len() * size_of::<Chunk>() + index
    }

    /// The id of a set, which is added if it is new or was met too long ago. The order of the arguments counts.
    pub fn intern(&mut self, set: &[Entry]) -> ArgsId {
        if set.is_empty() {
            return ArgsId::NONE;
        }
        if self.indexed_from as usize + self.index.len() != self.len as usize || self.index.len() >= MAX_INDEXED {
            self.rebuild_index();
        }
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        encode(set, &mut bytes);
        // Neighbours often have the same arguments.
        let id = if lookup(&self.chunks, self.last) == bytes {
            self.last
        } else {
            let key = hash(&bytes);
            let known = self.index.find(key, |&slot| lookup(&self.chunks, slot) == bytes).copied();
            known.unwrap_or_else(|| self.add(key, &bytes))
        };
        (self.scratch, self.last) = (bytes, id);
        ArgsId(id + 1)
    }

    fn add(&mut self, key: u64, bytes: &[u8]) -> u32 {
        let slot = self.len;
        if (slot as usize).is_multiple_of(CHUNK) {
            if let Some(full) = self.chunks.last_mut().and_then(Arc::get_mut) {
                full.bytes.shrink_to_fit();
            }
            self.chunks.push(Arc::new(Chunk { bytes: Vec::new(), ends: Vec::with_capacity(CHUNK) }));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            let chunk = Arc::make_mut(chunk);
            chunk.bytes.extend_from_slice(bytes);
            // 1,024 sets of the longest lines that are read stay far below 4 GiB; beyond it a set would read as empty.
            chunk.ends.push(u32::try_from(chunk.bytes.len()).unwrap_or(u32::MAX));
        }
        self.len += 1;
        self.bytes += bytes.len();
        let chunks = &self.chunks;
        self.index.insert_unique(key, slot, |&slot| hash(lookup(chunks, slot)));
        slot
    }

    /// Indexes the newest sets: what repeats does so soon, and an index of all would be larger than what it saves.
    fn rebuild_index(&mut self) {
        let chunks = &self.chunks;
        self.indexed_from = self.len.saturating_sub(MAX_INDEXED as u32 / 2);
        // It will fill up again, if it had been full.
        let capacity = if self.indexed_from > 0 { MAX_INDEXED } else { self.len as usize };
        let mut index = HashTable::with_capacity(capacity);
        for slot in self.indexed_from..self.len {
            index.insert_unique(hash(lookup(chunks, slot)), slot, |&slot| hash(lookup(chunks, slot)));
        }
        self.index = index;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_sets_are_stored_once() {
        let mut table = ArgTable::default();
        let set = |i: i64| [(NameId(1), ArgValue::Int(i)), (NameId(2), ArgValue::Float(0.5))];
        let ids: Vec<ArgsId> = (0..2500).map(|i| table.intern(&set(i))).collect();
        let bytes = table.bytes();
        for (i, &id) in ids.iter().enumerate() {
            assert_eq!(table.get(id).collect::<Vec<_>>(), set(i as i64));
            assert_eq!(table.intern(&set(i as i64)), id);
        }
        assert_eq!(table.bytes(), bytes);
        assert_eq!(table.intern(&[]), ArgsId::NONE);
        assert!(table.get(ArgsId::NONE).is_empty() && table.get(ArgsId(99_999)).is_empty());
        let mut copy = table.clone();
        assert_eq!(copy.intern(&set(7)), ids[7]);
    }

    #[test]
    fn the_index_stays_small_and_what_repeats_soon_is_found() {
        let mut table = ArgTable::default();
        let set = |i: i64| [(NameId(1), ArgValue::Int(i))];
        let count = MAX_INDEXED as i64 * 3;
        for i in 0..count {
            let id = table.intern(&set(i));
            assert_eq!(table.intern(&set(i)), id);
        }
        assert_eq!(table.len, count as u32);
        assert!(table.index.len() <= MAX_INDEXED);
        // Key, value of up to three bytes, end, and what the index takes.
        assert!(table.bytes() < count as usize * 14, "{} bytes a set", table.bytes() / count as usize);
        assert_eq!(table.get(ArgsId(1)).collect::<Vec<_>>(), set(0));
    }

    proptest! {
        #[test]
        fn every_value_survives(set in prop::collection::vec((any::<u32>(), any::<u8>(), any::<i64>()), 1..8)) {
            let set: Vec<Entry> = set
                .into_iter()
                .map(|(key, kind, bits)| {
                    let value = match kind % 4 {
                        0 => ArgValue::Int(bits),
                        1 => ArgValue::Float(f64::from_bits(bits as u64)),
                        2 => ArgValue::Bool(bits & 1 == 1),
                        _ => ArgValue::Text(NameId(bits as u32)),
                    };
                    (NameId(key), value)
                })
                .collect();
            let mut table = ArgTable::default();
            table.intern(&[(NameId(3), ArgValue::Bool(true))]);
            let id = table.intern(&set);
            prop_assert_eq!(table.get(id).collect::<Vec<_>>(), set);
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        let mut table = ArgTable::default();
        let values = [ArgValue::Int(1), ArgValue::Float(1.0), ArgValue::Bool(true), ArgValue::Text(NameId(1))];
        let ids: std::collections::HashSet<ArgsId> = values.iter().map(|&v| table.intern(&[(NameId(1), v)])).collect();
        assert_eq!(ids.len(), values.len());
        let nan = [(NameId(1), ArgValue::Float(f64::NAN))];
        assert_eq!(table.intern(&nan), table.intern(&nan));
    }
}
