//! Reads the entries of `notify`.

use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::super::duration::read_duration;
use super::identity::digest_of;
use super::keys::{MAIL_KEYS, NOTIFY_KEYS, SECRET_KEYS, WEBHOOK_KEYS};
use super::mail::check_address;
use super::rule::{MailTarget, NoticeTarget, NotifyRule, Occasion, SecretSource, Webhook};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::drift::DriftKind;
use crate::name::EnumWords;
use crate::text::did_you_mean;
use crate::yaml::{KeyTable, Mapping, Node};

/// The keys of which each entry has one.
const TARGETS: [&str; 3] = ["command", "webhook", "mail"];

/// The number of intervals after which silence is notified, unless the entry says otherwise.
const DEFAULT_SILENCE: u32 = 3;

/// The time of an attempt unless the entry says otherwise.
const WEBHOOK_LIMIT: Duration = Duration::from_secs(30);
const PROGRAM_LIMIT: Duration = Duration::from_mins(1);

/// The longest time of an attempt.
const MAX_LIMIT: Duration = Duration::from_mins(10);

/// The usual path of sendmail.
const SENDMAIL: &str = "/usr/sbin/sendmail";

/// The kinds of findings that can be changes.
const CHANGE_KINDS: [DriftKind; 3] = [DriftKind::Outside, DriftKind::Pending, DriftKind::Unmanaged];

/// Returns the rules of the entries, and reports what is wrong with the others to `problems`.
pub fn read_notify(entries: &[Node], problems: &mut Diagnostics) -> Vec<NotifyRule> {
    let mut reader = Reader { problems };
    let rules = entries.iter().filter_map(|entry| reader.rule(entry));
    let mut rules: Vec<NotifyRule> = rules.collect();
    let mut seen = Vec::new();
    // An entry that stands there twice would send everything twice.
    rules.retain(|rule| {
        let is_new = !seen.contains(&rule.id);
        seen.push(Arc::clone(&rule.id));
        is_new
    });
    rules
}

struct Reader<'a> {
    problems: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn report(&mut self, node: &Node, message: impl ToString, help: impl Into<String>) {
        let problem = Diagnostic::error(message).label(node.span(), "");
        self.problems.push(problem.help(help));
    }

    fn rule(&mut self, node: &Node) -> Option<NotifyRule> {
        let map = self.map(node, "an entry of `notify`", &NOTIFY_KEYS)?;
        let has_unknown = map.iter().any(|(key, _)| !NOTIFY_KEYS.has_key(key));
        let is_set = |key: &&&str| value(map, key).is_some();
        let targets: Vec<_> = TARGETS.iter().filter(is_set).collect();
        let [key] = targets[..] else {
            let message = match targets[..] {
                // The unknown key may be a target, and is reported already.
                [] if has_unknown => return None,
                [] => "an entry of `notify` has no target",
                _ => "an entry of `notify` has several targets",
            };
            let help = "give one of `command`, `webhook` and `mail`; write one entry per target";
            self.report(node, message, help);
            return None;
        };
        let target = value(map, key)?;
        let target = match *key {
            "command" => NoticeTarget::Command(self.command(target)?),
            "webhook" => NoticeTarget::Webhook(self.webhook(target)?),
            _ => NoticeTarget::Mail(self.mail(target)?),
        };
        let all: Vec<Occasion> = Occasion::WORDS.iter().map(|it| it.0).collect();
        let occasions = self.enums(value(map, "on"), "on", &all)?;
        let kinds = self.enums(value(map, "kinds"), "kinds", &CHANGE_KINDS)?;
        let after = self.count(value(map, "after"), "after", 1)?;
        let silence = self.count(value(map, "silence"), "silence", DEFAULT_SILENCE)?;
        let time_limit = self.time_limit(value(map, "time_limit"), &target)?;
        let mut rule = NotifyRule {
            id: Arc::default(),
            occasions,
            kinds,
            after,
            silence,
            time_limit,
            target,
        };
        rule.id = id_of(&rule);
        Some(rule)
    }

    /// Returns a map, and reports keys that the table does not have.
    fn map<'n>(&mut self, node: &'n Node, subject: &str, keys: &KeyTable) -> Option<&'n Mapping> {
        let listed = || {
            let names: Vec<&str> = keys.names().collect();
            format!("its keys are `{}`", names.join("`, `"))
        };
        let Some(map) = node.as_map() else {
            let problem = node.type_mismatch(subject, "a map");
            self.problems.push(problem.help(listed()));
            return None;
        };
        for (key, entry) in map.iter().filter(|(key, _)| !keys.has_key(key)) {
            let message = format!("{subject} has no key `{key}`");
            let help = did_you_mean(key, keys.names()).unwrap_or_else(listed);
            let problem = Diagnostic::error(message).label(entry.key_span, "unknown");
            self.problems.push(problem.help(help));
        }
        Some(map)
    }

    /// Returns the texts of a text or a list of texts.
    fn texts(&mut self, node: &Node, key: &str) -> Option<Vec<Arc<str>>> {
        let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
        let mut texts = Vec::new();
        for item in items {
            match item.as_str().filter(|text| !text.is_empty()) {
                Some(text) => texts.push(text.into()),
                None => {
                    let message = format!("`{key}` of `notify` must be a text or a list of texts");
                    self.report(item, message, "write texts");
                    return None;
                }
            }
        }
        if texts.is_empty() {
            let message = format!("`{key}` of `notify` is an empty list");
            self.report(
                node,
                message,
                "leave the key out, or write at least one text",
            );
            return None;
        }
        Some(texts)
    }

    /// Returns values for words. A missing key stands for all `known` values.
    fn enums<E: EnumWords>(
        &mut self,
        node: Option<&Node>,
        key: &str,
        known: &[E],
    ) -> Option<Vec<E>> {
        let Some(node) = node else {
            return Some(known.to_vec());
        };
        let mut values = Vec::new();
        for word in self.texts(node, key)? {
            match E::parse(&word).filter(|value| known.contains(value)) {
                Some(value) if values.contains(&value) => {}
                Some(value) => values.push(value),
                None => {
                    let words: Vec<&str> = known.iter().map(|it| it.as_str()).collect();
                    let help = did_you_mean(&word, words.iter().copied())
                        .unwrap_or_else(|| format!("write one of `{}`", words.join("`, `")));
                    let message = format!("`{word}` is no value of `{key}` of `notify`");
                    self.report(node, message, help);
                    return None;
                }
            }
        }
        Some(values)
    }

    fn count(&mut self, node: Option<&Node>, key: &str, default: u32) -> Option<u32> {
        let Some(node) = node else {
            return Some(default);
        };
        let count = node.as_int().and_then(|count| u32::try_from(count).ok());
        let count = count.filter(|count| (1..=1000).contains(count));
        if count.is_none() {
            let message = format!("`{key}` of `notify` is no number from 1 to 1000");
            self.report(node, message, "write a number such as 3");
        }
        count
    }

    fn time_limit(&mut self, node: Option<&Node>, target: &NoticeTarget) -> Option<Duration> {
        let Some(node) = node else {
            return Some(match target {
                NoticeTarget::Webhook(_) => WEBHOOK_LIMIT,
                NoticeTarget::Command(_) | NoticeTarget::Mail(_) => PROGRAM_LIMIT,
            });
        };
        let limit = read_duration(&node.to_value().to_string());
        let limit = limit
            .ok()
            .filter(|limit| !limit.is_zero() && *limit <= MAX_LIMIT);
        if limit.is_none() {
            let message = "`time_limit` of `notify` is no duration up to 10 minutes";
            self.report(node, message, "write a duration such as `30s`");
        }
        limit
    }

    fn command(&mut self, node: &Node) -> Option<Vec<Arc<str>>> {
        match node.as_str().filter(|line| !line.trim().is_empty()) {
            Some(line) => Some(["sh", "-c", line].map(Arc::from).to_vec()),
            None => self.texts(node, "command"),
        }
    }

    fn webhook(&mut self, node: &Node) -> Option<Webhook> {
        let map = self.map(node, "`webhook` of `notify`", &WEBHOOK_KEYS)?;
        let url = value(map, "url").and_then(Node::as_str).unwrap_or_default();
        let rest = ["https://", "http://"]
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme));
        let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
        let host = host.filter(|host| !host.is_empty());
        let is_plain = !url.chars().any(|c| c.is_control() || c.is_whitespace());
        match host {
            Some(host) if is_plain && !host.contains('@') => {}
            Some(host) if host.contains('@') => {
                let message = "the URL of a webhook contains a login";
                let help = "write the URL without a login, and sign requests with `secret`";
                self.report(value(map, "url").unwrap_or(node), message, help);
                return None;
            }
            _ => {
                let message = "`webhook` of `notify` has no `url` that begins with `https://` or `http://` and a host";
                let help = "write it as `url: https://example.com/hooks/drift`";
                self.report(value(map, "url").unwrap_or(node), message, help);
                return None;
            }
        }
        let secret = match value(map, "secret") {
            Some(secret) => Some(self.secret(secret)?),
            None => None,
        };
        Some(Webhook {
            url: url.into(),
            secret,
        })
    }

    fn secret(&mut self, node: &Node) -> Option<SecretSource> {
        if let Some(text) = node.as_str().filter(|text| !text.is_empty()) {
            if !node.is_opened() {
                let message = "the secret of a webhook stands in clear in the file";
                let help = "write `secret: {env: NAME}` or `{file: PATH}`, or encrypt it with `unfurl secret encrypt`";
                let problem = Diagnostic::warning(message).label(node.span(), "");
                self.problems.push(problem.help(help));
            }
            return Some(SecretSource::Inline(Zeroizing::new(text.to_owned())));
        }
        let map = self.map(node, "`secret` of a webhook", &SECRET_KEYS)?;
        let text = |key: &str| {
            let text = value(map, key).and_then(Node::as_str);
            text.filter(|text| !text.is_empty()).map(Arc::from)
        };
        let backend = text("name").map(|name| SecretSource::Backend {
            from: text("backend"),
            name,
            field: text("field"),
        });
        let sources = [
            text("env").map(SecretSource::Variable),
            text("file").map(SecretSource::File),
            backend,
        ];
        let mut sources = sources.into_iter().flatten();
        match (sources.next(), sources.next()) {
            (Some(only), None) => Some(only),
            _ => {
                let message = "`secret` of a webhook must name one place";
                let help =
                    "write `{env: NAME}`, `{file: PATH}`, or `{backend: BACKEND, name: NAME}`";
                self.report(node, message, help);
                None
            }
        }
    }

    fn mail(&mut self, node: &Node) -> Option<MailTarget> {
        let map = self.map(node, "`mail` of `notify`", &MAIL_KEYS)?;
        let Some(to) = value(map, "to") else {
            let help = "write `to: admin@example.com`, or a list of addresses";
            self.report(node, "`mail` of `notify` has no `to`", help);
            return None;
        };
        let receivers = self.texts(to, "to")?;
        let from = value(map, "from");
        let sender = match from {
            Some(from) => Some(self.texts(from, "from")?.swap_remove(0)),
            None => None,
        };
        let places = receivers.iter().map(|address| (address, to));
        let places = places.chain(sender.iter().zip(from));
        for (address, place) in places {
            if let Err(reason) = check_address(address) {
                let message = format!("{address:?} is no mail address: {reason}");
                self.report(
                    place,
                    message,
                    "write an address such as `admin@example.com`",
                );
                return None;
            }
        }
        let sendmail = match value(map, "sendmail") {
            Some(node) => self.texts(node, "sendmail")?.swap_remove(0),
            None => SENDMAIL.into(),
        };
        Some(MailTarget {
            to: receivers,
            from: sender,
            sendmail,
        })
    }
}

/// Returns the value of a key, unless it is empty.
fn value<'n>(map: &'n Mapping, key: &str) -> Option<&'n Node> {
    map.get(key).filter(|node| !node.is_null())
}

/// Returns the digest of the settings. The value of a secret is no part of it.
fn id_of(rule: &NotifyRule) -> Arc<str> {
    let words = |words: Vec<&str>| words.join(" ");
    let mut parts = vec![
        words(rule.occasions.iter().map(|it| it.as_str()).collect()),
        words(rule.kinds.iter().map(|it| it.as_str()).collect()),
        rule.after.to_string(),
        rule.silence.to_string(),
    ];
    match &rule.target {
        NoticeTarget::Command(words) => {
            parts.push("command".to_owned());
            parts.extend(words.iter().map(ToString::to_string));
        }
        NoticeTarget::Webhook(webhook) => {
            parts.extend(["webhook".to_owned(), webhook.url.to_string()]);
        }
        NoticeTarget::Mail(mail) => {
            parts.extend(["mail".to_owned(), mail.sendmail.to_string()]);
            parts.extend(mail.from.iter().chain(&mail.to).map(ToString::to_string));
        }
    }
    digest_of(parts).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn read(text: &str) -> (Vec<NotifyRule>, String) {
        let mut sources = Sources::default();
        let id = sources.add("unfurl.yaml", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let mut problems = Diagnostics::default();
        let rules = read_notify(node.as_seq().unwrap(), &mut problems);
        let line = |problem: &Diagnostic| {
            let place = problem.span().and_then(|span| sources.position(span));
            let help = problem.help.as_deref().unwrap_or("no hint");
            format!("{}: {} ({help})", place.unwrap(), problem.message)
        };
        let lines: Vec<String> = problems.iter().map(line).collect();
        (rules, lines.join("\n"))
    }

    #[test]
    fn each_kind_of_target_is_read() {
        let text = "
- command: [notify, drift]
- {command: 'cat > x', on: change, after: 3}
- {webhook: {url: 'https://a.example/hook?x=1', secret: {env: KEY}}, on: [failure, recovery], silence: 5}
- {webhook: {url: 'http://[::1]:8000', secret: {backend: b, name: n, field: f}}, kinds: outside}
- {mail: {to: a@b.example}}
- {mail: {to: [root, ä@b.example], from: x@y.example, sendmail: /opt/sendmail}}
- command: [notify, drift]
";
        let (rules, problems) = read(text);
        assert_eq!(problems, "");
        let lines = rules.iter().map(|rule| {
            let (on, kinds) = (rule.occasions.len(), rule.kinds.len());
            format!(
                "{} {on} {kinds} {} {}",
                rule.target, rule.after, rule.silence
            )
        });
        let lines: Vec<String> = lines.collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        command `notify` 4 3 1 3
        command `sh` 1 3 3 3
        webhook at `a.example` 2 3 1 5
        webhook at `[::1]:8000` 4 1 1 3
        mail to a@b.example 4 3 1 3
        mail to root, ä@b.example 4 3 1 3
        ");
        let mut ids: Vec<&Arc<str>> = rules.iter().map(|rule| &rule.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 6);
    }

    #[test]
    fn each_mistake_has_a_place_and_a_hint() {
        let text = "
- {}
- {command: x, mail: {to: x}}
- {comand: x}
- {command: x, on: recover}
- {command: x, after: 0}
- {command: x, kinds: cannot-tell}
- {command: []}
- {webhook: {url: 'ftp://x'}}
- {webhook: {url: 'https://me:pw@x/'}}
- {webhook: {url: 'https://x', secret: {env: A, file: B}}}
- {mail: {from: x}}
- {mail: {to: \"a@b\\r\\nBcc: c@d\"}}
- {mail: {to: -oQ/tmp}}
- x
";
        let (rules, problems) = read(text);
        assert!(rules.is_empty());
        insta::assert_snapshot!(problems, @r#"
        unfurl.yaml:2:3: an entry of `notify` has no target (give one of `command`, `webhook` and `mail`; write one entry per target)
        unfurl.yaml:3:3: an entry of `notify` has several targets (give one of `command`, `webhook` and `mail`; write one entry per target)
        unfurl.yaml:4:4: an entry of `notify` has no key `comand` (did you mean `command`?)
        unfurl.yaml:5:20: `recover` is no value of `on` of `notify` (did you mean `recovery`?)
        unfurl.yaml:6:23: `after` of `notify` is no number from 1 to 1000 (write a number such as 3)
        unfurl.yaml:7:23: `cannot-tell` is no value of `kinds` of `notify` (write one of `outside`, `pending`, `unmanaged`)
        unfurl.yaml:8:13: `command` of `notify` is an empty list (leave the key out, or write at least one text)
        unfurl.yaml:9:19: `webhook` of `notify` has no `url` that begins with `https://` or `http://` and a host (write it as `url: https://example.com/hooks/drift`)
        unfurl.yaml:10:19: the URL of a webhook contains a login (write the URL without a login, and sign requests with `secret`)
        unfurl.yaml:11:40: `secret` of a webhook must name one place (write `{env: NAME}`, `{file: PATH}`, or `{backend: BACKEND, name: NAME}`)
        unfurl.yaml:12:10: `mail` of `notify` has no `to` (write `to: admin@example.com`, or a list of addresses)
        unfurl.yaml:13:15: "a@b\r\nBcc: c@d" is no mail address: a blank or a control character is in it (write an address such as `admin@example.com`)
        unfurl.yaml:14:15: "-oQ/tmp" is no mail address: programs read a text that begins with `-` as an option (write an address such as `admin@example.com`)
        unfurl.yaml:15:3: an entry of `notify` must be a map, not a string (its keys are `on`, `after`, `silence`, `kinds`, `time_limit`, `command`, `webhook`, `mail`)
        "#);
    }

    #[test]
    fn a_secret_in_clear_is_a_warning_and_never_shown() {
        let (rules, problems) = read("- {webhook: {url: 'https://x.example', secret: hush}}");
        insta::assert_snapshot!(problems, @"unfurl.yaml:1:48: the secret of a webhook stands in clear in the file (write `secret: {env: NAME}` or `{file: PATH}`, or encrypt it with `unfurl secret encrypt`)");
        assert!(!format!("{rules:?}").contains("hush"));
        let (others, _) = read("- {webhook: {url: 'https://x.example', secret: other}}");
        assert_eq!(rules[0].id, others[0].id);
    }
}
