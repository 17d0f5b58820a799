//! The command line itself: the place of options, tables for programs, manual pages, completion in shells.

use std::process::Command;

use super::drafts::ensemble;
use super::support::{TestEnv, binary};

fn web() -> TestEnv {
    ensemble(
        "
        topology_template:
          inputs:
            region: {type: string, default: eu}
          node_templates:
            web:
              type: tosca:Root
              interfaces: {Standard: {configure: echo web}}
            web-db:
              type: tosca:Root
              interfaces: {Standard: {configure: echo db}}
    ",
    )
    .env()
}

#[test]
fn options_of_all_commands_stand_before_or_after_the_command() {
    let env = web();
    let plan = env.unfurl(["plan", "--output", "json"]).succeeds().stdout;
    for arguments in [
        &["--output", "json", "plan"][..],
        &["--output=json", "-q", "plan"],
        &["plan", "-q", "--output", "json"],
        &["-q", "plan", "--output=json"],
    ] {
        assert_eq!(
            env.unfurl(arguments).succeeds().stdout,
            plan,
            "{arguments:?}"
        );
    }
    env.unfurl(["deploy", "-v", "--approve"]).succeeds();
    env.unfurl(["--output", "json", "lock", "list"])
        .succeeds()
        .json();
    env.unfurl(["lock", "--output", "json", "list"])
        .succeeds()
        .json();
    env.unfurl(["history", "-q"]).succeeds();
}

#[test]
fn words_of_a_passed_on_command_stay_as_they_are() {
    let env = web();
    env.write("show.sh", "printf '<%s>' \"$@\"\n");
    for arguments in [
        &[
            "run", "-H", "@local", "--", "sh", "show.sh", "-v", "--output", "json", "-q",
        ][..],
        &[
            "run", "-H", "@local", "sh", "show.sh", "-v", "--output", "json", "-q",
        ],
        &[
            "-q", "run", "-H", "@local", "sh", "show.sh", "-v", "--output", "json", "-q",
        ],
    ] {
        let run = env.unfurl(arguments).succeeds();
        assert!(run.all().contains("<-v><--output><json><-q>"), "{run:?}");
    }
    let run = env.unfurl([
        "run",
        "--approve",
        "--",
        "sh",
        "show.sh",
        "-v",
        "--output",
        "json",
    ]);
    assert!(run.succeeds().all().contains("<-v><--output><json>"));
    // `curl` is no value of `-v`, so `-H` belongs to it.
    let run = env.unfurl(["run", "-v", "--approve", "sh", "show.sh", "-H", "x"]);
    assert!(run.succeeds().all().contains("<-H><x>"));
    env.git(&["init", "-q"]);
    env.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let run = env.unfurl(["git", "log", "-q", "--format=<%s>"]).succeeds();
    assert!(run.stdout.contains("<one>"), "{run:?}");
}

#[test]
fn tables_are_lines_with_tabs_for_programs() {
    let env = web();
    env.unfurl(["deploy", "--approve", "--force"]).succeeds();
    let history = env
        .unfurl_with(("COLUMNS", "40"), &["history"])
        .succeeds()
        .stdout;
    let lines: Vec<Vec<&str>> = history
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(
        lines[0],
        ["Job", "Started", "Workflow", "Status", "Tasks", "Options"]
    );
    assert_eq!(lines.len(), 2, "{history}");
    assert_eq!(lines[1].len(), 6, "{history}");
    assert_eq!(lines[1][2..4], ["deploy", "ok"]);
    let job = env.unfurl(["history", lines[1][0]]).succeeds().stdout;
    assert!(job.contains("\tweb-db\t"), "{job}");
    let locks = env.unfurl(["lock", "list"]).succeeds().stdout;
    assert!(
        locks.starts_with("Ensemble\tState\tLock\nensemble.yaml\tfree\t"),
        "{locks}"
    );
    assert!(!locks.contains('─'), "{locks}");
}

#[test]
fn a_list_of_tasks_without_a_file_is_an_error() {
    let env = web();
    let run = env.unfurl(["task", "-l"]).exits(1);
    assert!(run.stdout.is_empty(), "{run:?}");
    run.says(&["error: there is no `tasks.yaml` here or in a folder above\n = hint: "]);
    env.write("tasks.yaml", "tasks: {}\n");
    env.unfurl(["task", "-l"]).succeeds();
}

#[test]
fn each_command_has_a_manual_page_and_each_reference_leads_to_one() {
    requires!("mandoc");
    let env = TestEnv::new();
    let run = env.unfurl(["man", "--install", "pages"]).succeeds();
    assert!(
        run.stdout.contains("`man -M pages unfurl-deploy`"),
        "{run:?}"
    );
    let entries = std::fs::read_dir(env.work().join("pages/man1")).unwrap();
    let pages: Vec<String> = entries
        .map(|entry| format!("pages/man1/{}", entry.unwrap().file_name().display()))
        .collect();
    for page in [
        "unfurl.1",
        "unfurl-deploy.1",
        "unfurl-secret-get.1",
        "unfurl-state-apply.1",
    ] {
        assert!(
            pages.contains(&format!("pages/man1/{page}")),
            "{page}: {pages:?}"
        );
    }
    let mut references = 0;
    for page in &pages {
        let text = env.read(page);
        assert!(!text.contains("default: \\*(Aq\\*(Aq"), "{page}");
        for word in text.replace("\\-", "-").split_whitespace() {
            let word = word.trim_start_matches("\\fB").trim_start_matches("\\fR");
            if let Some(name) = word
                .strip_suffix("(1)")
                .filter(|name| name.starts_with("unfurl-"))
            {
                references += 1;
                let page = format!("pages/man1/{name}.1");
                assert!(pages.contains(&page), "{page}");
            }
        }
    }
    assert!(references > 40, "{references}");
    let files = pages.iter().map(|page| env.work().join(page));
    let lint = Command::new("mandoc")
        .args(["-T", "lint", "-W", "error"])
        .args(files)
        .output()
        .unwrap();
    assert!(
        lint.status.success(),
        "{}",
        String::from_utf8_lossy(&lint.stdout)
    );
    let deploy = env.unfurl(["man", "deploy"]).succeeds().stdout;
    assert_eq!(deploy, env.read("pages/man1/unfurl-deploy.1"));
    let get = env.unfurl(["man", "secret", "get"]).succeeds().stdout;
    assert!(get.contains("unfurl\\-secret\\-get"), "{get}");
    env.unfurl(["man", "deplyo"])
        .exits(2)
        .says(&["`unfurl` has no command `deplyo`", "did you mean `deploy`?"]);
}

/// A folder with everything that has names, and the deployed ensemble.
fn project() -> TestEnv {
    let env = web();
    env.unfurl(["deploy", "--approve"]).succeeds();
    env.write(
        "tasks.yaml",
        "tasks:\n  backup: {steps: [run: 'true']}\n  restore: {steps: [run: 'true']}\n",
    );
    env.write(
        "hosts.yaml",
        "all: {hosts: {alpha: {}, beta: {}}, children: {front: {hosts: {alpha: {}}}}}\n",
    );
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nschedules:
  nightly: {cron: 0 2 * * *, action: drift}\n  hourly: {every: 1h, action: check}\n",
    );
    env.write("states/nginx/init.sls", "");
    env.write("states/nginx/tuned.sls", "");
    env
}

/// The words that bash would offer for the unfinished line.
fn bash(env: &TestEnv, line: &str) -> Vec<String> {
    let program = binary();
    let part = line.rsplit([' ', '=', ':']).next().unwrap();
    let script = format!(
        "{}\nCOMP_LINE=$1; COMP_POINT=${{#1}}; _unfurl '{}' \"$2\" ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        env.unfurl(["completions", "bash"]).stdout,
        program.display(),
    );
    shell(env, "bash", &["--norc", "-c", &script, "bash", line, part])
}

fn shell(env: &TestEnv, program: &str, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(env.work())
        .env("HOME", env.work())
        .env("UNFURL_HOME", "")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "", "{arguments:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[test]
fn bash_completes_the_names_of_the_project() {
    requires!("bash");
    let env = project();
    let before = env.files();
    let job = env
        .unfurl(["history"])
        .stdout
        .lines()
        .nth(1)
        .unwrap()
        .split('\t')
        .next()
        .unwrap()
        .to_owned();
    for (line, expected) in [
        ("unfurl depl", &["deploy"][..]),
        ("unfurl undepl", &[]),
        ("unfurl explain ", &["web", "web-db"]),
        ("unfurl deploy -i web-", &["web-db"]),
        ("unfurl deploy --instance=web-", &["web-db"]),
        ("unfurl -v --output json plan --exclude web-", &["web-db"]),
        ("unfurl plan --template web-", &["web-db"]),
        ("unfurl deploy --var input_", &["input_region"]),
        ("unfurl deploy --var input_region ", &[]),
        ("unfurl run -i web --operation ", &["Standard.configure"]),
        ("unfurl plan --workflow undep", &["undeploy"]),
        ("unfurl task ", &["import", "backup", "restore"]),
        ("unfurl run --hosts-file hosts.yaml -H al", &["alpha"]),
        (
            "unfurl run --hosts-file hosts.yaml -H alpha,b",
            &["alpha,beta"],
        ),
        ("unfurl run --hosts-file hosts.yaml -R f", &["front"]),
        ("unfurl state apply ", &["nginx", "nginx.tuned"]),
        ("unfurl fact os_famil", &[]),
        ("unfurl schedule run night", &["nightly"]),
        ("unfurl schedule log ", &["nightly", "hourly"]),
        ("unfurl state show-o", &["show-order"]),
        ("unfurl deploy --output ", &["text", "json", "none"]),
        ("unfurl history ", &["replay", "help", &job]),
        ("cd x; unfurl explain web-", &["web-db"]),
    ] {
        assert_eq!(bash(&env, line), expected, "{line}");
    }
    assert!(before == env.files(), "completion writes nothing");
}

#[test]
fn zsh_completes_the_names_of_the_project() {
    requires!("zsh");
    let env = project();
    let script = format!(
        "_describe() {{ print -l -- \"${{(@P)3}}\" }}\n{}\nwords=('{}' explain web-); CURRENT=3; PREFIX=web-; _unfurl\n\
         words=('{}' deploy --out); CURRENT=3; PREFIX=--out; _unfurl",
        env.unfurl(["completions", "zsh"]).stdout,
        binary().display(),
        binary().display(),
    );
    let found = shell(&env, "zsh", &["-f", "-c", &script]);
    assert_eq!(
        found,
        [
            "web-db:tosca.nodes.Root ok",
            "--output:Format of the result"
        ]
    );
}

#[test]
fn fish_completes_the_names_of_the_project() {
    requires!("fish");
    let env = project();
    let folder = binary();
    let script = format!(
        "set -x PATH {} $PATH\n{}\ncomplete -C 'unfurl explain web-'\ncomplete -C 'unfurl task ba'",
        folder.parent().unwrap().display(),
        env.unfurl(["completions", "fish"]).stdout,
    );
    let found = shell(&env, "fish", &["--no-config", "-c", &script]);
    assert_eq!(found, ["web-db\ttosca.nodes.Root ok", "backup"]);
}

#[test]
fn completion_is_silent_without_an_ensemble_and_with_a_broken_one() {
    requires!("bash");
    let env = TestEnv::new();
    assert_eq!(bash(&env, "unfurl explain "), [""; 0]);
    assert_eq!(bash(&env, "unfurl deploy -i "), [""; 0]);
    env.write("ensemble.yaml", "a: [");
    assert_eq!(bash(&env, "unfurl deploy -i "), [""; 0]);
    assert_eq!(bash(&env, "unfurl plan --dry"), ["--dryrun"]);
    env.write("tasks.yaml", "a: [");
    assert_eq!(bash(&env, "unfurl task "), ["import"]);
}

#[test]
fn completion_runs_no_program_of_the_project() {
    requires!("bash");
    let env = web();
    env.write(
        "ensemble.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Ensemble\nspec:\n  service_template:\n    topology_template:\n      \
         node_templates:\n        web:\n          type: tosca:Root\n          properties:\n            \
         a: {eval: {lookup: {pipe: touch ran}}}\n",
    );
    assert_eq!(bash(&env, "unfurl explain "), ["web"]);
    assert_eq!(bash(&env, "unfurl shell "), ["@local"]);
    assert!(!env.work().join("ran").exists());
}

#[test]
fn completion_is_installed_where_the_shell_looks() {
    let env = TestEnv::new();
    let home = env.unfurl_with(("XDG_DATA_HOME", ""), &["completions", "install", "bash"]);
    let home = home.succeeds().says(&[]);
    assert!(home.stdout.contains("was written"), "{home:?}");
    assert!(home.stdout.contains("source /"), "{home:?}");
    let again = env.unfurl(["completions", "install", "bash"]).succeeds();
    assert!(again.stdout.contains("is up to date"), "{again:?}");
    let fish = env
        .unfurl_with(("SHELL", "/usr/bin/fish"), &["completions", "install"])
        .succeeds();
    assert!(
        fish.stdout.contains("fish/completions/unfurl.fish"),
        "{fish:?}"
    );
    let zsh = env.unfurl(["completions", "install", "zsh"]).succeeds();
    assert!(zsh.stdout.contains("autoload -Uz compinit"), "{zsh:?}");
    env.unfurl_with(("SHELL", "/bin/tcsh"), &["completions", "install"])
        .exits(2)
        .says(&[
            "there is no completion for the shell `tcsh`",
            "`unfurl completions install bash`",
        ]);
    env.unfurl(["completions"])
        .exits(2)
        .says(&["needs the name of a shell"]);
    env.unfurl(["completions", "bahs"])
        .exits(2)
        .does_not_panic();
}
