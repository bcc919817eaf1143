//! Opens what a spec names, and finds out by content what a path holds.

use super::error::DataError;
use super::source::{Dataset, ImageSource, Limited};
use super::synthetic::Synthetic;
use super::{archive, builtin, cifar_bin, cifar_py, folder, idx};
use crate::model::spec::DataSpec;
use std::path::Path;
use std::sync::Arc;

/// Test images of the synthetic set.
const SYNTHETIC_TEST: usize = 1000;

/// Opens the data of a spec: `builtin`, `synthetic`, or a path.
pub fn open(spec: &DataSpec) -> Result<Dataset, DataError> {
    let mut data = match spec.source.as_str() {
        "builtin" => builtin::open()?,
        "synthetic" => Dataset {
            name: "Synthetic images".to_owned(),
            origin: "made up from a seed".to_owned(),
            train: Arc::new(Synthetic::new(1, spec.synthetic_images)),
            test: Arc::new(Synthetic::new(2, SYNTHETIC_TEST)),
            licence: None,
        },
        path => open_path(Path::new(path))?,
    };
    let limit = |source: &Arc<dyn ImageSource>, limit| Limited::of(Arc::clone(source), limit);
    (data.train, data.test) = (limit(&data.train, spec.train_limit), limit(&data.test, spec.test_limit));
    Ok(data)
}

/// Opens a file or folder of images, of whatever kind it is.
pub fn open_path(path: &Path) -> Result<Dataset, DataError> {
    const KINDS: &str = "IDX files, CIFAR-10 (binary or Python, as folder or .tar.gz), or a folder with one sub-folder of PNG or JPEG images for each class";
    if !path.exists() {
        return Err(DataError::unusable(path, "there is no such file or folder", "Use builtin, synthetic, or a path"));
    }
    if path.is_dir() {
        return open_folder(path).unwrap_or_else(|| {
            Err(DataError::unusable(path, "nothing in it is a known set of images", format!("Known are {KINDS}")))
        });
    }
    let head = archive::unpacked_head(path, 512)?;
    if head.starts_with(&idx::IMAGES.to_be_bytes()) {
        return idx::open(path);
    }
    // A tar archive has its mark at byte 257 (POSIX.1-1988).
    if head.get(257..262) == Some(b"ustar") {
        let binary = archive::pieces(path, &|name| name == "test_batch.bin" || name == "data_batch_1.bin")?;
        return if binary.is_empty() { cifar_py::open(path) } else { cifar_bin::open(path) };
    }
    let found = match head.get(..4) {
        Some(four) => format!("it begins with {four:02x?}"),
        None => format!("it holds {} bytes", head.len()),
    };
    Err(DataError::format(path, 0, found, KINDS))
}

/// What a folder holds; `None` = nothing known. Archives unpack into a folder of their own, so one level down counts.
fn open_folder(path: &Path) -> Option<Result<Dataset, DataError>> {
    let subfolders = ["cifar-10-batches-bin", "cifar-10-batches-py"].map(|name| path.join(name));
    for dir in std::iter::once(path.to_path_buf()).chain(subfolders) {
        if dir.join("data_batch_1.bin").is_file() || dir.join("test_batch.bin").is_file() {
            return Some(cifar_bin::open(&dir));
        }
        if dir.join("data_batch_1").is_file() || dir.join("test_batch").is_file() {
            return Some(cifar_py::open(&dir));
        }
    }
    if idx::in_folder(path).is_some() {
        return Some(idx::open(path));
    }
    folder::looks_right(path).then(|| folder::open(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_and_paths_are_told_apart() {
        let spec = DataSpec { train_limit: 30, test_limit: 5, ..DataSpec::default() };
        let data = open(&spec).unwrap();
        assert_eq!((data.train.len(), data.test.len()), (30, 5));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("noise.bin");
        std::fs::write(&file, [7; 100]).unwrap();
        let error = |path: &Path| open_path(path).err().unwrap().to_string();
        assert!(error(&file).contains("noise.bin, byte 0"));
        assert!(error(dir.path()).contains("Known are"));
        assert!(error(Path::new("/no/such/place")).contains("/no/such/place"));
    }
}
