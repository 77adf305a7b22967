//! What a behaviour is, and the public call that registers one; the built-in behaviours use it too.

use core::any::TypeId;

use bevy::{
    ecs::{
        component::Mutable,
        query::{IterQueryData, QueryData, QueryFilter},
        system::{ScheduleSystem, SystemParam},
    },
    platform::{collections::HashMap, sync::Arc},
    prelude::*,
    reflect::GetTypeRegistration,
};

use crate::{
    accumulator::{BehaviorId, SteeringAccumulator},
    agent::{AgentView, SteeringAgent, SteeringDefaults, SteeringVelocity},
    events::{EventQueue, Happening},
    faults::watch_for_faults,
    neighbors::NeighborGrid,
    parallel::ComputeRunner,
    plane::SteeringPlane,
    priority::SteeringPriority,
    rng::{SteeringId, SteeringSeed},
    schedule::{SteeringSchedule, SteeringStep, SteeringSystems},
    sensing::SteerEvery,
    target::TargetMemory,
    warnings::SteeringWarnings,
};

/// A value that makes no sense, and what steering does about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// The field.
    pub field: &'static str,
    /// Its value; NaN stands for itself.
    pub value: f32,
    /// What is done.
    pub consequence: &'static str,
}

/// Checks for the values of behaviour components.
pub mod check {
    use super::Fault;

    /// A fault unless `value` is finite and at least 0.
    #[must_use]
    pub fn not_negative(field: &'static str, value: f32, consequence: &'static str) -> Option<Fault> {
        (!(value.is_finite() && value >= 0.0)).then_some(Fault { field, value, consequence })
    }

    /// A fault unless `value` is finite and above 0.
    #[must_use]
    pub fn positive(field: &'static str, value: f32, consequence: &'static str) -> Option<Fault> {
        (!(value.is_finite() && value > 0.0)).then_some(Fault { field, value, consequence })
    }

    /// A fault unless `value` is a weight: finite and at least 0.
    #[must_use]
    pub fn weight(value: f32) -> Option<Fault> {
        not_negative("weight", value, "must be finite and not negative; the behaviour is ignored")
    }

    /// `value` if it is finite and above 0, else 0: how behaviours read lengths and times.
    #[inline]
    #[must_use]
    pub fn or_zero(value: f32) -> f32 {
        if value > 0.0 && value <= f32::MAX { value } else { 0.0 }
    }
}

/// Type data of components that can tell what is wrong with their values: asks a reflected value. Tools check scenes and
/// edits with it. Every registered behaviour has it, and so have [`SteeringAgent`] and its like.
#[derive(Clone)]
pub struct ReflectFault(Arc<dyn Fn(&dyn Reflect) -> Option<Fault> + Send + Sync>);

impl ReflectFault {
    /// Asks components of type `C`.
    #[must_use]
    pub fn new<C: Reflect>(fault: fn(&C) -> Option<Fault>) -> Self {
        Self(Arc::new(move |value| value.downcast_ref::<C>().and_then(fault)))
    }

    /// What is wrong with `value`; `None` also for a value of another type.
    #[must_use]
    pub fn fault(&self, value: &dyn Reflect) -> Option<Fault> {
        (self.0)(value)
    }
}

/// Registers a component and how it tells its faults.
pub(crate) fn check_faults<C: Reflect + TypePath + GetTypeRegistration>(
    app: &mut App,
    fault: fn(&C) -> Option<Fault>,
) {
    app.register_type::<C>();
    let registry = app.world().resource::<AppTypeRegistry>().clone();
    if let Some(registration) = registry.write().get_mut(TypeId::of::<C>()) {
        registration.insert(ReflectFault::new(fault));
    }
}

/// A steering behaviour: a component whose system writes into the agent's [`SteeringAccumulator`].
///
/// Register one with [`SteeringApp::add_steering_behavior`]; [`Steering`] has the whole of an example. Let the component
/// require [`SteeringAgent`], so that spawning it is enough, and, where it has a
/// [`SteeringTarget`](crate::SteeringTarget), `TargetMemory<Self>`, which [`Targets`](crate::Targets) asks for.
pub trait SteeringBehavior:
    Component<Mutability = Mutable> + Reflect + TypePath + GetTypeRegistration
{
    /// Name by which contributions, warnings and tools call it; unique in the app.
    const NAME: &'static str;
    /// Its id, from the name.
    const ID: BehaviorId = BehaviorId::new(Self::NAME);

    /// What is wrong with the component's values, if anything; asked when the component is added or changed. The
    /// behaviour itself must cope with such values: contributions that are not finite are dropped.
    fn fault(&self) -> Option<Fault> {
        None
    }
}

/// Marks reflected fields that a behaviour or integration keeps for itself, so that panels leave them alone:
/// `#[reflect(@InternalState)]`.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[type_path = "bevy_steer"]
pub struct InternalState;

/// The behaviours that an app knows, by id.
#[derive(Resource, Debug, Default)]
pub struct SteeringBehaviors {
    names: HashMap<BehaviorId, &'static str>,
    components: HashMap<BehaviorId, TypeId>,
}

impl SteeringBehaviors {
    /// The name of a behaviour that wrote a contribution; `None` for systems that never registered.
    #[must_use]
    pub fn name(&self, id: BehaviorId) -> Option<&'static str> {
        self.names.get(&id).copied()
    }

    /// All registered behaviours, sorted by name.
    #[must_use]
    pub fn sorted(&self) -> Vec<(BehaviorId, &'static str)> {
        let mut all: Vec<_> = self.names.iter().map(|(&id, &name)| (id, name)).collect();
        all.sort_unstable_by_key(|&(_, name)| name);
        all
    }

    /// The type of a behaviour's component.
    #[must_use]
    pub fn component(&self, id: BehaviorId) -> Option<TypeId> {
        self.components.get(&id).copied()
    }

    fn insert(&mut self, id: BehaviorId, name: &'static str, component: TypeId) {
        self.components.insert(id, component);
        match self.names.insert(id, name) {
            Some(other) if other != name => {
                log::error!("the steering behaviours {other} and {name} share one id: rename one of them");
            }
            _ => {}
        }
    }
}

/// Registers behaviours with an app.
pub trait SteeringApp {
    /// Adds behaviour `B` with the system or systems that run it, in `stage` of the steering schedule.
    ///
    /// Registers the component for reflection (so that scenes and panels know it), its name, the warning for
    /// [`faults`](SteeringBehavior::fault), and its leaving: a removed component contributes nothing from that tick on.
    ///
    /// Call it after adding [`SteeringPlugins`](crate::SteeringPlugins), which say in which schedule steering runs:
    /// `app.add_steering_behavior::<Float, _>(SteeringSystems::Steer, float)`. [`Steering`] has the whole of an example.
    fn add_steering_behavior<B: SteeringBehavior, M>(
        &mut self,
        stage: SteeringSystems,
        systems: impl IntoScheduleConfigs<ScheduleSystem, M>,
    ) -> &mut Self;
}

impl SteeringApp for App {
    fn add_steering_behavior<B: SteeringBehavior, M>(
        &mut self,
        stage: SteeringSystems,
        systems: impl IntoScheduleConfigs<ScheduleSystem, M>,
    ) -> &mut Self {
        self.init_resource::<SteeringSchedule>().init_resource::<SteeringBehaviors>();
        self.world_mut().resource_mut::<SteeringBehaviors>().insert(B::ID, B::NAME, TypeId::of::<B>());
        let schedule = self.world().resource::<SteeringSchedule>().0;
        check_faults::<B>(self, B::fault);
        watch_for_faults(self.world_mut(), B::NAME, B::fault);
        self.register_type::<TargetMemory<B>>()
            .add_systems(schedule, systems.in_set(stage))
            .add_observer(forget_removed::<B>)
    }
}

fn forget_removed<B: SteeringBehavior>(
    removed: On<Remove, B>,
    mut agents: Query<(&mut SteeringAccumulator, Option<&mut TargetMemory<B>>)>,
) {
    if let Ok((mut accumulator, memory)) = agents.get_mut(removed.entity) {
        accumulator.forget(B::ID);
        // Added again later, it must not measure a velocity from where the target was long ago.
        if let Some(mut memory) = memory {
            memory.forget();
        }
    }
}

/// What a behaviour's system reads of its agent, and the accumulator that it writes to.
#[derive(QueryData)]
#[query_data(mutable)]
pub struct Steerer {
    /// The agent.
    pub entity: Entity,
    /// Its number.
    pub id: &'static SteeringId,
    /// Its limits.
    pub agent: &'static SteeringAgent,
    /// Its position.
    pub transform: &'static Transform,
    /// Its velocity.
    pub velocity: &'static SteeringVelocity,
    /// Its own plane, if it has one.
    pub plane: Option<&'static SteeringPlane>,
    /// How often it looks, if not every tick.
    pub every: Option<&'static SteerEvery>,
    /// Where its contributions go.
    pub accumulator: &'static mut SteeringAccumulator,
}

/// What a behaviour's system reads of the world: the tick, the defaults, the neighbour grid.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_steer::prelude::*;
///
/// /// Wants to go up.
/// #[derive(Component, Reflect, Clone, Default)]
/// #[reflect(Component, Default)]
/// #[require(SteeringAgent)]
/// struct Float;
///
/// impl SteeringBehavior for Float {
///     const NAME: &'static str = "Float";
/// }
///
/// fn float(steering: Steering, mut agents: Query<(Steerer, &Float)>) {
///     steering.for_each(&mut agents, |(mut me, _)| {
///         if let Some(view) = steering.view(&me) {
///             let up = Vec3::Y * view.max_speed;
///             me.accumulator.desire(Float::ID, up, 1.0, SteeringPriority::GOAL);
///         }
///     });
/// }
///
/// let mut app = App::new();
/// app.add_plugins((MinimalPlugins, SteeringPlugins::default()));
/// app.add_steering_behavior::<Float, _>(SteeringSystems::Steer, float);
/// ```
#[derive(SystemParam)]
pub struct Steering<'w> {
    step: Res<'w, SteeringStep>,
    defaults: Res<'w, SteeringDefaults>,
    grid: Res<'w, NeighborGrid>,
    seed: Res<'w, SteeringSeed>,
    events: Res<'w, EventQueue>,
    warnings: Res<'w, SteeringWarnings>,
}

impl Steering<'_> {
    /// The agent as pure functions see it; `None` while earlier contributions are held
    /// ([`SteerEvery`]), or where the agent's position is not finite: then there is nothing to do.
    #[inline]
    #[must_use]
    pub fn view(&self, me: &SteererItem) -> Option<AgentView> {
        if me.accumulator.is_held() || !me.transform.translation.is_finite() {
            return None;
        }
        let plane = me.plane.copied().unwrap_or(self.defaults.plane);
        let mut view = AgentView::new(me.agent, me.transform.translation, me.velocity.0, plane, self.step.dt);
        view.sense_interval = me.every.map_or(0.0, SteerEvery::interval);
        Some(view)
    }

    /// Runs `f` for each item, on the compute pool where there are many agents. `f` sees only its own item, so the
    /// number of threads cannot change the result.
    #[inline]
    pub fn for_each<D, F>(
        &self,
        query: &mut Query<D, F>,
        f: impl for<'w, 's> Fn(D::Item<'w, 's>) + Send + Sync + Clone,
    ) where
        D: QueryData + IterQueryData,
        F: QueryFilter,
    {
        for_each_agent(query, self.grid.agent_count() >= self.defaults.parallel_from, f);
    }

    /// Length of the tick in seconds.
    #[must_use]
    pub fn dt(&self) -> f32 {
        self.step.dt
    }

    /// The tick's number.
    #[must_use]
    pub fn tick(&self) -> u64 {
        self.step.tick
    }

    /// The neighbour grid as it was at the start of the tick.
    #[must_use]
    pub fn grid(&self) -> &NeighborGrid {
        &self.grid
    }

    /// The app's seed.
    #[must_use]
    pub fn seed(&self) -> SteeringSeed {
        *self.seed
    }

    /// The app's warnings, to add to.
    #[must_use]
    pub fn warnings(&self) -> &SteeringWarnings {
        &self.warnings
    }

    pub(crate) fn defaults(&self) -> &SteeringDefaults {
        &self.defaults
    }

    /// Where work on all agents runs.
    pub(crate) fn pool(&self) -> ComputeRunner {
        ComputeRunner::new(self.grid.agent_count(), self.defaults.parallel_from)
    }

    pub(crate) fn send(&self, me: &SteererItem, order: u32, happening: Happening) {
        self.tell(me.entity, *me.id, order, happening);
    }

    pub(crate) fn tell(&self, entity: Entity, id: SteeringId, order: u32, happening: Happening) {
        self.events.send(entity, id, order, happening);
    }
}

/// Runs `f` for each item of `query`, in parallel or not.
pub(crate) fn for_each_agent<D, F>(
    query: &mut Query<D, F>,
    parallel: bool,
    f: impl for<'w, 's> Fn(D::Item<'w, 's>) + Send + Sync + Clone,
) where
    D: QueryData + IterQueryData,
    F: QueryFilter,
{
    if parallel {
        query.par_iter_mut().for_each(f);
    } else {
        for item in query.iter_mut() {
            f(item);
        }
    }
}

/// Weight and priority as every behaviour has them; a shorthand for their sliders' ranges.
pub(crate) const DEFAULT_WEIGHT: f32 = 1.0;
/// Level of goals.
pub(crate) const GOAL: SteeringPriority = SteeringPriority::GOAL;
