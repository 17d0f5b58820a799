//! Ansible inventories, compared with the output of `ansible-inventory --list` of ansible-core 2.19.

use std::path::{Path, PathBuf};

use proptest::prelude::{ProptestConfig, any, prop, proptest};
use serde_json::Value as Json;
use unfurl::testing::diagnostic::Sources;
use unfurl::testing::host::inventory::{ConnectionMethod, Inventory};
use unfurl::testing::ops::SessionOptions;
use unfurl::testing::ops::hosts::inventory;
use unfurl::testing::secret::Keys;
use unfurl::testing::value::Value;

fn data(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/data/inventory").join(name)
}

fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::from(*truth),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| (key.to_string(), json(value)))
            .collect(),
        other => Json::from(other.as_str().unwrap()),
    }
}

/// Collects the hosts of a group and of its subgroups from Ansible's output.
fn members(groups: &Json, name: &str, found: &mut Vec<String>) {
    let listed = |key: &str| groups[name][key].as_array().cloned().unwrap_or_default();
    for host in listed("hosts") {
        let host = host.as_str().unwrap().to_owned();
        if !found.contains(&host) {
            found.push(host);
        }
    }
    for child in listed("children") {
        members(groups, child.as_str().unwrap(), found);
    }
}

fn compare(name: &str) {
    let mut sources = Sources::default();
    let (inventory, problems) =
        Inventory::read(&data(name), &mut sources, &Keys::default()).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    let text = std::fs::read_to_string(data(&format!("{name}.expected.json"))).unwrap();
    let expected: Json = serde_json::from_str(&text).unwrap();
    let hosts = expected["_meta"]["hostvars"].as_object().unwrap();
    let mut own: Vec<&str> = inventory.hosts().map(AsRef::as_ref).collect();
    own.sort_unstable();
    assert_eq!(own, hosts.keys().map(String::as_str).collect::<Vec<_>>());
    for (host, variables) in hosts {
        let own = json(&Value::from(inventory.data(host)));
        assert_eq!(&own, variables, "{host}");
    }
    let groups = expected.as_object().unwrap().keys();
    for group in groups.filter(|name| !["_meta", "all"].contains(&name.as_str())) {
        let mut theirs = Vec::new();
        members(&expected, group, &mut theirs);
        let lookup = inventory.hosts_of(group).unwrap();
        let own: Vec<String> = lookup
            .hosts()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(own, theirs, "{group}");
    }
}

#[test]
fn an_ini_inventory_says_what_ansible_says_of_it() {
    compare("hosts.ini");
}

#[test]
fn a_yaml_inventory_says_what_ansible_says_of_it() {
    compare("hosts.yaml");
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
    assert_eq!(hosts, ["web", "db", "extra"]);
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
        if let Ok((inventory, _)) = Inventory::parse(source, false, &sources, &Keys::default()) {
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
