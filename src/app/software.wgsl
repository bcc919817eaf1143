// The window on a software adapter: a color, and a texture where there is one. Such an adapter runs each line for every
// pixel, also those behind an `if` that is never taken.

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
    // Premultiplied and gamma-encoded, as egui mixes colors.
    @location(1) color: vec4<f32>,
}

// Width and height in points.
@group(0) @binding(0) var<uniform> screen: vec4<f32>;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var image_sampler: sampler;

@vertex
fn corner(@location(0) at: vec2<f32>, @location(1) uv: vec2<f32>, @location(2) color: u32) -> Corner {
    let clip = vec4<f32>(2.0 * at.x / screen.x - 1.0, 1.0 - 2.0 * at.y / screen.y, 0.0, 1.0);
    return Corner(clip, uv, unpack4x8unorm(color));
}

@fragment
fn textured(in: Corner) -> @location(0) vec4<f32> {
    return in.color * textureSample(image, image_sampler, in.uv);
}

@fragment
fn plain(in: Corner) -> @location(0) vec4<f32> {
    return in.color;
}
