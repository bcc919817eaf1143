//! The command line's words: commands, options and their help. Nothing is carried out here.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Trains neural networks with Burn, shows where the time goes, and proves what each optimization gained.
///
/// Without a command the window opens. Without a display the main job runs headless: the ladder on the built-in
/// images, to a report.
#[derive(Debug, Parser)]
#[command(name = "burnscope", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 fine, 1 failed, 2 wrong usage.")]
pub struct Cli {
    /// What to do; nothing = open the window.
    #[command(subcommand)]
    pub command: Option<Cmd>,
    /// Runs or traces to open in the window.
    #[arg(value_name = "RUN|TRACE")]
    pub open: Vec<PathBuf>,
    /// Show this place in the timeline: FROM..TO in nanoseconds from the trace's start, as “Copy a link” writes it.
    #[arg(long, value_name = "FROM..TO")]
    pub at: Option<crate::session::Place>,
    /// Folder of the runs [default: the user's data folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub runs_dir: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Cmd {
    /// Train once and record.
    Train(TrainArgs),
    /// Baseline, then pipeline, f16 and fusion one on top of the other, in interleaved blocks.
    Ladder(LadderArgs),
    /// Measure one flip against the spec as it is, in interleaved blocks.
    Ab(AbArgs),
    /// Put runs side by side and write a report.
    Compare(CompareArgs),
    /// Say where the time of a run or trace goes.
    Inspect(InspectArgs),
    /// Put two traces side by side, also of different formats: steps, operations, kernels.
    Diff(DiffArgs),
    /// Write a run in another format.
    Export(ExportArgs),
    /// Write a trace of any format in another one.
    Convert(ConvertArgs),
    /// List the runs on disk.
    Runs(RunsArgs),
    /// List the devices to train on, and measure what they can do.
    Devices(DevicesArgs),
    /// Draw a panel to a PNG; needs no display.
    Screenshot(ScreenshotArgs),
    /// Train as told on standard input; started by the app itself.
    Worker,
}

/// How a spec is put together.
#[derive(Debug, Args, Clone, Default)]
pub struct SpecArgs {
    /// Spec file in TOML; nothing = the reference CNN on the built-in images.
    #[arg(value_name = "SPEC")]
    pub spec: Option<PathBuf>,
    /// Start from a preset instead of the defaults.
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Images: builtin, synthetic, or a path to IDX files, CIFAR-10 or a folder of classes.
    #[arg(long, value_name = "PATH")]
    pub data: Option<String>,
    /// Device: auto, cpu, gpu, or a part of an adapter's name.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Set one key of the spec, for example --set optimizer.lr=3e-4; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Where the result of a comparison goes.
#[derive(Debug, Args, Clone, Default)]
pub struct ReportArgs {
    /// Report: .html, .md, .csv, .json, .svg or .png.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// How an experiment's steps are cut into blocks.
#[derive(Debug, Args, Clone, Copy, Default)]
pub struct BlockArgs {
    /// Interleaved blocks of each run; the replicates of the statistics.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=200))]
    pub blocks: Option<u32>,
}

/// `burnscope train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// What to train.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Steps in all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: Option<u64>,
    /// Recording level: L0, L1 or L2.
    #[arg(long, value_name = "LEVEL")]
    pub trace: Option<String>,
    /// Folder of this run's folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Name for people.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `burnscope ladder`
#[derive(Debug, Args)]
pub struct LadderArgs {
    /// What to train.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Measured steps of each stage.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// How the steps are cut.
    #[command(flatten)]
    pub cut: BlockArgs,
    /// Where the result goes.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// `burnscope ab`
#[derive(Debug, Args)]
pub struct AbArgs {
    /// What to train.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// What differs: pipeline, f16, fusion, or key=value.
    #[arg(long, value_name = "FLIP")]
    pub flip: String,
    /// Measured steps of each side.
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// How the steps are cut.
    #[command(flatten)]
    pub cut: BlockArgs,
    /// Where the result goes.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// `burnscope compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Runs: folders, or identifiers (or unique beginnings of them) of the library.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// The run to compare against [default: the first].
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<String>,
    /// Where the result goes.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// `burnscope inspect`
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A run (folder or identifier) or a trace file.
    #[arg(value_name = "RUN|TRACE")]
    pub target: String,
    /// Name of the spans that are steps, where they are not found by themselves.
    #[arg(long, value_name = "NAME")]
    pub marker: Option<String>,
    /// List the spans whose name contains this, the longest first.
    #[arg(long, value_name = "TEXT")]
    pub find: Option<String>,
    /// Say who calls spans of this name and what they call.
    #[arg(long, value_name = "NAME")]
    pub callers: Option<String>,
    /// What is done with overlapping spans of one track: keep, nest (cut the later) or clip (cut the earlier).
    #[arg(long, value_name = "HOW", default_value = "keep", value_parser = parse_overlaps)]
    pub overlaps: crate::trace::Overlaps,
    /// Rows of the tables.
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,
    /// Result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `burnscope diff`
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The baseline: a trace file, a run's folder or its identifier.
    #[arg(value_name = "A")]
    pub a: String,
    /// What is compared with it.
    #[arg(value_name = "B")]
    pub b: String,
    /// Name of the spans that are steps, where they are not found by themselves.
    #[arg(long, value_name = "NAME")]
    pub marker: Option<String>,
    /// Rows of the tables.
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,
    /// Result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `burnscope convert`
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A trace file, a run's folder or its identifier.
    #[arg(value_name = "TRACE")]
    pub input: String,
    /// File to write; its ending tells the format unless --to does.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Format to write.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub to: Option<String>,
    /// What is done with overlapping spans of one track: keep, nest (cut the later) or clip (cut the earlier).
    #[arg(long, value_name = "HOW", default_value = "keep", value_parser = parse_overlaps)]
    pub overlaps: crate::trace::Overlaps,
    /// Write over a file that exists.
    #[arg(long)]
    pub force: bool,
}

/// `burnscope export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A run (folder or identifier).
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Format to write.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub format: String,
    /// File to write.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Write over a file that exists.
    #[arg(long)]
    pub force: bool,
}

/// `burnscope runs`
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `burnscope devices`
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Measure each device's copy bandwidth and matrix product rate.
    #[arg(long)]
    pub measure: bool,
    /// Result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `burnscope screenshot`
#[derive(Debug, Args)]
pub struct ScreenshotArgs {
    /// Runs (folders or identifiers); more than one for the Compare panel.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// setup, runs, overview, timeline, flame, ops, kernels, compare, diff, log, import, or window for all of it.
    #[arg(long, value_name = "NAME", default_value = "overview")]
    pub panel: String,
    /// Width and height in pixels.
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = parse_size)]
    pub size: (u32, u32),
    /// dark or light.
    #[arg(long, value_name = "THEME", default_value = "dark", value_parser = ["dark", "light"])]
    pub theme: String,
    /// Place in the timeline: FROM..TO in nanoseconds from the trace's start.
    #[arg(long, value_name = "FROM..TO")]
    pub at: Option<crate::session::Place>,
    /// Select all spans of this name.
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// PNG file to write.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// What to say of a word that is neither a command nor a file, with the command that was most likely meant.
pub fn neither_command_nor_file(word: &str) -> String {
    use clap::CommandFactory as _;
    let command = Cli::command();
    let near = command
        .get_subcommands()
        .map(|sub| (strsim::damerau_levenshtein(sub.get_name(), word), sub.get_name().to_owned()))
        .filter(|(distance, _)| *distance <= 2)
        .min();
    let hint = near.map_or_else(|| "see burnscope --help".to_owned(), |(_, name)| format!("did you mean `{name}`?"));
    format!("`{word}` is neither a command nor a file or folder; {hint}")
}

/// Names of the formats that a run can be written in; the help and the message about another name list them.
fn formats() -> clap::builder::PossibleValuesParser {
    crate::session::export::RunFormat::names().collect::<Vec<_>>().into()
}

fn parse_overlaps(text: &str) -> Result<crate::trace::Overlaps, String> {
    crate::trace::Overlaps::from_name(text).ok_or_else(|| "it is keep, nest or clip".to_owned())
}

/// `1280x800` → (1280, 800).
fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let bad = || format!("`{text}` is not a size; write it as 1280x800, from 200 to 8192 each way");
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or_else(bad)?;
    let read = |part: &str| part.trim().parse().ok().filter(|n| (200..=8192).contains(n)).ok_or_else(bad);
    Ok((read(width)?, read(height)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn help_names_every_panel() {
        let mut command = Cli::command();
        let help = command.find_subcommand_mut("screenshot").unwrap().render_long_help().to_string();
        for panel in crate::session::PanelId::ALL {
            let name = panel.title().to_lowercase();
            assert!(help.contains(&name), "{name}: {help}");
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_mistyped_command_is_recognised() {
        assert!(neither_command_nor_file("trian").contains("did you mean `train`?"));
        assert!(neither_command_nor_file("zzzzzz").contains("--help"));
    }

    #[test]
    fn sizes_are_read_and_refused() {
        assert_eq!(parse_size("1280x800"), Ok((1280, 800)));
        assert!(parse_size("1280").is_err());
        assert!(parse_size("0x9").is_err());
        assert!(parse_size("99999x800").unwrap_err().contains("1280x800"));
    }
}
