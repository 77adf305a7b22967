//! One agent as the caller hands it to the grid.

use std::cmp::Ordering;

use glam::Vec3;

use crate::Layout;

/// One agent as the caller hands it to [`Grid::build`](crate::Grid::build).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
// One cache line: the build fetches items in cell order, and one that straddles two lines costs twice.
#[repr(align(64))]
pub struct Item {
    /// Position in world units. Left out of the grid if a coordinate that counts is not finite.
    pub position: Vec3,
    /// Velocity in units/s. Stored as zero if it is not finite, so that one bad agent cannot spoil its neighbours' sums.
    pub velocity: Vec3,
    /// Orders entries within a cell and breaks ties; should be unique.
    pub id: u64,
    /// The caller's own filter word (a group, layers); the grid only stores it.
    pub key: u32,
    /// Radius of the agent's disc or ball in world units, met by rays. NaN, infinite and negative count as 0.
    pub radius: f32,
    /// The caller's own index; the grid only stores it.
    pub tag: u32,
    /// Whatever else the caller wants to find in cell order; the grid only stores it.
    pub mark: u32,
}

impl Item {
    /// The item as the grid stores it.
    #[inline]
    pub(crate) fn stored(&self, layout: Layout) -> Item {
        let velocity = layout.flatten(self.velocity);
        Item {
            position: layout.flatten(self.position),
            velocity: if velocity.is_finite() { velocity } else { Vec3::ZERO },
            radius: if self.radius > 0.0 && self.radius.is_finite() { self.radius } else { 0.0 },
            ..*self
        }
    }

    /// The order of entries within a cell: by id, and where ids are not unique by everything else that is stored, so
    /// that the order of the input never shows.
    #[inline]
    pub(crate) fn order(&self, other: &Item, layout: Layout) -> Ordering {
        self.id.cmp(&other.id).then_with(|| self.stored(layout).order_of_twins(&other.stored(layout)))
    }

    #[cold]
    fn order_of_twins(&self, other: &Item) -> Ordering {
        let bits = |v: Vec3| v.to_array().map(f32::to_bits);
        let rest = |item: &Item| {
            (bits(item.position), bits(item.velocity), item.key, item.radius.to_bits(), item.tag, item.mark)
        };
        rest(self).cmp(&rest(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_stored_as_zero() {
        let item = Item { velocity: Vec3::new(1.0, f32::NAN, 0.0), radius: f32::INFINITY, ..Item::default() };
        let stored = item.stored(Layout::Planar);
        assert_eq!((stored.velocity, stored.radius), (Vec3::ZERO, 0.0));
        let item = Item { velocity: Vec3::new(1.0, 2.0, f32::NAN), radius: -1.0, ..Item::default() };
        assert_eq!(
            item.stored(Layout::Planar).velocity,
            Vec3::new(1.0, 2.0, 0.0),
            "z does not count in a plane"
        );
    }

    #[test]
    fn equal_ids_are_ordered_by_the_rest() {
        let a = Item { tag: 1, ..Item::default() };
        let b = Item { position: Vec3::X, ..Item::default() };
        assert_eq!(
            (a.order(&b, Layout::Planar), b.order(&a, Layout::Planar)),
            (Ordering::Less, Ordering::Greater)
        );
    }
}
