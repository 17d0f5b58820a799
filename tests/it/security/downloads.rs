//! Security of downloads: S9 and S22, modes, names and sizes that a host claims.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::hostile_sftp::{HOSTILE_NAMES, HostileHost};
use crate::hosts::sshd::{Sshd, user};
use crate::support::TestEnv;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The words of a transfer from or to the first address of a server.
fn transfer(sshd: &Sshd, words: &[&str]) -> Vec<String> {
    let host = format!("{}@127.0.0.1:{}", user(), sshd.port);
    let (id, known) = (sshd.path("id"), sshd.path("known_hosts"));
    let (id, known) = (id.to_str().unwrap(), known.to_str().unwrap());
    let mut all = vec![words[0], "-H", &host, "--no-ssh-config", "-a", "-i", id];
    all.extend(["--known-hosts", known]);
    all.extend(&words[1..]);
    all.into_iter().map(str::to_owned).collect()
}

/// V5: a host that says that a file is set-user-ID gets no such file here, whatever the umask.
#[test]
fn s9_fetched_files_have_no_special_bits_and_keep_the_umask() {
    requires!("sshd");
    for (sshd, count) in [
        (Sshd::start(), 3),
        (Sshd::with(1, &["Subsystem other /bin/false"]), 1),
    ] {
        let env = TestEnv::new();
        let there = sshd.path("there");
        fs::create_dir_all(there.join("sub")).unwrap();
        for name in ["there/a", "there/sub/b"] {
            fs::write(sshd.path(name), "x").unwrap();
            fs::set_permissions(sshd.path(name), fs::Permissions::from_mode(0o6777)).unwrap();
        }
        fs::set_permissions(there.join("sub"), fs::Permissions::from_mode(0o7777)).unwrap();
        for (umask, file, folder) in [
            ("022", 0o755, 0o755),
            ("077", 0o700, 0o700),
            ("000", 0o777, 0o755),
        ]
        .into_iter()
        .take(count)
        {
            let out = format!("out{umask}");
            let (from, file_from) = (there.display().to_string(), there.join("a"));
            let words = transfer(&sshd, &["get", &from, &out]);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            env.unfurl_after(&format!("umask {umask}"), &words)
                .succeeds();
            let out = env.work().join(out);
            assert_eq!(mode(&out.join("a")), file, "{umask}");
            assert_eq!(mode(&out.join("sub/b")), file, "{umask}");
            assert_eq!(mode(&out.join("sub")), folder, "{umask}");
            let one = format!("one{umask}");
            let words = transfer(&sshd, &["get", file_from.to_str().unwrap(), &one]);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            env.unfurl_after(&format!("umask {umask}"), &words)
                .succeeds();
            assert_eq!(mode(&env.work().join(one)), file, "{umask}");
        }
    }
}

/// V5: copies on this machine take over no special bits either. A mode that the user gives is kept.
#[test]
fn s9_local_copies_have_no_special_bits_and_keep_the_umask() {
    let env = TestEnv::new();
    env.write("tree/sub/a", "x");
    let file = env.work().join("tree/sub/a");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o6777)).unwrap();
    let work = env.work().display().to_string();
    for (command, from, to) in [
        ("put", "tree".to_owned(), format!("{work}/put")),
        ("get", format!("{work}/tree"), "get".to_owned()),
        ("put", "tree/sub/a".to_owned(), format!("{work}/put-file")),
        ("get", format!("{work}/tree/sub/a"), "get-file".to_owned()),
    ] {
        let words = [command, "-H", "@local", &from, &to];
        env.unfurl_after("umask 027", &words).succeeds();
        let copy = env.work().join(&to);
        let copy = if copy.is_dir() {
            copy.join("sub/a")
        } else {
            copy
        };
        assert_eq!(mode(&copy), 0o750, "{words:?}");
    }
    let to = format!("{work}/exact");
    let words = ["put", "--mode", "0666", "-H", "@local", "tree/sub/a", &to];
    env.unfurl_after("umask 077", &words).succeeds();
    assert_eq!(mode(Path::new(&to)), 0o666);
}

/// An environment with a hostile host, and the words of a download from it.
fn hostile() -> (HostileHost, TestEnv) {
    let env = TestEnv::new();
    let host = HostileHost::start(&env.work().join(".."));
    (host, env)
}

fn fetch(host: &HostileHost, words: &[&str]) -> Vec<String> {
    let at = format!("u@127.0.0.1:{}", host.port);
    let mut all = vec![
        "get",
        "-H",
        &at,
        "--no-ssh-config",
        "-a",
        "-k",
        "--known-hosts",
        "known",
    ];
    all.push("--accept-new-host-keys");
    all.extend(words);
    all.into_iter().map(str::to_owned).collect()
}

/// The files of the working folder, without `known`.
fn fetched(env: &TestEnv) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![env.work()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name != "known") {
                names.push(path.display().to_string());
            }
        }
    }
    names
}

/// V5 and V13: modes and names that a hostile SFTP server claims.
#[test]
fn s9_a_hostile_host_chooses_neither_modes_nor_odd_names() {
    let (host, env) = hostile();
    let words = fetch(&host, &["/suid", "suid"]);
    env.unfurl(&words).succeeds();
    assert_eq!(env.read("suid"), "abc");
    assert_eq!(mode(&env.work().join("suid")) & 0o7000, 0);
    let words = fetch(&host, &["/dir-suid", "tree"]);
    env.unfurl(&words).succeeds();
    assert_eq!(mode(&env.work().join("tree/dir/suid")) & 0o7000, 0);
    assert_eq!(mode(&env.work().join("tree/dir")) & 0o7000, 0);
    let before = fetched(&env).len();
    for (index, name) in HOSTILE_NAMES.iter().enumerate() {
        let words = fetch(&host, &[&format!("/name-{index}"), "named"]);
        let run = env.unfurl(&words).exits(1);
        assert!(
            run.stderr.contains("cannot be transferred"),
            "{name:?}: {run}"
        );
        let has_control = |c: char| c.is_control() && c != '\n';
        assert!(!run.all().contains(has_control), "{name:?}: {run:?}");
    }
    let words = fetch(&host, &["/dir-name-long", "named"]);
    env.unfurl(&words).exits(1).says(&["too long"]);
    assert_eq!(fetched(&env).len(), before);
    assert!(!env.work().join("../up").exists());
}

/// V10d: files without an end, and sizes that are not true.
#[test]
fn s22_a_file_of_a_hostile_host_ends_at_the_limit() {
    let (host, env) = hostile();
    for (path, says) in [
        ("/endless", "exceeds the limit of 1 MiB"),
        ("/lie", "exceeds the limit of 1 MiB"),
        ("/huge", "exceeds the limit of 1 MiB"),
        ("/dir-many", "exceeds the limit of 1 MiB"),
        ("/dir-lie", "exceeds the limit of 1 MiB"),
        ("/more", "more bytes than it was asked for"),
    ] {
        let words = fetch(&host, &["--max-size", "1M", path, "out"]);
        let run = env.unfurl(&words).exits(1);
        assert!(run.stderr.contains(says), "{path}: {run}");
        let size: u64 = fetched(&env)
            .iter()
            .map(|path| fs::metadata(path).unwrap().len())
            .sum();
        assert!(size <= 1 << 20, "{path}: {:?}", fetched(&env));
        assert!(
            !fetched(&env).iter().any(|path| path.contains(".unfurl-")),
            "{path}"
        );
    }
    // A stated size of 2^62 bytes whose end comes at once is an empty file.
    let words = fetch(&host, &["--max-size", "9999999T", "/huge", "huge"]);
    let start = Instant::now();
    env.unfurl(&words).succeeds();
    assert_eq!(env.read("huge"), "");
    assert!(start.elapsed() < Duration::from_secs(5));
    // Without an option, 10 GiB are the limit.
    let words = fetch(&host, &["/lie", "lie"]);
    env.unfurl(&words)
        .exits(1)
        .says(&["limit of 10 GiB", "--max-size"]);
}

/// V10d: folders without an end.
#[test]
fn s22_a_folder_of_a_hostile_host_ends_at_the_limit() {
    let (host, env) = hostile();
    for (path, says) in [
        ("/dir-endless", "too many entries"),
        ("/dir-dots", "too many entries"),
        ("/dir-deep", "nested too deeply"),
        ("/dir-long", "too long"),
    ] {
        let words = fetch(&host, &[path, "out"]);
        // The memory of the process has a limit, too.
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = env.unfurl_after("ulimit -v 4000000", &words).exits(1);
        assert!(run.stderr.contains(says), "{path}: {run}");
    }
    let words = fetch(&host, &["/dir-empty", "empty"]);
    env.unfurl(&words).succeeds();
    assert_eq!(fetched(&env), Vec::<String>::new());
}

/// V10d: Ctrl-C ends a download at once and leaves nothing.
#[test]
fn s22_an_endless_download_ends_with_an_interrupt() {
    let (host, env) = hostile();
    let words = fetch(&host, &["--max-size", "1T", "/endless", "out"]);
    let running = env.start(&words);
    crate::support::wait_for("a part of the file", || {
        let size = |path: &String| fs::metadata(path).map_or(0, |metadata| metadata.len());
        fetched(&env)
            .iter()
            .any(|path| size(path) > 100_000)
            .then_some(())
    });
    let start = Instant::now();
    running.signal(Signal::SIGINT);
    let run = running.ends();
    assert_eq!(run.code, 130, "{run}");
    assert!(start.elapsed() < Duration::from_secs(3), "{run}");
    assert_eq!(fetched(&env), Vec::<String>::new());
}

/// V10d: the same limits hold for a host without SFTP, whose shell may be hostile.
#[test]
fn s22_a_hostile_shell_is_limited_as_well() {
    requires!("sshd");
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("shell");
    let text = "#!/bin/sh\ncase $(head -c 100000 | tr -d '\\n') in\n\
        *'cat -- '*) exec yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx;;\n\
        *'/names'*'for f in'*) printf 'f 644 ./a\\033b\\0';;\n\
        *'for f in'*) yes 'f 644 ./abcdefghijklmnopqrstuvwxyz' | tr '\\n' '\\0';;\n\
        *'/dir'*|*names*) printf 'd 0 x\\0';;\n\
        *) printf 'f 6755 x\\0';;\nesac\n";
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let force = format!("ForceCommand {}", script.display());
    let sshd = Sshd::with(1, &["Subsystem other /bin/false", &force]);
    let env = TestEnv::new();
    for (path, says) in [
        ("/endless", "exceeds the limit of 1 MiB"),
        ("/dir", "too many entries"),
        ("/names", "cannot be transferred"),
    ] {
        let words = transfer(&sshd, &["get", "--max-size", "1M", path, "out"]);
        let run = env.unfurl(&words).exits(1);
        assert!(run.stderr.contains(says), "{path}: {run}");
        assert!(!run.all().contains('\u{1b}'), "{run}");
    }
    assert_eq!(fetched(&env), Vec::<String>::new());
}

/// S10: a fetched folder does not replace a link of the user with what it leads to.
#[test]
fn s9_a_download_writes_below_its_folder_only() {
    let (host, env) = hostile();
    fs::create_dir_all(env.work().join("tree")).unwrap();
    env.write("outside/suid", "mine");
    symlink(
        env.work().join("outside/suid"),
        env.work().join("tree/link"),
    )
    .unwrap();
    let words = fetch(&host, &["/dir-suid", "tree"]);
    env.unfurl(&words).succeeds();
    assert_eq!(env.read("outside/suid"), "mine");
    assert_eq!(env.read("tree/suid"), "abc");
}
