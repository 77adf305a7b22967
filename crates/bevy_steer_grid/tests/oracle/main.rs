//! Every query of the grid against the brute-force oracle, to the bit, with both kinds of table.

mod flock;
mod levels;

use bevy_steer_grid::brute::Brute;
use bevy_steer_grid::{Grid, Item, Layout, Neighbor, TableKind};
use glam::Vec3;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A world and what to ask about it.
#[derive(Clone, Debug)]
struct Situation {
    layout: Layout,
    cell_size: f32,
    items: Vec<Item>,
    center: Vec3,
    radius: f32,
}

/// A coordinate of some kind that has broken grids before; in a wide world some are too far out for a dense table.
fn coordinate(cell_size: f32, wide: bool) -> BoxedStrategy<f32> {
    let span = (60.0 * cell_size).min(20.0);
    let near = prop_oneof![
        4 => -span..span,
        2 => -1.0..1.0_f32,
        // Exactly on a border between cells, and one step beside it.
        2 => (-4..4_i32).prop_map(move |n| n as f32 * cell_size),
        1 => (-4..4_i32).prop_map(move |n| (n as f32 * cell_size).next_down()),
        // A lattice, so that many pairs are at exactly the radius.
        2 => (-5..5_i32).prop_map(|n| n as f32),
        1 => select(&[0.0, -0.0, -0.01, 0.01, 1.0e-23, -1.0e-23][..]),
    ];
    if wide {
        let far =
            prop_oneof![select(&[-1.0e6, 1.0e6, -1.0e6 + 0.25, 1.0e18, -1.0e30][..]), -1.0e6..1.0e6_f32];
        prop_oneof![6 => near, 1 => far].boxed()
    } else {
        near.boxed()
    }
}

fn position(cell_size: f32, wide: bool) -> impl Strategy<Value = Vec3> {
    let axis = || coordinate(cell_size, wide);
    (axis(), axis(), axis()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

fn item(cell_size: f32, wide: bool) -> impl Strategy<Value = Item> {
    let radius = prop_oneof![8 => 0.0..1.5_f32, 1 => Just(0.0), 1 => 5.0..40.0_f32];
    (position(cell_size, wide), -9.0..9.0_f32, 0..200_u64, 0..4_u32, radius).prop_map(
        |(position, speed, id, key, radius)| Item {
            position,
            velocity: Vec3::new(speed, -speed, 0.5 * speed),
            id,
            key,
            radius,
            tag: 0,
            mark: key ^ 5,
        },
    )
}

/// Items anywhere, in a few heaps, or all on a few spots.
fn items(cell_size: f32, wide: bool) -> impl Strategy<Value = Vec<Item>> {
    let spots = || vec(position(cell_size, wide), 1..4);
    let heap = |spots: Vec<Vec3>, items: Vec<(Item, Index, f32)>| {
        let place = |(item, at, spread): (Item, Index, f32)| Item {
            position: at.get(&spots) + item.position.clamp_length_max(spread),
            ..item
        };
        items.into_iter().map(place).collect::<Vec<_>>()
    };
    let scattered = vec(item(cell_size, wide), 0..120);
    let heaped = (spots(), vec((item(cell_size, false), any::<Index>(), 0.001..3.0_f32), 0..120));
    let piled = (spots(), vec((item(cell_size, false), any::<Index>(), Just(0.0_f32)), 0..120));
    let items = prop_oneof![
        3 => scattered,
        2 => heaped.prop_map(move |(spots, items)| heap(spots, items)),
        1 => piled.prop_map(move |(spots, items)| heap(spots, items)),
    ];
    items.prop_map(|mut items| {
        for (at, item) in items.iter_mut().enumerate() {
            item.tag = at as u32;
        }
        items
    })
}

fn situation() -> impl Strategy<Value = Situation> {
    let layout = select(&[Layout::Planar, Layout::Spatial][..]);
    let cell_size = select(&[0.1, 1.0, 3.7, 10.0, 1000.0][..]);
    (layout, cell_size, any::<bool>()).prop_flat_map(|(layout, cell_size, wide)| {
        let radius = prop_oneof![
            4 => 0.0..10.0_f32,
            2 => (0..6_i32).prop_map(|n| n as f32),
            1 => select(&[0.0, 1.0e-25, 1.0e-10, 0.05, 1.0, 50.0, 3.0e6, 1.0e30, f32::MAX, f32::INFINITY][..]),
        ];
        (items(cell_size, wide), position(cell_size, wide), radius, any::<Index>(), 0..4_u32).prop_map(
            move |(items, anywhere, radius, pick, how)| {
                let picked = (!items.is_empty()).then(|| pick.get(&items).position);
                let (center, radius) = match (how, picked) {
                    (0, _) | (_, None) => (anywhere, radius),
                    (1, Some(picked)) => (picked, radius),
                    // At exactly the radius of one of them, along an axis or not.
                    (2, Some(picked)) => (picked + Vec3::X * radius, radius),
                    (_, Some(picked)) => (anywhere, (picked - anywhere).length()),
                };
                Situation { layout, cell_size, items, center, radius }
            },
        )
    })
}

impl Situation {
    /// The world under both tables (as far as it fits a dense one), and the oracle.
    fn worlds(&self) -> ([Grid; 2], Brute) {
        let grids = [TableKind::Dense, TableKind::Sparse].map(|kind| {
            let mut grid = Grid::default();
            grid.force_table(Some(kind));
            assert_eq!(grid.build(self.layout, self.cell_size, &self.items), 0);
            grid
        });
        assert_eq!(grids[1].table_kind(), TableKind::Sparse);
        (grids, Brute::new(self.layout, self.cell_size, &self.items))
    }
}

/// All bits of a neighbour, where `==` would only compare its rank.
fn bits(neighbors: &[Neighbor]) -> Vec<(usize, u64, [u32; 3], u32)> {
    let bits =
        |n: &Neighbor| (n.index, n.id, n.offset.to_array().map(f32::to_bits), n.distance_squared.to_bits());
    neighbors.iter().map(bits).collect()
}

/// Worlds of proptest's size fit in a few cells; this one has the searches cross many.
#[test]
fn from_all_over_a_large_crowd() {
    let mut state = 7_u64;
    let mut random = |low: f32, high: f32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (state >> 40) as f32 / (1 << 24) as f32 * (high - low)
    };
    for (layout, extent) in [(Layout::Planar, 40.0), (Layout::Spatial, 12.0)] {
        let mut place = |reach: f32| Vec3::from_array([(); 3].map(|()| random(-reach, reach)));
        let item = |n: u32| Item {
            position: place(extent),
            id: u64::from(n % 900),
            tag: n,
            radius: 0.05,
            ..Item::default()
        };
        let items: Vec<_> = (0..3000).map(item).collect();
        for cell_size in [0.7, 3.0] {
            let s = Situation { layout, cell_size, items: items.clone(), center: Vec3::ZERO, radius: 0.0 };
            let (grids, brute) = s.worlds();
            assert_eq!(grids[0].table_kind(), TableKind::Dense);
            for n in 0..300 {
                let (center, direction) = (place(1.2 * extent), place(1.0));
                let mut expected = Vec::new();
                brute.k_nearest(center, n % 12, f32::INFINITY, |_| true, &mut expected);
                let nearest = brute.nearest(center, f32::INFINITY, |_| true);
                let hit = brute.cast_ray(center, direction, f32::INFINITY, 0.0, |_| true);
                for grid in &grids {
                    let mut found = Vec::new();
                    grid.k_nearest(center, n % 12, f32::INFINITY, |_| true, &mut found);
                    assert_eq!(bits(&found), bits(&expected));
                    let found = grid.nearest(center, f32::INFINITY, |_| true);
                    assert_eq!(bits(found.as_slice()), bits(nearest.as_slice()));
                    assert_eq!(grid.cast_ray(center, direction, f32::INFINITY, 0.0, |_| true), hit);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_hold_every_item_in_order(s in situation()) {
        let (grids, brute) = s.worlds();
        for grid in &grids {
            prop_assert_eq!(grid.len(), s.items.len());
            for (index, item) in brute.items().iter().enumerate() {
                let entry = Item {
                    position: grid.position(index),
                    velocity: grid.velocity(index),
                    id: grid.ids()[index],
                    key: grid.keys()[index],
                    radius: grid.radii()[index],
                    tag: grid.tags()[index],
                    mark: grid.marks()[index],
                };
                prop_assert_eq!(entry, *item);
                prop_assert_eq!(entry.position.to_array().map(f32::to_bits), item.position.to_array().map(f32::to_bits));
            }
        }
    }

    #[test]
    fn order_of_the_input_never_shows(s in situation(), seed in any::<u64>()) {
        let (grids, _) = s.worlds();
        let mut shuffled = s.items.clone();
        let mut state = seed;
        for n in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(n, (state >> 33) as usize % (n + 1));
        }
        let (again, _) = Situation { items: shuffled, ..s }.worlds();
        for (a, b) in grids.iter().zip(&again) {
            prop_assert_eq!(a.tags(), b.tags());
        }
    }

    #[test]
    fn within_a_radius(s in situation()) {
        let (grids, brute) = s.worlds();
        let mut expected = Vec::new();
        brute.for_each_within(s.center, s.radius, |index, offset, distance_squared| {
            expected.push(Neighbor { index, id: 0, offset, distance_squared });
        });
        for grid in &grids {
            let mut found = Vec::new();
            grid.for_each_within(s.center, s.radius, |index, offset, distance_squared| {
                found.push(Neighbor { index, id: 0, offset, distance_squared });
            });
            prop_assert_eq!(bits(&found), bits(&expected));
        }
    }

    #[test]
    fn runs_are_few_ascending_and_alike(s in situation()) {
        let (grids, brute) = s.worlds();
        let [dense, sparse] = grids.each_ref().map(|grid| grid.runs(s.center, s.radius).collect::<Vec<_>>());
        prop_assert_eq!(&dense, &sparse);
        prop_assert!(dense.iter().all(|run| !run.is_empty()));
        prop_assert!(dense.windows(2).all(|pair| pair[0].end <= pair[1].start));
        let mut rows: Vec<_> = dense.iter().map(|run| {
            let position = brute.items()[run.start].position;
            let row = |v: f32| (v * (1.0 / s.cell_size)).floor().clamp(-1.0e9, 1.0e9) as i64;
            (row(position.z), row(position.y))
        }).collect();
        rows.dedup();
        prop_assert_eq!(rows.len(), dense.len(), "one run for each row");
    }

    #[test]
    fn sight_is_mutual(s in situation()) {
        let (grids, _) = s.worlds();
        for grid in &grids {
            let sees = |a: usize, b: usize| {
                let mut seen = false;
                grid.for_each_within(grid.position(a), s.radius, |index, _, _| seen |= index == b);
                seen
            };
            for a in 0..grid.len().min(12) {
                for b in 0..a {
                    prop_assert_eq!(sees(a, b), sees(b, a));
                }
            }
        }
    }

    #[test]
    fn nearest_ones(s in situation(), k in prop_oneof![0..8_usize, Just(40), Just(usize::MAX)], unwanted in 0..5_u32) {
        let (grids, brute) = s.worlds();
        for max_radius in [s.radius, f32::INFINITY] {
            let mut expected = Vec::new();
            let wanted = |index: usize| brute.items()[index].key != unwanted;
            brute.k_nearest(s.center, k, max_radius, wanted, &mut expected);
            let first = brute.nearest(s.center, max_radius, wanted);
            for grid in &grids {
                let mut found = Vec::new();
                grid.k_nearest(s.center, k, max_radius, wanted, &mut found);
                prop_assert_eq!(bits(&found), bits(&expected));
                let found = grid.nearest(s.center, max_radius, wanted);
                prop_assert_eq!(bits(found.as_slice()), bits(first.as_slice()));
            }
        }
    }

    #[test]
    fn in_a_box(s in situation(), other in position(2.0, false), unwanted in 0..5_u32, sorted in any::<bool>()) {
        let (grids, brute) = s.worlds();
        let (min, max) = if sorted { (s.center.min(other), s.center.max(other)) } else { (s.center, s.center + s.radius) };
        let wanted = |index: usize| brute.items()[index].key != unwanted;
        let mut expected = Vec::new();
        brute.for_each_in_box(min, max, |index| expected.push(index));
        for grid in &grids {
            let mut found = Vec::new();
            grid.for_each_in_box(min, max, |index| found.push(index));
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(grid.first_in_box(min, max, wanted), brute.first_in_box(min, max, wanted));
        }
    }

    #[test]
    fn along_a_ray(
        s in situation(),
        aim in any::<Index>(),
        at_one in any::<bool>(),
        direction in (-3..4_i32, -3..4_i32, -3..4_i32),
        length in prop_oneof![0.0..60.0_f32, Just(0.0), Just(f32::INFINITY), Just(3.0e6)],
        extra in prop_oneof![Just(0.0), 0.0..2.0_f32],
        unwanted in 0..5_u32,
    ) {
        let (grids, brute) = s.worlds();
        let direction = if at_one && !s.items.is_empty() {
            aim.get(&s.items).position - s.center
        } else {
            Vec3::new(direction.0 as f32, direction.1 as f32, direction.2 as f32)
        };
        let wanted = |index: usize| brute.items()[index].key != unwanted;
        let expected = brute.cast_ray(s.center, direction, length, extra, wanted);
        for grid in &grids {
            prop_assert_eq!(grid.cast_ray(s.center, direction, length, extra, wanted), expected);
        }
    }
}
