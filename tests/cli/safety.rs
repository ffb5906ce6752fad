//! The target is the old file or the new one, whatever happens.

use crate::support::{PRINTED, World, program, weave_command};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn in_place_is_safe() {
    let world = World::with_jar();
    world.wove(&["app.jar", "out.jar"]);
    world.wove(&["app.jar", "app.jar"]);
    assert_eq!(world.tool("java", &["-jar", "app.jar"]).out, PRINTED);
    assert_eq!(world.read("app.jar"), world.read("out.jar"));
}

/// What a job has staged in a folder: temporary files and folders of weave's.
fn staged(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(".weave-") && name.ends_with(".tmp")
    };
    entries.map(|e| e.path()).filter(is_ours).collect()
}

fn remove_staged(dir: &Path) {
    for path in staged(dir) {
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
    }
}

/// Kills a job as soon as something holds; whether that was before it ended.
fn kill_when(mut command: Command, holds: impl Fn() -> bool) -> bool {
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() && !holds() {
        std::thread::yield_now();
    }
    let _ = child.kill();
    !child.wait().unwrap().success()
}

/// How many jobs must be killed in the middle, and how many are started for that at most.
const KILLS: usize = 5;
const TRIES: usize = 500;

/// A job is killed in each of the states that it goes through, until enough were in the middle.
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
    let len = |path: PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let mut killed = 0;
    for round in 0..TRIES {
        world.write("out.jar", "old");
        remove_staged(world.path());
        let mut command = weave_command(world.path());
        command.args(["big.jar", "out.jar", "-q"]);
        // It has begun a file; it has written some of it; the target is another.
        let was_killed = kill_when(command, || match round % 3 {
            0 => !staged(world.path()).is_empty(),
            1 => staged(world.path()).into_iter().any(|path| len(path) > 0),
            _ => len(world.at("out.jar")) != 3,
        });
        let out = world.read("out.jar");
        let is_old = out == b"old";
        assert!(
            is_old || out == new,
            "round {round}: {} bytes of {}",
            out.len(),
            new.len()
        );
        killed += usize::from(was_killed && is_old && !staged(world.path()).is_empty());
        if killed >= KILLS && round >= 3 * KILLS {
            break;
        }
    }
    assert!(killed >= KILLS, "{killed} jobs were killed in the middle");
    // What the killed jobs left is no hindrance.
    world.wove(&["big.jar", "out.jar"]);
    assert!(world.read("out.jar") == new);
}

/// The system ends the job at a byte of its output: it may write no longer file.
#[cfg(unix)]
#[test]
fn a_job_that_is_ended_at_any_byte_leaves_the_target() {
    use std::os::unix::process::ExitStatusExt;
    let world = World::with_jar();
    world.wove(&["app.jar", "new.jar"]);
    let blocks = world.read("new.jar").len() / 1024;
    assert!(blocks > 8, "{blocks}");
    world.write("out.jar", "old");
    // Shells count blocks of 512 or of 1,024 bytes.
    for limit in [0, 1, blocks / 4, blocks / 2, blocks - 1] {
        let script = format!("ulimit -c 0; ulimit -f {limit}; exec \"$@\"");
        let status = Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(program())
            .args(["app.jar", "out.jar", "-q"])
            .current_dir(world.path())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.signal().is_some(), "{limit} blocks: {status}");
        assert_eq!(world.read("out.jar"), b"old", "{limit} blocks");
        assert!(!staged(world.path()).is_empty(), "{limit} blocks");
        assert!(!world.at("out.jar.wsym").exists(), "{limit} blocks");
    }
    world.wove(&["app.jar", "out.jar"]);
    assert!(world.read("out.jar") == world.read("new.jar"));
}

#[test]
fn a_folder_job_that_is_killed_leaves_each_file_old_or_new() {
    let world = World::with_jar();
    for i in 0..20 {
        world.write(&format!("in/lib{i}.jar"), world.read("app.jar"));
    }
    world.wove(&["in", "new"]);
    let names = world.files("new");
    let files = |path: PathBuf| fs::read_dir(path).map_or(0, Iterator::count);
    let mut killed = 0;
    for round in 0..TRIES {
        for name in &names {
            world.write(&format!("out/{name}"), "old");
        }
        remove_staged(world.path());
        let mut command = weave_command(world.path());
        command.args(["in", "out", "-q"]);
        // It has begun a folder; it has written some files; it has put the first in its place.
        let was_killed = kill_when(command, || match round % 3 {
            0 => !staged(world.path()).is_empty(),
            1 => staged(world.path()).into_iter().any(|path| files(path) > 2),
            _ => world.read(&format!("out/{}", names[0])) != b"old",
        });
        let mut old = 0;
        for name in &names {
            let bytes = world.read(&format!("out/{name}"));
            let is_old = bytes == b"old";
            assert!(
                is_old || bytes == world.read(&format!("new/{name}")),
                "round {round}: {name}"
            );
            old += usize::from(is_old);
        }
        killed += usize::from(was_killed && old > 0 && !staged(world.path()).is_empty());
        if killed >= KILLS && round >= 3 * KILLS {
            break;
        }
    }
    assert!(killed >= KILLS, "{killed} jobs were killed in the middle");
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
    let whole = world.read("big.jar");
    let child = (0..TRIES).find_map(|_| {
        world.write("big.jar", &whole);
        world.write("out.jar", "old");
        let mut command = weave_command(world.path());
        command.args(["big.jar", "out.jar", "--jobs", "1"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let maps = format!("/proc/{}/maps", child.id());
        let is_mapped = || fs::read_to_string(&maps).is_ok_and(|maps| maps.contains("big.jar"));
        while child.try_wait().unwrap().is_none() && !is_mapped() {
            std::thread::yield_now();
        }
        let file = fs::File::options().write(true).open(world.at("big.jar"));
        file.unwrap().set_len(4096).unwrap();
        // One that ended before was not cut off.
        let has_read_all = child.try_wait().unwrap().is_some() && world.read("out.jar") != b"old";
        (!has_read_all).then_some(child)
    });
    let child = child.expect("some job still read");
    let ran = crate::support::ran(child.wait_with_output().unwrap());
    assert!(matches!(ran.status, 1 | 3), "{} {}", ran.status, ran.err);
    assert!(ran.err.starts_with("error: "), "{}", ran.err);
    assert_eq!(world.read("out.jar"), b"old");
}

#[cfg(unix)]
mod modes {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs `weave` under a umask.
    fn under(world: &World, umask: &str, args: &[&str]) {
        let status = Command::new("sh")
            .args(["-c", "umask \"$0\"; exec \"$@\" -q", umask])
            .arg(program())
            .args(args)
            .current_dir(world.path())
            .status();
        assert!(status.unwrap().success());
    }

    #[test]
    fn outputs_are_no_wider_than_the_input_and_the_umask() {
        let world = World::with_jar();
        for (number, (given, umask, wanted)) in [
            (0o600, "000", 0o600),
            (0o640, "022", 0o640),
            (0o444, "022", 0o644),
            (0o777, "077", 0o700),
        ]
        .into_iter()
        .enumerate()
        {
            set(&world.at("app.jar"), given);
            let out = format!("out{number}.jar");
            under(&world, umask, &["app.jar", &out]);
            assert_eq!(mode(&world.at(&out)), wanted, "{given:o} {umask}");
            let map = mode(&world.at(&format!("{out}.wsym")));
            assert_eq!(map, wanted, "{given:o} {umask}");
        }
        // In place a file keeps what its owner gave it.
        set(&world.at("app.jar"), 0o664);
        under(&world, "077", &["app.jar", "app.jar"]);
        assert_eq!(mode(&world.at("app.jar")), 0o664);
    }

    #[test]
    fn folders_and_their_maps_are_no_wider_than_the_input() {
        let world = World::new();
        set(&world.at("classes/com"), 0o750);
        set(&world.at("classes"), 0o700);
        under(&world, "000", &["classes", "out"]);
        assert_eq!(mode(&world.at("out")), 0o700);
        assert_eq!(mode(&world.at("out/com")), 0o750);
        assert_eq!(mode(&world.at("out.wsym")), 0o600);
    }

    #[test]
    fn a_cache_that_others_can_write_to_is_refused_unless_trusted() {
        let world = World::with_jar();
        let args = ["app.jar", "out.jar", "--cache", "cache"];
        world.wove(&args);
        assert_eq!(mode(&world.at("cache")), 0o700);
        let entries = || world.files("cache").len();
        assert_eq!(entries(), 1);
        let entry = world.at("cache").join(&world.files("cache")[0]);
        assert_eq!(mode(&entry), 0o600);

        let cached = |more: &[&str]| {
            let args = [&args[..], &["--json"], more].concat();
            let json: serde_json::Value = serde_json::from_str(&world.wove(&args).out).unwrap();
            json["cached"].as_u64().unwrap()
        };
        assert_eq!(cached(&[]), 1);
        // An entry that another user could have written is woven anew, and replaced.
        set(&entry, 0o620);
        assert_eq!(cached(&[]), 0);
        assert_eq!((cached(&[]), mode(&entry)), (1, 0o600));
        set(&entry, 0o620);
        assert_eq!(cached(&["--cache-trust"]), 1);

        set(&world.at("cache"), 0o770);
        let refused = world.weave(&args);
        assert_eq!(refused.status, 2, "{}", refused.err);
        assert!(refused.err.contains("--cache-trust"), "{}", refused.err);
        assert_eq!(cached(&["--cache-trust"]), 1);
    }

    #[test]
    fn a_link_out_of_the_input_folder_is_named() {
        let world = World::with_jar();
        fs::create_dir(world.at("in")).unwrap();
        std::os::unix::fs::symlink("../app.jar", world.at("in/app.jar")).unwrap();
        let ran = world.wove(&["in", "out"]);
        assert!(
            ran.err.contains("a link out of the input folder"),
            "{}",
            ran.err
        );
        assert!(
            world
                .at("out/app.jar")
                .symlink_metadata()
                .unwrap()
                .is_file()
        );
    }
}

/// What others may have put where weave writes a name of its own is replaced, and never written through.
#[cfg(unix)]
#[test]
fn a_planted_link_beside_the_output_is_not_followed() {
    let world = World::with_jar();
    fs::write(world.at("victim"), "precious").unwrap();
    std::os::unix::fs::symlink("victim", world.at("out.jar.wsym")).unwrap();
    world.wove(&["app.jar", "out.jar"]);
    assert_eq!(world.read("victim"), b"precious");
    let map = world.at("out.jar.wsym").symlink_metadata().unwrap();
    assert!(map.is_file());
}

/// A pipe of a trace's name is named, and nobody waits for who might write to it.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_trace() {
    let world = World::with_jar();
    assert!(
        Command::new("mkfifo")
            .arg(world.at("x.wtrace"))
            .status()
            .unwrap()
            .success()
    );
    let commands: [&[&str]; 6] = [
        &["report", "x.wtrace"],
        &["diff", "x.wtrace", "x.wtrace"],
        &["export", "x.wtrace", "--to", "csv"],
        &["tune", "x.wtrace"],
        &["collect", "x.wtrace", "--output", "parts"],
        &["control", "x.wtrace"],
    ];
    for command in commands {
        let ran = world.weave(command);
        assert!(
            ran.err.contains("a named pipe, not a file"),
            "{command:?}: {}",
            ran.err
        );
    }
}
