//! Finds out what a file is, by its content and never by its name, and opens it.

use super::container::{self, PIECE_BYTES, Pieces};
use super::passes::Passes;
use super::perfetto::PerfettoReader;
use super::watch::{Looker, Watch};
use super::window::Window;
use super::wire::{Fields, Next};
use super::{
    FormatError, ImportReport, chrome, collapsed, firefox, nsight, perf_script, run_folder, speedscope, xplane,
};
use crate::trace::Trace;
use std::io::Read;
use std::path::Path;

/// What a file or folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A run folder of ours.
    RunFolder,
    /// Perfetto packets.
    Perfetto,
    /// Chrome JSON.
    Chrome,
    /// Speedscope's own JSON.
    Speedscope,
    /// Collapsed stacks.
    Collapsed,
    /// Text of `perf script`.
    PerfScript,
    /// XProf XSpace.
    XSpace,
    /// Processed profile of the Firefox Profiler or samply.
    Firefox,
    /// SQLite export of Nsight Systems.
    Nsight,
}

impl Kind {
    /// Name of the format.
    pub fn label(self) -> &'static str {
        match self {
            Self::RunFolder => "run folder",
            Self::Perfetto => "Perfetto",
            Self::Chrome => "Chrome JSON",
            Self::XSpace => "XProf XSpace",
            Self::Speedscope => "speedscope",
            Self::Collapsed => "collapsed stacks",
            Self::PerfScript => "perf script",
            Self::Firefox => "Firefox profile",
            Self::Nsight => "Nsight Systems",
        }
    }
}

/// Bytes that are looked at to find out what a file is.
pub(super) const PEEK_BYTES: usize = 64 * 1024;

/// Most bytes that a file may have whose format is read from memory as a whole.
const MAX_WHOLE: u64 = 4 << 30;
/// Most bytes that a packed database may unpack to.
const MAX_UNPACKED: u64 = 64 << 30;

/// Shares of the way: reading a file whole before it is taken apart, taking it apart, and both at once.
const LOADING: (f64, f64) = (0.0, 0.5);
const PARSING: (f64, f64) = (0.5, 1.0);
const BOTH: (f64, f64) = (0.0, 1.0);

/// Finds out what a file or folder is; gzip and zip around a file are looked through.
///
/// # Errors
/// If it cannot be read, or is nothing that is known.
pub fn detect(path: &Path) -> Result<Kind, FormatError> {
    let unknown = |what: &str| Err(FormatError::Unknown { what: what.to_owned(), path: path.to_path_buf() });
    let found = std::fs::metadata(path).map_err(FormatError::io("open", path))?;
    if found.is_dir() {
        let run = path.join(run_folder::MANIFEST_FILE).is_file();
        return if run { Ok(Kind::RunFolder) } else { unknown("The folder has no run.json") };
    }
    kind_of(&container::head(path, PEEK_BYTES, is_known)?).or_else(unknown)
}

/// Whether a file that begins like this is something that is known.
fn is_known(head: &[u8]) -> bool {
    kind_of(head).is_ok()
}

/// What a file that begins like this is, or what is said of one that is nothing that is known.
fn kind_of(head: &[u8]) -> Result<Kind, &'static str> {
    let json = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let goes_on = head.len() == PEEK_BYTES;
    let inside = json.get(1..).unwrap_or(&[]).trim_ascii_start();
    if nsight::looks_like(head) {
        return Ok(Kind::Nsight);
    }
    match (json.first(), inside.first()) {
        (None, _) => Err("The file is empty"),
        (Some(b'['), Some(b'{' | b']') | None) => Ok(Kind::Chrome),
        (Some(b'{'), Some(b'"' | b'}')) => kind_of_object(json),
        // Before Perfetto: a line end is a tag there, and packets have bytes that no text has.
        _ if perf_script::looks_like(head, goes_on) => Ok(Kind::PerfScript),
        _ if collapsed::looks_like(head, goes_on) => Ok(Kind::Collapsed),
        // Before Perfetto, whose files begin with the same tag.
        _ if xplane::looks_like(head) => Ok(Kind::XSpace),
        _ => match Fields::new(head).next_field() {
            // Field 1 with a length: a packet, whole or longer than what was looked at.
            Next::Field(1, _) | Next::Torn if head.first() == Some(&0x0a) => Ok(Kind::Perfetto),
            _ => Err("The content is of no known kind"),
        },
    }
}

/// What a file that begins with this JSON object is, by the members that its format must have.
fn kind_of_object(json: &[u8]) -> Result<Kind, &'static str> {
    let has = |text: &str| memchr::memmem::find(json, text.as_bytes()).is_some();
    if has("\"https://www.speedscope.app/file-format-schema.json\"") {
        Ok(Kind::Speedscope)
    } else if has("\"preprocessedProfileVersion\"") {
        Ok(Kind::Firefox)
    } else if has("\"traceEvents\"") || has("\"ph\"") {
        Ok(Kind::Chrome)
    } else if (has("\"evented\"") || has("\"sampled\"")) && has("\"profiles\"") {
        // Its address comes later or is missing.
        Ok(Kind::Speedscope)
    } else if has("\"meta\"") && has("\"interval\"") && has("\"startTime\"") {
        Err("The file is a Firefox profile that was not processed: open it in the Firefox Profiler and save it there")
    } else {
        Err("The file is JSON, but has no `traceEvents` and is no profile that is known")
    }
}

/// Opens a run folder or a trace file, packed with gzip or zip or not.
///
/// # Errors
/// If it cannot be read, is nothing that is known, or has nothing in it that can be read.
pub fn open_trace(path: &Path) -> Result<(Trace, ImportReport), FormatError> {
    open_watched(path, &Watch::default())
}

/// The same, where somebody looks on and may cancel it. Reading ends soon after.
///
/// # Errors
/// As [`open_trace`], and [`FormatError::Cancelled`].
pub fn open_watched(path: &Path, watch: &Watch) -> Result<(Trace, ImportReport), FormatError> {
    let result = open_kind(path, watch);
    if watch.cancelled() { Err(FormatError::Cancelled { path: path.to_path_buf() }) } else { result }
}

fn open_kind(path: &Path, watch: &Watch) -> Result<(Trace, ImportReport), FormatError> {
    match detect(path)? {
        Kind::RunFolder => run_folder::load(path).map(|run| (run.trace, run.report)),
        Kind::Perfetto => in_pieces(path, watch, read_perfetto),
        Kind::Chrome => in_pieces(path, watch, |pieces| chrome::read_from(&mut Window::new(pieces))),
        Kind::Collapsed => in_pieces(path, watch, |pieces| collapsed::read_from(&mut Window::new(pieces))),
        Kind::PerfScript => in_pieces(path, watch, |pieces| perf_script::read_from(&mut Window::new(pieces))),
        Kind::XSpace => in_passes::<xplane::Reader>(path, watch),
        Kind::Speedscope => in_passes::<speedscope::Reader>(path, watch),
        Kind::Firefox => whole(path, watch, firefox::read_watched),
        // A database is read where it lies, page by page.
        Kind::Nsight if container::is_plain(path, nsight::MAGIC)? => {
            nsight::read_file_watched(path, Looker { watch: watch.clone(), part: BOTH, all: 0 })
        }
        Kind::Nsight => unpacked(path, watch),
    }
}

/// Reads a file piece by piece, so that no more of it is in memory than is being taken apart.
fn in_pieces(
    path: &Path,
    watch: &Watch,
    read: impl FnOnce(&mut Pieces) -> Result<(Trace, ImportReport), FormatError>,
) -> Result<(Trace, ImportReport), FormatError> {
    from_pieces(Pieces::new(path, is_known, None, (watch, BOTH))?, read)
}

/// Reads a file in several passes, each of them piece by piece.
fn in_passes<P: Passes>(path: &Path, watch: &Watch) -> Result<(Trace, ImportReport), FormatError> {
    let mut passes = P::default();
    let part = |done: usize| done as f64 / P::MOST as f64;
    let mut number = 0;
    loop {
        let mut pieces = Pieces::new(path, is_known, None, (watch, (part(number), part(number + 1))))?;
        let again = passes.pass(&mut Window::new(&mut pieces));
        let end = pieces.finish()?;
        if !again? || watch.cancelled() {
            let (trace, mut report) = passes.finish();
            end.note(&mut report);
            return Ok((trace, report));
        }
        number += 1;
    }
}

/// Reads a file of a format that is read from memory as a whole.
fn whole(
    path: &Path,
    watch: &Watch,
    read: impl FnOnce(&[u8], Looker) -> Result<(Trace, ImportReport), FormatError>,
) -> Result<(Trace, ImportReport), FormatError> {
    from_pieces(Pieces::new(path, is_known, Some(MAX_WHOLE), (watch, LOADING))?, |pieces| {
        let mut bytes = Vec::new();
        // Errors are those of the end.
        pieces.read_to_end(&mut bytes).ok();
        read(&bytes, Looker { watch: watch.clone(), part: PARSING, all: bytes.len() as u64 })
    })
}

/// Reads a packed database from a temporary file: its pages are needed in any order, and are more than what is kept.
fn unpacked(path: &Path, watch: &Watch) -> Result<(Trace, ImportReport), FormatError> {
    from_pieces(Pieces::new(path, is_known, Some(MAX_UNPACKED), (watch, LOADING))?, |pieces| {
        let refused = |source| FormatError::Io {
            doing: "unpack the database to a temporary file",
            source,
            path: path.to_path_buf(),
        };
        let mut file = tempfile::NamedTempFile::new().map_err(refused)?;
        // Pieces end where they cannot be read on, so only writing can fail.
        let all = std::io::copy(pieces, &mut file).map_err(refused)?;
        nsight::read_file_watched(file.path(), Looker { watch: watch.clone(), part: PARSING, all })
    })
}

/// Reads what comes in pieces, and adds what is to be said of how they ended.
fn from_pieces(
    mut pieces: Pieces,
    read: impl FnOnce(&mut Pieces) -> Result<(Trace, ImportReport), FormatError>,
) -> Result<(Trace, ImportReport), FormatError> {
    let result = read(&mut pieces);
    // That a file cannot be read explains what was found in it, so this comes first.
    let end = pieces.finish()?;
    let (trace, mut report) = result?;
    end.note(&mut report);
    Ok((trace, report))
}

fn read_perfetto(pieces: &mut Pieces) -> Result<(Trace, ImportReport), FormatError> {
    let mut trace = Trace::default();
    let mut reader = PerfettoReader::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut trouble: Option<(String, u64)> = None;
    while let Some(read) = pieces.read(&mut piece).ok().filter(|read| *read > 0) {
        match reader.feed(piece.get(..read).unwrap_or(&[]), &mut trace) {
            Ok(()) => {}
            Err(FormatError::Damaged { what, offset, .. }) if trace.bounds().is_some() => {
                trouble = Some((format!("{}; all before it was read, nothing after it", what.to_lowercase()), offset));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let mut report = reader.report();
    if let Some((what, offset)) = trouble {
        report.note(&what, Some(offset));
    }
    report.close(&trace);
    Ok((trace, report))
}
