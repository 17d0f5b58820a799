//! The renderers of state files that use programs of this machine: `GnuPG` and Python.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::support::TestEnv;

const SECRET: &str = "hush-hush 42";

/// Encrypts a text with a new key in a home folder of `GnuPG`.
fn encrypted(home: &std::path::Path, text: &str) -> String {
    fs::create_dir(home).unwrap();
    fs::set_permissions(home, fs::Permissions::from_mode(0o700)).unwrap();
    let gpg = |words: &[&str]| {
        let mut command = Command::new("gpg");
        command
            .arg("--homedir")
            .arg(home)
            .args(["--batch", "--quiet", "--yes"])
            .args(words);
        command
    };
    let made = gpg(&[
        "--passphrase",
        "",
        "--quick-generate-key",
        "unit <unit@example.test>",
        "default",
        "default",
    ]);
    run(made, "");
    let words = [
        "--armor",
        "--trust-model",
        "always",
        "--recipient",
        "unit@example.test",
        "--encrypt",
    ];
    run(gpg(&words), text)
}

fn run(mut command: Command, input: &str) -> String {
    use std::io::Write as _;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn messages_of_gpg_are_decrypted_and_never_shown() {
    requires!("gpg");
    // Sockets of the agent need a short path.
    let home = tempfile::Builder::new()
        .prefix("g")
        .tempdir_in("/tmp")
        .unwrap();
    let home = home.path().join("h");
    let message = encrypted(&home, &format!("{SECRET}\n")).replace('\n', "\n        ");
    let env = TestEnv::new().variable("GNUPGHOME", home.to_str().unwrap());
    let target = env.work().join("out");
    let sls = format!(
        "#!jinja|yaml|gpg\nsecret:\n  file.managed:\n    - name: {}\n    - contents: |\n        {message}\n\
         shown:\n  test.show_notification:\n    - text: |\n        {message}\n",
        target.display()
    );
    env.write("states/a.sls", &sls);
    for command in ["show-high", "show-low", "show-order"] {
        let shown = env.unfurl(["state", command, "a"]).succeeds().all();
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let run = env
        .unfurl(["state", "apply", "a", "-H", "@local", "--approve", "-v"])
        .succeeds();
    assert!(!run.all().contains(SECRET), "{run}");
    assert_eq!(fs::read_to_string(&target).unwrap().trim(), SECRET);
    assert_eq!(
        fs::metadata(&target).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let empty = env.work().join("empty");
    fs::create_dir(&empty).unwrap();
    let without = env.unfurl_with(
        ("GNUPGHOME", empty.to_str().unwrap()),
        &["state", "show-low", "a"],
    );
    without
        .exits(1)
        .says(&["rendering SLS `base:a` failed: gpg cannot decrypt a PGP message"]);
    for home in [&home, &empty] {
        let mut stop = Command::new("gpgconf");
        stop.env("GNUPGHOME", home).args(["--kill", "all"]);
        run_quietly(stop);
    }
}

fn run_quietly(mut command: Command) {
    drop(command.stdout(Stdio::null()).stderr(Stdio::null()).status());
}

#[test]
fn state_files_in_python_run_only_with_permission_and_without_secrets_in_messages() {
    requires!("python3");
    let env = TestEnv::new();
    env.write(
        "states/a.sls",
        "#!py\nimport os\ndef run():\n    print('noise')\n    return {'a': {'test.show_notification': \
         [{'text': __pillar__['key'] + str('SECRET_TOKEN' in os.environ)}]}}\n",
    );
    env.write(
        "states/b.sls",
        "#!py\n\ndef run():\n    raise ValueError(__pillar__['key'])\n",
    );
    env.write(
        "states/c.sls",
        "#!py\ndef run():\n    return __salt__['cmd.run']('id')\n",
    );
    env.write("states/d.sls", "#!py\ndef walk(:\n");
    env.write("states/e.sls", "#!py\nstates = {}\n");
    let show = |name: &str, more: &[&str]| {
        let own = [
            "state",
            "show-low",
            name,
            "--pillar",
            "{key: !sensitive hush-hush}",
        ];
        let env = &env;
        env.unfurl_with(("SECRET_TOKEN", "1"), &[&own[..], more].concat())
    };
    let allowed = ["--allow", "python"];
    show("a", &[]).exits(1).says(&[
        "a.sls` is a program in Python, which is not allowed to run",
        "--allow python",
    ]);
    let shown = show("a", &allowed).succeeds();
    assert!(shown.stdout.contains("test"), "{shown}");
    assert!(
        !shown.all().contains("hush-hush") && !shown.all().contains("noise"),
        "{shown}"
    );
    let failed = show("b", &allowed).exits(1).says(&["line 4: ValueError"]);
    assert!(!failed.all().contains("hush-hush"), "{failed}");
    show("c", &allowed)
        .exits(1)
        .says(&["cannot call `cmd.run`"]);
    show("d", &allowed).exits(1).says(&["line 2: SyntaxError"]);
    show("e", &allowed)
        .exits(1)
        .says(&["the file has no function `run`"]);
}
