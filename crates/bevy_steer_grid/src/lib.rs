//! An exact neighbour grid for large crowds: rebuilt from scratch each tick by counting sort, no ECS, no unsafe.
//!
//! [`Grid::build`] sorts all agents into square (or cubic) cells and stores them structure-of-arrays in cell order, so
//! that the cells of one row are one contiguous range. Every query walks a few such ranges ([`Grid::runs`]) and hands
//! back exactly what a loop over all agents would.
//!
//! ```
//! use bevy_steer_grid::{Grid, Item, Layout};
//! use glam::Vec3;
//!
//! let agents: Vec<Item> = (0..100)
//!     .map(|n| Item {
//!         position: Vec3::new((n % 10) as f32, (n / 10) as f32, 0.0),
//!         id: n,
//!         tag: n as u32,
//!         ..Item::default()
//!     })
//!     .collect();
//!
//! let mut grid = Grid::default();
//! let skipped = grid.build(Layout::Planar, 2.0, &agents);
//! assert_eq!((grid.len(), skipped), (100, 0));
//!
//! // Everyone within 1 of (5, 5): itself and four neighbours, the one on the radius included.
//! let mut seen = Vec::new();
//! grid.for_each_within(Vec3::new(5.0, 5.0, 0.0), 1.0, |index, _offset, _distance_squared| {
//!     seen.push(grid.tags()[index]);
//! });
//! seen.sort();
//! assert_eq!(seen, [45, 54, 55, 56, 65]);
//!
//! // The nearest other agent; four are equally far, so the lowest id wins.
//! let nearest = grid.nearest(Vec3::new(5.0, 5.0, 0.0), f32::INFINITY, |index| grid.ids()[index] != 55);
//! assert_eq!(nearest.unwrap().id, 45);
//! ```
//!
//! # Map
//!
//! | file | holds |
//! |---|---|
//! | `layout` | [`Layout`], cell coordinates, [`suggest_cell_size`] |
//! | `item` | [`Item`]: one agent as the caller hands it in, and the order of entries in a cell |
//! | `table` | where each cell starts: a dense table, or a sparse one where the world is wide and empty |
//! | `columns` | the entries, structure-of-arrays |
//! | `grid` | [`Grid`] and its accessors |
//! | `build` | [`Grid::build`], [`Grid::build_on`], [`Grid::build_within`] |
//! | `sort` | its first half: which cell each item is in |
//! | `parts` | its second half: order within the cells, and the columns |
//! | `runner` | [`Runner`]: on one thread or on several |
//! | `query` | [`Grid::runs`], within a radius, in a box |
//! | `nearest` | [`Grid::k_nearest`], [`Grid::nearest`] |
//! | `ray` | [`Grid::cast_ray`] |
//! | `flock_query`, `flock` | [`Grid::flock_sums`], [`Grid::flock_blocks`]: the sums of flocking |
//! | `flock_lanes` | their arithmetic, eight neighbours at a time |
//! | `flock_block` | [`FlockBlock`]: the sums of eight entries, side by side |
//! | `vicinity` | what they look at: the entries round a point, side by side |
//! | `brute`, `brute_flock` | the same queries by looking at everything: the oracle of the tests |
//!
//! # Promises
//!
//! - **Exact.** An entry is within a radius if and only if `dx * dx + dy * dy + dz * dz <= radius * radius` in `f32`,
//!   evaluated from left to right, whatever the cell size, the radius and the coordinates. So A is within `r` of B if
//!   and only if B is within `r` of A.
//! - **One order.** Entries lie in the order (cell z, cell y, cell x, id), whatever the order of the input and whichever
//!   table is in use; queries visit them in that order, so sums over neighbours are reproducible to the bit.
//! - **Memory is O(agents)**, never O(extent of the world), and is reused: a build that is no larger than an earlier one
//!   allocates nothing, queries never do (but for the growth of an output vector, or of a
//!   [`FlockKernel`]'s buffers).
//! - **No bad input is fatal.** Positions that are not finite are left out and counted; see each query for its own.

#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod brute;
#[doc(hidden)]
pub mod brute_flock;
mod build;
mod columns;
mod flock;
mod flock_block;
mod flock_lanes;
mod flock_query;
mod grid;
mod item;
mod layout;
mod nearest;
mod parts;
mod query;
mod ray;
mod runner;
mod sort;
mod table;
mod vicinity;

pub use build::Extent;
pub use flock::FlockKernel;
pub use flock_block::FlockBlock;
pub use flock_query::{Falloff, FlockQuery, FlockSums};
pub use grid::Grid;
pub use item::Item;
pub use layout::{Layout, RadiusCensus, suggest_cell_size};
pub use nearest::Neighbor;
pub use query::Runs;
pub use ray::RayHit;
pub use runner::{Runner, Serial};
pub use table::TableKind;
