//! The same sums over the same neighbours, found in different ways.

use bevy_steer_grid::{Falloff, FlockKernel, FlockQuery, Grid, Item, Layout};
use glam::{Vec2, Vec3Swizzles};
use kiddo::{ImmutableKdTree, SquaredEuclidean};
use rstar::RTree;
use rstar::primitives::GeomWithData;

use crate::crowd::{RADIUS, flock_sums};

const LIMIT: f32 = RADIUS * RADIUS;

/// Nearer than this there is no direction to separate in, see `FlockQuery::coincidence`.
const COINCIDENT: f32 = (RADIUS * 1e-3) * (RADIUS * 1e-3);

/// Everyone within the radius counts in full, for all rules.
pub fn hard() -> FlockQuery {
    FlockQuery {
        falloff: Falloff::Hard,
        separation_radius: RADIUS,
        alignment_radius: RADIUS,
        cohesion_radius: RADIUS,
        ..FlockQuery::default()
    }
}

/// What an agent learns of its neighbours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub count: u32,
    offset: Vec2,
    velocity: Vec2,
    separation: Vec2,
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, offset: Vec2, squared: f32, velocity: Vec2) {
        self.count += 1;
        self.offset += offset;
        self.velocity += velocity;
        if squared > COINCIDENT {
            self.separation -= offset * squared.recip();
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let near =
            |a: Vec2, b: Vec2| (a - b).length() <= 1e-5 * (self.count as f32 + 10.0) * (1.0 + b.length());
        self.count == other.count
            && near(self.offset, other.offset)
            && near(self.velocity, other.velocity)
            && near(self.separation, other.separation)
    }
}

/// A crowd as each contestant likes it best.
pub struct Crowd {
    pub items: Vec<Item>,
    points: Vec<[f32; 2]>,
    named: Vec<GeomWithData<[f32; 2], u32>>,
    velocities: Vec<Vec2>,
    grid: Grid,
    kernel: FlockKernel,
    /// By the agent's number.
    pub sums: Vec<Sums>,
}

impl Crowd {
    pub fn new(items: Vec<Item>) -> Self {
        let points: Vec<_> = items.iter().map(|item| item.position.xy().to_array()).collect();
        let named = points.iter().zip(0..).map(|(&point, n)| GeomWithData::new(point, n)).collect();
        Self {
            velocities: items.iter().map(|item| item.velocity.xy()).collect(),
            sums: vec![Sums::default(); items.len()],
            grid: Grid::default(),
            kernel: FlockKernel::default(),
            items,
            points,
            named,
        }
    }

    pub fn build_grid(&mut self) -> &Grid {
        self.grid.build(Layout::Planar, RADIUS, &self.items);
        &self.grid
    }

    pub fn build_kiddo(&self) -> ImmutableKdTree<f32, 2> {
        ImmutableKdTree::new_from_slice(&self.points).expect("finite points, fewer than 2³²")
    }

    pub fn build_rstar(&self) -> RTree<GeomWithData<[f32; 2], u32>> {
        RTree::bulk_load(self.named.clone())
    }

    /// The kernel of the grid.
    pub fn flock_sums(&mut self) {
        self.build_grid();
        let (tags, out) = (self.grid.tags(), &mut self.sums);
        flock_sums(&self.grid, &mut self.kernel, &hard(), &mut |entry, sums| {
            out[tags[entry] as usize] = Sums {
                count: sums.cohesion_weight as u32,
                offset: sums.cohesion.xy(),
                velocity: sums.alignment.xy(),
                separation: sums.separation.xy(),
            };
        });
    }

    /// One neighbour after the other.
    pub fn within(&mut self) {
        self.build_grid();
        let grid = &self.grid;
        let (vx, vy) = (grid.vxs(), grid.vys());
        for (entry, &tag) in grid.tags().iter().enumerate() {
            let mut sums = Sums::default();
            grid.for_each_within(grid.position(entry), RADIUS, |index, offset, squared| {
                if index != entry {
                    sums.add(offset.xy(), squared, Vec2::new(vx[index], vy[index]));
                }
            });
            self.sums[tag as usize] = sums;
        }
    }

    /// A k-d tree, asked in its own order, so that its leaves stay in the cache.
    pub fn kiddo(&mut self) {
        let tree = self.build_kiddo();
        for (me, point) in tree.iter() {
            let mut sums = Sums::default();
            tree.query(&point).within::<SquaredEuclidean<f32>>(LIMIT).unsorted().visit(|found| {
                if found.item != me {
                    let at = found.item as usize;
                    let offset = Vec2::from_array(self.points[at]) - Vec2::from_array(point);
                    sums.add(offset, found.distance, self.velocities[at]);
                }
            });
            self.sums[me as usize] = sums;
        }
    }

    /// An R* tree, asked in its own order.
    pub fn rstar(&mut self) {
        let tree = self.build_rstar();
        for me in &tree {
            let mut sums = Sums::default();
            for found in tree.locate_within_distance(*me.geom(), LIMIT) {
                if found.data != me.data {
                    let offset = Vec2::from_array(*found.geom()) - Vec2::from_array(*me.geom());
                    sums.add(offset, offset.length_squared(), self.velocities[found.data as usize]);
                }
            }
            self.sums[me.data as usize] = sums;
        }
    }

    /// Everyone looks at everyone.
    pub fn brute_force(&mut self) {
        for (me, (point, out)) in self.points.iter().zip(&mut self.sums).enumerate() {
            let mut sums = Sums::default();
            for (other, (position, &velocity)) in self.points.iter().zip(&self.velocities).enumerate() {
                let offset = Vec2::from_array(*position) - Vec2::from_array(*point);
                let squared = offset.length_squared();
                if squared <= LIMIT && other != me {
                    sums.add(offset, squared, velocity);
                }
            }
            *out = sums;
        }
    }

    /// That all contestants found the same neighbours of everyone; how many those are on average.
    pub fn check(&mut self, contestants: &[(&str, fn(&mut Self))]) -> f64 {
        let mut expected: Option<Vec<Sums>> = None;
        for (name, work) in contestants {
            self.sums.fill(Sums { count: u32::MAX, ..Sums::default() });
            work(self);
            let expected = expected.get_or_insert_with(|| self.sums.clone());
            for (n, (found, expected)) in self.sums.iter().zip(expected).enumerate() {
                assert!(found.is_like(expected), "agent {n}, {name}: {found:?} instead of {expected:?}");
            }
        }
        self.sums.iter().map(|sums| f64::from(sums.count)).sum::<f64>() / self.sums.len() as f64
    }
}
