//! Protobuf that is read piece by piece: messages of any length are gone through field by field, without having more of
//! them in memory than the field that is looked at.

use super::window::Window;
use super::wire::{BYTES, FIXED32, FIXED64, MAX_VARINT, VARINT};
use super::wire::{Varint, varint};

/// The head of a field. Numbers are all of it; of bytes the content follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// A number, of whatever wire type.
    Number(u64),
    /// So many bytes, which are to be taken or passed over.
    Bytes(u64),
}

/// What stood where a field was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A field: number and head.
    Field(u32, Head),
    /// The message ends here, at the end of a field.
    End,
    /// The message ends inside a field, or what stands here is no field.
    Bad,
}

/// A walk through messages inside each other.
pub(super) struct WireStream<'w, 'r> {
    window: &'w mut Window<'r>,
}

impl<'w, 'r> WireStream<'w, 'r> {
    /// Begins at the beginning of a file.
    pub fn new(window: &'w mut Window<'r>) -> Self {
        Self { window }
    }

    /// The place in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// The next field of a message that ends at a place of the file. After anything but a field it stays where it is.
    pub fn next(&mut self, end: u64) -> Next {
        self.window.fill_to(2 * MAX_VARINT);
        let left = end.saturating_sub(self.offset());
        let text = self.window.text();
        let text = usize::try_from(left).ok().and_then(|left| text.get(..left)).unwrap_or(text);
        if text.is_empty() {
            return Next::End;
        }
        let Varint::Read(tag, tag_len) = varint(text) else { return Next::Bad };
        let Some(field) = u32::try_from(tag >> 3).ok().filter(|field| *field > 0) else { return Next::Bad };
        let body = text.get(tag_len..).unwrap_or(&[]);
        let (head, len) = match (tag as u32 & 7, varint(body)) {
            (VARINT, Varint::Read(value, len)) => (Head::Number(value), len),
            (BYTES, Varint::Read(bytes, len)) => (Head::Bytes(bytes), len),
            (FIXED64, _) => match body.split_first_chunk::<8>() {
                Some((eight, _)) => (Head::Number(u64::from_le_bytes(*eight)), 8),
                None => return Next::Bad,
            },
            (FIXED32, _) => match body.split_first_chunk::<4>() {
                Some((four, _)) => (Head::Number(u64::from(u32::from_le_bytes(*four))), 4),
                None => return Next::Bad,
            },
            _ => return Next::Bad,
        };
        let size = (tag_len + len) as u64;
        if let Head::Bytes(bytes) = head
            && size.checked_add(bytes).is_none_or(|size| size > left)
        {
            return Next::Bad;
        }
        self.window.take(tag_len + len);
        Next::Field(field, head)
    }

    /// The next bytes, which stay there; `None` if the file ends before them or they are more than may be in memory.
    pub fn bytes(&mut self, len: u64) -> Option<&[u8]> {
        let len = usize::try_from(len).ok()?;
        while self.window.text().len() < len && !self.window.ended() && !self.window.full() {
            self.window.fill();
        }
        self.window.text().get(..len)
    }

    /// Passes over everything up to a place of the file; returns whether the file goes so far.
    pub fn skip_to(&mut self, end: u64) -> bool {
        loop {
            let left = end.saturating_sub(self.offset());
            let there = self.window.text().len() as u64;
            if left <= there {
                self.window.take(left as usize);
                return true;
            }
            if self.window.ended() {
                return false;
            }
            self.window.take(usize::MAX);
            self.window.fill();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::wire::{Fields, Next as Whole, Value, put_bytes, put_double, put_uint};
    use super::*;
    use proptest::prelude::*;

    /// Numbers and lengths of all fields by streaming, with what follows them.
    fn streamed(bytes: &[u8], piece: usize) -> (Vec<(u32, u64)>, bool) {
        let mut window = Window::sized(bytes, piece, 1 << 20);
        let mut stream = WireStream::new(&mut window);
        let mut out = Vec::new();
        loop {
            match stream.next(bytes.len() as u64) {
                Next::Field(number, Head::Number(value)) => out.push((number, value)),
                Next::Field(number, Head::Bytes(len)) => {
                    let content = stream.bytes(len).unwrap();
                    out.push((number, content.iter().map(|byte| u64::from(*byte)).sum::<u64>() + len));
                    let end = stream.offset() + len;
                    assert!(stream.skip_to(end));
                }
                Next::End => return (out, true),
                Next::Bad => return (out, false),
            }
        }
    }

    proptest! {
        #[test]
        fn fields_are_those_of_the_whole(
            fields in prop::collection::vec((1u32..40, any::<u64>(), prop::collection::vec(any::<u8>(), 0..30)), 0..20),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            piece in 1usize..40,
        ) {
            let mut bytes = Vec::new();
            for (number, value, content) in &fields {
                put_uint(&mut bytes, *number, *value);
                put_bytes(&mut bytes, *number, content);
                put_double(&mut bytes, *number, *value as f64);
            }
            for (at, byte) in changes {
                if !bytes.is_empty() { let at = at.index(bytes.len()); bytes[at] = byte; }
            }
            let mut whole = Fields::new(&bytes);
            let mut expected = Vec::new();
            let ended = loop {
                match whole.next_field() {
                    Whole::Field(number, Value::Bytes(content)) => {
                        let sum = content.iter().map(|byte| u64::from(*byte)).sum::<u64>();
                        expected.push((number, sum + content.len() as u64));
                    }
                    Whole::Field(number, value) => expected.push((number, value.uint())),
                    Whole::End => break true,
                    Whole::Torn | Whole::Bad => break false,
                }
            };
            prop_assert_eq!(streamed(&bytes, piece), (expected, ended));
        }
    }
}
