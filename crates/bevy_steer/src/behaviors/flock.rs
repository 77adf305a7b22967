//! Flocking: separation, alignment and cohesion among the members of one group.

use bevy::{
    ecs::{change_detection::ContiguousMut, entity::Entities, query::QueryData},
    prelude::*,
};
use bevy_steer_grid::Runner;

use super::{flock_sums::FlockAnswers, flock_take::Members};
use crate::{
    accumulator::SteeringAccumulator,
    agent::{SteeringAgent, SteeringVelocity},
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steering, SteeringBehavior, check},
    parallel::BATCH,
    plane::SteeringPlane,
    priority::SteeringPriority,
};

/// Share of `max_speed` at which a flock travels.
pub(crate) const CRUISE: f32 = 0.8;

/// A member of a flock: keeps distance from flockmates, matches their velocity and stays with them. Flockmates are the
/// agents with a `FlockMember` and the same [`SteeringGroup`](crate::SteeringGroup). Each rule looks within its own radius and averages over
/// its own neighbours. [`FlockLaw`] says how. Changes that bypass change detection are not noticed.
///
/// Source: C. Reynolds, *Flocks, Herds, and Schools: A Distributed Behavioral Model*, 1987.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent)]
#[type_path = "bevy_steer"]
pub struct FlockMember {
    /// How neighbours count.
    pub law: FlockLaw,
    /// Whether separation adds up or averages.
    pub separation: SeparationMode,
    /// How far flockmates push, in units; 2 by default.
    #[reflect(@0.0_f32..=10.0_f32)]
    pub separation_radius: f32,
    /// Factor on separation; 2.5 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub separation_weight: f32,
    /// How far velocities matter, in units; 5 by default.
    #[reflect(@0.0_f32..=20.0_f32)]
    pub alignment_radius: f32,
    /// Factor on alignment; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub alignment_weight: f32,
    /// How far flockmates attract, in units; 6 by default.
    #[reflect(@0.0_f32..=20.0_f32)]
    pub cohesion_radius: f32,
    /// Factor on cohesion; 0.5 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub cohesion_weight: f32,
    /// Factor on the wish to travel at 0.8 `max_speed`, `Smooth` only; 0.25 by default.
    #[reflect(@0.0_f32..=2.0_f32)]
    pub cruise_weight: f32,
    /// Degrees, centred on the heading, within which flockmates are seen; 360 by default.
    #[reflect(@0.0_f32..=360.0_f32)]
    pub field_of_view: f32,
    /// Look at this many flockmates at most, nearest first; all of them by default.
    pub max_neighbors: Option<u32>,
    /// Factor on everything; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

impl Default for FlockMember {
    fn default() -> Self {
        Self {
            law: FlockLaw::Smooth,
            separation: SeparationMode::Sum,
            separation_radius: 2.0,
            separation_weight: 2.5,
            alignment_radius: 5.0,
            alignment_weight: 1.0,
            cohesion_radius: 6.0,
            cohesion_weight: 0.5,
            cruise_weight: 0.25,
            field_of_view: 360.0,
            max_neighbors: None,
            weight: DEFAULT_WEIGHT,
            priority: GOAL,
        }
    }
}

/// How flockmates count.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub enum FlockLaw {
    /// Each flockmate fades in over the outer 30 % of a radius. Alignment desires the faded mean velocity; cohesion
    /// desires the mean velocity plus `offset to the faded centre × max_speed / cohesion radius`; both count by the
    /// largest fade. Nothing jumps when somebody comes into reach.
    #[default]
    Smooth,
    /// The textbook: alignment desires the mean velocity, cohesion seeks the mean position, within hard radii. With a
    /// short reaction time it collapses and twitches.
    Classic,
}

/// Whether the separation from several neighbours adds up or averages.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub enum SeparationMode {
    /// Two neighbours push twice as hard as one.
    #[default]
    Sum,
    /// The mean over the neighbours within the separation radius.
    Mean,
}

impl FlockMember {
    /// The largest radius that it looks within, in units.
    #[must_use]
    pub fn reach(&self) -> f32 {
        check::or_zero(self.separation_radius)
            .max(check::or_zero(self.alignment_radius))
            .max(check::or_zero(self.cohesion_radius))
    }

    /// Whether all values are the same, to the bit.
    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let numbers = |m: &Self| {
            [
                m.separation_radius,
                m.separation_weight,
                m.alignment_radius,
                m.alignment_weight,
                m.cohesion_radius,
                m.cohesion_weight,
                m.cruise_weight,
                m.field_of_view,
                m.weight,
            ]
        };
        // Without branches, for it is asked of every member in every tick.
        let pairs = numbers(self).into_iter().zip(numbers(other));
        let difference = pairs.fold(0, |all, (a, b)| all | (a.to_bits() ^ b.to_bits()));
        (difference == 0)
            & (self.law == other.law)
            & (self.separation == other.separation)
            & (self.max_neighbors == other.max_neighbors)
            & (self.priority == other.priority)
    }
}

impl SteeringBehavior for FlockMember {
    const NAME: &'static str = "FlockMember";

    fn fault(&self) -> Option<Fault> {
        const IGNORED: &str = "must be finite and not negative; the rule is ignored";
        let rules = [
            ("separation_radius", self.separation_radius),
            ("separation_weight", self.separation_weight),
            ("alignment_radius", self.alignment_radius),
            ("alignment_weight", self.alignment_weight),
            ("cohesion_radius", self.cohesion_radius),
            ("cohesion_weight", self.cohesion_weight),
            ("cruise_weight", self.cruise_weight),
        ];
        check::weight(self.weight)
            .or_else(|| rules.into_iter().find_map(|(name, value)| check::not_negative(name, value, IGNORED)))
            .or_else(|| {
                check::not_negative(
                    "field_of_view",
                    self.field_of_view,
                    "must be finite and not negative; all round is seen",
                )
            })
    }
}

/// What flocking reads and writes. What a member asked is known by now, so the component itself is not looked at again.
#[derive(QueryData)]
#[query_data(mutable, contiguous(mutable))]
pub(crate) struct Member {
    entity: Entity,
    agent: &'static SteeringAgent,
    velocity: &'static SteeringVelocity,
    plane: Option<&'static SteeringPlane>,
    accumulator: &'static mut SteeringAccumulator,
}

pub(crate) fn steer(
    steering: Steering,
    entities: &Entities,
    mut answers: Local<FlockAnswers>,
    mut agents: Query<Member, With<FlockMember>>,
) {
    let (grid, pool) = (steering.grid(), steering.pool());
    answers.answer(&pool, grid);
    let rows = grid.rows(entities);
    for table in agents.contiguous_iter_mut().into_iter().flatten() {
        let mut members = Members {
            steering: &steering,
            rows: rows.of(table.entity),
            agent: table.agent,
            velocity: table.velocity,
            own_plane: table.plane,
            plane: steering.defaults().plane,
        };
        // Every tick changes every accumulator: telling of it would be noise.
        let accumulators = ContiguousMut::bypass_change_detection_split(table.accumulator).0;
        // Once for each plane that the table's agents may be in.
        let planes = if table.plane.is_some() { &SteeringPlane::ALL[..] } else { &[members.plane] };
        for &plane in planes {
            members.plane = plane;
            pool.run(accumulators.chunks_mut(BATCH).enumerate(), |(batch, accumulators)| {
                members.take(batch * BATCH, accumulators, &answers);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SteeringGroup, SteeringId, SteeringSystems, testing::*};

    fn classic() -> FlockMember {
        FlockMember {
            law: FlockLaw::Classic,
            separation: SeparationMode::Mean,
            separation_radius: 1.3,
            separation_weight: 1.5,
            alignment_radius: 5.0,
            cohesion_radius: 5.0,
            cohesion_weight: 1.0,
            ..default()
        }
    }

    #[test]
    fn reference_trace() {
        let mut sim = Sim::new(5.0).with_agent_defaults(2.5, 4.0, 1.0);
        let rows = read_reference("flock.csv");
        let boids: Vec<Entity> =
            rows[..4].iter().map(|r| sim.moving(r.vec("px", "py"), r.vec("vx", "vy"), classic())).collect();
        for (i, row) in rows.iter().enumerate() {
            if i > 0 && i % 4 == 0 {
                sim.tick();
            }
            let (p, v) = (sim.position(boids[i % 4]), sim.velocity(boids[i % 4]));
            assert!(p.distance(row.vec("px", "py")) < 1e-3, "row {i}: {p}");
            assert!(v.distance(row.vec("vx", "vy")) < 1e-3, "row {i}: {v}");
        }
    }

    /// Force on the first of agents with `member`, at `offsets` from it.
    fn force(member: FlockMember, offsets: &[Vec3], velocity: Vec3) -> Vec3 {
        let mut sim = Sim::new(60.0);
        let first = sim.moving(Vec3::ZERO, Vec3::X, member);
        for &offset in offsets {
            sim.moving(offset, velocity, member);
        }
        sim.tick();
        sim.force(first)
    }

    fn only(separation: f32, alignment: f32, cohesion: f32) -> FlockMember {
        FlockMember {
            separation_weight: separation,
            alignment_weight: alignment,
            cohesion_weight: cohesion,
            cruise_weight: 0.0,
            ..default()
        }
    }

    #[test]
    fn a_rule_without_a_radius_is_off_and_leaves_the_others_alone() {
        let neighbours = [Vec3::new(1.0, 0.5, 0.0), Vec3::new(-3.0, 1.0, 0.0)];
        for radius in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let without = [
                (
                    FlockMember { cohesion_radius: radius, ..default() },
                    FlockMember { cohesion_weight: 0.0, ..default() },
                ),
                (
                    FlockMember { alignment_radius: radius, ..default() },
                    FlockMember { alignment_weight: 0.0, ..default() },
                ),
                (
                    FlockMember { separation_radius: radius, ..default() },
                    FlockMember { separation_weight: 0.0, ..default() },
                ),
            ];
            for (no_radius, no_weight) in without {
                let [a, b] = [no_radius, no_weight].map(|member| force(member, &neighbours, Vec3::Y));
                assert!(a.distance(b) < 1e-4 && a != Vec3::ZERO, "{no_radius:?}: {a} {b}");
            }
        }
        let mut sim = Sim::new(60.0);
        for n in 0..2 {
            sim.moving(Vec3::X * n as f32, Vec3::X, FlockMember { cohesion_radius: 0.0, ..default() });
        }
        sim.ticks(3);
        let warnings = sim.app.world().resource::<crate::SteeringWarnings>();
        assert_eq!(warnings.iter().count(), 0, "0 switches a rule off and is no fault");
    }

    #[test]
    fn case_08_a_flock_of_one_gives_no_output_but_its_cruise() {
        assert_eq!(force(only(2.5, 1.0, 0.5), &[], Vec3::ZERO), Vec3::ZERO);
        // Another group is nobody.
        let mut sim = Sim::new(60.0);
        let one = sim.moving(Vec3::ZERO, Vec3::X, only(2.5, 1.0, 0.5));
        sim.agent(Vec3::X, (only(2.5, 1.0, 0.5), SteeringGroup(7)));
        sim.agent(Vec3::Y, ());
        sim.tick();
        assert_eq!(sim.force(one), Vec3::ZERO);
    }

    #[test]
    fn case_34_the_nearest_counts_when_neighbours_are_limited() {
        let member = FlockMember { max_neighbors: Some(6), ..only(2.5, 0.0, 0.0) };
        let mut far: Vec<Vec3> = (0..59)
            .map(|i| {
                let (sin, cos) = ops::sin_cos(i as f32 * 0.37);
                Vec3::new(cos, sin, 0.0) * (2.1 + 0.05 * i as f32)
            })
            .collect();
        assert_eq!(force(member, &far, Vec3::X), Vec3::ZERO, "nobody within the separation radius");
        far.push(Vec3::Y * 0.3);
        assert!(force(member, &far, Vec3::X).y < -1.0, "the nearest, stored last, pushes");
    }

    #[test]
    fn case_39_each_rule_has_its_own_radius() {
        let member = FlockMember { separation_radius: 6.0, cohesion_radius: 3.0, ..only(2.5, 0.0, 0.5) };
        assert!(force(member, &[Vec3::X * 4.0], Vec3::X).x < -0.5, "separation sees a neighbour at 4");
        assert!(force(member, &[Vec3::X * 5.0], Vec3::X).x < 0.0, "separation sees a neighbour at 5");
        // The neighbour at 5 is out of cohesion's sight, so it does not shift the centre.
        let near = FlockMember { separation_weight: 0.0, ..member };
        let [one, two] =
            [&[Vec3::Y][..], &[Vec3::Y, Vec3::X * 5.0][..]].map(|offsets| force(near, offsets, Vec3::X));
        assert!(one.length() > 0.1 && one == two, "{one} {two}");
    }

    #[test]
    fn case_40_a_crowd_at_one_place_attracts_like_one() {
        let one = force(only(0.0, 0.0, 0.5), &[Vec3::Y * 3.0], Vec3::X);
        let many = force(only(0.0, 0.0, 0.5), &[Vec3::Y * 3.0; 50], Vec3::X);
        assert!(one.y > 0.1 && one.distance(many) < 1e-4, "{one} {many}");
    }

    #[test]
    fn case_42_nobody_jumps_into_view() {
        let rules = [
            (only(2.5, 0.0, 0.0), 2.0),
            (only(0.0, 1.0, 0.0), 5.0),
            (only(0.0, 0.0, 0.5), 6.0),
            (FlockMember::default(), 6.0),
        ];
        for (member, radius) in rules {
            let [out, inside] = [1.01, 0.99].map(|s| force(member, &[Vec3::Y * radius * s], Vec3::Y * 5.0));
            assert!(out.distance(inside) < 0.01 * 15.0, "radius {radius}: {out} {inside}");
            let well_inside = force(member, &[Vec3::Y * radius * 0.7], Vec3::Y * 5.0);
            assert!(out.distance(well_inside) > 0.05 * 15.0, "the rule acts at all: {out} {well_inside}");
        }
    }

    #[test]
    fn who_is_behind_is_out_of_a_narrow_field_of_view() {
        let member = FlockMember { field_of_view: 270.0, ..only(2.5, 1.0, 0.5) };
        assert_eq!(force(member, &[Vec3::X * -1.5], Vec3::Y), Vec3::ZERO);
        assert_ne!(force(member, &[Vec3::new(-0.5, 1.5, 0.0)], Vec3::Y), Vec3::ZERO);
    }

    #[test]
    fn case_52_point_reflections_stay_point_reflections() {
        let mut sim = Sim::new(60.0);
        let (p, v) = (Vec3::new(0.7, 0.4, 0.0), Vec3::new(1.0, 2.0, 0.0));
        let a = sim.moving(p, v, FlockMember::default());
        let b = sim.moving(-p, -v, FlockMember::default());
        for tick in 0..600 {
            sim.tick();
            assert_eq!(sim.position(a), -sim.position(b), "tick {tick}");
        }
    }

    struct Shape {
        polarization: f32,
        mean_speed: f32,
        turning: f32,
        median_nearest: f32,
        least: f32,
    }

    fn flock_after_20_s(hz: f64, plane: crate::SteeringPlane) -> Shape {
        let mut sim = Sim::new(hz).with_plane(plane);
        let mut rng = crate::AgentRng::seeded(crate::SteeringSeed(3), SteeringId(3), 3);
        let mut draw = || loop {
            let v = plane.project(Vec3::new(rng.signed(), rng.signed(), rng.signed()));
            if (0.01..=1.0).contains(&v.length_squared()) {
                break v;
            }
        };
        let agents: Vec<Entity> = (0..100)
            .map(|_| {
                let (p, v) = (draw() * 10.0, draw().normalize() * 5.0);
                sim.moving(p, v, FlockMember::default())
            })
            .collect();
        sim.seconds(19.0);
        let before: Vec<Vec3> = agents.iter().map(|&a| sim.velocity(a)).collect();
        let mut turned = 0.0;
        let mut last = before;
        for _ in 0..hz as usize {
            sim.tick();
            for (last, &agent) in last.iter_mut().zip(&agents) {
                turned += last.angle_between(sim.velocity(agent));
                *last = sim.velocity(agent);
            }
        }
        let n = agents.len() as f32;
        let mut nearest: Vec<f32> = agents
            .iter()
            .map(|&a| {
                let others = agents.iter().filter(|&&b| b != a);
                others.map(|&b| sim.position(a).distance(sim.position(b))).fold(f32::INFINITY, f32::min)
            })
            .collect();
        nearest.sort_by(f32::total_cmp);
        Shape {
            polarization: last.iter().map(|v| v.normalize()).sum::<Vec3>().length() / n,
            mean_speed: last.iter().map(|v| v.length()).sum::<f32>() / n,
            turning: turned / n,
            median_nearest: nearest[50],
            least: nearest[0],
        }
    }

    #[test]
    fn case_44_a_flock_forms_and_travels_calmly() {
        for hz in [20.0, 60.0] {
            let s = flock_after_20_s(hz, crate::SteeringPlane::Xy);
            println!(
                "{hz} Hz: polarisation {:.3}, speed {:.2}, turning {:.3} rad/s, nearest {:.2}, least {:.2}",
                s.polarization, s.mean_speed, s.turning, s.median_nearest, s.least
            );
            assert!(s.polarization > 0.8, "{hz} Hz: polarisation {}", s.polarization);
            assert!(s.mean_speed > 2.5, "{hz} Hz: speed {}", s.mean_speed);
            assert!(s.turning < 1.0, "{hz} Hz: turning {}", s.turning);
            assert!(s.median_nearest > 1.0, "{hz} Hz: nearest {}", s.median_nearest);
        }
    }

    #[test]
    fn a_flock_in_space_forms_too() {
        let s = flock_after_20_s(60.0, crate::SteeringPlane::Space);
        assert!(s.polarization > 0.8 && s.mean_speed > 2.5 && s.median_nearest > 1.0, "{}", s.polarization);
    }

    #[test]
    fn a_pile_on_one_point_bursts_to_all_sides() {
        let mean = FlockMember { separation: SeparationMode::Mean, ..only(2.5, 0.0, 0.0) };
        // Of one flock or of many, so that flockmates lie far apart in the grid's order; few and more than are looked at.
        for (count, groups, member) in
            [(3, 1, only(2.5, 0.0, 0.0)), (300, 1, only(2.5, 0.0, 0.0)), (300, 1, mean), (900, 9, mean)]
        {
            let mut sim = Sim::new(60.0);
            let pile: Vec<Entity> =
                (0..count).map(|n| sim.agent(Vec3::ONE, (member, SteeringGroup(n % groups)))).collect();
            sim.tick();
            // Random directions add up to hardly anything for a few: by chance for one in 300.
            let limit = 0.99 * crate::SteeringAgent::default().max_force;
            let forces: Vec<f32> = pile.iter().map(|&agent| sim.force(agent).length()).collect();
            assert!(forces.iter().all(|&force| force > 0.0), "{count} in {groups}: all are pushed");
            let strong = forces.iter().filter(|&&force| force > limit).count();
            assert!(strong * 100 >= 97 * forces.len(), "{strong} of {count} in {groups} with all they have");
            sim.seconds(2.0);
            let at = |&agent: &Entity| sim.position(agent).truncate();
            let center = pile.iter().map(at).sum::<Vec2>() / count as f32;
            let spread = pile.iter().map(|agent| at(agent).distance(center)).sum::<f32>() / count as f32;
            assert!(center.distance(Vec2::ONE) < 0.3 * spread, "{count}, {groups}: {center}, {spread}");
        }
    }

    #[test]
    fn who_changes_tables_within_a_tick_flocks_on() {
        /// Moves agents to other tables between the grid and the flock.
        #[derive(Component)]
        struct Stirred;
        let positions = |stir: bool| {
            let mut sim = Sim::new(60.0);
            let agents: Vec<Entity> = (0..40)
                .map(|n| {
                    let place = Vec3::new((n % 7) as f32 * 1.3, (n / 7) as f32 * 1.1, 0.0);
                    sim.moving(place, Vec3::new(1.0, (n % 3) as f32, 0.0), FlockMember::default())
                })
                .collect();
            let chosen = agents.clone();
            sim.app.add_systems(
                FixedUpdate,
                (move |mut commands: Commands| {
                    for &agent in chosen.iter().step_by(3).filter(|_| stir) {
                        commands.entity(agent).insert(Stirred);
                    }
                    commands.entity(chosen[1]).remove::<Stirred>();
                })
                .after(SteeringSystems::Sense)
                .before(SteeringSystems::Steer),
            );
            sim.ticks(5);
            if stir {
                assert_eq!(sim.app.world_mut().query::<&Stirred>().iter(sim.app.world()).count(), 14);
            }
            agents.iter().map(|&agent| sim.position(agent)).collect::<Vec<_>>()
        };
        assert_eq!(positions(true), positions(false), "to the bit");
    }

    #[test]
    fn case_45_a_despawned_neighbour_is_gone_from_the_next_tick() {
        let mut sim = Sim::new(60.0);
        let stays = sim.moving(Vec3::ZERO, Vec3::X, only(2.5, 1.0, 0.5));
        let goes = sim.moving(Vec3::Y, Vec3::X, only(2.5, 1.0, 0.5));
        let quits = sim.moving(Vec3::NEG_Y, Vec3::X, only(2.5, 1.0, 0.5));
        let hides = sim.moving(Vec3::NEG_X, Vec3::X, only(2.5, 1.0, 0.5));
        sim.tick();
        assert_ne!(sim.force(stays), Vec3::ZERO);
        sim.app.world_mut().despawn(goes);
        sim.app.world_mut().entity_mut(quits).remove::<SteeringAgent>();
        sim.app.world_mut().entity_mut(hides).insert(bevy::ecs::entity_disabling::Disabled);
        sim.tick();
        assert_eq!(sim.force(stays), Vec3::ZERO, "nobody is left");
    }
}
