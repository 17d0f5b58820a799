//! Template functions (`salt['file.…']`) and filters that read files of the machine.

use super::call::{CallResult, TemplateCall};
use super::file_system_functions::{glob_word, paths_below};
use super::machine_functions::{account, entry, expanded, probe, text};
use crate::host::fact::{Domain, FileKind, FileStat};
use crate::states::Halt;
use crate::states::modules::normalize_path;
use crate::text::{Glob, Pattern, shlex_quote};
use crate::value::{Value, hex_digest};

/// The implementation of a template function.
type FileFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, FileFn)] = &[
    ("file.file_exists", |call| {
        Ok(entry_of(call)?
            .as_ref()
            .is_some_and(FileStat::is_file)
            .into())
    }),
    ("file.directory_exists", |call| {
        Ok(entry_of(call)?
            .as_ref()
            .is_some_and(FileStat::is_folder)
            .into())
    }),
    ("file.path_exists_glob", |call| {
        let path = call.text(0, "path")?;
        let command = format!("ls -d -- {} >/dev/null 2>&1", glob_word(&path));
        let found = probe(call, command, Domain::All)?;
        Ok((found.code == 0).into())
    }),
    ("file.access", access),
    ("file.is_link", |call| Ok(link(call)?.is_some().into())),
    ("file.readlink", read_link),
    ("file.read", read),
    ("file.contains", |call| {
        let wanted = call.text(1, "text")?;
        let text = content(call)?;
        Ok(text.is_some_and(|text| text.contains(wanted.trim())).into())
    }),
    ("file.contains_glob", |call| {
        let pattern = Glob::new(&call.text(1, "glob_expr")?);
        Ok(content(call)?
            .is_some_and(|text| pattern.matches(&text))
            .into())
    }),
    ("file.contains_regex", contains_regex),
    ("file.get_user", |call| {
        Ok(existing_entry(call)?.user.into())
    }),
    ("file.get_group", |call| {
        Ok(existing_entry(call)?.group.into())
    }),
    ("file.get_mode", |call| {
        Ok(format!("{:04o}", existing_entry(call)?.mode).into())
    }),
    ("file.get_uid", |call| {
        let name = existing_entry(call)?.user;
        account_number(call, "passwd", &name)
    }),
    ("file.get_gid", |call| {
        let name = existing_entry(call)?.group;
        account_number(call, "group", &name)
    }),
    ("file.user_to_uid", |call| {
        account_number(call, "passwd", &call.text(0, "user")?)
    }),
    ("file.group_to_gid", |call| {
        account_number(call, "group", &call.text(0, "group")?)
    }),
    ("file.uid_to_user", |call| {
        account_name(call, "passwd", "uid")
    }),
    ("file.gid_to_group", |call| {
        account_name(call, "group", "gid")
    }),
    ("file.get_hash", |call| {
        digest(call, "form")?.ok_or_else(|| absent(call))
    }),
    ("file.get_sum", |call| {
        Ok(digest(call, "form")?.unwrap_or_else(|| "File not found".into()))
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
    ("file.join", |call| Ok(joined(call).into())),
    ("file.normpath", |call| {
        Ok(normalize_path(&call.text(0, "path")?).into())
    }),
    ("file.pardir", |_| Ok("..".into())),
    ("file.readdir", |call| {
        let path = expanded(call, &call.text(0, "path")?)?;
        let text = format!("cd -- {} && ls -aU", shlex_quote(&path));
        let found = probe(call, text, Domain::All)?;
        if found.code != 0 {
            return Err(call.fail(format_args!("`{path}` is not a folder on the host")));
        }
        let all = String::from_utf8_lossy(&found.stdout);
        Ok(Value::list(all.lines().map(Value::from)))
    }),
];

/// The filters that read files or accounts of the machine, as functions of the filtered value.
pub(super) const FILTERS: &[(&str, FileFn)] = &[
    ("file_hashsum", |call| {
        digest(call, "form")?.ok_or_else(|| absent(call))
    }),
    ("get_uid", |call| {
        let name = call.text(0, "user")?;
        Ok(match account_number(call, "passwd", &name)? {
            Value::Str(_) => Value::Null,
            number => number,
        })
    }),
    ("is_bin_file", |call| {
        let sample = sample(call, 2048)?;
        Ok(sample.is_some_and(|bytes| is_binary(&bytes)).into())
    }),
    ("is_empty", |call| {
        Ok(entry_of(call)?.is_some_and(|entry| entry.size == 0).into())
    }),
    ("is_text_file", |call| {
        let sample = sample(call, 512)?;
        Ok(sample.is_some_and(|bytes| !is_binary(&bytes)).into())
    }),
    ("list_files", list_files),
];

/// The share of bytes that are no text from which a file counts as binary, in percent.
const BINARY_SHARE: usize = 30;

fn entry_of(call: &TemplateCall<'_>) -> Result<Option<FileStat>, Halt> {
    entry(call, &call.text(0, "path")?)
}

fn existing_entry(call: &TemplateCall<'_>) -> Result<FileStat, Halt> {
    entry_of(call)?.ok_or_else(|| absent(call))
}

fn absent(call: &TemplateCall<'_>) -> Halt {
    let path = call.text_or(0, "path", "");
    call.fail(format_args!("`{path}` does not exist on the host"))
}

/// Returns the target of a link, or `None` if the path is no link.
fn link(call: &TemplateCall<'_>) -> Result<Option<String>, Halt> {
    let path = expanded(call, &call.text(0, "path")?)?;
    Ok(call.facts.path(&path)?.and_then(|entry| match &entry.kind {
        FileKind::Link(to) => Some(to.clone()),
        _ => None,
    }))
}

fn read_link(call: &TemplateCall<'_>) -> CallResult {
    let Some(target) = link(call)? else {
        let path = call.text(0, "path")?;
        return Err(call.fail(format_args!("A valid link was not specified: {path}")));
    };
    if !call.flag(1, "canonicalize", false) {
        return Ok(target.into());
    }
    let path = expanded(call, &call.text(0, "path")?)?;
    let command = format!("readlink -f -- {}", shlex_quote(&path));
    Ok(text(&probe(call, command, Domain::All)?.stdout))
}

/// Returns true if the user who is logged in may do with a file what the mode says.
fn access(call: &TemplateCall<'_>) -> CallResult {
    let path = expanded(call, &call.text(0, "path")?)?;
    if !path.starts_with('/') {
        return Err(call.fail("Path to link must be absolute."));
    }
    let test = match &*call.text(1, "mode")? {
        "f" | "0" => "-e",
        "r" | "4" => "-r",
        "w" | "2" => "-w",
        "x" | "1" => "-x",
        _ => return Err(call.fail("Invalid mode specified.")),
    };
    let command = format!("[ {test} {} ]", shlex_quote(&path));
    Ok((probe(call, command, Domain::All)?.code == 0).into())
}

/// Returns the text of a file, or `None` if the file does not exist.
fn content(call: &TemplateCall<'_>) -> Result<Option<String>, Halt> {
    let path = expanded(call, &call.text(0, "path")?)?;
    let bytes = call.facts.content(&path)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

fn read(call: &TemplateCall<'_>) -> CallResult {
    content(call)?.map(Value::from).ok_or_else(|| absent(call))
}

/// Returns true if the pattern fits in a line, without the characters `lchar` at its start.
fn contains_regex(call: &TemplateCall<'_>) -> CallResult {
    let pattern = call.text(1, "regex")?;
    let pattern =
        Pattern::new(&pattern).map_err(|error| call.fail(format_args!("`{pattern}`: {error}")))?;
    let stripped = call.text_or(2, "lchar", "");
    let text = content(call)?.unwrap_or_default();
    let fits = |line: &str| {
        let line = line.trim_start_matches(|letter| stripped.contains(letter));
        pattern.is_match(line).unwrap_or(false)
    };
    Ok(text.lines().any(fits).into())
}

/// Joins paths as Python does: an absolute path replaces those before it.
fn joined(call: &TemplateCall<'_>) -> String {
    let mut path = String::new();
    for part in call.args {
        let part = part.reveal().to_string();
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(&part);
    }
    path
}

/// Returns the number of an account, or an empty text if there is none of the name.
fn account_number(call: &TemplateCall<'_>, table: &str, name: &str) -> CallResult {
    if let Ok(number) = name.parse::<i64>() {
        return Ok(number.into());
    }
    let fields = account(call, table, name)?.unwrap_or_default();
    let number = fields.get(2).and_then(|number| number.parse::<i64>().ok());
    Ok(number.map_or_else(|| "".into(), Value::from))
}

/// Returns the name of the account with a number, or the number if there is none.
fn account_name(call: &TemplateCall<'_>, table: &str, argument: &str) -> CallResult {
    let number = call.text(0, argument)?;
    let fields = account(call, table, &number)?.unwrap_or_default();
    let name = fields.first().map(|name| name.as_str().into());
    Ok(name.unwrap_or_else(|| call.arg_or_null(0, argument)))
}

/// Returns the digest of a file, or `None` if the file does not exist.
fn digest(call: &TemplateCall<'_>, argument: &str) -> Result<Option<Value>, Halt> {
    let form = call.text_or(1, argument, "sha256");
    let path = expanded(call, &call.text(0, "path")?)?;
    if form == "sha256" {
        return Ok(call.facts.digest(&path)?.map(Value::from));
    }
    if hex_digest(&form, b"").is_none() {
        return Err(call.fail(format_args!("Invalid hash type: {form}")));
    }
    let command = format!("{form}sum < {}", shlex_quote(&path));
    let found = probe(call, command, Domain::Path(path))?;
    let sum = text(&found.stdout).to_string();
    let sum = sum.split_whitespace().next().map(Value::from);
    Ok(sum.filter(|_| found.code == 0))
}

/// Returns the first bytes of a file, or `None` if there is no such file.
fn sample(call: &TemplateCall<'_>, count: usize) -> Result<Option<Vec<u8>>, Halt> {
    let path = call.text(0, "path")?;
    let command = format!("head -c {count} -- {}", shlex_quote(&path));
    let found = probe(call, command, Domain::Path(path))?;
    Ok((found.code == 0).then_some(found.stdout))
}

/// Returns true if bytes are no text: they have a zero, or too many other control characters.
fn is_binary(bytes: &[u8]) -> bool {
    let is_text =
        |byte: &&u8| matches!(byte, 8 | 9 | 10 | 12 | 13 | 32..=126) || (128..255).contains(*byte);
    let is_unicode = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // The last character of the sample may be cut off.
        Err(error) => error.error_len().is_none(),
    };
    let count = bytes
        .iter()
        .filter(|byte| !is_text(byte) || (!is_unicode && !byte.is_ascii()))
        .count();
    bytes.contains(&0) || count * 100 > bytes.len() * BINARY_SHARE
}

/// Returns a folder with all paths below it.
fn list_files(call: &TemplateCall<'_>) -> CallResult {
    let path = call.text(0, "directory")?;
    let mut paths = paths_below(call, &path, shlex_quote, "")?;
    if paths.is_empty() {
        paths.push(path);
    }
    Ok(Value::list(paths.into_iter().map(Value::from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_binary() {
        assert!(!is_binary("a text\twith ä\n".as_bytes()));
        assert!(!is_binary(b""));
        assert!(is_binary(b"\x7fELF\0"));
        assert!(is_binary(b"\x01\x02\x03a"));
        assert!(is_binary(b"\xff\xfe\xffa"));
    }
}
