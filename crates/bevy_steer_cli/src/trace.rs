//! The trace: a CSV row per agent and tick.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, BufWriter, Write},
};

use bevy::prelude::*;
use bevy_steer::{SteeringOutput, SteeringVelocity};

use crate::scene::Scene;

const HEADER: [&str; 12] = ["tick", "time", "entity", "px", "py", "pz", "vx", "vy", "vz", "fx", "fy", "fz"];

/// Writes `tick,time,entity,px,py,pz,vx,vy,vz,fx,fy,fz`: seconds, units, units/s, units/s².
///
/// The force is the clamped one that was applied in that tick; in tick 0, the scene as it was loaded, it is 0. Floats are
/// in the shortest form that reads back to the same bits.
pub struct Trace<W: Write> {
    csv: csv::Writer<W>,
    cell: String,
}

impl Trace<BufWriter<File>> {
    /// A trace in a file, which is replaced.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn create(path: &std::path::Path) -> io::Result<Self> {
        Self::new(BufWriter::new(File::create(path)?))
    }
}

impl<W: Write> Trace<W> {
    /// A trace with its header.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn new(writer: W) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(HEADER).map_err(io_error)?;
        Ok(Self { csv, cell: String::new() })
    }

    /// Writes all agents of `scene` as they are after `tick` ticks, `seconds` into the run.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write(&mut self, world: &World, scene: &Scene, tick: u64, seconds: f64) -> io::Result<()> {
        for agent in &scene.agents {
            let Ok(entity) = world.get_entity(agent.entity) else { continue };
            let position = entity.get::<Transform>().map_or(Vec3::ZERO, |t| t.translation);
            let velocity = entity.get::<SteeringVelocity>().map_or(Vec3::ZERO, |v| v.0);
            let force = match entity.get::<SteeringOutput>() {
                Some(output) if tick > 0 => output.force,
                _ => Vec3::ZERO,
            };
            self.cell(tick)?;
            self.cell(seconds)?;
            self.csv.write_field(&agent.label).map_err(io_error)?;
            for number in [position, velocity, force].iter().flat_map(Vec3::to_array) {
                self.cell(number)?;
            }
            self.csv.write_record(None::<&[u8]>).map_err(io_error)?;
        }
        Ok(())
    }

    /// Writes everything out and hands the writer back.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.csv.flush()?;
        let mut writer = self.csv.into_inner().map_err(|e| io::Error::other(e.to_string()))?;
        writer.flush()?;
        Ok(writer)
    }

    fn cell(&mut self, value: impl std::fmt::Display) -> io::Result<()> {
        self.cell.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.cell, "{value}");
        self.csv.write_field(&self.cell).map_err(io_error)
    }
}

/// The writer's own error; its kind matters to the caller.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
