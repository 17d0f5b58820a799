//! Options of `ssh_config` that change a connection, each with a real `sshd`.

use std::fs;

use super::login::Person;
use super::sshd::{Sshd, make_key};
use crate::support::{Run, TestEnv};

/// Runs a command on a server with a configuration. `ID` and `KNOWN` stand for the files of the key and of known hosts.
fn over(env: &TestEnv, sshd: &Sshd, config: &str, more: &[&str], command: &str) -> Run {
    let path = |name: &str| sshd.path(name).display().to_string();
    let config = config
        .replace("ID", &path("id"))
        .replace("KNOWN", &path("known_hosts"));
    env.write("config", &format!("Host *\n{config}\n"));
    let host = format!("127.0.0.1:{}", sshd.port);
    let mut words = vec![
        "-v",
        "run",
        "--ssh-config-path",
        "config",
        "-a",
        "-k",
        "-H",
        &host,
    ];
    words.extend(more);
    words.extend(["--", command]);
    env.unfurl(words)
}

const USUAL: &str = " UserKnownHostsFile KNOWN\n IdentityFile ID\n";

#[test]
fn old_algorithms_are_off_until_the_configuration_names_them() {
    requires!("sshd");
    let env = TestEnv::new();
    let lines = [
        "KexAlgorithms diffie-hellman-group14-sha1",
        "Ciphers aes128-cbc",
        "MACs hmac-sha1",
    ];
    let sshd = Sshd::with(1, &lines);
    let mut config = USUAL.to_owned();
    for (named, line) in [
        (
            "KexAlgorithms +diffie-hellman-group14-sha1",
            " KexAlgorithms +diffie-hellman-group14-sha1\n",
        ),
        ("Ciphers +aes128-cbc", " Ciphers ^aes128-cbc\n"),
        ("MACs +hmac-sha1", " MACs hmac-sha2-256,hmac-sha1\n"),
    ] {
        let run = over(&env, &sshd, &config, &[], "echo in").exits(1);
        run.says(&[&format!("the line `{named}`")]);
        config.push_str(line);
    }
    let run = over(&env, &sshd, &config, &[], "echo in").succeeds();
    assert!(run.stdout.ends_with("] in\n"), "{run}");
    let config = format!("{USUAL} KexAlgorithms sntrup761x25519-sha512@openssh.com\n");
    let run = over(&env, &sshd, &config, &[], "echo in").exits(1);
    run.says(&[
        "`KexAlgorithms sntrup761x25519-sha512@openssh.com` of ssh_config",
        "the program `ssh` cannot reach the host either: ",
        "no matching key exchange method found",
    ]);
}

#[test]
fn a_host_with_other_algorithms_only_is_reached_with_the_program_ssh() {
    requires!("sshd", "ssh");
    let env = TestEnv::new();
    let sshd = Sshd::with(1, &["Ciphers aes256-ctr", "MACs umac-128@openssh.com"]);
    let run = over(&env, &sshd, USUAL, &[], "echo in; exit 3").exits(1);
    assert!(run.stdout.ends_with("] in\n"), "{run}");
    run.says(&["exit code 3"]);
    let run = over(&env, &sshd, USUAL, &["--raw"], "echo raw").succeeds();
    assert!(run.stdout.ends_with("] raw\n"), "{run}");
    let run = over(&env, &sshd, USUAL, &["-T", "1"], "sleep 60").exits(1);
    run.says(&["time"]);
    // Files and states take the same way.
    let host = format!("127.0.0.1:{}", sshd.port);
    let path = |name: &str| sshd.path(name).display().to_string();
    let options = ["--ssh-config-path", "config", "-a", "-k", "-H", &host];
    let unfurl = |words: &[&str]| env.unfurl([words, &options].concat());
    env.write("up", "text");
    unfurl(&["put", "up", &path("there")]).succeeds();
    unfurl(&["get", &path("there"), "down"]).succeeds();
    assert_eq!(env.read("down"), "text");
    env.write(
        "states/s.sls",
        &format!("{}:\n  file.managed:\n  - contents: x\n", path("state")),
    );
    unfurl(&["state", "apply", "s", "--approve"]).succeeds();
    assert_eq!(fs::read_to_string(path("state")).unwrap(), "x\n");
    // The rules for host keys stay the same.
    fs::write(sshd.path("known_hosts"), "").unwrap();
    let run = over(&env, &sshd, USUAL, &[], "echo in").exits(1);
    assert!(!run.stdout.contains("in\n"), "{run}");
    run.says(&[
        "umac-128@openssh.com",
        "the program `ssh` cannot reach the host either",
        "Host key verification failed",
    ]);
}

#[test]
fn an_algorithm_that_ssh_has_off_needs_the_configuration_as_well() {
    requires!("sshd", "ssh");
    let env = TestEnv::new();
    let sshd = Sshd::with(1, &["Ciphers 3des-cbc"]);
    let run = over(&env, &sshd, USUAL, &[], "echo in").exits(1);
    run.says(&["3des-cbc", "no matching cipher found"]);
    let config = format!("{USUAL} Ciphers +3des-cbc\n");
    let run = over(&env, &sshd, &config, &[], "echo in").succeeds();
    assert!(run.stdout.ends_with("] in\n"), "{run}");
}

#[test]
fn variables_and_addresses_are_those_of_the_configuration() {
    requires!("sshd");
    let env = TestEnv::new();
    let sshd = Sshd::with(1, &["AcceptEnv LC_* SENT GIVEN", "AcceptEnv UNFURL_*"]);
    let prints = |config: &str, command: &str, text: &str| {
        let run = over(&env, &sshd, &format!("{USUAL}{config}"), &[], command).succeeds();
        assert!(run.stdout.contains(text), "{text}: {run}");
        run
    };
    let config = " SetEnv GIVEN=\"a b\" LC_OWN=c\n SendEnv UNFURL_* HOME\n";
    prints(
        config,
        "echo \"$GIVEN $LC_OWN.$UNFURL_SSH_PASSWORD.\"",
        "] a b c..\n",
    );
    prints(
        " BindAddress 127.0.0.9\n",
        "echo $SSH_CONNECTION",
        "] 127.0.0.9 ",
    );
    prints(
        " BindInterface lo\n AddressFamily inet\n",
        "echo in",
        "] in\n",
    );
    let config = format!("{USUAL} AddressFamily inet6\n");
    over(&env, &sshd, &config, &[], "echo in")
        .exits(1)
        .says(&["AddressFamily inet6"]);
    let notes = prints(" VisualHostKey yes\n RekeyLimit 1G\n", "echo in", "] in\n");
    notes.says(&[
        "note: `VisualHostKey` has no effect here",
        "config:4",
        "note: `RekeyLimit`",
    ]);
}

#[test]
fn trusted_keys_are_those_of_the_configuration() {
    requires!("sshd");
    let (env, sshd) = (TestEnv::new(), Sshd::start());
    let bare = " IdentityFile ID\n GlobalKnownHostsFile none\n";
    let known = |config: &str| over(&env, &sshd, &format!("{bare}{config}"), &[], "echo in");
    let none = " UserKnownHostsFile none\n";
    known(none).exits(1).says(&["is not known"]);
    known(&format!("{none} KnownHostsCommand /bin/cat KNOWN\n")).succeeds();
    let shown = env.work().join("shown").display().to_string();
    let line = format!("{none} KnownHostsCommand /bin/sh -c \"echo $0 $1 >{shown}\" %H %t\n");
    known(&line).exits(1).says(&["is not known"]);
    let host = format!("[127.0.0.1]:{} ssh-ed25519\n", sshd.port);
    assert_eq!(env.read("shown"), host);
    let own = env.work().join("own").display().to_string();
    let run = known(&format!(
        " UserKnownHostsFile {own}\n StrictHostKeyChecking no\n"
    ))
    .succeeds();
    run.says(&["`StrictHostKeyChecking no` counts as `accept-new`"]);
    assert!(
        env.read("own").starts_with("[127.0.0.1]:"),
        "{}",
        env.read("own")
    );
    known(" UserKnownHostsFile /dev/null\n StrictHostKeyChecking accept-new\n").succeeds();
    make_key(&env.work().join("other"), "ed25519", "");
    let changed = format!("[127.0.0.1]:{} {}", sshd.port, env.read("other.pub"));
    env.write("own", &changed);
    let run = known(&format!(
        " UserKnownHostsFile {own}\n StrictHostKeyChecking no\n"
    ))
    .exits(1);
    run.says(&["has changed"]);
}

#[test]
fn methods_of_the_login_are_those_of_the_configuration() {
    requires!("root", "sshd");
    let (env, person) = (TestEnv::new(), Person::new());
    let sshd = Sshd::with(1, &["PasswordAuthentication yes"]);
    env.write("password", Person::PASSWORD);
    let password = ["-u", &person.0, "--password-file", "password"];
    let accepted = |config: &str, more: &[&str]| {
        let before = sshd.log().len();
        over(&env, &sshd, &format!("{USUAL}{config}"), more, "true").succeeds();
        let log = sshd.log();
        let line = log[before..]
            .lines()
            .find(|line| line.contains("Accepted p"));
        line.unwrap().split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(accepted("", &password), "publickey");
    assert_eq!(
        accepted(" PreferredAuthentications password,publickey\n", &password),
        "password"
    );
    assert_eq!(
        accepted(" PubkeyAuthentication no\n", &password),
        "password"
    );
    let config = format!("{USUAL} PubkeyAuthentication no\n PasswordAuthentication no\n");
    over(&env, &sshd, &config, &password, "true")
        .exits(1)
        .says(&["refused the login"]);
    let config = format!("{USUAL} PubkeyAuthentication no\n BatchMode yes\n");
    let run = over(&env, &sshd, &config, &["-u", &person.0], "true").exits(1);
    run.says(&["`BatchMode yes` of ssh_config forbids questions"]);
}

#[test]
fn a_wrong_key_is_offered_once() {
    requires!("sshd");
    let (env, sshd) = (TestEnv::new(), Sshd::start());
    make_key(&sshd.path("wrong"), "ed25519", "");
    fs::copy(sshd.path("wrong"), sshd.path("copy")).unwrap();
    fs::copy(sshd.path("wrong.pub"), sshd.path("copy.pub")).unwrap();
    let wrong = sshd.path("wrong").display().to_string();
    let config = format!(
        " UserKnownHostsFile KNOWN\n IdentityFile {wrong}\n IdentityFile {}\n",
        sshd.path("copy").display()
    );
    let run = over(&env, &sshd, &config, &["-n", "3", "-i", &wrong], "true").exits(1);
    run.says(&["tried ssh-ed25519 key;"]);
    let log = sshd.log();
    assert_eq!(log.matches("Failed publickey").count(), 1, "{log}");
    assert_eq!(log.matches("Connection from").count(), 1, "{log}");
}
