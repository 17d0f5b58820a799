//! Aliases in environments: entries of `connections` and `repositories` that name another entry.
//!
//! `NAME` is an entry of the same environment, and `ENVIRONMENT:NAME` one of another environment.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::text::did_you_mean;
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The maximum number of aliases that lead to each other.
const MAX_DEPTH: usize = 32;

/// Resolves the aliases of environments.
pub(super) struct AliasResolver<'e> {
    /// All environments by name, without defaults merged in.
    pub(super) environments: &'e IndexMap<Arc<str>, Node>,
    pub(super) problems: &'e mut Diagnostics,
}

impl AliasResolver<'_> {
    /// Returns an environment whose connections and repositories contain no aliases.
    ///
    /// A connection that is null is removed, which is how an environment drops an inherited one.
    pub(super) fn resolve(&mut self, environment: &Node) -> Node {
        let Some(map) = environment.as_map() else {
            return environment.clone();
        };
        let mut resolved = map.clone();
        for section in ["connections", "repositories"] {
            let Some((entry, entries)) = map
                .entry(section)
                .and_then(|entry| Some((entry, entry.value.as_map()?)))
            else {
                continue;
            };
            let mut found = Mapping::default();
            for (name, entry) in entries {
                let value = match section {
                    "connections" => self.connection(name, entry, entries),
                    _ => Some(self.repository(entry, entries)),
                };
                if let Some(value) = value {
                    let key_span = entry.key_span;
                    found.insert(Arc::clone(name), MapEntry { key_span, value });
                }
            }
            let value = Node::new(NodeKind::Map(found), entry.value.span(), None);
            let key_span = entry.key_span;
            resolved.insert(section, MapEntry { key_span, value });
        }
        Node::new(NodeKind::Map(resolved), environment.span(), None)
    }

    fn connection(&mut self, name: &str, entry: &MapEntry, entries: &Mapping) -> Option<Node> {
        match entry.value.kind() {
            NodeKind::Map(_) => Some(entry.value.clone()),
            NodeKind::Null => None,
            NodeKind::Str(alias) => match self.follow("connections", alias, entries, 0) {
                Ok(found) => Some(found),
                Err((message, help)) => {
                    let message = format!("the connection `{name}` {message}");
                    let problem =
                        Diagnostic::error(message).label(entry.value.span(), "named here");
                    self.problems.push(problem.help_if(help));
                    None
                }
            },
            _ => {
                let subject = format!("the connection `{name}`");
                let expected = "a map, or the name of another connection";
                self.problems
                    .push(entry.value.type_mismatch(subject, expected));
                None
            }
        }
    }

    /// Returns the repository that an entry names. A text that names none is a URL.
    fn repository(&mut self, entry: &MapEntry, entries: &Mapping) -> Node {
        let alias = entry.value.as_str();
        let found = alias.and_then(|it| self.follow("repositories", it, entries, 0).ok());
        found.unwrap_or_else(|| entry.value.clone())
    }

    /// Returns the map that an alias leads to, or the reason why it leads nowhere and a hint.
    fn follow(
        &self,
        section: &str,
        alias: &str,
        entries: &Mapping,
        depth: usize,
    ) -> Result<Node, (String, Option<String>)> {
        if depth == MAX_DEPTH {
            let message = format!("is an alias of `{alias}`, which leads back to it");
            return Err((message, None));
        }
        let (entries, name) = match alias.split_once(':') {
            None => (entries, alias),
            Some((environment, name)) => {
                let Some(other) = self.environments.get(environment) else {
                    let message = format!(
                        "is an alias of `{alias}`, but there is no environment `{environment}`"
                    );
                    let known = self.environments.keys().map(|name| &**name);
                    return Err((message, did_you_mean(environment, known)));
                };
                let Some(entries) = other.get(section).and_then(Node::as_map) else {
                    let message = format!(
                        "is an alias of `{alias}`, but the environment `{environment}` has no `{section}`"
                    );
                    return Err((message, None));
                };
                (entries, name)
            }
        };
        let entry = entries.get(name);
        match entry.map(|entry| (entry.kind(), entry)) {
            Some((NodeKind::Str(next), _)) => self.follow(section, next, entries, depth + 1),
            Some((NodeKind::Map(_), entry)) => Ok(entry.clone()),
            _ => {
                let message = format!("is an alias of `{alias}`, which does not exist");
                let known = entries.iter().map(|(name, _)| &**name);
                Err((message, did_you_mean(name, known)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Environments;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, Node, parse};

    fn resolve(text: &str, name: &str) -> (String, Vec<String>) {
        let mut sources = Sources::default();
        let id = sources.add("x", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let environment = Environments::read(Some(&node)).resolve(Some(name), None);
        let connections = environment.connections().map(Node::to_value);
        let problems = environment.problems.iter().map(|it| it.message.clone());
        (
            connections.unwrap_or_default().to_string(),
            problems.collect(),
        )
    }

    #[test]
    fn connections_may_name_others_of_this_or_another_environment() {
        let text = "{defaults: {connections: {aws: {type: A}, gone: {type: G}}},
            prod: {connections: {primary_provider: aws, k: home:k8s, gone: }},
            home: {connections: {k8s: cluster, cluster: {type: K}}}}";
        let (connections, problems) = resolve(text, "prod");
        assert_eq!(
            connections,
            "{'primary_provider': {'type': 'A'}, 'k': {'type': 'K'}, 'aws': {'type': 'A'}}"
        );
        assert!(problems.is_empty());
    }

    #[test]
    fn an_alias_without_a_target_is_an_error() {
        let text = "{e: {connections: {a: b, b: a, c: nowhere, d: other:x, g: f:y, h: 5}}, f: {}}";
        let (connections, problems) = resolve(text, "e");
        assert_eq!(connections, "{}");
        insta::assert_snapshot!(problems.join("\n"), @"
        the connection `a` is an alias of `b`, which leads back to it
        the connection `b` is an alias of `a`, which leads back to it
        the connection `c` is an alias of `nowhere`, which does not exist
        the connection `d` is an alias of `other:x`, but there is no environment `other`
        the connection `g` is an alias of `f:y`, but the environment `f` has no `connections`
        the connection `h` must be a map, or the name of another connection, not an integer
        ");
    }
}
