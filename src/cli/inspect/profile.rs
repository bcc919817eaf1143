//! What a trace says about a training, as text.

use super::NAME_CHARS;
use crate::analysis::profile::{CopyRow, CriticalPath, DeviceTime, MemoryCurve, Profile};
use crate::model::units;
use crate::report::table::{Align, Table};

/// Steps, parts of a step, devices and what stands out.
pub fn text(profile: &Profile, origin_ns: i64) -> String {
    let mut text = format!("Steps: {}\n", profile.step_sentence());
    for verdict in &profile.verdicts {
        text.push_str(&format!("{verdict}.\n"));
    }
    if !profile.parts.is_empty() {
        let mut table = Table::new(&[("Part of a step", Align::Left), ("Mean", Align::Right), ("Share", Align::Right)]);
        for part in profile.parts.iter().filter(|part| part.mean_ns > 0.0) {
            table.row(vec![part.label.to_owned(), units::duration_ns(part.mean_ns), units::percent(part.share)]);
        }
        text.push_str(&format!("\n{table}"));
    }
    for device in &profile.devices {
        text.push_str(&format!(
            "\n{}: busy {} of {}\n{}",
            device.device,
            units::percent(device.busy_share()),
            units::duration_ns(device.window_ns as f64),
            causes(device)
        ));
    }
    if let Some(path) = &profile.critical {
        text.push_str(&critical(path));
    }
    if !profile.copies.is_empty() {
        text.push_str(&format!("\nCopies of memory\n{}", copies(&profile.copies)));
    }
    if !profile.memory.is_empty() {
        text.push_str(&format!("\nMemory\n{}", memory(&profile.memory, origin_ns)));
    }
    text
}

/// The chain of work that a step waited for.
fn critical(path: &CriticalPath) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.parts.iter().filter(|part| part.share >= 0.001) {
        parts.push(format!("{} {}", part.label, units::percent(part.share)));
    }
    let mut table =
        Table::new(&[("On it", Align::Left), ("Times", Align::Right), ("Time", Align::Right), ("Share", Align::Right)]);
    for name in &path.names {
        table.row(vec![
            units::shorten(&name.name, NAME_CHARS),
            units::count(name.count),
            units::duration_ns(name.total_ns as f64),
            units::percent(name.share),
        ]);
    }
    let length = units::duration_ns(path.dur_ns as f64);
    format!("\nCritical path of {} ({length}): {}\n{table}", path.step, parts.join(", "))
}

fn copies(rows: &[CopyRow]) -> String {
    let mut table = Table::new(&[
        ("Copies", Align::Left),
        ("Host memory", Align::Left),
        ("Count", Align::Right),
        ("Time", Align::Right),
        ("Size", Align::Right),
        ("Rate", Align::Right),
    ]);
    for row in rows {
        let memory = row.pageable.map_or("–", |pageable| if pageable { "pageable" } else { "pinned" });
        let unknown = || "–".to_owned();
        table.row(vec![
            row.label.to_owned(),
            memory.to_owned(),
            units::count(row.count),
            units::duration_ns(row.total_ns as f64),
            row.bytes.map_or_else(unknown, |bytes| units::bytes(bytes as f64)),
            row.bytes_per_sec.map_or_else(unknown, units::bytes_per_sec),
        ]);
    }
    table.to_string()
}

fn memory(curves: &[MemoryCurve], origin_ns: i64) -> String {
    let mut table = Table::new(&[
        ("Memory", Align::Left),
        ("Peak", Align::Right),
        ("At", Align::Right),
        ("In step", Align::Left),
        ("While", Align::Left),
        ("Growth a step", Align::Right),
    ]);
    let or_dash =
        |text: &Option<String>| text.as_deref().map_or("–".to_owned(), |text| units::shorten(text, NAME_CHARS));
    for curve in curves {
        table.row(vec![
            curve.name.clone(),
            units::bytes(curve.peak_bytes),
            units::duration_ns(curve.peak_ns.saturating_sub(origin_ns) as f64),
            or_dash(&curve.peak_step),
            or_dash(&curve.peak_within),
            curve.growth_bytes.map_or("none".to_owned(), units::bytes),
        ]);
    }
    table.to_string()
}

/// Why a device was idle.
pub fn causes(device: &DeviceTime) -> String {
    let mut table = Table::new(&[
        ("Idle because", Align::Left),
        ("Gaps", Align::Right),
        ("Time", Align::Right),
        ("Share of the window", Align::Right),
    ]);
    for cause in &device.causes {
        table.row(vec![
            cause.label.to_owned(),
            units::count(cause.count),
            units::duration_ns(cause.total_ns as f64),
            units::percent(cause.total_ns as f64 / device.window_ns.max(1) as f64),
        ]);
    }
    table.to_string()
}
