//! A window on a file that is read piece by piece: what is being taken apart is in memory, what was read before it no
//! longer is.

use super::container::PIECE_BYTES;
use std::io::Read;

/// Most bytes that one thing (an event, a line) may have. A longer one would fill the memory before it is known what it
/// is.
const MAX_THING: usize = 64 << 20;

/// The part of a file that is in memory.
pub(super) struct Window<'r> {
    source: Box<dyn Read + Send + 'r>,
    text: Vec<u8>,
    /// Bytes of the text that were taken.
    taken: usize,
    /// Where the text begins in the file, in bytes.
    base: u64,
    ended: bool,
    piece: usize,
    max: usize,
}

impl<'r> Window<'r> {
    /// A window on what a reader gives. An error is taken for the end: who made the reader asks it what it was.
    pub fn new(source: impl Read + Send + 'r) -> Self {
        Self::sized(source, PIECE_BYTES, MAX_THING)
    }

    /// The same with other sizes, for tests.
    pub fn sized(source: impl Read + Send + 'r, piece: usize, max: usize) -> Self {
        Self { source: Box::new(source), text: Vec::new(), taken: 0, base: 0, ended: false, piece, max }
    }

    /// What is in memory and was not taken.
    pub fn text(&self) -> &[u8] {
        self.text.get(self.taken..).unwrap_or(&[])
    }

    /// Where that begins in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.base + self.taken as u64
    }

    /// Whether nothing comes after it.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Whether one thing has more bytes than it may have, if all that is there is of one.
    pub fn full(&self) -> bool {
        self.text().len() >= self.max
    }

    /// Takes bytes off its beginning.
    pub fn take(&mut self, bytes: usize) {
        self.taken = self.text.len().min(self.taken.saturating_add(bytes));
    }

    /// Takes in more of the file: at least as much as there is, so that a long thing is not looked at again and again.
    pub fn fill(&mut self) {
        self.text.drain(..self.taken);
        self.base += self.taken as u64;
        self.taken = 0;
        let wanted = self.piece.max(self.text.len());
        let read = self.source.by_ref().take(wanted as u64).read_to_end(&mut self.text);
        self.ended = !matches!(read, Ok(read) if read == wanted);
    }

    /// Takes in so many bytes, if the file has them.
    pub fn fill_to(&mut self, bytes: usize) {
        while self.text().len() < bytes && !self.ended {
            self.fill();
        }
    }

    /// Reads to the end of the file without keeping anything; returns the bytes of the whole.
    pub fn drain(&mut self) -> u64 {
        while !self.ended {
            self.take(usize::MAX);
            self.fill();
        }
        self.base + self.text.len() as u64
    }

    /// Bytes of memory that it holds.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.text.capacity()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn what_was_taken_is_let_go() {
        let file: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let mut window = Window::sized(&file[..], 64, 1 << 20);
        let mut all = Vec::new();
        while !window.ended() {
            window.fill();
            assert_eq!(window.offset() as usize, all.len());
            let part = window.text().len() / 2 + 1;
            all.extend_from_slice(&window.text()[..part.min(window.text().len())]);
            window.take(part);
        }
        all.extend_from_slice(window.text());
        assert!(all == file && window.held() < 1024, "{}", window.held());
    }

    #[test]
    fn a_long_thing_is_looked_at_few_times() {
        let file = vec![7; 1_000_000];
        let mut window = Window::sized(&file[..], 16, 1 << 19);
        let mut looks = 0;
        while !window.ended() && !window.full() {
            window.fill();
            looks += 1;
        }
        assert!(looks < 20 && window.full(), "{looks}");
        assert_eq!(window.drain(), 1_000_000);
        assert!(window.held() < 2 << 20);
    }
}
