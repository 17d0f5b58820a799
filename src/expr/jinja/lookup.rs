//! `lookup` and `query`: what Ansible's lookup plugins give, as far as they only read this machine.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands arguments over by value"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use minijinja::value::{Kwargs, Rest, Value as JinjaValue};
use minijinja::{Environment, State};

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::functions;
use crate::expr::item::{Item, Scene};
use crate::expr::reads::Read;
use crate::value::{List, Value};

use super::filters::{Result, failed};
use super::variables::Variables;

/// Adds the functions to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_function("lookup", one);
    environment.add_function("query", all);
    environment.add_function("q", all);
    environment.add_function("now", now);
}

fn one(state: &State, name: String, args: Rest<JinjaValue>, options: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let mut results = run(&variables, &name, &args, &options)?;
    let item = match results.len() {
        _ if options.get::<Option<bool>>("wantlist")?.unwrap_or_default() => results.into(),
        0 => Value::Null,
        1 => results.swap_remove(0),
        _ => {
            let texts: Vec<_> = results
                .iter()
                .map(|result| result.reveal().to_string())
                .collect();
            texts.join(",").into()
        }
    };
    Ok(variables.give(Item::Value(item)))
}

fn all(state: &State, name: String, args: Rest<JinjaValue>, options: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let results = run(&variables, &name, &args, &options)?;
    Ok(variables.give(Item::Value(results.into())))
}

fn run(
    variables: &Arc<Variables>,
    name: &str,
    args: &Rest<JinjaValue>,
    options: &Kwargs,
) -> Result<List> {
    let args = args
        .iter()
        .map(|arg| variables.take(arg))
        .collect::<Result<List>>()?;
    let default = options.get::<Option<JinjaValue>>("default")?;
    let results = variables.evaluator.lookup(name, &args, &variables.scene);
    let mut results = results.map_err(|error| variables.fail(error))?;
    if let (Some(default), "env") = (default, name) {
        let default = variables.take(&default)?;
        for result in results.iter_mut().filter(|result| !result.is_truthy()) {
            *result = default.clone();
        }
    }
    Ok(results)
}

impl Evaluator {
    /// What a lookup gives for each of its terms.
    pub(in crate::expr) fn lookup(
        &self,
        name: &str,
        terms: &[Value],
        scene: &Scene,
    ) -> std::result::Result<List, Error> {
        let name = name.rsplit('.').next().unwrap_or(name);
        let texts = terms.iter().map(|term| term.reveal().to_string());
        match name {
            "env" => {
                let get = |name: String| Value::from(self.env(&name, scene).unwrap_or_default());
                Ok(texts.map(get).collect())
            }
            "unfurl" => {
                let one = |term: &Value| self.one(term, scene).and_then(|item| self.value_of(item));
                terms.iter().map(one).collect()
            }
            "file" => texts.map(|path| self.lookup_file(&path, scene)).collect(),
            "vars" => {
                let get = |name: String| match self.variable(&name, scene)? {
                    Some(item) => self.value_of(item),
                    None => Err(lookup_error("vars", format!("`{name}` is not defined"))),
                };
                texts.map(get).collect()
            }
            "template" => {
                let render = |path: String| {
                    let text = self.lookup_file(&path, scene)?;
                    self.template(text.as_str().unwrap_or_default(), scene)
                };
                texts.map(render).collect()
            }
            "items" | "list" | "flattened" => Ok(terms.iter().flat_map(items_of).collect()),
            "dict" => Ok(terms
                .iter()
                .flat_map(|term| term.as_map().into_iter().flatten())
                .map(|(key, value)| {
                    Value::map([
                        ("key", Value::Str(Arc::clone(key))),
                        ("value", value.clone()),
                    ])
                })
                .collect()),
            "fileglob" => self.lookup_glob(texts, scene),
            "first_found" => {
                let paths = texts.map(|path| self.lookup_path(&path, scene));
                let found = paths
                    .filter_map(std::result::Result::ok)
                    .find(|path| self.world().exists(path));
                let path = found.ok_or_else(|| lookup_error(name, "no file was found".into()))?;
                Ok(vec![path.to_string_lossy().into_owned().into()])
            }
            _ => Err(unsupported(name)),
        }
    }

    fn lookup_glob(
        &self,
        patterns: impl Iterator<Item = String>,
        scene: &Scene,
    ) -> std::result::Result<List, Error> {
        let mut found = List::new();
        for pattern in patterns {
            let path = self.lookup_path(&pattern, scene)?;
            let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
                continue;
            };
            self.tracker().read(Read::File(directory.to_owned()), None);
            let glob = functions::glob(&name.to_string_lossy());
            let glob = glob.map_err(|problem| lookup_error("fileglob", problem))?;
            for entry in self.world().list(directory).unwrap_or_default() {
                let name = entry
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                if glob.is_match(&name) && !self.world().is_dir(&entry) {
                    found.push(entry.to_string_lossy().into_owned().into());
                }
            }
        }
        Ok(found)
    }

    fn lookup_path(&self, path: &str, scene: &Scene) -> std::result::Result<PathBuf, Error> {
        if Path::new(path).is_absolute() {
            return Ok(path.into());
        }
        if scene.context.base_dir.is_absolute() {
            return Ok(scene.context.base_dir.join(path));
        }
        let place = self.place(scene);
        let base = self.world().directory(&place, "ensemble", false);
        let base = base.map_err(|problem| lookup_error("file", problem))?;
        Ok(base.join(&scene.context.base_dir).join(path))
    }

    fn lookup_file(&self, path: &str, scene: &Scene) -> std::result::Result<Value, Error> {
        let path = self.lookup_path(path, scene)?;
        self.tracker().read(Read::File(path.clone()), None);
        match self.world().read(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim_end().into()),
            Err(problem) => {
                let problem = format!("cannot read `{}`: {problem}", path.display());
                Err(lookup_error("file", problem))
            }
        }
    }
}

fn items_of(term: &Value) -> List {
    match term {
        Value::List(items) => items.to_vec(),
        other => vec![other.clone()],
    }
}

fn unsupported(name: &str) -> Error {
    let known = ["pipe", "url", "password", "ini", "csvfile", "lines"];
    let problem = if known.contains(&name) {
        "this lookup is not supported; run it as a task, or use `env`, `file`, `unfurl`, `vars` \
         or `template`"
    } else {
        "there is no such lookup here; those known are `env`, `file`, `unfurl`, `vars`, \
         `template`, `fileglob`, `items`, `dict` and `first_found`"
    };
    lookup_error(name, problem.to_owned())
}

fn lookup_error(name: &str, problem: String) -> Error {
    Error::Function {
        function: format!("lookup('{name}')"),
        problem,
    }
}

/// `now(utc, fmt)`: the time as text.
fn now(state: &State, options: Kwargs) -> Result<String> {
    let variables = Variables::of(state)?;
    variables.evaluator.tracker().read(Read::Volatile, None);
    let now = variables.evaluator.world().now();
    let zoned = now.to_zoned(jiff::tz::TimeZone::UTC);
    let format = options.get::<Option<String>>("fmt")?;
    // Times are in UTC, asked for or not.
    options.get::<Option<bool>>("utc")?;
    let format = format.as_deref().unwrap_or("%Y-%m-%d %H:%M:%S.%f");
    jiff::fmt::strtime::format(format, &zoned).map_err(|error| failed(error.to_string()))
}
