//! Finding the obstacles near a place, however many there are elsewhere.

use bevy::prelude::*;
use bevy_steer_grid::{Grid, Item, Layout};

use crate::{
    agent::{SteeringAgent, SteeringDefaults, SteeringVelocity},
    obstacle::{Obstacle, ObstacleMotion, ObstacleShape, ShapeHit},
    plane::SteeringPlane,
    rng::mix,
    schedule::SteeringStep,
    warnings::SteeringWarnings,
};

/// All obstacles, sorted by size and place. Brought up to date in [`SteeringSystems::Sense`](crate::SteeringSystems::Sense),
/// read-only for the rest of the tick.
///
/// Obstacles stand in classes of similar size, by powers of two, and each class in a grid of its own: a query touches the
/// few that are near, and one huge building does not make everybody's query large. What stands still is sorted again
/// only when some of it changes; what moves is sorted each tick. There is an index for each plane that an agent moves in.
///
/// The order in which obstacles are visited depends on where they are and what they are, never on their storage.
#[derive(Resource, Default)]
pub struct ObstacleIndex {
    records: [Vec<Record>; 2],
    /// For each plane in use: the still obstacles, the moving ones.
    planes: [Option<[Vec<SizeClass>; 2]>; 3],
    /// What the still part was built from.
    still: u64,
}

const STILL: usize = 0;
const MOVING: usize = 1;

#[derive(Debug, Clone, Copy)]
struct Record {
    entity: Entity,
    obstacle: Obstacle,
    transform: Transform,
    velocity: Vec3,
}

/// Obstacles whose outer radius lies between two powers of two.
struct SizeClass {
    exponent: u32,
    max_radius: f32,
    max_speed: f32,
    /// The obstacles as the grid's tags number them, seen from nowhere.
    obstacles: Vec<NearObstacle>,
    items: Vec<Item>,
    grid: Grid,
}

/// An obstacle near a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearObstacle {
    /// The obstacle.
    pub entity: Entity,
    /// Its outline in the plane.
    pub shape: ObstacleShape,
    /// Its velocity in units/s, in the plane.
    pub velocity: Vec3,
    /// Distance in units from the place to its surface, negative inside.
    pub distance: f32,
}

/// The first obstacle in the way of a disc or ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObstacleHit {
    /// The obstacle.
    pub entity: Entity,
    /// How far the disc or ball gets, in units.
    pub distance: f32,
    /// The point of the obstacle that it touches.
    pub point: Vec3,
    /// Unit vector away from the obstacle at that point.
    pub normal: Vec3,
    /// Velocity of the obstacle in units/s, in the plane.
    pub velocity: Vec3,
}

/// How far to look for obstacles.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Reach {
    /// Units from the place to the surface.
    pub units: f32,
    /// So many inner radii of the obstacle more.
    pub sizes: f32,
    /// As far as it moves in so many seconds more.
    pub seconds: f32,
}

impl NearObstacle {
    /// A total order by distance, then by what the obstacle is: sums in this order have the same bits whatever the order
    /// of storage.
    #[must_use]
    pub fn order(&self, other: &Self) -> core::cmp::Ordering {
        let speed = |o: &Self| o.velocity.to_array().map(f32::to_bits);
        self.distance
            .total_cmp(&other.distance)
            .then_with(|| self.shape.bits().cmp(&other.shape.bits()))
            .then_with(|| speed(self).cmp(&speed(other)))
    }
}

impl ObstacleIndex {
    /// Number of obstacles.
    #[must_use]
    pub fn obstacle_count(&self) -> usize {
        self.records.iter().map(Vec::len).sum()
    }

    /// Calls `visit` for every obstacle whose surface is within `reach` units of `center`, or that holds it. Nothing is
    /// found in a plane that no agent uses.
    pub fn for_each_near(
        &self,
        plane: SteeringPlane,
        center: Vec3,
        reach: f32,
        visit: impl FnMut(NearObstacle),
    ) {
        self.for_each_within(plane, center, Reach { units: reach, ..default() }, visit);
    }

    /// As [`for_each_near`](Self::for_each_near), with a reach that depends on the obstacle.
    pub(crate) fn for_each_within(
        &self,
        plane: SteeringPlane,
        center: Vec3,
        reach: Reach,
        mut visit: impl FnMut(NearObstacle),
    ) {
        let point = plane.project(center);
        self.candidates(plane, center, reach, |obstacle| {
            let distance = obstacle.shape.distance(point);
            let further =
                obstacle.shape.inner_radius() * reach.sizes + obstacle.velocity.length() * reach.seconds;
            if distance <= reach.units + further {
                visit(NearObstacle { distance, ..*obstacle });
            }
        });
    }

    /// The obstacles that the grids hand out: a few more than are near.
    fn candidates(
        &self,
        plane: SteeringPlane,
        center: Vec3,
        reach: Reach,
        mut visit: impl FnMut(&NearObstacle),
    ) {
        let Some(layers) = &self.planes[plane.index()] else { return };
        let from = plane.to_grid(center);
        for classes in layers {
            for class in classes.iter().filter(|class| !class.items.is_empty()) {
                let radius =
                    reach.units + class.max_radius * (1.0 + reach.sizes) + class.max_speed * reach.seconds;
                class.grid.for_each_within(from, radius, |index, _, _| {
                    visit(&class.obstacles[class.grid.tags()[index] as usize]);
                });
            }
        }
    }

    /// The first obstacle that a disc or ball of `radius` at `origin` touches when it moves at most `length` units along
    /// `direction` (of any length), obstacles as they are now. Nothing in its way is skipped, however thin and far.
    #[must_use]
    pub fn sweep(
        &self,
        plane: SteeringPlane,
        origin: Vec3,
        direction: Vec3,
        length: f32,
        radius: f32,
    ) -> Option<ObstacleHit> {
        let (origin, direction) = (plane.project(origin), plane.project(direction).try_normalize()?);
        let mut best: Option<(ObstacleHit, [u32; 7])> = None;
        // Piece by piece: the discs round the pieces cover little beside the way.
        let piece = (length / 16.0).max(4.0 * radius).max(1.0).min(length);
        let mut start = 0.0;
        while best.is_none() && start < length {
            let middle = origin + direction * (start + 0.5 * piece);
            self.for_each_near(plane, middle, 0.5 * piece + radius, |near| {
                let Some(hit) = near.shape.sweep(origin, direction, length, radius) else { return };
                let key = near.shape.bits();
                let first = best.as_ref().is_none_or(|(b, k)| {
                    hit.distance.total_cmp(&b.distance).then_with(|| key.cmp(k)).is_lt()
                });
                if first {
                    let (entity, velocity) = (near.entity, near.velocity);
                    let ShapeHit { distance, point, normal } = hit;
                    best = Some((ObstacleHit { entity, distance, point, normal, velocity }, key));
                }
            });
            // A hit beyond this piece may not be the first.
            if let Some((hit, _)) = &best
                && hit.distance > start + piece
            {
                best = None;
            }
            start += piece;
        }
        best.map(|(hit, _)| hit)
    }

    /// Sorts one layer of one plane anew.
    fn build(classes: &mut Vec<SizeClass>, records: &[Record], plane: SteeringPlane) {
        for class in classes.iter_mut() {
            class.items.clear();
            class.obstacles.clear();
            (class.max_radius, class.max_speed) = (0.0, 0.0);
        }
        for record in records {
            let Some(shape) = record.obstacle.shape(&record.transform, plane) else { continue };
            let radius = shape.outer_radius();
            let exponent = radius.to_bits() >> 23;
            let at = match classes.binary_search_by_key(&exponent, |class| class.exponent) {
                Ok(at) => at,
                Err(at) => {
                    classes.insert(at, SizeClass::new(exponent));
                    at
                }
            };
            let class = &mut classes[at];
            class.max_radius = class.max_radius.max(radius);
            let velocity = plane.project(record.velocity);
            class.max_speed = class.max_speed.max(velocity.length());
            let position = plane.to_grid(shape.center());
            // A number from what the obstacle is orders equal cells without a look at storage.
            let id = shape.bits().into_iter().fold(0, |hash, bits| mix(hash ^ u64::from(bits)));
            let tag = class.obstacles.len() as u32;
            class.obstacles.push(NearObstacle { entity: record.entity, shape, velocity, distance: 0.0 });
            class.items.push(Item { position, id, tag, ..Item::default() });
        }
        let layout = match plane {
            SteeringPlane::Space => Layout::Spatial,
            SteeringPlane::Xy | SteeringPlane::Xz => Layout::Planar,
        };
        for class in classes.iter_mut().filter(|class| !class.items.is_empty()) {
            let cell_size = (2.0 * class.max_radius).max(class.spacing(layout));
            class.grid.build(layout, cell_size, &class.items);
        }
    }
}

impl SizeClass {
    fn new(exponent: u32) -> Self {
        Self {
            exponent,
            max_radius: 0.0,
            max_speed: 0.0,
            obstacles: Vec::new(),
            items: Vec::new(),
            grid: Grid::default(),
        }
    }

    /// Edge of a cell that would hold one obstacle if they were spread evenly.
    fn spacing(&self, layout: Layout) -> f32 {
        let (low, high) = self.items.iter().fold((Vec3::MAX, Vec3::MIN), |(low, high), item| {
            (low.min(item.position), high.max(item.position))
        });
        let (extent, count) = ((high - low).max(Vec3::ONE), self.items.len() as f32);
        match layout {
            Layout::Planar => (extent.x * extent.y / count).sqrt(),
            Layout::Spatial => bevy::math::ops::cbrt(extent.x * extent.y * extent.z / count),
        }
    }
}

type Found<'a> =
    (Entity, Ref<'a, Obstacle>, Ref<'a, Transform>, Option<&'a SteeringVelocity>, &'a mut ObstacleMotion);

/// Brings the index up to date.
pub(crate) fn update_index(
    mut index: ResMut<ObstacleIndex>,
    step: Res<SteeringStep>,
    defaults: Res<SteeringDefaults>,
    warnings: Res<SteeringWarnings>,
    own_planes: Query<&SteeringPlane, With<SteeringAgent>>,
    mut obstacles: Query<Found>,
) {
    let ObstacleIndex { records, planes, still } = &mut *index;
    // The still part is known by who is in it; a change of one of them gives a number that never was.
    let (mut members, mut changed) = (0_u64, false);
    records[MOVING].clear();
    for (entity, obstacle, transform, velocity, mut motion) in &mut obstacles {
        if !transform.translation.is_finite() {
            let what = "not finite; the obstacle is left out until it is";
            warnings.warn(entity, "Transform", "translation", &transform.translation, what);
        }
        let given = velocity.map(|v| v.0);
        let mut seen = *motion;
        seen.observe(transform.translation, transform.is_changed(), given, step.dt);
        motion.set_if_neq(seen);
        if seen.moves() {
            records[MOVING].push(Record {
                entity,
                obstacle: *obstacle,
                transform: *transform,
                velocity: seen.velocity(),
            });
        } else {
            members = members.wrapping_add(mix(entity.to_bits()));
            changed |= obstacle.is_changed() || transform.is_changed();
        }
    }
    let rebuild = changed || members != *still;
    if rebuild {
        *still = members;
        records[STILL].clear();
        for (entity, obstacle, transform, _, motion) in &obstacles {
            if !motion.moves() {
                let (obstacle, transform) = (*obstacle, *transform);
                records[STILL].push(Record { entity, obstacle, transform, velocity: Vec3::ZERO });
            }
        }
    }
    let mut used = [false; 3];
    used[defaults.plane.index()] = true;
    for plane in &own_planes {
        used[plane.index()] = true;
    }
    for plane in SteeringPlane::ALL {
        let slot = &mut planes[plane.index()];
        if used[plane.index()] {
            let fresh = slot.is_none();
            let [still, moving] = slot.get_or_insert_default();
            if rebuild || fresh {
                ObstacleIndex::build(still, &records[STILL], plane);
            }
            ObstacleIndex::build(moving, &records[MOVING], plane);
        } else {
            *slot = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy::ecs::system::RunSystemOnce;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::Sim;

    fn world(obstacles: impl IntoIterator<Item = (Obstacle, Transform)>, plane: SteeringPlane) -> World {
        let mut world = World::new();
        world.init_resource::<ObstacleIndex>();
        world.init_resource::<SteeringWarnings>();
        world.insert_resource(SteeringDefaults { plane, ..default() });
        world.insert_resource(SteeringStep { dt: 0.1, tick: 1 });
        world.spawn_batch(obstacles.into_iter().collect::<Vec<_>>());
        world.run_system_once(update_index).expect("the system runs");
        world
    }

    fn near(index: &ObstacleIndex, plane: SteeringPlane, center: Vec3, reach: f32) -> Vec<NearObstacle> {
        let mut found = Vec::new();
        index.for_each_near(plane, center, reach, |obstacle| found.push(obstacle));
        found
    }

    /// A lattice of pebbles and posts, and what is in it beside.
    fn lattice(n: i32, extra: Option<(Obstacle, Transform)>) -> World {
        let pebbles = (-n..=n).flat_map(|x| {
            (-n..=n).map(move |y| {
                let radius = if (x + y) % 2 == 0 { 0.2 } else { 0.7 };
                (Obstacle::Sphere { radius }, Transform::from_xyz(x as f32 * 4.0, y as f32 * 4.0, 0.0))
            })
        });
        world(pebbles.chain(extra), SteeringPlane::Xy)
    }

    #[test]
    fn the_cost_depends_on_what_is_near() {
        let touched = |world: &World| {
            let mut touched = 0;
            let reach = Reach { units: 4.0, ..default() };
            world
                .resource::<ObstacleIndex>()
                .candidates(SteeringPlane::Xy, Vec3::ONE, reach, |_| touched += 1);
            touched
        };
        let few = touched(&lattice(5, None));
        assert!((1..=12).contains(&few), "{few} touched, 4 or so are near");
        assert_eq!(touched(&lattice(70, None)), few, "20,000 cost what 121 cost");
        let huge =
            (Obstacle::Cuboid { half_extents: Vec3::splat(500.0) }, Transform::from_xyz(900.0, 0.0, 0.0));
        assert!(touched(&lattice(70, Some(huge))) <= few + 1, "a huge building is one more, at most");
    }

    #[test]
    fn only_what_changes_is_sorted_again() {
        let mut sim = Sim::new(10.0);
        let still = sim.thing(Vec3::X * 3.0, Obstacle::default());
        let mover = sim.thing(Vec3::Y * 9.0, Obstacle::default());
        let gone = sim.thing(Vec3::Y * -9.0, Obstacle::default());
        let count = |sim: &Sim| sim.app.world().resource::<ObstacleIndex>().records.each_ref().map(Vec::len);
        sim.tick();
        assert_eq!(count(&sim), [3, 0]);
        for _ in 0..3 {
            sim.get_mut::<Transform>(mover).translation.x += 0.2;
            sim.tick();
        }
        assert_eq!(count(&sim), [2, 1], "what moves leaves the still part");
        let index = sim.app.world().resource::<ObstacleIndex>();
        let seen = near(index, SteeringPlane::Xy, Vec3::new(0.6, 9.0, 0.0), 0.0);
        assert!((seen[0].velocity - Vec3::X * 2.0).length() < 1e-4, "measured: {}", seen[0].velocity);
        sim.app.world_mut().entity_mut(still).insert(Obstacle::Sphere { radius: 2.5 });
        sim.app.world_mut().despawn(gone);
        sim.tick();
        let index = sim.app.world().resource::<ObstacleIndex>();
        assert_eq!(index.obstacle_count(), 2);
        assert_eq!(near(index, SteeringPlane::Xy, Vec3::ZERO, 0.6).len(), 1, "a changed size counts at once");
        sim.app.world_mut().entity_mut(still).insert(bevy::ecs::entity_disabling::Disabled);
        sim.seconds(7.0);
        assert_eq!(count(&sim), [1, 0], "what rests is still again, what is disabled is gone");
    }

    #[test]
    fn only_planes_in_use_are_built() {
        let mut sim = Sim::new(10.0);
        sim.thing(Vec3::X, Obstacle::default());
        let agent = sim.agent(Vec3::ZERO, SteeringPlane::Space);
        sim.tick();
        let built =
            |sim: &Sim| sim.app.world().resource::<ObstacleIndex>().planes.each_ref().map(Option::is_some);
        assert_eq!(built(&sim), [true, false, true]);
        let index = sim.app.world().resource::<ObstacleIndex>();
        assert_eq!(near(index, SteeringPlane::Xz, Vec3::ZERO, 9.0).len(), 0);
        assert_eq!(near(index, SteeringPlane::Space, Vec3::ZERO, 9.0).len(), 1);
        sim.app.world_mut().despawn(agent);
        sim.tick();
        assert_eq!(built(&sim), [true, false, false]);
    }

    fn scene() -> impl Strategy<Value = Vec<(Obstacle, Transform)>> {
        let one = (0_u8..3, 0.01_f32..1.0, 0.1_f32..3.0, -30.0_f32..30.0, -30.0_f32..30.0, -3.0_f32..3.0);
        prop::collection::vec(one, 1..40).prop_map(|all| {
            all.into_iter()
                .map(|(kind, size, large, x, y, turn)| {
                    let size = if large > 2.9 { 20.0 } else { size * large };
                    let obstacle = match kind {
                        0 => Obstacle::Sphere { radius: size },
                        1 => Obstacle::Cuboid { half_extents: Vec3::new(size, large, 0.5) },
                        _ => Obstacle::Wall { half_length: 2.0 * large, half_height: 1.0, thickness: 0.05 },
                    };
                    let rotation = Quat::from_rotation_z(turn) * Quat::from_rotation_y(turn);
                    (obstacle, Transform::from_xyz(x, y, 0.3 * y).with_rotation(rotation))
                })
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        /// Queries and sweeps against looking at every obstacle, and against another order of storage.
        #[test]
        fn the_index_finds_what_brute_force_finds(
            mut scene in scene(),
            plane in 0_usize..3,
            x in -30.0_f32..30.0,
            y in -30.0_f32..30.0,
            angle in -3.1_f32..3.1,
            reach in 0.0_f32..12.0,
        ) {
            let plane = SteeringPlane::ALL[plane];
            let center = plane.project(Vec3::new(x, y, y));
            let (sin, cos) = bevy::math::ops::sin_cos(angle);
            let direction = plane.project(Vec3::new(cos, sin, sin)).normalize_or(Vec3::X);
            let brute: Vec<_> = scene
                .iter()
                .filter_map(|(obstacle, transform)| obstacle.shape(transform, plane))
                .map(|shape| (shape.surface(center).distance, shape.sweep(center, direction, 40.0, 0.4)))
                .collect();
            let expected = brute.iter().filter(|(distance, _)| *distance <= reach).count();
            let first = brute.iter().filter_map(|(_, hit)| hit.map(|h| h.distance)).min_by(f32::total_cmp);
            let mut orders = Vec::new();
            for _ in 0..2 {
                let world = world(scene.iter().copied(), plane);
                let index = world.resource::<ObstacleIndex>();
                let found = near(index, plane, center, reach);
                prop_assert_eq!(found.len(), expected);
                let hit = index.sweep(plane, center, direction, 40.0, 0.4);
                prop_assert_eq!(hit.is_some(), first.is_some());
                let differ = hit.map_or(0.0, |h| h.distance) - first.unwrap_or(0.0);
                prop_assert!(differ.abs() < 1e-3, "{hit:?} {first:?}");
                orders.push(found.into_iter().map(|o| o.shape).collect::<Vec<_>>());
                scene.reverse();
            }
            prop_assert_eq!(&orders[0], &orders[1], "the order of storage leaves no trace");
        }
    }
}
