//! Threads for what is computed in the background.

use super::Session;
use rayon::ThreadPoolBuilder;

/// Does work that spreads over processors on threads of its own, `threads` of them or one for each processor if 0. On
/// the threads that lay out and draw frames, a frame would wait until all pieces of the work are done.
fn on_own_threads(name: &str, threads: usize, work: impl FnOnce() + Send) {
    let thread_name = name.to_owned();
    let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(move |_| thread_name.clone());
    match builder.build() {
        Ok(pool) => pool.install(work),
        // The system has no more threads to give: late frames are better than no figures.
        Err(_) => work(),
    }
}

impl Session {
    /// Computes something in the background, on all processors; on one while something is measured, because what is
    /// computed takes time from it.
    pub(crate) fn compute(&mut self, name: &'static str, work: impl FnOnce() + Send + 'static) {
        let threads = usize::from(self.busy());
        self.background(name, move || on_own_threads(&format!("session-{name}"), threads, work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_beside_the_threads_that_draw() {
        for threads in [1, 3] {
            let mut seen = None;
            on_own_threads("session-test", threads, || {
                let name = std::thread::current().name().map(str::to_owned);
                seen = Some((name, rayon::current_num_threads()));
            });
            assert_eq!(seen, Some((Some("session-test".to_owned()), threads)));
        }
    }
}
