//! Secrets that are stored outside of the project: environment variables, files, programs and `HashiCorp` Vault.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Run, TestEnv};

mod vault_server;

use vault_server::VaultServer;

/// The secret that all backends hold.
const SECRET: &str = "Tr0ub4dor&3";

/// An ensemble whose task needs the secret, with these backends and this call for the secret.
fn project(backends: &str, call: &str) -> TestEnv {
    let env = TestEnv::new();
    let text = format!(
        "apiVersion: unfurl/v1alpha1
kind: Project
ensembles: [{{file: ensemble.yaml, default: true}}]
environments:
  defaults:
    secret_backends:
      {backends}
    secrets:
      db: {{eval: {call}}}
"
    );
    env.write("unfurl.yaml", &text);
    env.write("ensemble.yaml", ENSEMBLE);
    env
}

const ENSEMBLE: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      App:
        derived_from: tosca.nodes.Root
        properties:
          password: {type: string, metadata: {sensitive: true}}
    topology_template:
      node_templates:
        one: &app
          type: App
          properties: {password: {eval: {secret: db}}}
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: 'printf %s \"$PW\" >> got-{{ SELF[\".name\"] }}; echo \"$PW\"'
                environment: {PW: {eval: .::password}}
        two: *app
";

/// Makes a program of the project that counts its calls.
fn program(env: &TestEnv, name: &str, script: &str) {
    env.write(
        name,
        &format!("#!/bin/sh\necho \"$@\" >> calls\n{script}\n"),
    );
    let path = env.work().join(name);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Deploys, and checks that both tasks got the secret and that nothing else shows it.
fn deploys(env: &TestEnv, arguments: &[&str]) -> Run {
    let mut words = vec!["deploy", "--approve", "-vv"];
    words.extend(arguments);
    let run = env.unfurl(words).succeeds();
    for file in ["got-one", "got-two"] {
        assert_eq!(env.read(file), SECRET);
        fs::remove_file(env.work().join(file)).unwrap();
    }
    assert!(!run.all().contains(SECRET), "{run}");
    run
}

/// Checks that no file but those listed contains the secret.
fn is_in_no_other_file(env: &TestEnv, allowed: &[&str]) {
    for (name, bytes) in env.files() {
        let is_found = String::from_utf8_lossy(&bytes).contains(SECRET);
        assert!(
            !is_found || allowed.iter().any(|it| name.ends_with(it)),
            "{name}"
        );
    }
}

#[test]
fn a_secret_comes_from_a_variable_or_a_file_of_the_project() {
    let env = project("own: {env: 'APP_{name}'}", "{get_secret: DB}");
    let env = env.variable("APP_DB", SECRET);
    deploys(&env, &[]);
    is_in_no_other_file(&env, &[]);
    let env = project(
        "own: {file: 'mounted/{name}'}",
        "{get_secret: db/pw, from: own}",
    );
    env.write("mounted/db/pw", &format!("{SECRET}\n"));
    deploys(&env, &[]);
    is_in_no_other_file(&env, &["mounted/db/pw"]);
}

#[test]
fn a_file_outside_of_the_project_needs_a_permission() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("db"), SECRET).unwrap();
    let pattern = format!("own: {{file: '{}/{{name}}'}}", place.path().display());
    let env = project(&pattern, "{get_secret: db}");
    let run = env.unfurl(["plan"]);
    run.says(&["lies outside of the project", "--allow"]);
    deploys(&env, &["--allow", "secrets"]);
}

#[test]
fn a_program_is_asked_once_for_a_job_and_only_with_permission() {
    let backends = "own: {command: [./keeper, show, '{name}']}";
    let env = project(backends, "{get_secret: app/db, from: own}");
    program(&env, "keeper", &format!("echo '{SECRET}'"));
    for command in [
        &["validate"][..],
        &["plan"],
        &["status"],
        &["explain"],
        &["export"],
        &["doctor"],
    ] {
        env.unfurl(command);
        assert!(!env.work().join("calls").exists(), "{command:?}");
    }
    let refused = env.unfurl(["plan"]).exits(64);
    refused.says(&[
        "`secrets` runs a program or asks a server while planning; allow it with `--allow secrets`",
        "ensemble.yaml:",
        "trusted",
    ]);
    let refused = env.unfurl(["deploy", "--approve"]).exits(64);
    refused.says(&["--allow secrets"]);
    assert!(!env.work().join("calls").exists());

    deploys(&env, &["--allow", "secrets"]);
    assert_eq!(env.read("calls"), "show app/db\n");
    is_in_no_other_file(&env, &["keeper"]);
    // Another job asks again, and finds nothing to do.
    let again = env
        .unfurl(["deploy", "--approve", "--allow", "secrets"])
        .succeeds();
    assert_eq!(env.read("calls"), "show app/db\n".repeat(2), "{again}");
    assert!(!env.work().join("got-one").exists(), "{again}");
}

#[test]
fn a_changed_secret_is_a_change() {
    let env = project("own: {env: 'APP_{name}'}", "{get_secret: DB}");
    let env = env.variable("APP_DB", SECRET);
    deploys(&env, &[]);
    let env = env.variable("APP_DB", "another-secret");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("got-one"), "another-secret");
}

#[test]
fn a_trusted_project_needs_no_option() {
    let env = project("own: {command: [./keeper, '{name}']}", "{get_secret: db}").trusted();
    program(&env, "keeper", &format!("printf %s '{SECRET}'"));
    deploys(&env, &[]);
}

#[test]
fn fields_are_those_of_yaml_or_json() {
    let call = "{get_secret: file.json, from: own, field: pw}";
    let env = project("own: {command: [./sops, '{name}']}", call);
    program(
        &env,
        "sops",
        &format!("echo '{{\"pw\": \"{SECRET}\", \"more\": [1]}}'"),
    );
    deploys(&env, &["--allow", "secrets"]);
    assert_eq!(env.read("calls"), "file.json\n");
}

#[test]
fn the_error_of_a_program_names_the_reason_and_shows_no_secret() {
    let backends = "own: {command: [./keeper, '{name}'], timeout: 1}";
    let call = "{get_secret: db, from: own}";
    let token = "hvs.thetokenofmine";
    for (script, expected) in [
        (
            format!("echo '{SECRET}'; echo \"cannot open {SECRET} with $MY_TOKEN\" >&2; exit 3"),
            "ended with exit code 3: cannot open <<REDACTED>> with <<REDACTED>>",
        ),
        ("exit 0".to_owned(), "printed nothing"),
        ("printf '\\377'".to_owned(), "no text in UTF-8"),
        ("sleep 60".to_owned(), "did not end within 1 s"),
        ("kill -9 $$".to_owned(), "exit code 137"),
        (
            "printf '\\033[2Jgone' >&2; exit 1".to_owned(),
            "exit code 1: gone;",
        ),
        (
            "head -c 2000000 /dev/zero | tr '\\0' x".to_owned(),
            "more than 1048576 bytes",
        ),
    ] {
        let env = project(backends, call).variable("MY_TOKEN", token);
        program(&env, "keeper", &script);
        let run = env
            .unfurl(["deploy", "--approve", "--allow", "secrets"])
            .exits(64);
        assert!(run.stderr.contains(expected), "{script}: {run}");
        assert!(
            run.stderr
                .contains("the secret backend `own` did not give `db`"),
            "{run}"
        );
        assert!(
            !run.all().contains(SECRET) && !run.all().contains(token),
            "{run}"
        );
        assert_eq!(env.read("calls"), "db\n", "{script}");
        is_in_no_other_file(&env, &["keeper"]);
    }
    let env = project("own: {command: [no-such-program, '{name}']}", call);
    let run = env
        .unfurl(["deploy", "--approve", "--allow", "secrets"])
        .exits(64);
    run.says(&[
        "`no-such-program` was not found",
        "install `no-such-program`",
    ]);
}

#[test]
fn settings_are_checked_when_the_project_is_loaded() {
    let env = project("own: {comand: [x, '{name}']}", "{get_secret: db}");
    let run = env.unfurl(["validate"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "has no key `comand`",
        "unfurl.yaml:7:13",
        "did you mean `command`?",
    ]);
}

#[test]
fn names_and_options_of_calls_are_checked() {
    for (call, expected) in [
        (
            "{get_secret: ../db}",
            "a part of the name is empty, `.` or `..`",
        ),
        ("{get_secret: -x}", "the name begins with `-`"),
        ("{get_secret: db, form: own}", "has no option `form`"),
        ("{get_secret: db, from: onw}", "did you mean `own`?"),
        ("{get_secret: [1]}", "takes the name of a secret"),
    ] {
        let env = project("own: {env: '{name}'}", call);
        let run = env.unfurl(["deploy", "--approve"]).exits(64);
        assert!(run.stderr.contains(expected), "{call}: {run}");
    }
}

/// Both versions of the store, with the answers that Vault 1.15 gives.
#[test]
fn a_secret_comes_from_vault() {
    for (version, path, body) in [
        (
            2,
            "/v1/kv/data/app/db",
            "{\"request_id\":\"1\",\"lease_id\":\"\",\"renewable\":false,\
            \"lease_duration\":0,\"data\":{\"data\":{\"password\":\"SECRET\",\"user\":\"me\"},\"metadata\":\
            {\"created_time\":\"2026-01-01T00:00:00Z\",\"custom_metadata\":null,\"deletion_time\":\"\",\
            \"destroyed\":false,\"version\":3}},\"wrap_info\":null,\"warnings\":null,\"auth\":null}",
        ),
        (
            1,
            "/v1/kv/app/db",
            "{\"request_id\":\"1\",\"lease_id\":\"\",\"renewable\":false,\
            \"lease_duration\":2764800,\"data\":{\"password\":\"SECRET\"},\"wrap_info\":null,\
            \"warnings\":null,\"auth\":null}",
        ),
    ] {
        let server = VaultServer::start(&[(path, 200, &body.replace("SECRET", SECRET))]);
        let backends = format!("store: {{vault: {{mount: kv, path: app, version: {version}}}}}");
        let env = project(&backends, "{get_secret: db, from: store, field: password}");
        let env = env
            .variable("VAULT_ADDR", &server.url)
            .variable("VAULT_NAMESPACE", "team1");
        let env = env.variable("VAULT_TOKEN", "hvs.mytoken");
        env.unfurl(["plan"]).exits(64);
        assert_eq!(server.requests(), [""; 0]);
        let run = deploys(&env, &["--allow", "secrets"]);
        let [request] = &server.requests()[..] else {
            panic!("{:?}", server.requests());
        };
        assert!(
            request.starts_with(&format!("GET {path} HTTP/1.1\n")),
            "{request}"
        );
        for header in [
            "x-vault-token: hvs.mytoken",
            "x-vault-namespace: team1",
            "x-vault-request: true",
        ] {
            assert!(request.to_lowercase().contains(header), "{request}");
        }
        assert!(!run.all().contains("hvs.mytoken"), "{run}");
        is_in_no_other_file(&env, &[]);
    }
}

#[test]
fn the_token_comes_from_the_file_of_the_login() {
    let body = format!("{{\"data\":{{\"data\":{{\"password\":\"{SECRET}\"}}}}}}");
    let server = VaultServer::start(&[("/v1/secret/data/db", 200, &body)]);
    let env = project("store: {vault: {}}", "{get_secret: db, field: password}");
    let env = env.variable("VAULT_ADDR", &server.url);
    let run = env
        .unfurl(["deploy", "--approve", "--allow", "secrets"])
        .exits(64);
    run.says(&["no token", "vault login"]);
    let file = env.work().join("../home/.vault-token");
    fs::write(&file, "hvs.fromfile\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let run = deploys(&env, &["--allow", "secrets"]);
    assert!(server.requests()[0].contains("hvs.fromfile"));
    assert!(!run.stderr.contains("a token of Vault"), "{run}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let run = env.unfurl(["validate"]).succeeds();
    run.says(&[
        "a token of Vault, and other users can read the file",
        "chmod 600",
    ]);
}

#[test]
fn refusals_of_vault_are_explained() {
    let deleted = "{\"data\":{\"data\":null,\"metadata\":{\"deletion_time\":\"2026-01-01T00:00:00Z\",\
        \"destroyed\":false,\"version\":1}}}";
    for (status, body, expected) in [
        (
            403,
            "{\"errors\":[\"1 error occurred:\\n\\t* permission denied\\n\\n\"]}",
            "status 403: 1 error occurred: * permission denied; log in",
        ),
        (404, "{\"errors\":[]}", "status 404; check the name"),
        (404, deleted, "has deleted its current version"),
        (
            404,
            "{\"errors\":[],\"warnings\":[\"Invalid path for a versioned K/V secrets engine\"]}",
            "Invalid path for a versioned",
        ),
        (
            503,
            "{\"errors\":[\"Vault is sealed\"]}",
            "Vault is sealed; unseal Vault",
        ),
        (
            200,
            "{\"data\":{\"data\":{\"user\":\"me\"}}}",
            "no field `password`",
        ),
        (200, "{\"data\":{}}", "no fields of a secret"),
        (200, "not json", "no fields of a secret"),
    ] {
        let server = VaultServer::start(&[("/v1/secret/data/db", status, body)]);
        let env = project("store: {vault: {}}", "{get_secret: db, field: password}");
        let env = env
            .variable("VAULT_ADDR", &server.url)
            .variable("VAULT_TOKEN", "hvs.mytoken");
        let run = env
            .unfurl(["deploy", "--approve", "--allow", "secrets"])
            .exits(64);
        assert!(run.stderr.contains(expected), "{body}: {run}");
        assert!(
            run.stderr
                .contains("the secret backend `store` did not give `db`"),
            "{run}"
        );
        assert_eq!(server.requests().len(), 1, "{body}");
        assert!(!run.all().contains("hvs.mytoken"), "{run}");
    }
    let env = project(
        "store: {vault: {}, timeout: 2}",
        "{get_secret: db, field: password}",
    );
    let env = env
        .variable("VAULT_ADDR", "http://127.0.0.1:9")
        .variable("VAULT_TOKEN", "t0ken");
    let run = env
        .unfurl(["deploy", "--approve", "--allow", "secrets"])
        .exits(64);
    run.says(&[
        "Vault at `http://127.0.0.1:9` gave no answer",
        "check VAULT_ADDR",
    ]);
}
