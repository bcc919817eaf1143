//! The lines of the text, taken apart.

use super::super::decimal::scaled;
use super::super::text::head_lines;

/// Whether a file that begins like this is the text of `perf script`: its first line with content is that of a sample,
/// and there is a frame among the others.
pub(in crate::format) fn looks_like(head: &[u8], goes_on: bool) -> bool {
    let Some(lines) = head_lines(head, goes_on) else { return false };
    let mut lines = lines.iter().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let Some(first) = lines.next().and_then(|line| header(line)) else { return false };
    let framed = |line: &str| addressed(line).is_some_and(|(_, module)| !module.is_empty());
    framed(first.detail) || lines.any(|line| header(line).map_or_else(|| framed(line), |next| framed(next.detail)))
}

/// The line that begins a sample, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header<'a> {
    pub comm: &'a str,
    /// Missing if perf was told to print the thread only.
    pub pid: Option<i64>,
    pub tid: i64,
    pub cpu: Option<&'a str>,
    pub t_ns: i64,
    pub period: Option<i64>,
    pub event: &'a str,
    /// What comes after the event: the fields of a tracepoint, or the only frame.
    pub detail: &'a str,
}

/// Takes a sample's first line apart: `comm pid/tid [cpu] time: period event: detail`, where `pid/`, the CPU, the period
/// and the event may be missing, and names may have spaces.
pub(super) fn header(line: &str) -> Option<Header<'_>> {
    let (mut t_ns, mut before, mut after) = (None, "", "");
    for word in line.split_ascii_whitespace() {
        t_ns = time(word);
        if t_ns.is_some() {
            // Both are parts of the same text.
            let at = (word.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
            before = line.get(..at)?.trim();
            after = line.get(at + word.len()..)?.trim();
            break;
        }
    }
    let t_ns = t_ns?;
    let (mut cpu, mut ids) = (None, None);
    // Between the thread and the time stand the CPU and, if they were asked for, flags.
    for _ in 0..4 {
        let (rest, word) = before.rsplit_once(|c: char| c.is_ascii_whitespace())?;
        before = rest.trim_end();
        if let Some(number) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
            cpu = Some(number);
        } else if let Some(found) = thread(word) {
            ids = Some(found);
            break;
        }
    }
    let (pid, tid) = ids?;
    let (mut period, mut event) = (None, "");
    let first = |text: &str| text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len());
    if let Some((word, rest)) = after.split_at_checked(first(after))
        && let Ok(number) = word.parse()
    {
        (period, after) = (Some(number), rest.trim_start());
    }
    if let Some((word, rest)) = after.split_at_checked(first(after))
        && let Some(name) = word.strip_suffix(':')
    {
        (event, after) = (name, rest.trim_start());
    }
    Some(Header { comm: before, pid, tid, cpu, t_ns, period, event, detail: after })
}

/// Nanoseconds of a time such as `12.345678:`.
fn time(word: &str) -> Option<i64> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let time = digits(seconds) && digits(fraction) && fraction.len() >= 3;
    scaled(word.strip_suffix(':').filter(|_| time)?, 9)
}

/// Process, if it is there, and thread of `12/34` or `34`; what perf does not know is -1.
fn thread(word: &str) -> Option<(Option<i64>, i64)> {
    match word.split_once('/') {
        Some((pid, tid)) => Some((Some(pid.parse().ok()?), tid.parse().ok()?)),
        None => Some((None, word.parse().ok()?)),
    }
}

/// Symbol and module of a frame's line, `address symbol+0x12 (module)`. The address or the module may be missing, not
/// both; a module that is missing is empty.
pub(super) fn frame(line: &str) -> Option<(&str, &str)> {
    addressed(line).or_else(|| {
        let (symbol, module) = split_module(line.trim());
        (!module.is_empty() && !symbol.is_empty()).then(|| (without_offset(symbol), module))
    })
}

/// Symbol and module of a frame's line with an address.
pub(super) fn addressed(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (address, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
    if address.is_empty() || !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (symbol, module) = split_module(rest.trim());
    // A symbol that was not asked for leaves the address.
    Some((if symbol.is_empty() { address } else { without_offset(symbol) }, module))
}

/// A symbol without the offset within it.
fn without_offset(symbol: &str) -> &str {
    match symbol.rsplit_once("+0x") {
        Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) && !name.is_empty() => name,
        _ => symbol,
    }
}

/// Splits off the last pair of parentheses; symbols and modules may have some themselves.
fn split_module(text: &str) -> (&str, &str) {
    let mut depth = 0usize;
    if !text.ends_with(')') {
        return (text, "");
    }
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            let module = text.get(at + 1..text.len() - 1).unwrap_or("");
            return (text.get(..at).unwrap_or("").trim_end(), module);
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn first_lines_are_taken_apart() {
        let parts = |line| header(line).map(|h| (h.comm, h.pid, h.tid, h.cpu, h.t_ns, h.period, h.event, h.detail));
        assert_eq!(
            parts("Web Content  12/34 [003]  5.678901:     250000 cycles:ppp: "),
            Some(("Web Content", Some(12), 34, Some("003"), 5_678_901_000, Some(250_000), "cycles:ppp", ""))
        );
        assert_eq!(
            parts("     a b 1 -1  20.123456789: sched:sched_switch: prev=x 3.5 ==> y"),
            Some(("a b 1", None, -1, None, 20_123_456_789, None, "sched:sched_switch", "prev=x 3.5 ==> y"))
        );
        assert_eq!(
            parts("cafe 7 [001] d..1. 0.000001: 1 cycles: ffff main+0x1 (/a b)"),
            Some(("cafe", None, 7, Some("001"), 1000, Some(1), "cycles", "ffff main+0x1 (/a b)"))
        );
        assert_eq!(parts("x 7 1.000000:"), Some(("x", None, 7, None, 1_000_000_000, None, "", "")));
        for line in
            ["", "x", "1.000000:", "7 1.000000:", "x y 1.000000:", "x 7 1.5: y", "x 7 1.000000 y", "x 7 a.000000:"]
        {
            assert_eq!(parts(line), None, "{line}");
        }
    }

    #[test]
    fn frames_are_taken_apart() {
        for (line, expected) in [
            ("\t  6f1 _Z5gammav (/w/forks)", Some(("_Z5gammav", "/w/forks"))),
            (
                "ffff operator()(int) const+0x1f ([kernel.kallsyms])",
                Some(("operator()(int) const", "[kernel.kallsyms]")),
            ),
            ("12 a+0xfg (/tmp/a (deleted))", Some(("a+0xfg", "/tmp/a (deleted)"))),
            ("12 [unknown] ([unknown])", Some(("[unknown]", "[unknown]"))),
            ("12ab", Some(("12ab", ""))),
            ("12 main", Some(("main", ""))),
            ("main (inlined)", Some(("main", "inlined"))),
            ("main.c:12", None),
            ("12 )", Some((")", ""))),
            ("(", None),
        ] {
            assert_eq!(frame(line), expected, "{line}");
        }
    }

    #[test]
    fn other_texts_are_no_samples() {
        assert!(looks_like(b"# cmdline\n\nx 7 1.000000: 5 cycles:\n\t1 main (/x)\n", false));
        assert!(looks_like(b"   x 7 1.000000: 5 cycles: 1 main (/x)\n", false));
        for text in [
            "",
            "x 7 1.000000: started (again)\n",
            "a;b 1\n",
            "[ 12.345678] usb: x\n",
            "x 7 1.000000: 5 y:\n\t1 main\n",
        ] {
            assert!(!looks_like(text.as_bytes(), false), "{text}");
        }
    }
}
