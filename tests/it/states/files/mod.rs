//! The state module `file`, compared with Salt 3008.3. Each case runs three times in a separate folder: a dry
//! run and two real runs.
//!
//! `cases` describes the cases, `answers.json` has Salt's results, and `differs.yaml` the intended deviations
//! with their reasons.

mod own;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::{Group, User};
use serde_json::{Map as JsonMap, Value as Json, json};
use unfurl::testing::diagnostic::Span;
use unfurl::testing::states::{
    ChangeOutcome, Chunk, FactCache, FileRoots, FileRootsError, Halt, LinkTarget, LowData, Mode,
    ModuleContext, RenderTemplate, Requisite, RequisiteLink, StateCall, StateDecision,
    StateOutcome, TemplateRequest, find,
};
use unfurl::testing::value::{Map, Value};

use super::local_executor;

/// The folder with the cases and their shared state tree.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/states/files")
}

#[derive(Debug)]
struct Tree(PathBuf);

impl FileRoots for Tree {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
        Ok(fs::read(self.0.join(path)).ok().map(Arc::from))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError> {
        let mut all = Vec::new();
        let mut todo = vec![self.0.join(folder)];
        while let Some(folder) = todo.pop() {
            for item in fs::read_dir(folder).into_iter().flatten() {
                let path = item.unwrap().path();
                if path.is_dir() {
                    todo.push(path);
                } else {
                    let path = path.strip_prefix(&self.0).unwrap();
                    all.push(path.to_str().unwrap().to_owned());
                }
            }
        }
        all.sort();
        Ok(all)
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError> {
        Ok(fs::metadata(self.0.join(path)).ok().map(|meta| meta.mode()))
    }
}

/// A template renderer with the grains of the cases.
#[derive(Debug)]
struct Renderer;

impl RenderTemplate for Renderer {
    fn render(&self, request: &TemplateRequest<'_>, _: &FactCache) -> Result<String, Halt> {
        let mut engine = minijinja::Environment::new();
        let syntax = minijinja::syntax::SyntaxConfig::builder()
            .keep_trailing_newline(true)
            .build();
        engine.set_syntax(syntax.unwrap());
        let mut words = map_json(request.context);
        words["grains"] = json!({"role": "web"});
        engine
            .render_str(request.text, to_jinja(&words))
            .map_err(|error| Halt::Failed(error.to_string()))
    }
}

fn to_jinja(json: &Json) -> minijinja::Value {
    match json {
        Json::Null => ().into(),
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => number.as_i64().unwrap().into(),
        Json::String(text) => text.into(),
        Json::Array(items) => items.iter().map(to_jinja).collect(),
        Json::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, value)| (key.clone(), to_jinja(value)));
            pairs.collect::<BTreeMap<String, minijinja::Value>>().into()
        }
    }
}

fn world() -> ModuleContext {
    ModuleContext {
        id: "golden".into(),
        roots: Arc::new(Tree(folder().join("root"))).into(),
        renderer: Arc::new(Renderer),
        grains: to_value(&json!({"role": "web", "lines": ["g1", "g2"]})),
        pillar: to_value(&json!({
            "motd": "hello pillar\n", "deep": {"key": "deep value"},
            "data": {"b": 2, "a": [1, "x"]}, "lines": ["p1", "p2"],
        })),
        options: Value::Null,
    }
}

fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::Float(number.as_f64().unwrap()), Value::Int),
        Json::String(text) => Value::str(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(to_value)),
        Json::Object(map) => Value::map(map.iter().map(|(key, value)| (&**key, to_value(value)))),
    }
}

fn to_json(value: &Value) -> Json {
    match value.reveal() {
        Value::Null => Json::Null,
        Value::Bool(truth) => json!(truth),
        Value::Int(number) => json!(number),
        Value::Float(number) => json!(number),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(map) => map_json(map),
        other => json!(other.to_string()),
    }
}

fn map_json(map: &Map) -> Json {
    let pairs = map
        .iter()
        .map(|(key, value)| (key.to_string(), to_json(value)));
    Json::Object(pairs.collect())
}

/// A case in a temporary folder.
struct Case {
    name: String,
    said: Json,
    tmp: tempfile::TempDir,
}

/// The placeholder for the folder of a case.
const TOKEN: &str = "__TMP__";

impl Case {
    fn filled(&self, json: &Json) -> Json {
        let tmp = self.tmp.path().to_str().unwrap();
        serde_json::from_str(&json.to_string().replace(TOKEN, tmp)).unwrap()
    }

    fn folded(&self, json: &Json) -> Json {
        let tmp = self.tmp.path().to_str().unwrap();
        serde_json::from_str(&json.to_string().replace(tmp, TOKEN)).unwrap()
    }

    fn seed(&self) {
        let Some(seed) = self.said["seed"].as_object() else {
            return;
        };
        for (below, what) in seed {
            let path = self.tmp.path().join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let what = self.filled(what);
            let what = match &what {
                Json::String(text) => json!({ "text": text }),
                other => other.clone(),
            };
            let mode = |otherwise| {
                let mode = what["mode"].as_str().unwrap_or(otherwise);
                fs::Permissions::from_mode(u32::from_str_radix(mode, 8).unwrap())
            };
            if let Some(target) = what["link"].as_str() {
                symlink(target, &path).unwrap();
            } else if let Some(text) = what["text"].as_str() {
                fs::write(&path, text).unwrap();
                fs::set_permissions(&path, mode("0644")).unwrap();
            } else if let Some(digits) = what["hex"].as_str() {
                let bytes = (0..digits.len() / 2)
                    .map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).unwrap());
                fs::write(&path, bytes.collect::<Vec<u8>>()).unwrap();
                fs::set_permissions(&path, mode("0644")).unwrap();
            } else {
                fs::create_dir_all(&path).unwrap();
                fs::set_permissions(&path, mode("0755")).unwrap();
            }
            let user = what["user"]
                .as_str()
                .map(|it| User::from_name(it).unwrap().unwrap().uid);
            let group = what["group"]
                .as_str()
                .map(|it| Group::from_name(it).unwrap().unwrap().gid);
            let (user, group) = (
                user.map(nix::unistd::Uid::as_raw),
                group.map(nix::unistd::Gid::as_raw),
            );
            lchown(&path, user, group).unwrap();
            if let Some(time) = what["mtime"].as_i64() {
                let time = format!("@{time}");
                let mut touch = std::process::Command::new("touch");
                touch.args(["-d", &time]).arg(&path).status().unwrap();
            }
        }
    }

    /// The current content of the folder, to compare it with Salt's.
    fn content(&self) -> Json {
        let mut all = BTreeMap::new();
        let mut todo = vec![self.tmp.path().to_owned()];
        while let Some(folder) = todo.pop() {
            for item in fs::read_dir(folder).unwrap() {
                let path = item.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let mode = format!("{:04o}", meta.mode() & 0o7777);
                let mut what = if meta.is_symlink() {
                    json!({"link": fs::read_link(&path).unwrap().to_str().unwrap()})
                } else if meta.is_dir() {
                    todo.push(path.clone());
                    json!({ "folder": mode })
                } else {
                    let bytes = fs::read(&path).unwrap();
                    match String::from_utf8(bytes) {
                        Ok(text) => json!({"text": text, "mode": mode}),
                        Err(error) => {
                            json!({"hex": unfurl::testing::value::hex(error.as_bytes()), "mode": mode})
                        }
                    }
                };
                let user = User::from_uid(meta.uid().into()).unwrap().unwrap().name;
                let group = Group::from_gid(meta.gid().into()).unwrap().unwrap().name;
                if (&*user, &*group) != ("root", "root") {
                    what["own"] = json!(format!("{user}:{group}"));
                }
                let below = path.strip_prefix(self.tmp.path()).unwrap();
                all.insert(below.to_str().unwrap().to_owned(), what);
            }
        }
        self.folded(&json!(all))
    }

    /// Runs all states of the case and returns their results.
    fn run(&self, mode: Mode) -> Json {
        let low = self.low();
        let world = world();
        let mut facts = FactCache::default();
        let mut rows = Vec::new();
        for (index, chunk) in low.chunks.iter().enumerate() {
            let call = StateCall {
                state: &chunk.state,
                fun: &chunk.fun,
                name: &chunk.name,
                id: &chunk.id,
                sls: &chunk.sls,
                args: &chunk.args,
                mode,
                context: &world,
                chunk: Some((&low, u32::try_from(index).unwrap())),
            };
            let outcome = self.decided(&call, &mut facts);
            let mut row = json!({
                "id": &*chunk.id, "result": outcome.result,
                "changes": map_json(&outcome.changes), "comment": outcome.comment,
            });
            if !outcome.warnings.is_empty() {
                row["warnings"] = json!(outcome.warnings);
            }
            if outcome.skip_watch {
                row["skip_watch"] = json!(true);
            }
            rows.push(row);
        }
        self.folded(&json!(rows))
    }

    fn decided(&self, call: &StateCall<'_>, facts: &mut FactCache) -> StateOutcome {
        let (_, Some(function)) = find(call.state, call.fun) else {
            panic!("{}: no {}.{}", self.name, call.state, call.fun);
        };
        for key in call.args.keys() {
            let known = function.required().chain(function.optional());
            assert!(
                known.into_iter().any(|it| it == &**key),
                "{}: `{key}` is no argument of {}",
                self.name,
                call.fun
            );
        }
        let verdict = with_facts(facts, |facts| (function.run)(call, facts));
        let deed = match verdict {
            Ok(StateDecision::Done(outcome)) => return outcome,
            Ok(StateDecision::Change(deed)) => deed,
            Err(why) => return StateOutcome::failed(why),
        };
        if call.mode == Mode::Test {
            deed.steps.iter().for_each(|step| facts.predict(step));
            return deed.predicted;
        }
        let outputs = local_executor::make(&deed.steps);
        deed.steps.iter().for_each(|step| facts.invalidate(step));
        match deed.finish {
            ChangeOutcome::Computed(judge) => with_facts(facts, |facts| judge(&outputs, facts))
                .unwrap_or_else(StateOutcome::failed),
            ChangeOutcome::Fixed(outcome) => {
                match outputs.iter().find(|output| !output.exit.is_ok()) {
                    Some(failed) => StateOutcome::failed(failed.stderr.text()),
                    None => outcome,
                }
            }
        }
    }

    /// The low data of the case: its states with their requisites.
    fn low(&self) -> LowData {
        let mut low = LowData::default();
        let states = self.filled(&self.said["states"]);
        let mut asked: Vec<(u32, Requisite, u32)> = Vec::new();
        for (index, state) in states.as_array().unwrap().iter().enumerate() {
            let index = u32::try_from(index).unwrap();
            let (function, args) = state.as_object().unwrap().iter().next().unwrap();
            let mut args = args.as_object().cloned().unwrap_or_default();
            for (key, kind) in [
                ("require", Requisite::Require),
                ("require_in", Requisite::Require),
                ("watch_in", Requisite::Watch),
            ] {
                for other in args
                    .shift_remove(key)
                    .iter()
                    .flat_map(|it| it.as_array().unwrap())
                {
                    let id = other.as_object().unwrap().values().next().unwrap();
                    let other: u32 = id.as_str().unwrap()[1..].parse().unwrap();
                    asked.push(match key {
                        "require" => (index, kind, other),
                        _ => (other, kind, index),
                    });
                }
            }
            let name = args.shift_remove("name");
            let (module, fun) = function.split_once('.').unwrap();
            let Value::Map(args) = to_value(&Json::Object(args)) else {
                panic!("arguments are a map");
            };
            low.chunks.push(Chunk {
                id: format!("s{index}").into(),
                sls: "main".into(),
                env: "base".into(),
                state: module.into(),
                fun: fun.into(),
                name: name.unwrap().as_str().unwrap().into(),
                order: Value::Int(index.into()),
                args: (*args).clone(),
                keywords: Map::new(),
                links: Vec::new(),
                span: Span::NONE,
            });
        }
        for (from, kind, to) in asked {
            let set = u32::try_from(low.sets.len()).unwrap();
            low.sets.push(Box::new([to]));
            low.chunks[from as usize].links.push(RequisiteLink {
                repeats: 1,
                kind,
                target: LinkTarget::Set(set),
                written: Value::Null,
                span: Span::NONE,
            });
        }
        low
    }
}

/// Repeats a query until all facts that it needs are known.
fn with_facts<T>(
    facts: &mut FactCache,
    ask: impl Fn(&FactCache) -> Result<T, Halt>,
) -> Result<T, String> {
    for _ in 0..50 {
        match ask(facts) {
            Ok(told) => return Ok(told),
            Err(Halt::Failed(why)) => return Err(why),
            Err(Halt::Needs(wanted)) => {
                for fact in wanted {
                    let reading = local_executor::read(&fact);
                    facts.learn(fact, reading);
                }
            }
        }
    }
    panic!("it asks for facts without end");
}

/// Replaces the comments of Salt's exceptions. Salt puts the name of the exception before the message, this
/// program does not.
fn raised(wanted: &Json, got: &Json) -> Json {
    let mut wanted = wanted.clone();
    for (wanted, got) in wanted
        .as_array_mut()
        .into_iter()
        .flatten()
        .zip(got.as_array().unwrap())
    {
        let (said, says) = (
            wanted["comment"].as_str().unwrap(),
            got["comment"].as_str().unwrap(),
        );
        if said.starts_with("exception: ") && said.contains(says) {
            wanted["comment"] = json!(says);
        }
    }
    wanted
}

/// Sorts the parts that Salt lists in the random order of its sets and folders.
fn sorted(rows: &Json) -> Json {
    let mut rows = rows.clone();
    for row in rows.as_array_mut().into_iter().flatten() {
        if let Some(removed) = row["changes"]["removed"].as_array_mut() {
            removed.sort_by_key(ToString::to_string);
        }
        let comment = row["comment"].as_str().unwrap().to_owned();
        if comment.contains("####") {
            let mut parts: Vec<&str> = comment.split('\n').filter(|it| !it.is_empty()).collect();
            parts.sort_unstable();
            row["comment"] = json!(parts);
        }
    }
    rows
}

/// Runs all cases of a file and reports the differences.
fn check(file: &str) {
    let text = fs::read_to_string(folder().join("cases").join(file)).unwrap();
    let cases: Vec<Json> = serde_yaml::from_str(&text).unwrap();
    let answers = fs::read_to_string(folder().join("answers.json")).unwrap();
    let answers: Json = serde_json::from_str(&answers).unwrap();
    let differs = fs::read_to_string(folder().join("differs.yaml")).unwrap();
    let differs: JsonMap<String, Json> = serde_yaml::from_str(&differs).unwrap();
    let mut wrong = Vec::new();
    for said in cases {
        let name = said["it"].as_str().unwrap().to_owned();
        let mut answer = answers[&name].clone();
        assert!(answer.is_object(), "{name}: Salt was not asked");
        if let Some(own) = differs.get(&name) {
            for (key, value) in own.as_object().unwrap() {
                answer[key] = value.clone();
            }
        }
        let new = || Case {
            name: name.clone(),
            said: said.clone(),
            tmp: tempfile::tempdir().unwrap(),
        };
        let case = new();
        fs::set_permissions(case.tmp.path(), fs::Permissions::from_mode(0o755)).unwrap();
        case.seed();
        let before = case.content();
        let mut got = vec![("test", case.run(Mode::Test))];
        got.push(("untouched", json!(case.content() == before)));
        got.push(("first", case.run(Mode::Apply)));
        got.push(("after", case.content()));
        got.push(("second", case.run(Mode::Apply)));
        for (key, got) in got {
            let wanted = match key {
                "untouched" => json!(true),
                _ => answer[key].clone(),
            };
            let is_same = match key {
                "after" | "untouched" => wanted == got,
                _ => sorted(&raised(&wanted, &got)) == sorted(&got),
            };
            if !is_same {
                wrong.push(format!(
                    "{name}\n  {key}\n    is     {got}\n    wanted {wanted}"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn managed_files_are_what_salt_makes_of_them() {
    check("managed.yaml");
}

#[test]
fn edited_files_are_what_salt_makes_of_them() {
    check("edits.yaml");
}

#[test]
fn folders_and_links_are_what_salt_makes_of_them() {
    check("folders.yaml");
}
