//! Ceilings that were measured, kept for the next start: one JSON file, an entry for each device and driver.

use super::ceilings::Ceilings;
use crate::model::AdapterInfo;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Name of the file within the cache folder.
const FILE: &str = "ceilings.json";

/// Why ceilings could not be kept or found again.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file could not be read or written.
    #[error("{path}: {error}. Check that the folder may be written to")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file holds something else.
    #[error("{path} is not understood (line {}): {error}. Delete it and measure again", error.line())]
    Format {
        /// The file.
        path: PathBuf,
        /// What was wrong.
        error: serde_json::Error,
    },
}

/// Adds the ceilings of a device to those in `folder`, in place of older ones of the same device and driver.
pub fn save(folder: &Path, ceilings: &Ceilings) -> Result<(), StoreError> {
    let path = folder.join(FILE);
    // What is there but cannot be read is old or torn: a new measurement is worth more.
    let mut all = read(&path).unwrap_or_default();
    all.insert(key(ceilings.adapter.as_ref()), ceilings.clone());
    let failed = |error| StoreError::Io { path: path.clone(), error };
    let text = serde_json::to_vec_pretty(&all).map_err(|error| StoreError::Format { path: path.clone(), error })?;
    std::fs::create_dir_all(folder).map_err(failed)?;
    // Written aside and renamed, so that a reader never sees half a file.
    let aside = folder.join(format!("{FILE}.{}", std::process::id()));
    std::fs::write(&aside, text).map_err(failed)?;
    std::fs::rename(&aside, &path).map_err(failed)
}

/// The ceilings of an adapter (`None` = the CPU), if they were measured with this driver.
pub fn load(folder: &Path, adapter: Option<&AdapterInfo>) -> Result<Option<Ceilings>, StoreError> {
    Ok(read(&folder.join(FILE))?.remove(&key(adapter)))
}

fn read(path: &Path) -> Result<BTreeMap<String, Ceilings>, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map_err(|error| StoreError::Format { path: path.to_owned(), error })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(StoreError::Io { path: path.to_owned(), error }),
    }
}

/// A new driver is a new device as far as speed goes.
fn key(adapter: Option<&AdapterInfo>) -> String {
    adapter.map_or_else(|| "cpu".to_owned(), |a| format!("{} | {} | {}", a.name, a.backend, a.driver))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn kept_by_device_and_driver() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().join("new");
        assert!(load(&here, None).unwrap().is_none());
        let adapter = AdapterInfo { name: "A".to_owned(), driver: "1".to_owned(), ..AdapterInfo::default() };
        let gpu = Ceilings { device: "A".to_owned(), adapter: Some(adapter.clone()), ..Ceilings::default() };
        let cpu = Ceilings { device: "CPU (Flex)".to_owned(), ..Ceilings::default() };
        save(&here, &gpu).unwrap();
        save(&here, &cpu).unwrap();
        assert_eq!(load(&here, Some(&adapter)).unwrap(), Some(gpu));
        assert_eq!(load(&here, None).unwrap(), Some(cpu.clone()));
        let updated = AdapterInfo { driver: "2".to_owned(), ..adapter };
        assert!(load(&here, Some(&updated)).unwrap().is_none());
        std::fs::write(here.join(FILE), "{ torn").unwrap();
        assert!(matches!(load(&here, None), Err(StoreError::Format { .. })));
        save(&here, &cpu).unwrap();
        assert_eq!(load(&here, None).unwrap(), Some(cpu));
        assert_eq!(std::fs::read_dir(&here).unwrap().count(), 1);
    }
}
