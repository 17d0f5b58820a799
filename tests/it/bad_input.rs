//! Bad input and failing machines: each mistake gets a clear message with its position and the right exit
//! code. No file is half-written, and the program does not panic.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use super::drafts;
use super::support::{Run, TestEnv};

fn ensemble(templates: &str) -> String {
    let indented: Vec<String> = templates
        .lines()
        .map(|line| format!("        {line}\n"))
        .collect();
    let indented = indented.concat();
    format!(
        "apiVersion: unfurl/v1.0.0\n\
         kind: Ensemble\n\
         spec:\n  \
           service_template:\n    \
             tosca_definitions_version: tosca_simple_unfurl_1_0_0\n    \
             topology_template:\n      \
               node_templates:\n{indented}"
    )
}

fn shell(command: &str) -> String {
    ensemble(&format!(
        "web:\n  type: tosca.nodes.Root\n  interfaces:\n    Standard:\n      configure:\n        \
         implementation: {{primary: Shell, timeout: 2}}\n        \
         inputs: {{command: {command:?}}}\n"
    ))
}

/// Deploys and asserts that the deploy is refused with these words and writes no file.
#[track_caller]
fn refused(text: &str, words: &[&str]) -> Run {
    let env = TestEnv::with_ensemble(text);
    let run = env.unfurl(["deploy", "--approve"]).exits(64).says(words);
    assert_eq!(env.read("ensemble.yaml"), text, "the ensemble changed");
    for name in ["changes", "jobs.tsv", "ensemble.yaml.lock"] {
        assert!(
            !env.names().contains(&name.to_owned()),
            "{name} is there\n{run}"
        );
    }
    let validate = env.unfurl(["validate"]);
    validate.exits(1).says(words);
    run
}

/// The position of the first occurrence of a text, in the form in which messages name it.
fn position(text: &str, words: &str) -> String {
    let before = &text[..text.find(words).unwrap()];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
    format!("ensemble.yaml:{line}:{column}")
}

#[test]
fn malformed_yaml_is_shown_at_its_line() {
    let text = format!(
        "{}  broken: [1, 2\nkey: value\n",
        ensemble("a: {type: tosca.nodes.Root}")
    );
    refused(&text, &["error: ", "ensemble.yaml:"]);
}

#[test]
fn a_duplicate_key_is_shown_at_its_place() {
    let text = ensemble("web:\n  type: tosca.nodes.Root\n  type: tosca.nodes.Root\n");
    refused(&text, &["error: ", "type", "ensemble.yaml:10:"]);
}

#[test]
fn an_unknown_key_is_shown_at_its_place() {
    let text = ensemble("web:\n  type: tosca.nodes.Root\n  requirement: []\n");
    refused(
        &text,
        &["error: ", "requirement", &position(&text, "requirement:")],
    );
}

#[test]
fn a_missing_type_is_shown_where_it_is_used() {
    let text = ensemble("web:\n  type: my.nodes.Missing\n");
    refused(
        &text,
        &[
            "error: ",
            "my.nodes.Missing",
            &position(&text, "my.nodes.Missing"),
        ],
    );
}

#[test]
fn a_requirement_without_target_is_shown_where_it_is_asked_for() {
    let text = ensemble(
        "web:\n  type: tosca.nodes.Root\n  requirements:\n    - dependency: databse\n\
         database:\n  type: tosca.nodes.Root\n",
    );
    let words = [
        "error: ",
        "databse",
        "database",
        &position(&text, "databse"),
    ];
    refused(&text, &words);
}

#[test]
fn a_cycle_of_requirements_names_its_members() {
    let text = ensemble(
        "a:\n  type: tosca.nodes.Root\n  requirements: [{dependency: b}]\n\
         \x20 interfaces: {Standard: {configure: echo a}}\n\
         b:\n  type: tosca.nodes.Root\n  requirements: [{dependency: a}]\n\
         \x20 interfaces: {Standard: {configure: echo b}}\n",
    );
    refused(&text, &["error: ", "`a`", "`b`", "ensemble.yaml:"]);
}

#[test]
fn a_type_that_derives_from_itself_is_refused() {
    let text = ensemble("web:\n  type: A\n").replace(
        "    topology_template:",
        "    node_types:\n      A: {derived_from: B}\n      B: {derived_from: A}\n    topology_template:",
    );
    refused(&text, &["error: ", "ensemble.yaml:"]);
}

#[test]
fn a_missing_required_property_names_property_and_template() {
    let text = ensemble("web:\n  type: Sized\n").replace(
        "    topology_template:",
        "    node_types:\n      Sized:\n        derived_from: tosca.nodes.Root\n        \
         properties:\n          size: {type: integer}\n    topology_template:",
    );
    refused(&text, &["error: ", "size", "web", "ensemble.yaml:"]);
}

#[test]
fn validate_reports_every_problem_at_once() {
    let text = ensemble("a:\n  type: my.Missing\nb:\n  type: tosca.nodes.Root\n  odd: 1\n");
    let env = TestEnv::with_ensemble(&text);
    let run = env.unfurl(["validate"]).exits(1);
    run.says(&[&position(&text, "my.Missing"), &position(&text, "odd")]);
}

#[test]
fn an_ensemble_that_is_not_there_is_named() {
    let env = TestEnv::new();
    env.unfurl(["deploy", "--approve", "nowhere"])
        .exits(1)
        .says(&["error: ", "nowhere"]);
    env.unfurl(["deploy", "--approve"])
        .exits(1)
        .says(&["error: "]);
    assert!(env.names().is_empty(), "{:?}", env.names());
}

#[test]
fn an_option_that_does_not_exist_is_a_usage_error() {
    let env = TestEnv::with_example("hello");
    env.unfurl(["deploy", "--no-such-option"])
        .exits(2)
        .says(&["--no-such-option"]);
    env.unfurl(["no-such-command"])
        .exits(2)
        .says(&["no-such-command"]);
    env.unfurl(["deploy", "--approve", "--output", "xml"])
        .exits(2)
        .says(&["xml"]);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let env = TestEnv::with_example("hello");
    let before = env.tracked();
    fs::set_permissions(env.work(), Permissions::from_mode(0o555)).unwrap();
    // Root may write everywhere, so the test has nothing to check then.
    let is_root = fs::write(env.work().join("probe"), "").is_ok();
    if is_root {
        fs::remove_file(env.work().join("probe")).unwrap();
    } else {
        let run = env.unfurl(["deploy", "--approve"]).exits(1);
        run.says(&["error: ", "ensemble.yaml"]);
    }
    fs::set_permissions(env.work(), Permissions::from_mode(0o755)).unwrap();
    if !is_root {
        assert_eq!(env.tracked(), before);
    }
}

#[test]
fn a_file_in_the_way_of_a_folder_is_named() {
    let env = TestEnv::with_example("hello");
    // This holds for root as well: a folder cannot be made where a file is.
    env.write("planned", "in the way");
    let before = env.read("ensemble.yaml");
    let run = env.unfurl(["deploy", "--approve"]).does_not_panic();
    assert_ne!(run.code, 0, "{run}");
    run.says(&["error: ", "planned"]);
    assert_eq!(env.read("ensemble.yaml"), before);
    assert_eq!(env.read("planned"), "in the way");
}

#[test]
fn a_full_disk_while_saving_leaves_the_old_record() {
    let env = TestEnv::with_example("hello");
    let padding = "# padding\n".repeat(10_000);
    let text = format!("{padding}{}", env.read("ensemble.yaml"));
    env.write("ensemble.yaml", &text);
    // The ensemble is larger than the limit for files; all other files are smaller.
    let limit = "trap '' XFSZ; ulimit -f 100";
    let run = env
        .unfurl_after(limit, &["deploy", "--approve"])
        .does_not_panic();
    run.exits(70).says(&["error: ", "ensemble.yaml"]);
    assert_eq!(env.read("ensemble.yaml"), text);
    assert!(
        !env.names().iter().any(|name| name.contains(".tmp")),
        "{:?}",
        env.names()
    );
    // The task that ran is not forgotten: the next job records it and does not repeat it.
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    let again = again.says(&["crashed"]);
    assert!(again.stdout.contains("Nothing to do"), "{again}");
    let instances = &env.ensemble()["status"]["instances"];
    assert_eq!(instances["file"]["readyState"]["local"], "ok");
}

#[test]
fn a_command_that_is_not_found_fails_its_task() {
    let env = TestEnv::with_ensemble(&shell("no-such-command-here --now"));
    let run = env
        .unfurl(["deploy", "--approve", "--output", "json"])
        .exits(64);
    let summary = run.json();
    assert_eq!(summary["job"]["status"], "error", "{run}");
    assert_eq!(summary["tasks"][0]["status"], "error", "{run}");
    run.says(&["no-such-command-here"]);
    let recorded = env.ensemble();
    let instance = &recorded["status"]["instances"]["web"];
    // A failed command does not say what it left behind, so the status is `unknown`.
    assert_eq!(instance["readyState"]["local"], "unknown", "{recorded}");
}

#[test]
fn the_exit_code_of_a_failed_job_can_be_turned_off() {
    let env = TestEnv::with_ensemble(&shell("false"));
    env.unfurl(["deploy", "--approve", "--jobexitcode", "never"])
        .succeeds();
    let env = env.variable("UNFURL_JOBEXITCODE", "never");
    env.unfurl(["deploy", "--approve"]).succeeds();
}

#[test]
fn a_command_that_hangs_is_ended_with_all_its_children() {
    // The grandchild ignores the signals that end its parent, and keeps the output open.
    let command = "sh -c 'trap \"\" TERM INT; echo $$ > child.pid; sleep 1000' & sleep 1000";
    let env = TestEnv::with_ensemble(&shell(command));
    let run = env
        .unfurl(["deploy", "--approve", "--output", "json"])
        .exits(64);
    assert_eq!(run.json()["tasks"][0]["status"], "error", "{run}");
    run.says(&["2"]);
    let child = env.read("child.pid");
    let gone = !fs::exists(format!("/proc/{}", child.trim())).unwrap()
        || fs::read_to_string(format!("/proc/{}/stat", child.trim()))
            .is_ok_and(|stat| stat.contains(") Z "));
    assert!(gone, "process {child} was left behind");
}

#[test]
fn a_command_that_prints_without_end_keeps_the_record_small() {
    let size = std::env::var("UNFURL_TEST_OUTPUT").unwrap_or_else(|_| "200M".to_owned());
    let text = shell(&format!("yes | head -c {size}")).replace("timeout: 2", "timeout: 60");
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["deploy", "--approve", "--output", "none"])
        .succeeds();
    let mut folders = vec![env.work()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let size = entry.metadata().unwrap().len();
                assert!(
                    size < 20_000_000,
                    "{}: {size} bytes",
                    entry.path().display()
                );
            }
        }
    }
}

#[test]
fn an_alias_bomb_is_refused_at_once() {
    use std::fmt::Write as _;
    let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{before}]").unwrap();
    }
    let text = format!(
        "{bomb}{}",
        ensemble("web: {type: tosca.nodes.Root, properties: *a11}")
    );
    // The refusal must come at once, not after the time that writing out the bomb would take.
    refused(&text, &["error: ", "ensemble.yaml:"]);
}

#[test]
fn deep_nesting_is_refused_at_once() {
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        let depth = 20_000;
        let text = format!("x: {}1{}\n", open.repeat(depth), close.repeat(depth));
        let text = format!("{text}{}", ensemble("web: {type: tosca.nodes.Root}"));
        refused(&text, &["error: ", "ensemble.yaml:"]);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let env = TestEnv::new();
    fs::write(env.work().join("ensemble.yaml"), b"apiVersion: \xff\xfe\n").unwrap();
    env.unfurl(["deploy", "--approve"])
        .exits(64)
        .says(&["error: ", "ensemble.yaml"]);
}

#[test]
fn an_empty_file_is_refused() {
    refused("", &["error: ", "ensemble.yaml"]);
}

#[test]
fn a_job_that_is_running_keeps_others_out() {
    let env = TestEnv::with_example("hello");
    env.write("ensemble.yaml.lock", &std::process::id().to_string());
    let run = env.unfurl(["deploy", "--approve"]).exits(1);
    run.says(&["error: ", "ensemble.yaml.lock"]);
    assert_eq!(
        env.read("ensemble.yaml.lock"),
        std::process::id().to_string()
    );
}

#[test]
fn forms_into_which_no_record_can_be_written_are_refused() {
    let text = shell("echo");
    refused(
        &text.replace('\n', "\r"),
        &["carriage return", "ensemble.yaml:1:"],
    );
    refused(&format!("{text}? status\n: {{}}\n"), &["with `?`"]);
    refused(&format!("{text}status: foo\n"), &["`status` must be a map"]);
}

#[test]
fn wrong_values_of_options_are_refused() {
    let env = TestEnv::with_ensemble(&shell("echo"));
    for (arguments, code, words) in [
        (&["deploy", "-a", "--template", "nope"][..], 64, "`nope`"),
        (&["deploy", "-a", "--workflow", "nope"], 64, "`nope`"),
        (&["deploy", "-a", "--parallel", "0"], 2, "--parallel"),
        (&["--loglevel", "loud", "deploy", "-a"], 2, "--loglevel"),
        (
            &["--logfile", "ensemble.yaml/log", "deploy", "-a"],
            1,
            "--logfile",
        ),
    ] {
        env.unfurl(arguments).exits(code).says(&[words]);
    }
    assert_eq!(env.names(), ["ensemble.yaml"]);
    env.unfurl(["plan", "--instance", "nope"])
        .exits(64)
        .says(&["error", "`--instance nope` selects nothing"]);
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let env = TestEnv::new();
    for command in [
        "\"$0\" schema ensemble >/dev/full",
        "\"$0\" version >/dev/full",
    ] {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", command, env!("CARGO_BIN_EXE_unfurl")]);
        let output = shell.current_dir(env.work()).output().unwrap();
        assert_eq!(output.status.code(), Some(70), "{command}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("the output could not be written"), "{told}");
    }
}

#[test]
fn the_error_of_an_operation_does_not_reveal_its_secret_input() {
    let node = |run: &str| {
        drafts::ensemble("
                node_types: {N: {derived_from: tosca.nodes.Root, properties: {pw: {type: string, metadata: {sensitive: true}}}}}
                topology_template:
                  node_templates:
                    r:
                      type: N
                      properties: {pw: TOPSEKRET}
                      interfaces: {Standard: {configure: {implementation: Template, inputs: {run: {a: <run>}}}}}
                ").with("run", run).build()
    };
    for run in [
        "{eval: {file: {eval: '::r::pw'}}, select: contents}",
        "\"{{ 'x' | int(base=SELF.pw) }}\"",
    ] {
        let env = TestEnv::with_ensemble(&node(run));
        for arguments in [
            vec!["plan"],
            vec!["deploy", "--approve", "--output", "json"],
        ] {
            let told = env.unfurl(arguments).all();
            // The source text of the file may be shown; evaluated values may not.
            let evaluated = told
                .lines()
                .filter(|line| !line.contains("properties: {pw"));
            for line in evaluated {
                assert!(!line.contains("TOPSEKRET"), "{run}: {line}");
            }
        }
    }
}
