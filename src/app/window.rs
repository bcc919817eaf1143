//! The real window.

use super::App;
use super::frame_log::FrameLog;
use super::software::SoftwarePainter;
use crate::session::{Command, Level, Session};
use anyhow::Context as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest time from news of a background thread to the frame that shows it.
const NEWS_WITHIN: Duration = Duration::from_millis(100);
/// The same while something is measured: each frame takes time from what is being measured.
const NEWS_WITHIN_MEASURING: Duration = Duration::from_millis(500);
/// Side of the window's icon, in pixels.
const ICON_SIDE: u32 = 64;
const ICON_SVG: &[u8] = include_bytes!("../../assets/icons/app.svg");

/// Opens the window and returns when it is closed.
///
/// # Errors
/// When there is no display or no way to draw on it.
pub fn run_window(session: Session) -> anyhow::Result<()> {
    let began = Instant::now();
    let viewport = egui::ViewportBuilder::default()
        .with_title("Burnscope")
        .with_app_id("burnscope")
        .with_inner_size([1280.0, 800.0])
        .with_min_inner_size([720.0, 480.0])
        .with_icon(icon().unwrap_or_default());
    let options = eframe::NativeOptions { viewport, ..eframe::NativeOptions::default() };
    let window = |cc: &eframe::CreationContext<'_>| {
        if let Some(painter) = cc.wgpu_render_state.as_ref().and_then(SoftwarePainter::new) {
            cc.egui_ctx.add_plugin(painter);
        }
        Window::new(session, &cc.egui_ctx, began)
    };
    eframe::run_native("burnscope", options, Box::new(|cc| Ok(Box::new(window(cc)))))
        .map_err(|error| anyhow::anyhow!("{error}"))
        .context("the window could not be opened")
}

/// The icon as pixels; `None` when it could not be drawn, and the system's own is used.
fn icon() -> Option<egui::IconData> {
    let tree = resvg::usvg::Tree::from_data(ICON_SVG, &resvg::usvg::Options::default()).ok()?;
    let mut pixmap = resvg::tiny_skia::Pixmap::new(ICON_SIDE, ICON_SIDE)?;
    let scale = ICON_SIDE as f32 / tree.size().width();
    resvg::render(&tree, resvg::tiny_skia::Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    let rgba = pixmap.pixels().iter().flat_map(|pixel| {
        let pixel = pixel.demultiply();
        [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]
    });
    Some(egui::IconData { rgba: rgba.collect(), width: ICON_SIDE, height: ICON_SIDE })
}

struct Window {
    app: App,
    measuring: Arc<AtomicBool>,
    frames: u64,
    began: Instant,
    log: Option<FrameLog>,
}

impl Window {
    fn new(mut session: Session, ctx: &egui::Context, began: Instant) -> Self {
        let measuring = Arc::new(AtomicBool::new(false));
        let (waker, slow) = (ctx.clone(), Arc::clone(&measuring));
        session.set_waker(Arc::new(move || {
            let within = if slow.load(Ordering::Relaxed) { NEWS_WITHIN_MEASURING } else { NEWS_WITHIN };
            waker.request_repaint_after(within);
        }));
        Self { app: App::new(session, ctx), measuring, frames: 0, began, log: FrameLog::from_env() }
    }
}

impl eframe::App for Window {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        // Listing runs and devices begins once the window is there: it would only delay the first frame.
        if self.frames == 1 {
            self.app.session_mut().start();
        }
        self.app.logic(ctx);
        self.measuring.store(self.app.session().busy(), Ordering::Relaxed);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        let began = Instant::now();
        self.app.ui(ui);
        if let Some(log) = &mut self.log {
            log.frame(began, began.elapsed());
            if log.all {
                ui.ctx().request_repaint();
            }
        }
        self.frames += 1;
        if self.frames == 1 {
            let text = format!("First frame after {} ms", self.began.elapsed().as_millis());
            self.app.session_mut().log_line(Level::Info, "app", &text);
            ui.ctx().request_repaint();
        }
    }

    fn save(&mut self, _storage: &mut dyn eframe::Storage) {
        self.app.save_layout();
    }

    fn on_exit(&mut self) {
        self.app.save_layout();
        // A training in progress is stopped; its worker ends by itself when this process is gone.
        self.app.session_mut().apply(Command::Quit);
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_has_pixels() {
        let icon = icon().unwrap_or_default();
        assert_eq!(icon.rgba.len(), (ICON_SIDE * ICON_SIDE * 4) as usize);
        assert!(icon.rgba.chunks(4).any(|pixel| pixel.get(3) == Some(&255)));
    }
}
