//! Goes through a Chrome trace piece by piece: what is around the events, and one event after the other. What the end of
//! the window cuts is looked at again when there is more; an event that is no JSON is passed over.

use super::super::json::{Broken, Scanner, Token};
use super::super::json_stream;
use super::super::window::Window;
use super::event::{Batch, Item};

/// Bytes that are kept of a stretch in which the next event was not found: the end of one may be the last thing in it.
const KEPT: usize = 64;
/// Things without an end that are passed over: each is looked for through all that a window can hold.
const MAX_ENDLESS: u32 = 16;

/// Where what was taken apart goes.
pub(super) struct Sink<'a> {
    batch: Batch,
    /// Events so far.
    pub events: u64,
    /// Takes a full batch and gives an empty one.
    hand_on: &'a mut dyn FnMut(Batch) -> Batch,
}

impl<'a> Sink<'a> {
    /// A sink that hands full batches on for empty ones.
    pub fn new(hand_on: &'a mut dyn FnMut(Batch) -> Batch) -> Self {
        Self { batch: Batch::default(), events: 0, hand_on }
    }

    fn put(&mut self, item: Item) {
        self.batch.items.push(item);
        self.send_full();
    }

    fn note(&mut self, what: &str, offset: Option<u64>) {
        self.put(Item::Note(what.to_owned(), offset));
    }

    /// Takes an event apart; what is broken leaves nothing behind.
    fn event(&mut self, scanner: &mut Scanner<'_>, offset: u64) -> Result<(), Broken> {
        let mark = self.batch.mark();
        let taken = self.batch.take_apart(scanner, offset);
        if taken.is_err() {
            self.batch.back_to(mark);
            return taken;
        }
        self.events += 1;
        self.send_full();
        Ok(())
    }

    fn send_full(&mut self) {
        if self.batch.full() {
            self.send();
        }
    }

    /// Hands on what there is.
    pub fn send(&mut self) {
        self.batch = (self.hand_on)(std::mem::take(&mut self.batch));
    }
}

/// What became of one step.
enum Step {
    /// Something was taken in.
    Went,
    /// The end of the list or object.
    End,
    /// The window ends too early.
    More,
}

/// What a member of the outer object is.
enum Member {
    /// It was taken in.
    Taken,
    /// The list of events begins.
    Events,
    /// The list of samples begins.
    Samples,
    /// There is none.
    End,
}

/// Reads a whole file.
pub(super) fn file(sink: &mut Sink<'_>, window: &mut Window<'_>) -> Result<(), Broken> {
    window.fill_to(3);
    if window.text().starts_with(b"\xef\xbb\xbf") {
        window.take(3);
    }
    let opened = thing(window, |scanner, ended| match scanner.peek() {
        None if !ended => Ok(None),
        Some(open @ (b'[' | b'{')) => {
            scanner.take(open);
            Ok(Some(open))
        }
        _ => Err(Broken { what: "an array or object was expected", offset: scanner.pos() }),
    })?;
    if opened == b'[' {
        return Walk::default().events(sink, window);
    }
    let (mut first, mut found) = (true, false);
    loop {
        match thing(window, |scanner, ended| member(sink, scanner, &mut first, ended))? {
            Member::Taken => {}
            Member::End => break,
            Member::Events => {
                found = true;
                Walk::default().events(sink, window)?;
                let next = thing(window, |scanner, ended| match scanner.peek() {
                    None if !ended => Ok(None),
                    next => Ok(Some(next)),
                })?;
                if next.is_none() {
                    break;
                }
            }
            Member::Samples => Walk::default().samples(sink, window)?,
        }
    }
    let what = "the object has no `traceEvents`";
    if found { Ok(()) } else { Err(Broken { what, offset: window.offset() as usize }) }
}

/// Takes one thing off the window.
fn thing<T>(
    window: &mut Window<'_>,
    take: impl FnMut(&mut Scanner<'_>, bool) -> Result<Option<T>, Broken>,
) -> Result<T, Broken> {
    json_stream::thing(window, take).map_err(json_stream::Stop::broken)
}

/// The next member of the outer object.
fn member(
    sink: &mut Sink<'_>,
    scanner: &mut Scanner<'_>,
    first: &mut bool,
    ended: bool,
) -> Result<Option<Member>, Broken> {
    let mut still_first = *first;
    if !scanner.more(b'}', &mut still_first)? {
        return Ok(Some(Member::End));
    }
    let key = scanner.key()?;
    let list = match &*key {
        "traceEvents" => Some(Member::Events),
        "samples" => Some(Member::Samples),
        _ => None,
    };
    if list.is_some() && scanner.take(b'[') {
        *first = still_first;
        return Ok(list);
    }
    scanner.peek();
    let start = scanner.read();
    match (&*key, scanner.value()?) {
        // Its last digits may be missing.
        (_, Token::Number(_)) if scanner.at_end() && !ended => return Ok(None),
        ("stackFrames", Token::Nested(json)) => sink.put(Item::Frames(json.to_vec())),
        (key, _) => sink.put(Item::Fact(key.to_owned(), scanner.since(start).to_vec())),
    }
    *first = still_first;
    Ok(Some(Member::Taken))
}

/// A walk through a list whose opening bracket was taken.
struct Walk {
    first: bool,
    /// What was broken, where the next event is still looked for.
    lost: Option<Broken>,
    endless: u32,
}

impl Default for Walk {
    fn default() -> Self {
        Self { first: true, lost: None, endless: 0 }
    }
}

impl Walk {
    /// Takes in all events.
    fn events(mut self, sink: &mut Sink<'_>, window: &mut Window<'_>) -> Result<(), Broken> {
        loop {
            let ended = window.ended();
            let mut scanner = Scanner::at(window.text(), window.offset());
            let outcome = self.events_in(sink, &mut scanner, ended);
            let read = scanner.read();
            window.take(read);
            if outcome? {
                return Ok(());
            }
            if window.full() {
                self.endless += 1;
                let broken = Broken { what: "an event is longer than 64 MiB", offset: window.offset() as usize };
                if sink.events == 0 || self.endless > MAX_ENDLESS {
                    return Err(broken);
                }
                self.lost = Some(broken);
                // Its own bracket is not the next one.
                window.take(1);
            } else {
                window.fill();
            }
        }
    }

    /// Takes in all events that are whole; returns whether the list has ended.
    fn events_in(&mut self, sink: &mut Sink<'_>, scanner: &mut Scanner<'_>, ended: bool) -> Result<bool, Broken> {
        loop {
            if self.lost.is_some() && !self.seek(sink, scanner, ended)? {
                return Ok(false);
            }
            let (before, first) = (scanner.clone(), self.first);
            match self.event(sink, scanner, ended) {
                Ok(Step::Went) => {}
                Ok(Step::End) => return Ok(true),
                Err(broken) if ended || !scanner.is_cut(&broken) => {
                    if sink.events == 0 {
                        return Err(broken);
                    }
                    self.lost = Some(broken);
                }
                Ok(Step::More) | Err(_) => {
                    (*scanner, self.first) = (before, first);
                    return Ok(false);
                }
            }
        }
    }

    /// Goes on at the next event after one that is no JSON, for example because a text in it has a bare quote; returns
    /// whether it was found.
    fn seek(&mut self, sink: &mut Sink<'_>, scanner: &mut Scanner<'_>, ended: bool) -> Result<bool, Broken> {
        let found = scanner.seek_object();
        match self.lost.take() {
            Some(broken) if found => {
                let what = format!("events that are no JSON ({}), left out", broken.what);
                sink.note(&what, Some(broken.offset as u64));
            }
            Some(broken) if ended => return Err(broken),
            lost => {
                self.lost = lost;
                scanner.skip_to_last(KEPT);
            }
        }
        self.first = true;
        Ok(found)
    }

    fn event(&mut self, sink: &mut Sink<'_>, scanner: &mut Scanner<'_>, ended: bool) -> Result<Step, Broken> {
        let first = self.first;
        // Tools that stream write no closing bracket: the end of the file is the end of the list.
        let no_bracket = |sink: &mut Sink<'_>| {
            sink.note("event list without its closing bracket, as streaming tools write it", None);
            Ok(Step::End)
        };
        if !first && scanner.peek().is_none() {
            return if ended { no_bracket(sink) } else { Ok(Step::More) };
        }
        if !scanner.more(b']', &mut self.first)? {
            return Ok(Step::End);
        }
        if scanner.peek().is_none() {
            match ended {
                false => return Ok(Step::More),
                true if sink.events > 0 => return no_bracket(sink),
                true => {}
            }
        }
        let offset = scanner.pos() as u64;
        if scanner.take(b'{') {
            sink.event(scanner, offset)?;
            return Ok(Step::Went);
        }
        scanner.value()?;
        if scanner.at_end() && !ended {
            return Ok(Step::More);
        }
        sink.note("things among the events that are no object, left out", Some(offset));
        Ok(Step::Went)
    }

    /// Takes in all samples.
    fn samples(mut self, sink: &mut Sink<'_>, window: &mut Window<'_>) -> Result<(), Broken> {
        loop {
            let going = thing(window, |scanner, ended| {
                let mut first = self.first;
                if !scanner.more(b']', &mut first)? {
                    return Ok(Some(false));
                }
                scanner.peek();
                let offset = scanner.pos() as u64;
                let value = scanner.value()?;
                if scanner.at_end() && !ended {
                    return Ok(None);
                }
                match value {
                    Token::Nested(json) => sink.put(Item::Sample(json.to_vec(), offset)),
                    _ => sink.note("samples that are no object, left out", Some(offset)),
                }
                self.first = first;
                Ok(Some(true))
            })?;
            if !going {
                return Ok(());
            }
        }
    }
}
