//! Compilation of states: low data, run order and compile errors, compared with those of the real Salt.

use std::path::Path;

use serde_json::{Value as Json, json};
use unfurl::testing::states::{
    CompileError, CompilePurpose, CompiledStates, FactCache, RunOrdering, StateRenderer, compile,
};

use super::corpus::{Case, cases};

/// The intended deviations from Salt: case, ordering and reason.
const DEVIATIONS: &[(&str, RunOrdering, &str)] = &[
    (
        "dag-negative-child",
        RunOrdering::Dag,
        "a negative order is counted from the end before it lifts anything (S16)",
    ),
    (
        "require-sls-empty",
        RunOrdering::Dag,
        "an SLS that was rendered but is empty stays satisfied (S20)",
    ),
];

/// The classes of compile errors, with a part of the message of each.
const CLASSES: &[(&str, &str)] = &[
    ("conflicting_ids", "detected conflicting IDs"),
    ("not_a_list", "not formed as a list"),
    ("not_a_list", "needs to be formed as a list"),
    ("duplicate_yaml_key", "found conflicting ID"),
    ("not_a_dict", "is not a dictionary"),
    ("not_a_dict", "does not render to a dictionary"),
    ("id_not_string", "is not formed as a string"),
    ("no_function", "no function declared"),
    ("whitespace_function", "has whitespace"),
    ("too_many_functions", "too many functions"),
    ("trailing_colon", "trailing colon"),
    (
        "same_state_type_twice",
        "multiple state declarations of the same type",
    ),
    ("missing_requisite", "referenced state does not exist"),
    ("bad_extend", "cannot extend ID"),
    ("missing_sls", "is not available"),
    ("missing_sls", "no matching SLS"),
    ("relative_include", "beyond the top level package"),
    ("recursive_requisite", "recursive requisite"),
    ("requisite_dot", "must not contain dots"),
    ("other", "must have a string as the value"),
    ("render_error", "rendering SLS"),
];

fn class(message: &str) -> &'static str {
    let found = CLASSES.iter().find(|(_, words)| message.contains(words));
    found.map_or("?", |(class, _)| class)
}

fn compiled(case: &Case, ordering: RunOrdering) -> Result<CompiledStates, Vec<String>> {
    let folder = Path::new("/tmp/golden");
    let renderer = StateRenderer::new(case.machine(folder));
    let mut request = case.request(ordering);
    // Salt compiles some trees whose run it refuses.
    if case.expected(ordering)["low"].is_array()
        && !case.expected(ordering)["run"]["compile_error"].is_null()
    {
        request.purpose = CompilePurpose::Run;
    }
    match compile(&request, &renderer, &FactCache::default()) {
        Ok(compiled) => Ok(compiled),
        Err(CompileError::Needs(facts)) => Err(vec![format!("needs {facts:?}")]),
        Err(CompileError::Problems(problems, _)) => Err(problems
            .iter()
            .map(|problem| problem.message.clone())
            .collect()),
    }
}

fn rows(compiled: &CompiledStates) -> Json {
    let row = |turn: &unfurl::testing::states::OrderEntry| {
        let chunk = &compiled.low.chunks[turn.chunk as usize];
        json!({
            "fun": &*chunk.fun,
            "id": &*chunk.id,
            "name": chunk.name.replace("/tmp/golden", "__TMP__"),
            "order": serde_json::to_value(&chunk.order).unwrap(),
            "sls": &*chunk.sls,
            "state": &*chunk.state,
        })
    };
    compiled.order_entries.iter().map(row).collect()
}

/// Describes the difference between the compiled case and Salt's result, or returns None.
fn difference(case: &Case, ordering: RunOrdering) -> Option<String> {
    let expected = case.expected(ordering);
    let wanted = expected["run"]["compile_error"]["classes"].as_array();
    match (compiled(case, ordering), wanted) {
        (Ok(_), Some(classes)) => Some(format!("compiled, wanted {classes:?}")),
        (Err(messages), None) => Some(format!("wanted chunks, got {messages:?}")),
        (Err(messages), Some(classes)) => {
            let mut own: Vec<&str> = messages.iter().map(|message| class(message)).collect();
            let mut classes: Vec<&str> = classes.iter().filter_map(Json::as_str).collect();
            own.sort_unstable();
            own.dedup();
            classes.sort_unstable();
            (own != classes).then(|| format!("wanted {classes:?}, got {own:?}: {messages:?}"))
        }
        (Ok(compiled), None) => {
            let own = rows(&compiled);
            (expected["low"].is_array() && expected["low"] != own)
                .then(|| format!("wanted {}\n  got    {own}", expected["low"]))
        }
    }
}

#[test]
fn every_case_compiles_to_what_salt_makes_of_it() {
    requires!("corpus/salt");
    let mut different = Vec::new();
    for case in cases() {
        for ordering in [RunOrdering::Classic, RunOrdering::Dag] {
            let known = DEVIATIONS
                .iter()
                .any(|(name, mode, _)| *name == case.name && *mode == ordering);
            let difference = difference(&case, ordering);
            if difference.is_some() != known {
                let words = difference.unwrap_or_else(|| "as in Salt".to_owned());
                different.push(format!("{} {ordering:?}: {words}", case.name));
            }
        }
    }
    assert!(
        different.is_empty(),
        "{}\n{}",
        different.len(),
        different.join("\n")
    );
}
