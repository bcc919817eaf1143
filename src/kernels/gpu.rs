//! One open wgpu device: buffers, kernels, timed launches, and every error of the driver turned into ours.

use super::devices::Found;
use super::error::KernelError;
use super::timing::Timing;
use crate::model::Source;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use wgpu::util::DeviceExt as _;

/// Silence after which a device counts as lost. Software devices are slow, and drivers reset a GPU after 2 to 10 s.
const PATIENCE: Duration = Duration::from_secs(60);
/// Room for two timestamps.
const QUERY_BYTES: u64 = 16;
/// Device timestamps may exceed the host's time around them by this share (the clocks differ a little)…
const CLOCK_SHARE: f64 = 0.05;
/// …and by this many nanoseconds (resolution).
const CLOCK_NS: f64 = 50_000.0;

/// Timestamps of the device.
struct Clock {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readable: wgpu::Buffer,
    /// Nanoseconds of a tick.
    period: f64,
}

/// A device and its queue.
pub(super) struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    clock: Option<Clock>,
    /// First message of a lost device or of an error outside every scope.
    trouble: Arc<Mutex<Option<KernelError>>>,
    /// Whether timestamps were found impossible, so that the host's clock was used instead.
    distrusted: bool,
}

/// A compiled kernel with its buffers.
pub(super) struct Kernel {
    name: String,
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
    groups: [u32; 3],
}

impl Gpu {
    /// Opens an adapter with all its limits, and timestamps where it has them.
    pub fn open(found: &Found) -> Result<Self, KernelError> {
        let open_error = |message: String| KernelError::Open { adapter: found.info.name.clone(), message };
        let wanted = found.adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
        let (device, queue) = pollster::block_on(found.adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("ceilings"),
            required_features: wanted,
            required_limits: found.adapter.limits(),
            ..Default::default()
        }))
        .map_err(|e| open_error(e.to_string()))?;
        let trouble = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&trouble);
        device.set_device_lost_callback(move |reason, message| {
            // Our own drop of the device reports itself here too.
            if reason != wgpu::DeviceLostReason::Destroyed {
                slot.lock().get_or_insert(KernelError::DeviceLost(message));
            }
        });
        let slot = Arc::clone(&trouble);
        device.on_uncaptured_error(Arc::new(move |error| {
            slot.lock().get_or_insert(convert("a command", error));
        }));
        let mut gpu = Self { device, queue, clock: None, trouble, distrusted: false };
        if wanted.contains(wgpu::Features::TIMESTAMP_QUERY) {
            gpu.clock = Some(gpu.scoped("timestamps", Self::make_clock)?);
        }
        Ok(gpu)
    }

    /// Largest storage buffer, in bytes.
    pub fn max_buffer_bytes(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    /// Whether device timestamps had to be replaced by the host's clock because they could not be true.
    pub fn distrusted(&self) -> bool {
        self.distrusted
    }

    fn make_clock(&self) -> Clock {
        let buffer = |usage| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("timestamps"),
                size: QUERY_BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        Clock {
            queries: self.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            readable: buffer(wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ),
            period: f64::from(self.queue.get_timestamp_period()),
        }
    }

    /// Runs `work`; whatever the driver or the validation objects to in it becomes an error.
    fn scoped<T>(&self, what: &str, work: impl FnOnce(&Self) -> T) -> Result<T, KernelError> {
        let filters = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let result = work(self);
        // Scopes close in the reverse order; the first error is the cause.
        let mut error = None;
        for scope in scopes.into_iter().rev() {
            if let Some(found) = pollster::block_on(scope.pop()) {
                error.get_or_insert(convert(what, found));
            }
        }
        match error.or_else(|| self.trouble.lock().clone()) {
            Some(error) => Err(error),
            None => Ok(result),
        }
    }

    /// A buffer with these values.
    pub fn upload(&self, values: &[f32]) -> Result<wgpu::Buffer, KernelError> {
        self.scoped("a buffer", |gpu| {
            gpu.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents: bytemuck::cast_slice(values),
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            })
        })
    }

    /// A buffer of zeros, of so many bytes.
    pub fn zeros(&self, bytes: u64) -> Result<wgpu::Buffer, KernelError> {
        self.scoped("a buffer", |gpu| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: bytes,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            })
        })
    }

    /// Compiles a kernel and binds its buffers in order: `params` (16 bytes) at 0 where the kernel has any, the rest
    /// after it.
    pub fn kernel(
        &self,
        name: &str,
        wgsl: &str,
        params: Option<[u32; 4]>,
        buffers: &[&wgpu::Buffer],
        groups: [u32; 3],
    ) -> Result<Kernel, KernelError> {
        self.scoped(name, |gpu| {
            let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(name),
                source: wgpu::ShaderSource::Wgsl(wgsl.into()),
            });
            let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: None,
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
            let uniform = params.map(|params| {
                gpu.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                    label: None,
                    contents: bytemuck::bytes_of(&params),
                    usage: wgpu::BufferUsages::UNIFORM,
                })
            });
            let entries: Vec<wgpu::BindGroupEntry<'_>> = (0u32..)
                .zip(uniform.iter().chain(buffers.iter().copied()))
                .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
                .collect();
            let bindings = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(name),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            });
            Kernel { name: name.to_owned(), pipeline, bindings, groups }
        })
    }

    /// Launches a kernel so many times, one after the other, and says how long that took: by the device's own
    /// timestamps around the pass, else by the host's clock from submission to completion.
    pub fn time(&mut self, kernel: &Kernel, launches: u32) -> Result<Timing, KernelError> {
        let began = self.scoped(&kernel.name, |gpu| {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(&kernel.name),
                timestamp_writes: gpu.clock.as_ref().map(|clock| wgpu::ComputePassTimestampWrites {
                    query_set: &clock.queries,
                    beginning_of_pass_write_index: Some(0),
                    end_of_pass_write_index: Some(1),
                }),
            });
            pass.set_pipeline(&kernel.pipeline);
            pass.set_bind_group(0, &kernel.bindings, &[]);
            let [x, y, z] = kernel.groups;
            for _ in 0..launches {
                pass.dispatch_workgroups(x, y, z);
            }
            drop(pass);
            if let Some(clock) = &gpu.clock {
                encoder.resolve_query_set(&clock.queries, 0..2, &clock.resolved, 0);
                encoder.copy_buffer_to_buffer(&clock.resolved, 0, &clock.readable, 0, QUERY_BYTES);
            }
            let commands = encoder.finish();
            let began = Instant::now();
            gpu.queue.submit([commands]);
            began
        })?;
        self.wait()?;
        let host_ns = began.elapsed().as_nanos() as f64;
        let Some(clock) = &self.clock else {
            return Ok(Timing { ns: host_ns, source: Source::HostClock });
        };
        let ticks: Vec<u64> = self.read_mapped(&clock.readable)?;
        let device_ns = match ticks.as_slice() {
            [begin, end, ..] => end.wrapping_sub(*begin) as f64 * clock.period,
            _ => f64::NAN,
        };
        if device_ns > 0.0 && device_ns <= host_ns * (1.0 + CLOCK_SHARE) + CLOCK_NS {
            Ok(Timing { ns: device_ns, source: Source::DeviceTimestamp })
        } else {
            // Work cannot take longer on the device than between its submission and its end.
            self.distrusted = true;
            Ok(Timing { ns: host_ns, source: Source::HostClock })
        }
    }

    /// Launches a kernel once and waits for it.
    pub fn run(&mut self, kernel: &Kernel) -> Result<(), KernelError> {
        self.time(kernel, 1).map(|_| ())
    }

    /// The values of a buffer.
    pub fn download(&self, buffer: &wgpu::Buffer) -> Result<Vec<f32>, KernelError> {
        let readable = self.scoped("reading a buffer back", |gpu| {
            let readable = gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: buffer.size(),
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            });
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(buffer, 0, &readable, 0, buffer.size());
            gpu.queue.submit([encoder.finish()]);
            readable
        })?;
        self.read_mapped(&readable)
    }

    fn read_mapped<T: bytemuck::Pod>(&self, buffer: &wgpu::Buffer) -> Result<Vec<T>, KernelError> {
        let (sender, receiver) = channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver is gone only when waiting has failed already.
            let _ = sender.send(result);
        });
        self.wait()?;
        match receiver.try_recv() {
            Ok(Ok(())) => {}
            Ok(Err(e)) => return Err(KernelError::DeviceLost(e.to_string())),
            Err(e) => return Err(KernelError::DeviceLost(format!("a buffer was never handed back: {e}"))),
        }
        let view = buffer.get_mapped_range(..).map_err(|e| KernelError::DeviceLost(e.to_string()))?;
        let values = bytemuck::pod_collect_to_vec::<u8, T>(&view);
        drop(view);
        buffer.unmap();
        Ok(values)
    }

    fn wait(&self) -> Result<(), KernelError> {
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(PATIENCE) };
        let polled = self.device.poll(wait);
        if let Some(error) = self.trouble.lock().clone() {
            return Err(error);
        }
        let silent = |e| KernelError::DeviceLost(format!("no answer for {} s ({e})", PATIENCE.as_secs()));
        polled.map(|_| ()).map_err(silent)
    }
}

fn convert(what: &str, error: wgpu::Error) -> KernelError {
    let (wgpu::Error::OutOfMemory { source }
    | wgpu::Error::Validation { source, .. }
    | wgpu::Error::Internal { source, .. }) = &error;
    // The outer text is a chain of places; the innermost says what is wrong.
    let mut cause: &dyn std::error::Error = source.as_ref();
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let message = cause.to_string();
    if matches!(error, wgpu::Error::OutOfMemory { .. }) {
        KernelError::OutOfMemory(format!("{what}: {message}"))
    } else if message.to_lowercase().contains("lost") {
        KernelError::DeviceLost(message)
    } else {
        KernelError::Refused { kernel: what.to_owned(), message }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::devices::enumerate;
    use super::*;

    /// The first Vulkan, Metal or DirectX adapter. Without one (a bare machine) there is nothing to test here.
    fn any_gpu() -> Option<Gpu> {
        let found = enumerate().into_iter().find(|f| f.info.backend != "Gl")?;
        Some(Gpu::open(&found).unwrap())
    }

    #[test]
    fn a_launch_that_is_too_large_is_refused_not_timed() {
        let Some(mut gpu) = any_gpu() else { return };
        let (from, to) = (gpu.upload(&[1.0; 8]).unwrap(), gpu.zeros(32).unwrap());
        let wgsl = include_str!("../../shaders/copy.wgsl");
        let kernel = gpu.kernel("copy", wgsl, None, &[&from, &to], [70_000, 1, 1]).unwrap();
        let error = gpu.time(&kernel, 1).unwrap_err();
        assert!(matches!(error, KernelError::Refused { .. }), "{error}");
        assert!(error.to_string().contains("copy"), "{error}");
        // The device goes on after it.
        let kernel = gpu.kernel("copy", wgsl, None, &[&from, &to], [1, 1, 1]).unwrap();
        assert!(gpu.time(&kernel, 3).unwrap().ns > 0.0);
        assert_eq!(gpu.download(&to).unwrap(), vec![1.0; 8]);
    }

    #[test]
    fn too_large_a_buffer_and_a_broken_kernel_are_errors() {
        let Some(gpu) = any_gpu() else { return };
        assert!(gpu.zeros((u64::MAX / 2) & !3).is_err());
        let error = gpu.kernel("broken", "@compute fn main() {", None, &[], [1, 1, 1]).err().unwrap();
        assert!(matches!(error, KernelError::Refused { .. }), "{error}");
    }
}
