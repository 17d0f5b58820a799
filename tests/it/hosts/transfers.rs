//! Transfers with settings: as another user, with wildcards, mirrored, compared and resumed.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use sha2::{Digest as _, Sha256};

use super::cli::{options, over};
use super::sshd::Sshd;
use crate::executors::Users;
use crate::support::TestEnv;

#[test]
fn files_are_written_and_read_as_another_user() {
    requires!("root", "sudo", "sshd");
    let (sshd, env, users) = (Sshd::start(), TestEnv::new(), Users::two(None));
    let other = &users.names[1];
    let home = format!("/home/{other}");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    env.write("tree/a", "first");
    env.write("tree/sub/b", "second");
    let id = nix::unistd::User::from_name(other)
        .unwrap()
        .unwrap()
        .uid
        .as_raw();
    let sudo = format!("--sudo={other}");
    over(
        &env,
        &sshd,
        1,
        &[
            "put",
            &sudo,
            "--mode",
            "0640",
            "tree",
            &format!("{home}/in"),
        ],
    )
    .succeeds();
    for name in ["in", "in/a", "in/sub/b"] {
        assert_eq!(
            fs::metadata(format!("{home}/{name}")).unwrap().uid(),
            id,
            "{name}"
        );
    }
    let mode = fs::metadata(format!("{home}/in/a")).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o640);
    over(
        &env,
        &sshd,
        1,
        &["get", &sudo, &format!("{home}/in"), "back"],
    )
    .succeeds();
    assert_eq!(env.read("back/sub/b"), "second");
    // The other user may not write here, and nothing is left of the attempt.
    let refused = sshd.path("refused").display().to_string();
    let run = over(&env, &sshd, 1, &["put", &sudo, "tree/a", &refused]).exits(1);
    assert!(run.stderr.contains("could not write"), "{run}");
    owners_are_set(&env, &sshd, other, id);
    steps_do_the_same(&env, &sshd, other, id);
}

/// Gives copies an owner, and refuses what is no owner.
fn owners_are_set(env: &TestEnv, sshd: &Sshd, other: &str, id: u32) {
    let refused = sshd.path("refused").display().to_string();
    let owner = format!("{other}:{other}");
    over(
        env,
        sshd,
        1,
        &["put", "--owner", &owner, "tree/a", &refused],
    )
    .succeeds();
    assert_eq!(fs::metadata(&refused).unwrap().uid(), id);
    let run = over(env, sshd, 1, &["put", "--owner", "a b", "tree/a", &refused]).exits(2);
    assert!(
        run.stderr
            .contains("write `user`, `user:group` or `:group`"),
        "{run}"
    );
}

/// Copies a file with the steps of a task, as another user.
fn steps_do_the_same(env: &TestEnv, sshd: &Sshd, other: &str, id: u32) {
    let home = format!("/home/{other}");
    env.write(
        "tasks.yaml",
        &format!(
            "tasks:\n  t:\n    steps:\n    - put: {{src: tree/a, dest: {home}/step, sudo: {other}, verify: true}}\n    \
             - get: {{src: '{home}/st*', dest: got, sudo: {other}}}\n"
        ),
    );
    over(env, sshd, 1, &["task", "t"]).succeeds();
    assert_eq!(fs::metadata(format!("{home}/step")).unwrap().uid(), id);
    assert_eq!(env.read("got/step"), "first");
}

#[test]
fn wildcards_choose_files_on_both_sides() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    for name in ["a.tar", "b.tar", "c.txt", ".hidden.tar", "sub/d.tar"] {
        env.write(name, name);
    }
    let there = sshd.path("there").display().to_string();
    over(&env, &sshd, 1, &["put", "*.tar", &there]).succeeds();
    over(&env, &sshd, 1, &["put", "s?b/*", &format!("{there}/")]).succeeds();
    let names = |path: &str| {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<_> = entries
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(names(&there), "a.tar b.tar d.tar");
    over(
        &env,
        &sshd,
        1,
        &["get", &format!("{there}/[ad].t*"), "back"],
    )
    .succeeds();
    assert_eq!(
        names(&env.work().join("back").display().to_string()),
        "a.tar d.tar"
    );
    let run = over(&env, &sshd, 1, &["get", &format!("{there}/*.zip"), "none"]).exits(1);
    assert!(run.stderr.contains("nothing matches the pattern"), "{run}");
    assert!(!env.work().join("none").exists());
}

#[test]
fn a_mirror_deletes_what_the_folder_lacks_and_nothing_by_mistake() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    env.write("site/index", "new");
    env.write("site/sub/page", "page");
    let there = sshd.path("site");
    for name in ["index", "old", "sub/gone", "deep/er/file", "with space"] {
        let path = there.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "old").unwrap();
    }
    fs::write(sshd.path("outside"), "kept").unwrap();
    std::os::unix::fs::symlink(sshd.path("outside"), there.join("link")).unwrap();
    let target = there.display().to_string();
    let run = over(
        &env,
        &sshd,
        1,
        &["put", "--mirror", "--dryrun", "site", &target],
    )
    .succeeds();
    run.prints(&["would delete `old`", "would delete `deep/er/file`"]);
    assert_eq!(fs::read(there.join("index")).unwrap(), b"old");
    assert!(there.join("old").exists());
    over(&env, &sshd, 1, &["put", "--mirror", "site", &target])
        .succeeds()
        .prints(&["deleted `with space`"]);
    assert_eq!(fs::read(there.join("index")).unwrap(), b"new");
    for name in ["old", "sub/gone", "deep", "with space", "link"] {
        assert!(fs::symlink_metadata(there.join(name)).is_err(), "{name}");
    }
    assert!(there.join("sub/page").exists() && sshd.path("outside").exists());
    fs::create_dir_all(env.work().join("empty/sub")).unwrap();
    let run = over(&env, &sshd, 1, &["put", "--mirror", "empty", &target]).exits(1);
    assert!(run.stderr.contains("the source has no file"), "{run}");
    assert!(there.join("index").exists());
    for place in ["/.", "/etc", "~", ".", "/usr/../var"] {
        let run = over(
            &env,
            &sshd,
            1,
            &["put", "--mirror", "--dryrun", "site", place],
        )
        .exits(1);
        assert!(
            run.stderr.contains("is never mirrored into"),
            "{place}: {run}"
        );
    }
    over(&env, &sshd, 1, &["put", "--dryrun", "site", &target]).exits(2);
    over(&env, &sshd, 1, &["put", "--mirror", "site/index", &target]).exits(1);
}

#[test]
fn an_interrupted_copy_goes_on_where_it_stopped_and_is_compared() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let numbers: Vec<String> = (0..200_000).map(|number| number.to_string()).collect();
    let text = numbers.join(" ");
    env.write("big", &text);
    let digest = unfurl::testing::value::hex(&Sha256::digest(&text));
    let (target, key) = (sshd.path("there"), &digest[..16]);
    let part = sshd.path(&format!(".there.unfurl-part-{key}"));
    let words = ["put", "--resume", "big", &target.display().to_string()];
    fs::write(&part, &text[..300_000]).unwrap();
    over(&env, &sshd, 1, &words).succeeds();
    assert!(fs::read(&target).unwrap() == text.as_bytes() && !part.exists());
    // A part that belongs to something else is noticed, and deleted.
    fs::write(&part, "x".repeat(300_000)).unwrap();
    fs::remove_file(&target).unwrap();
    let run = over(&env, &sshd, 1, &words).exits(1);
    assert!(run.stderr.contains("arrived with another digest"), "{run}");
    assert!(!part.exists() && !target.exists());
    over(&env, &sshd, 1, &words).succeeds();
    let here = env.work().join(format!(".back.unfurl-part-{key}"));
    fs::write(&here, &text[..500_000]).unwrap();
    let words = ["get", "--resume", &target.display().to_string(), "back"];
    over(&env, &sshd, 1, &words).succeeds();
    assert!(env.read("back") == text && !here.exists());
    let words = ["get", "--verify", &target.display().to_string(), "again"];
    over(&env, &sshd, 1, &words).succeeds();
    assert!(env.read("again") == text);
}

#[test]
fn copies_on_this_machine_take_the_same_settings() {
    requires!("root", "sudo");
    let (env, users) = (TestEnv::new(), Users::two(None));
    let other = &users.names[1];
    let folder = env.work().join("to");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    env.write("site/a", "one");
    env.write("site/b/c", "two");
    env.write("to/site/old", "old");
    let site = folder.join("site").display().to_string();
    let local = |words: &[&str]| env.unfurl([words, &["-H", "@local"]].concat());
    local(&["put", "--mirror", "site", &site]).succeeds();
    assert_eq!(env.read("to/site/b/c"), "two");
    assert!(!env.work().join("to/site/old").exists());
    let file = folder.join("file").display().to_string();
    local(&[
        "put", "--resume", "--verify", "--owner", other, "site/a", &file,
    ])
    .succeeds();
    assert_eq!(env.read("to/file"), "one");
    let uid = |name: &str| fs::metadata(folder.join(name)).unwrap().uid();
    let id = |name: &str| {
        nix::unistd::User::from_name(name)
            .unwrap()
            .unwrap()
            .uid
            .as_raw()
    };
    assert_eq!(uid("file"), id(other));
    let theirs = folder.join("theirs").display().to_string();
    env.write("open", "three");
    local(&["put", &format!("--sudo={other}"), "open", &theirs]).succeeds();
    assert_eq!(uid("theirs"), id(other));
    local(&["get", "--verify", &theirs, "back"]).succeeds();
    assert_eq!(env.read("back"), "three");
}

/// Relays bytes to a port of this machine at 4 MB/s.
const SLOW_RELAY: &str = r#"
import os, socket, sys, threading, time
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def back():
    while data := server.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=back, daemon=True).start()
while data := os.read(0, 65536):
    server.sendall(data)
    time.sleep(len(data) / 4e6)
server.shutdown(socket.SHUT_WR)
time.sleep(5)
"#;

#[test]
fn the_progress_of_a_long_transfer_is_shown() {
    requires!("sshd", "python3");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    env.write("relay.py", SLOW_RELAY);
    env.write("big", &"x".repeat(10_000_000));
    let hosts = format!(
        "[all]\nslow ansible_host=127.0.0.1 ansible_port={} ansible_ssh_common_args='-o ProxyCommand=\"python3 {} %p\"'\n",
        sshd.port,
        env.work().join("relay.py").display()
    );
    env.write("hosts", &hosts);
    let target = sshd.path("copy").display().to_string();
    let mut words = vec!["put", "--hosts-file", "hosts", "-H", "slow", "big", &target];
    let options = options(&sshd);
    words.extend(options.iter().map(String::as_str));
    let run = env.unfurl(&words).succeeds();
    let line = run.stderr.lines().find(|line| line.contains("copied"));
    let line = line.unwrap_or_else(|| panic!("no progress: {run}"));
    assert!(line.starts_with("[slow] copied "), "{run}");
    assert!(line.contains(" MiB of 9.5 MiB ("), "{run}");
    let json = [&words[..], &["--output", "json"]].concat();
    let run = env.unfurl(&json).succeeds();
    let progress = run.stdout.lines().find(|line| line.contains("progress"));
    let progress: serde_json::Value = serde_json::from_str(progress.unwrap()).unwrap();
    assert_eq!(progress["host"], "slow");
    assert_eq!(progress["total"], 10_000_000);
    let bytes = progress["bytes"].as_u64().unwrap();
    assert!(bytes > 0 && bytes < 10_000_000, "{progress}");
}
