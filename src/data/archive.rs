//! Reading files whole, packed or not, within bounds: a small file must not unpack to more than the memory holds.

use super::error::DataError;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Most bytes that one file may unpack to; the largest known set (CIFAR-10 in six files) is 185 MB.
pub const MAX_UNPACKED: u64 = 2 << 30;

/// First bytes of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The first bytes of a file, at most `count`.
pub fn head(path: &Path, count: usize) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| DataError::io(path, &e))?;
    file.take(count as u64).read_to_end(&mut bytes).map_err(|e| DataError::io(path, &e))?;
    Ok(bytes)
}

/// Whether a file begins as gzip does.
pub fn is_gzip(path: &Path) -> Result<bool, DataError> {
    Ok(head(path, 2)?.starts_with(&GZIP))
}

fn reader(path: &Path) -> Result<Box<dyn Read>, DataError> {
    let packed = is_gzip(path)?;
    let file = BufReader::new(File::open(path).map_err(|e| DataError::io(path, &e))?);
    Ok(if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// The first bytes after unpacking.
pub fn unpacked_head(path: &Path, count: usize) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    reader(path)?.take(count as u64).read_to_end(&mut bytes).map_err(|e| DataError::io(path, &e))?;
    Ok(bytes)
}

/// A whole file, unpacked when it is gzip.
pub fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    bounded(path, reader(path)?)
}

fn bounded(path: &Path, input: impl Read) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    input.take(MAX_UNPACKED + 1).read_to_end(&mut bytes).map_err(|e| DataError::io(path, &e))?;
    if bytes.len() as u64 > MAX_UNPACKED {
        return Err(DataError::format(path, bytes.len(), "more data", "at most 2 GiB"));
    }
    Ok(bytes)
}

/// A named piece of data: a file of a folder, or a member of a tar archive.
pub struct Piece {
    /// Path of the file, or archive and member.
    pub path: PathBuf,
    /// File name alone.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// The files of a folder or of a tar archive (packed or not) whose names `wanted` accepts, sorted by name.
pub fn pieces(path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Piece>, DataError> {
    let mut found = if path.is_dir() { folder_pieces(path, wanted)? } else { tar_pieces(path, wanted)? };
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn folder_pieces(path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Piece>, DataError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| DataError::io(path, &e))? {
        let file = entry.map_err(|e| DataError::io(path, &e))?.path();
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if file.is_file() && wanted(&name) {
            found.push(Piece { bytes: read(&file)?, name, path: file });
        }
    }
    Ok(found)
}

fn tar_pieces(path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Piece>, DataError> {
    let io = |e: std::io::Error| DataError::io(path, &e);
    let mut found: Vec<Piece> = Vec::new();
    let mut total = 0;
    let mut archive = tar::Archive::new(reader(path)?);
    for entry in archive.entries().map_err(io)? {
        let entry = entry.map_err(io)?;
        let member = entry.path().map_err(io)?.into_owned();
        let name = member.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !entry.header().entry_type().is_file() || !wanted(&name) {
            continue;
        }
        total += entry.size();
        if total > MAX_UNPACKED {
            return Err(DataError::format(path, 0, "more data", "at most 2 GiB in an archive"));
        }
        let bytes = bounded(path, entry)?;
        found.push(Piece { path: path.join(member), name, bytes });
    }
    Ok(found)
}
