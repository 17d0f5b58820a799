//! Raw commands, terminals, and the standard input of `unfurl run -H`, on a real `sshd`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;

use super::cli::{hosts, options};
use super::sshd::{Sshd, make_key};
use crate::support::{Run, Started, TestEnv, binary, wait_for};

/// Calls `unfurl run` on addresses of a server.
fn line(sshd: &Sshd, count: u8, words: &[&str]) -> Vec<String> {
    let mut line = vec!["run".to_owned(), "-H".to_owned(), hosts(sshd, count)];
    line.extend(options(sshd));
    line.extend(words.iter().map(|word| (*word).to_owned()));
    line
}

/// Changes the user of a call.
fn as_user(account: &Account, mut line: Vec<String>) -> Vec<String> {
    let at = line.iter().position(|word| word == "-u").unwrap();
    line[at + 1].clone_from(&account.0);
    line
}

fn run(env: &TestEnv, sshd: &Sshd, words: &[&str]) -> Run {
    env.unfurl(line(sshd, 1, words))
}

/// Calls the program with the output of a shell text as its standard input.
fn fed(env: &TestEnv, feed: &str, line: Vec<String>) -> Run {
    let text = format!("{{ {feed}; }} | \"$0\" \"$@\"");
    start_in_shell(env, text, line).ends()
}

/// Starts the program with a shell text, in which `"$0" "$@"` stands for the call.
fn start_in_shell(env: &TestEnv, text: String, line: Vec<String>) -> Started {
    let program = binary().to_str().unwrap().to_owned();
    let words = ["-c".to_owned(), text, program];
    env.start_command(Command::new("/bin/sh"), words.into_iter().chain(line))
}

/// Checks that one of the outputs contains a text.
#[track_caller]
fn says_anywhere(run: &Run, text: &str) {
    assert!(run.all().contains(text), "{run}");
}

/// A server whose key runs a command of its own instead of the requested one.
fn forced(command: &str) -> Sshd {
    let sshd = Sshd::with(3, &[]);
    let key = fs::read_to_string(sshd.path("id.pub")).unwrap();
    let line = format!("command=\"{command}\" {key}");
    fs::write(sshd.path("authorized_keys"), line).unwrap();
    sshd
}

#[test]
fn a_raw_command_reaches_a_forced_command_as_it_was_written() {
    requires!("sshd");
    let env = TestEnv::new();
    let sshd = forced("echo forced: $SSH_ORIGINAL_COMMAND; exit 3");
    let run = run(
        &env,
        &sshd,
        &["--raw", "--", "show", "interfaces | include up"],
    )
    .exits(1);
    run.prints(&["forced: show interfaces | include up\n"])
        .says(&["exit code 3"]);
}

#[test]
fn a_raw_command_works_for_accounts_without_a_posix_shell() {
    requires!("root", "sshd");
    let env = TestEnv::new();
    let sshd = Sshd::start();
    // The shell of a switch: it knows two commands and reads more of them from its input.
    let shell = sshd.path("switch");
    let text = "#!/bin/sh\ncase $2 in 'show version') echo 'Switch 1.0';; configure) while read -r l; do echo \"set $l\"; done;; *) echo \"% Invalid input: $2\" >&2; exit 1;; esac\n";
    fs::write(&shell, text).unwrap();
    let chmod = Command::new("chmod").arg("0755").arg(&shell).status();
    assert!(chmod.unwrap().success());
    let shells = [
        shell.to_str().unwrap().to_owned(),
        "/usr/sbin/nologin".to_owned(),
        "/usr/bin/git-shell".to_owned(),
    ];
    for shell in shells {
        let account = Account::new(&shell);
        let line = |words: &[&str]| as_user(&account, line(&sshd, 1, words));
        let run = |words: &[&str]| env.unfurl(line(words));
        match shell.rsplit('/').next() {
            Some("switch") => {
                run(&["--raw", "--", "show version"])
                    .succeeds()
                    .prints(&["Switch 1.0"]);
                says_anywhere(
                    &run(&["--raw", "--", "reload"]).exits(1),
                    "% Invalid input: reload",
                );
                fed(
                    &env,
                    "echo vlan 7; printf 'name x'",
                    line(&["--raw", "--", "configure"]),
                )
                .succeeds()
                .prints(&["set vlan 7"]);
                // Without `--raw` the shell gets a text that it does not know.
                run(&["--", "show version"]).exits(1);
            }
            Some("nologin") => {
                says_anywhere(&run(&["--raw", "--", "id"]).exits(1), "not available");
            }
            _ => {
                says_anywhere(&run(&["--raw", "--", "git-upload-pack 'none'"]), "'none'");
                says_anywhere(
                    &run(&["--raw", "--", "id"]).exits(1),
                    "unrecognized command",
                );
            }
        }
    }
}

#[test]
fn a_host_can_be_marked_as_raw() {
    requires!("sshd");
    let env = TestEnv::new();
    let sshd = forced("echo forced: $SSH_ORIGINAL_COMMAND");
    let place = format!("host: 127.0.0.1\n    port: {}", sshd.port);
    env.write(
        "hosts.yaml",
        &format!("hosts:\n  switch:\n    {place}\n    raw: true\n"),
    );
    let call = |command: &str, words: &[&str]| {
        let mut line = vec![command.to_owned(), "--accept-new-host-keys".to_owned()];
        line.extend(options(&sshd));
        line.extend(["-H", "switch", "--hosts-file", "hosts.yaml"].map(str::to_owned));
        line.extend(words.iter().map(|word| (*word).to_owned()));
        env.unfurl(line)
    };
    call("run", &["show version"])
        .succeeds()
        .prints(&["forced: show version"]);
    call("run", &["--sudo", "show version"])
        .exits(1)
        .says(&["`sudo` cannot run a raw command"]);
    let facts = call("fact", &["hostname"]);
    assert_ne!(facts.code, 0, "{facts}");
    says_anywhere(&facts, "marked as `raw`");
    env.write(
        "tasks.yaml",
        "tasks:\n  a:\n    steps:\n      - {run: show clock, raw: true}\n  b:\n    steps:\n      - {run: show clock, raw: true, cd: /tmp}\n",
    );
    let bad = call("task", &["a"]);
    assert_ne!(bad.code, 0);
    bad.says(&["`cd` cannot be used with `raw`", "tasks.yaml:7:"]);
}

/// A raw command of another user than root, whose server passes signals on, and a file that gets its process id.
fn sleeper(sshd: &Sshd) -> (Account, PathBuf, Vec<String>) {
    let account = Account::new("/bin/sh");
    let file = sshd.path("pid");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let text = format!("echo $$ > {}; exec sleep 100", file.display());
    let line = as_user(&account, line(sshd, 1, &["--raw", "-T", "2", "--", &text]));
    (account, file, line)
}

/// Waits for the process id in a file.
fn process_id(file: &Path) -> String {
    wait_for("the command", || {
        let text = fs::read_to_string(file).ok()?;
        text.ends_with('\n').then(|| text.trim().to_owned())
    })
}

fn wait_until_ended(id: &str) {
    wait_for("the end of the command", || {
        (!fs::exists(format!("/proc/{id}")).unwrap()).then_some(())
    });
}

#[test]
fn a_raw_command_with_a_time_limit_ends_on_the_host() {
    requires!("root", "sshd");
    let (env, sshd) = (TestEnv::new(), Sshd::start());
    let (_account, file, line) = sleeper(&sshd);
    let run = env.unfurl(line).exits(1).says(&["timed out"]);
    wait_until_ended(&process_id(&file));
    assert!(run.time.as_secs() < 7, "the server ignores signals: {run}");
}

#[test]
fn the_standard_input_goes_to_the_command_and_each_host_gets_a_copy() {
    requires!("sshd");
    let (env, sshd) = (TestEnv::new(), Sshd::with(3, &[]));
    let large = "head -c 9000000 /dev/zero | tr '\\0' 'x'; echo end";
    let expected = Command::new("sh")
        .args(["-c", &format!("{{ {large}; }} | sha256sum")])
        .output()
        .unwrap();
    let expected = String::from_utf8(expected.stdout).unwrap();
    let expected = expected.split(' ').next().unwrap();
    let calls: [(u8, &[&str]); 4] = [
        (1, &["--", "sha256sum"]),
        (3, &["--", "sha256sum"]),
        (3, &["-P", "--", "sha256sum"]),
        (3, &["-P", "--raw", "--", "sha256sum"]),
    ];
    for (count, words) in calls {
        let run = fed(&env, large, line(&sshd, count, words)).succeeds();
        let sums = run.stdout.matches(expected).count();
        assert_eq!(sums, usize::from(count), "{words:?} {run}");
    }
    // A command that reads only the start of its input ends, although the input stays open.
    let open = "mkfifo f; exec 3<>f; printf 'one\\ntwo\\n' >&3; \"$0\" \"$@\" <&3";
    let head = line(&sshd, 1, &["--", "head -n 1"]);
    let run = start_in_shell(&env, open.to_owned(), head);
    let run = run.ends_by_itself().succeeds();
    assert!(
        run.stdout.contains("one") && !run.stdout.contains("two"),
        "{run}"
    );
    let none = line(&sshd, 1, &["--no-stdin", "--", "cat; echo end"]);
    let run = fed(&env, "echo one", none).succeeds();
    assert!(!run.stdout.contains("one"), "{run}");
    let local = ["run", "-H", "@local", "--", "tr a-z A-Z"].map(str::to_owned);
    fed(&env, "echo word; printf last", local.to_vec())
        .succeeds()
        .prints(&["WORD", "LAST"]);
}

#[test]
fn the_standard_input_passes_through_sudo() {
    requires!("root", "sshd", "sudo");
    let (env, sshd) = (TestEnv::new(), Sshd::with(2, &[]));
    let words = ["--sudo", "--", "cat; echo end"];
    let run = fed(&env, "printf 'first\\nsecond\\n'", line(&sshd, 2, &words)).succeeds();
    let texts = run.stdout.lines().filter_map(|it| it.rsplit(' ').next());
    let texts: Vec<&str> = texts.collect();
    let of_one = ["first", "second", "end"];
    assert_eq!(texts, [of_one, of_one].concat(), "{run}");
}

#[test]
fn a_question_is_not_answered_from_the_input_of_a_command() {
    requires!("sshd");
    let (env, sshd) = (TestEnv::new(), Sshd::start());
    make_key(&sshd.path("locked"), "ed25519", "secret words");
    let mut line = line(&sshd, 1, &["--", "cat"]);
    let at = line.iter().position(|word| word == "-i").unwrap();
    line[at + 1] = sshd.path("locked").display().to_string();
    let run = fed(&env, "echo not the passphrase", line).exits(1);
    run.says(&["the passphrase of"]);
}

#[test]
fn a_command_can_have_a_terminal() {
    requires!("sshd");
    let (env, sshd) = (TestEnv::new(), Sshd::start());
    run(&env, &sshd, &["--pty", "--", "tty"])
        .succeeds()
        .prints(&["/dev/pts/"]);
    run(&env, &sshd, &["--pty", "--raw", "--", "tty"])
        .succeeds()
        .prints(&["/dev/pts/"]);
    fed(
        &env,
        "echo typed; printf rest",
        line(&sshd, 1, &["--pty", "--", "cat"]),
    )
    .succeeds()
    .prints(&["typed", "rest"]);
    run(&env, &sshd, &["--", "tty"])
        .exits(1)
        .prints(&["not a tty"]);
}

#[test]
fn an_interruption_ends_a_raw_command() {
    requires!("root", "sshd");
    let (env, sshd) = (TestEnv::new(), Sshd::start());
    let (_account, file, mut line) = sleeper(&sshd);
    line.retain(|word| word != "-T" && word != "2");
    let started = env.start(line);
    let id = process_id(&file);
    started.signal(Signal::SIGINT);
    started.ends_by_itself().exits(130);
    wait_until_ended(&id);
}

/// A user of this machine with a shell of its own. The user exists during the test.
struct Account(String);

impl Account {
    fn new(shell: &str) -> Self {
        let number = ulid::Ulid::generate().to_string().to_lowercase();
        let name = format!("raw{}", &number[number.len() - 10..]);
        let made = Command::new("useradd")
            .args(["-M", "-p", "*", "-s", shell, &name])
            .status();
        assert!(made.is_ok_and(|it| it.success()), "useradd needs root");
        Self(name)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        Command::new("userdel").arg(&self.0).status().ok();
    }
}
