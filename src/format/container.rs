//! What is around a trace: nothing, gzip, or a zip archive with gzip or nothing inside. Found by content; nothing is ever
//! unpacked to the disk, so paths inside an archive mean nothing.

use super::FormatError;
use super::watch::{Watch, Watched};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;
use zip::ZipArchive;

/// Bytes that are read at a time.
pub(super) const PIECE_BYTES: usize = 1 << 20;
/// Most bytes that a file may have to be held in memory while it is read.
const MAX_BYTES: u64 = 4 << 30;
/// A packed file may always unpack to this much.
const FREE_BYTES: u64 = 256 << 20;
/// Beyond that it may unpack to so many times its size; traces shrink to a twentieth, bombs to a thousandth.
const MAX_RATIO: u64 = 100;
/// Most members of an archive that are looked at.
const MAX_MEMBERS: usize = 4096;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZIP: [u8; 4] = *b"PK\x03\x04";

/// The content of a file, with what was around it.
pub(super) struct Content {
    /// Unpacks as it is read.
    pub reader: Box<dyn Read>,
    /// What it is packed as, if it is.
    pub packed: Option<&'static str>,
    /// Most bytes that may be read from it.
    pub limit: u64,
    /// What the import report is to say of the container.
    pub notes: Vec<String>,
}

/// Opens a file. `known` tells by its beginning whether a member of an archive is a trace; `most` is how much of a member
/// is needed.
pub(super) fn open(
    path: &Path,
    most: u64,
    known: impl Fn(&[u8]) -> bool,
    (watch, part): (&Watch, (f64, f64)),
) -> Result<Content, FormatError> {
    let mut magic = [0; 4];
    let mut file = File::open(path).map_err(FormatError::io("open", path))?;
    let size = file.metadata().map_or(0, |found| found.len());
    let mut read = 0;
    while read < magic.len() {
        match file.read(magic.get_mut(read..).unwrap_or(&mut [])).map_err(FormatError::io("read", path))? {
            0 => break,
            more => read += more,
        }
    }
    let again = || File::open(path).map_err(FormatError::io("open", path));
    let packed_limit = MAX_BYTES.min(FREE_BYTES.max(size.saturating_mul(MAX_RATIO)));
    if magic == ZIP {
        return member(again()?, path, most.min(packed_limit), known).map(|(bytes, notes)| Content {
            reader: Box::new(Cursor::new(bytes)),
            packed: Some("zip archive"),
            limit: packed_limit,
            notes,
        });
    }
    let watched = Watched { inner: again()?, watch: watch.clone(), read: 0, all: size, part };
    let file = BufReader::with_capacity(PIECE_BYTES, watched);
    let gzip = magic.starts_with(&GZIP) && read >= 2;
    Ok(Content {
        reader: if gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) },
        packed: gzip.then_some("gzip file"),
        limit: if gzip { packed_limit } else { MAX_BYTES },
        notes: Vec::new(),
    })
}

/// Whether a file begins with these bytes itself, not only what is packed in it.
pub(super) fn is_plain(path: &Path, magic: &[u8]) -> Result<bool, FormatError> {
    let mut head = Vec::with_capacity(magic.len());
    let file = File::open(path).map_err(FormatError::io("open", path))?;
    file.take(magic.len() as u64).read_to_end(&mut head).map_err(FormatError::io("read", path))?;
    Ok(head == magic)
}

/// Reads up to `most` bytes of the member that is a trace: the largest, where several are.
fn member(
    file: File,
    path: &Path,
    most: u64,
    known: impl Fn(&[u8]) -> bool,
) -> Result<(Vec<u8>, Vec<String>), FormatError> {
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
        through_gzip(&mut member, super::open::PEEK_BYTES as u64, &mut head).ok();
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
    let mut bytes = Vec::new();
    let mut member = archive.by_index(idx).map_err(refused)?;
    let mut notes = Vec::new();
    if let Err(error) = through_gzip(&mut member, most.saturating_add(1), &mut bytes) {
        notes.push(format!("member of the zip archive that is cut or damaged, read as far as it goes: {error}"));
    }
    if !others.is_empty() {
        notes.push(format!("further traces in the zip archive, not opened: {}", others.join(", ")));
    }
    Ok((bytes, notes))
}

/// Reads up to `most` bytes, unpacked where it is gzip. What came before an error is kept.
fn through_gzip(member: &mut dyn Read, most: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut magic = Vec::new();
    member.take(2).read_to_end(&mut magic)?;
    let whole = Cursor::new(magic.clone()).chain(member);
    if magic == GZIP {
        MultiGzDecoder::new(BufReader::new(whole)).take(most).read_to_end(out)?;
    } else {
        whole.take(most).read_to_end(out)?;
    }
    Ok(())
}
