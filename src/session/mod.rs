//! The app without pixels. Panels read the session and send [`Command`]s; [`Session::apply`] carries them out and
//! [`Session::poll`] takes in what background threads have finished. Neither ever waits.

pub mod ceilings;
pub mod command;
pub mod derived;
pub mod devices;
pub mod draft;
pub mod experiments;
pub mod export;
pub mod library;
pub mod open;
pub mod place;
pub mod settings;
pub mod state;
mod threads;
pub mod traces;
pub mod training;

pub use command::{Command, CommandInfo, ExportWhat, Group, PanelId, Shortcut, Theme};
pub use devices::{DeviceEntry, DevicesState};
pub use draft::Draft;
pub use place::Place;
pub use settings::Settings;
pub use state::{
    CompareState, ExperimentState, Job, Level, LogLine, Notice, OpenRun, RunEntry, Selection, TrainingState,
    WarmUpState,
};

pub use crate::lab::protocol::WorkerState;

use crate::lab::conductor::Launch;
use crate::model::Toggle;
use crossbeam_channel::{Receiver, Sender};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Messages of background threads that may wait to be taken in.
const INBOX: usize = 1024;
/// Lines of the log that are kept.
const LOG_MAX: usize = 5000;

/// What a background thread has to say.
pub(crate) enum Msg {
    Library(Result<Vec<RunEntry>, String>),
    Devices(Result<Vec<DeviceEntry>, String>),
    Opened(Box<open::Opened>),
    Live(Box<open::LiveUpdate>),
    Derived(Box<derived::Computed>),
    Compared(Box<open::Compared>),
    Differed(Box<traces::Differed>),
    Training(Box<training::Update>),
    Experiment(Box<experiments::Update>),
    JobDone { key: u64, notice: Notice },
}

/// A way for background threads to say something and wake the window.
#[derive(Clone)]
pub(crate) struct Outbox {
    send: Sender<Msg>,
    wake: Arc<parking_lot::RwLock<Arc<dyn Fn() + Send + Sync>>>,
}

impl Outbox {
    /// Hands a message over. It is dropped when the session is gone.
    pub(crate) fn send(&self, msg: Msg) {
        if self.send.send(msg).is_ok() {
            let wake = Arc::clone(&self.wake.read());
            wake();
        }
    }
}

/// The app without pixels.
pub struct Session {
    launch: Result<Launch, String>,
    settings: Settings,
    settings_path: Option<PathBuf>,
    library: Vec<RunEntry>,
    open: Vec<OpenRun>,
    active: Option<String>,
    selection: Selection,
    draft: Draft,
    devices: DevicesState,
    training: Option<TrainingState>,
    trainer: Option<training::Driver>,
    experiment: Option<ExperimentState>,
    experimenter: Option<experiments::Driver>,
    compare: CompareState,
    compare_generation: u64,
    trace_diff: traces::DiffState,
    diff_generation: u64,
    log: Vec<LogLine>,
    notices: Vec<Notice>,
    jobs: Vec<Job>,
    next_job: u64,
    deleted: Vec<library::Deleted>,
    view_commands: Vec<Command>,
    outbox: Outbox,
    inbox: Receiver<Msg>,
}

impl Session {
    /// A session on these settings. `settings_path` = where changes are kept; `None` = nowhere.
    pub fn new(settings: Settings, settings_path: Option<PathBuf>) -> Self {
        let (send, inbox) = crossbeam_channel::bounded(INBOX);
        let outbox = Outbox { send, wake: Arc::new(parking_lot::RwLock::new(Arc::new(|| {}))) };
        Self {
            launch: Launch::current().map_err(|e| e.to_string()),
            draft: Draft::from_text(&settings.draft),
            settings,
            settings_path,
            library: Vec::new(),
            open: Vec::new(),
            active: None,
            selection: Selection::default(),
            devices: DevicesState::Loading,
            training: None,
            trainer: None,
            experiment: None,
            experimenter: None,
            compare: CompareState::default(),
            trace_diff: traces::DiffState::default(),
            diff_generation: 0,
            compare_generation: 0,
            log: Vec::new(),
            notices: Vec::new(),
            jobs: Vec::new(),
            next_job: 1,
            deleted: Vec::new(),
            view_commands: Vec::new(),
            outbox,
            inbox,
        }
    }

    /// What background threads call when there is something to take in, for example a repaint request.
    pub fn set_waker(&mut self, wake: Arc<dyn Fn() + Send + Sync>) {
        *self.outbox.wake.write() = wake;
    }

    /// Reads the library and lists the devices, both in the background.
    pub fn start(&mut self) {
        self.refresh_library();
        self.refresh_devices();
    }

    // --- What panels read -------------------------------------------------------------------------------------------

    /// All runs on disk, the newest first.
    pub fn library(&self) -> &[RunEntry] {
        &self.library
    }

    /// Open runs, in the order of opening.
    pub fn open_runs(&self) -> &[OpenRun] {
        &self.open
    }

    /// The run that the panels show.
    pub fn active(&self) -> Option<&OpenRun> {
        let id = self.active.as_deref()?;
        self.open.iter().find(|run| run.id == id)
    }

    /// What is selected in the active run.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The spec being edited.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The training under way, or the last one of this session.
    pub fn training(&self) -> Option<&TrainingState> {
        self.training.as_ref()
    }

    /// The experiment under way, or the last one of this session.
    pub fn experiment(&self) -> Option<&ExperimentState> {
        self.experiment.as_ref()
    }

    /// Whether a training or an experiment is under way.
    pub fn busy(&self) -> bool {
        self.trainer.is_some() || self.experimenter.is_some()
    }

    /// The comparison in view.
    pub fn compare(&self) -> &CompareState {
        &self.compare
    }

    /// The devices to train on.
    pub fn devices(&self) -> &DevicesState {
        &self.devices
    }

    /// The log, the oldest line first.
    pub fn log(&self) -> &[LogLine] {
        &self.log
    }

    /// Background work in progress.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether a deletion can be undone.
    pub fn can_undo_delete(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Messages for toasts since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Commands that only the window can carry out, since the last call: panels, zoom, dialogs, clipboard, quit.
    pub fn take_view_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.view_commands)
    }

    // --- What changes it --------------------------------------------------------------------------------------------

    /// Carries out a command. Long work goes to background threads.
    pub fn apply(&mut self, command: Command) {
        match command {
            Command::Train => self.train(),
            Command::Pause => self.tell_trainer(training::Ask::Pause),
            Command::Resume => self.tell_trainer(training::Ask::Resume),
            Command::Stop => self.stop(),
            Command::RunLadder => self.run_ladder(),
            Command::RunAb { flip } => self.run_ab(&flip),
            Command::SetDraft { key, value } => {
                self.edit_draft(|draft| draft.set(&key, &value).map_err(|e| e.to_string()))
            }
            Command::SetDraftText(text) => self.edit_draft(|draft| {
                draft.set_text(&text);
                Ok(())
            }),
            Command::SetDraftTitle(title) => self.draft.title = title,
            Command::SetToggle { id, on } => self.edit_draft(|draft| match Toggle::find(&id) {
                Some(toggle) => draft.set_toggle(toggle, on).map_err(|e| e.to_string()),
                None => Err(format!("there is no optimization `{id}`")),
            }),
            Command::LoadPreset(name) => self.edit_draft(|draft| {
                draft.set_text(draft::preset(&name)?);
                let full = draft.spec.to_toml();
                draft.set_text(&full);
                Ok(())
            }),
            Command::OpenPath(path) => self.open_path(&path),
            Command::OpenRun(id) => self.open_run(&id),
            Command::CloseRun(id) => self.close_run(&id),
            Command::Activate(id) => self.activate(&id),
            Command::DeleteRun(id) => self.delete_run(&id),
            Command::UndoDelete => self.undo_delete(),
            Command::RenameRun { id, title } => self.edit_manifest(&id, |manifest| manifest.title.clone_from(&title)),
            Command::TagRun { id, tags } => self.edit_manifest(&id, |manifest| manifest.tags.clone_from(&tags)),
            Command::SetBaseline(id) => self.set_baseline(id),
            Command::ToggleCompared(id) => self.toggle_compared(id),
            Command::Export { what, path } => self.export(what, &path),
            Command::RefreshDevices => self.refresh_devices(),
            Command::RefreshLibrary => self.refresh_library(),
            Command::SetTheme(theme) => {
                self.settings.theme = theme;
                self.save_settings();
            }
            Command::Select(span) => self.select(span),
            Command::SelectName(name) => self.selection = Selection { name: Some(name), ..Selection::default() },
            Command::SelectRange(start, end) => {
                self.selection.range_ns = Some((start.min(end), start.max(end)));
            }
            Command::ClearSelection => self.selection = Selection::default(),
            Command::SetMarker(marker) => self.set_marker(marker),
            Command::SetOverlaps(policy) => self.set_overlaps(policy),
            Command::Diff { a, b } => self.set_diff(a, b),
            Command::FollowArrow { forward } => self.follow_arrow(forward),
            Command::FindNext => self.step_selection(true),
            Command::FindPrevious => self.step_selection(false),
            Command::Quit => {
                self.stop();
                self.view_commands.push(Command::Quit);
            }
            Command::GoTo(place) => {
                self.view_commands.push(Command::ShowPanel(PanelId::Timeline));
                self.view_commands.push(Command::GoTo(place));
            }
            view @ (Command::ShowPanel(_)
            | Command::CopyLink
            | Command::ToggleMark
            | Command::NextMark
            | Command::ZoomFit
            | Command::ZoomSelection
            | Command::FocusSearch
            | Command::OpenPalette
            | Command::OpenFileDialog
            | Command::ExportDialog(_)
            | Command::ShowShortcuts
            | Command::ResetLayout
            | Command::CopyText(_)) => self.view_commands.push(view),
        }
    }

    /// Takes in what background threads have finished, for at most `budget`. `true` = there is more.
    pub fn poll(&mut self, budget: Duration) -> bool {
        let until = Instant::now() + budget;
        while let Ok(msg) = self.inbox.try_recv() {
            self.take(msg);
            if Instant::now() >= until {
                return !self.inbox.is_empty();
            }
        }
        false
    }

    fn take(&mut self, msg: Msg) {
        match msg {
            Msg::Library(Ok(entries)) => self.library = entries,
            Msg::Library(Err(error)) => self.say(Level::Error, "app", &error),
            Msg::Devices(Ok(devices)) => self.devices = DevicesState::Ready(devices),
            Msg::Devices(Err(error)) => {
                self.say(Level::Warning, "app", &error);
                self.devices = DevicesState::Failed(error);
            }
            Msg::Opened(opened) => self.opened(*opened),
            Msg::Live(update) => self.live(*update),
            Msg::Derived(computed) => self.derived(*computed),
            Msg::Compared(compared) => self.compared(*compared),
            Msg::Differed(differed) => self.differed(*differed),
            Msg::Training(update) => self.training_update(*update),
            Msg::Experiment(update) => self.experiment_update(*update),
            Msg::JobDone { key, notice } => {
                self.jobs.retain(|job| job.key != key);
                self.log_line(notice.level, "app", &notice.text);
                self.notices.push(notice);
            }
        }
    }

    // --- Small helpers ----------------------------------------------------------------------------------------------

    /// A line in the log and a toast.
    pub(crate) fn say(&mut self, level: Level, source: &str, text: &str) {
        self.log_line(level, source, text);
        self.notices.push(Notice { level, text: text.to_owned(), action: None });
    }

    /// A line in the log.
    pub(crate) fn log_line(&mut self, level: Level, source: &str, text: &str) {
        if self.log.len() == LOG_MAX {
            self.log.drain(..LOG_MAX / 10);
        }
        let time = jiff::Timestamp::now().strftime("%H:%M:%S").to_string();
        self.log.push(LogLine { time, level, source: source.to_owned(), text: text.to_owned() });
    }

    /// Starts work on a named thread and lists it as a job until it is done.
    pub(crate) fn job(&mut self, title: &str, work: impl FnOnce() -> Result<String, String> + Send + 'static) {
        let key = self.next_job;
        self.next_job += 1;
        self.jobs.push(Job { key, title: title.to_owned(), progress: None, eta_secs: None });
        let outbox = self.outbox.clone();
        self.compute("job", move || {
            let notice = match work() {
                Ok(text) => Notice { level: Level::Info, text, action: None },
                Err(text) => Notice { level: Level::Error, text, action: None },
            };
            outbox.send(Msg::JobDone { key, notice });
        });
    }

    /// Runs work on a named thread.
    pub(crate) fn background(&mut self, name: &str, work: impl FnOnce() + Send + 'static) {
        if let Err(error) = std::thread::Builder::new().name(format!("session-{name}")).spawn(work) {
            self.say(Level::Error, "app", &format!("no thread for background work: {error}"));
        }
    }

    fn edit_draft(&mut self, edit: impl FnOnce(&mut Draft) -> Result<(), String>) {
        match edit(&mut self.draft) {
            Ok(()) => {
                self.settings.draft.clone_from(&self.draft.text);
                self.save_settings();
            }
            Err(error) => self.draft.error = Some(error),
        }
    }

    fn save_settings(&mut self) {
        if let Some(path) = self.settings_path.clone()
            && let Err(error) = self.settings.save(&path)
        {
            self.log_line(Level::Warning, "app", &format!("settings not saved: {error}: {}", path.display()));
        }
    }

    /// A warning from outside, in the log and as a toast.
    pub fn warn(&mut self, text: &str) {
        self.say(Level::Warning, "app", text);
    }

    /// Keeps the layout of the panels with the settings.
    pub fn save_layout(&mut self, layout: Option<String>) {
        if self.settings.layout != layout {
            self.settings.layout = layout;
            self.save_settings();
        }
    }

    /// Folder of the runs.
    pub fn runs_dir(&self) -> &Path {
        &self.settings.runs_dir
    }

    fn refresh_devices(&mut self) {
        match self.launch.clone() {
            Ok(launch) => {
                self.devices = DevicesState::Loading;
                let outbox = self.outbox.clone();
                self.background("devices", move || outbox.send(Msg::Devices(devices::ask(&launch))));
            }
            Err(error) => self.devices = DevicesState::Failed(error),
        }
    }

    fn launch(&mut self) -> Option<Launch> {
        match self.launch.clone() {
            Ok(launch) => Some(launch),
            Err(error) => {
                self.say(Level::Error, "app", &error);
                None
            }
        }
    }
}
