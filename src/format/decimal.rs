//! Decimal numbers as text and whole nanoseconds, exactly, without a floating-point number in between.

/// Appends nanoseconds as microseconds with three decimals: `1234567` as `1234.567`.
pub(super) fn put_micros(out: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    put_digits(out, ns / 1000, 1);
    let fraction = ns % 1000;
    if fraction > 0 {
        out.push(b'.');
        put_digits(out, fraction, 3);
    }
}

/// Appends whole nanoseconds.
pub(super) fn put_whole(out: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        out.push(b'-');
    }
    put_digits(out, ns.unsigned_abs(), 1);
}

/// Appends a number with at least `width` digits.
pub(super) fn put_digits(out: &mut Vec<u8>, mut value: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while value > 0 || digits.len() - at < width {
        at -= 1;
        if let Some(digit) = digits.get_mut(at) {
            *digit = b'0' + (value % 10) as u8;
        }
        value /= 10;
    }
    out.extend_from_slice(digits.get(at..).unwrap_or(&[]));
}

/// Nanoseconds of decimal microseconds, rounded half away from zero; `None` if it is no number or too large.
pub(super) fn ns_of_micros(text: &str) -> Option<i64> {
    scaled(text, 3)
}

/// A decimal number times ten to a power, as a whole number, rounded half away from zero; `None` if it is no number or
/// too large. Seconds become nanoseconds by the power 9.
pub(super) fn scaled(text: &str, power: i32) -> Option<i64> {
    plain(text.as_bytes(), power).or_else(|| general(text, power))
}

/// What [`scaled`] gives for up to 19 digits without a sign of which none is cut off, or nothing: nearly all times are so.
fn plain(text: &[u8], power: i32) -> Option<i64> {
    if text.len() > 20 {
        return None;
    }
    let (mut value, mut point) = (0_i64, None);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?,
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let fraction = point.map_or(0, |point| text.len() - point - 1);
    let left = u32::try_from(power).ok()?.checked_sub(fraction as u32)?;
    let some = text.len() > usize::from(point.is_some());
    value.checked_mul(10_i64.checked_pow(left)?).filter(|_| some)
}

fn general(text: &str, power: i32) -> Option<i64> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.trim_start_matches('+').parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = match mantissa.as_bytes().first()? {
        b'-' => (true, mantissa.get(1..)?),
        b'+' => (false, mantissa.get(1..)?),
        _ => (false, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Digits before this place make the whole number.
    let place = i64::try_from(whole.len()).ok()? + i64::from(exponent) + i64::from(power);
    let mut value: i64 = 0;
    let mut seen = 0i64;
    let mut round_up = false;
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        if seen < place {
            value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
        } else if seen == place {
            round_up = byte >= b'5';
        }
        seen += 1;
    }
    while seen < place && value != 0 {
        value = value.checked_mul(10)?;
        seen += 1;
    }
    let value = value.checked_add(i64::from(round_up))?;
    Some(if negative { -value } else { value })
}

/// Whether a decimal number that [`scaled`] takes has nothing but zeros behind its point.
pub(super) fn is_whole(text: &str) -> bool {
    let whole = scaled(text, 0);
    whole.and_then(|whole| whole.checked_mul(1_000_000)).is_none_or(|whole| scaled(text, 6) == Some(whole))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nanoseconds_survive(ns in any::<i64>()) {
            prop_assume!(ns != i64::MIN);
            let mut out = Vec::new();
            put_micros(&mut out, ns);
            prop_assert_eq!(ns_of_micros(std::str::from_utf8(&out).unwrap()), Some(ns));
        }

        #[test]
        fn whole_nanoseconds_survive_in_every_unit(ns in any::<i64>(), power in 0i32..12) {
            prop_assume!(ns != i64::MIN);
            let mut out = Vec::new();
            put_whole(&mut out, ns);
            out.extend_from_slice(format!("e-{power}").as_bytes());
            prop_assert_eq!(scaled(std::str::from_utf8(&out).unwrap(), power), Some(ns));
        }

        #[test]
        fn the_short_way_gives_the_same(text in "[0-9]{0,12}[.]?[0-9]{0,8}", power in -2i32..12) {
            if let Some(found) = plain(text.as_bytes(), power) {
                prop_assert_eq!(general(&text, power), Some(found));
            }
        }

        #[test]
        fn any_text_is_refused_or_read(text in "[-+0-9.eE]{0,24}", power in -20i32..20) {
            let _: Option<i64> = scaled(&text, power);
            let _: bool = is_whole(&text);
        }
    }

    #[test]
    fn decimals_are_exact() {
        for (text, ns) in [
            ("0", Some(0)),
            ("1", Some(1000)),
            ("-1.5", Some(-1500)),
            ("1700000000000000.123", Some(1_700_000_000_000_000_123)),
            ("0.0004", Some(0)),
            ("0.0005", Some(1)),
            ("1.23456789", Some(1235)),
            ("1.5e3", Some(1_500_000)),
            ("15e-4", Some(2)),
            (".5", Some(500)),
            ("5.", Some(5000)),
            ("1e2000000000", None),
            ("0e2000000000", Some(0)),
            ("1e-2000000000", Some(0)),
            ("9223372036854775.807", Some(i64::MAX)),
            ("9223372036854775.808", None),
            ("", None),
            ("-", None),
            (".", None),
            ("1.2.3", None),
            ("NaN", None),
        ] {
            assert_eq!(ns_of_micros(text), ns, "{text}");
        }
    }

    #[test]
    fn units_are_powers_of_ten() {
        assert_eq!(scaled("0.1234567891", 9), Some(123_456_789));
        assert_eq!(scaled("203265.377019", 9), Some(203_265_377_019_000));
        assert_eq!(scaled("0.248791", 6), Some(248_791));
        assert_eq!(scaled("1500", -3), Some(2));
        assert!(is_whole("3") && is_whole("3.0") && is_whole("30e-1") && !is_whole("3.5") && is_whole("9e18"));
    }
}
