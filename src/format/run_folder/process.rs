//! Whether the process that writes a run is still there.

use crate::model::{RunEnd, RunManifest};
use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};

/// Time between the start of a run and that of its process, in seconds, beyond which the process must be another one
/// that got the same number.
const SAME_PROCESS_SECS: i64 = 600;

/// Turns `Running` into `Killed` if the process that runs it is gone: nobody was left to write how it ended.
pub fn settle_end(manifest: &mut RunManifest) {
    if manifest.end != RunEnd::Running {
        return;
    }
    match manifest.worker_pid {
        Some(pid) if !is_alive(pid, &manifest.started) => {
            manifest.end = RunEnd::Killed { how: format!("its process ({pid}) is gone and left no word") };
        }
        // A worker writes its number within seconds.
        None if seconds_since(&manifest.started).is_some_and(|age| age > SAME_PROCESS_SECS) => {
            manifest.end = RunEnd::Killed { how: "its process never began to work".to_owned() };
        }
        _ => {}
    }
}

/// Age of a moment, in seconds; `None` if it is no moment.
fn seconds_since(started: &str) -> Option<i64> {
    let started = started.parse::<jiff::Timestamp>().ok()?;
    Some(jiff::Timestamp::now().as_second() - started.as_second())
}

fn is_alive(pid: u32, started: &str) -> bool {
    let mut system = System::new();
    let pid = Pid::from_u32(pid);
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, ProcessRefreshKind::nothing());
    let Some(process) = system.process(pid) else { return false };
    if matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead) {
        return false;
    }
    match started.parse::<jiff::Timestamp>() {
        Ok(run) => process.start_time() as i64 - run.as_second() <= SAME_PROCESS_SECS,
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn running(pid: Option<u32>, started: &str) -> RunManifest {
        RunManifest { worker_pid: pid, started: started.to_owned(), ..RunManifest::default() }
    }

    fn end_of(mut manifest: RunManifest) -> RunEnd {
        settle_end(&mut manifest);
        manifest.end
    }

    #[test]
    fn a_run_ends_with_its_process() {
        let own = std::process::id();
        let now = jiff::Timestamp::now().to_string();
        assert_eq!(end_of(running(Some(own), &now)), RunEnd::Running);
        assert_eq!(end_of(running(None, &now)), RunEnd::Running);
        assert!(matches!(end_of(running(None, "2020-01-01T00:00:00Z")), RunEnd::Killed { .. }));
        assert_eq!(end_of(running(None, "no moment")), RunEnd::Running);
        assert!(matches!(end_of(running(Some(u32::MAX - 7), &now)), RunEnd::Killed { .. }));
        // The number is taken by a process that started long after the run.
        assert!(matches!(end_of(running(Some(own), "2020-01-01T00:00:00Z")), RunEnd::Killed { .. }));
        let finished = RunManifest { end: RunEnd::Finished, ..running(Some(u32::MAX - 7), &now) };
        assert_eq!(end_of(finished), RunEnd::Finished);
    }

    #[test]
    #[cfg(unix)]
    fn a_dead_child_that_nobody_has_fetched_is_dead() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let now = jiff::Timestamp::now().to_string();
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(matches!(end_of(running(Some(child.id()), &now)), RunEnd::Killed { .. }));
        child.wait().unwrap();
    }
}
