//! Draws the window on software adapters, where egui's own shader takes a tenth of a second for a frame: it filters
//! textures by two methods and dithers, and a processor that stands in for a graphics card does all of that for every
//! pixel. Here the processor draws the picture itself ([`raster`]), and the adapter only shows it.
//!
//! It stands between egui and its painter: a frame's shapes are replaced by one callback that shows the picture.

use super::raster::{self, Images, Pixel};
use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, RenderState, ScreenDescriptor, wgpu};
use egui::mutex::Mutex;
use egui::{ClippedPrimitive, FullOutput, PaintCallbackInfo, TextureId};
use std::sync::Arc;

/// Stands between egui and its painter.
pub struct SoftwarePainter {
    images: Arc<Mutex<Images>>,
    /// Textures that the last frame still used.
    given_up: Vec<TextureId>,
}

impl SoftwarePainter {
    /// A painter for an adapter, if it is one of software; others draw fast enough as it is.
    pub fn new(state: &RenderState) -> Option<Self> {
        let software = state.adapter.get_info().device_type == wgpu::DeviceType::Cpu;
        // egui mixes colors gamma-encoded; a target that encodes once more would need it undone for each pixel.
        (software && !state.target_format.is_srgb()).then(|| Self::on(state))
    }

    fn on(state: &RenderState) -> Self {
        let canvas = Canvas::new(&state.device, state.target_format);
        state.renderer.write().callback_resources.insert(canvas);
        Self { images: Arc::default(), given_up: Vec::new() }
    }
}

impl egui::Plugin for SoftwarePainter {
    fn debug_name(&self) -> &'static str {
        "software painter"
    }

    fn output_hook(&mut self, ctx: &egui::Context, output: &mut FullOutput) {
        let shapes = std::mem::take(&mut output.shapes);
        let primitives = ctx.tessellate(shapes, output.pixels_per_point);
        let mut delta = std::mem::take(&mut output.textures_delta);
        let mut images = self.images.lock();
        for id in self.given_up.drain(..) {
            images.remove(&id);
        }
        for (id, changes) in delta.set.drain() {
            changes.iter().for_each(|change| raster::change(&mut images, id, change));
        }
        self.given_up.extend(delta.free.drain());
        let screen = ctx.input(|input| input.viewport_rect());
        let shape = Callback::new_paint_callback(screen, Frame { primitives, images: Arc::clone(&self.images) });
        output.shapes = vec![egui::epaint::ClippedShape::new(screen, shape)];
    }
}

/// The triangles of a frame.
struct Frame {
    primitives: Vec<ClippedPrimitive>,
    images: Arc<Mutex<Images>>,
}

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
            canvas.draw(self, device, queue, screen);
        }
        Vec::new()
    }

    fn paint(&self, info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        if let Some(canvas) = resources.get::<Canvas>() {
            canvas.show(&info, pass);
        }
    }
}

/// The picture, and what showing it needs on the device.
struct Canvas {
    pixels: Vec<Pixel>,
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    texture: Option<(wgpu::Texture, wgpu::BindGroup)>,
}

impl Canvas {
    fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("window"),
            entries: &[
                binding(
                    0,
                    wgpu::BindingType::Texture {
                        sample_type: wgpu::TextureSampleType::Float { filterable: false },
                        view_dimension: wgpu::TextureViewDimension::D2,
                        multisampled: false,
                    },
                ),
                binding(1, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::NonFiltering)),
            ],
        });
        // Nearest, clamped.
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor { label: Some("window"), ..Default::default() });
        Self { pixels: Vec::new(), pipeline: pipeline(device, format, &layout), layout, sampler, texture: None }
    }

    /// Draws a frame and hands it to the device.
    fn draw(&mut self, frame: &Frame, device: &wgpu::Device, queue: &wgpu::Queue, screen: &ScreenDescriptor) {
        let [width, height] = screen.size_in_pixels;
        let size = wgpu::Extent3d { width, height, depth_or_array_layers: 1 };
        if self.texture.as_ref().is_none_or(|(texture, _)| texture.size() != size) {
            self.texture = Some(self.picture(device, size));
        }
        let Some((texture, _)) = &self.texture else { return };
        let sides = [width as usize, height as usize];
        self.pixels.resize(sides.iter().product(), Pixel::default());
        raster::draw(&mut self.pixels, sides, &frame.primitives, screen.pixels_per_point, &frame.images.lock());
        let rows =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * width), rows_per_image: Some(height) };
        queue.write_texture(texture.as_image_copy(), bytemuck::cast_slice(&self.pixels), rows, size);
    }

    fn picture(&self, device: &wgpu::Device, size: wgpu::Extent3d) -> (wgpu::Texture, wgpu::BindGroup) {
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("window"),
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Bgra8Unorm,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("window"),
            layout: &self.layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view) },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&self.sampler) },
            ],
        });
        (texture, group)
    }

    fn show(&self, info: &PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>) {
        let Some((_, group)) = &self.texture else { return };
        let [width, height] = info.screen_size_px;
        pass.set_viewport(0.0, 0.0, width as f32, height as f32, 0.0, 1.0);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.draw(0..6, 0..1);
    }
}

fn binding(binding: u32, ty: wgpu::BindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::FRAGMENT, ty, count: None }
}

fn pipeline(
    device: &wgpu::Device,
    format: wgpu::TextureFormat,
    layout: &wgpu::BindGroupLayout,
) -> wgpu::RenderPipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("window"),
        source: wgpu::ShaderSource::Wgsl(include_str!("software.wgsl").into()),
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("window"),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("window"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("corner"),
            compilation_options: Default::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("pixel"),
            compilation_options: Default::default(),
            targets: &[Some(format.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::offscreen::Offscreen;
    use super::*;
    use egui::{Color32, Rect, pos2, vec2};

    fn picture(offscreen: &mut Offscreen, painted: bool) -> image::RgbaImage {
        let ctx = egui::Context::default();
        if painted {
            let state = offscreen.state();
            // Any adapter will do here.
            ctx.add_plugin(SoftwarePainter::on(state));
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
