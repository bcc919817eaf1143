//! `burnscope devices --measure`: what each device can really do, kept for later runs.

use super::print;
use crate::kernels::ceilings::Rate;
use crate::kernels::{self, Ceilings, KernelError, store};
use crate::model::{Known, units};
use crate::report::table::{Align, Table};
use crate::train::cache_dir;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;

/// A device and what came of measuring it.
pub struct Measured {
    /// Name for the user.
    name: String,
    outcome: Result<Ceilings, KernelError>,
}

impl Measured {
    /// As it goes into the JSON answer.
    pub fn json(&self) -> serde_json::Value {
        match &self.outcome {
            Ok(ceilings) => serde_json::json!({ "device": self.name, "ceilings": ceilings }),
            Err(e) => serde_json::json!({ "device": self.name, "error": e.to_string(), "hint": e.hint() }),
        }
    }
}

/// Measures the CPU and every adapter, one after the other, and keeps what came out. Progress goes to standard error.
pub fn all() -> Vec<Measured> {
    let mut measured = vec![one("CPU (Flex)".to_owned(), kernels::measure_cpu)];
    for (number, adapter) in kernels::list().iter().enumerate() {
        measured.push(one(adapter.label(), |progress| kernels::measure(&number.to_string(), progress)));
    }
    measured
}

fn one(name: String, measure: impl FnOnce(&mut dyn FnMut(&str, f32)) -> Result<Ceilings, KernelError>) -> Measured {
    let bar = std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new(100);
        if let Ok(style) = ProgressStyle::with_template("{prefix}  {bar:24} {pos} %  {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(name.clone());
        bar
    });
    if bar.is_none() {
        eprintln!("Measuring {name}");
    }
    let outcome = measure(&mut |what, share| {
        if let Some(bar) = &bar {
            bar.set_position((share * 100.0) as u64);
            bar.set_message(what.to_owned());
        }
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if let Ok(ceilings) = &outcome
        && let Err(e) = store::save(&cache_dir(), ceilings)
    {
        eprintln!("The ceilings of {name} are not kept: {e}");
    }
    Measured { name, outcome }
}

/// The table, the notes below it, and an error when a device could not be measured.
pub fn show(measured: &[Measured]) -> anyhow::Result<()> {
    let mut table = Table::new(&[
        ("Device", Align::Left),
        ("Copy, read + written", Align::Right),
        ("Beyond caches", Align::Right),
        ("f32 arithmetic", Align::Right),
        ("f32 matrix product", Align::Right),
        ("Usual", Align::Right),
        ("How measured", Align::Left),
    ]);
    let mut notes = Vec::new();
    for device in measured {
        match &device.outcome {
            Ok(ceilings) => {
                table.row(row(&device.name, ceilings));
                notes.extend(ceilings.notes.iter().map(|note| format!("{}: {note}.", device.name)));
                notes.extend(faults(&device.name, ceilings));
            }
            Err(e) => notes.push(format!("{}: {e}. {}.", device.name, e.hint())),
        }
    }
    print(&format!("{table}\nThe best of several sizes and repeats, each kernel checked against the CPU first.\n"));
    for note in notes {
        print(&format!("{note}\n"));
    }
    let failed = measured.iter().filter(|device| device.outcome.is_err()).count();
    anyhow::ensure!(failed == 0, "{failed} of {} devices could not be measured", measured.len());
    Ok(())
}

fn row(name: &str, ceilings: &Ceilings) -> Vec<String> {
    let cell = |rate: &Known<f64>, words: fn(f64) -> String| rate.get().map_or("–".to_owned(), |r| words(*r));
    let source = ceilings.matmul.best.source().or(ceilings.copy.best.source());
    vec![
        name.to_owned(),
        cell(&ceilings.copy.best, units::bytes_per_sec),
        cell(&ceilings.copy.largest, units::bytes_per_sec),
        cell(&ceilings.arithmetic.best, units::flops_per_sec),
        cell(&ceilings.matmul.best, units::flops_per_sec),
        cell(&ceilings.matmul.typical, units::flops_per_sec),
        source.map_or("–", |s| s.label()).to_owned(),
    ]
}

/// What was measured but does not count, and what is unknown, with the reasons.
fn faults(name: &str, ceilings: &Ceilings) -> Vec<String> {
    let rates: [(&str, &Rate); 3] =
        [("copying", &ceilings.copy), ("arithmetic", &ceilings.arithmetic), ("matrix products", &ceilings.matmul)];
    rates
        .iter()
        .flat_map(|(what, rate)| {
            let unknown = rate.best.reason().map(|reason| format!("{name}: {what} unknown: {reason}."));
            let points = rate.points.iter().filter_map(|point| {
                point.fault.as_ref().map(|fault| format!("{name}: {} does not count: {fault}.", point.label))
            });
            unknown.into_iter().chain(points).collect::<Vec<_>>()
        })
        .collect()
}
