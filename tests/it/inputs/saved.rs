//! `--save-inputs`: values given with a command stay with the ensemble.

use super::{service, service_with, with_variables};
use crate::support::TestEnv;

const SAVE: [&str; 3] = ["deploy", "--approve", "--save-inputs"];

fn save<'a>(env: &TestEnv, arguments: &[&'a str]) -> crate::support::Run {
    let words: Vec<&'a str> = SAVE.iter().chain(arguments).copied().collect();
    env.unfurl(words)
}

/// The lines of `spec.inputs` in the ensemble.
fn spec(env: &TestEnv) -> String {
    let text = env.read("ensemble.yaml");
    let from = text.find("\n  inputs:").unwrap() + 1;
    let to = text.find("\nstatus:").unwrap_or(text.len());
    text[from..to].trim_end().to_owned()
}

#[test]
fn a_saved_value_is_used_by_the_next_job_which_runs_nothing() {
    let env = service_with("");
    env.write("vars.yaml", "greeting: ' a: b, [c'\n");
    let size = [("UNFURL_INPUT_SIZE", "large")];
    let words = [
        &SAVE[..],
        &["--var", "input_port", "19101", "--var-file", "vars.yaml"],
    ]
    .concat();
    with_variables(&env, &size, &words)
        .succeeds()
        .says(&["saved in `spec.inputs` of the ensemble: `port`, `greeting`, `size`"]);
    let saved = &env.ensemble()["spec"]["inputs"];
    assert_eq!(
        *saved,
        serde_json::json!({"port": 19101, "greeting": " a: b, [c", "size": "large"})
    );
    let before = env.tracked();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(!run.stderr.contains("at the last job"), "{run}");
    assert_eq!(env.tracked(), before);
    assert_eq!(env.read("out"), "a: b, [c 19101\n");
    // The same values again change no byte.
    with_variables(&env, &size, &words)
        .succeeds()
        .says(&["`--save-inputs` has nothing to save"]);
    assert_eq!(env.tracked(), before);
}

#[test]
fn comments_and_style_of_the_ensemble_stay() {
    for (before, after) in [
        (
            "  # Values.\n  inputs:   # of this place\n    port: 1   # as agreed\n\n    greeting: hi\nmore: x\n",
            "  # Values.\n  inputs:   # of this place\n    port: 9   # as agreed\n\n    greeting: hi\n    size: large\nmore: x\n",
        ),
        (
            "  inputs: {port: 1, greeting: hi} # flow\n",
            "  inputs: {port: 9, greeting: hi, size: large} # flow\n",
        ),
        (
            "  inputs: {}\n",
            "  inputs:\n    port: 9\n    size: large\n",
        ),
        ("  inputs:\n", "  inputs:\n    port: 9\n    size: large\n"),
        ("", "  inputs:\n    port: 9\n    size: large\n"),
    ] {
        let env = service_with(before);
        save(
            &env,
            &["--var", "input_port", "9", "--var", "input_size", "large"],
        )
        .succeeds();
        let text = env.read("ensemble.yaml");
        let expected = format!("{}{after}", service().build());
        assert!(text.starts_with(&expected), "{before}\n->\n{text}");
        env.unfurl(["validate"]).succeeds();
    }
}

#[test]
fn nothing_is_saved_unless_the_job_goes_ahead() {
    let env = service().env();
    let before = env.tracked();
    let words = ["--var", "input_port", "9", "--save-inputs"];
    let with = |command: &[&'static str]| env.unfurl(command.iter().chain(&words));
    with(&["deploy"]).says(&["the plan needs approval"]);
    assert_eq!(env.tracked(), before);
    with(&["deploy", "--approve", "--dryrun"]).says(&["a dry run saves no inputs"]);
    assert_eq!(env.tracked(), before);
    with(&["plan"]).exits(2);
    save(&env, &["--var", "input_port", "0"]).exits(64);
    assert_eq!(env.tracked(), before);
    // With nothing to do, the values are saved as well.
    env.unfurl(["deploy", "--approve", "--var", "input_port", "9"])
        .succeeds();
    save(&env, &["--var", "input_port", "9"]).succeeds();
    assert_eq!(spec(&env), "  inputs:\n    port: 9");
    let before = env.tracked();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.tracked(), before);
}

#[test]
fn a_failed_job_has_saved_its_values() {
    let env = service().env();
    let text = env
        .read("ensemble.yaml")
        .replace("echo {{ inputs.text }} >> out", "sh -c 'exit 3'");
    env.write("ensemble.yaml", &text);
    let run = save(&env, &["--var", "input_port", "9", "--output", "json"]).exits(64);
    assert_eq!(run.json()["savedInputs"], serde_json::json!(["port"]));
    assert_eq!(spec(&env), "  inputs:\n    port: 9");
}

#[test]
fn a_killed_job_has_saved_its_values() {
    let env = service().env();
    let text = env.read("ensemble.yaml");
    let killing = "kill -9 $(cat ensemble.yaml.lock); sleep 9";
    let text = text.replace("echo {{ inputs.text }} >> out", killing);
    env.write("ensemble.yaml", &text);
    assert!(save(&env, &["--var", "input_port", "9"]).code < 0);
    assert_eq!(spec(&env), "  inputs:\n    port: 9");
    env.unfurl(["plan", "--detail"])
        .prints(&["port = 9   spec.inputs, "]);
}

#[test]
fn a_secret_is_not_saved() {
    let env = service().env();
    env.write("vars.yaml", "port: 3\ngreeting: !sensitive s3cret\n");
    let before = env.tracked();
    save(
        &env,
        &["--var", "input_token", "s3cret", "--var", "input_port", "9"],
    )
    .exits(1)
    .says(&[
        "input `token` (`--var input_token`) is sensitive",
        "`token: {get_env: VARIABLE}`",
        "secrets",
    ]);
    let run = save(&env, &["--var-file", "vars.yaml"]).exits(1);
    assert!(!run.to_string().contains("s3cret"), "{run}");
    assert_eq!(env.tracked(), before);
    // The advice works.
    let text = format!(
        "{}  inputs: {{token: {{get_env: TOKEN}}}}\n",
        service().build()
    );
    env.write("ensemble.yaml", &text);
    with_variables(&env, &[("TOKEN", "s3cret")], &["plan"])
        .succeeds()
        .prints(&["token = \"<<REDACTED>>\""]);
}

#[test]
fn a_value_that_the_environment_or_another_file_sets_is_refused_with_its_place() {
    let env = service().env();
    let project = "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles: [{file: ensemble.yaml}]\n";
    env.write(
        "unfurl.yaml",
        &format!("{project}environments: {{defaults: {{inputs: {{port: 3}}}}}}\n"),
    );
    save(&env, &["--var", "input_port", "9"])
        .exits(1)
        .says(&["the environment sets it", "unfurl.yaml:4:42"]);

    let env = service_with("  inputs:\n    +include: inputs.yaml\n    size: small\n");
    env.write("inputs.yaml", "port: 4\n");
    let before = env.tracked();
    save(&env, &["--var", "input_port", "9"]).exits(1).says(&[
        "its value is included from another place",
        "inputs.yaml:1:7",
    ]);
    assert_eq!(env.tracked(), before);
    save(
        &env,
        &[
            "--var",
            "input_size",
            "large",
            "--var",
            "input_greeting",
            "hi",
        ],
    )
    .succeeds();
    assert_eq!(
        spec(&env),
        "  inputs:\n    +include: inputs.yaml\n    size: large\n    greeting: hi"
    );

    let env = service_with("  inputs: *values\nvalues: &values {port: 4}\n");
    let text = env.read("ensemble.yaml").replacen(
        "kind: Ensemble\n",
        "kind: Ensemble\nvalues: &values {port: 4}\n",
        1,
    );
    env.write(
        "ensemble.yaml",
        &text.replace("*values\nvalues: &values {port: 4}\n", "*values\n"),
    );
    save(&env, &["--var", "input_port", "9"])
        .exits(1)
        .says(&["the inputs cannot be saved in", "alias"]);
}

#[test]
fn saved_values_are_committed_with_the_record() {
    let env = service().env();
    env.git(&["init", "-q"]);
    env.git(&["add", "ensemble.yaml"]);
    env.git(&["commit", "-qm", "first"]);
    save(&env, &["--commit", "--var", "input_port", "9"]).succeeds();
    assert_eq!(
        env.git(&["status", "--porcelain", "--", "ensemble.yaml"]),
        ""
    );
    assert!(
        env.git(&["show", "HEAD:ensemble.yaml"])
            .contains("    port: 9\n")
    );
    env.unfurl([
        "deploy",
        "--approve",
        "--commit",
        "--var",
        "input_size",
        "large",
    ])
    .succeeds();
    // Nothing runs, because no task reads `size`.
    save(&env, &["--commit", "--var", "input_size", "large"]).succeeds();
    assert!(
        env.git(&["show", "HEAD:ensemble.yaml"])
            .contains("    size: large\n")
    );
    assert_eq!(env.git(&["log", "-1", "--format=%s"]), "Save inputs: size");
}

#[test]
fn every_job_can_save() {
    let env = service().env();
    for (command, port) in [
        ("check", "1"),
        ("stop", "2"),
        ("discover", "3"),
        ("teardown", "4"),
    ] {
        env.unfurl([
            command,
            "--approve",
            "--save-inputs",
            "--var",
            "input_port",
            port,
        ])
        .succeeds();
        assert_eq!(
            spec(&env),
            format!("  inputs:\n    port: {port}"),
            "{command}"
        );
    }
    let words = [
        "run",
        "--approve",
        "--save-inputs",
        "--var",
        "input_port",
        "5",
        "--",
        "true",
    ];
    env.unfurl(words).succeeds();
    assert_eq!(spec(&env), "  inputs:\n    port: 5");
}

#[test]
fn names_that_are_unusual_keys_are_saved_under_their_names() {
    let inputs =
        "inputs: {a/b: {default: 1}, '~c': {default: 2}, 'd e': {default: 3}, 'yes': {default: 4}}";
    let env = super::topology(inputs).env();
    let names = ["input_a/b", "input_~c", "input_d e", "input_yes"];
    let words = names.iter().flat_map(|name| ["--var", name, "'9: 9'"]);
    save(&env, &words.collect::<Vec<_>>()).succeeds();
    let saved = &env.ensemble()["spec"]["inputs"];
    assert_eq!(
        *saved,
        serde_json::json!({"a/b": "9: 9", "~c": "9: 9", "d e": "9: 9", "yes": "9: 9"})
    );
}
