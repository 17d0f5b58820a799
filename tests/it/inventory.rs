//! Ansible inventories, compared with the output of `ansible-inventory --list`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::{ProptestConfig, any, prop, proptest};
use serde_json::Value as Json;
use unfurl::testing::diagnostic::Sources;
use unfurl::testing::host::inventory::{ConnectionMethod, Inventory, InventoryFormat};
use unfurl::testing::ops::SessionOptions;
use unfurl::testing::ops::hosts::inventory;
use unfurl::testing::secret::Keys;

use crate::support::{Run, TestEnv};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/inventories")
}

/// The inventories with recorded answers: the name of each case, and its paths.
fn cases() -> Vec<(String, Vec<PathBuf>)> {
    let text = std::fs::read_to_string(folder().join("cases.tsv")).unwrap();
    let case = |line: &str| {
        let (name, paths) = line.split_once('\t').unwrap();
        let paths = paths.split(' ').map(|path| folder().join(path));
        (name.to_owned(), paths.collect())
    };
    text.lines().map(case).collect()
}

/// The order of hosts and children in a group has no meaning.
fn sorted(mut answer: Json) -> Json {
    for (name, group) in answer.as_object_mut().unwrap() {
        for key in ["hosts", "children"] {
            if let Some(items) = group
                .get_mut(key)
                .and_then(Json::as_array_mut)
                .filter(|_| name != "_meta")
            {
                items.sort_by_key(ToString::to_string);
            }
        }
    }
    answer
}

fn list(env: &TestEnv, paths: &[PathBuf], words: &[&str]) -> Run {
    let mut line = vec!["hosts".to_owned()];
    for path in paths {
        line.extend(["--hosts-file".to_owned(), path.display().to_string()]);
    }
    line.extend(words.iter().map(ToString::to_string));
    env.unfurl(line)
}

#[test]
fn inventories_say_what_ansible_says_of_them() {
    let env = TestEnv::new().variable("UNFURL_VAULT_DEFAULT_PASSWORD", "correct horse");
    let all = cases();
    assert!(all.len() >= 40, "{}", all.len());
    for (name, paths) in all {
        let run = list(&env, &paths, &["--output", "json", "--allow", "inventory"]).succeeds();
        let answer = folder().join("answers").join(format!("{name}.json"));
        let answer = std::fs::read_to_string(answer).unwrap();
        let expected: Json = serde_json::from_str(&answer).unwrap();
        assert_eq!(sorted(run.json()), sorted(expected), "{name}");
        let texts = [&["--vars"][..], &["--graph", "--vars"]];
        for words in texts {
            let words = [words, &["--allow", "inventory"]].concat();
            let run = list(&env, &paths, &words).succeeds();
            assert!(!run.all().contains("hunter2"), "{name}: {run}");
        }
    }
}

#[test]
fn a_program_lists_hosts_only_if_it_is_trusted() {
    let env = TestEnv::new();
    env.write(
        "hosts.sh",
        "#!/bin/sh\ntouch ran\necho '{\"web\": [\"a\"]}'\n",
    );
    let file = env.work().join("hosts.sh");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let paths = [PathBuf::from("hosts.sh")];
    let run = list(&env, &paths, &[]).exits(64);
    run.says(&[
        "`hosts.sh`: the file is a program, which may not run",
        "--allow inventory",
    ]);
    assert!(!env.work().join("ran").exists());
    list(&env, &paths, &["--allow", "inventory"])
        .succeeds()
        .prints(&["a"]);
    env.write("hosts.sh", "#!/bin/sh\necho oops >&2\nexit 3\n");
    let run = list(&env, &paths, &["--allow", "inventory"]).exits(64);
    run.says(&["`hosts.sh --list`: exit code 3: oops"]);
}

#[test]
fn hosts_are_listed_with_groups_and_patterns_choose_them() {
    let env = TestEnv::new();
    env.write(
        "hosts",
        "[web]\nw1 ansible_user=ops ansible_port=2222\nw2 ansible_become=yes db_password=hunter2\n[db]\nd1\n[site:children]\nweb\n",
    );
    let paths = [PathBuf::from("hosts")];
    let run = list(&env, &paths, &[]).succeeds();
    insta::assert_snapshot!(run.stdout.replace('\t', " | "), @r"
    Host | Address | Groups
    w1 | ops@w1:2222 | site, web
    w2 | w2 as root | site, web
    d1 | d1 | db
    ");
    let run = list(&env, &paths, &["--graph", "web,!w1", "--vars"]).succeeds();
    insta::assert_snapshot!(run.stdout, @r#"
    @all:
      |--@db:
      |--@site:
      |  |--@web:
      |  |  |--w2
      |  |  |  |--{ansible_become = "yes"}
      |  |  |  |--{db_password = <<REDACTED>>}
    "#);
    let run = list(&env, &paths, &["web:&bd"]).exits(2);
    insta::assert_snapshot!(run.stderr, @r"
    error: the pattern `web:&bd` matches no host: `bd` is neither a host nor a group
     = hint: did you mean `db`?
    ");
    let echo = "tasks:\n  t:\n    steps:\n    - echo: '{{ user }} {{ host }} {{ port }}'\n";
    env.write("tasks.yaml", echo);
    let task = |words: &[&str]| {
        let start = ["task", "--hosts-file", "hosts", "-u", "me"];
        env.unfurl([&start[..], words, &["t"]].concat())
    };
    task(&["-H", "w*,d1,!w2"])
        .succeeds()
        .prints(&["ops w1 2222", "me d1 22"]);
    task(&["-R", "site:&web[0:0]"])
        .succeeds()
        .prints(&["ops w1 2222"]);
    for (words, code, says) in [
        (["-H", "d1,user@"], 2, "has no host name"),
        (["-H", "d1,w1:99999"], 2, "not a number from 1 to 65535"),
        (["-H", "d1,x*"], 2, "matches no host"),
        (["-R", "web:!dv"], 2, "neither a host nor a group"),
    ] {
        let run = task(&words).exits(code);
        assert!(!run.stdout.contains("d1"), "{run}");
        run.says(&[says]);
    }
    env.write("tasks.yaml", &format!("env: {{hosts: [d1]}}\n{echo}"));
    let run = task(&["-H", "w1"]).succeeds();
    assert!(run.all().contains("not on those of"), "{run}");
}

const ENSEMBLE: &str = "
apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      example.Machine:
        derived_from: tosca.nodes.Root
        attributes:
          public_ip: {type: string, required: false}
        capabilities:
          ssh: {type: unfurl.capabilities.Endpoint.SSH}
      example.Addressed:
        derived_from: tosca.nodes.Root
        attributes:
          private_ip: {type: string, required: false}
    topology_template:
      node_templates:
        web:
          type: example.Machine
          attributes: {public_ip: {eval: '::db::private_ip'}}
          capabilities:
            ssh: {properties: {port: 2222, user: ops, hostvars: {a: 1}}}
        db: {type: example.Addressed, attributes: {private_ip: 10.0.0.7}}
        nothing: {type: tosca.nodes.Root}
        unaddressed: {type: tosca.nodes.Compute}
        plain:
          type: tosca.nodes.Compute
          capabilities:
            endpoint: {properties: {host: 10.0.0.9, user: pat, port: 2022}}
        client:
          type: tosca.nodes.Root
          requirements:
            - machine:
                node: web
                relationship:
                  type: unfurl.relationships.ConnectsTo.Ansible
                  properties:
                    credential: {user: admin, token: hunter2, token_type: password, keys: {k: v}}
      groups:
        front:
          type: unfurl.groups.AnsibleInventoryGroup
          members: [web]
          properties: {hostvars: {level: front}}
        all_of_them:
          type: unfurl.groups.AnsibleInventoryGroup
          members: [front, db]
status:
  instances:
    web: {template: web, readyState: ok}
    db: {template: db, readyState: ok}
    client: {template: client, readyState: ok}
    nothing: {template: nothing, readyState: ok}
    plain: {template: plain, readyState: ok}
    unaddressed: {template: unaddressed, readyState: ok}
";

#[test]
fn instances_of_an_ensemble_are_hosts_and_its_groups_and_types_are_roles() {
    let folder = tempfile::tempdir().unwrap();
    let (ensemble, file) = (
        folder.path().join("ensemble.yaml"),
        folder.path().join("hosts"),
    );
    std::fs::write(&ensemble, ENSEMBLE).unwrap();
    std::fs::write(
        &file,
        "hosts: {db: {user: dba}, extra: }\ngroups: {front: [extra]}\n",
    )
    .unwrap();
    let options = SessionOptions {
        ensemble: ensemble.display().to_string(),
        home: Some(PathBuf::new()),
        ..SessionOptions::default()
    };
    let found = inventory(Some(&options), &[file]).unwrap();
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let hosts: Vec<&str> = found.inventory.hosts().map(AsRef::as_ref).collect();
    assert_eq!(hosts, ["web", "db", "plain", "extra"]);
    let members = |role: &str| {
        let lookup = found.inventory.hosts_of(role).unwrap();
        let hosts = lookup.hosts().unwrap();
        hosts.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(members("all_of_them"), ["db", "web", "extra"]);
    assert_eq!(members("example.Machine"), ["web"]);
    let target = |host: &str| match found.inventory.host_access(host).unwrap().unwrap().method {
        ConnectionMethod::Ssh(target) => target,
        other => panic!("{other:?}"),
    };
    let web = target("web");
    assert_eq!((web.host.as_str(), web.port), ("10.0.0.7", Some(2222)));
    assert_eq!(
        (web.user.as_deref(), web.password.unwrap().reveal()),
        (Some("admin"), "hunter2")
    );
    let plain = target("plain");
    assert_eq!(
        (plain.host.as_str(), plain.user.as_deref(), plain.port),
        ("10.0.0.9", Some("pat"), Some(2022))
    );
    assert_eq!(target("db").user.as_deref(), Some("dba"));
    let data = found.inventory.data("web");
    assert_eq!(
        (data["level"].as_str(), data["k"].as_str()),
        (Some("front"), Some("v"))
    );
    assert!(!format!("{:?}", found.inventory).contains("hunter2"));
}

#[test]
fn an_ensemble_that_is_named_must_be_there() {
    let options = SessionOptions {
        ensemble: "no/such/ensemble".to_owned(),
        ..SessionOptions::default()
    };
    assert!(inventory(Some(&options), &[]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any text is either read or refused with an error; the reader does not panic.
    #[test]
    fn no_text_breaks_the_reader(
        pieces in prop::collection::vec((0..PIECES.len(), any::<char>()), 0..30),
    ) {
        let text: String = pieces.iter().fold(String::new(), |text, (piece, c)| {
            let piece = PIECES[*piece];
            if piece.is_empty() { text + &c.to_string() } else { text + piece }
        });
        let mut sources = Sources::default();
        let source = sources.add("hosts", text, None);
        if let Ok((inventory, _)) = Inventory::parse(source, InventoryFormat::Unknown, &sources, &Keys::default()) {
            for host in inventory.hosts() {
                inventory.host_access(host).unwrap().ok();
            }
            for role in inventory.roles() {
                inventory.hosts_of(role).unwrap();
            }
        }
    }
}

const PIECES: &[&str] = &[
    "",
    "",
    "\n",
    "\n",
    "[web]",
    "[web:vars]",
    "[a:children]\nweb",
    "a",
    "b",
    "w[1:3]",
    "w[a:c]",
    "[",
    "]",
    ":",
    " x=1",
    " ansible_port=",
    "'",
    "\"",
    "\\",
    "# ",
    "{",
    "}",
    "all: ",
    "hosts: ",
    "groups: ",
    "children: ",
    "vars: ",
    "  ",
    "- ",
    "ansible_ssh_common_args=-J",
    "ansible_become=yes",
    "!vault x",
];
