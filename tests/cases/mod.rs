//! Small situations with their right outcome that take several behaviours or the whole plugin.

mod bad_input;
mod meetings;
mod order;
