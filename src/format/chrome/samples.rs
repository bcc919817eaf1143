//! Samples of call stacks inside a Chrome trace: `stackFrames` names the frames, `samples` lists when which was seen.
//! Either may come first, so the samples are kept with the identifiers of their frames until all is read.

use super::super::decimal::ns_of_micros;
use super::super::json::{Token, members};
use super::super::stacks::{Frame as Entry, Stacks, lasts, usual_gap};
use super::event::plain;
use super::id::Id;
use super::places::Places;
use crate::format::ImportReport;
use crate::model::TrackKind;
use crate::trace::{ArgsId, NameId, Trace};
use rustc_hash::FxHashMap;

/// Deepest stack that is followed.
const MAX_STACK: usize = 1024;

/// A sample as it is written.
pub(super) struct Sample {
    t_ns: i64,
    tid: Id,
    frame: Option<Id>,
}

impl Sample {
    /// Takes a sample apart; `None` if it has no time.
    pub fn of(json: &[u8]) -> Option<Self> {
        let (mut t_ns, mut tid, mut frame) = (None, None, None);
        members(json, |key, value| match &*key {
            "ts" => t_ns = plain(&value).and_then(ns_of_micros),
            "tid" => tid = plain(&value).map(Id::of),
            "sf" => frame = plain(&value).map(Id::of),
            _ => {}
        });
        Some(Self { t_ns: t_ns?, tid: tid.unwrap_or_else(|| Id::of("")), frame })
    }
}

struct Frame {
    name: NameId,
    parent: Option<Id>,
}

fn frames_of(trace: &mut Trace, json: &[u8]) -> FxHashMap<Id, Frame> {
    let mut frames = FxHashMap::default();
    members(json, |id, value| {
        let Token::Nested(json) = value else { return };
        let (mut name, mut parent) = (NameId::EMPTY, None);
        members(json, |key, value| match &*key {
            "name" => name = plain(&value).map_or(NameId::EMPTY, |name| trace.intern(name)),
            "parent" => parent = plain(&value).map(Id::of),
            _ => {}
        });
        frames.insert(Id::of(&id), Frame { name, parent });
    });
    frames
}

/// Adds a track of stacks for each thread that was sampled.
pub(super) fn add(
    trace: &mut Trace,
    places: &mut Places,
    report: &mut ImportReport,
    frames: Option<&[u8]>,
    samples: Vec<Sample>,
) {
    let frames = frames.map(|json| frames_of(trace, json)).unwrap_or_default();
    let mut threads: FxHashMap<Id, Vec<Sample>> = FxHashMap::default();
    for sample in samples {
        threads.entry(sample.tid.clone()).or_default().push(sample);
        report.samples += 1;
    }
    let mut threads: Vec<_> = threads.into_iter().collect();
    threads.sort_by(|a, b| a.0.cmp(&b.0));
    let mut stack: Vec<Entry> = Vec::new();
    for (tid, mut samples) in threads {
        samples.sort_by_key(|sample| sample.t_ns);
        let uuid = places.uuid();
        let track = trace.add_track(uuid, None, &format!("Samples of thread {tid}"), "", TrackKind::Thread);
        let usual_ns = usual_gap(samples.iter().map(|sample| sample.t_ns));
        let mut stacks = Stacks::new(track);
        for (at, sample) in samples.iter().enumerate() {
            let gap_ns = samples.get(at + 1).map(|next| next.t_ns.saturating_sub(sample.t_ns));
            let dur_ns = lasts(gap_ns, usual_ns, 1).map_or(0, |(dur_ns, _)| dur_ns);
            stack.clear();
            let mut frame = sample.frame.as_ref();
            while let Some(found) = frame.and_then(|id| frames.get(id)) {
                stack.push(Entry { name: found.name, args: ArgsId::NONE });
                frame = found.parent.as_ref();
                if stack.len() >= MAX_STACK {
                    report.note("stacks deeper than 1,024 frames, cut there", None);
                    break;
                }
            }
            stack.reverse();
            stacks.put(trace, sample.t_ns, sample.t_ns.saturating_add(dur_ns), &stack);
        }
        stacks.finish(trace);
        report.spans += stacks.made;
    }
}
