//! `steps.csv`: one row a step, appended when the step ends. The columns are found by their names.

use super::super::{FormatError, ImportReport};
use super::open_lines;
use crate::model::{Phase, StepFlags, StepRecord};
use csv::{ByteRecord, ReaderBuilder, Writer, WriterBuilder};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const BEFORE_PHASES: [&str; 5] = ["step", "epoch", "block", "start_ns", "dur_ns"];
const AFTER_PHASES: [&str; 5] = ["loss", "accuracy", "samples", "loss_scale", "flags"];

/// Ends a row that was cut: a number that was cut would pass for a whole one, so the row gets a cell that is wrong
/// wherever it stands.
const MEND: &[u8] = b",cut\n";

fn header() -> impl Iterator<Item = String> {
    let phases = Phase::ALL.into_iter().map(|phase| format!("{}_ns", phase.id()));
    BEFORE_PHASES.into_iter().map(str::to_owned).chain(phases).chain(AFTER_PHASES.into_iter().map(str::to_owned))
}

/// Appends rows. Each row is one write, so that a kill costs at most the row that is being written.
#[derive(Debug)]
pub struct StepWriter {
    file: File,
    row: Writer<Vec<u8>>,
    path: PathBuf,
}

fn row_writer() -> Writer<Vec<u8>> {
    WriterBuilder::new().from_writer(Vec::with_capacity(256))
}

impl StepWriter {
    /// Opens or makes the file.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let (file, empty) = open_lines(path, MEND, "open the table of steps")?;
        let mut writer = Self { file, row: row_writer(), path: path.to_path_buf() };
        if empty {
            writer.write_row(header())?;
        }
        Ok(writer)
    }

    /// Appends a step.
    ///
    /// # Errors
    /// If the system refuses, for example because the disk is full.
    pub fn append(&mut self, step: &StepRecord) -> Result<(), FormatError> {
        let number = |value: Option<f32>| value.map(|value| value.to_string()).unwrap_or_default();
        let before = [step.step.to_string(), step.epoch.to_string(), step.block.to_string(), step.start_ns.to_string()];
        let phases = step.phases_ns.iter().map(ToString::to_string);
        let after = [
            number(step.loss),
            number(step.accuracy),
            step.samples.to_string(),
            number(step.loss_scale),
            step.flags.to_text(),
        ];
        let times = std::iter::once(step.dur_ns.to_string()).chain(phases);
        self.write_row(before.into_iter().chain(times).chain(after))
    }

    fn write_row(&mut self, cells: impl Iterator<Item = String>) -> Result<(), FormatError> {
        let row = std::mem::replace(&mut self.row, row_writer());
        let bytes = (|| {
            let mut row = row;
            row.write_record(cells)?;
            row.into_inner().map_err(|error| csv::Error::from(error.into_error()))
        })();
        let written = bytes.map_err(std::io::Error::other).and_then(|bytes| self.file.write_all(&bytes));
        written.map_err(FormatError::io("write a step", &self.path))
    }
}

/// Reads rows as they arrive.
#[derive(Debug, Default)]
pub(super) struct StepReader {
    /// For each column of the file, which one it is; `None` before the header was read.
    columns: Option<Vec<Column>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Step,
    Epoch,
    Block,
    Start,
    Dur,
    Phase(Phase),
    Loss,
    Accuracy,
    Samples,
    LossScale,
    Flags,
    Unknown,
}

impl Column {
    fn of(name: &str) -> Self {
        match name {
            "step" => Self::Step,
            "epoch" => Self::Epoch,
            "block" => Self::Block,
            "start_ns" => Self::Start,
            "dur_ns" => Self::Dur,
            "loss" => Self::Loss,
            "accuracy" => Self::Accuracy,
            "samples" => Self::Samples,
            "loss_scale" => Self::LossScale,
            "flags" => Self::Flags,
            _ => name.strip_suffix("_ns").and_then(Phase::from_id).map_or(Self::Unknown, Self::Phase),
        }
    }
}

impl StepReader {
    /// Takes whole lines; `offset` is where they stand in the file.
    pub fn feed(&mut self, lines: &[u8], offset: u64, steps: &mut Vec<StepRecord>, report: &mut ImportReport) {
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(lines);
        let mut record = ByteRecord::new();
        loop {
            let at = offset + reader.position().byte();
            match reader.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    report.note("rows of steps.csv that are no CSV, left out", Some(at));
                    continue;
                }
            }
            let Some(columns) = &self.columns else {
                self.read_header(&record, at, report);
                continue;
            };
            match parse(columns, &record) {
                Some(step) => steps.push(step),
                None => report.note("rows of steps.csv that are cut or wrong, left out", Some(at)),
            }
        }
    }

    fn read_header(&mut self, record: &ByteRecord, at: u64, report: &mut ImportReport) {
        let columns: Vec<Column> =
            record.iter().map(|name| std::str::from_utf8(name).map_or(Column::Unknown, Column::of)).collect();
        let unknown = columns.iter().filter(|column| **column == Column::Unknown).count();
        report.note_many("columns of steps.csv that are not known, left out", unknown as u64, Some(at));
        self.columns = Some(columns);
    }
}

/// A row; `None` if it has too few or too many cells, or a cell that is no number.
fn parse(columns: &[Column], record: &ByteRecord) -> Option<StepRecord> {
    if record.len() != columns.len() {
        return None;
    }
    let mut step = StepRecord::default();
    for (column, cell) in columns.iter().zip(record) {
        let cell = std::str::from_utf8(cell).ok()?;
        match column {
            Column::Step => step.step = cell.parse().ok()?,
            Column::Epoch => step.epoch = cell.parse().ok()?,
            Column::Block => step.block = cell.parse().ok()?,
            Column::Start => step.start_ns = cell.parse().ok()?,
            Column::Dur => step.dur_ns = cell.parse().ok()?,
            Column::Phase(phase) => *step.phases_ns.get_mut(*phase as usize)? = cell.parse().ok()?,
            Column::Loss => step.loss = optional(cell)?,
            Column::Accuracy => step.accuracy = optional(cell)?,
            Column::Samples => step.samples = cell.parse().ok()?,
            Column::LossScale => step.loss_scale = optional(cell)?,
            Column::Flags => step.flags = StepFlags::from_text(cell)?,
            Column::Unknown => {}
        }
    }
    Some(step)
}

/// A number, or nothing for an empty cell; the outer `None` is a cell that is neither.
fn optional(cell: &str) -> Option<Option<f32>> {
    if cell.is_empty() { Some(None) } else { cell.parse().ok().map(Some) }
}
