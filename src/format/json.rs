//! Reads JSON token by token from bytes, without building a tree: numbers keep their text, so that decimals stay exact.
//! Strict where it matters (nothing is guessed), tolerant of a trailing comma and of bytes that are not UTF-8.

use std::borrow::Cow;

/// Deepest nesting that is skipped or read as one value.
const MAX_DEPTH: usize = 512;

/// What is said of an object or array without its closing bracket.
pub(super) const UNENDED: &str = "an object or array does not end";

/// What is said of a text without its closing quote.
const TEXT_UNENDED: &str = "a text does not end";

/// Longest word of JSON or Python, with slack: what is broken so near the end may be mended by what comes after it.
const NEAR_END: usize = 16;

/// Where and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    /// What was expected.
    pub what: &'static str,
    /// Place, in bytes.
    pub offset: usize,
}

/// A simple value, or the text of one that is not.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// A text, with its escapes resolved.
    Text(Cow<'a, str>),
    /// A number as it is written.
    Number(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// An object or array, as it is written.
    Nested(&'a [u8]),
}

/// Bytes of a text that are looked at one by one: most end within them, and a call would cost more.
const SHORT: usize = 12;

/// The place of the next quote or backslash.
fn text_end(rest: &[u8]) -> Option<usize> {
    let head = rest.get(..SHORT).unwrap_or(rest);
    let special = |byte: &u8| matches!(byte, b'"' | b'\\');
    head.iter().position(special).or_else(|| {
        let tail = rest.get(head.len()..).unwrap_or(&[]);
        memchr::memchr2(b'"', b'\\', tail).map(|at| head.len() + at)
    })
}

/// A text of a file; what is not UTF-8 becomes the replacement character.
fn readable(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        // Texts are nearly always sound, and checking that takes less than looking for where one is not.
        Cow::Borrowed(bytes) => {
            std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
        }
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// A place in JSON text.
#[derive(Debug, Clone)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// Where the bytes begin in the file.
    base: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::at(bytes, 0)
    }

    /// A scanner of a part of a file that begins at this place.
    pub fn at(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, pos: 0, base: base as usize }
    }

    /// The place in the file, in bytes.
    pub fn pos(&self) -> usize {
        self.base + self.pos
    }

    /// Bytes that were read.
    pub fn read(&self) -> usize {
        self.pos
    }

    /// What was read since so many bytes had been.
    pub fn since(&self, read: usize) -> &'a [u8] {
        self.bytes.get(read..self.pos).unwrap_or(&[])
    }

    /// Whether nothing is left.
    pub fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    /// Whether something may only be broken because the bytes end too early.
    pub fn is_cut(&self, broken: &Broken) -> bool {
        matches!(broken.what, UNENDED | TEXT_UNENDED) || broken.offset + NEAR_END >= self.base + self.bytes.len()
    }

    fn broken<T>(&self, what: &'static str) -> Result<T, Broken> {
        Err(Broken { what, offset: self.pos() })
    }

    /// The next byte that is no white space, without taking it.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.pos) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.pos += 1;
        }
        None
    }

    /// Takes this byte if it is next.
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.pos += usize::from(found);
        found
    }

    /// Goes on to the next object that begins after the end of another (`}` `,` `{`); `false` = there is none. To carry
    /// on after something that is no JSON.
    pub fn seek_object(&mut self) -> bool {
        let mut at = self.pos;
        while let Some(step) = memchr::memchr(b'{', self.bytes.get(at..).unwrap_or(&[])) {
            let open = at + step;
            let mut before = self.bytes.get(..open).unwrap_or(&[]).iter().rev().filter(|b| !b.is_ascii_whitespace());
            if before.next() == Some(&b',') && before.next() == Some(&b'}') && open > self.pos {
                self.pos = open;
                return true;
            }
            at = open + 1;
        }
        false
    }

    /// Goes on to the last so many bytes.
    pub fn skip_to_last(&mut self, bytes: usize) {
        self.pos = self.pos.max(self.bytes.len().saturating_sub(bytes));
    }

    /// After an opening bracket or a member: whether another member follows. Takes the comma or the closing bracket.
    pub fn more(&mut self, close: u8, first: &mut bool) -> Result<bool, Broken> {
        let was_first = std::mem::replace(first, false);
        if self.take(close) {
            return Ok(false);
        }
        if was_first {
            return Ok(true);
        }
        if !self.take(b',') {
            return self.broken("a comma or a closing bracket was expected");
        }
        Ok(!self.take(close))
    }

    /// The key of an object's member, with the colon.
    pub fn key(&mut self) -> Result<Cow<'a, str>, Broken> {
        self.key_bytes().map(readable)
    }

    /// The key of an object's member, with the colon. For keys that are only compared with known ones.
    pub fn key_bytes(&mut self) -> Result<Cow<'a, [u8]>, Broken> {
        let key = self.text_bytes()?;
        if self.take(b':') { Ok(key) } else { self.broken("a colon was expected") }
    }

    /// A text.
    pub fn text(&mut self) -> Result<Cow<'a, str>, Broken> {
        self.text_bytes().map(readable)
    }

    fn text_bytes(&mut self) -> Result<Cow<'a, [u8]>, Broken> {
        if self.peek() != Some(b'"') {
            return self.broken("a text in quotes was expected");
        }
        let start = self.pos + 1;
        let rest = self.bytes.get(start..).unwrap_or(&[]);
        let Some(plain) = text_end(rest) else { return self.broken(TEXT_UNENDED) };
        if rest.get(plain) == Some(&b'"') {
            self.pos = start + plain + 1;
            return Ok(Cow::Borrowed(rest.get(..plain).unwrap_or(&[])));
        }
        self.escaped_text(start).map(Cow::Owned)
    }

    fn escaped_text(&mut self, start: usize) -> Result<Vec<u8>, Broken> {
        let mut out: Vec<u8> = Vec::new();
        let mut at = start;
        loop {
            let rest = self.bytes.get(at..).unwrap_or(&[]);
            let Some(plain) = memchr::memchr2(b'"', b'\\', rest) else { return self.broken(TEXT_UNENDED) };
            out.extend_from_slice(rest.get(..plain).unwrap_or(&[]));
            at += plain + 1;
            if rest.get(plain) == Some(&b'"') {
                self.pos = at;
                return Ok(out);
            }
            let Some(&escape) = self.bytes.get(at) else { return self.broken(TEXT_UNENDED) };
            at += 1;
            match escape {
                b'n' => out.push(b'\n'),
                b't' => out.push(b'\t'),
                b'r' => out.push(b'\r'),
                b'b' => out.push(8),
                b'f' => out.push(12),
                b'u' => {
                    let c = self.unicode(&mut at);
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                // `\"`, `\\`, `\/`, and what is no escape at all stands for itself.
                other => out.push(other),
            }
        }
    }

    /// The character of `\uXXXX`, with its second half if it is a pair; a wrong one becomes the replacement character.
    fn unicode(&self, at: &mut usize) -> char {
        let four = |at: usize| {
            let digits = self.bytes.get(at..at.saturating_add(4))?;
            u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let Some(first) = four(*at) else { return char::REPLACEMENT_CHARACTER };
        *at += 4;
        if (0xD800..0xDC00).contains(&first)
            && self.bytes.get(*at..at.saturating_add(2)) == Some(b"\\u")
            && let Some(second) = four(*at + 2)
            && (0xDC00..0xE000).contains(&second)
        {
            *at += 6;
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        }
        char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Any value.
    pub fn value(&mut self) -> Result<Token<'a>, Broken> {
        match self.peek() {
            Some(b'"') => self.text().map(Token::Text),
            Some(b'{' | b'[') => self.nested().map(Token::Nested),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => {
                let start = self.pos;
                let number = |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E');
                self.pos += self.bytes.get(start..).unwrap_or(&[]).iter().take_while(number).count();
                // The bytes are ASCII by the test above.
                Ok(Token::Number(std::str::from_utf8(self.bytes.get(start..self.pos).unwrap_or(&[])).unwrap_or("")))
            }
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word(),
            Some(_) => self.broken("a value was expected"),
            None => self.broken("the text ends where a value was expected"),
        }
    }

    fn word(&mut self) -> Result<Token<'a>, Broken> {
        let rest = self.bytes.get(self.pos..).unwrap_or(&[]);
        let len = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let token = match rest.get(..len).unwrap_or(&[]) {
            b"true" => Token::Bool(true),
            b"false" => Token::Bool(false),
            b"null" => Token::Null,
            // Python's json module writes these.
            b"NaN" => Token::Number("NaN"),
            b"Infinity" => Token::Number("inf"),
            _ => return self.broken("a value was expected"),
        };
        self.pos += len;
        Ok(token)
    }

    /// Skips an object or array and returns its text.
    fn nested(&mut self) -> Result<&'a [u8], Broken> {
        let start = self.pos;
        let mut depth = 0usize;
        loop {
            let rest = self.bytes.get(self.pos..).unwrap_or(&[]);
            let Some(step) = rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']')) else {
                return self.broken(UNENDED);
            };
            let byte = rest.get(step).copied();
            self.pos += step;
            match byte {
                Some(b'"') => {
                    self.skip_text()?;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                _ => depth -= 1, // The first byte opened, so there is one to close.
            }
            self.pos += 1;
            if depth > MAX_DEPTH {
                return self.broken("objects are nested too deep");
            }
            if depth == 0 {
                return Ok(self.bytes.get(start..self.pos).unwrap_or(&[]));
            }
        }
    }

    fn skip_text(&mut self) -> Result<(), Broken> {
        let mut at = self.pos + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or(&[]);
            // A text that does not end inside an object means that the object does not.
            let Some(found) = memchr::memchr2(b'"', b'\\', rest) else { return self.broken(UNENDED) };
            let quote = rest.get(found) == Some(&b'"');
            at += found + if quote { 1 } else { 2 };
            if quote {
                self.pos = at;
                return Ok(());
            }
        }
    }
}

/// Calls `visit` for each member of an object, as it is written; stops where it is broken.
pub(super) fn members<'a>(json: &'a [u8], mut visit: impl FnMut(Cow<'a, str>, Token<'a>)) {
    let mut scanner = Scanner::new(json);
    let mut first = true;
    if !scanner.take(b'{') {
        return;
    }
    while let Ok(true) = scanner.more(b'}', &mut first) {
        let Some((key, value)) = scanner.key().ok().and_then(|key| Some((key, scanner.value().ok()?))) else { return };
        visit(key, value);
    }
}

/// Appends a text in quotes, with escapes.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..=0x1f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_round_trip(text in any::<String>()) {
            let mut out = Vec::new();
            put_text(&mut out, &text);
            prop_assert_eq!(Scanner::new(&out).text().unwrap(), text.clone());
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text.clone());
            let theirs = serde_json::to_vec(&text).unwrap();
            prop_assert_eq!(Scanner::new(&theirs).text().unwrap(), text);
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(prop::sample::select(b"{}[]\",:\\u0d8 ntfe1-.".to_vec()), 0..80)) {
            let mut scanner = Scanner::new(&bytes);
            let mut tokens = 0;
            while scanner.value().is_ok() { tokens += 1; prop_assert!(tokens <= bytes.len()); }
            prop_assert!(scanner.pos() <= bytes.len());
        }
    }

    #[test]
    fn values_are_told_apart() {
        let text = br#" "a\u00e9\ud83d\ude00\ud83dx" -1.50e3 true null {"k": ["}", 1]} NaN nothing"#;
        let mut scanner = Scanner::new(text);
        assert_eq!(scanner.value().unwrap(), Token::Text("aé😀\u{fffd}x".into()));
        assert_eq!(scanner.value().unwrap(), Token::Number("-1.50e3"));
        assert_eq!(scanner.value().unwrap(), Token::Bool(true));
        assert_eq!(scanner.value().unwrap(), Token::Null);
        assert_eq!(scanner.value().unwrap(), Token::Nested(br#"{"k": ["}", 1]}"#));
        assert_eq!(scanner.value().unwrap(), Token::Number("NaN"));
        assert!(scanner.value().is_err());
        assert!(Scanner::new(&[b'['; 10_000]).value().is_err());
    }
}
