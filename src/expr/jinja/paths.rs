//! Filters on paths.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands arguments over by value"
)]

use std::path::Path;

use minijinja::value::Value as JinjaValue;
use minijinja::{Environment, State};

use crate::expr::functions;
use crate::expr::item::Item;

use super::filters::Result;
use super::variables::Variables;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("abspath", abspath);
    environment.add_filter("get_dir", get_dir);
    environment.add_filter("which", which);
    environment.add_filter("basename", basename);
    environment.add_filter("dirname", dirname);
    environment.add_filter("splitext", splitext);
    environment.add_filter("path_join", path_join);
}

fn abspath(
    state: &State,
    path: &JinjaValue,
    location: Option<String>,
    create: Option<bool>,
) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let path = variables.open(path)?.to_string();
    let (evaluator, scene) = (&variables.evaluator, &variables.scene);
    let create = create.unwrap_or_default();
    let path = functions::absolute_path(evaluator, scene, &path, location.as_deref(), create);
    Ok(variables.give(Item::Value(path.map_err(|error| variables.fail(error))?)))
}

fn get_dir(state: &State, location: &JinjaValue, create: Option<bool>) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let location = variables.open(location)?.to_string();
    let (evaluator, scene) = (&variables.evaluator, &variables.scene);
    let create = create.unwrap_or_default();
    let path = functions::directory(evaluator, scene, Some(&location), create);
    Ok(variables.give(Item::Value(path.map_err(|error| variables.fail(error))?)))
}

fn which(state: &State, name: String) -> Result<JinjaValue> {
    let variables = Variables::of(state)?;
    let path = variables.evaluator.world().which(&name);
    Ok(path.map_or(JinjaValue::from(""), |path| {
        path.to_string_lossy().into_owned().into()
    }))
}

fn basename(path: String) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn dirname(path: String) -> String {
    match path.rsplit_once('/') {
        Some((head, _)) if head.trim_matches('/').is_empty() => format!("{head}/"),
        Some((head, _)) => head.trim_end_matches('/').to_owned(),
        None => String::new(),
    }
}

fn splitext(path: String) -> Vec<String> {
    let name = Path::new(&path)
        .extension()
        .map(|extension| extension.len() + 1);
    let (root, extension) = path.split_at(path.len() - name.unwrap_or_default());
    vec![root.to_owned(), extension.to_owned()]
}

fn path_join(state: &State, parts: &JinjaValue) -> Result<String> {
    let parts = Variables::of(state)?.open(parts)?;
    let parts = parts.as_list().map(Vec::as_slice).unwrap_or_default();
    let joined = parts.iter().fold(std::path::PathBuf::new(), |path, part| {
        path.join(part.to_string())
    });
    Ok(joined.to_string_lossy().into_owned())
}
