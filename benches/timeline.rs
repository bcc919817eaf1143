//! A full-width timeline over ten million spans, at every zoom: its layout, the whole frame with its paint list, and
//! spans that are appended while it is drawn.
//!
//! Budget: 8 ms at any zoom for layout and paint list. Beside the criterion figures of a few zooms it prints the slowest
//! of a sweep.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use burnscope::app::raster;
use burnscope::model::TrackKind;
use burnscope::timeline::layout::{PADDING, layout};
use burnscope::timeline::paint::{CanvasColors, SpanLook};
use burnscope::timeline::{Bounds, CanvasInput, TimelineCanvas, TrackTree, ViewRange};
use burnscope::trace::{ArgsId, NameId, Span, Trace};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

const WIDTH_PX: f64 = 1920.0;
const SPANS: u64 = 10_000_000;

/// Steps of phases of layers on one track, and operations and kernels on two others: ten million spans in all, with
/// lengths and gaps that vary as those of a training do.
fn planted() -> Trace {
    let mut trace = Trace::default();
    let training = trace.add_track(1, None, "Training thread", "", TrackKind::Training);
    let ops = trace.add_track(2, None, "Ops and fused blocks", "", TrackKind::Ops);
    let device = trace.add_track(3, None, "Device kernels", "", TrackKind::Device);
    let names: Vec<NameId> = (0..200).map(|i| trace.intern(&format!("name {i}"))).collect();
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: u64| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        (noise % below) as i64
    };
    let (mut now, mut made) = (0_i64, 0_u64);
    while made < SPANS {
        let start = now;
        let mut inner = Vec::new();
        for phase in 0..7 {
            let phase_start = now;
            for i in 0..80 {
                let length = 500 + random(4000);
                let name = names[(random(200)) as usize];
                inner.push((ops, now, length, name));
                inner.push((device, now + 300, length * 3 / 4, name));
                if i % 8 == 0 {
                    inner.push((training, now, length, name));
                }
                now += length + random(if i % 20 == 0 { 20_000 } else { 300 });
            }
            inner.push((training, phase_start, now - phase_start, names[phase]));
        }
        trace.complete(training, start, now - start, names[100], NameId::EMPTY, ArgsId::NONE);
        inner.sort_by_key(|&(track, start, length, _)| (track.0, start, -length));
        made += inner.len() as u64 + 1;
        for (track, start, length, name) in inner {
            trace.complete(track, start, length, name, NameId::EMPTY, ArgsId::NONE);
        }
        now += random(50_000);
    }
    trace.settle();
    trace
}

/// The canvas in a window of its own, as the app draws it.
struct Window {
    ctx: egui::Context,
    canvas: TimelineCanvas,
    frames: u32,
}

impl Window {
    fn new() -> Self {
        Self { ctx: egui::Context::default(), canvas: TimelineCanvas::default(), frames: 0 }
    }

    /// One frame: input, layout, paint list. Returns what egui would draw.
    fn frame(&mut self, trace: &Trace, tree: &TrackTree) -> egui::FullOutput {
        self.frames += 1;
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(WIDTH_PX as f32, 1080.0));
        let time = Some(f64::from(self.frames) * 0.016);
        let input = egui::RawInput { screen_rect: Some(screen), time, ..egui::RawInput::default() };
        let gray = |level| egui::Color32::from_gray(level);
        let colors = CanvasColors {
            background: gray(20),
            stripe: gray(24),
            grid: gray(50),
            text: gray(220),
            weak_text: gray(140),
            selection: egui::Color32::GOLD,
            hit: egui::Color32::YELLOW,
            counter: egui::Color32::BLUE,
            mark: egui::Color32::RED,
        };
        let color = |span: &Span| egui::Color32::from_rgb(span.name.0 as u8, 120, 200);
        let canvas = &mut self.canvas;
        self.ctx.run_ui(input, |ui| {
            let input = CanvasInput {
                trace,
                tree,
                live: false,
                selected: None,
                range_ns: None,
                marks: &[],
                hits: &[],
                look: SpanLook { color: &color, hit: None },
                colors,
            };
            canvas.ui(ui, &input);
        })
    }
}

/// Every zoom at several places, each in a frame of its own: nothing of the frame before can be used again.
fn sweep_frames(trace: &Trace, tree: &TrackTree, bounds: Bounds) {
    let mut window = Window::new();
    window.frame(trace, tree);
    let mut times = Vec::new();
    let mut view = ViewRange::fit(bounds, WIDTH_PX);
    while view.ns_per_px > 1.0 {
        for place in [0.1, 0.37, 0.5, 0.83] {
            let middle = bounds.end_ns * place;
            let half = view.ns_per_px * WIDTH_PX / 2.0;
            let best = (0..5).map(|i| {
                // Shifted each time, beyond what the layout before had as padding.
                let shift = half * 4.0 * f64::from(i);
                window.canvas.show(middle - half + shift, middle + half + shift);
                let began = Instant::now();
                black_box(window.frame(trace, tree));
                began.elapsed()
            });
            times.push(best.min().unwrap());
        }
        view.ns_per_px /= 1.5;
    }
    times.sort();
    let p99 = times[times.len() * 99 / 100];
    println!("{} frames, layout and paint list: p99 {p99:?}, slowest {:?}", times.len(), times[times.len() - 1]);
}

/// Spans appended to a trace in batches, with a frame drawn of a snapshot after each.
fn append_while_drawn() {
    const BATCH: i64 = 40_000;
    const BATCHES: i64 = 100;
    let mut trace = Trace::default();
    let tracks = [TrackKind::Training, TrackKind::Ops, TrackKind::Device];
    let tracks: Vec<_> = (1..).zip(tracks).map(|(uuid, kind)| trace.add_track(uuid, None, "t", "", kind)).collect();
    let names: Vec<NameId> = (0..200).map(|i| trace.intern(&format!("name {i}"))).collect();
    let mut window = Window::new();
    let began = Instant::now();
    for batch in 0..BATCHES {
        for i in batch * BATCH..(batch + 1) * BATCH {
            let at = i as usize;
            trace.complete(tracks[at % 3], i * 700, 500 + i % 900, names[at % 200], NameId::EMPTY, ArgsId::NONE);
        }
        trace.settle();
        let snapshot = trace.clone();
        let tree = TrackTree::of(&snapshot, &BTreeSet::new());
        black_box(window.frame(&snapshot, &tree));
    }
    let took = began.elapsed();
    let spans = (BATCH * BATCHES) as f64;
    println!("appended while drawn: {:.1} million spans/s, {BATCHES} frames", spans / took.as_secs_f64() / 1e6);
}

/// One frame's layout, with the padding that the cache asks for.
fn frame(trace: &Trace, tree: &TrackTree, view: &ViewRange) -> usize {
    let (start, end) = (view.start_ns, view.end_ns(WIDTH_PX));
    let pad = (end - start) * PADDING;
    layout(trace, tree, (start - pad, end + pad), view.bucket_ns()).items.len()
}

fn timeline(criterion: &mut Criterion) {
    let trace = planted();
    let tree = TrackTree::of(&trace, &BTreeSet::new());
    let (start, end) = trace.bounds().unwrap();
    let bounds = Bounds { start_ns: 0.0, end_ns: (end - start) as f64 };
    println!("{} spans, {:.1} bytes each", trace.span_count(), trace.bytes() as f64 / trace.span_count() as f64);

    let mut slowest = (Duration::ZERO, 0.0);
    let mut times = Vec::new();
    let mut view = ViewRange::fit(bounds, WIDTH_PX);
    while view.ns_per_px > 1.0 {
        for place in [0.1, 0.37, 0.5, 0.83] {
            let mut here = view;
            here.start_ns = bounds.end_ns * place - here.ns_per_px * WIDTH_PX / 2.0;
            // The best of a few, so that other programs do not count.
            let took = (0..5)
                .map(|_| {
                    let began = Instant::now();
                    black_box(frame(&trace, &tree, &here));
                    began.elapsed()
                })
                .min()
                .unwrap();
            times.push(took);
            if took > slowest.0 {
                slowest = (took, here.ns_per_px);
            }
        }
        view.ns_per_px /= 1.5;
    }
    times.sort();
    let p99 = times[times.len() * 99 / 100];
    println!("{} views: p99 {p99:?}, slowest {:?} at {:.0} ns/px", times.len(), slowest.0, slowest.1);

    sweep_frames(&trace, &tree, bounds);
    append_while_drawn();

    let mut group = criterion.benchmark_group("layout of 10 million spans");
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    for zoom in [1.0, 10.0, 100.0, 1_000.0, 100_000.0] {
        let mut view = ViewRange::fit(bounds, WIDTH_PX);
        view.zoom_at(WIDTH_PX * 0.4, zoom);
        group.bench_with_input(BenchmarkId::new("zoom", zoom), &view, |bencher, view| {
            bencher.iter(|| frame(&trace, &tree, black_box(view)));
        });
    }
    group.finish();
    picture(criterion, &trace, &tree, bounds);
}

/// The picture of a timeline full of spans, as software adapters get it.
fn picture(criterion: &mut Criterion, trace: &Trace, tree: &TrackTree, bounds: Bounds) {
    let mut window = Window::new();
    let mut images = raster::Images::new();
    let (middle, half) = (bounds.end_ns / 2.0, bounds.end_ns / 2e4);
    let mut primitives = Vec::new();
    // The second frame has all glyphs.
    for _ in 0..2 {
        window.canvas.show(middle - half, middle + half);
        let output = window.frame(trace, tree);
        for (id, changes) in &output.textures_delta.set {
            changes.iter().for_each(|change| raster::change(&mut images, *id, change));
        }
        primitives = window.ctx.tessellate(output.shapes, 1.0);
    }
    let sides = [WIDTH_PX as usize, 1080];
    let mut pixels = vec![raster::Pixel::default(); sides[0] * sides[1]];
    let mut group = criterion.benchmark_group("software picture");
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    group.bench_function("1920x1080", |bencher| {
        bencher.iter(|| raster::draw(&mut pixels, sides, black_box(&primitives), 1.0, &images));
    });
    group.finish();
}

criterion_group!(benches, timeline);
criterion_main!(benches);
