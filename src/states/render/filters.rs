//! Salt's additional Jinja filters, such as `yaml` and `regex_search`.

use std::fmt::Write as _;

use super::map_merge::value_at_path;
use super::null_context::parse_yaml;
use crate::expr::pyyaml_text_in_order;
use crate::text::{Pattern, PatternError, PatternFlags};
use crate::value::{Map, Value};
use crate::yaml::Schema;

/// The names of the filters that [`apply_filter`] implements.
pub(in crate::states) const FILTER_NAMES: &[&str] = &[
    "yaml",
    "json",
    "load_yaml",
    "load_json",
    "load_text",
    "yaml_encode",
    "yaml_dquote",
    "yaml_squote",
    "sequence",
    "regex_match",
    "regex_search",
    "regex_replace",
    "traverse",
    "dict_to_sls_yaml_params",
    // The filters of `text_filters.rs`.
    "md5",
    "sha256",
    "sha512",
    "hmac",
    "hmac_compute",
    "base64_encode",
    "base64_decode",
    "path_join",
    "uuid",
    "sha1",
    "network_hosts",
    "network_size",
    "ipwrap",
    "is_iter",
    "is_hex",
    "contains_whitespace",
    "substring_in_list",
    "avg",
    "exactly_n_true",
    "exactly_one_true",
    "sorted_ignorecase",
    "compare_lists",
    "compare_dicts",
    "to_snake_case",
    "to_camelcase",
    // The filter of the function `cmd.which`.
    "which",
    // The filters of `data_filters.rs`.
    "check_whitelist_blacklist",
    "compress",
    "flatten",
    "from_entries",
    "human_to_bytes",
    "mysql_to_dict",
    "python",
    "skip",
    "str_to_num",
    "to_bool",
    "to_entries",
    "to_num",
    // The filters that need the machine, of `date_filters.rs`, `file_functions.rs` and `random_functions.rs`.
    "date_format",
    "strftime",
    "file_hashsum",
    "get_uid",
    "is_bin_file",
    "is_empty",
    "is_text_file",
    "list_files",
    "gen_mac",
    "rand_str",
    "random_hash",
    "random_sample",
    "random_shuffle",
    "random_str",
    // The filters of `ip_filters.rs` and `entry_filters.rs`.
    "filter_by_networks",
    "ip_host",
    "ipaddr",
    "ipv4",
    "ipv6",
    "is_ip",
    "is_ipv4",
    "is_ipv6",
    "append_dict_key_value",
    "extend_dict_key_value",
    "set_dict_key_value",
    "update_dict_key_value",
];

/// The maximum indentation of JSON, in spaces.
const MAX_INDENT: usize = 64;

/// Applies a filter. The first argument is the filtered value.
pub(super) fn apply_filter(name: &str, args: &[Value], named: &Map) -> Result<Value, String> {
    let null = Value::Null;
    let subject = args.first().unwrap_or(&null).reveal();
    let arg = |place: usize, key: &str| args.get(place).or_else(|| named.get(key));
    let flag = |place: usize, key: &str, otherwise: bool| {
        arg(place, key).map_or(otherwise, Value::is_truthy)
    };
    let supplied = match name {
        "yaml" => yaml(subject, flag(1, "flow_style", true))?.into(),
        "json" => {
            let indent = arg(2, "indent").and_then(Value::as_int);
            json(subject, flag(1, "sort_keys", true), indent)?.into()
        }
        "load_yaml" => parse_yaml(&subject.to_string())?,
        "load_json" => load_json(&subject.to_string())?,
        "load_text" => subject.clone(),
        "yaml_encode" => yaml_scalar(subject)?.into(),
        "yaml_dquote" => double_quoted(&subject.to_string()).into(),
        "yaml_squote" => single_quoted(&subject.to_string()).into(),
        "sequence" => match subject {
            Value::List(_) | Value::Map(_) => subject.clone(),
            one => Value::list([one.clone()]),
        },
        "regex_match" | "regex_search" => {
            let pattern = arg(1, "rgx").map(ToString::to_string).unwrap_or_default();
            let whole = name == "regex_match";
            let (case, lines) = (flag(2, "ignorecase", false), flag(3, "multiline", false));
            groups(&subject.to_string(), &pattern, whole, (case, lines))?
        }
        "regex_replace" => {
            let pattern = arg(1, "rgx").map(ToString::to_string).unwrap_or_default();
            let value = arg(2, "val").map(ToString::to_string).unwrap_or_default();
            let flags = (flag(3, "ignorecase", false), flag(4, "multiline", false));
            regex_replace(&subject.to_string(), &pattern, &value, flags)?.into()
        }
        "traverse" => {
            let path = arg(1, "key").map(ToString::to_string).unwrap_or_default();
            let delimiter = arg(3, "delimiter").map_or_else(|| ":".to_owned(), ToString::to_string);
            let found = value_at_path(subject, &path, &delimiter);
            found
                .or_else(|| arg(2, "default").cloned())
                .unwrap_or_default()
        }
        "dict_to_sls_yaml_params" => {
            let map = subject.as_map().into_iter().flatten();
            let items = map.map(|(key, value)| Value::map([(key.as_ref(), value.clone())]));
            pyyaml_text_in_order(&Value::list(items), flag(1, "flow_style", false))?
                .trim()
                .into()
        }
        other => return Err(format!("unknown filter `{other}`")),
    };
    Ok(supplied)
}

/// Writes a value as YAML, in brackets or with one item per line.
fn yaml(value: &Value, brackets: bool) -> Result<String, String> {
    Ok(pyyaml_text_in_order(value, brackets)?.trim().to_owned())
}

/// Writes a value as JSON: on one line, or with this indentation.
fn json(value: &Value, is_sorted: bool, indent: Option<i64>) -> Result<String, String> {
    let value = if is_sorted { &value.sorted() } else { value };
    let Some(indent) = indent else {
        let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
        return Ok(python_json(&text));
    };
    let spaces = b" ".repeat(usize::try_from(indent).unwrap_or_default().min(MAX_INDENT));
    let formatter = serde_json::ser::PrettyFormatter::with_indent(&spaces);
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(value, &mut serializer).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reformats JSON as Python writes it, with a space after each comma and colon.
fn python_json(text: &str) -> String {
    let mut done = String::with_capacity(text.len() + 16);
    let (mut quoted, mut escaped) = (false, false);
    for character in text.chars() {
        done.push(character);
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' | ':' if !quoted => done.push(' '),
            _ => {}
        }
    }
    done
}

/// Writes a value as YAML in flow style, on one line.
fn yaml_flow(value: &Value) -> String {
    match value.reveal() {
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(yaml_flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let pair = |(key, value): (&std::sync::Arc<str>, &Value)| {
                format!("{}: {}", flow_text(key), yaml_flow(value))
            };
            let pairs: Vec<String> = map.iter().map(pair).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Str(text) => flow_text(text),
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        other => other.to_string(),
    }
}

fn flow_text(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_./-+@=()$ ".contains(c);
    let begins = text.starts_with(|c: char| c.is_alphanumeric() || "_./(+$".contains(c));
    let is_plain = begins
        && text.chars().all(plain)
        && !text.ends_with(' ')
        && Schema::Salt.resolve(text).is_none();
    if is_plain {
        return text.to_owned();
    }
    if text.contains(char::is_control) {
        return double_quoted(text);
    }
    single_quoted(text)
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            control if control.is_control() => {
                // The result is ignored, since writing to a string cannot fail.
                let _ = write!(quoted, "\\x{:02x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a scalar as YAML. Fails for a list or a map.
fn yaml_scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::List(_) | Value::Map(_) => {
            Err("`yaml_encode` needs a string, number or boolean, not a list or map".to_owned())
        }
        Value::Str(text) => Ok(double_quoted(text)),
        other => Ok(yaml_flow(other)),
    }
}

fn load_json(text: &str) -> Result<Value, String> {
    serde_json::from_str::<serde_json::Value>(text).map_err(|error| error.to_string())?;
    parse_yaml(text)
}

fn regex(pattern: &str, (ignore_case, multi_line): (bool, bool)) -> Result<Pattern, String> {
    let flags = PatternFlags {
        ignore_case,
        multi_line,
    };
    Pattern::with_flags(pattern, flags).map_err(|error| unusable(&error))
}

fn unusable(error: &PatternError) -> String {
    format!("cannot use the regular expression: {error}")
}

/// The capture groups of the first match, or null without a match.
fn groups(
    text: &str,
    pattern: &str,
    anchored_start: bool,
    flags: (bool, bool),
) -> Result<Value, String> {
    let anchored = if anchored_start {
        format!("\\A(?:{pattern})")
    } else {
        pattern.to_owned()
    };
    let found = regex(&anchored, flags)?.search(text);
    let Some(found) = found.map_err(|error| unusable(&error))? else {
        return Ok(Value::Null);
    };
    let groups = (1..found.group_count()).map(|number| found.group(number));
    Ok(Value::list(
        groups.map(|group| group.map(Value::from).unwrap_or_default()),
    ))
}

/// Replaces every match of a pattern.
fn regex_replace(
    text: &str,
    pattern: &str,
    value: &str,
    flags: (bool, bool),
) -> Result<String, String> {
    let mut replaced = String::new();
    let mut last = 0;
    for found in regex(pattern, flags)?.matches(text) {
        let found = found.map_err(|error| unusable(&error))?;
        let (start, end) = found.place();
        replaced += &text[last..start];
        replaced += &found.expand(value);
        last = end;
    }
    Ok(replaced + &text[last..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, args: &[Value]) -> Value {
        apply_filter(name, args, &Map::new()).unwrap()
    }

    #[test]
    fn values_are_written_as_yaml_on_one_line() {
        let value = Value::map([
            (
                "a",
                Value::list([1.into(), "x y".into(), "yes".into(), "it's".into()]),
            ),
            ("b: c", Value::Null),
            ("t", true.into()),
        ]);
        let flow = one("yaml", &[value]);
        assert_eq!(
            flow.to_string(),
            "{a: [1, x y, 'yes', it's], 'b: c': null, t: true}"
        );
        assert_eq!(
            one("yaml_dquote", &["a\"\n".into()]).to_string(),
            r#""a\"\n""#
        );
    }

    #[test]
    fn texts_are_the_same_after_they_were_written_as_yaml() {
        let signs = ['a', ' ', '\n', ':', '#'];
        let mut texts = vec![String::new()];
        for length in 1..=5 {
            let longer: Vec<String> = texts
                .iter()
                .filter(|text| text.chars().count() == length - 1)
                .flat_map(|text| signs.map(|sign| format!("{text}{sign}")))
                .collect();
            texts.extend(longer);
        }
        for text in texts {
            let value = Value::map([("k", Value::from(text.as_str()))]);
            for flow in [true, false] {
                let yaml = one("yaml", &[value.clone(), flow.into()]);
                assert_eq!(
                    one("load_yaml", std::slice::from_ref(&yaml)),
                    value,
                    "{text:?}: {yaml}"
                );
            }
        }
    }

    #[test]
    fn regular_expressions_give_groups_as_in_salt() {
        let found = one("regex_search", &["web-12".into(), r"(\w+)-(\d+)".into()]);
        assert_eq!(found.to_string(), "['web', '12']");
        assert_eq!(
            one("regex_match", &["x web".into(), "web".into()]),
            Value::Null
        );
        let replaced = one(
            "regex_replace",
            &["a1".into(), "(.)1".into(), r"\1$2".into()],
        );
        assert_eq!(replaced.to_string(), "a$2");
    }
}
