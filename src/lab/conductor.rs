//! Starts workers, listens to them and says how they ended. The window and the command line share it.
//!
//! A worker that dies without a last word is classified from its exit status and the tail of its error output, so that
//! every run ends with a reason.

use super::protocol::{PROTOCOL_VERSION, WorkerCommand, WorkerEvent, WorkerMode};
use crate::model::{RunEnd, RunSpec};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Lines of error output kept for the message of a failed worker.
const STDERR_LINES: usize = 40;
/// Silence after which a worker counts as hung. A worker says `alive` every few seconds, also while it compiles.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(180);

/// What can go wrong between the app and its worker.
#[derive(Debug, Error)]
pub enum ConductorError {
    /// The worker program could not be started.
    #[error("the worker could not be started ({}): {source}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The worker does not take commands any more.
    #[error("the worker takes no commands any more: {0}")]
    Send(std::io::Error),
    /// No path of our own program.
    #[error("the path of this program is unknown, so that no worker can be started: {0}")]
    NoProgram(std::io::Error),
}

/// How workers are started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program: this one, or a worker flavour built with other features.
    pub program: PathBuf,
    /// Silence after which a worker is killed.
    pub silence_limit: Duration,
}

impl Launch {
    /// This very program, or the one that `BURNSCOPE_WORKER` names.
    pub fn current() -> Result<Self, ConductorError> {
        let program = match std::env::var_os("BURNSCOPE_WORKER") {
            Some(program) => PathBuf::from(program),
            None => std::env::current_exe().map_err(ConductorError::NoProgram)?,
        };
        Ok(Self { program, silence_limit: SILENCE_LIMIT })
    }
}

/// Tells glibc's allocator to keep freed memory. Tensors of the CPU backend are large, so by default each is mapped and
/// unmapped by the system: thousands of page faults a step, whose number depends on what else the process allocates. Two
/// runs would then differ by more than any optimization (18 % of the reference CNN's step on two cores). Other systems'
/// allocators ignore these variables.
const KEEP_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_MMAP_THRESHOLD_", "1073741824"),
    ("MALLOC_TRIM_THRESHOLD_", "4294967296"),
    ("MALLOC_TOP_PAD_", "268435456"),
];

/// A running worker.
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    events: Receiver<WorkerEvent>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    last_heard: Instant,
    silence_limit: Duration,
    ended: bool,
    hung: bool,
}

impl Worker {
    /// Starts a worker and tells it what to do. `run_dir` exists and holds a `run.json`.
    pub fn spawn(launch: &Launch, spec: &RunSpec, run_dir: &Path, mode: WorkerMode) -> Result<Self, ConductorError> {
        let mut command = Command::new(&launch.program);
        command.arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The spec decides, not what the user's shell happens to hold.
        command.env_remove("BURN_FUSION_MAX_EXPLORATIONS").env_remove("CUBECL_AUTOTUNE_LEVEL");
        for (name, value) in KEEP_MEMORY {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        let mut child =
            command.spawn().map_err(|source| ConductorError::Spawn { program: launch.program.clone(), source })?;
        let (send, events) = crossbeam_channel::bounded(4096);
        if let Some(stdout) = child.stdout.take() {
            spawn_named("worker-stdout", move || read_events(stdout, &send));
        }
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(output) = child.stderr.take() {
            let tail = Arc::clone(&stderr);
            spawn_named("worker-stderr", move || keep_tail(output, &tail));
        }
        let mut worker = Self {
            stdin: child.stdin.take(),
            child,
            events,
            stderr,
            last_heard: Instant::now(),
            silence_limit: launch.silence_limit,
            ended: false,
            hung: false,
        };
        let start = WorkerCommand::Start {
            version: PROTOCOL_VERSION,
            spec: Box::new(spec.clone()),
            run_dir: run_dir.to_path_buf(),
            mode,
        };
        // A worker that died at once is reported by its end, which says more than a broken pipe.
        worker.send(&start).ok();
        Ok(worker)
    }

    /// Process number of the worker.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one command.
    pub fn send(&mut self, command: &WorkerCommand) -> Result<(), ConductorError> {
        let Some(stdin) = self.stdin.as_mut() else {
            return Err(ConductorError::Send(std::io::ErrorKind::BrokenPipe.into()));
        };
        let mut line = serde_json::to_vec(command).map_err(|e| ConductorError::Send(e.into()))?;
        line.push(b'\n');
        stdin.write_all(&line).and_then(|()| stdin.flush()).map_err(ConductorError::Send)
    }

    /// The next event if there is one within `timeout`. After [`WorkerEvent::Ended`] there is none.
    pub fn next(&mut self, timeout: Duration) -> Option<WorkerEvent> {
        if self.ended {
            return None;
        }
        match self.events.recv_timeout(timeout) {
            Ok(event) => {
                self.last_heard = Instant::now();
                if let WorkerEvent::Ended { .. } = event {
                    self.ended = true;
                    self.stdin = None;
                    self.child.wait().ok();
                }
                Some(event)
            }
            Err(RecvTimeoutError::Timeout) => {
                if self.last_heard.elapsed() > self.silence_limit {
                    self.hung = true;
                    self.child.kill().ok();
                    // The end comes through the closed pipe at the next call.
                    self.last_heard = Instant::now();
                }
                None
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.ended = true;
                Some(WorkerEvent::Ended { end: self.unexpected_end(), summary: None })
            }
        }
    }

    /// Whether the last event was given out.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Kills the worker; its end follows as an event.
    pub fn kill(&mut self) {
        self.child.kill().ok();
    }

    fn unexpected_end(&mut self) -> RunEnd {
        self.stdin = None;
        let status = self.child.wait();
        if self.hung {
            return RunEnd::Hung { silent_secs: self.silence_limit.as_secs() };
        }
        // The error output is read on its own thread; give its last lines a moment to arrive.
        std::thread::sleep(Duration::from_millis(50));
        let tail: Vec<String> = self.stderr.lock().iter().cloned().collect();
        match status {
            Ok(status) => classify(status, &tail),
            Err(error) => {
                RunEnd::Failed { message: format!("the worker's end is unknown: {error}"), hint: String::new() }
            }
        }
    }
}

impl Drop for Worker {
    /// A worker never outlives its handle: closing its input asks it to stop, and a second later it is killed.
    fn drop(&mut self) {
        self.stdin = None;
        if self.ended {
            return;
        }
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// How a worker ended that did not say so itself.
fn classify(status: ExitStatus, stderr: &[String]) -> RunEnd {
    let text = stderr.join("\n");
    let lower = text.to_lowercase();
    if lower.contains("out of memory") || lower.contains("memory allocation of") {
        return RunEnd::OutOfMemory { message: last_words(stderr) };
    }
    if lower.contains("device lost") || lower.contains("devicelost") {
        return RunEnd::DeviceLost { message: last_words(stderr) };
    }
    if let Some(how) = signal_text(status) {
        return RunEnd::Killed { how };
    }
    let message = match status.code() {
        Some(code) if stderr.is_empty() => format!("the worker ended with code {code} and said nothing"),
        Some(code) => format!("the worker ended with code {code}: {}", last_words(stderr)),
        None => format!("the worker ended: {}", last_words(stderr)),
    };
    RunEnd::Failed { message, hint: "See the Log panel for its messages".to_owned() }
}

#[cfg(unix)]
fn signal_text(status: ExitStatus) -> Option<String> {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = status.signal()?;
    Some(match signal {
        9 => "killed by signal 9 (SIGKILL), by hand or by the system when memory ran out".to_owned(),
        11 => "crashed with signal 11 (SIGSEGV), most often inside the graphics driver".to_owned(),
        6 => "aborted with signal 6 (SIGABRT)".to_owned(),
        15 => "terminated by signal 15 (SIGTERM)".to_owned(),
        other => format!("ended by signal {other}"),
    })
}

#[cfg(not(unix))]
fn signal_text(_status: ExitStatus) -> Option<String> {
    None
}

/// The last lines of error output that say something, joined.
fn last_words(stderr: &[String]) -> String {
    let lines: Vec<&str> = stderr.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

fn spawn_named(name: &str, work: impl FnOnce() + Send + 'static) {
    // Without a thread the pipe stays unread; the silence limit then ends the worker with a reason.
    std::thread::Builder::new().name(name.to_owned()).spawn(work).ok();
}

/// Calls `take` with each line until the pipe closes or `take` says no. Lines need not be UTF-8.
fn each_line(pipe: impl std::io::Read, mut take: impl FnMut(&str) -> bool) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
        if !take(String::from_utf8_lossy(&line).trim_end()) {
            return;
        }
        line.clear();
    }
}

/// Turns lines into events. A line that is none (a library printing to stdout) becomes a log event.
fn read_events(stdout: impl std::io::Read, send: &Sender<WorkerEvent>) {
    each_line(stdout, |line| {
        let text = line.trim_start();
        if text.is_empty() {
            return true;
        }
        let event = serde_json::from_str(text)
            .unwrap_or_else(|_| WorkerEvent::Log { level: "info".to_owned(), text: text.to_owned() });
        send.send(event).is_ok()
    });
}

fn keep_tail(output: impl std::io::Read, tail: &Mutex<VecDeque<String>>) {
    each_line(output, |line| {
        let mut tail = tail.lock();
        if tail.len() == STDERR_LINES {
            tail.pop_front();
        }
        tail.push_back(line.to_owned());
        true
    });
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// A shell script in a worker's place.
    fn worker(dir: &Path, script: &str, silence: Duration) -> Worker {
        let program = dir.join("worker.sh");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let launch = Launch { program, silence_limit: silence };
        Worker::spawn(&launch, &RunSpec::default(), dir, WorkerMode::Train).unwrap()
    }

    fn end_of(script: &str) -> (Vec<WorkerEvent>, RunEnd) {
        let dir = tempfile::tempdir().unwrap();
        let mut worker = worker(dir.path(), script, Duration::from_secs(30));
        let mut before = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            match worker.next(Duration::from_millis(100)) {
                Some(WorkerEvent::Ended { end, .. }) => return (before, end),
                Some(event) => before.push(event),
                None => {}
            }
        }
        panic!("no end within 20 s");
    }

    #[test]
    fn the_worker_gets_its_spec_and_its_words_arrive() {
        let (events, end) = end_of(
            r#"read line; case "$line" in *'"cmd":"start"'*) echo '{"event":"alive"}';; esac
echo not json
echo '{"event":"ended","end":{"state":"finished"},"summary":null}'"#,
        );
        assert_eq!(events[0], WorkerEvent::Alive);
        assert!(matches!(&events[1], WorkerEvent::Log { text, .. } if text == "not json"));
        assert_eq!(end, RunEnd::Finished);
    }

    #[test]
    fn deaths_are_told_apart() {
        assert!(matches!(end_of("kill -9 $$").1, RunEnd::Killed { how } if how.contains("signal 9")));
        assert!(matches!(end_of("kill -11 $$").1, RunEnd::Killed { how } if how.contains("driver")));
        assert!(matches!(
            end_of("echo 'memory allocation of 99 bytes failed' >&2; exit 134").1,
            RunEnd::OutOfMemory { message } if message.contains("99 bytes")
        ));
        assert!(matches!(end_of("echo 'wgpu: Device Lost' >&2; exit 101").1, RunEnd::DeviceLost { .. }));
        assert!(matches!(
            end_of("echo 'no such preset' >&2; exit 3").1,
            RunEnd::Failed { message, .. } if message.contains("code 3") && message.contains("no such preset")
        ));
    }

    #[test]
    fn a_silent_worker_is_ended_as_hung() {
        let dir = tempfile::tempdir().unwrap();
        let mut worker = worker(dir.path(), "exec sleep 60", Duration::from_millis(200));
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(WorkerEvent::Ended { end, .. }) = worker.next(Duration::from_millis(50)) {
                assert!(matches!(end, RunEnd::Hung { .. }), "{end:?}");
                return;
            }
        }
        panic!("the worker was not ended");
    }

    #[test]
    fn freed_memory_stays_with_the_worker() {
        let (events, _) = end_of("echo \"threshold $MALLOC_MMAP_THRESHOLD_\"");
        assert!(matches!(&events[0], WorkerEvent::Log { text, .. } if text == "threshold 1073741824"), "{events:?}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let launch = Launch { program: PathBuf::from("/nonexistent/worker"), silence_limit: SILENCE_LIMIT };
        let error = Worker::spawn(&launch, &RunSpec::default(), Path::new("/"), WorkerMode::Train).err().unwrap();
        assert!(error.to_string().contains("/nonexistent/worker"));
    }
}
