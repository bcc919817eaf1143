//! Finds out what a file is, by its content and never by its name, and opens it.

use super::perfetto::PerfettoReader;
use super::wire::{Fields, Next};
use super::{FormatError, ImportReport, chrome, collapsed, firefox, perf_script, run_folder, speedscope};
use crate::trace::Trace;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
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
    /// Processed profile of the Firefox Profiler or samply.
    Firefox,
}

impl Kind {
    /// Name of the format.
    pub fn label(self) -> &'static str {
        match self {
            Self::RunFolder => "run folder",
            Self::Perfetto => "Perfetto",
            Self::Chrome => "Chrome JSON",
            Self::Speedscope => "speedscope",
            Self::Collapsed => "collapsed stacks",
            Self::PerfScript => "perf script",
            Self::Firefox => "Firefox profile",
        }
    }
}

/// Bytes that are looked at to find out what a file is.
const PEEK_BYTES: usize = 64 * 1024;

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Most bytes that a file may have, unpacked, to be held in memory while it is read.
const MAX_WHOLE_BYTES: u64 = 4 << 30;

/// Finds out what a file or folder is; gzip around a file is looked through.
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
    let (mut content, _) = unpacked(path)?;
    let mut head = Vec::with_capacity(PEEK_BYTES);
    if let Err(error) = content.by_ref().take(PEEK_BYTES as u64).read_to_end(&mut head)
        && head.is_empty()
    {
        return Err(FormatError::io("read", path)(error));
    }
    kind_of(&head).or_else(unknown)
}

/// What a file that begins like this is, or what is said of one that is nothing that is known.
fn kind_of(head: &[u8]) -> Result<Kind, &'static str> {
    let json = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let goes_on = head.len() == PEEK_BYTES;
    let inside = json.get(1..).unwrap_or(&[]).trim_ascii_start();
    match (json.first(), inside.first()) {
        (None, _) => Err("The file is empty"),
        (Some(b'['), Some(b'{' | b']') | None) => Ok(Kind::Chrome),
        (Some(b'{'), Some(b'"' | b'}')) => kind_of_object(json),
        // Before Perfetto: a line end is a tag there, and packets have bytes that no text has.
        _ if perf_script::looks_like(head, goes_on) => Ok(Kind::PerfScript),
        _ if collapsed::looks_like(head, goes_on) => Ok(Kind::Collapsed),
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

/// Opens a run folder or a trace file, packed with gzip or not.
///
/// # Errors
/// If it cannot be read, is nothing that is known, or has nothing in it that can be read.
pub fn open_trace(path: &Path) -> Result<(Trace, ImportReport), FormatError> {
    match detect(path)? {
        Kind::RunFolder => run_folder::load(path).map(|run| (run.trace, run.report)),
        Kind::Perfetto => read_perfetto(path),
        Kind::Chrome => read_whole(path, chrome::read),
        Kind::Speedscope => read_whole(path, speedscope::read),
        Kind::Collapsed => read_whole(path, collapsed::read),
        Kind::PerfScript => read_whole(path, perf_script::read),
        Kind::Firefox => read_whole(path, firefox::read),
    }
}

/// Reads a file of a format that is read from memory.
fn read_whole(
    path: &Path,
    read: impl FnOnce(&[u8]) -> Result<(Trace, ImportReport), FormatError>,
) -> Result<(Trace, ImportReport), FormatError> {
    let (mut content, packed) = unpacked(path)?;
    let mut bytes = Vec::new();
    let cut = read_up_to(&mut content, &mut bytes, MAX_WHOLE_BYTES);
    match cut {
        Err(error) if !packed || bytes.is_empty() => return Err(FormatError::io("read the trace", path)(error)),
        Ok(true) => {
            let what = format!("Has more than {} GiB unpacked, too much to be read at once", MAX_WHOLE_BYTES >> 30);
            return Err(FormatError::Text { what, path: path.to_path_buf() });
        }
        _ => {}
    }
    let (trace, mut report) = read(&bytes)?;
    if cut.is_err() {
        report.note("gzip file that is cut or damaged, read as far as it goes", Some(bytes.len() as u64));
    }
    Ok((trace, report))
}

/// The content of a file, unpacked if it is packed, and whether it is.
fn unpacked(path: &Path) -> Result<(Box<dyn Read>, bool), FormatError> {
    let mut magic = [0; 2];
    let mut file = File::open(path).map_err(FormatError::io("open", path))?;
    let read = file.read(&mut magic).map_err(FormatError::io("read", path))?;
    let file = BufReader::with_capacity(PIECE_BYTES, File::open(path).map_err(FormatError::io("open", path))?);
    let packed = read == 2 && magic == [0x1f, 0x8b];
    Ok(if packed { (Box::new(MultiGzDecoder::new(file)), true) } else { (Box::new(file), false) })
}

/// Reads to the end, or up to a limit; returns whether there is more. What came before an error is kept.
fn read_up_to(content: &mut dyn Read, bytes: &mut Vec<u8>, limit: u64) -> std::io::Result<bool> {
    content.take(limit.saturating_add(1)).read_to_end(bytes)?;
    Ok(bytes.len() as u64 > limit)
}

fn read_perfetto(path: &Path) -> Result<(Trace, ImportReport), FormatError> {
    let (mut content, packed) = unpacked(path)?;
    let mut trace = Trace::default();
    let mut reader = PerfettoReader::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut trouble: Option<(String, Option<u64>)> = None;
    loop {
        let read = match content.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if packed => {
                trouble = Some((format!("gzip file that is cut or damaged, read as far as it goes: {error}"), None));
                break;
            }
            Err(error) => return Err(FormatError::io("read the trace", path)(error)),
        };
        match reader.feed(piece.get(..read).unwrap_or(&[]), &mut trace) {
            Ok(()) => {}
            Err(FormatError::Damaged { what, offset, .. }) if trace.bounds().is_some() => {
                trouble =
                    Some((format!("{}; all before it was read, nothing after it", what.to_lowercase()), Some(offset)));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let mut report = reader.report();
    if let Some((what, offset)) = trouble {
        report.note(&what, offset);
    }
    report.close(&trace);
    Ok((trace, report))
}
