//! Samples of call stacks inside a Chrome trace: `stackFrames` names the frames, `samples` lists when which was seen.

use super::super::decimal::ns_of_micros;
use super::super::json::{Scanner, Token};
use super::super::stacks::{Frame as Entry, Stacks, lasts, usual_gap};
use super::places::Places;
use crate::format::ImportReport;
use crate::model::TrackKind;
use crate::trace::{ArgsId, NameId, Trace};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Deepest stack that is followed.
const MAX_STACK: usize = 1024;

struct Frame<'a> {
    name: NameId,
    parent: Option<Cow<'a, str>>,
}

fn plain(token: Token<'_>) -> Option<Cow<'_, str>> {
    match token {
        Token::Text(text) => Some(text),
        Token::Number(number) => Some(Cow::Borrowed(number)),
        _ => None,
    }
}

/// Calls `visit` for each member of an object; stops where it is broken.
fn members<'a>(json: &'a [u8], mut visit: impl FnMut(Cow<'a, str>, Token<'a>)) {
    let mut scanner = Scanner::new(json);
    let mut first = true;
    if !scanner.take(b'{') {
        return;
    }
    while let Ok(true) = scanner.more(b'}', &mut first) {
        let Some((key, value)) = scanner.key().ok().and_then(|key| Some((key, scanner.value().ok()?))) else { return };
        visit(key, value);
    }
}

fn frames_of<'a>(trace: &mut Trace, json: &'a [u8]) -> FxHashMap<Cow<'a, str>, Frame<'a>> {
    let mut frames = FxHashMap::default();
    members(json, |id, value| {
        let Token::Nested(json) = value else { return };
        let (mut name, mut parent) = (NameId::EMPTY, None);
        members(json, |key, value| match &*key {
            "name" => name = plain(value).map_or(NameId::EMPTY, |name| trace.intern(&name)),
            "parent" => parent = plain(value),
            _ => {}
        });
        frames.insert(id, Frame { name, parent });
    });
    frames
}

/// Adds a track of stacks for each thread that was sampled.
pub(super) fn add<'a>(
    trace: &mut Trace,
    places: &mut Places<'a>,
    report: &mut ImportReport,
    frames: Option<&'a [u8]>,
    samples: &'a [u8],
) {
    let frames = frames.map(|json| frames_of(trace, json)).unwrap_or_default();
    let mut threads: FxHashMap<Cow<'a, str>, Vec<(i64, Vec<NameId>)>> = FxHashMap::default();
    let mut scanner = Scanner::new(samples);
    let mut first = true;
    if !scanner.take(b'[') {
        return;
    }
    while let Ok(true) = scanner.more(b']', &mut first) {
        let Ok(Token::Nested(json)) = scanner.value() else {
            report.note("samples that are no object, left out", None);
            continue;
        };
        let (mut t_ns, mut tid, mut frame) = (None, Cow::Borrowed(""), None);
        members(json, |key, value| match &*key {
            "ts" => t_ns = plain(value).and_then(|text| ns_of_micros(&text)),
            "tid" => tid = plain(value).unwrap_or_default(),
            "sf" => frame = plain(value),
            _ => {}
        });
        let Some(t_ns) = t_ns else {
            report.note("samples without a time that is a number, left out", None);
            continue;
        };
        let mut stack = Vec::new();
        while let Some(at) = frame.as_ref().and_then(|id| frames.get(id)) {
            stack.push(at.name);
            frame.clone_from(&at.parent);
            if stack.len() >= MAX_STACK {
                report.note("stacks deeper than 1,024 frames, cut there", None);
                break;
            }
        }
        stack.reverse();
        threads.entry(tid).or_default().push((t_ns, stack));
        report.samples += 1;
    }
    let mut threads: Vec<_> = threads.into_iter().collect();
    threads.sort_by(|a, b| a.0.cmp(&b.0));
    for (tid, mut samples) in threads {
        samples.sort_by_key(|(t_ns, _)| *t_ns);
        let uuid = places.uuid();
        let track = trace.add_track(uuid, None, &format!("Samples of thread {tid}"), "", TrackKind::Thread);
        let usual_ns = usual_gap(samples.iter().map(|(t_ns, _)| *t_ns));
        let mut stacks = Stacks::new(track);
        for (at, (t_ns, stack)) in samples.iter().enumerate() {
            let gap_ns = samples.get(at + 1).map(|(next, _)| next.saturating_sub(*t_ns));
            let dur_ns = lasts(gap_ns, usual_ns, 1).map_or(0, |(dur_ns, _)| dur_ns);
            let frames: Vec<Entry> = stack.iter().map(|name| Entry { name: *name, args: ArgsId::NONE }).collect();
            stacks.put(trace, *t_ns, t_ns.saturating_add(dur_ns), &frames);
        }
        stacks.finish(trace);
        report.spans += stacks.made;
    }
}
