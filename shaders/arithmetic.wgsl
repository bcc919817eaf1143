// Multiply-adds on registers only: the rate of f32 arithmetic that no other kernel can exceed.
// Eight independent chains of vec4 hide the latency; each round is 8 * 4 * 2 = 64 operations.

struct Params {
    rounds: u32,
    factor: f32,
    offset: f32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> result: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let b = vec4<f32>(params.factor);
    let c = vec4<f32>(params.offset);
    let start = f32(id.x % 64u) / 64.0;
    var a0 = vec4<f32>(start);
    var a1 = vec4<f32>(start + 1.0);
    var a2 = vec4<f32>(start + 2.0);
    var a3 = vec4<f32>(start + 3.0);
    var a4 = vec4<f32>(start + 4.0);
    var a5 = vec4<f32>(start + 5.0);
    var a6 = vec4<f32>(start + 6.0);
    var a7 = vec4<f32>(start + 7.0);
    for (var i = 0u; i < params.rounds; i++) {
        a0 = a0 * b + c;
        a1 = a1 * b + c;
        a2 = a2 * b + c;
        a3 = a3 * b + c;
        a4 = a4 * b + c;
        a5 = a5 * b + c;
        a6 = a6 * b + c;
        a7 = a7 * b + c;
    }
    // Without a use of every chain the compiler would drop it.
    result[id.x] = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7));
}
