//! The outer form of a scene file: which components stand where, each value still as text.
//!
//! Bevy's own loader reads a file in one go and stops at the first error, without saying on which entity. Here each value
//! is cut out first and read by itself, so that every fault is found and has a place.

use std::{fmt, marker::PhantomData};

use ron::{Options, value::RawValue};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, Visitor},
};

use crate::error::Problem;

/// A scene file as text in pieces.
#[derive(Deserialize)]
#[serde(rename = "World", deny_unknown_fields)]
pub(crate) struct WorldText<'a> {
    #[serde(borrow)]
    pub(crate) resources: Pairs<String, &'a RawValue>,
    #[serde(borrow)]
    pub(crate) entities: Pairs<u64, EntityText<'a>>,
}

/// One entity's components.
#[derive(Deserialize)]
#[serde(rename = "Entity", deny_unknown_fields)]
pub(crate) struct EntityText<'a> {
    #[serde(borrow)]
    pub(crate) components: Pairs<String, &'a RawValue>,
}

/// The entries of a map, in order and with duplicates.
pub(crate) struct Pairs<K, V>(pub(crate) Vec<(K, V)>);

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Pairs<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
            type Value = Pairs<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map in braces")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Reads pieces of one file.
pub(crate) struct Reader<'a> {
    text: &'a str,
    options: Options,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, options: Options::default() }
    }

    /// Cuts the file into pieces.
    pub(crate) fn world(&mut self) -> Result<WorldText<'a>, Problem> {
        let mut deserializer =
            ron::Deserializer::from_str(self.text).map_err(|e| self.syntax(0, &e.code, e.span.start))?;
        // What the file enables at its head holds for its pieces.
        let extensions = deserializer.extensions();
        let world = WorldText::deserialize(&mut deserializer)
            .and_then(|world| deserializer.end().map(|()| world))
            .map_err(|e| deserializer.span_error(e))
            .map_err(|e| self.syntax(0, &e.code, e.span.start))?;
        self.options = Options::default().with_default_extension(extensions);
        Ok(world)
    }

    /// Reads one value.
    pub(crate) fn value<S: DeserializeSeed<'a>>(
        &self,
        raw: &'a RawValue,
        seed: S,
    ) -> Result<S::Value, Problem> {
        let piece = raw.get_ron();
        // The piece is a part of the text, so its address tells where.
        let at = (piece.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let mut deserializer = ron::Deserializer::from_str_with_options(piece, &self.options)
            .map_err(|e| self.syntax(at, &e.code, e.span.start))?;
        seed.deserialize(&mut deserializer)
            .and_then(|value| deserializer.end().map(|()| value))
            .map_err(|e| deserializer.span_error(e))
            .map_err(|e| self.syntax(at, &e.code, e.span.start))
    }

    /// An error at `position` of the piece that starts at byte `at`.
    fn syntax(&self, at: usize, error: &ron::Error, position: ron::error::Position) -> Problem {
        let before = self.text.get(..at).unwrap_or_default();
        let last_line = before.rsplit('\n').next().unwrap_or_default();
        let lines = before.matches('\n').count();
        let column = if position.line <= 1 { last_line.chars().count() } else { 0 };
        let message = error.to_string();
        // Bevy's debug feature adds the path of types, which says less than the place that is known here.
        let message = message.split(" (stack: ").next().unwrap_or_default();
        Problem::Syntax {
            line: lines + position.line,
            column: column + position.col,
            // One line per fault, whatever the parser says.
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}
