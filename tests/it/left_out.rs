//! Options, commands and variables of Unfurl: each has its effect, or an answer that names a replacement.

use super::drafts::nodes;
use super::support::{Run, TestEnv};

fn app() -> TestEnv {
    nodes(
        "
        app:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure: echo $UNFURL_TMPDIR > configured
        ",
    )
    .env()
}

fn with_variable(env: &TestEnv, name: &str, value: &str, arguments: &[&str]) -> Run {
    env.unfurl_in(".", &[(name.to_owned(), value.to_owned())], arguments)
}

/// Asserts that a call was answered, also for programs, and that nothing has happened.
#[track_caller]
fn is_left_out(env: &TestEnv, arguments: &[&str], answer: &str) {
    let run = env.unfurl(arguments).exits(2).says(&[answer, "hint: "]);
    for guess in [
        "unexpected argument",
        "unrecognized",
        "a similar",
        "as a value",
    ] {
        assert!(!run.stderr.contains(guess), "{run}");
    }
    assert_eq!(run.stdout, "", "{run}");
    assert!(!env.names().contains(&"configured".to_owned()));
}

#[test]
fn left_out_commands_are_answered_with_all_their_options() {
    let env = app();
    // The command `serve` runs schedules here. The options of Unfurl's server of the same name are left out.
    let serve = "the API server of `unfurl serve` is left out";
    for option in [
        "--port",
        "--address",
        "--secret",
        "--clone-root",
        "--cloud-server",
        "--cors",
    ] {
        is_left_out(&env, &["serve", option, "x", "."], serve);
    }
    is_left_out(&env, &["serve", "--gui"], serve);
    let cloudmap = "`unfurl cloudmap` is left out";
    is_left_out(&env, &["cloudmap", "name"], cloudmap);
    for option in [
        "--sync",
        "--import",
        "--export",
        "--namespace",
        "--repository",
        "--clone-root",
        "--visibility",
        "--project",
    ] {
        is_left_out(&env, &["cloudmap", option, "x"], cloudmap);
    }
    is_left_out(
        &env,
        &["cloudmap", "--skip-analysis", "--force", "--dryrun"],
        cloudmap,
    );
    let runtime = "`unfurl runtime` is left out";
    is_left_out(&env, &["runtime"], runtime);
    is_left_out(&env, &["runtime", "--init", "."], runtime);
    is_left_out(&env, &["runtime", "--update"], runtime);
    for words in [
        &["serve", "--port", "1", "--output", "json"][..],
        &["runtime", "--output=json"],
    ] {
        let run = env.unfurl(words).exits(2);
        let message = run.json()["errors"][0]["message"].to_string();
        assert!(message.contains("is left out"), "{run}");
    }
    let help = env.unfurl(["serve", "--help"]).succeeds();
    assert!(!help.stdout.contains("--clone-root"), "{help}");
    let all = env.unfurl(["--help"]).succeeds();
    assert!(!all.stdout.contains("cloudmap"), "{all}");
}

#[test]
fn left_out_options_are_answered_before_and_after_the_command() {
    let env = app();
    for words in [
        &["--runtime", "docker:", "deploy", "-a"][..],
        &["deploy", "-a", "--runtime", "venv:"],
    ] {
        is_left_out(&env, words, "`--runtime` (`UNFURL_RUNTIME`) is left out");
    }
    for words in [
        &["--version-check", "1.0.0", "deploy", "-a"][..],
        &["deploy", "-a", "--version-check", "1.0.0"],
    ] {
        is_left_out(
            &env,
            words,
            "`--version-check` (`UNFURL_VERSION_CHECK`) is left out",
        );
    }
    is_left_out(
        &env,
        &["export", "--format", "python"],
        "`--format python` is not supported",
    );
    is_left_out(
        &env,
        &["export", "--python-target", "3.8"],
        "`--python-target` is not supported",
    );
    is_left_out(
        &env,
        &["export", "--format", "python", "--python-target", "3.8"],
        "is not supported",
    );
    is_left_out(
        &env,
        &["export", "types.py"],
        "converting Python to YAML is not supported",
    );
    let run = env
        .unfurl(["--runtime", "x", "deploy", "--output", "json"])
        .exits(2);
    assert!(
        run.json()["errors"][0]["message"]
            .to_string()
            .contains("is left out")
    );
}

#[test]
fn variables_of_left_out_features_are_answered() {
    let env = app();
    for (name, value) in [
        ("UNFURL_RUNTIME", "docker:"),
        ("UNFURL_VERSION_CHECK", "1.0.0"),
        ("UNFURL_MOCK_DEPLOY", "1"),
        ("UNFURL_WORKDIR", "/tmp"),
    ] {
        with_variable(&env, name, value, &["deploy", "-a"])
            .exits(2)
            .says(&[name, "is left out"]);
        with_variable(&env, name, "", &["plan"]).succeeds();
    }
    assert!(!env.names().contains(&"configured".to_owned()));
    with_variable(
        &env,
        "UNFURL_VERSION_CHECK",
        "1.0.0",
        &["version", "--semver"],
    )
    .succeeds();
    with_variable(&env, "UNFURL_RUNTIME", ".", &["plan"]).succeeds();
    with_variable(&env, "UNFURL_RUNTIME", "venv:", &["--no-runtime", "plan"]).succeeds();
    let runtime = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let both = [
        runtime("UNFURL_RUNTIME", "venv:"),
        runtime("UNFURL_NORUNTIME", "1"),
    ];
    env.unfurl_in(".", &both, &["plan"]).succeeds();
    with_variable(
        &env,
        "UNFURL_VERSION_CHECK",
        "9",
        &["plan", "--no-version-check"],
    )
    .succeeds();
    for name in [
        "UNFURL_VALIDATION_MODE",
        "UNFURL_GLOBAL_NAMESPACE_PACKAGES",
        "UNFURL_LOG_TRUNCATE",
        "UNFURL_LOG_FORMAT",
    ] {
        let text = format!("warning: the variable `{name}` has no effect: ");
        with_variable(&env, name, "x", &["plan"])
            .succeeds()
            .says(&[&text]);
    }
}

#[test]
fn options_without_meaning_here_are_accepted() {
    let env = app();
    for words in [
        &["--no-version-check", "plan"][..],
        &["plan", "--no-version-check"],
        &["--no-runtime", "plan"],
        &["plan", "--no-runtime"],
        &["--skip-upstream-check", "plan"],
    ] {
        env.unfurl(words).succeeds();
    }
}

#[test]
fn global_options_work_before_and_after_the_command() {
    let env = app();
    for words in [
        &["deploy", "-a", "-q"][..],
        &["-q", "deploy", "-a", "--force"],
        &["deploy", "-a", "--quiet", "--force"],
    ] {
        let run = env.unfurl(words).succeeds();
        assert_eq!(run.stderr, "", "{run}");
    }
    for words in [
        &["deploy", "-a", "--force", "-v"][..],
        &["-v", "deploy", "-a", "--force"],
        &["deploy", "-a", "--force", "--loglevel", "verbose"],
    ] {
        env.unfurl(words).succeeds().prints(&[" (success) "]);
    }
    env.unfurl(["deploy", "-a", "--force", "-vv"]).succeeds();
    env.unfurl(["deploy", "-a", "--force", "--logfile", "own.log"])
        .succeeds();
    let home = env.unfurl(["plan", "--home", "nowhere"]).succeeds();
    home.says(&["nowhere"]);
    // Words of a command that a task runs stay with it.
    env.unfurl(["run", "-a", "--", "echo", "-q", "-v"])
        .succeeds()
        .says(&["-q -v"]);
    // The option of the command goes before the variable.
    with_variable(&env, "UNFURL_HOME", "other", &["plan", "--home", ""]).succeeds();
}

#[test]
fn temporary_files_go_to_the_folder_of_the_user() {
    let env = app();
    for words in [
        &["--tmp", "missing", "plan"][..],
        &["plan", "--tmp", "missing"],
    ] {
        env.unfurl(words)
            .exits(2)
            .says(&["missing", "the folder does not exist"]);
    }
    with_variable(&env, "UNFURL_TMPDIR", "missing", &["plan"]).exits(2);
    with_variable(&env, "UNFURL_TMPDIR", "", &["plan"]).succeeds();
    env.write("own/x", "");
    let folder = env.work().join("own").display().to_string();
    let text = env.read("ensemble.yaml").replace(
        "echo $UNFURL_TMPDIR",
        "echo $UNFURL_TMPDIR {{ 'tmp' | get_dir }}",
    );
    env.write("ensemble.yaml", &text);
    for words in [
        &["--tmp", "own", "deploy", "-a"][..],
        &["deploy", "-a", "--force", "--tmp", "own"],
    ] {
        env.unfurl(words).succeeds();
        let configured = env.read("configured");
        assert!(
            configured.starts_with(&format!("{folder} {folder}/")),
            "{configured}"
        );
        std::fs::remove_file(env.work().join("configured")).unwrap();
    }
    with_variable(&env, "UNFURL_TMPDIR", "own", &["deploy", "-a", "--force"]).succeeds();
    let configured = env.read("configured");
    assert!(configured.contains(&format!("{folder}/")), "{configured}");
}

#[test]
fn a_status_query_is_traced() {
    let env = super::drafts::topology(
        "
        inputs: {port: {type: integer, default: 80}}
        node_templates:
          app:
            type: unfurl.nodes.Generic
            properties: {port: {get_input: port}, secret: {eval: {sensitive: s3cret}}}
            interfaces: {Standard: {configure: 'true'}}
        ",
    )
    .env();
    env.unfurl(["deploy", "-a"]).succeeds();
    let query = ["status", "--query", "::app::port"];
    let traced = |depth: &'static str| {
        env.unfurl([&query[..], &["--trace", depth]].concat())
            .succeeds()
    };
    assert!(!traced("0").stderr.contains("trace:"));
    traced("1")
        .says(&["trace: ::app::port is 80"])
        .prints(&["Result:\n80\n"]);
    traced("2").says(&[
        "trace: ::app::port is 80",
        "trace: ::root::inputs::port is 80",
    ]);
    let run = env
        .unfurl(["status", "--query", "::app::secret", "--trace", "2"])
        .succeeds();
    assert!(!run.to_string().contains("s3cret"), "{run}");
    let run = env
        .unfurl([&query[..], &["--trace", "1", "--output", "json"]].concat())
        .succeeds();
    assert_eq!(run.json()["result"], 80);
}

#[test]
fn a_template_of_an_ensemble_may_lack_values_of_inputs() {
    let text = super::drafts::topology("inputs: {region: {type: string}}").build();
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["validate"])
        .exits(1)
        .says(&["input `region` is missing"]);
    env.unfurl(["validate", "--as-template"]).succeeds();
    env.unfurl(["validate", "--as-template", "ensemble.yaml"])
        .succeeds();
    env.write("ensemble-template.yaml", &text);
    env.unfurl(["validate", "ensemble-template.yaml"])
        .succeeds();
    // Other problems are found.
    env.write(
        "ensemble.yaml",
        &text.replace("type: string", "type: strin"),
    );
    env.unfurl(["validate", "--as-template"])
        .exits(1)
        .says(&["strin"]);

    // A project without an ensemble: its template is checked.
    let env = TestEnv::new();
    env.write("unfurl.yaml", "apiVersion: unfurl/v1.0.0\nkind: Project\n");
    env.write(
        "ensemble-template.yaml",
        &text.replace("type: string", "type: strin"),
    );
    env.unfurl(["validate", "."])
        .exits(1)
        .says(&["ensemble-template.yaml"]);
    env.write("ensemble-template.yaml", &text);
    env.unfurl(["validate", "."]).succeeds();
}

#[test]
fn the_version_of_the_runtime_is_this_one() {
    let env = TestEnv::new();
    let run = env.unfurl(["version", "--remote"]).succeeds();
    let plain = env.unfurl(["version"]).succeeds();
    assert_eq!(
        run.stdout,
        format!(
            "{}Remote: none; this version runs every job, because there is no other runtime\n",
            plain.stdout
        )
    );
    let run = env.unfurl(["version", "--semver", "--remote"]).succeeds();
    assert_eq!(run.stdout.lines().count(), 2, "{run}");
    assert_eq!(env.names(), [""; 0]);
}

#[test]
fn a_job_without_a_record_is_possible() {
    let env = app();
    let before = env.read("ensemble.yaml");
    with_variable(&env, "UNFURL_SKIP_SAVE", "1", &["deploy", "-a"])
        .succeeds()
        .says(&["its record is not saved"]);
    assert_eq!(env.read("ensemble.yaml"), before);
    with_variable(&env, "UNFURL_SKIP_SAVE", "never", &["deploy", "-a"]).succeeds();
    assert_ne!(env.read("ensemble.yaml"), before);
}

/// Keys without effect in the ensemble of the test below: the start of the warning, and its place.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    (
        "`input_values` of a service template has no effect",
        "ensemble.yaml:6:5",
    ),
    (
        "`instance_keys` of node template `app` has no effect",
        "ensemble.yaml:12:11",
    ),
    (
        "`occurrences` of node template `app` has no effect",
        "ensemble.yaml:13:11",
    ),
    (
        "`count` of node template `app` has no effect",
        "ensemble.yaml:14:11",
    ),
    ("`exit_state` of", "ensemble.yaml:18:53"),
    (
        "`reservation` of policy `p` has no effect",
        "ensemble.yaml:20:40",
    ),
    (
        "`spec` of an ensemble has no key `serivce_template`",
        "ensemble.yaml:21:3",
    ),
    (
        "`spec` of an ensemble has no key `other`",
        "ensemble.yaml:22:3",
    ),
    ("an ensemble has no key `statsu`", "ensemble.yaml:23:1"),
    ("`jobsLog` has no effect", "ensemble.yaml:24:10"),
];

#[test]
fn keys_without_effect_are_warnings_with_their_places() {
    let env = super::drafts::ensemble(
        "
        input_values: {port: 1}
        topology_template:
          inputs: {port: {type: integer, default: 2}}
          node_templates:
            app:
              type: tosca.nodes.Root
              instance_keys: [a]
              occurrences: [1, 2]
              count: 2
              interfaces:
                Standard:
                  operations:
                    configure: {implementation: 'true', exit_state: configured}
          policies:
          - p: {type: tosca.policies.Root, reservation: x}
        ",
    )
    .build();
    let env = TestEnv::with_ensemble(&format!(
        "{env}  serivce_template: {{}}\n  other: 1\nstatsu: {{}}\njobsLog: my.tsv\n"
    ));
    for (key, place) in WITHOUT_EFFECT {
        // A misspelt key of `spec` is an error.
        let run = env.unfurl(["validate"]).exits(1);
        run.says(&["warning: ", key, place, "did you mean `service_template`?"]);
    }
    // Merge directives may use keys of any name.
    let merged = super::drafts::topology("inputs: {+/spec/kept: }").build();
    let env = TestEnv::with_ensemble(&format!(
        "{merged}  kept: {{port: {{type: integer, default: 1}}}}\nmore: 1\n"
    ));
    let run = env.unfurl(["validate"]).succeeds();
    assert_eq!(run.stderr, "", "{run}");
}

/// The options and arguments that Unfurl documents for each command, with a value where they need one.
const DOCUMENTED: &[(&str, &[&str])] = &[
    ("check", JOB),
    ("deploy", JOB),
    ("discover", JOB),
    ("teardown", JOB),
    ("undeploy", JOB),
    ("stop", JOB),
    (
        "plan",
        &[
            "--dryrun",
            "--template app",
            "--force",
            "-i app",
            "--instance app",
            "--query ::app",
            "--trace 1",
            "--output json",
            "--starttime 1",
            "--use-environment defaults",
            "--var a b",
            "--check",
            "--prune",
            "--destroyunmanaged",
            "--upgrade",
            "--repair error",
            "--repair degraded",
            "--repair none",
            "--change-detection skip",
            "--change-detection always",
            "--change-detection evaluate",
            "--skip-new",
            "--workflow undeploy",
        ],
    ),
    (
        "status",
        &[
            "--query ::app",
            "--query ::app --trace 1",
            "--use-environment defaults",
        ],
    ),
    (
        "validate",
        &[
            "--use-environment defaults",
            "--as-template",
            "ensemble.yaml",
        ],
    ),
    ("version", &["--semver", "--remote"]),
    (
        "export",
        &[
            "--format blueprint",
            "--format environments",
            "--format deployment",
            "--format deployments",
            "--use-environment defaults",
            "--file x.json --overwrite older",
            "--file x.json --overwrite never",
            "--file x.json --overwrite always",
            "--file x.json --overwrite auto",
        ],
    ),
    (
        "commit",
        &[
            "-m text",
            "--no-edit",
            "--no-edit --skip-add",
            "--no-edit --all-repositories",
            "--no-edit --use-environment defaults",
        ],
    ),
    ("git-status", &["--dirty", "--use-environment defaults"]),
    ("git", &["status", "--dir . status"]),
    ("help", &["", "deploy"]),
];

/// The options that Unfurl documents for all commands that run a job.
const JOB: &[&str] = &[
    "--dryrun",
    "--commit",
    "--push",
    "--dirty abort",
    "--dirty ok",
    "--dirty auto",
    "-m text",
    "--message text",
    "--jobexitcode error",
    "--jobexitcode degraded",
    "--jobexitcode never",
    "-a",
    "--approve",
    "--template app",
    "--force",
    "-i app",
    "--instance app",
    "--query ::app",
    "--trace 1",
    "--output text",
    "--output json",
    "--output none",
    "--starttime 1",
    "--use-environment defaults",
    "--var a b",
];

#[test]
fn every_documented_option_is_parsed() {
    let env = app();
    env.git(&["init", "-q"]);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "first"]);
    for (command, options) in DOCUMENTED {
        for option in *options {
            let mut words = vec![*command];
            words.extend(option.split_whitespace());
            let run = env.unfurl(&words).does_not_panic();
            assert_ne!(run.code, 2, "{run}");
        }
    }
}
