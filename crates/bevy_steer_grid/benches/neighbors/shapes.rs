//! Crowds that are hard on grids.

use bevy_steer_grid::{FlockKernel, FlockQuery, Grid, Item, Layout};
use criterion::Criterion;
use glam::Vec3;

use crate::contestants::{Crowd, hard};
use crate::crowd::{self, RADIUS, agents, flock_sums};

const COUNT: usize = 10_000;

pub fn shapes(c: &mut Criterion) {
    let place = |place: fn(usize, Vec3) -> Vec3| {
        agents(Layout::Planar, COUNT, 1, |n, random| place(n, random.vector(1.0)))
    };
    let pile = place(|_, v| Vec3::splat(0.5 * RADIUS) + v * (0.499 * RADIUS));
    let point = place(|_, _| Vec3::new(5.0, 5.0, 0.0));
    // The clusters are as dense as the even crowd, and too far apart for a dense table.
    let clusters = place(|n, v| v * 76.7 + if n % 2 == 0 { Vec3::ZERO } else { Vec3::X * 1e6 });
    let line = place(|n, _| Vec3::X * (n as f32 * 0.5));
    let even = crowd::spread(Layout::Planar, COUNT, 1);

    let contestants: [(&str, fn(&mut Crowd)); 3] = [
        ("brute force", Crowd::brute_force),
        ("grid within", Crowd::within),
        ("grid flock sums", Crowd::flock_sums),
    ];
    let mut group = crowd::group(c, "pile");
    let mut crowd = Crowd::new(pile.clone());
    println!("a pile: {:.1} neighbours each", crowd.check(&contestants));
    let mut grid = Grid::default();
    grid.build(Layout::Planar, RADIUS, &crowd.items);
    assert_eq!(grid.runs(Vec3::splat(0.5 * RADIUS), 0.0).next(), Some(0..COUNT), "all in one cell");
    for (name, work) in contestants {
        group.bench_function(name, |b| b.iter(|| work(&mut crowd)));
    }
    group.finish();

    let mut group = crowd::group(c, "shapes");
    let nearest = FlockQuery { max_neighbors: Some(8), ..hard() };
    let shapes: [(&str, &[Item], FlockQuery); 6] = [
        ("even", &even, hard()),
        ("two clusters 1e6 apart", &clusters, hard()),
        ("line", &line, hard()),
        ("pile", &pile, hard()),
        ("one point", &point, hard()),
        ("pile, 8 nearest", &pile, nearest),
    ];
    for (name, items, query) in shapes {
        let (mut grid, mut kernel) = (Grid::default(), FlockKernel::default());
        let mut count = 0.0;
        let mut work = || {
            count = 0.0;
            grid.build(Layout::Planar, RADIUS, items);
            flock_sums(&grid, &mut kernel, &query, &mut |_, sums| count += f64::from(sums.cohesion_weight));
        };
        group.bench_function(name, |b| b.iter(&mut work));
        println!("{name}: {:.1} neighbours each, {:?}", count / COUNT as f64, grid.table_kind());
    }
}
