//! Numbers as the user reads them: scaled units, thousands separators, three to four significant digits.

/// A duration in nanoseconds, scaled to ns, µs, ms, s or min: `1.234 ms`, `56.7 µs`, `2 min 5 s`.
pub fn duration_ns(ns: f64) -> String {
    let abs = ns.abs();
    if !ns.is_finite() {
        "–".to_owned()
    } else if abs < 999.5 {
        format!("{} ns", if abs.fract() == 0.0 { fixed(ns, 0) } else { significant(ns) })
    } else if abs < 999.5e3 {
        format!("{} µs", significant(ns / 1e3))
    } else if abs < 999.5e6 {
        format!("{} ms", significant(ns / 1e6))
    } else if abs < 120e9 {
        format!("{} s", significant(ns / 1e9))
    } else {
        let secs = (abs / 1e9).round() as u64;
        let sign = if ns < 0.0 { "−" } else { "" };
        if secs < 7200 {
            format!("{sign}{} min {} s", secs / 60, secs % 60)
        } else {
            format!("{sign}{} h {} min", secs / 3600, secs / 60 % 60)
        }
    }
}

/// A count with thousands separators: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A mean number of things: whole where it is whole, else with one digit: `12`, `1,234.5`.
pub fn mean_count(n: f64) -> String {
    if !n.is_finite() {
        return "–".to_owned();
    }
    let tenths = (n.abs() * 10.0).round() as u64;
    let sign = if n < 0.0 && tenths > 0 { "−" } else { "" };
    let digit = if n.fract() == 0.0 { String::new() } else { format!(".{}", tenths % 10) };
    format!("{sign}{}{digit}", count(tenths / 10))
}

/// A size in bytes, in binary units: `1.50 MiB`.
pub fn bytes(n: f64) -> String {
    scaled(n, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// A transfer rate in bytes per second, in decimal units: `25.1 GB/s`.
pub fn bytes_per_sec(n: f64) -> String {
    scaled(n, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])
}

/// A compute rate: `322 GFLOP/s`.
pub fn flops_per_sec(n: f64) -> String {
    scaled(n, 1000.0, &["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"])
}

/// An amount of work: `2.90 GFLOP`.
pub fn flops(n: f64) -> String {
    scaled(n, 1000.0, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"])
}

/// A rate of samples: `6,120 samples/s`.
pub fn samples_per_sec(n: f64) -> String {
    if !n.is_finite() {
        "–".to_owned()
    } else if n < 100.0 {
        format!("{n:.1} samples/s")
    } else {
        format!("{} samples/s", count(n.round() as u64))
    }
}

/// The text with a capital first letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A change in nanoseconds with its sign: `+1.20 ms`, `−340 ns`.
pub fn signed_duration_ns(ns: f64) -> String {
    let sign = if ns > 0.0 {
        "+"
    } else if ns < 0.0 {
        "−"
    } else {
        "±"
    };
    format!("{sign}{}", duration_ns(ns.abs()))
}

/// A number of things: `1 step`, `1,200 steps`.
pub fn counted(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A share, 0 to 1, in per cent: `12.3 %`.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{} %", fixed(share * 100.0, 1)) } else { "–".to_owned() }
}

/// A ratio of two times: `1.23×`.
pub fn ratio(r: f64) -> String {
    if r.is_finite() { format!("{r:.2}×") } else { "–".to_owned() }
}

/// With this many digits behind the point. What is rounded to zero has no sign.
fn fixed(x: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", x.abs());
    let zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if x < 0.0 && !zero { format!("−{text}") } else { text }
}

/// Three significant digits without an exponent, thousands separated.
fn significant(x: f64) -> String {
    let abs = x.abs();
    if abs >= 999.5 {
        let sign = if x < 0.0 { "−" } else { "" };
        format!("{sign}{}", count(abs.round() as u64))
    } else if abs >= 99.95 {
        fixed(x, 0)
    } else if abs >= 9.995 {
        fixed(x, 1)
    } else {
        fixed(x, 2)
    }
}

fn scaled(n: f64, base: f64, units: &[&str]) -> String {
    if !n.is_finite() {
        return "–".to_owned();
    }
    let mut value = n;
    let mut idx = 0;
    while value.abs() >= base - 0.5 && idx + 1 < units.len() {
        value /= base;
        idx += 1;
    }
    if idx == 0 {
        format!("{} {}", fixed(value, 0), units[0])
    } else {
        format!("{} {}", significant(value), units[idx])
    }
}

/// A share with its sign: `+12.0 %`, `−3.4 %`.
pub fn signed_percent(share: f64) -> String {
    let text = percent(share);
    if text.starts_with(['−', '–']) { text } else { format!("+{text}") }
}

/// A time of the trace as text, exact to the nanosecond: `12.345 678 901 s`, with no more digits than it has.
pub fn clock_text(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "" };
    let total = ns.abs().round() as u64;
    let (secs, nanos) = (total / 1_000_000_000, total % 1_000_000_000);
    let mut groups = vec![nanos / 1_000_000, nanos / 1_000 % 1_000, nanos % 1_000];
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let digits: Vec<String> = groups.iter().map(|group| format!("{group:03}")).collect();
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{} s", count(secs), digits.join(" "))
}

/// `text` cut to at most `max` characters, with `…` where something is missing.
pub fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_scale() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.0, "999 ns"),
            (1_234.0, "1.23 µs"),
            (56_700_000.0, "56.7 ms"),
            (999_900_000.0, "1.00 s"),
            (1_500_000_000.0, "1.50 s"),
            (2.5e9, "2.50 s"),
            (999.7, "1.00 µs"),
            (99_970.0, "100 µs"),
            (9_996.0, "10.0 µs"),
            (-0.0, "0 ns"),
            (-0.001, "0.00 ns"),
            (-1_234.0, "−1.23 µs"),
            (125e9, "2 min 5 s"),
            (7_260e9, "2 h 1 min"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(duration_ns(ns), text);
        }
    }

    #[test]
    fn counts_are_separated() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (2_904_195_072, "2,904,195,072")] {
            assert_eq!(count(n), text);
        }
    }

    #[test]
    fn mean_counts_have_a_digit_where_they_need_one() {
        for (n, text) in [(12.0, "12"), (1234.56, "1,234.6"), (0.96, "1.0"), (-0.0, "0"), (-2.25, "−2.3")] {
            assert_eq!(mean_count(n), text);
        }
    }

    #[test]
    fn sizes_and_rates_scale() {
        assert_eq!(bytes(1536.0), "1.50 KiB");
        assert_eq!(flops(2_904_195_072.0), "2.90 GFLOP");
        assert_eq!(flops_per_sec(322e9), "322 GFLOP/s");
        assert_eq!(samples_per_sec(6120.4), "6,120 samples/s");
    }

    #[test]
    fn shares_that_round_to_zero_have_no_sign() {
        for (share, text, signed) in [
            (0.1234, "12.3 %", "+12.3 %"),
            (-0.1234, "−12.3 %", "−12.3 %"),
            (-0.0, "0.0 %", "+0.0 %"),
            (-0.0001, "0.0 %", "+0.0 %"),
            (f64::NAN, "–", "–"),
        ] {
            assert_eq!((percent(share).as_str(), signed_percent(share).as_str()), (text, signed));
        }
        assert_eq!(bytes(-0.0), "0 B");
    }

    #[test]
    fn clock_text_is_exact() {
        assert_eq!(clock_text(0.0), "0 s");
        assert_eq!(clock_text(1_500_000_000.0), "1.500 s");
        assert_eq!(clock_text(12_345_678_901.0), "12.345 678 901 s");
        assert_eq!(clock_text(-7.0), "−0.000 000 007 s");
    }

    #[test]
    fn text_is_cut_at_characters() {
        assert_eq!(shorten("kernel", 6), "kernel");
        assert_eq!(shorten("kernels", 6), "kerne…");
        assert_eq!(shorten("Größenmaß", 5), "Größ…");
        assert_eq!(shorten("abc", 0), "…");
    }
}
