//! CIFAR-10 in its Python form: pickled dictionaries with `data` (10000×3072 bytes) and `labels`, in the files
//! `data_batch_1` to `data_batch_5` and `test_batch`, as a folder or as the `.tar.gz` it comes in.
//!
//! `serde-pickle` builds plain values only and never runs what a pickle names. The array is the one object in the file:
//! a call of numpy's `_reconstruct` followed by a state tuple, which is read here by finding its one long byte string.

use super::IMAGE_BYTES;
use super::archive::{self, Piece};
use super::cifar_bin::{CLASSES, dataset};
use super::error::DataError;
use super::memory::MemorySource;
use super::source::Dataset;
use serde_pickle::{DeOptions, HashableValue, Value};
use std::path::Path;

/// Whether a file name is one of the set's.
pub fn is_member(name: &str) -> bool {
    name == "test_batch"
        || name.strip_prefix("data_batch_").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Bytes of a value: byte strings as they are; text as Latin-1, since protocol 2 wrote Python 2 strings as such.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Some(bytes.clone()),
        Value::String(text) => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
        _ => None,
    }
}

/// The longest byte string anywhere in a value, for the array's state tuple.
fn longest_bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(_) | Value::String(_) => bytes_of(value),
        Value::List(items) | Value::Tuple(items) => items.iter().filter_map(longest_bytes).max_by_key(Vec::len),
        _ => None,
    }
}

fn entry<'a>(map: &'a std::collections::BTreeMap<HashableValue, Value>, key: &str) -> Option<&'a Value> {
    map.iter()
        .find(|(known, _)| match known {
            HashableValue::Bytes(bytes) => bytes == key.as_bytes(),
            HashableValue::String(text) => text == key,
            _ => false,
        })
        .map(|(_, value)| value)
}

fn append(piece: &Piece, pixels: &mut Vec<u8>, labels: &mut Vec<u16>) -> Result<(), DataError> {
    let bad = |found: String, expected: &str| DataError::format(&piece.path, 0, found, expected);
    let options = DeOptions::new().replace_unresolved_globals().decode_strings();
    let value = serde_pickle::value_from_slice(&piece.bytes, options)
        .or_else(|_| serde_pickle::value_from_slice(&piece.bytes, DeOptions::new().replace_unresolved_globals()))
        .map_err(|e| bad(format!("no readable pickle ({e})"), "a CIFAR-10 batch pickled by Python"))?;
    let Value::Dict(map) = value else {
        return Err(bad("a pickle that is no dictionary".to_owned(), "a dictionary with `data` and `labels`"));
    };
    let Some(Value::List(list)) = entry(&map, "labels") else {
        return Err(bad("no list `labels`".to_owned(), "a dictionary with `data` and `labels`"));
    };
    let data = entry(&map, "data")
        .and_then(longest_bytes)
        .ok_or_else(|| bad("no bytes `data`".to_owned(), "a dictionary with `data` and `labels`"))?;
    if list.is_empty() || data.len() != list.len() * IMAGE_BYTES {
        let found = format!("{} labels and {} bytes of images", list.len(), data.len());
        return Err(bad(found, "3072 bytes for each label"));
    }
    for (number, label) in list.iter().enumerate() {
        match label {
            Value::I64(label @ 0..=9) => labels.push(*label as u16),
            other => return Err(bad(format!("label {other} of image {number}"), "a label from 0 to 9")),
        }
    }
    pixels.extend(data);
    Ok(())
}

/// Opens a folder or an archive. Without a test batch the last sixth of the images is the test set.
pub fn open(path: &Path) -> Result<Dataset, DataError> {
    let pieces = archive::pieces(path, &is_member)?;
    let set = |test: bool| {
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        for piece in pieces.iter().filter(|piece| (piece.name == "test_batch") == test) {
            append(piece, &mut pixels, &mut labels)?;
        }
        let classes = CLASSES.iter().map(|class| (*class).to_owned()).collect();
        MemorySource::new(pixels, labels, classes).ok_or_else(|| {
            DataError::unusable(path, "its labels and images do not fit together", "Get the files again")
        })
    };
    dataset(path, "CIFAR-10", set(false)?, set(true)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_pickle::SerOptions;
    use std::collections::BTreeMap;

    fn batch(labels: &[i64], bytes: usize) -> Vec<u8> {
        let mut map = BTreeMap::new();
        let pixels: Vec<u8> = (0..bytes).map(|i| (i % 256) as u8).collect();
        map.insert(HashableValue::Bytes(b"data".to_vec()), Value::Tuple(vec![Value::I64(1), Value::Bytes(pixels)]));
        let list = labels.iter().map(|label| Value::I64(*label)).collect();
        map.insert(HashableValue::Bytes(b"labels".to_vec()), Value::List(list));
        serde_pickle::value_to_vec(&Value::Dict(map), SerOptions::new()).unwrap()
    }

    fn opened(bytes: &[u8]) -> Result<Dataset, DataError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("data_batch_1"), bytes).unwrap();
        open(dir.path())
    }

    #[test]
    fn a_pickled_batch_is_read() {
        let data = opened(&batch(&[5, 7, 1, 1, 1, 1, 2], 7 * 3072)).unwrap();
        assert_eq!((data.train.len(), data.train.label(1), data.test.label(0)), (6, 7, 2));
        assert_eq!(data.train.bytes(0).unwrap()[300], 44);
    }

    /// Written by Python's `pickle` (protocol 2) from a numpy array, as the real files are.
    #[test]
    fn a_batch_written_by_numpy_is_read_to_the_byte() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cifar-py");
        let data = open(&dir).unwrap();
        assert_eq!([0, 1, 2].map(|idx| data.train.label(idx)), [7, 0, 9]);
        for idx in 0..3 {
            let expected: Vec<u8> = (0..3072).map(|i| ((idx * 3072 + i) % 251) as u8).collect();
            assert_eq!(data.train.bytes(idx).unwrap(), expected);
        }
    }

    #[test]
    fn broken_batches_are_refused() {
        let error = |bytes: &[u8]| opened(bytes).err().unwrap().to_string();
        assert!(error(&batch(&[1, 12], 2 * 3072)).contains("label 12"));
        assert!(error(&batch(&[1], 100)).contains("100 bytes"));
        assert!(error(b"no pickle").contains("pickle"));
        assert!(error(&[]).contains("pickle"));
        let whole = batch(&[1], 3072);
        for cut in (0..whole.len()).step_by(97) {
            assert!(opened(&whole[..cut]).is_err());
        }
    }
}
