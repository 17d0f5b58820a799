//! Secrets and values of `locals` in records: encrypted or redacted, compared across releases and across programs.

use serde_json::Value as Json;

use super::support::TestEnv;

/// Deploys and returns the tasks that ran.
#[track_caller]
fn deploy(env: &TestEnv, more: &[&str]) -> Vec<String> {
    let arguments = ["deploy", "--approve", "--output", "json"];
    let run = env.unfurl(arguments.iter().chain(more)).succeeds();
    let answer = run.json();
    let tasks = answer["tasks"].as_array().unwrap().iter();
    let ran = tasks.filter(|task| !task["status"].is_null());
    let word = |task: &Json, key: &str| task[key].as_str().unwrap_or("").to_owned();
    ran.map(|task| format!("{} {}", word(task, "operation"), word(task, "target")))
        .collect()
}

/// An ensemble with a secret property and a secret attribute that a task sets.
const ENSEMBLE: &str = "
apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      App:
        derived_from: tosca.nodes.Root
        properties:
          note: {type: string, default: first}
          password: {type: string, required: false, metadata: {sensitive: true}}
        attributes:
          ticket: {type: any, required: false, metadata: {sensitive: true}}
    topology_template:
      outputs:
        password: {value: {get_property: [setter, password]}}
      node_templates:
        setter:
          type: App
          properties: {password: {get_env: PW}}
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: 'echo {{ SELF.password }}'
                  resultTemplate: {attributes: {ticket: {a: [\"{{ SELF.password }}-1\", 2]}}}
        reader:
          type: App
          requirements: [{dependency: setter}]
          interfaces:
            Standard:
              configure: 'test {{ SELF.note }}{{ \"::setter::ticket::a::0\" | eval }} != x'
              delete: 'test {{ \"::setter::ticket::a::0\" | eval | length }} = 13'
";

fn env() -> TestEnv {
    TestEnv::with_ensemble(ENSEMBLE).variable("PW", "hunter27731")
}

fn all_records(env: &TestEnv) -> String {
    let files = env.files().into_iter();
    let records =
        files.filter(|(path, _)| !path.contains("/active/") && !path.contains("/planned/"));
    records
        .map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned())
        .collect()
}

#[test]
fn with_a_vault_password_secrets_in_records_are_encrypted() {
    let env = env().variable("UNFURL_VAULT_DEFAULT_PASSWORD", "vault-pass");
    assert_eq!(deploy(&env, &[]).len(), 2);
    let text = env.read("ensemble.yaml");
    let status = &text[text.find("\nstatus:").unwrap()..];
    assert!(
        status.contains("        ticket: !vault-json |\n"),
        "{status}"
    );
    assert!(status.contains("        password: !vault |\n"), "{status}");
    assert!(!status.contains("<<REDACTED>>"), "{status}");
    assert!(!all_records(&env).contains("hunter27731"));
    let changes = std::fs::read_dir(env.work().join("changes")).unwrap();
    let changes = changes.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let changes: String = changes.collect();
    assert!(changes.contains("    command: !vault |\n"), "{changes}");
    assert!(changes.contains("    expected: !vault |\n"), "{changes}");
    // A task of a later job reads the secret from the record.
    let before = env.tracked();
    assert_eq!(deploy(&env, &[]), [""; 0]);
    assert_eq!(env.tracked(), before);
    let run = env.unfurl(["teardown", "--approve", "--instance", "reader"]);
    run.succeeds();
}

#[test]
fn a_secret_that_stays_the_same_keeps_its_encrypted_text() {
    let env = env().variable("UNFURL_VAULT_DEFAULT_PASSWORD", "vault-pass");
    deploy(&env, &[]);
    let encrypted = |env: &TestEnv, key: &str| {
        let text = env.read("ensemble.yaml");
        let start = text.find(&format!("\n        {key}: !vault")).unwrap();
        text[start..].split("\n    ").take(6).collect::<String>()
    };
    let (password, token) = (encrypted(&env, "password"), encrypted(&env, "ticket"));
    let text = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &text.replace("default: first", "default: second"),
    );
    assert_eq!(deploy(&env, &[]), ["configure reader"]);
    assert_eq!(encrypted(&env, "password"), password);
    assert_eq!(encrypted(&env, "ticket"), token);
    let env = env.variable("PW", "hunter27732");
    assert!(deploy(&env, &[]).contains(&"configure setter".to_owned()));
    assert_ne!(encrypted(&env, "password"), password);
    assert_ne!(encrypted(&env, "ticket"), token);
}

#[test]
fn without_a_vault_password_secrets_in_records_are_redacted() {
    let env = env();
    deploy(&env, &[]);
    let text = env.read("ensemble.yaml");
    let status = &text[text.find("\nstatus:").unwrap()..];
    assert!(
        status.contains("        ticket: <<REDACTED>>\n"),
        "{status}"
    );
    assert!(!all_records(&env).contains("hunter27731"));
    // With a password, the next job that sets them encrypts them.
    let env = env.variable("UNFURL_VAULT_DEFAULT_PASSWORD", "vault-pass");
    deploy(&env, &["--force"]);
    let text = env.read("ensemble.yaml");
    let status = &text[text.find("\nstatus:").unwrap()..];
    assert!(
        status.contains("        ticket: !vault-json |\n"),
        "{status}"
    );
}

#[test]
fn the_digest_key_of_an_ensemble_has_its_own_salt() {
    let env = env().variable("UNFURL_VAULT_DEFAULT_PASSWORD", "vault-pass");
    deploy(&env, &[]);
    let other = TestEnv::with_ensemble(ENSEMBLE)
        .variable("PW", "hunter27731")
        .variable("UNFURL_VAULT_DEFAULT_PASSWORD", "vault-pass");
    deploy(&other, &[]);
    let field = |env: &TestEnv, name: &str| {
        let table = env.read("jobs.tsv");
        let mut all = table
            .split(['\t', '\n'])
            .filter_map(|field| field.strip_prefix(name));
        let first = all.next().unwrap_or_else(|| panic!("{table}")).to_owned();
        assert!(all.all(|other| other == first), "{table}");
        first
    };
    for name in ["digestKey=", "digestSalt="] {
        assert_ne!(field(&env, name), field(&other, name));
    }
    let salt = field(&env, "digestSalt=");
    assert_eq!(salt.len(), 32);
    deploy(&env, &["--force"]);
    assert_eq!(
        field(&env, "digestSalt="),
        salt,
        "later records keep the salt"
    );
}

/// `tests/data/records/README.md` says how the records were made.
#[test]
fn records_with_the_digest_key_of_the_previous_release_run_nothing_and_get_the_new_one() {
    let env = TestEnv::with_folder("tests/data/records/previous")
        .variable("TOKEN", "token-one")
        .variable("UNFURL_VAULT_DEFAULT_PASSWORD", "vault-pass");
    let before = env.tracked();
    assert_eq!(deploy(&env, &[]), [""; 0]);
    assert_eq!(env.tracked(), before);
    let env = env.variable("TOKEN", "token-two");
    assert_eq!(deploy(&env, &[]), ["configure web"]);
    let table = env.read("jobs.tsv");
    let last = table.lines().last().unwrap();
    assert!(last.contains("\tdigestSalt="), "{table}");
    assert_eq!(deploy(&env, &[]), [""; 0]);
}

#[test]
fn a_secret_input_in_a_record_of_unfurl_is_neither_a_change_nor_shown() {
    let env = TestEnv::with_folder("tests/data/records/unfurl-1.2");
    let before = env.tracked();
    assert_eq!(deploy(&env, &[]), [""; 0]);
    assert_eq!(env.tracked(), before);
    let text = env.read("ensemble.yaml");
    let changed = text.replacen("default: db1", "default: db2", 1);
    env.write("ensemble.yaml", &changed);
    for output in ["text", "json"] {
        let run = env.unfurl(["plan", "--why", "--output", output]).succeeds();
        let run = run.prints(&["db2"]);
        assert!(!run.stdout.contains("secret)"), "{run}");
        assert!(!run.all().contains("s3cretvalue"), "{run}");
    }
    // A secret that did change is named, and no value of it is shown.
    env.write(
        "ensemble.yaml",
        &text.replacen("default: s3cretvalue", "default: 0therv4lue", 1),
    );
    for output in ["text", "json"] {
        let run = env.unfurl(["plan", "--why", "--output", output]).succeeds();
        let run = run.prints(&["pw"]);
        assert!(!run.all().contains("s3cretvalue"), "{run}");
        assert!(!run.all().contains("0therv4lue"), "{run}");
    }
}

const LOCALS: &str = "
apiVersion: unfurl/v1.0.0
kind: Ensemble
environment:
  locals: {where: local-place, port: 8081}
spec:
  inputs: {place: {eval: {local: where}}}
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      App:
        derived_from: tosca.nodes.Root
        properties:
          direct: {type: string, required: false}
          joined: {type: string, required: false}
          any: {type: any, required: false}
          port: {type: integer, default: 1}
    topology_template:
      inputs: {place: {type: string}}
      outputs:
        shown: {value: {get_property: [app, joined]}}
      node_templates:
        app:
          type: App
          properties:
            direct: {eval: {local: where}}
            joined: {concat: [at-, {get_input: place}]}
            any: {list: [1, {eval: {local: where}}]}
            port: {eval: {local: port}}
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: 'echo \"{{ SELF.direct }} {{ SELF.joined }} {{ SELF.any }} {{ SELF.port }}\"'
                  other: {eval: {local: where}}
                  open: '{{ inputs.other | length }} {{ SELF.port }}'
";

#[test]
fn values_of_locals_are_in_no_committed_record_and_still_count() {
    let env = TestEnv::with_ensemble(LOCALS);
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(
        run.stdout.contains("at-local-place"),
        "the screen shows them: {run}"
    );
    let committed = |env: &TestEnv| {
        let text = env.read("ensemble.yaml");
        let mut all = text[text.find("\nstatus:").unwrap()..].to_owned() + &env.read("jobs.tsv");
        for entry in std::fs::read_dir(env.work().join("changes")).unwrap() {
            all += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
        }
        all
    };
    let all = committed(&env);
    let (changes, _) = all.split_once("\ntemplates:").unwrap_or((&all, ""));
    // The digits alone can also be part of a time.
    let mut words = changes.split(|c: char| !c.is_ascii_alphanumeric());
    assert!(
        !changes.contains("local-place") && words.all(|word| word != "8081"),
        "{all}"
    );
    let before = env.tracked();
    assert_eq!(deploy(&env, &[]), [""; 0]);
    assert_eq!(env.tracked(), before);
    let text = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &text.replacen("local-place", "other-place", 1),
    );
    assert_eq!(deploy(&env, &[]), ["configure app"]);
    assert!(!committed(&env).contains("other-place"));
    assert_eq!(deploy(&env, &[]), [""; 0]);
}
