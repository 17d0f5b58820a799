//! Reads the section `secret_backends` of an environment.

use std::sync::Arc;
use std::time::Duration;

use super::command::CommandBackend;
use super::contract::Backend;
use super::file::FileBackend;
use super::hashicorp::{HashicorpBackend, KvVersion};
use super::keys::{SECRET_BACKEND_KEYS, VAULT_KEYS};
use super::name::{PLACEHOLDER, SecretName};
use super::variable::VariableBackend;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::text::did_you_mean;
use crate::yaml::{KeyTable, Mapping, Node};

/// The keys of which each backend has one.
const KINDS: [&str; 4] = ["env", "file", "command", "vault"];

/// The time that programs and servers have, unless the backend says otherwise.
const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// The maximum time that a backend may give, in seconds.
const MAX_SECONDS: i64 = 3600;

/// The mount of a Vault server in its default configuration.
const DEFAULT_MOUNT: &str = "secret";

/// The backends by name, in order.
pub(super) type NamedBackends = Vec<(Arc<str>, Arc<dyn Backend>)>;

/// Returns the backends of the section, and reports what is wrong with the others.
pub(super) fn read_section(section: &Node, problems: &mut Diagnostics) -> NamedBackends {
    let mut backends = NamedBackends::new();
    let entries = section.as_map().into_iter().flat_map(Mapping::iter);
    for (name, entry) in entries.filter(|(_, entry)| !entry.value.is_null()) {
        let mut reader = SettingsReader {
            subject: format!("the secret backend `{name}`"),
            problems,
        };
        if let Some(backend) = reader.backend(&entry.value) {
            backends.push((Arc::clone(name), backend));
        }
    }
    backends
}

struct SettingsReader<'a> {
    /// The backend, for messages.
    subject: String,
    problems: &'a mut Diagnostics,
}

impl SettingsReader<'_> {
    fn report(&mut self, node: &Node, problem: &str, help: impl Into<String>) {
        let message = format!("{} {problem}", self.subject);
        let problem = Diagnostic::error(message).label(node.span(), "");
        self.problems.push(problem.help(help));
    }

    fn backend(&mut self, node: &Node) -> Option<Arc<dyn Backend>> {
        let settings = self.map_with_keys(node, &SECRET_BACKEND_KEYS, "")?;
        let is_set = |key: &&&str| settings.get(key).is_some_and(|value| !value.is_null());
        let kinds: Vec<_> = KINDS.iter().filter(is_set).collect();
        let [kind] = kinds[..] else {
            let help = format!("give one of `{}`", KINDS.join("`, `"));
            let problem = match kinds[..] {
                [] => "has no kind",
                _ => "has several kinds",
            };
            self.report(node, problem, help);
            return None;
        };
        let value = settings.get(kind)?;
        let time_limit = self.time_limit(settings.get("timeout"));
        Some(match *kind {
            "env" => Arc::new(VariableBackend {
                pattern: self.pattern(value, "env")?,
            }),
            "file" => Arc::new(FileBackend {
                pattern: self.pattern(value, "file")?,
            }),
            "command" => Arc::new(CommandBackend {
                words: self.words(value)?,
                time_limit,
            }),
            _ => Arc::new(self.store(value, time_limit)?),
        })
    }

    /// Returns a map, and reports the keys that it cannot have.
    fn map_with_keys<'n>(
        &mut self,
        node: &'n Node,
        keys: &KeyTable,
        within: &str,
    ) -> Option<&'n Mapping> {
        let Some(map) = node.as_map() else {
            let problem = node.type_mismatch(format_args!("{within}{}", self.subject), "a map");
            let help = format!(
                "its keys are `{}`",
                keys.names().collect::<Vec<_>>().join("`, `")
            );
            self.problems.push(problem.help(help));
            return None;
        };
        for (key, entry) in map.iter().filter(|(key, _)| !keys.has_key(key)) {
            let message = format!("{within}{} has no key `{key}`", self.subject);
            let help = did_you_mean(key, keys.names()).unwrap_or_else(|| {
                format!(
                    "its keys are `{}`",
                    keys.names().collect::<Vec<_>>().join("`, `")
                )
            });
            let problem = Diagnostic::error(message).label(entry.key_span, "unknown");
            self.problems.push(problem.help(help));
        }
        Some(map)
    }

    fn time_limit(&mut self, node: Option<&Node>) -> Duration {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return DEFAULT_TIME_LIMIT;
        };
        let seconds = node
            .as_int()
            .filter(|seconds| (1..=MAX_SECONDS).contains(seconds));
        let Some(seconds) = seconds.and_then(|seconds| u64::try_from(seconds).ok()) else {
            let help = format!("give a whole number of seconds from 1 to {MAX_SECONDS}");
            self.report(node, "has a `timeout` that is no number of seconds", help);
            return DEFAULT_TIME_LIMIT;
        };
        Duration::from_secs(seconds)
    }

    fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        let text = node.as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.report(
                node,
                &format!("has a `{key}` that is not a text"),
                "write a text",
            );
        }
        text.map(str::to_owned)
    }

    /// Returns a text in which the name of the secret is filled in.
    fn pattern(&mut self, node: &Node, key: &str) -> Option<String> {
        let text = self.text(node, key)?;
        if !text.contains(PLACEHOLDER) {
            self.report_no_placeholder(node, key);
            return None;
        }
        Some(text)
    }

    fn report_no_placeholder(&mut self, node: &Node, key: &str) {
        let problem = format!("has no `{PLACEHOLDER}` in its `{key}`");
        let help = format!("write `{PLACEHOLDER}` where the name of the secret belongs");
        self.report(node, &problem, help);
    }

    fn words(&mut self, node: &Node) -> Option<Vec<String>> {
        let help = "write a list: the program and its arguments, such as `[pass, show, '{name}']`";
        let Some(items) = node.as_seq() else {
            self.report(node, "has a `command` that is not a list", help);
            return None;
        };
        let mut words = Vec::new();
        for item in items {
            match item.as_str() {
                Some(word) => words.push(word.to_owned()),
                None => self.report(item, "has a `command` with a word that is not a text", help),
            }
        }
        if words.len() != items.len() {
            return None;
        }
        let program = words.first().filter(|program| !program.is_empty());
        if program.is_none_or(|program| program.contains(PLACEHOLDER)) {
            self.report(
                node,
                "has a `command` that does not begin with a program",
                help,
            );
            return None;
        }
        if !words.iter().any(|word| word.contains(PLACEHOLDER)) {
            self.report_no_placeholder(node, "command");
            return None;
        }
        Some(words)
    }

    fn store(&mut self, node: &Node, time_limit: Duration) -> Option<HashicorpBackend> {
        let settings = self.map_with_keys(node, &VAULT_KEYS, "`vault` of ")?;
        let version = match settings.get("version").filter(|version| !version.is_null()) {
            None => KvVersion::Two,
            Some(version) => match version.as_int() {
                Some(1) => KvVersion::One,
                Some(2) => KvVersion::Two,
                _ => {
                    self.report(
                        version,
                        "has a `version` that is neither 1 nor 2",
                        "write 1 or 2",
                    );
                    return None;
                }
            },
        };
        Some(HashicorpBackend {
            mount: self.path(settings.get("mount"), "mount", DEFAULT_MOUNT)?,
            path: self.path(settings.get("path"), "path", "")?,
            version,
            time_limit,
        })
    }

    /// Returns a path in a store, without `/` around it. None if it is wrong.
    fn path(&mut self, node: Option<&Node>, key: &str, default: &str) -> Option<String> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Some(default.to_owned());
        };
        let text = self.text(node, key)?;
        let path = text.trim_matches('/');
        if SecretName::parse(path).is_err() {
            let problem = format!("has a `{key}` that is no path in Vault");
            self.report(node, &problem, "write names with `/` between them");
            return None;
        }
        Some(path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn problems(text: &str) -> String {
        let mut sources = Sources::default();
        let id = sources.add("unfurl.yaml", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let mut problems = Diagnostics::default();
        let backends = read_section(&node, &mut problems);
        let mut lines: Vec<String> = problems
            .iter()
            .map(|problem| {
                let place = problem
                    .span()
                    .and_then(|span| sources.position(span))
                    .unwrap();
                format!(
                    "{place}: {} ({})",
                    problem.message,
                    problem.help.clone().unwrap()
                )
            })
            .collect();
        lines.push(format!("{} backends", backends.len()));
        lines.join("\n")
    }

    #[test]
    fn each_kind_of_backend_is_read() {
        let text = "
a: {env: 'APP_{name}'}
b: {file: '/run/secrets/{name}'}
c: {command: [pass, show, '{name}'], timeout: 5}
d: {vault: {}}
e: {vault: {mount: /kv/, path: app/db, version: 1}, timeout: 60}
gone:
";
        assert_eq!(problems(text), "5 backends");
    }

    #[test]
    fn each_mistake_has_a_place_and_a_hint() {
        let text = "
a: {}
b: {env: '{name}', file: '{name}'}
c: {vautl: {}, env: '{name}'}
d: {env: APP}
e: {command: pass show}
f: {command: [pass, show]}
g: {command: ['{name}']}
h: {command: [pass, 1, '{name}']}
i: {vault: {version: 3}}
j: {vault: {mount: ../sys}}
k: {vault: secret}
l: {vault: {adress: x}}
m: 1
n: {file: 1}
o: {vault: {}, timeout: 0}
";
        insta::assert_snapshot!(problems(text), @"
        unfurl.yaml:2:4: the secret backend `a` has no kind (give one of `env`, `file`, `command`, `vault`)
        unfurl.yaml:3:4: the secret backend `b` has several kinds (give one of `env`, `file`, `command`, `vault`)
        unfurl.yaml:4:5: the secret backend `c` has no key `vautl` (did you mean `vault`?)
        unfurl.yaml:5:10: the secret backend `d` has no `{name}` in its `env` (write `{name}` where the name of the secret belongs)
        unfurl.yaml:6:14: the secret backend `e` has a `command` that is not a list (write a list: the program and its arguments, such as `[pass, show, '{name}']`)
        unfurl.yaml:7:14: the secret backend `f` has no `{name}` in its `command` (write `{name}` where the name of the secret belongs)
        unfurl.yaml:8:14: the secret backend `g` has a `command` that does not begin with a program (write a list: the program and its arguments, such as `[pass, show, '{name}']`)
        unfurl.yaml:9:21: the secret backend `h` has a `command` with a word that is not a text (write a list: the program and its arguments, such as `[pass, show, '{name}']`)
        unfurl.yaml:10:22: the secret backend `i` has a `version` that is neither 1 nor 2 (write 1 or 2)
        unfurl.yaml:11:20: the secret backend `j` has a `mount` that is no path in Vault (write names with `/` between them)
        unfurl.yaml:12:12: `vault` of the secret backend `k` must be a map, not a string (its keys are `mount`, `path`, `version`)
        unfurl.yaml:13:13: `vault` of the secret backend `l` has no key `adress` (its keys are `mount`, `path`, `version`)
        unfurl.yaml:14:4: the secret backend `m` must be a map, not an integer (its keys are `env`, `file`, `command`, `vault`, `timeout`)
        unfurl.yaml:15:11: the secret backend `n` has a `file` that is not a text (write a text)
        unfurl.yaml:16:25: the secret backend `o` has a `timeout` that is no number of seconds (give a whole number of seconds from 1 to 3600)
        3 backends
        ");
    }
}
