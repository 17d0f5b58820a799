//! Template functions (`salt[…]`) that list what is in the file system of the machine: `file.find` and `mount.fstab`.

use super::call::{CallResult, TemplateCall};
use super::machine_functions::probe;
use crate::host::fact::Domain;
use crate::states::Halt;
use crate::states::modules::FstabEntry;
use crate::text::{Pattern, PatternFlags, shlex_quote};
use crate::value::{Map, Value};

/// The implementation of a template function.
type FileSystemFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, FileSystemFn)] =
    &[("file.find", find), ("mount.fstab", fstab)];

/// The letters of the types of files, as `find` has them.
const FILE_TYPES: &str = "bcdflps";

/// Lists the paths below a path that fit all options. Options that change files, or need more than their names and
/// types, are refused.
fn find(call: &TemplateCall<'_>) -> CallResult {
    let path = call.text(0, "path")?;
    if let Some(more) = call.args.get(1) {
        return Err(call.fail(format_args!("`{more}` is not supported; name an option")));
    }
    let mut tests = String::new();
    let mut patterns = Vec::new();
    for (name, value) in call.named {
        let text = value.reveal().to_string();
        match &**name {
            "path" => {}
            "maxdepth" | "mindepth" => {
                let depth = value.reveal().as_int().filter(|depth| *depth >= 0);
                let depth = depth
                    .ok_or_else(|| call.fail(format_args!("`{name}` is not a whole number")))?;
                // Both belong before all tests.
                tests.insert_str(0, &format!(" -{name} {depth}"));
            }
            "type" => tests.push_str(&type_test(call, &text)?),
            "name" => patterns.push(name_pattern(call, &glob_regex(&text), false)?),
            "iname" => patterns.push(name_pattern(call, &glob_regex(&text), true)?),
            "regex" => patterns.push(name_pattern(call, &text, false)?),
            "iregex" => patterns.push(name_pattern(call, &text, true)?),
            _ => {
                return Err(call.fail(format_args!(
                    "the option `{name}` is not supported: name, iname, regex, iregex, type, mindepth and maxdepth are"
                )));
            }
        }
    }
    // As in Python, a link that is the path itself is followed, and types are those of what links lead to.
    let mut paths = paths_below(call, &path, glob_word, &tests)?;
    let fits = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        patterns
            .iter()
            .all(|pattern| pattern.is_match(name).unwrap_or(false))
    };
    paths.retain(fits);
    Ok(Value::list(paths.into_iter().map(Value::from)))
}

/// Returns a path and those below it that pass the tests of `find`, sorted. `quote` makes a word of the path for the
/// shell.
pub(super) fn paths_below(
    call: &TemplateCall<'_>,
    path: &str,
    quote: fn(&str) -> String,
    tests: &str,
) -> Result<Vec<String>, Halt> {
    // A path that begins with a dash or another sign would be an expression of `find`.
    let prefix = if path.starts_with(['/', '~']) {
        ""
    } else {
        "./"
    };
    let word = quote(&format!("{prefix}{path}"));
    let command = format!("find -H {word}{tests} -print0 2>/dev/null");
    let found = probe(call, command, Domain::All)?;
    let text = String::from_utf8_lossy(&found.stdout);
    let found = text.split('\0').filter(|it| !it.is_empty());
    let mut paths: Vec<String> = found
        .map(|it| it.strip_prefix(prefix).unwrap_or(it).to_owned())
        .collect();
    paths.sort_unstable();
    Ok(paths)
}

/// Returns the test for one of several types.
fn type_test(call: &TemplateCall<'_>, types: &str) -> Result<String, Halt> {
    let letters = types.chars().filter(|it| !it.is_whitespace() && *it != ',');
    let test = |letter: char| {
        if FILE_TYPES.contains(letter) {
            Ok(format!("-xtype {letter}"))
        } else {
            Err(call.fail(format_args!("`{letter}` is not a type of files")))
        }
    };
    let tests = letters.map(test).collect::<Result<Vec<_>, _>>()?;
    if tests.is_empty() {
        return Err(call.fail(format_args!("`type` names no type")));
    }
    Ok(format!(" \\( {} \\)", tests.join(" -o ")))
}

/// Returns the regular expression that Salt makes of a pattern for names.
fn glob_regex(pattern: &str) -> String {
    let regex = pattern.replace('.', "\\.").replace('?', ".?");
    format!("{}$", regex.replace('*', ".*"))
}

/// Returns a pattern that a name has to begin with.
fn name_pattern(call: &TemplateCall<'_>, regex: &str, ignore_case: bool) -> Result<Pattern, Halt> {
    let flags = PatternFlags {
        ignore_case,
        ..PatternFlags::default()
    };
    Pattern::with_flags(&format!("^(?:{regex})"), flags)
        .map_err(|error| call.fail(format_args!("`{regex}`: {error}")))
}

/// Quotes a path, except for its wildcards and a home folder at its start.
pub(super) fn glob_word(path: &str) -> String {
    // The shell finds the home folder only before a slash without quotes.
    let (home, rest) = match path.strip_prefix("~/") {
        Some(rest) => ("~/", rest),
        None if path == "~" => ("~", ""),
        None => ("", path),
    };
    let mut word = home.to_owned();
    let mut plain = String::new();
    for letter in rest.chars() {
        if !"*?[]".contains(letter) {
            plain.push(letter);
            continue;
        }
        if !plain.is_empty() {
            word.push_str(&shlex_quote(&std::mem::take(&mut plain)));
        }
        word.push(letter);
    }
    if !plain.is_empty() {
        word.push_str(&shlex_quote(&plain));
    }
    word
}

/// Returns the entries of the table of file systems by their mount points. There are none without the file.
fn fstab(call: &TemplateCall<'_>) -> CallResult {
    let path = call.text_or(0, "config", "/etc/fstab");
    let Some(bytes) = call.facts.content(&path)? else {
        return Ok(Value::from(Map::new()));
    };
    let text = String::from_utf8_lossy(bytes);
    let mut entries = Map::new();
    for entry in text.lines().filter_map(FstabEntry::parse) {
        let options = entry.options.split(',').map(Value::from);
        let fields = Value::map([
            ("device", entry.device.into()),
            ("fstype", entry.kind.into()),
            ("opts", Value::list(options)),
            ("dump", entry.dump.into()),
            ("pass", entry.pass.into()),
        ]);
        let mut name = entry.mount_point;
        while entries.contains_key(&*name) {
            name.push('_');
        }
        entries.insert(name.into(), fields);
    }
    Ok(Value::from(entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_of_a_path_stay_and_all_else_is_quoted() {
        assert_eq!(glob_word("/etc/a b*.conf"), "'/etc/a b'*.conf");
        assert_eq!(glob_word("~/$(x)"), "~/'$(x)'");
        assert_eq!(glob_word("~x;[ab]"), "'~x;'[ab]");
    }
}
