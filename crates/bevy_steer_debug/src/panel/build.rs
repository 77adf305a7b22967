//! Builds values by reflection: what a field becomes when another variant is chosen.

use core::any::TypeId;

use bevy::{
    prelude::*,
    reflect::{
        TypeRegistry,
        attributes::CustomAttributes,
        enums::{DynamicEnum, DynamicVariant, EnumInfo, VariantInfo},
        structs::DynamicStruct,
        tuple::DynamicTuple,
    },
};

use crate::{edit::copy, range::number_range};

/// A sensible first value of a type: a quarter into the field's range, the type's default, or `entity` for an entity.
pub(super) fn first_value(
    registry: &TypeRegistry,
    ty: TypeId,
    attributes: Option<&CustomAttributes>,
    entity: Entity,
) -> Option<Box<dyn PartialReflect>> {
    let range = attributes.and_then(number_range);
    if ty == TypeId::of::<f32>() {
        let value = range.map_or(1.0, |r| r.start() + 0.25 * (r.end() - r.start()));
        return Some(Box::new(value as f32));
    }
    if ty == TypeId::of::<u32>() {
        return Some(Box::new(range.map_or(7, |r| *r.start() as u32)));
    }
    if ty == TypeId::of::<Entity>() {
        return Some(Box::new(entity));
    }
    if let Some(default) = registry.get_type_data::<ReflectDefault>(ty) {
        return Some(default.default().into_partial_reflect());
    }
    None
}

/// The variant of an enum with first values in all its fields; `None` where a field's type has none.
pub(super) fn first_variant(
    registry: &TypeRegistry,
    info: &EnumInfo,
    name: &str,
    default: Option<&dyn PartialReflect>,
    entity: Entity,
) -> Option<Box<dyn PartialReflect>> {
    let same = |value: &dyn PartialReflect| {
        value.reflect_ref().as_enum().is_ok_and(|value| value.variant_name() == name)
    };
    // A field's own default comes first, then that of its type.
    if let Some(default) = default.filter(|default| same(*default)) {
        return Some(copy(default));
    }
    let of_type = registry.get_type_data::<ReflectDefault>(info.type_id()).map(ReflectDefault::default);
    if let Some(default) = of_type.filter(|default| same(default.as_partial_reflect())) {
        return Some(default.into_partial_reflect());
    }
    let variant = match info.variant(name)? {
        VariantInfo::Unit(_) => DynamicVariant::Unit,
        VariantInfo::Tuple(fields) => {
            let mut tuple = DynamicTuple::default();
            for field in fields.iter() {
                let value = first_value(registry, field.type_id(), Some(field.custom_attributes()), entity)?;
                tuple.insert_boxed(value);
            }
            DynamicVariant::Tuple(tuple)
        }
        VariantInfo::Struct(fields) => {
            let mut all = DynamicStruct::default();
            for field in fields.iter() {
                let value = first_value(registry, field.type_id(), Some(field.custom_attributes()), entity)?;
                all.insert_boxed(field.name(), value);
            }
            DynamicVariant::Struct(all)
        }
    };
    Some(Box::new(DynamicEnum::new(name, variant)))
}

/// `Some` with a first value inside, for an optional field.
pub(super) fn some(
    registry: &TypeRegistry,
    info: &EnumInfo,
    attributes: Option<&CustomAttributes>,
    entity: Entity,
) -> Option<Box<dyn PartialReflect>> {
    let VariantInfo::Tuple(fields) = info.variant("Some")? else { return None };
    let value = first_value(registry, fields.field_at(0)?.type_id(), attributes, entity)?;
    let mut tuple = DynamicTuple::default();
    tuple.insert_boxed(value);
    Some(Box::new(DynamicEnum::new("Some", DynamicVariant::Tuple(tuple))))
}
