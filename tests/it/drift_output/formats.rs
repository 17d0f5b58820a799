//! The formats for programs.

use std::process::Command;

use serde_json::Value as Json;
use unfurl::testing::ops::schema::SchemaKind;

use super::{drift, edit_file, set_status, shop};
use crate::schemas::complaints;
use crate::support::TestEnv;

/// An ensemble with drift, something unknown and a rule that matches nothing.
fn drifted() -> TestEnv {
    let env = shop();
    edit_file(&env);
    set_status(&env, "web1", "error");
    std::fs::remove_file(env.work().join("web2.status")).unwrap();
    let rules = "environment: {drift: {ignore: [{instance: none, reason: 'a <b> & \"c\"'}]}}\n";
    env.write(
        "ensemble.yaml",
        &format!("{}{rules}", env.read("ensemble.yaml")),
    );
    env
}

#[test]
fn the_json_document_has_all_that_the_text_says_and_meets_its_schema() {
    requires!("target/unfurl-py");
    let env = drifted();
    let clean = shop();
    let documents: Vec<Json> = [
        drift(&clean, &["--output", "json"]).exits(0),
        drift(&env, &["--output", "json"]).exits(3),
        drift(&env, &["--output", "json", "missing"]).exits(64),
        drift(&env, &["--output", "json", "--repair", "--approve"]).does_not_panic(),
        drift(&env, &["--output", "json", "--log", "-n", "0"]).exits(0),
    ]
    .iter()
    .map(crate::support::Run::json)
    .collect();
    for (complaints, document) in complaints(SchemaKind::Drift, &documents)
        .iter()
        .zip(&documents)
    {
        assert_eq!(*complaints, [], "{document:#}");
    }
    let found = &documents[1];
    assert_eq!(found["status"], "drifted");
    let ensemble = &found["ensembles"][0];
    assert_eq!(
        (&ensemble["looked_at"], &ensemble["total"]),
        (&Json::from(3), &Json::from(4))
    );
    let findings = ensemble["findings"].as_array().unwrap();
    let file = findings.iter().find(|it| it["instance"] == "conf").unwrap();
    assert_eq!(file["attribute"], "out/shop.conf");
    assert_eq!(file["kind"], "outside");
    assert!(
        file["lines"]
            .as_str()
            .unwrap()
            .contains("-listen 81\n+listen 80\n"),
        "{file}"
    );
    assert!(file["last_set"]["job"].is_string(), "{file}");
    assert_eq!(file["count"], 1);
    assert!(documents[4]["ensembles"][0]["total"].as_u64().unwrap() > 3);
}

#[test]
fn junit_is_well_formed_with_a_case_for_each_subject() {
    requires!("python3");
    let env = drifted();
    let run = drift(&env, &["--output", "junit"]).exits(3);
    env.write("junit.xml", &run.stdout);
    let script = "import sys, xml.etree.ElementTree as E
for suite in E.parse(sys.argv[1]).getroot():
    print(suite.get('name'), suite.get('tests'), suite.get('failures'), suite.get('skipped'))
    for case in suite:
        print(case.get('classname'), case.get('name'), *[it.tag for it in case])";
    let file = env.work().join("junit.xml");
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}\n{run}");
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @"
    work 5 3 1
    conf out/shop.conf failure
    web1 status failure
    web2 status skipped
    work ignore rule failure
    web3 status
    ");
}

#[test]
fn sarif_has_places_in_the_model() {
    let env = drifted();
    let sarif = drift(&env, &["--output", "sarif"]).exits(3).json();
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let rules: Vec<&str> = results
        .iter()
        .map(|it| it["ruleId"].as_str().unwrap())
        .collect();
    assert_eq!(
        rules,
        [
            "drift/outside",
            "drift/outside",
            "drift/cannot-tell",
            "drift/ignore-rule"
        ]
    );
    for result in results {
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(
            place["artifactLocation"]["uri"], "ensemble.yaml",
            "{result}"
        );
        assert!(
            place["region"]["startLine"].as_u64().unwrap() > 1,
            "{result}"
        );
    }
}

#[test]
fn markdown_is_a_table() {
    let env = drifted();
    let run = drift(&env, &["--output", "markdown"]).exits(3);
    run.prints(&[
        "### Drift in work&#58; 2 drifted, 1 cannot tell, 1 problem of ignore rules; 3 of 4 looked at\n",
        "| &#33; drifted | <code>conf</code> | <code>out/shop.conf</code> |",
        "<pre>\n",
    ]);
}

#[test]
fn mistakes_on_the_command_line_are_told_in_json_too() {
    let env = shop();
    let run = drift(
        &env,
        &["accept", "--reason", " ", "abcd", "--output", "json"],
    );
    assert!(run.json()["errors"][0]["message"].is_string(), "{run}");
    drift(&env, &["--log", "--output", "junit"]).exits(2);
    drift(&env, &["-n", "3"]).exits(2);
}
