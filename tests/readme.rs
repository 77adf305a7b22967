//! The README says what is true.

const README: &str = include_str!("../README.md");

#[test]
fn the_quick_start_is_the_example_that_compiles() {
    let code = README.split("```rust,no_run\n").nth(1).and_then(|rest| rest.split("```").next());
    let code = code.expect("the README has a quick start");
    let example = include_str!("../examples/quick_start.rs");
    let (_, example) = example.split_once("\n\n").expect("docs, then code");
    assert_eq!(code, example, "README and examples/quick_start.rs differ");
    assert!(code.lines().filter(|line| !line.is_empty()).count() <= 15, "at most 15 lines");
}

#[test]
fn every_behaviour_and_every_example_is_listed() {
    use bevy::prelude::*;
    use bevy_steer::prelude::*;

    let mut app = App::new();
    app.add_plugins((MinimalPlugins, SteeringPlugins::default()));
    for (_, name) in app.world().resource::<bevy_steer::SteeringBehaviors>().sorted() {
        assert!(README.contains(&format!("`{name}`")), "{name} is missing from the README");
    }
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).expect("examples") {
        let name = file.expect("a file").file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".rs").filter(|&name| name != "quick_start") {
            assert!(README.contains(&format!("`{name}`")), "the example {name} is missing from the README");
        }
    }
}
