//! The process's logger: warnings go into the run's event log, and what CubeCL says of compiling and tuning becomes
//! progress of the warm-up and spans of the trace.
//!
//! It reads messages of CubeCL 0.11: `[Compiling kernel] NAME`, `Tuning KEY`, and `Fastest result NAME-KEY. …`. What it
//! does not understand is an ordinary log line, never an error.

use super::Stamp;
use super::clock::raw_now;
use super::item::{Args, Lane, Record, Shape, Value};
use super::recorder::Recorder;
use crate::model::track::{arg, name};
use crate::model::{EventKind, EventLevel, LogEvent, category};
use log::{Level, LevelFilter, Log, Metadata};
use parking_lot::{Mutex, RwLock};
use thiserror::Error;

/// The process has a logger already; the run's event log will lack messages of libraries.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("this process has a logger already, so the run's log and warm-up counts will lack what libraries say")]
pub struct LoggerTaken;

/// Longest message that is kept, in characters: kernels' keys can run to pages.
const LONGEST: usize = 2_000;
/// Tunings that can be open at once; one with a single candidate ends without a word.
const OPEN_TUNINGS: usize = 32;

struct Router {
    target: RwLock<Option<Recorder>>,
    tunings: Mutex<Vec<(String, u64)>>,
}

static ROUTER: Router = Router { target: RwLock::new(None), tunings: Mutex::new(Vec::new()) };

/// Sends the process's log messages to this recorder, instead of to an earlier one.
pub fn route_log_to(recorder: &Recorder) -> Result<(), LoggerTaken> {
    let first = {
        let mut target = ROUTER.target.write();
        let first = target.is_none();
        *target = Some(recorder.clone());
        first
    };
    if first && log::set_logger(&ROUTER).is_err() && !is_ours() {
        return Err(LoggerTaken);
    }
    log::set_max_level(LevelFilter::Info);
    Ok(())
}

/// Whether the process's logger is ours.
fn is_ours() -> bool {
    let current: *const dyn Log = log::logger();
    std::ptr::addr_eq(current, &raw const ROUTER)
}

impl Log for Router {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= Level::Warn || (metadata.level() == Level::Info && metadata.target().starts_with("cubecl"))
    }

    fn log(&self, record: &log::Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let target = self.target.read().clone();
        if let Some(recorder) = target {
            let text: String = record.args().to_string().chars().take(LONGEST).collect();
            self.route(&recorder, record.level(), record.target(), &text);
        }
    }

    fn flush(&self) {}
}

/// What a message means.
#[derive(Debug, PartialEq)]
enum Meaning<'a> {
    Compiling(&'a str),
    Tuning(&'a str),
    /// The chosen kernel with its key: `NAME-KEY`.
    Tuned(&'a str),
    Other,
}

fn meaning<'a>(target: &str, text: &'a str) -> Meaning<'a> {
    if target.starts_with("cubecl::compilation") {
        return Meaning::Compiling(text.trim_start_matches("[Compiling kernel]").trim());
    }
    if let Some(key) = text.strip_prefix("Tuning ").filter(|_| target.starts_with("cubecl")) {
        return Meaning::Tuning(key.trim());
    }
    match text.strip_prefix("Fastest result ") {
        Some(rest) if target.starts_with("cubecl::autotune") => {
            Meaning::Tuned(rest.split(". Top ").next().unwrap_or(rest))
        }
        _ => Meaning::Other,
    }
}

impl Router {
    fn route(&self, recorder: &Recorder, level: Level, target: &str, text: &str) {
        let Some(inner) = &recorder.inner else { return };
        let now = raw_now();
        let kind = match meaning(target, text) {
            Meaning::Compiling(kernel) => {
                inner.warm_up.compiled(kernel);
                recorder.record(|| mark(category::COMPILE, kernel, Shape::Instant(Stamp::Raw(now)), Args::new()));
                EventKind::Compile
            }
            Meaning::Tuning(key) => {
                inner.warm_up.tuning(key);
                let mut tunings = self.tunings.lock();
                if tunings.len() == OPEN_TUNINGS {
                    tunings.remove(0);
                }
                tunings.push((key.to_owned(), now));
                EventKind::Autotune
            }
            Meaning::Tuned(choice) => {
                inner.warm_up.tuned(choice);
                self.end_tuning(recorder, choice, now);
                EventKind::Autotune
            }
            Meaning::Other => EventKind::Log,
        };
        let level = match level {
            Level::Error => EventLevel::Error,
            Level::Warn => EventLevel::Warning,
            _ => EventLevel::Info,
        };
        recorder.event(LogEvent {
            t_ns: recorder.clock().raw_ns(now),
            level,
            kind,
            source: target.to_owned(),
            text: text.to_owned(),
        });
    }

    fn end_tuning(&self, recorder: &Recorder, choice: &str, now: u64) {
        let mut tunings = self.tunings.lock();
        // The last one first: tunings nest.
        let Some(index) = tunings.iter().rposition(|(key, _)| choice.ends_with(key.as_str())) else { return };
        let (key, start) = tunings.remove(index);
        let kernel = choice.strip_suffix(key.as_str()).unwrap_or(choice).trim_end_matches('-');
        let args = vec![(arg::KERNELS, Value::Text(kernel.to_owned()))];
        let shape = Shape::Span { start: Stamp::Raw(start), end: Stamp::Raw(now) };
        recorder.record(|| mark(category::AUTOTUNE, &key, shape, args));
    }
}

fn mark(category: &'static str, what: &str, shape: Shape, args: Args) -> Record {
    Record { lane: Lane::Named(name::COMPILE.into()), category, name: what.to_owned().into(), shape, args }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::testing::recorder;
    use super::*;
    use crate::model::TraceLevel;

    #[test]
    fn messages_of_cubecl_are_understood() {
        let compiling = meaning("cubecl::compilation", "[Compiling kernel] a::b::Kernel");
        assert_eq!(compiling, Meaning::Compiling("a::b::Kernel"));
        assert_eq!(meaning("cubecl_runtime::tune::tuner", "Tuning conv 3x3"), Meaning::Tuning("conv 3x3"));
        assert_eq!(meaning("my_program", "Tuning the piano"), Meaning::Other);
        let tuned = meaning("cubecl::autotune", "Fastest result direct-conv 3x3. Top 3 times: [(0, 1ms)]");
        assert_eq!(tuned, Meaning::Tuned("direct-conv 3x3"));
    }

    #[test]
    fn tunings_become_spans_and_progress() {
        let (recorder, seen) = recorder(TraceLevel::L1);
        let router = Router { target: RwLock::new(None), tunings: Mutex::default() };
        let tuner = "cubecl_runtime::tune::tuner";
        router.route(&recorder, Level::Info, tuner, "Tuning outer");
        router.route(&recorder, Level::Info, tuner, "Tuning only candidate");
        router.route(&recorder, Level::Info, tuner, "Tuning inner");
        router.route(&recorder, Level::Info, "cubecl::compilation", "[Compiling kernel] K");
        router.route(&recorder, Level::Info, "cubecl::autotune", "Fastest result fast-inner. Top 3 times: []");
        router.route(&recorder, Level::Info, "cubecl::autotune", "Fastest result good-outer. Top 3 times: []");
        router.route(&recorder, Level::Warn, "wgpu_core", "careful");
        let progress = recorder.warm_up();
        assert_eq!((progress.compiled, progress.tuned, progress.current.as_str()), (1, 2, "good-outer"));
        recorder.finish();
        let spans = seen.spans();
        let names: Vec<(&str, String)> = spans.iter().map(|s| (s.name.as_str(), s.arg(arg::KERNELS))).collect();
        assert_eq!(names, [("inner", "fast".to_owned()), ("outer", "good".to_owned())]);
        assert!(spans.iter().all(|s| s.category == category::AUTOTUNE && s.track == name::COMPILE));
        let events = seen.events();
        assert_eq!(events.len(), 7);
        assert_eq!((events[6].level, events[6].kind), (EventLevel::Warning, EventKind::Log));
    }
}
