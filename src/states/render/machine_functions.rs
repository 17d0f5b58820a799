//! Template functions (`salt[…]`) that read the machine. Each reads facts from the cache.

use super::call::{CallResult, TemplateCall};
use crate::host::fact::{CommandSetting, Domain, FileKind, FileStat, Probe, ProbeOutput};
use crate::states::Halt;
use crate::text::{Pattern, shlex_join, shlex_quote, shlex_split};
use crate::value::Value;

/// The implementation of a template function.
type MachineFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, MachineFn)] = &[
    ("cmd.run", |call| Ok(printed(&command(call)?))),
    ("cmd.run_stdout", |call| Ok(text(&command(call)?.stdout))),
    ("cmd.run_stderr", |call| Ok(text(&command(call)?.stderr))),
    ("cmd.shell", |call| Ok(printed(&shell_command(call)?))),
    ("cmd.retcode", |call| {
        Ok(i64::from(command(call)?.code).into())
    }),
    ("cmd.run_all", run_all),
    ("cmd.has_exec", |call| Ok(which(call)?.is_truthy().into())),
    ("cmd.which", which),
    ("environ.get", environ),
    ("environ.has_value", |call| {
        Ok(environ(call)?.is_truthy().into())
    }),
    ("file.file_exists", |call| {
        Ok(entry(call)?.as_ref().is_some_and(FileStat::is_file).into())
    }),
    ("file.directory_exists", |call| {
        Ok(entry(call)?
            .as_ref()
            .is_some_and(FileStat::is_folder)
            .into())
    }),
    ("file.path_exists_glob", |call| {
        let path = call.text(0, "path")?;
        let found = probe(call, format!("ls -d {path} >/dev/null 2>&1"), Domain::All)?;
        Ok((found.code == 0).into())
    }),
    ("file.access", |call| Ok(entry(call)?.is_some().into())),
    ("file.is_link", |call| Ok(link(call)?.is_some().into())),
    ("file.readlink", |call| {
        Ok(link(call)?.unwrap_or_default().into())
    }),
    ("file.read", read),
    ("file.contains", |call| {
        let wanted = call.text(1, "text")?;
        Ok(read(call)?
            .as_str()
            .is_some_and(|text| text.contains(&wanted))
            .into())
    }),
    ("file.get_user", |call| {
        Ok(existing_entry(call)?.user.into())
    }),
    ("file.get_group", |call| {
        Ok(existing_entry(call)?.group.into())
    }),
    ("file.get_mode", |call| {
        Ok(format!("{:04o}", existing_entry(call)?.mode).into())
    }),
    ("file.basename", |call| {
        let path = call.text(0, "path")?;
        Ok(path.rsplit('/').next().unwrap_or_default().into())
    }),
    ("file.dirname", |call| {
        let path = call.text(0, "path")?;
        let head = path.rsplit_once('/').map_or("", |(head, _)| head);
        let root = if head.is_empty() && path.starts_with('/') {
            "/"
        } else {
            head
        };
        Ok(root.into())
    }),
    ("file.join", |call| {
        let parts: Vec<String> = call
            .args
            .iter()
            .map(|part| part.reveal().to_string())
            .collect();
        Ok(parts.join("/").into())
    }),
    ("file.readdir", |call| {
        let path = call.text(0, "path")?;
        let text = format!("cd -- {} && ls -aU", shlex_quote(&path));
        let found = probe(call, text, Domain::All)?;
        if found.code != 0 {
            return Err(call.fail(format_args!("`{path}` is not a folder on the host")));
        }
        Ok(lines(&found))
    }),
    ("file.contains_regex", |call| {
        let path = call.text(0, "path")?;
        let pattern = call.text(1, "regex")?;
        let pattern = Pattern::new(&pattern)
            .map_err(|error| call.fail(format_args!("`{pattern}`: {error}")))?;
        let Some(bytes) = call.facts.content(&path)? else {
            return Ok(false.into());
        };
        let text = String::from_utf8_lossy(bytes);
        Ok(text
            .lines()
            .any(|line| pattern.is_match(line).unwrap_or(false))
            .into())
    }),
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
    ("network.ip_addrs", |call| addresses(call, "-4")),
    ("network.ipaddrs", |call| addresses(call, "-4")),
    ("network.ip_addrs6", |call| addresses(call, "-6")),
    ("network.get_hostname", |call| {
        Ok(text(
            &probe(call, "hostname".to_owned(), Domain::Fixed)?.stdout,
        ))
    }),
    ("network.get_fqdn", |call| {
        Ok(text(
            &probe(call, "hostname -f".to_owned(), Domain::Fixed)?.stdout,
        ))
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

/// The lines of the standard output as a list.
fn lines(probed: &ProbeOutput) -> Value {
    let all = String::from_utf8_lossy(&probed.stdout);
    Value::list(all.lines().map(Value::from))
}

/// The standard output followed by the standard error.
fn printed(probed: &ProbeOutput) -> Value {
    let all = [&*probed.stdout, &*probed.stderr].concat();
    text(&all)
}

/// Runs a command. As in Salt, its text is split into words without a shell, unless `python_shell` is set.
///
/// The command must not change the machine.
fn command(call: &TemplateCall<'_>) -> Result<ProbeOutput, Halt> {
    if call.named.get("python_shell").is_some_and(Value::is_truthy) {
        return shell_command(call);
    }
    let text = match call.arg(0, "cmd").map(Value::reveal) {
        Some(Value::List(words)) => shlex_join(words.iter().map(Value::to_string)),
        _ => {
            let line = call.text(0, "cmd")?;
            let words = shlex_split(&line, None)
                .ok_or_else(|| call.fail(format_args!("a quote of `{line}` is not closed")))?;
            shlex_join(words)
        }
    };
    run_text(call, text)
}

/// Runs a command as written, by a shell.
fn shell_command(call: &TemplateCall<'_>) -> Result<ProbeOutput, Halt> {
    let text = match call.arg(0, "cmd").map(Value::reveal) {
        Some(Value::List(words)) => shlex_join(words.iter().map(Value::to_string)),
        _ => call.text(0, "cmd")?,
    };
    run_text(call, text)
}

fn run_text(call: &TemplateCall<'_>, text: String) -> Result<ProbeOutput, Halt> {
    let supplied = |name: &str| call.named.get(name).filter(|value| !value.is_null());
    let word = |name: &str| supplied(name).map(|value| value.reveal().to_string());
    let env = supplied("env")
        .and_then(Value::as_map)
        .into_iter()
        .flatten();
    let setting = CommandSetting {
        shell: word("shell"),
        user: word("runas"),
        cwd: word("cwd"),
        env: env
            .map(|(key, value)| (key.to_string(), value.reveal().to_string()))
            .collect(),
        umask: None,
        time_limit: None,
    };
    let reads = Domain::All;
    call.facts
        .probe(Probe {
            text,
            setting,
            reads,
        })
        .cloned()
}

fn run_all(call: &TemplateCall<'_>) -> CallResult {
    let probed = command(call)?;
    Ok(Value::map([
        ("pid", 0.into()),
        ("retcode", i64::from(probed.code).into()),
        ("stdout", text(&probed.stdout)),
        ("stderr", text(&probed.stderr)),
    ]))
}

fn which(call: &TemplateCall<'_>) -> CallResult {
    let name = shlex_quote(&call.text(0, "cmd")?);
    let found = probe(call, format!("command -v {name}"), Domain::All)?;
    Ok(if found.code == 0 {
        text(&found.stdout)
    } else {
        Value::Null
    })
}

fn environ(call: &TemplateCall<'_>) -> CallResult {
    let name = call.text(0, "key")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.chars().all(fits) || name.is_empty() {
        return Err(call.fail(format_args!(
            "`{name}` is not a valid name of an environment variable"
        )));
    }
    let found = probe(call, format!("printenv {name}"), Domain::Fixed)?;
    Ok(if found.code == 0 {
        text(&found.stdout)
    } else {
        call.text_or(1, "default", "").into()
    })
}

fn entry(call: &TemplateCall<'_>) -> Result<Option<FileStat>, Halt> {
    let path = call.text(0, "path")?;
    Ok(call.facts.target(&path)?.cloned())
}

fn existing_entry(call: &TemplateCall<'_>) -> Result<FileStat, Halt> {
    let path = call.text(0, "path")?;
    entry(call)?.ok_or_else(|| call.fail(format_args!("`{path}` does not exist on the host")))
}

fn link(call: &TemplateCall<'_>) -> Result<Option<String>, Halt> {
    let path = call.text(0, "path")?;
    Ok(call.facts.path(&path)?.and_then(|entry| match &entry.kind {
        FileKind::Link(to) => Some(to.clone()),
        _ => None,
    }))
}

fn read(call: &TemplateCall<'_>) -> CallResult {
    let path = call.text(0, "path")?;
    match call.facts.content(&path)? {
        Some(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned().into()),
        None => Err(call.fail(format_args!("`{path}` does not exist on the host"))),
    }
}

/// The fields of an entry in `passwd` or `group`, or `None` if the account does not exist.
fn account(call: &TemplateCall<'_>, table: &str) -> Result<Option<Vec<String>>, Halt> {
    let name = shlex_quote(&call.text(0, "name")?);
    let found = probe(call, format!("getent {table} {name}"), Domain::Accounts)?;
    let line = String::from_utf8_lossy(&found.stdout);
    let fields = line.trim_end().split(':').map(str::to_owned);
    Ok((found.code == 0).then(|| fields.collect()))
}

fn user(call: &TemplateCall<'_>) -> CallResult {
    let Some(fields) = account(call, "passwd")? else {
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
    let Some(fields) = account(call, "group")? else {
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

/// The machine's global addresses of one family, without loopback addresses.
fn addresses(call: &TemplateCall<'_>, family: &str) -> CallResult {
    let found = probe(
        call,
        format!("ip -o {family} addr show scope global"),
        Domain::All,
    )?;
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let mut addresses: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            let mut words = line
                .split_whitespace()
                .skip_while(|word| !word.starts_with("inet"));
            words.nth(1)?.split('/').next()
        })
        .collect();
    addresses.sort_unstable();
    Ok(Value::list(addresses.into_iter().map(Value::from)))
}
