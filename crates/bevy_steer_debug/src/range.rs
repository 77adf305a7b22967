//! What range a number field is made for.

use core::ops::RangeInclusive;

use bevy::reflect::attributes::CustomAttributes;

/// The range that a field states by a reflection attribute such as `#[reflect(@0.0_f32..=5.0_f32)]`, for any number type.
///
/// A range that is empty or not finite doesn't count.
#[must_use]
pub fn number_range(attributes: &CustomAttributes) -> Option<RangeInclusive<f64>> {
    macro_rules! find {
        ($($number:ty),*) => {
            None$(.or_else(|| {
                let range = attributes.get::<RangeInclusive<$number>>()?;
                Some(*range.start() as f64..=*range.end() as f64)
            }))*
        };
    }
    let range: Option<RangeInclusive<f64>> =
        find!(f32, f64, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);
    range.filter(|r| r.start().is_finite() && r.end().is_finite() && r.start() < r.end())
}

#[cfg(test)]
mod tests {
    use bevy::{prelude::*, reflect::Typed};
    use bevy_steer::{Evade, FlockMember, SteeringAgent};

    use super::*;

    fn range_of<T: Typed>(field: &str) -> Option<RangeInclusive<f64>> {
        let info = T::type_info().as_struct().expect("a struct");
        number_range(info.field(field).expect("the field").custom_attributes())
    }

    #[test]
    fn ranges_come_from_the_attributes_of_fields() {
        assert_eq!(range_of::<SteeringAgent>("max_speed"), Some(0.0..=20.0));
        assert_eq!(range_of::<FlockMember>("field_of_view"), Some(0.0..=360.0));
        assert_eq!(
            range_of::<Evade>("panic_radius"),
            Some(0.0..=50.0),
            "an optional field has its range too"
        );
        assert_eq!(range_of::<FlockMember>("law"), None);
    }

    #[test]
    fn ranges_of_every_number_type_count_and_empty_ones_do_not() {
        #[derive(Reflect)]
        struct Fields {
            #[reflect(@1_u32..=9_u32)]
            count: u32,
            #[reflect(@-3_i32..=3_i32)]
            step: i32,
            #[reflect(@5.0_f32..=5.0_f32)]
            empty: f32,
            #[reflect(@0.0_f32..=f32::INFINITY)]
            endless: f32,
            plain: f32,
        }
        assert_eq!(range_of::<Fields>("count"), Some(1.0..=9.0));
        assert_eq!(range_of::<Fields>("step"), Some(-3.0..=3.0));
        for field in ["empty", "endless", "plain"] {
            assert_eq!(range_of::<Fields>(field), None, "{field}");
        }
    }
}
