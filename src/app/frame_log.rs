//! How often the window draws, for measuring: with `BURNSCOPE_FRAME_LOG` set, a line a second on standard error. If it is
//! `all`, the window draws without a pause, whether anything changes or not.

use std::time::{Duration, Instant};

/// Pauses between frames from here on are the window at rest, which draws only when something changes.
const AT_REST: Duration = Duration::from_millis(250);

/// Frames of the second that is going on.
#[derive(Debug)]
pub struct FrameLog {
    last: Option<Instant>,
    gaps: Vec<Duration>,
    own: Vec<Duration>,
    /// Whether the window is to draw without a pause.
    pub all: bool,
}

impl FrameLog {
    /// A log, if the environment asks for one.
    pub fn from_env() -> Option<Self> {
        let wish = std::env::var_os("BURNSCOPE_FRAME_LOG")?;
        Some(Self { last: None, gaps: Vec::new(), own: Vec::new(), all: wish == "all" })
    }

    /// Counts a frame and the time that was spent on what is in it; tells of a second of frames when it is over.
    pub fn frame(&mut self, now: Instant, own: Duration) {
        let gap = self.last.replace(now).map(|last| now - last).filter(|gap| *gap < AT_REST);
        if let Some(gap) = gap {
            self.gaps.push(gap);
            self.own.push(own);
        }
        if let Some(line) = self.line() {
            eprintln!("{line}");
            self.gaps.clear();
            self.own.clear();
        }
    }

    fn line(&self) -> Option<String> {
        let drawn: Duration = self.gaps.iter().sum();
        if drawn < Duration::from_secs(1) {
            return None;
        }
        let rate = self.gaps.len() as f64 / drawn.as_secs_f64();
        let (gap, own) = (median_and_p99(&self.gaps), median_and_p99(&self.own));
        Some(format!(
            "{rate:.0} frames a second; milliseconds at the median and the 99th percentile: from frame to frame {:.1} and \
             {:.1}, of which the window's content {:.1} and {:.1}",
            gap.0, gap.1, own.0, own.1
        ))
    }
}

/// Milliseconds.
fn median_and_p99(times: &[Duration]) -> (f64, f64) {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1) as f64;
    let at = |share: f64| sorted.get((last * share) as usize).map_or(0.0, Duration::as_secs_f64) * 1e3;
    (at(0.5), at(0.99))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_frames_makes_a_line_and_rest_does_not_count() {
        let mut log = FrameLog { last: None, gaps: Vec::new(), own: Vec::new(), all: false };
        let mut now = Instant::now();
        for i in 0..60 {
            now += Duration::from_millis(if i == 30 { 900 } else { 16 });
            log.frame(now, Duration::from_millis(3));
        }
        assert_eq!(log.gaps.len(), 58, "the first has no frame before it, and one came after a rest");
        assert_eq!(log.line(), None);
        log.gaps.push(Duration::from_millis(80));
        let line = log.line().unwrap_or_default();
        assert!(
            line.starts_with("59 frames a second")
                && line.contains("frame to frame 16.0 and")
                && line.contains("content 3.0 and 3.0"),
            "{line}"
        );
    }
}
