//! Makes tracks of the samples.

use super::super::stacks::{Frame, Stacks, lasts, usual_gap};
use super::super::text::each_line;
use super::super::window::Window;
use super::super::{FormatError, ImportReport};
use super::lines::{Header, addressed, frame, header};
use crate::model::TrackKind;
use crate::trace::{ArgValue, ArgsId, NameId, Trace};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Reads a whole file.
///
/// # Errors
/// [`FormatError::Damaged`] if there is no sample in it.
pub fn read(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    read_from(&mut Window::new(bytes))
}

/// Reads a file piece by piece.
pub(in crate::format) fn read_from(window: &mut Window<'_>) -> Result<(Trace, ImportReport), FormatError> {
    let mut reader = Reader::default();
    let mut report = ImportReport::new("perf script");
    each_line(window, &mut report, |line, offset| reader.line(line, offset));
    reader.end_sample();
    if reader.samples == 0 {
        return Err(FormatError::Damaged {
            what: "No sample".to_owned(),
            offset: window.drain(),
            hint: "the text of `perf script` has lines such as `comm 12/34 5.678901: 1000 cycles:`",
        });
    }
    reader.draw();
    let Reader { mut trace, odd, instants, samples, .. } = reader;
    trace.settle();
    for note in odd.notes {
        report.note_many(&note.what, note.count, note.first_offset);
    }
    (report.instants, report.samples) = (instants, samples.saturating_sub(instants));
    report.spans = trace.span_count();
    report.close(&trace);
    Ok((trace, report))
}

/// One sample of a thread.
struct Sample {
    t_ns: i64,
    /// Where its frames are in the thread's list.
    frames: Range<usize>,
}

#[derive(Default)]
struct Thread {
    comm: String,
    tid: i64,
    pid: Option<i64>,
    cpu: Option<String>,
    samples: Vec<Sample>,
    /// Frames of all samples, innermost first.
    frames: Vec<Frame>,
    /// Samples without frames: time, event and arguments.
    moments: Vec<(i64, NameId, ArgsId)>,
    /// Sampling period, if it is a time.
    period_ns: Option<i64>,
    out_of_order: bool,
}

#[derive(Default)]
struct Reader {
    trace: Trace,
    /// Notes, beside the report, which counts what is no text meanwhile.
    odd: ImportReport,
    threads: Vec<Thread>,
    /// Threads by process and number. The idle thread, 0, is one for each CPU.
    by_id: FxHashMap<(Option<i64>, i64, String), usize>,
    /// The sample that is being read, with the event and the detail it has, and where its frames begin.
    current: Option<Current>,
    samples: u64,
    instants: u64,
    line: String,
}

struct Current {
    thread: usize,
    t_ns: i64,
    event: NameId,
    args: ArgsId,
    first_frame: usize,
}

impl Reader {
    fn line(&mut self, line: &str, offset: u64) {
        if line.trim().is_empty() {
            self.end_sample();
        } else if line.starts_with('#') {
            // What was recorded how; says nothing about time.
        } else if let Some(header) = header(line) {
            self.end_sample();
            self.begin_sample(&header, offset);
        } else if let Some((symbol, module)) = frame(line)
            && let Some(thread) = self.current.as_ref().and_then(|current| self.threads.get_mut(current.thread))
        {
            thread.frames.push(frame_of(&mut self.trace, &mut self.line, symbol, module));
        } else {
            self.odd.note("lines that are no sample and no frame, left out", Some(offset));
        }
    }

    fn begin_sample(&mut self, header: &Header<'_>, offset: u64) {
        let cpu = if header.tid == 0 { header.cpu } else { None };
        let key = (header.pid, header.tid, cpu.unwrap_or("").to_owned());
        let number = self.threads.len();
        let at = *self.by_id.entry(key).or_insert(number);
        if at == number {
            let cpu = cpu.map(str::to_owned);
            self.threads.push(Thread { tid: header.tid, pid: header.pid, cpu, ..Thread::default() });
        }
        let Some(thread) = self.threads.get_mut(at) else { return };
        // A thread that executes a program takes its name.
        if thread.comm != header.comm {
            thread.comm = header.comm.to_owned();
        }
        let clock = |event: &str| event.starts_with("cpu-clock") || event.starts_with("task-clock");
        if let Some(period) = header.period.filter(|&period| period > 0 && clock(header.event)) {
            thread.period_ns = Some(thread.period_ns.map_or(period, |known| known.min(period)));
        }
        if thread.samples.last().is_some_and(|last| last.t_ns > header.t_ns) {
            thread.out_of_order = true;
            self.odd.note("samples earlier than the one before, sorted in", Some(offset));
        }
        let first_frame = thread.frames.len();
        let mut args = ArgsId::NONE;
        match addressed(header.detail).filter(|(_, module)| !module.is_empty()) {
            Some((symbol, module)) => {
                thread.frames.push(frame_of(&mut self.trace, &mut self.line, symbol, module));
            }
            None if !header.detail.is_empty() => {
                let value = ArgValue::Text(self.trace.intern(header.detail));
                args = text_args(&mut self.trace, "detail", value);
            }
            None => {}
        }
        let event = self.trace.intern(if header.event.is_empty() { "sample" } else { header.event });
        self.current = Some(Current { thread: at, t_ns: header.t_ns, event, args, first_frame });
        self.samples += 1;
    }

    fn end_sample(&mut self) {
        let Some(current) = self.current.take() else { return };
        let Some(thread) = self.threads.get_mut(current.thread) else { return };
        let frames = current.first_frame..thread.frames.len();
        if frames.is_empty() {
            thread.moments.push((current.t_ns, current.event, current.args));
            self.instants += 1;
        } else {
            thread.samples.push(Sample { t_ns: current.t_ns, frames });
        }
    }

    /// Makes tracks of the threads.
    fn draw(&mut self) {
        let gaps: Vec<Option<i64>> = self
            .threads
            .iter_mut()
            .map(|thread| {
                if thread.out_of_order {
                    thread.samples.sort_by_key(|sample| sample.t_ns);
                }
                usual_gap(thread.samples.iter().map(|sample| sample.t_ns))
            })
            .collect();
        let mut known: Vec<i64> = gaps.iter().flatten().copied().collect();
        known.sort_unstable();
        let of_all = known.get(known.len() / 2).copied();
        for (number, (thread, gap)) in std::mem::take(&mut self.threads).into_iter().zip(gaps).enumerate() {
            let usual = [gap, of_all, thread.period_ns].into_iter().flatten().min();
            self.draw_thread(number as u64 + 1, &thread, usual);
        }
    }

    fn draw_thread(&mut self, uuid: u64, thread: &Thread, usual_ns: Option<i64>) {
        let mut name = format!("{} {}", thread.comm, thread.tid);
        if let Some(cpu) = &thread.cpu {
            name = format!("{name} on CPU {}", cpu.trim_start_matches('0').parse().unwrap_or(0u32));
        }
        let process = thread.pid.map(|pid| format!("Process {pid}")).unwrap_or_default();
        let track = self.trace.add_track(uuid, None, &name, &process, TrackKind::Thread);
        let mut stacks = Stacks::new(track);
        let mut stack: Vec<Frame> = Vec::new();
        let mut next = thread.samples.iter().skip(1);
        for sample in &thread.samples {
            let gap = next.next().map(|next| next.t_ns.saturating_sub(sample.t_ns));
            let (dur_ns, pause) = lasts(gap, usual_ns, 1).unwrap_or_else(|| {
                self.odd.note("samples alone in their thread, drawn without duration", None);
                (0, false)
            });
            if pause {
                self.odd.note("pauses of more than ten usual gaps between two samples of a thread, left free", None);
            }
            stack.clear();
            stack.extend(thread.frames.get(sample.frames.clone()).unwrap_or(&[]).iter().rev());
            stacks.put(&mut self.trace, sample.t_ns, sample.t_ns.saturating_add(dur_ns), &stack);
        }
        stacks.finish(&mut self.trace);
        for (t_ns, event, args) in &thread.moments {
            self.trace.instant(track, *t_ns, *event, NameId::EMPTY, *args);
        }
    }
}

/// The frame of a symbol. One that is not known is named by its module, as flame graph tools do.
fn frame_of(trace: &mut Trace, scratch: &mut String, symbol: &str, module: &str) -> Frame {
    let name = if symbol == "[unknown]" && !module.is_empty() && module != "[unknown]" {
        scratch.clear();
        let file = module.rsplit('/').next().unwrap_or(module).trim_matches(['[', ']']);
        scratch.extend(["[", file, "]"]);
        trace.intern(scratch)
    } else {
        trace.intern(symbol)
    };
    let args = match module {
        "" | "[unknown]" => ArgsId::NONE,
        module => {
            let value = ArgValue::Text(trace.intern(module));
            text_args(trace, "module", value)
        }
    };
    Frame { name, args }
}

/// A set of one argument.
fn text_args(trace: &mut Trace, key: &str, value: ArgValue) -> ArgsId {
    let key = trace.intern(key);
    trace.intern_args(&[(key, value)])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    /// Tracks with their lanes.
    fn tracks(trace: &Trace) -> Vec<String> {
        let span = |s: crate::trace::Span| format!("{} {}-{}", trace.name(s.name), s.start_ns, s.end_ns());
        let lane = |lane: &crate::trace::Lane| lane.iter().map(span).collect::<Vec<_>>().join(", ");
        let track = |track: &crate::trace::Track| {
            let lanes: Vec<String> = track.lanes().iter().map(lane).collect();
            format!("{}: {}", track.name, lanes.join(" / "))
        };
        trace.tracks().iter().map(|t| track(t)).collect()
    }

    fn notes(report: &ImportReport) -> Vec<(&str, u64, Option<u64>)> {
        report.notes.iter().map(|note| (note.what.as_str(), note.count, note.first_offset)).collect()
    }

    #[test]
    fn samples_become_spans() {
        let text = "\
# captured on: today
app 1/1 10.000000: 1000000 cpu-clock:
\t3 leaf+0x3 (/bin/app)
\t1 main+0x1 (/bin/app)

app 1/2 10.000500: 1000000 cpu-clock:
\t9 [unknown] (/lib/libc.so.6)

app 1/1 10.001000: 1000000 cpu-clock:
\t5 leaf+0x5 (/bin/app)
\t1 main+0x1 (/bin/app)

app 1/1 10.001900: 1000000 cpu-clock:
\t1 main+0x2 (/bin/app)
app 1/1 10.400000: 1000000 cpu-clock:
\t1 main+0x2 (/bin/app)

swapper 0/0 [001] 10.0000001: 1 cycles: ffff idle+0x1 ([kernel])
swapper 0/0 [010] 10.0000002: 1 cycles: ffff idle+0x1 ([kernel])
app 1/1 10.500000: sched:sched_switch: next=x
nonsense

app 1/1 10.399000: 1000000 cpu-clock:
\t1 main+0x2 (/bin/app)
";
        let (trace, report) = read(text.as_bytes()).unwrap();
        let s = 1_000_000_000i64;
        assert_eq!(
            tracks(&trace),
            [
                // The usual gap is the period, and 1 ms in both directions.
                format!(
                    "app 1: main {}-{}, main {}-{} / leaf {}-{}",
                    10 * s,
                    10 * s + 2_900_000,
                    10 * s + 399_000_000,
                    10 * s + 401_000_000,
                    10 * s,
                    10 * s + 1_900_000
                ),
                format!("app 2: [libc.so.6] {}-{}", 10 * s + 500_000, 10 * s + 1_500_000),
                format!("swapper 0 on CPU 1: idle {}-{}", 10 * s + 100, 10 * s + 1_000_100),
                format!("swapper 0 on CPU 10: idle {}-{}", 10 * s + 200, 10 * s + 1_000_200),
            ]
        );
        assert_eq!(trace.tracks()[0].process, "Process 1");
        let leaf = trace.tracks()[0].lane(1).unwrap().get(0).unwrap();
        assert_eq!(trace.arg_text(&leaf, "module"), Some("/bin/app"));
        let switch = trace.tracks()[0].instants().get(0).unwrap();
        assert_eq!(
            (trace.name(switch.name), trace.arg_text(&switch, "detail")),
            ("sched:sched_switch", Some("next=x"))
        );
        let at = |part: &str| text.find(part).map(|at| at as u64);
        assert_eq!((report.spans, report.instants), (6, 1));
        assert_eq!(
            notes(&report),
            [
                ("lines that are no sample and no frame, left out", 1, at("nonsense")),
                ("samples earlier than the one before, sorted in", 1, at("app 1/1 10.399")),
                ("pauses of more than ten usual gaps between two samples of a thread, left free", 1, None),
            ]
        );
    }

    #[test]
    fn a_sample_alone_has_no_duration() {
        let (trace, report) = read(b"x 7 1.000000: 5 cycles:\n\t1 main (/x)\n").unwrap();
        assert_eq!(tracks(&trace), ["x 7: main 1000000000-1000000000"]);
        assert_eq!(report.summary().unwrap(), "1 × samples alone in their thread, drawn without duration");
        assert!(read(b"# nothing\n").unwrap_err().to_string().contains("No sample"));
    }

    proptest! {
        #[test]
        fn every_sample_is_in_the_trace(
            samples in prop::collection::vec((1i64..3, 0i64..50_000, "[a-c]{1,4}"), 1..40),
        ) {
            let mut text = String::new();
            for (tid, t, stack) in &samples {
                text.push_str(&format!("x 1/{tid} 7.{t:09}: 1 cycles:\n"));
                for frame in stack.chars() { text.push_str(&format!("\t{t:x} {frame}+0x{t:x} (/x)\n")); }
                text.push('\n');
            }
            let (trace, _) = read(text.as_bytes()).unwrap();
            for (tid, t, stack) in &samples {
                let track = trace.tracks().iter().find(|track| track.name == format!("x {tid}")).unwrap();
                let t_ns = 7_000_000_000 + t;
                let there = track.spans().any(|(_, span)| {
                    trace.name(span.name) == &stack[stack.len() - 1..] && span.start_ns <= t_ns && span.end_ns() >= t_ns
                });
                prop_assert!(there);
            }
        }

        #[test]
        fn any_text_ends(text in "([ax0-9./:\\[\\]()+ \t\n#é-]|: |cycles: |/1 |1\\.000000: |\n\t1 a \\(x\\)\n){0,60}") {
            read(text.as_bytes()).ok();
            super::super::looks_like(text.as_bytes(), true);
        }
    }
}
