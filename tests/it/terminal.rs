//! The live display in a terminal: a pty, with the crate `vt100` in the place of the window.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

use crate::support::{TestEnv, binary, wait_for};

/// The end of a frame of the display.
const FRAME_END: &[u8] = b"\x1b[?2026l";

/// A size in columns and rows.
type Size = (u16, u16);

/// The way in which a terminal changes its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resizing {
    /// Lines are wrapped anew, as by most terminals of desktops.
    Reflow,
    /// Rows stay as they are, as in xterm.
    Plain,
}

/// The window of a terminal: its emulator, all bytes it got, and the changes of its size that are due.
struct Window {
    emulator: vt100::Parser,
    bytes: Vec<u8>,
    sizes: Vec<(Size, Resizing)>,
    slave: OwnedFd,
}

/// The program in a terminal.
struct Session {
    child: Child,
    keyboard: File,
    window: Arc<Mutex<Window>>,
    reader: Option<JoinHandle<()>>,
}

fn emulator((columns, rows): Size) -> vt100::Parser {
    let size = |size| NonZeroU16::new(size).unwrap();
    vt100::Parser::new(size(rows), size(columns), 10_000)
}

impl Session {
    /// Starts the program in a terminal. After each of its first frames the terminal changes its size.
    fn start(env: &TestEnv, size: Size, sizes: Vec<(Size, Resizing)>, words: &[&str]) -> Self {
        let winsize = Winsize {
            ws_col: size.0,
            ws_row: size.1,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&winsize, None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        // The terminal must control the process, so that Ctrl-C reaches it.
        let mut command = env.prepared(Command::new("setsid"), &["-c"]);
        command.arg(binary()).args(words);
        command.env_remove("COLUMNS");
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm");
        }
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
        drop(command);
        let window = Arc::new(Mutex::new(Window {
            emulator: emulator(size),
            bytes: Vec::new(),
            sizes,
            slave: pty.slave,
        }));
        let keyboard = File::from(pty.master);
        let (mut output, of_reader) = (keyboard.try_clone().unwrap(), Arc::clone(&window));
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let mut window = of_reader.lock().unwrap();
                window.take(&buffer[..count]);
                if window.bytes.ends_with(b"\x04end of session\r\n") {
                    break;
                }
            }
        });
        Self {
            child: child.unwrap(),
            keyboard,
            window,
            reader: Some(reader),
        }
    }

    fn press(&mut self, key: &str) {
        self.keyboard.write_all(key.as_bytes()).unwrap();
    }

    fn wait_for_text(&self, text: &str) {
        wait_for(text, || {
            let window = self.window.lock().unwrap();
            let bytes = String::from_utf8_lossy(&window.bytes).contains(text);
            bytes.then_some(())
        });
    }

    /// Waits for the end of the program and of its output. Returns the exit code.
    fn end(&mut self) -> i32 {
        let status = self.child.wait().unwrap();
        let slave = self.window.lock().unwrap().slave.try_clone().unwrap();
        File::from(slave)
            .write_all(b"\x04end of session\n")
            .unwrap();
        self.reader.take().unwrap().join().unwrap();
        status.code().unwrap_or(-1)
    }

    /// Whether the terminal has its usual input mode and shows the cursor.
    fn is_restored(&self) -> bool {
        let window = self.window.lock().unwrap();
        let mode = tcgetattr(window.slave.as_fd()).unwrap();
        let usual = LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::ISIG;
        mode.local_flags.contains(usual) && !window.emulator.screen().hide_cursor()
    }

    /// Returns all lines of the screen and above it. A wrapped line is one line.
    fn lines(&self) -> Vec<String> {
        let mut window = self.window.lock().unwrap();
        let (lines, _) = logical_lines(&mut window.emulator);
        lines
    }
}

impl Window {
    /// Shows bytes. Changes the size at the end of a frame.
    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.emulator.process(bytes);
        if bytes.ends_with(FRAME_END) && !self.sizes.is_empty() {
            let (size, resizing) = self.sizes.remove(0);
            let rows = size.1.to_string();
            let columns = size.0.to_string();
            let mut stty = Command::new("stty");
            stty.args(["rows", &rows, "cols", &columns]);
            stty.stdin(Stdio::from(self.slave.try_clone().unwrap()));
            assert!(stty.status().unwrap().success());
            if resizing == Resizing::Reflow {
                self.emulator = reflowed(&mut self.emulator, size);
            } else {
                let number = |size| NonZeroU16::new(size).unwrap();
                self.emulator.set_size(number(size.1), number(size.0));
            }
        }
    }
}

/// Returns the lines of an emulator, and the number of the line with the cursor.
fn logical_lines(emulator: &mut vt100::Parser) -> (Vec<String>, usize) {
    let screen = emulator.screen_mut();
    let (rows, columns) = screen.size();
    let above = u16::try_from(screen.scrollback_len()).unwrap();
    // A screen that is high enough takes back what was scrolled.
    let all = NonZeroU16::new(rows.get() + above).unwrap();
    screen.set_size(all, columns);
    let (cursor, _) = screen.cursor_position();
    let mut lines = vec![String::new()];
    let mut cursor_line = 0;
    let texts: Vec<String> = screen.rows(0, columns.get()).collect();
    for (row, text) in (0..).zip(&texts) {
        if row == cursor {
            cursor_line = lines.len() - 1;
        }
        lines.last_mut().unwrap().push_str(text);
        if !screen.row_wrapped(row) {
            lines.push(String::new());
        }
    }
    screen.set_size(rows, columns);
    while lines.len() > cursor_line + 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    (lines, cursor_line)
}

/// Returns an emulator of another size with the same lines, wrapped anew.
fn reflowed(old: &mut vt100::Parser, size: Size) -> vt100::Parser {
    let hidden = old.screen().hide_cursor();
    let (lines, cursor) = logical_lines(old);
    let mut new = emulator(size);
    new.process(lines.join("\r\n").as_bytes());
    let columns = usize::from(size.0);
    let height = |line: &String| line.chars().count().div_ceil(columns).max(1);
    let below: usize = lines[cursor..].iter().map(height).sum();
    let up = below - 1;
    if up > 0 {
        new.process(format!("\x1b[{up}A").as_bytes());
    }
    new.process(if hidden { b"\r\x1b[?25l" } else { b"\r" });
    new
}

/// Returns an ensemble with tasks that run these commands.
fn ensemble(commands: &[(&str, &str)]) -> TestEnv {
    let mut text = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    \
                    tosca_definitions_version: tosca_simple_unfurl_1_0_0\n    topology_template:\n      \
                    node_templates:\n"
        .to_owned();
    for (name, command) in commands {
        let command = serde_json::to_string(command).unwrap();
        text.push_str(&format!(
            "        {name}:\n          type: tosca.nodes.Root\n          interfaces:\n            \
             Standard:\n              operations:\n                configure:\n                  \
             implementation: Shell\n                  inputs: {{command: {command}}}\n"
        ));
    }
    TestEnv::with_ensemble(&text)
}

const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
const LINES: usize = 30;

/// Returns the line of a task with this number. Some lines are longer than any terminal is wide.
fn line(name: &str, number: usize) -> String {
    let filler = if number % 7 == 3 { 40 } else { 0 };
    format!("{name} {number:03} {}end", "long ".repeat(filler))
}

/// An ensemble whose tasks run at the same time and print many lines.
fn talkative() -> TestEnv {
    let script = "for i in $(seq 1 30); do n=$(printf %03d $i); \
                  if [ $((i % 7)) = 3 ]; then printf 'NAME %s ' $n; printf 'long %.0s' $(seq 40); echo end; \
                  else echo \"NAME $n end\"; fi; sleep 0.04; done";
    let scripts = NAMES.map(|name| (name, script.replace("NAME", name)));
    let commands: Vec<_> = scripts
        .iter()
        .map(|(name, it)| (*name, it.as_str()))
        .collect();
    ensemble(&commands)
}

/// Runs the job of [`talkative`] in a terminal, and checks that each line is there once, in its order, and
/// that nothing of the block is left.
#[track_caller]
fn check_all_lines_stay(size: Size, sizes: Vec<(Size, Resizing)>) {
    let env = talkative();
    let changes = sizes.len();
    let mut session = Session::start(&env, size, sizes, &["deploy", "--approve"]);
    assert_eq!(session.end(), 0);
    let lines = session.lines();
    let text = lines.join("\n");
    // Where rows stay as they are, a wide terminal no longer knows which rows were one line.
    let joined = lines.concat();
    for name in NAMES {
        let mut rest = joined.as_str();
        for number in 1..=LINES {
            let line = format!("[{name}] {}", line(name, number));
            let (before, after) = rest.split_once(&line).expect(&text);
            assert!(
                !before.contains(&format!("[{name}]")) && !after.contains(&line),
                "{text}"
            );
            rest = after;
        }
        assert!(!rest.contains(&format!("[{name}]")), "{text}");
        let end = format!("{name} configured in ");
        assert_eq!(joined.matches(&end).count(), 1, "{text}");
        // A row of the block: the name, the operation and the time.
        let row = format!("{name} configure ");
        let words = lines
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let rows = words.filter(|words| words.starts_with(&row));
        assert_eq!(rows.count(), 0, "{size:?}:\n{text}");
    }
    assert!(!text.contains(" of 4 done"), "{size:?}:\n{text}");
    assert!(session.is_restored());
    let window = session.window.lock().unwrap();
    let frames = String::from_utf8_lossy(&window.bytes)
        .matches(" of 4 done")
        .count();
    assert!(
        frames > changes && window.sizes.is_empty(),
        "{frames} frames"
    );
}

#[test]
fn every_line_of_parallel_tasks_stays_on_a_small_terminal() {
    check_all_lines_stay((80, 24), Vec::new());
}

#[test]
fn every_line_of_parallel_tasks_stays_on_a_large_terminal() {
    check_all_lines_stay((120, 40), Vec::new());
}

#[test]
fn every_line_stays_while_a_terminal_that_wraps_lines_anew_changes_its_size() {
    let sizes = [(60, 24), (100, 24), (100, 12), (60, 40), (31, 20), (80, 24)];
    let sizes = sizes.into_iter().map(|size| (size, Resizing::Reflow));
    check_all_lines_stay((80, 24), sizes.collect());
}

#[test]
fn every_line_stays_while_a_terminal_that_keeps_its_rows_changes_its_size() {
    // Emulators of this kind lose the ends of lines when they become narrower, so this one does not.
    let sizes = [(80, 12), (100, 12), (100, 40), (120, 6), (120, 24)];
    let sizes = sizes.into_iter().map(|size| (size, Resizing::Plain));
    check_all_lines_stay((80, 24), sizes.collect());
}

#[test]
fn a_job_of_half_a_second_draws_no_block() {
    let env = ensemble(&[("a", "echo one"), ("b", "echo two")]);
    let mut session = Session::start(&env, (80, 24), Vec::new(), &["deploy", "--approve"]);
    assert_eq!(session.end(), 0);
    let window = session.window.lock().unwrap();
    let text = String::from_utf8_lossy(&window.bytes);
    assert!(
        text.contains("[a] one\r\n") && text.contains("[b] two\r\n"),
        "{text}"
    );
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn the_key_t_shows_what_runs_and_other_keys_do_nothing() {
    let slow = "echo ready; while [ ! -e go ]; do sleep 0.02; done";
    let env = ensemble(&[("a", slow), ("b", "while [ ! -e go ]; do sleep 0.02; done")]);
    let mut session = Session::start(&env, (80, 24), Vec::new(), &["deploy", "--approve"]);
    session.wait_for_text(" of 2 done");
    session.press("x\rt");
    session.wait_for_text("no output");
    env.write("go", "1");
    assert_eq!(session.end(), 0);
    let text = session.lines().join("\n");
    assert!(text.contains("a: configure running "), "{text}");
    assert!(
        text.contains("b: configure running ") && text.contains("s, no output\n"),
        "{text}"
    );
    assert!(text.contains("\n  ready\n"), "{text}");
    assert!(!text.contains('x') || !text.contains("\nx"), "{text}");
    assert!(session.is_restored());
}

#[test]
fn ctrl_c_removes_the_block_and_gives_the_terminal_back() {
    let slow = "echo ready; while [ ! -e go ]; do sleep 0.02; done; echo done";
    let env = ensemble(&[("a", slow), ("b", "while [ ! -e go ]; do sleep 0.02; done")]);
    let mut session = Session::start(&env, (80, 24), Vec::new(), &["deploy", "--approve"]);
    session.wait_for_text(" of 2 done");
    session.press("\x03");
    session.wait_for_text("interrupted: no further task is started");
    env.write("go", "1");
    assert_eq!(session.end(), 130);
    let text = session.lines().join("\n");
    assert!(
        text.contains("[a] ready") && text.contains("[a] done"),
        "{text}"
    );
    assert!(
        !text.contains(" of 2 done") && !text.contains("^C"),
        "{text}"
    );
    assert!(session.is_restored());
}

#[test]
fn a_second_ctrl_c_gives_the_terminal_back() {
    let slow = "trap '' INT TERM; echo ready; while :; do sleep 0.02; done";
    let env = ensemble(&[("a", slow), ("b", "sleep 100")]);
    let mut session = Session::start(&env, (80, 24), Vec::new(), &["deploy", "--approve"]);
    session.wait_for_text(" of 2 done");
    session.press("\x03");
    session.wait_for_text("interrupted: no further task is started");
    session.press("\x03");
    assert_eq!(session.end(), 130);
    assert!(!session.lines().join("\n").contains(" of 2 done"));
    assert!(session.is_restored());
}

/// An ensemble whose tasks take longer than the time in which no block is drawn.
fn two_slow_tasks() -> TestEnv {
    ensemble(&[
        ("a", "echo one; sleep 0.8"),
        ("b", "echo two; sleep 0.8; exit 3"),
    ])
}

/// Runs a job in a terminal. Returns the lines at the end, without what differs from run to run, and all bytes.
fn shown_in(env: &TestEnv) -> (Vec<String>, String) {
    let mut session = Session::start(env, (80, 24), Vec::new(), &["deploy", "--approve"]);
    assert_eq!(session.end(), 64);
    let words = |line: &String| {
        let words = line.split_whitespace();
        let same = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
        let same = same.filter(|word| !matches!(*word, "s" | "ms"));
        same.collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = session.lines().iter().map(words).collect();
    lines.sort();
    let window = session.window.lock().unwrap();
    let bytes = String::from_utf8_lossy(&window.bytes).into_owned();
    (lines, bytes)
}

#[test]
fn a_terminal_without_colours_has_the_same_words() {
    let (plain, bytes) = shown_in(&two_slow_tasks());
    assert!(
        !bytes.contains("\x1b[31m") && !bytes.contains("\x1b[32m"),
        "{bytes:?}"
    );
    let (coloured, bytes) = shown_in(&two_slow_tasks().without("NO_COLOR"));
    assert!(bytes.contains("\x1b[31m"), "{bytes:?}");
    assert_eq!(coloured, plain);
}

#[test]
fn a_dumb_terminal_and_a_terminal_in_ci_have_no_block() {
    for (name, value) in [("TERM", "dumb"), ("CI", "true")] {
        let env = two_slow_tasks().without("NO_COLOR").variable(name, value);
        let (lines, bytes) = shown_in(&env);
        assert!(!bytes.contains(" of 2 done"), "{bytes:?}");
        assert!(
            lines.contains(&"== a configured in".to_owned()),
            "{lines:?}"
        );
        let is_dumb = value == "dumb";
        assert_eq!(bytes.contains('\x1b'), !is_dumb, "{bytes:?}");
    }
}

#[test]
fn without_a_terminal_the_output_of_a_task_is_one_block() {
    let run = talkative().unfurl(["deploy", "--approve"]);
    assert_eq!(run.code, 0, "{run}");
    for name in NAMES {
        let lines: Vec<String> = (1..=LINES).map(|number| line(name, number)).collect();
        assert!(
            run.stderr.contains(&format!("\n{}\n", lines.join("\n"))),
            "{run}"
        );
        assert!(
            run.stderr.contains(&format!("== {name} configured in ")),
            "{run}"
        );
    }
    assert!(!run.stderr.contains('\x1b'), "{run}");
}

#[test]
fn without_progress_only_output_and_failures_are_printed() {
    let env = ensemble(&[("a", "echo one"), ("b", "echo two; exit 3")]);
    let env = env.variable("UNFURL_PROGRESS", "none");
    let run = env.unfurl(["deploy", "--approve"]);
    assert!(
        run.stderr.contains("[a] one\n") && run.stderr.contains("[b] two\n"),
        "{run}"
    );
    assert!(run.stderr.contains("error: b: configure failed"), "{run}");
    assert!(!run.stderr.contains("configured"), "{run}");
    let quiet = ensemble(&[("a", "echo one")]).unfurl(["-q", "deploy", "--approve"]);
    assert_eq!(quiet.stderr, "", "{quiet}");
}

#[test]
fn a_failed_task_is_reported_once_with_its_place() {
    let env = ensemble(&[("a", "echo one"), ("b", "echo two; exit 3")]);
    let run = env.unfurl(["deploy", "--approve"]);
    let failures: Vec<&str> = run
        .stderr
        .lines()
        .filter(|it| it.starts_with("error: b: configure failed"))
        .collect();
    assert_eq!(failures.len(), 1, "{run}");
    assert!(failures[0].contains("(ensemble.yaml:"), "{run}");
}
