//! A planted trace with known steps, launches and gaps.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::model::TrackKind;
use crate::trace::{ArgsId, FlowEnd, NameId, Trace, TrackId};

/// Adds spans by name and category.
pub struct Plant {
    pub trace: Trace,
    pub host: TrackId,
    pub device: TrackId,
}

impl Plant {
    pub fn new() -> Self {
        let mut trace = Trace::default();
        let host = trace.add_track(1, None, "thread 7 (python)", "python", TrackKind::Thread);
        let device = trace.add_track(2, None, "stream 7", "GPU 0", TrackKind::Device);
        Self { trace, host, device }
    }

    pub fn span(&mut self, track: TrackId, (start, end): (i64, i64), category: &str, name: &str) {
        let (name, category) = (self.trace.intern(name), self.trace.intern(category));
        self.trace.complete(track, start, end - start, name, category, ArgsId::NONE);
    }

    /// An operation with its launch in the middle and the kernel that it launches.
    pub fn op(&mut self, name: &str, (start, end): (i64, i64), kernel: &str, (from, to): (i64, i64)) {
        let (host, device) = (self.host, self.device);
        self.span(host, (start, end), "cpu_op", name);
        self.span(host, (start + 2, end - 2), "cuda_runtime", "cudaLaunchKernel");
        self.span(device, (from, to), "kernel", kernel);
        let end = |track, t_ns| FlowEnd { track, t_ns };
        self.trace.arrow(NameId::EMPTY, end(host, start + 2), end(device, from));
    }

    /// Steps of `wait` ns of input, then two operations whose kernels run 300 ns and 200 ns.
    pub fn training(wait: i64, steps: i64) -> Trace {
        let mut plant = Self::new();
        let length = wait + 1000;
        for step in 0..steps {
            let t = step * length;
            let host = plant.host;
            plant.span(host, (t, t + length), "user_annotation", &format!("ProfilerStep#{step}"));
            plant.span(host, (t, t + wait), "user_annotation", "enumerate(DataLoader)#__next__");
            plant.op("aten::mm", (t + wait, t + wait + 50), "gemm", (t + wait + 100, t + wait + 400));
            plant.op("aten::relu", (t + wait + 50, t + wait + 100), "relu", (t + wait + 410, t + wait + 610));
            plant.span(host, (t + wait + 100, t + wait + 650), "cuda_runtime", "cudaDeviceSynchronize");
        }
        plant.trace.settle();
        plant.trace
    }
}

#[test]
fn parts_sum_to_the_step() {
    let profile = Profile::of(&Plant::training(400, 5), None);
    assert_eq!(profile.steps.list.len(), 5);
    assert_eq!(profile.step_ns.as_ref().unwrap().median, 1400.0);
    let sum: f64 = profile.parts.iter().map(|part| part.mean_ns).sum();
    assert_eq!(sum, 1400.0);
    for step in 0..5 {
        assert_eq!(profile.parts.iter().map(|part| part.per_step_ns[step]).sum::<i64>(), 1400);
    }
    assert_eq!(profile.part_ns(Role::Kernel), 500.0);
    assert_eq!(profile.part_ns(Role::Input), 400.0);
    assert_eq!(profile.part_ns(Role::Runtime), 92.0);
    // Between the kernels and until the host has noticed, less what kernels cover.
    assert_eq!(profile.part_ns(Role::Sync), 50.0);
    assert!(profile.verdicts[0].contains("highly input-bound: 28.6 %"), "{:?}", profile.verdicts);
}

#[test]
fn gaps_have_their_causes() {
    let profile = Profile::of(&Plant::training(400, 3), None);
    let device = &profile.devices[0];
    assert_eq!((device.device.as_str(), device.busy_ns), ("GPU 0", 1500));
    assert_eq!(device.window_ns, 2 * 1400 + 510);
    let of = |cause: Cause| device.causes.iter().find(|c| c.cause == cause).map(|c| (c.count, c.total_ns));
    // From the end of a step's kernels to the next step's: 400 of 840 ns until the launch are input.
    assert_eq!(of(Cause::BetweenKernels), Some((3, 30)));
    assert_eq!(profile.launches_known, Some(1.0));
    let long = device.longest[0].clone();
    assert_eq!((long.start_ns, long.end_ns, long.next.as_str()), (1010, 1900, "gemm"));
    assert_eq!(long.cause, Cause::InputWait);
    // With less input no single thing takes half of the gap.
    let busy = Profile::of(&Plant::training(100, 3), None);
    assert_eq!(busy.devices[0].longest[0].cause, Cause::HostBound);
}

#[test]
fn steps_are_found_by_marker_and_by_pattern() {
    let mut plant = Plant::new();
    let host = plant.host;
    for i in 0..6 {
        plant.span(host, (i * 100, i * 100 + 90), "function", "train_batch");
        plant.span(host, (i * 100 + 5, i * 100 + 40), "function", "forward");
    }
    plant.trace.settle();
    let by_pattern = Profile::of(&plant.trace, None);
    assert!(by_pattern.steps.how.contains("repeats of “train_batch”"), "{}", by_pattern.steps.how);
    assert_eq!(by_pattern.steps.list.len(), 6);
    let marked = Profile::of(&plant.trace, Some("forward"));
    assert_eq!(marked.step_ns.unwrap().median, 35.0);
    assert!(Profile::of(&plant.trace, Some("no such")).steps.list.is_empty());
    assert!(Profile::of(&Trace::default(), None).step_ns.is_none());
}

#[test]
fn numbered_repeats_are_steps_and_operations_are_none() {
    let mut plant = Plant::new();
    let host = plant.host;
    for i in 0..6 {
        plant.span(host, (i * 100, i * 100 + 95), "nvtx", &format!("iteration {i}"));
        plant.span(host, (i * 100 + 1, i * 100 + 95), "cpu_op", "aten::linear");
    }
    plant.trace.settle();
    let steps = Profile::of(&plant.trace, None).steps;
    assert!(steps.how.contains("repeats of “iteration”") && steps.list.len() == 6, "{}", steps.how);
    assert_eq!(steps.list[3].name, "iteration 3");
    assert_eq!(Profile::of(&plant.trace, Some("iteration")).steps.list.len(), 6);
    // One long wait among short ones covers most of the thread, and is no step.
    let mut plant = Plant::new();
    let host = plant.host;
    for (i, dur) in [1000, 2, 2, 2].into_iter().enumerate() {
        plant.span(host, (i as i64 * 1001, i as i64 * 1001 + dur), "function", "fetch");
    }
    plant.span(host, (5000, 5001), "function", "end");
    plant.trace.settle();
    assert!(Profile::of(&plant.trace, None).steps.list.is_empty());
}

#[test]
fn kernels_lead_back_to_their_operations() {
    let trace = Plant::training(100, 2);
    let roles = Roles::of(&trace);
    let launches = Launches::of(&trace, &roles);
    let device = &trace.tracks()[1];
    let pairs: Vec<(&str, &str)> = device
        .spans()
        .map(|(at, kernel)| {
            let op = launches.op(&trace, &roles, at).unwrap();
            (trace.name(kernel.name), trace.name(trace.span(op).unwrap().name))
        })
        .collect();
    assert_eq!(pairs, [("gemm", "aten::mm"), ("relu", "aten::relu"), ("gemm", "aten::mm"), ("relu", "aten::relu")]);
}

#[test]
fn a_device_that_only_copies_is_told_of_without_steps() {
    let mut plant = Plant::new();
    let device = plant.device;
    plant.span(device, (0, 700), "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)");
    plant.span(device, (700, 1000), "kernel", "gemm");
    plant.trace.settle();
    let profile = Profile::of(&plant.trace, None);
    assert_eq!((profile.devices[0].busy_ns, profile.devices[0].copy_only_ns), (1000, 700));
    assert!(profile.verdicts.iter().any(|v| v.contains("copied memory for 70.0 %")), "{:?}", profile.verdicts);
}

#[test]
fn many_idle_devices_are_told_of_together() {
    let mut plant = Plant::new();
    for number in 0..4 {
        let name = format!("GPU {}", number + 1);
        let track = plant.trace.add_track(100 + number, None, "stream", &name, TrackKind::Device);
        plant.span(track, (0, 100), "kernel", "a");
        plant.span(track, (900, 1000 + 10 * number as i64), "kernel", "b");
    }
    plant.trace.settle();
    let verdicts = Profile::of(&plant.trace, None).verdicts;
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    assert!(verdicts[0].starts_with("4 devices worked 20.0 % to 22.3 % of the time; they were idle"), "{verdicts:?}");
}
