//! Every key of a run spec: its kind, bounds and meaning. The window's forms, the help text and the checks read this list.

use super::spec::{SpecError, value_text};

/// What a key accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyKind {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds, both included.
    Int(i64, i64),
    /// A finite number within bounds, both included.
    Float(f64, f64),
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct KeyInfo {
    /// Dotted path, `section.key`.
    pub path: &'static str,
    /// What it accepts.
    pub kind: KeyKind,
    /// A short label for a form.
    pub label: &'static str,
    /// One sentence of help.
    pub help: &'static str,
}

const fn key(path: &'static str, kind: KeyKind, label: &'static str, help: &'static str) -> KeyInfo {
    KeyInfo { path, kind, label, help }
}

const MANY: i64 = 1_000_000_000;

/// All keys, section by section, in the order in which a spec is written.
#[rustfmt::skip]
pub const KEYS: &[KeyInfo] = &[
    key("data.source", KeyKind::Text, "Data", "builtin, synthetic, or a path to images"),
    key("data.train_limit", KeyKind::Int(0, MANY), "Training images", "At most this many training images; 0 = all"),
    key("data.test_limit", KeyKind::Int(0, MANY), "Test images", "At most this many test images; 0 = all"),
    key("data.synthetic_images", KeyKind::Int(10, MANY), "Synthetic images", "Size of the synthetic training set"),
    key("model.kind", KeyKind::Choice(&["cnn", "mlp"]), "Model", "The reference CNN (167,562 parameters) or a multilayer perceptron"),
    key("model.hidden", KeyKind::Int(1, 65_536), "Hidden width", "Width of the MLP's hidden layers"),
    key("model.layers", KeyKind::Int(1, 64), "Hidden layers", "Number of the MLP's hidden layers"),
    key("train.seed", KeyKind::Int(0, i64::MAX), "Seed", "Seed of weights and data order"),
    key("train.batch", KeyKind::Int(1, 65_536), "Batch size", "Samples in a batch"),
    key("train.epochs", KeyKind::Int(1, 1_000_000), "Epochs", "Passes over the data"),
    key("train.steps", KeyKind::Int(0, MANY), "Steps an epoch", "0 = as many whole batches as the data has"),
    key("train.device", KeyKind::Text, "Device", "auto, cpu, gpu, or a part of an adapter's name"),
    key("train.evaluate", KeyKind::Bool, "Test accuracy", "Measure accuracy on the test set at the end"),
    key("train.readback_every", KeyKind::Int(1, MANY), "Read loss every", "Steps between two reads of the loss; each read waits for the device"),
    key("train.warmup_quiet_steps", KeyKind::Int(1, 1000), "Quiet steps", "Steps in a row without compilation or tuning that end the warm-up"),
    key("optimizer.kind", KeyKind::Choice(&["adam", "sgd"]), "Optimizer", "The update rule"),
    key("optimizer.lr", KeyKind::Float(1e-12, 1e3), "Learning rate", "Step length of the update"),
    key("optimizer.beta1", KeyKind::Float(0.0, 0.999_999), "Beta 1", "Decay of Adam's first moment"),
    key("optimizer.beta2", KeyKind::Float(0.0, 0.999_999_9), "Beta 2", "Decay of Adam's second moment"),
    key("optimizer.epsilon", KeyKind::Float(1e-16, 1.0), "Epsilon", "Keeps Adam's division away from zero"),
    key("optimizer.momentum", KeyKind::Float(0.0, 0.999_999), "Momentum", "Momentum of SGD"),
    key("pipeline.enabled", KeyKind::Bool, "Input pipeline", "Off: batches are made inside the step. On: beside it, by the stages below"),
    key("pipeline.cache", KeyKind::Choice(&["none", "decoded"]), "Cache", "Keep decoded images in memory"),
    key("pipeline.shuffle", KeyKind::Bool, "Shuffle", "Draw the order anew each epoch"),
    key("pipeline.workers", KeyKind::Int(1, 256), "Workers", "Threads that decode, normalise and batch"),
    key("pipeline.prefetch", KeyKind::Int(0, 1024), "Prefetch", "Batches kept ready"),
    key("precision.mode", KeyKind::Choice(&["f32", "f16", "mixed"]), "Precision", "f32, f16 throughout, or mixed with f32 master weights"),
    key("precision.init_scale", KeyKind::Float(1.0, 16_777_216.0), "Loss scale", "Start of the dynamic loss scale"),
    key("precision.growth_interval", KeyKind::Int(1, MANY), "Scale growth", "Good steps after which the loss scale doubles"),
    key("compiler.fusion", KeyKind::Bool, "Fusion", "Join operations into fused kernels"),
    key("compiler.autotune", KeyKind::Choice(&["minimal", "balanced", "extensive", "full"]), "Autotune", "How many kernel candidates are tried"),
    key("trace.level", KeyKind::Choice(&["L0", "L1", "L2"]), "Recording level", "L0 phases, L1 + operations, L2 + device time of kernels on sampled steps"),
    key("trace.sample_every", KeyKind::Int(1, MANY), "Sample every", "At level L2, time the kernels of one step in this many"),
    key("trace.untraced_every", KeyKind::Int(0, MANY), "Untraced every", "Leave one step in this many untraced to measure the recorder; 0 = never"),
];

/// The key with this path.
pub fn find(path: &str) -> Option<&'static KeyInfo> {
    KEYS.iter().find(|key| key.path == path)
}

/// Whether there is a table of this name.
pub fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.path.split('.').next() == Some(name))
}

/// The nearest valid key or table, if any is near.
pub fn nearest(path: &str) -> Option<String> {
    let sections = KEYS.iter().filter_map(|key| key.path.split('.').next());
    let leaves = KEYS.iter().filter_map(|key| Some((key.path.split_once('.')?.1, key.path)));
    let candidates = sections.map(|s| (s, s)).chain(KEYS.iter().map(|k| (k.path, k.path))).chain(leaves);
    candidates
        .map(|(name, full)| (strsim::damerau_levenshtein(name, path), full))
        .filter(|(distance, full)| *distance <= (full.len() / 3).max(2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, full)| full.to_owned())
}

impl KeyInfo {
    /// Checks a value and returns it, whole numbers widened where a key wants a float.
    pub fn check(&self, value: toml::Value) -> Result<toml::Value, SpecError> {
        let refuse = |expected: String| {
            Err(SpecError::BadValue { path: self.path.to_owned(), value: value_text(&value), expected })
        };
        match (self.kind, &value) {
            (KeyKind::Bool, toml::Value::Boolean(_)) | (KeyKind::Text, toml::Value::String(_)) => Ok(value),
            (KeyKind::Int(low, high), toml::Value::Integer(n)) if (low..=high).contains(n) => Ok(value),
            (KeyKind::Float(low, high), toml::Value::Float(x)) if (low..=high).contains(x) => Ok(value),
            (KeyKind::Float(low, high), toml::Value::Integer(n)) if (low..=high).contains(&(*n as f64)) => {
                Ok(toml::Value::Float(*n as f64))
            }
            (KeyKind::Choice(words), toml::Value::String(text)) if words.contains(&text.as_str()) => Ok(value),
            (KeyKind::Choice(words), toml::Value::String(text)) => {
                let near = words
                    .iter()
                    .map(|word| (strsim::damerau_levenshtein(word, text), *word))
                    .filter(|(distance, _)| *distance <= 2)
                    .min();
                let hint = near.map(|(_, word)| format!("; did you mean `{word}`?")).unwrap_or_default();
                refuse(format!("expected one of {}{hint}", words.join(", ")))
            }
            (KeyKind::Choice(words), _) => refuse(format!("expected one of {}", words.join(", "))),
            (KeyKind::Bool, _) => refuse("expected true or false".to_owned()),
            (KeyKind::Text, _) => refuse("expected text in quotes".to_owned()),
            (KeyKind::Int(low, high), _) => refuse(format!("expected a whole number from {low} to {high}")),
            (KeyKind::Float(low, high), _) => refuse(format!("expected a number from {low} to {high}")),
        }
    }
}
