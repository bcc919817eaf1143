//! What stands out in a profile, as sentences with their figures. Thresholds are those of the tools that users know:
//! XProf's input analysis (5 and 20 % of the step), PyTorch's TensorBoard plugin (device use below 50 %, communication
//! above 10 %), XProf's launch rule (3 and 15 %).

use super::Profile;
use super::idle::{Cause, DeviceTime};
use super::role::Role;
use crate::model::units;

/// What stands out, the most important first.
pub fn of(profile: &Profile) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    let step = profile.step_ns.as_ref().map_or(0.0, |step| step.mean);
    let mut say = |weight: f64, words: String| found.push((weight, words));
    let input = profile.share(Role::Input);
    if input >= 0.05 {
        let how = if input >= 0.2 { "highly" } else { "moderately" };
        say(
            input,
            format!(
                "The steps are {how} input-bound: {} of each ({}) waits for input while the device does nothing. Load and \
                 decode in workers beside the training, and prefetch",
                units::percent(input),
                units::duration_ns(profile.part_ns(Role::Input))
            ),
        );
    }
    if let Some((weight, words)) = idle(&profile.devices) {
        say(weight, words);
    }
    for device in &profile.devices {
        let launch: i64 = device.causes.iter().filter(|c| c.cause == Cause::Launch).map(|cause| cause.total_ns).sum();
        let share = launch as f64 / device.window_ns.max(1) as f64;
        if share >= 0.15 {
            let words = format!(
                "Launch-bound: for {} of the time {} waited for calls that launch its kernels. Join small operations \
                 (fusion, graphs) or make the batch larger",
                units::percent(share),
                device.device
            );
            say(share, words);
        }
    }
    for device in &profile.devices {
        // Also where there are no steps: what a device does says enough.
        let share = device.copy_share();
        if share >= 0.2 {
            let words = format!(
                "{} copied memory for {} of the time in which it worked. Keep data on the device, or copy less often and \
                 in larger pieces",
                device.device,
                units::percent(share)
            );
            say(share, words);
        }
    }
    for curve in &profile.memory {
        if let Some(growth) = curve.growth_bytes {
            let words = format!(
                "{} grows by {} with each step: something keeps what a step makes, such as losses that are gathered with \
                 their graphs",
                curve.name,
                units::bytes(growth)
            );
            say(0.1, words);
        }
    }
    let communication = profile.share(Role::Communication);
    if communication >= 0.1 {
        let words = format!(
            "{} of each step is communication that no computing hides ({})",
            units::percent(communication),
            units::duration_ns(communication * step)
        );
        say(communication, words);
    }
    let copies = profile.share(Role::Memcpy);
    if copies >= 0.1 {
        let words = format!("{} of each step is memory copies that no kernel hides", units::percent(copies));
        say(copies, words);
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, words)| words).collect()
}

/// What is said of devices that were idle for most of the time, and how much it weighs. Many are told of together.
fn idle(devices: &[DeviceTime]) -> Option<(f64, String)> {
    let idle: Vec<&DeviceTime> = devices.iter().filter(|device| device.busy_share() < 0.5).collect();
    let shares = || idle.iter().map(|device| device.busy_share());
    let (least, most) = (shares().fold(1.0, f64::min), shares().fold(0.0, f64::max));
    let mut words = match idle.as_slice() {
        [] => return None,
        [device] => format!("{} worked {} of the time; it was", device.device, units::percent(least)),
        [first, second] => format!(
            "{} and {} worked {} and {} of the time; they were",
            first.device,
            second.device,
            units::percent(first.busy_share()),
            units::percent(second.busy_share())
        ),
        many => format!(
            "{} devices worked {} to {} of the time; they were",
            many.len(),
            units::percent(least),
            units::percent(most)
        ),
    };
    let mut causes: Vec<(&str, i64)> = Vec::new();
    for cause in idle.iter().flat_map(|device| &device.causes) {
        match causes.iter_mut().find(|(label, _)| *label == cause.label) {
            Some((_, total)) => *total = total.saturating_add(cause.total_ns),
            None => causes.push((cause.label, cause.total_ns)),
        }
    }
    causes.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    let causes: Vec<String> = causes
        .iter()
        .take(2)
        .map(|(label, total)| format!("{label} ({} each)", units::duration_ns(*total as f64 / idle.len() as f64)))
        .map(|words| if idle.len() == 1 { words.replace(" each)", ")") } else { words })
        .collect();
    match causes.is_empty() {
        true => words.push_str(" idle for the rest"),
        false => words.push_str(&format!(" idle mostly for: {}", causes.join(", "))),
    }
    Some((0.5 - least, words))
}
