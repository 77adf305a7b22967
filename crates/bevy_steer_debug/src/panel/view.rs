//! What the panel looks like.

use core::any::TypeId;

use bevy::{
    prelude::*,
    reflect::{Reflect, TypeRegistry},
};
use bevy_egui::egui::{
    self, Align, Align2, Color32, Layout, RichText, Sense, Slider, Ui, collapsing_header::CollapsingState,
    vec2,
};
use bevy_steer::{
    BehaviorId, SteeringAgent, SteeringBehaviors, SteeringOutput, SteeringStep, SteeringVelocity,
};

use super::{
    Action, SteeringPanel,
    fields::{Fields, ROW, color32, words},
};
use crate::{
    color::{behavior_color, overlay_color},
    edit::{EditHistory, EditScope, group_of, scope_entities},
    log::ContributionLog,
    overlay::{OverlayKind, OverlayScope, SteeringOverlays},
    select::SteeringSelection,
    time::SteeringTimeControl,
};

const WIDTH: f32 = 350.0;

/// The whole window.
pub(super) fn window(context: &egui::Context, world: &World, actions: &mut Vec<Action>) {
    let panel = world.resource::<SteeringPanel>();
    let screen = context.content_rect();
    let height = (screen.height() - 70.0).max(80.0);
    egui::Window::new("Steering")
        .id("bevy_steer_panel".into())
        .anchor(Align2::RIGHT_TOP, [-12.0, 12.0])
        .default_open(panel.open)
        .default_size([WIDTH.min(screen.width() - 24.0), screen.height()])
        .min_width(290.0)
        .max_width((screen.width() - 24.0).max(290.0))
        .resizable([true, false])
        .show(context, |ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 4.0);
            ui.spacing_mut().interact_size.y = ROW;
            // Head and foot stay, the components between them scroll.
            let top = ui.cursor().top();
            time(ui, world, actions);
            statistics(ui, world);
            ui.separator();
            let foot = ui.id().with("foot");
            let foot_height = ui.data(|data| data.get_temp::<f32>(foot)).unwrap_or(180.0);
            let room = (height - (ui.cursor().top() - top) - foot_height).max(60.0);
            egui::ScrollArea::vertical().max_height(room).auto_shrink([false, true]).show(ui, |ui| {
                // Room for the scroll bar, which floats.
                ui.set_max_width(ui.available_width() - 6.0);
                selection(ui, world, panel, actions);
            });
            let top = ui.cursor().top();
            ui.separator();
            overlays(ui, world, actions);
            let used = ui.cursor().top() - top;
            ui.data_mut(|data| data.insert_temp(foot, used));
        });
}

fn time(ui: &mut Ui, world: &World, actions: &mut Vec<Action>) {
    let Some(time) = world.get_resource::<Time<Virtual>>() else { return };
    let paused = time.is_paused();
    ui.horizontal(|ui| {
        let text = if paused { "▶  Run" } else { "⏸  Pause" };
        if ui.add_sized([74.0, ROW + 2.0], egui::Button::new(text)).clicked() {
            actions.push(Action::Pause(!paused));
        }
        if world.contains_resource::<SteeringTimeControl>()
            && ui
                .add_sized([60.0, ROW + 2.0], egui::Button::new("⏭  Step"))
                .on_hover_text("Pause, and run one tick")
                .clicked()
        {
            actions.push(Action::Step);
        }
        let mut speed = time.relative_speed();
        ui.spacing_mut().slider_width = (ui.available_width() - 52.0).max(30.0);
        let slider = Slider::new(&mut speed, 0.05..=2.0).logarithmic(true).show_value(false);
        let response = ui.add(slider).on_hover_text("Speed; double-click for real time");
        if response.double_clicked() {
            actions.push(Action::Speed(1.0));
        } else if response.changed() {
            // Real time is easy to hit.
            actions.push(Action::Speed(if (speed - 1.0).abs() < 0.05 { 1.0 } else { speed }));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.monospace(format!("{:.2}×", time.relative_speed()));
        });
    });
}

fn statistics(ui: &mut Ui, world: &World) {
    let (mut agents, mut speed) = (0_u32, 0.0);
    if let Some(mut query) = world.try_query_filtered::<&SteeringVelocity, With<SteeringAgent>>() {
        for velocity in query.iter(world) {
            agents += 1;
            speed += velocity.length();
        }
    }
    let tick = world.get_resource::<SteeringStep>().map_or(0, |step| step.tick);
    let mean = if agents > 0 { speed / agents as f32 } else { 0.0 };
    ui.columns(3, |columns| {
        for (column, (name, value)) in columns.iter_mut().zip([
            ("agents", agents.to_string()),
            ("mean speed", format!("{mean:.2}")),
            ("tick", tick.to_string()),
        ]) {
            column.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 5.0;
                ui.weak(name);
                ui.add(egui::Label::new(RichText::new(value).strong()).truncate());
            });
        }
    });
}

fn selection(ui: &mut Ui, world: &World, panel: &SteeringPanel, actions: &mut Vec<Action>) {
    let selected = world.resource::<SteeringSelection>().entity;
    let Some(entity) = selected.filter(|&entity| world.get::<SteeringAgent>(entity).is_some()) else {
        ui.add_space(6.0);
        ui.vertical_centered(|ui| ui.weak("Click an agent to see and change how it steers."));
        ui.add_space(6.0);
        if !world.resource::<EditHistory>().steps().is_empty() {
            undo_button(ui, world, actions);
        }
        return;
    };
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.small_button("✖").on_hover_text("Select nothing").clicked() {
                actions.push(Action::Select(None));
            }
            ui.weak(format!("group {}", group_of(world, entity)));
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let name = name_of(world, entity);
                ui.add(egui::Label::new(RichText::new(name).strong().size(15.0)).truncate());
            });
        });
    });
    let output = world.get::<SteeringOutput>(entity);
    let speed = world.get::<SteeringVelocity>(entity).map_or(0.0, |v| v.length());
    let force = output.map_or(0.0, |output| output.force.length());
    ui.weak(format!("speed {speed:.2}    force {force:.2}"));
    ui.horizontal(|ui| {
        ui.label("Edit");
        for (scope, text) in
            [(EditScope::Agent, "this agent"), (EditScope::Group, "its group"), (EditScope::All, "all")]
        {
            let count = scope_entities(world, entity, scope).len();
            let response = ui
                .add(egui::Button::selectable(panel.scope == scope, text))
                .on_hover_text(format!("{count} agent{}", if count == 1 { "" } else { "s" }));
            if response.clicked() {
                actions.push(Action::Scope(scope));
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| undo_button(ui, world, actions));
    });
    ui.add_space(2.0);
    components(ui, world, panel, entity, actions);
}

/// Always in its place, so that nothing moves under the pointer when a drag begins.
fn undo_button(ui: &mut Ui, world: &World, actions: &mut Vec<Action>) {
    let last = world.resource::<EditHistory>().steps().last();
    let hint = last.map(|last| match last.changes.len() {
        1 => format!("{} (Ctrl+Z)", last.label),
        count => format!("{} of {count} agents (Ctrl+Z)", last.label),
    });
    let response = ui.add_enabled(last.is_some(), egui::Button::new("↩  Undo"));
    if response.on_hover_text(hint.unwrap_or_default()).clicked() {
        actions.push(Action::Undo);
    }
}

/// A component as the panel lists it.
struct Entry {
    component: TypeId,
    name: String,
    behavior: Option<BehaviorId>,
    optional: bool,
}

fn entries(world: &World, registry: &TypeRegistry, panel: &SteeringPanel) -> Vec<Entry> {
    let mut entries = Vec::new();
    if let Some(behaviors) = world.get_resource::<SteeringBehaviors>() {
        for (id, name) in behaviors.sorted() {
            if let Some(component) = behaviors.component(id) {
                entries.push(Entry { component, name: name.to_owned(), behavior: Some(id), optional: true });
            }
        }
    }
    for extra in &panel.components {
        let name = registry.get(extra.component).map(|r| r.type_info().type_path_table().short_path());
        if let Some(name) = name {
            let name = name.to_owned();
            entries.push(Entry {
                component: extra.component,
                name,
                behavior: None,
                optional: extra.optional,
            });
        }
    }
    entries
}

fn components(ui: &mut Ui, world: &World, panel: &SteeringPanel, entity: Entity, actions: &mut Vec<Action>) {
    let registry = world.resource::<AppTypeRegistry>().read();
    let Ok(target) = world.get_entity(entity) else { return };
    let (mut has, mut lacks) = (Vec::new(), Vec::new());
    for entry in entries(world, &registry, panel) {
        let value = registry
            .get_type_data::<ReflectComponent>(entry.component)
            .and_then(|component| component.reflect(target));
        match value {
            Some(value) => has.push((entry, value)),
            None if entry.optional => lacks.push(entry),
            None => {}
        }
    }
    let behaviors = has.iter().filter(|(entry, _)| entry.behavior.is_some()).count();
    heading(ui, "Behaviours", |ui| add_menu(ui, &registry, &lacks, true, actions));
    if behaviors == 0 {
        ui.weak("none");
    }
    for (entry, value) in has.iter().filter(|(entry, _)| entry.behavior.is_some()) {
        component(ui, world, &registry, panel, entity, entry, *value, actions);
    }
    ui.add_space(4.0);
    heading(ui, "Components", |ui| add_menu(ui, &registry, &lacks, false, actions));
    for (entry, value) in has.iter().filter(|(entry, _)| entry.behavior.is_none()) {
        component(ui, world, &registry, panel, entity, entry, *value, actions);
    }
}

fn heading(ui: &mut Ui, text: &str, right: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.strong(text);
        ui.with_layout(Layout::right_to_left(Align::Center), right);
    });
}

fn add_menu(
    ui: &mut Ui,
    registry: &TypeRegistry,
    lacks: &[Entry],
    behaviors: bool,
    actions: &mut Vec<Action>,
) {
    let makeable = |entry: &&Entry| {
        entry.behavior.is_some() == behaviors
            && registry.get_type_data::<ReflectDefault>(entry.component).is_some()
    };
    let lacks: Vec<_> = lacks.iter().filter(makeable).collect();
    if lacks.is_empty() {
        return;
    }
    ui.menu_button("+ Add", |ui| {
        egui::ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
            for entry in lacks {
                let clicked = ui
                    .horizontal(|ui| {
                        if let Some(id) = entry.behavior {
                            dot(ui, color32(behavior_color(id)));
                        }
                        ui.button(words(&entry.name)).clicked()
                    })
                    .inner;
                if clicked {
                    actions.push(Action::Add(entry.component));
                    ui.close();
                }
            }
        });
    });
}

fn component(
    ui: &mut Ui,
    world: &World,
    registry: &TypeRegistry,
    panel: &SteeringPanel,
    entity: Entity,
    entry: &Entry,
    value: &dyn Reflect,
    actions: &mut Vec<Action>,
) {
    let id = ui.make_persistent_id(("component", entry.component));
    let open = entry.behavior.is_some();
    let state = CollapsingState::load_with_default_open(ui.ctx(), id, open);
    let width = ui.available_width();
    let left = ui.cursor().left();
    let log = world.get::<ContributionLog>(entity);
    let header = state.show_header(ui, |ui| {
        if let Some(behavior) = entry.behavior {
            dot(ui, color32(behavior_color(behavior)));
        }
        let title = words(&entry.name);
        let title = match title.strip_prefix("Steering ") {
            Some(rest) => rest[..1].to_uppercase() + &rest[1..],
            None => title,
        };
        let toggle = ui.add(egui::Label::new(RichText::new(title)).selectable(false).sense(Sense::click()));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if entry.optional {
                let button = egui::Button::new(RichText::new("✖").weak().size(11.0)).frame(false);
                if ui.add(button).on_hover_text("Remove").clicked() {
                    actions.push(Action::Remove(entry.component));
                }
            } else {
                ui.add_space(18.0);
            }
            if let (Some(log), Some(behavior)) = (log, entry.behavior) {
                let force = log.force_of(behavior).length();
                ui.weak(format!("{force:.1}")).on_hover_text("Force that it asks for");
            }
        });
        toggle
    });
    // A click on the name folds and unfolds too.
    let (_, toggle, _) = header.body_unindented(|ui| {
        let default = registry.get_type_data::<ReflectDefault>(entry.component).map(|d| d.default());
        let picking = panel
            .picking
            .as_ref()
            .filter(|(e, c, _)| *e == entity && *c == entry.component)
            .map(|(_, _, path)| path.as_str());
        ui.push_id(entry.component, |ui| {
            ui.horizontal(|ui| {
                ui.add_space(18.0);
                ui.vertical(|ui| {
                    let mut fields = Fields {
                        world,
                        registry,
                        component: entry.component,
                        entity,
                        other: other_agent(world, entity),
                        picking,
                        control_x: left + (0.42 * width).clamp(134.0, 190.0),
                        actions,
                    };
                    fields.component(
                        ui,
                        value.as_partial_reflect(),
                        default.as_ref().map(|default| default.as_partial_reflect()),
                    );
                    ui.add_space(4.0);
                });
            });
        });
    });
    if toggle.inner.clicked() {
        let mut state = CollapsingState::load_with_default_open(ui.ctx(), id, open);
        state.toggle(ui);
        state.store(ui.ctx());
    }
}

/// Some agent that isn't this one, or this one.
fn other_agent(world: &World, entity: Entity) -> Entity {
    world
        .try_query_filtered::<Entity, With<SteeringAgent>>()
        .and_then(|mut agents| agents.iter(world).find(|&other| other != entity))
        .unwrap_or(entity)
}

fn overlays(ui: &mut Ui, world: &World, actions: &mut Vec<Action>) {
    let Some(overlays) = world.get_resource::<SteeringOverlays>() else { return };
    let mut new = overlays.clone();
    let id = ui.make_persistent_id("overlays");
    let state = CollapsingState::load_with_default_open(ui.ctx(), id, true);
    let header = state.show_header(ui, |ui| {
        ui.strong("Overlays");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            // From right to left.
            for (scope, text) in [(OverlayScope::All, "all agents"), (OverlayScope::Selected, "selected")] {
                if ui.add(egui::Button::selectable(new.scope == scope, text)).clicked() {
                    new.scope = scope;
                }
            }
        });
    });
    header.body_unindented(|ui| switches(ui, world, &mut new));
    if new != *overlays {
        actions.push(Action::Overlays(new));
    }
}

fn switches(ui: &mut Ui, world: &World, new: &mut SteeringOverlays) {
    ui.columns(2, |columns| {
        for (i, kind) in OverlayKind::ALL.into_iter().enumerate() {
            columns[i % 2].horizontal(|ui| {
                ui.checkbox(new.switch(kind), "");
                dot(ui, color32(overlay_color(kind)));
                let text = words(&format!("{kind:?}"));
                if ui.add(egui::Label::new(text).selectable(false).sense(Sense::click())).clicked() {
                    let switch = new.switch(kind);
                    *switch = !*switch;
                }
            });
        }
    });
    ui.horizontal(|ui| {
        ui.label("arrow length");
        ui.spacing_mut().slider_width = (ui.available_width() - 52.0).max(30.0);
        ui.add(Slider::new(&mut new.arrow_seconds, 0.1..=3.0).show_value(false));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.monospace(format!("{:.2} s", new.arrow_seconds));
        });
    });
    if new.contributions {
        legend(ui, world);
    }
}

/// The colours of the behaviours whose arrows are drawn.
fn legend(ui: &mut Ui, world: &World) {
    let mut seen: Vec<BehaviorId> = Vec::new();
    if let Some(mut logs) = world.try_query::<&ContributionLog>() {
        for entry in logs.iter(world).flat_map(|log| &log.entries) {
            if !seen.contains(&entry.behavior) {
                seen.push(entry.behavior);
            }
        }
    }
    let Some(behaviors) = world.get_resource::<SteeringBehaviors>() else { return };
    let mut named: Vec<(String, BehaviorId)> = seen
        .into_iter()
        .map(|id| (behaviors.name(id).map_or_else(|| format!("#{}", id.get()), words), id))
        .collect();
    named.sort();
    if named.is_empty() {
        ui.weak("No contributions in the last tick.");
        return;
    }
    ui.weak("Contributions");
    ui.columns(2, |columns| {
        for (i, (name, id)) in named.into_iter().enumerate() {
            columns[i % 2].horizontal(|ui| {
                dot(ui, color32(behavior_color(id)));
                ui.add(egui::Label::new(name).truncate());
            });
        }
    });
}

fn dot(ui: &mut Ui, color: Color32) {
    let (rect, _) = ui.allocate_exact_size(vec2(10.0, ROW), Sense::hover());
    ui.painter().circle_filled(rect.center(), 4.5, color);
}

/// What an entity is called.
pub(super) fn name_of(world: &World, entity: Entity) -> String {
    match world.get_entity(entity) {
        Err(_) => "nobody".to_owned(),
        Ok(target) => match target.get::<Name>() {
            Some(name) => name.to_string(),
            None if target.contains::<SteeringAgent>() => format!("Agent {entity}"),
            None => format!("Entity {entity}"),
        },
    }
}
