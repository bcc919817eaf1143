//! The images that come with the program: 6,000 training and 1,000 test images of Fashion-MNIST (Xiao, Rasul and
//! Vollgraf, 2017; © Zalando SE, MIT). `assets/data/make.py` makes the file and says how the images were chosen.

use super::IMAGE_BYTES;
use super::error::DataError;
use super::fit::fit_planar;
use super::memory::MemorySource;
use super::source::Dataset;
use flate2::read::GzDecoder;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

const PACKED: &[u8] = include_bytes!("../../assets/data/fashion-mnist-7k.bin.gz");
const LICENCE: &str = include_str!("../../assets/data/LICENSE-fashion-mnist.txt");
const TRAIN: usize = 6000;
const TEST: usize = 1000;
const PIXELS: usize = 28 * 28;
const CLASSES: [&str; 10] =
    ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

/// Unpacks the built-in images.
pub fn open() -> Result<Dataset, DataError> {
    let name = Path::new("built-in images");
    let total = (TRAIN + TEST) * (PIXELS + 1);
    let mut bytes = Vec::with_capacity(total);
    GzDecoder::new(PACKED).take(total as u64).read_to_end(&mut bytes).map_err(|e| DataError::io(name, &e))?;
    if bytes.len() != total {
        return Err(DataError::format(name, bytes.len(), "the end", format!("{total} bytes")));
    }
    let (pixels, labels) = bytes.split_at((TRAIN + TEST) * PIXELS);
    let set = |from: usize, count: usize| {
        let mut images = vec![0; count * IMAGE_BYTES];
        let small = pixels[from * PIXELS..(from + count) * PIXELS].chunks_exact(PIXELS);
        for (image, small) in images.chunks_exact_mut(IMAGE_BYTES).zip(small) {
            fit_planar(small, 1, 28, 28, image);
        }
        let labels = labels[from..from + count].iter().map(|label| u16::from(*label)).collect();
        let classes = CLASSES.iter().map(|class| (*class).to_owned()).collect();
        MemorySource::new(images, labels, classes)
            .ok_or_else(|| DataError::format(name, from, "a label out of range", "labels from 0 to 9"))
    };
    Ok(Dataset {
        name: "Fashion-MNIST (7,000 built-in images)".to_owned(),
        origin: "built in".to_owned(),
        train: Arc::new(set(0, TRAIN)?),
        test: Arc::new(set(TRAIN, TEST)?),
        licence: Some(LICENCE.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_images_are_there_and_all_classes_are_used() {
        let data = open().unwrap();
        assert_eq!((data.train.len(), data.test.len()), (6000, 1000));
        for (set, least) in [(&data.train, 500), (&data.test, 80)] {
            let mut counts = [0; 10];
            (0..set.len()).for_each(|idx| counts[usize::from(set.label(idx))] += 1);
            assert!(counts.iter().all(|count| *count > least), "{counts:?}");
        }
        // The first training image of Fashion-MNIST is an ankle boot.
        assert_eq!(data.train.classes()[usize::from(data.train.label(0))], "Ankle boot");
        assert!(data.licence.unwrap().contains("Zalando"));
    }
}
