//! Follows a run that is being written. Opening a finished run is following it to its end, through the same code.

use super::super::perfetto::PerfettoReader;
use super::super::{FormatError, ImportReport};
use super::steps::StepReader;
use super::tail::{Lines, Tail};
use super::{EVENTS_FILE, STEPS_FILE, TRACE_FILE, events};
use crate::model::{LogEvent, StepRecord};
use crate::trace::Trace;
use std::path::Path;
use std::time::{Duration, Instant};

/// Reads the growing files of a run folder.
#[derive(Debug)]
pub struct Follower {
    trace_tail: Tail,
    packets: PerfettoReader,
    /// What stands in the trace that is no packet; nothing after it is read.
    damage: Option<(String, u64)>,
    steps_tail: Tail,
    steps_lines: Lines,
    steps: StepReader,
    events_tail: Tail,
    events_lines: Lines,
    notes: ImportReport,
}

impl Follower {
    /// Follows a run folder from its beginning. Files that are not there yet are looked for at each poll.
    pub fn new(dir: &Path) -> Self {
        Self {
            trace_tail: Tail::new(&dir.join(TRACE_FILE)),
            packets: PerfettoReader::new(),
            damage: None,
            steps_tail: Tail::new(&dir.join(STEPS_FILE)),
            steps_lines: Lines::default(),
            steps: StepReader::default(),
            events_tail: Tail::new(&dir.join(EVENTS_FILE)),
            events_lines: Lines::default(),
            notes: ImportReport::default(),
        }
    }

    /// Reads what was added since the last poll, for about `budget` at most. Returns whether there is more to read now.
    ///
    /// # Errors
    /// If a file cannot be read or has become shorter. Damaged content is no error; it is in [`Self::report`].
    pub fn poll(
        &mut self,
        trace: &mut Trace,
        steps: &mut Vec<StepRecord>,
        events: &mut Vec<LogEvent>,
        budget: Duration,
    ) -> Result<bool, FormatError> {
        let started = Instant::now();
        loop {
            // The small files first: they say what the large one shows.
            let mut read = self.read_steps(steps)?;
            read |= self.read_events(events)?;
            read |= self.read_trace(trace)?;
            if !read {
                return Ok(false);
            }
            if started.elapsed() >= budget {
                return Ok(true);
            }
        }
    }

    /// What was read so far and what was not taken as it stood.
    pub fn report(&self) -> ImportReport {
        let mut report = self.packets.report();
        for note in &self.notes.notes {
            report.note_many(&note.what, note.count, note.first_offset);
        }
        if let Some((what, offset)) = &self.damage {
            report.note(what, Some(*offset));
        }
        report
    }

    /// The report on a run that does not grow any more: with what is missing and what was cut.
    pub fn final_report(&self, trace: &Trace) -> ImportReport {
        let mut report = self.report();
        report.format = "Burnscope run".to_owned();
        for (tail, what) in [
            (&self.trace_tail, "file that is missing: trace.pftrace"),
            (&self.steps_tail, "file that is missing: steps.csv"),
            (&self.events_tail, "file that is missing: events.jsonl"),
        ] {
            report.note_many(what, u64::from(!tail.found()), None);
        }
        report.note_many("last row of steps.csv that is cut, left out", u64::from(self.steps_lines.torn() > 0), None);
        report.note_many(
            "last line of events.jsonl that is cut, left out",
            u64::from(self.events_lines.torn() > 0),
            None,
        );
        report.close(trace);
        report
    }

    fn read_trace(&mut self, trace: &mut Trace) -> Result<bool, FormatError> {
        if self.damage.is_some() {
            return Ok(false);
        }
        let (piece, _) = self.trace_tail.next_piece("read the trace")?;
        if piece.is_empty() {
            return Ok(false);
        }
        match self.packets.feed(piece, trace) {
            Ok(()) => {}
            Err(FormatError::Damaged { what, offset, .. }) => {
                let what = format!("{what} in trace.pftrace; all before it was read, nothing after it");
                self.damage = Some((what.to_lowercase(), offset));
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    fn read_steps(&mut self, steps: &mut Vec<StepRecord>) -> Result<bool, FormatError> {
        let (piece, offset) = self.steps_tail.next_piece("read the steps")?;
        if piece.is_empty() {
            return Ok(false);
        }
        let (lines, offset) = self.steps_lines.whole(piece, offset);
        self.steps.feed(&lines, offset, steps, &mut self.notes);
        Ok(true)
    }

    fn read_events(&mut self, out: &mut Vec<LogEvent>) -> Result<bool, FormatError> {
        let (piece, offset) = self.events_tail.next_piece("read the events")?;
        if piece.is_empty() {
            return Ok(false);
        }
        let (lines, offset) = self.events_lines.whole(piece, offset);
        events::read_lines(&lines, offset, out, &mut self.notes);
        Ok(true)
    }
}
