//! The oracle of the flock sums: plain scalar code, sums in `f64`.

use glam::Vec3;

use crate::brute::Brute;
use crate::{Falloff, FlockQuery, Layout};

/// A sum, and what is needed to tell how far rounding in `f32` may take another sum of the same terms from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Σ fade · term.
    pub value: f64,
    /// Σ |fade · term|.
    pub size: f64,
    /// Σ |term| over the neighbours that count in part, where an error of the fade counts in full.
    pub fading: f64,
}

impl Sum {
    fn add(&mut self, fade: f64, term: f64) {
        self.value += fade * term;
        self.size += (fade * term).abs();
        if fade > 0.0 && fade < 1.0 {
            self.fading += term.abs();
        }
    }
}

/// As [`FlockSums`](crate::FlockSums), in more than its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlockTruth {
    /// Σ fade · (−offset) / distance², without the coincident ones.
    pub separation: [Sum; 3],
    /// Σ fade within the separation radius.
    pub separation_weight: Sum,
    /// Σ fade · velocity.
    pub alignment: [Sum; 3],
    /// Σ fade within the alignment radius.
    pub alignment_weight: Sum,
    /// Σ fade · offset.
    pub cohesion: [Sum; 3],
    /// Σ fade · velocity within the cohesion radius.
    pub cohesion_velocity: [Sum; 3],
    /// Σ fade within the cohesion radius.
    pub cohesion_weight: Sum,
    /// Squared distance of the nearest one, to the bit.
    pub nearest_squared: f32,
    /// Whether there are some on (nearly) the same spot.
    pub coincident: bool,
    /// How many neighbours were looked at: as many additions went into each sum, at most.
    pub count: usize,
}

/// A flockmate.
struct Mate {
    index: usize,
    offset: Vec3,
    distance_squared: f32,
}

impl Brute {
    /// As [`Grid::flock_sums`](crate::Grid::flock_sums). Who is seen is decided in `f32`, by the grid's formula.
    ///
    /// # Panics
    /// If there is no such entry.
    #[must_use]
    pub fn flock_sums(&self, entry: usize, query: &FlockQuery) -> FlockTruth {
        let radii = [query.separation_radius, query.alignment_radius, query.cohesion_radius].map(radius);
        let mates = self.flockmates(entry, query, radii[0].max(radii[1]).max(radii[2]));
        let coincidence = (radii[0] * 1e-3).max(1e-6);
        let mut truth = FlockTruth {
            separation: Default::default(),
            separation_weight: Sum::default(),
            alignment: Default::default(),
            alignment_weight: Sum::default(),
            cohesion: Default::default(),
            cohesion_velocity: Default::default(),
            cohesion_weight: Sum::default(),
            nearest_squared: f32::INFINITY,
            coincident: false,
            count: mates.len(),
        };
        for Mate { index, offset, distance_squared } in mates {
            let [near, middle, far] = radii.map(|radius| fade(query.falloff, radius, distance_squared));
            let velocity = self.items()[index].velocity;
            truth.nearest_squared = truth.nearest_squared.min(distance_squared);
            truth.separation_weight.add(near, 1.0);
            truth.alignment_weight.add(middle, 1.0);
            truth.cohesion_weight.add(far, 1.0);
            let coincident = distance_squared <= coincidence * coincidence;
            truth.coincident |= coincident;
            for axis in 0..3 {
                let (offset, velocity) = (f64::from(offset[axis]), f64::from(velocity[axis]));
                if !coincident {
                    truth.separation[axis].add(near, -offset / f64::from(distance_squared));
                }
                truth.alignment[axis].add(middle, velocity);
                truth.cohesion[axis].add(far, offset);
                truth.cohesion_velocity[axis].add(far, velocity);
            }
        }
        truth
    }

    /// Who counts at all.
    fn flockmates(&self, entry: usize, query: &FlockQuery, reach: f32) -> Vec<Mate> {
        let me = self.items()[entry];
        let heading = if me.velocity.length_squared() > 1e-8 { me.velocity.normalize() } else { Vec3::X };
        let all_round = query.cos_half_view.is_nan() || query.cos_half_view <= -1.0;
        let mut mates = Vec::new();
        self.for_each_within(me.position, reach, |index, offset, distance_squared| {
            let mut ahead = offset.x * heading.x + offset.y * heading.y;
            if self.layout() == Layout::Spatial {
                ahead += offset.z * heading.z;
            }
            let in_view = all_round || ahead >= query.cos_half_view * distance_squared.sqrt();
            if index != entry && self.items()[index].key == me.key && in_view {
                mates.push(Mate { index, offset, distance_squared });
            }
        });
        if let Some(most) = query.max_neighbors {
            let id = |mate: &Mate| (self.items()[mate.index].id, mate.index);
            mates.sort_by(|a, b| a.distance_squared.total_cmp(&b.distance_squared).then(id(a).cmp(&id(b))));
            mates.truncate(most as usize);
        }
        mates
    }
}

/// A radius in use, 0 for none.
fn radius(radius: f32) -> f32 {
    if radius.is_finite() && radius > 0.0 { radius.clamp(1e-18, 1e18) } else { 0.0 }
}

/// How much a neighbour counts.
fn fade(falloff: Falloff, radius: f32, distance_squared: f32) -> f64 {
    if radius == 0.0 {
        return 0.0;
    }
    match falloff {
        Falloff::Hard => f64::from(u8::from(distance_squared <= radius * radius)),
        Falloff::Smooth => {
            let share = f64::from(distance_squared).sqrt() / f64::from(radius);
            let t = ((1.0 - share) / 0.3).clamp(0.0, 1.0);
            3.0 * t.powi(2) - 2.0 * t.powi(3)
        }
    }
}
