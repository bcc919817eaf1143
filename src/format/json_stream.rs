//! JSON that is read piece by piece: lists and objects of any length are gone through item by item, each of which is in
//! memory only while it is looked at.

use super::json::{Broken, Scanner, Token};
use super::parts::Value;
use super::window::Window;

/// Why going on is not possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// The file ends too early.
    Cut(Broken),
    /// Something is no JSON.
    Broken(Broken),
}

impl Stop {
    /// What it was and where.
    pub fn broken(self) -> Broken {
        match self {
            Self::Cut(broken) | Self::Broken(broken) => broken,
        }
    }
}

/// Takes one thing off the window, which takes in more until the thing is whole. `take` returns `None` where it is not,
/// and has done nothing then.
pub(super) fn thing<T>(
    window: &mut Window<'_>,
    mut take: impl FnMut(&mut Scanner<'_>, bool) -> Result<Option<T>, Broken>,
) -> Result<T, Stop> {
    loop {
        let ended = window.ended();
        let mut scanner = Scanner::at(window.text(), window.offset());
        match take(&mut scanner, ended) {
            Ok(Some(found)) => {
                let read = scanner.read();
                window.take(read);
                return Ok(found);
            }
            Ok(None) if ended => {
                return Err(Stop::Cut(Broken { what: "the text ends too early", offset: scanner.pos() }));
            }
            Err(broken) if !scanner.is_cut(&broken) => return Err(Stop::Broken(broken)),
            Err(broken) if ended => return Err(Stop::Cut(broken)),
            _ if window.full() => {
                let what = "something is longer than 64 MiB";
                return Err(Stop::Broken(Broken { what, offset: window.offset() as usize }));
            }
            _ => window.fill(),
        }
    }
}

/// A walk through JSON.
pub(super) struct Stream<'w, 'r> {
    window: &'w mut Window<'r>,
}

impl<'w, 'r> Stream<'w, 'r> {
    /// Begins at the beginning of a file.
    pub fn new(window: &'w mut Window<'r>) -> Self {
        window.fill_to(3);
        if window.text().starts_with(b"\xef\xbb\xbf") {
            window.take(3);
        }
        Self { window }
    }

    /// The place in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// The next byte that is no white space, which comes next then; `None` at the end.
    pub fn peek(&mut self) -> Option<u8> {
        let next = thing(self.window, |scanner, _| {
            let next = scanner.peek();
            Ok(next.map(|next| (next, scanner.read())))
        });
        // Looking takes the white space only.
        next.ok().map(|(next, _)| next)
    }

    /// Takes an opening bracket if it is next.
    pub fn open(&mut self, bracket: u8) -> bool {
        let next = self.peek() == Some(bracket);
        if next {
            self.window.take(1);
        }
        next
    }

    /// After an opening bracket, a member or an item: whether another one follows. Takes the comma or the closing bracket.
    pub fn more(&mut self, close: u8, first: &mut bool) -> Result<bool, Stop> {
        let (more, now) = thing(self.window, |scanner, _| {
            let mut now = *first;
            let more = scanner.more(close, &mut now)?;
            // A closing bracket may come after the comma.
            let known = !more || scanner.peek().is_some();
            Ok(known.then_some((more, now)))
        })?;
        *first = now;
        Ok(more)
    }

    /// The key of an object's member, with the colon.
    pub fn key(&mut self) -> Result<String, Stop> {
        thing(self.window, |scanner, _| scanner.key().map(|key| Some(key.into_owned())))
    }

    /// Takes a value and looks at it. A number that the end of the file may have cut is none.
    pub fn value<T>(&mut self, look: impl FnOnce(&Value<'_>) -> T) -> Result<T, Stop> {
        let mut look = Some(look);
        thing(self.window, |scanner, _| {
            scanner.peek();
            let offset = scanner.pos() as u64;
            let token = scanner.value()?;
            if matches!(token, Token::Number(_)) && scanner.at_end() {
                return Ok(None);
            }
            let value = Value::new(token, offset);
            Ok(look.take().map(|look| look(&value)))
        })
    }

    /// Passes over a value of any length.
    pub fn skip(&mut self) -> Result<(), Stop> {
        match self.peek() {
            Some(b'{' | b'[') => {
                self.window.take(1);
                self.skip_rest()
            }
            _ => self.value(|_| ()),
        }
    }

    /// Passes over the rest of the list or object that this place is in, with its closing bracket.
    pub fn skip_rest(&mut self) -> Result<(), Stop> {
        let (mut depth, mut in_text, mut escaped) = (1_usize, false, false);
        loop {
            let text = self.window.text();
            for (at, byte) in text.iter().enumerate() {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_text => escaped = true,
                    b'"' => in_text = !in_text,
                    _ if in_text => {}
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    self.window.take(at + 1);
                    return Ok(());
                }
            }
            self.window.take(usize::MAX);
            if self.window.ended() {
                let what = "an object or array does not end";
                return Err(Stop::Cut(Broken { what, offset: self.window.offset() as usize }));
            }
            self.window.fill();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    /// All numbers in the list `a`, and how it ended.
    fn numbers(json: &[u8], piece: usize) -> (Vec<i64>, Result<(), Stop>) {
        let mut out = Vec::new();
        let mut window = Window::sized(json, piece, 1 << 20);
        let mut stream = Stream::new(&mut window);
        let mut walk = || {
            assert!(stream.open(b'{'));
            let mut first = true;
            while stream.more(b'}', &mut first)? {
                if stream.key()? != "a" {
                    stream.skip()?;
                    continue;
                }
                if !stream.open(b'[') {
                    return stream.skip();
                }
                let mut first = true;
                while stream.more(b']', &mut first)? {
                    out.extend(stream.value(|value| value.int())?);
                }
            }
            Ok(())
        };
        let ended = walk();
        (out, ended)
    }

    #[test]
    fn lists_are_gone_through_whatever_the_pieces_are() {
        let json =
            br#" {"b": [{"x": "]}\"\\"}, [1, [2]]], "c": -1.5e3, "a": [1, 22 , "3", {"y": 0}, -44, ], "d": "\\"}"#;
        for piece in 1..json.len() {
            assert_eq!(numbers(json, piece), (vec![1, 22, -44], Ok(())), "{piece}");
        }
        for cut in 2..json.len() {
            let (found, ended) = numbers(&json[..cut], 7);
            assert!(
                matches!(ended, Err(Stop::Cut(_))) && [1, 22, -44].starts_with(&found),
                "{cut}: {found:?} {ended:?}"
            );
        }
    }

    #[test]
    fn what_is_broken_has_its_place() {
        for piece in [1, 100] {
            let (found, ended) = numbers(br#"{"a": [1, 2 3, 4], "b": 1}                  "#, piece);
            let what = "a comma or a closing bracket was expected";
            assert_eq!((found, ended), (vec![1, 2], Err(Stop::Broken(Broken { what, offset: 12 }))));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end(
            bytes in prop::collection::vec(prop::sample::select(b"{}[]\",:\\a1-. ".to_vec()), 0..80), piece in 1usize..9,
        ) {
            let mut all = Vec::from(&b"{\"b\":"[..]);
            all.extend(bytes);
            let mut window = Window::sized(&all[..], piece, 1 << 20);
            let mut stream = Stream::new(&mut window);
            stream.open(b'{');
            while stream.key().is_ok() && stream.skip().is_ok() && stream.skip_rest().is_ok() {}
        }
    }
}
