//! The spec that a command line means: preset or file, then `--data`, `--device` and `--set`.

use super::UsageError;
use super::args::SpecArgs;
use crate::model::RunSpec;
use crate::session::draft;
use anyhow::Context as _;

/// Builds the spec; `extra` assignments come after the user's `--set`.
pub fn build(args: &SpecArgs, extra: &[String]) -> anyhow::Result<RunSpec> {
    let mut texts = Vec::new();
    if let Some(name) = &args.preset {
        texts.push(draft::preset(name).map_err(UsageError)?.to_owned());
    }
    if let Some(path) = &args.spec {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the spec {}", path.display()))?;
        // Errors of the file alone are told with its name.
        RunSpec::from_toml(&text).with_context(|| format!("in {}", path.display()))?;
        texts.push(text);
    }
    let mut sets = Vec::new();
    if let Some(data) = &args.data {
        sets.push(format!("data.source={data}"));
    }
    if let Some(device) = &args.device {
        sets.push(format!("train.device={device}"));
    }
    sets.extend(args.set.iter().cloned());
    sets.extend(extra.iter().cloned());
    let layers: Vec<&str> = texts.iter().map(String::as_str).collect();
    Ok(RunSpec::from_layers(&layers, &sets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_over_the_preset() {
        let args = SpecArgs {
            preset: Some("small-mlp".to_owned()),
            device: Some("cpu".to_owned()),
            set: vec!["train.batch=8".to_owned()],
            ..SpecArgs::default()
        };
        let spec = build(&args, &["trace.level=L0".to_owned()]).unwrap();
        assert_eq!((spec.model.kind.as_str(), spec.train.batch, spec.train.device.as_str()), ("mlp", 8, "cpu"));
        assert_eq!(spec.trace.level, crate::model::TraceLevel::L0);
    }

    #[test]
    fn wrong_presets_and_keys_are_wrong_usage() {
        let args = SpecArgs { preset: Some("nope".to_owned()), ..SpecArgs::default() };
        assert_eq!(crate::cli::exit_code(&build(&args, &[]).unwrap_err()), 2);
        let args = SpecArgs { set: vec!["train.bach=8".to_owned()], ..SpecArgs::default() };
        assert_eq!(crate::cli::exit_code(&build(&args, &[]).unwrap_err()), 2);
    }
}
