//! Security of the terminal: S17, control characters from outside do not reach the terminal.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::process::Command;

use nix::pty::openpty;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use serde_json::{Value as Json, json};

use crate::drafts::{Draft, ensemble};
use crate::hosts::sshd::{Sshd, user};
use crate::support::TestEnv;

/// Output that steers terminals. Each text is printed on lines of its own.
const HOSTILE: &[&[u8]] = &[
    // CSI: erasing, movement, scrolling, modes, reports, keys.
    b"\x1b[2J",
    b"\x1b[3J",
    b"\x1b[3K",
    b"\x1b[H",
    b"\x1b[7;7H",
    b"\x1b[5A",
    b"\x1b[5B",
    b"\x1b[5C",
    b"\x1b[5D",
    b"\x1b[5E",
    b"\x1b[5F",
    b"\x1b[5G",
    b"\x1b[5L",
    b"\x1b[5M",
    b"\x1b[5P",
    b"\x1b[5@",
    b"\x1b[5S",
    b"\x1b[5T",
    b"\x1b[5X",
    b"\x1b[1;5r",
    b"\x1b[s\x1b[u",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x1b[?25l",
    b"\x1b[?1000;1006h",
    b"\x1b[?2004h",
    b"\x1b[4h",
    b"\x1b[6n",
    b"\x1b[c",
    b"\x1b[>c",
    b"\x1b[21t",
    b"\x1b[3;0;0t",
    b"\x1b[>4;2m",
    b"\x1b[!p",
    b"\x1b[1 q",
    b"\x1b[8mconcealed",
    b"\x1b[5mblink",
    b"\x1b[99999999999;31",
    // OSC, DCS, PM, APC and SOS.
    b"\x1b]0;title\x07",
    b"\x1b]2;title\x1b\\",
    b"\x1b]8;;file:///etc/passwd\x1b\\link\x1b]8;;\x1b\\",
    b"\x1b]52;c;ZXZpbA==\x07",
    b"\x1b]4;1;rgb:00/00/00\x1b\\",
    b"\x1b]10;#000000\x07",
    b"\x1b]9;notify\x07",
    b"\x1b]777;notify;a;b\x07",
    b"\x1b]1337;File=inline=1:AAAA\x07",
    b"\x1b]0;without end",
    b"\x1bPq#0\x1b\\",
    b"\x1bP$qm\x1b\\",
    b"\x1bPwithout end",
    b"\x1b^private\x1b\\",
    b"\x1b_Gf=100;AAAA\x1b\\",
    b"\x1bXstring\x1b\\",
    // Other escapes.
    b"\x1bc",
    b"\x1b7\x1b8",
    b"\x1bM\x1bD\x1bE",
    b"\x1b(0lqk\x1b(B",
    b"\x1b#8",
    b"\x1b%G",
    b"\x1b=\x1b>",
    b"\x1b",
    b"\x1b\x1b[2J",
    // C1, in UTF-8 and as bytes.
    b"\xc2\x9b2J",
    b"\xc2\x9d52;c;AAAA\xc2\x9c",
    b"\xc2\x90q\xc2\x9c",
    b"\xc2\x85\xc2\x84\xc2\x8d",
    b"\x9b2J",
    b"\x9d0;title\x07",
    b"\x90\x98\x9e\x9f",
    // C0.
    b"ERROR\x08\x08\x08\x08\x08fine ",
    b"failed\rfake: OK",
    b"\x07\x00\x0b\x0c\x0e\x0f\x7f",
    b"\x05\x11\x13",
    // Bidirectional text and invisible characters.
    b"\xe2\x80\xaeKO :ekaf\xe2\x80\xac",
    b"\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xad\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",
    b"\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9",
    b"line\xe2\x80\xa8separator\xe2\x80\xa9",
    b"\xf3\xa0\x81\x81\xf3\xa0\x81\xbf\xef\xbf\xb9\xef\xbf\xba\xef\xbf\xbb",
];

/// Some of it as text, in the form of a quoted scalar of YAML or JSON.
const HOSTILE_SCALAR: &str =
    r#""n\u001b]0;title\u0007\u001b[2J\u009b2J\u202e\u2066\rfake: OK\b\u007f\u2028""#;

fn hostile_text() -> String {
    serde_json::from_str(HOSTILE_SCALAR).unwrap()
}

fn is_forbidden(c: char) -> bool {
    let code = u32::from(c);
    c.is_control() && c != '\n' && c != '\t'
        || [0x61c, 0x200e, 0x200f, 0x2028, 0x2029].contains(&code)
        || (0x202a..=0x202e).contains(&code)
        || (0x2066..=0x2069).contains(&code)
        || (0xfff9..=0xfffb).contains(&code)
        || (0xe0000..=0xe007f).contains(&code)
}

/// Asserts that text of a pipe or a file has no control characters.
#[track_caller]
fn assert_plain(what: &str, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes)
        .unwrap_or_else(|error| panic!("{what}: {error}\n{}", bytes.escape_ascii()));
    if let Some(at) = text.find(is_forbidden) {
        let from = text.floor_char_boundary(at.saturating_sub(200));
        panic!("{what}: {:?}", &text[from..]);
    }
}

/// Asserts that text of a terminal has no control characters but colours and the steps of a
/// progress bar.
#[track_caller]
fn assert_shown(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    assert!(
        std::str::from_utf8(bytes).is_ok(),
        "{what}: {}",
        bytes.escape_ascii()
    );
    let mut plain = String::new();
    for (place, part) in text.split("\x1b[").enumerate() {
        let end = part
            .find(|c: char| c.is_ascii_alphabetic())
            .filter(|_| place > 0);
        let Some(end) = end else {
            plain.push_str(part);
            continue;
        };
        match (&part[..end], &part[end..=end]) {
            ("1" | "2" | "3", "A" | "B") | ("2", "K") => {}
            (codes, "m") if !codes.split(';').any(|code| ["5", "7", "8"].contains(&code)) => {}
            _ => panic!("{what}: {part:?} in {text:?}"),
        }
        plain.push_str(&part[end + 1..]);
    }
    // The progress bar begins its lines with a carriage return.
    assert_plain(what, plain.replace('\r', "").as_bytes());
}

/// The binary under test.
fn program() -> String {
    let named = std::env::var("UNFURL_TEST_BINARY");
    named.unwrap_or_else(|_| env!("CARGO_BIN_EXE_unfurl").to_owned())
}

/// Calls the binary with its outputs in a file, and returns the content.
fn in_pipe(env: &TestEnv, words: &[&str]) -> Vec<u8> {
    let program = program();
    let mut line = vec![
        "-c",
        "\"$0\" \"$@\" 2>&1 < /dev/null | cat > all.out",
        &program,
    ];
    line.extend(words);
    env.start_command(Command::new("/bin/sh"), line).ends();
    fs::read(env.work().join("all.out")).unwrap()
}

/// Calls the binary at a terminal and returns all that the terminal gets.
fn at_terminal(env: &TestEnv, words: &[&str]) -> Vec<u8> {
    let pty = openpty(None, None).unwrap();
    // Newlines stay as they are.
    let mut mode = tcgetattr(&pty.slave).unwrap();
    cfmakeraw(&mut mode);
    tcsetattr(&pty.slave, SetArg::TCSANOW, &mode).unwrap();
    let name = nix::unistd::ttyname(&pty.slave).unwrap();
    let reader = std::thread::spawn(move || {
        let (mut all, mut piece) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = nix::unistd::read(&pty.master, &mut piece) {
            all.extend_from_slice(&piece[..count]);
        }
        all
    });
    let script = format!("exec \"$0\" \"$@\" < {0} > {0} 2>&1", name.display());
    let program = program();
    let mut line = vec!["-c", &script, &program];
    line.extend(words);
    env.start_command(Command::new("/bin/sh"), line).ends();
    assert!(pty.slave.as_raw_fd() >= 0);
    drop(pty.slave);
    reader.join().unwrap()
}

/// An environment in which terminals show colours.
fn colourful(env: TestEnv) -> TestEnv {
    env.without("NO_COLOR").variable("TERM", "xterm-256color")
}

/// Runs commands in a pipe and at a terminal, and asserts that nothing of them steers a terminal.
#[track_caller]
fn assert_harmless(env: &TestEnv, commands: &[&[&str]]) -> String {
    let mut all = String::new();
    for words in commands {
        let bytes = in_pipe(env, words);
        assert_plain(&format!("{words:?}"), &bytes);
        all.push_str(&String::from_utf8_lossy(&bytes));
        let bytes = at_terminal(env, words);
        assert_shown(&format!("{words:?} at a terminal"), &bytes);
        all.push_str(&String::from_utf8_lossy(&bytes));
    }
    all
}

/// Asserts that the files of jobs can be shown on a terminal.
#[track_caller]
fn assert_files_plain(env: &TestEnv, extensions: &[&str]) -> usize {
    let files = env.files().into_iter();
    let files = files.filter(|(path, _)| extensions.iter().any(|end| path.ends_with(end)));
    let mut count = 0;
    for (path, bytes) in files {
        assert_plain(&path, &bytes);
        count += 1;
    }
    count
}

/// An ensemble whose only task runs a command in a shell.
fn task(command: &str) -> Draft {
    ensemble(
        "
        node_types:
          T:
            derived_from: tosca.nodes.Root
            properties:
              note: {type: string, default: plain}
            interfaces:
              Standard:
                create:
                  implementation: Cmd
                  inputs:
                    cmd: <command>
        topology_template:
          node_templates:
            a: {type: T}
        ",
    )
    .with("command", json!(command))
}

/// Writes the hostile output, each text between the words `from` and `to`, on two lines.
fn write_hostile_output(env: &TestEnv, name: &str) {
    let mut all = Vec::new();
    for text in HOSTILE {
        all.extend([b"from ".as_slice(), text, b" to\nnext\n"].concat());
    }
    fs::write(env.work().join(name), all).unwrap();
}

/// V13: the echo of a deploy kept C1, carriage returns and bidirectional controls.
#[test]
fn s17_the_echo_of_a_deploy_cannot_steer_the_terminal() {
    let env = colourful(task("cat hostile; cat hostile >&2; printf 'no end \\033]0;'").env());
    write_hostile_output(&env, "hostile");
    let all = assert_harmless(&env, &[&["deploy", "--approve", "--force"]]);
    assert!(
        all.matches("\nnext\n").count() >= 2 * HOSTILE.len(),
        "{all}"
    );
    for text in ["fake: OK to", "from link to", "ERRORfine  to", "from  to"] {
        assert!(all.contains(text), "{text}: {all}");
    }
    assert!(!all.contains("title") && !all.contains("failed\r"), "{all}");
    assert!(assert_files_plain(&env, &[".log", ".tsv", ".yaml"]) > 2);
}

/// V13: a terminal shows the colours of a task up to the end of their line. A pipe gets none.
#[test]
fn s17_colours_of_a_task_stay_on_a_terminal_only() {
    let command =
        "printf 'a \\033[1;31mred\\nplain \\033[38;5;208morange\\033[0m \\033[8;32mgreen\\n'";
    let env = colourful(task(command).env());
    let words = ["deploy", "--approve"];
    let shown = String::from_utf8(at_terminal(&env, &words)).unwrap();
    let expected =
        "a \x1b[1;31mred\x1b[0m\nplain \x1b[38;5;208morange\x1b[0m \x1b[32mgreen\x1b[0m\n";
    assert!(shown.contains(expected), "{shown:?}");
    let env = colourful(task(command).env());
    let piped = String::from_utf8(in_pipe(&env, &words)).unwrap();
    assert!(piped.contains("a red\nplain orange green\n"), "{piped:?}");
    let env = task(command).env().variable("TERM", "xterm");
    let shown = at_terminal(&env, &words);
    assert!(
        !shown.windows(4).any(|part| part == b"\x1b[1;"),
        "{}",
        shown.escape_ascii()
    );
}

/// V13: sequences, characters and carriage returns that arrive in two pieces.
#[test]
fn s17_a_sequence_in_two_pieces_is_removed() {
    let command = "for head in '\\033' '\\033[' '\\033]52;c;AA' '\\302' '\\342\\200' 'failed\\r'; do \
        printf \"from $head\"; sleep 0.02; printf '\\2332Jx\\007 to\\n'; done";
    let env = colourful(task(command).env());
    let all = assert_harmless(&env, &[&["deploy", "--approve", "--force"]]);
    assert!(all.contains(" to\n"), "{all}");
}

/// V13: messages, summaries and logs of failed tasks.
#[test]
fn s17_a_failed_task_cannot_steer_the_terminal() {
    for text in HOSTILE.iter().step_by(20).chain(HOSTILE.last()) {
        let env = colourful(task("cat hostile >&2; cat hostile; exit 3").env());
        let line = [b"from ".as_slice(), text, b" to"].concat();
        fs::write(env.work().join("hostile"), line).unwrap();
        let bytes = in_pipe(&env, &["-v", "deploy", "--approve"]);
        assert_plain("deploy", &bytes);
        let said = String::from_utf8(bytes).unwrap();
        assert!(said.contains("exit code 3"), "{said}");
        assert!(assert_files_plain(&env, &[".log", ".tsv", ".yaml"]) > 2);
        assert_plain("history", &in_pipe(&env, &["history"]));
        assert_plain("explain", &in_pipe(&env, &["explain", "a"]));
    }
}

/// V13: `run -H` prints output as lines of its hosts.
#[test]
fn s17_output_of_hosts_cannot_steer_the_terminal() {
    let env = colourful(TestEnv::new());
    write_hostile_output(&env, "hostile");
    let hostile = env.work().join("hostile").display().to_string();
    let run = ["run", "-H", "@local", "--", "cat", &hostile];
    let all = assert_harmless(&env, &[&run]);
    assert_eq!(all.matches("next\n").count(), 2 * HOSTILE.len(), "{all}");
    assert!(all.contains("] fake: OK to\n"), "{all}");
    let command = format!("cat {hostile} >&2; printf '\\033[31mred \\033]0;t\\007' >&2; exit 3");
    let fails = ["run", "-H", "@local", "--", "sh", "-c", &command];
    let all = assert_harmless(&env, &[&fails]);
    assert!(all.contains("exit code 3: red"), "{all}");
    let json = in_pipe(
        &env,
        &[
            "run",
            "--output=json",
            "-H",
            "@local",
            "--",
            "cat",
            &hostile,
        ],
    );
    assert_plain("json", &json);
    let lines = String::from_utf8(json).unwrap();
    let outputs = lines
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap());
    let outputs = outputs.filter(|line| line["event"] == "output");
    let outputs = outputs.filter_map(|line| Some(line["text"].as_str()?.to_owned()));
    let text: String = outputs.collect();
    assert_eq!(text, String::from_utf8_lossy(&fs::read(hostile).unwrap()));
}

/// An ensemble with hostile texts wherever a model may have them.
fn hostile_model() -> Draft {
    ensemble(
        "
        metadata: {description: <text>}
        node_types:
          T:
            derived_from: tosca.nodes.Root
            properties:
              note: {type: string, default: plain, description: <text>}
              <text>: {type: string, default: <text>}
            interfaces:
              Standard:
                create:
                  implementation: Cmd
                  inputs:
                    cmd: \"true\"
                    <text>: <text>
        topology_template:
          inputs:
            <text>: {type: string, default: <text>}
          outputs:
            out: {value: <text>, description: <text>}
          node_templates:
            a: {type: T, properties: {note: <text>}, metadata: {<text>: <text>}}
        ",
    )
    .with("text", HOSTILE_SCALAR)
}

/// V13: texts of a model and of its record, in all commands that show them.
#[test]
fn s17_texts_of_a_model_cannot_steer_the_terminal() {
    let env = colourful(hostile_model().env());
    let mut all = assert_harmless(
        &env,
        &[
            &["plan"],
            &["-vv", "deploy", "--approve"],
            &["status", "--query", "::a::note"],
        ],
    );
    for words in [
        "validate",
        "plan --output json",
        "deploy --approve --force --output json",
        "plan --why --var input_x 1",
        "status",
        "status --output json",
        "explain a",
        "history",
        "history --output json",
        "export",
    ] {
        let bytes = in_pipe(&env, &words.split(' ').collect::<Vec<_>>());
        assert_plain(words, &bytes);
        all.push_str(&String::from_utf8_lossy(&bytes));
    }
    assert!(all.contains(r"n\u001b]0;title\u0007"), "{all}");
    assert!(assert_files_plain(&env, &[".log", ".tsv", ".yaml"]) > 2);
    let query = ["status", "--output", "json", "--query", "::a::note"];
    let json: Json = serde_json::from_slice(&in_pipe(&env, &query)).unwrap();
    let text = hostile_text();
    assert!(
        json.to_string().contains(&json!(text).to_string()),
        "{json}"
    );
}

/// V13: a record that others have written.
#[test]
fn s17_a_record_cannot_steer_the_terminal() {
    let env = colourful(task("true").env());
    env.unfurl(["deploy", "--approve"]).succeeds();
    let mut lines = env.read("jobs.tsv");
    for key in ["summary", "status", "operation", "startTime", "digestKeys"] {
        lines = lines.replace(&format!("{key}="), &format!("{key}={}", hostile_text()));
    }
    env.write("jobs.tsv", &lines);
    let manifest = env.read("ensemble.yaml");
    let manifest = manifest.replace("summary: ", &format!("summary: {HOSTILE_SCALAR} #"));
    env.write(
        "ensemble.yaml",
        &manifest.replace("startTime: ", &format!("startTime: {HOSTILE_SCALAR} #")),
    );
    let all = assert_harmless(&env, &[&["history"], &["explain", "a"], &["plan", "--why"]]);
    assert!(all.contains("title"), "{all}");
    assert_plain("history", &in_pipe(&env, &["history", "--output=json"]));
    assert_plain("status", &in_pipe(&env, &["status"]));
}

/// V13: names of instances, types, files and options within errors.
#[test]
fn s17_names_in_errors_cannot_steer_the_terminal() {
    let types = "a: {type: <text>}\n    \
        b: {type: tosca.nodes.Root, properties: {<text>: 1}}\n    \
        c: {type: tosca.nodes.Root, requirements: [{<text>: d}]}\n    \
        d: {type: Nope} # \u{202e}\u{2066} \u{200f}\n    \
        e: {type: \"\\e[8mNope\"}";
    for nodes in [
        types,
        "<text>: {type: Nope}",
        "a: {type: Nope} # \u{9b}2J \x1b[2J",
    ] {
        let text = format!("topology_template:\n  node_templates:\n    {nodes}\n");
        let text = text.replace("<text>", HOSTILE_SCALAR);
        let env = colourful(ensemble(&text).env());
        let all = assert_harmless(&env, &[&["validate"]]);
        assert!(all.contains("error"), "{all}");
        assert_plain(nodes, &in_pipe(&env, &["validate", "--output", "json"]));
        assert_plain(nodes, &in_pipe(&env, &["validate", "--output", "sarif"]));
    }
}

/// V13: names of files, hosts and options that the command line may get from a folder of others.
#[test]
fn s17_names_on_the_command_line_cannot_steer_the_terminal() {
    let name = "x\x1b]0;t\x07\u{9b}2J\u{202e}\x08";
    let env = colourful(TestEnv::with_ensemble("apiVersion: 1"));
    let file = format!("{name}.yaml");
    fs::write(env.work().join(&file), "apiVersion: [").unwrap();
    let option = format!("--{name}");
    let missing = format!("{name}/none");
    let mut all = assert_harmless(&env, &[&["validate", &file], &["plan", &option]]);
    for words in [
        &["plan", &missing] as &[&str],
        &[name],
        &["deploy", "--output", name],
        &["run", "-H", name, "--", "true"],
        &["--logfile", &missing, "deploy"],
        &["history", name],
        &["explain", name],
        &["task", name],
        &["lock", "break", &missing],
        &["fact", name],
    ] {
        let bytes = in_pipe(&env, words);
        assert_plain(&format!("{words:?}"), &bytes);
        all.push_str(&String::from_utf8_lossy(&bytes));
    }
    assert!(all.contains(r"x\u001b]0;t\u0007\u009b2J\u202e"), "{all}");
}

/// V13: the owner of a lock writes its command line and its host.
#[test]
fn s17_the_owner_of_a_lock_cannot_steer_the_terminal() {
    let env = colourful(task("true").env());
    let owner = "host: <text>\nboot_id: <text>\npid: 1\npid_namespace: <text>\nstart_time: 1\n\
        command: <text>\nsince: <text>\ntoken: t\n";
    env.write("ensemble.yaml.lock", "1");
    env.write(
        "ensemble.yaml.owner.lock",
        &owner.replace("<text>", HOSTILE_SCALAR),
    );
    let all = assert_harmless(
        &env,
        &[
            &["lock", "list"],
            &["lock", "list", "--output", "json"],
            &["deploy", "--approve"],
            &["lock", "break", "ensemble.yaml"],
        ],
    );
    assert!(all.contains(r"title\u0007"), "{all}");
}

/// V13: messages of commits and names of files that others have committed.
#[test]
fn s17_messages_of_commits_cannot_steer_the_terminal() {
    let env = colourful(task("true").env());
    env.git(&["init", "-q"]);
    let text = hostile_text();
    env.write("f\u{202e}\x1b[2J", "x");
    env.git(&["add", "ensemble.yaml"]);
    env.git(&["commit", "-qm", &text]);
    let all = assert_harmless(
        &env,
        &[
            &["git", "log"],
            &["git", "-c", "core.quotePath=false", "status"],
            &["git-status"],
            &["git-status", "--output", "json"],
            &["commit", "--no-edit"],
        ],
    );
    assert!(all.contains("title"), "{all}");
}

/// The words of a call of `shell` on a test server.
fn shell_words(sshd: &Sshd) -> Vec<String> {
    let path = |name: &str| sshd.path(name).display().to_string();
    let host = format!("127.0.0.1:{}", sshd.port);
    let options = ["shell", &host, "--no-ssh-config", "-a", "-k", "-u", &user()].map(str::to_owned);
    let mut words = options.to_vec();
    words.extend(["-i".to_owned(), path("id")]);
    words.extend(["--known-hosts".to_owned(), path("known_hosts")]);
    words
}

/// V13: a shell at a terminal draws on it. Output to a pipe is filtered.
#[test]
fn s17_a_shell_writes_unfiltered_only_to_a_terminal() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), colourful(TestEnv::new()));
    write_hostile_output(&env, "hostile");
    let words = shell_words(&sshd);
    let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let program = program();
    let hostile = env.work().join("hostile");
    let script = format!(
        "echo 'cat {0}; cat {0} >&2' | '{program}' {1} 2>&1 | cat > all.out",
        hostile.display(),
        line.join(" ")
    );
    env.start_command(Command::new("/bin/sh"), ["-c", &script])
        .ends();
    let piped = fs::read(env.work().join("all.out")).unwrap();
    assert_plain("shell in a pipe", &piped);
    let piped = String::from_utf8(piped).unwrap();
    assert_eq!(
        piped.matches("next\n").count(),
        2 * HOSTILE.len(),
        "{piped}"
    );
    // `script` gives the program a terminal, and types the command.
    let script = format!(
        "(sleep 0.5; echo 'cat {}; exit'; sleep 0.5) | script -qec \"'{program}' {}\" /dev/null > all.out",
        hostile.display(),
        line.join(" ")
    );
    env.start_command(Command::new("/bin/sh"), ["-c", &script])
        .ends();
    let shown = fs::read(env.work().join("all.out")).unwrap();
    let expected = b"\x1b]0;title\x07";
    assert!(
        shown.windows(expected.len()).any(|part| part == expected),
        "{}",
        shown.escape_ascii()
    );
}
