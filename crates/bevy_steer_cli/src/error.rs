//! What can go wrong, and where.

use std::{fmt, io, path::PathBuf};

use thiserror::Error;

/// Why a command failed.
#[derive(Debug, Error)]
pub enum Error {
    /// The scene file cannot be read.
    #[error("{}: cannot read the scene: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The scene is wrong; never empty.
    #[error("{}: {}{}", path.display(), faults[0], more(faults.len()))]
    Scene {
        /// The file.
        path: PathBuf,
        /// What is wrong, in order of the file.
        faults: Vec<SceneFault>,
    },
    /// The trace would replace the scene.
    #[error("{}: the trace would overwrite the scene", path.display())]
    TraceIsScene {
        /// The file.
        path: PathBuf,
    },
    /// The trace cannot be written.
    #[error("{}: cannot write the trace: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The result cannot be written.
    #[error("standard output: {source}")]
    Output {
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// One line for each thing that is wrong.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Scene { path, faults } => {
                faults.iter().map(|f| format!("{}: {f}", path.display())).collect()
            }
            other => vec![other.to_string()],
        }
    }
}

fn more(count: usize) -> String {
    if count > 1 { format!(" (and {} more: see `steer check`)", count - 1) } else { String::new() }
}

/// Where in a scene something is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The entity's `Name`, else its number in the file; `resources` for those; `None` for the file as a whole.
    pub entity: Option<String>,
    /// The component or resource by its short name.
    pub component: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.entity, &self.component].into_iter().flatten() {
            write!(f, "{part}: ")?;
        }
        Ok(())
    }
}

/// One thing that is wrong in a scene: where, and what.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{place}{problem}")]
pub struct SceneFault {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

/// What is wrong in a scene.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Problem {
    /// The file is not text.
    #[error("not UTF-8 text (at byte {byte})")]
    NotText {
        /// Offset of the first byte that is not.
        byte: usize,
    },
    /// There is nothing in the file.
    #[error("the file is empty")]
    Empty,
    /// Not RON, or not the form or the type that is expected here.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// Two entities have one number.
    #[error("another entity has this number too")]
    DuplicateEntity,
    /// A number that cannot be an entity.
    #[error("{number} is no entity number: they are whole numbers from 1 to 4294967295")]
    BadEntityNumber {
        /// The number.
        number: u64,
    },
    /// The same type twice on one entity.
    #[error("given twice")]
    DuplicateComponent,
    /// No such type is registered.
    #[error("no such {kind}{}", did_you_mean(suggestion.as_deref()))]
    UnknownType {
        /// "component" or "resource".
        kind: &'static str,
        /// The most similar type path.
        suggestion: Option<String>,
    },
    /// The type exists and does not belong here.
    #[error("is no {kind}{hint}")]
    WrongKind {
        /// "component" or "resource".
        kind: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// A reference to an entity that the scene does not have.
    #[error("refers to entity {number}, which is not in the scene")]
    Dangling {
        /// Its number.
        number: u64,
    },
    /// A value that makes no sense.
    #[error("{field} = {value}: {consequence}")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f32,
        /// What steering would do about it.
        consequence: &'static str,
    },
    /// A position or velocity that is not finite.
    #[error("{field} = {value}: not finite")]
    NotFinite {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
    },
    /// Two agents have one number.
    #[error("{id} is the number of {other} too")]
    DuplicateId {
        /// The number.
        id: u64,
        /// The other agent.
        other: String,
    },
    /// Nothing steers.
    #[error("no agents: no entity has a bevy_steer::SteeringAgent or a behaviour")]
    NoAgents,
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |s| format!("; did you mean `{s}`?"))
}
