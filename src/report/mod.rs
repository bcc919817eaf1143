//! Ways out of a comparison: one file for each kind of report, and the charts they share.

pub mod charts;
pub mod csv;
pub mod html;
pub mod markdown;
pub mod png;
pub mod rows;
pub mod spans_csv;
pub mod svg;
pub mod table;
pub mod text;

use crate::analysis::Comparison;
use std::path::Path;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The ending stands for no kind of report.
    #[error("the ending of {0} stands for no kind of report; use .html, .md, .csv, .json, .svg or .png")]
    UnknownKind(String),
    /// The chart could not be drawn as pixels.
    #[error("the chart could not be drawn: {0}")]
    Drawing(String),
    /// A table could not be written.
    #[error("the table could not be written: {0}")]
    Csv(#[from] ::csv::Error),
    /// The result could not be written as JSON.
    #[error("the result could not be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// Kinds of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One file with charts that works offline.
    Html,
    /// Tables for a document or an issue.
    Markdown,
    /// One row a run.
    Csv,
    /// Everything, for programs.
    Json,
    /// The chart of step times.
    Svg,
    /// The chart of step times, as pixels.
    Png,
}

impl Kind {
    /// The kind that a file's ending stands for.
    pub fn from_path(path: &Path) -> Result<Self, ReportError> {
        let ending = path.extension().map(|ext| ext.to_string_lossy().to_lowercase()).unwrap_or_default();
        match ending.as_str() {
            "html" | "htm" => Ok(Self::Html),
            "md" | "markdown" => Ok(Self::Markdown),
            "csv" => Ok(Self::Csv),
            "json" => Ok(Self::Json),
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(ReportError::UnknownKind(path.display().to_string())),
        }
    }
}

/// A comparison as a report; the path's ending decides the kind. A chart other than that of step times is chosen by its
/// name at the end of the file's name: `report.phases.svg`.
pub fn render(comparison: &Comparison, path: &Path) -> Result<Vec<u8>, ReportError> {
    let chart = || {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let mut all = charts::all(comparison, charts::Look::Light);
        let named = all.iter().position(|chart| stem.ends_with(&format!(".{}", chart.name)) || stem == chart.name);
        all.swap_remove(named.unwrap_or(0)).svg
    };
    Ok(match Kind::from_path(path)? {
        Kind::Html => html::page(comparison).into_bytes(),
        Kind::Markdown => markdown::document(comparison).into_bytes(),
        Kind::Csv => csv::comparison(comparison)?,
        Kind::Json => serde_json::to_vec_pretty(comparison)?,
        Kind::Svg => chart().into_bytes(),
        Kind::Png => png::raster(&chart())?,
    })
}
