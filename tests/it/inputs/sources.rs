//! Where values of inputs come from, which of them wins, and what is said about wrong ones.

use super::{service, service_with, with_variables};
use crate::support::TestEnv;

const PROJECT: &str = "apiVersion: unfurl/v1.0.0
kind: Project
ensembles: [{file: ensemble.yaml}]
environments:
  defaults: {inputs: {port: 3}}
";

fn port(env: &TestEnv, variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut words = vec!["plan", "--query", "::root::inputs::port"];
    words.extend(arguments);
    let run = with_variables(env, variables, &words).succeeds();
    let (_, result) = run.stdout.split_once("Result:\n").unwrap();
    result.trim().to_owned()
}

#[test]
fn each_source_goes_before_the_next_one() {
    let env = service_with("  inputs: {port: 2}\n");
    let variable = [("UNFURL_INPUT_PORT", "4")];
    env.write("five.yaml", "port: 5\ngreeting: hi\n");
    env.write("six.json", "{\"port\": 6}");
    let files = ["--var-file", "five.yaml", "--var-file", "six.json"];
    let all = [&files[..], &["--var", "input_port", "7"]].concat();
    assert_eq!(port(&env, &[], &[]), "2");
    env.write("unfurl.yaml", PROJECT);
    assert_eq!(port(&env, &[], &[]), "3");
    assert_eq!(port(&env, &variable, &[]), "4");
    assert_eq!(port(&env, &variable, &files[..2]), "5");
    assert_eq!(port(&env, &variable, &files), "6");
    assert_eq!(port(&env, &variable, &all), "7");
    assert_eq!(port(&service().env(), &[], &[]), "8080");
}

#[test]
fn the_exact_name_of_a_variable_goes_before_capital_letters() {
    let env = service().env();
    let both = [("UNFURL_INPUT_PORT", "1"), ("UNFURL_INPUT_port", "2")];
    assert_eq!(port(&env, &both, &[]), "2");
    assert_eq!(port(&env, &[("UNFURL_INPUT_PORT", "")], &[]), "8080");
}

#[test]
fn a_variable_that_could_mean_two_inputs_is_refused() {
    let env = super::topology(
        "inputs: {a-b: {type: integer, default: 1}, a_b: {default: 2}, c.d: {default: 3}}",
    )
    .env();
    let run = |name| with_variables(&env, &[(name, "9")], &["plan"]);
    run("UNFURL_INPUT_A_B")
        .exits(64)
        .says(&["error: the variable `UNFURL_INPUT_A_B` could set the inputs `a-b`, `a_b`"]);
    let values = |name| {
        let words = ["plan", "--output", "json", "--why"];
        let run = with_variables(&env, &[(name, "9")], &words).succeeds();
        let json = run.json();
        let inputs = json.as_array().unwrap().last().unwrap()["inputs"].clone();
        let inputs = inputs.as_array().unwrap().iter();
        let values =
            inputs.map(|input| format!("{}: {}", input["name"].as_str().unwrap(), input["value"]));
        values.collect::<Vec<_>>()
    };
    assert_eq!(values("UNFURL_INPUT_a_b"), ["a-b: 1", "a_b: 9", "c.d: 3"]);
    assert_eq!(values("UNFURL_INPUT_C_D"), ["a-b: 1", "a_b: 2", "c.d: 9"]);
}

#[test]
fn the_standard_input_is_a_file_of_inputs() {
    let env = service().env();
    let run = env.unfurl_after(
        "echo 'port: 5' > given; exec < given",
        &["plan", "--var-file", "-"],
    );
    run.succeeds()
        .prints(&["port = 5   --var-file, <stdin>:1:7"]);
    env.unfurl(["plan", "--var-file", "-", "--var-file", "-"])
        .exits(2)
        .says(&["`--var-file -` is given twice"]);
}

#[test]
fn a_plan_shows_inputs_and_their_sources() {
    let env = service_with("  inputs:\n    size: large\n");
    env.write("unfurl.yaml", &PROJECT.replace("port: 3", "token: s3cret"));
    env.write("vars/a.yaml", "# more\ngreeting: {eval: '::app::.name'}\n");
    let words = [
        "plan",
        "--var-file",
        "vars/a.yaml",
        "--var",
        "input_port",
        "9",
    ];
    let run = env.unfurl(words).succeeds();
    let (_, inputs) = run.stdout.split_once("Changes to inputs:\n").unwrap();
    let (inputs, _) = inputs.split_once("\n\n").unwrap();
    insta::assert_snapshot!(inputs, @r#"
    + port = 9   --var input_port
    + greeting = "app"   --var-file, vars/a.yaml:2:11
    + size = "large"   spec.inputs, ensemble.yaml:26:11
    + token = "<<REDACTED>>"   environment, unfurl.yaml:5:30
    "#);
    let words = [&words[..], &["--output", "json", "--why"]].concat();
    let run = env.unfurl(&words).succeeds();
    assert!(!run.stdout.contains("s3cret"), "{run}");
    let json = run.json();
    let inputs = json.as_array().unwrap().last().unwrap();
    insta::assert_snapshot!(inputs["inputs"][1], @r#"{"name":"greeting","value":"app","source":"file","from":"--var-file","place":{"file":"vars/a.yaml","line":2,"column":11}}"#);
    assert_eq!(inputs["inputs"][0]["source"], "option");
    assert_eq!(inputs["inputs"][3]["value"], "<<REDACTED>>");
    // Without `--why`, the plan has Unfurl's form.
    let run = env.unfurl(["plan", "--output", "json"]).succeeds();
    assert!(!run.stdout.contains("inputs"), "{run}");
}

#[test]
fn a_plan_without_inputs_does_not_mention_them() {
    let env = super::topology("node_templates: {a: {type: tosca.nodes.Root}}").env();
    let run = env.unfurl(["plan"]).succeeds();
    assert!(!run.stdout.contains("inputs"), "{run}");
}

#[test]
fn an_unknown_name_is_refused_before_anything_runs() {
    let env = service().env();
    env.write("vars.yaml", "size: large\nprot: 1\n");
    for command in ["plan", "deploy", "check", "teardown", "stop", "discover"] {
        env.unfurl([command, "--var", "input_prot", "1"])
            .exits(64)
            .says(&[
                "`--var input_prot` sets no input of the service template",
                "did you mean `port`?",
            ]);
        env.unfurl([command, "--var-file", "vars.yaml"])
            .exits(64)
            .says(&[
                "`prot` in a file of `--var-file` is no input",
                "did you mean `port`?",
            ]);
        with_variables(&env, &[("UNFURL_INPUT_PROT", "1")], &[command, "--dryrun"])
            .succeeds()
            .says(&[
                "warning: the variable `UNFURL_INPUT_PROT` sets no input",
                "did you mean `UNFURL_INPUT_PORT`?",
            ]);
    }
    let run = env.unfurl(["run", "--var", "input_x", "1", "--", "touch", "ran"]);
    run.exits(64)
        .says(&["its inputs are `port`, `greeting`, `size`, `token`"]);
    env.unfurl(["plan", "--var", "port", "1"])
        .succeeds()
        .says(&[
            "warning: `--var port` does not set the input `port`",
            "use `--var input_port VALUE`",
        ]);
    env.write("vars.yaml", "input_port: 1\n");
    env.unfurl(["plan", "--var-file", "vars.yaml"])
        .exits(64)
        .says(&["did you mean `port`?"]);
    assert_eq!(env.names(), ["ensemble.yaml", "planned", "vars.yaml"]);
}

#[test]
fn an_unknown_name_has_its_place_unless_a_secret_may_stand_there() {
    let env = super::topology("inputs: {port: {type: integer, default: 1}}").env();
    env.write("vars.yaml", "prot: 1\n");
    env.unfurl(["plan", "--var-file", "vars.yaml"])
        .exits(64)
        .says(&["vars.yaml:1:1"]);
    let env = service().env();
    env.write("vars.yaml", "tokn: s3cret\n");
    let run = env.unfurl(["plan", "--var-file", "vars.yaml"]).exits(64);
    assert!(!run.to_string().contains("s3cret"), "{run}");
}

#[test]
fn a_wrong_value_is_refused_and_its_source_is_named() {
    let env = service().env();
    env.write("vars.yaml", "greeting: hi\nport: many\n");
    env.write("unfurl.yaml", &PROJECT.replace("port: 3", "size: huge"));
    env.unfurl(["plan", "--var", "input_size", "huge"])
        .exits(64)
        .says(&["the value `huge` of input `size` (`--var input_size`) is not one of"]);
    env.unfurl([
        "plan",
        "--var",
        "input_size",
        "small",
        "--var-file",
        "vars.yaml",
    ])
    .exits(64)
    .says(&[
        "the value `many` of input `port` (`--var-file`) is not an integer",
        "vars.yaml:2:7",
    ]);
    let size = [("UNFURL_INPUT_SIZE", "[")];
    with_variables(&env, &size, &["plan"])
        .exits(64)
        .says(&["the value of the variable `UNFURL_INPUT_SIZE` is not YAML"]);
    let size = [
        ("UNFURL_INPUT_size", "small"),
        ("UNFURL_INPUT_PORT", "70000"),
    ];
    with_variables(&env, &size, &["plan"])
        .exits(64)
        .says(&["input `port` (the variable `UNFURL_INPUT_PORT`)"]);
    env.unfurl(["plan"]).exits(64).says(&[
        "of input `size` (the environment) is not one of",
        "unfurl.yaml:5:29",
    ]);
    let run = env.unfurl(["plan", "--output", "json", "--var", "input_size", "huge"]);
    assert!(
        run.json()["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("--var input_size")
    );
}

#[test]
fn a_wrong_secret_is_not_shown() {
    let env = service().env();
    env.write("vars.yaml", "token: [s3cret]\n");
    let run = env.unfurl(["plan", "--var-file", "vars.yaml"]).exits(64);
    assert!(!run.to_string().contains("s3cret"), "{run}");
    run.says(&["input `token` (`--var-file`)"]);
}

#[test]
fn a_file_of_inputs_is_a_readable_map() {
    let env = service().env();
    env.write("list.yaml", "- port\n");
    env.write("broken.yaml", "port: [1\n");
    env.write("empty.yaml", "# nothing\n");
    let plan = |file: &str| env.unfurl(["plan", "--var-file", file]);
    plan("list.yaml").exits(64).says(&[
        "a file of `--var-file` must be a map of inputs, not a list",
        "list.yaml:1:1",
    ]);
    plan("broken.yaml").exits(64).says(&["broken.yaml:"]);
    plan("empty.yaml").succeeds();
    plan("missing.yaml").exits(1).says(&["missing.yaml"]);
    plan(".").exits(1);
    plan("/dev/null").exits(1);
}

#[test]
fn a_missing_input_is_explained_with_the_options_that_set_it() {
    let env = super::topology("inputs: {region: {type: string}}").env();
    let run = env.unfurl(["deploy"]).exits(64);
    insta::assert_snapshot!(run.stderr, @"
    error: input `region` is missing
     --> ensemble.yaml:7:16
      |
    7 |       inputs: {region: {type: string}}
      |                ^^^^^^ declared here, without a default
      |
      = hint: set it with `--var input_region VALUE`, and add `--save-inputs` to keep the value in `spec.inputs` of the ensemble; or set it there or under `inputs` of the environment
    ");
    env.unfurl(["deploy", "--var", "input_region", "eu", "--save-inputs"])
        .succeeds();
    env.unfurl(["deploy"]).succeeds();
}

#[test]
fn a_value_of_the_ensemble_for_no_input_is_an_error_that_stops_no_job() {
    let env = service_with("  inputs: {prot: 1}\n");
    let message = [
        "error: the service template has no input `prot`",
        "ensemble.yaml:25:12",
        "did you mean `port`?",
    ];
    env.unfurl(["plan"]).exits(64).says(&message);
    env.unfurl(["deploy", "--approve"])
        .succeeds()
        .says(&message);
}

#[test]
fn values_for_this_ensemble_do_not_reach_other_ensembles() {
    let env =
        service_with("environment: {external: {other: {manifest: {file: other/ensemble.yaml}}}}\n");
    let other =
        "inputs: {size: {type: integer, default: 5}}\noutputs: {size: {value: {get_input: size}}}";
    env.write("other/ensemble.yaml", &super::topology(other).build());
    let variables = [("UNFURL_INPUT_SIZE", "large")];
    with_variables(&env, &variables, &["plan"]).succeeds();
}

/// Calls a plan with a file `given` as the standard input, and returns the value of an input there.
fn planned(env: &TestEnv, name: &str, word: &str) -> String {
    let name = format!("input_{name}");
    let words = ["plan", "--output", "json", "--why", "--var", &name, word];
    let run = env.unfurl_after("exec < given", &words).succeeds();
    let json = run.json();
    let inputs = &json.as_array().unwrap().last().unwrap()["inputs"];
    let found = inputs.as_array().unwrap().iter();
    let mut found = found.filter(|input| name.ends_with(input["name"].as_str().unwrap()));
    found.next().unwrap()["value"].to_string()
}

#[test]
fn an_option_takes_its_value_from_a_file_or_from_the_standard_input() {
    let env = service().env();
    for (text, greeting) in [
        ("hi\n", "\"hi\""),
        ("hi", "\"hi\""),
        ("hi\r\n", "\"hi\""),
        ("a\nb\n\n", "\"a\\nb\\n\""),
        ("8080", "\"8080\""),
        ("- [x: {", "\"- [x: {\""),
        ("yes: no", "\"yes: no\""),
        ("{{ 1 + 1 }", "\"{{ 1 + 1 }\""),
        ("@f", "\"@f\""),
        ("", "\"\""),
    ] {
        env.write("given", text);
        assert_eq!(planned(&env, "greeting", "@given"), greeting, "{text:?}");
        assert_eq!(planned(&env, "greeting", "-"), greeting, "{text:?}");
    }
    assert_eq!(planned(&env, "greeting", "@@given"), "\"@given\"");
    assert_eq!(planned(&env, "greeting", "@@@x"), "\"@@x\"");
    assert_eq!(planned(&env, "greeting", "a@b"), "\"a@b\"");
    // A value that is no text is YAML, as on the command line.
    env.write("given", "17\n");
    assert_eq!(planned(&env, "port", "@given"), "17");
    let word = env.work().join("given").display().to_string();
    assert_eq!(planned(&env, "port", &format!("@{word}")), "17");
    for words in [
        ["--var", "input_port=@given"],
        ["--var=input_port=17", "-v"],
    ] {
        let run = env.unfurl([&["plan"], &words[..]].concat()).succeeds();
        assert!(run.stdout.contains("port = 17 "), "{run}");
    }
}

#[test]
fn a_file_for_an_option_is_a_regular_file_of_text() {
    let env = service().env();
    env.write("binary", "");
    std::fs::write(env.work().join("binary"), [0xff, 0xfe]).unwrap();
    nix::unistd::mkfifo(&env.work().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (word, expected) in [
        ("@nothing", "nothing"),
        ("@", "names no file after `@`"),
        ("@.", "."),
        ("@pipe", "pipe"),
        ("@/dev/zero", "/dev/zero"),
        ("@binary", "is not text in UTF-8"),
    ] {
        let run = env.unfurl(["plan", "--var", "input_greeting", word]);
        assert!(
            run.code != 0 && run.stderr.contains(expected),
            "{word}: {run}"
        );
    }
    for words in [
        ["--var", "input_greeting", "-", "--var", "input_size", "-"],
        ["--var", "input_greeting", "-", "--var-file", "-", "-v"],
    ] {
        env.unfurl([&["plan"], &words[..]].concat())
            .exits(2)
            .says(&["both take the standard input"]);
    }
    env.write("long", &"x".repeat(2000));
    let words = ["plan", "--max-value", "1KiB", "--var", "input_greeting"];
    env.unfurl([&words[..], &["@long"]].concat()).exits(1);
    let run = env.unfurl_after("exec < long", &[&words[..], &["-"]].concat());
    run.exits(1)
        .says(&["too long for `--var input_greeting -`", "--max-value"]);
}

#[test]
fn a_secret_from_a_file_is_on_no_command_line_and_in_no_output() {
    let env = service().env();
    env.write("pw", "s3cr3tword\n");
    let text = env.read("ensemble.yaml").replace(
        "echo {{ inputs.text }} >> out",
        "tr '\\\\0' ' ' < /proc/$PPID/cmdline > line; echo {{ '::root::inputs::token' | eval }} {{ input_token }} > out",
    );
    env.write("ensemble.yaml", &text);
    let run = env.unfurl(["deploy", "--approve", "--var", "input_token", "@pw", "-vv"]);
    let run = run.succeeds();
    assert_eq!(env.read("out"), "s3cr3tword s3cr3tword\n");
    assert!(!run.all().contains("s3cr3t"), "{run}");
    assert!(!env.read("line").contains("s3cr3t"), "{}", env.read("line"));
    for (name, bytes) in env.files() {
        let is_own = name.ends_with("work/pw") || name.ends_with("work/out");
        let text = String::from_utf8_lossy(&bytes);
        assert!(is_own || !text.contains("s3cr3tword"), "{name}: {text}");
    }
}
