// Copies a buffer, 16 bytes an invocation and step: the device's memory bandwidth.

@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> copied: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    // A grid-stride loop: any length with any number of workgroups, and neighbours touch neighbouring memory.
    let stride = groups.x * 256u;
    for (var i = id.x; i < arrayLength(&source); i += stride) {
        copied[i] = source[i];
    }
}
