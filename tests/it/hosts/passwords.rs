//! Passwords of hosts with a real `sshd` and a real `sudo`: where they come from, and where they never go.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::cli::hosts;
use super::login::Person;
use super::sshd::{Sshd, make_key};
use crate::pipelines::at_terminal_with;
use crate::support::{Run, TestEnv};

/// A user who needs a password for `sudo`, and a log of `sudo` for this user. Both exist during the test.
struct Sudoer {
    person: Person,
    rule: PathBuf,
    log: tempfile::TempDir,
}

impl Sudoer {
    fn new() -> Self {
        let person = Person::new();
        let log = tempfile::tempdir().unwrap();
        let rule = PathBuf::from(format!("/etc/sudoers.d/unfurl-{}", person.0));
        let text = format!(
            "{0} ALL=(ALL) ALL\nDefaults:{0} timestamp_timeout=0, passwd_tries=1, logfile={1}/log\n",
            person.0,
            log.path().display()
        );
        fs::write(&rule, text).unwrap();
        fs::set_permissions(&rule, fs::Permissions::from_mode(0o440)).unwrap();
        Self { person, rule, log }
    }

    /// Returns how often `sudo` refused a password.
    fn refusals(&self) -> usize {
        let log = fs::read_to_string(self.log.path().join("log")).unwrap_or_default();
        log.matches("incorrect password attempt").count()
    }
}

impl Drop for Sudoer {
    fn drop(&mut self) {
        fs::remove_file(&self.rule).ok();
    }
}

/// The words of a command on hosts, up to the options of the test.
fn over(command: &str, sshd: &Sshd, count: u8, user: &str) -> Vec<String> {
    let known = sshd.path("known_hosts").display().to_string();
    let hosts = hosts(sshd, count);
    let words = [
        command,
        "--no-ssh-config",
        "-a",
        "-k",
        "-u",
        user,
        "-H",
        &hosts,
    ];
    let known = ["--known-hosts", &known];
    let words = words.iter().chain(&known);
    words.map(|word| (*word).to_owned()).collect()
}

fn with(mut words: Vec<String>, more: &[&str]) -> Vec<String> {
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words
}

/// Runs the program with answers on the standard input, after shell lines.
fn answered(env: &TestEnv, lines: &str, answers: &[&str], words: &[String]) -> Run {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answers = answers.join("\\n");
    let input = format!("printf '{answers}\\n' >answers; exec <answers");
    env.unfurl_after(&format!("{lines}\n{input}"), &words)
}

/// Counts the processes whose command line, or whose variables if they belong to a login, contain the password. The
/// text has no form of the password itself.
const WATCH: &str = "n=0; for p in /proc/[0-9]*; do \
    grep -qs 'p4ss[:] word' $p/cmdline && n=$((n+1)); \
    grep -qs SSH_CONNECTION= $p/environ && grep -qs 'p4ss[:] word' $p/environ && n=$((n+1)); \
    done; echo \"found $n as $(id -u)\"";

#[test]
fn sudo_with_a_password_works_in_parallel_and_nobody_sees_the_password() {
    requires!("root", "sshd", "sudo");
    let sudoer = Sudoer::new();
    let sshd = Sshd::with(3, &["PasswordAuthentication yes"]);
    let env = TestEnv::new();
    let words = |more: &[&str], command: &str| {
        let words = over("run", &sshd, 3, &sudoer.person.0);
        with(
            with(words, &["-P", "--sudo"]),
            &[more, &["--", command]].concat(),
        )
    };
    let asked = words(&["--ask-password", "--ask-sudo-password"], WATCH);
    let both = [Person::PASSWORD, Person::PASSWORD];
    let run = answered(&env, "", &both, &asked).succeeds();
    assert_eq!(run.stdout.matches("] found 0 as 0\n").count(), 3, "{run}");
    assert_eq!(
        run.stderr.matches("password of the hosts:").count(),
        2,
        "{run}"
    );
    assert!(!run.all().contains(Person::PASSWORD), "{run}");
    // The login password is tried for `sudo`. Commands of this machine do not inherit the variable.
    let export = format!("export UNFURL_SSH_PASSWORD='{}'", Person::PASSWORD);
    let run = answered(&env, &export, &[], &words(&[], WATCH)).succeeds();
    assert_eq!(run.stdout.matches("] found 0 as 0\n").count(), 3, "{run}");
    env.write(
        "tasks.yaml",
        "tasks: {t: {steps: [local: 'echo \"have $UNFURL_SSH_PASSWORD.\"']}}\n",
    );
    let task = ["task", "t"].map(str::to_owned);
    let run = answered(&env, &export, &[], &task).succeeds();
    assert!(run.stdout.contains("have .\n"), "{run}");
    let run = answered(&env, "", &[], &words(&["--executors", "[direct]"], "id -u"));
    run.exits(1).says(&["--ask-password"]);
    assert_eq!(sudoer.refusals(), 0);
}

#[test]
fn a_question_is_asked_at_the_terminal_while_input_goes_to_the_command() {
    requires!("root", "sshd", "sudo", "setsid");
    let sudoer = Sudoer::new();
    let sshd = Sshd::with(1, &["PasswordAuthentication yes"]);
    let env = TestEnv::new();
    env.write("dump", "first\nsecond\n");
    let answer = format!("{}\n", Person::PASSWORD);
    for more in [&["--sudo"][..], &["--sudo", "--ask-password"]] {
        let words = with(over("run", &sshd, 1, &sudoer.person.0), more);
        let words = with(words, &["--", "cat; id -u"]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (screen, code) =
            at_terminal_with(&env, "dump", &words, ("password", answer.as_bytes()));
        assert_eq!(code, 0, "{screen}");
        for line in ["] first", "] second", "] 0"] {
            assert!(screen.contains(line), "{line}: {screen}");
        }
        assert!(!screen.contains(Person::PASSWORD), "{screen}");
    }
}

#[test]
fn a_shell_asks_for_a_password_once_and_runs_the_rest_of_its_input() {
    requires!("root", "sshd", "sudo");
    let sudoer = Sudoer::new();
    let sshd = Sshd::with(1, &["PasswordAuthentication yes"]);
    let env = TestEnv::new();
    let mut words = over("shell", &sshd, 1, &sudoer.person.0);
    let host = words.iter().position(|word| word == "-H").unwrap();
    // The command takes the host as an argument, not as an option.
    words.remove(host);
    let words = with(words, &["--ask-password"]);
    let run = answered(&env, "", &[Person::PASSWORD, "id -un"], &words).succeeds();
    assert_eq!(run.stdout, format!("{}\n", sudoer.person.0), "{run}");
    assert_eq!(
        run.stderr.matches("password of the hosts:").count(),
        1,
        "{run}"
    );
}

#[test]
fn a_wrong_password_is_asked_again_on_its_host_and_not_tried_on_others() {
    requires!("root", "sshd", "sudo");
    let sudoer = Sudoer::new();
    let sshd = Sshd::with(2, &[]);
    let env = TestEnv::new();
    let key = sshd.path("id").display().to_string();
    let words = |more: &[&str]| {
        let words = over("run", &sshd, 2, &sudoer.person.0);
        with(
            with(words, &["--sudo", "--no-stdin", "-i", &key]),
            &[more, &["--", "id -u"]].concat(),
        )
    };
    let run = answered(&env, "", &["wrong", Person::PASSWORD], &words(&[])).succeeds();
    assert_eq!(run.stdout.matches("] 0\n").count(), 2, "{run}");
    assert_eq!(run.stderr.matches("sudo password of").count(), 2, "{run}");
    assert_eq!(sudoer.refusals(), 1);
    // No answer follows for the second host either, so nothing is left to be tried there.
    let run = answered(&env, "", &["wrong"], &words(&["-w"])).exits(1);
    assert!(run.stderr.matches("sudo password of").count() > 1, "{run}");
    assert_eq!(sudoer.refusals(), 2);
    let state = over("state", &sshd, 2, &sudoer.person.0);
    let mut state = with(state, &["-i", &key, "--sudo", "--approve"]);
    env.write("states/s.sls", "x: {cmd.run: [{name: id -u}]}\n");
    state.splice(1..1, ["apply".to_owned(), "s".to_owned()]);
    let run = answered(&env, "", &[Person::PASSWORD], &state).succeeds();
    assert_eq!(run.stderr.matches("sudo password of").count(), 1, "{run}");
}

#[test]
fn a_login_asks_as_often_as_the_configuration_says_and_other_hosts_follow_with_warnings_only() {
    requires!("root", "sshd");
    let person = Person::new();
    let sshd = Sshd::with(2, &["PasswordAuthentication yes"]);
    let env = TestEnv::new();
    let words = |more: &[&str]| {
        let mut words = over("run", &sshd, 2, &person.0);
        let own = ["--ssh-config-path", "config"].map(str::to_owned);
        words.splice(1..2, own);
        with(words, &[more, &["--no-stdin", "--", "id -un"]].concat())
    };
    let failures = || sshd.log().matches("Failed password").count();
    env.write("config", "Host *\n  NumberOfPasswordPrompts 2\n");
    let run = answered(
        &env,
        "",
        &["wrong", "worse", Person::PASSWORD],
        &words(&["-w"]),
    );
    assert!(run.stderr.contains("was refused 2 times"), "{run}");
    assert!(run.stdout.contains(&format!("] {}\n", person.0)), "{run}");
    assert_eq!(failures(), 2, "{run}");
    env.write("config", "Host *\n  NumberOfPasswordPrompts 5\n");
    let answers = ["1", "2", "3", "4", Person::PASSWORD];
    let run = answered(&env, "", &answers, &words(&[])).succeeds();
    assert_eq!((failures(), run.stdout.lines().count()), (6, 2), "{run}");
    env.write("config", "Host *\n  NumberOfPasswordPrompts 0\n");
    let run = answered(&env, "", &[Person::PASSWORD], &words(&["--ask-password"])).exits(1);
    assert!(!run.stdout.contains(&person.0), "{run}");
    assert_eq!(failures(), 6, "{run}");
}

/// An ensemble with a server, a user who needs a password for `sudo`, and a key with a passphrase that lets in.
struct Scene {
    sudoer: Sudoer,
    sshd: Sshd,
    env: TestEnv,
}

impl Scene {
    fn new() -> Self {
        let env = TestEnv::with_ensemble(
            "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    \
             tosca_definitions_version: tosca_simple_unfurl_1_0_0\n    topology_template:\n      \
             node_templates: {n: {type: tosca.nodes.Root}}\n",
        );
        let sshd = Sshd::with(1, &[]);
        make_key(&sshd.path("locked"), "ed25519", "open sesame");
        fs::copy(sshd.path("locked.pub"), sshd.path("authorized_keys")).unwrap();
        let files = [
            ("sudo", format!("{}\n", Person::PASSWORD)),
            ("phrase", "open sesame\r\nnot this\n".to_owned()),
        ];
        for (file, text) in files {
            env.write(file, &text);
            let path = env.work().join(file);
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        Self {
            sudoer: Sudoer::new(),
            sshd,
            env,
        }
    }

    /// The words of a command in parallel, with the key and its passphrase.
    fn over(&self, command: &str, more: &[&str]) -> Vec<String> {
        let key = self.sshd.path("locked").display().to_string();
        let words = over(command, &self.sshd, 1, &self.sudoer.person.0);
        let own = ["-P", "-i", &key, "--passphrase-file", "phrase"];
        with(with(words, &own), more)
    }

    fn sudo(&self, more: &[&str]) -> Vec<String> {
        let words = self.over("run", &["--sudo"]);
        with(words, &[more, &["--", "id -u"]].concat())
    }

    #[track_caller]
    fn is_root(&self, words: Vec<String>) {
        let run = self.env.unfurl(words).succeeds();
        assert!(run.stdout.ends_with("] 0\n"), "{run}");
        assert!(!run.all().contains(Person::PASSWORD), "{run}");
        assert_eq!(self.sudoer.refusals(), 0);
    }
}

#[test]
fn passwords_come_from_files_commands_tasks_and_the_environment() {
    requires!("root", "sshd", "sudo");
    let scene = Scene::new();
    let (env, password) = (&scene.env, Person::PASSWORD);
    scene.is_root(scene.sudo(&["--sudo-password-file", "sudo"]));
    scene.is_root(scene.sudo(&["--sudo-password-command", "cat sudo"]));
    let run = env.unfurl(scene.sudo(&["--sudo-password-command", "echo no >&2; exit 3"]));
    run.exits(1)
        .says(&["sudo password of the hosts failed: exit code 3: no"]);
    let run = env.unfurl(scene.sudo(&["--sudo-password-file", "nowhere"]));
    run.exits(2).says(&["nowhere"]);
    for keys in ["sudo_password: '{}'", "sudo_passwords: {127.0.0.1: '{}'}"] {
        let keys = keys.replace("{}", password);
        env.write(
            "tasks.yaml",
            &format!("env: {{{keys}}}\ntasks: {{t: {{sudo: id -u}}}}\n"),
        );
        scene.is_root(scene.over("task", &["t"]));
    }
    env.write(
        "unfurl.yaml",
        &format!(
            "apiVersion: unfurl/v1alpha1\nkind: Project\nenvironments:\n  defaults:\n    secrets:\n      \
             sudo_password: '{password}'\n"
        ),
    );
    scene.is_root(scene.sudo(&[]));
}

#[test]
fn passwords_of_single_hosts_come_from_inventories() {
    requires!("root", "sshd", "sudo");
    let scene = Scene::new();
    let (env, password, port) = (&scene.env, Person::PASSWORD, scene.sshd.port);
    env.write(
        "own.yaml",
        &format!("hosts: {{h: {{host: 127.0.0.1, port: {port}, sudo_password: '{password}'}}}}\n"),
    );
    env.write(
        "ansible.yaml",
        &format!(
            "all: {{hosts: {{h: {{ansible_host: 127.0.0.1, ansible_port: {port}, vaulted: '{password}', \
             ansible_become_password: '{{{{ vaulted }}}}'}}}}}}\n"
        ),
    );
    for file in ["own.yaml", "ansible.yaml"] {
        let mut words = scene.sudo(&["--hosts-file", file]);
        let at = words.iter().position(|word| word == "-H").unwrap() + 1;
        words[at] = "h".to_owned();
        scene.is_root(words);
    }
}
