//! Draws frames into memory, with no window and no display: pictures for reports and the README.

use anyhow::Context as _;
use eframe::egui_wgpu::{
    RenderState, RendererOptions, ScreenDescriptor, WgpuConfiguration, WgpuSetup, WgpuSetupCreateNew, wgpu,
};
use egui::{FullOutput, TexturesDelta};
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for the adapter to draw one picture.
const DRAW_TIMEOUT: Duration = Duration::from_secs(30);

/// An adapter with egui's renderer on it.
pub struct Offscreen {
    state: RenderState,
}

impl Offscreen {
    /// Takes a software adapter where there is one, since its pictures are the same everywhere, else any other.
    ///
    /// # Errors
    /// When there is no adapter at all.
    pub fn new() -> anyhow::Result<Self> {
        let mut setup = WgpuSetupCreateNew::without_display_handle();
        setup.native_adapter_selector = Some(Arc::new(|adapters, _surface| {
            let rank = |adapter: &&wgpu::Adapter| match adapter.get_info().device_type {
                wgpu::DeviceType::Cpu => 0,
                wgpu::DeviceType::DiscreteGpu => 1,
                _ => 2,
            };
            adapters.iter().min_by_key(rank).cloned().ok_or_else(|| "no graphics adapter was found".to_owned())
        }));
        let setup = WgpuSetup::CreateNew(setup);
        let instance = pollster::block_on(setup.new_instance());
        let config = WgpuConfiguration { wgpu_setup: setup, ..WgpuConfiguration::default() };
        let state = pollster::block_on(RenderState::create(&config, &instance, None, RendererOptions::PREDICTABLE))
            .map_err(|error| anyhow::anyhow!("{error}"))
            .context("nothing can draw a picture here; on Debian, `apt-get install mesa-vulkan-drivers` adds a software adapter")?;
        Ok(Self { state })
    }

    /// What it draws with.
    #[cfg(test)]
    pub(super) fn state(&self) -> &RenderState {
        &self.state
    }

    /// Takes over textures that a frame has made or given up; must see every frame.
    pub fn textures(&mut self, delta: &mut TexturesDelta) {
        let mut renderer = self.state.renderer.write();
        for (id, images) in delta.set.drain() {
            for image in images {
                renderer.update_texture(&self.state.device, &self.state.queue, id, &image);
            }
        }
        for id in delta.free.drain() {
            renderer.free_texture(&id);
        }
    }

    /// Draws a frame of `size` pixels, RGBA.
    ///
    /// # Errors
    /// When the adapter fails or is too slow.
    pub fn draw(
        &mut self,
        ctx: &egui::Context,
        output: FullOutput,
        size: (u32, u32),
    ) -> anyhow::Result<image::RgbaImage> {
        let (device, queue) = (&self.state.device, &self.state.queue);
        let pixels_per_point = output.pixels_per_point;
        let primitives = ctx.tessellate(output.shapes, pixels_per_point);
        let screen = ScreenDescriptor { size_in_pixels: size.into(), pixels_per_point };
        let extent = wgpu::Extent3d { width: size.0, height: size.1, depth_or_array_layers: 1 };
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: extent,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: self.state.target_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut renderer = self.state.renderer.write();
        let uploads = renderer.update_buffers(device, queue, &mut encoder, &primitives, &screen);
        {
            let attachment = wgpu::RenderPassColorAttachment {
                view: &view,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
                depth_slice: None,
            };
            let descriptor =
                wgpu::RenderPassDescriptor { color_attachments: &[Some(attachment)], ..Default::default() };
            renderer.render(&mut encoder.begin_render_pass(&descriptor).forget_lifetime(), &primitives, &screen);
        }
        // Rows of a copied texture must begin at multiples of 256 bytes.
        let row = (size.0 * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(row) * u64::from(size.1),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
        let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(texture.as_image_copy(), target, extent);
        queue.submit(uploads.into_iter().chain([encoder.finish()]));
        let bgra =
            matches!(self.state.target_format, wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Bgra8UnormSrgb);
        read(device, &buffer, row, size, bgra)
    }
}

/// Waits for the copy and takes the pixels out of its padded rows.
fn read(
    device: &wgpu::Device,
    buffer: &wgpu::Buffer,
    row: u32,
    size: (u32, u32),
    bgra: bool,
) -> anyhow::Result<image::RgbaImage> {
    let (send, receive) = std::sync::mpsc::channel();
    buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
        // The receiver is gone only when waiting failed, which is reported there.
        send.send(result).ok();
    });
    device
        .poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(DRAW_TIMEOUT) })
        .context("the adapter did not draw the picture in time")?;
    receive.recv().context("the adapter gave no picture")?.context("the picture could not be read back")?;
    let bytes = buffer
        .slice(..)
        .get_mapped_range()
        .map_err(|error| anyhow::anyhow!("the picture could not be read back: {error}"))?;
    let mut pixels = Vec::with_capacity(size.0 as usize * size.1 as usize * 4);
    for line in bytes.chunks(row as usize) {
        pixels.extend_from_slice(line.get(..size.0 as usize * 4).unwrap_or(line));
    }
    if bgra {
        for pixel in pixels.chunks_exact_mut(4) {
            pixel.swap(0, 2);
        }
    }
    image::RgbaImage::from_raw(size.0, size.1, pixels).context("the picture has too few pixels")
}
