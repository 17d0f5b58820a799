//! Template functions (`salt[…]`) that read the machine. Each reads facts from the cache.

use super::call::{CallResult, TemplateCall};
use crate::host::fact::{CommandSetting, Domain, FileKind, FileStat, Probe, ProbeOutput};
use crate::states::Halt;
use crate::text::shlex_quote;
use crate::value::Value;

/// The implementation of a template function.
type MachineFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, MachineFn)] = &[
    ("environ.get", environ),
    ("environ.has_value", has_variable),
    ("alternatives.show_current", |call| {
        let path = format!("/etc/alternatives/{}", call.text(0, "name")?);
        let found = call.facts.path(&path)?;
        Ok(match found.map(|entry| &entry.kind) {
            Some(FileKind::Link(to)) => to.as_str().into(),
            _ => false.into(),
        })
    }),
    ("git.current_branch", |call| {
        let folder = shlex_quote(&call.text(0, "cwd")?);
        let text_of = format!("git -C {folder} rev-parse --abbrev-ref HEAD");
        let found = probe(call, text_of, Domain::All)?;
        if found.code != 0 {
            return Err(call.fail(text(&found.stderr)));
        }
        Ok(text(&found.stdout))
    }),
    ("user.list_users", |call| {
        let found = probe(call, "getent passwd".to_owned(), Domain::Accounts)?;
        let all = String::from_utf8_lossy(&found.stdout).into_owned();
        let names: std::collections::BTreeSet<&str> = all
            .lines()
            .filter_map(|line| line.split(':').next())
            .collect();
        Ok(Value::list(names.into_iter().map(Value::from)))
    }),
    ("user.primary_group", |call| {
        let name = shlex_quote(&call.text(0, "name")?);
        let found = probe(call, format!("id -gn -- {name}"), Domain::Accounts)?;
        if found.code != 0 {
            return Err(call.fail(text(&found.stderr)));
        }
        Ok(text(&found.stdout))
    }),
    ("timezone.get_offset", |call| {
        Ok(text(
            &probe(call, "date +%z".to_owned(), Domain::All)?.stdout,
        ))
    }),
    ("user.info", user),
    ("group.info", group),
    ("pkg.version", package),
    ("service.status", |call| systemctl(call, "is-active")),
    ("service.enabled", |call| systemctl(call, "is-enabled")),
    ("service.available", |call| systemctl(call, "cat")),
    ("service.missing", |call| {
        Ok((!systemctl(call, "cat")?.is_truthy()).into())
    }),
    ("environ.item", environ_item),
    ("sysctl.get", |call| {
        let name = call.text(0, "name")?;
        if name.contains('=') {
            return Err(call.fail("the name of the parameter has a `=`, which would set it"));
        }
        let name = shlex_quote(&name);
        let found = probe(call, format!("sysctl -n -- {name}"), Domain::All)?;
        Ok(text(&found.stdout))
    }),
    ("user.list_groups", |call| {
        Ok(user(call)?
            .get("groups")
            .cloned()
            .unwrap_or_else(|| Value::list([])))
    }),
];

pub(super) fn probe(
    call: &TemplateCall<'_>,
    text: String,
    reads: Domain,
) -> Result<ProbeOutput, Halt> {
    let setting = CommandSetting::default();
    call.facts
        .probe(Probe {
            text,
            setting,
            reads,
        })
        .cloned()
}

/// Decodes output without trailing line breaks.
pub(super) fn text(bytes: &[u8]) -> Value {
    String::from_utf8_lossy(bytes)
        .trim_end_matches(['\n', '\r'])
        .into()
}

fn environ(call: &TemplateCall<'_>) -> CallResult {
    let name = call.text(0, "key")?;
    let found = variable(call, &name)?;
    Ok(found.unwrap_or_else(|| call.text_or(1, "default", "").into()))
}

/// Returns true if a variable exists and, if the call names a value, has it.
fn has_variable(call: &TemplateCall<'_>) -> CallResult {
    let found = variable(call, &call.text(0, "key")?)?;
    let wanted = call.arg(1, "value").filter(|value| !value.is_null());
    Ok(match (found, wanted) {
        (Some(found), Some(wanted)) => (found.to_string() == wanted.reveal().to_string()).into(),
        (found, _) => found.is_some().into(),
    })
}

/// Returns variables of the environment by name.
fn environ_item(call: &TemplateCall<'_>) -> CallResult {
    let keys = call.arg_or_null(0, "keys");
    let names = match keys.reveal() {
        Value::List(names) => names.to_vec(),
        one => vec![one.clone()],
    };
    let default = call.text_or(1, "default", "");
    let mut entries = Vec::new();
    for name in names {
        let name = name.reveal().to_string();
        let found = variable(call, &name)?;
        entries.push((name, found.unwrap_or_else(|| default.as_str().into())));
    }
    Ok(Value::map(entries))
}

/// Returns a variable of the environment, or `None` if it is not set.
fn variable(call: &TemplateCall<'_>, name: &str) -> Result<Option<Value>, Halt> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.chars().all(fits) || name.is_empty() {
        return Err(call.fail(format_args!(
            "`{name}` is not a valid name of an environment variable"
        )));
    }
    let found = probe(call, format!("printenv {name}"), Domain::Fixed)?;
    Ok((found.code == 0).then(|| text(&found.stdout)))
}

/// Returns the entry that a path leads to through links.
pub(super) fn entry(call: &TemplateCall<'_>, path: &str) -> Result<Option<FileStat>, Halt> {
    Ok(call.facts.target(&expanded(call, path)?)?.cloned())
}

/// Returns a path whose home folder at its start is written out: `~/a` or `~user/a`.
pub(super) fn expanded(call: &TemplateCall<'_>, path: &str) -> Result<String, Halt> {
    let Some(rest) = path.strip_prefix('~') else {
        return Ok(path.to_owned());
    };
    let (user, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let home = if user.is_empty() {
        let found = probe(call, "printf %s \"$HOME\"".to_owned(), Domain::Fixed)?;
        text(&found.stdout).to_string()
    } else {
        let fields = account(call, "passwd", user)?.unwrap_or_default();
        fields.get(5).cloned().unwrap_or_else(|| format!("~{user}"))
    };
    Ok(format!("{}{rest}", home.trim_end_matches('/')))
}

/// The fields of an entry in `passwd` or `group`, or `None` if the account does not exist.
pub(super) fn account(
    call: &TemplateCall<'_>,
    table: &str,
    name: &str,
) -> Result<Option<Vec<String>>, Halt> {
    let name = shlex_quote(name);
    let found = probe(call, format!("getent {table} {name}"), Domain::Accounts)?;
    let line = String::from_utf8_lossy(&found.stdout);
    let fields = line.trim_end().split(':').map(str::to_owned);
    Ok((found.code == 0).then(|| fields.collect()))
}

fn user(call: &TemplateCall<'_>) -> CallResult {
    let Some(fields) = account(call, "passwd", &call.text(0, "name")?)? else {
        return Ok(Value::map::<&str>([]));
    };
    let field = |place: usize| fields.get(place).map(String::as_str).unwrap_or_default();
    let number = |place: usize| field(place).parse::<i64>().map_or(Value::Null, Value::Int);
    let name = shlex_quote(field(0));
    let groups = probe(call, format!("id -Gn -- {name}"), Domain::Accounts)?;
    let groups = String::from_utf8_lossy(&groups.stdout).into_owned();
    let mut groups: Vec<&str> = groups.split_whitespace().collect();
    groups.sort_unstable();
    Ok(Value::map([
        ("name", field(0).into()),
        ("passwd", field(1).into()),
        ("uid", number(2)),
        ("gid", number(3)),
        ("groups", Value::list(groups.into_iter().map(Value::from))),
        ("home", field(5).into()),
        ("shell", field(6).into()),
        (
            "fullname",
            field(4).split(',').next().unwrap_or_default().into(),
        ),
    ]))
}

fn group(call: &TemplateCall<'_>) -> CallResult {
    let Some(fields) = account(call, "group", &call.text(0, "name")?)? else {
        return Ok(Value::map::<&str>([]));
    };
    let field = |place: usize| fields.get(place).map(String::as_str).unwrap_or_default();
    let members = field(3).split(',').filter(|name| !name.is_empty());
    Ok(Value::map([
        ("name", field(0).into()),
        ("passwd", field(1).into()),
        (
            "gid",
            field(2).parse::<i64>().map_or(Value::Null, Value::Int),
        ),
        ("members", Value::list(members.map(Value::from))),
    ]))
}

/// The version of an installed package, or an empty text if it is not installed.
fn package(call: &TemplateCall<'_>) -> CallResult {
    let version = |name: &str| -> CallResult {
        let name = shlex_quote(name);
        let text_of =
            format!("dpkg-query -W -f='${{db:Status-Status}} ${{Version}}' -- {name} 2>/dev/null");
        let found = probe(call, text_of, Domain::Packages)?;
        let line = String::from_utf8_lossy(&found.stdout).into_owned();
        Ok(line.strip_prefix("installed ").unwrap_or_default().into())
    };
    match call.args {
        [one] => version(&one.reveal().to_string()),
        many => {
            let pair = |name: &Value| {
                let name = name.reveal().to_string();
                version(&name).map(|version| (name, version))
            };
            Ok(Value::map(
                many.iter().map(pair).collect::<Result<Vec<_>, _>>()?,
            ))
        }
    }
}

fn systemctl(call: &TemplateCall<'_>, question: &str) -> CallResult {
    let name = shlex_quote(&call.text(0, "name")?);
    let found = probe(
        call,
        format!("systemctl {question} -- {name} >/dev/null 2>&1"),
        Domain::Services,
    )?;
    Ok((found.code == 0).into())
}
