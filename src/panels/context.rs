//! What every panel gets: the session to read, the tokens to draw with, and a way to ask for something.

use crate::session::{Command, PanelId, Session};
use crate::ui::{Icon, Tokens, icons};
use std::cell::RefCell;
use std::rc::Rc;

/// Where panels put their commands; the window carries them out after the frame.
#[derive(Debug, Clone, Default)]
pub struct CommandSender {
    queue: Rc<RefCell<Vec<Command>>>,
}

impl CommandSender {
    /// Asks for something.
    pub fn send(&self, command: Command) {
        self.queue.borrow_mut().push(command);
    }

    /// Whether something was asked for since the last [`Self::take`].
    pub fn is_waiting(&self) -> bool {
        !self.queue.borrow().is_empty()
    }

    /// All commands since the last call, the oldest first.
    pub fn take(&self) -> Vec<Command> {
        std::mem::take(&mut self.queue.borrow_mut())
    }
}

/// What a panel may read and use.
#[derive(Clone, Copy)]
pub struct PanelContext<'a> {
    /// The app's state.
    pub session: &'a Session,
    /// Colours and sizes of the theme in use.
    pub tokens: &'a Tokens,
    /// Where commands go.
    pub sender: &'a CommandSender,
}

impl PanelContext<'_> {
    /// Asks for something; it happens after the frame.
    pub fn send(&self, command: Command) {
        self.sender.send(command);
    }
}

/// The icon of a panel.
pub fn icon(panel: PanelId) -> Icon {
    match panel {
        PanelId::Setup => icons::SLIDERS,
        PanelId::Runs => icons::LIST,
        PanelId::Overview => icons::GAUGE,
        PanelId::Timeline => icons::TIMELINE,
        PanelId::Flame => icons::FLAME,
        PanelId::Ops => icons::TABLE,
        PanelId::Kernels => icons::DEVICE,
        PanelId::Compare => icons::COLUMNS,
        PanelId::Diff => icons::COLUMNS,
        PanelId::Log => icons::LINES,
        PanelId::Import => icons::FOLDER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_out_once_and_in_order() {
        let sender = CommandSender::default();
        let other = sender.clone();
        sender.send(Command::Train);
        other.send(Command::Stop);
        assert_eq!(sender.take(), [Command::Train, Command::Stop]);
        assert!(other.take().is_empty());
    }
}
