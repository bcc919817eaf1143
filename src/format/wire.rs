//! The protobuf wire format: tags, varints and length-delimited fields. Knows no message.

/// Largest number of bytes of a varint.
pub(super) const MAX_VARINT: usize = 10;

/// Field holding a varint.
pub(super) const VARINT: u32 = 0;
/// Field of eight bytes.
pub(super) const FIXED64: u32 = 1;
/// Field with a length and that many bytes.
pub(super) const BYTES: u32 = 2;
/// Field of four bytes.
pub(super) const FIXED32: u32 = 5;

/// Appends a varint.
#[inline]
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a varint field.
#[inline]
pub(super) fn put_uint(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field << 3 | VARINT));
    put_varint(out, value);
}

/// Appends a field of eight bytes with a floating-point number.
#[inline]
pub(super) fn put_double(out: &mut Vec<u8>, field: u32, value: f64) {
    put_fixed64(out, field, value.to_bits());
}

/// Appends a field of eight bytes with a whole number.
#[inline]
pub(super) fn put_fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field << 3 | FIXED64));
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field with a length: bytes, a string, a message.
#[inline]
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, u64::from(field << 3 | BYTES));
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The content of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    /// A varint.
    Uint(u64),
    /// Eight bytes, little endian.
    Fixed64(u64),
    /// Bytes, a string or a message.
    Bytes(&'a [u8]),
    /// Four bytes, little endian.
    Fixed32(u32),
}

impl<'a> Value<'a> {
    /// A whole number, of whatever wire type; 0 for bytes.
    pub fn uint(self) -> u64 {
        match self {
            Self::Uint(value) | Self::Fixed64(value) => value,
            Self::Fixed32(value) => u64::from(value),
            Self::Bytes(_) => 0,
        }
    }

    /// A floating-point number of eight bytes.
    pub fn double(self) -> f64 {
        f64::from_bits(self.uint())
    }

    /// The bytes; empty for a number.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// What stood where a field was expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Next<'a> {
    /// A field: number and content.
    Field(u32, Value<'a>),
    /// The bytes end here, at the end of a field.
    End,
    /// The bytes end inside a field.
    Torn,
    /// What stands here is no field.
    Bad,
}

/// Reads fields one after the other.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: 0 }
    }

    /// Bytes that were read, up to the end of the last whole field.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// The next field. After anything but a field it stays where it is.
    // Half of the time of reading ten million spans is spent here, and a call for each field doubles that.
    #[inline(always)]
    pub fn next_field(&mut self) -> Next<'a> {
        let rest = self.bytes.get(self.pos..).unwrap_or(&[]);
        if rest.is_empty() {
            return Next::End;
        }
        let (tag, mut at) = match varint(rest) {
            Varint::Read(tag, len) => (tag, len),
            Varint::Torn => return Next::Torn,
            Varint::Bad => return Next::Bad,
        };
        let Ok(field) = u32::try_from(tag >> 3) else { return Next::Bad };
        if field == 0 {
            return Next::Bad;
        }
        let body = rest.get(at..).unwrap_or(&[]);
        let value = match tag as u32 & 7 {
            VARINT => match varint(body) {
                Varint::Read(value, len) => {
                    at += len;
                    Value::Uint(value)
                }
                Varint::Torn => return Next::Torn,
                Varint::Bad => return Next::Bad,
            },
            FIXED64 => {
                let Some((eight, _)) = body.split_first_chunk::<8>() else { return Next::Torn };
                at += 8;
                Value::Fixed64(u64::from_le_bytes(*eight))
            }
            FIXED32 => {
                let Some((four, _)) = body.split_first_chunk::<4>() else { return Next::Torn };
                at += 4;
                Value::Fixed32(u32::from_le_bytes(*four))
            }
            BYTES => {
                let (len, skip) = match varint(body) {
                    Varint::Read(len, skip) => (len, skip),
                    Varint::Torn => return Next::Torn,
                    Varint::Bad => return Next::Bad,
                };
                let content = body.get(skip..).unwrap_or(&[]);
                let Some(content) = usize::try_from(len).ok().and_then(|len| content.get(..len)) else {
                    return Next::Torn;
                };
                at += skip + content.len();
                Value::Bytes(content)
            }
            _ => return Next::Bad,
        };
        self.pos += at;
        Next::Field(field, value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    /// The fields up to the first thing that is none.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        match self.next_field() {
            Next::Field(field, value) => Some((field, value)),
            _ => None,
        }
    }
}

/// What a varint is.
pub(super) enum Varint {
    /// A number, and how many bytes it takes.
    Read(u64, usize),
    /// The bytes end before it does.
    Torn,
    /// It is too long.
    Bad,
}

/// Reads a varint from the beginning of bytes.
#[inline(always)]
pub(super) fn varint(bytes: &[u8]) -> Varint {
    match bytes.first() {
        // Tags, lengths and small numbers.
        Some(&byte) if byte < 0x80 => Varint::Read(u64::from(byte), 1),
        _ => long_varint(bytes),
    }
}

/// A number of more than one byte. Eight bytes are looked at at once: their highest bits say where it ends, and the seven
/// others of each are pushed together by twos, fours and eights.
#[inline]
fn long_varint(bytes: &[u8]) -> Varint {
    if let Some((eight, _)) = bytes.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let ends = !word & 0x8080_8080_8080_8080;
        if ends != 0 {
            let len = ends.trailing_zeros() / 8 + 1;
            let value = word & (u64::MAX >> (64 - 8 * len)) & 0x7f7f_7f7f_7f7f_7f7f;
            let value = (value & 0x7f00_7f00_7f00_7f00) >> 1 | (value & 0x007f_007f_007f_007f);
            let value = (value & 0x3fff_0000_3fff_0000) >> 2 | (value & 0x0000_3fff_0000_3fff);
            let value = (value & 0x0fff_ffff_0000_0000) >> 4 | (value & 0x0000_0000_0fff_ffff);
            return Varint::Read(value, len as usize);
        }
    }
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(MAX_VARINT).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * i as u32).unwrap_or(0);
        if byte < 0x80 {
            return Varint::Read(value, i + 1);
        }
    }
    if bytes.len() < MAX_VARINT { Varint::Torn } else { Varint::Bad }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_round_trip(values in prop::collection::vec((1u32..5000, any::<u64>(), 0u8..3), 0..20)) {
            let mut out = Vec::new();
            for &(field, value, kind) in &values {
                match kind {
                    0 => put_uint(&mut out, field, value),
                    1 => put_double(&mut out, field, f64::from_bits(value)),
                    _ => put_bytes(&mut out, field, &value.to_le_bytes()),
                }
            }
            let mut fields = Fields::new(&out);
            for &(field, value, kind) in &values {
                let (found, content) = fields.next().unwrap();
                prop_assert_eq!(found, field);
                if kind == 2 { prop_assert_eq!(content.bytes(), &value.to_le_bytes()[..]); }
                else { prop_assert_eq!(content.uint(), value); }
            }
            prop_assert_eq!(fields.next_field(), Next::End);
            // Cut anywhere: whole fields, then torn or the end.
            for cut in 0..out.len() {
                let mut fields = Fields::new(&out[..cut]);
                while let Next::Field(..) = fields.next_field() {}
                prop_assert!(matches!(fields.next_field(), Next::End | Next::Torn));
            }
        }

        #[test]
        fn numbers_of_every_length_are_read(bits in 0u32..64, value in any::<u64>(), more in prop::collection::vec(any::<u8>(), 0..9)) {
            let value = value >> bits;
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let len = out.len();
            out.extend(more);
            let Varint::Read(found, read) = varint(&out) else { panic!("not read") };
            prop_assert_eq!((found, read), (value, len));
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut fields = Fields::new(&bytes);
            let mut count = 0;
            while let Next::Field(..) = fields.next_field() { count += 1; }
            prop_assert!(count <= bytes.len() && fields.pos() <= bytes.len());
        }
    }
}
