//! The recorded cases: state trees that the real Salt has compiled and run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use unfurl::testing::states::{
    CompilePurpose, CompileRequest, FileRoots, FileRootsError, MinionData, RunOrdering,
    StateTargets,
};
use unfurl::testing::value::Value;

use crate::requires::recorded_answers;

/// A state tree with its settings and Salt's results.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) about: Json,
    expected: Json,
}

/// Reads all recorded cases from their folders.
pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = fs::read_dir(recorded_answers().join("corpus/salt"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("expected.json").is_file())
        .map(|folder| Case {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            about: json(&folder.join("case.json")),
            expected: json(&folder.join("expected.json")),
            folder,
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn json(path: &Path) -> Json {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

pub(super) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => number
            .as_i64()
            .map_or_else(|| number.as_f64().unwrap().into(), Value::Int),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::list(items.iter().map(value)),
        Json::Object(map) => Value::map(map.iter().map(|(key, item)| (key.as_str(), value(item)))),
    }
}

impl Case {
    /// Salt's results with an ordering. The classic ordering was recorded with Salt 3006.28 if it differs.
    pub(super) fn expected(&self, ordering: RunOrdering) -> &Json {
        let classic = &self.expected["others"]["3006.28"];
        if ordering == RunOrdering::Classic && classic.is_object() {
            classic
        } else {
            &self.expected["expect"]
        }
    }

    /// The request to compile the case.
    pub(super) fn request(&self, ordering: RunOrdering) -> CompileRequest {
        let targets = match &self.about["target"] {
            Json::Array(names) => {
                let name = |name: &Json| name.as_str().unwrap().to_owned();
                StateTargets::Sls(names.iter().map(name).collect())
            }
            _ => StateTargets::Highstate,
        };
        CompileRequest {
            targets,
            ordering,
            purpose: CompilePurpose::Show,
            exclude: Vec::new(),
        }
    }

    /// The minion data of the case. `folder` replaces the placeholder `__TMP__` in all files.
    pub(super) fn machine(&self, folder: &Path) -> MinionData {
        let mut files = BTreeMap::new();
        gather(&self.folder, &self.folder, &mut files);
        let folder = folder.to_string_lossy();
        for text in files.values_mut() {
            *text = text.replace("__TMP__", &folder);
        }
        let options = files
            .get("minion.yaml")
            .map_or_else(String::new, Clone::clone);
        let options: Json = parse_settings(&options);
        MinionData {
            id: "golden".into(),
            roots: Arc::new(Files(files)).into(),
            grains: Value::map([("role", "web".into()), ("id", "golden".into())]),
            pillar: value(&self.about["pillar"]),
            options: value(&options),
        }
    }
}

/// Reads the simple settings of cases: `key: value` or `key: [a, b]` per line.
fn parse_settings(text: &str) -> Json {
    let mut map = serde_json::Map::new();
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(':') else {
            continue;
        };
        let rest = rest.trim();
        let scalar = |text: &str| match text.trim() {
            "True" | "true" => Json::Bool(true),
            "False" | "false" => Json::Bool(false),
            text => text.parse::<i64>().map_or_else(|_| text.into(), Json::from),
        };
        let list = rest
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let item = match list {
            Some(items) => Json::Array(items.split(',').map(scalar).collect()),
            None => scalar(rest),
        };
        map.insert(key.trim().to_owned(), item);
    }
    Json::Object(map)
}

fn gather(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if name != "seed" {
                gather(root, &path, files);
            }
        } else {
            files.insert(
                name,
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
            );
        }
    }
}

/// A file system of state files in memory, by path.
pub(super) struct Files(pub(super) BTreeMap<String, String>);

impl Files {
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self(files.iter().map(own).collect())
    }
}

impl FileRoots for Files {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
        Ok(self.0.get(path).map(|text| text.as_bytes().into()))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError> {
        let below = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let paths = self.0.keys().filter(|path| path.starts_with(&below));
        Ok(paths.cloned().collect())
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError> {
        Ok(self.0.get(path).map(|_| 0o644))
    }
}
