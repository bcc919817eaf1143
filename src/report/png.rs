//! Charts as pixels.

use super::ReportError;
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// Pixels for each unit of the chart.
const SCALE: f32 = 2.0;

/// Draws an SVG as PNG at twice its size. Text needs a font of the system.
pub fn raster(svg: &str) -> Result<Vec<u8>, ReportError> {
    let bad = |what: &str| ReportError::Drawing(what.to_owned());
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_system_fonts();
    if fonts.is_empty() {
        return Err(bad("no font was found on this system; install one (Debian: fonts-dejavu-core) or export as .svg"));
    }
    let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| bad(&e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| bad("the chart has no size"))?;
    let mut pixels =
        tiny_skia::Pixmap::new(size.width(), size.height()).ok_or_else(|| bad("the chart is too large"))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| bad(&e.to_string()))
}
