//! Design tokens: every colour and size of the window by its meaning, read from `assets/theme/`.
//!
//! Nothing else in the window names a colour. Knows no domain: phases of a step are words here, and names of data are
//! any text.

use egui::{Color32, CornerRadius, FontFamily, FontId, Margin, Shadow, Stroke, TextStyle, Theme, vec2};
use serde::Deserialize;
use std::collections::BTreeMap;
use thiserror::Error;

const DARK: &str = include_str!("../../assets/theme/dark.toml");
const LIGHT: &str = include_str!("../../assets/theme/light.toml");

/// Why a theme file was refused.
#[derive(Debug, Error, PartialEq)]
pub enum ThemeError {
    /// Not TOML, or a colour is missing.
    #[error("the theme is not complete: {0}")]
    Incomplete(String),
    /// Not a colour.
    #[error("`{0}` is not a colour; write #rrggbb or #rrggbbaa")]
    NotAColor(String),
    /// Data needs at least one colour.
    #[error("the theme has no colours for data (`data.names`)")]
    NoDataColors,
}

#[derive(Deserialize)]
struct ThemeFile {
    ui: UiColors<String>,
    canvas: CanvasTokens<String>,
    phases: BTreeMap<String, String>,
    data: DataFile,
}

#[derive(Deserialize)]
struct DataFile {
    names: Vec<String>,
}

/// Colours of the window's own parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UiColors<C> {
    /// Behind everything.
    pub panel: C,
    /// Cards.
    pub surface: C,
    /// Text fields and plots.
    pub sunken: C,
    /// Buttons.
    pub raised: C,
    /// Buttons under the pointer.
    pub hovered: C,
    /// Buttons held down.
    pub pressed: C,
    /// Lines between parts.
    pub border: C,
    /// Outlines of what can be edited.
    pub border_strong: C,
    /// Text.
    pub text: C,
    /// Headings and figures.
    pub text_strong: C,
    /// Less important text.
    pub text_weak: C,
    /// What is selected or in progress.
    pub accent: C,
    /// Fill of the main button.
    pub accent_fill: C,
    /// Text on the main button.
    pub on_accent: C,
    /// Behind selected rows and text.
    pub selection: C,
    /// Links.
    pub link: C,
    /// Something became better, or is well.
    pub good: C,
    /// Something is less than it should be.
    pub warning: C,
    /// Something became worse, or failed.
    pub bad: C,
    /// Under windows.
    pub shadow: C,
}

/// Colours of a time canvas.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanvasTokens<C> {
    /// Behind everything.
    pub background: C,
    /// Behind every second track.
    pub stripe: C,
    /// Lines at the main ticks.
    pub grid: C,
    /// Counters.
    pub counter: C,
    /// Marks that the user set.
    pub mark: C,
    /// Around search hits.
    pub hit: C,
}

/// The tokens of one theme.
#[derive(Debug, Clone, PartialEq)]
pub struct Tokens {
    /// Light on dark.
    pub dark: bool,
    /// The window's own parts.
    pub ui: UiColors<Color32>,
    /// Time canvases.
    pub canvas: CanvasTokens<Color32>,
    phases: BTreeMap<String, Color32>,
    names: Vec<Color32>,
}

/// Distances and sizes, in points. The same in both themes.
pub mod size {
    /// Between things that belong together.
    pub const GAP: f32 = 6.0;
    /// Between groups.
    pub const GROUP_GAP: f32 = 12.0;
    /// Inside cards and panels.
    pub const INSET: i8 = 10;
    /// Corners of buttons, fields and cards.
    pub const RADIUS: u8 = 5;
    /// Side of an icon beside text.
    pub const ICON: f32 = 15.0;
    /// Height of a table's row.
    pub const ROW: f32 = 24.0;
}

impl Tokens {
    /// The dark theme.
    pub fn dark() -> Self {
        Self::embedded(DARK, true)
    }

    /// The light theme.
    pub fn light() -> Self {
        Self::embedded(LIGHT, false)
    }

    /// The tokens of egui's theme.
    pub fn of(theme: Theme) -> Self {
        match theme {
            Theme::Dark => Self::dark(),
            Theme::Light => Self::light(),
        }
    }

    #[expect(clippy::expect_used, reason = "both texts are part of the program, and a test reads them")]
    fn embedded(text: &str, dark: bool) -> Self {
        Self::parse(text, dark).expect("an embedded theme is complete")
    }

    /// Reads a theme file.
    pub fn parse(text: &str, dark: bool) -> Result<Self, ThemeError> {
        let file: ThemeFile = toml::from_str(text).map_err(|e| ThemeError::Incomplete(e.message().to_owned()))?;
        let phases = file.phases.iter().map(|(id, text)| Ok((id.clone(), color(text)?))).collect::<Result<_, _>>()?;
        let names = file.data.names.iter().map(|text| color(text)).collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() {
            return Err(ThemeError::NoDataColors);
        }
        Ok(Self { dark, ui: ui_colors(&file.ui)?, canvas: canvas_colors(&file.canvas)?, phases, names })
    }

    /// The colour of a step's phase by its identifier; a weak colour for a phase that the theme does not know.
    pub fn phase(&self, id: &str) -> Color32 {
        self.phases.get(id).copied().unwrap_or(self.ui.text_weak)
    }

    /// The colour of a name: stable across runs, machines and versions.
    pub fn data(&self, name: &str) -> Color32 {
        self.series((hash(name) % self.names.len().max(1) as u64) as usize)
    }

    /// The colour of the series of this index.
    pub fn series(&self, idx: usize) -> Color32 {
        self.names.get(idx % self.names.len().max(1)).copied().unwrap_or(self.ui.text_weak)
    }

    /// All colours of names.
    pub fn names(&self) -> &[Color32] {
        &self.names
    }

    /// The style of egui's widgets.
    pub fn style(&self) -> egui::Style {
        let mut style = egui::Style { visuals: self.visuals(), ..egui::Style::default() };
        style.text_styles = [
            (TextStyle::Small, FontId::new(11.0, FontFamily::Proportional)),
            (TextStyle::Body, FontId::new(13.0, FontFamily::Proportional)),
            (TextStyle::Button, FontId::new(13.0, FontFamily::Proportional)),
            (TextStyle::Monospace, FontId::new(12.5, FontFamily::Monospace)),
            (TextStyle::Heading, FontId::new(17.0, FontFamily::Proportional)),
        ]
        .into();
        let spacing = &mut style.spacing;
        spacing.item_spacing = vec2(8.0, size::GAP);
        spacing.button_padding = vec2(8.0, 3.0);
        spacing.interact_size = vec2(36.0, 22.0);
        spacing.menu_margin = Margin::same(6);
        spacing.window_margin = Margin::same(size::INSET);
        spacing.combo_width = 120.0;
        spacing.tooltip_width = 420.0;
        spacing.scroll = egui::style::ScrollStyle::thin();
        style.interaction.selectable_labels = true;
        style.animation_time = 0.08;
        style
    }

    fn visuals(&self) -> egui::Visuals {
        let ui = &self.ui;
        let mut visuals = if self.dark { egui::Visuals::dark() } else { egui::Visuals::light() };
        let radius = CornerRadius::same(size::RADIUS);
        visuals.panel_fill = ui.panel;
        visuals.window_fill = ui.surface;
        visuals.window_stroke = Stroke::new(1.0, ui.border);
        visuals.window_corner_radius = CornerRadius::same(8);
        visuals.menu_corner_radius = CornerRadius::same(6);
        visuals.window_shadow = Shadow { offset: [0, 6], blur: 20, spread: 0, color: ui.shadow };
        visuals.popup_shadow = Shadow { offset: [0, 3], blur: 10, spread: 0, color: ui.shadow };
        visuals.extreme_bg_color = ui.sunken;
        visuals.code_bg_color = ui.sunken;
        visuals.faint_bg_color = self.canvas.stripe;
        visuals.hyperlink_color = ui.link;
        visuals.warn_fg_color = ui.warning;
        visuals.error_fg_color = ui.bad;
        visuals.weak_text_color = Some(ui.text_weak);
        visuals.selection.bg_fill = ui.selection;
        visuals.selection.stroke = Stroke::new(1.0, ui.text_strong);
        visuals.striped = false;
        visuals.slider_trailing_fill = true;
        visuals.disabled_alpha = 0.55;
        let line = |color| Stroke::new(1.0, color);
        for (widget, fill, outline, text) in [
            (&mut visuals.widgets.noninteractive, ui.surface, ui.border, ui.text),
            (&mut visuals.widgets.inactive, ui.raised, ui.border_strong.gamma_multiply(0.6), ui.text),
            (&mut visuals.widgets.hovered, ui.hovered, ui.border_strong, ui.text_strong),
            (&mut visuals.widgets.active, ui.pressed, ui.accent, ui.text_strong),
            (&mut visuals.widgets.open, ui.hovered, ui.border_strong, ui.text_strong),
        ] {
            widget.bg_fill = fill;
            widget.weak_bg_fill = fill;
            widget.bg_stroke = line(outline);
            widget.fg_stroke = line(text);
            widget.corner_radius = radius;
            widget.expansion = 0.0;
        }
        visuals
    }

    /// A card: a group of things on a surface of its own.
    pub fn card(&self) -> egui::Frame {
        egui::Frame::new()
            .fill(self.ui.surface)
            .stroke(Stroke::new(1.0, self.ui.border))
            .corner_radius(CornerRadius::same(size::RADIUS + 1))
            .inner_margin(Margin::same(size::INSET))
    }

    /// Black or white, whichever is easier to read on `fill`.
    pub fn text_on(fill: Color32) -> Color32 {
        if contrast(fill, Color32::BLACK) >= contrast(fill, Color32::WHITE) { Color32::BLACK } else { Color32::WHITE }
    }
}

/// Gives egui the styles of both themes; which one is used is egui's theme preference.
pub fn install(ctx: &egui::Context) {
    ctx.set_style_of(Theme::Dark, Tokens::dark().style());
    ctx.set_style_of(Theme::Light, Tokens::light().style());
}

/// Contrast of two colours after WCAG 2.2, 1 to 21.
pub fn contrast(a: Color32, b: Color32) -> f32 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(color: Color32) -> f32 {
    let linear = egui::Rgba::from(color);
    0.2126 * linear.r() + 0.7152 * linear.g() + 0.0722 * linear.b()
}

/// FNV-1a, 64 bits: short, and the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn color(text: &str) -> Result<Color32, ThemeError> {
    Color32::from_hex(text).map_err(|_| ThemeError::NotAColor(text.to_owned()))
}

fn ui_colors(text: &UiColors<String>) -> Result<UiColors<Color32>, ThemeError> {
    Ok(UiColors {
        panel: color(&text.panel)?,
        surface: color(&text.surface)?,
        sunken: color(&text.sunken)?,
        raised: color(&text.raised)?,
        hovered: color(&text.hovered)?,
        pressed: color(&text.pressed)?,
        border: color(&text.border)?,
        border_strong: color(&text.border_strong)?,
        text: color(&text.text)?,
        text_strong: color(&text.text_strong)?,
        text_weak: color(&text.text_weak)?,
        accent: color(&text.accent)?,
        accent_fill: color(&text.accent_fill)?,
        on_accent: color(&text.on_accent)?,
        selection: color(&text.selection)?,
        link: color(&text.link)?,
        good: color(&text.good)?,
        warning: color(&text.warning)?,
        bad: color(&text.bad)?,
        shadow: color(&text.shadow)?,
    })
}

fn canvas_colors(text: &CanvasTokens<String>) -> Result<CanvasTokens<Color32>, ThemeError> {
    Ok(CanvasTokens {
        background: color(&text.background)?,
        stripe: color(&text.stripe)?,
        grid: color(&text.grid)?,
        counter: color(&text.counter)?,
        mark: color(&text.mark)?,
        hit: color(&text.hit)?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn text_is_readable_on_everything_it_lies_on() {
        for tokens in [Tokens::dark(), Tokens::light()] {
            let ui = &tokens.ui;
            for (what, back) in
                [("panel", ui.panel), ("surface", ui.surface), ("sunken", ui.sunken), ("raised", ui.raised)]
            {
                for (which, text) in [("text", ui.text), ("strong", ui.text_strong), ("weak", ui.text_weak)] {
                    let reached = contrast(text, back);
                    assert!(reached >= 4.5, "dark {}: {which} on {what} {reached:.2}", tokens.dark);
                }
            }
            for (what, text) in
                [("accent", ui.accent), ("good", ui.good), ("warning", ui.warning), ("bad", ui.bad), ("link", ui.link)]
            {
                let reached = contrast(text, ui.panel);
                assert!(reached >= 4.5, "dark {}: {what} {reached:.2}", tokens.dark);
            }
            assert!(contrast(ui.on_accent, ui.accent_fill) >= 4.5);
            assert!(contrast(ui.text_strong, ui.selection) >= 4.5);
        }
    }

    #[test]
    fn colours_of_data_stand_out_and_carry_text() {
        for tokens in [Tokens::dark(), Tokens::light()] {
            for fill in tokens.names().iter().chain(tokens.phases.values()) {
                assert!(contrast(*fill, tokens.canvas.background) >= 1.5, "{fill:?}");
                assert!(contrast(*fill, Tokens::text_on(*fill)) >= 4.5, "{fill:?}");
            }
        }
    }

    #[test]
    fn a_name_keeps_its_colour() {
        let tokens = Tokens::dark();
        assert_eq!(tokens.data("matmul"), tokens.data("matmul"));
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        let used: std::collections::HashSet<_> =
            ["matmul", "conv2d", "add", "mul", "relu", "sum_dim", "exp", "log"].map(|name| tokens.data(name)).into();
        assert!(used.len() >= 4, "names share too few colours: {}", used.len());
    }

    #[test]
    fn a_broken_theme_is_refused_with_its_place() {
        assert_eq!(
            Tokens::parse(&DARK.replace("\"#16181c\"", "\"grey\""), true),
            Err(ThemeError::NotAColor("grey".to_owned()))
        );
        let error = Tokens::parse(&DARK.replace("panel =", "pannel ="), true).unwrap_err();
        assert!(error.to_string().contains("pannel"), "{error}");
    }
}
