//! Times builds and queries over a crowd with about 24 neighbours each: `cargo run --release -p bevy_steer_grid --example measure`.

use std::hint::black_box;
use std::time::Instant;

use bevy_steer_grid::{FlockKernel, FlockQuery, Grid, Item, Layout, TableKind};
use glam::Vec3;

const RADIUS: f32 = 6.0;

fn main() {
    for layout in [Layout::Planar, Layout::Spatial] {
        for count in [100, 1_000, 10_000, 100_000, 1_000_000] {
            let items = crowd(count, layout);
            for kind in [TableKind::Dense, TableKind::Sparse] {
                measure(layout, kind, &items);
            }
        }
    }
}

fn measure(layout: Layout, kind: TableKind, items: &[Item]) {
    let mut grid = Grid::default();
    grid.force_table(Some(kind));
    let count = items.len();
    let passes = (2_000_000 / count).clamp(3, 1000);
    let build = millis(passes, || _ = black_box(grid.build(layout, RADIUS, items)));

    let each = |visit: &mut dyn FnMut(Vec3)| (0..count).for_each(|index| visit(grid.position(index)));
    let passes = (200_000 / count).clamp(1, 1000);
    let (mut seen, mut near) = (0_usize, Vec::new());
    let within = millis(passes, || each(&mut |p| grid.for_each_within(p, RADIUS, |_, _, _| seen += 1)));
    let nearest = millis(passes, || each(&mut |p| grid.k_nearest(p, 6, RADIUS, |_| true, &mut near)));
    let ray = millis(passes, || {
        each(&mut |p| {
            _ = black_box(grid.cast_ray(p, Vec3::new(1.0, 0.7, 0.3), 50.0, 0.0, |i| grid.position(i) != p))
        });
    });
    let (mut kernel, query) = (FlockKernel::default(), FlockQuery::default());
    let flock = millis(passes, || {
        grid.for_each_flock_sums(0..count, &mut kernel, |_| Some(&query), |_, sums| _ = black_box(sums));
    });
    let per_query = 1.0e6 / count as f64;
    println!(
        "{layout:?} {:?} {count:>8}: build {build:8.3} ms; ns per query: within {:6.0} ({:.1} found), 6 nearest {:6.0}, ray {:6.0}, flock sums {:6.0}; {} bytes each",
        grid.table_kind(),
        within * per_query,
        seen as f64 / (passes * count) as f64,
        nearest * per_query,
        ray * per_query,
        flock * per_query,
        grid.memory_bytes() / count,
    );
}

/// The best of a few passes, after one to warm up.
fn millis(passes: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..passes {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64() * 1.0e3);
    }
    best
}

/// Agents in no spatial order, ids as numbered, with about 24 others in reach of each.
fn crowd(count: usize, layout: Layout) -> Vec<Item> {
    let reach = RADIUS as f64;
    let extent = match layout {
        Layout::Planar => (count as f64 * std::f64::consts::PI * reach.powi(2) / 24.0).sqrt(),
        Layout::Spatial => (count as f64 * std::f64::consts::PI * 4.0 / 3.0 * reach.powi(3) / 24.0).cbrt(),
    };
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f64 / (1 << 24) as f64 * extent) as f32
    };
    (0..count as u64)
        .map(|n| Item {
            position: Vec3::new(random(), random(), random()),
            velocity: Vec3::X,
            id: n,
            tag: n as u32,
            radius: 0.5,
            ..Item::default()
        })
        .collect()
}
