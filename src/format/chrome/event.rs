//! One event of a Chrome trace, taken apart but not yet understood; and batches of them, which go from the thread that
//! takes them apart to the one that fills the store.

use super::super::decimal::ns_of_micros;
use super::super::json::{Broken, Scanner, Token, members};

/// Bytes of text that make a batch full.
const BATCH_BYTES: usize = 64 << 10;

/// Members of one event that are not read and named in the import report.
const MAX_UNREAD: usize = 64;

/// The members of an event that mean something.
pub(super) struct Event<'a> {
    pub kind: &'a str,
    pub name: &'a str,
    pub category: &'a str,
    pub pid: &'a str,
    pub tid: &'a str,
    pub start: Time,
    pub dur: Time,
    /// An object, or what is written in its place.
    pub args: Option<&'a str>,
    /// Identifier of a flow, an asynchronous span or an object.
    pub id: Option<&'a str>,
    /// Identifier of a flow that a span takes part in.
    pub bind_id: Option<&'a str>,
    pub flags: Flags,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
}

/// What is only said or not said of an event.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Flags {
    /// Whether the identifier holds for its process only.
    pub id_is_local: bool,
    pub flow_in: bool,
    pub flow_out: bool,
    /// `e`: a flow's end belongs to the span around it.
    pub binds_enclosing: bool,
}

/// A time of an event.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// It has none.
    #[default]
    Missing,
    /// It is no number, or too large.
    Bad,
    /// Nanoseconds.
    Ns(i64),
}

/// What comes in a file, in its order.
pub(super) enum Item {
    /// An event.
    Event(Packed),
    /// Something for the import report, and where it is.
    Note(String, Option<u64>),
    /// A member of the outer object: its key, and its value as it is written.
    Fact(String, Vec<u8>),
    /// The table of frames, as it is written.
    Frames(Vec<u8>),
    /// A sample, as it is written, and where it is.
    Sample(Vec<u8>, u64),
}

/// A text of a batch, by where it begins and ends.
#[derive(Debug, Default, Clone, Copy)]
struct Range(u32, u32);

/// An event whose texts are in its batch.
#[derive(Default)]
pub(super) struct Packed {
    kind: Range,
    name: Range,
    category: Range,
    pid: Range,
    tid: Range,
    args: Option<Range>,
    id: Option<Range>,
    bind_id: Option<Range>,
    start: Time,
    dur: Time,
    flags: Flags,
    offset: u64,
}

/// What was taken apart, up to a few thousand events. Its memory is used again.
#[derive(Default)]
pub(super) struct Batch {
    pub items: Vec<Item>,
    text: String,
}

/// How much was in a batch at some time.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize, usize);

impl Batch {
    /// Whether it is time to hand it on.
    pub fn full(&self) -> bool {
        self.text.len() >= BATCH_BYTES || self.items.len() >= BATCH_BYTES / 16
    }

    /// Lets go of all that is in it.
    pub fn clear(&mut self) {
        self.items.clear();
        self.text.clear();
        // One long event is no reason to keep its memory.
        self.text.shrink_to(2 * BATCH_BYTES);
    }

    /// How much is in it.
    pub fn mark(&self) -> Mark {
        Mark(self.items.len(), self.text.len())
    }

    /// Lets go of what came in since.
    pub fn back_to(&mut self, mark: Mark) {
        self.items.truncate(mark.0);
        self.text.truncate(mark.1);
    }

    /// An event with its texts.
    pub fn event(&self, packed: &Packed) -> Event<'_> {
        let text = |Range(from, to)| self.text.get(from as usize..to as usize).unwrap_or("");
        Event {
            kind: text(packed.kind),
            name: text(packed.name),
            category: text(packed.category),
            pid: text(packed.pid),
            tid: text(packed.tid),
            start: packed.start,
            dur: packed.dur,
            args: packed.args.map(text),
            id: packed.id.map(text),
            bind_id: packed.bind_id.map(text),
            flags: packed.flags,
            offset: packed.offset,
        }
    }

    fn put(&mut self, text: &str) -> Range {
        // One event has at most 64 MiB, so a batch stays far below 4 GiB.
        let from = self.text.len() as u32;
        self.text.push_str(text);
        Range(from, self.text.len() as u32)
    }

    /// A number or text as text; nothing for anything else.
    fn put_plain(&mut self, token: &Token<'_>) -> Range {
        self.put(plain(token).unwrap_or(""))
    }

    /// Takes an event apart that begins at this place; its opening bracket was taken.
    pub fn take_apart(&mut self, scanner: &mut Scanner<'_>, offset: u64) -> Result<(), Broken> {
        let mut event = Packed { offset, ..Packed::default() };
        let (mut first, mut unread) = (true, 0);
        while scanner.more(b'}', &mut first)? {
            let key = scanner.key_bytes()?;
            let value = scanner.value()?;
            match &*key {
                b"ph" => event.kind = self.put_plain(&value),
                b"name" => event.name = self.put_plain(&value),
                b"cat" => event.category = self.put_plain(&value),
                b"pid" => event.pid = self.put_plain(&value),
                b"tid" => event.tid = self.put_plain(&value),
                b"ts" => event.start = time(&value),
                b"dur" => event.dur = time(&value),
                b"args" => {
                    if let Token::Nested(json) = value {
                        event.args = Some(self.put(&String::from_utf8_lossy(json)));
                    }
                }
                b"id" => event.id = Some(self.put_plain(&value)),
                b"id2" => self.id2(&value, &mut event),
                b"bind_id" => event.bind_id = Some(self.put_plain(&value)),
                b"flow_in" => event.flags.flow_in = value == Token::Bool(true),
                b"flow_out" => event.flags.flow_out = value == Token::Bool(true),
                b"bp" => event.flags.binds_enclosing = plain(&value) == Some("e"),
                // Thread clocks, colours, scopes of moments and frames of single events are not shown.
                b"s" | b"tts" | b"tdur" | b"tidelta" | b"tid_delta" | b"cname" | b"sf" | b"esf" | b"stack"
                | b"estack" | b"scope" | b"use_async_tts" | b"icount" | b"idur" | b"v" => {}
                _ => {
                    unread += 1;
                    self.unread(&key, unread, scanner.pos() as u64);
                }
            }
        }
        self.items.push(Item::Event(event));
        Ok(())
    }

    /// Notes a member that means nothing. Of an event with very many, the first are named.
    fn unread(&mut self, key: &[u8], count: usize, offset: u64) {
        if count <= MAX_UNREAD {
            let what = format!("members `{}` of events, not read", String::from_utf8_lossy(key));
            self.items.push(Item::Note(what, Some(offset)));
        } else if count == MAX_UNREAD + 1 {
            self.items.push(Item::Note("events with further members, not read".to_owned(), Some(offset)));
        }
    }

    /// `{"local": "0x1"}` or `{"global": "0x1"}`.
    fn id2(&mut self, value: &Token<'_>, event: &mut Packed) {
        let Token::Nested(json) = value else { return };
        members(json, |key, value| {
            if event.id.is_none() {
                event.flags.id_is_local = key == "local";
                event.id = Some(self.put_plain(&value));
            }
        });
    }
}

/// A number or text as text.
pub(super) fn plain<'t>(token: &'t Token<'_>) -> Option<&'t str> {
    match token {
        Token::Text(text) => Some(text),
        Token::Number(number) => Some(number),
        _ => None,
    }
}

fn time(token: &Token<'_>) -> Time {
    plain(token).and_then(ns_of_micros).map_or(Time::Bad, Time::Ns)
}
