//! Checks of the ensemble itself: files, environment, inputs, implementations, locks and records.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::TestEnv;

use super::{EMPTY, checks, doctor, find, is_fixed_by_its_command, shell, with_operation};

#[test]
fn an_example_has_no_problems_and_the_last_line_is_the_verdict() {
    let env = TestEnv::with_example("hello");
    let before = env.files();
    let run = env.unfurl(["doctor"]).succeeds();
    assert_eq!(
        run.stdout.lines().last(),
        Some("Ready for this ensemble: no problems were found."),
        "{run}"
    );
    run.prints(&[
        "ok       environment: the defaults apply\n",
        "found: rm, tee\n",
    ]);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let run = env.unfurl(["doctor"]).succeeds();
    run.prints(&["ok       record: complete up to job A"]);
    assert_ne!(env.files(), before);
}

#[test]
fn every_example_passes() {
    requires!("python3");
    for name in ["hello", "states", "tasks", "webapp"] {
        let env = TestEnv::with_example(name);
        let run = doctor(&env, &[]);
        for check in checks(&run) {
            let state = check["state"].as_str().unwrap();
            assert!(matches!(state, "ok" | "note"), "{name}: {check}");
        }
    }
}

#[test]
fn nothing_is_written() {
    let env = TestEnv::with_example("hello");
    env.git(&["init", "--quiet"]);
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "-m", "first"]);
    let before = env.files();
    env.unfurl(["doctor", "--commit"]).succeeds();
    assert_eq!(env.files(), before);
}

#[test]
fn an_error_of_the_files_has_its_place_and_the_command_that_shows_it() {
    let env = TestEnv::with_ensemble(&with_operation("").replace("tosca:Root", "tosca.nodes.Rot"));
    let run = doctor(&env, &[]);
    let found = find(&checks(&run), "model", "tosca.nodes.Rot").unwrap();
    assert_eq!(found["state"], "error", "{run}");
    assert_eq!(found["place"]["file"], "ensemble.yaml", "{run}");
    assert_eq!(found["place"]["line"], 8, "{run}");
    assert_eq!(found["fix"], "unfurl validate", "{run}");
    let run = env.unfurl(["doctor"]).exits(1);
    run.prints(&["         at: ensemble.yaml:8:"]);
}

#[test]
fn files_that_cannot_be_read_are_an_error_and_no_crash() {
    for text in [
        "",
        "a: [",
        "\u{0}",
        "kind: Ensemble\n",
        "- 1\n",
        "spec: {a: *b}\n",
    ] {
        let env = TestEnv::with_ensemble(text);
        let run = doctor(&env, &[]);
        assert!(
            checks(&run).iter().any(|check| check["state"] == "error"),
            "{run}"
        );
        let verdict = env.unfurl(["doctor"]).exits(1);
        assert!(
            verdict.stdout.contains("Not ready for this ensemble: "),
            "{verdict}"
        );
    }
    let env = TestEnv::new();
    fs::create_dir(env.work().join("ensemble.yaml")).unwrap();
    assert_eq!(doctor(&env, &[]).code, 1);
    assert_eq!(doctor(&env, &["nowhere"]).code, 1);
}

#[test]
fn a_missing_input_is_named_and_the_command_sets_it() {
    let text = EMPTY.replace(
        "    topology_template:\n",
        "    topology_template:\n      inputs:\n        region: {type: string}\n",
    );
    let env = TestEnv::with_ensemble(&text);
    let run = doctor(&env, &[]);
    let found = find(&checks(&run), "inputs", "`region`").unwrap();
    assert_eq!(found["state"], "error", "{run}");
    let fix = found["fix"].as_str().unwrap();
    assert!(fix.contains("--var input_region VALUE"), "{run}");
    let fixed = shell(&env, &format!("{fix} --approve"));
    assert_eq!(fixed.code, 0, "{fixed}");
    env.write(
        "ensemble.yaml",
        &text.replace("spec:\n", "spec:\n  inputs: {region: eu}\n"),
    );
    let run = doctor(&env, &[]).succeeds();
    assert!(
        find(&checks(&run), "inputs", "all required").is_some(),
        "{run}"
    );
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let env = TestEnv::with_ensemble(&with_operation(
        "{implementation: Shell, inputs: {command: 'echo {{ 1 }}', who: {get_env: SHOP_WHO}}}",
    ));
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nenvironments: {defaults: {variables: {+SHOP_TOKEN: }}}\n",
    );
    let run = doctor(&env, &[]);
    let passed_on = find(&checks(&run), "variables", "`SHOP_TOKEN`").unwrap();
    assert_eq!(passed_on["state"], "warning", "{run}");
    let read = find(&checks(&run), "variables", "`SHOP_WHO`").unwrap();
    assert_eq!(read["state"], "note", "{run}");
    let fixes = [&passed_on, &read].map(|check| check["fix"].as_str().unwrap());
    let line = format!("{}; {}; unfurl doctor --output json", fixes[0], fixes[1]);
    let fixed = shell(&env, &line);
    assert_eq!(find(&checks(&fixed), "variables", ""), None, "{fixed}");
}

#[test]
fn a_program_that_is_missing_is_named_with_the_operation_that_needs_it() {
    let env = TestEnv::with_ensemble(&with_operation("cd /tmp && shop-tool --fast | tee x"));
    let run = doctor(&env, &[]);
    let found = find(
        &checks(&run),
        "programs",
        "`shop-tool` is in no folder of `PATH`",
    )
    .unwrap();
    assert_eq!(found["state"], "warning", "{run}");
    let message = found["message"].as_str().unwrap();
    assert!(
        message.ends_with("needed by `web: Standard.configure`"),
        "{run}"
    );
    assert!(
        found["fix"].as_str().unwrap().contains("install shop-tool"),
        "{run}"
    );
    assert_eq!(found["place"]["file"], "ensemble.yaml", "{run}");
    assert!(
        find(&checks(&run), "programs", "found: tee").is_some(),
        "{run}"
    );
}

#[test]
fn a_script_that_is_not_executable_is_named() {
    let env = TestEnv::with_ensemble(&with_operation("./run.sh now"));
    let run = doctor(&env, &[]);
    assert!(
        find(&checks(&run), "programs", "run.sh` does not exist").is_some(),
        "{run}"
    );
    env.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(env.work().join("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    is_fixed_by_its_command(
        &env,
        &[],
        ("warning", "programs", "run.sh` is not executable"),
    );
}

#[test]
fn programs_that_no_operation_needs_are_not_checked() {
    let env = TestEnv::with_ensemble(EMPTY).variable("PATH", "/nowhere");
    let run = doctor(&env, &[]).succeeds();
    for id in ["programs", "host", "key", "host-key", "remote-lock"] {
        assert_eq!(find(&checks(&run), id, ""), None, "{run}");
    }
}

#[test]
fn a_configurator_that_does_not_exist_is_an_error() {
    for name in ["Kompose", "Supervisor", "my.Configurator"] {
        let env = TestEnv::with_ensemble(&with_operation(&format!(
            "{{implementation: {{className: {name}}}}}"
        )));
        let run = doctor(&env, &[]);
        let found = find(&checks(&run), "configurator", name).unwrap();
        assert_eq!(found["state"], "error", "{run}");
        assert!(found["place"]["line"].is_number(), "{run}");
    }
}

#[test]
fn a_project_that_needs_trust_is_told_and_the_command_grants_it() {
    let text =
        with_operation("{implementation: Template, inputs: {run: \"{{ lookup('pipe', 'id') }}\"}}");
    let env = TestEnv::with_ensemble(&text);
    let home = env.work().with_file_name("home").join("project");
    fs::create_dir(&home).unwrap();
    let project = "apiVersion: unfurl/v1.0.0\nkind: Project\n";
    fs::write(home.join("unfurl.yaml"), project).unwrap();
    let env = env.variable("UNFURL_HOME", home.to_str().unwrap());
    let run = doctor(&env, &["--use-environment", "defaults"]);
    assert!(
        find(&checks(&run), "home-project", "unfurl.yaml").is_some(),
        "{run}"
    );
    is_fixed_by_its_command(
        &env,
        &[],
        ("error", "trust", "the lookup `pipe` is refused"),
    );
    let run = doctor(&env, &[]).succeeds();
    assert!(
        find(&checks(&run), "trust", "you trust the project").is_some(),
        "{run}"
    );
}

#[test]
fn a_service_template_in_python_needs_trust_and_the_command_grants_it() {
    requires!("python3");
    let text = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: {service_template: {+include: model.py}}\n";
    let env = TestEnv::with_ensemble(text).trusted();
    env.write("model.py", "x = 1\n");
    let home = env
        .work()
        .with_file_name("home")
        .join("trusting/unfurl.yaml");
    fs::write(home, "apiVersion: unfurl/v1.0.0\nkind: Project\n").unwrap();
    is_fixed_by_its_command(&env, &[], ("error", "model", "program in Python"));
}

#[test]
fn a_home_project_that_others_can_write_is_told() {
    let env = TestEnv::with_ensemble(EMPTY).trusted();
    let home = env.work().with_file_name("home").join("trusting");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o777)).unwrap();
    is_fixed_by_its_command(
        &env,
        &[],
        ("warning", "home-project", "other users can write"),
    );
}

#[test]
fn a_home_project_that_is_missing_is_told() {
    let env = TestEnv::with_ensemble(EMPTY).variable("UNFURL_HOME", "/nowhere/at/all");
    let run = doctor(&env, &[]);
    let found = find(&checks(&run), "model", "does not exist").unwrap();
    assert_eq!(found["state"], "warning", "{run}");
}

#[test]
fn the_lock_of_a_killed_job_and_its_journal_are_told() {
    let env = TestEnv::with_ensemble(&with_operation("sleep 60"));
    let job = env.start(["deploy", "--approve"]);
    env.wait_for("ensemble.yaml.lock");
    crate::support::wait_for("the journal", || {
        let entries = fs::read_dir(env.work().join("jobs")).ok()?;
        let mut names = entries.map(|entry| entry.unwrap().file_name());
        names.find(|name| name.to_string_lossy().ends_with(".journal"))
    });
    let run = doctor(&env, &[]);
    let held = find(&checks(&run), "lock", "held by").unwrap();
    assert_eq!(held["state"], "warning", "{run}");
    job.signal(nix::sys::signal::Signal::SIGKILL);
    job.ends_by_itself();
    let run = doctor(&env, &[]);
    let stale = find(&checks(&run), "lock", "no longer runs").unwrap();
    assert_eq!(stale["state"], "note", "{run}");
    is_fixed_by_its_command(&env, &[], ("note", "lock", "no longer runs"));
    is_fixed_by_its_command(&env, &[], ("warning", "journal", "not recorded yet"));
}

#[test]
fn a_lock_that_names_no_process_is_an_error() {
    let env = TestEnv::with_ensemble(EMPTY);
    fs::create_dir(env.work().join("ensemble.yaml.lock")).unwrap();
    is_fixed_by_its_command(&env, &[], ("error", "lock", "held by an unknown process"));
}

#[test]
fn a_clock_behind_the_last_job_is_told() {
    let env = TestEnv::with_example("hello");
    env.unfurl(["deploy", "--approve", "--starttime", "2040-01-01T00:00:00Z"])
        .succeeds();
    let run = doctor(&env, &[]);
    let found = find(&checks(&run), "clock", "behind the last job").unwrap();
    assert_eq!(found["state"], "warning", "{run}");
}

#[test]
fn files_that_others_can_write_or_read_are_told() {
    let env = TestEnv::with_example("hello");
    fs::set_permissions(env.work(), fs::Permissions::from_mode(0o777)).unwrap();
    is_fixed_by_its_command(&env, &[], ("warning", "permissions", "every user"));
    env.write("secrets/token", "x");
    let file = env.work().join("secrets/token");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    is_fixed_by_its_command(&env, &[], ("warning", "permissions", "secrets/token"));
}

#[test]
fn an_ensemble_is_named_in_the_commands() {
    let env = TestEnv::new();
    env.write("my shop/ensemble.yaml", EMPTY);
    env.write("my shop/ensemble.yaml.lock", "");
    let run = doctor(&env, &["my shop"]);
    let found = find(&checks(&run), "lock", "").unwrap();
    let fix = found["fix"].as_str().unwrap_or_default().to_owned();
    assert!(fix.is_empty() || fix.ends_with(" 'my shop'"), "{run}");
}
