//! What is around a trace: nothing, gzip, or a zip archive with gzip or nothing inside. Found by content; nothing is
//! unpacked under a name from inside an archive, so paths there mean nothing.

use super::open::PEEK_BYTES;
use super::watch::{Watch, Watched};
use super::{FormatError, ImportReport};
use crossbeam_channel::{Receiver, Sender, bounded};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek as _};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use zip::ZipArchive;

/// Bytes that are read at a time.
pub(super) const PIECE_BYTES: usize = 256 << 10;
/// Pieces that may wait to be taken apart.
const PIECES: usize = 2;
/// A packed file may always unpack to this much.
const FREE_BYTES: u64 = 256 << 20;
/// Beyond that it may unpack to so many times its size; traces shrink to a twentieth, bombs to a thousandth.
const MAX_RATIO: u64 = 100;
/// Most members of an archive that are looked at.
const MAX_MEMBERS: usize = 4096;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZIP: [u8; 4] = *b"PK\x03\x04";

/// Tells by its beginning whether the content of a file is a trace.
pub(super) type Known = fn(&[u8]) -> bool;

/// What is around the content of a file.
#[derive(Debug, Default)]
struct Around {
    /// What it is packed as, if it is.
    packed: Option<&'static str>,
    /// Most bytes that may be read from it.
    limit: Option<u64>,
    /// What the import report is to say of it.
    notes: Vec<String>,
}

/// The first bytes of the content of a file, up to `most`.
pub(super) fn head(path: &Path, most: usize, known: Known) -> Result<Vec<u8>, FormatError> {
    let (head, _) = visit(path, known, (&Watch::default(), (0.0, 1.0)), |content, _| {
        let mut head = Vec::with_capacity(most);
        match content.take(most as u64).read_to_end(&mut head) {
            // What is damaged further on still has a beginning.
            Err(error) if head.is_empty() => Err(FormatError::io("read", path)(error)),
            _ => Ok(head),
        }
    })?;
    head
}

/// Hands the content of a file, unpacked as it is read, to `visit`; returns what that returns and what was around it.
fn visit<T>(
    path: &Path,
    known: Known,
    (watch, part): (&Watch, (f64, f64)),
    visit: impl FnOnce(&mut dyn Read, &Around) -> T,
) -> Result<(T, Vec<String>), FormatError> {
    let mut file = File::open(path).map_err(FormatError::io("open", path))?;
    let size = file.metadata().map_or(0, |found| found.len());
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic).map_err(FormatError::io("read", path))?;
    file.rewind().map_err(FormatError::io("read", path))?;
    let limit = Some(FREE_BYTES.max(size.saturating_mul(MAX_RATIO)));
    if magic == ZIP {
        return member(file, path, known, |member, notes| {
            let around = Around { packed: Some("zip archive"), limit, notes };
            let (all, watch) = (member.size(), watch.clone());
            let mut member = Watched { inner: member, watch, read: 0, all, part };
            let visited = through_gzip(&mut member, |content| visit(content, &around));
            visited.map(|visited| (visited, around.notes)).map_err(FormatError::io("read", path))
        });
    }
    let watched = Watched { inner: file, watch: watch.clone(), read: 0, all: size, part };
    let mut file = BufReader::with_capacity(PIECE_BYTES, watched);
    if magic.starts_with(&GZIP) {
        let around = Around { packed: Some("gzip file"), limit, notes: Vec::new() };
        return Ok((visit(&mut MultiGzDecoder::new(file), &around), around.notes));
    }
    Ok((visit(&mut file, &Around::default()), Vec::new()))
}

/// How the reading of a file ended.
#[derive(Debug, Default)]
pub(super) struct End {
    /// What the import report is to say of it.
    pub notes: Vec<String>,
    /// What is packed is cut or damaged: what is to be said, and the bytes that were read before.
    pub cut: Option<(String, u64)>,
}

impl End {
    /// Adds it to the import report.
    pub fn note(&self, report: &mut ImportReport) {
        self.notes.iter().for_each(|note| report.note(note, None));
        if let Some((what, offset)) = &self.cut {
            report.note(what, Some(*offset));
        }
    }
}

/// The content of a file, read and unpacked by a thread of its own while what came before is taken apart.
pub(super) struct Pieces {
    full: Receiver<Vec<u8>>,
    empty: Sender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    thread: JoinHandle<Result<End, FormatError>>,
    path: PathBuf,
}

impl Pieces {
    /// Begins to read a file. `most` is how many bytes it may have.
    pub fn new(path: &Path, known: Known, most: Option<u64>, watch: (&Watch, (f64, f64))) -> Result<Self, FormatError> {
        let (filled, full) = bounded(PIECES);
        let (empty, emptied) = bounded(PIECES + 2);
        let (path, watch, part) = (path.to_path_buf(), watch.0.clone(), watch.1);
        let its = path.clone();
        let read = move || {
            let (cut, notes) = visit(&its, known, (&watch, part), |content, around| {
                send_all(content, (around, most), &its, (&filled, &emptied))
            })?;
            Ok(End { notes, cut: cut? })
        };
        let thread = std::thread::Builder::new().name("trace file".to_owned()).spawn(read);
        let thread = thread.map_err(FormatError::io("start a thread for", &path))?;
        Ok(Self { full, empty, piece: Vec::new(), at: 0, thread, path })
    }

    /// Reads no more, and says how it ended.
    ///
    /// # Errors
    /// If the file cannot be read, or unpacks to too much.
    pub fn finish(self) -> Result<End, FormatError> {
        let Self { full, thread, path, .. } = self;
        drop(full);
        let failed = |_| Err(FormatError::io("read", &path)(std::io::Error::other("the thread that reads has failed")));
        thread.join().unwrap_or_else(failed)
    }
}
impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at >= self.piece.len() {
            let Ok(piece) = self.full.recv() else { return Ok(0) };
            // If there is no place for it, it is let go.
            self.empty.try_send(std::mem::replace(&mut self.piece, piece)).ok();
            self.at = 0;
        }
        let read = self.piece.get(self.at..).unwrap_or(&[]).read(out)?;
        self.at += read;
        Ok(read)
    }
}

/// Sends all of a content in pieces, for as long as somebody takes them; returns where it is damaged, if it is.
fn send_all(
    content: &mut dyn Read,
    (around, most): (&Around, Option<u64>),
    path: &Path,
    (filled, emptied): (&Sender<Vec<u8>>, &Receiver<Vec<u8>>),
) -> Result<Option<(String, u64)>, FormatError> {
    let mut all = 0;
    loop {
        let mut piece: Vec<u8> = emptied.try_recv().unwrap_or_default();
        piece.clear();
        piece.reserve(PIECE_BYTES);
        let read = content.take(PIECE_BYTES as u64).read_to_end(&mut piece);
        all += piece.len() as u64;
        let last = piece.is_empty() || filled.send(piece).is_err();
        match (read, around.packed) {
            (Ok(_), _) if last => return Ok(None),
            (Ok(_), _) => {}
            (Err(error), Some(packed)) if all > 0 => {
                return Ok(Some((format!("{packed} that is cut or damaged, read as far as it goes: {error}"), all)));
            }
            (Err(error), _) => return Err(FormatError::io("read the trace", path)(error)),
        }
        let limit = [around.limit, most].into_iter().flatten().min().unwrap_or(u64::MAX);
        if all > limit {
            let mib = limit >> 20;
            let what = match around.packed {
                Some(packed) => format!("The {packed} unpacks to more than {mib} MiB, too much for its size"),
                None => format!("Has more than {mib} MiB, too much to be read at once"),
            };
            return Err(FormatError::Text { what, path: path.to_path_buf() });
        }
    }
}

/// Whether a file begins with these bytes itself, not only what is packed in it.
pub(super) fn is_plain(path: &Path, magic: &[u8]) -> Result<bool, FormatError> {
    let mut head = Vec::with_capacity(magic.len());
    let file = File::open(path).map_err(FormatError::io("open", path))?;
    file.take(magic.len() as u64).read_to_end(&mut head).map_err(FormatError::io("read", path))?;
    Ok(head == magic)
}

/// Finds the member that is a trace (the largest, where several are), and hands it to `visit` with what is to be said of
/// the others.
fn member<T>(
    file: File,
    path: &Path,
    known: Known,
    visit: impl FnOnce(&mut zip::read::ZipFile<'_, BufReader<File>>, Vec<String>) -> Result<T, FormatError>,
) -> Result<T, FormatError> {
    let broken = |what: String| FormatError::Text { what, path: path.to_path_buf() };
    let refused = |error: zip::result::ZipError| broken(format!("The zip archive cannot be read: {error}"));
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(refused)?;
    let mut members: Vec<(u64, usize, String)> = Vec::new();
    for idx in 0..archive.len().min(MAX_MEMBERS) {
        // Without its key, that a member is there is all that can be known of it.
        let member = archive.by_index_raw(idx).map_err(refused)?;
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        if member.is_file() && !name.starts_with("__MACOSX/") && !name.ends_with(".DS_Store") {
            members.push((member.size(), idx, name));
        }
    }
    members.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen = None;
    let mut others = Vec::new();
    for (_, idx, name) in &members {
        let mut head = Vec::new();
        let mut member = archive.by_index(*idx).map_err(refused)?;
        // A member that is damaged further on still has a beginning.
        through_gzip(&mut member, |content| content.take(PEEK_BYTES as u64).read_to_end(&mut head).ok()).ok();
        match (known(&head), chosen) {
            (true, None) => chosen = Some(*idx),
            (true, Some(_)) => others.push(name.clone()),
            (false, _) => {}
        }
    }
    let Some(idx) = chosen else {
        let names: Vec<&str> = members.iter().take(5).map(|(_, _, name)| name.as_str()).collect();
        return Err(broken(format!(
            "No member of the zip archive is a trace that is known (it has: {})",
            names.join(", ")
        )));
    };
    let mut notes = Vec::new();
    if !others.is_empty() {
        notes.push(format!("further traces in the zip archive, not opened: {}", others.join(", ")));
    }
    visit(&mut archive.by_index(idx).map_err(refused)?, notes)
}

/// Hands a member of an archive to `visit`, unpacked where it is gzip.
fn through_gzip<T>(member: &mut dyn Read, visit: impl FnOnce(&mut dyn Read) -> T) -> std::io::Result<T> {
    let mut magic = Vec::new();
    member.take(2).read_to_end(&mut magic)?;
    let gzip = magic == GZIP;
    let mut whole = Cursor::new(magic).chain(member);
    Ok(if gzip { visit(&mut MultiGzDecoder::new(BufReader::new(whole))) } else { visit(&mut whole) })
}
