//! What a member of a flock asks of the grid, and the answer.

use glam::Vec3;

/// How neighbours count by their distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Falloff {
    /// Fully up to 70 % of a radius, then fading out to nothing at the radius (smoothstep).
    #[default]
    Smooth,
    /// Fully up to the radius, the ones exactly on it included.
    Hard,
}

/// Which neighbours count, and how far, for [`Grid::flock_sums`](crate::Grid::flock_sums). Radii are in world units; one
/// that is not positive and finite switches its sums off, others are taken as 1e-18 at least and 1e18 at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlockQuery {
    /// How neighbours count by their distance.
    pub falloff: Falloff,
    /// Radius of separation.
    pub separation_radius: f32,
    /// Radius of alignment.
    pub alignment_radius: f32,
    /// Radius of cohesion.
    pub cohesion_radius: f32,
    /// Cosine of half the field of view, which is centred on the velocity (on +x below a tiny speed). −1 and less, and
    /// NaN, see all round.
    pub cos_half_view: f32,
    /// Only the nearest so many count, ties by id; `None` counts all.
    pub max_neighbors: Option<u32>,
}

impl Default for FlockQuery {
    fn default() -> Self {
        Self {
            falloff: Falloff::Smooth,
            separation_radius: 2.0,
            alignment_radius: 5.0,
            cohesion_radius: 6.0,
            cos_half_view: -2.0,
            max_neighbors: None,
        }
    }
}

impl FlockQuery {
    /// Share of a radius over which neighbours fade in.
    pub const FADE: f32 = 0.3;

    /// The largest radius in use.
    #[inline]
    #[must_use]
    pub fn reach(&self) -> f32 {
        usable(self.separation_radius).max(usable(self.alignment_radius)).max(usable(self.cohesion_radius))
    }

    /// Distance up to which neighbours count as on the same spot: a thousandth of the separation radius.
    #[inline]
    #[must_use]
    pub fn coincidence(&self) -> f32 {
        (usable(self.separation_radius) * 1e-3).max(1e-6)
    }

    /// Whether nobody is out of sight.
    #[inline]
    #[must_use]
    pub fn sees_all_round(&self) -> bool {
        self.cos_half_view.is_nan() || self.cos_half_view <= -1.0
    }
}

/// A radius to compute with, 0 for none: within bounds whose squares and inverses are finite.
#[inline]
pub(crate) fn usable(radius: f32) -> f32 {
    if radius > 0.0 && radius.is_finite() { radius.clamp(1e-18, 1e18) } else { 0.0 }
}

/// Sums over an entry's flockmates, in the grid's coordinates. A neighbour's fade is from 0 to 1, by its distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlockSums {
    /// Σ fade · (−offset) / distance², without the coincident ones.
    pub separation: Vec3,
    /// Σ fade within the separation radius.
    pub separation_weight: f32,
    /// Σ fade · velocity.
    pub alignment: Vec3,
    /// Σ fade within the alignment radius.
    pub alignment_weight: f32,
    /// Σ fade · offset.
    pub cohesion: Vec3,
    /// Σ fade · velocity within the cohesion radius.
    pub cohesion_velocity: Vec3,
    /// Σ fade within the cohesion radius.
    pub cohesion_weight: f32,
    /// Squared distance of the nearest one; infinite without any.
    pub nearest_squared: f32,
    /// Whether there are some on (nearly) the same spot, see [`FlockQuery::coincidence`]. They have no direction to
    /// separate in: their share in `separation` is the caller's.
    pub coincident: bool,
}

impl Default for FlockSums {
    fn default() -> Self {
        Self {
            separation: Vec3::ZERO,
            separation_weight: 0.0,
            alignment: Vec3::ZERO,
            alignment_weight: 0.0,
            cohesion: Vec3::ZERO,
            cohesion_velocity: Vec3::ZERO,
            cohesion_weight: 0.0,
            nearest_squared: f32::INFINITY,
            coincident: false,
        }
    }
}
