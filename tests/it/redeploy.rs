//! Change detection: the operations that a second deploy runs, and those that it skips.

use serde_json::Value as Json;

use super::drafts::{text, topology};
use super::support::TestEnv;

/// Deploys and returns the operation, target and reason of each task that ran.
#[track_caller]
fn deploy(env: &TestEnv, more: &[&str]) -> Vec<String> {
    let arguments = ["deploy", "--approve", "--output", "json"];
    let run = env.unfurl(arguments.iter().chain(more)).does_not_panic();
    let answer = run.json();
    let tasks = answer["tasks"]
        .as_array()
        .unwrap_or_else(|| panic!("{run}"));
    let ran = tasks.iter().filter(|task| !task["status"].is_null());
    let word = |task: &Json, key: &str| task[key].as_str().unwrap_or("").to_owned();
    ran.map(|task| {
        let (operation, target) = (word(task, "operation"), word(task, "target"));
        format!("{operation} {target} {}", word(task, "reason"))
    })
    .collect()
}

/// Asserts that a deploy has nothing to do and changes no tracked file.
#[track_caller]
fn assert_nothing_to_do(env: &TestEnv) {
    let before = env.tracked();
    assert_eq!(deploy(env, &[]), [""; 0]);
    assert_eq!(env.tracked(), before);
}

/// Replaces a text in the model. The record stays as it is.
#[track_caller]
fn edit(env: &TestEnv, old: &str, new: &str) {
    let text = env.read("ensemble.yaml");
    let status = text.find("\nstatus:").unwrap_or(text.len());
    let (model, record) = text.split_at(status);
    assert!(model.contains(old), "{model}");
    env.write("ensemble.yaml", &(model.replace(old, new) + record));
}

fn instance<'j>(ensemble: &'j Json, name: &str) -> &'j Json {
    &ensemble["status"]["instances"][name]
}

/// The last record of an operation.
fn record(env: &TestEnv, operation: &str) -> Json {
    let mut found = Json::Null;
    let mut files: Vec<_> = std::fs::read_dir(env.work().join("changes"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let job: Json = serde_yaml::from_str(&text).unwrap();
        for change in job["changes"].as_array().unwrap() {
            if change["implementation"]["operation"] == operation {
                found = change.clone();
            }
        }
    }
    found
}

/// An ensemble with a node with three operations, each of which reads a different property.
fn three(operations: &str) -> TestEnv {
    topology(
        "
            inputs: {size: {type: string, default: small}}
            node_templates:
              n:
                type: unfurl.nodes.Generic
                properties: {a: one, b: one, c: one}
                interfaces:
                  Standard:
                    <operations>
            ",
    )
    .with("operations", operations)
    .env()
}

const EACH: &str = "              create: echo {{ SELF.a }} {{ TOPOLOGY.inputs.size }}
              configure: echo {{ SELF.b }}
              start: echo {{ SELF.c }}
";

#[test]
fn what_create_configure_or_start_read_runs_from_there_on_when_it_changes() {
    let env = three(EACH);
    let all = ["create n add", "configure n add", "start n add"];
    assert_eq!(deploy(&env, &[]), all);
    assert_nothing_to_do(&env);
    edit(&env, "c: one", "c: two");
    assert_eq!(deploy(&env, &[]), ["start n reconfigure"]);
    assert_nothing_to_do(&env);
    edit(&env, "b: one", "b: two");
    assert_eq!(deploy(&env, &[]), ["configure n reconfigure"]);
    assert_nothing_to_do(&env);
    edit(&env, "a: one", "a: two");
    let again = [
        "create n reconfigure",
        "configure n reconfigure",
        "start n reconfigure",
    ];
    assert_eq!(deploy(&env, &[]), again);
    let ensemble = env.ensemble();
    let ready = &instance(&ensemble, "n")["readyState"];
    assert_eq!(
        (&ready["local"], &ready["state"]),
        (&"ok".into(), &"started".into())
    );
    assert_nothing_to_do(&env);
    edit(&env, "default: small", "default: large");
    assert_eq!(deploy(&env, &[]), again);
    edit(&env, "b: two, c: two", "b: three, c: three");
    assert_eq!(deploy(&env, &[]), again[1..]);
    assert_nothing_to_do(&env);
    edit(&env, "echo {{ SELF.c }}", "printf {{ SELF.c }}");
    assert_eq!(deploy(&env, &[]), ["start n reconfigure"]);
}

#[test]
fn what_later_tasks_set_does_not_make_create_run_again() {
    let env = three(
        "              create:
                implementation: {primary: Shell, environment: {IP: '{{ SELF.ip | default(0) }}'}}
                inputs:
                  command: echo {{ SELF.a }} {{ SELF.b }} {{ SELF.ip | default('none') }} {{ task.reason }}
              configure:
                implementation: Shell
                inputs:
                  command: echo configure
                  resultTemplate: {attributes: {ip: 10.0.0.1, b: set by a task}}
              start: {implementation: Shell, inputs: {command: 'echo {{ SELF.ip | default(2) }} {{ __now }}'}}
",
    );
    assert_eq!(deploy(&env, &[]).len(), 3);
    assert_nothing_to_do(&env);
    edit(&env, "a: one", "a: two");
    assert_eq!(deploy(&env, &[]).len(), 3, "what else it read still counts");
    assert_nothing_to_do(&env);
    edit(&env, "echo {{ SELF.a }}", "printf {{ SELF.a }}");
    assert_eq!(deploy(&env, &[]).len(), 3, "it counts as it is written");
    assert_nothing_to_do(&env);
    edit(&env, "default(0) }}'}", "default(1) }}'}");
    assert_eq!(deploy(&env, &[]).len(), 3, "so does the environment");
}

#[test]
fn variables_that_an_operation_sets_for_its_commands_are_part_of_what_it_reads() {
    let operation = |name: &str| {
        text("
                <name>: {implementation: {primary: Shell, environment: {V: <name>}}, inputs: {command: 'echo $V'}}
                ").with("name", name).build()
    };
    let all = ["create", "configure", "start"].map(operation).concat();
    let env = three(&all.replace(", environment: {V: start}", ""));
    assert_eq!(deploy(&env, &[]).len(), 3);
    assert_nothing_to_do(&env);
    edit(&env, "{V: configure}", "{V: other}");
    assert_eq!(deploy(&env, &[]), ["configure n reconfigure"]);
    edit(&env, "{V: create}", "{V: create, W: more}");
    assert_eq!(deploy(&env, &[]).len(), 3);
    assert_nothing_to_do(&env);
    // An operation that had no variables before.
    let text = env.read("ensemble.yaml");
    let at = text
        .find("start: {implementation: {primary: Shell")
        .unwrap();
    let (before, after) = text.split_at(at);
    let after = after.replacen("{primary: Shell", "{primary: Shell, environment: {V: x}", 1);
    env.write("ensemble.yaml", &(before.to_owned() + &after));
    assert_eq!(deploy(&env, &[]), ["start n reconfigure"]);
    assert_nothing_to_do(&env);
}

#[test]
fn a_record_of_upstreams_fields_alone_compares_configure_as_upstream_does() {
    let env = three(EACH);
    deploy(&env, &[]);
    let table = env.read("jobs.tsv");
    let upstream = |line: &str| {
        let ours = ["digestRead", "digestSha256"];
        let is_ours = |field: &&str| ours.iter().any(|name| field.starts_with(name));
        let fields = line.split('\t').filter(|field| !is_ours(field));
        fields.collect::<Vec<_>>().join("\t") + "\n"
    };
    let stripped: String = table.lines().map(upstream).collect();
    assert_ne!(stripped, table);
    env.write("jobs.tsv", &stripped);
    assert_nothing_to_do(&env);
    edit(&env, "a: one", "a: two");
    edit(&env, "c: one", "c: two");
    assert_eq!(
        deploy(&env, &[]),
        [""; 0],
        "Unfurl has no eye for create and start"
    );
    edit(&env, "b: one", "b: two");
    assert_eq!(deploy(&env, &[]), ["configure n reconfigure"]);
}

#[test]
fn an_input_that_is_new_to_upstreams_record_is_a_change() {
    let text = "              configure: {implementation: Shell, inputs: {command: echo 1}}\n";
    let env = three(text);
    deploy(&env, &[]);
    let table = env.read("jobs.tsv").replace("\tdigestRead=command", "");
    env.write("jobs.tsv", &table);
    edit(
        &env,
        "{command: echo 1}",
        "{command: 'echo {{ inputs.x }}', x: 1}",
    );
    assert_eq!(deploy(&env, &[]), ["configure n reconfigure"]);
}

#[test]
fn a_bring_up_that_fails_in_between_is_finished_by_the_next_job() {
    let env = three(
        "              create: echo {{ SELF.a }}
              configure:
                implementation: Shell
                inputs: {command: 'test ! -e broken', done: {modified: false}}
              start: echo start
",
    );
    assert_eq!(deploy(&env, &[]).len(), 3);
    edit(&env, "a: one", "a: two");
    env.write("broken", "");
    assert_eq!(deploy(&env, &[]).len(), 3, "start is blocked and listed");
    let ensemble = env.ensemble();
    assert_eq!(instance(&ensemble, "n")["readyState"]["local"], "error");
    std::fs::remove_file(env.work().join("broken")).unwrap();
    assert_eq!(deploy(&env, &[]), ["configure n repair", "start n repair"]);
    assert_nothing_to_do(&env);
}

#[test]
fn a_bring_up_that_is_cut_off_in_between_is_finished_by_the_next_job() {
    let env = three(
        "              create: 'echo {{ SELF.a }}; test ! -e broken || { kill -INT $PPID; sleep 0.3; }'
              configure: echo configure
",
    );
    assert_eq!(deploy(&env, &[]).len(), 2);
    edit(&env, "a: one", "a: two");
    env.write("broken", "");
    env.unfurl(["deploy", "--approve"]).exits(130);
    let ensemble = env.ensemble();
    let ready = instance(&ensemble, "n")["readyState"].clone();
    assert_ne!(ready["local"], "ok", "{ready}");
    std::fs::remove_file(env.work().join("broken")).unwrap();
    let ran = deploy(&env, &[]);
    assert!(
        ran.iter().any(|task| task.starts_with("configure n")),
        "{ran:?}"
    );
    assert_nothing_to_do(&env);
}

/// An ensemble with a node that another one manages, a node customized by one of its operations, and a plain
/// node. All read the same input.
fn managed_and_customized() -> TestEnv {
    topology(
        "
            inputs: {size: {type: string, default: small}}
            node_templates:
              plain:
                type: unfurl.nodes.Generic
                interfaces: &same
                  Standard:
                    configure:
                      implementation: Shell
                      inputs: {command: 'echo {{ TOPOLOGY.inputs.size }}', done: {modified: true}}
              custom:
                type: unfurl.nodes.Generic
                interfaces: *same
              managed:
                type: unfurl.nodes.Generic
                interfaces: *same
            ",
    )
    .env()
}

#[test]
fn customized_and_managed_instances_are_compared_only_if_that_is_asked_for() {
    let env = managed_and_customized();
    assert_eq!(deploy(&env, &[]).len(), 3);
    let text = env.read("ensemble.yaml");
    let status = text.find("\nstatus:").unwrap();
    let (model, record) = text.split_at(status);
    let at = |name: &str| record.find(&format!("    {name}:\n")).unwrap();
    let (custom, managed) = (at("custom"), at("managed"));
    let mut record = record.to_owned();
    let line = record[managed..].find("created: ").unwrap() + managed;
    let end = record[line..].find('\n').unwrap() + line;
    record.replace_range(line..end, "created: ::plain");
    let place = record[custom..].find('\n').unwrap() + custom + 1;
    record.insert_str(place, "      customized: A0000000000a\n");
    env.write("ensemble.yaml", &(model.to_owned() + &record));
    edit(&env, "default: small", "default: large");
    assert_eq!(deploy(&env, &["--change-detection", "skip"]), [""; 0]);
    assert_eq!(deploy(&env, &[]), ["configure plain reconfigure"]);
    assert_eq!(deploy(&env, &[]), [""; 0]);
    let others = [
        "configure custom reconfigure",
        "configure managed reconfigure",
    ];
    assert_eq!(deploy(&env, &["--change-detection", "always"]), others);
    let ensemble = env.ensemble();
    assert!(instance(&ensemble, "custom")["customized"].is_null());
    assert_eq!(instance(&ensemble, "managed")["created"], "::plain");
    assert_eq!(deploy(&env, &["--change-detection", "always"]), [""; 0]);
}

#[test]
fn files_and_folders_count_by_what_is_in_them_committed_or_not() {
    let env = three(
        "              create: {implementation: Template, inputs: {run: {eval: {abspath: conf}}}}
              configure: {implementation: Template, inputs: {run: {eval: {file: conf/a}}}}
              start: {implementation: Template, inputs: {run: [{eval: {abspath: b}}, {eval: {container_image: 'app:1'}}]}}
",
    );
    env.write("conf/a", "one");
    env.write("b", "one");
    env.write(".gitignore", "ignored*\njobs/\nplanned/\nactive/\n");
    env.git(&["init", "-q"]);
    assert_eq!(deploy(&env, &[]).len(), 3);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "all"]);
    assert_nothing_to_do(&env);
    env.write("conf/ignored", "x");
    env.write("conf/a", "one");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(90);
    let file = std::fs::File::options()
        .write(true)
        .open(env.work().join("b"))
        .unwrap();
    file.set_modified(later).unwrap();
    assert_nothing_to_do(&env);
    env.write("b", "two");
    assert_eq!(deploy(&env, &[]), ["start n reconfigure"]);
    env.git(&["commit", "-qam", "more"]);
    assert_nothing_to_do(&env);
    env.write("conf/new", "");
    assert_eq!(deploy(&env, &[]).len(), 3);
    assert_nothing_to_do(&env);
    env.write("conf/a", "two");
    assert_eq!(deploy(&env, &[]).len(), 3);
    assert_nothing_to_do(&env);
    edit(&env, "app:1", "app:2");
    assert_eq!(deploy(&env, &[]), ["start n reconfigure"]);
    assert_nothing_to_do(&env);
}

#[test]
fn a_check_that_sees_another_state_is_noted_and_those_that_read_it_follow() {
    let env = topology("
            node_templates:
              db:
                type: unfurl.nodes.Generic
                interfaces: &look
                  Install:
                    check:
                      implementation: Shell
                      inputs:
                        command: cat port
                        resultTemplate: {readyState: ok, attributes: {port: '{{ stdout | trim }}'}}
                  Standard: {configure: {implementation: Shell, inputs: {command: cat port, resultTemplate: {attributes: {port: '{{ stdout | trim }}'}}}}}
              app:
                type: unfurl.nodes.Generic
                requirements: [{dependency: db}]
                interfaces: {Standard: {configure: 'echo {{ NODES.db.port }}'}}
            ").env();
    env.write("port", "1111");
    assert_eq!(deploy(&env, &[]).len(), 2);
    let check = || env.unfurl(["check", "--output", "json"]).succeeds();
    check();
    let ensemble = env.ensemble();
    let unchanged = &instance(&ensemble, "db")["lastStateChange"];
    assert!(unchanged.is_null(), "nothing was different: {unchanged}");
    env.write("port", "2222");
    check();
    let ensemble = env.ensemble();
    let db = instance(&ensemble, "db");
    assert_eq!(db["lastStateChange"], db["lastConfigChange"], "{db}");
    assert_eq!(db["attributes"]["port"], 2222);
    assert!(instance(&ensemble, "app")["lastStateChange"].is_null());
    assert_eq!(deploy(&env, &[]), ["configure app reconfigure"]);
    assert_nothing_to_do(&env);
}

#[test]
fn upstreams_keys_are_in_the_order_in_which_upstream_lists_them() {
    let env = topology("
            node_templates:
              n:
                type: unfurl.nodes.Generic
                properties: {a: 1, b: 2}
                interfaces:
                  Standard:
                    inputs: {z: Z, y: '{{inputs.z}}y', command: 'no', q: 1}
                    create:
                      implementation: {primary: Shell, environment: {FOO: '{{inputs.foo}}'}}
                      inputs:
                        early: 1
                        command: 'echo {{inputs.y}} {{inputs.early}} {{inputs.q}} {{SELF.b}} {{SELF.a}}'
                        foo: 1
                        resultTemplate: {attributes: {b: '{{inputs.late}}'}}
                        late: 1
                        q: 3
            ").env();
    deploy(&env, &[]);
    let create = record(&env, "create");
    let keys = "foo,z,y,command,q,early,late,::n::b,::n::a";
    assert_eq!(create["digestKeys"], keys);
    assert_eq!(
        create["digestValue"],
        "dc66352c66eb82bf0b8fae433345ffc89af55478"
    );
}

/// An ensemble with a node whose operations read a secret in several ways.
fn with_secret(secret: &str) -> TestEnv {
    let text = topology(r#"
            inputs:
              token: {type: string, default: {get_env: TOKEN}, metadata: {sensitive: true}}
            node_templates:
              n:
                type: unfurl.nodes.Generic
                properties: {pw: {eval: {sensitive: {get_env: SECRET}}}}
                interfaces:
                  Standard:
                    create:
                      implementation: {primary: Shell, environment: {PW: {eval: '.::pw'}}}
                      inputs: {command: 'test -n "$PW"'}
                    configure:
                      implementation: Shell
                      inputs:
                        command: 'echo {{ SELF.pw }}'
                        parts: {open: 1, secret: {eval: '.::pw'}}
                    start: {implementation: Shell, inputs: {command: 'echo {{ TOPOLOGY.inputs.token }}'}}
            "#).build();
    TestEnv::with_ensemble(&text)
        .variable("SECRET", secret)
        .variable("TOKEN", "token-one")
}

fn key_file(env: &TestEnv) -> std::path::PathBuf {
    env.work().join("local/digest.key")
}

#[test]
fn a_changed_secret_is_a_change() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = with_secret("hunter-one");
    env.unfurl(["plan"]).succeeds();
    assert!(!key_file(&env).exists(), "a plan makes no key");
    deploy(&env, &["--dryrun"]);
    assert!(!key_file(&env).exists(), "a dry run makes no key");
    assert_eq!(deploy(&env, &[]).len(), 3);
    let mode = std::fs::metadata(key_file(&env))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_nothing_to_do(&env);
    let env = env.variable("TOKEN", "token-two");
    assert_eq!(deploy(&env, &[]), ["start n reconfigure"]);
    assert_nothing_to_do(&env);
    let env = env.variable("SECRET", "hunter-two");
    assert_eq!(deploy(&env, &[]).len(), 3);
    assert_nothing_to_do(&env);
}

#[test]
fn a_vault_password_gives_the_key_and_no_file_is_made() {
    let env = with_secret("hunter-one").variable("UNFURL_VAULT_DEFAULT_PASSWORD", "vault-pass");
    assert_eq!(deploy(&env, &[]).len(), 3);
    assert!(!key_file(&env).exists());
    let table = env.read("jobs.tsv");
    assert!(table.contains("\tdigestKey="), "{table}");
    assert_nothing_to_do(&env);
    let env = env.variable("SECRET", "hunter-two");
    assert_eq!(deploy(&env, &[]).len(), 3);
    let env = env.variable("UNFURL_VAULT_DEFAULT_PASSWORD", "another");
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["cannot be decrypted", "UNFURL_VAULT_DEFAULT_PASSWORD"]);
    // Closed values are kept, and no secret can be compared.
    let env = env.variable("UNFURL_SKIP_VAULT_DECRYPT", "1");
    let before = env.tracked();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(
        run.stderr
            .matches("cannot determine whether secrets")
            .count(),
        1,
        "{run}"
    );
    assert_eq!(env.tracked(), before);
}

#[test]
fn without_the_key_nothing_runs_and_that_is_said_once() {
    let env = with_secret("hunter-one");
    deploy(&env, &[]);
    let before = env.tracked();
    std::fs::remove_file(key_file(&env)).unwrap();
    let env = env.variable("SECRET", "hunter-two");
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(run.stdout.contains("Nothing to do"), "{run}");
    assert_eq!(
        run.stderr
            .matches("cannot determine whether secrets")
            .count(),
        1,
        "{run}"
    );
    let run = run.says(&["`n`", "UNFURL_VAULT", "`local/digest.key`"]);
    assert!(!key_file(&env).exists(), "{run}");
    let is_key = |(path, _): &(std::path::PathBuf, Vec<u8>)| path.ends_with("local/digest.key");
    let without_key: Vec<_> = before.into_iter().filter(|file| !is_key(file)).collect();
    assert_eq!(env.tracked(), without_key);
    // Values that are not secret are compared as usual, and tasks that run are recorded with a new key.
    edit(&env, "{open: 1,", "{open: 2,");
    deploy(&env, &["--force"]);
    assert_nothing_to_do(&env);
    let env = env.variable("SECRET", "hunter-three");
    assert_eq!(deploy(&env, &[]).len(), 3);
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = with_secret("hunter-one");
    deploy(&env, &[]);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(key_file(&env), open).unwrap();
    let env = env.variable("SECRET", "hunter-two");
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    let run = run.says(&["cannot determine", "other users can read", "chmod 600"]);
    assert!(run.stdout.contains("Nothing to do"), "{run}");
    env.unfurl(["deploy", "--approve", "--force"])
        .succeeds()
        .says(&["no digests of secrets are recorded"]);
    assert!(!record(&env, "configure")["changes"].is_string());
    assert!(record(&env, "start")["digestSecret"].is_null());
}

#[test]
fn one_input_of_many_counts_and_so_does_its_type() {
    let env = topology(
        "
            inputs: {a: {default: 1}, b: {default: 1}}
            node_templates:
              n:
                type: unfurl.nodes.Generic
                interfaces: {Standard: {configure: 'echo {{ TOPOLOGY.inputs.a }}'}}
            ",
    )
    .env();
    deploy(&env, &[]);
    edit(&env, "b: {default: 1}", "b: {default: 2}");
    assert_eq!(deploy(&env, &[]), [""; 0]);
    edit(&env, "a: {default: 1}", "a: {default: \"1\"}");
    assert_eq!(deploy(&env, &[]), ["configure n reconfigure"]);
    assert_nothing_to_do(&env);
}

#[test]
fn without_all_that_git_ignores_nothing_runs() {
    let env = with_secret("hunter-one");
    env.write(
        ".gitignore",
        "**/jobs\n**/planned\n**/active\n**/local\n*.lock\n",
    );
    env.git(&["init", "-q"]);
    deploy(&env, &[]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "deployed"]);
    env.git(&["clean", "-ffdxq"]);
    assert!(!key_file(&env).exists());
    assert_nothing_to_do(&env);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_key_stays_out_of_git() {
    let env = with_secret("hunter-one");
    env.git(&["init", "-q"]);
    deploy(&env, &[]);
    assert!(key_file(&env).exists());
    env.write(".gitignore", "**/jobs\n**/planned\n**/local\n");
    env.git(&["add", "."]);
    let files = env.git(&["ls-files"]);
    assert!(!files.contains("digest.key"), "{files}");
    assert!(files.contains("jobs.tsv"), "{files}");
}

/// Returns the plausible digests of a secret that need no key. None of them may occur in a file.
fn unkeyed(secret: &str) -> Vec<String> {
    use sha2::Digest as _;
    use unfurl::testing::value::{Value, canonical_sha256, hex, unfurl_digest};

    let mut found = vec![secret.to_owned()];
    for text in [
        secret.to_owned(),
        format!("echo {secret}"),
        format!("{secret}\n"),
    ] {
        found.push(hex(&sha2::Sha256::digest(&text)));
        found.push(hex(&sha1::Sha1::digest(&text)));
        found.push(hex(&md5::Md5::digest(&text)));
        found.push(canonical_sha256(&Value::from(text.as_str())));
        found.push(unfurl_digest([&Value::from(text.as_str())]));
        let pair = Value::map([("command", Value::from(text.as_str()))]);
        found.push(canonical_sha256(&pair));
        found.push(unfurl_digest([&pair]));
        found.push(format!("{:?}", text.as_bytes()));
    }
    found
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(6))]

    /// Only six cases, because each takes six jobs. The property is about files; the digests have tests of
    /// their own.
    #[test]
    fn nothing_that_is_written_tells_of_a_secret(secret in "[a-zA-Z0-9]{12,24}") {
        let env = with_secret(&secret);
        let first = env.unfurl(["-vvv", "deploy", "--approve"]).succeeds();
        let env = env.variable("TOKEN", "token-two");
        let second = env.unfurl(["-vvv", "deploy", "--approve", "--output", "json"]).succeeds();
        let mut files = vec![
            ("the first run".to_owned(), first.all().into_bytes()),
            ("the second run".to_owned(), second.all().into_bytes()),
        ];
        files.extend(env.files());
        proptest::prop_assert!(files.len() > 8);
        for (path, bytes) in files {
            let text = String::from_utf8_lossy(&bytes);
            for told in unkeyed(&secret) {
                proptest::prop_assert!(!text.contains(&told), "{path} has `{told}`");
            }
        }
    }
}
