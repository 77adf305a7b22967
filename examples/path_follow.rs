//! Path finding meets path following: A* on a grid gives the waypoints, `PathFollow` drives them.
//!
//! `cargo run --release --example path_follow`

mod common;

use bevy::{color::Alpha, prelude::*};
use bevy_steer::{PathCompleted, PathMode, PathProgress, prelude::*};
use common::{Canvas, Look, Palette, Pointer, camera_2d};
use pathfinding::prelude::astar;

const HELP: &str = "A* finds the way through the maze, PathFollow drives it; at the end a new way is found.\n\
                    Click: send everybody there. The violet one runs a loop, the gold one back and forth.";
const WIDTH: i32 = 25;
const HEIGHT: i32 = 13;
const CELL: f32 = 2.0;

/// True where a wall stands.
#[derive(Resource)]
struct Maze(Vec<bool>);

/// Finds itself a new way whenever it has come to the end of one.
#[derive(Component)]
struct Errand(usize);

fn main() -> AppExit {
    common::run("path_follow", HELP, |app| {
        app.insert_resource(Maze::new())
            .add_systems(Startup, setup)
            .add_systems(Update, (send, draw))
            .add_observer(next_errand);
    })
}

impl Maze {
    fn new() -> Self {
        let mut walls = vec![false; (WIDTH * HEIGHT) as usize];
        // Bars with gaps at alternating ends, and a few pillars.
        for x in (4..WIDTH - 2).step_by(5) {
            for y in 0..HEIGHT {
                let gap = if (x / 5) % 2 == 0 { y < 3 } else { y >= HEIGHT - 3 };
                walls[(y * WIDTH + x) as usize] = !gap;
            }
        }
        for (x, y) in [(2, 9), (7, 3), (12, 9), (17, 3), (22, 8), (11, 4), (16, 10)] {
            walls[(y * WIDTH + x) as usize] = true;
        }
        Self(walls)
    }

    fn is_free(&self, (x, y): (i32, i32)) -> bool {
        (0..WIDTH).contains(&x) && (0..HEIGHT).contains(&y) && !self.0[(y * WIDTH + x) as usize]
    }

    fn way(&self, from: (i32, i32), to: (i32, i32)) -> Option<Vec<Vec3>> {
        let neighbors = |&(x, y): &(i32, i32)| {
            let free = |step: &(i32, i32)| {
                // A diagonal step needs both corners free.
                self.is_free((x + step.0, y + step.1))
                    && self.is_free((x + step.0, y))
                    && self.is_free((x, y + step.1))
            };
            let steps = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)];
            steps
                .into_iter()
                .filter(free)
                .map(|s| ((x + s.0, y + s.1), if s.0 * s.1 == 0 { 10 } else { 14 }))
                .collect::<Vec<_>>()
        };
        let distance = |&(x, y): &(i32, i32)| 10 * (x - to.0).abs().max((y - to.1).abs());
        let (cells, _) = astar(&from, neighbors, distance, |&cell| cell == to)?;
        Some(cells.into_iter().map(center).collect())
    }

    /// The `n`th free cell of a reproducible sequence.
    fn some_free_cell(&self, n: usize) -> (i32, i32) {
        let cells = (0..).map(|i| {
            let v = common::scatter(7 * n + i, Vec3::ONE) * 0.5 + 0.5;
            ((v.x * WIDTH as f32) as i32, (v.y * HEIGHT as f32) as i32)
        });
        cells.take(1000).find(|&cell| self.is_free(cell)).unwrap_or((0, 0))
    }
}

fn center((x, y): (i32, i32)) -> Vec3 {
    let half = Vec3::new(WIDTH as f32 - 1.0, HEIGHT as f32 - 1.0, 0.0) * 0.5;
    (Vec3::new(x as f32, y as f32, 0.0) - half) * CELL
}

fn cell(at: Vec3) -> (i32, i32) {
    let half = Vec3::new(WIDTH as f32 - 1.0, HEIGHT as f32 - 1.0, 0.0) * 0.5;
    let c = (at / CELL + half).round();
    (c.x as i32, c.y as i32)
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    maze: Res<Maze>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 30.0);
    for at in (0..WIDTH).flat_map(|x| (0..HEIGHT).map(move |y| (x, y))).filter(|&at| !maze.is_free(at)) {
        commands.spawn((
            Obstacle::Cuboid { half_extents: Vec3::splat(0.5 * CELL) },
            Transform::from_translation(center(at).with_z(-1.0)),
        ));
    }
    let common = || (SteeringAgent::new(6.0, 30.0), FaceVelocity::default(), ObstacleFeeler::default());
    for n in 0..8 {
        let start = maze.some_free_cell(n);
        let waypoints = maze.way(start, maze.some_free_cell(n + 100)).unwrap_or_default();
        commands.spawn((
            Errand(n),
            common(),
            Separation::default(),
            PathFollow { waypoints, ..default() },
            Transform::from_translation(center(start)),
            look.arrow(Palette::TEAL, &mut materials),
        ));
    }
    let there = [(0, 12), (24, 12)];
    for (mode, color, corners) in [
        (PathMode::PingPong, Palette::GOLD, [there[0], there[1]]),
        (PathMode::Loop, Palette::VIOLET, [(5, 1), (13, 11)]),
    ] {
        let mut waypoints = maze.way(corners[0], corners[1]).unwrap_or_default();
        if mode == PathMode::Loop {
            // The way back closes the loop.
            let back = maze.way(corners[1], corners[0]).unwrap_or_default();
            waypoints.extend(back.iter().skip(1).take(back.len().saturating_sub(2)));
        }
        commands.spawn((
            common(),
            PathFollow { waypoints, mode, ..default() },
            Transform::from_translation(center(corners[0])),
            look.arrow(color, &mut materials),
        ));
    }
}

fn next_errand(
    done: On<PathCompleted>,
    maze: Res<Maze>,
    mut agents: Query<(&Transform, &mut PathFollow, &mut Errand)>,
) {
    if let Ok((transform, mut path, mut errand)) = agents.get_mut(done.entity) {
        errand.0 += 8;
        let goal = maze.some_free_cell(errand.0);
        path.waypoints = maze.way(cell(transform.translation), goal).unwrap_or_default();
    }
}

fn send(
    mouse: Res<ButtonInput<MouseButton>>,
    pointer: Res<Pointer>,
    maze: Res<Maze>,
    mut agents: Query<(&Transform, &mut PathFollow), With<Errand>>,
) {
    let clicked = pointer.world.filter(|_| mouse.just_pressed(MouseButton::Left));
    if let Some(goal) = clicked.map(|at| cell(at.extend(0.0))).filter(|&goal| maze.is_free(goal)) {
        for (transform, mut path) in &mut agents {
            path.waypoints = maze.way(cell(transform.translation), goal).unwrap_or_default();
        }
    }
}

fn draw(mut gizmos: Gizmos, agents: Query<(&PathFollow, &PathProgress, Has<Errand>)>) {
    for (path, progress, errand) in &agents {
        let ahead = if errand { progress.waypoint().min(path.waypoints.len()) } else { 0 };
        let color = match path.mode {
            PathMode::Once => Palette::TEAL,
            PathMode::Loop => Palette::VIOLET,
            PathMode::PingPong => Palette::GOLD,
        };
        gizmos.linestrip_2d(
            path.waypoints[ahead..].iter().map(|p| p.truncate()),
            color.with_alpha(if errand { 0.25 } else { 0.12 }),
        );
        if let Some(next) = path.waypoints.get(progress.waypoint()) {
            gizmos.circle_2d(next.truncate(), path.arrival_radius, color.with_alpha(0.5));
        }
    }
}
