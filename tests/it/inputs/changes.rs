//! A job that would use other values than the last one says so.

use super::{service, service_with, with_variables};

#[test]
fn every_job_says_that_an_input_has_another_value_than_at_the_last_job() {
    let env = service().env();
    env.unfurl(["deploy", "--approve", "--var", "input_port", "19101"])
        .succeeds();
    let notice = "warning: input `port`: 19101 at the last job, 8080 now (the default)";
    for command in ["plan", "check", "teardown", "deploy", "discover", "stop"] {
        let run = env.unfurl([command, "--dryrun"]);
        let stderr = run.stderr.clone();
        run.says(&[notice, "ensemble.yaml:8:", "`--var input_port VALUE`"]);
        let before_prompt = stderr.find("proceed with job?");
        assert!(
            before_prompt.is_none_or(|prompt| stderr.find(notice) < Some(prompt)),
            "{stderr}"
        );
    }
    env.unfurl(["run", "-a", "--", "true"]).says(&[notice]);
    env.unfurl(["explain", "app"]).says(&[notice]);
    let run = env.unfurl(["check", "--dryrun", "--output", "json"]);
    let message = run.json()["problems"][0]["message"].to_string();
    assert!(message.contains("19101 at the last job"), "{message}");
    let run = env.unfurl(["plan", "--output", "json", "--why"]);
    let json = run.json();
    let port = &json.as_array().unwrap().last().unwrap()["inputs"][0];
    assert_eq!(port["last"], 19101, "{port}");
    assert_eq!(port["value"], 8080, "{port}");
    // The value of the last job is no change.
    let run = env
        .unfurl(["check", "--var", "input_port", "19101"])
        .succeeds();
    assert!(!run.stderr.contains("at the last job"), "{run}");
    assert_eq!(env.read("checked"), "19101\n");
    with_variables(&env, &[("UNFURL_INPUT_PORT", "7")], &["plan"])
        .succeeds()
        .says(&["19101 at the last job, 7 now (the variable `UNFURL_INPUT_PORT`)"])
        .prints(&["~ port: 19101 -> 7   UNFURL_INPUT_PORT"]);
}

#[test]
fn a_declined_job_changes_nothing_and_the_next_one_says_it_again() {
    let env = service().env();
    env.unfurl(["deploy", "--approve", "--var", "input_port", "1"])
        .succeeds();
    let before = env.tracked();
    for _ in 0..2 {
        env.unfurl(["deploy"])
            .says(&["input `port`: 1 at the last job, 8080 now"]);
        assert_eq!(env.tracked(), before);
    }
    env.unfurl(["deploy", "--approve"]).succeeds();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(!run.stderr.contains("at the last job"), "{run}");
}

#[test]
fn another_secret_value_is_noticed_without_showing_it() {
    let env = service().env();
    let text = env.read("ensemble.yaml");
    let plain = "implementation: echo {{ inputs.text }} >> out";
    let indent = text
        .lines()
        .find_map(|line| line.strip_suffix(plain))
        .unwrap();
    let text = text.replace(
        plain,
        &format!(
            "implementation: echo $TOKEN > out\n{indent}environment: {{TOKEN: {{get_input: token}}}}"
        ),
    );
    env.write("ensemble.yaml", &text);
    let secret = ["--var", "input_token", "s3cret"];
    let with = |words: &[&'static str]| env.unfurl([words, &secret].concat());
    with(&["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("out"), "s3cret\n");
    let notice =
        "warning: input `token` has another secret value than at the last job (the default)";
    for words in [
        &["plan"][..],
        &["check", "--dryrun"],
        &["teardown", "--dryrun"],
        &["plan", "--output", "json", "--why"],
    ] {
        let run = env.unfurl(words).says(&[notice]);
        assert!(
            !run.to_string().contains("s3cret") && !run.to_string().contains("t0ken"),
            "{run}"
        );
        let run = with(words);
        assert!(!run.stderr.contains("at the last job"), "{run}");
    }
    env.unfurl(["plan"])
        .prints(&["~ token: changed (secret)   default, ensemble.yaml:11:40"]);
    let before = env.tracked();
    with(&["deploy", "--approve"]).succeeds();
    assert_eq!(env.tracked(), before);
}

#[test]
fn the_status_is_shown_without_the_values_that_a_job_was_given() {
    let env = service().env();
    let text = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &text.replace(
            "greeting: {type: string, default: hello}",
            "greeting: {type: string}",
        ),
    );
    env.unfurl(["deploy", "--approve", "--var", "input_greeting", "hi"])
        .succeeds();
    env.unfurl(["status"]).succeeds().prints(&["app"]);
    let missing = ["input `greeting` is missing", "--var input_greeting VALUE"];
    env.unfurl(["check"]).succeeds().says(&missing);
    env.unfurl(["plan"]).exits(64).says(&missing);
}

#[test]
fn a_secret_input_is_never_shown() {
    let env = service().env();
    env.unfurl(["deploy", "--approve", "--var", "input_token", "s3cret"])
        .succeeds();
    for arguments in [
        &["plan"][..],
        &["plan", "--output", "json", "--why"],
        &["check"],
    ] {
        let run = env.unfurl(arguments).succeeds();
        assert!(!run.to_string().contains("s3cret"), "{run}");
        assert!(!run.to_string().contains("t0ken"), "{run}");
    }
}

#[test]
fn values_that_are_equal_in_another_form_are_no_change() {
    let env = service_with(
        "  inputs: {port: {eval: '::app::number'}, greeting: {q: {a: [1, 2.5, null]}}}\n",
    );
    let text = env
        .read("ensemble.yaml")
        .replace("greeting: {type: string,", "greeting: {type: any,");
    env.write(
        "ensemble.yaml",
        &text.replace(
            "            type: tosca.nodes.Root\n",
            "            type: unfurl.nodes.Generic\n            properties: {number: 17}\n",
        ),
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    let run = env.unfurl(["check"]).succeeds();
    assert!(!run.stderr.contains("at the last job"), "{run}");
}
