// The window on a software adapter: one picture that is drawn elsewhere.

@group(0) @binding(0) var picture: texture_2d<f32>;

@vertex
fn corner(@builtin(vertex_index) number: u32) -> @builtin(position) vec4<f32> {
    // A triangle that is larger than the screen.
    let at = vec2<f32>(vec2<u32>(number << 1u, number) & vec2<u32>(2u, 2u));
    return vec4<f32>(2.0 * at.x - 1.0, 1.0 - 2.0 * at.y, 0.0, 1.0);
}

@fragment
fn pixel(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    return textureLoad(picture, vec2<i32>(at.xy), 0);
}
