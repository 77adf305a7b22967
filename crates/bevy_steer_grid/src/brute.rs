//! The oracle: every query by looking at everything.
//!
//! Shares with the grid the order of entries and what a single entry must satisfy, but not how entries are found.

use glam::Vec3;

use crate::layout::Frame;
use crate::nearest::Neighbor;
use crate::ray::{self, Ray, RayHit};
use crate::{Item, Layout};

/// All agents in the order of a [`Grid`](crate::Grid) with the same arguments, so that indices agree.
#[derive(Clone, Debug)]
pub struct Brute {
    layout: Layout,
    items: Vec<Item>,
}

impl Brute {
    /// The items that a grid would keep, as it would store them.
    #[must_use]
    pub fn new(layout: Layout, cell_size: f32, items: &[Item]) -> Self {
        let frame = Frame::new(layout, cell_size);
        let mut items: Vec<_> =
            items.iter().map(|item| item.stored(layout)).filter(|item| item.position.is_finite()).collect();
        let cell = |item: &Item| {
            let [x, y, z] = frame.cell(item.position);
            [z, y, x]
        };
        items.sort_by(|a, b| cell(a).cmp(&cell(b)).then_with(|| a.order(b, layout)));
        Self { layout, items }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The entries in order.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// As [`Grid::for_each_within`](crate::Grid::for_each_within).
    pub fn for_each_within(&self, center: Vec3, radius: f32, mut visit: impl FnMut(usize, Vec3, f32)) {
        let center = self.layout.flatten(center);
        if !center.is_finite() || radius.is_nan() || radius < 0.0 {
            return;
        }
        for (index, item) in self.items.iter().enumerate() {
            let offset = item.position - center;
            let distance_squared = match self.layout {
                Layout::Planar => offset.x * offset.x + offset.y * offset.y,
                Layout::Spatial => offset.x * offset.x + offset.y * offset.y + offset.z * offset.z,
            };
            if distance_squared <= radius * radius {
                visit(index, offset, distance_squared);
            }
        }
    }

    /// As [`Grid::k_nearest`](crate::Grid::k_nearest).
    pub fn k_nearest(
        &self,
        center: Vec3,
        k: usize,
        max_radius: f32,
        mut filter: impl FnMut(usize) -> bool,
        out: &mut Vec<Neighbor>,
    ) {
        out.clear();
        self.for_each_within(center, max_radius, |index, offset, distance_squared| {
            if filter(index) {
                out.push(Neighbor { index, id: self.items[index].id, offset, distance_squared });
            }
        });
        out.sort();
        out.truncate(k);
    }

    /// As [`Grid::nearest`](crate::Grid::nearest).
    #[must_use]
    pub fn nearest(
        &self,
        center: Vec3,
        max_radius: f32,
        filter: impl FnMut(usize) -> bool,
    ) -> Option<Neighbor> {
        let mut out = Vec::new();
        self.k_nearest(center, 1, max_radius, filter, &mut out);
        out.pop()
    }

    /// As [`Grid::for_each_in_box`](crate::Grid::for_each_in_box).
    pub fn for_each_in_box(&self, min: Vec3, max: Vec3, mut visit: impl FnMut(usize)) {
        let axes = if self.layout == Layout::Planar { 2 } else { 3 };
        for (index, item) in self.items.iter().enumerate() {
            if (0..axes).all(|axis| (min[axis]..=max[axis]).contains(&item.position[axis])) {
                visit(index);
            }
        }
    }

    /// As [`Grid::first_in_box`](crate::Grid::first_in_box).
    #[must_use]
    pub fn first_in_box(&self, min: Vec3, max: Vec3, mut filter: impl FnMut(usize) -> bool) -> Option<usize> {
        let mut first = None;
        self.for_each_in_box(min, max, |index| {
            if first.is_none() && filter(index) {
                first = Some(index);
            }
        });
        first
    }

    /// As [`Grid::cast_ray`](crate::Grid::cast_ray).
    #[must_use]
    pub fn cast_ray(
        &self,
        origin: Vec3,
        direction: Vec3,
        max_length: f32,
        extra_radius: f32,
        mut filter: impl FnMut(usize) -> bool,
    ) -> Option<RayHit> {
        let ray = Ray::new(self.layout, origin, direction, max_length, extra_radius)?;
        let mut best = None;
        for (index, item) in self.items.iter().enumerate() {
            if let Some(distance) = ray.distance_to(item.position, item.radius)
                && filter(index)
            {
                ray::offer(&mut best, RayHit { index, distance }, |index| self.items[index].id);
            }
        }
        best
    }
}
