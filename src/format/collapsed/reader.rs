//! Reads collapsed stacks. They have no times, only sums, so the stacks are laid out one after the other as they stand
//! in the file, each as wide as its number; frames that neighbouring lines share are one span.

use super::super::decimal::{is_whole, scaled};
use super::super::stacks::{Frame, Stacks};
use super::super::text::{each_line, head_lines};
use super::super::window::Window;
use super::super::{FormatError, ImportReport};
use crate::model::TrackKind;
use crate::trace::{ArgsId, Trace};

/// Name of the track.
const TRACK: &str = "Stacks";

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there is no stack in it.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    read_from(&mut Window::new(bytes))
}

/// Reads a file piece by piece.
pub(in crate::format) fn read_from(window: &mut Window<'_>) -> Result<(Trace, ImportReport), FormatError> {
    let mut trace = Trace::default();
    let track = trace.add_track(1, None, TRACK, "", TrackKind::Thread);
    let mut stacks = Stacks::new(track);
    let mut report = ImportReport::new("collapsed stacks");
    // The lines are noted beside the report, which counts what is no text meanwhile.
    let mut odd = ImportReport::default();
    let mut frames: Vec<Frame> = Vec::new();
    let (mut now_ns, mut count) = (0i64, 0u64);
    each_line(window, &mut report, |line, offset| {
        let Some((stack, number)) = split(line) else {
            if !line.trim().is_empty() {
                odd.note("lines that are no stack with a number, left out", Some(offset));
            }
            return;
        };
        // Too large a number is the only reason why there is none.
        let Some(end_ns) = scaled(number, 0).and_then(|weight| now_ns.checked_add(weight)) else {
            odd.note("stacks with too large a number, left out", Some(offset));
            return;
        };
        if !is_whole(number) {
            odd.note("numbers with a fraction, rounded", Some(offset));
        }
        frames.clear();
        frames.extend(stack.split(';').map(|name| Frame { name: trace.intern(name), args: ArgsId::NONE }));
        stacks.put(&mut trace, now_ns, end_ns, &frames);
        now_ns = end_ns;
        count += 1;
    });
    if count == 0 {
        return Err(FormatError::Damaged {
            what: "No stack".to_owned(),
            offset: window.drain(),
            hint: "collapsed stacks are lines such as `outer;inner 12`",
        });
    }
    stacks.finish(&mut trace);
    trace.settle();
    report.note_many("stacks, whose numbers are of an unknown unit: 1 is shown as 1 ns", count, None);
    for note in odd.notes {
        report.note_many(&note.what, note.count, note.first_offset);
    }
    (report.spans, report.samples) = (trace.span_count(), count);
    report.close(&trace);
    Ok((trace, report))
}

/// The stack and the number of a line.
fn split(line: &str) -> Option<(&str, &str)> {
    let (stack, number) = line.trim_end().rsplit_once(char::is_whitespace)?;
    let stack = stack.trim_end();
    let digits = number.starts_with(|c: char| c.is_ascii_digit());
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.') && number.matches('.').count() <= 1;
    (digits && plain && !stack.is_empty()).then_some((stack, number))
}

/// Whether a file that begins like this holds collapsed stacks: most lines are a text and a number, and of these many
/// have several frames. A space after the semicolon is the mark of prose.
pub(in crate::format) fn looks_like(head: &[u8], goes_on: bool) -> bool {
    let Some(lines) = head_lines(head, goes_on) else { return false };
    let (mut all, mut good, mut deep) = (0u64, 0u64, 0u64);
    for line in lines.iter().map(|line| line.trim()) {
        if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
            continue;
        }
        all += 1;
        if let Some((stack, _)) = split(line) {
            good += 1;
            deep += u64::from(stack.contains(';') && !stack.contains("; "));
        }
    }
    good * 2 > all && deep * 4 >= good && good > 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::to_text;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Spans lane by lane.
    fn lanes(trace: &Trace) -> Vec<String> {
        let text = |span: crate::trace::Span| format!("{} {}-{}", trace.name(span.name), span.start_ns, span.end_ns());
        let lanes = trace.tracks()[0].lanes();
        lanes.iter().map(|lane| lane.iter().map(text).collect::<Vec<_>>().join(", ")).collect()
    }

    #[test]
    fn stacks_are_laid_out_as_they_stand() {
        let text = "a;b;c 1\r\na;b;c 1\r\na;b;d 4\r\n\r\na;b;c 3\r\na;b 5\r\nmain loop; x y\t0";
        // Spans without width lie beside each other.
        let expected = ["a 0-14, main loop 14-14,  x y 14-14", "b 0-14", "c 0-2, d 2-6, c 6-9"];
        for bytes in [
            text.as_bytes().to_vec(),
            b"\xff\xfe".iter().copied().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect(),
        ] {
            let (trace, report) = read(&bytes).unwrap();
            assert_eq!(lanes(&trace), expected);
            let what = "6 × stacks, whose numbers are of an unknown unit: 1 is shown as 1 ns";
            assert_eq!((report.spans, report.summary().as_deref()), (7, Some(what)));
        }
    }

    #[test]
    fn odd_lines_are_counted() {
        let text = "# hello\na;b 1\na;c 1.5\nno number\na;b x\n-1\na -1\n\na 99999999999999999999\na;b 7 2\n";
        let (trace, report) = read(text.as_bytes()).unwrap();
        assert_eq!(lanes(&trace), ["a 0-5", "b 0-1, c 1-3, b 7 3-5"]);
        let notes: Vec<(&str, u64, Option<u64>)> =
            report.notes.iter().map(|note| (note.what.as_str(), note.count, note.first_offset)).collect();
        assert_eq!(
            notes[1..],
            [
                ("lines that are no stack with a number, left out", 5, Some(0)),
                ("numbers with a fraction, rounded", 1, Some(14)),
                ("stacks with too large a number, left out", 1, Some(47)),
            ]
        );
        assert!(read(b"\n# nothing\n").unwrap_err().to_string().contains("No stack"));
    }

    #[test]
    fn prose_and_programs_are_no_stacks() {
        let yes = |text: &str| looks_like(text.as_bytes(), false);
        assert!(yes("a;b;c 1\na;b;d 4\n"));
        assert!(yes("# comment\n// comment\na;b;c 1\nidle 12\na;b 1\ninvalid line\n"));
        assert!(yes("java;void Foo<int, long>.bar(a, b);read_[k] 17\n"));
        for text in [
            "",
            "\n\n",
            "It was the best of times.\nIt was the year 1775\n",
            "apples 5\noranges 7\n",
            "Doe, J.; Roe, R.: On things. 1999\nRoe, R.; Doe, J.: On more. 2001\n",
            "fn main() {\n    let x = 5;\n    let y = x; // 5\n}\n",
            "int x = 1; int y = 2;\nreturn x + y;\n",
            "name;value\na;1\nb;2\n",
            "a;b 1\u{1}\nc;d 2\n",
        ] {
            assert!(!yes(text), "{text}");
        }
        // A line that is cut says nothing.
        assert!(looks_like(b"a;b 1\nhalf a li", true) && !looks_like(b"a;b 1", true));
    }

    proptest! {
        #[test]
        fn sums_survive(lines in prop::collection::vec(("[a-c]( [a-c])?(;[a-cé]{1,2}){0,4}", 1i64..1000), 1..40)) {
            let text: String = lines.iter().map(|(stack, n)| format!("{stack} {n}\n")).collect();
            let (trace, report) = read(text.as_bytes()).unwrap();
            prop_assert_eq!(report.notes.len(), 1);
            let mut sums: BTreeMap<String, i64> = BTreeMap::new();
            for (stack, n) in lines { *sums.entry(format!("{TRACK};{stack}")).or_default() += n; }
            let expected: String = sums.iter().map(|(stack, n)| format!("{stack} {n}\n")).collect();
            prop_assert_eq!(to_text(&trace), expected);
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "[a;0-9. \n\r#é]{0,60}", mark in 0usize..4) {
            let mark: &[u8] = [&b""[..], b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"][mark];
            for bytes in [&bytes[..], text.as_bytes()] {
                let bytes = [mark, bytes].concat();
                read(&bytes).ok();
                looks_like(&bytes, true);
            }
        }
    }
}
