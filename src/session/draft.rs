//! The spec being edited: as values for the form and as text for the editor, always in step with each other.

use crate::model::{RunSpec, SpecError, Toggle};

/// Presets that come with the app: name, what it is for, TOML text.
pub const PRESETS: &[(&str, &str, &str)] = &[
    (
        "reference-cnn",
        "The reference CNN on the built-in images, everything off",
        include_str!("../../assets/presets/reference-cnn.toml"),
    ),
    ("all-on", "The reference CNN with every optimization on", include_str!("../../assets/presets/all-on.toml")),
    (
        "small-mlp",
        "A small network for software adapters; compiles in seconds",
        include_str!("../../assets/presets/small-mlp.toml"),
    ),
    (
        "synthetic-load",
        "Synthetic images, as a load for the input pipeline",
        include_str!("../../assets/presets/synthetic-load.toml"),
    ),
];

/// The text of a preset, or the list of names.
pub fn preset(name: &str) -> Result<&'static str, String> {
    PRESETS.iter().find(|(known, _, _)| *known == name).map(|(_, _, text)| *text).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|(name, _, _)| *name).collect();
        format!("there is no preset `{name}`; there are {}", names.join(", "))
    })
}

/// The spec under edit.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The last spec that was valid.
    pub spec: RunSpec,
    /// The text, which may be invalid while it is being typed.
    pub text: String,
    /// What is wrong with the text.
    pub error: Option<String>,
    /// Title of the next run.
    pub title: String,
}

impl Default for Draft {
    fn default() -> Self {
        let spec = RunSpec::default();
        Self { text: spec.to_toml(), spec, error: None, title: String::new() }
    }
}

impl Draft {
    /// From text that was kept; what cannot be read falls back to the defaults.
    pub fn from_text(text: &str) -> Self {
        let mut draft = Self::default();
        if !text.trim().is_empty() {
            draft.set_text(text);
            if draft.error.is_some() {
                return Self::default();
            }
        }
        draft
    }

    /// Takes typed text: the spec follows when it is valid, the error says where it is not.
    pub fn set_text(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        match RunSpec::from_toml(text) {
            Ok(spec) => {
                self.spec = spec;
                self.error = None;
            }
            Err(error) => self.error = Some(error.to_string()),
        }
    }

    /// Sets one key; the text is written anew.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SpecError> {
        self.apply(&[format!("{key}={value}")])
    }

    /// Turns a toggle on or off.
    pub fn set_toggle(&mut self, toggle: &Toggle, on: bool) -> Result<(), SpecError> {
        let sets = if on { toggle.on } else { toggle.off };
        self.apply(&sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>())
    }

    fn apply(&mut self, sets: &[String]) -> Result<(), SpecError> {
        match self.spec.with_sets(sets) {
            Ok(spec) => {
                self.text = spec.to_toml();
                self.spec = spec;
                self.error = None;
                Ok(())
            }
            Err(error) => {
                self.error = Some(error.to_string());
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_presets_are_valid() {
        for (name, _, text) in PRESETS {
            assert!(RunSpec::from_toml(text).is_ok(), "{name}");
        }
        assert!(preset("nope").is_err_and(|message| message.contains("reference-cnn")));
    }

    #[test]
    fn form_and_text_stay_in_step() {
        let mut draft = Draft::default();
        draft.set("train.batch", "64").unwrap();
        assert!(draft.text.contains("batch = 64"));
        draft.set_text("[train]\nbatch = 32\n");
        assert_eq!((draft.spec.train.batch, &draft.error), (32, &None));
        draft.set_text("[train]\nbatch = none\n");
        assert_eq!(draft.spec.train.batch, 32);
        assert!(draft.error.is_some());
        assert!(draft.set("train.batch", "0").is_err());
        assert!(draft.error.as_deref().is_some_and(|error| error.contains("train.batch")));
    }
}
