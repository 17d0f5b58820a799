//! Read-only execution module functions, such as `cmd.run` or `file.read`, that slots, `unless`, `onlyif` and
//! `module.run` may call.
//!
//! Each function reads facts from the cache and returns [`Halt::Needs`] for facts that are missing. Templates
//! have their own table of functions in `render`.

use super::command_args::{parse_setting, trimmed_output, volatile_probe};
use super::{FactCache, Halt, ModuleContext, refuse};
use crate::host::fact::{Fact, FileKind, FileStat, ProbeOutput};
use crate::value::{Map, Value};

/// A call of an execution function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecutionCall<'a> {
    /// The full name, such as `cmd.run`.
    pub(crate) fun: &'a str,
    pub(crate) args: &'a [Value],
    pub(crate) named: &'a Map,
    pub(crate) context: &'a ModuleContext,
    pub(crate) facts: &'a FactCache,
}

/// The implementation of an execution function.
type ExecutionFn = fn(&ExecutionCall<'_>) -> Result<Value, Halt>;

/// The execution functions, sorted by name for binary search. None of them changes the host.
static EXECUTION_FUNCTIONS: &[(&str, ExecutionFn)] = &[
    ("cmd.has_exec", |it| Ok((!which(it)?.is_empty()).into())),
    ("cmd.retcode", |it| Ok(i64::from(run(it, "")?.code).into())),
    ("cmd.run", |it| {
        Ok(trimmed_output(&run(it, " 2>&1")?.stdout).into())
    }),
    ("cmd.run_all", |it| Ok(to_run_all(run(it, "")?))),
    ("cmd.run_stderr", |it| {
        Ok(trimmed_output(&run(it, "")?.stderr).into())
    }),
    ("cmd.run_stdout", |it| {
        Ok(trimmed_output(&run(it, "")?.stdout).into())
    }),
    ("cmd.shell", |it| {
        Ok(trimmed_output(&run(it, " 2>&1")?.stdout).into())
    }),
    ("cmd.which", |it| Ok(which(it)?.into())),
    ("config.get", |it| Ok(config(it))),
    ("environ.get", environ),
    ("environ.has_value", |it| {
        Ok(environ(it)?.is_truthy().into())
    }),
    ("file.contains", |it| {
        let text = it.text(1, "text")?;
        Ok(content(it, "path")?.contains(&text).into())
    }),
    ("file.directory_exists", |it| {
        Ok(target(it, "path")?.is_some_and(FileStat::is_folder).into())
    }),
    ("file.file_exists", |it| {
        Ok(target(it, "path")?.is_some_and(FileStat::is_file).into())
    }),
    ("file.get_group", |it| {
        Ok(target(it, "path")?.map(|at| at.group.clone()).into())
    }),
    ("file.get_hash", hash),
    ("file.get_mode", |it| {
        Ok(target(it, "path")?
            .map(|at| format!("{:04o}", at.mode))
            .into())
    }),
    ("file.get_sum", hash),
    ("file.get_user", |it| {
        Ok(target(it, "path")?.map(|at| at.user.clone()).into())
    }),
    ("file.is_link", |it| Ok(link(it)?.is_some().into())),
    ("file.path_exists_glob", |it| {
        let pattern = it.text(0, "path")?;
        let text = format!("for it in {pattern}; do [ -e \"$it\" ] && exit 0; done; exit 1");
        let found = it
            .facts
            .probe(volatile_probe(text, parse_setting(|_| None)?))?;
        Ok((found.code == 0).into())
    }),
    ("file.read", |it| Ok(content(it, "path")?.into())),
    ("file.readlink", |it| Ok(link(it)?.into())),
    ("grains.get", |it| value_or_default(it, &it.context.grains)),
    ("grains.has_value", |it| {
        Ok(value_or_default(it, &it.context.grains)?.is_truthy().into())
    }),
    ("grains.items", |it| Ok(it.context.grains.clone())),
    ("pillar.get", |it| value_or_default(it, &it.context.pillar)),
    ("pillar.items", |it| Ok(it.context.pillar.clone())),
    ("pillar.keys", |it| {
        let found = value_or_default(it, &it.context.pillar)?;
        let keys = found.as_map().into_iter().flat_map(Map::keys);
        Ok(Value::list(keys.cloned().map(Value::Str)))
    }),
    ("test.arg", |it| {
        let args = Value::list(it.args.iter().cloned());
        Ok(Value::map([
            ("args", args),
            ("kwargs", it.named.clone().into()),
        ]))
    }),
    ("test.echo", |it| Ok(it.text(0, "text")?.into())),
    ("test.false", |_| Ok(false.into())),
    ("test.false_", |_| Ok(false.into())),
    ("test.ping", |_| Ok(true.into())),
    ("test.true", |_| Ok(true.into())),
    ("test.true_", |_| Ok(true.into())),
];

/// Calls an execution function. Returns `None` if the name is unknown.
pub(crate) fn call_execution(call: &ExecutionCall<'_>) -> Option<Result<Value, Halt>> {
    let place = EXECUTION_FUNCTIONS.binary_search_by_key(&call.fun, |(name, _)| name);
    Some(EXECUTION_FUNCTIONS[place.ok()?].1(call))
}

/// Whether an execution function with this name exists.
pub(crate) fn is_known(fun: &str) -> bool {
    EXECUTION_FUNCTIONS
        .binary_search_by_key(&fun, |(name, _)| name)
        .is_ok()
}

impl<'a> ExecutionCall<'a> {
    fn arg(&self, place: usize, name: &str) -> Option<&'a Value> {
        self.named.get(name).or_else(|| self.args.get(place))
    }

    fn text(&self, place: usize, name: &str) -> Result<String, Halt> {
        let missing = || Halt::Failed(format!("{} needs the argument `{name}`", self.fun));
        Ok(self
            .arg(place, name)
            .ok_or_else(missing)?
            .reveal()
            .to_string())
    }
}

/// Follows a path into maps and lists, such as `network:0:address`. A value found below a sensitive one is
/// sensitive.
pub(crate) fn traverse(value: &Value, path: &str, delimiter: &str) -> Option<Value> {
    let mut at = value.reveal();
    let mut hidden = matches!(value, Value::Sensitive(_));
    for word in path.split(delimiter) {
        let found = match at {
            Value::Map(map) => map.get(word)?,
            Value::List(items) => match word.parse::<usize>() {
                Ok(place) => items.get(place)?,
                Err(_) => items.iter().find_map(|item| item.get(word))?,
            },
            _ => return None,
        };
        hidden |= matches!(found, Value::Sensitive(_));
        at = found.reveal();
    }
    Some(at.clone().sensitive_if(hidden))
}

fn value_or_default(call: &ExecutionCall<'_>, all: &Value) -> Result<Value, Halt> {
    let key = call.text(0, "key")?;
    let delimiter = call
        .arg(2, "delimiter")
        .map_or(":".to_owned(), Value::to_string);
    let default = || call.arg(1, "default").cloned().unwrap_or_else(|| "".into());
    Ok(traverse(all, &key, &delimiter).unwrap_or_else(default))
}

/// Looks up a configuration value: in the options, then the grains, then the pillar.
fn config(call: &ExecutionCall<'_>) -> Value {
    let context = call.context;
    let key = call.arg(0, "key").map(Value::to_string).unwrap_or_default();
    [&context.options, &context.grains, &context.pillar]
        .into_iter()
        .find_map(|it| traverse(it, &key, ":"))
        .or_else(|| call.arg(1, "default").cloned())
        .unwrap_or_else(|| "".into())
}

fn run<'a>(call: &ExecutionCall<'a>, after: &str) -> Result<&'a ProbeOutput, Halt> {
    let text = call.text(0, "cmd")?;
    let text = if after.is_empty() {
        text
    } else {
        format!("{{ {text}\n}}{after}")
    };
    call.facts.probe(volatile_probe(
        text,
        parse_setting(|key| call.named.get(key))?,
    ))
}

fn to_run_all(probed: &ProbeOutput) -> Value {
    Value::map([
        ("pid", 0.into()),
        ("retcode", i64::from(probed.code).into()),
        ("stdout", trimmed_output(&probed.stdout).into()),
        ("stderr", trimmed_output(&probed.stderr).into()),
    ])
}

fn which(call: &ExecutionCall<'_>) -> Result<String, Halt> {
    let text = format!(
        "command -v -- {}",
        crate::text::quote_word(&call.text(0, "cmd")?)
    );
    let found = call
        .facts
        .probe(volatile_probe(text, parse_setting(|_| None)?))?;
    Ok(trimmed_output(&found.stdout))
}

fn environ(call: &ExecutionCall<'_>) -> Result<Value, Halt> {
    let text = format!(
        "printenv -- {}",
        crate::text::quote_word(&call.text(0, "key")?)
    );
    let found = call.facts.probe(volatile_probe(
        text,
        parse_setting(|key| call.named.get(key))?,
    ))?;
    if found.code == 0 {
        return Ok(trimmed_output(&found.stdout).into());
    }
    Ok(call.arg(1, "default").cloned().unwrap_or_else(|| "".into()))
}

fn target<'a>(call: &ExecutionCall<'a>, name: &str) -> Result<Option<&'a FileStat>, Halt> {
    call.facts.target(&call.text(0, name)?)
}

fn link(call: &ExecutionCall<'_>) -> Result<Option<String>, Halt> {
    let entry = call.facts.path(&call.text(0, "path")?)?;
    Ok(entry.and_then(|it| match &it.kind {
        FileKind::Link(target) => Some(target.clone()),
        _ => None,
    }))
}

fn content(call: &ExecutionCall<'_>, name: &str) -> Result<String, Halt> {
    let path = call.text(0, name)?;
    match call.facts.content(&path)? {
        Some(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        None => refuse(format!("the file `{path}` does not exist on the host")),
    }
}

fn hash(call: &ExecutionCall<'_>) -> Result<Value, Halt> {
    let form = call
        .arg(1, "form")
        .map_or("sha256".to_owned(), Value::to_string);
    let path = call.text(0, "path")?;
    if form == "sha256" {
        return Ok(call.facts.digest(&path)?.unwrap_or_default().into());
    }
    let program = match form.as_str() {
        "md5" | "sha1" | "sha224" | "sha384" | "sha512" => format!("{form}sum"),
        _ => {
            return refuse(format!(
                "{}: unknown hash type `{form}`: use md5, sha1, sha224, sha256, sha384 or sha512",
                call.fun
            ));
        }
    };
    let mut sum = volatile_probe(
        format!("{program} < {}", crate::text::quote_word(&path)),
        parse_setting(|_| None)?,
    );
    sum.reads = crate::host::fact::Domain::Path(path);
    let found = match call.facts.get(&Fact::Probe(Box::new(sum)))? {
        crate::host::fact::FactReading::Probe(found) => trimmed_output(&found.stdout),
        _ => String::new(),
    };
    Ok(found.split_whitespace().next().unwrap_or_default().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_in_order() {
        assert!(EXECUTION_FUNCTIONS.is_sorted_by_key(|(name, _)| name));
        assert!(is_known("test.echo") && !is_known("test.sleep"));
    }

    #[test]
    fn a_path_leads_through_maps_and_lists() {
        let value = Value::map([(
            "net",
            Value::list([Value::map([("ip", Value::str("::1").sensitive())])]),
        )]);
        let found = traverse(&value, "net:0:ip", ":").unwrap();
        assert!(found.has_sensitive());
        assert_eq!(found, "::1".into());
        assert_eq!(traverse(&value, "net.ip", "."), Some("::1".into()));
        assert_eq!(traverse(&value, "net:1:ip", ":"), None);
    }
}
