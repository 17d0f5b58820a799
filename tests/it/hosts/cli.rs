//! The commands for hosts beside `unfurl run -H`: `put`, `get`, `shell` and port forwarding.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;

use super::login::Person;
use super::sshd::{Sshd, free_port, greeter, user};
use crate::executors::Users;
use crate::support::{Run, TestEnv};

/// The command-line options for the login on a test server.
pub(crate) fn options(sshd: &Sshd) -> Vec<String> {
    let path = |name: &str| sshd.path(name).display().to_string();
    let words = [
        "--no-ssh-config",
        "-a",
        "-k",
        "-u",
        &user(),
        "-i",
        &path("id"),
        "--known-hosts",
        &path("known_hosts"),
    ];
    words.map(str::to_owned).to_vec()
}

/// The first `count` addresses of a server, as the text of a host list.
pub(crate) fn hosts(sshd: &Sshd, count: u8) -> String {
    let all = (1..=count).map(|last| format!("127.0.0.{last}:{}", sshd.port));
    all.collect::<Vec<_>>().join(",")
}

/// Calls a command on the first `count` addresses of a server, in parallel.
pub(super) fn over(env: &TestEnv, sshd: &Sshd, count: u8, words: &[&str]) -> Run {
    let mut line = vec![words[0].to_owned(), "-PH".to_owned(), hosts(sshd, count)];
    line.extend(options(sshd));
    line.extend(words[1..].iter().map(|word| (*word).to_owned()));
    env.unfurl(line)
}

/// The paths and digests of all files in a folder, to compare it with another.
fn digests(folder: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", "find . -type f | LC_ALL=C sort | xargs sha256sum"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Creates a folder with a file, a large nested file and an empty file.
fn fill(env: &TestEnv) {
    env.write("tree/a.txt", "first\n");
    env.write("tree/sub/deep/b", &"second ".repeat(40_000));
    env.write("tree/sub/empty", "");
}

#[test]
fn hosts_that_share_a_folder_get_the_same_tree_at_the_same_time() {
    requires!("root", "sudo", "sshd");
    let (sshd, env) = (Sshd::with(4, &[]), TestEnv::new());
    for number in 0..100 {
        env.write(&format!("tree/a{number}/b/file"), "content");
    }
    let target = sshd.path("shared");
    let into = format!("{}/", target.display());
    // Over SFTP, and with the programs of the host.
    for more in [&[][..], &["--sudo"]] {
        fs::create_dir(&target).unwrap();
        let words = [&["put", "tree", &into][..], more].concat();
        over(&env, &sshd, 4, &words).succeeds();
        assert_eq!(
            digests(&target.join("tree")),
            digests(&env.work().join("tree"))
        );
        fs::remove_dir_all(&target).unwrap();
    }
}

#[test]
fn a_folder_goes_to_hosts_and_comes_back_from_each_as_it_was() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(3, &[]), TestEnv::new());
    fill(&env);
    let there = sshd.path("there").display().to_string();
    fs::create_dir_all(sshd.path("there/in")).unwrap();
    let run = over(&env, &sshd, 3, &["put", "tree", &format!("{there}/in/")]).succeeds();
    assert!(run.stderr.contains("3 ok."), "{run}");
    assert_eq!(
        digests(&sshd.path("there/in/tree")),
        digests(&env.work().join("tree"))
    );
    over(&env, &sshd, 1, &["put", "tree", &format!("{there}/as")]).succeeds();
    assert!(sshd.path("there/as/a.txt").exists());
    over(
        &env,
        &sshd,
        3,
        &["get", &format!("{there}/in/tree"), "back"],
    )
    .succeeds();
    for last in 1..=3 {
        let folder = format!("back/127.0.0.{last}:{}/tree", sshd.port);
        assert_eq!(
            digests(&env.work().join(folder)),
            digests(&env.work().join("tree"))
        );
    }
}

#[test]
fn a_file_gets_its_mode_and_comes_to_where_a_pattern_says() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(3, &[]), TestEnv::new());
    env.write("file", "content");
    let remote = sshd.path("remote").display().to_string();
    let run = over(&env, &sshd, 3, &["put", "--mode", "0640", "file", &remote]);
    run.succeeds();
    let mode = fs::metadata(&remote).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    over(&env, &sshd, 3, &["get", &remote, "out/%(host)s.txt"]).succeeds();
    over(&env, &sshd, 3, &["get", &remote, "all/%(host)s/%(path)s"]).succeeds();
    for last in 1..=3 {
        let host = format!("127.0.0.{last}:{}", sshd.port);
        assert_eq!(env.read(&format!("out/{host}.txt")), "content");
        assert_eq!(env.read(&format!("all/{host}{remote}")), "content");
    }
    // With a single host, the local path is the file itself.
    over(&env, &sshd, 1, &["get", &remote, "alone"]).succeeds();
    assert_eq!(env.read("alone"), "content");
    let run = over(&env, &sshd, 1, &["get", &remote, "%(hots)s"]).exits(2);
    insta::assert_snapshot!(run.stderr, @r#"error: "%(hots)s" is not a placeholder; a local path may contain `%(host)s` and `%(path)s`"#);
}

#[test]
fn a_missing_local_or_remote_file_is_reported() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let run = over(&env, &sshd, 1, &["put", "nowhere", "x"]).exits(2);
    insta::assert_snapshot!(run.stderr, @"error: there is no file or folder `nowhere` on this machine");
    assert!(!sshd.log().contains("Accepted"), "{}", sshd.log());
    let run = over(&env, &sshd, 1, &["get", "/no/such/file", "x"]).exits(1);
    assert!(run.stderr.contains("no such file or folder"), "{run}");
    assert!(!env.work().join("x").exists());
    let run = over(&env, &sshd, 1, &["put", "*.none", "x/"]).exits(2);
    assert!(run.stderr.contains("no file or folder `*.none`"), "{run}");
}

#[test]
fn transfers_tell_machines_what_came_of_them_also_where_a_host_is_not_reached() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    env.write("file", "x");
    let target = sshd.path("target").display().to_string();
    let mut words = vec!["put".to_owned(), "--output=json".to_owned()];
    words.extend(["-n1", "-PH"].map(str::to_owned));
    words.push(format!("127.0.0.1:{},{}", free_port(), hosts(&sshd, 1)));
    words.extend(options(&sshd));
    words.extend(["file".to_owned(), target.clone()]);
    let run = env.unfurl(words);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stdout.contains("unreachable"), "{run}");
    for line in run.stdout.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

/// The words of a command on one host, with the options for the login.
pub(crate) fn on_one(sshd: &Sshd, command: &str, host: &str) -> Vec<String> {
    let mut words = vec![command.to_owned(), host.to_owned()];
    words.extend(options(sshd));
    words
}

pub(crate) fn shell(env: &TestEnv, words: &[String], input: &str) -> Run {
    env.write("input", input);
    let mut line = vec![
        "-c",
        "exec \"$0\" \"$@\" < input",
        env!("CARGO_BIN_EXE_unfurl"),
    ];
    line.extend(words.iter().map(String::as_str));
    let started = env.start_command(Command::new("/bin/sh"), line);
    started.ends()
}

#[test]
fn a_shell_runs_what_is_piped_in_and_gives_its_exit_code() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let words = on_one(&sshd, "shell", &hosts(&sshd, 1));
    let run = shell(&env, &words, "echo to; echo on >&2; test -t 0 || exit 7\n");
    assert_eq!((run.code, run.stdout.as_str()), (7, "to\n"), "{run}");
    assert_eq!(run.stderr, "on\n");
    let run = shell(&env, &words, "seq 1 200000\n").succeeds();
    assert!(run.stdout.ends_with("\n199999\n200000\n"));
    assert_eq!(run.stdout.lines().count(), 200_000);
    let run = shell(&env, &words, "kill -9 $$\n");
    assert_eq!(run.code, 137, "{run}");
}

#[test]
fn an_inventory_says_as_which_user_commands_and_files_act() {
    requires!("root", "sudo", "sshd");
    let (sshd, env, users) = (Sshd::start(), TestEnv::new(), Users::two(None));
    let other = &users.names[1];
    let inventory = format!(
        "[all]\nw ansible_host=127.0.0.1 ansible_port={} ansible_become=yes ansible_become_user={other}\n",
        sshd.port
    );
    env.write("inventory", &inventory);
    env.write("file", "text");
    let unfurl = |words: &[&str], more: &[&str]| {
        let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        all.extend(["--hosts-file", "inventory", "-H", "w"].map(str::to_owned));
        all.extend(options(&sshd));
        all.extend(more.iter().map(|word| (*word).to_owned()));
        env.unfurl(all).succeeds()
    };
    assert_eq!(
        unfurl(&["run"], &["--", "id -un"]).stdout,
        format!("[w] {other}\n")
    );
    assert_eq!(
        unfurl(&["run", "--sudo"], &["--", "id -un"]).stdout,
        "[w] root\n"
    );
    let home = format!("/home/{other}/file");
    unfurl(&["put", "file", &home], &[]);
    assert_eq!(
        unfurl(&["run"], &["--", &format!("stat -c %U {home}")]).stdout,
        format!("[w] {other}\n")
    );
}

#[test]
fn output_without_a_final_line_end_is_a_line_of_its_own() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let steps = "[{run: printf one}, {run: echo two}, {run: printf three >&2}, {run: echo four}]";
    env.write("tasks.yaml", &format!("tasks: {{a: {{steps: {steps}}}}}\n"));
    let run = over(&env, &sshd, 1, &["task", "a"]).succeeds();
    let shown = run.stdout.replace(&format!(":{}", sshd.port), "");
    insta::assert_snapshot!(shown, @r"
    [127.0.0.1] one
    [127.0.0.1] two
    [127.0.0.1] four
    ");
    assert!(run.stderr.contains("] three\n"), "{run}");
}

#[test]
fn a_shell_of_this_machine_is_that_of_the_user() {
    let env = TestEnv::new();
    let words = ["shell", "@local"].map(str::to_owned);
    let run = shell(&env, &words, "echo to; echo on >&2; exit 7\n");
    assert_eq!((run.code, run.stdout.as_str()), (7, "to\n"), "{run}");
    assert_eq!(run.stderr, "on\n");
    let named = ["-c", "SHELL=/no/shell exec \"$0\" shell @local"];
    let named = [named[0], named[1], env!("CARGO_BIN_EXE_unfurl")];
    let run = env
        .start_command(Command::new("/bin/sh"), named)
        .ends()
        .exits(1);
    insta::assert_snapshot!(run.stderr, @"error: `/no/shell` was not found");
    let run = env.unfurl(["forward", "@local", "-D", "0"]).exits(1);
    assert!(run.stderr.contains("not reached over SSH"), "{run}");
}

#[test]
fn a_shell_of_a_host_that_is_not_reached_ends_with_one() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let port = free_port();
    let words = on_one(&sshd, "shell", &format!("127.0.0.1:{port}"));
    let run = shell(&env, &words, "echo never\n");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run}");
    let text = run.stderr.replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(text, @"error: [127.0.0.1:PORT] 127.0.0.1 port PORT refused the connection");
}

#[test]
fn a_port_leads_through_a_host_until_it_is_interrupted() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let target = greeter(b"hello");
    let (port, back) = (free_port(), free_port());
    let mut words = on_one(&sshd, "forward", &hosts(&sshd, 1));
    words.extend(["-L".to_owned(), format!("{port}:127.0.0.1:{target}")]);
    words.extend(["-R".to_owned(), format!("{back}:127.0.0.1:{target}")]);
    let started = env.start(words);
    started.wait_until_it_says(&format!("127.0.0.1:{back} of"));
    for port in [port, back] {
        let mut text = String::new();
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }
    started.signal(Signal::SIGINT);
    let run = started.ends_by_itself();
    assert_eq!(run.code, 130, "{run}");
    let said = format!("127.0.0.1:{port} is forwarded to 127.0.0.1:{target} through 127.0.0.1:");
    assert!(run.stderr.starts_with(&said), "{run}");
    assert_eq!(run.stderr.lines().count(), 2, "{run}");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_socks_client_reaches_through_a_host_what_the_host_reaches() {
    requires!("sshd");
    requires!("curl");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let target = greeter(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let port = free_port();
    let mut words = on_one(&sshd, "forward", &hosts(&sshd, 1));
    words.extend(["-D".to_owned(), port.to_string()]);
    let started = env.start(words);
    started.wait_until_it_says("is a SOCKS 5 proxy");
    let curl = |scheme: &str, host: &str, target: u16| {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-x", &format!("{scheme}://127.0.0.1:{port}")]);
        curl.arg(format!("http://{host}:{target}/"));
        let output = curl.output().unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let hello = (Some(0), "hello".to_owned());
    assert_eq!(curl("socks5h", "localhost", target), hello);
    assert_eq!(curl("socks5", "127.0.0.1", target), hello);
    // The host cannot connect to a port where nothing listens: code 97 is an error of the proxy.
    assert_eq!(curl("socks5h", "localhost", free_port()).0, Some(97));
    // A client that does not speak SOCKS is disconnected.
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).ok();
    assert_eq!(answer, b"");
    started.signal(Signal::SIGINT);
    assert_eq!(started.ends_by_itself().code, 130);
}

#[test]
fn a_port_that_is_taken_is_reported() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let mut words = on_one(&sshd, "forward", &hosts(&sshd, 1));
    words.extend(["-L".to_owned(), format!("{}:127.0.0.1:1", sshd.port)]);
    let run = env.unfurl(words).exits(1);
    assert!(
        run.stderr.contains("could not listen on 127.0.0.1"),
        "{run}"
    );
    assert_eq!(env.unfurl(on_one(&sshd, "forward", "x")).code, 2);
}

#[test]
fn a_host_that_does_not_restart_has_failed() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let run = over(&env, &sshd, 1, &["reboot", "--command=true", "--wait=1s"]).exits(1);
    let text = run.stderr.replace(&sshd.port.to_string(), "PORT");
    let first = text.lines().next().unwrap();
    insta::assert_snapshot!(first, @"error: [127.0.0.1:PORT] `reboot` failed: did not restart within 1 s: the boot id has not changed");
    let run = over(&env, &sshd, 1, &["reboot", "--command=exit 3"]).exits(1);
    assert!(run.stderr.contains("exit code 3"), "{run}");
}

#[test]
fn a_host_that_has_gone_down_is_waited_for_until_it_has_started_anew() {
    requires!("sshd");
    let env = TestEnv::new();
    // A test cannot restart a kernel. A `cat` in the path imitates the restart: it prints the boot ID from a
    // file.
    env.write("boot_id", "first\n");
    let id = env.work().join("boot_id").display().to_string();
    let cat = format!(
        "#!/bin/sh\ncase $1 in */boot_id) exec /bin/cat {id};; esac\nexec /bin/cat \"$@\"\n"
    );
    env.write("bin/cat", &cat);
    let cat = env.work().join("bin/cat");
    fs::set_permissions(&cat, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "SetEnv PATH={}:/usr/bin:/bin",
        cat.parent().unwrap().display()
    );
    let sshd = Sshd::with(1, &[&path]);
    let goes_down = format!("--command=echo second > {id}; kill -9 $PPID");
    let run = over(&env, &sshd, 1, &["reboot", &goes_down, "--wait=1m"]).succeeds();
    assert!(run.stderr.contains(": 1 ok in "), "{run}");
    assert_eq!(env.read("boot_id"), "second\n");
}

#[test]
fn this_machine_is_a_host_like_any_other() {
    let env = TestEnv::new();
    let run = env.unfurl(["run", "-H", "@local", "--", "pwd; echo $HOME"]);
    let run = run.succeeds();
    let folder = env.work().canonicalize().unwrap();
    let home = folder.parent().unwrap().join("home");
    let lines = format!(
        "[@local] {}\n[@local] {}\n",
        folder.display(),
        home.display()
    );
    assert_eq!(run.stdout, lines, "{run}");
}

#[test]
fn what_is_tolerated_is_said_once_and_in_the_table() {
    let env = TestEnv::new();
    let run = env.unfurl(["run", "-w", "-H", "@local", "--", "echo no >&2; exit 3"]);
    let run = run.succeeds();
    assert_eq!(run.stderr.matches("warning:").count(), 1, "{run}");
    run.says(&["@local", "failed", "exit code 3: no"]);
}

#[test]
fn a_role_may_be_an_expression_of_the_ensemble() {
    let ensemble = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    \
                    tosca_definitions_version: tosca_simple_unfurl_1_0_0\n    topology_template:\n      \
                    inputs:\n        names: {type: list, entry_schema: {type: string}, default: \
                    ['@local']}\n      node_templates: {n: {type: tosca.nodes.Root}}\n";
    let env = TestEnv::with_ensemble(ensemble);
    let roles = "groups: {live: {expression: {get_input: names}}, odd: {expression: {eval: 7}}}\n";
    env.write("hosts.yaml", roles);
    let over = |role| {
        [
            "run",
            "--hosts-file",
            "hosts.yaml",
            "-R",
            role,
            "--",
            "echo yes",
        ]
    };
    let run = env.unfurl(over("live")).succeeds();
    assert_eq!(run.stdout, "[@local] yes\n", "{run}");
    env.unfurl(over("odd")).exits(1).says(&["role `odd`"]);
}

/// The answer to each question is read as one line, even if the input is not a terminal.
#[test]
fn a_password_is_asked_for_once_and_tried_on_the_hosts_after_that() {
    requires!("root", "sshd");
    let person = Person::new();
    let sshd = Sshd::with(3, &["PasswordAuthentication yes"]);
    let env = TestEnv::new();
    let known = sshd.path("known_hosts").display().to_string();
    let hosts = hosts(&sshd, 3);
    let over = |more: &[&str]| {
        let words = ["run", "--no-ssh-config", "-a", "-k", "-u", &person.0];
        let way = ["--no-stdin", "--known-hosts", &known, "-H", &hosts];
        let words = words.iter().chain(&way);
        let words = words.chain(more).chain(&["--", "echo in"]);
        words
            .map(|word| (*word).to_owned())
            .collect::<Vec<String>>()
    };
    let answers = |lines: &[&str], words: Vec<String>| {
        let lines = lines.join("\\n");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        env.unfurl_after(
            &format!("printf '{lines}\\n' >answers; exec <answers"),
            &words,
        )
    };
    // The first password is wrong, so the program asks again.
    let run = answers(&["wrong", Person::PASSWORD], over(&[])).succeeds();
    assert_eq!(run.stdout.matches("] in\n").count(), 3, "{run}");
    assert_eq!(run.stderr.matches("login password of").count(), 2, "{run}");
    assert!(!run.all().contains(Person::PASSWORD), "{run}");
    let run = answers(&[Person::PASSWORD], over(&["-P"])).exits(1);
    run.says(&["needs the login password", "several hosts"]);
    let run = answers(&[Person::PASSWORD], over(&["--abort-on-prompts"])).exits(1);
    run.says(&["needs the login password"]);
}
