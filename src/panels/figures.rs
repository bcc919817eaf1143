//! Figures of the model as the window shows them: with their source, or with the reason why there is none.

use crate::model::{Known, units};
use crate::ui::widgets::Figure;

/// A figure that may be unknown, written by `format`.
pub fn figure<T>(known: &Known<T>, format: impl Fn(&T) -> String) -> Figure {
    match known {
        Known::Value { value, source, n } => {
            let samples = if *n > 1 { format!(", from {} samples", units::count(*n)) } else { String::new() };
            Figure::new(format(value), format!("Measured: {}{samples}", source.label()))
        }
        Known::Unknown(reason) => Figure::Missing(reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Source;

    #[test]
    fn a_figure_keeps_its_source_and_its_reason() {
        let known = Known::value(0.5, Source::DeviceTimestamp, 1200);
        let shown = Figure::new("50.0 %", "Measured: device timestamps, from 1,200 samples");
        assert_eq!(figure(&known, |share| units::percent(*share)), shown);
        let unknown: Known<f64> = Known::unknown("no timestamps");
        assert_eq!(figure(&unknown, |share| units::percent(*share)), Figure::Missing("no timestamps".to_owned()));
    }
}
