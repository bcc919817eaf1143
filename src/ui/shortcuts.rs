//! Keyboard shortcuts: which key means what, matched so that neither longer shortcuts nor typing are mistaken.
//!
//! Knows keys only; what is bound to them is the caller's.

use egui::{Key, KeyboardShortcut, Modifiers};

/// Keys and what they mean, those with more modifiers first: egui takes Ctrl+Shift+P for Ctrl+P as well.
#[derive(Debug, Clone)]
pub struct Shortcuts<T> {
    bindings: Vec<(KeyboardShortcut, T)>,
}

impl<T> Shortcuts<T> {
    /// Shortcuts in any order.
    pub fn new(bindings: impl IntoIterator<Item = (KeyboardShortcut, T)>) -> Self {
        let mut bindings: Vec<_> = bindings.into_iter().collect();
        bindings.sort_by_key(|(shortcut, _)| std::cmp::Reverse(modifier_count(shortcut.modifiers)));
        Self { bindings }
    }

    /// What was pressed in this frame, taken from the input. Inside a text field only those that are no typing count.
    pub fn take(&self, ctx: &egui::Context) -> Vec<&T> {
        let typing = ctx.text_edit_focused();
        ctx.input_mut(|input| {
            let fitting = self.bindings.iter().filter(|(shortcut, _)| !typing || !is_typing(shortcut));
            fitting.filter(|(shortcut, _)| input.consume_shortcut(shortcut)).map(|(_, what)| what).collect()
        })
    }

    /// Pairs that one press of keys would trigger both.
    pub fn clashes(&self) -> Vec<(&T, &T)> {
        let mut clashes = Vec::new();
        for (idx, (a, first)) in self.bindings.iter().enumerate() {
            let same = |(b, _): &&(KeyboardShortcut, T)| a.logical_key == b.logical_key && a.modifiers == b.modifiers;
            clashes.extend(self.bindings.iter().skip(idx + 1).filter(same).map(|(_, second)| (first, second)));
        }
        clashes
    }
}

/// A shortcut by the names of its parts; `None` when egui knows no such key.
pub fn shortcut(ctrl: bool, shift: bool, alt: bool, key: &str) -> Option<KeyboardShortcut> {
    let digit = key.strip_prefix("Num").filter(|rest| rest.len() == 1);
    let key = Key::from_name(digit.unwrap_or(key))?;
    Some(KeyboardShortcut::new(Modifiers { alt, shift, command: ctrl, ..Modifiers::NONE }, key))
}

fn modifier_count(modifiers: Modifiers) -> u32 {
    [modifiers.alt, modifiers.shift, modifiers.command || modifiers.ctrl].into_iter().map(u32::from).sum()
}

/// Whether a text field would take these keys itself: everything without Ctrl and Alt but the function keys, and the
/// editing commands.
fn is_typing(shortcut: &KeyboardShortcut) -> bool {
    let KeyboardShortcut { modifiers, logical_key } = shortcut;
    if modifiers.command || modifiers.ctrl {
        return matches!(
            logical_key,
            Key::A | Key::C | Key::X | Key::V | Key::Z | Key::Y | Key::K | Key::U | Key::W | Key::H
        );
    }
    let function_key =
        matches!(logical_key, Key::F1 | Key::F2 | Key::F3 | Key::F4 | Key::F5 | Key::F6 | Key::F7 | Key::F8);
    !modifiers.alt && !function_key
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn press(modifiers: Modifiers, key: Key) -> egui::RawInput {
        let event = egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
        let mut input = egui::RawInput::default();
        input.events.push(event);
        input
    }

    fn shortcuts() -> Shortcuts<&'static str> {
        Shortcuts::new([
            (shortcut(true, false, false, "P").unwrap(), "pause"),
            (shortcut(true, true, false, "P").unwrap(), "palette"),
            (shortcut(false, false, false, "F").unwrap(), "fit"),
            (shortcut(true, false, false, "Z").unwrap(), "undo"),
            (shortcut(false, false, false, "F5").unwrap(), "refresh"),
        ])
    }

    fn pressed(modifiers: Modifiers, key: Key, typing: bool) -> Vec<&'static str> {
        let ctx = egui::Context::default();
        let shortcuts = shortcuts();
        let mut text = String::new();
        let mut frame = |input| {
            let mut taken = Vec::new();
            let _ = ctx.run_ui(input, |ui| {
                taken = shortcuts.take(ui.ctx()).into_iter().copied().collect();
                let field = ui.text_edit_singleline(&mut text);
                if typing {
                    field.request_focus();
                }
            });
            taken
        };
        frame(egui::RawInput::default());
        frame(egui::RawInput::default());
        frame(press(modifiers, key))
    }

    #[test]
    fn more_modifiers_win() {
        let ctrl_shift = Modifiers { shift: true, ..Modifiers::COMMAND };
        assert_eq!(pressed(ctrl_shift, Key::P, false), ["palette"]);
        assert_eq!(pressed(Modifiers::COMMAND, Key::P, false), ["pause"]);
    }

    #[test]
    fn typing_triggers_nothing() {
        assert_eq!(pressed(Modifiers::NONE, Key::F, false), ["fit"]);
        assert!(pressed(Modifiers::NONE, Key::F, true).is_empty());
        assert_eq!(pressed(Modifiers::COMMAND, Key::Z, false), ["undo"]);
        assert!(pressed(Modifiers::COMMAND, Key::Z, true).is_empty());
        assert_eq!(pressed(Modifiers::COMMAND, Key::P, true), ["pause"]);
        assert_eq!(pressed(Modifiers::NONE, Key::F5, true), ["refresh"]);
    }

    #[test]
    fn clashes_are_found() {
        assert!(shortcuts().clashes().is_empty());
        let same = || shortcut(false, false, false, "Num0").unwrap();
        assert_eq!(Shortcuts::new([(same(), 1), (same(), 2)]).clashes(), [(&1, &2)]);
        assert!(shortcut(false, false, false, "NoSuchKey").is_none());
    }
}
