//! Situations with their right outcome that are about the core rather than about one behaviour.

mod stopping;
mod time;
mod turning;
