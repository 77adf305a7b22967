//! The flock sums of 10 000 agents, without the build: every variant of the kernel, and every instruction set.

#[path = "crowd/mod.rs"]
mod crowd;

use std::hint::black_box;

use bevy_steer_grid::{Falloff, FlockKernel, FlockQuery, Grid, Layout};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crowd::{RADIUS, flock_sums, spread};

const COUNT: usize = 10_000;

fn grids() -> [Grid; 2] {
    [Layout::Planar, Layout::Spatial].map(|layout| {
        let mut grid = Grid::default();
        grid.build(layout, RADIUS, &spread(layout, COUNT, 1));
        grid
    })
}

fn variants(c: &mut Criterion) {
    let mut group = crowd::group(c, "variants");
    group.throughput(Throughput::Elements(COUNT as u64));
    let mut kernel = FlockKernel::default();
    for grid in &grids() {
        for falloff in [Falloff::Hard, Falloff::Smooth] {
            for (view, cos_half_view) in [("all round", -2.0), ("120°", 0.5)] {
                for max_neighbors in [None, Some(8)] {
                    let query = FlockQuery { falloff, cos_half_view, max_neighbors, ..FlockQuery::default() };
                    let most = max_neighbors.map_or("all".to_owned(), |most| format!("{most} nearest"));
                    let name = format!("{:?}, {falloff:?}, {view}, {most}", grid.layout());
                    group.bench_function(name, |b| {
                        b.iter(|| flock_sums(grid, &mut kernel, &query, &mut |_, sums| _ = black_box(*sums)));
                    });
                }
            }
        }
    }
}

fn levels(c: &mut Criterion) {
    let mut group = crowd::group(c, "levels");
    group.throughput(Throughput::Elements(COUNT as u64));
    let query = FlockQuery::default();
    for grid in &grids() {
        for mut kernel in FlockKernel::one_of_each() {
            group.bench_function(format!("{:?}, {}", grid.layout(), kernel.level()), |b| {
                b.iter(|| flock_sums(grid, &mut kernel, &query, &mut |_, sums| _ = black_box(*sums)));
            });
        }
    }
}

criterion_group!(benches, variants, levels);
criterion_main!(benches);
