//! CubeCL's settings of a process: with them, compilation and autotuning report to the `log` crate, where the recorder's
//! logger hears of them.

use cubecl::config::autotune::{AutotuneLevel, AutotuneLogLevel};
use cubecl::config::compilation::CompilationLogLevel;
use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
use std::path::Path;
use thiserror::Error;

/// Why the settings could not be made.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum ConfigError {
    /// A device was used before.
    #[error("CubeCL's settings are fixed, for a device was used already; configure it first in the process")]
    AlreadySet,
}

/// Sets CubeCL up, once and before the first device is used: compilation and autotuning are reported, `edit` makes its
/// changes (for example [`set_autotune_level`]), and results of tuning are kept in `cache`.
///
/// Settings start from `cubecl.toml` and the environment, as they would without this.
pub fn configure(cache: Option<&Path>, edit: impl FnOnce(&mut CubeClRuntimeConfig)) -> Result<(), ConfigError> {
    let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
    config.compilation.logger.level = CompilationLogLevel::Basic;
    config.compilation.logger.log = Some(Default::default());
    config.autotune.logger.level = AutotuneLogLevel::Minimal;
    config.autotune.logger.log = Some(Default::default());
    edit(&mut config);
    if !CubeClRuntimeConfig::try_set(config) {
        return Err(ConfigError::AlreadySet);
    }
    // After the settings, which bring a folder of their own.
    if let Some(cache) = cache {
        cubecl::environment::set_root(cache);
    }
    Ok(())
}

/// Sets how many kernel candidates are tried, by the words of a run's spec (`minimal`, `balanced`, `extensive`, `full`);
/// `false` for any other.
pub fn set_autotune_level(config: &mut CubeClRuntimeConfig, level: &str) -> bool {
    config.autotune.level = match level {
        "minimal" => AutotuneLevel::Minimal,
        "balanced" => AutotuneLevel::Balanced,
        "extensive" => AutotuneLevel::Extensive,
        "full" => AutotuneLevel::Full,
        _ => return false,
    };
    true
}
