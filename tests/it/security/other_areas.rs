//! Security of the merge driver, executors, `sudo`, `shell`, `forward` and shared ensembles. The tests of the
//! Python cache stand beside it, in `src/project/python/cache.rs`.

use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::sys::termios::{LocalFlags, tcgetattr};
use unfurl::testing::host::{
    Action, ActionResult, BecomeUser, ChainExecutor, Command, Container, ExecutorChain, Exit,
    Location, Program, PromptAnswer, Question, Secret,
};

use crate::executors::{Users, as_user, run, sh, sudo};
use crate::hosts::cli::{hosts, on_one, shell};
use crate::hosts::sshd::{Sshd, call, free_port, pooled, run_once};
use crate::repos::{deploy, ensemble, try_git, with_repository};
use crate::support::{Run, TestEnv, wait_for};

/// The time in which the merge driver ends, whatever the files contain.
const MERGE_LIMIT: Duration = Duration::from_secs(5);

/// A user who is not the one of the tests.
const NOBODY: u32 = 65534;

fn mkfifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
}

/// An environment with the three versions `O`, `A` and `B` of a record.
fn versions(record: impl Fn(&str) -> String) -> TestEnv {
    let env = TestEnv::new();
    for side in ["O", "A", "B"] {
        let head = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\n";
        env.write(side, &format!("{head}{}", record(side)));
    }
    env
}

fn merge(env: &TestEnv) -> Run {
    env.unfurl(["merge-driver", "--", "O", "A", "B", "x/ensemble.yaml"])
        .does_not_panic()
}

/// The driver compared each pair of change records, and searched the text once for each alias.
#[test]
fn s1_the_merge_driver_ends_soon_on_hostile_records() {
    let changes = |side: &str| {
        let each = |count| format!("- {{changeId: {side}{count:07}, x: {count}}}\n");
        format!("changes:\n{}", (0..2000).map(each).collect::<String>())
    };
    let bomb = |depth: usize| {
        move |side: &str| {
            let mut text = format!("status:\n  a0: &a0 [x,x,x,x,x,x,x,x,x,{side}]\n");
            for level in 1..depth {
                let aliases = vec![format!("*a{}", level - 1); 10].join(",");
                writeln!(text, "  a{level}: &a{level} [{aliases}]").unwrap();
            }
            text
        }
    };
    let deep = |side: &str| {
        let mut text = "status:\n".to_owned();
        for level in 0..120 {
            let indent = " ".repeat(2 * level + 2);
            writeln!(text, "{indent}instances:\n{indent} a:\n{indent}  x: {side}").unwrap();
        }
        text
    };
    let markers = |side: &str| format!("<<<<<<< ours\nstatus: {side}\n=======\n>>>>>>> theirs\n");
    let stars = |side: &str| format!("x: &a {side}\nstatus: '{}'\n", "*".repeat(1 << 20));
    let cases = [
        ("changes", versions(changes)),
        ("bomb", versions(bomb(5))),
        ("large bomb", versions(bomb(9))),
        ("deep", versions(deep)),
        ("markers", versions(markers)),
        ("stars", versions(stars)),
        ("empty", versions(|_| String::new())),
    ];
    for (name, env) in cases {
        let run = merge(&env);
        assert!(run.code == 0 || run.code == 1, "{name}: {run}");
        assert!(run.time < MERGE_LIMIT, "{name}: {:?}", run.time);
    }
}

#[test]
fn s1_the_merge_driver_takes_any_bytes() {
    for bytes in [
        &b"status: \xff\xfe\n"[..],
        b"a\0b\n",
        b"",
        b"\x1b]0;x\x07: [\n",
    ] {
        let env = versions(|side| format!("lastJob: {{changeId: {side}}}\n"));
        fs::write(env.work().join("B"), bytes).unwrap();
        merge(&env).exits(1);
        let left = fs::read(env.work().join("A")).unwrap();
        let left = String::from_utf8_lossy(&left).into_owned();
        assert!(left.contains("changeId: A"), "nothing is lost: {left}");
    }
    let many = |side: &str| {
        let each = |count| format!("    i{count}: {{created: {side}}}\n");
        let all: String = (0..50).map(each).collect();
        format!("status:\n  instances:\n{all}")
    };
    let run = merge(&versions(many)).exits(1);
    assert!(run.stderr.contains("and 30 others in"), "{run}");
}

/// Git hands over files of its own. Links and pipes come from somebody else.
#[test]
fn s9_the_merge_driver_opens_regular_files_only() {
    for name in ["O", "A", "B"] {
        for kind in ["link", "pipe", "device", "folder"] {
            let env = versions(|side| format!("lastJob: {{changeId: {side}}}\n"));
            env.write("outside", "secret\n");
            let path = env.work().join(name);
            fs::remove_file(&path).unwrap();
            match kind {
                "link" => symlink("outside", &path).unwrap(),
                "pipe" => mkfifo(&path),
                "device" => symlink("/dev/zero", &path).unwrap(),
                _ => fs::create_dir(&path).unwrap(),
            }
            let run = merge(&env).exits(70);
            assert!(
                run.stderr.contains("not a regular file"),
                "{name} {kind}: {run}"
            );
            assert!(!run.all().contains("secret"), "{run}");
            assert_eq!(env.read("outside"), "secret\n");
        }
    }
}

/// A path of the repository could be an option: git puts it behind the files.
#[test]
fn s7_a_path_in_the_repository_is_no_option_of_the_merge_driver() {
    requires!("git");
    let env = with_repository(&["a"]);
    deploy(&env, ".", &["--commit"]).succeeds();
    env.unfurl(["git-setup"]).succeeds();
    let outside = TestEnv::new();
    let target = outside.work();
    let path = format!("--logfile={}/ensemble.yaml", target.display());
    let versions = |name: &str| env.write(&path, &format!("{}lastJob: {name}\n", ensemble(&["a"])));
    let add = |name: &str| {
        versions(name);
        env.git(&["add", "-A", "--", "."]);
        env.git(&["commit", "-q", "-m", name]);
    };
    add("base");
    env.git(&["checkout", "-q", "-b", "left"]);
    add("left");
    env.git(&["checkout", "-q", "main"]);
    add("main");
    let (code, said) = try_git(&env.work(), &["merge", "-m", "both", "left"]);
    assert!(!said.contains("unexpected argument"), "{said}");
    assert!(
        code == 0 || said.contains("both sides have changed"),
        "{said}"
    );
    assert!(outside.names().is_empty(), "{:?}", outside.names());
}

/// A container program that notes its arguments, and runs the command here.
fn recording_engine(folder: &Path) -> String {
    let file = folder.join("engine");
    let text = format!(
        "#!/bin/sh\nprintf '%s\\0' \"$@\" >> '{}'\nshift 3\nexec \"$@\"\n",
        folder.join("seen").display()
    );
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file.display().to_string()
}

/// The container program is a script here, which shows the arguments that a real one would get.
#[test]
fn s6_a_container_gets_names_as_single_words_and_no_secrets() {
    requires!("sshd");
    let sshd = Sshd::start();
    let folder = tempfile::tempdir().unwrap();
    let name = format!(
        "$(touch {0}/pwned)`touch {0}/pwned`;'\" x",
        folder.path().display()
    );
    for on in [Location::Local, Location::Ssh(Arc::new(sshd.host()))] {
        let place = Location::Container(Arc::new(Container {
            name: name.clone(),
            engine: recording_engine(folder.path()),
            location: on,
        }));
        let program = ["printf", "<%s>", "$(id)", "a\nb", "-n", "'\""];
        let program = Program::Argv(program.map(str::to_owned).to_vec());
        let mut command = Command::new(program, "");
        command.env.add("LINES_OF", "a\nb; touch pwned");
        command.env.add_secret("TOKEN", "hunter2-token");
        command.stdin = Some(b"hunter2-input".to_vec());
        let output = pooled(async |pool| {
            let (_stop, call) = call();
            pool.perform(&place, &Action::Run(command), call).await
        });
        let ActionResult::Run(output) = output else {
            panic!("no command: {output:?}");
        };
        assert_eq!(output.stdout.text(), "<$(id)><a\nb><-n><'\">", "{output:?}");
        let seen = fs::read_to_string(folder.path().join("seen")).unwrap();
        let words: Vec<&str> = seen.split('\0').collect();
        assert_eq!(words[..3], ["exec", "-i", &name]);
        assert!(!seen.contains("hunter2"), "{seen}");
        assert!(!folder.path().join("pwned").exists());
    }
}

#[test]
fn s6_a_chroot_gets_its_words_as_they_are() {
    requires!("root");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("$(touch pwned) ; x");
    symlink("/", &root).unwrap();
    let chain = || ExecutorChain::new(vec![ChainExecutor::Chroot(root.clone())]);
    let program = ["printf", "<%s>", "$(id)", "a\nb", "-n", "'\""];
    let mut command = sh("");
    command.program = Program::Argv(program.map(str::to_owned).to_vec());
    command.cwd = folder.path().to_owned();
    let (output, _) = run(chain(), command);
    assert_eq!(output.stdout.text(), "<$(id)><a\nb><-n><'\">", "{output:?}");

    let look = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c 'hunter[2]-'; ";
    let mut command = sh("");
    command.program = Program::Shell {
        text: format!("{look} printf %s \"$A\"; : hunter2-text"),
        shell: None,
        secret: true,
    };
    command.env.add("A", "a\nb; touch pwned");
    command.env.add_secret("TOKEN", "hunter2-token");
    command.cwd = folder.path().to_owned();
    let (output, _) = run(chain(), command);
    assert_eq!(output.stdout.text(), "0\na\nb; touch pwned", "{output:?}");
    assert!(!folder.path().join("pwned").exists());
}

#[test]
fn s6_a_container_program_and_names_are_no_options() {
    let env = TestEnv::with_ensemble(&ensemble(&["a"]));
    for options in [
        "{chain: container, container: -x}",
        "{chain: container, container: x, container_engine: --rm}",
        "{chain: chroot, chroot: --userspec=root}",
        "{chain: sudo, sudo_user: -s}",
        "{chain: su, su_user: \"a\\nb\"}",
    ] {
        let text = format!("{}environment:\n  executors: {options}\n", ensemble(&["a"]));
        env.write("ensemble.yaml", &text);
        let run = deploy(&env, ".", &[]).does_not_panic();
        assert_ne!(run.code, 0, "{options}: {run}");
        assert!(
            run.all().contains("does not start with `-`"),
            "{options}: {run}"
        );
    }
}

/// The prompt of `sudo` stands in its command line, which every user can read. A command that printed it made
/// the program ask for the password again, or got the password through a terminal.
#[test]
fn s15_a_command_cannot_ask_for_the_password_of_sudo() {
    requires!("root", "sudo");
    let users = Users::two(Some("hunter2"));
    let (from, to) = (&users.names[0], &users.names[1]);
    let look = "p=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' \
                | grep -a '^.unfurl 0TOKEN0 password. $' | head -n 1); ";
    let ask = "printf '%s' \"$p \" >&2; printf '%s ' \"$p\"; sleep 0.2; timeout 1 cat; ";
    let found = "test -n \"$p\" && echo found";
    let text = format!("{look}{ask}{found}");
    // The wrong password first: `sudo` remembers a right one.
    let output = as_user(from, sudo(to, Some("wrong")), sh(&text));
    let Exit::NeedsAnswer { refused: true, .. } = output.exit else {
        panic!("{output:?}");
    };
    for input in [None, Some(b"input\n".to_vec())] {
        let mut command = sh(&text);
        command.stdin = input;
        let output = as_user(from, sudo(to, Some("hunter2")), command);
        assert_eq!(output.exit, Exit::Code(0), "{output:?}");
        assert!(output.stdout.text().ends_with("found\n"), "{output:?}");
        assert!(!format!("{output:?}").contains("hunter2"), "{output:?}");
    }
}

/// The prompt of `su` is always the same text.
#[test]
fn s15_a_command_cannot_ask_for_the_password_of_su() {
    requires!("root", "sudo");
    let users = Users::two(Some("hunter2"));
    let (to, from) = (&users.names[0], &users.names[1]);
    let text = "printf 'Password: ' >&2; sleep 0.2; printf 'Password: '; sleep 0.2; cat; id -un";
    for (input, expected) in [(None, ""), (Some(b"input\n".to_vec()), "input\n")] {
        let mut command = sh(text);
        command.stdin = input;
        let chain = ExecutorChain::new(vec![ChainExecutor::Su(BecomeUser {
            user: to.clone(),
            password: Some(Secret::new("hunter2")),
        })]);
        let output = as_user(from, chain, command);
        assert_eq!(output.exit, Exit::Code(0), "{output:?}");
        let expected = format!("Password: {expected}{to}\n");
        assert_eq!(output.stdout.text(), expected, "{output:?}");
    }
}

/// The same through a terminal, where a command reads what the program types.
#[test]
fn s15_no_prompt_is_answered_after_the_login_ended() {
    requires!("sshd");
    let sshd = Sshd::start();
    let answer = |prompt: &str, reply: &str, ends_login| PromptAnswer {
        prompt: prompt.to_owned(),
        reply: Some(Secret::new(reply)),
        question: Question::Prompt(prompt.to_owned()),
        ends_login,
    };
    for pty in [false, true] {
        let login = "printf 'pw? '; read p; printf 'ready> '; read t; ";
        let attack = "printf 'pw? '; sleep 0.3; cat; printf 'ready> '; echo \"end $p\"";
        let mut command = sh(&format!("{login}{attack}"));
        command.pty = pty;
        command.answers = vec![answer("pw? ", "first", false), answer("ready> ", "", true)];
        let output = run_once(&sshd.host(), command);
        let expected = "pw? ready> pw? ready> end first\n";
        assert_eq!(output.stdout.text(), expected, "{output:?}");
    }
}

#[test]
fn s15_the_password_of_sudo_is_in_no_command_line_and_no_environment() {
    requires!("root", "sudo");
    let users = Users::two(Some("hunter2-sesame"));
    let (from, to) = (&users.names[0], &users.names[1]);
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let begun = folder.path().join("begun");
    let text = format!(
        "echo x > {0}; while [ -e {0} ]; do sleep 0.05; done",
        begun.display()
    );
    let output = std::thread::scope(|scope| {
        let chain = sudo(to, Some("hunter2-sesame"));
        let running = scope.spawn(|| as_user(from, chain, sh(&text)));
        wait_for("the command", || begun.exists().then_some(()));
        let found = Process::new("sh")
            .args([
                "-c",
                "grep -la 'hunter2-sesam[e]' /proc/[0-9]*/cmdline /proc/[0-9]*/environ",
            ])
            .output()
            .unwrap();
        fs::remove_file(&begun).unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "");
        running.join().unwrap()
    });
    assert_eq!(output.exit, Exit::Code(0), "{output:?}");
}

#[test]
fn s6_users_and_variables_of_sudo_are_no_commands() {
    requires!("root", "sudo");
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("pwned");
    let touch = format!("touch {}", mark.display());
    for user in [
        format!("; {touch}"),
        format!("$({touch})"),
        "-s".into(),
        "no such".into(),
    ] {
        let (output, _) = run(sudo(&user, None), sh(&touch));
        assert_ne!(output.exit, Exit::Code(0), "{user}: {output:?}");
        assert!(!mark.exists(), "{user}");
    }
    let users = Users::two(None);
    let to = &users.names[1];
    for name in ["-S", "--split-string", "", "A=B"] {
        let mut command = sh("true");
        command.env.add(name, touch.clone());
        let (output, _) = run(sudo(to, None), command);
        assert_ne!(output.exit, Exit::Code(0), "{name}: {output:?}");
    }
    let mut command = sh("printf %s \"$A\"");
    command.env.add("A", format!("a\n$({touch})"));
    let (output, _) = run(sudo(to, None), command);
    assert_eq!(output.stdout.text(), format!("a\n$({touch})"));
    assert!(!mark.exists());
}

#[test]
fn s13_forwarded_ports_listen_on_this_machine_alone() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = target.local_addr().unwrap().port();
    let port = free_port();
    let mut words = on_one(&sshd, "forward", &hosts(&sshd, 1));
    words.extend(["-L".to_owned(), format!("{port}:127.0.0.1:{target}")]);
    let started = env.start(words);
    started.wait_until_it_says(&format!("127.0.0.1:{port} is forwarded"));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert!(TcpStream::connect(("127.0.0.2", port)).is_err());
    started.signal(Signal::SIGTERM);
    started.ends_by_itself().exits(143);
}

/// The shell gets no agent unless the user asks, and the terminal is as before when it ends.
#[test]
fn s13_a_shell_gets_no_agent_and_leaves_the_terminal_as_it_was() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let socket = env.work().join("agent");
    let _agent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let env = env.variable("SSH_AUTH_SOCK", &socket.display().to_string());
    let words = on_one(&sshd, "shell", &hosts(&sshd, 1));
    let run = shell(&env, &words, "echo agent:$SSH_AUTH_SOCK:\n").succeeds();
    assert_eq!(run.stdout, "agent::\n", "{run}");

    for (line, signal) in [("exit 3\n", None), ("sleep 60\n", Some(Signal::SIGTERM))] {
        let pty = nix::pty::openpty(None, None).unwrap();
        let before = tcgetattr(&pty.slave).unwrap();
        assert!(before.local_flags.contains(LocalFlags::ECHO));
        let mut child = Process::new(env!("CARGO_BIN_EXE_unfurl"))
            .args(&words)
            .env("HOME", env.work())
            .stdin(pty.slave.try_clone().unwrap())
            .stdout(pty.slave.try_clone().unwrap())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let is_raw = || {
            !tcgetattr(&pty.slave)
                .unwrap()
                .local_flags
                .contains(LocalFlags::ECHO)
        };
        wait_for("raw mode", || is_raw().then_some(()));
        nix::unistd::write(&pty.master, line.as_bytes()).unwrap();
        if let Some(signal) = signal {
            let pid = i32::try_from(child.id()).unwrap();
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
        }
        let status = wait_for("the end of the shell", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(if signal.is_some() { 143 } else { 3 }));
        assert_eq!(tcgetattr(&pty.slave).unwrap(), before);
    }
}

/// In a folder where everybody may create files, another user could prepare the folders of a job, and replace
/// there what the job writes.
#[test]
fn s10_a_folder_of_another_user_is_refused() {
    requires!("root");
    for name in [
        "planned", "active", "failed", "jobs", "changes", "local", "jobs.tsv",
    ] {
        let env = TestEnv::with_ensemble(&ensemble(&["a"]));
        fs::set_permissions(env.work(), fs::Permissions::from_mode(0o1777)).unwrap();
        let path = env.work().join(name);
        match name {
            "jobs.tsv" => fs::write(&path, "").unwrap(),
            _ => fs::create_dir(&path).unwrap(),
        }
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        for command in ["plan", "deploy"] {
            let run = env.unfurl([command]).does_not_panic();
            assert_ne!(run.code, 0, "{name}: {run}");
            run.says(&["the user `nobody` owns it", "chmod o-w"]);
        }
        fs::set_permissions(env.work(), fs::Permissions::from_mode(0o2775)).unwrap();
        deploy(&env, ".", &[]).succeeds();
    }
}

/// The lock file of another user can be anything.
#[test]
fn s10_no_lock_of_another_user_leads_elsewhere_or_takes_for_ever() {
    requires!("root");
    for kind in ["link", "pipe", "folder", "process"] {
        let env = TestEnv::with_ensemble(&ensemble(&["a"]));
        env.write("outside", "mine\n");
        let path = env.work().join("ensemble.yaml.lock");
        match kind {
            "link" => symlink(env.work().join("outside"), &path).unwrap(),
            "pipe" => mkfifo(&path),
            "folder" => fs::create_dir(&path).unwrap(),
            _ => fs::write(&path, "1").unwrap(),
        }
        nix::unistd::fchownat(
            nix::fcntl::AT_FDCWD,
            &path,
            Some(NOBODY.into()),
            Some(NOBODY.into()),
            nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW,
        )
        .unwrap();
        let run = deploy(&env, ".", &[]).exits(1);
        assert!(run.stderr.contains("ensemble.yaml.lock`"), "{kind}: {run}");
        assert_eq!(env.read("outside"), "mine\n");
    }
}

/// The program as another user, who may write to the ensemble as a member of its group.
fn as_member(env: &TestEnv, user: &str, binary: &Path, words: &[&str]) -> Run {
    let mut command = Process::new("setpriv");
    command.args(["--reuid", user, "--regid", "0", "--clear-groups", "--"]);
    command.arg(binary);
    env.start_command(command, words).ends()
}

/// A journal that cannot be read stops the next job, and a journal that can be read names its user.
#[test]
fn s10_the_crashed_job_of_another_user_is_reported() {
    requires!("root", "sudo");
    let users = Users::two(None);
    let script = "echo begun; if [ -e fatal ]; then rm fatal; kill -9 $PPID; sleep 1; fi";
    let env = TestEnv::with_ensemble(&ensemble(&["a"]).replace("echo a", &format!("'{script}'")));
    let root = env.work().parent().unwrap().to_owned();
    let open =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (path, mode) in [
        (root.clone(), 0o755),
        (env.work(), 0o2775),
        (root.join("tmp"), 0o1777),
    ] {
        open(&path, mode);
    }
    open(&env.work().join("ensemble.yaml"), 0o664);
    let binary = root.join("unfurl");
    fs::copy(env!("CARGO_BIN_EXE_unfurl"), &binary).unwrap();
    let folders = ["jobs", "planned", "active", "changes"].map(|name| env.work().join(name));
    let share = || {
        for folder in folders.iter().filter(|folder| folder.exists()) {
            open(folder, 0o2775);
        }
        for lock in ["ensemble.yaml.lock", "ensemble.yaml.owner.lock"] {
            let lock = env.work().join(lock);
            if lock.exists() {
                open(&lock, 0o664);
            }
        }
    };
    env.write("fatal", "");
    let run = as_member(&env, &users.names[0], &binary, &["deploy", "--approve"]);
    assert!(run.code < 0, "{run}");
    share();
    let journals = || {
        let names = fs::read_dir(env.work().join("jobs")).unwrap();
        let paths = names.map(|entry| entry.unwrap().path());
        let is_journal = |path: &PathBuf| path.extension().is_some_and(|end| end == "journal");
        paths.filter(is_journal).collect::<Vec<_>>()
    };
    let [journal] = &journals()[..] else {
        panic!("{:?}", env.names());
    };
    assert_eq!(
        fs::metadata(journal).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let run = as_member(&env, &users.names[1], &binary, &["deploy", "--approve"]).exits(1);
    run.says(&[
        "crashed job cannot be recorded",
        "permission denied",
        "no job was started",
    ]);
    assert!(journal.exists());
    share();
    let words = ["deploy", "--approve", "--redo-in-doubt"];
    let run = env.unfurl(words).succeeds();
    run.says(&[&format!("of the user `{}` crashed", users.names[0])]);
}

#[test]
fn s19_a_key_of_another_user_is_reported() {
    requires!("root", "sudo");
    let users = Users::two(None);
    let node = "{type: unfurl.nodes.Generic, properties: {pw: {eval: {sensitive: {get_env: SECRET}}}}, \
                interfaces: {Standard: {configure: 'echo {{ SELF.pw }}'}}}";
    let text = ensemble(&[]) + "        a: " + node + "\n";
    let env = TestEnv::with_ensemble(&text).variable("SECRET", "hunter2");
    let root = env.work().parent().unwrap().to_owned();
    for (path, mode) in [
        (root.clone(), 0o755),
        (env.work(), 0o2775),
        (root.join("tmp"), 0o1777),
    ] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let binary = root.join("unfurl");
    fs::copy(env!("CARGO_BIN_EXE_unfurl"), &binary).unwrap();
    env.write("local/digest.key", &format!("{}\n", "ab".repeat(32)));
    let key = env.work().join("local/digest.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let run = as_member(&env, &users.names[0], &binary, &["deploy", "--approve"]);
    let run = run.does_not_panic();
    assert!(run.code != 0 || run.stderr.contains("digest.key"), "{run}");
    run.says(&["digest.key", "permission denied"]);
}

/// An import could make the program call servers that only this machine reaches.
#[test]
fn s11_reading_a_project_calls_no_server() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let whole = ensemble(&["a"]);
    let template = "  service_template:\n";
    let texts = [
        whole.replace(template, &format!("{template}    imports: ['{url}/types.yaml']\n")),
        whole.replace(template, &format!("{template}    +include: {url}/types.yaml\n")),
        whole.replace(template, &format!("{template}    +include: {{file: x.yaml, repository: '{url}/r.git'}}\n")),
        whole.replace(
            template,
            &format!(
                "{template}    repositories: {{r: {{url: '{url}/r.git'}}}}\n    imports: [{{file: x.yaml, repository: r}}]\n"
            ),
        ),
        whole.replace("configure: echo a", &format!("configure: \"echo {{{{ lookup('url', '{url}') }}}}\"")),
    ];
    for text in texts {
        assert_ne!(text, whole);
        let env = TestEnv::with_ensemble(&text).without("UNFURL_SKIP_UPSTREAM_CHECK");
        for command in ["validate", "plan", "status", "export"] {
            env.unfurl([command]).does_not_panic();
            assert!(server.accept().is_err(), "{command} of\n{text}");
        }
    }
}
