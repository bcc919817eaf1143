//! Pictures of the app with no window: the same app, the same frames, drawn into memory.

use super::App;
use super::offscreen::Offscreen;
use crate::session::{Command, DevicesState, PanelId, Session, Settings, Theme};
use anyhow::Context as _;
use egui::{Context, FullOutput, RawInput};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longest wait for runs to be read and figures to be computed.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// Frames before the picture: layouts, plots and images settle over a few.
const SETTLE_FRAMES: usize = 12;
/// Time between two frames, as the app is told.
const FRAME_SECS: f64 = 0.1;

/// A picture to be taken.
#[derive(Debug, Clone)]
pub struct Shot {
    /// Run folders or trace files; the first is the one in view, and the baseline of a comparison.
    pub runs: Vec<PathBuf>,
    /// The panel; `None` = the whole window.
    pub panel: Option<PanelId>,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Colours.
    pub dark: bool,
    /// What else is done before the picture is taken: what is selected, which place is shown.
    pub commands: Vec<Command>,
    /// PNG file to be written.
    pub out: PathBuf,
}

/// Takes a picture.
///
/// # Errors
/// When a run cannot be read, nothing can draw, or the file cannot be written.
pub fn screenshot(shot: &Shot) -> anyhow::Result<()> {
    let mut stage = Stage::new(session(shot), shot.size)?;
    stage.open(&shot.runs)?;
    for command in &shot.commands {
        stage.app.session_mut().apply(command.clone());
    }
    let picture = stage.picture(shot.panel)?;
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, image::ImageFormat::Png).context("the picture could not be packed as PNG")?;
    crate::session::export::write_file(&shot.out, bytes.get_ref()).map_err(anyhow::Error::msg)
}

/// A session that shows these runs among their neighbours and keeps no settings.
fn session(shot: &Shot) -> Session {
    let theme = if shot.dark { Theme::Dark } else { Theme::Light };
    let mut settings = Settings { theme, ..Settings::default() };
    if let Some(dir) = shot.runs.first().filter(|path| path.is_dir()).and_then(|path| path.parent()) {
        settings.runs_dir = dir.to_path_buf();
    }
    Session::new(settings, None)
}

/// An app that draws into memory.
pub struct Stage {
    app: App,
    ctx: Context,
    offscreen: Offscreen,
    size: (u32, u32),
    frames: u32,
}

impl Stage {
    /// An app of `size` pixels.
    ///
    /// # Errors
    /// When nothing can draw.
    pub fn new(session: Session, size: (u32, u32)) -> anyhow::Result<Self> {
        let ctx = Context::default();
        let app = App::new(session, &ctx);
        Ok(Self { app, ctx, offscreen: Offscreen::new()?, size, frames: 0 })
    }

    /// Opens runs, chooses all of them for comparison, and waits until everything about them is known.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn open(&mut self, paths: &[PathBuf]) -> anyhow::Result<()> {
        let session = self.app.session_mut();
        session.start();
        for path in paths {
            session.apply(Command::OpenPath(path.clone()));
        }
        self.wait(|session| session.open_runs().iter().all(|run| !run.loading))?;
        let session = self.app.session_mut();
        if session.open_runs().len() < paths.len() {
            let why = session.log().iter().rev().find(|line| line.level == crate::session::Level::Error);
            anyhow::bail!("{}", why.map_or("a run could not be read", |line| &line.text));
        }
        let ids: Vec<String> = session.open_runs().iter().map(|run| run.id.clone()).collect();
        if ids.len() > 1 {
            ids.iter().for_each(|id| session.apply(Command::ToggleCompared(id.clone())));
        }
        if let [a, b, ..] = ids.as_slice() {
            session.apply(Command::Diff { a: Some(a.clone()), b: Some(b.clone()) });
        }
        if let Some(first) = ids.first() {
            session.apply(Command::Activate(first.clone()));
        }
        self.wait(|session| {
            let computed = session.open_runs().iter().all(|run| run.derived.advice.is_some());
            computed
                && !session.compare().computing
                && !session.trace_diff().computing
                && *session.devices() != DevicesState::Loading
        })
    }

    fn wait(&mut self, ready: impl Fn(&Session) -> bool) -> anyhow::Result<()> {
        let until = Instant::now() + READY_TIMEOUT;
        loop {
            self.app.session_mut().poll(Duration::from_millis(10));
            if ready(self.app.session()) {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < until, "the runs were not ready after {} s", READY_TIMEOUT.as_secs());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Draws until nothing moves any more and takes the last frame.
    ///
    /// # Errors
    /// When the adapter fails.
    pub fn picture(&mut self, panel: Option<PanelId>) -> anyhow::Result<image::RgbaImage> {
        let mut output = self.frame(panel);
        for _ in 0..SETTLE_FRAMES {
            self.offscreen.textures(&mut output.textures_delta);
            // Figures of the panels are computed on threads of their own; a moment lets them arrive.
            std::thread::sleep(Duration::from_millis(10));
            output = self.frame(panel);
        }
        self.offscreen.textures(&mut output.textures_delta);
        self.offscreen.draw(&self.ctx, output, self.size)
    }

    fn frame(&mut self, panel: Option<PanelId>) -> FullOutput {
        self.frames += 1;
        let (width, height) = (self.size.0 as f32, self.size.1 as f32);
        let input = RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(width, height))),
            time: Some(f64::from(self.frames) * FRAME_SECS),
            ..RawInput::default()
        };
        let app = &mut self.app;
        self.ctx.clone().run_ui(input, |ui| {
            app.logic(ui.ctx());
            match panel {
                Some(panel) => app.panel_ui(panel, ui),
                None => app.ui(ui),
            }
        })
    }
}
