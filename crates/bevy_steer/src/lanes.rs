//! Vectors of several agents side by side, in loops that compilers turn into vector code.

use bevy::prelude::*;

use crate::combine::truncate;

/// Agents that are worked on side by side.
pub(crate) const LANES: usize = 16;

/// One number of each.
pub(crate) type Numbers = [f32; LANES];

/// One vector of each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vectors([Numbers; 3]);

impl Vectors {
    pub(crate) const ZERO: Self = Self([[0.0; LANES]; 3]);

    #[inline]
    pub(crate) fn set(&mut self, lane: usize, v: Vec3) {
        (self.0[0][lane], self.0[1][lane], self.0[2][lane]) = v.into();
    }

    #[inline]
    pub(crate) fn get(&self, lane: usize) -> Vec3 {
        Vec3::new(self.0[0][lane], self.0[1][lane], self.0[2][lane])
    }

    /// `self + v · factor`.
    #[inline]
    #[must_use]
    pub(crate) fn plus(&self, v: &Self, factor: &Numbers) -> Self {
        let mut sum = *self;
        for (sum, v) in sum.0.iter_mut().zip(&v.0) {
            for lane in 0..LANES {
                sum[lane] += v[lane] * factor[lane];
            }
        }
        sum
    }

    #[inline]
    #[must_use]
    pub(crate) fn scaled(self, factor: &Numbers) -> Self {
        self.each(factor, |v, factor| v * factor)
    }

    #[inline]
    #[must_use]
    pub(crate) fn over(self, divisor: &Numbers) -> Self {
        self.each(divisor, |v, divisor| v / divisor)
    }

    #[inline]
    fn each(mut self, numbers: &Numbers, f: impl Fn(f32, f32) -> f32) -> Self {
        for v in &mut self.0 {
            for lane in 0..LANES {
                v[lane] = f(v[lane], numbers[lane]);
            }
        }
        self
    }

    #[inline]
    pub(crate) fn length_squared(&self) -> Numbers {
        let [x, y, z] = &self.0;
        core::array::from_fn(|lane| x[lane] * x[lane] + y[lane] * y[lane] + z[lane] * z[lane])
    }

    /// As [`truncate`], to the bit.
    #[inline]
    #[must_use]
    pub(crate) fn truncated(&self, max: &Numbers) -> Self {
        let squared = self.length_squared();
        let mut scale = [1.0; LANES];
        let mut finite = true;
        for lane in 0..LANES {
            let limit = max[lane] / squared[lane].sqrt();
            scale[lane] = if squared[lane] <= max[lane] * max[lane] { 1.0 } else { limit };
            finite &= squared[lane] < f32::INFINITY;
        }
        let mut short = self.scaled(&scale);
        if !finite {
            (0..LANES).for_each(|lane| short.set(lane, truncate(self.get(lane), max[lane])));
        }
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_truncated_like_single_vectors() {
        let samples = [
            (Vec3::ZERO, 1.0),
            (Vec3::ZERO, 0.0),
            (Vec3::X, 0.0),
            (Vec3::new(3.0, -4.0, 0.0), 5.0),
            (Vec3::new(3.0, -4.0, 1e-3), 5.0),
            (Vec3::splat(0.3), 0.2),
            (Vec3::splat(1e-30), 1e-32),
            (Vec3::X * 1e30, 1e25),
            (Vec3::splat(3e38), 2.0),
        ];
        for skip in 0..samples.len() {
            let (mut vectors, mut max) = (Vectors::ZERO, [1.0; LANES]);
            for (lane, &(v, limit)) in samples.iter().enumerate().skip(skip).take(4) {
                vectors.set(lane, v);
                max[lane] = limit;
            }
            let short = vectors.truncated(&max);
            for (lane, &max) in max.iter().enumerate() {
                let expected = truncate(vectors.get(lane), max);
                assert_eq!(
                    short.get(lane).to_array().map(f32::to_bits),
                    expected.to_array().map(f32::to_bits)
                );
            }
        }
    }
}
