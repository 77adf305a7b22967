//! The flock sums against the oracle.

use std::ops::Range;

use bevy_steer_grid::brute_flock::{FlockTruth, Sum};
use bevy_steer_grid::{Falloff, FlockKernel, FlockQuery, FlockSums, Grid};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{Situation, situation};

/// The sums of those entries of a range that have a question. The one call: each costs a compilation of all kernels.
pub(crate) fn flock_sums<'q>(
    grid: &Grid,
    range: Range<usize>,
    kernel: &mut FlockKernel,
    query: &dyn Fn(usize) -> Option<&'q FlockQuery>,
) -> Vec<(usize, FlockSums)> {
    let mut sums = Vec::new();
    grid.for_each_flock_sums(range, kernel, query, |entry, found| sums.push((entry, *found)));
    sums
}

fn radius() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => 0.0..12.0_f32,
        // Those of a lattice are exactly as far away.
        4 => (0..7_i32).prop_map(|n| n as f32),
        1 => select(&[0.0, -1.0, f32::NAN, f32::INFINITY, 1.0e-30, 1.0e-3, 50.0, 3.0e6, 1.0e30][..]),
    ]
}

fn query() -> impl Strategy<Value = FlockQuery> {
    let falloff = select(&[Falloff::Smooth, Falloff::Hard][..]);
    // All round, 270°, 180°, 120°, 0°, nobody but the coincident ones, and nonsense.
    let view = prop_oneof![
        2 => Just(-2.0_f32),
        3 => select(&[-1.0, -0.707, 0.0, 0.5, 1.0, 2.0, f32::NAN, f32::NEG_INFINITY, f32::INFINITY][..]),
    ];
    let most = prop_oneof![2 => Just(None), 3 => select(&[0, 1, 2, 7, 8, 9, u32::MAX][..]).prop_map(Some)];
    (falloff, radius(), radius(), radius(), view, most).prop_map(
        |(falloff, separation_radius, alignment_radius, cohesion_radius, cos_half_view, max_neighbors)| {
            FlockQuery {
                falloff,
                separation_radius,
                alignment_radius,
                cohesion_radius,
                cos_half_view,
                max_neighbors,
            }
        },
    )
}

/// Has one rule reach exactly from one entry to another, more or less: the root rounds.
fn reach_exactly(query: &mut FlockQuery, s: &Situation, rule: usize, from: Index, to: Index) {
    if !s.items.is_empty() {
        let distance = (from.get(&s.items).position - to.get(&s.items).position).length();
        match rule {
            0 => query.separation_radius = distance,
            1 => query.alignment_radius = distance,
            2 => query.cohesion_radius = distance,
            _ => {}
        }
    }
}

/// Relative error of one rounding.
const ULP: f64 = 1.0 / (1 << 24) as f64;

/// Whether a sum in `f32` is what rounding may make of the true one: one error for each addition and about eight in the
/// term itself; the fade, whose slope is at most 5 / radius, adds about 25 at distances near the radius.
fn close(found: f32, truth: Sum, count: usize) -> bool {
    let allowed = (count + 8) as f64 * ULP * truth.size + 32.0 * ULP * truth.fading + 1.0e-42;
    (f64::from(found) - truth.value).abs() <= allowed
}

fn check(found: &FlockSums, truth: &FlockTruth, falloff: Falloff) -> Result<(), TestCaseError> {
    let what = || format!("{found:?}\n{truth:?}");
    let weights = [
        (found.separation_weight, truth.separation_weight),
        (found.alignment_weight, truth.alignment_weight),
        (found.cohesion_weight, truth.cohesion_weight),
    ];
    for (found, truth) in weights {
        match falloff {
            Falloff::Hard => prop_assert_eq!(f64::from(found), truth.value, "{}", what()),
            Falloff::Smooth => prop_assert!(close(found, truth, 120), "{}", what()),
        }
    }
    let vectors = [
        (found.separation, truth.separation),
        (found.alignment, truth.alignment),
        (found.cohesion, truth.cohesion),
        (found.cohesion_velocity, truth.cohesion_velocity),
    ];
    for (found, truth_of) in vectors {
        for (axis, sum) in truth_of.into_iter().enumerate() {
            prop_assert!(close(found[axis], sum, truth.count), "axis {}: {}", axis, what());
        }
    }
    prop_assert_eq!(found.nearest_squared.to_bits(), truth.nearest_squared.to_bits(), "{}", what());
    prop_assert_eq!(found.coincident, truth.coincident, "{}", what());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_over_flockmates(
        s in situation(),
        mut query in query(),
        (rule, from, to) in (0..6_usize, any::<Index>(), any::<Index>()),
        keys in select(&[1_u32, 2, 4][..]),
    ) {
        let mut s = s;
        for item in &mut s.items {
            item.key %= keys;
        }
        reach_exactly(&mut query, &s, rule, from, to);
        let (grids, brute) = s.worlds();
        let mut kernel = FlockKernel::default();
        for grid in &grids {
            let sums = flock_sums(grid, 0..grid.len(), &mut kernel, &|_| Some(&query));
            prop_assert_eq!(sums.len(), grid.len());
            for (n, (entry, found)) in sums.into_iter().enumerate() {
                prop_assert_eq!(entry, n);
                check(&found, &brute.flock_sums(entry, &query), query.falloff)?;
            }
        }
    }

    #[test]
    fn who_has_no_question_gets_no_answer(s in situation(), query in query(), range in any::<(Index, Index)>()) {
        let (grids, _) = s.worlds();
        let mut kernel = FlockKernel::default();
        for grid in &grids {
            let (a, b) = (range.0.index(grid.len() + 1), range.1.index(grid.len() + 1));
            let range = a.min(b)..a.max(b);
            let asked =
                flock_sums(grid, range.clone(), &mut kernel, &|entry| (entry % 3 == 0).then_some(&query));
            let expected: Vec<_> = range.filter(|entry| entry % 3 == 0).map(|entry| {
                (entry, grid.flock_sums(entry, &query, &mut FlockKernel::default()))
            }).collect();
            prop_assert_eq!(asked, expected);
        }
    }
}
