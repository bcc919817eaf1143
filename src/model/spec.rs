//! What a run is asked to do: a TOML document of eight tables, checked key by key.
//!
//! A spec is built in layers: built-in defaults, then a preset or a file, then `--set key=value`. Every key is listed
//! in [`super::spec_keys`]; a key that is not there is refused with the nearest name.

use super::spec_keys::{self, KeyKind};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a spec was refused.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum SpecError {
    /// The text is not TOML.
    #[error("not valid TOML, {place}: {what}")]
    Syntax {
        /// `line 3, column 7`.
        place: String,
        /// What the parser says.
        what: String,
    },
    /// There is no such key.
    #[error("unknown key `{path}`{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    UnknownKey {
        /// The key, dotted.
        path: String,
        /// The nearest valid key.
        nearest: Option<String>,
    },
    /// The value cannot be.
    #[error("`{path}` = {value}: {expected}")]
    BadValue {
        /// The key, dotted.
        path: String,
        /// The value as written.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// Two values exclude each other.
    #[error("`{path}` cannot be combined with `{other}`: {why}")]
    Combination {
        /// The key that was refused.
        path: String,
        /// The key that it conflicts with.
        other: String,
        /// Why, and what to change.
        why: String,
    },
    /// A `--set` argument without `=`.
    #[error("`{0}` is not of the form key=value, for example optimizer.lr=3e-4")]
    NotAnAssignment(String),
}

/// Where the images come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataSpec {
    /// `builtin`, `synthetic`, or a path to IDX files, CIFAR-10 (binary, python, tar.gz) or a folder of classes.
    pub source: String,
    /// At most this many training images; 0 = all.
    pub train_limit: usize,
    /// At most this many test images; 0 = all.
    pub test_limit: usize,
    /// Training images of the synthetic set.
    pub synthetic_images: usize,
}

impl Default for DataSpec {
    fn default() -> Self {
        Self { source: "builtin".to_owned(), train_limit: 0, test_limit: 0, synthetic_images: 4096 }
    }
}

/// Which network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSpec {
    /// `cnn` (the reference CNN, 167,562 parameters) or `mlp`.
    pub kind: String,
    /// Width of the MLP's hidden layers.
    pub hidden: usize,
    /// Number of the MLP's hidden layers.
    pub layers: usize,
}

impl Default for ModelSpec {
    fn default() -> Self {
        Self { kind: "cnn".to_owned(), hidden: 128, layers: 2 }
    }
}

/// How long, and on what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainSpec {
    /// Seed of weights, data order and everything else that is drawn.
    pub seed: u64,
    /// Samples in a batch.
    pub batch: usize,
    /// Passes over the data; each is `steps` long when that is set.
    pub epochs: usize,
    /// Steps of an epoch; 0 = as many whole batches as the data has.
    pub steps: usize,
    /// `auto` (a hardware GPU, else the CPU), `cpu` (Flex), `gpu` (the best adapter) or a part of an adapter's name.
    pub device: String,
    /// Measure accuracy on the test set at the end.
    pub evaluate: bool,
    /// Read loss and accuracy back every this many steps; each read makes the host wait for the device.
    pub readback_every: usize,
    /// Steps in a row without compilation, tuning or growth that end the warm-up.
    pub warmup_quiet_steps: usize,
}

impl Default for TrainSpec {
    fn default() -> Self {
        Self {
            seed: 42,
            batch: 128,
            epochs: 1,
            steps: 0,
            device: "auto".to_owned(),
            evaluate: true,
            readback_every: 1,
            warmup_quiet_steps: 3,
        }
    }
}

/// The update rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OptimizerSpec {
    /// `adam` or `sgd`.
    pub kind: String,
    /// Learning rate.
    pub lr: f64,
    /// Decay of Adam's first moment.
    pub beta1: f64,
    /// Decay of Adam's second moment.
    pub beta2: f64,
    /// Adam's epsilon.
    pub epsilon: f64,
    /// Momentum of SGD.
    pub momentum: f64,
}

impl Default for OptimizerSpec {
    fn default() -> Self {
        Self { kind: "adam".to_owned(), lr: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-7, momentum: 0.0 }
    }
}

/// The input pipeline: cache → shuffle → batch → transform → prefetch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PipelineSpec {
    /// Off: the training thread decodes, normalises and batches inside the step. On: the stages below do it beside it.
    pub enabled: bool,
    /// `none` or `decoded` (keep decoded u8 images; filled also by partial epochs).
    pub cache: String,
    /// Draw the order anew each epoch, from the seed.
    pub shuffle: bool,
    /// Threads that decode, normalise and batch.
    pub workers: usize,
    /// Batches kept ready; 0 = none beyond the one being made.
    pub prefetch: usize,
}

impl Default for PipelineSpec {
    fn default() -> Self {
        Self { enabled: false, cache: "decoded".to_owned(), shuffle: true, workers: 1, prefetch: 2 }
    }
}

/// Number formats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrecisionSpec {
    /// Element type of weights and activations.
    pub mode: Precision,
    /// Start of the dynamic loss scale (mixed precision).
    pub init_scale: f64,
    /// Good steps after which the loss scale doubles (mixed precision).
    pub growth_interval: usize,
}

impl Default for PrecisionSpec {
    fn default() -> Self {
        Self { mode: Precision::F32, init_scale: 65536.0, growth_interval: 2000 }
    }
}

/// Element types of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit throughout.
    F32,
    /// 16-bit weights, activations and loss.
    F16,
    /// 32-bit master weights, 16-bit compute, loss and normalisation in 32-bit, dynamic loss scaling.
    Mixed,
}

impl Precision {
    /// As written in a spec.
    pub fn id(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Mixed => "mixed",
        }
    }
}

/// Settings of Burn's compiler layers; they hold for a whole process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompilerSpec {
    /// Join operations into fused kernels. Does not apply on the CPU (Flex).
    pub fusion: bool,
    /// How many kernel candidates autotune tries: `minimal`, `balanced`, `extensive` or `full`.
    pub autotune: String,
}

impl Default for CompilerSpec {
    fn default() -> Self {
        Self { fusion: false, autotune: "balanced".to_owned() }
    }
}

/// How much is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceSpec {
    /// Recording level.
    pub level: TraceLevel,
    /// At level L2, time the kernels of one step in this many.
    pub sample_every: usize,
    /// Leave one step in this many untraced, to measure what recording costs; 0 = never.
    pub untraced_every: usize,
}

impl Default for TraceSpec {
    fn default() -> Self {
        Self { level: TraceLevel::L1, sample_every: 10, untraced_every: 4 }
    }
}

/// Recording levels; each includes the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TraceLevel {
    /// Host spans and phases.
    L0,
    /// Every operation with shape and type, fused blocks, kernel names.
    L1,
    /// Device time of each kernel on sampled steps.
    L2,
}

impl TraceLevel {
    /// As written in a spec.
    pub fn id(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
        }
    }
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSpec {
    /// `[data]`
    pub data: DataSpec,
    /// `[model]`
    pub model: ModelSpec,
    /// `[train]`
    pub train: TrainSpec,
    /// `[optimizer]`
    pub optimizer: OptimizerSpec,
    /// `[pipeline]`
    pub pipeline: PipelineSpec,
    /// `[precision]`
    pub precision: PrecisionSpec,
    /// `[compiler]`
    pub compiler: CompilerSpec,
    /// `[trace]`
    pub trace: TraceSpec,
}

impl RunSpec {
    /// Reads a spec; what it does not name keeps its default.
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        Self::from_layers(&[text], &[])
    }

    /// Reads layers of TOML text, later ones over earlier ones, then `key=value` assignments, and checks the whole.
    pub fn from_layers(texts: &[&str], sets: &[String]) -> Result<Self, SpecError> {
        let mut merged = toml::Table::new();
        for text in texts {
            let table: toml::Table = text.parse().map_err(|e| syntax_error(text, &e))?;
            merge_checked(&mut merged, table)?;
        }
        for set in sets {
            let (path, value) = parse_assignment(set)?;
            let mut table = toml::Table::new();
            insert_dotted(&mut table, &path, value);
            merge_checked(&mut merged, table)?;
        }
        let spec: Self = toml::Value::Table(merged).try_into().map_err(|e: toml::de::Error| SpecError::BadValue {
            path: "spec".to_owned(),
            value: String::new(),
            expected: e.message().to_owned(),
        })?;
        spec.check()?;
        Ok(spec)
    }

    /// A copy with `key=value` assignments applied, checked.
    pub fn with_sets(&self, sets: &[String]) -> Result<Self, SpecError> {
        Self::from_layers(&[&self.to_toml()], sets)
    }

    /// The whole spec as TOML, every key written out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// The value at a dotted path, as it would be written in TOML.
    pub fn get(&self, path: &str) -> Option<String> {
        let table = toml::Table::try_from(self).ok()?;
        let (section, key) = path.split_once('.')?;
        table.get(section)?.get(key).map(value_text)
    }

    /// All keys with their values, in the order of [`spec_keys::KEYS`].
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        spec_keys::KEYS.iter().filter_map(|key| Some((key.path, self.get(key.path)?))).collect()
    }

    /// Keys in which two specs differ: path, value here, value there.
    pub fn differences(&self, other: &Self) -> Vec<(&'static str, String, String)> {
        self.entries()
            .into_iter()
            .zip(other.entries())
            .filter(|((_, a), (_, b))| a != b)
            .map(|((path, a), (_, b))| (path, a, b))
            .collect()
    }

    /// Refuses combinations that cannot work. Single values were checked against [`spec_keys::KEYS`].
    fn check(&self) -> Result<(), SpecError> {
        let cpu = self.train.device == "cpu";
        if cpu && self.precision.mode != Precision::F32 {
            return Err(SpecError::Combination {
                path: "precision.mode".to_owned(),
                other: "train.device".to_owned(),
                why: "the CPU backend (Flex) has no fast f16; use precision.mode=f32 or another device".to_owned(),
            });
        }
        if cpu && self.trace.level == TraceLevel::L2 {
            return Err(SpecError::Combination {
                path: "trace.level".to_owned(),
                other: "train.device".to_owned(),
                why: "the CPU backend (Flex) launches no kernels to be timed; use trace.level=L1".to_owned(),
            });
        }
        Ok(())
    }
}

/// Adds `extra` over `base`, after checking each key and value against the list of keys.
fn merge_checked(base: &mut toml::Table, extra: toml::Table) -> Result<(), SpecError> {
    for (section, value) in extra {
        let toml::Value::Table(keys) = value else {
            return Err(unknown(&section));
        };
        if !spec_keys::is_section(&section) {
            return Err(unknown(&section));
        }
        let entry = base.entry(section.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        for (key, value) in keys {
            let path = format!("{section}.{key}");
            let info = spec_keys::find(&path).ok_or_else(|| unknown(&path))?;
            let value = info.check(value)?;
            if let toml::Value::Table(table) = entry {
                table.insert(key, value);
            }
        }
    }
    Ok(())
}

fn unknown(path: &str) -> SpecError {
    SpecError::UnknownKey { path: path.to_owned(), nearest: spec_keys::nearest(path) }
}

fn syntax_error(text: &str, error: &toml::de::Error) -> SpecError {
    let offset = error.span().map_or(0, |span| span.start).min(text.len());
    let before = &text.as_bytes()[..offset];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    SpecError::Syntax { place: format!("line {line}, column {column}"), what: error.message().to_owned() }
}

/// Splits `key=value` and reads the value as the key's kind asks; bare words count as strings.
fn parse_assignment(set: &str) -> Result<(String, toml::Value), SpecError> {
    let (path, raw) = set.split_once('=').ok_or_else(|| SpecError::NotAnAssignment(set.to_owned()))?;
    let (path, raw) = (path.trim(), raw.trim());
    let info = spec_keys::find(path).ok_or_else(|| unknown(path))?;
    let is_text = matches!(info.kind, KeyKind::Text | KeyKind::Choice(_));
    let value = if is_text {
        toml::Value::String(raw.trim_matches('"').to_owned())
    } else {
        format!("x = {raw}")
            .parse::<toml::Table>()
            .ok()
            .and_then(|mut table| table.remove("x"))
            .unwrap_or_else(|| toml::Value::String(raw.to_owned()))
    };
    Ok((path.to_owned(), value))
}

fn insert_dotted(table: &mut toml::Table, path: &str, value: toml::Value) {
    let (section, key) = path.split_once('.').unwrap_or((path, ""));
    let mut inner = toml::Table::new();
    inner.insert(key.to_owned(), value);
    table.insert(section.to_owned(), toml::Value::Table(inner));
}

/// A TOML value as a person would write it on a command line.
pub(super) fn value_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Result<RunSpec, SpecError> {
        RunSpec::from_layers(&[], &[text.to_owned()])
    }

    #[test]
    fn a_spec_survives_its_own_text() {
        let spec = RunSpec::from_layers(
            &["[train]\nseed = 7\n[precision]\nmode = \"mixed\"\n"],
            &["optimizer.lr=3e-4".to_owned(), "train.device=gpu".to_owned(), "pipeline.enabled=true".to_owned()],
        )
        .unwrap();
        assert_eq!((spec.train.seed, spec.optimizer.lr, spec.pipeline.enabled), (7, 3e-4, true));
        assert_eq!(RunSpec::from_toml(&spec.to_toml()).unwrap(), spec);
    }

    #[test]
    fn every_key_exists_in_the_struct_and_the_other_way_round() {
        let table = toml::Table::try_from(RunSpec::default()).unwrap();
        let mut written: Vec<String> = Vec::new();
        for (section, keys) in &table {
            written.extend(keys.as_table().unwrap().keys().map(|key| format!("{section}.{key}")));
        }
        let listed: Vec<&str> = spec_keys::KEYS.iter().map(|key| key.path).collect();
        assert_eq!(written, listed);
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        let error = set("optimizer.rl=1").unwrap_err();
        assert_eq!(error.to_string(), "unknown key `optimizer.rl`; did you mean `optimizer.lr`?");
        let error = RunSpec::from_toml("[optimiser]\nlr = 1.0\n").unwrap_err();
        assert!(error.to_string().contains("did you mean `optimizer`"), "{error}");
    }

    #[test]
    fn impossible_values_are_refused_with_their_path() {
        for (text, part) in [
            ("train.batch=0", "`train.batch` = 0"),
            ("train.batch=-3", "`train.batch` = -3"),
            ("optimizer.lr=fast", "`optimizer.lr` = fast"),
            ("optimizer.lr=nan", "`optimizer.lr` = nan"),
            ("precision.mode=f15", "did you mean `f16`"),
            ("compiler.fusion=maybe", "true or false"),
            ("train.seed", "not of the form"),
        ] {
            let message = set(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn impossible_combinations_say_why() {
        let sets = ["train.device=cpu".to_owned(), "precision.mode=f16".to_owned()];
        let message = RunSpec::from_layers(&[], &sets).unwrap_err().to_string();
        assert!(message.contains("precision.mode") && message.contains("train.device"), "{message}");
    }

    #[test]
    fn broken_toml_names_line_and_column() {
        let message = RunSpec::from_toml("[train]\nseed = = 3\n").unwrap_err().to_string();
        assert!(message.contains("line 2"), "{message}");
    }

    #[test]
    fn differences_list_only_what_differs() {
        let a = RunSpec::default();
        let b = a.with_sets(&["pipeline.enabled=true".to_owned()]).unwrap();
        assert_eq!(a.differences(&b), [("pipeline.enabled", "false".to_owned(), "true".to_owned())]);
    }
}
