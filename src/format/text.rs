//! Text files line by line, whatever they are coded in: UTF-8 with or without a mark at its beginning, or UTF-16 with
//! one, as PowerShell writes redirected output.

use super::ImportReport;
use super::window::Window;
use std::borrow::Cow;

/// Hands every line, without its end, and its place in the file in bytes to `each`. Bytes that are no text become the
/// replacement character and are counted in the report, and so are lines that are too long to be kept.
pub(super) fn each_line(window: &mut Window<'_>, report: &mut ImportReport, mut each: impl FnMut(&str, u64)) {
    window.fill_to(3);
    let (mark, coding) = match window.text() {
        [0xff, 0xfe, ..] => (2, Coding::Wide(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => (2, Coding::Wide(u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, ..] => (3, Coding::Plain),
        _ => (0, Coding::Plain),
    };
    window.take(mark);
    let mut units = Vec::new();
    // Whether what comes next belongs to a line that is too long.
    let mut too_long = false;
    loop {
        let mut taken = 0;
        while let Some((line, length)) = coding.line(window.text().get(taken..).unwrap_or(&[]), window.ended()) {
            let offset = window.offset() + taken as u64;
            taken += length;
            if std::mem::take(&mut too_long) {
                continue;
            }
            let text = coding.text(line, &mut units).unwrap_or_else(|repaired| {
                report.note("lines with bytes that are no text, which are shown as \u{fffd}", Some(offset));
                repaired
            });
            each(text.strip_suffix('\r').unwrap_or(&text), offset);
        }
        window.take(taken);
        if window.ended() {
            return;
        }
        if window.full() {
            if !too_long {
                report.note("lines of more than 64 MiB, left out", Some(window.offset()));
            }
            too_long = true;
            // An even number: units are not torn.
            window.take(window.text().len() & !1);
        }
        window.fill();
    }
}

/// How text is coded.
#[derive(Clone, Copy)]
enum Coding {
    /// UTF-8.
    Plain,
    /// UTF-16, with what makes a unit of two bytes.
    Wide(fn([u8; 2]) -> u16),
}

impl Coding {
    /// The next line without its end, and the bytes that it takes with it; `None` if none is whole. The last one of a
    /// file needs no end.
    fn line(self, bytes: &[u8], ended: bool) -> Option<(&[u8], usize)> {
        let (found, end) = match self {
            Self::Plain => (memchr::memchr(b'\n', bytes), 1),
            Self::Wide(unit) => {
                let (pairs, _) = bytes.as_chunks::<2>();
                (pairs.iter().position(|pair| unit(*pair) == u16::from(b'\n')).map(|at| at * 2), 2)
            }
        };
        match found {
            Some(len) => Some((bytes.get(..len)?, len + end)),
            // Half a unit at the end is no line.
            None => (ended && bytes.len() >= end).then_some((bytes, bytes.len())),
        }
    }

    /// The text of a line, or what is left of it where its bytes are no text.
    fn text<'a>(self, line: &'a [u8], units: &mut Vec<u16>) -> Result<Cow<'a, str>, Cow<'a, str>> {
        match self {
            Self::Plain => match String::from_utf8_lossy(line) {
                Cow::Owned(repaired) => Err(Cow::Owned(repaired)),
                text => Ok(text),
            },
            Self::Wide(unit) => {
                units.clear();
                units.extend(line.as_chunks::<2>().0.iter().map(|pair| unit(*pair)));
                let text = String::from_utf16(units).map(Cow::Owned);
                text.map_err(|_| Cow::Owned(String::from_utf16_lossy(units)))
            }
        }
    }
}

/// The lines at the beginning of a file, without the last one if the file goes on after what was read of it; `None` if
/// there is something among them that no text has.
pub(super) fn head_lines(head: &[u8], goes_on: bool) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    each_line(&mut Window::new(head), &mut ImportReport::default(), |line, _| lines.push(line.to_owned()));
    if goes_on {
        lines.pop();
    }
    let control = |c: char| c.is_control() && !matches!(c, '\t' | '\r');
    lines.iter().all(|line| !line.contains(control)).then_some(lines)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn lines(bytes: &[u8]) -> (Vec<(String, u64)>, u64) {
        let (mut report, mut out) = (ImportReport::default(), Vec::new());
        each_line(&mut Window::new(bytes), &mut report, |line, offset| out.push((line.to_owned(), offset)));
        for piece in 1..=bytes.len().min(9) {
            let mut in_pieces = Vec::new();
            let mut window = Window::sized(bytes, piece, 1 << 20);
            each_line(&mut window, &mut ImportReport::default(), |line, at| in_pieces.push((line.to_owned(), at)));
            assert_eq!(in_pieces, out, "in pieces of {piece} bytes");
        }
        (out, report.notes.iter().map(|note| note.count).sum())
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out() {
        let long = "x".repeat(99);
        let text = format!("a 1\n{long}\nb 2\n{long}");
        let (mut report, mut out) = (ImportReport::default(), Vec::new());
        each_line(&mut Window::sized(text.as_bytes(), 8, 40), &mut report, |line, at| out.push((line.to_owned(), at)));
        assert_eq!(out, [("a 1".to_owned(), 0), ("b 2".to_owned(), 104)]);
        assert_eq!((report.notes[0].count, report.notes[0].first_offset), (2, Some(4)));
    }

    #[test]
    fn every_coding_gives_the_same_lines() {
        let text = "aé 1\r\n\n😀 2";
        let plain = ["aé 1", "", "😀 2"];
        let coded = |mark: &[u8], code: fn(u16) -> [u8; 2]| {
            mark.iter().copied().chain(text.encode_utf16().flat_map(code)).collect::<Vec<u8>>()
        };
        let with_mark = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for (bytes, offsets) in [
            (text.as_bytes().to_vec(), [0, 7, 8]),
            (with_mark, [3, 10, 11]),
            (coded(b"\xff\xfe", u16::to_le_bytes), [2, 14, 16]),
            (coded(b"\xfe\xff", u16::to_be_bytes), [2, 14, 16]),
        ] {
            let expected: Vec<(String, u64)> = plain.iter().map(|line| (*line).to_owned()).zip(offsets).collect();
            assert_eq!(lines(&bytes), (expected.clone(), 0));
            if offsets[2] == 16 {
                assert_eq!(lines(&[bytes, b"\n".to_vec()].concat()).0, expected, "half a unit at the end is no line");
            }
        }
        assert_eq!(lines(b""), (vec![], 0));
        assert_eq!(lines(b"\xff\xfe"), (vec![], 0));
    }

    #[test]
    fn what_is_no_text_is_replaced_and_counted() {
        assert_eq!(lines(b"a\xff 1\nb 2\n"), (vec![("a\u{fffd} 1".to_owned(), 0), ("b 2".to_owned(), 5)], 1));
        assert_eq!(lines(b"\xff\xfe\x00\xd8a\x00"), (vec![("\u{fffd}a".to_owned(), 2)], 1));
        assert_eq!(head_lines(b"a\x00b\n", false), None);
        assert_eq!(head_lines(b"a\nb", true), Some(vec!["a".to_owned()]));
    }
}
