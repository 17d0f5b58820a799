//! Login on hosts: keys, agents, passwords, and the messages when a server refuses.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use unfurl::testing::host::{Destination, Exit, Question, Secret};

use super::sshd::{Sshd, keygen, make_key, refusal, run_once, sh, user};
use crate::support::wait_for;

#[track_caller]
fn lets_in(sshd: &Sshd, host: &Destination) {
    let output = run_once(host, sh("echo in"));
    assert_eq!(output.stdout.text(), "in\n", "{output:?}\n{}", sshd.log());
}

fn let_in(sshd: &Sshd, key: &str) {
    let key = std::fs::read(sshd.path(key)).unwrap();
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(sshd.path("authorized_keys"))
        .unwrap();
    file.write_all(&key).unwrap();
}

#[test]
fn keys_of_all_kinds_let_in_and_missing_files_are_passed_over() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut host = sshd.host();
    for kind in ["rsa", "ecdsa", "ed25519"] {
        let name = format!("id_{kind}");
        make_key(&sshd.path(&name), kind, "");
        let_in(&sshd, &format!("{name}.pub"));
        host.identities.files = vec![sshd.path("missing"), sshd.path(&name)];
        lets_in(&sshd, &host);
    }
    keygen(&[
        "-p",
        "-m",
        "PEM",
        "-N",
        "",
        "-f",
        &sshd.path("id_rsa").to_string_lossy(),
    ]);
    host.identities.files = vec![sshd.path("id_rsa")];
    lets_in(&sshd, &host);
}

#[test]
fn an_ecdsa_key_whose_number_begins_with_a_zero_byte_lets_in() {
    requires!("sshd");
    let sshd = Sshd::start();
    for name in ["short_ecdsa", "short_ecdsa_encrypted", "short_ecdsa.pub"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/keys");
        std::fs::copy(format!("{folder}/{name}"), sshd.path(name)).unwrap();
    }
    let_in(&sshd, "short_ecdsa.pub");
    let mut host = sshd.host();
    host.identities.files = vec![sshd.path("short_ecdsa")];
    lets_in(&sshd, &host);
    let encrypted = sshd.path("short_ecdsa_encrypted");
    host.identities.files = vec![encrypted.clone()];
    let asked = Exit::NeedsAnswer {
        question: Question::Passphrase(encrypted),
        refused: false,
    };
    assert_eq!(run_once(&host, sh("true")).exit, asked);
    host.identities.passphrase = Some(Secret::new("correct"));
    lets_in(&sshd, &host);
}

#[test]
fn a_key_with_a_passphrase_is_asked_for_only_if_nothing_else_lets_in() {
    requires!("sshd");
    let sshd = Sshd::start();
    make_key(&sshd.path("locked"), "ed25519", "open sesame");
    let_in(&sshd, "locked.pub");
    let mut host = sshd.host();
    host.identities.files = vec![sshd.path("locked"), sshd.path("id")];
    lets_in(&sshd, &host);
    host.identities.files = vec![sshd.path("locked")];
    let question = Question::Passphrase(sshd.path("locked"));
    let asked = |refused| Exit::NeedsAnswer {
        question: question.clone(),
        refused,
    };
    assert_eq!(run_once(&host, sh("true")).exit, asked(false));
    host.identities.passphrase = Some(Secret::new("wrong"));
    assert_eq!(run_once(&host, sh("true")).exit, asked(true));
    host.identities.passphrase = Some(Secret::new("open sesame"));
    lets_in(&sshd, &host);
}

#[test]
fn a_certificate_lets_in() {
    requires!("sshd");
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca");
    make_key(&ca, "ed25519", "");
    let line = format!("TrustedUserCAKeys {}.pub", ca.display());
    let sshd = Sshd::with(1, &[&line]);
    make_key(&sshd.path("id_cert"), "ed25519", "");
    let public = sshd.path("id_cert.pub");
    let mut host = sshd.host();
    host.identities.files = vec![sshd.path("id_cert")];
    let text = refusal(&host);
    assert!(text.contains("refused the login of"), "{text}");
    let (ca, public) = (ca.to_string_lossy(), public.to_string_lossy());
    keygen(&["-s", &ca, "-I", "me", "-n", &user(), &public]);
    lets_in(&sshd, &host);
    std::fs::rename(sshd.path("id_cert-cert.pub"), sshd.path("elsewhere")).unwrap();
    host.identities.certificates = vec![sshd.path("elsewhere")];
    lets_in(&sshd, &host);
}

#[test]
fn who_is_not_let_in_learns_what_was_tried_and_what_would_do() {
    requires!("sshd");
    let sshd = Sshd::start();
    make_key(&sshd.path("stranger"), "ed25519", "");
    let mut host = sshd.host();
    host.identities.files = vec![sshd.path("stranger")];
    let text = refusal(&host).replace(&user(), "USER");
    insta::assert_snapshot!(text, @"host1 (127.0.0.1) port PORT refused the login of `USER`: tried ssh-ed25519 key; the host accepts publickey");
    host.identities.files.clear();
    let text = refusal(&host).replace(&user(), "USER");
    insta::assert_snapshot!(text, @"host1 (127.0.0.1) port PORT refused the login of `USER`: no key and no password is available; the host accepts publickey");
}

/// A running `ssh-agent`, which ends when this value is dropped.
struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    fn start(sshd: &Sshd, keys: &[&str]) -> Self {
        let socket = sshd.path("agent");
        let child = Command::new("ssh-agent")
            .arg("-D")
            .arg("-a")
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("the agent", || socket.exists().then_some(()));
        for key in keys {
            let added = Command::new("ssh-add")
                .arg("-q")
                .arg(sshd.path(key))
                .env("SSH_AUTH_SOCK", &socket)
                .status()
                .unwrap();
            assert!(added.success());
        }
        Self { child, socket }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn an_agent_lets_in_and_is_lent_to_the_host_only_if_it_may() {
    requires!("sshd");
    let sshd = Sshd::start();
    make_key(&sshd.path("stranger"), "ed25519", "");
    let agent = Agent::start(&sshd, &["stranger", "id"]);
    let mut host = sshd.host();
    host.identities.agent = Some(agent.socket.clone());
    host.identities.files.clear();
    lets_in(&sshd, &host);
    let output = run_once(&host, sh("ssh-add -l"));
    assert_ne!(output.exit, Exit::Code(0), "{output:?}");
    host.forward_agent = true;
    let output = run_once(&host, sh("ssh-add -l"));
    assert_eq!(output.stdout.text().lines().count(), 2, "{output:?}");
    host.identities.only_listed = true;
    assert!(matches!(
        run_once(&host, sh("true")).exit,
        Exit::Unreachable(_)
    ));
    // A file with only the public key selects a key of the agent.
    std::fs::copy(sshd.path("id.pub"), sshd.path("chosen")).unwrap();
    host.identities.files = vec![sshd.path("chosen")];
    lets_in(&sshd, &host);
    host.identities.agent = Some(sshd.path("no-agent"));
    host.identities.files = vec![sshd.path("id")];
    lets_in(&sshd, &host);
}

/// A user of this machine with a password. The user exists during the test.
pub(crate) struct Person(pub(crate) String);

impl Person {
    pub(crate) const PASSWORD: &str = "p4ss: word";

    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let count = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("ut{}-{count}", std::process::id());
        let made = Command::new("useradd")
            .args(["-M", "-s", "/bin/sh", &name])
            .status();
        assert!(made.is_ok_and(|it| it.success()), "useradd needs root");
        let person = Self(name);
        let mut child = Command::new("chpasswd")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let line = format!("{}:{}\n", person.0, Self::PASSWORD);
        child
            .stdin
            .take()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
        assert!(child.wait().unwrap().success());
        person
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        Command::new("userdel").arg(&self.0).status().ok();
    }
}

#[test]
fn a_password_lets_in_alone_by_questions_and_as_a_second_factor() {
    requires!("root", "sshd");
    let person = Person::new();
    let asked = |host: &Destination, refused| Exit::NeedsAnswer {
        question: Question::Login(host.address.to_string()),
        refused,
    };
    let sshd = Sshd::with(1, &["PasswordAuthentication yes"]);
    let mut host = sshd.host();
    host.address.user.clone_from(&person.0);
    host.identities.files.clear();
    assert_eq!(run_once(&host, sh("true")).exit, asked(&host, false));
    host.identities.password = Some(Secret::new("wrong"));
    assert_eq!(run_once(&host, sh("true")).exit, asked(&host, true));
    host.identities.password = Some(Secret::new(Person::PASSWORD));
    lets_in(&sshd, &host);

    let lines = [
        "PasswordAuthentication yes",
        "AuthenticationMethods publickey,password",
    ];
    let both = Sshd::with(1, &lines);
    let mut host = both.host();
    host.address.user.clone_from(&person.0);
    assert_eq!(run_once(&host, sh("true")).exit, asked(&host, false));
    host.identities.password = Some(Secret::new(Person::PASSWORD));
    lets_in(&both, &host);

    // PAM asks its questions through keyboard-interactive login.
    let pam = Sshd::with(1, &["UsePAM yes", "KbdInteractiveAuthentication yes"]);
    let mut host = pam.host();
    host.address.user.clone_from(&person.0);
    host.identities.files.clear();
    assert_eq!(run_once(&host, sh("true")).exit, asked(&host, false));
    host.identities.password = Some(Secret::new(Person::PASSWORD));
    lets_in(&pam, &host);
}
