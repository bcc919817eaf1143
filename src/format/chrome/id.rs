//! Identifiers of processes, threads, flows and asynchronous work, which are numbers in one file and texts in the next.

use std::fmt;
use std::rc::Rc;

/// An identifier as it is written. Most are plain numbers, which take no memory of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Id {
    /// Digits without a leading zero.
    Number(u64),
    /// Anything else.
    Text(Rc<str>),
}

impl Id {
    /// The identifier that is written like this.
    pub fn of(text: &str) -> Self {
        let plain = text == "0" || text.starts_with(|c: char| matches!(c, '1'..='9'));
        match text.parse() {
            Ok(number) if plain => Self::Number(number),
            _ => Self::Text(text.into()),
        }
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn identifiers_stay_as_they_are_written(a in "[0-9+-]{0,22}|0x[0-9]|[a-z]{0,3}", b in "[0-9]{1,2}") {
            prop_assert_eq!(Id::of(&a).to_string(), a.clone());
            prop_assert_eq!(Id::of(&a) == Id::of(&b), a == b);
        }
    }
}
