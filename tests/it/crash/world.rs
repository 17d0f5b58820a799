//! The fixture of the crash tests: an ensemble whose tasks change a folder that a crash of the program cannot
//! change. Each task appends a line to a log outside of the ensemble, and creates or removes its own file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_json::Value as Json;

use crate::support::{Run, TestEnv};

const HEAD: &str = r#"apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Item:
        derived_from: tosca.nodes.Root
        properties: {before: {type: string, default: nothing}}
        attributes: {value: {type: string}}
        interfaces:
          Standard:
            configure:
              implementation: Shell
              inputs:
                command: "echo {{ '.name' | eval }} configure >> ../world/log; touch ../world/made/{{ '.name' | eval }}; echo {{ '.name' | eval }} of {{ SELF.before }}"
                resultTemplate: {attributes: {value: "{{ stdout | trim }}"}}
            delete:
              implementation: Shell
              inputs: {command: "echo {{ '.name' | eval }} delete >> ../world/log; rm -f ../world/made/{{ '.name' | eval }}"}
"#;

/// A `check` operation that looks for the file that the instance created.
const CHECK: &str = r#"          Install:
            check:
              implementation: Shell
              inputs:
                command: "if test -e ../world/made/{{ '.name' | eval }}; then echo {{ '.name' | eval }} of {{ SELF.before }}; else echo absent; fi"
                resultTemplate: "{% if stdout | trim == 'absent' %}readyState: absent{% else %}{readyState: ok, attributes: {value: '{{ stdout | trim }}'}}{% endif %}"
"#;

/// The number of nodes in a chain. Each node reads an attribute of the one before.
const ROW: usize = 5;

/// An ensemble with `nodes` nodes, and the folder `../world` that its tasks change.
#[derive(Debug)]
pub(super) struct World {
    pub(super) env: TestEnv,
    pub(super) nodes: usize,
}

/// The state of a world and its record, without the parts that depend on how the state came about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WorldState {
    /// The names of the files that tasks have created.
    made: BTreeSet<String>,
    /// The ensemble's status without ids and times, one line per leaf.
    status: Vec<String>,
    /// The last entry of each operation in `jobs.tsv`, without ids.
    operations: BTreeMap<String, String>,
}

impl World {
    pub(super) fn new(nodes: usize, checks: bool) -> Self {
        let mut text = HEAD.to_owned();
        if checks {
            text.push_str(CHECK);
        }
        text.push_str("    topology_template:\n      node_templates:\n");
        for node in 0..nodes {
            writeln!(text, "        n{node}:\n          type: Item").unwrap();
            if node % ROW > 0 {
                let before = node - 1;
                writeln!(
                    text,
                    "          properties: {{before: {{eval: '::n{before}::value'}}}}\n          \
                     requirements: [{{dependency: n{before}}}]"
                )
                .unwrap();
            }
        }
        let env = TestEnv::with_ensemble(&text);
        fs::create_dir_all(env.work().join("../world/made")).unwrap();
        Self { env, nodes }
    }

    /// Calls the binary with a fault, in the syntax of `system::fault`.
    pub(super) fn run(&self, fault: &str, arguments: &[&str]) -> Run {
        self.env
            .unfurl_with(("UNFURL_TEST_FAULT", fault), arguments)
    }

    /// Calls the binary without a fault.
    pub(super) fn rerun(&self, arguments: &[&str]) -> Run {
        self.env.unfurl(arguments)
    }

    /// The calls that a run makes: the kind and the path of each.
    pub(super) fn calls(&self, arguments: &[&str]) -> Vec<(String, String)> {
        let file = self.env.work().join("../calls");
        self.run(&format!("count:{}", file.display()), arguments)
            .succeeds();
        let text = fs::read_to_string(&file).unwrap();
        let line = |line: &str| {
            let mut parts = line.split('\t').skip(1).map(str::to_owned);
            (parts.next().unwrap(), parts.next().unwrap())
        };
        text.lines().map(line).collect()
    }

    /// How many times each task (`node operation`) has changed the world.
    pub(super) fn action_counts(&self) -> BTreeMap<String, usize> {
        let text = fs::read_to_string(self.env.work().join("../world/log")).unwrap_or_default();
        let mut acts = BTreeMap::new();
        for line in text.lines() {
            *acts.entry(line.to_owned()).or_default() += 1;
        }
        acts
    }

    /// The files that tasks have created and not removed.
    pub(super) fn made(&self) -> BTreeSet<String> {
        let made = fs::read_dir(self.env.work().join("../world/made")).unwrap();
        made.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// The tasks that ended with success according to a journal left by a crash, with their change ids.
    pub(super) fn ended(&self) -> BTreeMap<String, String> {
        let mut ended = BTreeMap::new();
        for (path, bytes) in self.env.files() {
            if !path.ends_with(".journal") {
                continue;
            }
            for line in String::from_utf8_lossy(&bytes).split_inclusive('\n') {
                // A line without a line break was cut off by the crash.
                let Some(json) = line.get(9..).filter(|_| line.ends_with('\n')) else {
                    continue;
                };
                let entries: Vec<Json> = serde_json::from_str(json).unwrap();
                for entry in entries.iter().filter(|e| e["entry"] == "ended") {
                    if entry["success"] == true {
                        let target = entry["target"].as_str().unwrap().trim_start_matches("::");
                        let operation = entry["operation"].as_str().unwrap();
                        let operation = operation.rsplit('.').next().unwrap();
                        let record = entry["record"].as_str().unwrap();
                        let record: Json = serde_yaml::from_str(record).unwrap();
                        let id = record["changeId"].as_str().unwrap();
                        ended.insert(format!("{target} {operation}"), id.to_owned());
                    }
                }
            }
        }
        ended
    }

    /// The recorded tasks: change id and status of each record, oldest first.
    pub(super) fn recorded(&self) -> BTreeMap<String, Vec<(String, String)>> {
        let mut recorded: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for line in self.lines() {
            let field = |name: &str| field(&line, name);
            if let (Some(target), Some(operation)) = (field("target"), field("operation")) {
                let task = format!("{} {operation}", target.trim_start_matches("::"));
                let id = line.split('\t').next().unwrap().to_owned();
                let status = field("status").unwrap();
                recorded.entry(task).or_default().push((id, status));
            }
        }
        recorded
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.env.work().join("jobs.tsv")).unwrap_or_default();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let lines: Vec<String> = text[..whole].lines().map(str::to_owned).collect();
        let ids: BTreeSet<&str> = lines.iter().filter_map(|l| l.split('\t').next()).collect();
        assert_eq!(ids.len(), lines.len(), "ids are doubled:\n{text}");
        lines
    }

    /// The current state without ids and times, to compare with another.
    pub(super) fn picture(&self) -> WorldState {
        let tsv = fs::read_to_string(self.env.work().join("jobs.tsv")).unwrap_or_default();
        assert!(tsv.is_empty() || tsv.ends_with('\n'), "{tsv}");
        let mut status = self.env.ensemble()["status"].clone();
        forget(&mut status);
        let mut operations = BTreeMap::new();
        for line in self.lines() {
            if let (Some(target), Some(operation)) =
                (field(&line, "target"), field(&line, "operation"))
            {
                let kept = [
                    "status",
                    "digestKeys",
                    "digestValue",
                    "digestPut",
                    "digestSha256",
                ];
                let kept = kept.map(|name| format!("{name}={:?}", field(&line, name)));
                operations.insert(format!("{target} {operation}"), kept.join(" "));
            }
        }
        WorldState {
            made: self.made(),
            status: leaves("", &status),
            operations,
        }
    }

    /// The temporary files, journals, locks and rescue files, which must be gone after a complete job.
    pub(super) fn leftovers(&self) -> Vec<String> {
        let files = self.env.files().into_iter().map(|(path, _)| path);
        let signs = [".tmp.", ".journal", ".lock", ".rescue"];
        files
            .filter(|path| signs.iter().any(|sign| path.contains(sign)))
            .collect()
    }

    /// Asserts that the ensemble is valid and that the record has no id twice.
    #[track_caller]
    pub(super) fn is_whole(&self) {
        self.rerun(&["validate"]).succeeds();
        let text = self.env.read("ensemble.yaml");
        let ensemble: Json = serde_yaml::from_str(&text).unwrap();
        assert_eq!(ensemble["kind"], "Ensemble");
        self.lines();
    }
}

impl WorldState {
    /// The picture without the parts that say which operations led to the state.
    pub(super) fn without_history(&self) -> Self {
        let status = self
            .status
            .iter()
            .filter(|line| !line.contains("/readyState/state:"));
        Self {
            made: self.made.clone(),
            status: status.cloned().collect(),
            operations: BTreeMap::new(),
        }
    }

    /// The lines that are in only one of the two pictures, marked `+` and `-`.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let (ours, theirs) = (format!("{self:#?}"), format!("{other:#?}"));
        let only = |of: &str, not: &str, sign: &str| -> Vec<String> {
            let not: Vec<&str> = not.lines().collect();
            let lines = of.lines().filter(|line| !not.contains(line));
            lines.map(|line| format!("{sign}{line}")).collect()
        };
        let mut all = only(&ours, &theirs, "+");
        all.extend(only(&theirs, &ours, "-"));
        all
    }
}

fn field(line: &str, name: &str) -> Option<String> {
    let mut fields = line.split('\t').filter_map(|term| term.split_once('='));
    fields
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

/// The leaves of a JSON value, each as `path: value`.
fn leaves(way: &str, value: &Json) -> Vec<String> {
    match value {
        Json::Object(map) => {
            let mut all: Vec<String> = map
                .iter()
                .flat_map(|(key, value)| leaves(&format!("{way}/{key}"), value))
                .collect();
            all.sort();
            all
        }
        other => vec![format!("{way}: {other}")],
    }
}

/// Removes the fields that hold ids and times.
fn forget(value: &mut Json) {
    match value {
        Json::Object(map) => {
            for key in ["lastConfigChange", "lastStateChange", "created"] {
                map.remove(key);
            }
            map.values_mut().for_each(forget);
        }
        Json::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}
