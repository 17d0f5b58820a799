//! Facts and changes on this machine and over SSH, with a real server, real users and a real full disk.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use unfurl::testing::exec::{LocalRunner, RunLimits, RunnerEvent};
use unfurl::testing::host::change::{Change, CommandRun, FileWrite, ModeAndOwner};
use unfurl::testing::host::fact::{
    CommandSetting, Domain, Fact, FactReading, FileKind, FileStat, Probe,
};
use unfurl::testing::host::{
    Action, ActionRequest, ActionResult, BecomeUser, CallControl, ChainExecutor, ChangeOutput,
    ConnectionPool, Destination, ExecutorChain, Exit, Location, ReadOutput, StopLevel,
};

use crate::hosts::sshd::{Sshd, call, pooled};
use crate::support::{wait_for, wait_for_async, wait_until_gone};

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn write(path: &Path, bytes: &[u8]) -> Change {
    Change::Write(FileWrite {
        path: text(path),
        bytes: bytes.to_vec(),
        like: ModeAndOwner::default(),
        secret: false,
        present_mode: None,
    })
}

fn run(text: &str) -> Change {
    Change::Run(CommandRun::new(text))
}

fn probe(text: &str) -> Fact {
    Fact::Probe(Box::new(Probe {
        text: text.to_owned(),
        setting: CommandSetting::default(),
        reads: Domain::All,
    }))
}

/// Performs an action like a job does, and returns its result.
fn perform(place: Location, chain: Option<ExecutorChain>, action: Action) -> ActionResult {
    let runner = LocalRunner::start(RunLimits::default()).unwrap();
    let request = ActionRequest {
        chain: chain.map(Arc::new),
        ..ActionRequest::new(place, action)
    };
    runner.submit(1, request);
    loop {
        if let RunnerEvent::Ended(_, result) = runner.recv().unwrap() {
            return result;
        }
    }
}

fn read(place: &Location, facts: Vec<Fact>) -> ReadOutput {
    match perform(place.clone(), None, Action::Read(facts)) {
        ActionResult::Read(output) => output,
        other => panic!("{other:?}"),
    }
}

fn change(place: &Location, changes: Vec<Change>) -> ChangeOutput {
    match perform(place.clone(), None, Action::Change(changes)) {
        ActionResult::Change(output) => output,
        other => panic!("{other:?}"),
    }
}

fn at(host: Destination) -> Location {
    Location::Ssh(Arc::new(host))
}

/// The two locations of each test: this machine in the process, and the same machine over SSH.
fn locations(sshd: &Sshd) -> [Location; 2] {
    [Location::Local, at(sshd.host())]
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list of changes")]
fn facts_and_changes_are_the_same_here_and_over_ssh() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut readings = Vec::new();
    for place in locations(&sshd) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("it's\na \"root\"");
        let like = ModeAndOwner {
            mode: Some(0o750),
            user: Some("daemon".to_owned()),
            group: Some("adm".to_owned()),
        };
        let changes = vec![
            Change::Folder {
                path: text(&root.join("a/b")),
                parents: true,
                like: like.clone(),
            },
            Change::Write(FileWrite {
                path: text(&root.join("a/-f $x")),
                bytes: b"\0\xff'%s\\n".to_vec(),
                like,
                secret: true,
                present_mode: None,
            }),
            write(&root.join("plain"), "é\n".as_bytes()),
            Change::Link {
                path: text(&root.join("link")),
                target: "a\nb".to_owned(),
                hard: false,
                like: ModeAndOwner::default(),
            },
            run("printf out; printf err >&2; id -un"),
        ];
        let changed = change(&place, changes);
        assert_eq!(changed.exit, Exit::Code(0), "{changed:?}");
        assert_eq!(changed.outputs.len(), 5);
        assert_eq!(changed.outputs[4].stderr.text(), "err");
        let mut tree = Vec::new();
        let facts = vec![
            Fact::Tree(text(&root)),
            Fact::Content(text(&root.join("a/-f $x"))),
            Fact::Digest(text(&root.join("plain"))),
            Fact::Path(text(&root.join("gone"))),
        ];
        let output = read(&place, facts);
        assert_eq!(output.exit, Exit::Code(0), "{output:?}");
        for reading in output.readings {
            tree.push(match reading {
                FactReading::Tree(entries) => FactReading::Tree(
                    entries
                        .into_iter()
                        .map(|(path, entry)| {
                            (
                                path,
                                FileStat {
                                    modified: 0,
                                    ..entry
                                },
                            )
                        })
                        .collect(),
                ),
                other => other,
            });
        }
        readings.push(tree);
    }
    assert_eq!(readings[0], readings[1]);
    let FactReading::Tree(entries) = &readings[0][0] else {
        panic!("a tree is read");
    };
    let found = entries.iter().find(|(path, _)| path == "a/-f $x").unwrap();
    assert_eq!(
        (found.1.mode, found.1.user.as_str(), found.1.group.as_str()),
        (0o750, "daemon", "adm")
    );
    let link = entries.iter().find(|(path, _)| path == "link").unwrap();
    assert_eq!(link.1.kind, FileKind::Link("a\nb".to_owned()));
}

#[test]
fn a_thousand_facts_and_a_thousand_writes_go_in_one_round_trip_each() {
    requires!("sshd");
    let sshd = Sshd::start();
    for place in locations(&sshd) {
        let folder = tempfile::tempdir().unwrap();
        let path = |at: usize| folder.path().join(format!("file {at}"));
        let changes = (0..1000).map(|at| write(&path(at), format!("{at}\n").as_bytes()));
        let before = sessions(&sshd);
        let begun = Instant::now();
        let changed = change(&place, changes.collect());
        let wrote = begun.elapsed();
        assert_eq!(changed.exit, Exit::Code(0), "{changed:?}");
        assert_eq!(changed.outputs.len(), 1000);
        let begun = Instant::now();
        let facts = (0..1000).map(|at| Fact::Digest(text(&path(at))));
        let more = (0..1000).map(|at| Fact::Path(text(&path(at))));
        let output = read(&place, facts.chain(more).collect());
        println!("{place}: wrote {wrote:?}, read {:?}", begun.elapsed());
        assert_eq!(output.readings.len(), 2000);
        assert!(matches!(output.readings[999], FactReading::Digest(_)));
        assert!(matches!(&output.readings[1999], FactReading::Entry(entry) if entry.size == 4));
        if !place.is_local() {
            assert_eq!(sessions(&sshd) - before, 2, "{}", sshd.log());
        }
        assert_eq!(names(folder.path()).len(), 1000);
    }
}

/// The number of SSH sessions that the server has started.
fn sessions(sshd: &Sshd) -> usize {
    sshd.log().matches("Starting session").count()
}

/// A small disk in memory, which is unmounted when this value is dropped.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    fn new(size: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Process::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
            .arg(folder.path())
            .status()
            .unwrap();
        assert!(
            mounted.success(),
            "a test of a full disk must be root to mount one"
        );
        Self { folder }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Process::new("umount").arg(self.folder.path()).status().ok();
    }
}

#[test]
fn a_full_disk_is_reported_and_leaves_nothing_half_written() {
    requires!("root", "sshd");
    let sshd = Sshd::start();
    for place in locations(&sshd) {
        for bytes in [vec![b'x'; 1 << 20], vec![0xff; 1 << 20]] {
            let disk = Disk::new("256k");
            let root = disk.folder.path();
            fs::write(root.join("old"), "old").unwrap();
            let changes = vec![
                write(&root.join("first"), b"1"),
                write(&root.join("old"), &bytes),
                write(&root.join("last"), b"3"),
            ];
            let changed = change(&place, changes);
            assert_eq!(changed.exit, Exit::Code(1), "{place} {changed:?}");
            assert_eq!(changed.outputs.len(), 2);
            let why = changed.outputs[1].stderr.text();
            assert_eq!(
                why,
                format!(
                    "could not write `{}`: No space left on device",
                    text(&root.join("old"))
                )
            );
            assert_eq!(names(root), ["first", "old"], "{place}");
            assert_eq!(fs::read_to_string(root.join("old")).unwrap(), "old");
        }
    }
}

#[test]
fn a_lost_connection_leaves_no_half_file_and_a_true_account() {
    requires!("sshd");
    let sshd = Sshd::start();
    let folder = tempfile::tempdir().unwrap();
    let path = |at: usize| folder.path().join(format!("{at}"));
    let flag = folder.path().join("flag");
    let mut changes: Vec<Change> = (0..50).map(|at| write(&path(at), &[b'x'; 5000])).collect();
    // The thread that kills the connection waits for this file.
    changes.push(run(&format!("touch {}; sleep 1", text(&flag))));
    changes.extend((50..100).map(|at| write(&path(at), &[b'y'; 5000])));
    let place = at(sshd.host());
    let (parent, waits) = (sshd.pid(), flag.clone());
    let killer = std::thread::spawn(move || {
        wait_for(waits.display(), || waits.exists().then_some(()));
        let on_the_host = descendants(parent);
        // The server's children are its connections; no other process is touched.
        for child in children(parent) {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(child).unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).ok();
        }
        on_the_host
    });
    let changed = change(&place, changes);
    let on_the_host = killer.join().unwrap();
    assert_eq!(changed.outputs.len(), 50, "{:?}", changed.exit);
    assert!(
        matches!(changed.exit, Exit::Failed(_)),
        "{:?}",
        changed.exit
    );
    // Processes that were running on the host end by themselves.
    wait_until_gone(&on_the_host);
    wait_for("the end of half files", || {
        let names = names(folder.path());
        let half = names.iter().any(|name| name.starts_with(".unfurl"));
        (!half).then_some(())
    });
    for name in names(folder.path()).iter().filter(|name| *name != "flag") {
        let size = fs::metadata(folder.path().join(name)).unwrap().len();
        assert_eq!(size, 5000, "{name}");
    }
    assert!(!path(60).exists(), "nobody listened any more");
}

/// The processes that a process has started, directly and indirectly.
fn descendants(parent: u32) -> Vec<u32> {
    let mut all = children(parent);
    let mut done = 0;
    while done < all.len() {
        all.extend(children(all[done]));
        done += 1;
    }
    all
}

fn children(parent: u32) -> Vec<u32> {
    let file = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|id| id.parse().ok())
        .collect()
}

/// A user of this machine who exists during one test.
struct Person {
    name: String,
    rule: Option<PathBuf>,
}

impl Person {
    fn new(password: Option<&str>) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ufm{}{count}", std::process::id());
        succeeds(Process::new("useradd").args(["--create-home", "--shell", "/bin/sh", &name]));
        if let Some(password) = password {
            let line = format!("echo '{name}:{password}' | chpasswd");
            succeeds(Process::new("sh").args(["-c", &line]));
        }
        Self { name, rule: None }
    }

    /// Lets this user act as root. If the user has a password, `sudo` asks for it, unless `tag` says
    /// otherwise.
    fn may_be_root(mut self, tag: &str) -> Self {
        let rule = PathBuf::from(format!("/etc/sudoers.d/unfurl-test-{}", self.name));
        fs::write(&rule, format!("{} ALL=(ALL) {tag}ALL\n", self.name)).unwrap();
        fs::set_permissions(&rule, fs::Permissions::from_mode(0o440)).unwrap();
        self.rule = Some(rule);
        self
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if let Some(rule) = &self.rule {
            fs::remove_file(rule).ok();
        }
        Process::new("userdel")
            .args(["--remove", &self.name])
            .output()
            .ok();
    }
}

fn succeeds(command: &mut Process) {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?} is needed: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
}

/// The location of this user on the server, which accepts its key for any user.
fn login(sshd: &Sshd, person: &Person) -> Location {
    let mut host = sshd.host();
    host.address.user.clone_from(&person.name);
    at(host)
}

#[test]
fn a_command_runs_as_another_user_and_shows_nobody_what_it_is() {
    requires!("root", "sshd");
    let sshd = Sshd::start();
    let person = Person::new(None);
    for place in locations(&sshd) {
        let setting = CommandSetting {
            user: Some(person.name.clone()),
            env: vec![("TOKEN".to_owned(), "hunter2".to_owned())],
            ..CommandSetting::default()
        };
        let mut secret = CommandRun::new(
            "id -un; pwd; cat; echo $TOKEN; grep -l hunter[2] /proc/*/cmdline 2>/dev/null; :",
        );
        secret.setting = setting.clone();
        secret.stdin = Some(b"input\n".to_vec());
        secret.shown = Some("a secret".to_owned());
        let mut own =
            CommandRun::new(": hunter2; grep -l hunter[2] /proc/*/cmdline 2>/dev/null; :");
        own.shown = Some("a secret".to_owned());
        let changed = change(&place, vec![Change::Run(secret), Change::Run(own)]);
        assert_eq!(changed.exit, Exit::Code(0), "{place} {changed:?}");
        let expected = format!("{0}\n/home/{0}\ninput\nhunter2\n", person.name);
        assert_eq!(changed.outputs[0].stdout.text(), expected, "{place}");
        assert_eq!(changed.outputs[1].stdout.text(), "", "{place}");
        let asked = Fact::Probe(Box::new(Probe {
            text: "id -un; echo $TOKEN".to_owned(),
            setting,
            reads: Domain::All,
        }));
        let output = read(&place, vec![asked]);
        let FactReading::Probe(probed) = &output.readings[0] else {
            panic!("{output:?}");
        };
        let text = String::from_utf8_lossy(&probed.stdout);
        assert_eq!(text, format!("{}\nhunter2\n", person.name));
    }
}

#[test]
fn changes_go_through_sudo_with_a_password() {
    requires!("root", "sshd", "sudo");
    let sshd = Sshd::start();
    let person = Person::new(Some("pass word")).may_be_root("");
    let place = login(&sshd, &person);
    let folder = tempfile::tempdir().unwrap();
    let to = |password: Option<&str>| BecomeUser {
        user: "root".to_owned(),
        password: password.map(unfurl::testing::host::Secret::new),
    };
    let sudo = || ExecutorChain::new(vec![ChainExecutor::Sudo(to(Some("pass word")))]);
    let changes = || {
        vec![
            write(&folder.path().join("by root"), "é'\n".as_bytes()),
            write(&folder.path().join("binary"), &[0, 255, 10]),
            run("id -un"),
        ]
    };
    let refused = change(&place, changes());
    assert_eq!(refused.exit, Exit::Code(1), "{refused:?}");
    let why = refused.outputs[0].stderr.text();
    assert!(why.ends_with("Permission denied"), "{why}");

    let result = perform(place.clone(), Some(sudo()), Action::Change(changes()));
    let ActionResult::Change(changed) = result else {
        panic!("{result:?}");
    };
    assert_eq!(changed.exit, Exit::Code(0), "{changed:?}");
    assert_eq!(changed.outputs[2].stdout.text(), "root\n");
    assert_eq!(
        fs::metadata(folder.path().join("by root")).unwrap().uid(),
        0
    );

    let facts = vec![
        Fact::Content(text(&folder.path().join("binary"))),
        probe("id -u"),
    ];
    let result = perform(place.clone(), Some(sudo()), Action::Read(facts.clone()));
    let ActionResult::Read(output) = result else {
        panic!("{result:?}");
    };
    assert_eq!(
        output.readings[0],
        FactReading::Content(vec![0, 255, 10]),
        "{output:?}"
    );

    let wrong = ExecutorChain::new(vec![ChainExecutor::Sudo(to(None))]);
    let result = perform(place, Some(wrong), Action::Read(facts));
    assert!(
        matches!(result.exit(), Exit::NeedsAnswer { .. }),
        "{result:?}"
    );
}

#[test]
fn a_user_who_may_not_act_as_another_gets_an_error() {
    requires!("root", "sshd", "sudo");
    let sshd = Sshd::start();
    // A password is set because the server refuses locked accounts.
    let person = Person::new(Some("pass word"));
    let mut forbidden = CommandRun::new("id -un");
    forbidden.setting.user = Some("daemon".to_owned());
    let changed = change(&login(&sshd, &person), vec![Change::Run(forbidden)]);
    assert_eq!(changed.exit, Exit::Code(1), "{changed:?}");
    let why = changed.outputs[0].stderr.text();
    assert!(why.contains("sudo"), "{why}");
}

#[test]
fn what_runs_too_long_is_ended_and_what_is_cancelled_says_what_was_done() {
    requires!("sshd");
    let sshd = Sshd::start();
    for place in locations(&sshd) {
        let mut late = CommandRun::new("sleep 60");
        late.setting.time_limit = Some(Duration::from_secs(1));
        let changed = change(&place, vec![run(":"), Change::Run(late), run(":")]);
        assert_eq!(changed.exit, Exit::TimedOut, "{place} {changed:?}");
        assert_eq!(changed.outputs.len(), 2);
    }
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("flag");
    let action = Action::Change(vec![
        write(&folder.path().join("done"), b"1"),
        run(&format!("touch {}; sleep 60", text(&flag))),
        write(&folder.path().join("never"), b"1"),
    ]);
    let host = at(sshd.host());
    let result = pooled(async move |pool: Arc<ConnectionPool>| {
        let (stop, call): (watch::Sender<StopLevel>, CallControl) = call();
        let waits = async {
            wait_for_async(flag.display(), || flag.exists().then_some(())).await;
            stop.send_replace(StopLevel::AtOnce);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            result = pool.perform(&host, &action, call) => result,
            () = waits => unreachable!("it waits for ever"),
        }
    });
    let ActionResult::Change(changed) = result else {
        panic!("{result:?}");
    };
    assert_eq!(changed.exit, Exit::Cancelled);
    assert_eq!(changed.outputs.len(), 1);
    assert_eq!(names(folder.path()), ["done", "flag"]);
}

#[test]
fn an_unreachable_host_is_distinguished_from_a_failure() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut host = sshd.host();
    host.address.port = crate::hosts::sshd::free_port();
    let output = read(&at(host.clone()), vec![Fact::Path("/".to_owned())]);
    assert!(matches!(output.exit, Exit::Unreachable(_)), "{output:?}");
    assert!(output.readings.is_empty());
    let changed = change(&at(host), vec![run(":")]);
    assert!(matches!(changed.exit, Exit::Unreachable(_)), "{changed:?}");
}
