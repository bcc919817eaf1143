//! A folder of images, one sub-folder a class: `class/*.png|jpg`, or `train/class/*` and `test/class/*`. Images are
//! decoded when they are read, so a cache is worth having.

use super::archive::MAX_UNPACKED;
use super::error::DataError;
use super::fit::fit_planar;
use super::source::{Dataset, ImageSource};
use super::{IMAGE_BYTES, SIDE};
use image::{DynamicImage, ImageReader, Limits};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One image file in this many goes to the test set when the folder has none.
const TEST_EVERY: usize = 7;

/// Images in files, decoded on each read.
struct FolderSource {
    files: Vec<(PathBuf, u16)>,
    classes: Vec<String>,
}

impl ImageSource for FolderSource {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn label(&self, idx: usize) -> u16 {
        self.files.get(idx).map_or(0, |(_, label)| *label)
    }

    fn read(&self, idx: usize, out: &mut [u8]) -> Result<(), DataError> {
        match self.files.get(idx) {
            Some((path, _)) => decode(path, out),
            None => Err(DataError::Plan(format!("there is no image {idx}"))),
        }
    }
}

/// Decodes a file into 3×32×32 planar bytes.
fn decode(path: &Path, out: &mut [u8]) -> Result<(), DataError> {
    let bytes = std::fs::read(path).map_err(|e| DataError::io(path, &e))?;
    let broken = |what: String| DataError::format(path, 0, what, "a readable PNG or JPEG image");
    let mut reader = ImageReader::new(std::io::Cursor::new(bytes.as_slice()))
        .with_guessed_format()
        .map_err(|e| DataError::io(path, &e))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_UNPACKED / 8);
    reader.limits(limits);
    let image = reader.decode().map_err(|e| broken(e.to_string()))?;
    let (width, height) = (image.width() as usize, image.height() as usize);
    if width > SIDE || height > SIDE {
        let found = format!("an image of {width}×{height}");
        return Err(DataError::format(path, 0, found, "images of at most 32×32; scale them down first"));
    }
    let fits = match image {
        DynamicImage::ImageLuma8(grey) => fit_planar(grey.as_raw(), 1, height, width, out),
        other => {
            let rgb = other.into_rgb8();
            let mut planar = vec![0; 3 * width * height];
            for (i, pixel) in rgb.as_raw().chunks_exact(3).enumerate() {
                for (channel, value) in pixel.iter().enumerate() {
                    planar[channel * width * height + i] = *value;
                }
            }
            fit_planar(&planar, 3, height, width, out)
        }
    };
    if fits { Ok(()) } else { Err(broken(format!("an image of {width}×{height}"))) }
}

/// Whether a file is an image by its name.
fn is_image(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ["png", "jpg", "jpeg"].iter().any(|known| ext.eq_ignore_ascii_case(known)))
}

fn sorted_entries(dir: &Path) -> Result<Vec<PathBuf>, DataError> {
    let entries = std::fs::read_dir(dir).map_err(|e| DataError::io(dir, &e))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>().map_err(|e| DataError::io(dir, &e))?;
    paths.sort();
    Ok(paths)
}

/// Sub-folders that hold images, by name.
fn class_folders(dir: &Path) -> Result<Vec<PathBuf>, DataError> {
    let mut found = Vec::new();
    for path in sorted_entries(dir)?.into_iter().filter(|path| path.is_dir()) {
        if sorted_entries(&path)?.iter().any(|file| is_image(file)) {
            found.push(path);
        }
    }
    Ok(found)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Files of the classes of a folder, labelled by `classes`.
fn files_of(dir: &Path, classes: &[String]) -> Result<Vec<(PathBuf, u16)>, DataError> {
    let mut files = Vec::new();
    for folder in class_folders(dir)? {
        let name = name_of(&folder);
        let Some(label) = classes.iter().position(|class| *class == name) else {
            return Err(DataError::unusable(
                &folder,
                "this class has no training images",
                "Use the same classes in train/ and test/",
            ));
        };
        let images = sorted_entries(&folder)?.into_iter().filter(|file| is_image(file));
        files.extend(images.map(|file| (file, label as u16)));
    }
    Ok(files)
}

/// Whether a folder looks like one of images.
pub fn looks_right(dir: &Path) -> bool {
    let train = dir.join("train");
    class_folders(if train.is_dir() { &train } else { dir }).is_ok_and(|classes| !classes.is_empty())
}

/// Opens a folder. The first image of each set is decoded, so that a wrong size shows at once.
pub fn open(dir: &Path) -> Result<Dataset, DataError> {
    let train_dir = dir.join("train");
    let split = train_dir.is_dir();
    let base = if split { &train_dir } else { dir };
    let classes: Vec<String> = class_folders(base)?.iter().map(|path| name_of(path)).collect();
    let (least, most) = (2, 10);
    if !(least..=most).contains(&classes.len()) {
        let hint = "Put PNG or JPEG images into one sub-folder for each class, 2 to 10 of them";
        return Err(DataError::unusable(dir, format!("{} folders with images", classes.len()), hint));
    }
    let all = files_of(base, &classes)?;
    let test_dir = ["test", "val", "valid"].iter().map(|name| dir.join(name)).find(|path| path.is_dir());
    let (train, test) = match (split, test_dir) {
        (true, Some(test_dir)) => (all, files_of(&test_dir, &classes)?),
        _ => {
            let parts = all.into_iter().enumerate().partition::<Vec<_>, _>(|(i, _)| i % TEST_EVERY != TEST_EVERY - 1);
            let strip = |part: Vec<(usize, (PathBuf, u16))>| part.into_iter().map(|(_, file)| file).collect::<Vec<_>>();
            (strip(parts.0), strip(parts.1))
        }
    };
    let mut image = vec![0; IMAGE_BYTES];
    for (path, _) in train.first().into_iter().chain(test.first()) {
        decode(path, &mut image)?;
    }
    let source = |files| Arc::new(FolderSource { files, classes: classes.clone() });
    Ok(Dataset {
        name: name_of(dir),
        origin: dir.display().to_string(),
        train: source(train),
        test: source(test),
        licence: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{GrayImage, RgbImage};

    fn folder(write: impl Fn(&Path)) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for class in ["cat", "dog"] {
            std::fs::create_dir_all(dir.path().join(class)).unwrap();
        }
        write(dir.path());
        dir
    }

    #[test]
    fn colours_greys_and_sizes_come_out_right() {
        let dir = folder(|dir| {
            RgbImage::from_fn(32, 32, |x, y| image::Rgb([x as u8, y as u8, 7])).save(dir.join("cat/a.png")).unwrap();
            GrayImage::from_pixel(28, 28, image::Luma([200])).save(dir.join("dog/b.png")).unwrap();
            RgbImage::from_pixel(32, 32, image::Rgb([250, 10, 10])).save(dir.join("dog/c.jpg")).unwrap();
        });
        assert!(looks_right(dir.path()));
        let data = open(dir.path()).unwrap();
        assert_eq!((data.train.len(), data.train.classes()), (3, &["cat".to_owned(), "dog".to_owned()][..]));
        let mut image = vec![0; IMAGE_BYTES];
        data.train.read(0, &mut image).unwrap();
        assert_eq!((image[5], image[1024 + 5 * 32], image[2048]), (5, 5, 7));
        data.train.read(1, &mut image).unwrap();
        assert_eq!((image[0], image[16 * 32 + 16], image[2048 + 16 * 32 + 16]), (0, 200, 200));
        data.train.read(2, &mut image).unwrap();
        assert!(image[0] > 240 && image[1024] < 25);
    }

    #[test]
    fn broken_folders_are_refused_by_file() {
        let error = |write: &dyn Fn(&Path)| open(folder(write).path()).err().unwrap().to_string();
        assert!(error(&|_| {}).contains("0 folders with images"));
        let noise = |dir: &Path| {
            std::fs::write(dir.join("cat/a.png"), b"noise").unwrap();
            std::fs::write(dir.join("dog/a.png"), b"noise").unwrap();
        };
        assert!(error(&noise).contains("a.png"));
        let large = |dir: &Path| {
            for class in ["cat", "dog"] {
                RgbImage::new(64, 40).save(dir.join(class).join("big.png")).unwrap();
            }
        };
        assert!(error(&large).contains("64×40"));
    }
}
