//! The crowds that are measured, and how.

use std::time::Duration;

use bevy_steer_grid::{FlockKernel, FlockQuery, FlockSums, Grid, Item, Layout};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode};
use glam::Vec3;

/// How far agents look.
pub const RADIUS: f32 = 6.0;

/// A small generator of its own: the same crowds on every machine.
pub struct Random(pub u64);

impl Random {
    /// Evenly between −`reach` and `reach` on each axis.
    pub fn vector(&mut self, reach: f32) -> Vec3 {
        Vec3::from_array([(); 3].map(|()| {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0) * reach
        }))
    }
}

/// Agents at these places, in a plane if the layout is one.
pub fn agents(
    layout: Layout,
    count: usize,
    seed: u64,
    mut place: impl FnMut(usize, &mut Random) -> Vec3,
) -> Vec<Item> {
    let mut random = Random(seed);
    (0..count)
        .map(|n| Item {
            position: layout.flatten(place(n, &mut random)),
            velocity: layout.flatten(random.vector(3.0)),
            id: n as u64,
            tag: n as u32,
            radius: 0.5,
            ..Item::default()
        })
        .collect()
}

/// Spread evenly, in no spatial order, with about 24 others in reach of each.
pub fn spread(layout: Layout, count: usize, seed: u64) -> Vec<Item> {
    let (pi, reach) = (std::f64::consts::PI, f64::from(RADIUS));
    let extent = match layout {
        Layout::Planar => (count as f64 * pi * reach * reach / 24.0).sqrt(),
        Layout::Spatial => (count as f64 * pi * 4.0 / 3.0 * reach * reach * reach / 24.0).cbrt(),
    };
    agents(layout, count, seed, |_, random| random.vector(0.5 * extent as f32))
}

/// All sums of a grid. The one call: each costs a compilation of all kernels.
#[inline(never)]
pub fn flock_sums(
    grid: &Grid,
    kernel: &mut FlockKernel,
    query: &FlockQuery,
    visit: &mut dyn FnMut(usize, &FlockSums),
) {
    grid.for_each_flock_sums(0..grid.len(), kernel, |_| Some(query), visit);
}

/// Few samples: what is compared here differs by more than a few per cent.
pub fn group<'c>(c: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(name);
    group
        .sample_size(10)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    group
}
