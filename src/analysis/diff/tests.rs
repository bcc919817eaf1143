//! Differences of planted traces.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::analysis::profile::tests::Plant;
use crate::analysis::{FlameNode, flame as merged};

#[test]
fn input_wait_is_named_as_the_difference() {
    let diff = diff((&Plant::training(4000, 8), None), (&Plant::training(100, 8), None));
    assert!(diff.per_step);
    assert!(diff.verdicts[0].starts_with("A step takes 78.0 % less"), "{:?}", diff.verdicts);
    assert!(diff.verdicts[1].starts_with("Input wait was the difference"), "{:?}", diff.verdicts);
    assert_eq!(diff.ops_matched, Some(1.0));
    assert!(diff.ops.iter().all(|op| op.status == Status::Same), "{:?}", diff.ops);
    let mm = diff.ops.iter().find(|op| op.name == "aten::mm").unwrap();
    assert_eq!((mm.a.unwrap().count, mm.a.unwrap().device_ns), (1.0, 300.0));
    assert!(diff.steps.unwrap().ratio < 0.3);
}

#[test]
fn operations_are_matched_by_place_where_names_differ() {
    let vendor = |conv: &str, kernel: &str, extra: bool| {
        let mut plant = Plant::new();
        let host = plant.host;
        for step in 0..4 {
            let t = step * 1000;
            plant.span(host, (t, t + 1000), "user_annotation", &format!("ProfilerStep#{step}"));
            plant.span(host, (t + 10, t + 200), "cpu_op", "aten::conv2d");
            plant.op(conv, (t + 20, t + 100), kernel, (t + 200, t + 500));
            if extra {
                plant.op("aten::dropout", (t + 300, t + 350), "dropout", (t + 600, t + 610));
            }
        }
        plant.trace.settle();
        plant.trace
    };
    let diff = diff(
        (&vendor("aten::cudnn_convolution", "cudnn_conv", false), None),
        (&vendor("aten::miopen_convolution", "miopen_conv", true), None),
    );
    let find = |name: &str| diff.ops.iter().find(|op| op.name == name).unwrap();
    let conv = find("aten::cudnn_convolution");
    assert_eq!((conv.status, conv.other_name.as_deref()), (Status::Replaced, Some("aten::miopen_convolution")));
    assert_eq!(conv.b.unwrap().device_ns, 300.0);
    assert_eq!(find("aten::dropout").status, Status::Added);
    assert_eq!(find("aten::conv2d").status, Status::Same);
    let statuses: Vec<Status> = diff.kernels.iter().map(|kernel| kernel.status).collect();
    assert_eq!(statuses.iter().filter(|s| **s == Status::Added).count(), 2);
    assert_eq!(statuses.iter().filter(|s| **s == Status::Removed).count(), 1);
}

#[test]
fn traces_without_steps_are_compared_as_a_whole() {
    let plain = |times: i64| {
        let mut plant = Plant::new();
        for i in 0..times {
            plant.op("aten::mm", (i * 100, i * 100 + 50 + i), "gemm", (i * 100 + 60, i * 100 + 90));
        }
        plant.trace.settle();
        plant.trace
    };
    let diff = diff((&plain(1), None), (&plain(2), None));
    assert!(!diff.per_step && diff.steps.is_none() && diff.parts.is_empty());
    assert_eq!(diff.ops[0].b.unwrap().count, 2.0);
}

#[test]
fn traces_with_nothing_in_common_say_so() {
    let plain = |name: &str| {
        let mut plant = Plant::new();
        plant.op(name, (0, 50), name, (60, 90));
        plant.trace.settle();
        plant.trace
    };
    let diff = diff((&plain("aten::mm"), None), (&plain("dot_general"), None));
    assert_eq!(diff.ops_matched.map(f64::to_bits), Some(0.0_f64.to_bits()), "zero without a sign");
    assert!(diff.verdicts.contains(&"0.0 % of the operations' calls are in both".to_owned()), "{:?}", diff.verdicts);
}

#[test]
fn flames_are_laid_over_one_another() {
    let tree = |wait| {
        let trace = Plant::training(wait, 2);
        merged::merged(&trace, &trace.tracks()[0])
    };
    let (a, b) = (tree(100), tree(300));
    let over = flame::diff(Some(&a), Some(&b), (2.0, 2.0));
    assert_eq!((over.a_ns, over.b_ns), (1100.0, 1300.0));
    let child = |node: &FlameNode| node.children.len();
    assert!(over.children.len() >= child(&a).max(child(&b)));
    assert_eq!(flame::diff(None, Some(&b), (1.0, 2.0)).a_ns, 0.0);
}

#[test]
fn the_place_that_changed_is_named() {
    let diff = diff((&Plant::training(4000, 8), None), (&Plant::training(100, 8), None));
    assert_eq!(diff.flame.name, "All");
    let step = diff.flame.children.iter().find(|child| child.name == "Step").unwrap();
    assert!(step.delta_ns() < -3800.0 && step.b_ns > 0.0, "{step:?}");
    assert!(diff.flame.children.iter().any(|child| child.name == "Devices" && child.delta_ns().abs() < 1.0));
    let first = &diff.places[0];
    assert!(first.path.last().unwrap().contains("DataLoader"), "{:?}", diff.places);
    assert!((first.a_ns - first.b_ns - 3900.0).abs() < 1.0, "{first:?}");
    // Self times of all places sum to the whole.
    fn own(node: &flame::DiffNode) -> f64 {
        let inside: f64 = node.children.iter().map(|child| child.a_ns).sum();
        (node.a_ns - inside).max(0.0) + node.children.iter().map(own).sum::<f64>()
    }
    assert!((own(&diff.flame) - diff.flame.a_ns).abs() < 1e-6);
}
