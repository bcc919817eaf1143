// C = A B, a block of 4 by 4 of C an invocation, held in registers: each value loaded is used four times.
// Row-major, all sizes padded with zeros to multiples of 4; sizes are in elements.

struct Params {
    rows: u32,
    inner: u32,
    columns: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<f32>>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.y * 4u;
    let inner = params.inner / 4u;
    let columns = params.columns / 4u;
    if row >= params.rows || id.x >= columns {
        return;
    }
    var c0 = vec4<f32>();
    var c1 = vec4<f32>();
    var c2 = vec4<f32>();
    var c3 = vec4<f32>();
    for (var k = 0u; k < inner; k++) {
        let b0 = b[(4u * k) * columns + id.x];
        let b1 = b[(4u * k + 1u) * columns + id.x];
        let b2 = b[(4u * k + 2u) * columns + id.x];
        let b3 = b[(4u * k + 3u) * columns + id.x];
        let a0 = a[row * inner + k];
        let a1 = a[(row + 1u) * inner + k];
        let a2 = a[(row + 2u) * inner + k];
        let a3 = a[(row + 3u) * inner + k];
        c0 += a0.x * b0 + a0.y * b1 + a0.z * b2 + a0.w * b3;
        c1 += a1.x * b0 + a1.y * b1 + a1.z * b2 + a1.w * b3;
        c2 += a2.x * b0 + a2.y * b1 + a2.z * b2 + a2.w * b3;
        c3 += a3.x * b0 + a3.y * b1 + a3.z * b2 + a3.w * b3;
    }
    c[row * columns + id.x] = c0;
    c[(row + 1u) * columns + id.x] = c1;
    c[(row + 2u) * columns + id.x] = c2;
    c[(row + 3u) * columns + id.x] = c3;
}
