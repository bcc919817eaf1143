//! One name from both sides, as the Flame panel shows it: callers above, callees below.

use super::background::Background;
use super::flame::{FlameInput, graph_of};
use super::palette::Palette;
use crate::analysis::callers::{Sandwich, sandwich};
use crate::model::units;
use crate::session::Command;
use crate::timeline::flame::{FlameEvent, FlameGraph, FlameItem, FlameLook, FlameView};
use egui::Ui;
use std::sync::Arc;

/// State between frames.
#[derive(Debug, Default)]
pub struct CallersView {
    found: Background<(u64, String), Sandwich>,
    graphs: Option<(Arc<Sandwich>, [Arc<FlameGraph>; 2])>,
    views: [FlameView; 2],
}

impl CallersView {
    /// Draws both graphs into the space that is left; a click on a box looks at its name instead.
    pub fn ui(&mut self, ui: &mut Ui, input: &FlameInput<'_>, palette: &Palette, commands: &mut Vec<Command>) {
        let Some(name) = input.name else {
            ui.centered_and_justified(|ui| ui.weak("Select a span or a name, here or in any other panel"));
            return;
        };
        let (trace, wanted, ctx) = (input.trace.clone(), name.to_owned(), ui.ctx().clone());
        let work = move |_: &std::sync::atomic::AtomicBool| Some(sandwich(&trace, trace.find_name(&wanted)?));
        let key = (input.trace.generation(), name.to_owned());
        self.found.request(key, |known, wanted| known.1 == wanted.1, work, move || ctx.request_repaint());
        let failed = self.found.failed().map(str::to_owned);
        let Some(found) = self.found.outcome().cloned() else {
            ui.weak(failed.unwrap_or_else(|| format!("Looking who calls {name}…")));
            return;
        };
        let graphs = match &self.graphs {
            Some((of, graphs)) if Arc::ptr_eq(of, &found) => graphs.clone(),
            _ => {
                let graphs = [&found.callers, &found.callees].map(|tree| Arc::new(graph_of(tree)));
                self.graphs = Some((Arc::clone(&found), graphs.clone()));
                graphs
            }
        };
        ui.horizontal_wrapped(|ui| {
            ui.strong(units::shorten(&found.name, 80)).on_hover_text(&found.name);
            ui.label(units::counted(found.count, "span"));
            ui.label(format!("{} in all", units::duration_ns(found.total_ns as f64)));
            ui.label(format!("{} by itself", units::duration_ns(found.self_ns as f64)));
        });
        let color = |item: &FlameItem| palette.named(&item.name);
        let look = FlameLook {
            color: &color,
            search: "",
            selected: None,
            background: palette.canvas.background,
            selection: palette.canvas.selection,
        };
        let height = (ui.available_height() / 2.0 - 28.0).max(60.0);
        let sides = ["Called by", "Calls"].into_iter().zip(graphs).zip(&mut self.views);
        for ((title, graph), view) in sides {
            ui.weak(title);
            ui.push_id(title, |ui| {
                ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
                    if let Some(FlameEvent::Zoom(node)) = view.ui(ui, &graph, 0, &look)
                        && let Some(item) = graph.items.get(node)
                    {
                        commands.push(Command::SelectName(item.name.clone()));
                    }
                });
            });
        }
    }
}
