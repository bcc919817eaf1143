//! Brings images to 3×32×32: grey values are repeated over three channels, smaller images are padded with zeros.

use super::{CHANNELS, IMAGE_BYTES, SIDE};

/// Writes a planar image of `channels` (1 or 3) × `height` × `width` (each at most 32) into the middle of `out`.
/// Returns `false`, and leaves `out` alone, when the sizes do not fit.
pub fn fit_planar(image: &[u8], channels: usize, height: usize, width: usize, out: &mut [u8]) -> bool {
    let sizes_fit =
        (channels == 1 || channels == CHANNELS) && (1..=SIDE).contains(&height) && (1..=SIDE).contains(&width);
    if !sizes_fit || image.len() != channels * height * width || out.len() != IMAGE_BYTES {
        return false;
    }
    if channels == CHANNELS && height == SIDE && width == SIDE {
        out.copy_from_slice(image);
        return true;
    }
    out.fill(0);
    let (top, left) = ((SIDE - height) / 2, (SIDE - width) / 2);
    for channel in 0..CHANNELS {
        let plane = if channels == 1 { 0 } else { channel };
        for row in 0..height {
            let from = (plane * height + row) * width;
            let to = (channel * SIDE + top + row) * SIDE + left;
            out[to..to + width].copy_from_slice(&image[from..from + width]);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_28_lands_in_the_middle_of_all_channels() {
        let image: Vec<u8> = (0..28 * 28).map(|i| (i % 251) as u8 + 1).collect();
        let mut out = vec![9; IMAGE_BYTES];
        assert!(fit_planar(&image, 1, 28, 28, &mut out));
        for channel in 0..3 {
            assert_eq!(out[channel * 1024], 0);
            assert_eq!(out[(channel * 32 + 2) * 32 + 2], image[0]);
            assert_eq!(out[(channel * 32 + 29) * 32 + 29], image[28 * 28 - 1]);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut out = vec![9; IMAGE_BYTES];
        assert!(!fit_planar(&[0; 33 * 33], 1, 33, 33, &mut out));
        assert!(!fit_planar(&[0; 10], 1, 28, 28, &mut out));
        assert!(!fit_planar(&[0; 2 * 28 * 28], 2, 28, 28, &mut out));
        assert!(out.iter().all(|byte| *byte == 9));
    }
}
