//! Drift of hosts: the first phase of their states over a real server, which changes nothing on them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value as Json;

use super::{drift, finding, findings, tree};
use crate::hosts::cli::{hosts, options};
use crate::hosts::sshd::{Sshd, free_port};
use crate::support::TestEnv;

/// A state tree for hosts whose files are in a folder for each host.
fn world() -> TestEnv {
    let env = TestEnv::new();
    let out = env.work().join("out").display().to_string();
    let states = format!(
        "{{% set folder = '{out}/' ~ grains['id'].split(':')[0] %}}
page:
  file.managed:
    - name: {{{{ folder }}}}/page
    - contents: hello
    - mode: '0644'
    - makedirs: true
asks:
  cmd.run:
    - name: touch {{{{ folder }}}}/ran
several:
  file.directory:
    - names: ['{{{{ folder }}}}/one', '{{{{ folder }}}}/two']
"
    );
    // The hosts are all this machine. Two of them that make the same folder at once would be in each other's way.
    fs::create_dir(env.work().join("out")).unwrap();
    env.write("states/site.sls", &states);
    env.write("states/top.sls", "base:\n  '*': [site]\n");
    env
}

fn words(sshd: &Sshd, hosts: String) -> Vec<String> {
    // `-a` and `-i` have other meanings with `drift`.
    let options = options(sshd).into_iter().map(|word| match &*word {
        "-a" => "--no-agent".to_owned(),
        "-i" => "--identity".to_owned(),
        _ => word,
    });
    ["-H".to_owned(), hosts]
        .into_iter()
        .chain(options)
        .collect()
}

#[track_caller]
fn look(env: &TestEnv, words: &[String]) -> (i32, Json) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    drift(env, &words)
}

fn apply(env: &TestEnv, sshd: &Sshd, count: u8) {
    let mut words = ["state", "apply", "--approve", "-H"]
        .map(str::to_owned)
        .to_vec();
    words.push(hosts(sshd, count));
    words.extend(options(sshd));
    env.unfurl(words).succeeds();
}

fn page(env: &TestEnv, last: u8) -> PathBuf {
    env.work().join(format!("out/127.0.0.{last}/page"))
}

#[test]
fn states_of_hosts_are_looked_at_and_nothing_changes_there() {
    requires!("sshd");
    let (sshd, env) = (Sshd::with(2, &[]), world());
    apply(&env, &sshd, 2);
    let words = words(&sshd, hosts(&sshd, 2));
    let (code, document) = look(&env, &words);
    // The command runs each time, so nobody can tell.
    assert_eq!(code, 1, "{document:#}");
    let host = |last: u8| format!("127.0.0.{last}:{}", sshd.port);
    let asks = |last| format!("cannot-tell {} asks (cmd.run): - → -", host(last));
    assert_eq!(findings(&document), [asks(1), asks(2)]);
    let answer = &document["ensembles"][0];
    assert_eq!(
        (&answer["looked_at"], &answer["total"]),
        (&6.into(), &8.into())
    );

    fs::write(page(&env, 1), "by hand\n").unwrap();
    fs::set_permissions(page(&env, 2), fs::Permissions::from_mode(0o600)).unwrap();
    let before = tree(&env.work(), &[]);
    let (code, document) = look(&env, &words);
    assert_eq!(tree(&env.work(), &[]), before);
    assert_eq!(code, 3, "{document:#}");
    let expected = [
        format!("outside {} page (file.managed): - → -", host(1)),
        asks(1),
        format!("outside {} page (file.managed): mode: 0644 → -", host(2)),
        asks(2),
    ];
    assert_eq!(findings(&document), expected);
    let lines = finding(&document, "page (file.managed)")["lines"]
        .as_str()
        .unwrap();
    assert!(lines.ends_with("-by hand\n+hello"), "{lines}");

    let mut repair = vec![
        "drift".to_owned(),
        "--repair".to_owned(),
        "--approve".to_owned(),
    ];
    repair.extend(words.iter().cloned());
    env.unfurl(&repair).exits(1);
    let (_, document) = look(&env, &words);
    assert_eq!(findings(&document), [asks(1), asks(2)]);
}

#[test]
fn the_states_of_several_names_are_findings_of_their_own() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), world());
    apply(&env, &sshd, 1);
    let folder = page(&env, 1).with_file_name("two");
    fs::remove_dir(&folder).unwrap();
    let (code, document) = look(&env, &words(&sshd, hosts(&sshd, 1)));
    assert_eq!(code, 3);
    let attribute = format!("several (file.directory): {}", folder.display());
    assert_eq!(finding(&document, &attribute)["to"], "missing");
}

#[test]
fn a_host_that_is_away_is_a_finding_and_the_others_are_looked_at() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), world());
    apply(&env, &sshd, 1);
    fs::write(page(&env, 1), "by hand\n").unwrap();
    let away = format!("127.0.0.1:{}", free_port());
    let names = format!("{away},{}", hosts(&sshd, 1));
    let (code, document) = look(&env, &words(&sshd, names));
    assert_eq!(code, 3, "{document:#}");
    let lost = finding(&document, "status");
    assert_eq!(
        (&lost["kind"], &lost["host"]),
        (&"cannot-tell".into(), &away.into())
    );
    let reason = lost["reason"].as_str().unwrap();
    assert!(reason.contains("refused"), "{reason}");
    let answer = &document["ensembles"][0];
    assert_eq!(
        (&answer["looked_at"], &answer["total"]),
        (&3.into(), &5.into())
    );
}

#[test]
fn states_that_do_not_compile_are_an_answer_with_the_place() {
    let env = TestEnv::new();
    env.write("states/bad.sls", "a:\n  file.managed:\n  - name: [\n");
    let (code, document) = drift(&env, &["-H", "@local", "--states", "bad"]);
    assert_eq!(code, 64, "{document:#}");
    let problem = &document["ensembles"][0]["problem"];
    assert_eq!(problem["kind"], "invalid");
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("bad.sls"), "{message}");
}

#[test]
fn a_rule_of_the_ensemble_here_counts_for_its_hosts() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
environment:
  drift:
    ignore:
    - {host: '@local', attribute: 'made *', reason: a test}
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template: {node_templates: {}}
",
    );
    let folder = env.work().join("made").display().to_string();
    env.write(
        "states/x.sls",
        &format!("made:\n  file.directory:\n  - name: {folder}\n"),
    );
    let (code, document) = drift(&env, &["-H", "@local", "--states", "x"]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(
        findings(&document),
        ["outside @local made (file.directory): directory → missing"]
    );
    assert!(finding(&document, "made (file.directory)")["ignored_by"].is_string());
}
