//! The tuning panel.

mod build;
mod fields;
#[cfg(test)]
mod tests;
mod view;

use core::any::TypeId;

use bevy::{
    ecs::{component::Mutable, system::SystemState},
    input::InputPlugin,
    prelude::*,
    reflect::GetTypeRegistration,
};
use bevy_egui::{EguiContext, EguiGlobalSettings, EguiPrimaryContextPass, PrimaryEguiContext, egui};
use bevy_steer::{
    FaceVelocity, StallWatch, SteerEvery, SteeringAgent, SteeringCombine, SteeringGroup, SteeringPlane,
    SteeringSmoothing, TurnLimit,
};

use crate::{
    edit::{self, EditHistory, EditScope},
    overlay::SteeringOverlays,
    select::{self, SteeringInputFocus, SteeringSelection},
    time::{SteeringTimeControl, set_speed},
};

/// A window on the right side with every field of every behaviour of the clicked agent, for the agent, its group or all.
///
/// It needs `EguiPlugin`, added before it. Ranges of sliders come from `#[reflect(@0.0_f32..=5.0_f32)]` on the fields, so
/// a game's own behaviours appear like the built-in ones. While the pointer is on the panel, or a text field has the
/// keyboard, other systems don't see mouse and keys: `enable_absorb_bevy_input_system` of the egui settings is on.
#[derive(Debug, Clone, Copy, Default)]
pub struct SteeringPanelPlugin;

impl Plugin for SteeringPanelPlugin {
    fn build(&self, app: &mut App) {
        select::ensure(app);
        app.init_resource::<SteeringPanel>()
            .init_resource::<EditHistory>()
            .add_systems(EguiPrimaryContextPass, show);
    }

    fn finish(&self, app: &mut App) {
        if app.is_plugin_added::<InputPlugin>()
            && let Some(mut settings) = app.world_mut().get_resource_mut::<EguiGlobalSettings>()
        {
            settings.enable_absorb_bevy_input_system = true;
        }
    }
}

/// State of the panel.
#[derive(Resource, Debug)]
pub struct SteeringPanel {
    /// Whether it is there at all; true by default.
    pub visible: bool,
    /// Whether it begins unfolded; true by default.
    pub open: bool,
    /// Whom edits are for; the selected agent by default.
    pub scope: EditScope,
    /// Components beside behaviours, in the order shown.
    components: Vec<Extra>,
    /// The field that waits for an agent to be clicked.
    picking: Option<(Entity, TypeId, String)>,
}

/// A component beside the behaviours.
#[derive(Debug, Clone, Copy)]
struct Extra {
    component: TypeId,
    /// Whether it can be added and removed.
    optional: bool,
}

impl Default for SteeringPanel {
    fn default() -> Self {
        let fixed = |component| Extra { component, optional: false };
        let optional = |component| Extra { component, optional: true };
        Self {
            visible: true,
            open: true,
            scope: EditScope::Agent,
            components: vec![
                fixed(TypeId::of::<SteeringAgent>()),
                optional(TypeId::of::<SteeringGroup>()),
                optional(TypeId::of::<SteeringCombine>()),
                optional(TypeId::of::<SteeringPlane>()),
                optional(TypeId::of::<SteerEvery>()),
                optional(TypeId::of::<SteeringSmoothing>()),
                optional(TypeId::of::<TurnLimit>()),
                optional(TypeId::of::<FaceVelocity>()),
                fixed(TypeId::of::<StallWatch>()),
            ],
            picking: None,
        }
    }
}

/// Shows more components in the panel.
pub trait SteeringPanelApp {
    /// Shows a component that isn't a behaviour, on agents that have it.
    fn show_in_steering_panel<C>(&mut self) -> &mut Self
    where
        C: Component<Mutability = Mutable> + Reflect + GetTypeRegistration;
}

impl SteeringPanelApp for App {
    fn show_in_steering_panel<C>(&mut self) -> &mut Self
    where
        C: Component<Mutability = Mutable> + Reflect + GetTypeRegistration,
    {
        let component = TypeId::of::<C>();
        let mut panel = self.world_mut().get_resource_or_init::<SteeringPanel>();
        if panel.components.iter().all(|known| known.component != component) {
            panel.components.push(Extra { component, optional: true });
        }
        self.register_type::<C>()
    }
}

/// What somebody did in the panel; done when it has been drawn.
enum Action {
    Edit { component: TypeId, path: String, value: Box<dyn PartialReflect> },
    Add(TypeId),
    Remove(TypeId),
    Undo,
    Pause(bool),
    Step,
    Speed(f32),
    Select(Option<Entity>),
    Scope(EditScope),
    Overlays(SteeringOverlays),
    Pick(Option<(Entity, TypeId, String)>),
}

fn show(world: &mut World, contexts: &mut SystemState<Query<&mut EguiContext, With<PrimaryEguiContext>>>) {
    let Ok(mut contexts) = contexts.get_mut(world) else { return };
    let Ok(mut context) = contexts.single_mut() else { return };
    let context = context.get_mut().clone();
    steering_panel(&context, world);
    let mut focus = world.resource_mut::<SteeringInputFocus>();
    focus.set_if_neq(SteeringInputFocus {
        pointer: context.egui_wants_pointer_input() || context.is_pointer_over_egui(),
        keyboard: context.egui_wants_keyboard_input(),
    });
}

/// Draws the panel into an egui context and does what was asked for in it. [`SteeringPanelPlugin`] calls it each frame;
/// call it yourself to show the panel in another context.
pub fn steering_panel(context: &egui::Context, world: &mut World) {
    take_pick(world);
    if !world.get_resource_or_init::<SteeringPanel>().visible {
        return;
    }
    world.init_resource::<EditHistory>();
    world.init_resource::<SteeringSelection>();
    world.init_resource::<SteeringInputFocus>();
    let mut actions = Vec::new();
    // What passes behind the panel, and sliders behind its menus, must not make it hard to read. Menus take the style of
    // the whole context, which gets its own back.
    let fill = context.global_style().visuals.window_fill;
    if !fill.is_opaque() {
        context.global_style_mut(|style| style.visuals.window_fill = fill.to_opaque());
    }
    view::window(context, world, &mut actions);
    if !fill.is_opaque() {
        context.global_style_mut(|style| style.visuals.window_fill = fill);
    }
    let typing = context.egui_wants_keyboard_input();
    let undo = egui::KeyboardShortcut::new(egui::Modifiers::COMMAND, egui::Key::Z);
    if !typing && context.input_mut(|input| input.consume_shortcut(&undo)) {
        actions.push(Action::Undo);
    }
    for action in actions {
        act(world, action);
    }
    // A drag, or typing one number, is one step of the history.
    if !typing && !context.input(|input| input.pointer.any_down()) {
        world.resource_mut::<EditHistory>().joining = false;
    }
}

fn act(world: &mut World, action: Action) {
    let selected = world.resource::<SteeringSelection>().entity.unwrap_or(Entity::PLACEHOLDER);
    let scope = world.resource::<SteeringPanel>().scope;
    match action {
        Action::Edit { component, path, value } => {
            edit::edit_field(world, selected, scope, component, &path, value);
        }
        Action::Add(component) => {
            edit::add_component(world, selected, scope, component);
        }
        Action::Remove(component) => {
            edit::remove_component(world, selected, scope, component);
        }
        Action::Undo => {
            edit::undo(world);
        }
        Action::Pause(pause) => {
            if let Some(mut time) = world.get_resource_mut::<Time<Virtual>>() {
                if pause { time.pause() } else { time.unpause() }
            }
        }
        Action::Step => {
            if let Some(mut control) = world.get_resource_mut::<SteeringTimeControl>() {
                control.step();
            }
        }
        Action::Speed(speed) => {
            if let Some(mut time) = world.get_resource_mut::<Time<Virtual>>() {
                set_speed(&mut time, speed);
            }
        }
        Action::Select(entity) => world.resource_mut::<SteeringSelection>().entity = entity,
        Action::Scope(scope) => world.resource_mut::<SteeringPanel>().scope = scope,
        Action::Overlays(overlays) => world.insert_resource(overlays),
        Action::Pick(field) => {
            world.resource_mut::<SteeringSelection>().capture = field.is_some();
            world.resource_mut::<SteeringPanel>().picking = field;
        }
    }
}

/// Puts an agent that was clicked for a field into it.
fn take_pick(world: &mut World) {
    let Some(mut selection) = world.get_resource_mut::<SteeringSelection>() else { return };
    if selection.captured.is_none() {
        return;
    }
    let (picked, selected) = (selection.captured.take(), selection.entity);
    selection.capture = false;
    let mut panel = world.get_resource_or_init::<SteeringPanel>();
    let scope = panel.scope;
    if let (Some(picked), Some((entity, component, path))) = (picked, panel.picking.take())
        && selected == Some(entity)
    {
        edit::edit_field(world, entity, scope, component, &path, Box::new(picked));
    }
}
