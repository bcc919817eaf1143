//! The icons: own SVG drawings in `assets/icons/`, tinted with the colour of the text they stand beside.
//!
//! Each icon carries words for screen readers. Drawing needs [`install`] once for a context.

use super::tokens::size;
use egui::{Color32, Image, ImageSource, Ui, Vec2};

/// One icon.
#[derive(Debug, Clone, Copy)]
pub struct Icon {
    uri: &'static str,
    svg: &'static [u8],
    /// What it shows, for those who do not see it.
    pub alt: &'static str,
}

macro_rules! icons {
    ($($(#[$doc:meta])* $name:ident = $file:literal, $alt:literal;)*) => {
        $(
            $(#[$doc])*
            pub const $name: Icon = Icon {
                uri: concat!("bytes://icons/", $file, ".svg"),
                svg: include_bytes!(concat!("../../assets/icons/", $file, ".svg")),
                alt: $alt,
            };
        )*

        /// All icons.
        pub const ALL: &[Icon] = &[$($name),*];
    };
}

icons! {
    /// Start.
    PLAY = "play", "Start";
    /// Pause.
    PAUSE = "pause", "Pause";
    /// Stop.
    STOP = "stop", "Stop";
    /// One optimization after the other.
    LADDER = "ladder", "Ladder";
    /// Two things weighed against each other.
    BALANCE = "balance", "Balance";
    /// Open.
    FOLDER = "folder", "Folder";
    /// Write to a file.
    EXPORT = "export", "Export";
    /// Search.
    SEARCH = "search", "Search";
    /// Close.
    CLOSE = "close", "Close";
    /// Delete.
    TRASH = "trash", "Delete";
    /// Edit.
    PENCIL = "pencil", "Edit";
    /// Tags.
    TAG = "tag", "Tag";
    /// Done.
    CHECK = "check", "Done";
    /// Warning.
    WARNING = "warning", "Warning";
    /// Error.
    ERROR = "error", "Error";
    /// Information.
    INFO = "info", "Information";
    /// Again.
    REFRESH = "refresh", "Refresh";
    /// Command palette.
    COMMAND = "command", "Command";
    /// Light theme.
    SUN = "sun", "Light";
    /// Dark theme.
    MOON = "moon", "Dark";
    /// Copy.
    COPY = "copy", "Copy";
    /// Undo.
    UNDO = "undo", "Undo";
    /// A device.
    DEVICE = "device", "Device";
    /// Settings.
    SLIDERS = "sliders", "Settings";
    /// A list.
    LIST = "list", "List";
    /// A gauge.
    GAUGE = "gauge", "Gauge";
    /// Spans over time.
    TIMELINE = "timeline", "Timeline";
    /// A flame.
    FLAME = "flame", "Flame";
    /// A table.
    TABLE = "table", "Table";
    /// Columns beside one another.
    COLUMNS = "columns", "Columns";
    /// Lines of text.
    LINES = "lines", "Lines";
    /// Advice.
    BULB = "bulb", "Advice";
    /// Time.
    CLOCK = "clock", "Clock";
    /// Keyboard.
    KEYBOARD = "keyboard", "Keyboard";
    /// The program's sign.
    LOGO = "logo", "Burnscope";
}

/// Lets a context draw SVG.
pub fn install(ctx: &egui::Context) {
    egui_extras::install_image_loaders(ctx);
}

impl Icon {
    /// The drawing as SVG text.
    pub fn svg(self) -> &'static [u8] {
        self.svg
    }

    /// The icon in this colour, `side` points wide and high.
    pub fn image(self, side: f32, color: Color32) -> Image<'static> {
        Image::new(ImageSource::Bytes { uri: self.uri.into(), bytes: self.svg.into() })
            .fit_to_exact_size(Vec2::splat(side))
            .tint(color)
            .alt_text(self.alt)
    }

    /// The icon in the size and colour of text; it is decoration, the words beside it say the same.
    pub fn small(self, ui: &Ui) -> Image<'static> {
        self.image(size::ICON, ui.visuals().text_color())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_icon_is_drawn_in_white_and_has_its_own_file() {
        let mut files = HashSet::new();
        for icon in ALL {
            let text = String::from_utf8_lossy(icon.svg);
            assert!(text.contains("stroke=\"#fff\""), "{} could not be tinted", icon.uri);
            assert!(!icon.alt.is_empty() && files.insert(icon.uri), "{}", icon.uri);
        }
    }
}
