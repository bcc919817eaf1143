// The window on a software adapter: one picture that is drawn elsewhere.
//
// Mesa's llvmpipe copies rows instead of running a shader for each pixel if it finds an upright rectangle of two
// triangles, a fragment shader that only samples, a place that comes as it is from the vertices in a vector of four, and
// a nearest sampler that clamps. Anything else is drawn the same, but takes four times as long.

@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var nearest: sampler;

struct Corner {
    @builtin(position) at: vec4<f32>,
    @location(0) place: vec4<f32>,
}

@vertex
fn corner(@builtin(vertex_index) number: u32) -> Corner {
    // Upper left, lower left, lower right; upper left, lower right, upper right.
    let right = f32(number == 2u || number >= 4u);
    let low = f32(number == 1u || number == 2u || number == 4u);
    return Corner(vec4<f32>(2.0 * right - 1.0, 1.0 - 2.0 * low, 0.0, 1.0), vec4<f32>(right, low, 0.0, 0.0));
}

@fragment
fn pixel(corner: Corner) -> @location(0) vec4<f32> {
    return textureSample(picture, nearest, corner.place.xy);
}
