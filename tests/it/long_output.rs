//! Output of tasks that is longer than the part that is kept in memory (D4 of the durability review).

use serde_json::Value as Json;

use super::drafts::nodes;
use super::support::{Run, TestEnv};

/// Prints about two megabytes of JSON without a line end.
const JSON_COMMAND: &str = r#"python3 -c 'import json; print(json.dumps([\"x%d\" % i for i in range(200000)]), end=\"\")'"#;

/// Prints three megabytes of text.
const LONG_COMMAND: &str = "yes xxxxxxxxx | head -c 3000000";

/// An ensemble with one operation: a command, and more inputs in the form of a YAML flow map.
fn task(command: &str, inputs: &str) -> TestEnv {
    nodes(
        "
            a:
              type: tosca.nodes.Root
              interfaces:
                Standard:
                  create:
                    implementation: Shell
                    inputs: {command: \"<command>\", <inputs>}
            ",
    )
    .with("command", command)
    .with("inputs", inputs)
    .env()
}

fn deploy(env: &TestEnv, options: &[&str]) -> Run {
    env.unfurl([&["-q", "deploy", "--approve"], options].concat())
}

/// The recorded attribute `told`.
fn told(env: &TestEnv) -> Json {
    env.ensemble()["status"]["instances"]["a"]["attributes"]["told"].clone()
}

/// The text that [`JSON_COMMAND`] prints.
fn json_text() -> String {
    let words: Vec<String> = (0..200_000).map(|i| format!("\"x{i}\"")).collect();
    format!("[{}]", words.join(", "))
}

/// Asserts that a job failed because of output that is not whole, and that nothing of it became data.
#[track_caller]
fn refuses_the_output(env: &TestEnv, run: Run) {
    run.exits(64).says(&[
        "the output of 3000000 bytes was not kept whole",
        "at most 2 MiB are kept",
        "`--capture 4M` or the task's `capture`",
    ]);
    assert!(told(env).is_null(), "{}", env.ensemble());
}

#[test]
fn an_output_of_two_megabytes_is_an_attribute_byte_for_byte() {
    let env = task(
        JSON_COMMAND,
        "resultTemplate: {attributes: {told: {eval: $stdout}}}",
    );
    deploy(&env, &[]).succeeds();
    assert!(told(&env) == json_text().as_str());
    let again = deploy(&env, &[]).succeeds();
    assert!(again.stdout.contains("Nothing to do"), "{again}");

    let env = task(
        JSON_COMMAND,
        "resultTemplate: {attributes: {told: '{{ stdout }}'}}",
    );
    deploy(&env, &[]).succeeds();
    assert_eq!(told(&env).as_array().unwrap().len(), 200_000);
    assert_eq!(told(&env).to_string().replace(',', ", "), json_text());
}

#[test]
fn an_output_that_is_not_kept_whole_is_never_data() {
    for inputs in [
        "resultTemplate: {attributes: {told: {eval: $stdout}}}",
        "resultTemplate: \"attributes: {told: '{{ stdout | length }}'}\"",
        "resultTemplate: {attributes: {told: \"{{ stdout | default('none') }}\"}}",
        "resultTemplate: {attributes: {told: {eval: {or: [$stdout, none]}}}}",
        "resultTemplate: {readyState: \"{% if 'y' in stdout %}ok{% else %}error{% endif %}\"}",
        "outputsTemplate: {told: '{{ stdout }}'}",
        "done: {success: \"{{ 'y' in result.stdout }}\"}",
        "done: {result: '{{ result }}'}",
    ] {
        let env = task(LONG_COMMAND, inputs);
        refuses_the_output(&env, deploy(&env, &["--capture", "2M"]));
    }
}

#[test]
fn an_output_that_nothing_uses_fails_no_task() {
    for inputs in [
        "echo: false",
        "resultTemplate: {attributes: {told: '{{ returncode }}'}}",
        "done: {success: '{{ result.returncode == 0 }}'}",
        "resultTemplate: {attributes: {told: '{{ stderr }}'}}",
    ] {
        let env = task(LONG_COMMAND, inputs);
        deploy(&env, &["--capture", "2M"]).succeeds();
        let is_noted = |(_, bytes): &(String, Vec<u8>)| {
            String::from_utf8_lossy(bytes).contains("1951424 bytes left out")
        };
        let is_shown = inputs != "echo: false";
        assert_eq!(env.files().iter().any(is_noted), is_shown, "{inputs}");
        let temporary = env.work().join("../tmp");
        assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
    }
}

#[test]
fn the_default_limit_is_64_mib_and_an_option_raises_it() {
    let inputs = "resultTemplate: {attributes: {told: '{{ stdout | length }}'}}";
    let env = task("yes xxxxxxxxx | head -c 70000000", inputs);
    deploy(&env, &[]).exits(64).says(&[
        "the output of 70000000 bytes was not kept whole: at most 64 MiB are kept",
        "`--capture 128M`",
    ]);
    assert!(told(&env).is_null());
    deploy(&env, &["--capture", "100M", "--eval-timeout", "5m"]).succeeds();
    assert_eq!(told(&env), 70_000_000);
}

#[test]
fn a_task_sets_its_own_limit() {
    let with = "resultTemplate: {attributes: {told: '{{ stdout | length }}'}}";
    let env = task(LONG_COMMAND, &format!("capture: 3M, {with}"));
    deploy(&env, &["--capture", "2M"]).succeeds();
    assert_eq!(told(&env), 3_000_000);
    let env = task(LONG_COMMAND, &format!("capture: 2M, {with}"));
    refuses_the_output(&env, deploy(&env, &[]));
}

#[test]
fn a_limit_that_is_no_size_is_refused_before_anything_runs() {
    let env = task("touch ran", "capture: much");
    let run = deploy(&env, &[]);
    assert_ne!(run.code, 0);
    run.does_not_panic().says(&["`much` is not a size"]);
    let env = task("touch ran", "echo: false");
    for wrong in ["0", "much", "1Q", ""] {
        deploy(&env, &["--capture", wrong])
            .exits(2)
            .says(&["--capture"]);
    }
    assert!(!env.names().contains(&"ran".to_owned()));
}

#[cfg(feature = "fault-injection")]
#[test]
fn a_disk_without_room_fails_no_task_unless_its_output_is_used() {
    let full = |env: &TestEnv| {
        let fault = ("UNFURL_TEST_FAULT", "fail:ENOSPC:write=/unfurl-output#2");
        env.unfurl_with(fault, &["-q", "deploy", "--approve"])
    };
    full(&task(LONG_COMMAND, "echo: false")).succeeds();
    let env = task(
        LONG_COMMAND,
        "resultTemplate: {attributes: {told: {eval: $stdout}}}",
    );
    full(&env).exits(64).says(&[
        "the output of 3000000 bytes was not kept whole",
        "/tmp/unfurl-output`: no space left on device",
        "set `TMPDIR`",
    ]);
    assert!(told(&env).is_null());
}

#[test]
fn a_long_output_with_a_secret_is_a_secret() {
    let env = task(
        "echo $TOKEN; yes xxxxxxxxx | head -c 3000000",
        "resultTemplate: {attributes: {told: {eval: $stdout}}}",
    );
    let text = env.read("ensemble.yaml");
    let with_secret = text.replace(
        "implementation: Shell",
        "implementation: {primary: Shell, environment: {TOKEN: {eval: {sensitive: {get_env: GIVEN}}}}}",
    );
    env.write("ensemble.yaml", &with_secret);
    let env = env.variable("GIVEN", "hunter2hunter2");
    deploy(&env, &[]).succeeds();
    assert_eq!(told(&env), "<<REDACTED>>");
    for (path, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hunter2hunter2"), "{path}");
    }
}

#[test]
fn a_gigabyte_of_output_needs_less_than_64_megabytes_of_memory() {
    let look = "grep VmHWM /proc/$PPID/status";
    let env = task(
        &format!("head -c 1G /dev/zero; {look} > memory"),
        "resultTemplate: {attributes: {told: '{{ returncode }}'}}",
    );
    deploy(&env, &[]).succeeds();
    let memory = env.read("memory");
    let kilobytes: u64 = memory.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 64_000, "{memory}");
}

/// Tasks of `tasks.yaml`, one of which registers a long output.
fn tasks(steps: &str) -> TestEnv {
    let env = TestEnv::new();
    let text = format!("tasks:\n  t:\n    steps:\n{steps}");
    env.write("tasks.yaml", &text);
    env
}

#[test]
fn a_registered_output_is_whole_or_its_use_is_an_error() {
    let command =
        "local: yes xxxxxxxxx | head -c 3000000\n        register: r\n        quiet: true\n";
    let length = "      - echo: 'length {{ r.stdout | length }}'\n";
    let code = "      - echo: 'code {{ r.code }}'\n        when: r.ok\n";
    let env = tasks(&format!("      - {command}{length}{code}"));
    env.unfurl(["task", "t"])
        .succeeds()
        .prints(&["length 2999999", "code 0"]);
    let run = env.unfurl(["task", "--capture", "2M", "t"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "the output of 3000000 bytes was not kept whole",
        "`--capture 4M`",
    ]);

    let env = tasks(&format!("      - {command}{code}"));
    env.unfurl(["task", "--capture", "2M", "t"])
        .succeeds()
        .prints(&["code 0"]);
    let env = tasks(&format!("      - {command}        capture: 3M\n{length}"));
    env.unfurl(["task", "--capture", "2M", "t"])
        .succeeds()
        .prints(&["length 2999999"]);
    let env = tasks("      - local: touch ran\n        capture: 0\n");
    let run = env.unfurl(["task", "t"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["`capture` must be more than 0 bytes"]);
    assert!(!env.names().contains(&"ran".to_owned()));
}

#[test]
fn hosts_of_a_role_come_from_a_whole_output_only() {
    let env = TestEnv::new();
    env.write(
        "tasks.yaml",
        "env: {roledefs: {many: {command: 'yes localhost | head -c 3000000'}}}\ntasks: {t: {roles: many, local: touch ran}}\n",
    );
    let run = env.unfurl(["task", "--capture", "2M", "t"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["the command of role `many`: the output of 3000000 bytes was not kept whole"]);
    assert!(!env.names().contains(&"ran".to_owned()));
}

/// The same for states: the output of a command that was cut is neither data nor a condition.
#[test]
fn a_long_output_of_a_state_is_no_data() {
    let deploy_states = |more: &str, read: &str| {
        let env = nodes(
            "
                a:
                  type: tosca.nodes.Root
                  interfaces:
                    Standard:
                      configure:
                        implementation: States
                        inputs:
                          sls: long
                          resultTemplate: {attributes: {told: \"{{ states['cmd_|-long_|-yes x | head -c 3000000_|-run'].<read> }}\"}}
                ",
        )
        .with("read", read)
        .env();
        let state = format!("long:\n  cmd.run:\n    - name: yes x | head -c 3000000\n{more}");
        env.write("states/long.sls", &state);
        let run = deploy(&env, &[]);
        (run, told(&env))
    };
    let (run, told) = deploy_states("", "changes.retcode");
    run.succeeds();
    assert_eq!(told, 0);
    let cut = ["the output of 3000000 bytes was not kept whole: only 1048576 bytes are kept"];
    let (run, told) = deploy_states("", "changes.stdout | length");
    run.exits(64).says(&cut);
    assert!(told.is_null());
    for condition in ["    - stateful: true\n", "    - success_stdout: x\n"] {
        let (run, _) = deploy_states(condition, "changes");
        run.exits(64).says(&cut);
    }
}
