//! Settings that Burn and CubeCL read once a process: fusion, autotune, and where they keep what they tuned.
//!
//! They are set through the libraries' configuration types, not through environment variables, and before the first
//! tensor. That is why every run has a process of its own.

use super::errors::TrainError;
use crate::model::spec::{CompilerSpec, RunSpec};
use crate::record;
use burn::BurnConfig;
use cubecl::config::RuntimeConfig;
use parking_lot::Mutex;
use std::path::PathBuf;

/// Names the folder for tuned and compiled kernels in place of the user's cache folder.
pub const CACHE_DIR_VAR: &str = "BURNSCOPE_CACHE_DIR";

/// The compiler settings of this process, once they are fixed.
static PREPARED: Mutex<Option<CompilerSpec>> = Mutex::new(None);

/// The folder in which tuned and compiled kernels outlive the process.
pub fn cache_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os(CACHE_DIR_VAR).filter(|dir| !dir.is_empty()) {
        return PathBuf::from(dir);
    }
    // A system user without a home still gets a cache, though one that may be swept away.
    directories::ProjectDirs::from("", "", "burnscope")
        .map_or_else(|| std::env::temp_dir().join("burnscope"), |dirs| dirs.cache_dir().to_path_buf())
}

/// Fixes what holds for the whole process. Must run before anything else of Burn; a second call with the same settings
/// does nothing, one with others is refused.
pub fn prepare_process(spec: &RunSpec) -> Result<(), TrainError> {
    let mut prepared = PREPARED.lock();
    if let Some(settings) = prepared.as_ref() {
        return if *settings == spec.compiler { Ok(()) } else { Err(too_late("with other compiler settings")) };
    }
    let set = BurnConfig::try_set(burn_config(&spec.compiler)?)
        && record::burn::configure(Some(&cache_dir()), |config| {
            // The list of keys allows the four words that this knows.
            record::burn::set_autotune_level(config, &spec.compiler.autotune);
        })
        .is_ok();
    if !set {
        return Err(too_late("by a tensor that came before the settings"));
    }
    *prepared = Some(spec.compiler.clone());
    Ok(())
}

fn too_late(how: &str) -> TrainError {
    TrainError::Unsupported {
        reason: format!("compiler.fusion and compiler.autotune hold for a whole process, and this one was begun {how}"),
    }
}

/// Fusion off means that no fused block is ever searched for: every operation becomes its own block, and the observer of
/// operations keeps working.
fn burn_config(compiler: &CompilerSpec) -> Result<BurnConfig, TrainError> {
    if compiler.fusion {
        return Ok(BurnConfig::default());
    }
    // The fields are private; their serialised form is the documented `burn.toml`.
    serde_json::from_str(r#"{"fusion":{"beam_search":{"max_explorations":0}}}"#)
        .map_err(|e| TrainError::Unsupported { reason: format!("Burn refuses its fusion setting: {e}") })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn fusion_off_ends_the_search() {
        let off = burn_config(&CompilerSpec { fusion: false, ..CompilerSpec::default() }).unwrap();
        assert_eq!(off.fusion().beam_search.max_explorations, Some(0));
        assert_eq!(off.fusion().growth_patience, BurnConfig::default().fusion().growth_patience);
        let on = burn_config(&CompilerSpec { fusion: true, ..CompilerSpec::default() }).unwrap();
        assert_eq!(on.fusion().beam_search.max_explorations, None);
    }
}
