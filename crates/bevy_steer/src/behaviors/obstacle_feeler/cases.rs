//! The feeler in whole scenes: what it must never do, whatever the scene.

use bevy::{math::ops, prelude::*};

use crate::{
    AgentRng, Arrive, BehaviorId, FeelerState, Obstacle, ObstacleFeeler, ObstacleShape, Seek,
    SteeringAccumulator, SteeringAgent, SteeringCombine, SteeringDefaults, SteeringId, SteeringPlane,
    SteeringPriority, SteeringSeed, SteeringSystems, SteeringVelocity, behavior::SteererItem, testing::*,
};

/// The outlines of all obstacles as they are now, straight from the world.
fn outlines(sim: &mut Sim) -> Vec<ObstacleShape> {
    let world = sim.app.world_mut();
    let plane = world.resource::<SteeringDefaults>().plane;
    let mut obstacles = world.query::<(&Obstacle, &Transform)>();
    obstacles.iter(world).filter_map(|(obstacle, transform)| obstacle.shape(transform, plane)).collect()
}

/// The smallest gap in units between an agent's edge and any obstacle, negative where they overlap.
fn gap(sim: &Sim, agent: Entity, outlines: &[ObstacleShape]) -> f32 {
    let plane = sim.app.world().resource::<SteeringDefaults>().plane;
    let radius = sim.get::<SteeringAgent>(agent).radius;
    let position = plane.project(sim.position(agent));
    outlines.iter().map(|shape| shape.surface(position).distance - radius).fold(f32::INFINITY, f32::min)
}

/// Runs for so many seconds; answers the smallest gap that any of the agents had.
fn smallest_gap(sim: &mut Sim, agents: &[Entity], seconds: f32, mut each: impl FnMut(&mut Sim)) -> f32 {
    let dt = sim.app.world().resource::<Time<Fixed>>().timestep().as_secs_f32();
    let mut smallest = f32::INFINITY;
    for _ in 0..(seconds / dt).round() as usize {
        sim.tick();
        let outlines = outlines(sim);
        smallest = agents.iter().map(|&agent| gap(sim, agent, &outlines)).fold(smallest, f32::min);
        each(sim);
    }
    smallest
}

/// Moves steadily, without telling steering.
#[derive(Component, Clone, Copy)]
struct Drives(Vec3);

/// Desires to run away from a point at full speed.
#[derive(Component, Clone, Copy)]
struct RunsFrom(Vec3);

/// Roams as the literature says: a point on a circle ahead, its angle nudged at random, at the level of idling.
#[derive(Component, Clone, Copy, Default)]
struct Roams {
    angle: f32,
    rng: AgentRng,
}

/// Adds the systems of the stand-ins above.
fn with_goals(mut sim: Sim) -> Sim {
    const ID: BehaviorId = BehaviorId::new("StandIn");
    let runs = |mut agents: Query<(&RunsFrom, &Transform, &SteeringAgent, &mut SteeringAccumulator)>| {
        for (from, transform, agent, mut accumulator) in &mut agents {
            let away = (transform.translation - from.0).normalize_or(Vec3::X) * agent.max_speed;
            accumulator.desire(ID, away, 1.0, SteeringPriority::GOAL);
        }
    };
    let roams = |time: Res<Time>, mut agents: Query<(crate::Steerer, &mut Roams)>| {
        for (mut me, mut roams) in &mut agents {
            let me: &mut SteererItem = &mut me;
            roams.rng.ensure_seeded(SteeringSeed(7), *me.id, 1);
            roams.angle += roams.rng.signed() * 0.6455 * (3.0 * time.delta_secs()).sqrt();
            let (sin, cos) = ops::sin_cos(roams.angle);
            let ahead = me.velocity.normalize_or(Vec3::X) * 2.0 + Vec3::new(cos, sin, 0.0) * 1.2;
            let desired = ahead.normalize_or(Vec3::X) * me.agent.max_speed;
            me.accumulator.desire(ID, desired, 1.0, SteeringPriority::IDLE);
        }
    };
    let drives = |time: Res<Time>, mut things: Query<(&Drives, &mut Transform)>| {
        for (drives, mut transform) in &mut things {
            transform.translation += drives.0 * time.delta_secs();
        }
    };
    sim.app.add_systems(FixedUpdate, (runs, roams).in_set(SteeringSystems::Steer));
    sim.app.add_systems(FixedUpdate, drives.after(SteeringSystems::Integrate));
    sim
}

fn wall(sim: &mut Sim, from: Vec2, to: Vec2, thickness: f32) -> Entity {
    let wall = Obstacle::wall_between(from.extend(0.0), to.extend(0.0), thickness);
    sim.app.world_mut().spawn(wall).id()
}

fn ball(sim: &mut Sim, x: f32, y: f32, radius: f32) -> Entity {
    sim.thing(Vec3::new(x, y, 0.0), Obstacle::Sphere { radius })
}

#[test]
fn reference_trace_of_the_point_feeler() {
    let mut sim = Sim::new(1.0 / 0.15).with_agent_defaults(4.0, 10.0, 1.0);
    let brain = (Seek::new(Vec3::X * 20.0), ObstacleFeeler::point(3.0), SteeringCombine::FirstNonZero);
    let agent = sim.moving(Vec3::ZERO, Vec3::X * 3.0, brain);
    sim.moving(Vec3::Y * 90.0, Vec3::X * 3.0, ObstacleFeeler::point(3.0));
    ball(&mut sim, 6.0, 1.0, 1.0);
    for (step, row) in read_reference("feeler_point.csv").iter().enumerate() {
        let position = sim.position(agent);
        assert!(position.distance(row.vec("px", "py")) < 1e-3, "step {step}: {position}");
        let tip = position + sim.velocity(agent).normalize() * 3.0;
        assert!(tip.distance(row.vec("tip_x", "tip_y")) < 2e-3, "step {step}: tip {tip}");
        sim.tick();
        let engaged = sim.get::<FeelerState>(agent).is_engaged();
        assert_eq!(engaged, row.text("mode") == "AVOID", "step {step}");
    }
}

#[test]
fn the_point_feeler_lets_go_later_than_it_grips() {
    for (release, engaged_at) in [(1.2, [true, true, true, false]), (1.0, [true, true, false, false])] {
        let mut sim = Sim::new(60.0);
        let agent = sim.agent(Vec3::ZERO, ObstacleFeeler::point(3.0).with_release(release));
        let other = sim.agent(Vec3::Y * 50.0, ObstacleFeeler::point(3.0));
        let obstacle = ball(&mut sim, 4.0, 0.0, 1.0);
        // The tip is at x = 3; it grips at a distance of 1.5 from the centre.
        for (x, engaged) in [4.0, 4.4, 4.7, 4.9].into_iter().zip(engaged_at) {
            sim.get_mut::<Transform>(agent).translation = Vec3::ZERO;
            sim.set_velocity(agent, Vec3::ZERO);
            sim.get_mut::<Transform>(obstacle).translation.x = x;
            sim.tick();
            assert_eq!(sim.get::<FeelerState>(agent).is_engaged(), engaged, "release {release} at {x}");
        }
        assert!(!sim.get::<FeelerState>(other).is_engaged());
    }
}

#[test]
fn case_03_at_the_very_centre_of_a_circle() {
    for feeler in [ObstacleFeeler::default(), ObstacleFeeler::point(0.0)] {
        let outcomes: Vec<Vec3> = (0..2)
            .map(|_| {
                let mut sim = Sim::new(60.0).with_agent(SteeringAgent::new(5.0, 20.0));
                let agents = [3.0, 90.0].map(|y| {
                    ball(&mut sim, 0.0, y, 2.0);
                    sim.agent(Vec3::Y * y, feeler)
                });
                sim.tick();
                for agent in agents {
                    let force = sim.force(agent);
                    assert!(force.is_finite() && force != Vec3::ZERO, "a finite push: {force}");
                }
                sim.seconds(3.0);
                let outlines = outlines(&mut sim);
                for agent in agents {
                    assert!(gap(&sim, agent, &outlines) > 0.0, "outside within 3 s: {}", sim.position(agent));
                }
                sim.position(agents[0])
            })
            .collect();
        assert_eq!(outcomes[0], outcomes[1], "the same way in every run");
    }
}

#[test]
fn case_24_a_target_beside_a_wall_is_reached() {
    let mut sim = Sim::new(60.0).with_agent(SteeringAgent::default().with_radius(0.1));
    let brain = |target| (Arrive::new(target).with_tolerance(0.5), ObstacleFeeler::default());
    wall(&mut sim, Vec2::new(10.0, -5.0), Vec2::new(10.0, 5.0), 0.2);
    let agents =
        [(0.0, 0.0), (4.0, 3.0)].map(|(x, y)| sim.agent(Vec3::new(x, y, 0.0), brain(Vec3::new(9.7, y, 0.0))));
    let smallest = smallest_gap(&mut sim, &agents, 8.0, |_| {});
    for agent in agents {
        let (position, velocity) = (sim.position(agent), sim.velocity(agent));
        assert!((position.x - 9.7).abs() <= 0.5 && velocity == Vec3::ZERO, "arrives: {position} {velocity}");
    }
    assert!(smallest > 0.0, "{smallest}");
}

/// Case 26 with the scene moved by `by`; answers the side taken, 1 left or −1 right.
fn round_a_circle(by: f32, hz: f64) -> f32 {
    let mut sim = Sim::new(hz);
    let at = |x: f32| Vec3::X * (by + x);
    let agent = sim.moving(at(0.0), Vec3::X * 5.0, (Seek::new(at(20.0)), ObstacleFeeler::default()));
    let other = sim.moving(
        Vec3::Y * 60.0,
        Vec3::X * 5.0,
        (Seek::new(Vec3::new(20.0, 60.0, 0.0)), ObstacleFeeler::default()),
    );
    ball(&mut sim, by + 10.0, 0.0, 1.0);
    let (mut sides, mut beyond) = (Vec::new(), None);
    let mut ticks = 0.0;
    let smallest = smallest_gap(&mut sim, &[agent, other], 6.0, |sim| {
        ticks += 1.0;
        let p = sim.position(agent);
        if p.x < by + 11.5 && p.y.abs() > 1e-3 && sides.last() != Some(&p.y.signum()) {
            sides.push(p.y.signum());
        }
        if beyond.is_none() && p.x > by + 11.5 {
            beyond = Some(ticks / hz as f32);
        }
    });
    assert!(smallest >= 0.0, "{by} at {hz} Hz overlaps: {smallest}");
    assert!(sides.len() <= 2, "changes sides at most once: {sides:?}");
    assert!(beyond.is_some(), "{by} at {hz} Hz is beyond it within 6 s: {}", sim.position(agent));
    sides.first().copied().unwrap_or(0.0)
}

#[test]
fn case_26_round_a_circle_dead_ahead_on_one_side() {
    let side = round_a_circle(0.0, 60.0);
    assert!(side != 0.0);
    for (by, hz) in [(1000.0, 60.0), (-777.7, 60.0), (0.0, 20.0), (1000.0, 20.0), (0.1, 144.0)] {
        assert_eq!(round_a_circle(by, hz), side, "moved by {by} at {hz} Hz: the same side");
    }
}

#[test]
fn case_27_thin_walls_are_seen_at_any_speed() {
    // The speed whose look-ahead is just over 5: a point at the tip would be beyond the wall.
    for (speed, x, thickness) in [(6.8, 2.0, 0.3), (100.0, 30.0, 0.2), (100.0, 2.0, 0.0)] {
        let mut sim = Sim::new(60.0).with_agent(SteeringAgent::new(speed, 15.0));
        let brain = (Seek::new(Vec3::X * 2000.0), ObstacleFeeler::default());
        let agent = sim.moving(Vec3::ZERO, Vec3::X * speed, brain);
        let free = sim.moving(Vec3::Y * 900.0, Vec3::X * speed, ObstacleFeeler::default());
        wall(&mut sim, Vec2::new(x, -20.0), Vec2::new(x, 20.0), thickness);
        sim.tick();
        assert!(sim.get::<FeelerState>(agent).is_engaged(), "{speed}: the wall at {x} is seen");
        assert!(sim.force(agent).x < 0.0, "and acted on: {}", sim.force(agent));
        assert!(!sim.get::<FeelerState>(free).is_engaged(), "where there is none, none is seen");
    }
}

#[test]
fn case_27_thin_walls_are_never_crossed() {
    for hz in [20.0, 60.0] {
        for (speed, from) in [(5.0, 5.0), (20.0, 50.0), (100.0, 600.0)] {
            for slope in [0.0, 0.3, 1.2] {
                let mut sim = Sim::new(hz).with_agent(SteeringAgent::new(speed, 15.0));
                let start = Vec3::new(2.0 - from, from * slope, 0.0);
                let to = Vec3::new(2.0 + from, -from * slope, 0.0);
                let brain = (Seek::new(to), ObstacleFeeler::default());
                let agent = sim.moving(start, (to - start).normalize() * speed, brain);
                let other = sim.moving(start + Vec3::Y * 3.0, Vec3::X * speed, brain);
                wall(&mut sim, Vec2::new(2.0, -9.0 * from), Vec2::new(2.0, 9.0 * from), 0.2);
                let smallest = smallest_gap(&mut sim, &[agent, other], 2.5 * from / speed + 3.0, |sim| {
                    for agent in [agent, other] {
                        assert!(sim.position(agent).x < 2.0, "v {speed} at {hz} Hz is through the wall");
                    }
                });
                assert!(smallest >= 0.0, "v {speed}, slope {slope}, {hz} Hz overlaps: {smallest}");
            }
        }
    }
}

#[test]
fn case_28_out_of_a_concave_corner_while_roaming() {
    for hz in [20.0, 60.0] {
        for whisker_angle in [15.0, 30.0] {
            let mut sim = with_goals(Sim::new(hz));
            wall(&mut sim, Vec2::new(10.0, 0.0), Vec2::new(0.0, 10.0), 0.2);
            wall(&mut sim, Vec2::new(10.0, 0.0), Vec2::new(0.0, -10.0), 0.2);
            let feeler = ObstacleFeeler::new(crate::FeelerMode::Swept { whisker_angle, skin: 0.05 });
            let agents: Vec<Entity> = (0..16)
                .map(|n| {
                    let start = Vec3::new(5.0, (n as f32 - 7.5) * 0.1, 0.0);
                    sim.moving(start, Vec3::X * 5.0, (Roams::default(), feeler, SteeringId(n)))
                })
                .collect();
            let mut out = vec![false; agents.len()];
            let smallest = smallest_gap(&mut sim, &agents, 4.0, |sim| {
                for (out, &agent) in out.iter_mut().zip(&agents) {
                    let p = sim.position(agent);
                    // Out: it has turned and is back past where it began.
                    *out |= p.x < 5.0;
                    assert!(p.x + p.y.abs() < 10.0 || p.y.abs() > 10.0, "through a wall at {p}");
                }
            });
            assert!(out.iter().all(|&out| out), "out within 4 s at {hz} Hz, {whisker_angle}°: {out:?}");
            assert!(smallest >= 0.0, "at {hz} Hz, {whisker_angle}°: {smallest}");
        }
    }
}

#[test]
fn case_29_out_of_a_box_by_the_nearest_face() {
    for hz in [20.0, 60.0] {
        let mut sim = Sim::new(hz);
        sim.thing(Vec3::ZERO, Obstacle::Cuboid { half_extents: Vec3::splat(2.0) });
        let agent = sim.agent(Vec3::X * 0.5, ObstacleFeeler::default());
        let other =
            sim.agent(Vec3::new(-0.2, -0.9, 0.0), (Seek::new(Vec3::Y * 9.0), ObstacleFeeler::default()));
        let mut faces = [None; 2];
        for _ in 0..(4.0 * hz) as usize {
            sim.tick();
            for (face, agent) in faces.iter_mut().zip([agent, other]) {
                let p = sim.position(agent);
                if face.is_none() && p.abs().max_element() > 2.0 {
                    *face = Some(p);
                }
            }
        }
        let [first, second] = faces.map(|face| face.expect("it gets out"));
        assert!(first.x > 2.0 && first.y.abs() < 0.1, "by x = 2: {first}");
        assert!(second.y < -2.0, "by y = −2, whatever it seeks: {second}");
    }
}

#[test]
fn case_30_flees_along_a_wall() {
    for hz in [20.0, 60.0] {
        let mut sim = with_goals(Sim::new(hz));
        wall(&mut sim, Vec2::new(0.0, -60.0), Vec2::new(0.0, 60.0), 0.0);
        let threat = Vec3::X * 3.0;
        let agent = sim.agent(Vec3::X * 0.6, (RunsFrom(threat), ObstacleFeeler::default()));
        let other = sim.agent(Vec3::new(0.6, 1.0, 0.0), (RunsFrom(threat), ObstacleFeeler::default()));
        let smallest = smallest_gap(&mut sim, &[agent, other], 4.0, |_| {});
        for agent in [agent, other] {
            let (p, v) = (sim.position(agent), sim.velocity(agent));
            assert!(p.y.abs() > 8.0 && p.x < 1.5, "slides along the wall at {hz} Hz: {p}");
            assert!(v.length() > 4.0, "at speed: {v}");
        }
        assert!(sim.position(other).y > 0.0, "away from the threat, not past it");
        assert!(smallest >= 0.0, "{smallest}");
    }
}

/// Two walls across the way with a gap between them; agents at several offsets.
fn through_a_gap(hz: f64, speed: f32, radius: f32, gap_width: f32, offsets: &[f32]) {
    let agent = SteeringAgent::new(speed, (3.0 * speed).max(15.0)).with_radius(radius);
    let mut sim = Sim::new(hz).with_agent(agent);
    for sign in [1.0, -1.0] {
        let edge = sign * 0.5 * gap_width;
        wall(&mut sim, Vec2::new(10.0, edge), Vec2::new(10.0, edge + sign * 8.0), 0.3);
    }
    let agents: Vec<Entity> = offsets
        .iter()
        .map(|&y| sim.agent(Vec3::new(0.0, y, 0.0), (Seek::new(Vec3::X * 22.0), ObstacleFeeler::default())))
        .collect();
    let mut passed = vec![None; agents.len()];
    let smallest = smallest_gap(&mut sim, &agents, 100.0 / speed, |sim| {
        for (passed, &agent) in passed.iter_mut().zip(&agents) {
            let p = sim.position(agent);
            if passed.is_none() && p.x > 10.0 {
                *passed = Some(p.y);
            }
        }
    });
    let scene = format!("v {speed}, r {radius}, gap {gap_width}, {hz} Hz");
    assert!(smallest >= 0.0, "{scene}: overlap {smallest}");
    // An agent that moves farther in a tick than the room it has may miss the gap and go round the end of the wall.
    let fits = speed / hz as f32 <= gap_width - 2.0 * radius;
    for (passed, y) in passed.iter().zip(offsets) {
        let through = passed.is_some_and(|y| y.abs() < 0.5 * gap_width);
        assert!(passed.is_some() && (through || !fits), "{scene}, offset {y}: {passed:?}");
    }
}

#[test]
fn case_31_through_a_gap() {
    for hz in [20.0, 60.0] {
        through_a_gap(hz, 5.0, 0.5, 1.4, &[0.0, 0.3, 2.0]);
    }
}

#[test]
fn gaps_of_all_sizes_are_passed() {
    for hz in [20.0, 60.0] {
        for speed in [2.0, 5.0, 10.0, 20.0] {
            for radius in [0.2, 0.5, 1.5] {
                through_a_gap(hz, speed, radius, 2.8 * radius, &[0.0, 0.1 * radius, -radius, 2.0, -4.0]);
            }
        }
    }
}

#[test]
fn case_33_several_obstacles_count_whatever_their_order() {
    let places = [(8.0, 0.3, 1.0), (8.0, -2.2, 1.1), (11.0, 2.5, 1.5), (13.0, -0.6, 0.8), (9.5, 0.9, 0.7)];
    let run = |order: &[usize]| {
        let mut sim = Sim::new(60.0);
        // Entities, archetypes and rows differ from run to run.
        for &i in order {
            let (x, y, radius) = places[i];
            let obstacle = ball(&mut sim, x, y, radius);
            if i % 2 == 0 {
                sim.app.world_mut().entity_mut(obstacle).insert(Name::new("odd archetype"));
            }
        }
        let agents = [0.0, 0.4].map(|y| {
            let brain = (Seek::new(Vec3::new(25.0, y, 0.0)), ObstacleFeeler::default());
            sim.agent(Vec3::new(0.0, y, 0.0), brain)
        });
        let smallest = smallest_gap(&mut sim, &agents, 8.0, |_| {});
        assert!(smallest >= 0.0, "{order:?}: {smallest}");
        for agent in agents {
            assert!(sim.position(agent).x > 15.0, "{order:?} passes: {}", sim.position(agent));
        }
        sim.hash()
    };
    let hash = run(&[0, 1, 2, 3, 4]);
    for order in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 4, 0, 3, 2]] {
        assert_eq!(run(&order), hash, "{order:?}: the same bits");
    }
}

#[test]
fn single_obstacles_are_passed_at_any_speed_size_and_offset() {
    let cuboid = |x: f32, y: f32| Obstacle::Cuboid { half_extents: Vec3::new(x, y, 1.0) };
    let shapes = [
        (Obstacle::Sphere { radius: 0.3 }, 0.0),
        (Obstacle::Sphere { radius: 1.0 }, 0.0),
        (Obstacle::Sphere { radius: 4.0 }, 0.0),
        (cuboid(1.0, 2.0), 0.0),
        (cuboid(1.0, 2.0), 0.5),
        (Obstacle::Wall { half_length: 5.0, half_height: 1.0, thickness: 0.1 }, 1.2),
    ];
    for hz in [20.0, 60.0] {
        for speed in [2.0, 5.0, 20.0] {
            for radius in [0.2, 0.5, 1.5] {
                let mut sim = Sim::new(hz).with_agent(SteeringAgent::new(speed, 15.0).with_radius(radius));
                let away = speed * speed / 15.0 + 20.0;
                let mut agents = Vec::new();
                for (row, (obstacle, turn)) in shapes.iter().enumerate() {
                    let y = row as f32 * 200.0;
                    let at = Transform::from_xyz(away, y, 0.0).with_rotation(Quat::from_rotation_z(*turn));
                    sim.app.world_mut().spawn((*obstacle, at));
                    for offset in [0.0, 0.01, -0.7, 1.3] {
                        let brain = (Seek::new(Vec3::new(2.0 * away, y, 0.0)), ObstacleFeeler::default());
                        agents.push(sim.agent(Vec3::new(0.0, y + offset, 0.0), brain));
                    }
                }
                let mut passed = vec![false; agents.len()];
                let smallest = smallest_gap(&mut sim, &agents, 3.5 * away / speed + 4.0, |sim| {
                    for (passed, &agent) in passed.iter_mut().zip(&agents) {
                        *passed |= sim.position(agent).x > away + 6.0;
                    }
                });
                let scene = format!("v {speed}, r {radius}, {hz} Hz");
                assert!(smallest >= 0.0, "{scene}: overlap {smallest}");
                assert!(passed.iter().all(|&p| p), "{scene}: {passed:?}");
            }
        }
    }
}

#[test]
fn moving_boxes_are_dodged() {
    for hz in [20.0, 60.0] {
        for (from, velocity) in [
            (Vec3::new(8.0, -6.0, 0.0), Vec3::Y * 4.0),
            (Vec3::new(9.0, 8.0, 0.0), Vec3::Y * -5.0),
            (Vec3::new(20.0, 0.2, 0.0), Vec3::X * -4.0),
            (Vec3::new(-6.0, 0.0, 0.0), Vec3::X * 3.0),
        ] {
            for told in [true, false] {
                let mut sim = with_goals(Sim::new(hz));
                let half_extents = Vec3::new(1.0, 1.5, 1.0);
                let lorry = sim.thing(from, (Drives(velocity), Obstacle::Cuboid { half_extents }));
                if told {
                    sim.app.world_mut().entity_mut(lorry).insert(SteeringVelocity(velocity));
                }
                let agents = [0.0, 0.5]
                    .map(|y| sim.agent(Vec3::Y * y, (Seek::new(Vec3::X * 25.0), ObstacleFeeler::default())));
                let mut passed = [false; 2];
                let smallest = smallest_gap(&mut sim, &agents, 9.0, |sim| {
                    for (passed, agent) in passed.iter_mut().zip(agents) {
                        *passed |= sim.position(agent).x > 20.0;
                    }
                });
                let scene = format!("{velocity} from {from}, told {told}, {hz} Hz");
                assert!(smallest >= 0.0, "{scene}: overlap {smallest}");
                assert_eq!(passed, [true; 2], "{scene}");
            }
        }
    }
}

/// A field of a thousand obstacles with ways between them, the same for the same seed.
fn field(sim: &mut Sim, seed: u64, count: usize) {
    let mut rng = AgentRng::seeded(SteeringSeed(seed), SteeringId(0), 0);
    let mut placed: Vec<(Vec3, f32)> = Vec::new();
    while placed.len() < count {
        let at = Vec3::new(rng.signed() * 60.0, rng.signed() * 60.0, 0.0);
        let size = 0.3 + 0.5 * rng.signed().abs();
        let turn = rng.signed() * 3.0;
        // Room for an agent of radius 0.5 between any two.
        if placed.iter().all(|(p, r)| p.distance(at) > r + size * 1.5 + 1.3) {
            placed.push((at, size * 1.5));
            let obstacle = match placed.len() % 3 {
                0 => Obstacle::Cuboid { half_extents: Vec3::new(size, 0.7 * size, size) },
                1 => Obstacle::Wall { half_length: size * 1.4, half_height: 1.0, thickness: 0.1 },
                _ => Obstacle::Sphere { radius: size },
            };
            let transform = Transform::from_translation(at).with_rotation(Quat::from_rotation_z(turn));
            sim.app.world_mut().spawn((obstacle, transform));
        }
    }
}

#[test]
fn fifty_agents_cross_a_field_of_a_thousand_obstacles() {
    for hz in [20.0, 60.0] {
        let mut sim = Sim::new(hz);
        field(&mut sim, 3, 1000);
        let agents: Vec<Entity> = (0..50)
            .map(|n| {
                let y = (n as f32 - 24.5) * 2.2;
                let brain = (Arrive::new(Vec3::new(66.0, -y, 0.0)), ObstacleFeeler::default());
                sim.agent(Vec3::new(-66.0, y, 0.0), brain)
            })
            .collect();
        let smallest = smallest_gap(&mut sim, &agents, 60.0, |_| {});
        assert!(smallest >= 0.0, "{hz} Hz: overlap {smallest}");
        for &agent in &agents {
            let left = sim.get::<Arrive>(agent).target;
            assert!(
                sim.position(agent).x > 65.0,
                "{hz} Hz: {} has not reached {left:?}",
                sim.position(agent)
            );
        }
    }
}

#[test]
fn a_shallow_dead_end_is_left_again() {
    for hz in [20.0, 60.0] {
        let mut sim = Sim::new(hz);
        // A bay 2.5 deep and 5 wide, open to where the agents come from.
        wall(&mut sim, Vec2::new(10.0, -2.5), Vec2::new(10.0, 2.5), 0.2);
        wall(&mut sim, Vec2::new(7.5, 2.5), Vec2::new(10.0, 2.5), 0.2);
        wall(&mut sim, Vec2::new(7.5, -2.5), Vec2::new(10.0, -2.5), 0.2);
        let agents = [-0.5, 0.0, 1.0].map(|y| {
            let brain = (Seek::new(Vec3::X * 25.0), ObstacleFeeler::default());
            sim.agent(Vec3::Y * y, brain)
        });
        let mut passed = [false; 3];
        let smallest = smallest_gap(&mut sim, &agents, 12.0, |sim| {
            for (passed, agent) in passed.iter_mut().zip(agents) {
                *passed |= sim.position(agent).x > 12.0;
            }
        });
        assert!(smallest >= 0.0, "{hz} Hz: {smallest}");
        assert_eq!(passed, [true; 3], "{hz} Hz: {:?}", agents.map(|a| sim.position(a)));
    }
}

#[test]
fn no_way_of_combining_and_no_limits_lead_into_an_obstacle() {
    let agents = [
        SteeringAgent::default(),
        SteeringAgent::new(8.0, 4.0),
        SteeringAgent::new(5.0, 30.0).with_mass(3.0),
        SteeringAgent::new(5.0, 200.0).with_reaction_time(0.02),
        SteeringAgent::new(5.0, 15.0).with_reaction_time(1.0),
    ];
    for hz in [20.0, 60.0] {
        for mode in [SteeringCombine::Budget, SteeringCombine::FirstNonZero] {
            for agent in agents {
                let mut sim = Sim::new(hz).with_agent(agent);
                ball(&mut sim, 30.0, 0.0, 2.0);
                wall(&mut sim, Vec2::new(30.0, 100.0), Vec2::new(36.0, 106.0), 0.2);
                let walkers = [0.0, 0.7, 102.0, 103.5].map(|y| {
                    let brain = (Seek::new(Vec3::new(90.0, y, 0.0)), ObstacleFeeler::default(), mode);
                    sim.agent(Vec3::Y * y, brain)
                });
                let mut passed = [false; 4];
                let smallest = smallest_gap(&mut sim, &walkers, 25.0, |sim| {
                    for (passed, agent) in passed.iter_mut().zip(walkers) {
                        *passed |= sim.position(agent).x > 38.0;
                    }
                });
                let scene = format!("{mode:?}, {agent:?}, {hz} Hz");
                assert!(smallest >= 0.0, "{scene}: {smallest}");
                assert_eq!(passed, [true; 4], "{scene}");
            }
        }
    }
}

#[test]
fn pushes_of_a_game_do_not_press_it_into_a_wall() {
    for hz in [20.0, 60.0] {
        let mut sim = with_goals(Sim::new(hz));
        let wind = |mut agents: Query<&mut SteeringAccumulator>| {
            for mut accumulator in &mut agents {
                accumulator.push(BehaviorId::new("Wind"), Vec3::X * 40.0, 1.0, SteeringPriority::GOAL);
            }
        };
        sim.app.add_systems(FixedUpdate, wind.in_set(SteeringSystems::Steer));
        wall(&mut sim, Vec2::new(10.0, -9.0), Vec2::new(10.0, 9.0), 0.1);
        let agents = [0.0, 2.0].map(|y| sim.agent(Vec3::Y * y, ObstacleFeeler::default()));
        let smallest = smallest_gap(&mut sim, &agents, 8.0, |_| {});
        assert!(smallest >= 0.0, "{hz} Hz: {smallest}");
    }
}

#[test]
fn every_plane_is_alike_and_the_third_coordinate_is_left_alone() {
    let run = |plane: SteeringPlane| {
        let mut sim = Sim::new(60.0).with_plane(plane);
        let put = |x: f32, y: f32| match plane {
            SteeringPlane::Xy => Vec3::new(x, y, 7.3),
            SteeringPlane::Xz | SteeringPlane::Space => Vec3::new(x, 7.3, -y),
        };
        sim.thing(put(8.0, 0.2), Obstacle::Sphere { radius: 1.0 });
        let rotation = Quat::from_axis_angle(plane.normal(), 0.5);
        let half_extents =
            if plane == SteeringPlane::Xy { Vec3::new(1.0, 2.0, 9.0) } else { Vec3::new(1.0, 9.0, 2.0) };
        let cuboid = Transform::from_translation(put(14.0, -0.5)).with_rotation(rotation);
        sim.app.world_mut().spawn((Obstacle::Cuboid { half_extents }, cuboid));
        let agents =
            [0.0, -1.0].map(|y| sim.agent(put(0.0, y), (Seek::new(put(30.0, y)), ObstacleFeeler::default())));
        let mut track = Vec::new();
        let smallest = smallest_gap(&mut sim, &agents, 6.0, |sim| {
            for agent in agents {
                let p = sim.position(agent);
                track.push(if plane == SteeringPlane::Xy {
                    Vec2::new(p.x, p.y)
                } else {
                    Vec2::new(p.x, -p.z)
                });
                let third = if plane == SteeringPlane::Xy { p.z } else { p.y };
                assert!(
                    plane == SteeringPlane::Space || third.to_bits() == 7.3_f32.to_bits(),
                    "{plane:?}: {p}"
                );
            }
        });
        assert!(smallest >= 0.0, "{plane:?}: {smallest}");
        assert!(track.last().is_some_and(|p| p.x > 20.0), "{plane:?} passes");
        track
    };
    let xy = run(SteeringPlane::Xy);
    for (a, b) in xy.iter().zip(run(SteeringPlane::Xz)) {
        assert!(a.distance(b) < 1e-2, "Xz is Xy laid flat: {a} {b}");
    }
    run(SteeringPlane::Space);
}

#[test]
fn in_space_it_flies_round_balls_boxes_and_quads() {
    for hz in [20.0, 60.0] {
        let mut sim = Sim::new(hz).with_plane(SteeringPlane::Space);
        let mut agents = Vec::new();
        let quarter = Quat::from_rotation_y(core::f32::consts::FRAC_PI_2);
        let shapes = [
            (Obstacle::Sphere { radius: 2.0 }, Quat::IDENTITY),
            (Obstacle::Cuboid { half_extents: Vec3::new(1.0, 2.0, 3.0) }, Quat::from_rotation_z(0.4)),
            (Obstacle::Wall { half_length: 4.0, half_height: 1.5, thickness: 0.1 }, quarter),
        ];
        for (row, (obstacle, rotation)) in shapes.into_iter().enumerate() {
            let z = row as f32 * 60.0;
            let at = Transform::from_xyz(12.0, 0.0, z).with_rotation(rotation);
            sim.app.world_mut().spawn((obstacle, at));
            for (dy, dz) in [(0.0, 0.0), (0.4, -0.3), (-1.0, 1.0)] {
                let brain = (Seek::new(Vec3::new(40.0, dy, z + dz)), ObstacleFeeler::default());
                agents.push(sim.agent(Vec3::new(0.0, dy, z + dz), brain));
            }
        }
        let smallest = smallest_gap(&mut sim, &agents, 7.0, |_| {});
        assert!(smallest >= 0.0, "{hz} Hz: {smallest}");
        for &agent in &agents {
            assert!(sim.position(agent).x > 18.0, "{hz} Hz passes: {}", sim.position(agent));
        }
        let low = sim.position(agents[6]);
        assert!(low.y.abs() > 1e-3, "over or under the wide, low wall: {low}");
    }
}

#[test]
fn an_agent_that_is_an_obstacle_does_not_see_itself() {
    let mut sim = Sim::new(60.0);
    let brain = (Seek::new(Vec3::X * 9.0), ObstacleFeeler::default(), Obstacle::Sphere { radius: 0.5 });
    let agent = sim.agent(Vec3::ZERO, brain);
    let other = sim.agent(Vec3::Y * 40.0, ObstacleFeeler::default());
    sim.seconds(1.0);
    assert!(!sim.get::<FeelerState>(agent).is_engaged() && sim.position(agent).x > 2.0);
    assert_eq!(sim.position(other), Vec3::Y * 40.0);
}

#[test]
fn bad_values_are_named_once_and_harmless() {
    let mut sim = Sim::new(60.0);
    ball(&mut sim, 5.0, 0.0, f32::NAN);
    sim.thing(Vec3::X * 5.0, Obstacle::Cuboid { half_extents: Vec3::splat(-1.0) });
    sim.thing(Vec3::NAN, Obstacle::Sphere { radius: 1.0 });
    ball(&mut sim, 1e6, 1e6, 1.0);
    let feelers = [
        ObstacleFeeler { release: f32::NAN, ..default() },
        ObstacleFeeler::point(f32::INFINITY),
        ObstacleFeeler::new(crate::FeelerMode::Swept { whisker_angle: -1.0, skin: f32::NAN }),
        ObstacleFeeler::default().with_weight(f32::NAN),
    ];
    let agents = feelers.map(|feeler| sim.agent(Vec3::ZERO, (Seek::new(Vec3::X * 9.0), feeler)));
    let still = sim.agent(
        Vec3::X * 5.0,
        (SteeringAgent { max_force: 0.0, mass: 0.0, ..default() }, ObstacleFeeler::default()),
    );
    sim.seconds(1.0);
    for agent in agents {
        assert!(sim.position(agent).is_finite() && sim.position(agent).x > 2.0, "{}", sim.position(agent));
    }
    assert_eq!(sim.position(still), Vec3::X * 5.0);
    let warnings = sim.warnings();
    for field in [
        "Obstacle.radius",
        "Obstacle.half_extents",
        "Transform.translation",
        "ObstacleFeeler.release",
        "ObstacleFeeler.length",
        "ObstacleFeeler.whisker_angle",
        "ObstacleFeeler.weight",
    ] {
        assert_eq!(warnings.iter().filter(|w| *w == field).count(), 1, "{field} once in {warnings:?}");
    }
}
