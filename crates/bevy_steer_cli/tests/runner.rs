//! The `steer` binary: what it prints and writes, and how it fails.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

fn steer(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_steer")).current_dir(folder).args(args).output().expect("steer starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs and expects success; what it printed.
fn prints(folder: &Path, args: &[&str]) -> String {
    let output = steer(folder, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{args:?}");
    text(&output.stdout)
}

/// Runs and expects failure with code 2; the lines on standard error.
fn fails(folder: &Path, args: &[&str]) -> Vec<String> {
    let output = steer(folder, args);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(!error.contains("panicked"), "{args:?}: {error}");
    assert_eq!(text(&output.stdout), "", "{args:?}");
    error.lines().map(str::to_owned).collect()
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    folder
}

fn bundled(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../assets/scenes").join(name);
    path.to_string_lossy().into_owned()
}

const PAIR: &str = r#"(resources: {}, entities: {
    1: (components: {
        "bevy_ecs::name::Name": "one, \"the\" first",
        "bevy_steer::Seek": (target: Point((10.0, 0.0, 0.0))),
        "bevy_steer::SteeringVelocity": ((0.1, 0.0, 0.0)),
    }),
    2: (components: {
        "bevy_steer::Arrive": (target: Point((0.0, 30.0, 0.0))),
        "bevy_transform::components::transform::Transform": (translation: (0.0, 20.0, 7.5)),
    }),
})"#;

#[test]
fn a_trace_has_a_row_per_agent_and_tick_from_the_scene_as_loaded() {
    let folder = folder(&[("pair.scn.ron", PAIR.as_bytes())]);
    let here = folder.path();
    let said = prints(here, &["run", "pair.scn.ron", "--ticks", "3", "--dt", "0.2", "--trace", "out.csv"]);
    assert!(said.starts_with("pair.scn.ron: 2 agents, 3 ticks, 0.600 s, state "), "{said}");
    let trace = fs::read_to_string(here.join("out.csv")).expect("the trace");
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 4, "{trace}");
    assert_eq!(lines[0], "tick,time,entity,px,py,pz,vx,vy,vz,fx,fy,fz");
    assert_eq!(lines[1], "0,0,\"one, \"\"the\"\" first\",0,0,0,0.1,0,0,0,0,0");
    assert_eq!(lines[2], "0,0,2,0,20,7.5,0,0,0,0,0,0");
    let times: Vec<&str> = lines.iter().skip(2).step_by(2).filter_map(|l| l.split(',').nth(1)).collect();
    assert_eq!(times, ["0", "0.2", "0.4", "0.6"]);
    let last: Vec<f32> = lines[8].split(',').map(|cell| cell.parse().expect("a number")).collect();
    assert!(last[4] > 20.5 && last[5] == 7.5 && last[7] > 1.0 && last[10].abs() <= 15.0, "{last:?}");

    // The force of a tick is the one that made its velocity: v1 = v0 + f1 / m * dt below the speed limit.
    let first: Vec<f32> = lines[4].split(',').skip(3).map(|cell| cell.parse().expect("a number")).collect();
    assert_eq!(first[4], first[7] * 0.2, "{first:?}");
}

#[test]
fn metrics_are_one_json_object() {
    let folder = folder(&[("pair.scn.ron", PAIR.as_bytes())]);
    let said = prints(folder.path(), &["run", "pair.scn.ron", "--ticks", "1200", "--metrics"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    let json: Value = serde_json::from_str(&said).expect("JSON");
    let keys = [
        "agents",
        "ticks",
        "mean_speed",
        "max_speed",
        "polarization",
        "min_separation",
        "overlaps",
        "arrived",
        "heading_reversals",
        "non_finite",
        "state_hash",
    ];
    let object = json.as_object().expect("an object");
    assert_eq!(object.len(), keys.len(), "{said}");
    for key in keys {
        assert!(object.contains_key(key), "{key}: {said}");
    }
    assert_eq!((json["agents"].as_u64(), json["ticks"].as_u64()), (Some(2), Some(1200)));
    assert_eq!((json["arrived"].as_u64(), json["non_finite"].as_u64()), (Some(1), Some(0)));
    assert!(json["state_hash"].as_str().is_some_and(|hash| hash.len() == 16), "{said}");
    assert!(json["min_separation"].as_f64().is_some_and(|d| d > 5.0), "{said}");
}

#[test]
fn hz_and_dt_say_the_same() {
    let here = std::env::temp_dir();
    let scene = bundled("seek_arrive.scn.ron");
    let by_hz = prints(&here, &["run", &scene, "--hz", "5", "--metrics"]);
    assert_eq!(by_hz, prints(&here, &["run", &scene, "--dt", "0.2", "--metrics"]));
    assert_ne!(by_hz, prints(&here, &["run", &scene, "--dt", "0.1", "--metrics"]));
    let default = prints(&here, &["run", &scene, "--metrics"]);
    assert_eq!(default, prints(&here, &["run", &scene, "--hz", "60", "--ticks", "600", "--metrics"]));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut scene =
        String::from("(resources: {\"bevy_steer::SteeringDefaults\": (parallel_from: 0)}, entities: {\n");
    for i in 1..=3000 {
        let (x, y) = ((i % 60) as f32 * 0.9, (i / 60) as f32 * 1.1);
        let behavior = match i % 3 {
            0 => "\"bevy_steer::Arrive\": (target: Point((20.0, 20.0, 0.0))), \"bevy_steer::Separation\": ()",
            _ => "\"bevy_steer::FlockMember\": ()",
        };
        scene += &format!(
            "{i}: (components: {{{behavior}, \"bevy_transform::components::transform::Transform\": \
             (translation: ({x:.2}, {y:.2}, 0.0)), \"bevy_steer::SteeringVelocity\": (({}.0, 1.0, 0.0))}}),\n",
            i % 7 - 3
        );
    }
    scene += "})";
    let folder = folder(&[("crowd.scn.ron", scene.as_bytes())]);
    let run = |threads: &str| {
        let args = ["run", "crowd.scn.ron", "--ticks", "60", "--metrics", "--threads", threads];
        prints(folder.path(), &args)
    };
    let one = run("1");
    assert!(one.contains("\"agents\":3000"), "{one}");
    for threads in ["2", "8"] {
        assert_eq!(run(threads), one, "{threads} threads");
    }
}

#[test]
fn check_says_so_when_nothing_is_wrong() {
    let said = prints(Path::new("/"), &["check", &bundled("flock.scn.ron")]);
    assert!(said.trim_end().ends_with("flock.scn.ron: 50 agents, no faults found"), "{said}");
}

#[test]
fn check_names_every_fault_and_run_the_first() {
    let scene = br#"(resources: {}, entities: {1: (components: {
        "bevy_ecs::name::Name": "ann", "bevy_steer::Seek": (weight: NaN, target: Entity(9))})})"#;
    let folder = folder(&[("bad.scn.ron", scene)]);
    let expected = [
        "bad.scn.ron: ann: Seek: weight = NaN: must be finite and not negative; the behaviour is ignored",
        "bad.scn.ron: ann: Seek: refers to entity 9, which is not in the scene",
    ];
    assert_eq!(fails(folder.path(), &["check", "bad.scn.ron"]), expected);
    let first = format!("{} (and 1 more: see `steer check`)", expected[0]);
    assert_eq!(fails(folder.path(), &["run", "bad.scn.ron", "--trace", "out.csv"]), [first]);
    assert!(!folder.path().join("out.csv").exists(), "a wrong scene leaves nothing behind");
}

#[test]
fn bad_files_fail_with_one_line() {
    let noise: Vec<u8> = (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let folder = folder(&[
        ("noise.scn.ron", &noise),
        ("empty.scn.ron", b""),
        ("syntax.scn.ron", b"(\n  resources: {},\n  entities: {\n    1: (components: [\n"),
        ("zeros.scn.ron", &[0; 100]),
    ]);
    for (file, expected) in [
        ("missing.scn.ron", "missing.scn.ron: cannot read the scene: "),
        (".", ".: cannot read the scene: "),
        ("noise.scn.ron", "noise.scn.ron: not UTF-8 text (at byte "),
        ("empty.scn.ron", "empty.scn.ron: the file is empty"),
        ("syntax.scn.ron", "syntax.scn.ron: line 4, column "),
        ("zeros.scn.ron", "zeros.scn.ron: line 1, column "),
    ] {
        for command in ["run", "check"] {
            let lines = fails(folder.path(), &[command, file]);
            assert_eq!(lines.len(), 1, "{command} {file}: {lines:?}");
            assert!(lines[0].starts_with(expected), "{command} {file}: {lines:?}");
        }
    }
}

#[test]
fn bad_arguments_fail() {
    let folder = folder(&[("pair.scn.ron", PAIR.as_bytes())]);
    for args in [
        &["--hz", "0"][..],
        &["--hz", "-60"],
        &["--hz", "NaN"],
        &["--hz", "inf"],
        &["--hz", "fast"],
        &["--hz", "1e300"],
        &["--dt", "0"],
        &["--dt", "-0.1"],
        &["--dt", "NaN"],
        &["--dt", "inf"],
        &["--dt", "1e-12"],
        &["--dt", "1e300"],
        &["--hz", "60", "--dt", "0.1"],
        &["--threads", "0"],
        &["--threads", "-1"],
        &["--threads", "99999999999999999999"],
        &["--ticks", "-1"],
        &["--ticks", "18446744073709551615"],
        &["--ticks", "99999999999999999999999"],
        &["--seed", "x"],
        &["--unknown"],
    ] {
        let lines = fails(folder.path(), &[&["run", "pair.scn.ron"], args].concat());
        assert!(lines[0].starts_with("error: "), "{args:?}: {lines:?}");
        assert!(lines[0].contains(args[0]), "it names the argument: {args:?}: {lines:?}");
    }
    for args in [&[][..], &["fly"], &["run"], &["check"]] {
        assert!(!fails(folder.path(), args).is_empty(), "{args:?}");
    }
}

#[test]
fn ticks_of_any_allowed_length_work() {
    let folder = folder(&[("pair.scn.ron", PAIR.as_bytes())]);
    for args in [["--ticks", "0"], ["--dt", "1e-9"], ["--dt", "1"], ["--dt", "3600"], ["--hz", "1e9"]] {
        let said = prints(folder.path(), &[&["run", "pair.scn.ron", "--metrics"][..], &args].concat());
        assert!(said.contains("\"non_finite\":0"), "{args:?}: {said}");
    }
}

#[test]
fn traces_that_cannot_be_written_fail_and_scenes_are_not_overwritten() {
    let folder = folder(&[("pair.scn.ron", PAIR.as_bytes())]);
    let here = folder.path();
    let run = |trace: &str| fails(here, &["run", "pair.scn.ron", "--trace", trace]);
    for trace in ["no/such/folder/out.csv", "."] {
        let lines = run(trace);
        assert!(
            lines.len() == 1 && lines[0].starts_with(&format!("{trace}: cannot write the trace: ")),
            "{lines:?}"
        );
    }
    if Path::new("/dev/full").exists() {
        assert!(run("/dev/full")[0].starts_with("/dev/full: cannot write the trace: "));
    }
    assert_eq!(run("./pair.scn.ron"), ["./pair.scn.ron: the trace would overwrite the scene"]);
    assert_eq!(fs::read_to_string(here.join("pair.scn.ron")).expect("the scene"), PAIR);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = folder(&[("pair.scn.ron", PAIR.as_bytes())]);
    let mut runs = vec![vec!["--metrics"], vec![]];
    if Path::new("/dev/stdout").exists() {
        runs.push(vec!["--ticks", "20000", "--trace", "/dev/stdout"]);
    }
    for args in runs {
        let mut child = Command::new(env!("CARGO_BIN_EXE_steer"))
            .current_dir(folder.path())
            .args([&["run", "pair.scn.ron"][..], &args].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("steer starts");
        drop(child.stdout.take());
        let mut error = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut error).expect("text");
        }
        assert_eq!(child.wait().expect("it ends").code(), Some(0), "{args:?}: {error}");
        assert_eq!(error, "", "{args:?}");
    }
}

#[test]
fn warnings_of_the_simulation_go_to_standard_error() {
    // Finite, so that it is no fault of the scene; the distance to it is not.
    let scene = br#"(resources: {}, entities: {
        1: (components: {"bevy_steer::Seek": (target: Point((10.0, 0.0, 0.0))),
            "bevy_transform::components::transform::Transform": (translation: (3.4e38, 3.4e38, 0.0))}),
        2: (components: {"bevy_steer::Seek": (target: Point((1.0, 0.0, 0.0)))}),
    })"#;
    let folder = folder(&[("far.scn.ron", scene)]);
    let output = steer(folder.path(), &["run", "far.scn.ron", "--metrics"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: Value =
        serde_json::from_slice(&output.stdout).expect("standard output holds the metrics alone");
    assert_eq!(json["non_finite"].as_u64(), Some(0));
}

#[test]
fn bench_measures_a_tick_and_says_what_was_measured() {
    let folder = folder(&[]);
    for space in [false, true] {
        let mut args = vec!["bench", "--agents", "3000", "--ticks", "9", "--threads", "1", "--json"];
        args.extend(space.then_some("--space"));
        let report: Value = serde_json::from_str(&prints(folder.path(), &args)).expect("one JSON object");
        let number = |key: &str| report[key].as_f64().unwrap_or_else(|| panic!("{key} in {report}"));
        assert_eq!((number("agents"), number("threads")), (3000.0, 1.0));
        // At the border of the crowd there are fewer than the 24 of its middle.
        assert!((15.0..25.0).contains(&number("neighbors_per_agent")), "{report}");
        let (tick, bare) = (number("tick_ms"), number("bare_ms"));
        assert!(bare > 0.0 && tick > 0.0);
        assert!((number("ratio_to_bare") - tick / bare).abs() < 1e-9);
        assert!((number("ns_per_agent") - tick * 1e6 / 3000.0).abs() < 1e-6);
        assert!(number("allocs_per_tick") >= 1.0, "the binary counts: Bevy's executor allocates its tasks");
        assert!((200.0..5000.0).contains(&number("bytes_per_agent")), "{report}");
        let stages = report["stages"].as_array().expect("stages");
        let names: Vec<_> = stages.iter().map(|stage| stage["name"].as_str().unwrap_or_default()).collect();
        assert_eq!(names, ["sense", "steer: FlockMember", "avoid", "integrate"]);
        assert!(stages.iter().all(|stage| stage["ms"].as_f64().is_some_and(|ms| ms >= 0.0)));
    }
    let table = prints(folder.path(), &["bench", "--agents", "50", "--ticks", "3"]);
    assert!(table.contains("whole tick") && table.contains("bare loop"), "{table}");
    // Bad values: named, and nothing is run.
    for bad in [["--agents", "0"], ["--ticks", "-1"], ["--threads", "0"]] {
        let output = steer(folder.path(), &["bench", bad[0], bad[1]]);
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
        assert!(text(&output.stderr).contains(bad[0]), "{bad:?}: {}", text(&output.stderr));
    }
}
