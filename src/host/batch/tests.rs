//! Tests of the scripts in several shells: their results must equal those of `native`, which uses
//! no shell.
#![expect(
    clippy::disallowed_methods,
    reason = "tests set their stage by themselves"
)]

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::host::change::{Change, CommandRun, FileWrite, ModeAndOwner};
use crate::host::fact::{CommandSetting, Domain, Fact, FactReading, FileStat, Probe};
use crate::host::native::{self, AccountNames, FactReader};
use crate::host::{Action, ActionResult, CapturedOutput, ChangeOutput, Exit, Program, RunOutput};

/// Returns the command lines of the installed shells to test.
fn shells() -> Vec<Vec<&'static str>> {
    let mut shells = vec![vec!["dash"], vec!["bash", "--posix"], vec!["bash"]];
    if Path::new("/bin/busybox").exists() || Path::new("/usr/bin/busybox").exists() {
        shells.push(vec!["busybox", "sh"]);
    }
    shells
}

fn run_in(shell: &[&str], action: &Action) -> ActionResult {
    let command = command(action).unwrap();
    let Program::Argv(words) = &command.program else {
        panic!("a script is given to a shell");
    };
    let mut child = std::process::Command::new(shell[0])
        .args(&shell[1..])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = command.stdin.unwrap();
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().ok();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // Some shells report killed commands on stderr.
    assert!(
        stderr.is_empty() || stderr.contains("Killed"),
        "{shell:?} {stderr}"
    );
    result(
        action,
        &RunOutput {
            exit: Exit::Code(output.status.code().unwrap()),
            stdout: CapturedOutput::from_bytes(output.stdout),
            stderr: CapturedOutput::from_bytes(output.stderr),
            elapsed: Duration::ZERO,
        },
    )
}

fn read_in(shell: &[&str], facts: &[Fact]) -> Vec<FactReading> {
    match run_in(shell, &Action::Read(facts.to_vec())) {
        ActionResult::Read(output) => {
            assert_eq!(output.exit, Exit::Code(0), "{shell:?} {output:?}");
            output.readings
        }
        other => panic!("{other:?}"),
    }
}

fn change_in(shell: &[&str], changes: &[Change]) -> ChangeOutput {
    match run_in(shell, &Action::Change(changes.to_vec())) {
        ActionResult::Change(changed) => changed,
        other => panic!("{other:?}"),
    }
}

fn native_readings(facts: &[Fact]) -> Vec<FactReading> {
    let mut reader = FactReader::default();
    facts
        .iter()
        .map(|fact| reader.read(fact).unwrap())
        .collect()
}

fn all_of(path: &str) -> [Fact; 5] {
    [
        Fact::Path,
        Fact::Target,
        Fact::Digest,
        Fact::Content,
        Fact::Tree,
    ]
    .map(|fact| fact(path.to_owned()))
}

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

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

/// Creates a folder with unusual names, kinds and modes, and returns facts to read from it.
fn unusual_tree(root: &Path) -> Vec<Fact> {
    let names: [&[u8]; 12] = [
        b"plain",
        b"it's",
        b"-rf",
        b"a\nb",
        b"back\\slash",
        b" space ",
        b"$HOME",
        b"*",
        b"\"q\"",
        b"\xc3\xa9",
        b"tab\t",
        b"`id`",
    ];
    std::fs::create_dir(root.join("sub dir")).unwrap();
    let mut facts = Vec::new();
    for (at, name) in names.iter().enumerate() {
        for folder in [root.to_owned(), root.join("sub dir")] {
            let path = folder.join(OsStr::from_bytes(name));
            std::fs::write(&path, [name, &b"\0\xff\n"[..]].concat().repeat(at * 10)).unwrap();
            facts.extend(all_of(&text(&path)));
        }
    }
    std::fs::write(root.join(OsStr::from_bytes(b"\xff-no-text")), "x").unwrap();
    for (name, says) in [
        ("l1", "plain"),
        ("l2", "no/such"),
        ("l3", "sub dir"),
        ("l4", "a\nb\n"),
    ] {
        symlink(says, root.join(name)).unwrap();
        facts.extend(all_of(&text(&root.join(name))));
    }
    symlink("loop", root.join("loop")).unwrap();
    std::fs::create_dir(root.join("empty")).unwrap();
    for name in ["loop", "empty", "gone", "plain/below", "sub dir", ""] {
        facts.extend(all_of(&text(&root.join(name))));
    }
    std::fs::set_permissions(root.join("plain"), PermissionsExt::from_mode(0o4750)).unwrap();
    nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    facts.extend(all_of(&text(&root.join("pipe"))));
    facts.extend(all_of("/dev/null"));
    facts
}

#[test]
fn every_shell_reads_what_this_process_reads() {
    let folder = tempfile::tempdir().unwrap();
    let facts = unusual_tree(folder.path());
    let expected = native_readings(&facts);
    for shell in shells() {
        let found = read_in(&shell, &facts);
        for ((fact, found), expected) in facts.iter().zip(&found).zip(&expected) {
            assert_eq!(found, expected, "{shell:?} {fact:?}");
        }
    }
}

fn probe(text: &str) -> Probe {
    Probe {
        text: text.to_owned(),
        setting: CommandSetting::default(),
        reads: Domain::All,
    }
}

/// Runs commands in a shell and checks their results. The third one fails, so the last one does not
/// run.
fn check_commands(shell: &[&str], folder: &Path, setting: &CommandSetting) {
    let mut run = CommandRun::new("cat; echo made > made; exit 3");
    run.setting = setting.clone();
    run.stdin = Some(b"in\0put".to_vec());
    run.good_codes = vec![3];
    let mut long = CommandRun::new("head -c 3000000 /dev/zero | tr '\\0' x; echo end");
    long.setting.cwd = Some("/".to_owned());
    let changes = [
        Change::Run(run),
        Change::Run(long),
        Change::Run(CommandRun::new("echo no >&2; exit 4")),
        Change::Run(CommandRun::new("echo never")),
    ];
    let changed = change_in(shell, &changes);
    assert_eq!(changed.exit, Exit::Code(4), "{shell:?}");
    assert_eq!(changed.outputs.len(), 3);
    assert_eq!(changed.outputs[0].stdout.bytes(), b"in\0put");
    assert_eq!(changed.outputs[0].exit, Exit::Code(3));
    assert_eq!(mode(&folder.join("made")), 0o640);
    assert_eq!(changed.outputs[1].stdout.total, 3_000_004);
    assert!(changed.outputs[1].stdout.tail.ends_with(b"xend\n"));
    assert_eq!(changed.outputs[2].stderr.text(), "no\n");
}

#[test]
fn probes_and_commands_keep_their_outputs_their_codes_and_their_setting_apart() {
    let folder = tempfile::tempdir().unwrap();
    let setting = CommandSetting {
        shell: None,
        user: None,
        cwd: Some(text(folder.path())),
        env: vec![("A".to_owned(), "it's $HOME\n".to_owned())],
        umask: Some(0o027),
        time_limit: Some(Duration::from_secs(20)),
    };
    let mut asked = probe("printf '%s' \"$A\"; pwd; umask; printf 'e\\0' >&2; exit 7");
    asked.setting = setting.clone();
    let mut late = probe("echo begun; sleep 30; echo done");
    late.setting.time_limit = Some(Duration::from_millis(10));
    let killed = probe("kill -9 $$");
    let big = probe("head -c 5000000 /dev/zero");
    let facts = [asked, late, killed, big].map(|probe| Fact::Probe(Box::new(probe)));
    for shell in shells() {
        let found = read_in(&shell, &facts);
        let probed = |at: usize| match &found[at] {
            FactReading::Probe(probed) => probed,
            other => panic!("{shell:?} {other:?}"),
        };
        let expected = format!("it's $HOME\n{}\n0027\n", text(folder.path()));
        assert_eq!(
            String::from_utf8_lossy(&probed(0).stdout),
            expected,
            "{shell:?}"
        );
        assert_eq!(
            (probed(0).code, probed(0).stderr.as_slice()),
            (7, &b"e\0"[..])
        );
        assert_eq!(
            (probed(1).code, probed(1).stdout.as_slice()),
            (124, &b"begun\n"[..])
        );
        assert_eq!(probed(2).code, 137);
        assert_eq!(
            probed(3).stdout.len(),
            crate::host::fact::MAX_PROBE_STDOUT_BYTES
        );
        check_commands(&shell, folder.path(), &setting);
    }
}

/// Returns changes of every kind, with different kinds of contents, some of which affect the same
/// path.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn all_changes(root: &Path) -> Vec<Change> {
    let at = |name: &str| root.join(name);
    let like = |mode| ModeAndOwner {
        mode: Some(mode),
        ..ModeAndOwner::default()
    };
    let random: Vec<u8> = (0..50_000_u32)
        .map(|it| (it.wrapping_mul(it) >> 7).to_le_bytes()[0])
        .collect();
    let long = "it's ä line\n".repeat(20_000);
    let mut changes = vec![
        Change::Folder {
            path: text(&at("a/b/c")),
            parents: true,
            like: like(0o2750),
        },
        write(&at("a/plain"), b"one\n"),
        write(&at("a/-n"), b"-n\\n%s"),
        write(&at("a/it's\nodd"), b"x'y"),
        write(&at("a/zero"), &[0, 1, 255, b'%', b'\\', b'\'', b'\n']),
        write(&at("a/random"), &random),
        write(&at("a/long"), long.as_bytes()),
        write(&at("a/empty"), b""),
    ];
    if let Change::Write(write) = &mut changes[1] {
        write.like = like(0o4755);
    }
    let link = |name: &str, target: &str, hard| Change::Link {
        path: text(&at(name)),
        target: target.to_owned(),
        hard,
        like: ModeAndOwner::default(),
    };
    changes.extend([
        link("a/l", "plain", false),
        link("a/to-folder", "b", false),
        link("a/to-folder", "b/c", false),
        link("a/hard", &text(&at("a/plain")), true),
        link("a/hard", &text(&at("a/plain")), true),
        Change::Set {
            path: text(&at("a/l")),
            like: like(0o600),
            follow: false,
        },
        Change::Set {
            path: text(&at("a/-n")),
            like: like(0o711),
            follow: true,
        },
        write(&at("a/-n"), b"again"),
        write(&at("a/l"), b"no link any more"),
        Change::Copy {
            from: text(&at("a")),
            to: text(&at("copy")),
            preserve: true,
        },
        Change::Copy {
            from: text(&at("a/b")),
            to: text(&at("copy b")),
            preserve: false,
        },
        Change::Copy {
            from: text(&at("a/plain")),
            to: text(&at("a/empty")),
            preserve: false,
        },
        Change::Move {
            from: text(&at("a/long")),
            to: text(&at("a/to-folder")),
        },
        Change::Touch {
            path: text(&at("touched")),
            read: Some(5),
            written: Some(1_000_000_000),
        },
        Change::Touch {
            path: text(&at("a/plain")),
            read: None,
            written: None,
        },
        Change::Remove {
            path: text(&at("a/b")),
        },
        Change::Remove {
            path: text(&at("a/b")),
        },
        Change::Remove {
            path: text(&at("a/zero")),
        },
    ]);
    changes
}

/// Returns the entries of a folder with their contents. Modification times and folder sizes, which
/// differ between runs, are zero.
fn contents(root: &Path) -> Vec<(String, FileStat, Option<Vec<u8>>)> {
    let tree = native_readings(&[Fact::Tree(text(root))]).remove(0);
    let FactReading::Tree(entries) = tree else {
        panic!("{tree:?}");
    };
    let all = entries.into_iter().map(|(path, mut entry)| {
        if path != "touched" {
            entry.modified = 0;
        }
        if entry.is_folder() {
            entry.size = 0;
        }
        let bytes = entry
            .is_file()
            .then(|| std::fs::read(root.join(&path)).unwrap());
        (path, entry, bytes)
    });
    all.collect()
}

#[test]
fn every_shell_makes_the_changes_that_this_process_makes() {
    let folder = tempfile::tempdir().unwrap();
    let changes = all_changes(folder.path());
    let mut names = AccountNames::default();
    for change in &changes {
        native::apply(change, &mut names).unwrap();
    }
    let expected = contents(folder.path());
    drop(folder);
    for shell in shells() {
        let folder = tempfile::tempdir().unwrap();
        let changes = all_changes(folder.path());
        let changed = change_in(&shell, &changes);
        assert_eq!(
            changed.outputs.last().unwrap(),
            &RunOutput::ok(),
            "{shell:?}"
        );
        assert_eq!(changed.outputs.len(), changes.len());
        assert_eq!(changed.exit, Exit::Code(0));
        for (found, expected) in contents(folder.path()).iter().zip(&expected) {
            assert_eq!(
                (&found.0, &found.1),
                (&expected.0, &expected.1),
                "{shell:?}"
            );
            assert_eq!(found.2, expected.2, "{shell:?} {}", found.0);
        }
        assert_eq!(contents(folder.path()).len(), expected.len());
    }
}

#[test]
fn a_change_that_fails_says_so_in_the_same_words_everywhere_and_ends_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("folder")).unwrap();
    let bad = [
        write(&at("folder"), b"x"),
        write(&at("none/file"), b"x"),
        Change::Folder {
            path: text(&at("none/folder")),
            parents: false,
            like: ModeAndOwner::default(),
        },
        Change::Move {
            from: text(&at("gone")),
            to: text(&at("else")),
        },
        Change::Copy {
            from: text(&at("gone")),
            to: text(&at("else")),
            preserve: false,
        },
        Change::Set {
            path: text(&at("gone")),
            like: ModeAndOwner {
                mode: Some(0o600),
                ..ModeAndOwner::default()
            },
            follow: true,
        },
    ];
    for change in bad {
        let native = native::apply(&change, &mut AccountNames::default()).unwrap_err();
        for shell in shells() {
            let changes = [
                write(&at("first"), b"1"),
                change.clone(),
                write(&at("last"), b"3"),
            ];
            let changed = change_in(&shell, &changes);
            assert_eq!(changed.exit, Exit::Code(1), "{shell:?} {change:?}");
            assert_eq!(changed.outputs.len(), 2);
            assert!(!at("last").exists());
            let said = changed.outputs[1].stderr.text();
            // The message for a missing folder differs between shells.
            if !said.contains("irectory nonexistent") && !said.contains("nonexistent directory") {
                assert_eq!(said, native, "{shell:?}");
            }
        }
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "only `first` and `folder`");
}

#[test]
fn a_script_that_came_in_part_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let action = Action::Change(vec![write(&folder.path().join("x"), b"1")]);
    let whole = command(&action).unwrap().stdin.unwrap();
    let Program::Argv(words) = command(&action).unwrap().program else {
        panic!("a script is given to a shell");
    };
    for cut in [0, 10, whole.len() / 2, whole.len() - 1] {
        let mut child = std::process::Command::new("sh")
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(&whole[..cut])
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(97));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_was_acknowledged_is_done_and_the_rest_is_unknown() {
    let changes = [
        Change::Remove { path: "/a".into() },
        Change::Remove { path: "/b".into() },
    ];
    let action = Action::Change(changes.to_vec());
    let output = RunOutput {
        stdout: CapturedOutput::from_bytes("k0\0k"),
        ..RunOutput::not_run(Exit::Failed("the connection was lost".to_owned()))
    };
    let ActionResult::Change(changed) = result(&action, &output) else {
        panic!("changes give changes");
    };
    assert_eq!(changed.outputs, [RunOutput::ok()]);
    assert_eq!(changed.exit, output.exit);
}

#[test]
fn a_command_that_a_stop_has_ended_is_not_reported_as_failed() {
    let changes = [
        Change::Remove { path: "/a".into() },
        Change::Run(CommandRun::new("sleep 60")),
    ];
    let action = Action::Change(changes.to_vec());
    for (exit, kept) in [
        (Exit::Cancelled, 1),
        (Exit::TimedOut, 1),
        (Exit::Code(0), 2),
    ] {
        let output = RunOutput {
            stdout: CapturedOutput::from_bytes(["k0", "r1", "137", "0", "0", ""].join("\0")),
            ..RunOutput::not_run(exit.clone())
        };
        let ActionResult::Change(changed) = result(&action, &output) else {
            panic!("changes give changes");
        };
        assert_eq!(changed.outputs.len(), kept, "{exit:?}");
        let expected = if kept == 1 { exit } else { Exit::Code(137) };
        assert_eq!(changed.exit, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A shell reads a random folder exactly as `native` does.
    #[test]
    fn random_trees_are_read_alike(
        files in prop::collection::vec(
            ("[ -~éß\t\n]{1,12}", prop::collection::vec(any::<u8>(), 0..40), 0_u32..0o1000, 0..3),
            0..12,
        ),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut facts = vec![Fact::Tree(text(folder.path()))];
        for (name, bytes, mode, kind) in files {
            let name = name.replace('/', "_");
            let is_there = folder.path().join(&name).symlink_metadata().is_ok();
            if name == "." || name == ".." || is_there {
                continue;
            }
            let path = folder.path().join(&name);
            match kind {
                0 => std::fs::create_dir(&path).unwrap(),
                1 => symlink(OsStr::from_bytes(b"x\ny"), &path).unwrap(),
                _ => {
                    std::fs::write(&path, &bytes).unwrap();
                    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
                }
            }
            facts.extend(all_of(&text(&path)));
        }
        let expected = native_readings(&facts);
        for shell in shells() {
            prop_assert_eq!(&read_in(&shell, &facts), &expected, "{:?}", shell);
        }
    }
}

fn folder(path: &Path, mode: u32) -> Change {
    Change::Folder {
        path: text(path),
        parents: true,
        like: ModeAndOwner {
            mode: Some(mode),
            ..ModeAndOwner::default()
        },
    }
}

/// Makes a program `mkdir` that makes each folder and then fails, as if another process had been faster. Returns the
/// words that put it before the others.
fn late_mkdir(root: &Path) -> String {
    let bin = root.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("mkdir");
    let script = "#!/bin/sh\nPATH=${PATH#*:}\nmkdir \"$@\"\nexec mkdir \"$@\"\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("PATH={}:{}", text(&bin), std::env::var("PATH").unwrap())
}

#[test]
fn a_folder_that_another_process_makes_at_the_same_time_counts_as_made() {
    for shell in shells() {
        let root = tempfile::tempdir().unwrap();
        let path = late_mkdir(root.path());
        let words: Vec<&str> = ["env", &path].into_iter().chain(shell).collect();
        let made = root.path().join("made");
        let changed = change_in(&words, &[folder(&made, 0o750)]);
        assert_eq!(changed.exit, Exit::Code(0), "{words:?} {changed:?}");
        assert_eq!(mode(&made), 0o750, "{words:?}");
    }
    // A file of that name is no folder.
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    for shell in shells() {
        let changed = change_in(&shell, &[folder(&file, 0o750)]);
        assert_ne!(changed.exit, Exit::Code(0), "{shell:?}");
    }
    native::apply(&folder(&file, 0o750), &mut AccountNames::default()).unwrap_err();
}

#[test]
fn threads_that_make_the_same_folder_all_succeed() {
    let root = tempfile::tempdir().unwrap();
    for round in 0..500 {
        let change = folder(&root.path().join(format!("{round}/a")), 0o750);
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let make = || {
                start.wait();
                native::apply(&change, &mut AccountNames::default())
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
            for thread in threads {
                thread.join().unwrap().unwrap();
            }
        });
    }
}
