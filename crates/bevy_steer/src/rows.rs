//! Where agents stand in this tick's arrays.

use std::sync::OnceLock;

use bevy::{
    ecs::entity::{Entities, EntityHashMap},
    prelude::*,
};

use crate::neighbors::NeighborGrid;

/// Finds the rows of agents: for a whole table at once, unless agents have been moved in storage since the start of the
/// tick.
pub(crate) struct Rows<'a> {
    grid: &'a NeighborGrid,
    entities: &'a Entities,
    moved: OnceLock<EntityHashMap<usize>>,
}

/// The rows of the agents of one table.
pub(crate) struct TableRows<'a> {
    rows: &'a Rows<'a>,
    first: Option<usize>,
    table: &'a [Entity],
}

impl<'r> Rows<'r> {
    pub(crate) fn new(grid: &'r NeighborGrid, entities: &'r Entities) -> Self {
        Self { grid, entities, moved: OnceLock::new() }
    }

    /// The rows of a table, given by its entities.
    pub(crate) fn of<'a>(&'a self, table: &'a [Entity]) -> TableRows<'a> {
        let id =
            table.first().and_then(|&entity| self.entities.get_spawned(entity).ok()).map(|at| at.table_id);
        let first = self.grid.tables.iter().find(|&&(table, _)| Some(table) == id).map(|&(_, first)| first);
        TableRows { rows: self, first, table }
    }

    #[cold]
    fn find(&self, entity: Entity) -> Option<usize> {
        let all = || self.grid.entities.iter().enumerate().map(|(row, &entity)| (entity, row)).collect();
        self.moved.get_or_init(all).get(&entity).copied()
    }
}

impl TableRows<'_> {
    /// The row of the `first` of some agents of the table, if the others follow it: so it is unless agents have moved.
    #[inline]
    pub(crate) fn run(&self, first: usize, count: usize) -> Option<usize> {
        let row = self.first? + first;
        let then = self.rows.grid.entities.get(row..row + count)?;
        (then == &self.table[first..first + count]).then_some(row)
    }

    /// The row of the `n`th agent of the table; `None` if it was no agent at the start of the tick.
    #[inline]
    pub(crate) fn row(&self, n: usize) -> Option<usize> {
        let entity = self.table[n];
        match self.first.map(|first| first + n) {
            Some(row) if self.rows.grid.entities.get(row) == Some(&entity) => Some(row),
            _ => self.rows.find(entity),
        }
    }
}
