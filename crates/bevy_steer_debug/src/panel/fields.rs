//! One row for each field of a component, whatever the component is.

use core::{any::TypeId, ops::RangeInclusive};

use bevy::{
    prelude::*,
    reflect::{ReflectRef, TypeInfo, TypeRegistry, attributes::CustomAttributes, enums::Enum},
};
use bevy_egui::egui::{self, Align, Color32, DragValue, Layout, RichText, Slider, SliderClamping, Ui, vec2};
use bevy_steer::{InternalState, SteeringPriority};

use super::{
    Action,
    build::{first_variant, some},
    view::name_of,
};
use crate::{edit::copy, range::number_range};

/// Width of numbers.
const VALUE: f32 = 54.0;
/// Width of the button that resets a field.
const RESET: f32 = 16.0;
/// Height of rows.
pub(super) const ROW: f32 = 20.0;
/// How far fields of fields are indented.
const INDENT: f32 = 12.0;

/// Draws the fields of one component.
pub(super) struct Fields<'a> {
    pub world: &'a World,
    pub registry: &'a TypeRegistry,
    pub component: TypeId,
    pub entity: Entity,
    /// An agent to begin with where a field wants one.
    pub other: Entity,
    /// The field that waits for a click.
    pub picking: Option<&'a str>,
    /// Where the column of controls begins.
    pub control_x: f32,
    pub actions: &'a mut Vec<Action>,
}

/// A field on its way to the screen.
#[derive(Clone, Copy)]
struct Field<'a> {
    label: &'a str,
    path: &'a str,
    value: &'a dyn PartialReflect,
    default: Option<&'a dyn PartialReflect>,
    attributes: Option<&'a CustomAttributes>,
    depth: usize,
}

impl Fields<'_> {
    /// All fields of `value`, the component itself.
    pub fn component(
        &mut self,
        ui: &mut Ui,
        value: &dyn PartialReflect,
        default: Option<&dyn PartialReflect>,
    ) {
        let field = Field { label: "value", path: "", value, default, attributes: None, depth: 0 };
        if !self.inner(ui, field) {
            self.field(ui, field);
        }
    }

    /// The fields of a struct or tuple, without a row of its own. False for anything else.
    fn inner(&mut self, ui: &mut Ui, field: Field) -> bool {
        let info = field.value.get_represented_type_info();
        match field.value.reflect_ref() {
            ReflectRef::Struct(value) => {
                let info = info.and_then(|info| info.as_struct().ok());
                for (i, (name, part)) in value.iter_fields().enumerate() {
                    let attributes = info.and_then(|i| i.field(name)).map(|f| f.custom_attributes());
                    let default = field
                        .default
                        .and_then(|d| d.reflect_ref().as_struct().ok())
                        .and_then(|d| d.field_at(i));
                    self.part(ui, field, name, part, default, attributes);
                }
                true
            }
            ReflectRef::TupleStruct(value) => {
                let info = info.and_then(|info| info.as_tuple_struct().ok());
                let alone = value.field_len() == 1;
                for (i, part) in value.iter_fields().enumerate() {
                    let attributes = info.and_then(|f| f.field_at(i)).map(|f| f.custom_attributes());
                    let default = field
                        .default
                        .and_then(|d| d.reflect_ref().as_tuple_struct().ok())
                        .and_then(|d| d.field(i));
                    let number = i.to_string();
                    if alone {
                        let path = join(field.path, &number);
                        let label = field.label;
                        self.field(
                            ui,
                            Field { label, path: &path, value: part, default, attributes, ..field },
                        );
                    } else {
                        self.part(ui, field, &number, part, default, attributes);
                    }
                }
                true
            }
            _ => false,
        }
    }

    fn part(
        &mut self,
        ui: &mut Ui,
        whole: Field,
        name: &str,
        value: &dyn PartialReflect,
        default: Option<&dyn PartialReflect>,
        attributes: Option<&CustomAttributes>,
    ) {
        if attributes.is_some_and(|a| a.contains::<InternalState>()) {
            return;
        }
        let path = join(whole.path, name);
        self.field(ui, Field { label: name, path: &path, value, default, attributes, depth: whole.depth });
    }

    /// One field: a row, and rows for what is inside.
    fn field(&mut self, ui: &mut Ui, field: Field) {
        if field.depth > 6 {
            return;
        }
        let value = field.value;
        macro_rules! number {
            ($($number:ty),*) => {
                $(if let Some(&number) = value.try_downcast_ref::<$number>() {
                    let mut new = number;
                    let range = field.attributes.and_then(number_range);
                    let whole = <$number>::default().to_string() == "0" && (0.5 as $number) as f64 == 0.0;
                    self.row(ui, field, |ui, width| number_ui(ui, &mut new, range, whole, width));
                    if new.to_be_bytes() != number.to_be_bytes() {
                        self.set(field.path, Box::new(new));
                    }
                    return;
                })*
            };
        }
        number!(f32, f64, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);
        if let Some(&on) = value.try_downcast_ref::<bool>() {
            let mut new = on;
            self.row(ui, field, |ui, _| {
                ui.checkbox(&mut new, "");
            });
            if new != on {
                self.set(field.path, Box::new(new));
            }
        } else if let Some(&vector) = value.try_downcast_ref::<Vec3>() {
            self.vector(ui, field, vector.to_array());
        } else if let Some(&vector) = value.try_downcast_ref::<Vec2>() {
            self.vector(ui, field, vector.to_array());
        } else if let Some(&entity) = value.try_downcast_ref::<Entity>() {
            self.entity(ui, field, entity);
        } else if let Some(&priority) = value.try_downcast_ref::<SteeringPriority>() {
            self.priority(ui, field, priority);
        } else if let Some(text) = value.try_downcast_ref::<String>() {
            let mut new = text.clone();
            self.row(ui, field, |ui, width| {
                ui.add_sized([width, ROW], egui::TextEdit::singleline(&mut new));
            });
            if new != *text {
                self.set(field.path, Box::new(new));
            }
        } else {
            self.composite(ui, field);
        }
    }

    fn composite(&mut self, ui: &mut Ui, field: Field) {
        match field.value.reflect_ref() {
            ReflectRef::Enum(value) => match field.value.get_represented_type_info() {
                Some(TypeInfo::Enum(info)) if is_option(value) => self.option(ui, field, value, info),
                Some(TypeInfo::Enum(info)) => self.variants(ui, field, value, info),
                _ => self.text(ui, field, value.variant_name()),
            },
            ReflectRef::Struct(value) if value.field_len() > 0 => {
                self.text(ui, field, "");
                self.inner(ui, Field { depth: field.depth + 1, ..field });
            }
            ReflectRef::TupleStruct(value) if value.field_len() > 0 => {
                if value.field_len() > 1 {
                    self.text(ui, field, "");
                }
                self.inner(ui, Field { depth: field.depth + usize::from(value.field_len() > 1), ..field });
            }
            ReflectRef::List(list) => {
                let count = list.len();
                self.text(ui, field, &format!("{count} item{}", if count == 1 { "" } else { "s" }));
                for (i, item) in list.iter().enumerate().take(16) {
                    let label = i.to_string();
                    let row = Field { label: &label, default: None, depth: field.depth + 1, ..field };
                    self.text(ui, row, &short(item));
                }
                if count > 16 {
                    let row = Field { label: "", default: None, depth: field.depth + 1, ..field };
                    self.text(ui, row, "…");
                }
            }
            _ => self.text(ui, field, &short(field.value)),
        }
    }

    fn vector<const N: usize>(&mut self, ui: &mut Ui, field: Field, vector: [f32; N]) {
        let mut new = vector;
        let range = field.attributes.and_then(number_range);
        self.row(ui, field, |ui, width| {
            let gap = ui.spacing().item_spacing.x;
            let each = (width - gap * (N as f32 - 1.0)) / N as f32;
            for value in &mut new {
                ui.add_sized([each, ROW - 2.0], drag(value, range.as_ref(), false));
            }
        });
        for (i, axis) in ["x", "y", "z"].iter().enumerate().take(N) {
            if new[i].to_bits() != vector[i].to_bits() {
                self.set(&join(field.path, axis), Box::new(new[i]));
            }
        }
    }

    fn entity(&mut self, ui: &mut Ui, field: Field, entity: Entity) {
        let name = name_of(self.world, entity);
        let picking = self.picking == Some(field.path);
        let mut clicked = false;
        self.row(ui, field, |ui, width| {
            let text = if picking { "click one…" } else { "pick" };
            let button = if picking { 74.0 } else { 40.0 };
            let label = egui::Label::new(&name).truncate();
            ui.allocate_ui_with_layout(
                vec2(width - button - 4.0, ROW),
                Layout::left_to_right(Align::Center),
                |ui| {
                    ui.set_min_width(width - button - 4.0);
                    ui.add(label).on_hover_text(&name);
                },
            );
            clicked = ui
                .add_sized([button, ROW - 2.0], egui::Button::selectable(picking, text))
                .on_hover_text("Then click an agent in the world")
                .clicked();
        });
        if clicked {
            let pick = (!picking).then(|| (self.entity, self.component, field.path.to_owned()));
            self.actions.push(Action::Pick(pick));
        }
    }

    fn priority(&mut self, ui: &mut Ui, field: Field, priority: SteeringPriority) {
        const NAMED: [(SteeringPriority, &str); 4] = [
            (SteeringPriority::SAFETY, "Safety"),
            (SteeringPriority::SPACING, "Spacing"),
            (SteeringPriority::GOAL, "Goal"),
            (SteeringPriority::IDLE, "Idle"),
        ];
        let mut new = priority;
        let name = NAMED.iter().find(|(level, _)| *level == priority).map_or("Own level", |(_, name)| name);
        self.row(ui, field, |ui, width| {
            let gap = ui.spacing().item_spacing.x;
            combo(ui, field.path, name, width - VALUE - gap, |ui| {
                for (level, name) in NAMED {
                    ui.selectable_value(&mut new, level, name);
                }
            });
            ui.add_sized([VALUE, ROW - 2.0], DragValue::new(&mut new.0))
                .on_hover_text("Level 0 is served first, 255 last");
        });
        if new != priority {
            self.set(field.path, Box::new(new));
        }
    }

    fn option(&mut self, ui: &mut Ui, field: Field, value: &dyn Enum, info: &bevy::reflect::enums::EnumInfo) {
        let inner = value.field_at(0);
        let on = inner.is_some();
        let mut now = on;
        let range = field.attributes.and_then(number_range);
        let path = join(field.path, "0");
        // A number stands in the same row.
        let mut float = inner.and_then(|inner| inner.try_downcast_ref::<f32>().copied());
        let mut count = inner.and_then(|inner| inner.try_downcast_ref::<u32>().copied());
        let (old_float, old_count) = (float, count);
        self.row(ui, field, |ui, width| {
            let before = ui.cursor().left();
            ui.checkbox(&mut now, "");
            let width = width - (ui.cursor().left() - before);
            if let Some(float) = &mut float {
                number_ui(ui, float, range.clone(), false, width);
            } else if let Some(count) = &mut count {
                number_ui(ui, count, range.clone(), true, width);
            } else if !on {
                ui.weak("none");
            }
        });
        if now != on {
            let new = if now {
                some(self.registry, info, field.attributes, self.other)
            } else {
                first_variant(self.registry, info, "None", None, self.other)
            };
            if let Some(new) = new {
                self.set(field.path, new);
            }
        } else if float.map(f32::to_bits) != old_float.map(f32::to_bits) {
            self.set(&path, Box::new(float.unwrap_or_default()));
        } else if count != old_count {
            self.set(&path, Box::new(count.unwrap_or_default()));
        } else if let Some(inner) = inner
            && float.is_none()
            && count.is_none()
        {
            let depth = field.depth + 1;
            self.field(
                ui,
                Field { label: "value", path: &path, value: inner, default: None, depth, ..field },
            );
        }
    }

    fn variants(
        &mut self,
        ui: &mut Ui,
        field: Field,
        value: &dyn Enum,
        info: &bevy::reflect::enums::EnumInfo,
    ) {
        let current = value.variant_name();
        let mut chosen = current;
        self.row(ui, field, |ui, width| {
            combo(ui, field.path, &words(current), width, |ui| {
                for name in info.variant_names() {
                    ui.selectable_value(&mut chosen, *name, words(name));
                }
            });
        });
        if chosen != current {
            match first_variant(self.registry, info, chosen, field.default, self.other) {
                Some(new) => self.set(field.path, new),
                None => log::warn!("{chosen} cannot be made: a field of it has no default"),
            }
            return;
        }
        let defaults = field
            .default
            .and_then(|default| default.reflect_ref().as_enum().ok())
            .filter(|default| default.variant_name() == current);
        let variant = info.variant(current);
        for i in 0..value.field_len() {
            let Some(part) = value.field_at(i) else { continue };
            let name = value.name_at(i);
            let attributes = match variant {
                Some(bevy::reflect::enums::VariantInfo::Struct(fields)) => {
                    fields.field_at(i).map(|f| f.custom_attributes())
                }
                Some(bevy::reflect::enums::VariantInfo::Tuple(fields)) => {
                    fields.field_at(i).map(|f| f.custom_attributes())
                }
                _ => None,
            };
            let number = i.to_string();
            let path = join(field.path, name.unwrap_or(&number));
            let lone = if part.represents::<Entity>() { "entity" } else { "value" };
            let label = match name {
                Some(name) => name,
                None if value.field_len() == 1 => lone,
                None => &number,
            };
            let default = defaults.and_then(|default| default.field_at(i));
            let depth = field.depth + 1;
            self.field(ui, Field { label, path: &path, value: part, default, attributes, depth });
        }
    }

    fn text(&mut self, ui: &mut Ui, field: Field, text: &str) {
        self.row(ui, field, |ui, _| {
            ui.add(egui::Label::new(RichText::new(text).weak()).truncate());
        });
    }

    fn set(&mut self, path: &str, value: Box<dyn PartialReflect>) {
        self.actions.push(Action::Edit { component: self.component, path: path.to_owned(), value });
    }

    /// Label, control, reset: in columns that are the same for all rows.
    fn row(&mut self, ui: &mut Ui, field: Field, control: impl FnOnce(&mut Ui, f32)) {
        // Lists are shown, not edited.
        let differs = !matches!(field.value.reflect_ref(), ReflectRef::List(_) | ReflectRef::Map(_))
            && field.default.is_some_and(|d| field.value.reflect_partial_eq(d) == Some(false));
        let mut reset = false;
        ui.horizontal(|ui| {
            ui.set_min_height(ROW);
            ui.spacing_mut().item_spacing.x = 4.0;
            let indent = field.depth as f32 * INDENT;
            let left = ui.cursor().left();
            let label_width = (self.control_x - left).max(20.0);
            let (rect, response) = ui.allocate_exact_size(vec2(label_width - 4.0, ROW), egui::Sense::hover());
            let text = words(field.label);
            let color =
                if field.depth > 0 { ui.visuals().weak_text_color() } else { ui.visuals().text_color() };
            let galley = egui::WidgetText::from(RichText::new(text).color(color)).into_galley(
                ui,
                Some(egui::TextWrapMode::Truncate),
                label_width - 6.0 - indent,
                egui::TextStyle::Body,
            );
            let at = egui::pos2(rect.left() + indent, rect.center().y - 0.5 * galley.size().y);
            ui.painter().galley(at, galley, color);
            if let Some(hint) = hint(&field) {
                response.on_hover_text(hint);
            }
            let width = (ui.available_width() - RESET - 4.0).max(40.0);
            let end = ui.cursor().left() + width;
            control(ui, width);
            let gap = end + 4.0 - ui.cursor().left();
            if gap > 0.0 {
                ui.add_space(gap);
            }
            if differs {
                let button = egui::Button::new(RichText::new("⟲").size(13.0)).frame(false);
                reset = ui.add_sized([RESET, ROW], button).on_hover_text("Reset to the default").clicked();
            } else {
                ui.add_space(RESET);
            }
        });
        if reset && let Some(default) = field.default {
            self.set(field.path, copy(default));
        }
    }
}

/// A slider and a number, or a number alone where there is no range.
fn number_ui<N: egui::emath::Numeric>(
    ui: &mut Ui,
    value: &mut N,
    range: Option<RangeInclusive<f64>>,
    whole: bool,
    width: f32,
) {
    let gap = ui.spacing().item_spacing.x;
    if !value.to_f64().is_finite() {
        // Widgets would change it by looking at it.
        let text = RichText::new(value.to_f64().to_string()).color(ui.visuals().warn_fg_color);
        let button = ui.add_sized([VALUE * 1.6, ROW - 2.0], egui::Button::new(text));
        if button.on_hover_text("Not a finite number; click to replace it").clicked() {
            *value = N::from_f64(range.map_or(0.0, |range| *range.start()));
        }
        return;
    }
    match range {
        Some(range) => {
            ui.spacing_mut().slider_width = (width - VALUE - gap).max(24.0);
            let limits = N::from_f64(*range.start())..=N::from_f64(*range.end());
            // A value outside the range is shown at the end of the slider and not changed by being looked at.
            ui.add(Slider::new(value, limits).show_value(false).clamping(SliderClamping::Edits));
            ui.add_sized([VALUE, ROW - 2.0], drag(value, Some(&range), whole));
        }
        None => {
            ui.add_sized([width.min(VALUE * 1.6), ROW - 2.0], drag(value, None, whole));
        }
    }
}

fn drag<'a, N: egui::emath::Numeric>(
    value: &'a mut N,
    range: Option<&RangeInclusive<f64>>,
    whole: bool,
) -> DragValue<'a> {
    let size = value.to_f64().abs();
    let speed = match range {
        _ if whole => 0.1,
        Some(range) => (range.end() - range.start()) / 300.0,
        None if size.is_finite() => (0.01 * size).max(0.02),
        None => 0.1,
    };
    let decimals = match size {
        _ if whole => 0,
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        _ => 2,
    };
    DragValue::new(value).speed(speed).min_decimals(decimals).max_decimals(decimals.max(if whole {
        0
    } else {
        3
    }))
}

fn combo(ui: &mut Ui, salt: &str, selected: &str, width: f32, choices: impl FnOnce(&mut Ui)) {
    egui::ComboBox::from_id_salt((salt, "combo"))
        .width(width)
        .truncate()
        .selected_text(selected)
        .show_ui(ui, choices);
}

fn hint(field: &Field) -> Option<String> {
    let default = field.default.filter(|d| !matches!(d.reflect_ref(), ReflectRef::List(_))).map(short);
    let range = field.attributes.and_then(number_range);
    match (range, default) {
        (Some(range), Some(default)) => {
            Some(format!("{} to {}, default {default}", range.start(), range.end()))
        }
        (Some(range), None) => Some(format!("{} to {}", range.start(), range.end())),
        (None, Some(default)) => Some(format!("default {default}")),
        (None, None) => None,
    }
}

/// A value in few words.
fn short(value: &dyn PartialReflect) -> String {
    if let Some(v) = value.try_downcast_ref::<Vec3>() {
        return format!("{:.2}, {:.2}, {:.2}", v.x, v.y, v.z);
    }
    if let Some(v) = value.try_downcast_ref::<Vec2>() {
        return format!("{:.2}, {:.2}", v.x, v.y);
    }
    if let Ok(value) = value.reflect_ref().as_enum()
        && value.field_len() == 0
    {
        return words(value.variant_name());
    }
    let mut text = format!("{value:?}");
    if let Some((at, _)) = text.char_indices().nth(60) {
        text.truncate(at);
        text.push('…');
    }
    text
}

fn is_option(value: &dyn Enum) -> bool {
    value.reflect_type_path().starts_with("core::option::Option<")
}

fn join(path: &str, part: &str) -> String {
    if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") }
}

/// A field's or type's name as words.
pub(super) fn words(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (i, c) in name.char_indices() {
        match c {
            '_' => out.push(' '),
            c if c.is_uppercase() && i > 0 => {
                out.push(' ');
                out.extend(c.to_lowercase());
            }
            c => out.push(c),
        }
    }
    out
}

/// The colour of a behaviour's dot.
pub(super) fn color32(color: Color) -> Color32 {
    let c = color.to_srgba();
    let byte = |x: f32| (x.clamp(0.0, 1.0) * 255.0) as u8;
    Color32::from_rgb(byte(c.red), byte(c.green), byte(c.blue))
}
