//! Which agent is looked at, and how a click finds it.

use bevy::{
    camera::{NormalizedRenderTarget, RenderTarget},
    prelude::*,
    window::{PrimaryWindow, WindowRef},
};
use bevy_steer::SteeringAgent;

/// The agent that panel and overlays are about.
#[derive(Resource, Reflect, Debug, Clone, PartialEq)]
#[reflect(Resource, Default)]
pub struct SteeringSelection {
    /// The agent; forgotten when it is despawned.
    pub entity: Option<Entity>,
    /// Whether clicks select; on by default.
    pub clicks: bool,
    /// The mouse button that selects; the left one by default.
    pub button: MouseButton,
    /// How far in pixels from an agent's outline a click may be; 10 by default.
    pub reach: f32,
    /// While set, the next click on an agent is handed out in `captured` and the selection stays.
    pub capture: bool,
    /// The agent clicked while `capture` was set.
    pub captured: Option<Entity>,
}

impl Default for SteeringSelection {
    fn default() -> Self {
        Self {
            entity: None,
            clicks: true,
            button: MouseButton::Left,
            reach: 10.0,
            capture: false,
            captured: None,
        }
    }
}

/// Who has mouse and keyboard. Panels write it each frame; a game that draws its own interface may add to it.
#[derive(Resource, Reflect, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[reflect(Resource, Default)]
pub struct SteeringInputFocus {
    /// The pointer is over a panel, or drags something in it.
    pub pointer: bool,
    /// A text field has the keyboard.
    pub keyboard: bool,
}

/// Selects the agent that is clicked, in 2D and in 3D, unless a panel has the mouse.
///
/// A click is a press and a release at the same place, so that dragging the camera selects nothing.
/// [`SteeringOverlayPlugin`](crate::SteeringOverlayPlugin) and the panel add it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SteeringSelectionPlugin;

impl Plugin for SteeringSelectionPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<SteeringSelection>()
            .init_resource::<SteeringInputFocus>()
            .register_type::<SteeringSelection>()
            .register_type::<SteeringInputFocus>()
            .add_systems(PreUpdate, forget_despawned)
            .add_systems(Update, select_clicked);
    }
}

/// Adds the selection unless another plugin has.
pub(crate) fn ensure(app: &mut App) {
    if !app.is_plugin_added::<SteeringSelectionPlugin>() {
        app.add_plugins(SteeringSelectionPlugin);
    }
}

/// Of agents given as `(position, radius, what)`, the one whose outline is nearest to a point on the screen and within
/// `reach` pixels of it; of several under the point, the one whose centre is nearest.
pub fn nearest_on_screen<T>(
    camera: &Camera,
    camera_transform: &GlobalTransform,
    point: Vec2,
    reach: f32,
    agents: impl IntoIterator<Item = (Vec3, f32, T)>,
) -> Option<T> {
    let right = camera_transform.right();
    let mut best: Option<(f32, f32, T)> = None;
    for (position, radius, what) in agents {
        let Ok(center) = camera.world_to_viewport(camera_transform, position) else { continue };
        let edge = camera.world_to_viewport(camera_transform, position + right * radius);
        let pixels = edge.map_or(0.0, |edge| edge.distance(center));
        let distance = center.distance(point);
        let outside = (distance - pixels).max(0.0);
        let nearer = best.as_ref().is_none_or(|(o, d, _)| (outside, distance) < (*o, *d));
        if outside <= reach && nearer {
            best = Some((outside, distance, what));
        }
    }
    best.map(|(_, _, what)| what)
}

fn forget_despawned(mut selection: ResMut<SteeringSelection>, agents: Query<(), With<SteeringAgent>>) {
    if selection.entity.is_some_and(|entity| !agents.contains(entity)) {
        selection.entity = None;
    }
}

fn select_clicked(
    mut selection: ResMut<SteeringSelection>,
    focus: Res<SteeringInputFocus>,
    buttons: Option<Res<ButtonInput<MouseButton>>>,
    window: Query<(Entity, &Window), With<PrimaryWindow>>,
    cameras: Query<(&Camera, &GlobalTransform, &RenderTarget)>,
    agents: Query<(Entity, &Transform, &SteeringAgent)>,
    mut pressed_at: Local<Option<Vec2>>,
) {
    let (Some(buttons), Ok((window_entity, window))) = (buttons, window.single()) else { return };
    let cursor = window.cursor_position();
    if buttons.just_pressed(selection.button) {
        *pressed_at = cursor.filter(|_| !focus.pointer);
    }
    if !buttons.just_released(selection.button) || !selection.clicks {
        return;
    }
    let (Some(from), Some(at)) = (pressed_at.take(), cursor) else { return };
    if from.distance(at) > 4.0 || focus.pointer {
        return;
    }
    let mut cameras: Vec<_> = cameras
        .iter()
        .filter(|(camera, _, target)| {
            let window = NormalizedRenderTarget::Window(
                WindowRef::Primary.normalize(Some(window_entity)).expect("given"),
            );
            camera.is_active && target.normalize(Some(window_entity)) == Some(window)
        })
        .collect();
    // What is drawn last lies on top.
    cameras.sort_by_key(|(camera, _, _)| -camera.order);
    let found = cameras.iter().find_map(|(camera, transform, _)| {
        let agents = agents.iter().map(|(e, t, agent)| (t.translation, agent.radius, e));
        nearest_on_screen(camera, transform, at, selection.reach, agents)
    });
    if let Some(entity) = found {
        if selection.capture {
            selection.captured = Some(entity);
        } else {
            selection.entity = Some(entity);
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy::camera::{ComputedCameraValues, RenderTargetInfo};

    use super::*;

    fn camera(projection: Projection) -> Camera {
        Camera {
            computed: ComputedCameraValues {
                clip_from_view: projection.get_clip_from_view(),
                target_info: Some(RenderTargetInfo { physical_size: UVec2::splat(200), scale_factor: 1.0 }),
                ..default()
            },
            ..default()
        }
    }

    #[test]
    fn clicks_find_agents_in_the_plane_and_in_space() {
        let mut orthographic = OrthographicProjection::default_2d();
        orthographic.area = Rect::new(-10.0, -10.0, 10.0, 10.0);
        let flat = camera(Projection::Orthographic(orthographic));
        let from = GlobalTransform::IDENTITY;
        let agents = [(Vec3::ZERO, 0.5, 'a'), (Vec3::new(5.0, 0.0, 0.0), 1.0, 'b'), (Vec3::NAN, 1.0, 'c')];
        let find = |x: f32, y: f32| nearest_on_screen(&flat, &from, Vec2::new(x, y), 10.0, agents);
        assert_eq!(find(101.0, 99.0), Some('a'));
        assert_eq!(find(158.0, 100.0), Some('b'), "inside its outline");
        assert_eq!(find(150.0, 118.0), Some('b'), "a little outside it");
        assert_eq!(find(150.0, 130.0), None, "too far away");

        let perspective =
            camera(Projection::Perspective(PerspectiveProjection { aspect_ratio: 1.0, ..default() }));
        let from =
            GlobalTransform::from(Transform::from_xyz(0.0, 10.0, 10.0).looking_at(Vec3::ZERO, Vec3::Y));
        let agents = [(Vec3::ZERO, 0.5, 'a'), (Vec3::new(0.0, 20.0, 20.0), 0.5, 'b')];
        let found = nearest_on_screen(&perspective, &from, Vec2::splat(100.0), 10.0, agents);
        assert_eq!(found, Some('a'), "what is behind the camera isn't clicked");
    }
}
