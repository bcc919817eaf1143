//! The thread that trains: a large stack for deep graphs, and panics of Burn and the driver turned into errors.

use super::errors::TrainError;
use parking_lot::Mutex;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Deep autodiff graphs recurse; the default of 2 MiB is not enough for them.
const STACK_BYTES: usize = 64 << 20;
/// Name of the thread, as debuggers and panic messages show it.
const NAME: &str = "training";

/// Texts of the panics of any thread since the last [`guard`] began, first one first. A panic on a device thread reaches
/// the training thread only as "disconnected", so the first text is the one that explains.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Runs `work` on a thread fit for training and returns what it returns; a panic in it becomes an error.
pub fn on_training_thread<T: Send>(work: impl FnOnce() -> Result<T, TrainError> + Send) -> Result<T, TrainError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(NAME.to_owned()).stack_size(STACK_BYTES);
        let handle = thread
            .spawn_scoped(scope, || guard(work))
            .map_err(|e| TrainError::OutOfMemory(format!("no thread could be started: {e}")))?;
        // The guard caught every panic already; one past it can only come from dropping its result.
        handle.join().unwrap_or_else(|payload| Err(TrainError::classify(&text_of(&*payload), TrainError::Panic)))
    })
}

/// Runs `work` here; a panic in it, or the panic of a device thread behind it, becomes an error.
pub(super) fn guard<T>(work: impl FnOnce() -> Result<T, TrainError>) -> Result<T, TrainError> {
    remember_panics();
    PANICS.lock().clear();
    // What the closure borrowed is not used again after an error: the caller ends the run.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let own = text_of(&*payload);
        let first = PANICS.lock().first().cloned();
        let text = match first {
            Some(first) if first != own => format!("{first} ({own})"),
            _ => own,
        };
        Err(TrainError::classify(&text, TrainError::Panic))
    })
}

/// Adds to the process's panic hook that texts are kept.
fn remember_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.lock().push(text_of(info.payload()));
            before(info);
        }));
    });
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn results_pass_and_panics_become_errors() {
        assert_eq!(on_training_thread(|| Ok(7)), Ok(7));
        let error = on_training_thread::<()>(|| panic!("wgpu error: Out of Memory")).unwrap_err();
        assert!(matches!(error, TrainError::OutOfMemory(_)), "{error}");
    }

    #[test]
    fn the_stack_is_deep() {
        fn recurse(depth: usize) -> usize {
            let block = std::hint::black_box([depth as u8; 4096]);
            if depth == 0 { block[0] as usize } else { recurse(depth - 1) + usize::from(block[1] == 255) }
        }
        // 8 MiB of frames, four times the default stack.
        assert!(on_training_thread(|| Ok(recurse(2000))).is_ok());
    }
}
