//! Text with a meaning: figures in digits of one width, so that columns line up and live numbers do not jitter.

use egui::{Color32, RichText, Ui};

/// A figure: digits of one width.
pub fn figure(text: impl Into<String>) -> RichText {
    RichText::new(text).monospace()
}

/// A figure that is the main thing of its place.
pub fn big_figure(text: impl Into<String>, color: Color32) -> RichText {
    RichText::new(text).monospace().size(19.0).color(color)
}

/// Title of a group inside a panel.
pub fn group(text: impl Into<String>, color: Color32) -> RichText {
    RichText::new(text).strong().size(13.5).color(color)
}

/// A sentence in weak text that wraps.
pub fn note(ui: &mut Ui, text: impl Into<String>) -> egui::Response {
    ui.add(egui::Label::new(RichText::new(text).weak()).wrap())
}

/// Seconds as a rough time left: `12 s`, `3 min`, `1 h 20 min`.
pub fn time_left(secs: f64) -> String {
    if !secs.is_finite() || secs < 0.0 {
        return "–".to_owned();
    }
    let whole = secs.round().min(1e9) as u64;
    match whole {
        0..=89 => format!("{whole} s"),
        90..=5399 => format!("{} min", (whole + 30) / 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// A line of text that is cut with an ellipsis where it would be wider than `width`, in points.
pub fn elided(
    painter: &egui::Painter,
    text: &str,
    font: egui::FontId,
    color: egui::Color32,
    width: f32,
) -> std::sync::Arc<egui::Galley> {
    let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), font, color);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width.floor());
    painter.layout_job(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_rough() {
        for (secs, text) in [(0.4, "0 s"), (89.4, "89 s"), (150.0, "3 min"), (4800.0, "80 min"), (6000.0, "1 h 40 min")]
        {
            assert_eq!(time_left(secs), text);
        }
        assert_eq!(time_left(f64::NAN), "–");
        assert_eq!(time_left(f64::INFINITY), "–");
    }
}
