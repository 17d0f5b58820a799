//! Ansible's template tests: `is match`, `is subset`, `is version`, ….

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use minijinja::value::{Kwargs, Rest, Value as JinjaValue, ValueKind};
use minijinja::{Environment, State};

use crate::expr::evaluator::Evaluator;
use crate::expr::ports::ReadError;
use crate::value::Value;

use super::arguments::{CallArguments, FilterArguments, PREFIXES};
use super::error::Result;
use super::regexes::{regex_with_flags, unusable};
use super::variables::Variables;
use crate::expr::lookup_options::parse_truth;

/// The implementation of a test, which returns whether the test passes.
type TestFn = fn(&FilterArguments<'_>) -> Result<bool>;

const REGEX: &[&str] = &["pattern", "ignorecase", "multiline", "match_type"];
const VERSION: &[&str] = &["version", "operator", "strict", "version_type"];
const SCHEMES: &[&str] = &["schemes"];

const TESTS: &[(&[&str], &[&str], TestFn)] = &[
    (&["match"], REGEX, |args| matches(args, "match")),
    (&["search"], REGEX, |args| matches(args, "search")),
    (&["regex"], REGEX, |args| matches(args, "")),
    (&["contains"], &["item"], contains),
    (&["subset", "issubset"], &["of"], |args| subset(args, false)),
    (&["superset", "issuperset"], &["of"], |args| {
        subset(args, true)
    }),
    (&["truthy"], &["convert_bool"], truthy),
    (&["falsy"], &["convert_bool"], |args| Ok(!truthy(args)?)),
    (&["all"], &[], |args| {
        Ok(args.subject_list()?.iter().all(Value::is_truthy))
    }),
    (&["any"], &[], |args| {
        Ok(args.subject_list()?.iter().any(Value::is_truthy))
    }),
    (&["nan", "isnan"], &[], is_nan),
    (&["version", "version_compare"], VERSION, version),
    (&["exists"], &[], |args| {
        test_path(args, Evaluator::path_exists)
    }),
    (&["directory", "is_dir"], &[], |args| {
        test_path(args, Evaluator::path_is_dir)
    }),
    (&["file", "is_file"], &[], |args| {
        test_path(args, |evaluator, path| {
            Ok(evaluator.path_exists(path)? && !evaluator.path_is_dir(path)?)
        })
    }),
    (&["link", "is_link"], &[], |args| test_path(args, is_link)),
    (&["link_exists"], &[], |args| {
        test_path(args, |evaluator, path| {
            Ok(is_link(evaluator, path)? || evaluator.path_exists(path)?)
        })
    }),
    (&["mount", "is_mount"], &[], |args| {
        test_path(args, |evaluator, path| {
            evaluator.system().check_read(path)?;
            Ok(evaluator.system().is_mount(path))
        })
    }),
    (&["same_file", "is_same_file"], &["path"], same_file),
    (&["abs", "is_abs"], &[], |args| starts_with(args, "/")),
    (&["uri"], SCHEMES, |args| Ok(scheme(args)?.is_some())),
    (&["url"], SCHEMES, |args| {
        Ok(scheme(args)?.is_some_and(|rest| !rest.is_empty()))
    }),
    (&["urn"], &[], |args| {
        Ok(args.subject_text()?.to_lowercase().starts_with("urn:"))
    }),
    (&["vault_encrypted"], &[], |args| {
        starts_with(args, "$ANSIBLE_VAULT;")
    }),
    (&["failed", "failure"], &[], |args| {
        result_flag(args, "failed")
    }),
    (&["success", "succeeded", "successful"], &[], |args| {
        Ok(!result_flag(args, "failed")?)
    }),
    (&["changed", "change"], &[], changed),
    (&["skipped", "skip"], &[], |args| {
        result_flag(args, "skipped")
    }),
    (&["unreachable"], &[], |args| {
        result_flag(args, "unreachable")
    }),
    (&["reachable"], &[], |args| {
        Ok(!result_flag(args, "unreachable")?)
    }),
    (&["started"], &[], |args| result_flag(args, "started")),
    (&["finished"], &[], |args| result_flag(args, "finished")),
];

pub(super) fn add_tests(environment: &mut Environment<'_>) {
    let rows = TESTS.iter().flat_map(|(names, parameters, test)| {
        names.iter().map(move |name| (*name, *parameters, *test))
    });
    for (name, parameters, test) in rows {
        for prefix in PREFIXES {
            let run = move |state: &State,
                            subject: &JinjaValue,
                            places: Rest<JinjaValue>,
                            names: Kwargs| {
                let variables = Variables::from_state(state)?;
                let supplied = CallArguments {
                    positional: places,
                    named: names,
                };
                test(&FilterArguments::new(
                    variables, name, parameters, subject, &supplied,
                )?)
            };
            environment.add_test(format!("{prefix}{name}"), run);
        }
    }
    environment.add_test("callable", |value: &JinjaValue| {
        value.kind() == ValueKind::Plain
    });
    environment.add_test("sequence", |value: &JinjaValue| {
        matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::Map | ValueKind::String
        )
    });
    environment.add_test("sameas", |value: &JinjaValue, other: &JinjaValue| {
        value.kind() == other.kind() && value == other
    });
    environment.add_test("escaped", |value: &JinjaValue| value.is_safe());
}

type ReadResult = std::result::Result<bool, ReadError>;

type PathPredicate = fn(&Evaluator, &Path) -> ReadResult;

fn test_path(args: &FilterArguments<'_>, holds: PathPredicate) -> Result<bool> {
    let path = PathBuf::from(args.subject_text()?);
    let evaluator = args.evaluator();
    evaluator.record_file_read(&path);
    holds(evaluator, &path).map_err(|problem| unreadable(args, &path, &problem))
}

fn unreadable(args: &FilterArguments<'_>, path: &Path, problem: &ReadError) -> minijinja::Error {
    args.fail(format!("cannot inspect `{}`: {problem}", path.display()))
}

/// Whether the path itself is a link. The place to which it leads does not matter.
fn is_link(evaluator: &Evaluator, path: &Path) -> ReadResult {
    evaluator
        .system()
        .check_read(path.parent().unwrap_or(path))?;
    Ok(evaluator.system().is_link(path))
}

fn starts_with(args: &FilterArguments<'_>, start: &str) -> Result<bool> {
    Ok(args.subject_text()?.starts_with(start))
}

fn same_file(args: &FilterArguments<'_>) -> Result<bool> {
    let system = args.evaluator().system();
    let other = args.text("path")?.unwrap_or_default();
    let paths = [args.subject_text()?, other].map(PathBuf::from);
    let mut real = Vec::new();
    for path in &paths {
        args.evaluator().record_file_read(path);
        let exists = args.evaluator().path_exists(path);
        let exists = exists.map_err(|problem| unreadable(args, path, &problem))?;
        real.push(exists.then(|| system.real_path(path)));
    }
    Ok(real[0].is_some() && real[0] == real[1])
}

fn matches(args: &FilterArguments<'_>, kind: &str) -> Result<bool> {
    let text = args.subject_text()?;
    let pattern = args.text("pattern")?.unwrap_or_default();
    let supplied = args.text("match_type")?.filter(|_| kind.is_empty());
    let kind = supplied.as_deref().unwrap_or(kind);
    let pattern = match kind {
        "match" => format!("\\A(?:{pattern})"),
        "fullmatch" => format!("\\A(?:{pattern})\\z"),
        "search" | "" => pattern,
        other => return Err(args.fail(format!("the `match_type` `{other}` is not known"))),
    };
    let pattern = regex_with_flags(args, &pattern)?;
    pattern.is_match(&text).map_err(|error| unusable(&error))
}

fn contains(args: &FilterArguments<'_>) -> Result<bool> {
    let item = args.get("item")?.unwrap_or_default();
    Ok(match args.subject()? {
        Value::List(items) => items.contains(&item),
        Value::Map(map) => map.contains_key(item.to_string().as_str()),
        other => other.to_string().contains(&item.to_string()),
    })
}

fn subset(args: &FilterArguments<'_>, turned: bool) -> Result<bool> {
    let other = args.get("of")?.unwrap_or_default();
    let (own, other) = (args.subject_list()?, args.list(&other)?);
    let (part, whole) = if turned { (other, own) } else { (own, other) };
    Ok(super::collections::is_within(&part, &whole))
}

fn truthy(args: &FilterArguments<'_>) -> Result<bool> {
    let value = args.subject()?;
    let parsed = value.as_str().and_then(parse_truth);
    match parsed.filter(|_| args.flag("convert_bool", false).unwrap_or_default()) {
        Some(truth) => Ok(truth),
        None => Ok(value.is_truthy()),
    }
}

fn is_nan(args: &FilterArguments<'_>) -> Result<bool> {
    Ok(matches!(args.subject()?, Value::Float(float) if float.is_nan()))
}

/// Returns the authority of a URI. None if the text is not a URI or its scheme is not among the requested
/// ones.
///
/// As in Ansible, a text without a scheme counts as a URI if no schemes are requested.
fn scheme(args: &FilterArguments<'_>) -> Result<Option<String>> {
    let text = args.subject_text()?;
    let schemes = args.get("schemes")?;
    let allowed_schemes: Option<Vec<String>> = schemes
        .as_ref()
        .and_then(Value::as_list)
        .map(|list| list.iter().map(Value::to_string).collect());
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest))
            if !scheme.is_empty()
                && scheme
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c)) =>
        {
            (scheme.to_lowercase(), rest)
        }
        _ => (String::new(), text.as_str()),
    };
    let known = allowed_schemes.is_none_or(|allowed_schemes| allowed_schemes.contains(&scheme));
    // Only the text after `//` is a network location.
    let authority = match rest.strip_prefix("//") {
        Some(rest) if !scheme.is_empty() => rest.split('/').next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    Ok(known.then_some(authority))
}

/// Returns a boolean field of a task result.
fn result_flag(args: &FilterArguments<'_>, name: &str) -> Result<bool> {
    let result = args.subject()?;
    if result.as_map().is_none() {
        return Err(args.fail(format!("takes the result of a task, not {}", result.kind())));
    }
    Ok(result.get(name).is_some_and(Value::is_truthy))
}

fn changed(args: &FilterArguments<'_>) -> Result<bool> {
    if result_flag(args, "changed")? {
        return Ok(true);
    }
    let result = args.subject()?;
    let results = result.get("results").and_then(Value::as_list);
    Ok(results
        .into_iter()
        .flatten()
        .any(|result| result.get("changed").is_some_and(Value::is_truthy)))
}

fn version(args: &FilterArguments<'_>) -> Result<bool> {
    let (own, other) = (
        args.subject_text()?,
        args.text("version")?.unwrap_or_default(),
    );
    let strict = args.flag("strict", false)?;
    let kind = args.text("version_type")?;
    let order = match kind.as_deref() {
        None if strict => compare_releases(&own, &other),
        None | Some("loose") => compare_versions(&own, &other),
        Some("strict" | "semver" | "semantic" | "pep440") => compare_releases(&own, &other),
        Some(other) => return Err(args.fail(format!("the `version_type` `{other}` is not known"))),
    };
    match args.text("operator")?.as_deref().unwrap_or("eq") {
        "==" | "=" | "eq" => Ok(order.is_eq()),
        "!=" | "<>" | "ne" => Ok(order.is_ne()),
        "<" | "lt" => Ok(order.is_lt()),
        "<=" | "le" => Ok(order.is_le()),
        ">" | "gt" => Ok(order.is_gt()),
        ">=" | "ge" => Ok(order.is_ge()),
        other => Err(args.fail(format!("`{other}` is not an operator for versions"))),
    }
}

/// Compares versions. A pre-release such as `1.0rc1` is lower than its release.
///
/// The text after a `+` and trailing zeros are ignored.
fn compare_releases(left: &str, right: &str) -> Ordering {
    let split = |version: &str| {
        let version = version.trim().trim_start_matches(['v', 'V']);
        let version = version.split('+').next().unwrap_or_default().to_owned();
        let end = version
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(version.len());
        let (release, rest) = version.split_at(end);
        let mut numbers: Vec<u64> = release
            .split('.')
            .map(|part| part.parse().unwrap_or_default())
            .collect();
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        let rest = rest.trim_start_matches(['-', '.', '_']).to_lowercase();
        (numbers, rest)
    };
    let ((own, own_rest), (other, other_rest)) = (split(left), split(right));
    // A post-release comes after the release; any other suffix comes before it.
    let rank = |rest: &str| match rest {
        "" => 1,
        rest if rest.starts_with("post") => 2,
        _ => 0,
    };
    own.cmp(&other)
        .then_with(|| rank(&own_rest).cmp(&rank(&other_rest)))
        .then_with(|| compare_versions(&own_rest, &other_rest))
}

/// Compares versions part by part: numbers by value, words as text. A word is lower than a number.
fn compare_versions(left: &str, right: &str) -> Ordering {
    let parts = |version: &str| -> Vec<(Option<u64>, String)> {
        let mut parts: Vec<String> = Vec::new();
        for character in version.chars() {
            let kind = |c: char| {
                if c.is_ascii_digit() {
                    0
                } else {
                    1 + u8::from(c.is_alphabetic())
                }
            };
            if !character.is_alphanumeric() {
                parts.push(String::new());
                continue;
            }
            match parts.last_mut() {
                Some(last)
                    if last
                        .chars()
                        .next_back()
                        .is_none_or(|c| kind(c) == kind(character)) =>
                {
                    last.push(character);
                }
                _ => parts.push(character.to_string()),
            }
        }
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(|part| (part.parse().ok(), part))
            .collect()
    };
    let (left, right) = (parts(left), parts(right));
    for (own, other) in left.iter().zip(&right) {
        let order = match (own.0, other.0) {
            (Some(own), Some(other)) => own.cmp(&other),
            (Some(_), None) => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (None, None) => own.1.cmp(&other.1),
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}
