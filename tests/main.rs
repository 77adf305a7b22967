//! What holds for the workspace as a whole: repeatability, bad input, small situations, the public surface.

mod ambiguity;
mod at_rest;
mod cases;
mod common;
mod custom_behavior;
mod determinism;
mod events;
mod fuzz;
mod readme;
mod restore;
mod time_steps;
