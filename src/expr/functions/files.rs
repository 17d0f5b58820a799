//! The functions `file`, `tempfile`, `abspath` and `get_dir`. They return external values: a path or file
//! whose digest depends on the content. Writes are only requested: the run of a task performs them.

use std::fmt::Display;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::expr::effect::Effect;
use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::{LazyValue, Scene};
use crate::expr::ports::{FileContent, ReadError};
use crate::value::{External, ExternalKind, Map, Value, hex};

use super::call::FunctionCall;

pub(super) fn abspath(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
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
    .map(LazyValue::Value)
}

pub(super) fn get_dir(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let args = call.values()?;
    let location = args
        .first()
        .filter(|arg| !arg.is_null())
        .map(|arg| arg.reveal().to_string());
    let create = args.get(1).is_some_and(Value::is_truthy);
    directory(call.evaluator, call.scene, location.as_deref(), create).map(LazyValue::Value)
}

/// Makes a path absolute and returns it as an external value that stands for the files there.
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
    let base = named_directory(evaluator, scene, location, create && !path.contains('/'))?;
    let whole = base.join(path);
    if create && let Some(parent) = whole.parent() {
        make_dir(evaluator, "abspath", parent)?;
    }
    Ok(path_value(evaluator, &whole, &base, location))
}

/// Returns a named directory (`get_dir`) as an external value that stands for the files in it.
pub(in crate::expr) fn directory(
    evaluator: &Evaluator,
    scene: &Scene,
    location: Option<&str>,
    create: bool,
) -> Result<Value, Error> {
    let base = named_directory(evaluator, scene, location, create)?;
    Ok(path_value(evaluator, &base, &base, location))
}

/// Returns the path of a named directory (`get_dir`).
pub(super) fn named_directory(
    evaluator: &Evaluator,
    scene: &Scene,
    location: Option<&str>,
    create: bool,
) -> Result<PathBuf, Error> {
    if location == Some("src") && scene.context.base_dir.is_absolute() {
        return Ok(scene.context.base_dir.clone());
    }
    let owner = evaluator.directory_owner(scene);
    let location = location.unwrap_or("ensemble");
    let base = evaluator.system().directory(&owner, location);
    let base = base.map_err(|problem| function_error("get_dir", &problem))?;
    // The folder for temporary files comes into being with its first use.
    if create || location == "tmp" {
        make_dir(evaluator, "get_dir", &base)?;
    }
    if location == "src" {
        return Ok(base.join(&scene.context.base_dir));
    }
    Ok(base)
}

fn make_dir(evaluator: &Evaluator, function: &str, path: &Path) -> Result<(), Error> {
    let path = path.to_owned();
    let requested = evaluator.request_write(Effect::MakeDir { path });
    requested.map_err(|problem| function_error(function, &problem))
}

fn write(
    call: &FunctionCall<'_>,
    path: &Path,
    contents: Vec<u8>,
    sensitive: bool,
) -> Result<(), Error> {
    let path = path.to_owned();
    // The values of a template lose their marks while it is rendered.
    let sensitive = sensitive || call.evaluator.tracker().has_noted_sensitive();
    let requested = call.evaluator.request_write(Effect::WriteFile {
        path,
        contents,
        sensitive,
    });
    requested.map_err(|problem| call.fail(problem.to_string()))
}

fn function_error(function: &str, problem: &dyn Display) -> Error {
    Error::Function {
        function: function.to_owned(),
        problem: problem.to_string(),
    }
}

fn path_value(evaluator: &Evaluator, path: &Path, base: &Path, location: Option<&str>) -> Value {
    let path = normalize_path(path);
    evaluator.record_path_read(&path);
    let text = Value::from(path.to_string_lossy().into_owned());
    let system = evaluator.system();
    let below = path.strip_prefix(normalize_path(base)).unwrap_or(&path);
    let bare = || format!("path:{}:{}", location.unwrap_or_default(), below.display());
    let digest = system.tree_digest(&path).unwrap_or_else(bare);
    let exact = system.content_digest(&path).unwrap_or_else(bare);
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

/// Returns the path without `.` and `..` components. Does not read the file system.
pub(in crate::expr) fn normalize_path(path: &Path) -> PathBuf {
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

pub(super) fn file(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let name = call.value()?.reveal().to_string();
    let base = match call.text("dir")? {
        Some(dir) => named_directory(call.evaluator, call.scene, None, false)?.join(dir),
        None => named_directory(call.evaluator, call.scene, None, false)?,
    };
    let path = normalize_path(&base.join(&name));
    let encoding = call.text("encoding")?;
    if let Some(contents) = call.option("contents")? {
        let bytes = encode_contents(call, &contents, &path, encoding.as_deref())?;
        write(call, &path, bytes, contents.has_sensitive())?;
    }
    let expression = Value::map([("file", name.as_str().into())]);
    file_value(call, &path, name.into(), expression, encoding).map(LazyValue::Value)
}

fn file_value(
    call: &FunctionCall<'_>,
    path: &Path,
    value: Value,
    expression: Value,
    encoding: Option<String>,
) -> Result<Value, Error> {
    call.evaluator.record_path_read(path);
    let digest = match call.evaluator.read_file(path) {
        Ok(content) => decode_contents(&content, encoding.as_deref()),
        Err(problem @ (ReadError::Outside { .. } | ReadError::Closed(_))) => {
            return Err(call.fail(format!("cannot read `{}`: {problem}", path.display())));
        }
        Err(_) => Value::Null,
    };
    let parts = Map::from_iter([
        ("path".into(), path.to_string_lossy().into_owned().into()),
        (
            "encoding".into(),
            encoding.unwrap_or_else(|| "utf-8".to_owned()).into(),
        ),
    ]);
    Ok(Value::External(Arc::new(External {
        kind: ExternalKind::File,
        value,
        parts,
        expression: Value::map([("eval", expression)]),
        digest: Some(digest),
        exact: None,
    })))
}

/// Encodes a value as the contents of a file.
///
/// Text is written unchanged unless `encoding` is `json` or `yaml`. For other values the encoding, or else
/// the extension of the file, selects YAML, JSON or environment variables. Without a known one, null is
/// written as nothing and any other value as JSON with sorted keys.
fn encode_contents(
    call: &FunctionCall<'_>,
    contents: &Value,
    path: &Path,
    encoding: Option<&str>,
) -> Result<Vec<u8>, Error> {
    let plain = contents.revealed();
    let extension = path.extension().and_then(|extension| extension.to_str());
    let extension = extension.or_else(|| path.file_name()?.to_str()?.strip_prefix('.'));
    match (encoding.or(extension), &plain) {
        (_, Value::Str(text)) if !matches!(encoding, Some("json" | "yaml")) => {
            Ok(text.as_bytes().to_vec())
        }
        (Some("yaml" | "yml"), _) => {
            let yaml = call.evaluator.system().to_yaml(&plain);
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

fn json(call: &FunctionCall<'_>, value: &Value) -> Result<Vec<u8>, Error> {
    serde_json::to_vec_pretty(value).map_err(|error| call.fail(error.to_string()))
}

/// Decodes the contents of a file: as text if they are UTF-8, otherwise as hexadecimal digits.
fn decode_contents(content: &FileContent, encoding: Option<&str>) -> Value {
    let value: Value = match std::str::from_utf8(&content.bytes) {
        Ok(text) if encoding != Some("binary") => text.into(),
        Ok(text) => text.into(),
        Err(_) => hex(&content.bytes).into(),
    };
    value.sensitive_if(content.is_secret)
}

pub(super) fn tempfile(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let contents = call.value()?;
    let suffix = call.text("suffix")?.unwrap_or_default();
    let encoding = call.text("encoding")?;
    let suffix = suffix.replace('/', "_");
    let folder = call.evaluator.system().temp_dir();
    let by_extension = folder.join(format!("unfurl{suffix}"));
    let bytes = encode_contents(call, &contents, &by_extension, encoding.as_deref())?;
    let path = folder.join(&*temporary_name(call, &suffix, &bytes)?);
    write(call, &path, bytes, true)?;
    let shown = Value::from(path.to_string_lossy().into_owned());
    let expression = Value::map([("tempfile", shown.clone())]);
    file_value(call, &path, shown, expression, encoding).map(LazyValue::Value)
}

/// Returns the name of a temporary file: random, and the same for each evaluation of an expression in a job.
fn temporary_name(call: &FunctionCall<'_>, suffix: &str, bytes: &[u8]) -> Result<Arc<str>, Error> {
    let owner = call.evaluator.name_of(call.scene.entity());
    let mut key = Sha256::new();
    for part in [owner.as_bytes(), suffix.as_bytes(), bytes] {
        key.update((part.len() as u64).to_be_bytes());
        key.update(part);
    }
    let random_name = || {
        let mut random = [0; 8];
        let filled = call.evaluator.system().random(&mut random);
        filled.map_err(|problem| call.fail(problem.to_string()))?;
        Ok(format!("unfurl-{}{suffix}", hex(&random)))
    };
    let key = key.finalize().into();
    call.evaluator.memo().temporary_name(key, &random_name)
}

impl Evaluator {
    /// Reads the contents of the file that an external value stands for.
    pub(in crate::expr) fn contents(&self, external: &External) -> Result<Value, Error> {
        let path = external
            .parts
            .get("path")
            .map(|path| PathBuf::from(path.to_string()));
        let path = path.unwrap_or_default();
        self.record_file_read(&path);
        let encoding = external.parts.get("encoding").and_then(Value::as_str);
        match self.read_file(&path) {
            Ok(content) => Ok(decode_contents(&content, encoding)),
            Err(problem) => Err(function_error(
                "file",
                &format!("cannot read `{}`: {problem}", path.display()),
            )),
        }
    }
}
