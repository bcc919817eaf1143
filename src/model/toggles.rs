//! The optimizations that a person can flip, as data: what each changes in the spec and what it is expected to do.

use super::manifest::AdapterInfo;
use super::spec::RunSpec;

/// One optimization.
#[derive(Debug, Clone, Copy)]
pub struct Toggle {
    /// Stable identifier, as in `--flip`.
    pub id: &'static str,
    /// A short name for buttons and tables.
    pub label: &'static str,
    /// What it does, in one or two plain sentences.
    pub help: &'static str,
    /// Spec assignments that turn it on.
    pub on: &'static [&'static str],
    /// Spec assignments that turn it off.
    pub off: &'static [&'static str],
}

/// All toggles, in the order in which the ladder applies them.
pub const TOGGLES: &[Toggle] = &[
    Toggle {
        id: "pipeline",
        label: "Input pipeline",
        help: "Workers decode and batch beside the training step, keep decoded images in memory and hold batches ready. \
               Helps when the device waits for data.",
        on: &["pipeline.enabled=true"],
        off: &["pipeline.enabled=false"],
    },
    Toggle {
        id: "f16",
        label: "Mixed precision (f16)",
        help: "Computes in 16 bits with 32-bit master weights and a dynamic loss scale. Halves the bytes moved; on \
               hardware without fast f16 it can be slower.",
        on: &["precision.mode=mixed"],
        off: &["precision.mode=f32"],
    },
    Toggle {
        id: "fusion",
        label: "Kernel fusion",
        help: "Joins neighbouring operations into one kernel: fewer launches and fewer trips through memory. Costs \
               compile time in the first steps.",
        on: &["compiler.fusion=true"],
        off: &["compiler.fusion=false"],
    },
];

impl Toggle {
    /// The toggle with this identifier.
    pub fn find(id: &str) -> Option<&'static Self> {
        TOGGLES.iter().find(|toggle| toggle.id == id)
    }

    /// Whether the spec has it on.
    pub fn is_on(&self, spec: &RunSpec) -> bool {
        self.on
            .iter()
            .all(|set| set.split_once('=').is_some_and(|(path, value)| spec.get(path).as_deref() == Some(value)))
    }

    /// Why it cannot be used with this spec on this device; `None` = it can. `adapter` is `None` on the CPU (Flex).
    pub fn refusal(&self, adapter: Option<&AdapterInfo>) -> Option<String> {
        match (self.id, adapter) {
            ("f16", None) => Some("The CPU backend (Flex) computes f16 in software, without any gain".to_owned()),
            ("f16", Some(adapter)) if !adapter.f16 => {
                Some(format!("{} has no 16-bit arithmetic in shaders (SHADER_F16)", adapter.name))
            }
            ("fusion", None) => Some("Not applicable: the CPU backend (Flex) runs each operation at once".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_and_off_are_valid_and_opposite() {
        for toggle in TOGGLES {
            let sets = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            let on = RunSpec::from_layers(&[], &sets(toggle.on)).unwrap();
            let off = on.with_sets(&sets(toggle.off)).unwrap();
            assert!(toggle.is_on(&on) && !toggle.is_on(&off), "{}", toggle.id);
        }
    }
}
