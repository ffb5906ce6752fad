//! The target is the old file or the new one, whatever happens.

use crate::support::{PRINTED, World, weave_command};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn in_place_is_safe() {
    let world = World::with_jar();
    world.wove(&["app.jar", "out.jar"]);
    world.wove(&["app.jar", "app.jar"]);
    assert_eq!(world.tool("java", &["-jar", "app.jar"]).out, PRINTED);
    assert_eq!(world.read("app.jar"), world.read("out.jar"));
}

#[test]
fn a_job_that_is_killed_leaves_the_target_old_or_new() {
    let world = World::with_jar();
    // Large enough that there is something to interrupt.
    for i in 0..40 {
        let name = format!("in/lib{i}.jar");
        world.write(&name, world.read("app.jar"));
    }
    world.tool("jar", &["cf0", "big.jar", "in"]);
    world.wove(&["big.jar", "new.jar"]);
    let new = world.read("new.jar");
    world.write("out.jar", "old");
    let (mut old_seen, mut new_seen) = (0, 0);
    for round in 0..60u64 {
        let mut child = weave_command(world.path())
            .args(["big.jar", "out.jar", "-q"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(round * 700));
        child.kill().unwrap();
        child.wait().unwrap();
        match world.read("out.jar") {
            bytes if bytes == b"old" => old_seen += 1,
            bytes => {
                assert!(
                    bytes == new,
                    "round {round}: {} bytes of {}",
                    bytes.len(),
                    new.len()
                );
                new_seen += 1;
                world.write("out.jar", "old");
            }
        }
    }
    assert!(old_seen > 0, "no job was killed in time: {new_seen} ended");
    // What the killed jobs left is no hindrance.
    world.wove(&["big.jar", "out.jar"]);
    assert!(world.read("out.jar") == new);
}

#[test]
fn a_folder_job_that_is_killed_leaves_each_file_old_or_new() {
    let world = World::with_jar();
    for i in 0..20 {
        world.write(&format!("in/lib{i}.jar"), world.read("app.jar"));
    }
    world.wove(&["in", "new"]);
    for name in world.files("new") {
        world.write(&format!("out/{name}"), "old");
    }
    for round in 0..40u64 {
        let mut child = weave_command(world.path())
            .args(["in", "out", "-q"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(round * 700));
        child.kill().unwrap();
        child.wait().unwrap();
        for name in world.files("new") {
            let bytes = world.read(&format!("out/{name}"));
            assert!(
                bytes == b"old" || bytes == world.read(&format!("new/{name}")),
                "round {round}: {name}"
            );
        }
    }
}
