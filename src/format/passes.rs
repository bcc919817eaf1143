//! Formats whose tables come after what needs them: a file is gone through several times, so that none of it is kept in
//! memory.

use super::window::Window;
use super::{FormatError, ImportReport};
use crate::trace::Trace;

/// Reads a file in several passes.
pub(super) trait Passes: Default {
    /// Most passes that there are.
    const MOST: usize;

    /// Goes through the file from its beginning; returns whether another pass is needed.
    ///
    /// # Errors
    /// If there is nothing in it that can be read.
    fn pass(&mut self, window: &mut Window<'_>) -> Result<bool, FormatError>;

    /// What was read.
    fn finish(self) -> (Trace, ImportReport);
}

/// Reads a file that is in memory.
pub(super) fn read<P: Passes>(bytes: &[u8]) -> Result<(Trace, ImportReport), FormatError> {
    let mut passes = P::default();
    while passes.pass(&mut Window::new(bytes))? {}
    Ok(passes.finish())
}
