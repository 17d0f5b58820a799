//! Filters and functions on paths: `basename`, `dirname`, `realpath`, `relpath`, `abspath`, `get_dir` and
//! others.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
use std::path::{Component, Path, PathBuf};

use minijinja::State;
use minijinja::value::Value as JinjaValue;

use crate::expr::functions;
use crate::expr::lazy::LazyValue;
use crate::expr::lookup_options::LookupOptions;
use crate::value::Value;

use super::arguments::{FilterArguments, FilterTable};
use super::error::{Result, filter_error};
use super::variables::Variables;

/// The filters on paths that take standard filter arguments.
pub(super) const FILTERS: FilterTable = &[
    ("basename", &[], |args| {
        Ok(basename(&args.subject_text()?, '/').into())
    }),
    ("dirname", &[], |args| {
        Ok(dirname(&args.subject_text()?).into())
    }),
    ("splitext", &[], splitext),
    ("path_join", &[], path_join),
    ("realpath", &[], realpath),
    ("normpath", &[], |args| {
        Ok(normalize_path(&args.subject_text()?).into())
    }),
    ("relpath", &["start"], relpath),
    ("commonpath", &[], commonpath),
    ("expanduser", &[], expanduser),
    ("expandvars", &[], expandvars),
    ("fileglob", &[], fileglob),
    ("win_basename", &[], win_basename),
    ("win_dirname", &[], win_dirname),
    ("win_splitdrive", &[], win_splitdrive),
];

pub(super) fn abspath(
    state: &State,
    path: &JinjaValue,
    location: Option<String>,
    create: Option<bool>,
) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let path = variables.revealed_value(path)?.to_string();
    let (evaluator, scene) = (&variables.evaluator, &variables.scene);
    let create = create.unwrap_or_default();
    let path = functions::absolute_path(evaluator, scene, &path, location.as_deref(), create);
    Ok(variables.engine_value(LazyValue::Value(
        path.map_err(|error| variables.engine_error(error))?,
    )))
}

pub(super) fn get_dir(
    state: &State,
    location: &JinjaValue,
    create: Option<bool>,
) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let location = variables.revealed_value(location)?.to_string();
    let (evaluator, scene) = (&variables.evaluator, &variables.scene);
    let create = create.unwrap_or_default();
    let path = functions::directory(evaluator, scene, Some(&location), create);
    Ok(variables.engine_value(LazyValue::Value(
        path.map_err(|error| variables.engine_error(error))?,
    )))
}

pub(super) fn which(state: &State, name: String) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let system = variables.evaluator.system();
    if name.contains('/') {
        let refused =
            |problem| filter_error(format!("`which`: cannot inspect `{name}`: {problem}"));
        system.check_read(Path::new(&name)).map_err(refused)?;
    }
    Ok(text_of(&system.which(&name).unwrap_or_default()))
}

fn text_of(path: &Path) -> JinjaValue {
    path.to_string_lossy().into_owned().into()
}

/// Returns the part after the last separator.
fn basename(path: &str, separator: char) -> String {
    path.rsplit(separator).next().unwrap_or_default().to_owned()
}

fn dirname(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((head, _)) if head.trim_matches('/').is_empty() => format!("{head}/"),
        Some((head, _)) => head.trim_end_matches('/').to_owned(),
        None => String::new(),
    }
}

fn splitext(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let path = args.subject_text()?;
    let name = Path::new(&path)
        .extension()
        .map(|extension| extension.len() + 1);
    let (root, extension) = path.split_at(path.len() - name.unwrap_or_default());
    args.engine_value(Value::list([root.into(), extension.into()]))
}

fn path_join(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let parts = match args.subject()? {
        Value::List(parts) => parts.to_vec(),
        other => vec![other],
    };
    let joined = parts
        .iter()
        .fold(PathBuf::new(), |path, part| path.join(part.to_string()));
    Ok(text_of(&joined))
}

/// Returns the path without `.`, `..` and repeated slashes.
fn normalize_path(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
    {
        match parts.last() {
            Some(last) if part == ".." && *last != ".." => drop(parts.pop()),
            None if part == ".." && is_absolute => {}
            _ => parts.push(part),
        }
    }
    match (is_absolute, parts.join("/")) {
        (true, path) => format!("/{path}"),
        (false, path) if path.is_empty() => ".".to_owned(),
        (false, path) => path,
    }
}

/// Returns the absolute path, resolved from the directory of the ensemble.
fn absolute(args: &FilterArguments<'_>, path: &str) -> Result<String> {
    let owner = args.evaluator().directory_owner(&args.variables.scene);
    let base = args.evaluator().system().directory(&owner, "ensemble");
    let base = base.map_err(|problem| args.fail(problem))?;
    Ok(normalize_path(&base.join(path).to_string_lossy()))
}

fn realpath(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let path = PathBuf::from(absolute(args, &args.subject_text()?)?);
    args.evaluator().record_file_read(&path);
    Ok(text_of(&args.evaluator().system().real_path(&path)))
}

fn relpath(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let path = absolute(args, &args.subject_text()?)?;
    let start = absolute(args, &args.text("start")?.unwrap_or_else(|| ".".to_owned()))?;
    let (path, start) = (Path::new(&path), Path::new(&start));
    let same = path.components().zip(start.components());
    let same = same.take_while(|(own, other)| own == other).count();
    let mut relative: PathBuf = start
        .components()
        .skip(same)
        .map(|_| Component::ParentDir)
        .collect();
    relative.extend(path.components().skip(same));
    if relative.as_os_str().is_empty() {
        return Ok(".".into());
    }
    Ok(text_of(&relative))
}

fn commonpath(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let paths: Vec<PathBuf> = args
        .subject_list()?
        .iter()
        .map(|path| normalize_path(&path.to_string()).into())
        .collect();
    let Some((first, others)) = paths.split_first() else {
        return Err(args.fail("takes a list with paths"));
    };
    let common = first
        .ancestors()
        .find(|folder| others.iter().all(|path| path.starts_with(folder)));
    Ok(text_of(common.unwrap_or(Path::new(""))))
}

fn expanduser(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let path = args.subject_text()?;
    let home = args.evaluator().env("HOME", &args.variables.scene);
    Ok(match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.trim_end_matches('/')).into()
        }
        _ => path.into(),
    })
}

/// Replaces `$NAME` and `${NAME}` by the values of environment variables that are set.
fn expandvars(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let mut done = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('$') {
        done += before;
        let braced = after
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'));
        let (name, tail) = braced.unwrap_or_else(|| {
            let word = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            after.split_at(after.find(word).unwrap_or(after.len()))
        });
        match args
            .evaluator()
            .env(name, &args.variables.scene)
            .filter(|_| !name.is_empty())
        {
            Some(value) => {
                done += &value;
                let (evaluator, scene) = (args.evaluator(), &args.variables.scene);
                if evaluator.variable_value(name, value, scene).has_sensitive() {
                    evaluator.tracker().note_sensitive();
                }
                rest = tail;
            }
            None => {
                done.push('$');
                rest = after;
            }
        }
    }
    Ok((done + rest).into())
}

fn fileglob(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let pattern = args.subject()?;
    let found = args.evaluator().lookup(
        "fileglob",
        &[pattern],
        &LookupOptions::default(),
        &args.variables.scene,
    );
    args.engine_list(found.map_err(|error| args.variables.engine_error(error))?)
}

fn win_basename(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let path = args.subject_text()?.replace('/', "\\");
    Ok(basename(drive(&path).1, '\\').into())
}

fn win_dirname(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let path = args.subject_text()?;
    let (drive, rest) = drive(&path);
    let head = rest.rfind(['\\', '/']).map_or("", |at| &rest[..=at]);
    let short = head.trim_end_matches(['\\', '/']);
    Ok(format!("{drive}{}", if short.is_empty() { head } else { short }).into())
}

fn win_splitdrive(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let path = args.subject_text()?;
    let (drive, rest) = drive(&path);
    args.engine_value(Value::list([drive.into(), rest.into()]))
}

/// Splits a Windows path into the drive and the rest.
fn drive(path: &str) -> (&str, &str) {
    let is_drive = path.chars().nth(1) == Some(':');
    let end = path.char_indices().nth(2).map_or(path.len(), |(at, _)| at);
    path.split_at(if is_drive { end } else { 0 })
}
