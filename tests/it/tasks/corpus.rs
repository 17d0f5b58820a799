//! Tasks, compared with recorded answers of the real Fabric. Intended deviations are listed with their rules.

use serde_json::{Value as Json, json};
use unfurl::testing::tasks::TaskCall;

use super::engine::host_list;
use crate::support::{TestEnv, fabric_answers};

#[test]
fn calls_are_read_as_in_the_corpus() {
    requires!("corpus/fabric");
    let golden = fabric_answers();
    // Deviations: F62 splits at the first equals sign, F7 refuses an empty item.
    let product = ["t:k=a=b", "t:hosts="];
    let mut count = 0;
    for row in golden["task_args"].as_array().unwrap() {
        let text = row[0].as_str().unwrap();
        let call = TaskCall::parse(text);
        if product.contains(&text) {
            assert_eq!(call.is_ok(), text == "t:k=a=b", "{text}");
            continue;
        }
        let call = call.unwrap_or_else(|error| panic!("{text}: {error}"));
        let own = json!([
            call.task,
            call.args,
            call.kwargs,
            call.scope.hosts,
            call.scope.roles,
            call.scope.exclude_hosts
        ]);
        assert_eq!(own, row[1][0], "{text}");
        count += 1;
    }
    assert!(count > 15);
}

#[test]
fn host_lists_are_those_of_the_corpus() {
    requires!("corpus/fabric");
    let golden = fabric_answers();
    let mut count = 0;
    for row in golden["host_lists"]["cases"].as_array().unwrap() {
        let case = &row["case"];
        let result = &row["result"];
        let own = host_list(case);
        if case["dedupe"] == false {
            // Deviation: F16 excludes hosts even if they are listed twice.
            assert_eq!(own, Ok((vec!["a".into(), "a".into()], Vec::new())));
        } else if let Some(abort) = result.get("abort") {
            assert!(abort.as_str().unwrap().contains("nope"));
            let own = own.unwrap_err();
            assert!(own.contains("there is no role `nope`"), "{own}");
        } else {
            let own = own.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(json!([own.0, own.1]), *result, "{case}");
        }
        count += 1;
    }
    assert!(count > 15);
}

/// The tasks that ran in Fabric: host, task and arguments of each.
fn expected(stdout: &Json) -> Vec<Json> {
    let lines = stdout
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap());
    lines.filter_map(expected_line).collect()
}

fn expected_line(line: &str) -> Option<Json> {
    if let Some((host, rest)) = line.strip_prefix('[').and_then(|it| it.split_once(']'))
        && let Some(task) = rest.strip_prefix(" Executing task ")
    {
        return Some(json!(["begin", host, task.trim_matches('\'')]));
    }
    // Fabric prints the arguments in Python's syntax.
    let as_json = |text: &str| -> Json {
        let text = text.replace('\'', "\"").replace('(', "[").replace(')', "]");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    if line.starts_with("[(") {
        return Some(json!(["said", as_json(line)]));
    }
    let mut words = line.strip_prefix("RUN ")?.splitn(3, ' ');
    let (task, host) = (words.next()?, words.next()?);
    let (args, kwargs) = words.next()?.split_once("] [")?;
    let args = as_json(&format!("{args}]"));
    Some(json!([
        "run",
        task,
        host,
        args,
        as_json(&format!("[{kwargs}"))
    ]))
}

/// The command line of a recorded run.
pub(super) fn words_of(row: &Json) -> Vec<&str> {
    let words = row["argv"].as_array().unwrap().iter();
    words.map(|it| it.as_str().unwrap()).collect()
}

/// Returns true for a run with options that are not supported (rule F63): `--quiet` and `-v` choose the output.
pub(super) fn is_left_out(words: &[&str]) -> bool {
    let left_out = ["--hide=everything", "-F", "--shortlist"];
    words.iter().any(|word| left_out.contains(word))
}

/// The tasks that ran here, in the form of [`expected`].
pub(super) fn ours(stdout: &str) -> Vec<Json> {
    let events = stdout
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap());
    let mut found = Vec::new();
    for event in events {
        match event["event"].as_str() {
            Some("begin") if !event["host"].is_null() => {
                found.push(json!(["begin", event["host"], event["task"]]));
            }
            Some("message") => {
                let text = event["message"].as_str().unwrap();
                let Some(said) = text.strip_prefix("RUN ") else {
                    let said: Json = serde_json::from_str(text).unwrap();
                    found.push(json!(["said", said]));
                    continue;
                };
                let mut words = said.splitn(3, ' ');
                let (task, host) = (words.next().unwrap(), words.next().unwrap());
                let mut rest = serde_json::Deserializer::from_str(words.next().unwrap())
                    .into_iter::<Json>()
                    .map(Result::unwrap);
                found.push(json!(["run", task, host, rest.next(), rest.next()]));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn runs_go_as_in_the_corpus() {
    requires!("corpus/fabric");
    let golden = fabric_answers();
    let mut count = 0;
    for row in golden["runs"]["cases"].as_array().unwrap() {
        let words = words_of(row);
        if is_left_out(&words) {
            continue;
        }
        let env = TestEnv::new();
        env.write("tasks.yaml", include_str!("../../data/tasks/corpus.yaml"));
        let run = env.unfurl(
            ["task", "--output", "json"]
                .into_iter()
                .chain(words.iter().copied()),
        );
        assert_eq!(json!(run.code), row["rc"], "{words:?}\n{run}");
        count += 1;
        if words.contains(&"-l") {
            let listed: Json = serde_json::from_str(&run.stdout).unwrap();
            let names = listed["tasks"].as_array().unwrap().iter();
            let names: Vec<&str> = names.map(|task| task["name"].as_str().unwrap()).collect();
            let expected = row["stdout"].as_array().unwrap().iter();
            let expected = expected.map(|it| it.as_str().unwrap().trim());
            let expected: Vec<&str> = expected.skip(1).filter(|it| !it.is_empty()).collect();
            assert_eq!(names, expected);
        } else if !words.contains(&"-d") && words != ["nosuch"] {
            assert_eq!(
                ours(&run.stdout),
                expected(&row["stdout"]),
                "{words:?}\n{run}"
            );
        }
    }
    assert!(count > 30);
}
