//! `file`, `tempfile`, `abspath` and `get_dir`.

use std::fmt::Display;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::item::{Item, Scene};
use crate::expr::ports::Effect;
use crate::value::{External, ExternalKind, Map, Value, hex};

use super::call::Call;

pub(super) fn abspath(call: &Call<'_>) -> Result<Item, Error> {
    let args = call.values()?;
    let text = |place: usize| args.get(place).filter(|arg| !arg.is_null());
    let Some(path) = text(0).map(|path| path.reveal().to_string()) else {
        return Err(call.fail("takes a path"));
    };
    let location = text(1).map(|location| location.reveal().to_string());
    let create = text(2).is_some_and(Value::is_truthy);
    absolute_path(
        call.evaluator,
        call.scene,
        &path,
        location.as_deref(),
        create,
    )
    .map(Item::Value)
}

pub(super) fn get_dir(call: &Call<'_>) -> Result<Item, Error> {
    let args = call.values()?;
    let location = args
        .first()
        .filter(|arg| !arg.is_null())
        .map(|arg| arg.reveal().to_string());
    let create = args.get(1).is_some_and(Value::is_truthy);
    directory(call.evaluator, call.scene, location.as_deref(), create).map(Item::Value)
}

/// A path made absolute, as a value that stands for what is there.
pub(in crate::expr) fn absolute_path(
    evaluator: &Evaluator,
    scene: &Scene,
    path: &str,
    location: Option<&str>,
    create: bool,
) -> Result<Value, Error> {
    if Path::new(path).is_absolute() {
        return Ok(path_value(
            evaluator,
            Path::new(path),
            Path::new(""),
            location,
        ));
    }
    let base = base_of(evaluator, scene, location, create && !path.contains('/'))?;
    let whole = base.join(path);
    if create && let Some(parent) = whole.parent() {
        make_dir(evaluator, "abspath", parent)?;
    }
    Ok(path_value(evaluator, &whole, &base, location))
}

/// A named directory, as a value that stands for what is there.
pub(in crate::expr) fn directory(
    evaluator: &Evaluator,
    scene: &Scene,
    location: Option<&str>,
    create: bool,
) -> Result<Value, Error> {
    let base = base_of(evaluator, scene, location, create)?;
    Ok(path_value(evaluator, &base, &base, location))
}

/// Where a named directory is.
pub(super) fn base_of(
    evaluator: &Evaluator,
    scene: &Scene,
    location: Option<&str>,
    create: bool,
) -> Result<PathBuf, Error> {
    if location == Some("src") && scene.context.base_dir.is_absolute() {
        return Ok(scene.context.base_dir.clone());
    }
    let place = evaluator.place(scene);
    let location = location.unwrap_or("ensemble");
    let base = evaluator.world().directory(&place, location);
    let base = base.map_err(|problem| failed("get_dir", &problem))?;
    if create {
        make_dir(evaluator, "get_dir", &base)?;
    }
    if location == "src" {
        return Ok(base.join(&scene.context.base_dir));
    }
    Ok(base)
}

fn make_dir(evaluator: &Evaluator, function: &str, path: &Path) -> Result<(), Error> {
    let path = path.to_owned();
    let made = evaluator.perform(&Effect::MakeDir { path });
    made.map(drop).map_err(|problem| failed(function, &problem))
}

fn write(call: &Call<'_>, path: &Path, contents: Vec<u8>, sensitive: bool) -> Result<(), Error> {
    let path = path.to_owned();
    let written = call.evaluator.perform(&Effect::WriteFile {
        path,
        contents,
        sensitive,
    });
    written
        .map(drop)
        .map_err(|problem| call.fail(problem.to_string()))
}

fn failed(function: &str, problem: &dyn Display) -> Error {
    Error::Function {
        function: function.to_owned(),
        problem: problem.to_string(),
    }
}

fn path_value(evaluator: &Evaluator, path: &Path, base: &Path, location: Option<&str>) -> Value {
    let path = normal(path);
    evaluator.reads_file(&path);
    let text = Value::from(path.to_string_lossy().into_owned());
    let world = evaluator.world();
    let below = path.strip_prefix(normal(base)).unwrap_or(&path);
    let bare = || format!("path:{}:{}", location.unwrap_or_default(), below.display());
    let digest = world.tree_digest(&path).unwrap_or_else(bare);
    let exact = world.content_digest(&path).unwrap_or_else(bare);
    let expression = Value::map([("path", text.clone())]);
    Value::External(Arc::new(External {
        kind: ExternalKind::Path,
        value: text.clone(),
        parts: Map::from_iter([("path".into(), text)]),
        expression: Value::map([("eval", expression)]),
        digest: Some(digest.into()),
        exact: Some(exact.into()),
    }))
}

/// The path without `.` and `..`.
pub(in crate::expr) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    normal.push("..");
                }
            }
            other => normal.push(other),
        }
    }
    normal
}

pub(super) fn file(call: &Call<'_>) -> Result<Item, Error> {
    let name = call.value()?.reveal().to_string();
    let base = match call.text("dir")? {
        Some(dir) => base_of(call.evaluator, call.scene, None, false)?.join(dir),
        None => base_of(call.evaluator, call.scene, None, false)?,
    };
    let path = normal(&base.join(&name));
    let encoding = call.text("encoding")?;
    if let Some(contents) = call.option("contents")? {
        let bytes = encoded(call, &contents, &path, encoding.as_deref())?;
        write(call, &path, bytes, contents.has_sensitive())?;
    }
    let expression = Value::map([("file", name.as_str().into())]);
    Ok(Item::Value(file_value(
        call,
        &path,
        name.into(),
        expression,
        encoding,
    )))
}

fn file_value(
    call: &Call<'_>,
    path: &Path,
    shown: Value,
    expression: Value,
    encoding: Option<String>,
) -> Value {
    call.evaluator.reads_file(path);
    let digest = match call.evaluator.world().read(path) {
        Ok(bytes) => decoded(&bytes, encoding.as_deref()),
        Err(_) => Value::Null,
    };
    let parts = Map::from_iter([
        ("path".into(), path.to_string_lossy().into_owned().into()),
        (
            "encoding".into(),
            encoding.unwrap_or_else(|| "utf-8".to_owned()).into(),
        ),
    ]);
    Value::External(Arc::new(External {
        kind: ExternalKind::File,
        value: shown,
        parts,
        expression: Value::map([("eval", expression)]),
        digest: Some(digest),
        exact: None,
    }))
}

/// What is written for a value: text as it is, nothing for null, other values as YAML, as variables
/// or as JSON, by the encoding or else by the name of the file.
fn encoded(
    call: &Call<'_>,
    contents: &Value,
    path: &Path,
    encoding: Option<&str>,
) -> Result<Vec<u8>, Error> {
    let plain = revealed(contents);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let extension = extension.or_else(|| path.file_name()?.to_str()?.strip_prefix('.'));
    match (encoding.or(extension), &plain) {
        (_, Value::Str(text)) if !matches!(encoding, Some("json" | "yaml")) => {
            Ok(text.as_bytes().to_vec())
        }
        (Some("yaml" | "yml"), _) => {
            let yaml = call.evaluator.world().to_yaml(&plain);
            let yaml = yaml.map_err(|problem| call.fail(problem.to_string()))?;
            Ok(yaml.into_bytes())
        }
        (Some("json"), _) => json(call, &plain),
        (Some("env"), Value::Map(map)) => {
            let line = |(name, value): (&Arc<str>, &Value)| {
                format!("{name}={:?}", Value::from(value.to_string()))
            };
            let lines: Vec<_> = map.iter().map(line).collect();
            Ok(lines.join("\n").into_bytes())
        }
        (_, Value::Null) => Ok(Vec::new()),
        _ => json(call, &plain.sorted()),
    }
}

fn json(call: &Call<'_>, value: &Value) -> Result<Vec<u8>, Error> {
    serde_json::to_vec_pretty(value).map_err(|error| call.fail(error.to_string()))
}

/// The value with all marks of sensitivity taken away: only for what goes where it is protected.
pub(in crate::expr) fn revealed(value: &Value) -> Value {
    match value.reveal() {
        Value::List(items) if value.has_sensitive() => Value::list(items.iter().map(revealed)),
        Value::Map(map) if value.has_sensitive() => Value::map(
            map.iter()
                .map(|(key, item)| (Arc::clone(key), revealed(item))),
        ),
        Value::External(external) => revealed(&external.value),
        other => other.clone(),
    }
}

/// Bytes as a value: text if they are, or else their hexadecimal digits.
fn decoded(bytes: &[u8], encoding: Option<&str>) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) if encoding != Some("binary") => text.into(),
        Ok(text) => text.into(),
        Err(_) => hex(bytes).into(),
    }
}

pub(super) fn temporary(call: &Call<'_>) -> Result<Item, Error> {
    let contents = call.value()?;
    let suffix = call.text("suffix")?.unwrap_or_default();
    let encoding = call.text("encoding")?;
    let mut random = [0; 8];
    call.evaluator.world().random(&mut random);
    let name = format!("unfurl-{}{}", hex(&random), suffix.replace('/', "_"));
    let path = call.evaluator.world().temp_dir().join(name);
    let bytes = encoded(call, &contents, &path, encoding.as_deref())?;
    write(call, &path, bytes, true)?;
    let shown = Value::from(path.to_string_lossy().into_owned());
    let expression = Value::map([("tempfile", shown.clone())]);
    Ok(Item::Value(file_value(
        call, &path, shown, expression, encoding,
    )))
}

impl Evaluator {
    /// The contents of a file that an external value stands for.
    pub(in crate::expr) fn contents(&self, external: &External) -> Result<Value, Error> {
        let path = external
            .parts
            .get("path")
            .map(|path| PathBuf::from(path.to_string()));
        let path = path.unwrap_or_default();
        self.reads_file(&path);
        let encoding = external.parts.get("encoding").and_then(Value::as_str);
        match self.world().read(&path) {
            Ok(bytes) => Ok(decoded(&bytes, encoding)),
            Err(problem) => Err(failed(
                "file",
                &format!("cannot read `{}`: {problem}", path.display()),
            )),
        }
    }
}
