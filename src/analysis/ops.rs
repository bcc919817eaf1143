//! Tables of operations and kernels: how often, how long, how fast.
//!
//! Operations come from the track of ops and fused blocks. Where there is none (the CPU backend runs each operation at
//! once), the layers' forward calls and the phases stand in their place, and the row says so.

use super::pieces::pieces;
use super::profile::{Role, Roles};
use crate::model::track::{arg, category};
use crate::model::{Known, Phase, Source, TrackKind};
use crate::stats::summary;
use crate::trace::{ArgValue, NameId, Span, Trace, Track};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// What belongs together in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Key {
    /// Spans of the same name.
    #[default]
    Name,
    /// Spans of the same name and the same input shapes.
    NameAndShapes,
}

/// One row. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct OpRow {
    /// Name of the operation, fused block or kernel.
    pub name: String,
    /// Input shapes, where all spans of the row have the same.
    pub shapes: String,
    /// Number of spans.
    pub count: u64,
    /// Time, children included.
    pub total_ns: f64,
    /// Time, children left out.
    pub self_ns: f64,
    /// Mean of a span.
    pub mean_ns: f64,
    /// 95th percentile of a span.
    pub p95_ns: f64,
    /// Shortest span.
    pub min_ns: f64,
    /// Longest span.
    pub max_ns: f64,
    /// Share of the self time of all rows, 0 to 1.
    pub share: f64,
    /// Floating-point operations of all spans, from their shapes.
    pub flops: Known<f64>,
    /// Work over time.
    pub flops_per_sec: Known<f64>,
    /// `flops_per_sec` as a share of what the device was measured to do, 0 to 1.
    pub compute_share: Known<f64>,
    /// Bytes read and written by all spans, from their shapes.
    pub bytes: Known<f64>,
    /// Bytes over time.
    pub bytes_per_sec: Known<f64>,
    /// `bytes_per_sec` as a share of the device's measured copy bandwidth, 0 to 1.
    pub copy_share: Known<f64>,
    /// Element type, where all spans of the row have the same.
    pub dtype: String,
    /// Phase, where all spans of the row are in the same.
    pub phase: Option<Phase>,
    /// Layer, where all spans of the row are in the same.
    pub layer: String,
    /// How the times were measured.
    pub source: String,
}

/// A row of the table of kernels: the same figures, by device timestamps where there are any.
pub type KernelRow = OpRow;

/// A text argument that may differ between the spans of a row.
#[derive(Default)]
enum Same {
    #[default]
    Unseen,
    One(Option<NameId>),
    Several,
}

impl Same {
    fn add(&mut self, text: Option<NameId>) {
        *self = match self {
            Self::Unseen => Self::One(text),
            Self::One(known) if *known == text => return,
            _ => Self::Several,
        };
    }

    fn merge(&mut self, other: Self) {
        match other {
            Self::Unseen => {}
            Self::One(text) => self.add(text),
            Self::Several => *self = Self::Several,
        }
    }

    fn text(&self, trace: &Trace) -> String {
        match self {
            Self::One(Some(id)) => trace.name(*id).to_owned(),
            _ => String::new(),
        }
    }
}

/// What is gathered for one row.
#[derive(Default)]
struct Gathered {
    times: Vec<f64>,
    self_ns: f64,
    flops: f64,
    with_flops: u64,
    bytes: f64,
    with_bytes: u64,
    shapes: Same,
    dtype: Same,
    phase: Same,
    layer: Same,
    source: Same,
}

impl Gathered {
    fn merge(&mut self, other: Self) {
        self.times.extend(other.times);
        self.self_ns += other.self_ns;
        self.flops += other.flops;
        self.with_flops += other.with_flops;
        self.bytes += other.bytes;
        self.with_bytes += other.with_bytes;
        self.shapes.merge(other.shapes);
        self.dtype.merge(other.dtype);
        self.phase.merge(other.phase);
        self.layer.merge(other.layer);
        self.source.merge(other.source);
    }
}

/// Rows by name, and by shapes where these are told apart.
type Rows = FxHashMap<(NameId, Option<NameId>), Gathered>;

/// Identifiers of the argument keys in one trace.
struct Keys {
    shapes: Option<NameId>,
    dtype: Option<NameId>,
    phase: Option<NameId>,
    layer: Option<NameId>,
    source: Option<NameId>,
    flops: Option<NameId>,
    bytes: Option<NameId>,
}

impl Keys {
    fn of(trace: &Trace) -> Self {
        let find = |key| trace.find_name(key);
        Self {
            shapes: [arg::SHAPES_IN, "Input Dims", "Input dims"].iter().find_map(|key| find(key)),
            dtype: [arg::DTYPE, "Input type"].iter().find_map(|key| find(key)),
            phase: find(arg::PHASE),
            layer: find(arg::LAYER),
            source: find(arg::SOURCE),
            flops: find(arg::FLOPS),
            bytes: find(arg::BYTES),
        }
    }
}

/// How operations on a graphics device are timed: the host hands them over and does not wait for them.
const ENQUEUEING: &str = "host clock, enqueueing";

/// The table of operations, the longest self time first. Operations that the host only enqueues have no rates: their
/// work is done later, on the device.
pub fn table(trace: &Trace, key: Key) -> Vec<OpRow> {
    let ids =
        |categories: [&str; 2]| -> Vec<NameId> { categories.iter().filter_map(|name| trace.find_name(name)).collect() };
    let ops = ids([category::OP, category::BLOCK]);
    let is_op = |track: &Track| track.kind == TrackKind::Ops && !ops.is_empty();
    let rows = gather(trace, key, ENQUEUEING, is_op, |_, span| ops.contains(&span.category));
    if !rows.is_empty() {
        return rows;
    }
    let layers = ids([category::LAYER, category::PHASE]);
    let is_training = |track: &Track| track.kind == TrackKind::Training && !layers.is_empty();
    let rows = gather(trace, key, "host clock", is_training, |_, span| layers.contains(&span.category));
    if !rows.is_empty() {
        return rows;
    }
    // Another program's trace: its operations, or every span where nothing is known to be one.
    let roles = Roles::of(trace);
    let on_host = |track: &Track| track.kind != TrackKind::Device;
    let rows = gather(trace, key, "as recorded", on_host, |track, span| roles.role(track, span) == Role::Op);
    if !rows.is_empty() {
        return rows;
    }
    gather(
        trace,
        key,
        "as recorded",
        |track| !matches!(track.kind, TrackKind::Device | TrackKind::Counter),
        |track, span| roles.role(track, span) != Role::Step,
    )
}

/// The table of kernels, the longest total time first. Kernels are timed on sampled steps only.
pub fn kernels(trace: &Trace, key: Key) -> Vec<KernelRow> {
    let roles = Roles::of(trace);
    let on_device = |track: &Track| track.kind == TrackKind::Device;
    gather(trace, key, "device timestamps", on_device, |track, span| roles.role(track, span).on_device())
}

fn gather(
    trace: &Trace,
    key: Key,
    source: &str,
    tracks: impl Fn(&Track) -> bool,
    wanted: impl Fn(&Track, &Span) -> bool + Sync,
) -> Vec<OpRow> {
    let keys = Keys::of(trace);
    let parts: Vec<Rows> = pieces(trace, tracks)
        .par_iter()
        .map(|piece| {
            let mut rows = Rows::default();
            for (idx, span) in piece.spans().filter(|(_, span)| wanted(piece.track, span)) {
                add(trace, &keys, key, &mut rows, &span, piece.track.self_ns(piece.depth, idx, &span).max(0));
            }
            rows
        })
        .collect();
    // In order, so that sums do not depend on which processor was first.
    let mut rows = Rows::default();
    for part in parts {
        if rows.is_empty() {
            rows = part;
            continue;
        }
        for (name, row) in part {
            rows.entry(name).or_default().merge(row);
        }
    }
    finish(trace, rows, source)
}

fn add(trace: &Trace, keys: &Keys, key: Key, rows: &mut Rows, span: &Span, self_ns: i64) {
    let wanted = [keys.shapes, keys.dtype, keys.phase, keys.layer, keys.source, keys.flops, keys.bytes];
    let mut found: [Option<ArgValue>; 7] = [None; 7];
    // One pass: arguments are decoded as they are looked at.
    for (name, value) in trace.args(span.args) {
        if let Some(at) = wanted.iter().position(|key| *key == Some(name)) {
            found[at] = found[at].or(Some(value));
        }
    }
    let get =
        |key: Option<NameId>| wanted.iter().position(|known| *known == key && key.is_some()).and_then(|at| found[at]);
    let text = |wanted: Option<NameId>| match get(wanted) {
        Some(ArgValue::Text(id)) => Some(id),
        _ => None,
    };
    let number = |wanted: Option<NameId>| match get(wanted) {
        Some(ArgValue::Int(n)) => Some(n as f64),
        Some(ArgValue::Float(x)) => Some(x),
        _ => None,
    };
    let shapes = text(keys.shapes);
    let row = rows.entry((span.name, if key == Key::NameAndShapes { shapes } else { None })).or_default();
    row.times.push(span.dur_ns as f64);
    row.self_ns += self_ns as f64;
    if let Some(flops) = number(keys.flops) {
        row.flops += flops;
        row.with_flops += 1;
    }
    if let Some(bytes) = number(keys.bytes) {
        row.bytes += bytes;
        row.with_bytes += 1;
    }
    row.shapes.add(shapes);
    row.dtype.add(text(keys.dtype));
    row.phase.add(text(keys.phase));
    row.layer.add(text(keys.layer));
    row.source.add(text(keys.source));
}

fn finish(trace: &Trace, rows: Rows, source: &str) -> Vec<OpRow> {
    let all: f64 = rows.values().map(|row| row.self_ns).sum();
    let mut table: Vec<OpRow> = rows
        .into_par_iter()
        .map(|((name, _), mut row)| {
            row.times.sort_unstable_by(f64::total_cmp);
            let n = row.times.len() as u64;
            let total_ns: f64 = row.times.iter().sum();
            let amount = |sum: f64, with: u64, what: &str| {
                if with == n {
                    Known::value(sum, Source::Model, n)
                } else {
                    Known::unknown(format!("the {what} of {} of {n} spans is not known", n - with))
                }
            };
            let (flops, bytes) =
                (amount(row.flops, row.with_flops, "work"), amount(row.bytes, row.with_bytes, "traffic"));
            let rate = |amount: &Known<f64>| match amount {
                Known::Value { .. } if source == ENQUEUEING => {
                    Known::unknown("the host only enqueues the operation; the table of kernels has device times")
                }
                Known::Value { value, .. } if *value == 0.0 => Known::unknown("there is no such work in it"),
                Known::Value { .. } if total_ns <= 0.0 => Known::unknown("the time is zero"),
                Known::Value { value, .. } => Known::value(value / (total_ns / 1e9), Source::Derived, n),
                Known::Unknown(reason) => Known::unknown(reason.clone()),
            };
            let measured = row.source.text(trace);
            OpRow {
                name: trace.name(name).to_owned(),
                shapes: row.shapes.text(trace),
                count: n,
                total_ns,
                self_ns: row.self_ns,
                mean_ns: total_ns / n as f64,
                p95_ns: summary::percentile_sorted(&row.times, 0.95).unwrap_or(0.0),
                min_ns: row.times.first().copied().unwrap_or(0.0),
                max_ns: row.times.last().copied().unwrap_or(0.0),
                share: if all > 0.0 { row.self_ns / all } else { 0.0 },
                flops_per_sec: rate(&flops),
                compute_share: Known::default(),
                bytes_per_sec: rate(&bytes),
                copy_share: Known::default(),
                flops,
                bytes,
                dtype: row.dtype.text(trace),
                phase: Phase::from_id(&row.phase.text(trace)),
                layer: row.layer.text(trace),
                source: if measured.is_empty() { source.to_owned() } else { measured },
            }
        })
        .collect();
    table.sort_by(|a, b| b.self_ns.total_cmp(&a.self_ns).then_with(|| a.name.cmp(&b.name)));
    table
}

#[cfg(test)]
mod tests {
    use super::super::planted;
    use super::*;

    #[test]
    fn the_table_adds_up() {
        let trace = planted::trace(&planted::steps(10, 1000));
        let rows = table(&trace, Key::Name);
        assert_eq!(rows.len(), 2);
        let matmul = &rows[0];
        assert_eq!((matmul.name.as_str(), matmul.count, matmul.total_ns), ("matmul", 10, 1000.0));
        assert_eq!((matmul.dtype.as_str(), matmul.shapes.as_str()), ("f32", "[2, 2] [2, 2]"));
        assert_eq!(matmul.phase, Some(Phase::Forward));
        assert_eq!(matmul.flops.get(), Some(&20_000.0));
        assert!(matmul.flops_per_sec.reason().unwrap().contains("enqueues"));
        assert!(rows[1].flops_per_sec.reason().unwrap().contains("10 of 10"));
        assert!((rows.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-9);
        let kernels = kernels(&trace, Key::NameAndShapes);
        assert_eq!((kernels[0].name.as_str(), kernels[0].mean_ns), ("gemm_kernel", 300.0));
        // 2,000 FLOP in 300 ns.
        assert!((kernels[0].flops_per_sec.get().unwrap() - 2000.0 / 300e-9).abs() < 1.0);
        assert_eq!(kernels[0].source, "device timestamps");
    }

    #[test]
    fn self_time_leaves_children_out() {
        let mut trace = Trace::default();
        let track = planted::track(&mut trace, 1, "some thread");
        let (outer, inner, none) = (trace.intern("outer"), trace.intern("inner"), NameId::EMPTY);
        trace.complete(track, 0, 100, outer, none, crate::trace::ArgsId::default());
        trace.complete(track, 10, 30, inner, none, crate::trace::ArgsId::default());
        trace.complete(track, 50, 20, inner, none, crate::trace::ArgsId::default());
        trace.settle();
        let rows = table(&trace, Key::Name);
        let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!((row("outer").total_ns, row("outer").self_ns), (100.0, 50.0));
        assert_eq!((row("inner").total_ns, row("inner").count), (50.0, 2));
    }
}
