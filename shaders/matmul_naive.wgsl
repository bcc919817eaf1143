// C = A B, one element of C an invocation: the textbook's kernel, to compare the others with.
// Row-major, rows padded with zeros to whole vec4s; sizes are in elements of the padded matrices.

struct Params {
    rows: u32,
    inner: u32,
    columns: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.y >= params.rows || id.x >= params.columns {
        return;
    }
    var sum = 0.0;
    for (var k = 0u; k < params.inner; k++) {
        sum += a[id.y * params.inner + k] * b[k * params.columns + id.x];
    }
    c[id.y * params.columns + id.x] = sum;
}
