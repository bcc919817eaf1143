//! The binary: reads the command line, sets up logging, and hands over to the window, a headless command or the worker.

use burnscope::cli::{self, args::Cli, args::Cmd};
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Cli::parse();
    let result = match &args.command {
        Some(Cmd::Worker) => return worker(),
        Some(Cmd::Screenshot(shot)) => screenshot(shot, &cli::runs_dir(&args)),
        Some(cmd) => cli::run(cmd, &cli::runs_dir(&args)),
        None => window_or_ladder(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("burnscope: {error:#}");
            ExitCode::from(u8::try_from(cli::exit_code(&error)).unwrap_or(1))
        }
    }
}

#[cfg(feature = "train")]
fn worker() -> ExitCode {
    ExitCode::from(u8::try_from(burnscope::lab::worker::main()).unwrap_or(1))
}

#[cfg(not(feature = "train"))]
fn worker() -> ExitCode {
    eprintln!("burnscope: this program was built without training (feature `train`)");
    ExitCode::FAILURE
}

/// Opens the window; with no display, says so and runs the ladder headless.
fn window_or_ladder(args: &Cli) -> anyhow::Result<()> {
    if let Some(missing) = args.open.iter().find(|path| !path.exists()) {
        return Err(cli::UsageError(cli::args::neither_command_nor_file(&missing.to_string_lossy())).into());
    }
    match display_missing() {
        None => window(args),
        Some(why) if args.open.is_empty() => {
            eprintln!("{why} The ladder runs headless instead, on the built-in images.");
            eprintln!("To do the same on request: burnscope ladder. All commands: burnscope --help.\n");
            cli::experiments::default_ladder(&cli::runs_dir(args))
        }
        Some(why) => anyhow::bail!("{why} To read a run without a window: burnscope inspect RUN"),
    }
}

/// Why no window can be opened, if that is so.
fn display_missing() -> Option<String> {
    if !cfg!(feature = "app") {
        return Some("This program was built without a window (feature `app`).".to_owned());
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let needs_variable = cfg!(all(unix, not(target_os = "macos")));
    (needs_variable && !set("DISPLAY") && !set("WAYLAND_DISPLAY")).then(|| {
        "There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window can be opened.".to_owned()
    })
}

#[cfg(feature = "app")]
fn window(args: &Cli) -> anyhow::Result<()> {
    use burnscope::session::{Command, Session, Settings, settings};
    let path = settings::settings_path();
    let (mut settings, trouble) = path.as_deref().map_or_else(|| (Settings::default(), None), Settings::load);
    if args.runs_dir.is_some() || std::env::var_os("BURNSCOPE_RUNS_DIR").is_some() {
        settings.runs_dir = cli::runs_dir(args);
    }
    let mut session = Session::new(settings, path);
    if let Some(trouble) = trouble {
        session.warn(&trouble);
    }
    for path in &args.open {
        session.apply(Command::OpenPath(path.clone()));
    }
    if let Some(place) = args.at {
        session.apply(Command::GoTo(place));
    }
    burnscope::app::run_window(session)
}

#[cfg(not(feature = "app"))]
fn window(_args: &Cli) -> anyhow::Result<()> {
    anyhow::bail!("this program was built without a window (feature `app`)")
}

#[cfg(feature = "app")]
fn screenshot(args: &cli::args::ScreenshotArgs, runs_dir: &std::path::Path) -> anyhow::Result<()> {
    use burnscope::app::headless::{self, Shot};
    use burnscope::session::Command;
    let find = |run: &String| burnscope::session::library::find(runs_dir, run).map_err(anyhow::Error::msg);
    let runs = args.runs.iter().map(find).collect::<anyhow::Result<Vec<_>>>()?;
    let panel = match burnscope::session::PanelId::from_name(&args.panel) {
        Some(panel) => Some(panel),
        None if args.panel.eq_ignore_ascii_case("window") => None,
        None => {
            let names: Vec<String> =
                burnscope::session::PanelId::ALL.iter().map(|panel| panel.title().to_lowercase()).collect();
            let text = format!("there is no panel `{}`; there are {} and window", args.panel, names.join(", "));
            return Err(cli::UsageError(text).into());
        }
    };
    let commands = args.name.iter().map(|name| Command::SelectName(name.clone()));
    let commands = commands.chain(args.at.map(Command::GoTo)).collect();
    let dark = args.theme == "dark";
    headless::screenshot(&Shot { runs, panel, size: args.size, dark, commands, out: args.out.clone() })
}

#[cfg(not(feature = "app"))]
fn screenshot(_args: &cli::args::ScreenshotArgs, _runs_dir: &std::path::Path) -> anyhow::Result<()> {
    anyhow::bail!("this program was built without a window (feature `app`)")
}
