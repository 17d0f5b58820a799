//! The schemas for editors: up to date, and no stricter or laxer than the readers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use unfurl::testing::diagnostic::Sources;
use unfurl::testing::ops::schema::{SchemaOf, schema};
use unfurl::testing::yaml::{Limits, parse};

use super::requires::shared;
use super::support::TestEnv;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn checker(of: SchemaOf) -> jsonschema::Validator {
    let schema = schema(of);
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::validator_for(&schema).unwrap()
}

fn read(name: &str, text: &str) -> Option<Json> {
    let mut sources = Sources::default();
    let source = sources.add(name, text, None);
    let node = parse(&sources, source, &Limits::default()).ok()?;
    Some(serde_json::to_value(node.to_value()).unwrap())
}

/// What the schema has against a file.
fn complaints(checker: &jsonschema::Validator, file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let Some(value) = read("ensemble.yaml", &text) else {
        return Vec::new();
    };
    let errors = checker.iter_errors(&value);
    errors
        .map(|error| format!("{}: {}: {error}", file.display(), error.instance_path()))
        .collect()
}

#[test]
fn the_schemas_in_the_repository_are_those_of_the_readers() {
    for (of, name) in [
        (SchemaOf::Ensemble, "ensemble"),
        (SchemaOf::Project, "project"),
        (SchemaOf::Tasks, "tasks"),
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
    let checker = checker(SchemaOf::Ensemble);
    let mut count = 0;
    for entry in fs::read_dir(root().join("ensembles")).unwrap() {
        let file = entry.unwrap().path().join("ensemble.yaml");
        if file.is_file() {
            count += 1;
            assert_eq!(complaints(&checker, &file), Vec::<String>::new());
        }
    }
    assert!(count > 1);
}

#[test]
fn ensembles_of_the_corpus_meet_the_schema() {
    requires!("corpus/unfurl");
    let corpus = shared().join("corpus/unfurl");
    let checker = checker(SchemaOf::Ensemble);
    let mut count = 0;
    for entry in fs::read_dir(&corpus).unwrap() {
        let file = entry.unwrap().path().join("ensemble.yaml");
        if !file.is_file() {
            continue;
        }
        let found = complaints(&checker, &file);
        assert_eq!(found, Vec::<String>::new());
        let text = fs::read_to_string(&file).unwrap();
        count += usize::from(read("ensemble.yaml", &text).is_some());
    }
    assert!(count > 50, "only {count} ensembles could be read");
}

/// An ensemble with something in its service template.
fn ensemble(template: &str) -> String {
    format!("apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: {{service_template: {template}}}\n")
}

#[test]
fn mistakes_are_refused_where_they_stand() {
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
    let checker = checker(SchemaOf::Ensemble);
    for (text, place) in mistakes {
        let value = read("ensemble.yaml", &text).unwrap();
        let error = checker.iter_errors(&value).next();
        let error = error.unwrap_or_else(|| panic!("no complaint about {text}"));
        assert!(
            error.instance_path().as_str().starts_with(place),
            "{text}: {error}"
        );
        let run = TestEnv::with_ensemble(&text).unfurl(["validate"]);
        assert_ne!(run.code, 0, "the reader takes it: {text}\n{run}");
    }
}

#[test]
fn merge_directives_may_stand_in_every_map() {
    let text = "+include: base.yaml\nspec:\n  service_template:\n    +*types: {}\n    topology_template:\n      node_templates: {+/x: {}, a: {+./y: , type: A}}\n";
    let checker = checker(SchemaOf::Ensemble);
    let value = read("ensemble.yaml", text).unwrap();
    let errors: Vec<String> = checker
        .iter_errors(&value)
        .map(|it| it.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn projects_are_checked_as_their_reader_does() {
    let checker = checker(SchemaOf::Project);
    let good = json!({
        "apiVersion": "unfurl/v1alpha1",
        "kind": "Project",
        "ensembles": [{ "file": "a/ensemble.yaml", "default": true }],
        "environments": { "dev": { "lfs_lock": { "lock": "try" }, "imports": [] }, "prod": null },
    });
    assert!(checker.is_valid(&good));
    let mistakes = [
        ("/kind", json!("Ensemble")),
        ("/ensembles", json!({})),
        ("/ensembles/0/file", Json::Null),
        ("/ensembles/0/default", json!("yes")),
        ("/environments/dev/lfs_lock/lock", json!("always")),
        ("/environments/dev/imports", json!({})),
    ];
    for (place, wrong) in mistakes {
        let mut value = good.clone();
        *value.pointer_mut(place).unwrap() = wrong;
        if place.ends_with("file") {
            value["ensembles"][0]
                .as_object_mut()
                .unwrap()
                .remove("file");
        }
        assert!(!checker.is_valid(&value), "{place}");
    }
    let mut value = good;
    value["ensembels"] = json!([]);
    assert!(!checker.is_valid(&value));
}
