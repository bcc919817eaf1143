//! Turns triangles into pixels on the processor, for machines without a graphics card: a software adapter does the same
//! by far more general means, and takes several times as long. What egui draws is nearly all rectangles in one color and
//! glyphs at their own size, and those are copied row by row.
//!
//! A pixel is drawn if its middle is inside a triangle; a middle on an edge belongs to one of the triangles that share
//! it. Colors are premultiplied and mixed as they are encoded, as egui does it.

use egui::epaint::{ImageData, ImageDelta, Mesh, Primitive, Vertex, WHITE_UV, textures::TextureFilter};
use egui::{ClippedPrimitive, Color32, Pos2, TextureId, pos2};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// Pieces of work for each processor: each goes through all triangles, but what is in the picture is not spread evenly.
const BANDS: usize = 3;

/// Blue, green, red, alpha: as screens have them, so that the picture is shown by copying it.
pub type Pixel = [u8; 4];

fn pixel(color: Color32) -> Pixel {
    let [red, green, blue, alpha] = color.to_array();
    [blue, green, red, alpha]
}

/// What is there before anything is drawn.
const EMPTY: Pixel = [0, 0, 0, 255];

/// A texture.
#[derive(Debug)]
pub struct Image {
    width: usize,
    height: usize,
    texels: Vec<Pixel>,
    /// Whether it is mixed from neighbours where it is enlarged.
    smooth: bool,
}

/// All textures by their names.
pub type Images = HashMap<TextureId, Image>;

/// Makes a texture, or changes part of one.
pub fn change(images: &mut Images, id: TextureId, delta: &ImageDelta) {
    let ImageData::Color(new) = &delta.image;
    let [width, height] = new.size;
    let texels = new.pixels.iter().copied().map(pixel);
    let Some([left, top]) = delta.pos else {
        // Glyphs are drawn at their own size on whole pixels: the nearest texel is the right one.
        let smooth = delta.options.magnification == TextureFilter::Linear && id != TextureId::default();
        images.insert(id, Image { width, height, texels: texels.collect(), smooth });
        return;
    };
    let Some(image) = images.get_mut(&id) else { return };
    let new: Vec<Pixel> = texels.collect();
    for (row, from) in new.chunks_exact(width.max(1)).enumerate() {
        let start = (top + row) * image.width + left;
        if let Some(to) = image.texels.get_mut(start..start + width) {
            to.copy_from_slice(from);
        }
    }
}

impl Image {
    fn texel(&self, x: isize, y: isize) -> Pixel {
        let (x, y) = (x.clamp(0, self.width as isize - 1), y.clamp(0, self.height as isize - 1));
        self.texels.get(y as usize * self.width + x as usize).copied().unwrap_or_default()
    }

    /// The color at a place in texels.
    fn at(&self, x: f32, y: f32) -> Pixel {
        if !self.smooth {
            return self.texel(x.floor() as isize, y.floor() as isize);
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (right_share, low_share) = (x - left, y - top);
        let corner = |dx: isize, dy: isize| self.texel(left as isize + dx, top as isize + dy).map(f32::from);
        let corners = [corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)];
        std::array::from_fn(|channel| {
            let [a, b, c, d] = corners.map(|corner| corner.get(channel).copied().unwrap_or_default());
            let (high, low) = (a + (b - a) * right_share, c + (d - c) * right_share);
            (high + (low - high) * low_share + 0.5) as u8
        })
    }
}

/// Draws the triangles of a frame, on all processors: `width` times `height` pixels, row by row from the top. What was
/// in them is gone.
pub fn draw(
    pixels: &mut [Pixel],
    [width, height]: [usize; 2],
    primitives: &[ClippedPrimitive],
    pixels_per_point: f32,
    images: &Images,
) {
    let band_rows = height.div_ceil(BANDS * rayon::current_num_threads()).max(1);
    let bands = pixels.par_chunks_mut((width * band_rows).max(1)).enumerate();
    bands.for_each(|(number, pixels)| {
        let first = number * band_rows;
        let rows = first..height.min(first + band_rows);
        pixels.fill(EMPTY);
        let mut band = Band { pixels, width, rows, clip: [0; 4], scale: pixels_per_point };
        for ClippedPrimitive { clip_rect, primitive } in primitives {
            // Nothing in this window draws by a callback of its own.
            let Primitive::Mesh(mesh) = primitive else { continue };
            let edge = |points: f32, from: usize, to: usize| {
                ((points * pixels_per_point).round().max(0.0) as usize).clamp(from, to) as i32
            };
            let (top, bottom) = (band.rows.start, band.rows.end);
            band.clip = [
                edge(clip_rect.left(), 0, width),
                edge(clip_rect.top(), top, bottom),
                edge(clip_rect.right(), 0, width),
                edge(clip_rect.bottom(), top, bottom),
            ];
            // A texture that was never made: egui's own painter leaves out what uses it, too.
            if let Some(image) = images.get(&mesh.texture_id) {
                band.mesh(mesh, image);
            }
        }
    });
}

/// Some rows of the picture.
struct Band<'a> {
    pixels: &'a mut [Pixel],
    width: usize,
    rows: Range<usize>,
    /// Left, top, right, bottom: nothing is drawn outside.
    clip: [i32; 4],
    /// Pixels a point.
    scale: f32,
}

/// Index of the first pixel whose middle is at or behind a place.
fn first_middle(place: f32) -> i32 {
    let place = place - 0.5;
    // Rounding up without a call, which the oldest processors that this runs on would need.
    let cut = place as i32;
    cut.saturating_add(i32::from(place > cut as f32))
}

impl Band<'_> {
    fn mesh(&mut self, mesh: &Mesh, image: &Image) {
        let [left, top, right, bottom] = self.clip;
        if left >= right || top >= bottom {
            return;
        }
        let scale = self.scale;
        let corner = |at: u32| {
            let vertex = mesh.vertices.get(at as usize).copied().unwrap_or_default();
            Vertex { pos: vertex.pos * scale, ..vertex }
        };
        let (triangles, _) = mesh.indices.as_chunks::<3>();
        let mut at = 0;
        while let Some(first) = triangles.get(at) {
            let first = first.map(corner);
            at += 1;
            // The other half of a rectangle is beside it, so both are passed over.
            if first.iter().all(|corner| corner.pos.y <= top as f32) || first.iter().all(|c| c.pos.y >= bottom as f32) {
                continue;
            }
            let second = triangles.get(at).map(|second| second.map(corner));
            match second.and_then(|second| rectangle(&first, &second)) {
                Some((from, to)) => {
                    self.rectangle(&from, &to, image);
                    at += 1;
                }
                None => self.triangle(first, image),
            }
        }
    }

    /// Pixels of a row, which must lie within the clip.
    fn row(&mut self, y: i32, from: i32, to: i32) -> &mut [Pixel] {
        let start = (y as usize).saturating_sub(self.rows.start) * self.width;
        self.pixels.get_mut(start + from as usize..start + to as usize).unwrap_or_default()
    }

    /// An upright rectangle in one color, by its upper left and its lower right corner.
    fn rectangle(&mut self, from: &Vertex, to: &Vertex, image: &Image) {
        let [left, top, right, bottom] = self.clip;
        let (x0, x1) = (first_middle(from.pos.x).max(left), first_middle(to.pos.x).min(right));
        let (y0, y1) = (first_middle(from.pos.y).max(top), first_middle(to.pos.y).min(bottom));
        if x0 >= x1 {
            return;
        }
        let color = pixel(from.color);
        if from.uv == WHITE_UV && to.uv == WHITE_UV {
            for y in y0..y1 {
                cover(self.row(y, x0, x1), color);
            }
            return;
        }
        // Texels from one pixel to the next, and those of the first.
        let along = |from: f32, to: f32, texels: usize, uv: (f32, f32), first: i32| {
            let step = (uv.1 - uv.0) * texels as f32 / (to - from);
            (uv.0 * texels as f32 + (first as f32 + 0.5 - from) * step, step)
        };
        let (u, u_step) = along(from.pos.x, to.pos.x, image.width, (from.uv.x, to.uv.x), x0);
        let (v, v_step) = along(from.pos.y, to.pos.y, image.height, (from.uv.y, to.uv.y), y0);
        for y in y0..y1 {
            let v = v + (y - y0) as f32 * v_step;
            let own_size = !image.smooth && (u_step - 1.0).abs() < 1e-3 && u >= 0.0 && v >= 0.0;
            let start = v as usize * image.width + u as usize;
            let texels = image.texels.get(start..start + (x1 - x0) as usize).filter(|_| own_size);
            let row = self.row(y, x0, x1);
            match texels {
                Some(texels) => {
                    for (pixel, texel) in row.iter_mut().zip(texels) {
                        if *texel != [0; 4] {
                            *pixel = over(tinted(*texel, color), *pixel);
                        }
                    }
                }
                None => {
                    for (x, pixel) in row.iter_mut().enumerate() {
                        *pixel = over(tinted(image.at(u + x as f32 * u_step, v), color), *pixel);
                    }
                }
            }
        }
    }

    fn triangle(&mut self, mut corners: [Vertex; 3], image: &Image) {
        corners.sort_by(|a, b| a.pos.y.total_cmp(&b.pos.y));
        let [a, b, c] = corners;
        let [left, top, right, bottom] = self.clip;
        let (y0, y1) = (first_middle(a.pos.y).max(top), first_middle(c.pos.y).min(bottom));
        if y0 >= y1 {
            return;
        }
        let plain = corners.iter().all(|corner| corner.uv == WHITE_UV);
        let flat = plain && a.color == b.color && b.color == c.color;
        let slopes = if flat { None } else { Slopes::new(&corners) };
        for y in y0..y1 {
            let middle = y as f32 + 0.5;
            let long = crossing(a.pos, c.pos, middle);
            let short = if middle < b.pos.y { crossing(a.pos, b.pos, middle) } else { crossing(b.pos, c.pos, middle) };
            let (x0, x1) = (first_middle(long.min(short)).max(left), first_middle(long.max(short)).min(right));
            if x0 >= x1 {
                continue;
            }
            let row = self.row(y, x0, x1);
            let Some(slopes) = &slopes else {
                cover(row, pixel(a.color));
                continue;
            };
            for (x, pixel) in row.iter_mut().enumerate() {
                let (color, uv) = slopes.at(pos2((x0 + x as i32) as f32 + 0.5, middle));
                let color = match plain {
                    true => color,
                    false => tinted(image.at(uv.x * image.width as f32, uv.y * image.height as f32), color),
                };
                *pixel = over(color, *pixel);
            }
        }
    }
}

/// Where a row crosses an edge that goes down from `a` to `b`. Triangles that share the edge get the same number.
fn crossing(a: Pos2, b: Pos2, y: f32) -> f32 {
    a.x + (y - a.y) * (b.x - a.x) / (b.y - a.y)
}

/// How color and place in the texture change over a triangle.
struct Slopes {
    origin: Vertex,
    color: [Color; 2],
    uv: [egui::Vec2; 2],
}

/// A color with fractions.
type Color = [f32; 4];

impl Slopes {
    /// `None` if the triangle is so thin that nothing can be said, in which case its color does not matter either.
    fn new([a, b, c]: &[Vertex; 3]) -> Option<Self> {
        let (ab, ac) = (b.pos - a.pos, c.pos - a.pos);
        let area = ab.x * ac.y - ab.y * ac.x;
        if area == 0.0 || !area.is_finite() {
            return None;
        }
        let slope = |at_a: f32, at_b: f32, at_c: f32| {
            let (b, c) = (at_b - at_a, at_c - at_a);
            [(b * ac.y - c * ab.y) / area, (c * ab.x - b * ac.x) / area]
        };
        let color = |axis: usize| {
            std::array::from_fn(|channel| {
                let at = |corner: &Vertex| f32::from(pixel(corner.color).get(channel).copied().unwrap_or_default());
                slope(at(a), at(b), at(c)).get(axis).copied().unwrap_or_default()
            })
        };
        let ([ux, uy], [vx, vy]) = (slope(a.uv.x, b.uv.x, c.uv.x), slope(a.uv.y, b.uv.y, c.uv.y));
        Some(Self { origin: *a, color: [color(0), color(1)], uv: [egui::vec2(ux, vx), egui::vec2(uy, vy)] })
    }

    fn at(&self, place: Pos2) -> (Pixel, Pos2) {
        let from = place - self.origin.pos;
        let [dx, dy] = self.color;
        let mut color = pixel(self.origin.color);
        for ((channel, dx), dy) in color.iter_mut().zip(dx).zip(dy) {
            // Numbers outside a byte become its ends.
            *channel = (f32::from(*channel) + from.x * dx + from.y * dy + 0.5) as u8;
        }
        let [du, dv] = self.uv;
        (color, self.origin.uv + from.x * du + from.y * dv)
    }
}

/// Upper left and lower right corner of the rectangle that two triangles make together, if they make one, in one color.
fn rectangle(first: &[Vertex; 3], second: &[Vertex; 3]) -> Option<(Vertex, Vertex)> {
    let [a, b, c] = first;
    let (left, right) = (a.pos.x.min(b.pos.x).min(c.pos.x), a.pos.x.max(b.pos.x).max(c.pos.x));
    let (top, bottom) = (a.pos.y.min(b.pos.y).min(c.pos.y), a.pos.y.max(b.pos.y).max(c.pos.y));
    let (mut from, mut to) = (None, None);
    let mut missing = [0_u8; 2];
    for (missing, triangle) in missing.iter_mut().zip([first, second]) {
        let mut seen = 0_u8;
        for corner in triangle {
            let at_right = corner.pos.x == right;
            let at_bottom = corner.pos.y == bottom;
            let upright = (at_right || corner.pos.x == left) && (at_bottom || corner.pos.y == top);
            if !upright || corner.color != a.color {
                return None;
            }
            match (at_right, at_bottom) {
                (false, false) => from = Some(*corner),
                (true, true) => to = Some(*corner),
                _ => {}
            }
            seen |= 1 << (u8::from(at_right) + 2 * u8::from(at_bottom));
        }
        *missing = 0b1111 ^ seen;
    }
    // Each has three of the four corners, and they lack opposite ones.
    let opposite = matches!(missing, [0b0001, 0b1000] | [0b1000, 0b0001] | [0b0010, 0b0100] | [0b0100, 0b0010]);
    let (from, to) = from.zip(to).filter(|_| opposite)?;
    let along = |corner: &Vertex| {
        corner.uv.x == if corner.pos.x == left { from.uv.x } else { to.uv.x }
            && corner.uv.y == if corner.pos.y == top { from.uv.y } else { to.uv.y }
    };
    first.iter().chain(second).all(along).then_some((from, to))
}

/// Lays a color over pixels.
fn cover(pixels: &mut [Pixel], color: Pixel) {
    match color {
        [.., 255] => pixels.fill(color),
        [0, 0, 0, 0] => {}
        _ => pixels.iter_mut().for_each(|pixel| *pixel = over(color, *pixel)),
    }
}

/// A color over another.
fn over(color: Pixel, below: Pixel) -> Pixel {
    let [.., alpha] = color;
    // 256 for an alpha of 0, 0 for one of 255.
    let keep = 256 - (u16::from(alpha) + u16::from(alpha >> 7));
    let [a, b, c, d] = color;
    let [e, f, g, h] = below.map(|channel| ((u16::from(channel) * keep) >> 8) as u8);
    // Colors that add light have less alpha than color.
    [a.saturating_add(e), b.saturating_add(f), c.saturating_add(g), d.saturating_add(h)]
}

/// A texel in a color.
fn tinted(texel: Pixel, color: Pixel) -> Pixel {
    if color == [255; 4] {
        return texel;
    }
    let product = |a: u8, b: u8| (((u32::from(a) * u32::from(b) + 128) * 257) >> 16) as u8;
    let ([a, b, c, d], [e, f, g, h]) = (texel, color);
    [product(a, e), product(b, f), product(c, g), product(d, h)]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use egui::{ColorImage, Rect, epaint::textures::TextureOptions, vec2};
    use proptest::prelude::*;

    const SIDES: [usize; 2] = [40, 30];

    fn images() -> Images {
        let mut images = Images::default();
        let white = ColorImage::filled([1, 1], Color32::WHITE);
        change(&mut images, TextureId::default(), &ImageDelta::full(white, TextureOptions::NEAREST));
        images
    }

    fn drawn(mesh: Mesh, clip_rect: Rect, images: &Images) -> Vec<Pixel> {
        let mut pixels = vec![[7; 4]; SIDES[0] * SIDES[1]];
        draw(&mut pixels, SIDES, &[ClippedPrimitive { clip_rect, primitive: Primitive::Mesh(mesh) }], 1.0, images);
        pixels
    }

    fn vertex(x: f32, y: f32, color: Color32) -> Vertex {
        Vertex { pos: pos2(x, y), uv: WHITE_UV, color }
    }

    proptest! {
        /// Triangles around a point inside a rectangle cover each of its pixels once: light is added, so a pixel that is
        /// drawn twice is brighter.
        #[test]
        fn triangles_that_share_edges_cover_each_pixel_once(
            left in 0f32..20.0, top in 0f32..15.0, width in 0.0f32..20.0, height in 0.0f32..15.0,
            x in 0.0f32..1.0, y in 0.0f32..1.0, snapped in any::<bool>(), shade in 1u8..100,
        ) {
            let snap = |at: f32| if snapped { (at * 2.0).round() / 2.0 } else { at };
            let rect = Rect::from_min_size(pos2(snap(left), snap(top)), vec2(snap(width), snap(height)));
            let light = Color32::from_rgba_premultiplied(shade, shade, shade, 0);
            // Rounding may put it outside.
            let middle = rect.clamp(rect.lerp_inside(vec2(x, y)));
            let mut mesh = Mesh::default();
            let corners = [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom()];
            mesh.vertices = corners.into_iter().chain([middle]).map(|at| vertex(at.x, at.y, light)).collect();
            mesh.indices = vec![0, 1, 4, 4, 1, 2, 2, 3, 4, 0, 4, 3];
            let pixels = drawn(mesh, Rect::EVERYTHING, &images());
            let mut whole = Mesh::default();
            whole.add_colored_rect(rect, light);
            prop_assert!(pixels == drawn(whole, Rect::EVERYTHING, &images()), "{:?} and {:?}", rect, middle);
            for (at, pixel) in pixels.iter().enumerate() {
                let place = pos2((at % SIDES[0]) as f32 + 0.5, (at / SIDES[0]) as f32 + 0.5);
                let inside = (rect.min.x..rect.max.x).contains(&place.x) && (rect.min.y..rect.max.y).contains(&place.y);
                prop_assert_eq!(pixel[0], if inside { shade } else { 0 }, "{:?} {:?}", place, rect);
            }
        }

        #[test]
        fn any_triangles_are_drawn_or_left_out(
            corners in prop::collection::vec((any::<f32>(), -50f32..90.0, any::<bool>(), any::<u32>(), any::<f32>()), 1..12),
            indices in prop::collection::vec(0u32..14, 0..30),
            clip in any::<[f32; 4]>(),
        ) {
            let vertices = corners.iter().map(|&(wild, tame, is_wild, color, uv)| Vertex {
                pos: if is_wild { pos2(wild, tame) } else { pos2(tame, tame * 0.7) },
                uv: pos2(uv, 0.5),
                color: { let [r, g, b, a] = color.to_le_bytes(); Color32::from_rgba_premultiplied(r, g, b, a) },
            }).collect();
            let mesh = Mesh { vertices, indices, ..Mesh::default() };
            drawn(mesh, Rect::from_min_max(pos2(clip[0], clip[1]), pos2(clip[2], clip[3])), &images());
        }
    }

    #[test]
    fn only_rectangles_in_one_color_are_taken_for_them() {
        let halves = |mesh: &Mesh| {
            let (triangles, _) = mesh.indices.as_chunks::<3>();
            let corners = |at: usize| triangles[at].map(|at| mesh.vertices[at as usize]);
            rectangle(&corners(0), &corners(1)).map(|(from, to)| Rect::from_min_max(from.pos, to.pos))
        };
        let rect = Rect::from_min_max(pos2(1.0, 2.0), pos2(5.0, 9.0));
        let mut mesh = Mesh::default();
        mesh.add_rect_with_uv(rect, Rect::from_min_max(pos2(0.1, 0.2), pos2(0.3, 0.5)), Color32::RED);
        assert_eq!(halves(&mesh), Some(rect));
        let (mut faded, mut leaning, mut twisted) = (mesh.clone(), mesh.clone(), mesh.clone());
        faded.vertices[3].color = Color32::BLUE;
        leaning.vertices[3].pos.x += 1.0;
        twisted.vertices[3].uv.x += 0.1;
        assert_eq!([&faded, &leaning, &twisted].map(halves), [None; 3]);
        // The same half twice.
        mesh.indices = vec![0, 1, 2, 0, 1, 2];
        assert_eq!(halves(&mesh), None);
    }

    #[test]
    fn glyphs_are_copied_in_their_color_and_within_the_clip() {
        let mut images = images();
        let coverage = |at: usize| if at == 0 { Color32::TRANSPARENT } else { Color32::from_gray(100 + at as u8) };
        let glyphs = ColorImage::new([4, 2], (0..8).map(coverage).collect());
        change(
            &mut images,
            TextureId::default(),
            &ImageDelta::full(ColorImage::filled([8, 8], Color32::WHITE), TextureOptions::NEAREST),
        );
        change(&mut images, TextureId::default(), &ImageDelta::partial([3, 5], glyphs, TextureOptions::NEAREST));
        let mut mesh = Mesh::default();
        let uv = Rect::from_min_size(pos2(3.0 / 8.0, 5.0 / 8.0), vec2(4.0 / 8.0, 2.0 / 8.0));
        mesh.add_rect_with_uv(Rect::from_min_size(pos2(10.0, 20.0), vec2(4.0, 2.0)), uv, Color32::from_rgb(255, 0, 0));
        let clip = Rect::from_min_max(pos2(0.0, 0.0), pos2(13.0, 30.0));
        let pixels = drawn(mesh, clip, &images);
        let red = |x: usize, y: usize| pixels[y * SIDES[0] + x][2];
        assert_eq!([10, 11, 12, 13].map(|x| red(x, 20)), [0, 101, 102, 0]);
        assert_eq!([10, 11, 12, 13].map(|x| red(x, 21)), [104, 105, 106, 0]);
        assert!(pixels.iter().all(|pixel| pixel[1] == 0 && pixel[3] == 255));
        assert_eq!(pixels.iter().filter(|pixel| pixel[2] > 0).count(), 5);
    }

    #[test]
    fn colors_change_evenly_and_large_pictures_are_mixed() {
        let mut mesh = Mesh::default();
        let grey = Color32::from_gray;
        mesh.vertices = vec![
            vertex(0.0, 0.0, grey(0)),
            vertex(40.0, 0.0, grey(200)),
            vertex(0.0, 30.0, grey(0)),
            vertex(40.0, 30.0, grey(200)),
        ];
        mesh.indices = vec![0, 1, 2, 2, 1, 3];
        let pixels = drawn(mesh, Rect::EVERYTHING, &images());
        for (at, pixel) in pixels.iter().enumerate() {
            let expected = ((at % SIDES[0]) as f32 + 0.5) * 5.0;
            assert!((f32::from(pixel[0]) - expected).abs() <= 1.0, "{at}: {pixel:?}");
        }
        let mut images = images();
        let id = TextureId::Managed(9);
        let two = ColorImage::new([2, 1], vec![grey(0), grey(100)]);
        change(&mut images, id, &ImageDelta::full(two, TextureOptions::LINEAR));
        let mut mesh = Mesh::with_texture(id);
        let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        mesh.add_rect_with_uv(Rect::from_min_size(pos2(0.0, 0.0), vec2(40.0, 30.0)), all, Color32::WHITE);
        let row: Vec<u8> = drawn(mesh, Rect::EVERYTHING, &images).iter().take(40).map(|pixel| pixel[0]).collect();
        assert!(row.is_sorted() && row[5] == 0 && row[34] == 100 && (45..=55).contains(&row[20]), "{row:?}");
    }
}
