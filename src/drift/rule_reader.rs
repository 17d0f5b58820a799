//! Reads the ignore rules of the section `drift`. A rule with a mistake ignores nothing and is reported.

use std::sync::Arc;

use super::keys::{DRIFT_KEYS, IGNORE_RULE_KEYS};
use super::rules::{IgnoreRule, Pattern, Until};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::drift::DriftKind;
use crate::name::EnumWords;
use crate::text::did_you_mean;
use crate::yaml::{KeyTable, Mapping, Node};

/// The least number of digits that name a cause.
const MIN_CAUSE: usize = 6;
/// The number of digits of a whole cause.
const CAUSE: usize = 12;

/// Reads the list `ignore` of a section `drift`.
pub fn read_rules(section: &Node, problems: &mut Diagnostics) -> Vec<IgnoreRule> {
    check_keys(section, &DRIFT_KEYS, "`drift`", problems);
    let items = items(section, "ignore", problems);
    let rules = items.iter().filter_map(|item| {
        read_rule(item)
            .map_err(|problem| problems.push(problem))
            .ok()
    });
    rules.collect()
}

/// Returns the items of a list in the section `drift`.
pub(super) fn items<'n>(section: &'n Node, key: &str, problems: &mut Diagnostics) -> &'n [Node] {
    let Some(list) = section.get(key).filter(|list| !list.is_null()) else {
        return &[];
    };
    list.as_seq().unwrap_or_else(|| {
        problems.push(list.type_mismatch(format_args!("`{key}` of `drift`"), "a list"));
        &[]
    })
}

/// Reports the first key that a table does not have.
fn check_keys(node: &Node, table: &KeyTable, subject: &str, problems: &mut Diagnostics) {
    if let Some(map) = node.as_map()
        && let Err(problem) = known_keys(map, table, subject)
    {
        problems.push(problem);
    }
}

/// Returns the problem of the first key that a table does not have.
pub(super) fn known_keys(map: &Mapping, table: &KeyTable, subject: &str) -> Result<(), Diagnostic> {
    let Some((key, entry)) = map.iter().find(|(key, _)| !table.has_key(key)) else {
        return Ok(());
    };
    let problem = Diagnostic::error(format!("{subject} has no key `{key}`"));
    let problem = problem.label(entry.key_span, "unknown");
    let known = || format!("its keys are {}", words(table.names()));
    Err(problem.help(did_you_mean(key, table.names()).unwrap_or_else(known)))
}

/// Lists words for a message.
pub(super) fn words<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let quoted: Vec<_> = words.map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// Returns the text of a key. None if the key is missing.
pub(super) fn text<'n>(map: &'n Mapping, key: &str) -> Result<Option<&'n str>, Diagnostic> {
    let Some(value) = map.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let Some(text) = value.as_str().filter(|text| !text.trim().is_empty()) else {
        let problem = value.type_mismatch(format_args!("`{key}`"), "a text");
        return Err(problem.help("write the text in quotes"));
    };
    Ok(Some(text))
}

/// Returns the value of a key that has one of the words of an enum.
pub(super) fn word<E: EnumWords>(map: &Mapping, key: &str) -> Result<Option<E>, Diagnostic> {
    let Some(word) = text(map, key)? else {
        return Ok(None);
    };
    if let Some(value) = E::parse(word) {
        return Ok(Some(value));
    }
    let known = || E::WORDS.iter().map(|(_, word, _)| *word);
    let problem = Diagnostic::error(format!("`{word}` is no value of `{key}`"));
    let span = map.get(key).map_or(Span::NONE, Node::span);
    let all = || format!("use one of {}", words(known()));
    Err(problem
        .label(span, "")
        .help(did_you_mean(word, known()).unwrap_or_else(all)))
}

fn read_rule(node: &Node) -> Result<IgnoreRule, Diagnostic> {
    let Some(map) = node.as_map() else {
        return Err(node.type_mismatch("an ignore rule", "a map"));
    };
    known_keys(map, &IGNORE_RULE_KEYS, "an ignore rule")?;
    let pattern = |key: &str| text(map, key).map(|text| text.map(Pattern::new));
    let Some(reason) = text(map, "reason")? else {
        let problem = Diagnostic::error("an ignore rule has no `reason`");
        let help = "add `reason: …`, which says to others why this drift is accepted";
        return Err(problem.label(node.span(), "").help(help));
    };
    let rule = IgnoreRule {
        instance: pattern("instance")?,
        attribute: pattern("attribute")?,
        host: pattern("host")?,
        kind: word::<DriftKind>(map, "kind")?,
        cause: read_cause(map)?,
        until: read_until(map)?,
        reason: reason.into(),
        span: node.span(),
    };
    let limits = [&rule.instance, &rule.attribute, &rule.host];
    if limits.iter().all(|limit| limit.is_none()) && rule.kind.is_none() && rule.cause.is_none() {
        let problem = Diagnostic::error("an ignore rule does not say what it is about");
        let help = "add `instance`, `attribute`, `host`, `kind` or `cause`";
        return Err(problem.label(node.span(), "").help(help));
    }
    Ok(rule)
}

fn read_cause(map: &Mapping) -> Result<Option<Arc<str>>, Diagnostic> {
    let Some(cause) = text(map, "cause")? else {
        return Ok(None);
    };
    let cause = cause.to_ascii_lowercase();
    let is_hex = cause.chars().all(|digit| digit.is_ascii_hexdigit());
    if is_hex && (MIN_CAUSE..=CAUSE).contains(&cause.len()) {
        return Ok(Some(cause.into()));
    }
    let message = format!("`{cause}` is no digest of a cause");
    let span = map.get("cause").map_or(Span::NONE, Node::span);
    let help =
        format!("write {MIN_CAUSE} to {CAUSE} hexadecimal digits, as `unfurl drift` shows them");
    Err(Diagnostic::error(message).label(span, "").help(help))
}

fn read_until(map: &Mapping) -> Result<Option<Until>, Diagnostic> {
    let Some(node) = map.get("until").filter(|node| !node.is_null()) else {
        return Ok(None);
    };
    let text = node.to_value().to_string();
    if let Some(until) = Until::parse(&text) {
        return Ok(Some(until));
    }
    let message = format!("`{text}` is neither a day nor a time");
    let help = "write a day (`2026-12-31`, which counts to its end in UTC) or a time with its zone (`2026-12-31T18:00:00Z`)";
    Err(Diagnostic::error(message).label(node.span(), "").help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let mut sources = Sources::default();
        let id = sources.add("e.yaml", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let mut problems = Diagnostics::default();
        let rules = read_rules(&node, &mut problems);
        let problems = problems.iter().map(|problem| {
            let place = sources.position(problem.span().unwrap()).unwrap();
            let help = problem.help.as_deref().unwrap_or_default();
            format!(
                "{}:{} {} ({help})",
                place.line, place.column, problem.message
            )
        });
        let rules = rules.iter().map(ToString::to_string).collect();
        (rules, problems.collect())
    }

    #[test]
    fn a_rule_is_read_with_all_its_fields() {
        let text = "{ignore: [{instance: 'web*', attribute: status*, host: h?, kind: outside, \
                    cause: ABCDEF12, until: 2026-12-31, reason: known}]}";
        let (rules, problems) = read(text);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(
            rules,
            [
                "instance: web*, attribute: status*, host: h?, kind: outside, cause: abcdef12, until: 2026-12-31, reason: known"
            ]
        );
    }

    #[test]
    fn a_section_without_rules_has_none() {
        for text in ["{}", "{ignore: }", "{ignore: []}", "{on_drift: ask}"] {
            assert_eq!(read(text), (Vec::new(), Vec::new()), "{text}");
        }
    }

    #[test]
    fn each_mistake_is_reported_at_its_place() {
        let cases = [
            ("{ignore: x}", "1:10 "),
            ("{ignore: [x]}", "1:11 "),
            (
                "{ignores: []}",
                "1:2 `drift` has no key `ignores` (did you mean `ignore`?)",
            ),
            (
                "{ignore: [{instance: a}]}",
                "1:11 an ignore rule has no `reason`",
            ),
            (
                "{ignore: [{reason: a}]}",
                "1:11 an ignore rule does not say what it is about",
            ),
            (
                "{ignore: [{instanc: a, reason: b}]}",
                "1:12 an ignore rule has no key `instanc` (did you mean `instance`?)",
            ),
            (
                "{ignore: [{kind: outsid, reason: b}]}",
                "1:18 `outsid` is no value of `kind` (did you mean `outside`?)",
            ),
            ("{ignore: [{instance: 5, reason: b}]}", "1:22 "),
            (
                "{ignore: [{cause: xyz, reason: b}]}",
                "1:19 `xyz` is no digest of a cause",
            ),
            ("{ignore: [{cause: 123456789012, reason: b}]}", "1:19 "),
            (
                "{ignore: [{instance: a, until: 30d, reason: b}]}",
                "1:32 `30d` is neither a day nor a time",
            ),
        ];
        for (text, expected) in cases {
            let (rules, problems) = read(text);
            assert_eq!(rules, Vec::<String>::new(), "{text}");
            assert_eq!(problems.len(), 1, "{text} {problems:?}");
            assert!(problems[0].starts_with(expected), "{text} {problems:?}");
        }
    }

    #[test]
    fn a_rule_with_a_mistake_leaves_the_others() {
        let (rules, problems) = read("{ignore: [{reason: a}, {instance: a, reason: b}]}");
        assert_eq!((rules.len(), problems.len()), (1, 1));
    }
}
