//! How much of the machine others use while a block is measured, so that a disturbed block can be repeated.
//!
//! Pressure figures (PSI) also count the waiting of our own threads, so they cannot tell others from us. Instead: busy
//! time of all cores, less the time of this process and its workers.

use std::time::Instant;

/// Share of the machine that others may use before a block counts as disturbed.
pub const TAINT_SHARE: f64 = 0.10;

/// A reading of the machine's and our own processor time, in clock ticks.
#[derive(Debug, Clone, Copy)]
pub struct LoadProbe {
    busy: u64,
    total: u64,
    ours: u64,
    at: Instant,
}

impl LoadProbe {
    /// Reads the counters; `None` where the system has no `/proc`.
    pub fn now(pids: &[u32]) -> Option<Self> {
        let (busy, total) = parse_stat(&std::fs::read_to_string("/proc/stat").ok()?)?;
        let own = std::process::id();
        let ours = pids.iter().chain([&own]).filter_map(|pid| process_ticks(*pid)).sum();
        Some(Self { busy, total, ours, at: Instant::now() })
    }

    /// Share of the machine, 0 to 1, that other processes (and a hypervisor's steal) used since `earlier`; `None` when
    /// the interval is too short to say.
    pub fn others_since(&self, earlier: &Self) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total)?;
        // A tick is 10 ms: below 20 ticks the share is noise.
        if total < 20 || self.at <= earlier.at {
            return None;
        }
        let busy = self.busy.saturating_sub(earlier.busy);
        let ours = self.ours.saturating_sub(earlier.ours);
        Some(busy.saturating_sub(ours) as f64 / total as f64)
    }
}

/// Busy and total ticks of all cores from the first line of `/proc/stat`.
fn parse_stat(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest time is inside user.
    let total: u64 = fields.iter().take(8).sum();
    let idle = fields.get(3)? + fields.get(4)?;
    Some((total.checked_sub(idle)?, total))
}

/// User and system ticks of a process, its waited-for children not counted.
fn process_ticks(pid: u32) -> Option<u64> {
    parse_process(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_process(text: &str) -> Option<u64> {
    // The name is in parentheses and may hold anything, so fields count from the last parenthesis.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn counters_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_stat("cpu  100 0 50 800 50 0 0 10 0 0\ncpu0 1"), Some((160, 1010)));
        assert_eq!(parse_stat("nothing"), None);
        let line = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 250 50 0 0 20";
        assert_eq!(parse_process(line), Some(300));
    }

    #[test]
    fn the_share_of_others_leaves_us_out() {
        let at = Instant::now();
        let a = LoadProbe { busy: 0, total: 0, ours: 0, at };
        let b = LoadProbe { busy: 150, total: 200, ours: 100, at: at + std::time::Duration::from_secs(1) };
        assert_eq!(b.others_since(&a), Some(0.25));
        let short = LoadProbe { total: 5, ..b };
        assert_eq!(short.others_since(&a), None);
    }
}
