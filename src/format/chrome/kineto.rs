//! What PyTorch's profiler (Kineto) puts into a Chrome trace beside its events: facts of the machine in the outer object,
//! and memory use as moments.

use super::super::json::{Scanner, Token, members};
use super::async_events::Label;
use super::event::Event;
use super::id::Id;
use super::places::Places;
use crate::format::ImportReport;
use crate::trace::{ArgValue, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// Longest text of a fact that is kept, in bytes.
const MAX_FACT_BYTES: usize = 64 << 10;

/// Keys that only PyTorch's profiler writes.
const KINETO_KEYS: [&str; 3] = ["deviceProperties", "distributedInfo", "cupti_version"];

/// Takes a member of the outer object as a fact; `json` is its value as it is written.
pub(super) fn fact(trace: &mut Trace, report: &mut ImportReport, key: &str, json: &[u8]) {
    let Ok(value) = Scanner::new(json).value() else { return };
    if KINETO_KEYS.contains(&key) {
        "PyTorch profiler (Chrome JSON)".clone_into(&mut report.format);
    }
    let text = match value {
        Token::Text(text) => text.into_owned(),
        Token::Number(number) => number.to_owned(),
        Token::Bool(value) => value.to_string(),
        Token::Null => return,
        Token::Nested(json) => {
            if key == "deviceProperties" {
                devices(trace, json);
            }
            String::from_utf8_lossy(json).into_owned()
        }
    };
    if text.len() > MAX_FACT_BYTES {
        report.note(&format!("`{key}` beside the events is longer than 64 KiB and not kept"), None);
    } else {
        trace.add_fact(key, &text);
    }
}

/// The names of the devices.
fn devices(trace: &mut Trace, json: &[u8]) {
    let mut scanner = Scanner::new(json);
    let mut first = true;
    if !scanner.take(b'[') {
        return;
    }
    while let Ok(true) = scanner.more(b']', &mut first) {
        let Ok(Token::Nested(device)) = scanner.value() else { return };
        let (mut name, mut id) = (None, None);
        members(device, |key, value| match (&*key, value) {
            ("name", Token::Text(text)) => name = Some(text),
            ("id", Token::Number(number)) => id = Some(number),
            _ => {}
        });
        if let Some(name) = name {
            trace.add_fact(&format!("device {}", id.unwrap_or("?")), &name);
        }
    }
}

/// Memory by device, from `[memory]` moments. Older files tell changes only; then the curve begins at 0.
#[derive(Default)]
pub(super) struct Memory {
    changed: FxHashMap<(i64, i64), f64>,
    /// Process and name of each curve.
    curves: Vec<(Id, String)>,
    index: FxHashMap<(Id, String), u32>,
    samples: Vec<(u32, i64, f64)>,
}

impl Memory {
    /// Takes a moment, if it tells of memory.
    pub fn event(&mut self, trace: &Trace, event: &Event<'_>, t_ns: i64, label: Label) {
        if event.name != "[memory]" {
            return;
        }
        let (mut bytes, mut allocated, mut reserved, mut kind, mut device) = (None, None, None, 0, -1);
        for (key, value) in trace.args(label.args) {
            let ArgValue::Int(value) = value else { continue };
            match trace.name(key) {
                "Bytes" => bytes = Some(value as f64),
                "Total Allocated" => allocated = Some(value as f64),
                "Total Reserved" => reserved = Some(value as f64),
                "Device Type" => kind = value,
                "Device Id" => device = value,
                _ => {}
            }
        }
        // PyTorch's numbers of device types: 0 is the host, all others are accelerators.
        // What tells the curves apart comes first: names are cut at their ends.
        let place = if kind == 0 { "Host".to_owned() } else { format!("Device {}", device.max(0)) };
        let mut sample = |name: String, value: f64| {
            let key = (Id::of(event.pid), name);
            let next = self.curves.len() as u32;
            let curve = *self.index.entry(key).or_insert_with_key(|key| {
                self.curves.push(key.clone());
                next
            });
            self.samples.push((curve, t_ns, value));
        };
        if let Some(reserved) = reserved.filter(|reserved| *reserved > 0.0) {
            sample(format!("{place} memory reserved"), reserved);
        }
        match (allocated, bytes) {
            (Some(allocated), _) => sample(format!("{place} memory allocated"), allocated),
            (None, Some(bytes)) => {
                let sum = self.changed.entry((kind, device)).or_default();
                *sum += bytes;
                sample(format!("{place} memory since the start"), *sum);
            }
            (None, None) => {}
        }
    }

    /// Makes counters of it, but for those that the file has itself, as our own exports do.
    pub fn finish(self, trace: &mut Trace, places: &mut Places) {
        let given: FxHashSet<String> = trace.counters().iter().map(|counter| counter.name.clone()).collect();
        let counters: Vec<_> = self
            .curves
            .into_iter()
            .map(|(pid, name)| (!given.contains(&name)).then(|| places.own_counter(trace, &pid, &name, "bytes")))
            .collect();
        for (curve, t_ns, value) in self.samples {
            if let Some(Some(counter)) = counters.get(curve as usize) {
                trace.sample(*counter, t_ns, value);
            }
        }
    }
}
