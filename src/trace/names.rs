//! Interned strings: names, categories, argument keys and argument texts, each stored once.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher as _;
use std::sync::Arc;

/// Names in a chunk; a snapshot that is written to copies at most one chunk.
const CHUNK: usize = 1024;

/// An interned string. `NameId::EMPTY` is the empty string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NameId(pub u32);

impl NameId {
    /// The empty string: no name, no category.
    pub const EMPTY: Self = Self(0);
}

/// The table of interned strings. A clone shares the strings and leaves the index behind: it is rebuilt when the clone
/// is written to, which readers never do.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    chunks: Vec<Arc<Vec<Arc<str>>>>,
    len: u32,
    text_bytes: usize,
    index: HashTable<u32>,
}

impl Clone for NameTable {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone(), len: self.len, text_bytes: self.text_bytes, index: HashTable::new() }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn lookup(chunks: &[Arc<Vec<Arc<str>>>], id: u32) -> &str {
    let id = id as usize;
    chunks.get(id / CHUNK).and_then(|chunk| chunk.get(id % CHUNK)).map_or("", |name| name)
}

impl NameTable {
    /// The string with this id; empty for an id of another trace.
    pub fn get(&self, id: NameId) -> &str {
        id.0.checked_sub(1).map_or("", |slot| lookup(&self.chunks, slot))
    }

    /// Number of strings, the empty one included; ids run from 0 to this.
    pub fn len(&self) -> u32 {
        self.len + 1
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        // A fat pointer in the chunk, two counters before the text, an index entry with its slack.
        self.text_bytes + self.len as usize * (16 + 16 + 10)
    }

    /// The id of a string that is already there.
    pub fn find(&self, text: &str) -> Option<NameId> {
        if text.is_empty() {
            return Some(NameId::EMPTY);
        }
        if self.index.len() == self.len as usize {
            let found = self.index.find(hash(text), |&slot| lookup(&self.chunks, slot) == text);
            return found.map(|&slot| NameId(slot + 1));
        }
        (0..self.len).find(|&slot| lookup(&self.chunks, slot) == text).map(|slot| NameId(slot + 1))
    }

    /// The id of a string, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> NameId {
        if text.is_empty() {
            return NameId::EMPTY;
        }
        if self.index.len() != self.len as usize {
            self.rebuild_index();
        }
        let key = hash(text);
        if let Some(&slot) = self.index.find(key, |&slot| lookup(&self.chunks, slot) == text) {
            return NameId(slot + 1);
        }
        let slot = self.len;
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => Arc::make_mut(chunk).push(text.into()),
            _ => {
                let mut chunk = Vec::with_capacity(if slot == 0 { 64 } else { CHUNK });
                chunk.push(text.into());
                self.chunks.push(Arc::new(chunk));
            }
        }
        self.len += 1;
        self.text_bytes += text.len();
        let chunks = &self.chunks;
        self.index.insert_unique(key, slot, |&slot| hash(lookup(chunks, slot)));
        NameId(slot + 1)
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
    fn the_same_text_has_the_same_id() {
        let mut names = NameTable::default();
        let ids: Vec<NameId> = (0..3000).map(|i| names.intern(&format!("name {i}"))).collect();
        assert_eq!(names.len(), 3001);
        for (i, &id) in ids.iter().enumerate() {
            assert_eq!(names.get(id), format!("name {i}"));
            assert_eq!(names.intern(&format!("name {i}")), id);
        }
        assert_eq!(names.intern(""), NameId::EMPTY);
        assert_eq!(names.get(NameId(1_000_000)), "");
    }

    #[test]
    fn a_clone_can_be_read_and_written() {
        let mut names = NameTable::default();
        let a = names.intern("a");
        let mut other = names.clone();
        assert_eq!(other.find("a"), Some(a));
        let b = names.intern("b");
        let c = other.intern("c");
        assert_eq!(b, c, "ids of different tables are independent");
        assert_eq!((names.get(b), other.get(c)), ("b", "c"));
        assert_eq!(other.intern("a"), a);
    }
}
