//! IDX files, the format of MNIST and its relatives, plain or gzip (<http://yann.lecun.com/exdb/mnist/>): big-endian
//! magic 0x00000803 (images: count, rows, columns, bytes) or 0x00000801 (labels: count, bytes).

use super::IMAGE_BYTES;
use super::archive;
use super::error::DataError;
use super::fit::fit_planar;
use super::memory::{MemorySource, numbered_classes};
use super::source::Dataset;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Magic number of images: unsigned bytes in three dimensions.
pub const IMAGES: u32 = 0x0803;
/// Magic number of labels: unsigned bytes in one dimension.
pub const LABELS: u32 = 0x0801;

fn word(path: &Path, bytes: &[u8], at: usize) -> Result<u32, DataError> {
    let four = bytes.get(at..at + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
    four.map(u32::from_be_bytes)
        .ok_or_else(|| DataError::format(path, bytes.len(), "the end of the file", "a header of IDX"))
}

/// Checks magic number and size; returns the counts after the magic number and the offset of the data.
fn header(path: &Path, bytes: &[u8], magic: u32, dims: usize) -> Result<(Vec<usize>, usize), DataError> {
    let found = word(path, bytes, 0)?;
    if found != magic {
        return Err(DataError::format(path, 0, format!("magic number {found:#010x}"), format!("{magic:#010x}")));
    }
    let counts: Vec<usize> =
        (0..dims).map(|dim| word(path, bytes, 4 + 4 * dim).map(|n| n as usize)).collect::<Result<_, _>>()?;
    let start = 4 + 4 * dims;
    let size = counts.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
    match size.and_then(|size| size.checked_add(start)) {
        Some(end) if end == bytes.len() => Ok((counts, start)),
        Some(end) => Err(DataError::format(
            path,
            bytes.len().min(end),
            format!("a file of {} bytes", bytes.len()),
            format!("{end} bytes, as the header says"),
        )),
        None => Err(DataError::format(path, 4, "impossible sizes", "counts whose product fits the file")),
    }
}

/// One set from a file of images and a file of labels.
fn pair(images_path: &Path, labels_path: &Path) -> Result<MemorySource, DataError> {
    let images = archive::read(images_path)?;
    let labels = archive::read(labels_path)?;
    let (counts, start) = header(images_path, &images, IMAGES, 3)?;
    let (label_counts, label_start) = header(labels_path, &labels, LABELS, 1)?;
    let (count, rows, columns) = (counts[0], counts[1], counts[2]);
    if count == 0 {
        return Err(DataError::unusable(images_path, "it holds no images", "Use another file"));
    }
    if !(1..=32).contains(&rows) || !(1..=32).contains(&columns) {
        let found = format!("images of {rows}×{columns}");
        return Err(DataError::format(images_path, 8, found, "images of at most 32×32, such as 28×28"));
    }
    if label_counts[0] != count {
        let found = format!("{} labels", label_counts[0]);
        return Err(DataError::format(labels_path, 4, found, format!("{count}, one for each image")));
    }
    let labels: Vec<u16> = labels[label_start..].iter().map(|label| u16::from(*label)).collect();
    let classes = usize::from(labels.iter().max().copied().unwrap_or(0)) + 1;
    if classes > 10 {
        let at = labels.iter().position(|label| *label >= 10).unwrap_or(0);
        let found = format!("label {}", labels[at]);
        return Err(DataError::format(labels_path, label_start + at, found, "labels from 0 to 9"));
    }
    let mut pixels = vec![0; count * IMAGE_BYTES];
    let small = images[start..].chunks_exact(rows * columns);
    for (image, small) in pixels.chunks_exact_mut(IMAGE_BYTES).zip(small) {
        fit_planar(small, 1, rows, columns, image);
    }
    MemorySource::new(pixels, labels, numbered_classes(10))
        .ok_or_else(|| DataError::format(labels_path, label_start, "labels that do not fit", "labels from 0 to 9"))
}

/// The file of labels beside a file of images, by the usual names.
fn labels_beside(images: &Path) -> Result<PathBuf, DataError> {
    let name = images.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for (from, to) in [("images-idx3", "labels-idx1"), ("images.idx3", "labels.idx1"), ("images", "labels")] {
        let other = images.with_file_name(name.replace(from, to));
        for path in [other.clone(), with_gz(&other), without_gz(&other)] {
            if path != images && path.is_file() {
                return Ok(path);
            }
        }
    }
    Err(DataError::unusable(
        images,
        "there is no file of labels beside it",
        "Put the labels there, named as the images with `labels-idx1` for `images-idx3`",
    ))
}

fn with_gz(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    PathBuf::from(name)
}

fn without_gz(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|ext| ext == "gz") { path.with_extension("") } else { path.to_path_buf() }
}

/// The image files of a folder with the usual names: training, test.
pub fn in_folder(dir: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    let find = |start: &str| {
        ["images-idx3-ubyte", "images.idx3-ubyte"]
            .iter()
            .flat_map(|rest| [dir.join(format!("{start}-{rest}")), dir.join(format!("{start}-{rest}.gz"))])
            .find(|path| path.is_file())
    };
    Some((find("train")?, find("t10k").or_else(|| find("test"))))
}

/// Opens a folder with the usual names, or one file of images; without a test set the last seventh of the images is it.
pub fn open(path: &Path) -> Result<Dataset, DataError> {
    let (train, test) = if path.is_dir() {
        in_folder(path).ok_or_else(|| {
            DataError::unusable(path, "there is no train-images-idx3-ubyte(.gz)", "Use the usual file names of MNIST")
        })?
    } else {
        (path.to_path_buf(), None)
    };
    let train_set = pair(&train, &labels_beside(&train)?)?;
    let (train_set, test_set) = match test {
        Some(test) => (train_set, pair(&test, &labels_beside(&test)?)?),
        None => train_set.split(7),
    };
    Ok(Dataset {
        name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        origin: path.display().to_string(),
        train: Arc::new(train_set),
        test: Arc::new(test_set),
        licence: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn images(count: u32, rows: u32, columns: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = [IMAGES, count, rows, columns].iter().flat_map(|n| n.to_be_bytes()).collect();
        bytes.extend((0..count * rows * columns).map(|i| i as u8));
        bytes
    }

    fn labels(values: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [LABELS, values.len() as u32].iter().flat_map(|n| n.to_be_bytes()).collect();
        bytes.extend(values);
        bytes
    }

    fn error(images: &[u8], labels: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("train-images-idx3-ubyte"), images).unwrap();
        std::fs::write(dir.path().join("train-labels-idx1-ubyte"), labels).unwrap();
        open(dir.path()).err().unwrap().to_string()
    }

    #[test]
    fn plain_and_packed_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("train-images-idx3-ubyte"), images(14, 28, 28)).unwrap();
        let file = std::fs::File::create(dir.path().join("train-labels-idx1-ubyte.gz")).unwrap();
        let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packer.write_all(&labels(&[3; 14])).unwrap();
        packer.finish().unwrap();
        let data = open(dir.path()).unwrap();
        assert_eq!((data.train.len(), data.test.len()), (12, 2));
        assert_eq!(data.train.label(0), 3);
        assert_eq!(open(&dir.path().join("train-images-idx3-ubyte")).unwrap().train.len(), 12);
    }

    #[test]
    fn broken_files_are_refused_with_their_place() {
        let good = (images(7, 28, 28), labels(&[1; 7]));
        let mut magic = good.0.clone();
        magic[3] = 9;
        assert!(error(&magic, &good.1).contains("train-images-idx3-ubyte, byte 0"));
        assert!(error(&good.0[..1000], &good.1).contains("5504 bytes"));
        assert!(error(&good.0[..7], &good.1).contains("byte 7"));
        assert!(error(&good.0, &labels(&[1; 6])).contains("6 labels"));
        assert!(error(&good.0, &labels(&[1, 2, 3, 77, 5, 6, 7])).contains("byte 11: label 77"));
        assert!(error(&images(2, 40, 40), &labels(&[1, 2])).contains("40×40"));
        assert!(error(&[], &good.1).contains("byte 0"));
        let huge: Vec<u8> = [IMAGES, u32::MAX, u32::MAX, u32::MAX].iter().flat_map(|n| n.to_be_bytes()).collect();
        assert!(error(&huge, &good.1).contains("impossible sizes"));
    }
}
