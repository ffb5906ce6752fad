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
    let names = world.files("new");
    let mut killed = 0;
    for round in 0..40u64 {
        for name in &names {
            world.write(&format!("out/{name}"), "old");
        }
        let mut child = weave_command(world.path())
            .args(["in", "out", "-q"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(round * 700));
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        for name in &names {
            let bytes = world.read(&format!("out/{name}"));
            assert!(
                bytes == b"old" || bytes == world.read(&format!("new/{name}")),
                "round {round}: {name}"
            );
        }
    }
    assert!(killed > 0, "each job ended before it was killed");
    // What the killed jobs left is no hindrance.
    world.wove(&["in", "out"]);
    for name in &names {
        let [out, new] = ["out", "new"].map(|folder| world.read(&format!("{folder}/{name}")));
        assert!(out == new, "{name}");
    }
}

/// A file that another program cuts off under a running weave is an error like any other.
#[cfg(target_os = "linux")]
#[test]
fn an_input_that_is_cut_off_while_it_is_read_is_an_error() {
    use std::time::Duration;
    let world = World::new();
    let class = world.read("classes/com/acme/Main.class");
    // What is stored is read from the mapping only when its turn comes.
    let names: Vec<String> = (0..6000).map(|n| format!("p{n}/Main.class")).collect();
    let mut splicer = weave::internals::container::zip::Splicer::create(Vec::new());
    let mut codec = weave::internals::container::zip::Codec::new();
    let stored = weave::internals::container::zip::Method::Stored;
    let packed = weave::internals::container::zip::Packed::new(stored, &class, &mut codec);
    for name in &names {
        splicer.add(name, &packed).unwrap();
    }
    world.write("big.jar", splicer.finish().unwrap());
    world.write("out.jar", "old");
    let mut command = crate::support::weave_command(world.path());
    command.args(["big.jar", "out.jar", "--jobs", "1"]);
    command.stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let maps = format!("/proc/{}/maps", child.id());
    while !std::fs::read_to_string(&maps)
        .unwrap_or_default()
        .contains("big.jar")
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    let file = std::fs::File::options()
        .write(true)
        .open(world.at("big.jar"))
        .unwrap();
    file.set_len(4096).unwrap();
    let ran = crate::support::ran(child.wait_with_output().unwrap());
    assert!(matches!(ran.status, 1 | 3), "{} {}", ran.status, ran.err);
    assert!(ran.err.starts_with("error: "), "{}", ran.err);
    assert_eq!(world.read("out.jar"), b"old");
}
