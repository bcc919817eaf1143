//! JSON that is read in parts, for formats whose members come in any order: an object or array is found first and gone
//! through when what it needs is known. The last part of a file that is cut is gone through as far as it goes.

use super::ImportReport;
use super::json::{Broken, Scanner, Token, UNENDED};
use std::borrow::Cow;

/// An object or array, as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    json: &'a [u8],
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Whether it goes to the end of a file that ends before it does.
    cut: bool,
}

/// A member's or an item's value and where it begins.
#[derive(Debug, Clone)]
pub(super) struct Value<'a> {
    token: Token<'a>,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    cut: bool,
}

/// How going through a part ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// At its closing bracket.
    Whole,
    /// At the end of a file that is cut. All parts around this one end so too.
    Cut,
    /// Where something is no JSON; what comes after it was not looked at.
    Broken(Broken),
}

impl Ended {
    /// Counts a place that is no JSON. A cut is counted once for the whole file, where the outermost part ends.
    pub fn note(self, report: &mut ImportReport) {
        if let Self::Broken(Broken { what, offset }) = self {
            let what = format!("lists or objects that are broken, the rest of each left out: {what}");
            report.note(&what, Some(offset as u64));
        }
    }

    /// Counts a place that is no JSON, or the cut, for the outermost part of a file.
    pub fn note_file(self, len: usize, report: &mut ImportReport) {
        if self == Self::Cut {
            report.note("file that is cut, read as far as it goes", Some(len as u64));
        }
        self.note(report);
    }
}

impl<'a> Value<'a> {
    /// A value that is whole, and where it begins.
    pub fn new(token: Token<'a>, offset: u64) -> Self {
        Self { token, offset, cut: false }
    }

    /// The object or array that it is.
    pub fn part(&self) -> Option<Part<'a>> {
        match self.token {
            Token::Nested(json) => Some(Part { json, offset: self.offset, cut: self.cut }),
            _ => None,
        }
    }

    /// The text that it is.
    pub fn text(&self) -> Option<&str> {
        match &self.token {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number that it is, as it is written; some tools write numbers in quotes.
    pub fn number(&self) -> Option<&str> {
        match &self.token {
            Token::Number(number) => Some(number),
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text that it is, taken out.
    pub fn into_text(self) -> Option<Cow<'a, str>> {
        match self.token {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is.
    pub fn token(&self) -> &Token<'a> {
        &self.token
    }

    /// The whole number from 0 that it is.
    pub fn index(&self) -> Option<usize> {
        match &self.token {
            Token::Number(number) => number.parse().ok(),
            _ => None,
        }
    }

    /// The whole number that it is.
    pub fn int(&self) -> Option<i64> {
        match &self.token {
            Token::Number(number) => number.parse().ok(),
            _ => None,
        }
    }
}

impl<'a> Part<'a> {
    /// A whole file.
    pub fn file(bytes: &'a [u8]) -> Self {
        let json = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self { json, offset: (bytes.len() - json.len()) as u64, cut: false }
    }

    /// Goes through the members of an object.
    pub fn members(self, mut each: impl FnMut(Cow<'a, str>, Value<'a>)) -> Ended {
        self.walk(b'{', b'}', |scanner| {
            let key = scanner.key()?;
            let (value, cut) = self.value(scanner)?;
            each(key, value);
            Ok(cut)
        })
    }

    /// Goes through the items of an array.
    pub fn items(self, mut each: impl FnMut(Value<'a>)) -> Ended {
        self.walk(b'[', b']', |scanner| {
            let (value, cut) = self.value(scanner)?;
            each(value);
            Ok(cut)
        })
    }

    /// Takes one thing after the other until the closing bracket; `take` returns whether the text ended within it.
    fn walk(self, open: u8, close: u8, mut take: impl FnMut(&mut Scanner<'a>) -> Result<bool, Broken>) -> Ended {
        let mut scanner = Scanner::new(self.json);
        let mut first = true;
        let mut walk = || {
            if !scanner.take(open) {
                let what = if open == b'{' { "an object was expected" } else { "a list was expected" };
                return Err(Broken { what, offset: scanner.pos() });
            }
            while scanner.more(close, &mut first)? {
                if take(&mut scanner)? {
                    return Ok(Ended::Cut);
                }
            }
            Ok(Ended::Whole)
        };
        match walk() {
            Ok(ended) => ended,
            Err(_) if self.cut || scanner.peek().is_none() => Ended::Cut,
            // Brackets and quotes inside a part that ends are paired, so this is the end of the file.
            Err(Broken { what, .. }) if what.ends_with("does not end") => Ended::Cut,
            Err(Broken { what, offset }) => Ended::Broken(Broken { what, offset: offset + self.offset as usize }),
        }
    }

    /// The next value, and whether the text ends within it.
    fn value(&self, scanner: &mut Scanner<'a>) -> Result<(Value<'a>, bool), Broken> {
        scanner.peek();
        let start = scanner.pos();
        let offset = self.offset + start as u64;
        match scanner.value() {
            // The last digits may be missing.
            Ok(Token::Number(_)) if scanner.pos() == self.json.len() => {
                Err(Broken { what: "the text ends in a number", offset: scanner.pos() })
            }
            Ok(token) => Ok((Value { token, offset, cut: false }, false)),
            Err(Broken { what: UNENDED, .. }) => {
                let json = self.json.get(start..).unwrap_or(&[]);
                Ok((Value { token: Token::Nested(json), offset, cut: true }, true))
            }
            Err(broken) => Err(broken),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    /// All numbers in lists in the members of an object, and how it ended.
    fn numbers(json: &[u8]) -> (Vec<i64>, Ended) {
        let mut out = Vec::new();
        let ended = Part::file(json).members(|_, value| {
            if let Some(part) = value.part() {
                part.items(|item| out.extend(item.number().and_then(|number| number.parse::<i64>().ok())));
            }
        });
        (out, ended)
    }

    #[test]
    fn a_cut_part_is_gone_through_as_far_as_it_goes() {
        let json = br#"{"a": [1, 22, "3"], "b": {}, "c": [44, 5]}"#;
        assert_eq!(numbers(json), (vec![1, 22, 3, 44, 5], Ended::Whole));
        assert_eq!(numbers(&json[..json.len() - 4]), (vec![1, 22, 3, 44], Ended::Cut));
        // The second digit of the 44 is missing.
        assert_eq!(numbers(&json[..json.len() - 6]), (vec![1, 22, 3], Ended::Cut));
        for cut in 1..json.len() {
            let (found, ended) = numbers(&json[..cut]);
            assert_eq!(ended, Ended::Cut, "{cut}");
            assert!([1, 22, 3, 44, 5].starts_with(&found), "{cut}: {found:?}");
        }
    }

    #[test]
    fn broken_places_are_found_in_the_file() {
        let mut places = Vec::new();
        Part::file(b"\xef\xbb\xbf{\"a\": [1 2], \"b\": [3]}").members(|_, value| {
            places.push((value.offset, value.part().unwrap().items(|_| {})));
        });
        let what = "a comma or a closing bracket was expected";
        assert_eq!(places, [(9, Ended::Broken(Broken { what, offset: 12 })), (21, Ended::Whole)]);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(prop::sample::select(b"{}[]\",:\\a1-. ".to_vec()), 0..80)) {
            let mut all = vec![b'{'];
            all.extend(bytes);
            numbers(&all);
        }
    }
}
