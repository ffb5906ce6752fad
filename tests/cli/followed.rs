//! `weave export --to otlp --follow -- COMMAND`: a program in weave's own place.

use crate::exports::traced;
use crate::support::{World, weave_command};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A Collector that takes everything: the bodies of what came.
struct Taker {
    endpoint: String,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Taker {
    fn new() -> Taker {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let all = Arc::clone(&all);
                std::thread::spawn(move || take(stream.unwrap(), &all));
            }
        });
        Taker { endpoint, bodies }
    }

    /// How often a text stands in what came.
    fn count(&self, text: &str) -> usize {
        let bodies = self.bodies.lock().unwrap();
        let windows = bodies.iter().flat_map(|body| body.windows(text.len()));
        windows.filter(|window| *window == text.as_bytes()).count()
    }
}

fn take(mut stream: TcpStream, all: &Mutex<Vec<Vec<u8>>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut len = 0;
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
            if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                len = n.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; len];
        if len == 0 || reader.read_exact(&mut body).is_err() {
            return;
        }
        all.lock().unwrap().push(body);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    }
}

/// A command that follows a script, which gets its trace's folder as `$folder`.
fn following(world: &World, endpoint: &str, script: &str, options: &[&str]) -> Command {
    let mut command = weave_command(world.path());
    let begin = "folder=$(dirname \"$WEAVE_TRACE\"); ";
    command
        .args(["export", "--to", "otlp", "--follow", "--endpoint", endpoint])
        .args(["--signals", "traces", "--min", "0"])
        .args(options)
        .args(["--", "sh", "-c", &format!("{begin}{script}")]);
    command
}

struct Ended {
    status: i32,
    out: String,
    err: String,
}

fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    Ended {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run(mut command: Command, input: &str) -> Ended {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    ended(child)
}

#[test]
fn it_sends_what_a_program_and_its_children_record_and_ends_as_it_does() {
    let world = traced();
    let taker = Taker::new();
    let whole = world.wove(&[
        "export",
        "run.wtrace",
        "--to",
        "otlp",
        "--min",
        "0",
        "--signals",
        "traces",
        "--endpoint",
        &taker.endpoint,
    ]);
    let spans: usize = whole.err.split(' ').next().unwrap().parse().unwrap();
    let once = taker.count("code.function.name");
    assert!(spans > 0 && once >= spans, "{}", whole.err);
    let script = "cat; cp run.wtrace \"$folder\"/1.wtrace; sh -c 'cp run.wtrace \"$0\"/2.wtrace' \"$folder\"; echo \"$folder\" >&2; exit 7";
    let ran = run(
        following(&world, &taker.endpoint, script, &[]),
        "its own input\n",
    );
    assert_eq!(
        (ran.status, &*ran.out),
        (7, "its own input\n"),
        "{}",
        ran.err
    );
    assert_eq!(taker.count("code.function.name"), 3 * once, "{}", ran.err);
    assert!(
        ran.err.contains(&format!("{} spans exported", 2 * spans)),
        "{}",
        ran.err
    );
    // Nobody has asked to keep them.
    let folder = ran.err.lines().next().unwrap();
    assert!(!std::path::Path::new(folder).exists(), "{folder}");
    // Here somebody has; what lies there already is another's.
    world.write("kept/old.wtrace", world.read("run.wtrace"));
    let script = "cp run.wtrace \"$folder\"/new.wtrace";
    let mut command = weave_command(world.path());
    command.args([
        "export",
        "kept",
        "--to",
        "otlp",
        "--follow",
        "--signals",
        "traces",
        "--min",
        "0",
    ]);
    command.args(["--endpoint", &taker.endpoint, "--", "sh", "-c"]);
    command.arg(format!("folder=$(dirname \"$WEAVE_TRACE\"); {script}"));
    let ran = run(command, "");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(taker.count("code.function.name"), 4 * once, "{}", ran.err);
    assert_eq!(world.files("kept"), ["new.wtrace", "old.wtrace"]);
}

#[test]
fn signals_are_the_programs() {
    let world = traced();
    let taker = Taker::new();
    let send = |script: &str, signals: &[&str]| {
        let following = following(&world, &taker.endpoint, script, &["-q"]);
        // Whoever runs the tests may ignore some of them (`nohup`), and so would what is started here.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,TERM");
        command
            .arg(following.get_program())
            .args(following.get_args());
        let envs = following.get_envs();
        command.envs(envs.filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(world.path());
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut lines = Vec::new();
        // By number: names depend on the language.
        for &signal in signals {
            // It has said that it is ready for this one.
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            lines.push(line.trim().to_owned());
            let mut kill = Command::new("kill");
            kill.arg(signal).arg(child.id().to_string());
            assert!(kill.status().unwrap().success());
        }
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        lines.extend(rest.lines().map(str::to_owned));
        (ended(child).status, lines)
    };
    let wait = "while :; do sleep 0.05; done";
    let handled = format!(
        "trap 'echo again' HUP; trap 'echo last; cp run.wtrace \"$folder\"/1.wtrace; exit 3' TERM; echo ready; {wait}"
    );
    let (status, lines) = send(&handled, &["-1", "-15"]);
    assert_eq!(
        (status, lines),
        (
            3,
            vec!["ready".to_owned(), "again".to_owned(), "last".to_owned()]
        )
    );
    assert!(
        taker.count("code.function.name") > 0,
        "what it recorded last is sent"
    );
    for (signal, status) in [("-2", 130), ("-9", 143)] {
        // A program in the background of a shell without job control would ignore the first.
        let script = match signal {
            "-2" => format!("trap 'trap - INT; kill -INT $$' INT; echo ready; {wait}"),
            _ => format!("echo ready; kill -TERM $$; {wait}"),
        };
        let signals: &[&str] = if signal == "-2" { &["-2"] } else { &[] };
        assert_eq!(send(&script, signals).0, status, "{signal}");
    }
}

#[test]
fn a_collector_that_is_down_changes_nothing_for_the_program() {
    let world = traced();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let script = "cp run.wtrace \"$folder\"/1.wtrace; echo done; exit 4";
    let ran = run(
        following(&world, &endpoint, script, &["--patience", "100ms"]),
        "",
    );
    assert_eq!((ran.status, &*ran.out), (4, "done\n"), "{}", ran.err);
    assert!(ran.err.contains("not sent"), "{}", ran.err);
}

#[test]
fn what_cannot_be_started_or_records_nothing_says_so() {
    let world = World::new();
    let mut command = weave_command(world.path());
    command.args([
        "export",
        "--to",
        "otlp",
        "--follow",
        "--",
        "./there-is-none",
    ]);
    let ran = run(command, "");
    assert_eq!(ran.status, 127, "{}", ran.err);
    assert!(ran.err.contains("./there-is-none"), "{}", ran.err);
    let ran = run(following(&world, "http://127.0.0.1:9", "true", &[]), "");
    assert_eq!(ran.status, 0);
    assert!(ran.err.contains("no trace"), "{}", ran.err);
    for wrong in [
        &["export", "--to", "otlp", "--", "true"][..],
        &["export", "--to", "csv", "--", "true"],
        &["export", "a", "b", "--to", "otlp", "--follow", "--", "true"],
    ] {
        assert_eq!(world.weave(wrong).status, 2, "{wrong:?}");
    }
}
