//! The JSON schemas for editors: they are up to date, and as strict as the program's own readers.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use unfurl::testing::diagnostic::Sources;
use unfurl::testing::ops::schema::{SchemaKind, schema};
use unfurl::testing::yaml::{Limits, parse};

use super::requires::{recorded_answers, target};
use super::support::TestEnv;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Validates documents with Python's `jsonschema`, which also checks the schema itself. Returns the path and
/// the message of each error, per document.
pub(crate) fn complaints(of: SchemaKind, documents: &[Json]) -> Vec<Vec<(String, String)>> {
    let request = json!({ "schema": schema(of), "documents": documents });
    let mut python = Command::new(target().join("unfurl-py/bin/python3"))
        .arg(root().join("tests/schema.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = python.stdin.take().unwrap();
    input.write_all(request.to_string().as_bytes()).unwrap();
    drop(input);
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let complaints: Vec<_> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(complaints.len(), documents.len());
    complaints
}

fn read(name: &str, text: &str) -> Option<Json> {
    let mut sources = Sources::default();
    let source = sources.add(name, text, None);
    let node = parse(&sources, source, &Limits::default()).ok()?;
    Some(serde_json::to_value(node.to_value()).unwrap())
}

/// Asserts that these ensembles meet the schema. Returns how many of them are readable.
#[track_caller]
fn assert_meet_the_schema(files: &[PathBuf]) -> usize {
    let (mut names, mut documents) = (Vec::new(), Vec::new());
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        if let Some(document) = read("ensemble.yaml", &text) {
            names.push(file);
            documents.push(document);
        }
    }
    let complaints = complaints(SchemaKind::Ensemble, &documents);
    for (name, complaints) in names.iter().zip(complaints) {
        assert_eq!(complaints, [], "{}", name.display());
    }
    documents.len()
}

/// The ensembles in the direct subfolders of a folder.
fn ensembles(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path().join("ensemble.yaml"));
    files.filter(|file| file.is_file()).collect()
}

#[test]
fn the_schemas_in_the_repository_are_those_of_the_readers() {
    for (of, name) in [
        (SchemaKind::Ensemble, "ensemble"),
        (SchemaKind::Project, "project"),
        (SchemaKind::Tasks, "tasks"),
        (SchemaKind::Progress, "progress"),
        (SchemaKind::Drift, "drift"),
    ] {
        let path = root().join("schemas").join(name).with_extension("json");
        let own = TestEnv::new().unfurl(["schema", name]).succeeds().stdout;
        assert_eq!(serde_json::from_str::<Json>(&own).unwrap(), schema(of));
        if std::env::var_os("UPDATE").is_some_and(|said| said == "1") {
            fs::write(&path, &own).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        let path = path.display();
        assert!(kept == own, "{path} is out of date; UPDATE=1 rewrites it");
    }
}

#[test]
fn the_examples_meet_the_schema() {
    requires!("target/unfurl-py");
    let examples = ensembles(&root().join("ensembles"));
    assert!(assert_meet_the_schema(&examples) > 1);
}

#[test]
fn ensembles_of_the_corpus_meet_the_schema() {
    requires!("corpus/unfurl", "target/unfurl-py");
    let corpus = ensembles(&recorded_answers().join("corpus/unfurl"));
    let count = assert_meet_the_schema(&corpus);
    assert!(count > 50, "only {count} ensembles could be read");
}

/// An ensemble with this service template.
fn ensemble(template: &str) -> String {
    format!("apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: {{service_template: {template}}}\n")
}

#[test]
fn mistakes_are_refused_where_they_stand() {
    requires!("target/unfurl-py");
    let node = |text: &str| {
        ensemble(&format!(
            "{{topology_template: {{node_templates: {{a: {text}}}}}}}"
        ))
    };
    let mistakes = [
        ("kind: Ensemble\nspec: {}\n".to_owned(), ""),
        (
            "apiVersion: 2\nkind: Ensemble\nspec: {}\n".to_owned(),
            "/apiVersion",
        ),
        (
            "apiVersion: unfurl/v1.0.0\nkind: Ensembl\nspec: {}\n".to_owned(),
            "/kind",
        ),
        (ensemble("{topology_templat: {}}"), "/spec"),
        (ensemble("{tosca_definitions_version: tosca_2}"), "/spec"),
        (ensemble("{node_types: [a]}"), "/spec"),
        (ensemble("{node_types: {A: {propertys: {}}}}"), "/spec"),
        (
            ensemble("{node_types: {A: {properties: {p: string}}}}"),
            "/spec",
        ),
        (
            ensemble("{topology_template: {workflows: {w: {step: {}}}}}"),
            "/spec",
        ),
        (node("{typ: A}"), "/spec"),
        (node("{type: 1}"), "/spec"),
        (node("{type: A, requirements: {b: 1}}"), "/spec"),
        (
            node("{type: A, interfaces: {Standard: {configure: {implementatio: x}}}}"),
            "/spec",
        ),
        (
            node("{type: A, interfaces: {Standard: {configure: {implementation: {primar: x}}}}}"),
            "/spec",
        ),
        (
            "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: []\n".to_owned(),
            "/spec",
        ),
    ];
    let documents = mistakes
        .iter()
        .map(|(text, _)| read("ensemble.yaml", text).unwrap());
    let complaints = complaints(SchemaKind::Ensemble, &documents.collect::<Vec<_>>());
    for ((text, place), complaints) in mistakes.iter().zip(complaints) {
        let first = complaints.first();
        let (pointer, message) = first.unwrap_or_else(|| panic!("no complaint about {text}"));
        assert!(pointer.starts_with(place), "{text}: {pointer}: {message}");
        let run = TestEnv::with_ensemble(text).unfurl(["validate"]);
        assert_ne!(run.code, 0, "the reader takes it: {text}\n{run}");
    }
}

#[test]
fn merge_directives_may_stand_in_every_map() {
    requires!("target/unfurl-py");
    let text = "+include: base.yaml\nspec:\n  service_template:\n    +*types: {}\n    topology_template:\n      node_templates: {+/x: {}, a: {+./y: , type: A}}\n";
    let value = read("ensemble.yaml", text).unwrap();
    assert_eq!(complaints(SchemaKind::Ensemble, &[value]), [[]]);
}

#[test]
fn projects_are_checked_as_their_reader_does() {
    requires!("target/unfurl-py");
    let good = json!({
        "apiVersion": "unfurl/v1alpha1",
        "kind": "Project",
        "ensembles": [{ "file": "a/ensemble.yaml", "default": true }],
        "environments": { "dev": { "lfs_lock": { "lock": "try" }, "imports": [] }, "prod": null },
    });
    let mistakes = [
        ("/kind", json!("Ensemble")),
        ("/ensembles", json!({})),
        ("/ensembles/0/file", Json::Null),
        ("/ensembles/0/default", json!("yes")),
        ("/environments/dev/lfs_lock/lock", json!("always")),
        ("/environments/dev/imports", json!({})),
    ];
    let (mut places, mut documents) = (Vec::new(), Vec::new());
    for (place, wrong) in mistakes {
        let mut value = good.clone();
        *value.pointer_mut(place).unwrap() = wrong;
        if place.ends_with("file") {
            value["ensembles"][0]
                .as_object_mut()
                .unwrap()
                .remove("file");
        }
        places.push(place);
        documents.push(value);
    }
    let mut misspelt = good.clone();
    misspelt["ensembels"] = json!([]);
    places.push("/ensembels");
    documents.extend([misspelt, good]);
    let mut complaints = complaints(SchemaKind::Project, &documents);
    assert_eq!(complaints.pop().unwrap(), []);
    for (place, complaints) in places.iter().zip(complaints) {
        assert!(!complaints.is_empty(), "{place}");
    }
}
