//! Where the panels are: tiles that the user can drag, split and resize, kept between starts.

use super::panes::Panes;
use crate::panels::{PanelContext, context};
use crate::session::PanelId;
use crate::ui::tokens::{Tokens, size};
use egui::{Color32, Stroke, Ui, WidgetText};
use egui_tiles::{
    Behavior, Container, Linear, LinearDir, SimplificationOptions, TabState, Tile, TileId, Tiles, Tree, UiResponse,
};

/// Share of the width that Setup takes at first: 370 points of 1,280, 550 of 1,920.
const SETUP_SHARE: f32 = 0.29;

/// The tiles of the window.
#[derive(Debug, Clone)]
pub struct Layout {
    tree: Tree<PanelId>,
    front: PanelId,
}

impl Default for Layout {
    fn default() -> Self {
        let mut tiles = Tiles::default();
        let setup = tiles.insert_pane(PanelId::Setup);
        let setup = tiles.insert_tab_tile(vec![setup]);
        let others: Vec<TileId> = PanelId::ALL
            .into_iter()
            .filter(|panel| *panel != PanelId::Setup)
            .map(|panel| tiles.insert_pane(panel))
            .collect();
        let overview = others.get(1).copied();
        let main = tiles.insert_tab_tile(others);
        if let (Some(Tile::Container(Container::Tabs(tabs))), Some(overview)) = (tiles.get_mut(main), overview) {
            tabs.set_active(overview);
        }
        let row = Linear::new_binary(LinearDir::Horizontal, [setup, main], SETUP_SHARE);
        let root = tiles.insert_container(row);
        Self { tree: Tree::new(egui::Id::unique("panels"), root, tiles), front: PanelId::Overview }
    }
}

impl Layout {
    /// A kept layout; the default where it does not have every panel exactly once.
    pub fn restore(text: Option<&str>) -> Self {
        let Some(tree) = text.and_then(|text| serde_json::from_str::<Tree<PanelId>>(text).ok()) else {
            return Self::default();
        };
        let mut panels: Vec<PanelId> = tree
            .tiles
            .tiles()
            .filter_map(|tile| match tile {
                Tile::Pane(panel) => Some(*panel),
                Tile::Container(_) => None,
            })
            .collect();
        panels.sort_unstable();
        let whole = panels == PanelId::ALL && tree.root().is_some_and(|root| tree.tiles.get(root).is_some());
        if !whole {
            return Self::default();
        }
        // Keys act on what the user sees: Setup has few, so another panel in view comes first.
        let shown = tree.active_tiles();
        let shown = shown.iter().filter_map(|tile| tree.tiles.get_pane(tile)).copied();
        let front = shown.clone().find(|panel| *panel != PanelId::Setup).or(shown.clone().next());
        Self { front: front.unwrap_or(PanelId::Overview), tree }
    }

    /// The layout as text to be kept. `None` = it cannot be written, which the default never does.
    pub fn to_text(&self) -> Option<String> {
        serde_json::to_string(&self.tree).ok()
    }

    /// Brings a panel to the front.
    pub fn show(&mut self, panel: PanelId) {
        self.front = panel;
        self.tree.make_active(|_, tile| matches!(tile, Tile::Pane(own) if *own == panel));
    }

    /// The panel that was shown or clicked last; keys act on it.
    pub fn front(&self) -> PanelId {
        self.front
    }

    /// Draws all tiles.
    pub fn ui(&mut self, cx: &PanelContext<'_>, panes: &mut Panes, ui: &mut Ui) {
        let mut shell = Shell { cx, panes, clicked: None };
        self.tree.ui(&mut shell, ui);
        if let Some(panel) = shell.clicked {
            self.front = panel;
        }
    }
}

struct Shell<'a> {
    cx: &'a PanelContext<'a>,
    panes: &'a mut Panes,
    clicked: Option<PanelId>,
}

impl Behavior<PanelId> for Shell<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, panel: &mut PanelId) -> UiResponse {
        let rect = ui.max_rect();
        let pressed = ui.input(|input| {
            input.pointer.any_pressed() && input.pointer.interact_pos().is_some_and(|p| rect.contains(p))
        });
        if pressed {
            self.clicked = Some(*panel);
        }
        egui::Frame::new().fill(self.cx.tokens.ui.panel).inner_margin(size::INSET).show(ui, |ui| {
            ui.set_min_size(ui.available_size());
            self.panes.ui(self.cx, *panel, ui);
        });
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, panel: &PanelId) -> WidgetText {
        panel.title().into()
    }

    fn on_tab_button(&mut self, tiles: &mut Tiles<PanelId>, tile: TileId, response: egui::Response) -> egui::Response {
        if response.clicked()
            && let Some(Tile::Pane(panel)) = tiles.get(tile)
        {
            self.clicked = Some(*panel);
        }
        response
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..SimplificationOptions::default() }
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        28.0
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        4.0
    }

    fn min_size(&self) -> f32 {
        220.0
    }

    fn tab_bar_color(&self, _visuals: &egui::Visuals) -> Color32 {
        self.cx.tokens.ui.surface
    }

    fn tab_bg_color(&self, _: &egui::Visuals, _: &Tiles<PanelId>, _: TileId, state: &TabState) -> Color32 {
        if state.active { self.cx.tokens.ui.panel } else { self.cx.tokens.ui.surface }
    }

    fn tab_text_color(&self, _: &egui::Visuals, _: &Tiles<PanelId>, _: TileId, state: &TabState) -> Color32 {
        if state.active { self.cx.tokens.ui.text_strong } else { self.cx.tokens.ui.text_weak }
    }

    fn tab_outline_stroke(&self, _: &egui::Visuals, _: &Tiles<PanelId>, _: TileId, state: &TabState) -> Stroke {
        let color = if state.active { self.cx.tokens.ui.border } else { Color32::TRANSPARENT };
        Stroke::new(1.0, color)
    }
}

/// A panel alone, as its picture is taken.
pub fn single_ui(cx: &PanelContext<'_>, panes: &mut Panes, panel: PanelId, ui: &mut Ui) {
    let frame = egui::Frame::new().fill(cx.tokens.ui.panel).inner_margin(size::INSET);
    frame.show(ui, |ui| {
        ui.set_min_size(ui.available_size());
        ui.horizontal(|ui| {
            ui.add(context::icon(panel).image(size::ICON, cx.tokens.ui.accent));
            ui.label(crate::ui::text::group(panel.title(), cx.tokens.ui.text_strong));
        });
        ui.separator();
        panes.ui(cx, panel, ui);
    });
}

/// The tokens of the theme that egui uses now.
pub fn tokens_of<'a>(ctx: &egui::Context, dark: &'a Tokens, light: &'a Tokens) -> &'a Tokens {
    if ctx.theme() == egui::Theme::Dark { dark } else { light }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn panels(layout: &Layout) -> Vec<PanelId> {
        let mut panels: Vec<PanelId> =
            PanelId::ALL.into_iter().filter(|p| layout.tree.tiles.find_pane(p).is_some()).collect();
        panels.sort_unstable();
        panels
    }

    #[test]
    fn a_layout_comes_back_as_it_was_kept() {
        let mut layout = Layout::default();
        layout.show(PanelId::Kernels);
        let text = layout.to_text().unwrap();
        let restored = Layout::restore(Some(&text));
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&restored.to_text().unwrap()), value(&text));
        assert_eq!(panels(&restored), PanelId::ALL);
        assert_eq!(restored.front(), PanelId::Kernels, "keys act on the panel in view");
    }

    #[test]
    fn a_layout_without_a_panel_is_not_used() {
        let tree = Tree::new_tabs(egui::Id::unique("panels"), vec![PanelId::Log]);
        let text = serde_json::to_string(&tree).unwrap();
        assert_eq!(panels(&Layout::restore(Some(&text))), PanelId::ALL);
        assert_eq!(panels(&Layout::restore(Some("not json"))), PanelId::ALL);
    }
}
