//! Arguments of spans, interned as whole sets: a thousand launches of one kernel with the same arguments store one set.

use super::names::NameId;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher as _;
use std::sync::Arc;

/// Sets in a chunk; a snapshot that is written to copies at most one chunk.
const CHUNK: usize = 1024;

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

type Entry = (NameId, ArgValue);

#[derive(Debug, Clone, Default)]
struct Chunk {
    entries: Vec<Entry>,
    ends: Vec<usize>,
}

/// The table of argument sets. Cloning works as for names: the index stays behind.
#[derive(Debug, Default)]
pub(super) struct ArgTable {
    chunks: Vec<Arc<Chunk>>,
    len: u32,
    entry_count: usize,
    index: HashTable<u32>,
}

impl Clone for ArgTable {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone(), len: self.len, entry_count: self.entry_count, index: HashTable::new() }
    }
}

fn hash(set: &[Entry]) -> u64 {
    let mut hasher = FxHasher::default();
    for (key, value) in set {
        let (kind, bits) = value.bits();
        hasher.write_u64(u64::from(key.0) << 8 | u64::from(kind));
        hasher.write_u64(bits);
    }
    hasher.finish()
}

fn lookup(chunks: &[Arc<Chunk>], slot: u32) -> &[Entry] {
    let slot = slot as usize;
    let Some(chunk) = chunks.get(slot / CHUNK) else { return &[] };
    let within = slot % CHUNK;
    let start = within.checked_sub(1).and_then(|before| chunk.ends.get(before)).copied().unwrap_or(0);
    let end = chunk.ends.get(within).copied().unwrap_or(start);
    chunk.entries.get(start..end).unwrap_or(&[])
}

impl ArgTable {
    /// The set with this id; empty for an id of another trace.
    pub fn get(&self, id: ArgsId) -> &[Entry] {
        id.0.checked_sub(1).map_or(&[], |slot| lookup(&self.chunks, slot))
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.entry_count * size_of::<Entry>() + self.len as usize * (size_of::<usize>() + 10)
    }

    /// The id of a set, which is added if it is new. The order of the arguments counts.
    pub fn intern(&mut self, set: &[Entry]) -> ArgsId {
        if set.is_empty() {
            return ArgsId::NONE;
        }
        if self.index.len() != self.len as usize {
            self.rebuild_index();
        }
        let key = hash(set);
        if let Some(&slot) = self.index.find(key, |&slot| lookup(&self.chunks, slot) == set) {
            return ArgsId(slot + 1);
        }
        let slot = self.len;
        if (slot as usize).is_multiple_of(CHUNK) {
            self.chunks.push(Arc::default());
        }
        if let Some(chunk) = self.chunks.last_mut() {
            let chunk = Arc::make_mut(chunk);
            chunk.entries.extend_from_slice(set);
            chunk.ends.push(chunk.entries.len());
        }
        self.len += 1;
        self.entry_count += set.len();
        let chunks = &self.chunks;
        self.index.insert_unique(key, slot, |&slot| hash(lookup(chunks, slot)));
        ArgsId(slot + 1)
    }

    fn rebuild_index(&mut self) {
        let chunks = &self.chunks;
        let mut index = HashTable::with_capacity(self.len as usize);
        for slot in 0..self.len {
            index.insert_unique(hash(lookup(chunks, slot)), slot, |&slot| hash(lookup(chunks, slot)));
        }
        self.index = index;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn equal_sets_are_stored_once() {
        let mut table = ArgTable::default();
        let set = |i: i64| [(NameId(1), ArgValue::Int(i)), (NameId(2), ArgValue::Float(0.5))];
        let ids: Vec<ArgsId> = (0..2500).map(|i| table.intern(&set(i))).collect();
        let bytes = table.bytes();
        for (i, &id) in ids.iter().enumerate() {
            assert_eq!(table.get(id), set(i as i64));
            assert_eq!(table.intern(&set(i as i64)), id);
        }
        assert_eq!(table.bytes(), bytes);
        assert_eq!(table.intern(&[]), ArgsId::NONE);
        assert!(table.get(ArgsId::NONE).is_empty() && table.get(ArgsId(99_999)).is_empty());
        let mut copy = table.clone();
        assert_eq!(copy.intern(&set(7)), ids[7]);
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
