//! Draws the window on software adapters, where egui's own shader takes a tenth of a second for a frame: it filters
//! textures by two methods and dithers, and a processor that stands in for a graphics card does all of that for every
//! pixel. Here a pixel costs what it must: large plain areas need no texture, and those that cover what is below them
//! need not look at it.
//!
//! It stands between egui and its painter: a frame's shapes are replaced by one callback that draws them.

use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, RenderState, ScreenDescriptor, wgpu};
use egui::epaint::{ImageData, ImageDelta, Mesh, Primitive, Vertex, textures};
use egui::mutex::Mutex;
use egui::{ClippedPrimitive, FullOutput, PaintCallbackInfo, Rect, TextureId, TexturesDelta};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Area from which plain triangles that follow each other are drawn without a texture, in points². A change of the
/// pipeline takes about as long as this saves.
const LARGE: f32 = 4000.0;

/// Stands between egui and its painter.
pub struct SoftwarePainter {
    /// Textures made and given up since the last frame that was drawn; a frame may be skipped, its textures may not.
    textures: Arc<Mutex<Vec<TexturesDelta>>>,
}

impl SoftwarePainter {
    /// A painter for an adapter, if it is one of software; others draw fast enough as it is.
    pub fn new(state: &RenderState) -> Option<Self> {
        let software = state.adapter.get_info().device_type == wgpu::DeviceType::Cpu;
        // egui mixes colors gamma-encoded; a target that encodes once more would need it undone for each pixel.
        if !software || state.target_format.is_srgb() {
            return None;
        }
        let textures = Arc::default();
        let canvas = Canvas::new(&state.device, state.target_format, Arc::clone(&textures));
        state.renderer.write().callback_resources.insert(canvas);
        Some(Self { textures })
    }
}

impl egui::Plugin for SoftwarePainter {
    fn debug_name(&self) -> &'static str {
        "software painter"
    }

    fn output_hook(&mut self, ctx: &egui::Context, output: &mut FullOutput) {
        let shapes = std::mem::take(&mut output.shapes);
        let frame = Frame(ctx.tessellate(shapes, output.pixels_per_point));
        self.textures.lock().push(std::mem::take(&mut output.textures_delta));
        let screen = ctx.input(|input| input.viewport_rect());
        let shape = Callback::new_paint_callback(screen, frame);
        output.shapes = vec![egui::epaint::ClippedShape::new(screen, shape)];
    }
}

/// The triangles of a frame.
struct Frame(Vec<ClippedPrimitive>);

impl CallbackTrait for Frame {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(canvas) = resources.get_mut::<Canvas>() {
            canvas.take_textures(device, queue);
            canvas.take_frame(&self.0, device, queue, screen);
        }
        Vec::new()
    }

    fn paint(&self, info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        if let Some(canvas) = resources.get::<Canvas>() {
            canvas.paint(&info, pass);
        }
    }
}

/// How a run of triangles is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    /// With a texture.
    Textured,
    /// In its own color, over what is there.
    Plain,
    /// In its own color, in place of what is there.
    Opaque,
}

/// Triangles that are drawn at once.
struct Run {
    /// Left, top, width, height in pixels.
    clip: [u32; 4],
    texture: TextureId,
    fill: Fill,
    indices: Range<u32>,
    first_vertex: i32,
}

/// What drawing needs on the device.
struct Canvas {
    pipelines: [wgpu::RenderPipeline; 3],
    texture_layout: wgpu::BindGroupLayout,
    textures: HashMap<TextureId, (wgpu::Texture, wgpu::BindGroup)>,
    changed: Arc<Mutex<Vec<TexturesDelta>>>,
    /// Textures that the last frame still used.
    given_up: Vec<TextureId>,
    screen: wgpu::Buffer,
    screen_group: wgpu::BindGroup,
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
    runs: Vec<Run>,
}

impl Canvas {
    fn new(device: &wgpu::Device, format: wgpu::TextureFormat, changed: Arc<Mutex<Vec<TexturesDelta>>>) -> Self {
        let screen_layout = layout(device, &[(wgpu::ShaderStages::VERTEX, UNIFORM)]);
        let of_texture = wgpu::ShaderStages::FRAGMENT;
        let texture_layout = layout(
            device,
            &[(of_texture, TEXTURE), (of_texture, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering))],
        );
        let screen = buffer(device, wgpu::BufferUsages::UNIFORM, 16);
        let screen_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("window screen"),
            layout: &screen_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: screen.as_entire_binding() }],
        });
        let layouts = [Some(&screen_layout), Some(&texture_layout)];
        Self {
            pipelines: [Fill::Textured, Fill::Plain, Fill::Opaque].map(|fill| pipeline(device, format, &layouts, fill)),
            texture_layout,
            textures: HashMap::new(),
            changed,
            given_up: Vec::new(),
            screen,
            screen_group,
            vertices: buffer(device, wgpu::BufferUsages::VERTEX, 1 << 18),
            indices: buffer(device, wgpu::BufferUsages::INDEX, 1 << 17),
            runs: Vec::new(),
        }
    }

    /// Makes and gives up the textures of all frames since the last one.
    fn take_textures(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        for id in self.given_up.drain(..) {
            self.textures.remove(&id);
        }
        let changed = std::mem::take(&mut *self.changed.lock());
        for mut delta in changed {
            for (id, images) in delta.set.drain() {
                for image in images {
                    self.texture(id, &image, device, queue);
                }
            }
            self.given_up.extend(delta.free.drain());
        }
    }

    fn texture(&mut self, id: TextureId, delta: &ImageDelta, device: &wgpu::Device, queue: &wgpu::Queue) {
        let ImageData::Color(image) = &delta.image;
        let size =
            wgpu::Extent3d { width: image.width() as u32, height: image.height() as u32, depth_or_array_layers: 1 };
        if delta.pos.is_none() {
            let texture = device.create_texture(&wgpu::TextureDescriptor {
                label: Some("window texture"),
                size,
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: wgpu::TextureFormat::Rgba8Unorm,
                usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
                view_formats: &[],
            });
            // Glyphs are drawn at their own size on whole pixels: the nearest texel is the one between whose neighbours
            // a filter would mix.
            let nearest = textures::TextureOptions::NEAREST;
            let options = if id == TextureId::default() { nearest } else { delta.options };
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("window texture"),
                layout: &self.texture_layout,
                entries: &[
                    wgpu::BindGroupEntry {
                        binding: 0,
                        resource: wgpu::BindingResource::TextureView(&texture.create_view(&Default::default())),
                    },
                    wgpu::BindGroupEntry {
                        binding: 1,
                        resource: wgpu::BindingResource::Sampler(&sampler(device, options)),
                    },
                ],
            });
            self.textures.insert(id, (texture, group));
        }
        let Some((texture, _)) = self.textures.get(&id) else { return };
        let [x, y] = delta.pos.unwrap_or_default().map(|at| at as u32);
        let destination =
            wgpu::TexelCopyTextureInfo { origin: wgpu::Origin3d { x, y, z: 0 }, ..texture.as_image_copy() };
        let rows = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(4 * size.width),
            rows_per_image: Some(size.height),
        };
        queue.write_texture(destination, bytemuck::cast_slice(&image.pixels), rows, size);
    }

    /// Takes over the triangles of a frame.
    fn take_frame(
        &mut self,
        primitives: &[ClippedPrimitive],
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        screen: &ScreenDescriptor,
    ) {
        let [width, height] = screen.size_in_pixels.map(|side| side as f32 / screen.pixels_per_point);
        queue.write_buffer(&self.screen, 0, bytemuck::cast_slice(&[width, height, 0.0, 0.0]));
        let (mut vertices, mut indices): (Vec<Vertex>, Vec<u32>) = (Vec::new(), Vec::new());
        self.runs.clear();
        for ClippedPrimitive { clip_rect, primitive } in primitives {
            // Nothing in this window draws by a callback of its own.
            let Primitive::Mesh(mesh) = primitive else { continue };
            let clip = pixels(*clip_rect, screen);
            let [_, _, width, height] = clip;
            if width == 0 || height == 0 {
                continue;
            }
            let (first_vertex, first_index) = (vertices.len() as i32, indices.len() as u32);
            vertices.extend_from_slice(&mesh.vertices);
            indices.extend_from_slice(&mesh.indices);
            self.runs.extend(runs(mesh).into_iter().map(|(fill, range)| Run {
                clip,
                texture: mesh.texture_id,
                fill,
                indices: first_index + range.start..first_index + range.end,
                first_vertex,
            }));
        }
        upload(device, queue, &mut self.vertices, wgpu::BufferUsages::VERTEX, bytemuck::cast_slice(&vertices));
        upload(device, queue, &mut self.indices, wgpu::BufferUsages::INDEX, bytemuck::cast_slice(&indices));
    }

    fn paint(&self, info: &PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>) {
        let [width, height] = info.screen_size_px;
        pass.set_viewport(0.0, 0.0, width as f32, height as f32, 0.0, 1.0);
        pass.set_bind_group(0, &self.screen_group, &[]);
        pass.set_vertex_buffer(0, self.vertices.slice(..));
        pass.set_index_buffer(self.indices.slice(..), wgpu::IndexFormat::Uint32);
        let (mut fill, mut texture, mut clip) = (None, None, None);
        for run in &self.runs {
            // A texture that was never made: egui's own painter leaves out what uses it, too.
            let Some((_, group)) = self.textures.get(&run.texture) else { continue };
            if clip.replace(run.clip) != Some(run.clip) {
                let [x, y, width, height] = run.clip;
                pass.set_scissor_rect(x, y, width, height);
            }
            if texture.replace(run.texture) != Some(run.texture) {
                pass.set_bind_group(1, group, &[]);
            }
            if fill.replace(run.fill) != Some(run.fill) {
                let [textured, plain, opaque] = &self.pipelines;
                pass.set_pipeline(match run.fill {
                    Fill::Textured => textured,
                    Fill::Plain => plain,
                    Fill::Opaque => opaque,
                });
            }
            pass.draw_indexed(run.indices.clone(), run.first_vertex, 0..1);
        }
    }
}

/// The triangles of a mesh in the order in which they are drawn, cut where it is worth drawing some of them in another
/// way.
fn runs(mesh: &Mesh) -> Vec<(Fill, Range<u32>)> {
    let mut runs: Vec<(Fill, Range<u32>)> = Vec::new();
    let mut put = |(fill, range, area): (Fill, Range<u32>, f32)| {
        let fill = if area < LARGE { Fill::Textured } else { fill };
        match runs.last_mut() {
            _ if range.is_empty() => {}
            Some((last, before)) if *last == fill => before.end = range.end,
            _ => runs.push((fill, range)),
        }
    };
    // Triangles that follow each other and can be drawn in the same way, and their area.
    let mut alike = (Fill::Textured, 0..0, 0.0);
    let (triangles, _) = mesh.indices.as_chunks::<3>();
    for (number, triangle) in triangles.iter().enumerate() {
        let start = 3 * number as u32;
        let corners = triangle.map(|at| mesh.vertices.get(at as usize).copied().unwrap_or_default());
        let fill = match corners {
            _ if corners.iter().any(|corner| corner.uv != egui::epaint::WHITE_UV) => Fill::Textured,
            _ if corners.iter().all(|corner| corner.color.is_opaque()) => Fill::Opaque,
            _ => Fill::Plain,
        };
        if fill != alike.0 {
            put(std::mem::replace(&mut alike, (fill, start..start, 0.0)));
        }
        let [a, b, c] = corners.map(|corner| corner.pos);
        alike.1.end = start + 3;
        alike.2 += 0.5 * ((b - a).x * (c - a).y - (b - a).y * (c - a).x).abs();
    }
    put(alike);
    runs
}

/// A rectangle in pixels, as far as it is on the screen: left, top, width, height.
fn pixels(rect: Rect, screen: &ScreenDescriptor) -> [u32; 4] {
    let at = |points: f32, most: u32| ((points * screen.pixels_per_point).round().max(0.0) as u32).min(most);
    let [width, height] = screen.size_in_pixels;
    let (left, top) = (at(rect.left(), width), at(rect.top(), height));
    let (right, bottom) = (at(rect.right(), width), at(rect.bottom(), height));
    [left, top, right.saturating_sub(left), bottom.saturating_sub(top)]
}

const UNIFORM: wgpu::BindingType = wgpu::BindingType::Buffer {
    ty: wgpu::BufferBindingType::Uniform,
    has_dynamic_offset: false,
    min_binding_size: None,
};
const TEXTURE: wgpu::BindingType = wgpu::BindingType::Texture {
    sample_type: wgpu::TextureSampleType::Float { filterable: true },
    view_dimension: wgpu::TextureViewDimension::D2,
    multisampled: false,
};

fn layout(device: &wgpu::Device, bindings: &[(wgpu::ShaderStages, wgpu::BindingType)]) -> wgpu::BindGroupLayout {
    let entries: Vec<wgpu::BindGroupLayoutEntry> = (0..)
        .zip(bindings)
        .map(|(binding, (visibility, ty))| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: *visibility,
            ty: *ty,
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("window"), entries: &entries })
}

fn pipeline(
    device: &wgpu::Device,
    format: wgpu::TextureFormat,
    layouts: &[Option<&wgpu::BindGroupLayout>],
    fill: Fill,
) -> wgpu::RenderPipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("window"),
        source: wgpu::ShaderSource::Wgsl(include_str!("software.wgsl").into()),
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("window"),
        bind_group_layouts: layouts,
        immediate_size: 0,
    });
    let entry = if fill == Fill::Textured { "textured" } else { "plain" };
    let blend = (fill != Fill::Opaque).then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING);
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("window"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("corner"),
            compilation_options: Default::default(),
            buffers: &[Some(wgpu::VertexBufferLayout {
                array_stride: size_of::<Vertex>() as u64,
                step_mode: wgpu::VertexStepMode::Vertex,
                attributes: &wgpu::vertex_attr_array![0 => Float32x2, 1 => Float32x2, 2 => Uint32],
            })],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            targets: &[Some(wgpu::ColorTargetState { format, blend, write_mask: wgpu::ColorWrites::ALL })],
        }),
        multiview_mask: None,
        cache: None,
    })
}

fn sampler(device: &wgpu::Device, options: textures::TextureOptions) -> wgpu::Sampler {
    let filter = |filter| match filter {
        textures::TextureFilter::Nearest => wgpu::FilterMode::Nearest,
        textures::TextureFilter::Linear => wgpu::FilterMode::Linear,
    };
    let wrap = match options.wrap_mode {
        textures::TextureWrapMode::ClampToEdge => wgpu::AddressMode::ClampToEdge,
        textures::TextureWrapMode::Repeat => wgpu::AddressMode::Repeat,
        textures::TextureWrapMode::MirroredRepeat => wgpu::AddressMode::MirrorRepeat,
    };
    device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("window"),
        mag_filter: filter(options.magnification),
        min_filter: filter(options.minification),
        address_mode_u: wrap,
        address_mode_v: wrap,
        ..Default::default()
    })
}

fn buffer(device: &wgpu::Device, usage: wgpu::BufferUsages, size: u64) -> wgpu::Buffer {
    let usage = usage | wgpu::BufferUsages::COPY_DST;
    device.create_buffer(&wgpu::BufferDescriptor { label: Some("window"), size, usage, mapped_at_creation: false })
}

/// Writes to a buffer, which is made anew where it is too small.
fn upload(device: &wgpu::Device, queue: &wgpu::Queue, to: &mut wgpu::Buffer, usage: wgpu::BufferUsages, bytes: &[u8]) {
    if to.size() < bytes.len() as u64 {
        *to = buffer(device, usage, (bytes.len() as u64).next_power_of_two());
    }
    queue.write_buffer(to, 0, bytes);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::offscreen::Offscreen;
    use super::*;
    use egui::{Color32, pos2, vec2};

    #[test]
    fn only_large_areas_are_drawn_in_their_own_way() {
        let mut mesh = Mesh::default();
        let side = |side: f32| Rect::from_min_size(pos2(5.0, 5.0), vec2(side, side));
        mesh.add_colored_rect(side(10.0), Color32::RED);
        mesh.add_colored_rect(side(80.0), Color32::RED.gamma_multiply(0.5));
        mesh.add_colored_rect(side(80.0), Color32::BLUE);
        mesh.add_colored_rect(side(10.0), Color32::GREEN);
        mesh.add_rect_with_uv(side(200.0), Rect::from_min_max(pos2(0.1, 0.1), pos2(0.2, 0.2)), Color32::WHITE);
        mesh.add_colored_rect(side(10.0), Color32::GREEN);
        // The small green one goes on where the large blue one was; the other two need no run of their own.
        let expected = [(Fill::Textured, 0..6), (Fill::Plain, 6..12), (Fill::Opaque, 12..24), (Fill::Textured, 24..36)];
        assert_eq!(runs(&mesh), expected);
        assert_eq!(runs(&Mesh::default()), []);
    }

    fn picture(offscreen: &mut Offscreen, painted: bool) -> image::RgbaImage {
        let ctx = egui::Context::default();
        if painted {
            let state = offscreen.state();
            // Any adapter will do here.
            let textures = Arc::default();
            let canvas = Canvas::new(&state.device, state.target_format, Arc::clone(&textures));
            state.renderer.write().callback_resources.insert(canvas);
            ctx.add_plugin(SoftwarePainter { textures });
        }
        let screen = Rect::from_min_size(pos2(0.0, 0.0), vec2(320.0, 200.0));
        let mut image = None;
        // The second frame has all glyphs.
        for _ in 0..2 {
            let input = egui::RawInput { screen_rect: Some(screen), ..Default::default() };
            let mut output = ctx.run_ui(input, |ui| {
                ui.painter().rect_filled(screen, 0.0, Color32::from_rgb(30, 40, 50));
                ui.heading("Time of a step: 176 ms");
                ui.add(egui::Slider::new(&mut 0.5, 0.0..=1.0));
                ui.painter().circle_filled(pos2(200.0, 140.0), 40.0, Color32::from_rgba_unmultiplied(200, 80, 20, 120));
            });
            offscreen.textures(&mut output.textures_delta);
            image = Some(offscreen.draw(&ctx, output, (320, 200)).unwrap());
        }
        image.unwrap()
    }

    #[test]
    fn it_draws_what_egui_draws() {
        let mut offscreen = match Offscreen::new() {
            Ok(offscreen) => offscreen,
            Err(why) => {
                assert!(std::env::var_os("BURNSCOPE_REQUIRE_GPU").is_none(), "no picture can be drawn: {why:#}");
                eprintln!("skipped: {why:#}");
                return;
            }
        };
        let (theirs, ours) = (picture(&mut offscreen, false), picture(&mut offscreen, true));
        let far = |(a, b): &(&image::Rgba<u8>, &image::Rgba<u8>)| a.0.iter().zip(b.0).any(|(a, b)| a.abs_diff(b) > 24);
        let different = theirs.pixels().zip(ours.pixels()).filter(far).count();
        let drawn = theirs.pixels().filter(|pixel| *pixel != theirs.get_pixel(319, 199)).count();
        assert!(drawn > 5000 && different < 40, "{different} pixels differ of {drawn}");
    }
}
