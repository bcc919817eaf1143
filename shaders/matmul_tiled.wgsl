// C = A B, a tile of 64 by 64 of C a workgroup: 16 columns of A and 16 rows of B at a time go through workgroup memory,
// each invocation holds a block of 4 by 4 of C in registers. The fastest of the three on most hardware; on a CPU, where
// workgroup memory is ordinary memory and barriers cost, the slowest.
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

// 16 rows of B, 64 columns as 16 vec4s each; and A's tile turned: 16 columns of 64 rows as 16 vec4s each.
var<workgroup> tile_a: array<vec4<f32>, 256>;
var<workgroup> tile_b: array<vec4<f32>, 256>;

@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let inner = params.inner / 4u;
    let columns = params.columns / 4u;
    let column = group.x * 16u + local.x;
    let row = group.y * 64u + local.y * 4u;
    let index = local.y * 16u + local.x;

    var c0 = vec4<f32>();
    var c1 = vec4<f32>();
    var c2 = vec4<f32>();
    var c3 = vec4<f32>();

    for (var k = 0u; k < params.inner; k += 16u) {
        // Each invocation fetches one vec4 of either tile; what lies outside the matrices is zero.
        let b_row = k + local.y;
        if b_row < params.inner && column < columns {
            tile_b[index] = b[b_row * columns + column];
        } else {
            tile_b[index] = vec4<f32>();
        }
        // 256 vec4s of A: row index / 4 of the tile, four of its columns from (index % 4) * 4.
        let a_row = group.y * 64u + index / 4u;
        let a_column = k / 4u + index % 4u;
        var fetched = vec4<f32>();
        if a_row < params.rows && a_column < inner {
            fetched = a[a_row * inner + a_column];
        }
        let slot = index / 16u;
        let lane = (index / 4u) % 4u;
        let first = (index % 4u) * 4u;
        tile_a[first * 16u + slot][lane] = fetched.x;
        tile_a[(first + 1u) * 16u + slot][lane] = fetched.y;
        tile_a[(first + 2u) * 16u + slot][lane] = fetched.z;
        tile_a[(first + 3u) * 16u + slot][lane] = fetched.w;
        workgroupBarrier();

        for (var j = 0u; j < 16u; j++) {
            let from_a = tile_a[j * 16u + local.y];
            let from_b = tile_b[j * 16u + local.x];
            c0 += from_a.x * from_b;
            c1 += from_a.y * from_b;
            c2 += from_a.z * from_b;
            c3 += from_a.w * from_b;
        }
        workgroupBarrier();
    }

    if row < params.rows && column < columns {
        c[row * columns + column] = c0;
        c[(row + 1u) * columns + column] = c1;
        c[(row + 2u) * columns + column] = c2;
        c[(row + 3u) * columns + column] = c3;
    }
}
