//! The Log panel: what the app, the runs and their recorders had to say, filtered by level and words.

use super::PanelContext;
use crate::model::{EventLevel, LogEvent, units};
use crate::session::{Command, Level, LogLine, OpenRun};
use crate::ui::tokens::size;
use crate::ui::{icons, toasts, widgets};
use egui::{Align, Layout, RichText, Ui};
use std::borrow::Cow;

/// Where lines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// What happened since the start of the app.
    App,
    /// What the active run's recorder wrote.
    Run,
}

/// State of the panel between frames.
#[derive(Debug, Default)]
pub struct LogState {
    /// `None` = the user has not chosen: those of the run in view while the app has said nothing.
    from: Option<From>,
    least: usize,
    query: String,
    focus_search: bool,
    shown: Option<(Key, Vec<u32>)>,
}

/// What the list of shown lines depends on.
type Key = ((bool, String), usize, usize, String);

impl LogState {
    /// Carries out commands that concern this panel's pixels; others are ignored.
    pub fn on_command(&mut self, command: &Command) {
        if *command == Command::FocusSearch {
            self.focus_search = true;
        }
    }

    fn from(&self, cx: &PanelContext<'_>) -> From {
        let quiet = cx.session.log().is_empty() && cx.session.active().is_some();
        self.from.unwrap_or(if quiet { From::Run } else { From::App })
    }
}

/// One line, wherever it is from.
struct Line<'a> {
    time: Cow<'a, str>,
    level: Level,
    source: &'a str,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn of_app(line: &'a LogLine) -> Self {
        Self { time: Cow::Borrowed(&line.time), level: line.level, source: &line.source, text: &line.text }
    }

    fn of_run(event: &'a LogEvent) -> Self {
        let level = match event.level {
            EventLevel::Info => Level::Info,
            EventLevel::Warning => Level::Warning,
            EventLevel::Error => Level::Error,
        };
        let time = Cow::Owned(units::duration_ns(event.t_ns as f64));
        Self { time, level, source: &event.source, text: &event.text }
    }

    fn fits(&self, least: Level, query: &str) -> bool {
        self.level >= least
            && (query.is_empty()
                || self.text.to_lowercase().contains(query)
                || self.source.to_lowercase().contains(query))
    }
}

const LEVELS: [(Level, &str); 3] =
    [(Level::Info, "Everything"), (Level::Warning, "Warnings"), (Level::Error, "Errors")];

/// The Log panel.
pub fn log_ui(cx: &PanelContext<'_>, state: &mut LogState, ui: &mut Ui) {
    let run = cx.session.active();
    bar_ui(cx, state, ui, run);
    ui.separator();
    let from = state.from(cx);
    let lines: Vec<Line<'_>> = match (from, run) {
        (From::Run, Some(run)) => run.events.iter().map(Line::of_run).collect(),
        _ => cx.session.log().iter().map(Line::of_app).collect(),
    };
    let least = LEVELS.get(state.least).map_or(Level::Info, |(level, _)| *level);
    let shown = shown_lines(state, from, run, &lines, least);
    if shown.is_empty() {
        let reason =
            if lines.is_empty() { "Nothing has been said yet" } else { "No line fits the level and the words above" };
        let empty = widgets::Empty { icon: icons::LINES, title: "No lines to show", reason, action: None };
        widgets::empty_state(ui, cx.tokens, &empty);
        return;
    }
    table_ui(cx, ui, &lines, &shown);
}

fn bar_ui(cx: &PanelContext<'_>, state: &mut LogState, ui: &mut Ui, run: Option<&OpenRun>) {
    ui.horizontal_wrapped(|ui| {
        let from = match run {
            Some(_) => widgets::segmented(ui, cx.tokens, "Lines of", &["App", "Run in view"], state.from(cx) as usize),
            None => None,
        };
        match from {
            Some(0) => state.from = Some(From::App),
            Some(_) => state.from = Some(From::Run),
            None => {}
        }
        let words = LEVELS.map(|(_, words)| words);
        if let Some(idx) = widgets::segmented(ui, cx.tokens, "Level", &words, state.least) {
            state.least = idx;
        }
        let focus = std::mem::take(&mut state.focus_search);
        widgets::search_field(ui, &mut state.query, "Search the log", 180.0, focus);
    });
}

/// Indices of the lines that fit; found again only when lines, level or words have changed.
fn shown_lines(state: &mut LogState, from: From, run: Option<&OpenRun>, lines: &[Line<'_>], least: Level) -> Vec<u32> {
    let last = lines.last().map(|line| format!("{}{}", line.time, line.text)).unwrap_or_default();
    let of = (from == From::Run, run.map(|run| run.id.clone()).unwrap_or_default() + &last);
    let key: Key = (of, lines.len(), state.least, state.query.to_lowercase());
    if state.shown.as_ref().is_none_or(|(known, _)| *known != key) {
        let fits = |line: &Line<'_>| line.fits(least, &key.3);
        let shown = (0_u32..).zip(lines).filter(|(_, line)| fits(line)).map(|(idx, _)| idx).collect();
        state.shown = Some((key, shown));
    }
    state.shown.as_ref().map(|(_, shown)| shown.clone()).unwrap_or_default()
}

fn table_ui(cx: &PanelContext<'_>, ui: &mut Ui, lines: &[Line<'_>], shown: &[u32]) {
    let table = egui_extras::TableBuilder::new(ui)
        .id_salt("log")
        .striped(true)
        .cell_layout(Layout::left_to_right(Align::Center))
        .stick_to_bottom(true)
        .auto_shrink([false, false])
        .column(egui_extras::Column::exact(76.0))
        .column(egui_extras::Column::exact(20.0))
        .column(egui_extras::Column::initial(120.0).at_least(40.0).clip(true))
        .column(egui_extras::Column::remainder().clip(true));
    table.body(|body| {
        body.rows(size::ROW - 3.0, shown.len(), |mut row| {
            // The indices were made from these very lines.
            let Some(line) = shown.get(row.index()).and_then(|idx| lines.get(*idx as usize)) else { return };
            row.col(|ui| {
                ui.label(RichText::new(line.time.as_ref()).monospace().size(11.5).color(cx.tokens.ui.text_weak));
            });
            row.col(|ui| {
                let level = toast_level(line.level);
                ui.add(level.icon().image(13.0, level.color(cx.tokens)).alt_text(line.level.label()));
            });
            row.col(|ui| {
                let source = RichText::new(line.source).color(cx.tokens.ui.text_weak);
                ui.add(egui::Label::new(source).truncate()).on_hover_text(line.source);
            });
            row.col(|ui| {
                ui.add(egui::Label::new(line.text).truncate()).on_hover_text(line.text);
            });
        });
    });
}

/// The level as toasts name it.
pub fn toast_level(level: Level) -> toasts::Level {
    match level {
        Level::Info => toasts::Level::Info,
        Level::Warning => toasts::Level::Warning,
        Level::Error => toasts::Level::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_and_words_filter() {
        let line = Line { time: "".into(), level: Level::Warning, source: "cubecl", text: "Slow Disk" };
        assert!(line.fits(Level::Info, "") && line.fits(Level::Warning, "disk") && line.fits(Level::Info, "cube"));
        assert!(!line.fits(Level::Error, "") && !line.fits(Level::Info, "gpu"));
    }
}
