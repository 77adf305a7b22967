//! The bundled reference scenes reproduce the reference traces, through the runner.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use bevy::{prelude::AppTypeRegistry, reflect::TypeRegistry};
use bevy_steer_cli::{RunOptions, new_app, run};

/// One agent of one trace: how its columns are called.
struct Row {
    scene: &'static str,
    milliseconds: u64,
    /// Type path that must be registered for the scene to be run.
    needs: &'static str,
    agent: &'static str,
    /// Only rows of the reference whose cell in the first column holds the second.
    only: Option<(&'static str, &'static str)>,
    /// Column of the trace, column of the reference.
    columns: &'static [(&'static str, &'static str)],
}

const XY: &[(&str, &str)] = &[("px", "px"), ("py", "py")];
const XY_AND_VELOCITY: &[(&str, &str)] = &[("px", "px"), ("py", "py"), ("vx", "vx"), ("vy", "vy")];
const X_AND_VELOCITY: &[(&str, &str)] = &[("px", "px"), ("vx", "vx")];

const fn row(
    scene: &'static str,
    milliseconds: u64,
    needs: &'static str,
    agent: &'static str,
    columns: &'static [(&'static str, &'static str)],
) -> Row {
    Row { scene, milliseconds, needs, agent, only: None, columns }
}

const fn boid(agent: &'static str, number: &'static str) -> Row {
    Row {
        only: Some(("boid", number)),
        ..row("flock", 200, "bevy_steer::FlockMember", agent, XY_AND_VELOCITY)
    }
}

const ROWS: &[Row] = &[
    row("seek", 200, "bevy_steer::Seek", "seeker", XY_AND_VELOCITY),
    row("flee", 200, "bevy_steer::Flee", "hare", X_AND_VELOCITY),
    row("arrive", 200, "bevy_steer::Arrive", "visitor", X_AND_VELOCITY),
    row("pursue", 200, "bevy_steer::Pursue", "hound", XY),
    row("pursue", 200, "bevy_steer::Pursue", "hare", &[("px", "target_x"), ("py", "target_y")]),
    row("path_follow", 200, "bevy_steer::PathFollow", "walker", XY),
    row("feeler_point", 150, "bevy_steer::ObstacleFeeler", "beetle", XY),
    boid("boid 0", "0"),
    boid("boid 1", "1"),
    boid("boid 2", "2"),
    boid("boid 3", "3"),
];

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

type Table = Vec<HashMap<String, String>>;

fn read_table(path: &PathBuf) -> Table {
    let mut reader = csv::Reader::from_path(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn number(row: &HashMap<String, String>, column: &str) -> f32 {
    row[column].parse().expect("a number")
}

fn is_registered(registry: &TypeRegistry, path: &str) -> bool {
    registry.get_with_type_path(path).is_some()
}

#[test]
fn reference_scenes_reproduce_the_traces() {
    let app = new_app(Duration::from_millis(200), Some(1));
    let registry = app.world().resource::<AppTypeRegistry>().clone();
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for row in ROWS {
        if !is_registered(&registry.read(), row.needs) {
            println!("SKIPPED: {} ({} is not registered)", row.scene, row.needs);
            continue;
        }
        let reference =
            read_table(&repository().join(format!("crates/bevy_steer/tests/reference/{}.csv", row.scene)));
        let expected: Vec<_> = reference
            .iter()
            .filter(|cells| row.only.is_none_or(|(column, value)| cells[column] == value))
            .collect();
        assert!(expected.len() >= 3, "{}: the reference has rows", row.scene);
        let trace = folder.path().join("trace.csv");
        let dt = Duration::from_millis(row.milliseconds);
        let scene = repository().join(format!("assets/scenes/reference/{}.scn.ron", row.scene));
        let ticks = expected.len() as u64 - 1;
        run(&RunOptions { ticks, dt, trace: Some(trace.clone()), ..RunOptions::new(scene) })
            .unwrap_or_else(|e| panic!("{e}"));
        let trace = read_table(&trace);
        let actual: Vec<_> = trace.iter().filter(|cells| cells["entity"] == row.agent).collect();
        assert_eq!(actual.len(), expected.len(), "{} {}: a row per tick", row.scene, row.agent);
        for (tick, (actual, expected)) in actual.iter().zip(&expected).enumerate() {
            assert_eq!(actual["tick"], tick.to_string());
            for (ours, theirs) in row.columns {
                let (ours, theirs) = (number(actual, ours), number(expected, theirs));
                assert!(
                    (ours - theirs).abs() < 1e-3,
                    "{} {} tick {tick}: {ours} instead of {theirs}",
                    row.scene,
                    row.agent
                );
            }
        }
        compared += 1;
    }
    println!("{compared} of {} reference rows compared", ROWS.len());
    assert_eq!(compared, ROWS.len(), "every row is compared");
}

#[test]
fn every_bundled_scene_is_right() {
    let mut checked = 0;
    for folder in ["assets/scenes", "assets/scenes/reference"] {
        for file in std::fs::read_dir(repository().join(folder)).expect("the folder") {
            let path = file.expect("a file").path();
            if !path.to_string_lossy().ends_with(".scn.ron") {
                continue;
            }
            let needs = ROWS.iter().find(|row| path.ends_with(format!("{}.scn.ron", row.scene)));
            let mut app = new_app(Duration::from_millis(200), Some(1));
            let registry = app.world().resource::<AppTypeRegistry>().clone();
            if needs.is_some_and(|row| !is_registered(&registry.read(), row.needs)) {
                println!("SKIPPED: {}", path.display());
                continue;
            }
            bevy_steer_cli::load_scene(&mut app, &path).unwrap_or_else(|e| panic!("{e}"));
            checked += 1;
        }
    }
    println!("{checked} scenes checked");
    assert!(checked >= 6);
}
