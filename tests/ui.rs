//! The window as a user meets it: the real app in a harness without a display, found by the names that screen readers
//! read. Pictures are drawn where there is an adapter.

use burnscope::app::App;
use burnscope::app::headless::{Shot, screenshot};
use burnscope::app::offscreen::Offscreen;
use burnscope::session::{Command, PanelId, Session, Settings, Theme};
use egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn runs_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs")
}

type Window = Harness<'static, Option<App>>;

/// The app in a window of this size; `run` opens the golden run first.
fn window(width: f32, height: f32, theme: Theme, run: bool) -> Window {
    let settings = Settings { theme, runs_dir: runs_dir(), ..Settings::default() };
    let mut session = Session::new(settings, None);
    if run {
        session.apply(Command::RefreshLibrary);
        session.apply(Command::OpenPath(runs_dir().join("v1")));
        let until = Instant::now() + Duration::from_secs(30);
        let ready = |session: &Session| {
            let derived = session.active().is_some_and(|run| !run.loading && run.derived.advice.is_some());
            derived && !session.library().is_empty()
        };
        while !ready(&session) {
            assert!(Instant::now() < until, "the golden run was not read: {:?}", session.log());
            session.poll(Duration::from_millis(10));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    let mut session = Some(session);
    let mut harness = Harness::builder().with_size([width, height]).build_ui_state(
        move |ui, app: &mut Option<App>| {
            if let Some(session) = session.take() {
                *app = Some(App::new(session, ui.ctx()));
            }
            let app = app.as_mut().unwrap();
            app.logic(ui.ctx());
            app.ui(ui);
        },
        None,
    );
    harness.run_steps(3);
    harness
}

fn app(window: &Window) -> &App {
    window.state().as_ref().unwrap()
}

fn send(window: &mut Window, command: Command) {
    app(window).sender().send(command);
    window.run_steps(4);
}

#[test]
fn a_switch_in_setup_changes_the_draft() {
    let mut window = window(1280.0, 800.0, Theme::Dark, false);
    assert!(!app(&window).session().draft().spec.pipeline.enabled);
    window.get_by_role_and_label(egui::accesskit::Role::CheckBox, "Input pipeline").click();
    window.run_steps(4);
    assert!(app(&window).session().draft().spec.pipeline.enabled);
}

#[test]
fn what_the_cpu_cannot_do_is_refused_with_its_reason() {
    let mut window = window(1280.0, 1000.0, Theme::Dark, false);
    send(&mut window, Command::SetDraft { key: "train.device".to_owned(), value: "cpu".to_owned() });
    window.get_by_label("Not applicable: the CPU backend (Flex) runs each operation at once");
    window.get_by_role_and_label(egui::accesskit::Role::CheckBox, "Kernel fusion").click();
    window.run_steps(4);
    assert!(!app(&window).session().draft().spec.compiler.fusion);
}

#[test]
fn the_palette_runs_a_command_by_keys_alone() {
    let mut window = window(1280.0, 800.0, Theme::Dark, false);
    assert_eq!(app(&window).front(), PanelId::Overview);
    window.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    window.run_steps(4);
    window.event(egui::Event::Text("show kern".to_owned()));
    window.run_steps(3);
    window.key_press(Key::Enter);
    window.run_steps(4);
    assert_eq!(app(&window).front(), PanelId::Kernels);
}

#[test]
fn shortcuts_show_panels_but_not_while_typing() {
    let mut window = window(1280.0, 800.0, Theme::Dark, true);
    window.key_press_modifiers(Modifiers::COMMAND, Key::Num2);
    window.run_steps(4);
    assert_eq!(app(&window).front(), PanelId::Runs);
    window.get_by_label("Search runs").focus();
    window.run_steps(2);
    window.event(egui::Event::Text("0".to_owned()));
    window.key_press(Key::Num0);
    window.run_steps(3);
    window.get_by_label("No run fits the words above");
}

#[test]
fn every_panel_opens_in_both_themes_and_at_the_smallest_size() {
    for theme in [Theme::Dark, Theme::Light] {
        for (width, height) in [(1280.0, 800.0), (720.0, 480.0)] {
            let mut window = window(width, height, theme, true);
            for panel in PanelId::ALL {
                send(&mut window, Command::ShowPanel(panel));
                assert_eq!(app(&window).front(), panel);
            }
        }
    }
}

#[test]
fn every_panel_says_why_it_is_empty() {
    let mut window = window(1280.0, 800.0, Theme::Light, false);
    for panel in PanelId::ALL {
        send(&mut window, Command::ShowPanel(panel));
    }
    send(&mut window, Command::ShowPanel(PanelId::Overview));
    window.get_by_label("No run is open");
    send(&mut window, Command::ShowPanel(PanelId::Runs));
    window.get_by_label("No runs yet");
}

#[test]
fn a_run_is_chosen_for_comparison_and_a_broken_path_is_said() {
    let mut window = window(1280.0, 800.0, Theme::Dark, true);
    send(&mut window, Command::ShowPanel(PanelId::Runs));
    window.get_by_label("Compare Golden run").click();
    window.run_steps(4);
    assert!(app(&window).session().compare().baseline.is_some());
    send(&mut window, Command::OpenPath("/no/such/run".into()));
    let said = app(&window).session().log().iter().any(|line| line.text.contains("/no/such/run"));
    assert!(said, "{:?}", app(&window).session().log());
}

#[test]
fn messages_go_by_themselves_even_when_frames_are_rare() {
    let mut window = window(1280.0, 800.0, Theme::Dark, false);
    send(&mut window, Command::UndoDelete);
    let count = |window: &Window| window.query_all_by_label("Close message").count();
    assert_eq!(count(&window), 1, "what could not be done was not said");
    window.input_mut().time = Some(1e6);
    window.run_steps(2);
    window.input_mut().time = Some(1e6 + 60.0);
    window.run_steps(2);
    assert_eq!(count(&window), 0);
}

/// Whether there is an adapter that draws pictures; its absence is a failure where one is required.
fn can_draw() -> bool {
    let Err(why) = Offscreen::new() else { return true };
    assert!(std::env::var_os("BURNSCOPE_REQUIRE_GPU").is_none(), "no picture can be drawn: {why:#}");
    eprintln!("no picture is drawn: {why:#}");
    false
}

/// Panels of the golden run against kept pictures. `UPDATE_SNAPSHOTS=1` keeps new ones, to be looked at before they are
/// committed.
#[test]
fn panels_look_as_they_did() {
    if !can_draw() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // Drivers of another version round a few pixels of slanted edges differently.
    let options = egui_kittest::SnapshotOptions::new().threshold(1.5).max_failed_pixels(60);
    for (panel, dark) in [(PanelId::Timeline, true), (PanelId::Flame, false), (PanelId::Ops, true)] {
        let out = dir.path().join("shot.png");
        let runs = vec![runs_dir().join("v1")];
        screenshot(&Shot { runs, panel: Some(panel), size: (600, 300), dark, commands: Vec::new(), out: out.clone() })
            .unwrap();
        let picture = image::open(&out).unwrap().to_rgba8();
        let name = format!("{}-{}", panel.title().to_lowercase(), if dark { "dark" } else { "light" });
        egui_kittest::image_snapshot_options(&picture, name, &options);
    }
}

#[test]
fn a_picture_shows_the_app_in_its_colours() {
    if !can_draw() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut means = Vec::new();
    for dark in [true, false] {
        let out = dir.path().join(format!("{dark}.png"));
        let runs = vec![runs_dir().join("v1")];
        screenshot(&Shot {
            runs,
            panel: Some(PanelId::Timeline),
            size: (640, 400),
            dark,
            commands: Vec::new(),
            out: out.clone(),
        })
        .unwrap();
        let picture = image::open(&out).unwrap().to_rgb8();
        assert_eq!(picture.dimensions(), (640, 400));
        let colors: std::collections::HashSet<[u8; 3]> = picture.pixels().map(|pixel| pixel.0).collect();
        assert!(colors.len() > 20, "only {} colours: nothing was drawn", colors.len());
        let sum: u64 = picture.pixels().map(|pixel| pixel.0.iter().map(|part| u64::from(*part)).sum::<u64>()).sum();
        means.push(sum / (640 * 400 * 3));
    }
    assert!(means[0] < 60 && means[1] > 190, "dark and light: {means:?}");
}

#[test]
fn a_picture_of_no_run_is_an_error() {
    let out = std::env::temp_dir().join("burnscope-no-picture.png");
    let runs = vec![PathBuf::from("/no/such/run")];
    let shot = Shot { runs, panel: None, size: (640, 400), dark: true, commands: Vec::new(), out: out.clone() };
    assert!(screenshot(&shot).is_err());
    assert!(!out.exists());
}

/// A small trace of another tool in a file of its own.
fn foreign_file(dir: &Path, name: &str, wait: u64) -> PathBuf {
    let mut events = Vec::new();
    for step in 0..8_u64 {
        let t = 1 + step * (wait + 1000);
        let event = |name: &str, category: &str, start: u64, dur: u64| {
            format!(
                "{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{start},\"dur\":{dur},\"name\":\"{name}\",\"cat\":\"{category}\"}}"
            )
        };
        events.push(event(&format!("ProfilerStep#{step}"), "user_annotation", t, wait + 1000));
        events.push(event("DataLoader", "user_annotation", t + 1, wait));
        events.push(event("aten::mm", "cpu_op", t + wait + 10, 900));
    }
    let path = dir.join(name);
    std::fs::write(&path, format!("[{},{{}}]", events.join(","))).unwrap();
    path
}

fn wait_for(window: &mut Window, ready: impl Fn(&Session) -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !ready(app(window).session()) {
        assert!(Instant::now() < until, "not ready: {:?}", app(window).session().log());
        std::thread::sleep(Duration::from_millis(5));
        window.run_steps(1);
    }
    window.run_steps(3);
}

#[test]
fn two_traces_of_another_tool_are_opened_and_compared() {
    let dir = tempfile::tempdir().unwrap();
    let mut window = window(1280.0, 800.0, Theme::Dark, false);
    for (name, wait) in [("slow", 4000), ("fast", 100)] {
        send(&mut window, Command::OpenPath(foreign_file(dir.path(), name, wait)));
    }
    wait_for(&mut window, |session| {
        session.open_runs().len() == 2 && session.open_runs().iter().all(|run| run.derived.profile.is_some())
    });
    send(&mut window, Command::ShowPanel(PanelId::Overview));
    window.get_by_label("What stands out");
    send(&mut window, Command::ShowPanel(PanelId::Import));
    window.get_by_label("Empty events, left out");
    // Nothing needs to be chosen where two are open.
    send(&mut window, Command::ShowPanel(PanelId::Diff));
    wait_for(&mut window, |session| session.trace_diff().result.is_some());
    assert!(window.query_all_by_label_contains("Input wait was the difference").count() > 0);
    for (tab, label) in [
        ("Flame", "Flame graph"),
        ("Timelines", "Step of A"),
        ("Operations", "Within"),
        ("Kernels", "Device A"),
        ("Summary", "Swap"),
    ] {
        window.get_by_label(&format!("Show: {tab}")).click();
        window.run_steps(4);
        assert!(window.query_all_by_label_contains(label).count() > 0, "{tab} shows no `{label}`");
        assert!(tab != "Kernels" || window.query_all_by_label_contains("Host A").count() == 0, "kernels take no host");
    }
    window.get_by_label("Swap").click();
    window.run_steps(4);
    wait_for(&mut window, |session| session.trace_diff().result.is_some());
    assert!(app(&window).session().trace_diff().result.as_ref().unwrap().diff.verdicts[0].contains("more on average"));
    // Other spans are taken for the steps, of the trace in view and so of the difference.
    send(&mut window, Command::SetMarker(Some("aten::mm".to_owned())));
    wait_for(&mut window, |session| {
        let profile = session.active().and_then(|run| run.derived.profile.clone());
        profile.is_some_and(|profile| profile.steps.how.contains("aten::mm")) && session.trace_diff().result.is_some()
    });
    send(&mut window, Command::SelectName("aten::mm".to_owned()));
    send(&mut window, Command::ShowPanel(PanelId::Flame));
    window.get_by_label("Callers and callees").click();
    window.run_steps(4);
    // Callers are looked for in the background.
    let until = Instant::now() + Duration::from_secs(30);
    while window.query_by_label("Called by").is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
        window.run_steps(1);
    }
    window.get_by_label("Called by");
}

#[test]
fn overlapping_spans_are_cut_as_wished_and_shown_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crossed");
    let crossed = r#"[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":20,"name":"a"},{"ph":"X","pid":1,"tid":1,"ts":10,"dur":20,"name":"b"}]"#;
    std::fs::write(&path, crossed).unwrap();
    let mut window = window(1280.0, 800.0, Theme::Dark, false);
    send(&mut window, Command::OpenPath(path));
    wait_for(&mut window, |session| session.active().is_some_and(|run| run.derived.profile.is_some()));
    send(&mut window, Command::ShowPanel(PanelId::Import));
    let ends = |window: &Window| {
        let run = app(window).session().active().unwrap();
        run.trace.tracks()[0].spans().map(|(_, span)| span.end_ns()).collect::<Vec<_>>()
    };
    assert_eq!(ends(&window), [20_000, 30_000]);
    for (choice, expected) in [("Nest", [20_000, 20_000]), ("Clip", [10_000, 30_000]), ("Keep", [20_000, 30_000])] {
        window.get_by_label(&format!("Overlapping spans: {choice}")).click();
        window.run_steps(4);
        assert_eq!(ends(&window), expected, "{choice}");
    }
    window.get_by_label("Overlapping spans on one track, drawn one lane lower");
}
