//! Converts diagnostics to SARIF 2.1.0, which code hosts and editors show next to the source text.

use serde_json::{Value as Json, json};

use crate::diagnostic::Check;
use crate::value::encode_percent;

/// Builds a SARIF log of one run from diagnostics in the JSON form of `DiagnosticRenderer`.
pub fn sarif(problems: &[Json]) -> Json {
    let is_used = |check: &&Check| problems.iter().any(|it| it["check"] == check.name());
    let rule = |check: &Check| {
        json!({
            "id": check.name(),
            "shortDescription": {"text": check.summary().trim()},
        })
    };
    let rules: Vec<Json> = Check::ALL.iter().filter(is_used).map(rule).collect();
    sarif_log(&rules, &problems.iter().map(result).collect::<Vec<_>>())
}

/// Builds a SARIF log of one run from its rules and results.
pub(super) fn sarif_log(rules: &[Json], results: &[Json]) -> Json {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "unfurl",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(problem: &Json) -> Json {
    let message = problem["message"].as_str().unwrap_or_default();
    let text = match problem["help"].as_str() {
        Some(help) => format!("{message}\n\nhint: {help}"),
        None => message.to_owned(),
    };
    let labels = problem["labels"].as_array().map(Vec::as_slice);
    let (first, others) = match labels.unwrap_or_default() {
        [first, others @ ..] => (Some(first), others),
        [] => (None, Default::default()),
    };
    let mut result = json!({
        "ruleId": problem["check"],
        "level": problem["severity"],
        "message": {"text": text},
        "locations": first.map(location).into_iter().collect::<Vec<_>>(),
    });
    if !others.is_empty() {
        result["relatedLocations"] = others.iter().map(location).collect();
    }
    result
}

fn location(label: &Json) -> Json {
    let file = label["file"].as_str().unwrap_or_default();
    let mut location = sarif_location(file, label["line"].clone(), label["column"].clone());
    if let Some(text) = label["text"].as_str().filter(|text| !text.is_empty()) {
        location["message"] = json!({ "text": text });
    }
    location
}

/// Returns a place in a file as SARIF has it.
pub(super) fn sarif_location(file: &str, line: impl Into<Json>, column: impl Into<Json>) -> Json {
    let (line, column): (Json, Json) = (line.into(), column.into());
    json!({
        "physicalLocation": {
            "artifactLocation": {"uri": uri(file)},
            "region": {"startLine": line, "startColumn": column},
        },
    })
}

/// Returns a path as a percent-encoded URI reference. Absolute paths get the scheme `file`.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", encode_percent(path, b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_its_place_its_hint_and_its_other_places() {
        let problem = json!({
            "severity": "error",
            "check": "unknown-type",
            "message": "there is no node type `Ap`",
            "labels": [
                {"file": "a b.yaml", "line": 5, "column": 17, "text": ""},
                {"file": "/x/é.yaml", "line": 1, "column": 1, "text": "declared here"},
            ],
            "help": "did you mean `App`?",
        });
        let log = sarif(&[problem]);
        let result = serde_json::to_string_pretty(&log["runs"][0]["results"]).unwrap();
        insta::assert_snapshot!(result, @r#"
        [
          {
            "ruleId": "unknown-type",
            "level": "error",
            "message": {
              "text": "there is no node type `Ap`\n\nhint: did you mean `App`?"
            },
            "locations": [
              {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "a%20b.yaml"
                  },
                  "region": {
                    "startLine": 5,
                    "startColumn": 17
                  }
                }
              }
            ],
            "relatedLocations": [
              {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "file:///x/%C3%A9.yaml"
                  },
                  "region": {
                    "startLine": 1,
                    "startColumn": 1
                  }
                },
                "message": {
                  "text": "declared here"
                }
              }
            ]
          }
        ]
        "#);
    }

    #[test]
    fn a_problem_without_a_place_is_still_a_result() {
        let problem = json!({"severity": "warning", "message": "x", "labels": [], "help": null});
        assert_eq!(
            sarif(&[problem])["runs"][0]["results"][0]["locations"],
            json!([])
        );
    }
}
