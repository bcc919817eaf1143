//! Single spans: every one of a name, and who calls it.

use super::NAME_CHARS;
use crate::analysis::callers::sandwich;
use crate::analysis::{FlameNode, matches};
use crate::cli::args::InspectArgs;
use crate::cli::{failed, print, print_json};
use crate::model::units;
use crate::report::table::{Align, Table};
use crate::session::state::OpenRun;
use crate::trace::search::NameSet;
use std::sync::atomic::AtomicBool;

/// Levels of callers and callees that are printed.
const LEVELS: usize = 6;

/// Every span whose name contains a text.
pub fn find(args: &InspectArgs, run: &OpenRun, text: &str) -> anyhow::Result<()> {
    let names = NameSet::containing(&run.trace, text);
    let found = matches::find(&run.trace, &names, &AtomicBool::new(false)).unwrap_or_default();
    if args.json {
        return print_json(&found);
    }
    let mut table = Table::new(&[
        ("Name", Align::Left),
        ("Track", Align::Left),
        ("Start", Align::Right),
        ("Duration", Align::Right),
    ]);
    for row in found.longest.iter().take(args.top) {
        table.row(vec![
            units::shorten(&row.name, NAME_CHARS),
            units::shorten(&row.track, NAME_CHARS),
            units::clock_text(row.start_ns as f64),
            units::duration_ns(row.dur_ns as f64),
        ]);
    }
    let total = units::duration_ns(found.total_ns as f64);
    print(&format!("{} found, {total} in all; the longest first\n{table}", units::counted(found.count, "span")));
    Ok(())
}

/// Who calls spans of a name, and what they call.
pub fn callers(args: &InspectArgs, run: &OpenRun, name: &str) -> anyhow::Result<()> {
    let Some(id) = run.trace.find_name(name) else {
        return Err(failed(format!("no span is named `{name}`; --find lists names that contain a text")));
    };
    let found = sandwich(&run.trace, id);
    if args.json {
        return print_json(&found);
    }
    let mut text = format!(
        "{}: {}, {} in all, {} by itself\n",
        found.name,
        units::counted(found.count, "span"),
        units::duration_ns(found.total_ns as f64),
        units::duration_ns(found.self_ns as f64)
    );
    for (title, tree) in [("Called by", &found.callers), ("Calls", &found.callees)] {
        text.push_str(&format!("\n{title}\n"));
        if tree.children.is_empty() {
            text.push_str("  nothing that was recorded\n");
        }
        add_tree(&mut text, tree, 1, args.top);
    }
    print(&text);
    Ok(())
}

fn add_tree(text: &mut String, node: &FlameNode, level: usize, top: usize) {
    for child in node.children.iter().take(if level <= LEVELS { top } else { 0 }) {
        let indent = "  ".repeat(level);
        let (total, count) = (units::duration_ns(child.total_ns as f64), units::count(child.count));
        text.push_str(&format!("{indent}{total:>9}  {count} × {}\n", units::shorten(&child.name, NAME_CHARS)));
        add_tree(text, child, level + 1, top);
    }
}
