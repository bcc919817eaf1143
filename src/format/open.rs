//! Finds out what a file is, by its content and never by its name, and opens it.

use super::perfetto::PerfettoReader;
use super::wire::{Fields, Next};
use super::{FormatError, ImportReport, chrome, run_folder};
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
}

/// Bytes that are looked at to find out what a file is.
const PEEK_BYTES: usize = 64 * 1024;

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Most bytes that a file may have, unpacked, to be held in memory while it is read.
const MAX_JSON_BYTES: u64 = 4 << 30;

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
    let json = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
    let inside = json.get(1..).unwrap_or(&[]).trim_ascii_start();
    match (json.first(), inside.first()) {
        (None, _) => unknown("The file is empty"),
        (Some(b'['), Some(b'{' | b']') | None) => Ok(Kind::Chrome),
        (Some(b'{'), Some(b'"' | b'}')) => {
            let member = |name: &[u8]| memchr::memmem::find(json, name).is_some();
            if member(b"\"traceEvents\"") || member(b"\"ph\"") {
                Ok(Kind::Chrome)
            } else {
                unknown("The file is JSON, but has no `traceEvents`")
            }
        }
        _ => match Fields::new(&head).next_field() {
            // Field 1 with a length: a packet, whole or longer than what was looked at.
            Next::Field(1, _) | Next::Torn if head.first() == Some(&0x0a) => Ok(Kind::Perfetto),
            _ => unknown("The content is of no known kind"),
        },
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
        Kind::Chrome => {
            let (mut content, packed) = unpacked(path)?;
            let mut bytes = Vec::new();
            let cut = read_up_to(&mut content, &mut bytes, MAX_JSON_BYTES);
            match cut {
                Err(error) if !packed || bytes.is_empty() => {
                    return Err(FormatError::io("read the trace", path)(error));
                }
                Ok(true) => {
                    let what = format!("Has more than {} GiB unpacked, too much for JSON", MAX_JSON_BYTES >> 30);
                    return Err(FormatError::Text { what, path: path.to_path_buf() });
                }
                _ => {}
            }
            let (trace, mut report) = chrome::read(&bytes)?;
            if cut.is_err() {
                report.note("gzip file that is cut or damaged, read as far as it goes", Some(bytes.len() as u64));
            }
            Ok((trace, report))
        }
    }
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
