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
        self.candidates(plane, center, reach, |record| {
            let Some(shape) = record.obstacle.shape(&record.transform, plane) else { return };
            let velocity = plane.project(record.velocity);
            let distance = shape.surface(plane.project(center)).distance;
            if distance
                <= reach.units + shape.inner_radius() * reach.sizes + velocity.length() * reach.seconds
            {
                visit(NearObstacle { entity: record.entity, shape, velocity, distance });
            }
        });
    }

    /// The records that the grids hand out: a few more than are near.
    fn candidates(&self, plane: SteeringPlane, center: Vec3, reach: Reach, mut visit: impl FnMut(&Record)) {
        let Some(layers) = &self.planes[plane.index()] else { return };
        let from = plane.to_grid(center);
        for (classes, records) in layers.iter().zip(&self.records) {
            for class in classes.iter().filter(|class| !class.items.is_empty()) {
                let radius =
                    reach.units + class.max_radius * (1.0 + reach.sizes) + class.max_speed * reach.seconds;
                class.grid.for_each_within(from, radius, |index, _, _| {
                    visit(&records[class.grid.tags()[index] as usize]);
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
            (class.items.clear(), class.max_radius = 0.0, class.max_speed = 0.0);
        }
        for (tag, record) in records.iter().enumerate() {
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
            class.max_speed = class.max_speed.max(plane.project(record.velocity).length());
            let position = plane.to_grid(shape.center());
            // A number from what the obstacle is orders equal cells without a look at storage.
            let id = shape.bits().into_iter().fold(0, |hash, bits| mix(hash ^ u64::from(bits)));
            class.items.push(Item { position, id, tag: tag as u32, ..Item::default() });
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
        Self { exponent, max_radius: 0.0, max_speed: 0.0, items: Vec::new(), grid: Grid::default() }
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
        seen.observe(transform.translation, transform.is_changed(), given, step.tick, step.dt);
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
