//! State trees in several environments and with several renderers, compared with the recorded answers of Salt 3008.3 and 3006.28.
//!
//! `tests/data/states/environments/record.py` records the answers to `cases.json` with the trees in `tree`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::support::{Run, TestEnv};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/states/environments")
}

fn read(name: &str) -> Json {
    serde_json::from_str(&fs::read_to_string(folder().join(name)).unwrap()).unwrap()
}

/// Writes the configuration of a case: its options, and folders of the trees.
fn write_config(env: &TestEnv, case: &Json) {
    let mut config = case["options"].clone();
    let usual = json!({"base": ["base", "base2"], "dev": ["dev"], "prod": ["prod"]});
    let roots = config
        .get("file_roots")
        .unwrap_or(&usual)
        .as_object()
        .unwrap();
    let root = |path: &Json| json!(folder().join("tree").join(path.as_str().unwrap()));
    let roots = roots.iter().map(|(env, paths)| {
        let paths = paths.as_array().unwrap().iter().map(root);
        (env.clone(), paths.collect::<Json>())
    });
    config["file_roots"] = Json::Object(roots.collect());
    env.write("minion.json", &config.to_string());
}

/// Calls a command of `state` for a case.
fn state(env: &TestEnv, case: &Json, words: &[&str]) -> Run {
    write_config(env, case);
    let pillar = json!({"tmp": env.work().join("files")}).to_string();
    let sls = case["sls"].as_str();
    let usual = [
        "--config",
        "minion.json",
        "--id",
        "golden",
        "--output",
        "json",
        "--pillar",
    ];
    let mut line = vec!["--allow", "python", "state"];
    line.extend(words);
    line.extend(sls);
    line.extend(usual);
    line.push(&pillar);
    env.unfurl(line)
}

/// The answer to a case that compiles, in the form of the recorded ones.
fn compiled(env: &TestEnv, case: &Json, ordering: &str) -> Json {
    let command = format!("show-{}", case["call"].as_str().unwrap());
    let run = state(env, case, &[&command, "--ordering", ordering]);
    if run.code != 0 {
        return json!("!");
    }
    with_usual_folder(env, &run.json())
}

/// Replaces the folder of the files that states write by the one in the recorded answers.
fn with_usual_folder(env: &TestEnv, answer: &Json) -> Json {
    let own = env.work().join("files");
    let text = answer
        .to_string()
        .replace(&*own.to_string_lossy(), "/tmp/files");
    serde_json::from_str(&text).unwrap()
}

/// The results of the states of a case, and the files that they wrote.
fn applied(env: &TestEnv, case: &Json, ordering: &str) -> Json {
    let files = env.work().join("files");
    drop(fs::remove_dir_all(&files));
    fs::create_dir(&files).unwrap();
    let run = state(
        env,
        case,
        &["apply", "-H", "@local", "--approve", "--ordering", ordering],
    );
    let report = run.json();
    let mut results: Vec<&Json> = report.as_object().unwrap().values().collect();
    results.sort_by_key(|row| row["__run_num__"].as_i64());
    let rows = results.into_iter().map(|row| {
        let mut changes = row["changes"].clone();
        changes.as_object_mut().unwrap().remove("pid");
        json!([row["__id__"], row["result"], changes, row["comment"]])
    });
    let rows: Json = rows.collect();
    let rows = with_usual_folder(env, &rows);
    let found = env.files().into_iter().filter_map(|(path, bytes)| {
        let below = Path::new(&path).strip_prefix(&files).ok()?;
        let text = String::from_utf8(bytes).unwrap();
        Some((below.to_string_lossy().into_owned(), text.into()))
    });
    json!({"states": rows, "files": Json::Object(found.collect())})
}

#[test]
fn environments_compile_and_run_as_in_salt() {
    let answers = read("answers.json");
    let cases = read("cases.json");
    let env = TestEnv::new();
    let mut differences = Vec::new();
    for case in cases.as_array().unwrap() {
        for (version, ordering) in [("3008", "dag"), ("3006", "classic")] {
            let name = case["name"].as_str().unwrap();
            // One ordering is enough where both releases give the same answer.
            let is_same = answers["3006"][name] == answers["3008"][name];
            if is_same && ordering == "classic" && case["call"] != "apply" {
                continue;
            }
            let own = if case["call"] == "apply" {
                applied(&env, case, ordering)
            } else {
                compiled(&env, case, ordering)
            };
            // An answer that differs on purpose stands in the case itself.
            let answer = case.get("own").unwrap_or(&answers[version][name]);
            if own != *answer {
                differences.push(format!(
                    "{name}, {ordering}:\n  ours {own}\n  Salt {answer}"
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_command_line_names_the_folders_of_environments() {
    let env = TestEnv::new();
    env.write("states/a.sls", "a-base: test.nop\n");
    env.write(
        "dev/a.sls",
        "include: [{base: a}]\na-{{ saltenv }}: test.nop\n",
    );
    let own = ["state", "show-low", "a", "--output", "json"];
    let roots = ["--file-root", "states", "--file-root", "dev=dev"];
    let ids = |words: &[&str]| {
        let run = env.unfurl(own.iter().chain(&roots).chain(words));
        let low = run.succeeds().json();
        let ids = low
            .as_array()
            .unwrap()
            .iter()
            .map(|chunk| chunk["__id__"].clone());
        ids.collect::<Json>()
    };
    assert_eq!(ids(&[]), json!(["a-base"]));
    assert_eq!(ids(&["--saltenv", "dev"]), json!(["a-base", "a-dev"]));
    let run = env.unfurl(own.iter().chain(&["--saltenv", "qa"]));
    run.exits(1)
        .says(&["for environment `qa`", "--file-root ENV=DIR"]);
}
