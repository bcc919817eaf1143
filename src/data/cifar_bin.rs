//! CIFAR-10 in its binary form (Krizhevsky 2009): records of one label byte and 3×32×32 planar bytes, in the files
//! `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`, as a folder or as the `.tar.gz` it comes in.

use super::IMAGE_BYTES;
use super::archive::{self, Piece};
use super::error::DataError;
use super::memory::MemorySource;
use super::source::Dataset;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a record: the label, then the pixels.
pub const RECORD: usize = 1 + IMAGE_BYTES;
/// Class names of CIFAR-10.
pub const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// Whether a file name is one of the set's.
pub fn is_member(name: &str) -> bool {
    name == "test_batch.bin" || (name.starts_with("data_batch_") && name.ends_with(".bin"))
}

fn append(piece: &Piece, pixels: &mut Vec<u8>, labels: &mut Vec<u16>) -> Result<(), DataError> {
    let whole = piece.bytes.len() / RECORD * RECORD;
    if whole != piece.bytes.len() || whole == 0 {
        let found = format!("{} bytes", piece.bytes.len());
        return Err(DataError::format(
            &piece.path,
            whole,
            found,
            format!("a multiple of {RECORD} bytes, one record each"),
        ));
    }
    for (number, record) in piece.bytes.chunks_exact(RECORD).enumerate() {
        if record[0] > 9 {
            let found = format!("label {}", record[0]);
            return Err(DataError::format(&piece.path, number * RECORD, found, "a label from 0 to 9"));
        }
        labels.push(u16::from(record[0]));
        pixels.extend_from_slice(&record[1..]);
    }
    Ok(())
}

fn set<'a>(path: &Path, pieces: impl Iterator<Item = &'a Piece>) -> Result<MemorySource, DataError> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for piece in pieces {
        append(piece, &mut pixels, &mut labels)?;
    }
    let classes = CLASSES.iter().map(|class| (*class).to_owned()).collect();
    MemorySource::new(pixels, labels, classes)
        .ok_or_else(|| DataError::unusable(path, "its labels and images do not fit together", "Get the files again"))
}

/// Opens a folder or an archive. Without a test file the last sixth of the images is the test set.
pub fn open(path: &Path) -> Result<Dataset, DataError> {
    let pieces = archive::pieces(path, &is_member)?;
    let train = set(path, pieces.iter().filter(|piece| piece.name != "test_batch.bin"))?;
    let test = set(path, pieces.iter().filter(|piece| piece.name == "test_batch.bin"))?;
    dataset(path, "CIFAR-10", train, test)
}

/// Puts the two sets together, one made from the other where it is missing.
pub fn dataset(path: &Path, name: &str, train: MemorySource, test: MemorySource) -> Result<Dataset, DataError> {
    use super::source::ImageSource as _;
    let (train, test) = match (train.is_empty(), test.is_empty()) {
        (false, false) => (train, test),
        (false, true) => train.split(6),
        (true, false) => test.split(6),
        (true, true) => {
            return Err(DataError::unusable(
                path,
                "there are no CIFAR-10 batches in it",
                "Use the folder or archive that holds data_batch_1",
            ));
        }
    };
    Ok(Dataset {
        name: name.to_owned(),
        origin: path.display().to_string(),
        train: Arc::new(train),
        test: Arc::new(test),
        licence: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(labels: &[u8]) -> Vec<u8> {
        labels
            .iter()
            .flat_map(|label| std::iter::once(*label).chain((0..IMAGE_BYTES).map(|i| (i % 256) as u8)))
            .collect()
    }

    #[test]
    fn folder_and_archive_give_the_same_set() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("cifar-10-batches-bin");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("data_batch_1.bin"), records(&[1, 2, 3])).unwrap();
        std::fs::write(folder.join("data_batch_2.bin"), records(&[4])).unwrap();
        std::fs::write(folder.join("test_batch.bin"), records(&[9])).unwrap();
        let packed = dir.path().join("cifar.tar.gz");
        let file = std::fs::File::create(&packed).unwrap();
        let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(file, flate2::Compression::fast()));
        tar.append_dir_all("cifar-10-batches-bin", &folder).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        for path in [folder, packed] {
            let data = open(&path).unwrap();
            let labels: Vec<u16> = (0..data.train.len()).map(|idx| data.train.label(idx)).collect();
            assert_eq!((labels, data.test.label(0)), (vec![1, 2, 3, 4], 9));
            let mut image = vec![0; IMAGE_BYTES];
            data.train.read(3, &mut image).unwrap();
            assert_eq!(image[300], 44);
        }
    }

    #[test]
    fn broken_batches_are_refused_with_their_place() {
        let error = |bytes: &[u8]| {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("data_batch_1.bin"), bytes).unwrap();
            open(dir.path()).err().unwrap().to_string()
        };
        assert!(error(&records(&[1, 10])).contains("byte 3073: label 10"));
        assert!(error(&records(&[1, 2])[..4000]).contains("byte 3073: 4000 bytes"));
        assert!(error(&[]).contains("0 bytes"));
        let empty = tempfile::tempdir().unwrap();
        assert!(open(empty.path()).err().unwrap().to_string().contains("data_batch_1"));
    }
}
