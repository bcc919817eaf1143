//! The system's file dialog, asked on a thread: on Linux it may hang or be missing altogether, so nothing waits for it
//! and nothing depends on it.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A file to open.
    OpenFile,
    /// A folder to open.
    OpenFolder,
    /// A file to write, with this name at first.
    SaveAs(String),
}

/// How an asked dialog stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Still open, or the system does not show it.
    Waiting,
    /// The user chose.
    Chosen(PathBuf),
    /// Closed without a choice; a system without dialogs says the same.
    Nothing,
}

/// A dialog that was asked for.
#[derive(Debug)]
pub struct SystemDialog {
    answer: Receiver<Option<PathBuf>>,
}

impl SystemDialog {
    /// Asks the system. Must be called on the main thread, where macOS wants its dialogs made.
    pub fn open(ask: &Ask, ctx: &egui::Context) -> Self {
        let (send, answer) = channel();
        let dialog = rfd::AsyncFileDialog::new();
        let future: std::pin::Pin<Box<dyn Future<Output = Option<rfd::FileHandle>> + Send>> = match ask {
            Ask::OpenFile => Box::pin(dialog.pick_file()),
            Ask::OpenFolder => Box::pin(dialog.pick_folder()),
            Ask::SaveAs(name) => Box::pin(dialog.set_file_name(name).save_file()),
        };
        let ctx = ctx.clone();
        // Without a thread the answer is `Nothing`, and the path can be typed.
        std::thread::Builder::new()
            .name("file-dialog".to_owned())
            .spawn(move || {
                let chosen = pollster::block_on(future).map(|handle| handle.path().to_path_buf());
                // Nobody listens any more when our own dialog was closed meanwhile.
                send.send(chosen).ok();
                ctx.request_repaint();
            })
            .ok();
        Self { answer }
    }

    /// How it stands.
    pub fn poll(&self) -> Answer {
        match self.answer.try_recv() {
            Ok(Some(path)) => Answer::Chosen(path),
            Ok(None) | Err(TryRecvError::Disconnected) => Answer::Nothing,
            Err(TryRecvError::Empty) => Answer::Waiting,
        }
    }
}
