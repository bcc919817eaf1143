//! The tables of a profile: strings, functions, frames and stacks. Every index is held against its table; what points
//! nowhere is shown without a name and counted.

use super::super::ImportReport;
use super::super::decimal::scaled;
use super::super::parts::{Part, Value};
use super::super::stacks::Frame;
use crate::trace::{ArgValue, ArgsId, NameId, Trace};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::rc::Rc;

/// An index that points nowhere.
pub(super) const NONE: u32 = u32::MAX;

/// Deepest stack that is gone through; the store keeps no deeper one, and a table may chain more than a sample can show.
const MAX_DEPTH: u32 = 4096;

/// Members of an object by name.
pub(super) type Members<'a> = FxHashMap<Cow<'a, str>, Value<'a>>;

/// The strings of a thread or of the whole file.
pub(super) type Strings<'a> = Rc<Vec<Cow<'a, str>>>;

/// The members of an object; none if it is none.
pub(super) fn members<'a>(part: Option<Part<'a>>, report: &mut ImportReport) -> Members<'a> {
    let mut members = Members::default();
    if let Some(part) = part {
        part.members(|key, value| {
            members.insert(key, value);
        })
        .note(report);
    }
    members
}

/// An object among the members.
pub(super) fn object<'a>(members: &Members<'a>, name: &str) -> Option<Part<'a>> {
    members.get(name).and_then(Value::part)
}

/// A column of a table, item by item; empty if it is missing.
pub(super) fn column<'a, T>(
    table: &Members<'a>,
    name: &str,
    report: &mut ImportReport,
    mut read: impl FnMut(Value<'a>) -> T,
) -> Vec<T> {
    let mut items = Vec::new();
    if let Some(part) = object(table, name) {
        part.items(|value| items.push(read(value))).note(report);
    }
    items
}

/// A column of indices; null and -1 stand for none.
pub(super) fn indices(table: &Members<'_>, name: &str, report: &mut ImportReport) -> Vec<u32> {
    column(table, name, report, |value| value.index().and_then(|index| u32::try_from(index).ok()).unwrap_or(NONE))
}

/// A column of milliseconds as nanoseconds; nothing where there is no number.
pub(super) fn times(table: &Members<'_>, name: &str, report: &mut ImportReport) -> Vec<Option<i64>> {
    column(table, name, report, |value| value.number().and_then(ns_of_millis))
}

/// Nanoseconds of decimal milliseconds.
pub(super) fn ns_of_millis(text: &str) -> Option<i64> {
    scaled(text, 6)
}

/// The times of a table of samples, which newer versions write as differences.
pub(super) fn sample_times(samples: &Members<'_>, report: &mut ImportReport) -> Vec<Option<i64>> {
    if samples.contains_key("time") {
        return times(samples, "time", report);
    }
    let mut now_ns = 0i64;
    let mut add = |delta: Option<i64>| {
        let next = now_ns.checked_add(delta?)?;
        now_ns = next;
        Some(next)
    };
    times(samples, "timeDeltas", report).into_iter().map(&mut add).collect()
}

/// A list of strings.
pub(super) fn strings<'a>(of: &Members<'a>, report: &mut ImportReport) -> Strings<'a> {
    Rc::new(column(of, "stringArray", report, |value| value.into_text().unwrap_or_default()))
}

/// The item of a column at an index.
pub(super) fn at<T: Copy>(column: &[T], index: u32) -> Option<T> {
    column.get(index as usize).copied()
}

/// A stack: a frame, and the stack that called it.
#[derive(Clone, Copy)]
struct Stack {
    frame: u32,
    parent: u32,
    depth: u32,
    /// Itself, or the one around it that is as deep as can be shown.
    shown: u32,
}

/// Everything by which a stack is resolved.
pub(super) struct Tables<'a> {
    strings: Strings<'a>,
    frames: Vec<Frame>,
    stacks: Vec<Stack>,
}

impl<'a> Tables<'a> {
    /// Reads the tables of a thread; what it does not have itself, it has from the whole file.
    pub fn read(
        own: &Members<'a>,
        shared: &Members<'a>,
        strings: Strings<'a>,
        trace: &mut Trace,
        report: &mut ImportReport,
    ) -> Self {
        let mut table = |name: &str| members(object(own, name).or_else(|| object(shared, name)), report);
        let [stack_table, frame_table, func_table] = ["stackTable", "frameTable", "funcTable"].map(&mut table);
        let [resources, sources] = ["resourceTable", "sources"].map(&mut table);
        let funcs = functions(&func_table, &resources, &sources, &strings, trace, report);
        let unknown = Frame { name: trace.intern("(not in the file)"), args: ArgsId::NONE };
        let mut lost = 0;
        let frames = indices(&frame_table, "func", report)
            .into_iter()
            .map(|func| {
                at(&funcs, func).unwrap_or_else(|| {
                    lost += 1;
                    unknown
                })
            })
            .collect();
        report.note_many("frames of a function that the file does not list, shown without a name", lost, None);
        Self { strings, frames, stacks: stacks(&stack_table, report) }
    }

    /// The text at an index.
    pub fn text(&self, index: u32) -> Option<&str> {
        self.strings.get(index as usize).map(|text| &**text)
    }

    /// Puts the frames of a stack into `out`, outermost first. Counts what is not as it should be.
    pub fn resolve(&self, stack: u32, out: &mut Vec<Frame>, report: &mut ImportReport) {
        out.clear();
        let Some(top) = at(&self.stacks, stack) else {
            if stack != NONE {
                report.note("samples of a stack that the file does not list, drawn as a gap", None);
            }
            return;
        };
        if top.depth > MAX_DEPTH {
            report.note("samples nested deeper than 4,096, drawn without what is deeper", None);
        }
        let mut next = top.shown;
        // A parent comes before its child in the table, so this ends.
        while let Some(stack) = at(&self.stacks, next) {
            match at(&self.frames, stack.frame) {
                Some(frame) => out.push(frame),
                None => report.note("stacks with a frame that the file does not list, drawn without it", None),
            }
            next = stack.parent;
        }
        out.reverse();
    }
}

/// Name, module and file of every function.
fn functions(
    table: &Members<'_>,
    resources: &Members<'_>,
    sources: &Members<'_>,
    strings: &Strings<'_>,
    trace: &mut Trace,
    report: &mut ImportReport,
) -> Vec<Frame> {
    let mut column = |table: &Members<'_>, name: &str| indices(table, name, report);
    let (names, resource, file) = (column(table, "name"), column(table, "resource"), column(table, "fileName"));
    let (source, modules, files) = (column(table, "source"), column(resources, "name"), column(sources, "filename"));
    let keys = [trace.intern("module"), trace.intern("file")];
    let mut args: Vec<(NameId, ArgValue)> = Vec::new();
    let mut lost = 0;
    let of = |column: &[u32], index: usize| column.get(index).copied().unwrap_or(NONE);
    let functions = (0..names.len())
        .map(|i| {
            let name = strings.get(of(&names, i) as usize).map(|name| trace.intern(name));
            lost += u64::from(name.is_none());
            let module = at(&modules, of(&resource, i)).unwrap_or(NONE);
            let file = at(&files, of(&source, i)).unwrap_or_else(|| of(&file, i));
            args.clear();
            for (key, text) in keys.into_iter().zip([module, file]) {
                args.extend(strings.get(text as usize).map(|text| (key, ArgValue::Text(trace.intern(text)))));
            }
            Frame { name: name.unwrap_or(NameId::EMPTY), args: trace.intern_args(&args) }
        })
        .collect();
    report.note_many("functions whose name the file does not list, shown without a name", lost, None);
    functions
}

/// The stacks, each with its parent, which must come before it in the table.
fn stacks(table: &Members<'_>, report: &mut ImportReport) -> Vec<Stack> {
    let frames = indices(table, "frame", report);
    let mut parents = indices(table, "prefix", report);
    if table.contains_key("prefixOffset") {
        let offsets = indices(table, "prefixOffset", report);
        let parent = |(i, offset): (usize, u32)| match offset {
            0 => NONE,
            offset => u32::try_from(i).ok().and_then(|i| i.checked_sub(offset)).unwrap_or(NONE),
        };
        parents = offsets.into_iter().enumerate().map(parent).collect();
    }
    let mut stacks: Vec<Stack> = Vec::with_capacity(frames.len());
    let mut misplaced = 0;
    for (i, frame) in frames.into_iter().enumerate() {
        let parent = parents.get(i).copied().unwrap_or(NONE);
        let stack = match at(&stacks, parent) {
            Some(above) if above.depth >= MAX_DEPTH => {
                Stack { frame, parent, depth: MAX_DEPTH + 1, shown: above.shown }
            }
            Some(above) => Stack { frame, parent, depth: above.depth + 1, shown: i as u32 },
            None => {
                misplaced += u64::from(parent != NONE);
                Stack { frame, parent: NONE, depth: 1, shown: i as u32 }
            }
        };
        stacks.push(stack);
    }
    report.note_many("stacks whose caller does not come before them in the file, cut off there", misplaced, None);
    stacks
}
