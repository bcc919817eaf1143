//! Everything a user can ask for, as one enum with its catalogue: menus, shortcuts and the palette read the same list.
//!
//! Panels send commands; [`super::Session::apply`] is the one place that carries them out. The few that only concern
//! pixels (which panel is in front, zoom, focus) pass through the session to the window.

use super::place::Place;
use crate::trace::{Overlaps, SpanRef};
use std::path::PathBuf;

/// The panels of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum PanelId {
    /// What to train, and how.
    Setup,
    /// All runs on disk.
    Runs,
    /// Where the time of one run goes, at a glance.
    Overview,
    /// Spans over time.
    Timeline,
    /// Spans merged by their place in the call tree.
    Flame,
    /// Table of operations.
    Ops,
    /// Table of kernels.
    Kernels,
    /// Runs side by side.
    Compare,
    /// Two traces against each other.
    Diff,
    /// Messages.
    Log,
    /// What was read from a file, and what could not be.
    Import,
}

impl PanelId {
    /// All panels in menu order.
    pub const ALL: [Self; 11] = [
        Self::Setup,
        Self::Runs,
        Self::Overview,
        Self::Timeline,
        Self::Flame,
        Self::Ops,
        Self::Kernels,
        Self::Compare,
        Self::Diff,
        Self::Log,
        Self::Import,
    ];

    /// Title of the panel, which is also its name on the command line (in lower case).
    pub fn title(self) -> &'static str {
        match self {
            Self::Setup => "Setup",
            Self::Runs => "Runs",
            Self::Overview => "Overview",
            Self::Timeline => "Timeline",
            Self::Flame => "Flame",
            Self::Ops => "Ops",
            Self::Kernels => "Kernels",
            Self::Compare => "Compare",
            Self::Diff => "Diff",
            Self::Log => "Log",
            Self::Import => "Import",
        }
    }

    /// The panel of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|panel| panel.title().eq_ignore_ascii_case(name))
    }
}

/// Which colours the window uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// As the system is set.
    #[default]
    System,
    /// Light text on dark.
    Dark,
    /// Dark text on light.
    Light,
}

/// Something that can be written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportWhat {
    /// The comparison in view; the file's ending decides the kind.
    Comparison,
    /// The active run in a format of [`super::export::RunFormat`], chosen by the file's ending.
    Run,
}

/// A request of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Start a run with the draft spec.
    Train,
    /// Hold the running training after its step.
    Pause,
    /// Go on after a pause.
    Resume,
    /// End the training or the experiment after its step.
    Stop,
    /// Baseline, then each applicable toggle on top of the one before, in interleaved blocks.
    RunLadder,
    /// The draft against the draft with one toggle flipped, in interleaved blocks.
    RunAb {
        /// A toggle's identifier or a `key=value` assignment.
        flip: String,
    },
    /// Set one key of the draft spec.
    SetDraft {
        /// Dotted key.
        key: String,
        /// Value as on the command line.
        value: String,
    },
    /// Replace the draft spec by TOML text.
    SetDraftText(String),
    /// Set the title of the next run.
    SetDraftTitle(String),
    /// Turn an optimization on or off in the draft.
    SetToggle {
        /// Identifier of the toggle.
        id: String,
        /// On or off.
        on: bool,
    },
    /// Replace the draft by a preset.
    LoadPreset(String),
    /// Open a run folder or a trace file.
    OpenPath(PathBuf),
    /// Open a run of the library.
    OpenRun(String),
    /// Close an open run; it stays on disk.
    CloseRun(String),
    /// Show this open run in the panels.
    Activate(String),
    /// Move a run to the trash folder; can be undone.
    DeleteRun(String),
    /// Bring the last deleted run back.
    UndoDelete,
    /// Give a run another title.
    RenameRun {
        /// The run.
        id: String,
        /// Its new title.
        title: String,
    },
    /// Set a run's tags.
    TagRun {
        /// The run.
        id: String,
        /// All of its tags.
        tags: Vec<String>,
    },
    /// Compare against this run.
    SetBaseline(String),
    /// Add a run to the comparison, or take it out.
    ToggleCompared(String),
    /// Put two open runs or traces against each other.
    Diff {
        /// The baseline.
        a: Option<String>,
        /// What is compared with it.
        b: Option<String>,
    },
    /// Take spans of a name for the steps of the run in view; `None` = find them again.
    SetMarker(Option<String>),
    /// What is done with overlapping spans of the run in view.
    SetOverlaps(Overlaps),
    /// Write a file.
    Export {
        /// What to write.
        what: ExportWhat,
        /// Where; the ending decides the format.
        path: PathBuf,
    },
    /// Look for adapters again.
    RefreshDevices,
    /// Read the runs folder again.
    RefreshLibrary,
    /// Bring a panel to the front.
    ShowPanel(PanelId),
    /// Change colours.
    SetTheme(Theme),
    /// Select one span.
    Select(SpanRef),
    /// Select all spans of a name.
    SelectName(String),
    /// Select a stretch of time, in nanoseconds of the run's clock.
    SelectRange(i64, i64),
    /// Select nothing.
    ClearSelection,
    /// Go along an arrow of the selected span: forward to where it leads, or back to where one comes from.
    FollowArrow {
        /// Forward or back.
        forward: bool,
    },
    /// Go to the next span of the selected name.
    FindNext,
    /// Go to the previous span of the selected name.
    FindPrevious,
    /// Show the whole run in the timeline.
    ZoomFit,
    /// Show the selection in the timeline.
    ZoomSelection,
    /// Show a place of the trace in the timeline.
    GoTo(Place),
    /// Put the command line that opens what the timeline shows on the clipboard.
    CopyLink,
    /// Set a mark in the timeline where the pointer is, or take it away.
    ToggleMark,
    /// Show the next mark, from the last on to the first.
    NextMark,
    /// Put the cursor into the search field of the panel in front.
    FocusSearch,
    /// Open the command palette.
    OpenPalette,
    /// Ask for a file or folder to open.
    OpenFileDialog,
    /// Ask where to export.
    ExportDialog(ExportWhat),
    /// List all shortcuts.
    ShowShortcuts,
    /// Put all panels back to where they were at first.
    ResetLayout,
    /// Put text on the clipboard.
    CopyText(String),
    /// Close the window; a training in progress is stopped first.
    Quit,
}

/// A key with its modifiers. `key` is egui's name of the key, for example `P`, `F5`, `Comma`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shortcut {
    /// Ctrl, or Cmd on macOS.
    pub ctrl: bool,
    /// Shift.
    pub shift: bool,
    /// Alt.
    pub alt: bool,
    /// Name of the key.
    pub key: &'static str,
}

impl Shortcut {
    /// As a menu shows it: `Ctrl+Shift+P`.
    pub fn text(self) -> String {
        let mut text = String::new();
        for (held, name) in [(self.ctrl, "Ctrl+"), (self.shift, "Shift+"), (self.alt, "Alt+")] {
            if held {
                text.push_str(name);
            }
        }
        text.push_str(match self.key {
            "Comma" => ",",
            "Period" => ".",
            "Slash" => "/",
            "Num0" => "0",
            other => other,
        });
        text
    }
}

/// Menu groups, in menu order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Opening, exporting, leaving.
    File,
    /// Training and experiments.
    Train,
    /// Moving about.
    Navigate,
    /// Panels and colours.
    View,
    /// Finding out.
    Help,
}

impl Group {
    /// All groups in menu order.
    pub const ALL: [Self; 5] = [Self::File, Self::Train, Self::Navigate, Self::View, Self::Help];

    /// Title of the menu.
    pub fn title(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::Train => "Train",
            Self::Navigate => "Navigate",
            Self::View => "View",
            Self::Help => "Help",
        }
    }
}

/// A command that needs no further data, as menus, palette and shortcuts offer it.
#[derive(Debug, Clone)]
pub struct CommandInfo {
    /// What is sent.
    pub command: Command,
    /// Stable identifier.
    pub id: &'static str,
    /// Words for a menu entry.
    pub label: String,
    /// Where the menu has it.
    pub group: Group,
    /// The keys, if any.
    pub shortcut: Option<Shortcut>,
    /// One sentence of help.
    pub help: String,
}

const fn plain(key: &'static str) -> Option<Shortcut> {
    Some(Shortcut { ctrl: false, shift: false, alt: false, key })
}

const fn shift(key: &'static str) -> Option<Shortcut> {
    Some(Shortcut { ctrl: false, shift: true, alt: false, key })
}

const fn ctrl(key: &'static str) -> Option<Shortcut> {
    Some(Shortcut { ctrl: true, shift: false, alt: false, key })
}

const fn ctrl_shift(key: &'static str) -> Option<Shortcut> {
    Some(Shortcut { ctrl: true, shift: true, alt: false, key })
}

impl Command {
    /// All commands that need no further data.
    pub fn catalog() -> Vec<CommandInfo> {
        use Group::{File, Help, Navigate, Train, View};
        let mut list = Vec::new();
        let mut add = |command, id, label: &str, group, shortcut, help: &str| {
            list.push(CommandInfo { command, id, label: label.to_owned(), group, shortcut, help: help.to_owned() });
        };
        add(Self::OpenFileDialog, "open", "Open a run or trace…", File, ctrl("O"), "Open a run folder or a trace file");
        let (comparison, run) = (Self::ExportDialog(ExportWhat::Comparison), Self::ExportDialog(ExportWhat::Run));
        add(comparison, "export", "Export comparison…", File, ctrl("E"), "Write the comparison as a report");
        add(run, "export_run", "Export run…", File, ctrl_shift("E"), "Write the run in view in another format");
        add(Self::UndoDelete, "undo_delete", "Undo delete", File, ctrl("Z"), "Bring the last deleted run back");
        add(Self::RefreshLibrary, "refresh", "Refresh runs", File, plain("F5"), "Read the runs folder again");
        add(Self::Quit, "quit", "Quit", File, ctrl("Q"), "Close the window");
        add(Self::Train, "train", "Train", Train, ctrl("Enter"), "Start a run with the settings of the Setup panel");
        add(Self::Pause, "pause", "Pause", Train, ctrl("P"), "Hold the training after its step");
        add(Self::Resume, "resume", "Resume", Train, ctrl_shift("R"), "Go on after a pause");
        add(Self::Stop, "stop", "Stop", Train, ctrl("Period"), "End the training after its step");
        add(
            Self::RunLadder,
            "ladder",
            "Run the ladder",
            Train,
            ctrl("L"),
            "Baseline, then one optimization after the other",
        );
        add(Self::RefreshDevices, "devices", "Look for devices", Train, None, "List the graphics adapters again");
        add(Self::ZoomFit, "fit", "Show the whole run", Navigate, plain("Num0"), "Fit the timeline to the run");
        add(
            Self::ZoomSelection,
            "focus",
            "Zoom to selection",
            Navigate,
            plain("F"),
            "Fit the timeline to the selection",
        );
        add(
            Self::FindNext,
            "next",
            "Next of the same name",
            Navigate,
            plain("Period"),
            "Select the next span of this name",
        );
        add(
            Self::FindPrevious,
            "previous",
            "Previous of the same name",
            Navigate,
            plain("Comma"),
            "Select the previous span",
        );
        let (forward, back) = (Self::FollowArrow { forward: true }, Self::FollowArrow { forward: false });
        add(
            forward,
            "arrow",
            "Follow the arrow",
            Navigate,
            plain("CloseBracket"),
            "Go to what the selected span leads to",
        );
        add(back, "arrow_back", "Follow the arrow back", Navigate, plain("OpenBracket"), "Go to what led to the span");
        add(Self::ToggleMark, "mark", "Set or remove a mark", Navigate, plain("M"), "Mark the time under the pointer");
        add(Self::NextMark, "next_mark", "Next mark", Navigate, shift("M"), "Show the next mark in the timeline");
        add(
            Self::CopyLink,
            "link",
            "Copy a link to this place",
            Navigate,
            ctrl_shift("L"),
            "Copy the command that opens the timeline at this place",
        );
        add(Self::FocusSearch, "search", "Search", Navigate, plain("Slash"), "Search in the panel in front");
        add(Self::ClearSelection, "clear", "Clear selection", Navigate, plain("Escape"), "Select nothing");
        let keys = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];
        for (idx, panel) in PanelId::ALL.into_iter().enumerate() {
            let label = format!("Show {}", panel.title());
            let key = keys.get(idx).and_then(|key| ctrl(key));
            add(Self::ShowPanel(panel), panel.title(), &label, View, key, "Bring this panel to the front");
        }
        add(Self::SetTheme(Theme::Dark), "dark", "Dark theme", View, None, "Light text on dark");
        add(Self::SetTheme(Theme::Light), "light", "Light theme", View, None, "Dark text on light");
        add(Self::SetTheme(Theme::System), "system_theme", "Theme of the system", View, None, "Follow the system");
        add(
            Self::ResetLayout,
            "reset_layout",
            "Reset the layout",
            View,
            None,
            "Put all panels back to where they were",
        );
        add(Self::OpenPalette, "palette", "Command palette…", Help, ctrl_shift("P"), "Find a command by its name");
        add(Self::ShowShortcuts, "shortcuts", "Keyboard shortcuts", Help, plain("F1"), "List all shortcuts");
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn shortcuts_and_identifiers_are_unique() {
        let catalog = Command::catalog();
        let mut keys = HashSet::new();
        let mut ids = HashSet::new();
        for info in &catalog {
            assert!(ids.insert(info.id), "two commands are called {}", info.id);
            if let Some(shortcut) = info.shortcut {
                assert!(keys.insert(shortcut), "two commands use {}", shortcut.text());
            }
        }
    }

    #[test]
    fn panels_are_found_by_name_in_any_case() {
        assert_eq!(PanelId::from_name("timeline"), Some(PanelId::Timeline));
        assert_eq!(PanelId::from_name("Nowhere"), None);
    }
}
