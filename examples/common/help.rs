//! The help in the corner, the keys that all examples know, and the pointer.

use bevy::{prelude::*, window::PrimaryWindow};
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};
use bevy_steer_debug::{SteeringPanel, SteeringTimeControl, SteeringTimeKeys};

/// Where the mouse is.
#[derive(Resource, Default)]
pub struct Pointer {
    /// In the XY plane of the world, unless the mouse is outside the window or over a panel.
    pub world: Option<Vec2>,
    /// Whether a panel has the mouse.
    pub over_panel: bool,
}

#[derive(Resource)]
struct Help {
    name: &'static str,
    text: &'static str,
    open: bool,
}

pub fn plugin(app: &mut App, name: &'static str, text: &'static str) {
    let mut time = app.world_mut().resource_mut::<SteeringTimeControl>();
    time.keys = SteeringTimeKeys { pause: Some(KeyCode::Space), ..SteeringTimeKeys::USUAL };
    // The playground is about the panel; elsewhere it would hide what there is to see.
    app.world_mut().resource_mut::<SteeringPanel>().visible = name == "playground";
    app.insert_resource(Help { name, text, open: true })
        .init_resource::<Pointer>()
        .add_systems(PreUpdate, point)
        .add_systems(Update, keys)
        .add_systems(EguiPrimaryContextPass, show);
}

fn show(
    mut contexts: EguiContexts,
    help: Res<Help>,
    time: Res<Time<Virtual>>,
    mut styled: Local<bool>,
) -> Result {
    let context = contexts.ctx_mut()?;
    if !*styled {
        *styled = true;
        context.set_visuals(egui::Visuals {
            window_fill: egui::Color32::from_rgba_unmultiplied(20, 24, 32, 225),
            panel_fill: egui::Color32::from_rgba_unmultiplied(20, 24, 32, 240),
            window_stroke: egui::Stroke::NONE,
            window_shadow: egui::Shadow::NONE,
            ..egui::Visuals::dark()
        });
    }
    let title = if time.is_paused() { format!("{} (paused)", help.name) } else { help.name.to_owned() };
    egui::Area::new("help".into()).anchor(egui::Align2::LEFT_BOTTOM, [12.0, -12.0]).interactable(false).show(
        context,
        |ui| {
            egui::Frame::window(ui.style()).show(ui, |ui| {
                ui.strong(title);
                if help.open {
                    ui.colored_label(egui::Color32::from_gray(200), help.text);
                    ui.weak("Tab: panel   Space: pause   . : one tick   [ ]: slower, faster   H: hide this   Esc: quit");
                } else {
                    ui.weak("H: help");
                }
            });
        },
    );
    Ok(())
}

fn keys(
    keys: Res<ButtonInput<KeyCode>>,
    mut help: ResMut<Help>,
    mut panel: ResMut<SteeringPanel>,
    mut exit: MessageWriter<AppExit>,
) {
    if keys.just_pressed(KeyCode::KeyH) {
        help.open = !help.open;
    }
    if keys.just_pressed(KeyCode::Tab) {
        panel.visible = !panel.visible;
    }
    if keys.just_pressed(KeyCode::Escape) {
        exit.write(AppExit::Success);
    }
}

fn point(
    mut pointer: ResMut<Pointer>,
    window: Option<Single<&Window, With<PrimaryWindow>>>,
    camera: Option<Single<(&Camera, &GlobalTransform), With<Camera2d>>>,
    wants: Option<Res<bevy_egui::input::EguiWantsInput>>,
) {
    pointer.over_panel = wants.is_some_and(|wants| wants.wants_any_pointer_input());
    pointer.world = None;
    if let (Some(window), Some(camera), false) = (window, camera, pointer.over_panel) {
        let (camera, transform) = *camera;
        pointer.world =
            window.cursor_position().and_then(|at| camera.viewport_to_world_2d(transform, at).ok());
    }
}

/// One line of figures about all agents, as `steer run --metrics` prints them.
pub fn metrics_line(world: &mut World) -> String {
    let metrics = bevy_steer::measure(world);
    let mut line = serde_json::json!(metrics);
    line["state_hash"] = format!("{:016x}", metrics.state_hash).into();
    if !world.contains_resource::<bevy_steer::SteeringMetrics>() {
        // Nobody counted along.
        line["ticks"] = world.resource::<bevy_steer::SteeringStep>().tick.into();
        line["heading_reversals"] = serde_json::Value::Null;
    }
    line.to_string()
}
