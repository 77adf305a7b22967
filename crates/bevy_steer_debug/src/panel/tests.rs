use bevy::prelude::*;
use bevy_egui::egui::{self, Event, Modifiers, PointerButton, Pos2};
use bevy_steer::{
    Arrive, Evade, FlockMember, PathFollow, Seek, Steerer, Steering, SteeringApp, SteeringBehavior,
    SteeringGroup, SteeringPlugins, SteeringSystems, SteeringTarget,
};

use super::*;
use crate::{overlay::SteeringOverlayPlugin, time::SteeringTimePlugin};

/// A game's own behaviour.
#[derive(Component, Reflect, Clone, Default)]
#[reflect(Component, Default)]
struct Gravity {
    #[reflect(@0.0_f32..=30.0_f32)]
    strength: f32,
}

impl SteeringBehavior for Gravity {
    const NAME: &'static str = "Gravity";
}

fn pull(steering: Steering, mut agents: Query<(Steerer, &Gravity)>) {
    steering.for_each(&mut agents, |(mut me, gravity)| {
        me.accumulator.push(Gravity::ID, Vec3::NEG_Y * gravity.strength, 1.0, default());
    });
}

struct Ui {
    app: App,
    context: egui::Context,
    events: Vec<Event>,
    texts: Vec<(String, egui::Rect)>,
}

impl Ui {
    fn new() -> Self {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, TransformPlugin, SteeringPlugins::default()))
            .add_plugins((SteeringOverlayPlugin, SteeringTimePlugin))
            .add_steering_behavior::<Gravity, _>(SteeringSystems::Steer, pull)
            .init_resource::<SteeringPanel>();
        app.finish();
        app.cleanup();
        app.update();
        Self { app, context: egui::Context::default(), events: Vec::new(), texts: Vec::new() }
    }

    fn select(&mut self, entity: Entity) {
        self.app.world_mut().resource_mut::<SteeringSelection>().entity = Some(entity);
    }

    /// One frame; remembers the texts that were drawn, and where.
    fn frame(&mut self) {
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(Pos2::ZERO, egui::vec2(1280.0, 2000.0))),
            events: core::mem::take(&mut self.events),
            ..Default::default()
        };
        let (world, context) = (self.app.world_mut(), &self.context);
        let output = context.run_ui(input, |ui| steering_panel(&ui.ctx().clone(), world));
        self.texts.clear();
        for shape in output.shapes {
            gather(&shape.shape, &mut self.texts);
        }
        self.app.update();
    }

    fn settle(&mut self) {
        for _ in 0..3 {
            self.frame();
        }
    }

    fn shows(&self, text: &str) -> bool {
        self.texts.iter().any(|(t, _)| t == text)
    }

    fn click(&mut self, text: &str) {
        let at =
            self.texts.iter().find(|(t, _)| t == text).unwrap_or_else(|| panic!("no {text:?}")).1.center();
        self.events.push(Event::PointerMoved(at));
        self.frame();
        for pressed in [true, false] {
            self.events.push(Event::PointerButton {
                pos: at,
                button: PointerButton::Primary,
                pressed,
                modifiers: Modifiers::NONE,
            });
            self.frame();
        }
        self.settle();
    }
}

fn gather(shape: &egui::Shape, texts: &mut Vec<(String, egui::Rect)>) {
    match shape {
        egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| gather(shape, texts)),
        egui::Shape::Text(text) => {
            let rect = text.galley.rect.translate(text.pos.to_vec2());
            texts.push((text.galley.text().to_owned(), rect));
        }
        _ => {}
    }
}

#[test]
fn the_panel_lists_all_components_and_games_own_behaviours() {
    let mut ui = Ui::new();
    ui.settle();
    assert!(ui.shows("Click an agent to see and change how it steers."), "with no agents at all");
    let agent = ui.app.world_mut().spawn((Gravity::default(), Seek::default(), Name::new("Bob"))).id();
    ui.select(agent);
    ui.settle();
    for text in
        ["Bob", "Gravity", "strength", "Seek", "target", "priority", "Agent", "Components", "Behaviours"]
    {
        assert!(ui.shows(text), "{text} is missing in {:?}", ui.texts);
    }
    assert!(!ui.shows("Evade"), "behaviours that it lacks are in the menu only");
}

#[test]
fn behaviours_are_added_and_removed_by_clicks() {
    let mut ui = Ui::new();
    let agent = ui.app.world_mut().spawn(Seek::default()).id();
    ui.app.world_mut().spawn(Seek::default());
    ui.select(agent);
    ui.settle();
    ui.click("+ Add");
    ui.click("Gravity");
    assert!(ui.app.world().get::<Gravity>(agent).is_some());
    ui.click("↩  Undo");
    assert!(ui.app.world().get::<Gravity>(agent).is_none());
}

#[test]
fn time_is_controlled_by_clicks() {
    let mut ui = Ui::new();
    ui.settle();
    ui.click("⏸  Pause");
    assert!(ui.app.world().resource::<Time<Virtual>>().is_paused());
    let tick = |ui: &Ui| ui.app.world().resource::<bevy_steer::SteeringStep>().tick;
    let before = tick(&ui);
    ui.click("⏭  Step");
    assert_eq!(tick(&ui), before + 1);
    ui.click("▶  Run");
    assert!(!ui.app.world().resource::<Time<Virtual>>().is_paused());
}

#[test]
fn looking_changes_nothing() {
    let mut ui = Ui::new();
    let agent = ui
        .app
        .world_mut()
        .spawn((
            FlockMember { weight: 99.0, max_neighbors: Some(7), field_of_view: f32::NAN, ..default() },
            Evade::default().with_panic_radius(3.0),
            Arrive::new(Vec3::X),
            PathFollow::new(vec![Vec3::X; 40]),
            SteeringGroup(3),
        ))
        .id();
    ui.app.world_mut().spawn(Seek::new(agent));
    ui.select(agent);
    ui.settle();
    let steps: Vec<&str> =
        ui.app.world().resource::<EditHistory>().steps().iter().map(|s| s.label.as_str()).collect();
    assert_eq!(steps, [""; 0], "values out of range and not numbers stay");
    let member = ui.app.world().get::<FlockMember>(agent).expect("a member");
    assert!(member.weight == 99.0 && member.field_of_view.is_nan());
}

#[test]
fn nothing_panics_when_the_world_changes_under_the_panel() {
    let mut ui = Ui::new();
    let agents: Vec<Entity> =
        (0..3).map(|_| ui.app.world_mut().spawn((Seek::default(), FlockMember::default())).id()).collect();
    let seek = ui.app.world_mut().spawn(Seek::new(agents[1])).id();
    ui.select(seek);
    ui.settle();
    ui.app.world_mut().despawn(agents[1]);
    ui.settle();
    assert!(ui.shows("nobody"), "the target is gone: {:?}", ui.texts);
    ui.app.world_mut().entity_mut(seek).remove::<Seek>();
    ui.settle();
    for &agent in &[agents[0], agents[2], seek] {
        ui.select(agent);
        ui.frame();
        ui.app.world_mut().despawn(agent);
        ui.frame();
        ui.select(agent);
        let context = ui.context.clone();
        let _ = context.run_ui(egui::RawInput::default(), |ui_| {
            steering_panel(&ui_.ctx().clone(), ui.app.world_mut());
        });
    }
    ui.settle();
    assert!(ui.shows("Click an agent to see and change how it steers."));
}

#[test]
fn a_click_on_an_agent_fills_the_field_that_waits() {
    let mut ui = Ui::new();
    let [a, b, c] = [0; 3].map(|_| ui.app.world_mut().spawn(Seek::default()).id());
    ui.app.world_mut().entity_mut(a).insert(Seek::new(b));
    ui.select(a);
    ui.settle();
    ui.click("pick");
    assert!(ui.app.world().resource::<SteeringSelection>().capture);
    ui.app.world_mut().resource_mut::<SteeringSelection>().captured = Some(c);
    ui.settle();
    assert_eq!(ui.app.world().get::<Seek>(a).map(|s| s.target), Some(SteeringTarget::Entity(c)));
    assert_eq!(ui.app.world().resource::<SteeringSelection>().entity, Some(a), "the selection stays");
}

#[test]
fn every_variant_of_every_enum_can_be_chosen() {
    use bevy::reflect::{ReflectFromReflect, TypeInfo};
    let ui = Ui::new();
    let registry = ui.app.world().resource::<AppTypeRegistry>().read();
    let mut enums = 0;
    for registration in registry.iter() {
        let TypeInfo::Enum(info) = registration.type_info() else { continue };
        if !info.type_path().starts_with("bevy_steer") || info.type_path().contains("Kind") {
            continue;
        }
        enums += 1;
        for name in info.variant_names() {
            let built = build::first_variant(&registry, info, name, None, Entity::PLACEHOLDER)
                .unwrap_or_else(|| panic!("{}::{name} cannot be built", info.type_path()));
            let from = registration.data::<ReflectFromReflect>().expect("enums come from reflection");
            let value = from.from_reflect(&*built).expect("a whole value");
            let value = value.reflect_ref().as_enum().expect("an enum");
            assert_eq!(value.variant_name(), *name);
        }
    }
    assert!(enums >= 7, "only {enums} enums");
}
