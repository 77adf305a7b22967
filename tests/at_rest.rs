//! Agents at rest do not look changed.

use bevy::prelude::*;
use bevy_steer::*;

use crate::common::sim::Sim;

#[derive(Resource, Default)]
struct Changes(usize);

fn count(changed: Query<(), Changed<Transform>>, mut changes: ResMut<Changes>) {
    changes.0 += changed.iter().count();
}

#[test]
fn agents_at_rest_do_not_trigger_changed() {
    for plane in SteeringPlane::ALL {
        let mut sim = Sim::new(60.0).with_plane(plane);
        sim.app.init_resource::<Changes>().add_systems(FixedLast, count);
        let face = FaceVelocity::default();
        sim.agent(Vec3::ZERO, (Arrive::new(Vec3::ONE * 3.0), face));
        sim.moving(Vec3::ONE * 20.0, Vec3::X * 5.0, (Brake::new(), face, SteeringSmoothing::default()));
        sim.agent(Vec3::ONE * 30.0, (PathFollow::new([Vec3::ONE * 30.0]), TurnLimit::default(), face));
        sim.agent(Vec3::ONE * 50.0, (SteerEvery::new(0.2), Arrive::new(Vec3::ONE * 52.0)));
        sim.agent(Vec3::ONE * 70.0, face);
        sim.thing(Vec3::ONE * 90.0, Obstacle::default());
        sim.ticks(30);
        assert!(sim.app.world().resource::<Changes>().0 > 60, "{plane:?}: on the way they do");
        sim.seconds(10.0);
        sim.app.world_mut().resource_mut::<Changes>().0 = 0;
        sim.ticks(100);
        assert_eq!(sim.app.world().resource::<Changes>().0, 0, "{plane:?}: at rest they do not");
    }
}
