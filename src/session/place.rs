//! A place in a trace as text, so that it can be sent to somebody: a stretch of time, and the span that is selected.

use crate::trace::{SpanRef, TrackId};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A stretch of time in nanoseconds from the trace's start, and a span. Its text is `1000..2500` or `1000..2500@3.0.12`:
/// track, depth and number of the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Left edge of the view.
    pub start_ns: i64,
    /// Right edge.
    pub end_ns: i64,
    /// The selected span.
    pub span: Option<SpanRef>,
}

/// A text that is no place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no place in a trace; one is written FROM..TO in nanoseconds from its start, for example 1000..2500")]
pub struct PlaceError(String);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start_ns, self.end_ns)?;
        match self.span {
            Some(span) => write!(f, "@{}.{}.{}", span.track.0, span.depth, span.idx),
            None => Ok(()),
        }
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let parse = || {
            let (range, span) = text.split_once('@').map_or((text, None), |(range, span)| (range, Some(span)));
            let (from, to) = range.split_once("..")?;
            let (start_ns, end_ns) = (from.parse().ok()?, to.parse().ok()?);
            let span = match span {
                None => None,
                Some(span) => {
                    let mut numbers = span.splitn(3, '.');
                    let track = TrackId(numbers.next()?.parse().ok()?);
                    let (depth, idx) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
                    Some(SpanRef { track, depth, idx })
                }
            };
            (start_ns < end_ns).then_some(Self { start_ns, end_ns, span })
        };
        parse().ok_or_else(|| PlaceError(text.to_owned()))
    }
}

impl Place {
    /// The command line that opens a file at this place.
    pub fn command_line(&self, path: &std::path::Path) -> String {
        let path = path.display().to_string();
        // As a POSIX shell reads it back.
        format!("burnscope --at {self} '{}'", path.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_place_is_refused() {
        for text in
            ["", "1", "1..", "..2", "2..1", "1..1", "a..b", "1..2@", "1..2@1", "1..2@1.2", "1..2@1.2.3.4", "1..2@1.x.3"]
        {
            let error = text.parse::<Place>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn a_path_is_quoted() {
        let place: Place = "5..9".parse().unwrap();
        assert_eq!(place.command_line("/a b/it's".as_ref()), "burnscope --at 5..9 '/a b/it'\\''s'");
    }

    proptest! {
        #[test]
        fn a_place_survives_its_text(start in any::<i32>(), len in 1..i64::MAX / 2, span in prop::option::of(any::<(u32, u16, u32)>())) {
            let span = span.map(|(track, depth, idx)| SpanRef { track: TrackId(track), depth, idx });
            let place = Place { start_ns: i64::from(start), end_ns: i64::from(start) + len, span };
            prop_assert_eq!(place.to_string().parse::<Place>(), Ok(place));
        }
    }
}
