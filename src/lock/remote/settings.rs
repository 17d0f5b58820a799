//! The `lfs_lock` section of environments, which configures the remote lock.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::git::lfs;
use crate::yaml::{Mapping, Node};

/// The placeholders that a lock's name may contain.
const PLACEHOLDERS: &[&str] = &["environment", "ensemble_uri", "local_lock_path"];

/// The settings of the remote lock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteLockSettings {
    pub mode: LockMode,
    /// The name of the lock; `None` uses the lock file's path.
    pub name: Option<String>,
    /// The server's URL; `None` uses the server of the ensemble's repository.
    pub url: Option<String>,
}

/// Whether the remote lock is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum LockMode {
    #[default]
    No,
    /// Lock if a suitable server is available.
    Try,
    /// Lock, or refuse the job if no server is available.
    Require,
}

/// The values of the placeholders in a lock's name.
#[derive(Debug, Clone, Copy)]
pub struct LockNameParts<'a> {
    pub environment: &'a str,
    /// The URI of the ensemble; may be empty.
    pub ensemble_uri: &'a str,
    /// The path of the local lock file, relative to the root of the repository.
    pub local_lock_path: &'a str,
}

/// The keys of the `lfs_lock` section.
const SECTION_KEYS: [&str; 3] = ["lock", "url", "name"];

impl RemoteLockSettings {
    /// Reads the section and reports errors to `problems`.
    pub fn read(node: &Node, problems: &mut Diagnostics) -> Self {
        refuse_unknown_keys(node, problems);
        let mut wrong = |node: &Node, message: &str, help: &str| {
            let problem = Diagnostic::error(message).label(node.span(), "");
            problems.push(problem.help(help));
        };
        let get = |key: &str| node.get(key).filter(|node| !node.is_null());
        let mode = get("lock").map(|lock| match lock.as_str() {
            Some("no") => LockMode::No,
            Some("try") => LockMode::Try,
            Some("require") => LockMode::Require,
            _ => {
                let help =
                    "`try` locks if the server supports locks, `require` refuses the job otherwise";
                wrong(lock, "`lock` is not one of `no`, `try`, `require`", help);
                LockMode::No
            }
        });
        let name = get("name").and_then(|name| {
            let help = "set `name` to a text, such as `group1/$environment`";
            let Some(text) = name.as_str().filter(|text| !text.is_empty()) else {
                wrong(name, "`name` of `lfs_lock` is not a text", help);
                return None;
            };
            if let Some(unknown) = unknown_placeholder(text) {
                let message = format!("unknown placeholder `{unknown}`");
                let known: Vec<_> = PLACEHOLDERS.iter().map(|it| format!("`${it}`")).collect();
                let help = format!("use one of {}", known.join(", "));
                wrong(name, &message, &help);
            }
            Some(text.to_owned())
        });
        let url = get("url").and_then(|url| {
            let help = "use the URL of the git-lfs server, or of a repository on it";
            let Some(text) = url.as_str() else {
                wrong(url, "`url` of `lfs_lock` is not a text", help);
                return None;
            };
            if text.is_empty() {
                return None;
            }
            if let Err(error) = lfs::check_url(text) {
                wrong(url, &error.to_string(), help);
            }
            Some(text.to_owned())
        });
        Self {
            mode: mode.unwrap_or_default(),
            name,
            url,
        }
    }

    /// Returns the path that represents the lock on the server: the filled-in name, or the path of the local
    /// lock file. Special characters are escaped as in Unfurl.
    pub fn path(&self, parts: &LockNameParts<'_>) -> String {
        let name = self
            .name
            .as_deref()
            .map(|name| fill_placeholders(name, parts));
        let name = name.unwrap_or_default();
        let name = match name.trim_start_matches('/') {
            "" => parts.local_lock_path,
            name => name,
        };
        escape_path(name)
    }
}

fn refuse_unknown_keys(node: &Node, problems: &mut Diagnostics) {
    for (key, entry) in node.as_map().into_iter().flat_map(Mapping::iter) {
        if !SECTION_KEYS.contains(&&**key) {
            let message = format!("`lfs_lock` has no key `{key}`");
            let known: Vec<_> = SECTION_KEYS.iter().map(|it| format!("`{it}`")).collect();
            let problem = Diagnostic::error(message).label(entry.value.span(), "");
            problems.push(problem.help(format!("its keys are {}", known.join(", "))));
        }
    }
}

/// Matches `${NAME}`, `${A|B:default}` and `$NAME`, with preceding backslashes.
fn placeholder_pattern() -> &'static Regex {
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(\\+)?\$(?:\{([\w|]+)(:.+?)?\}|([A-Za-z_]\w*))")
            .expect("the pattern is a regular expression")
    });
    &PARTS
}

/// Returns the first placeholder in a name that has no value.
fn unknown_placeholder(name: &str) -> Option<String> {
    let is_unknown = |found: &Captures<'_>| {
        let names = found.get(2).or_else(|| found.get(4));
        let names = names.map_or("", |names| names.as_str());
        let known = names.split('|').any(|name| PLACEHOLDERS.contains(&name));
        found.get(1).is_none() && found.get(3).is_none() && !known
    };
    let found = placeholder_pattern().captures_iter(name).find(is_unknown)?;
    Some(found[0].to_owned())
}

fn fill_placeholders(name: &str, with: &LockNameParts<'_>) -> String {
    let value = |name: &str| match name {
        "environment" => Some(with.environment),
        "ensemble_uri" => Some(with.ensemble_uri),
        "local_lock_path" => Some(with.local_lock_path),
        _ => None,
    };
    let replace = |found: &Captures<'_>| {
        if let Some(backslashes) = found.get(1) {
            return found[0][(backslashes.len() - 1).max(1)..].to_owned();
        }
        let names = found.get(2).or_else(|| found.get(4));
        let names = names.map_or("", |names| names.as_str());
        let default = found.get(3).map_or("", |default| &default.as_str()[1..]);
        let value = names.split('|').find_map(value);
        value.unwrap_or(default).to_owned()
    };
    placeholder_pattern()
        .replace_all(name, replace)
        .into_owned()
}

/// Replaces characters other than letters, digits, `_`, `/` and `-` by their code point: `_46_`.
fn escape_path(name: &str) -> String {
    static PLAIN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[^\p{L}\p{N}_/-]").expect("the pattern is a regular expression")
    });
    let number = |found: &Captures<'_>| {
        let character = found[0].chars().next().unwrap_or_default();
        format!("_{}_", u32::from(character))
    };
    PLAIN.replace_all(name, number).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn read(text: &str) -> (RemoteLockSettings, Vec<String>) {
        let mut sources = Sources::default();
        let id = sources.add("x", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let mut problems = Diagnostics::default();
        let lock = RemoteLockSettings::read(&node, &mut problems);
        let texts = problems.iter().map(|problem| {
            assert!(problem.span().is_some() && problem.help.is_some());
            problem.message.clone()
        });
        (lock, texts.collect())
    }

    fn path(name: &str) -> String {
        let lock = RemoteLockSettings {
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            ..RemoteLockSettings::default()
        };
        lock.path(&LockNameParts {
            environment: "prod",
            ensemble_uri: "git.example/x",
            local_lock_path: "ensemble/ensemble.yaml.lock",
        })
    }

    #[test]
    fn a_misspelt_key_is_reported() {
        let (_, problems) = read("{loock: require}");
        assert_eq!(problems, ["`lfs_lock` has no key `loock`"]);
    }

    #[test]
    fn a_section_is_read_and_nulls_are_nothing() {
        let (lock, problems) = read("{lock: require, name: a/$environment, url: 'https://h/x'}");
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(lock.mode, LockMode::Require);
        let (lock, problems) = read("{lock: , name: , url: ''}");
        assert_eq!(
            (lock, problems),
            (RemoteLockSettings::default(), Vec::new())
        );
    }

    #[test]
    fn every_bad_value_is_reported_at_its_position() {
        let (_, problems) = read("{lock: yes, name: 'a/$enviroment', url: 'ext::sh -c x'}");
        insta::assert_snapshot!(problems.join("\n"), @r"
        `lock` is not one of `no`, `try`, `require`
        unknown placeholder `$enviroment`
        the URL of the git-lfs server is not valid
        ");
        let (_, problems) = read("{lock: 1, name: [a], url: {a: b}}");
        assert_eq!(problems.len(), 3);
        let (_, problems) = read("{name: '${no} ${environment}'}");
        assert_eq!(problems.len(), 1);
        let (_, problems) = read(r"{name: '${no:x} \$no ${no|environment} 5$'}");
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn the_lock_has_the_path_that_unfurl_gives_it() {
        for (name, expected) in [
            ("", "ensemble/ensemble_46_yaml_46_lock"),
            ("group1/$environment", "group1/prod"),
            ("group1/${environment}", "group1/prod"),
            ("$ensemble_uri", "git_46_example/x"),
            (
                "${no:x}/$local_lock_path",
                "x/ensemble/ensemble_46_yaml_46_lock",
            ),
            (r"\$environment", "_36_environment"),
            (r"\\${environment}", "_92__36__123_environment_125_"),
            ("/a b-ü", "a_32_b-ü"),
            ("../x", "_46__46_/x"),
            ("${no:}", "_36__123_no_58__125_"),
        ] {
            assert_eq!(path(name), expected, "{name}");
        }
    }
}
