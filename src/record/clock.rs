//! The run's clock: the processor's time stamp counter, scaled to nanoseconds since the run's start.
//!
//! Reading it costs a third of what `Instant::now` costs. Where the processor has no constant counter, `quanta` reads the
//! system's monotonic clock instead. Knows nothing of spans.

use parking_lot::Mutex;
use quanta::Clock;
use std::sync::OnceLock;
use std::time::Instant;

/// The process's counter. The first use calibrates it against the system's clock, which takes up to 0.2 s.
fn counter() -> &'static Clock {
    static COUNTER: OnceLock<Clock> = OnceLock::new();
    COUNTER.get_or_init(Clock::new)
}

/// An unscaled reading of the process's counter.
#[inline]
pub fn raw_now() -> u64 {
    counter().raw()
}

/// Nanoseconds between two readings; 0 if the second is the earlier one.
#[inline]
pub fn raw_to_ns(from: u64, to: u64) -> i64 {
    i64::try_from(counter().delta_as_nanos(from, to)).unwrap_or(i64::MAX)
}

/// A moment, by whichever clock it was taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stamp {
    /// A reading of the process's counter, see [`raw_now`].
    Raw(u64),
    /// The standard library's clock.
    Host(Instant),
    /// Nanoseconds since the run's start.
    Ns(i64),
}

/// A moment on both clocks at once.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    host: Instant,
    ns: i64,
}

/// Nanoseconds since the start of a run.
#[derive(Debug)]
pub struct RunClock {
    start: u64,
    start_host: Instant,
    anchor: Mutex<Anchor>,
}

impl RunClock {
    /// A clock that reads 0 now.
    pub fn start() -> Self {
        // The counter is calibrated before the two readings, so that they lie close together.
        raw_now();
        let start_host = Instant::now();
        let start = raw_now();
        Self { start, start_host, anchor: Mutex::new(Anchor { host: start_host, ns: 0 }) }
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> i64 {
        self.raw_ns(raw_now())
    }

    /// A counter reading in nanoseconds since the start; negative for one before it.
    pub fn raw_ns(&self, raw: u64) -> i64 {
        if raw >= self.start { raw_to_ns(self.start, raw) } else { -raw_to_ns(raw, self.start) }
    }

    /// The start of the run on the standard library's clock.
    pub fn start_instant(&self) -> Instant {
        self.start_host
    }

    /// Any moment in nanoseconds since the start.
    pub fn ns(&self, stamp: Stamp) -> i64 {
        match stamp {
            Stamp::Raw(raw) => self.raw_ns(raw),
            Stamp::Ns(ns) => ns,
            Stamp::Host(instant) => {
                let anchor = *self.anchor.lock();
                anchor.ns.saturating_add(signed_ns(anchor.host, instant))
            }
        }
    }

    /// Pairs the two clocks anew. Called a few times a second: they drift apart by some parts in a million.
    pub fn reanchor(&self) {
        let host = Instant::now();
        let ns = self.now_ns();
        *self.anchor.lock() = Anchor { host, ns };
    }
}

/// Nanoseconds from one instant to another, negative if the other is earlier.
pub fn signed_ns(from: Instant, to: Instant) -> i64 {
    let clamp = |nanos: u128| i64::try_from(nanos).unwrap_or(i64::MAX);
    match to.checked_duration_since(from) {
        Some(later) => clamp(later.as_nanos()),
        None => -clamp(from.duration_since(to).as_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counter_and_host_clock_agree() {
        let clock = RunClock::start();
        std::thread::sleep(Duration::from_millis(50));
        let host = clock.ns(Stamp::Host(Instant::now()));
        let raw = clock.ns(Stamp::Raw(raw_now()));
        assert!((raw - host).abs() < 1_000_000, "raw {raw} ns, host {host} ns");
        clock.reanchor();
        let host = clock.ns(Stamp::Host(Instant::now()));
        let raw = clock.ns(Stamp::Raw(raw_now()));
        assert!((0..1_000_000).contains(&(raw - host)), "raw {raw} ns, host {host} ns after pairing anew");
    }

    #[test]
    fn moments_before_the_start_are_negative() {
        let earlier = (Instant::now(), raw_now());
        std::thread::sleep(Duration::from_millis(2));
        let clock = RunClock::start();
        assert!(clock.ns(Stamp::Host(earlier.0)) < -1_000_000);
        assert!(clock.ns(Stamp::Raw(earlier.1)) < -1_000_000);
    }
}
