//! Text files line by line, whatever they are coded in: UTF-8 with or without a mark at its beginning, or UTF-16 with
//! one, as PowerShell writes redirected output.

use super::ImportReport;
use std::borrow::Cow;

/// Hands every line, without its end, and its place in the file in bytes to `each`, until that returns `false`. Bytes
/// that are no text become the replacement character and are counted in the report.
pub(super) fn each_line(bytes: &[u8], report: &mut ImportReport, mut each: impl FnMut(&str, u64) -> bool) {
    let mut line = |text: Result<&str, Cow<'_, str>>, offset: usize| {
        let text: Cow<'_, str> = text.map_or_else(
            |repaired| {
                let what = "lines with bytes that are no text, which are shown as \u{fffd}";
                report.note(what, Some(offset as u64));
                repaired
            },
            Cow::Borrowed,
        );
        each(text.strip_suffix('\r').unwrap_or(&text), offset as u64)
    };
    let wide: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => {
            let mut start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
                let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let raw = rest.get(..len).unwrap_or(rest);
                let text = std::str::from_utf8(raw).map_err(|_| String::from_utf8_lossy(raw));
                if !line(text, start) {
                    return;
                }
                start += len + 1;
            }
            return;
        }
    };
    let mut units: Vec<u16> = Vec::new();
    let mut start = 2;
    let (pairs, _) = bytes.as_chunks::<2>();
    for (i, unit) in pairs.iter().map(|pair| wide(*pair)).enumerate().skip(1) {
        let ends = unit == u16::from(b'\n');
        if !ends {
            units.push(unit);
        }
        if ends || i + 1 == pairs.len() {
            let text = String::from_utf16(&units);
            let text = text.as_deref().map_err(|_| Cow::Owned(String::from_utf16_lossy(&units)));
            if !line(text, start) {
                return;
            }
            units.clear();
            start = (i + 1) * 2;
        }
    }
}

/// The lines at the beginning of a file, without the last one if the file goes on after what was read of it; `None` if
/// there is something among them that no text has.
pub(super) fn head_lines(head: &[u8], goes_on: bool) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    each_line(head, &mut ImportReport::default(), |line, _| {
        lines.push(line.to_owned());
        true
    });
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
        each_line(bytes, &mut report, |line, offset| {
            out.push((line.to_owned(), offset));
            true
        });
        (out, report.notes.iter().map(|note| note.count).sum())
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
