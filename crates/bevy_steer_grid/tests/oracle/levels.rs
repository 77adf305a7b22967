//! The flock sums on every instruction set that this machine has.

use bevy_steer_grid::{Falloff, FlockKernel, FlockQuery, FlockSums, Grid, Item, Layout};
use glam::Vec3;

use crate::flock::flock_sums;

/// A crowd that is dense in the middle, with some in pairs on one spot, some at rest and three flocks.
fn crowd(layout: Layout, count: u64) -> Grid {
    let mut state = 3_u64;
    let mut random = |low: f32, high: f32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (state >> 40) as f32 / (1 << 24) as f32 * (high - low)
    };
    let mut items: Vec<_> = (0..count)
        .map(|id| {
            let extent = random(0.0, 1.0) * if layout == Layout::Planar { 90.0 } else { 30.0 };
            let mut vector = |reach: f32| Vec3::from_array([(); 3].map(|()| random(-reach, reach)));
            let (position, velocity) = (vector(extent), vector(4.0));
            Item {
                position,
                velocity: if id % 17 == 0 { Vec3::ZERO } else { velocity },
                id,
                key: (id % 3) as u32,
                ..Item::default()
            }
        })
        .collect();
    for at in (0..items.len() - 3).step_by(50) {
        items[at + 3].position = items[at].position;
    }
    let mut grid = Grid::default();
    grid.build(layout, 6.0, &items);
    grid
}

fn bits(sums: &FlockSums) -> [u32; 17] {
    let vectors = [sums.separation, sums.alignment, sums.cohesion, sums.cohesion_velocity];
    let weights = [sums.separation_weight, sums.alignment_weight, sums.cohesion_weight, sums.nearest_squared];
    let mut bits = [u32::from(sums.coincident); 17];
    let floats = vectors.iter().flat_map(|v| v.to_array()).chain(weights);
    bits.iter_mut().zip(floats).for_each(|(bits, float)| *bits = float.to_bits());
    bits
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    for layout in [Layout::Planar, Layout::Spatial] {
        let grid = crowd(layout, 3000);
        for falloff in [Falloff::Smooth, Falloff::Hard] {
            for cos_half_view in [-2.0, 0.5] {
                for max_neighbors in [None, Some(1), Some(7), Some(1000)] {
                    let query = FlockQuery { falloff, cos_half_view, max_neighbors, ..FlockQuery::default() };
                    let answers = FlockKernel::one_of_each().into_iter().map(|mut kernel| {
                        let sums = flock_sums(&grid, 0..grid.len(), &mut kernel, &|_| Some(&query));
                        let answers: Vec<_> = sums.iter().map(|(_, sums)| bits(sums)).collect();
                        (kernel.level(), answers)
                    });
                    let answers: Vec<_> = answers.collect();
                    let seen = answers[0].1.iter().filter(|bits| bits[15] != f32::INFINITY.to_bits()).count();
                    assert!(seen > grid.len() / 2, "hardly anyone has neighbours: {seen}");
                    assert!(answers[0].1.iter().any(|bits| bits[16] == 1), "nobody is coincident");
                    for (level, answer) in &answers[1..] {
                        let unequal = answer.iter().zip(&answers[0].1).position(|(a, b)| a != b);
                        assert_eq!(unequal, None, "{level} from {} at {layout:?} {query:?}", answers[0].0);
                    }
                }
            }
        }
    }
}
