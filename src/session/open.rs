//! Runs and traces that are open: loading on threads, following live runs, selecting, comparing.

use super::derived::Derived;
use super::state::{Level, OpenRun, Selection};
use super::{Msg, Session};
use crate::analysis::compare::Comparison;
use crate::format;
use crate::format::Watch;
use crate::format::run_folder::{Follower, RunFolder};
use crate::model::{LogEvent, RunEnd, RunManifest, StepRecord};
use crate::trace::{Overlaps, SpanRef, Trace};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often a live run's files are looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);
/// Longest reading of a live run's files before what was read is shown.
const FOLLOW_BUDGET: Duration = Duration::from_millis(150);

/// A run or trace that was read.
pub(crate) struct Opened {
    id: String,
    result: Result<OpenRun, String>,
}

/// What a live run has grown to.
pub(crate) struct LiveUpdate {
    id: String,
    trace: Trace,
    steps: Arc<Vec<StepRecord>>,
    events: Arc<Vec<LogEvent>>,
    manifest: Option<RunManifest>,
    ended: bool,
    trouble: Option<String>,
}

/// A comparison that was computed.
pub(crate) struct Compared {
    generation: u64,
    result: Result<Comparison, String>,
}

/// Reads a run folder or a trace file whole.
pub fn load(path: &Path) -> Result<OpenRun, String> {
    load_watched(path, &Watch::default())
}

/// The same, where somebody looks on and may cancel it.
pub fn load_watched(path: &Path, watch: &Watch) -> Result<OpenRun, String> {
    let id = id_of(path);
    if path.is_dir() {
        let run = format::run_folder::load(path).map_err(|e| e.to_string())?;
        return Ok(OpenRun {
            id,
            path: path.to_path_buf(),
            live: run.manifest.end == RunEnd::Running,
            manifest: Arc::new(run.manifest),
            steps: Arc::new(run.steps),
            trace: run.trace,
            events: Arc::new(run.events),
            report: Arc::new(run.report),
            loading: false,
            watch: Watch::default(),
            marker: None,
            overlaps: Overlaps::Keep,
            as_read: None,
            derived: Derived::default(),
        });
    }
    let (trace, report) = format::open_watched(path, watch).map_err(|e| e.to_string())?;
    let title = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let manifest = RunManifest { id: id.clone(), title, end: RunEnd::Finished, ..RunManifest::default() };
    Ok(OpenRun {
        id,
        path: path.to_path_buf(),
        manifest: Arc::new(manifest),
        steps: Arc::default(),
        trace,
        events: Arc::default(),
        report: Arc::new(report),
        live: false,
        loading: false,
        watch: Watch::default(),
        marker: None,
        overlaps: Overlaps::Keep,
        as_read: None,
        derived: Derived::default(),
    })
}

/// Folder name of a run, path of a trace file.
fn id_of(path: &Path) -> String {
    if path.is_dir() {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    } else {
        path.to_string_lossy().into_owned()
    }
}

fn placeholder(id: &str, path: &Path, live: bool) -> OpenRun {
    let manifest = RunManifest { id: id.to_owned(), title: id.to_owned(), ..RunManifest::default() };
    OpenRun {
        id: id.to_owned(),
        path: path.to_path_buf(),
        manifest: Arc::new(manifest),
        steps: Arc::default(),
        trace: Trace::default(),
        events: Arc::default(),
        report: Arc::default(),
        live,
        loading: true,
        watch: Watch::default(),
        marker: None,
        overlaps: Overlaps::Keep,
        as_read: None,
        derived: Derived::default(),
    }
}

impl Session {
    /// Opens a run folder or a trace file, and makes it the active one.
    pub(super) fn open_path(&mut self, path: &Path) {
        if !path.exists() {
            self.say(Level::Error, "app", &format!("There is no such file or folder: {}", path.display()));
            return;
        }
        let mut id = id_of(path);
        let same = |run: &OpenRun| run.path.canonicalize().ok() == path.canonicalize().ok();
        if self.open.iter().any(|run| run.id == id && !same(run)) {
            // A folder of the same name elsewhere: told apart by its whole path.
            id = path.to_string_lossy().into_owned();
        }
        self.settings.remember(path);
        self.save_settings();
        self.selection = Selection::default();
        self.active = Some(id.clone());
        if self.open.iter().any(|run| run.id == id) {
            return;
        }
        let opening = placeholder(&id, path, false);
        let watch = opening.watch.clone();
        self.open.push(opening);
        let path = path.to_path_buf();
        let outbox = self.outbox.clone();
        self.background("open", move || {
            let result = load_watched(&path, &watch).map(|run| OpenRun { id: id.clone(), ..run });
            if watch.cancelled() {
                return;
            }
            outbox.send(Msg::Opened(Box::new(Opened { id, result })));
        });
    }

    /// Opens a run of the library.
    pub(super) fn open_run(&mut self, id: &str) {
        match self.run_path(id) {
            Some(path) => self.open_path(&path),
            None => self.say(Level::Error, "app", &format!("There is no run {id}")),
        }
    }

    pub(super) fn opened(&mut self, opened: Opened) {
        match opened.result {
            Ok(run) => {
                if let Some(warning) = run.report.summary() {
                    self.log_line(Level::Warning, &run.id, &warning);
                }
                let (live, path) = (run.live, run.path.clone());
                if let Some(slot) = self.open.iter_mut().find(|slot| slot.id == opened.id) {
                    *slot = run;
                    self.derive(&opened.id);
                    if live {
                        self.follow(&opened.id, &path);
                    }
                }
            }
            Err(error) => {
                self.open.retain(|run| run.id != opened.id);
                if self.active.as_deref() == Some(opened.id.as_str()) {
                    self.active = self.open.last().map(|run| run.id.clone());
                }
                self.say(Level::Error, "app", &error);
            }
        }
    }

    /// Follows a run that is being written, from its beginning.
    pub(super) fn follow(&mut self, id: &str, dir: &Path) {
        self.open.retain(|run| run.id != id);
        self.open.push(placeholder(id, dir, true));
        let (id, dir) = (id.to_owned(), dir.to_path_buf());
        let outbox = self.outbox.clone();
        self.background("follow", move || follow(&id, &dir, &outbox));
    }

    pub(super) fn live(&mut self, update: LiveUpdate) {
        if let Some(trouble) = update.trouble {
            self.log_line(Level::Warning, &update.id, &trouble);
        }
        let Some(run) = self.open.iter_mut().find(|run| run.id == update.id) else { return };
        run.trace = update.trace;
        run.steps = update.steps;
        run.events = update.events;
        run.loading = false;
        run.live = !update.ended;
        if let Some(manifest) = update.manifest {
            run.manifest = Arc::new(manifest);
        }
        self.derive(&update.id);
    }

    pub(super) fn close_run(&mut self, id: &str) {
        for run in self.open.iter().filter(|run| run.id == id && run.loading) {
            run.watch.cancel();
        }
        self.open.retain(|run| run.id != id);
        if self.active.as_deref() == Some(id) {
            self.active = self.open.last().map(|run| run.id.clone());
            self.selection = Selection::default();
        }
    }

    pub(super) fn activate(&mut self, id: &str) {
        if self.open.iter().any(|run| run.id == id) && self.active.as_deref() != Some(id) {
            self.active = Some(id.to_owned());
            self.selection = Selection::default();
        }
    }

    // --- Selection --------------------------------------------------------------------------------------------------

    pub(super) fn select(&mut self, span: SpanRef) {
        let name = self.active().and_then(|run| {
            let found = run.trace.span(span)?;
            Some(run.trace.name(found.name).to_owned())
        });
        self.selection = Selection { span: name.is_some().then_some(span), range_ns: self.selection.range_ns, name };
    }

    /// Selects the next or previous span of the selected name on the selected span's track, or on the first track that
    /// has one.
    pub(super) fn step_selection(&mut self, forward: bool) {
        let Some(name) = self.selection.name.clone() else { return };
        let from = self.selection.span;
        let next = self.active().and_then(|run| crate::trace::search::neighbour(&run.trace, &name, from, forward));
        match next {
            Some(span) => self.selection.span = Some(span),
            None => self.log_line(Level::Info, "app", &format!("No further span named {name}")),
        }
    }

    /// Selects the span at the other end of the selected span's first arrow in a direction.
    pub(super) fn follow_arrow(&mut self, forward: bool) {
        let Some(from) = self.selection.span else { return };
        let links = self.active().map(|run| run.trace.links(from, usize::MAX)).unwrap_or_default();
        match links.iter().find(|link| link.leaves == forward) {
            Some(link) => self.select(link.other),
            None => {
                let words = if forward { "No arrow leaves this span" } else { "No arrow leads to this span" };
                self.log_line(Level::Info, "app", words);
            }
        }
    }

    // --- Comparison -------------------------------------------------------------------------------------------------

    pub(super) fn set_baseline(&mut self, id: String) {
        if let Some(old) = self.compare.baseline.take()
            && old != id
            && !self.compare.others.contains(&old)
        {
            self.compare.others.insert(0, old);
        }
        self.compare.others.retain(|other| *other != id);
        self.compare.baseline = Some(id);
        self.recompute_comparison();
    }

    pub(super) fn toggle_compared(&mut self, id: String) {
        if self.compare.baseline.as_deref() == Some(id.as_str()) {
            self.compare.baseline = None;
            if !self.compare.others.is_empty() {
                self.compare.baseline = Some(self.compare.others.remove(0));
            }
        } else if self.compare.others.contains(&id) {
            self.compare.others.retain(|other| *other != id);
        } else if self.compare.baseline.is_none() {
            self.compare.baseline = Some(id);
        } else {
            self.compare.others.push(id);
        }
        self.recompute_comparison();
    }

    pub(super) fn recompute_comparison(&mut self) {
        self.compare_generation += 1;
        self.compare.error = None;
        let Some(baseline) = self.compare.baseline.clone() else {
            self.compare.result = None;
            self.compare.computing = false;
            return;
        };
        let ids: Vec<String> = std::iter::once(baseline).chain(self.compare.others.iter().cloned()).collect();
        let runs_dir = self.settings.runs_dir.clone();
        // What is open and read need not be read again; its clone is cheap.
        let read = |id: &String| self.open.iter().find(|run| run.id == *id && !run.loading && !run.live).cloned();
        let path = |id: &String| self.run_path(id).unwrap_or_else(|| runs_dir.join(id));
        let runs: Vec<Result<OpenRun, PathBuf>> = ids.iter().map(|id| read(id).ok_or_else(|| path(id))).collect();
        self.compare.computing = true;
        let generation = self.compare_generation;
        let outbox = self.outbox.clone();
        self.compute("compare", move || {
            let result = compare_runs(runs);
            outbox.send(Msg::Compared(Box::new(Compared { generation, result })));
        });
    }

    pub(super) fn compared(&mut self, compared: Compared) {
        if compared.generation != self.compare_generation {
            return; // The selection has changed since; a newer result is on its way.
        }
        self.compare.computing = false;
        match compared.result {
            Ok(comparison) => self.compare.result = Some(Arc::new(comparison)),
            Err(error) => {
                self.compare.result = None;
                self.compare.error = Some(error);
            }
        }
    }
}

/// Compares runs on disk, the first being the baseline. The window and the command line share it.
pub fn compare_paths(paths: &[PathBuf]) -> Result<Comparison, String> {
    compare_runs(paths.iter().cloned().map(Err).collect())
}

/// Compares runs that are read, or still to be read from a path.
fn compare_runs(runs: Vec<Result<OpenRun, PathBuf>>) -> Result<Comparison, String> {
    let whole = |run: Result<OpenRun, PathBuf>| run.map(with_fresh_manifest).or_else(|path| load(&path));
    let runs: Vec<OpenRun> = runs.into_iter().map(whole).collect::<Result<_, _>>()?;
    super::derived::comparison(&runs)
}

/// An open run with its `run.json` as it is now: an experiment adds to it after the run has ended.
fn with_fresh_manifest(mut run: OpenRun) -> OpenRun {
    if let Ok(mut manifest) = RunFolder::open(&run.path).and_then(|folder| folder.read_manifest()) {
        format::run_folder::settle_end(&mut manifest);
        run.manifest = Arc::new(manifest);
    }
    run
}

/// The thread that follows a run until it has ended and all of it was read.
fn follow(id: &str, dir: &Path, outbox: &super::Outbox) {
    let send = |update: LiveUpdate| outbox.send(Msg::Live(Box::new(update)));
    let mut trace = Trace::default();
    let (mut steps, mut events) = (Vec::new(), Vec::new());
    let mut follower = Follower::new(dir);
    let mut shown = None;
    let mut said: Option<String> = None;
    loop {
        let ended_before = has_ended(dir);
        let mut trouble = None;
        let more = match follower.poll(&mut trace, &mut steps, &mut events, FOLLOW_BUDGET) {
            Ok(more) => more,
            Err(error) => {
                // The same trouble is said once, not at every look.
                let text = error.to_string();
                if said.as_deref() != Some(text.as_str()) {
                    said = Some(text.clone());
                    trouble = Some(text);
                }
                false
            }
        };
        let ended = ended_before && !more;
        let size = (trace.generation(), steps.len(), events.len());
        if shown != Some(size) || ended || trouble.is_some() {
            shown = Some(size);
            send(LiveUpdate {
                id: id.to_owned(),
                trace: trace.clone(),
                steps: Arc::new(steps.clone()),
                events: Arc::new(events.clone()),
                manifest: RunFolder::open(dir).and_then(|folder| folder.read_manifest()).ok(),
                ended,
                trouble,
            });
        }
        if ended {
            return;
        }
        if !more {
            std::thread::sleep(FOLLOW_EVERY);
        }
    }
}

/// Whether the run's `run.json` says that it has ended, or its worker is gone.
fn has_ended(dir: &Path) -> bool {
    let Ok(mut manifest) = RunFolder::open(dir).and_then(|folder| folder.read_manifest()) else { return !dir.exists() };
    crate::format::run_folder::settle_end(&mut manifest);
    manifest.end != RunEnd::Running
}
