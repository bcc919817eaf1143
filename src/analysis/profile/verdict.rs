//! What stands out in a profile, as sentences with their figures. Thresholds are those of the tools that users know:
//! XProf's input analysis (5 and 20 % of the step), PyTorch's TensorBoard plugin (device use below 50 %, communication
//! above 10 %), XProf's launch rule (3 and 15 %).

use super::Profile;
use super::idle::Cause;
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
    for device in &profile.devices {
        if device.busy_share() < 0.5 {
            let causes: Vec<String> = device
                .causes
                .iter()
                .take(2)
                .map(|cause| format!("{} ({})", cause.label, units::duration_ns(cause.total_ns as f64)))
                .collect();
            let mut words = format!("{} worked {} of the time", device.device, units::percent(device.busy_share()));
            if !causes.is_empty() {
                words.push_str(&format!("; it was idle mostly for: {}", causes.join(", ")));
            }
            say(0.5 - device.busy_share(), words);
        }
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
