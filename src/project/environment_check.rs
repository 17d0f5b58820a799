//! Checks the keys of an environment and the kinds of their values.
//!
//! Every key either has an effect or is reported. Values are checked where they are used.

use super::environment_keys::{ENVIRONMENT_KEYS, EXTERNAL_KEYS, EXTERNAL_MANIFEST_KEYS};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::text::did_you_mean;
use crate::yaml::{KeyTable, MapEntry, Mapping, Node, NodeKind, Shape};

/// Reports unknown keys, values of a wrong kind, and keys without effect. The settings of the lock are not checked.
pub(super) fn check_environment(environment: &Mapping, problems: &mut Diagnostics) {
    check_keys(&ENVIRONMENT_KEYS, "an environment", environment, problems);
    if let Some(entry) = environment.entry("cloudmaps").filter(|it| has_entries(it)) {
        let message =
            "`cloudmaps` of the environment has no effect, because there are no cloud maps";
        let help = "remove it, or use Unfurl's command `cloudmap`";
        let warning = Diagnostic::warning(message).label(entry.key_span, "ignored");
        problems.push(warning.help(help));
    }
    check_instances(environment, problems);
    for (name, entry) in entries_of(environment, "external") {
        check_external(name, entry, problems);
    }
}

fn has_entries(entry: &MapEntry) -> bool {
    entry.value.as_map().is_some_and(|map| !map.is_empty())
}

fn entries_of<'m>(
    map: &'m Mapping,
    section: &str,
) -> impl Iterator<Item = (&'m str, &'m MapEntry)> {
    let section = map.get(section).and_then(Node::as_map);
    let entries = section.into_iter().flatten();
    entries.map(|(name, entry)| (&**name, entry))
}

/// Warns of templates that only exports show. Those with `imported` are notes about other ensembles.
fn check_instances(environment: &Mapping, problems: &mut Diagnostics) {
    let mut own = entries_of(environment, "instances")
        .filter(|(_, entry)| entry.value.get("imported").is_none());
    let Some((name, entry)) = own.next() else {
        return;
    };
    let message = format!("the instance `{name}` of the environment takes no part in jobs");
    let help = "add it to `external` to use an instance of another ensemble; `unfurl export` shows \
                `instances`";
    let warning = Diagnostic::warning(message).label(entry.key_span, "only exported");
    problems.push(warning.help(help));
}

fn check_external(name: &str, entry: &MapEntry, problems: &mut Diagnostics) {
    let subject = format!("the external ensemble `{name}`");
    let Some(map) = entry.value.as_map() else {
        problems.push(entry.value.type_mismatch(subject, "a map"));
        return;
    };
    check_keys(&EXTERNAL_KEYS, &subject, map, problems);
    if let Some(manifest) = map.get("manifest").and_then(Node::as_map) {
        let subject = format!("`manifest` of {subject}");
        check_keys(&EXTERNAL_MANIFEST_KEYS, &subject, manifest, problems);
    }
}

fn check_keys(table: &KeyTable, subject: &str, map: &Mapping, problems: &mut Diagnostics) {
    for (key, entry) in map {
        let Some(known) = table.keys.iter().find(|known| known.name == &**key) else {
            let message = format!("{subject} has no key `{key}`, so it has no effect");
            let warning = Diagnostic::warning(message).label(entry.key_span, "ignored");
            problems.push(warning.help_if(did_you_mean(key, table.names())));
            continue;
        };
        let value = &entry.value;
        let expected = match (known.shape, value.kind()) {
            (_, NodeKind::Null)
            | (Shape::List | Shape::Names, NodeKind::Seq(_))
            | (Shape::Map | Shape::Of(_), NodeKind::Map(_))
            | (Shape::Text, NodeKind::Str(_)) => continue,
            (Shape::List | Shape::Names, _) => "a list",
            (Shape::Map | Shape::Of(_), _) => "a map",
            (Shape::Text, _) => "a text",
            (Shape::Scalar, NodeKind::Map(_) | NodeKind::Seq(_)) => "a single value",
            _ => continue,
        };
        problems.push(value.type_mismatch(format_args!("`{key}`"), expected));
    }
}
