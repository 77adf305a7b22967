//! Rebuild and ask about everyone, as a crowd that moves has to: the grid, two trees and brute force, on one thread.

#[path = "../crowd/mod.rs"]
mod crowd;

mod contestants;
mod shapes;

use std::hint::black_box;

use bevy_steer_grid::Layout;
use contestants::Crowd;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// Small crowds in several versions: the branches of one would be learnt by heart, as those of a crowd that moves cannot.
fn crowds(count: usize) -> Vec<Crowd> {
    let seeds = 1..=(20_000 / count as u64).clamp(1, 20);
    seeds.map(|seed| Crowd::new(crowd::spread(Layout::Planar, count, seed))).collect()
}

/// About 24 neighbours each.
fn neighbors(c: &mut Criterion) {
    let contestants: [(&str, fn(&mut Crowd)); 5] = [
        ("grid flock sums", Crowd::flock_sums),
        ("grid within", Crowd::within),
        ("kiddo", Crowd::kiddo),
        ("rstar", Crowd::rstar),
        ("brute force", Crowd::brute_force),
    ];
    let mut group = crowd::group(c, "neighbors");
    for count in [1_000, 10_000, 100_000] {
        let contestants = if count > 10_000 { &contestants[..4] } else { &contestants };
        let mut crowds = crowds(count);
        for crowd in &mut crowds {
            println!("{count} agents: {:.1} neighbours each", crowd.check(contestants));
        }
        let mut turn = (0..crowds.len()).cycle();
        for (name, work) in contestants {
            group.bench_function(BenchmarkId::new(*name, count), |b| {
                b.iter(|| work(&mut crowds[turn.next().unwrap_or(0)]));
            });
        }
    }
}

fn build(c: &mut Criterion) {
    let mut group = crowd::group(c, "build");
    for count in [1_000, 10_000, 100_000] {
        let mut crowds = crowds(count);
        let mut turn = (0..crowds.len()).cycle();
        let mut next = || turn.next().unwrap_or(0);
        let mut measure = |name, work: &mut dyn FnMut(&mut Crowd)| {
            group.bench_function(BenchmarkId::new(name, count), |b| b.iter(|| work(&mut crowds[next()])));
        };
        measure("grid", &mut |crowd| _ = black_box(crowd.build_grid()));
        measure("kiddo", &mut |crowd| _ = black_box(crowd.build_kiddo()));
        measure("rstar", &mut |crowd| _ = black_box(crowd.build_rstar()));
    }
}

criterion_group!(benches, neighbors, build, shapes::shapes);
criterion_main!(benches);
