//! A headless simulation for tests: one fixed tick at a time, without frames.
//!
//! Shared by the unit tests here and the workspace's integration tests.

use bevy::{app::FixedMain, prelude::*};
use bevy_steer::*;

/// An app without a window whose fixed clock is advanced by hand.
pub struct Sim {
    /// The app; spawn, insert and read at will.
    pub app: App,
    defaults: SteeringAgent,
}

#[allow(dead_code)]
impl Sim {
    /// A simulation at `hz` ticks per second in the XY plane.
    pub fn new(hz: f64) -> Self {
        Self::with_plugins(hz, SteeringPlugins::default())
    }

    /// A simulation with other plugins than the default.
    pub fn with_plugins<M>(hz: f64, plugins: impl bevy::app::Plugins<M>) -> Self {
        let mut app = App::new();
        app.add_plugins((TaskPoolPlugin::default(), bevy::time::TimePlugin, TransformPlugin))
            .add_plugins(plugins)
            .insert_resource(Time::<Fixed>::from_hz(hz));
        app.finish();
        app.cleanup();
        app.update();
        Self { app, defaults: SteeringAgent::default() }
    }

    /// Limits of the agents spawned from here on: `max_speed`, `max_force`, `reaction_time`.
    #[must_use]
    pub fn with_agent_defaults(mut self, max_speed: f32, max_force: f32, reaction_time: f32) -> Self {
        self.defaults = SteeringAgent::new(max_speed, max_force).with_reaction_time(reaction_time);
        self
    }

    /// Limits of the agents spawned from here on.
    #[must_use]
    pub fn with_agent(mut self, agent: SteeringAgent) -> Self {
        self.defaults = agent;
        self
    }

    /// Makes all agents move in `plane`.
    #[must_use]
    pub fn with_plane(mut self, plane: SteeringPlane) -> Self {
        self.app.world_mut().resource_mut::<SteeringDefaults>().plane = plane;
        self
    }

    /// Spawns an agent at rest; components in `extra` win over the defaults.
    pub fn agent(&mut self, position: Vec3, extra: impl Bundle) -> Entity {
        let defaults = self.defaults;
        let world = self.app.world_mut();
        world.spawn((defaults, Transform::from_translation(position))).insert(extra).id()
    }

    /// Spawns an agent that moves.
    pub fn moving(&mut self, position: Vec3, velocity: Vec3, extra: impl Bundle) -> Entity {
        let agent = self.agent(position, extra);
        self.set_velocity(agent, velocity);
        agent
    }

    /// Spawns something that does not steer.
    pub fn thing(&mut self, position: Vec3, extra: impl Bundle) -> Entity {
        self.app.world_mut().spawn((Transform::from_translation(position), extra)).id()
    }

    /// One fixed tick.
    pub fn tick(&mut self) {
        let world = self.app.world_mut();
        let dt = world.resource::<Time<Fixed>>().timestep();
        world.resource_mut::<Time<Fixed>>().advance_by(dt);
        let now = world.resource::<Time<Fixed>>().as_generic();
        *world.resource_mut::<Time>() = now;
        world.run_schedule(FixedMain);
        // As at the end of a frame; what was removed would be remembered for ever.
        world.clear_trackers();
    }

    /// Many fixed ticks.
    pub fn ticks(&mut self, n: usize) {
        for _ in 0..n {
            self.tick();
        }
    }

    /// Fixed ticks for so many seconds.
    pub fn seconds(&mut self, seconds: f32) {
        let dt = self.app.world().resource::<Time<Fixed>>().timestep().as_secs_f32();
        self.ticks((seconds / dt).round() as usize);
    }

    /// Where an entity is.
    pub fn position(&self, entity: Entity) -> Vec3 {
        self.get::<Transform>(entity).translation
    }

    /// How it moves.
    pub fn velocity(&self, entity: Entity) -> Vec3 {
        self.get::<SteeringVelocity>(entity).0
    }

    /// The force applied in the last tick.
    pub fn force(&self, entity: Entity) -> Vec3 {
        self.get::<SteeringOutput>(entity).force
    }

    /// A component of an entity.
    pub fn get<C: Component>(&self, entity: Entity) -> &C {
        self.app.world().get::<C>(entity).expect("the entity has the component")
    }

    /// A component of an entity, to change.
    pub fn get_mut<C: Component<Mutability = bevy::ecs::component::Mutable>>(
        &mut self,
        entity: Entity,
    ) -> Mut<'_, C> {
        self.app.world_mut().get_mut::<C>(entity).expect("the entity has the component")
    }

    /// Sets an agent's velocity.
    pub fn set_velocity(&mut self, entity: Entity, velocity: Vec3) {
        self.get_mut::<SteeringVelocity>(entity).0 = velocity;
    }

    /// Counts an event from here on; read the counter with [`Sim::count`].
    pub fn count_events<E: EntityEvent>(&mut self) {
        self.app.world_mut().init_resource::<Counter<E>>();
        self.app.add_observer(|event: On<E>, mut counter: ResMut<Counter<E>>| {
            counter.events.push(event.event_target());
        });
    }

    /// How often an event came for `entity`.
    pub fn count<E: EntityEvent>(&self, entity: Entity) -> usize {
        self.app.world().resource::<Counter<E>>().events.iter().filter(|&&e| e == entity).count()
    }

    /// The warnings so far as `component.field`.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.app.world().resource::<SteeringWarnings>();
        warnings.iter().map(|w| format!("{}.{}", w.component, w.field)).collect()
    }

    /// The hash of all agents.
    pub fn hash(&self) -> u64 {
        steering_hash(self.app.world())
    }

    /// Replays a reference trace: row after row, the agent's position (and velocity) must agree within 1e-3.
    pub fn follow(&mut self, table: &str, agent: Entity, expected: impl Fn(&Row) -> (Vec3, Option<Vec3>)) {
        let rows = read_reference(table);
        assert!(rows.len() > 3, "{table} has rows");
        for (step, row) in rows.iter().enumerate() {
            if step > 0 {
                self.tick();
            }
            let (position, velocity) = expected(row);
            let (p, v) = (self.position(agent), self.velocity(agent));
            assert!(p.distance(position) < 1e-3, "{table} step {step}: position {p}, expected {position}");
            if let Some(velocity) = velocity {
                assert!(
                    v.distance(velocity) < 1e-3,
                    "{table} step {step}: velocity {v}, expected {velocity}"
                );
            }
        }
    }
}

/// Entities that an event came for, in order.
#[derive(Resource)]
pub struct Counter<E: Send + Sync + 'static> {
    /// One entry per event.
    pub events: Vec<Entity>,
    event: core::marker::PhantomData<fn() -> E>,
}

impl<E: Send + Sync + 'static> Default for Counter<E> {
    fn default() -> Self {
        Self { events: Vec::new(), event: core::marker::PhantomData }
    }
}

/// A row of a reference table.
pub struct Row {
    cells: Vec<(String, String)>,
}

#[allow(dead_code)]
impl Row {
    /// A number by column name.
    pub fn number(&self, column: &str) -> f32 {
        self.text(column).parse().expect("a number")
    }

    /// A cell by column name; "0" where the table has no such column.
    pub fn text(&self, column: &str) -> &str {
        self.cells.iter().find(|(name, _)| name == column).map_or("0", |(_, value)| value)
    }

    /// Two columns as a vector; a column that the table lacks is 0.
    pub fn vec(&self, x: &str, y: &str) -> Vec3 {
        Vec3::new(self.number(x), self.number(y), 0.0)
    }
}

/// Reads `tests/reference/NAME`.
pub fn read_reference(table: &str) -> Vec<Row> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/");
    let text = std::fs::read_to_string(format!("{folder}{table}")).expect("the table is there");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    lines.map(|cells| Row { cells: header.iter().cloned().zip(cells).collect() }).collect()
}

/// A default agent as pure functions see it, at 60 Hz.
#[allow(dead_code)]
pub fn test_view(position: Vec3, velocity: Vec3) -> AgentView {
    AgentView::new(&SteeringAgent::default(), position, velocity, SteeringPlane::Xy, 1.0 / 60.0)
}
