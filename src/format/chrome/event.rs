//! One event of a Chrome trace, taken apart but not yet understood.

use super::super::json::{Broken, Scanner, Token, members};
use std::borrow::Cow;

/// Text, borrowed from the file where it has no escapes.
pub(super) type Text<'a> = Cow<'a, str>;

/// The members of an event that mean something.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub kind: Text<'a>,
    pub name: Text<'a>,
    pub category: Text<'a>,
    pub pid: Text<'a>,
    pub tid: Text<'a>,
    pub start: Option<Text<'a>>,
    pub dur: Option<Text<'a>>,
    pub args: Option<&'a [u8]>,
    /// Identifier of a flow, an asynchronous span or an object.
    pub id: Option<Text<'a>>,
    /// Whether the identifier holds for its process only.
    pub id_is_local: bool,
    /// Identifier of a flow that a span takes part in.
    pub bind_id: Option<Text<'a>>,
    pub flow_in: bool,
    pub flow_out: bool,
    /// `e`: a flow's end belongs to the span around it.
    pub binds_enclosing: bool,
    /// Members that are not read, and where they end.
    pub unread: Vec<(Text<'a>, u64)>,
}

/// A number or text as text; nothing for anything else.
pub(super) fn plain(token: Token<'_>) -> Text<'_> {
    match token {
        Token::Text(text) => text,
        Token::Number(number) => Cow::Borrowed(number),
        _ => Cow::Borrowed(""),
    }
}

/// Takes an event apart; its opening bracket was taken.
pub(super) fn take_apart<'a>(scanner: &mut Scanner<'a>) -> Result<Event<'a>, Broken> {
    let mut event = Event::default();
    let mut first = true;
    while scanner.more(b'}', &mut first)? {
        let key = scanner.key()?;
        let value = scanner.value()?;
        match &*key {
            "ph" => event.kind = plain(value),
            "name" => event.name = plain(value),
            "cat" => event.category = plain(value),
            "pid" => event.pid = plain(value),
            "tid" => event.tid = plain(value),
            "ts" => event.start = Some(plain(value)),
            "dur" => event.dur = Some(plain(value)),
            "args" => {
                if let Token::Nested(args) = value {
                    event.args = Some(args);
                }
            }
            "id" => event.id = Some(plain(value)),
            "id2" => id2(value, &mut event),
            "bind_id" => event.bind_id = Some(plain(value)),
            "flow_in" => event.flow_in = value == Token::Bool(true),
            "flow_out" => event.flow_out = value == Token::Bool(true),
            "bp" => event.binds_enclosing = plain(value) == "e",
            // Thread clocks, colours, scopes of moments and frames of single events are not shown.
            "s" | "tts" | "tdur" | "tidelta" | "tid_delta" | "cname" | "sf" | "esf" | "stack" | "estack" | "scope"
            | "use_async_tts" | "icount" | "idur" | "v" => {}
            _ => event.unread.push((key, scanner.pos() as u64)),
        }
    }
    Ok(event)
}

/// `{"local": "0x1"}` or `{"global": "0x1"}`.
fn id2<'a>(value: Token<'a>, event: &mut Event<'a>) {
    let Token::Nested(json) = value else { return };
    members(json, |key, value| {
        if event.id.is_none() {
            event.id_is_local = key == "local";
            event.id = Some(plain(value));
        }
    });
}
