//! Small helpers for drawing charts as SVG: escaping, elements, nice ticks.

/// Text that is safe in SVG and HTML, in element content and in attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Other control characters are not allowed in XML.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Round numbers from 0 to at least `max`, about `count` of them (1, 2, 5 times a power of ten).
pub fn ticks(max: f64, count: usize) -> Vec<f64> {
    if !max.is_finite() || max <= 0.0 {
        return vec![0.0, 1.0];
    }
    let raw = max / count.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= raw).unwrap_or(10.0 * power);
    let last = (max / step).ceil() as usize;
    (0..=last).map(|n| n as f64 * step).collect()
}

/// Where a text is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// At its start.
    Start,
    /// At its middle.
    Middle,
    /// At its end.
    End,
}

/// A drawing under construction.
pub struct Drawing {
    body: String,
    width: f64,
    height: f64,
    colors: Colors,
}

/// Colours of a chart.
#[derive(Debug, Clone, Copy)]
pub struct Colors {
    /// Behind everything; empty = see-through.
    pub background: &'static str,
    /// Text.
    pub text: &'static str,
    /// Lesser text and axes.
    pub muted: &'static str,
    /// Grid.
    pub grid: &'static str,
}

impl Drawing {
    /// An empty drawing of this size.
    pub fn new(width: f64, height: f64, colors: Colors) -> Self {
        Self { body: String::new(), width, height, colors }
    }

    /// The colours.
    pub fn colors(&self) -> Colors {
        self.colors
    }

    /// A filled box with a tooltip.
    pub fn rect(&mut self, (x, y, w, h): (f64, f64, f64, f64), fill: &str, title: &str) {
        self.body.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"><title>{}</title></rect>",
            w.max(0.0),
            h.max(0.0),
            escape(title)
        ));
    }

    /// A straight line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), color: &str, width: f64) {
        self.body.push_str(&format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\" stroke-width=\"{width}\"/>"
        ));
    }

    /// A line through points, with dashes where given.
    pub fn path(&mut self, points: &[(f64, f64)], color: &str, dash: &str) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.body.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\" stroke-dasharray=\"{dash}\"/>",
            list.join(" ")
        ));
    }

    /// Text.
    pub fn text(&mut self, (x, y): (f64, f64), text: &str, anchor: Anchor, size: f64, color: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.body.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{color}\">{}</text>",
            escape(text)
        ));
    }

    /// The finished SVG.
    pub fn finish(self, title: &str) -> String {
        let background = if self.colors.background.is_empty() {
            String::new()
        } else {
            format!("<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>", self.colors.background)
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
             font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\"><title>{}</title>{background}{}</svg>",
            escape(title),
            self.body,
            w = self.width,
            h = self.height
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(escape("<a b=\"c\">&'\u{1}"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\u{fffd}");
    }

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        assert_eq!(ticks(9.3, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(0.0, 5), [0.0, 1.0]);
        for max in [0.013, 1.0, 77.0, 12_345.0] {
            let ticks = ticks(max, 5);
            assert!(*ticks.last().unwrap() >= max && (3..=12).contains(&ticks.len()), "{ticks:?}");
        }
    }
}
